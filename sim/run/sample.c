/* Sampled outputs, computed bit for bit.
 *
 * Outputs are taken on a grid spread over the matrix: at least SAMPLES of them, or
 * all.  Operands are drawn as fp32 (approximately normal, variance 1) from the
 * seed, the layer, the tensor and the element's index alone, then quantised to the
 * layer's formats; integers with scale 2^-INT_SCALE.  Each output is accumulated
 * over its full k by the machine's matrix unit, with the program's K cuts, and held
 * against the exact result of the same operands. */
#include "kernels/check/check.h"
#include "models/arith/mma.h"
#include "sim/base/rng.h"
#include "sim/run/run_int.h"

enum { SAMPLES = 64, GRID = 8, INT_SCALE = 5 };
enum { TENSOR_A, TENSOR_B, TENSOR_PICK };

struct sampler {
  const struct tsr_run_layer_plan *l;
  const struct tsr_mma *unit;
  const struct tsr_format *fa, *fb, *out, *fp32;
  uint64_t seed, layer, K;
  int shift; /* integers: results are scaled by 2^-shift to fit the output */
  uint64_t *a, *b; /* one row of A per sampled row, one column of B */
  struct tsr_check check;
};

static uint64_t stream(const struct sampler *s, int tensor) {
  return s->layer << 2 | (uint64_t)tensor;
}

/* The code of one operand element. */
static uint64_t draw(const struct sampler *s, int tensor, const struct tsr_format *f,
                     uint64_t index) {
  double v = tsr_rng_normal(s->seed, stream(s, tensor), index);
  unsigned events = 0;
  uint64_t x = tsr_arith_from_double(s->fp32, TSR_ROUND_RNE, v, &events);
  if (!f->is_int) return tsr_arith_convert(s->fp32, x, f, TSR_ROUND_RNE, &events);
  double scaled = tsr_arith_to_double(s->fp32, x) * (1 << INT_SCALE);
  if (f->is_unsigned && scaled < 0) scaled = -scaled;
  return tsr_arith_from_double(f, TSR_ROUND_RNE, scaled, &events);
}

/* Index of A[row, k] in the tensor; false: padding.  `row` counts over groups. */
static bool a_index(const struct sampler *s, uint64_t row, uint64_t k, uint64_t *index) {
  const struct tsr_op *op = s->l->op;
  uint64_t g = row / op->m, m = row % op->m;
  if (!op->has_conv) {
    *index = row * op->k + k;
    return true;
  }
  const struct tsr_conv *c = &op->conv;
  uint64_t per_group = c->in_c / c->groups;
  uint64_t ch = k % per_group, kw = k / per_group % c->k_w, kh = k / per_group / c->k_w;
  uint64_t ow = m % c->out_w, oh = m / c->out_w % c->out_h, b = m / c->out_w / c->out_h;
  uint64_t ih = oh * c->stride_h + kh * c->dil_h, iw = ow * c->stride_w + kw * c->dil_w;
  if (ih < c->pad_t || iw < c->pad_l) return false;
  ih -= c->pad_t;
  iw -= c->pad_l;
  if (ih >= c->in_h || iw >= c->in_w) return false;
  *index = ((b * c->in_h + ih) * c->in_w + iw) * c->in_c + g * per_group + ch;
  return true;
}

static void fetch_row(const struct sampler *s, uint64_t row, uint64_t *a) {
  for (uint64_t k = 0; k < s->K; k++) {
    uint64_t index;
    a[k] = a_index(s, row, k, &index) ? draw(s, TENSOR_A, s->fa, index) : 0;
  }
}

static void fetch_col(const struct sampler *s, uint64_t g, uint64_t col, uint64_t *b) {
  const struct tsr_op *op = s->l->op;
  for (uint64_t k = 0; k < s->K; k++)
    b[k] = draw(s, TENSOR_B, s->fb, (g * s->K + k) * op->n + col);
}

/* The accumulator after the program's K cuts. */
static uint64_t accumulate(const struct sampler *s, unsigned *events,
                           struct tsr_mma_stats *stats) {
  uint64_t acc = 0;
  for (uint64_t from = 0; from < s->K;) {
    uint64_t to = tsr_mapping_k_cut(&s->l->shape, &s->l->mapping, from);
    uint64_t part = tsr_mma_dot_stats(s->unit, s->a + from, s->b + from, to - from, 0, events,
                                      stats);
    acc = from ? tsr_mma_add(s->unit, acc, part, events) : part;
    from = to;
  }
  return acc;
}

static void check_one(struct sampler *s) {
  unsigned events = 0;
  struct tsr_mma_stats stats = {0};
  uint64_t acc = accumulate(s, &events, &stats);
  struct tsr_num v = tsr_arith_decode(s->unit->acc, acc);
  v.exp -= s->shift;
  uint64_t code = tsr_arith_encode(s->out, TSR_ROUND_RNE, &v, &events);
  struct tsr_ref exact;
  tsr_ref_init(&exact);
  for (uint64_t k = 0; k < s->K; k++) {
    struct tsr_num a = tsr_arith_decode(s->fa, s->a[k]), b = tsr_arith_decode(s->fb, s->b[k]);
    a.exp -= s->shift;
    tsr_ref_mul_add(&exact, &a, &b);
  }
  tsr_check_add(&s->check, &exact, code, events);
  s->check.swamped_terms += stats.swamped_terms;
}

/* Results of integers are requantised by a power of two, so that a sum of K
 * products of variance 2^(4*INT_SCALE) has scale 2^INT_SCALE again. */
static int shift_of(const struct sampler *s) {
  if (!s->out->is_int || s->out->bits >= s->unit->acc->bits) return 0;
  int log2k = 0;
  while (s->K >> (log2k + 1)) log2k++;
  return INT_SCALE + (log2k + 1) / 2;
}

/* The i-th of n places spread over `size`, one in each stratum. */
static uint64_t place(const struct sampler *s, uint64_t i, uint64_t n, uint64_t size,
                      uint64_t salt) {
  uint64_t lo = (uint64_t)((tsr_u128)i * size / n), hi = (uint64_t)((tsr_u128)(i + 1) * size / n);
  return lo + tsr_rng_u64(s->seed, stream(s, TENSOR_PICK), salt << 32 | i) % (hi - lo);
}

static void sample_grid(struct sampler *s) {
  const struct tsr_op *op = s->l->op;
  uint64_t rows = op->m * op->count, cols = op->n;
  uint64_t nr = tsr_min_u64(rows, GRID), nc = tsr_min_u64(cols, tsr_ceil_div(SAMPLES, nr));
  nr = tsr_min_u64(rows, tsr_ceil_div(SAMPLES, nc));
  for (uint64_t i = 0; i < nr; i++) {
    uint64_t row = place(s, i, nr, rows, 1);
    fetch_row(s, row, s->a);
    for (uint64_t j = 0; j < nc; j++) {
      fetch_col(s, row / op->m, place(s, j, nc, cols, 2 + i), s->b);
      check_one(s);
    }
  }
}

static void fill(const struct sampler *s, struct tsr_run_numeric *out) {
  struct tsr_check_result r;
  tsr_check_finish(&s->check, &r);
  *out = (struct tsr_run_numeric){.tensor = "out",
                                  .k_from = 0,
                                  .k_to = s->K,
                                  .checked_elems = r.checked_elems,
                                  .overflow = r.overflow,
                                  .underflow = r.underflow,
                                  .saturated = r.saturated,
                                  .subnormal_in = r.subnormal_in,
                                  .nan = r.nan,
                                  .swamped_terms = r.swamped_terms,
                                  .max_ulp = r.max_ulp,
                                  .mean_ulp = r.mean_ulp,
                                  .norm_err = r.norm_err,
                                  .sqnr_db = r.sqnr_db,
                                  .bias = r.bias};
}

enum tsr_status tsri_run_sample(const struct tsr_machine *m,
                                const struct tsr_run_layer_plan *l, uint64_t layer,
                                uint64_t seed, struct tsr_run_numeric *out,
                                struct tsr_err *err) {
  struct sampler s = {.l = l,
                      .fa = tsr_format_find(l->format_a),
                      .fb = tsr_format_find(l->format_b),
                      .out = tsr_format_find(l->format_out),
                      .fp32 = tsr_format_find("fp32"),
                      .seed = seed,
                      .layer = layer,
                      .K = l->op->k};
  s.unit = *m->mma ? tsr_mma_find(m->mma) : tsr_mma_default(s.fa, s.fb);
  s.shift = shift_of(&s);
  s.a = tsr_mem_array(s.K, sizeof *s.a);
  s.b = tsr_mem_array(s.K, sizeof *s.b);
  enum tsr_status st = TSR_OK;
  if (s.a && s.b) {
    tsr_check_init(&s.check, s.out);
    sample_grid(&s);
    fill(&s, out);
  } else {
    st = tsr_err_nomem(err);
  }
  tsr_mem_free(s.a);
  tsr_mem_free(s.b);
  return st;
}
