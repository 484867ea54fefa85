/* Work for the arrays and the models beside them: operands, shapes, and the comparison of
 * results with the matrix units of models/arith.
 *
 * Operands are row-major codes as in rtl.h.  A work owns its memory between open and
 * close; failures end the test by cmocka's assertions. */
#ifndef TSR_TESTS_RTL_WORK_H
#define TSR_TESTS_RTL_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/rng.h"

enum { RTL_UNITS = 2, RTL_REQS = 4, RTL_SHAPES = 48, RTL_CHAINS = 5 };

struct rtl_unit {
  const char *name;
  bool fp;
};
extern const struct rtl_unit rtl_units[RTL_UNITS];

/* A product c[m,n] = a[m,k] * b[k,n]. */
struct rtl_shape {
  uint64_t m, n, k;
  bool first, last;
  uint64_t open; /* its results are taken from this cycle on; 0: always */
};

struct rtl_work {
  struct rtl_shape s;
  uint16_t *a, *b, *at, *bt; /* row-major, and transposed */
  uint32_t *c;
};

/* Long, flat, thin, square; each alone, and four that follow each other. */
extern const struct rtl_shape rtl_shapes[RTL_SHAPES];
extern const struct rtl_shape rtl_chains[RTL_CHAINS][RTL_REQS];

void rtl_work_open(struct rtl_work *w, struct rtl_shape s, bool fp, struct tsr_rng *r);
void rtl_work_close(struct rtl_work *w);

/* Results against tsr_mma_dot, bit for bit.  A request continues the sums of those before
 * it back to the latest `first`.  `swap`: results are transposed; `name` is for messages. */
void rtl_work_compare(const char *name, bool swap, const struct rtl_unit *u,
                      const struct rtl_work *w, size_t n);

#endif
