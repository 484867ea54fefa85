/* Error studies (kernels/check/study.h). */
#include "kernels/check/study.h"

#include <string.h>

#include "kernels/check/bound.h"
#include "models/arith/block.h"
#include "sim/base/log.h"

/* Lanes of k codes: rows of A or columns of B. */
struct side {
  const struct tsr_format *f;
  uint64_t lanes, blocks; /* blocks: scales of a lane, 0: none */
  uint64_t *codes, *scales;
  float *from;
};

struct study {
  const struct tsr_study *s;
  struct tsr_study_result *out;
  struct side a, b;
  struct tsr_num *value_a, *value_b; /* one lane each, decoded and scaled */
  double *size_a, *size_b;           /* their magnitudes */
  double err2, unq2, from2;          /* sums of squares */
};

/* ---- operands ---- */

static bool side_make(struct side *x, const struct tsr_mma *u, const struct tsr_format *f,
                      uint64_t lanes, uint64_t k) {
  uint64_t n;
  x->f = f;
  x->lanes = lanes;
  x->blocks = u->scale ? tsr_ceil_div(k, (uint64_t)u->scale_block) : 0;
  if (!tsr_mul_u64(lanes, k, &n)) return false;
  x->codes = tsr_mem_array(n, sizeof *x->codes);
  x->from = tsr_mem_array(n, sizeof *x->from);
  x->scales = tsr_mem_array(lanes * x->blocks, sizeof *x->scales);
  return x->codes && x->from && x->scales;
}

static void side_free(struct side *x) {
  tsr_mem_free(x->codes);
  tsr_mem_free(x->from);
  tsr_mem_free(x->scales);
}

/* Keeps the n of every m with the largest magnitude, the lower k first; the rest of
 * the lane becomes zero. */
static void prune(float *v, uint64_t k, uint64_t n, uint64_t m) {
  for (uint64_t at = 0; at < k; at += m) {
    uint64_t len = tsr_min_u64(m, k - at);
    uint32_t kept = 0;
    for (uint64_t i = 0; i < n && i < len; i++) {
      uint64_t best = len;
      for (uint64_t j = 0; j < len; j++) {
        float x = v[at + j] < 0 ? -v[at + j] : v[at + j];
        float y = best < len ? (v[at + best] < 0 ? -v[at + best] : v[at + best]) : -1;
        if (!(kept >> j & 1) && x > y) best = j;
      }
      if (best < len) kept |= UINT32_C(1) << best;
    }
    for (uint64_t j = 0; j < len; j++)
      if (!(kept >> j & 1)) v[at + j] = 0;
  }
}

/* Quantises a lane in blocks that share a scale; the scale of the tensor, where the
 * format has one, is 1. */
static void encode_blocks(const struct study *t, struct side *x, uint64_t lane) {
  static const struct tsr_block_spec spec = {.scale_mode = TSR_BLOCK_SCALE_FLOOR,
                                             .round = {.saturate = true}};
  enum { LEN = 64, FP32_ONE = 0x3f800000 };
  const struct tsr_mma *u = t->s->unit;
  const struct tsr_format *fp32 = tsr_format_find("fp32");
  const struct tsr_block block = {.name = "",
                                  .elem = x->f,
                                  .scale = u->scale,
                                  .len = (size_t)u->scale_block,
                                  .tensor_scale = u->scale->man_bits >
                                                  0}; /* else scales are powers of two */
  uint64_t in[LEN], k = t->s->k;
  TSR_CHECK(block.len <= LEN);
  for (uint64_t g = 0; g < x->blocks; g++) {
    uint64_t at = lane * k + g * block.len, n = tsr_min_u64(block.len, k - g * block.len);
    for (uint64_t i = 0; i < n; i++)
      in[i] = tsr_arith_from_double(fp32, TSR_ROUND_RNE, (double)x->from[at + i], NULL);
    tsr_block_encode(&block, &spec, fp32, in, n, at, FP32_ONE, &x->scales[lane * x->blocks + g],
                     &x->codes[at], NULL);
  }
}

static void fill(const struct study *t, struct side *x, bool b) {
  const struct tsr_study *s = t->s;
  const struct tsr_mma *u = s->unit;
  int scale = s->dist == TSR_DRAW_ONES ? 0 : TSR_DRAW_INT_SCALE;
  for (uint64_t lane = 0; lane < x->lanes; lane++) {
    float *v = x->from + lane * s->k;
    for (uint64_t k = 0; k < s->k; k++)
      v[k] = tsr_draw_value(s->dist, s->seed, b, b, lane, k, s->k);
    if (!b && u->sparse_n) prune(v, s->k, (uint64_t)u->sparse_n, (uint64_t)u->sparse_m);
    if (u->scale) {
      encode_blocks(t, x, lane);
      continue;
    }
    for (uint64_t k = 0; k < s->k; k++)
      x->codes[lane * s->k + k] = tsr_draw_quantise(x->f, v[k], scale, &v[k]);
  }
}

static struct tsr_num times_scale(struct tsr_num v, const struct tsr_format *f,
                                  uint64_t scale) {
  struct tsr_num s = tsr_arith_decode(f, scale);
  if (s.cls != TSR_NUM_FINITE || v.cls != TSR_NUM_FINITE) {
    if (s.cls != TSR_NUM_FINITE) v.cls = s.cls;
    return v;
  }
  v.sig *= s.sig; /* at most 64 bits (tsr_mma_invalid) */
  v.exp += s.exp;
  return v;
}

/* |v|, exactly: drawn values lie far from the ends of fp64. */
static double size_of(const struct tsr_num *v) {
  if (v->cls != TSR_NUM_FINITE) return 0;
  return tsr_check_fixed_double((tsr_i128)v->sig, v->exp);
}

static void decode(const struct study *t, const struct side *x, uint64_t lane,
                   struct tsr_num *out, double *size) {
  const struct tsr_mma *u = t->s->unit;
  for (uint64_t k = 0; k < t->s->k; k++) {
    out[k] = tsr_arith_decode(x->f, x->codes[lane * t->s->k + k]);
    if (x->blocks)
      out[k] = times_scale(out[k], u->scale,
                           x->scales[lane * x->blocks + k / (uint64_t)u->scale_block]);
    size[k] = size_of(&out[k]);
  }
}

/* ---- results ---- */

/* A finite value as a double, rounded to nearest. */
static double double_of(const struct tsr_num *v) {
  struct tsr_ref r;
  tsr_ref_init(&r);
  tsr_ref_add(&r, v);
  return tsr_ref_double(&r);
}

static bool study_make(struct study *t) {
  const struct tsr_study *s = t->s;
  t->value_a = tsr_mem_array(s->k, sizeof *t->value_a);
  t->value_b = tsr_mem_array(s->k, sizeof *t->value_b);
  t->size_a = tsr_mem_array(s->k, sizeof *t->size_a);
  t->size_b = tsr_mem_array(s->k, sizeof *t->size_b);
  return t->value_a && t->value_b && t->size_a && t->size_b &&
         side_make(&t->a, s->unit, s->unit->a, s->m, s->k) &&
         side_make(&t->b, s->unit, s->unit->b, s->n, s->k);
}

static void study_free(struct study *t) {
  side_free(&t->a);
  side_free(&t->b);
  tsr_mem_free(t->value_a);
  tsr_mem_free(t->value_b);
  tsr_mem_free(t->size_a);
  tsr_mem_free(t->size_b);
}

static double magnitude(double v) {
  return v < 0 ? -v : v;
}

static void count_cancelled(struct study *t, double abs, double s) {
  if (!(abs > 0)) return;
  unsigned bin = TSR_STUDY_CANCEL_BINS - 1;
  double ratio = s == 0 ? 0 : abs / magnitude(s);
  if (s != 0)
    for (bin = 0; bin + 1 < TSR_STUDY_CANCEL_BINS && ratio >= 2; bin++) ratio /= 2;
  t->out->cancel[bin]++;
}

/* Did the sum leave what a bound speaks of (bound.h)?  Subnormal operands are exact
 * unless the unit takes them for zero. */
static bool is_beyond_bound(const struct tsr_mma *u, unsigned events) {
  unsigned all = TSR_EVENT_OVERFLOW | TSR_EVENT_SATURATED | TSR_EVENT_UNDERFLOW;
  if (u->flush) all |= TSR_EVENT_SUBNORMAL_IN;
  return events & all;
}

static void one_result(struct study *t, uint64_t i, uint64_t j) {
  const struct tsr_study *s = t->s;
  const uint64_t *a = t->a.codes + i * s->k, *b = t->b.codes + j * s->k;
  const float *fa = t->a.from + i * s->k, *fb = t->b.from + j * s->k;
  struct tsr_mma_dot_args args = {.a = a,
                                  .b = b,
                                  .k = s->k,
                                  .scale_a = t->a.blocks ? t->a.scales + i * t->a.blocks : NULL,
                                  .scale_b =
                                      t->b.blocks ? t->b.scales + j * t->b.blocks : NULL};
  unsigned events = 0;
  uint64_t code = tsr_mma_dot_full(s->unit, &args, &events, &t->out->stats);
  if (is_beyond_bound(s->unit, events)) t->out->bound = __builtin_nan("");
  struct tsr_ref exact;
  double abs = 0, from = 0;
  tsr_ref_init(&exact);
  for (uint64_t k = 0; k < s->k; k++) {
    tsr_ref_mul_add(&exact, &t->value_a[k], &t->value_b[k]);
    from += (double)fa[k] * (double)fb[k];
    abs += t->size_a[k] * t->size_b[k];
  }
  tsr_check_add_abs(&t->out->check, &exact, code, events, abs);
  struct tsr_num got = tsr_arith_decode(s->unit->acc, code);
  if (!tsr_ref_is_finite(&exact) || got.cls > TSR_NUM_FINITE) return;
  double sum = tsr_ref_double(&exact), q = sum - from, d = double_of(&got) - from;
  count_cancelled(t, abs, sum);
  t->err2 += q * q;
  t->unq2 += d * d;
  t->from2 += from * from;
}

static enum tsr_status all_results(struct study *t, struct tsr_err *err) {
  for (uint64_t i = 0; i < t->s->m; i++) {
    decode(t, &t->a, i, t->value_a, t->size_a);
    for (uint64_t j = 0; j < t->s->n; j++) {
      if (tsr_interrupted)
        return tsr_err_set(err, TSR_SIM, "interrupted in the study of '%s'; nothing was stored",
                           t->s->unit->name);
      decode(t, &t->b, j, t->value_b, t->size_b);
      one_result(t, i, j);
    }
  }
  return TSR_OK;
}

enum tsr_status tsr_study_run(const struct tsr_study *s, struct tsr_study_result *out,
                              struct tsr_err *err) {
  struct study t = {.s = s, .out = out};
  memset(out, 0, sizeof *out);
  tsr_check_init(&out->check, s->unit->acc);
  out->bound = tsr_check_bound(s->unit, s->k, 1);
  enum tsr_status st;
  if (study_make(&t)) {
    fill(&t, &t.a, false);
    fill(&t, &t.b, true);
    st = all_results(&t, err);
  } else {
    st = tsr_err_nomem(err);
  }
  double norm = t.from2 > 0 ? __builtin_sqrt(t.from2) : __builtin_nan("");
  out->quantisation_err = __builtin_sqrt(t.err2) / norm;
  out->unquantised_err = __builtin_sqrt(t.unq2) / norm;
  out->check.swamped_terms = out->stats.swamped_terms;
  study_free(&t);
  return st;
}

size_t tsr_study_ladder(uint64_t from, uint64_t k, uint64_t out[TSR_STUDY_LADDER_MAX]) {
  size_t n = 0;
  for (uint64_t p = from; p < k && n + 1 < TSR_STUDY_LADDER_MAX; p *= 2) out[n++] = p;
  out[n++] = k;
  return n;
}
