#include "tests/rtl/work.h"

#include "tests/unit/models/fake.h"

#include <string.h>

#include "models/arith/mma.h"
#include "sim/base/mem.h"

const struct rtl_unit rtl_units[RTL_UNITS] = {{"int_s8_s8_s32_wrap", false},
                                              {"acc_seqfma_fp16_fp32", true}};

static uint16_t int8_code(struct tsr_rng *r) {
  return (uint16_t)tsr_rng_range(r, 0, 255);
}

/* Of near and far exponents, both signs, subnormals and zeros; one of 400 is infinite
 * or no number. */
static uint16_t fp16_code(struct tsr_rng *r) {
  uint64_t sign = tsr_rng_range(r, 0, 1) << 15, fraction = tsr_rng_range(r, 0, 1023), exp;
  switch (tsr_rng_range(r, 0, 7)) {
  case 0: exp = tsr_rng_range(r, 0, 30); break;
  case 1: exp = 0; break;
  case 2: return (uint16_t)sign;
  default: exp = tsr_rng_range(r, 12, 18);
  }
  if (tsr_rng_range(r, 0, 399) == 0) exp = 31;
  if (exp == 31 && tsr_rng_range(r, 0, 3)) fraction = 0;
  return (uint16_t)(sign | exp << 10 | fraction);
}

static uint16_t *operand(struct tsr_rng *r, bool fp, uint64_t n) {
  uint16_t *p = tsr_mem_array(n, sizeof *p);
  assert_non_null(p);
  for (uint64_t i = 0; i < n; i++) p[i] = fp ? fp16_code(r) : int8_code(r);
  return p;
}

static uint16_t *transposed(const uint16_t *p, uint64_t rows, uint64_t cols) {
  uint16_t *t = tsr_mem_array(rows * cols, sizeof *t);
  assert_non_null(t);
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t j = 0; j < cols; j++) t[j * rows + i] = p[i * cols + j];
  return t;
}

void rtl_work_open(struct rtl_work *w, struct rtl_shape s, bool fp, struct tsr_rng *r) {
  w->s = s;
  w->a = operand(r, fp, s.m * s.k);
  w->b = operand(r, fp, s.k * s.n);
  w->at = transposed(w->a, s.m, s.k);
  w->bt = transposed(w->b, s.k, s.n);
  w->c = tsr_mem_array(s.m * s.n, sizeof *w->c);
  assert_non_null(w->c);
  memset(w->c, 0xa5, s.m * s.n * sizeof *w->c);
}
void rtl_work_close(struct rtl_work *w) {
  tsr_mem_free(w->a);
  tsr_mem_free(w->b);
  tsr_mem_free(w->at);
  tsr_mem_free(w->bt);
  tsr_mem_free(w->c);
}

/* Around the sizes 1, 4, 6, 8, 16 and 32 on each side; long, flat, thin, square. */
const struct rtl_shape rtl_shapes[RTL_SHAPES] = {
    {1, 1, 1, true, true, 0},    {1, 1, 40, true, true, 0},   {1, 40, 1, true, true, 0},
    {40, 1, 1, true, true, 0},   {1, 7, 9, true, true, 0},    {9, 1, 7, true, true, 0},
    {7, 9, 1, true, true, 0},    {2, 3, 5, true, true, 0},    {3, 3, 3, true, true, 0},
    {4, 4, 4, true, true, 0},    {5, 5, 5, true, true, 0},    {4, 4, 3, true, true, 0},
    {3, 4, 4, true, true, 0},    {4, 3, 4, true, true, 0},    {8, 6, 8, true, true, 0},
    {8, 6, 7, true, true, 0},    {9, 6, 8, true, true, 0},    {8, 7, 8, true, true, 0},
    {8, 6, 9, true, true, 0},    {7, 5, 7, true, true, 0},    {16, 12, 16, true, true, 0},
    {17, 13, 17, true, true, 0}, {15, 11, 15, true, true, 0}, {16, 16, 16, true, true, 0},
    {16, 16, 17, true, true, 0}, {17, 16, 16, true, true, 0}, {16, 17, 16, true, true, 0},
    {15, 15, 15, true, true, 0}, {32, 32, 32, true, true, 0}, {33, 31, 32, true, true, 0},
    {31, 33, 34, true, true, 0}, {64, 4, 4, true, true, 0},   {4, 64, 4, true, true, 0},
    {4, 4, 64, true, true, 0},   {100, 8, 6, true, true, 0},  {6, 100, 8, true, true, 0},
    {8, 6, 100, true, true, 0},  {2, 50, 50, true, true, 0},  {50, 2, 50, true, true, 0},
    {50, 50, 2, true, true, 0},  {23, 29, 31, true, true, 0}, {31, 23, 29, true, true, 0},
    {48, 24, 20, true, true, 0}, {20, 48, 24, true, true, 0}, {24, 20, 48, true, true, 0},
    {3, 17, 70, true, true, 0},  {70, 3, 17, true, true, 0},  {17, 70, 3, true, true, 0},
};

/* Requests that follow each other: preloading goes on over the edge, drains overlap. */
const struct rtl_shape rtl_chains[RTL_CHAINS][RTL_REQS] = {
    {{4, 4, 4, true, true, 0},
     {4, 4, 4, true, true, 0},
     {4, 4, 4, true, true, 0},
     {4, 4, 4, true, true, 0}},
    {{1, 1, 1, true, true, 0},
     {1, 1, 1, true, true, 0},
     {1, 1, 1, true, true, 0},
     {1, 1, 1, true, true, 0}},
    {{30, 5, 9, true, true, 0},
     {1, 5, 9, true, true, 0},
     {30, 5, 9, true, true, 0},
     {2, 2, 2, true, true, 0}},
    {{1, 9, 40, true, true, 0},
     {40, 9, 1, true, true, 0},
     {9, 40, 1, true, true, 0},
     {9, 1, 40, true, true, 0}},
    {{17, 17, 17, true, true, 0},
     {3, 3, 3, true, true, 0},
     {16, 16, 16, true, true, 0},
     {8, 6, 8, true, true, 0}},
};

void rtl_work_compare(const char *name, bool swap, const struct rtl_unit *u,
                      const struct rtl_work *w, size_t n) {
  const struct tsr_mma *mma = tsr_mma_find(u->name);
  assert_non_null(mma);
  uint64_t k_max = 0;
  for (size_t i = 0; i < n; i++) k_max += w[i].s.k;
  uint64_t *a = tsr_mem_array(k_max, sizeof *a), *b = tsr_mem_array(k_max, sizeof *b);
  assert_true(a && b);
  for (size_t last = 0, first = 0; last < n; last++) {
    if (w[last].s.first) first = last;
    if (!w[last].s.last) continue;
    const struct rtl_shape *s = &w[last].s;
    for (uint64_t i = 0; i < s->m; i++)
      for (uint64_t j = 0; j < s->n; j++) {
        size_t k = 0;
        for (size_t q = first; q <= last; q++)
          for (uint64_t l = 0; l < w[q].s.k; l++, k++) {
            a[k] = w[q].a[i * w[q].s.k + l];
            b[k] = w[q].b[l * w[q].s.n + j];
          }
        uint64_t want = tsr_mma_dot(mma, a, b, k, 0, NULL);
        uint32_t got = w[last].c[swap ? j * s->m + i : i * s->n + j];
        if (got != want)
          fail_msg("%s, %s, c[%llu,%llu] of %llux%llux%llu: the model says %08llx, the array "
                   "%08x",
                   name, u->name, (unsigned long long)i, (unsigned long long)j,
                   (unsigned long long)s->m, (unsigned long long)s->n, (unsigned long long)s->k,
                   (unsigned long long)want, (unsigned)got);
      }
  }
  tsr_mem_free(a);
  tsr_mem_free(b);
}
