/* Sampled outputs, computed bit for bit.
 *
 * Outputs are taken on a grid spread over the matrix: at least TSRI_SAMPLES of them,
 * or all (operand.h).  Each is accumulated over its full k by the machine's matrix
 * unit, with the program's K cuts, and held against the exact result of the same
 * operands. */
#include <string.h>

#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/run/run_int.h"

struct sampler {
  struct tsri_operands o;
  uint64_t *a, *b;        /* one row of A, one column of B */
  uint64_t *wide, *scale; /* the column times its scales, and these */
  struct tsri_cut *cuts;
  size_t n_cuts;
  struct tsr_check check;
  struct tsr_mma_stats stats;
};

void tsri_run_numeric_row(const struct tsr_check *c, const char *tensor, uint64_t k_from,
                          uint64_t k_to, const uint64_t *hist, struct tsr_run_numeric *out) {
  struct tsr_check_result r;
  tsr_check_finish(c, &r);
  *out = (struct tsr_run_numeric){.tensor = tensor,
                                  .k_from = k_from,
                                  .k_to = k_to,
                                  .checked_elems = r.checked_elems,
                                  .overflow = r.overflow,
                                  .underflow = r.underflow,
                                  .saturated = r.saturated,
                                  .subnormal_in = r.subnormal_in,
                                  .nan = r.nan,
                                  .swamped_terms = TSR_STORE_NULL,
                                  .max_ulp = r.max_ulp,
                                  .mean_ulp = r.mean_ulp,
                                  .norm_err = r.norm_err,
                                  .sqnr_db = r.sqnr_db,
                                  .bias = r.bias,
                                  .max_comp = r.max_comp,
                                  .mean_comp = r.mean_comp,
                                  .bound = __builtin_nan(""),
                                  .hist = hist,
                                  .n_hist = hist ? TSR_CHECK_BINS : 0};
  tsri_run_numeric_stats(NULL, out);
}

enum tsr_status tsri_run_numeric_whole(const struct tsr_check *c, const char *tensor,
                                       uint64_t k_to, struct tsr_arena *arena,
                                       struct tsr_run_numeric *out, struct tsr_err *err) {
  uint64_t *hist = tsr_arena_array(arena, TSR_CHECK_BINS, sizeof *hist);
  struct tsr_hist_edge *edges = tsr_arena_array(arena, TSR_CHECK_BINS, sizeof *edges);
  if (!hist || !edges) return tsr_err_nomem(err);
  memcpy(hist, c->hist, sizeof c->hist);
  for (unsigned i = 0; i < TSR_CHECK_BINS; i++)
    tsr_check_bin_edges(i, &edges[i].lo, &edges[i].hi);
  tsri_run_numeric_row(c, tensor, 0, k_to, hist, out);
  out->hist_edges = edges;
  return TSR_OK;
}

void tsri_run_numeric_stats(const struct tsr_mma_stats *s, struct tsr_run_numeric *out) {
  const uint64_t none = TSR_STORE_NULL;
  out->swamped_terms = s ? s->swamped_terms : none;
  out->terms = s ? s->terms : none;
  out->truncated_terms = s ? s->truncated_terms : none;
  out->acc_steps = s ? s->steps : none;
  out->absorbed_acc = s ? s->absorbed_acc : none;
  out->cancelled_steps = s ? s->cancelled_steps : none;
  out->cancel_bits = s ? s->cancel_bits : none;
  out->cancel_max = s ? s->cancel_max : none;
}

static void fetch_row(struct sampler *s, uint64_t row) {
  float from;
  for (uint64_t k = 0; k < s->o.k; k++) {
    uint64_t index;
    s->a[k] = tsri_operand_a_index(&s->o, row, k, &index)
                  ? tsri_operand(&s->o, TSRI_TENSOR_A, index, &from)
                  : 0;
  }
}

static void fetch_col(struct sampler *s, uint64_t group, uint64_t col) {
  float from;
  for (uint64_t k = 0; k < s->o.k; k++) {
    uint64_t b =
        tsri_operand(&s->o, TSRI_TENSOR_B, tsri_operand_b_index(&s->o, group, k, col), &from);
    s->b[k] = tsri_operand_ready(&s->o, b);
    s->scale[k] = tsri_operand_scale(&s->o, tsri_operand_scale_index(&s->o, group, k, col));
    s->wide[k] = tsri_operand_scaled(&s->o, b, s->scale[k]);
  }
}

/* The sum after the program's K cuts. */
static uint64_t accumulate(struct sampler *s, unsigned *events) {
  struct tsri_sums sums = {0};
  for (size_t i = 0, from = 0; i < s->n_cuts; from = s->cuts[i++].end) {
    sums.acc = tsr_mma_dot_stats(s->o.unit, s->a + from, s->b + from, s->cuts[i].end - from,
                                 sums.acc, events, &s->stats);
    tsri_sums_cut(&s->o, &s->cuts[i], s->scale[from], &sums, events);
  }
  return sums.total;
}

static void check_one(struct sampler *s) {
  unsigned events = 0;
  uint64_t code = tsri_operand_shown(&s->o, accumulate(s, &events), &events);
  struct tsr_ref exact;
  tsr_ref_init(&exact);
  for (uint64_t k = 0; k < s->o.k; k++) {
    struct tsr_num a = tsr_arith_decode(s->o.a, s->a[k]);
    struct tsr_num b = tsr_arith_decode(s->o.exact_b, s->wide[k]);
    a.exp -= s->o.shown_shift;
    tsr_ref_mul_add(&exact, &a, &b);
  }
  tsr_check_add(&s->check, &exact, code, events);
}

static void sample_grid(struct sampler *s) {
  struct tsri_grid g = tsri_operand_grid(&s->o);
  for (uint64_t i = 0; i < g.rows; i++)
    for (uint64_t j = 0; j < g.cols && !tsr_interrupted; j++) {
      uint64_t row, col;
      tsri_operand_place(&s->o, &g, i, j, &row, &col);
      if (j == 0) fetch_row(s, row);
      fetch_col(s, row / s->o.l->op->m, col);
      check_one(s);
    }
}

enum tsr_status tsri_run_sample(const struct tsr_machine *m, const struct tsr_run_layer_plan *l,
                                uint64_t layer, uint64_t seed, struct tsr_run_numeric *out,
                                struct tsr_err *err) {
  struct sampler s = {.a = NULL};
  enum tsr_status st = tsri_operands_init(&s.o, m, l, layer, seed, err);
  if (!st) st = tsri_run_cuts(&s.o, &s.cuts, &s.n_cuts, err);
  if (st) return st;
  s.a = tsr_mem_array(s.o.k, sizeof *s.a);
  s.b = tsr_mem_array(s.o.k, sizeof *s.b);
  s.wide = tsr_mem_array(s.o.k, sizeof *s.wide);
  s.scale = tsr_mem_array(s.o.k, sizeof *s.scale);
  if (s.a && s.b && s.wide && s.scale) {
    tsr_check_init(&s.check, s.o.shown);
    sample_grid(&s);
    if (tsr_interrupted)
      st = tsr_err_set(err, TSR_SIM, "interrupted in layer '%s'; nothing was stored",
                       l->op->name);
    tsri_run_numeric_row(&s.check, "out", 0, s.o.k, NULL, out);
    tsri_run_numeric_stats(&s.stats, out);
  } else {
    st = tsr_err_nomem(err);
  }
  tsr_mem_free(s.a);
  tsr_mem_free(s.b);
  tsr_mem_free(s.wide);
  tsr_mem_free(s.scale);
  tsr_mem_free(s.cuts);
  return st;
}
