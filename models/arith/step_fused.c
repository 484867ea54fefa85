/* Steps that align all terms and add them in fixed point. */
#include "models/arith/mma_int.h"

static uint64_t done(struct tsri_run *r, uint64_t code) {
  r->live = false;
  r->step = 0;
  return code;
}

static void begin(struct tsri_run *r) {
  if (!r->live) r->signs = (struct tsri_signs){0};
}

/* The running sum as the last lane: C, or what the last step left unnormalised. */
static bool load_sum(struct tsri_run *r, const struct tsri_piece *p, struct tsri_lane *v) {
  if (r->live) {
    *v = (struct tsri_lane){r->sum < 0, r->exp, r->exp + r->u->align_bits,
                            r->sum < 0 ? -(tsr_u128)r->sum : (tsr_u128)r->sum};
    return r->sum != 0;
  }
  if (!p->c) return false;
  struct tsri_term t = tsri_load_acc(r, *p->c);
  tsri_signs_note(&r->signs, t.cls, t.sign);
  *v = tsri_lane_acc(r, &t);
  return t.cls == TSR_NUM_FINITE;
}

static bool normalises(struct tsri_run *r, const struct tsri_piece *p) {
  int every = r->u->norm_every;
  r->step++;
  return p->end || every == 0 || (every > 0 && r->step >= every);
}

/* Lanes into one sum; the accumulator, if there is one, is the last of the n. */
static uint64_t sum_lanes(struct tsri_run *r, const struct tsri_piece *p,
                          const struct tsri_lane *lane, int n, bool has_acc) {
  int top = r->u->zero_exp;
  for (int i = 0; i < n; i++)
    if (lane[i].top > top) top = lane[i].top;
  int q = top - r->u->align_bits;
  tsr_i128 sum = 0;
  for (int i = 0; i < n; i++) sum += tsri_lane_cut(r, &lane[i], q, has_acc && i == n - 1);
  if (normalises(r, p)) return done(r, tsri_finish_sum(r, sum, q, top));
  r->sum = sum;
  r->exp = q;
  r->live = true;
  return p->c ? *p->c : 0;
}

uint64_t tsri_step_fused(struct tsri_run *r, const struct tsri_piece *p) {
  struct tsri_lane lane[TSR_MMA_LEN_MAX + 1];
  begin(r);
  int n = tsri_lanes(r, p, lane);
  bool has_acc = load_sum(r, p, &lane[n]);
  if (tsri_signs_special(&r->signs)) return done(r, tsri_signs_result(r));
  return sum_lanes(r, p, lane, n + has_acc, has_acc);
}

/* The exact sum of one group in units of 2^base, as a term. */
struct group {
  tsr_i128 sum;
  bool some; /* a product that is not zero */
  struct tsri_signs signs;
};

static struct group add_group(struct tsri_run *r, const struct tsri_piece *p, size_t from,
                              size_t to, int base) {
  struct group g = {0, false, {0}};
  for (size_t i = from; i < to; i++) {
    struct tsri_term t = tsri_load_bare(r, p, i);
    tsri_signs_note(&g.signs, t.cls, t.sign);
    if (t.cls != TSR_NUM_FINITE) continue;
    tsr_i128 v = (tsr_i128)(t.sig << (t.exp - base));
    g.sum += t.sign ? -v : v;
    g.some = true;
  }
  return g;
}

/* The group as a scaled term.  Its exponent is that of the scales alone: the size of
 * the sum does not enter the alignment, nor does a sum that cancels leave it. */
static bool group_lane(struct tsri_run *r, struct group *g, size_t k, int base,
                       struct tsri_lane *v) {
  bool sign = g->sum ? g->sum < 0 : tsri_signs_zero(&g->signs, r->u->round);
  struct tsri_term t = {TSR_NUM_FINITE, sign, base,
                        g->sum < 0 ? -(tsr_u128)g->sum : (tsr_u128)g->sum};
  if (!g->some) t.cls = TSR_NUM_ZERO;
  if (tsri_signs_special(&g->signs)) {
    bool nan = g->signs.nan || (g->signs.inf[0] && g->signs.inf[1]);
    t.cls = nan ? TSR_NUM_NAN : TSR_NUM_INF;
    t.sign = g->signs.inf[1];
  }
  if (r->u->scale) tsri_scale_term(r, &t, k);
  tsri_signs_note(&r->signs, t.cls, t.sign);
  int scales = r->u->scale ? 2 * r->u->scale->man_bits : 0;
  *v = (struct tsri_lane){t.sign, t.exp, t.exp - base + scales, t.sig};
  return t.cls == TSR_NUM_FINITE;
}

uint64_t tsri_step_grouped(struct tsri_run *r, const struct tsri_piece *p) {
  struct tsri_lane lane[TSR_MMA_LEN_MAX + 1];
  int n = 0, a, b, unused;
  tsri_format_range(r->fa, &a, &unused);
  tsri_format_range(r->fb, &b, &unused);
  begin(r);
  for (size_t i = 0; i < p->n; i += (size_t)r->u->group_len) {
    size_t to = tsr_min_u64(i + (size_t)r->u->group_len, p->n);
    struct group g = add_group(r, p, i, to, a + b);
    n += group_lane(r, &g, tsri_piece_k(p, i), a + b, &lane[n]);
  }
  bool has_acc = load_sum(r, p, &lane[n]);
  if (tsri_signs_special(&r->signs)) return done(r, tsri_signs_result(r));
  return sum_lanes(r, p, lane, n + has_acc, has_acc);
}
