/* Where along K an accumulator loses: the sampled outputs (operand.h), step by step.
 *
 * At each point the value held (the sums of ranges that were promoted and of parts of K that
 * other cores did before, plus the sum of the range at work) is held against the exact sum of
 * the products so far, and against what was held at the point before plus the exact sum in
 * between: the loss of that range alone.  Points fall where the unit has rounded to its
 * accumulator, near eighths of K. */
#include <string.h>

#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/run/run_int.h"

struct tracer {
  const struct tsri_operands *o;
  struct tsri_trace *out;
  uint64_t *a, *b, *wide, *scale; /* wide: b times its scales */
  struct tsri_cut *cuts;
  size_t n_cuts;
};

/* The last place at or before `t` where the accumulator stands. */
static uint64_t standing(const struct tracer *t, uint64_t at) {
  uint64_t from = 0, period = tsr_mma_period(t->o->unit);
  for (size_t i = 0; i < t->n_cuts && t->cuts[i].end <= at; i++) from = t->cuts[i].end;
  return period ? from + (at - from) / period * period : from;
}

static void find_points(struct tracer *t) {
  uint64_t last = 0;
  struct tsri_trace *out = t->out;
  for (uint64_t i = 1; i <= TSRI_TRACE_POINTS; i++) {
    uint64_t at = i < TSRI_TRACE_POINTS
                      ? standing(t, (uint64_t)((tsr_u128)t->o->k * i / TSRI_TRACE_POINTS))
                      : t->o->k;
    if (at == last) continue;
    struct tsri_trace_point *p = &out->point[out->n++];
    p->from = last;
    p->to = last = at;
    tsr_check_init(&p->held, t->o->sum);
    tsr_check_init(&p->own, t->o->sum);
  }
}

/* The state of one output. */
struct running {
  uint64_t at, range; /* products done; the range at work (index of its cut) */
  struct tsri_sums sums;
};

/* Goes on to product `to`. */
static void advance(struct tracer *t, struct running *r, uint64_t to, unsigned *events,
                    struct tsr_mma_stats *stats) {
  while (r->at < to) {
    const struct tsri_cut *cut = &t->cuts[r->range];
    uint64_t end = tsr_min_u64(to, cut->end);
    r->sums.acc = tsr_mma_dot_stats(t->o->unit, t->a + r->at, t->b + r->at, end - r->at,
                                    r->sums.acc, events, stats);
    r->at = end;
    if (end < cut->end) break;
    r->range++;
    tsri_sums_cut(t->o, cut, t->scale[r->at - 1], &r->sums, events);
  }
}

/* The sums that are alive, as codes of o->sum; how many (1 to 3). */
static unsigned alive(const struct tracer *t, const struct running *r, uint64_t code[3]) {
  const struct tsri_sums *s = &r->sums;
  unsigned n = 0;
  if (s->has_total) code[n++] = s->total;
  if (s->has_promoted) code[n++] = s->promoted;
  if (s->acc || !n)
    code[n++] = tsr_arith_convert(t->o->acc, s->acc, t->o->sum, TSR_ROUND_RNE, NULL);
  return n;
}

static void add_products(struct tracer *t, uint64_t from, uint64_t to, struct tsr_ref *into,
                         double *abs) {
  for (uint64_t k = from; k < to; k++) {
    struct tsr_num a = tsr_arith_decode(t->o->a, t->a[k]);
    struct tsr_num b = tsr_arith_decode(t->o->exact_b, t->wide[k]);
    tsr_ref_mul_add(into, &a, &b);
    double p =
        tsr_arith_to_double(t->o->a, t->a[k]) * tsr_arith_to_double(t->o->exact_b, t->wide[k]);
    *abs += p < 0 ? -p : p;
  }
}

/* Adds what is held against `exact` to c.  Where several sums are alive, all are moved to
 * the other side of the difference. */
static void add_held(const struct tracer *t, struct tsr_check *c, const struct running *r,
                     struct tsr_ref exact, unsigned events, double abs) {
  uint64_t code[3];
  unsigned n = alive(t, r, code);
  struct tsr_ref diff = exact; /* s - s^ */
  bool finite = tsr_ref_is_finite(&exact);
  for (unsigned i = 0; i < n; i++) {
    struct tsr_num v = tsr_arith_decode(t->o->sum, code[i]);
    if (n == 1 || !finite || v.cls > TSR_NUM_FINITE) {
      tsr_check_add_abs(c, &exact, code[i], events, abs);
      return;
    }
    tsr_ref_sub(&diff, &v);
  }
  tsr_check_add_diff(c, tsr_ref_double(&exact), -tsr_ref_double(&diff), abs);
}

static void trace_one(struct tracer *t) {
  struct running r = {0};
  struct tsr_ref exact;
  tsr_ref_init(&exact);
  double abs = 0;
  for (size_t i = 0; i < t->out->n; i++) {
    struct tsri_trace_point *p = &t->out->point[i];
    unsigned events = 0;
    struct tsr_ref own; /* what was held, exactly, plus the products of this range */
    double own_abs = 0;
    uint64_t held[3];
    tsr_ref_init(&own);
    for (unsigned j = 0, n = alive(t, &r, held); j < n; j++) {
      struct tsr_num v = tsr_arith_decode(t->o->sum, held[j]);
      tsr_ref_add(&own, &v);
    }
    advance(t, &r, p->to, &events, &p->stats);
    add_products(t, p->from, p->to, &exact, &abs);
    add_products(t, p->from, p->to, &own, &own_abs);
    add_held(t, &p->held, &r, exact, events, abs);
    add_held(t, &p->own, &r, own, events, own_abs);
  }
}

static void fetch(struct tracer *t, uint64_t row, uint64_t col) {
  float from;
  uint64_t index;
  for (uint64_t k = 0; k < t->o->k; k++) {
    t->a[k] = tsri_operand_a_index(t->o, row, k, &index)
                  ? tsri_operand(t->o, TSRI_TENSOR_A, index, &from)
                  : 0;
    index = tsri_operand_b_index(t->o, row / t->o->l->op->m, k, col);
    uint64_t b = tsri_operand(t->o, TSRI_TENSOR_B, index, &from);
    t->b[k] = tsri_operand_ready(t->o, b);
    index = tsri_operand_scale_index(t->o, row / t->o->l->op->m, k, col);
    t->scale[k] = tsri_operand_scale(t->o, index);
    t->wide[k] = tsri_operand_scaled(t->o, b, t->scale[k]);
  }
}

enum tsr_status tsri_run_trace(const struct tsri_operands *o, struct tsri_trace *out,
                               struct tsr_err *err) {
  struct tracer t = {.o = o, .out = out};
  memset(out, 0, sizeof *out);
  enum tsr_status st = tsri_run_cuts(o, &t.cuts, &t.n_cuts, err);
  if (st) return st;
  t.a = tsr_mem_array(o->k, sizeof *t.a);
  t.b = tsr_mem_array(o->k, sizeof *t.b);
  t.wide = tsr_mem_array(o->k, sizeof *t.wide);
  t.scale = tsr_mem_array(o->k, sizeof *t.scale);
  if (t.a && t.b && t.wide && t.scale) {
    struct tsri_grid g = tsri_operand_grid(o);
    find_points(&t);
    for (uint64_t i = 0; i < g.rows; i++)
      for (uint64_t j = 0; j < g.cols && !tsr_interrupted; j++) {
        uint64_t row, col;
        tsri_operand_place(o, &g, i, j, &row, &col);
        fetch(&t, row, col);
        trace_one(&t);
      }
    if (tsr_interrupted)
      st = tsr_err_set(err, TSR_SIM, "interrupted in layer '%s'; nothing was stored",
                       o->l->op->name);
  } else {
    st = tsr_err_nomem(err);
  }
  tsr_mem_free(t.a);
  tsr_mem_free(t.b);
  tsr_mem_free(t.wide);
  tsr_mem_free(t.scale);
  tsr_mem_free(t.cuts);
  return st;
}
