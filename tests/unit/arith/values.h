/* The values of a small format, worked out apart from models/arith: from the definition
 * of each code in floating point of the machine, where all of them are exact. */
#ifndef TESTS_UNIT_ARITH_VALUES_H
#define TESTS_UNIT_ARITH_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "models/arith/format.h"

enum kind { FLOAT, INTEGER, LIST };

/* What a format is, said again here. */
struct shape {
  const char *name; /* for tsr_format_parse */
  enum kind kind;
  int exp_bits, man_bits, bias; /* INTEGER: man_bits fraction bits of the value */
  bool no_sign;
  bool inf, nan_ones, nan_neg_zero; /* which specials there are */
  bool no_neg_zero, no_subnormals, no_zero;
};

struct value {
  double v;
  uint64_t code;
};

struct values {
  struct shape shape;
  struct tsr_format format;
  struct value *at; /* finite values, ascending, one code each; -0 left out */
  size_t n;
  unsigned bits;
  uint64_t nan, inf; /* codes; inf without sign */
  double next;       /* what would follow the largest value; 0: no telling */
  double min_normal;
};

extern const struct shape shapes[];
extern const size_t n_shapes;

/* Fills *t; values_free releases it. */
void values_make(struct values *t, const struct shape *s);
void values_free(struct values *t);
/* The value of a code: NaN, an infinity, or finite (-0 too). */
double values_of(const struct values *t, uint64_t code);

/* The code and the flags that x must give, by comparing x with its neighbours. */
struct picked {
  uint64_t code;
  unsigned events;
};
struct picked values_pick(const struct values *t, double x, enum tsr_round mode, bool saturate);

#endif
