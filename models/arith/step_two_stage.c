/* Products fused by themselves, then joined with C in a wider second stage that
 * rounds down (SRC:mmasim). */
#include "models/arith/mma_int.h"

/* A sum in units of 2^(top - F). */
struct stage {
  bool some;
  int top;
  tsr_i128 sum;
};

static tsr_i128 floor_shift(tsr_i128 v, int down) {
  if (down <= 0) return (tsr_i128)((tsr_u128)v << -down);
  return v >> (down > 126 ? 126 : down);
}

/* The lanes whose position has this parity; parity < 0: all. */
static struct stage add_lanes(struct tsri_run *r, const struct tsri_lane *lane, int n) {
  struct stage s = {n > 0, 0, 0};
  for (int i = 0; i < n; i++)
    if (i == 0 || lane[i].top > s.top) s.top = lane[i].top;
  for (int i = 0; i < n; i++)
    s.sum += tsri_lane_cut(r, &lane[i], s.top - r->u->align_bits, false);
  return s;
}

static struct stage join_stages(struct stage x, struct stage y) {
  if (!x.some || !y.some) return x.some ? x : y;
  struct stage s = {true, x.top > y.top ? x.top : y.top, 0};
  s.sum = floor_shift(x.sum, s.top - x.top) + floor_shift(y.sum, s.top - y.top);
  return s;
}

/* Products beyond the range of the accumulator are infinite before they are added. */
static int load_lanes(struct tsri_run *r, const struct tsri_piece *p, struct tsri_lane *lanes) {
  int n = tsri_lanes(r, p, lanes);
  for (int i = 0; i < n; i++) {
    int msb = lanes[i].exp + 127 - tsri_clz128(lanes[i].sig);
    if (msb <= r->u->acc->bias) continue;
    r->signs.inf[lanes[i].sign] = true;
    *r->events |= TSR_EVENT_OVERFLOW | TSR_EVENT_INEXACT;
  }
  return n;
}

static struct stage first_stage(struct tsri_run *r, const struct tsri_piece *p) {
  struct tsri_lane lane[TSR_MMA_LEN_MAX];
  if (!r->u->parity) return add_lanes(r, lane, load_lanes(r, p, lane));
  struct stage s[2];
  for (size_t odd = 0; odd < 2; odd++) {
    uint64_t a[TSR_MMA_LEN_MAX], b[TSR_MMA_LEN_MAX];
    size_t k[TSR_MMA_LEN_MAX], n = 0;
    for (size_t i = odd; i < p->n; i += 2, n++) {
      a[n] = p->a[i];
      b[n] = p->b[i];
      k[n] = tsri_piece_k(p, i);
    }
    struct tsri_piece half = {.a = a, .b = b, .k = k, .n = n};
    s[odd] = add_lanes(r, lane, load_lanes(r, &half, lane));
  }
  return join_stages(s[0], s[1]);
}

/* C in units of 2^(E - F), rounded down.  Where even and odd products are apart, a C
 * below the last place adds nothing instead of the -1 that rounding down gives. */
static tsr_i128 cut_acc(struct tsri_run *r, const struct tsri_term *c, int e_c, int e) {
  int f = r->u->align_bits;
  if (c->cls != TSR_NUM_FINITE) return 0;
  if (r->stats) r->stats->steps++;
  tsr_i128 v = floor_shift(c->sign ? -(tsr_i128)c->sig : (tsr_i128)c->sig, e - f - c->exp);
  bool none = r->u->parity ? e_c < e - f - 1 : c->exp + 127 - tsri_clz128(c->sig) < e - f;
  if (r->stats) r->stats->absorbed_acc += none;
  return r->u->parity && none ? 0 : v;
}

static uint64_t second_stage(struct tsri_run *r, const struct stage *t,
                             const struct tsri_term *c) {
  int f = r->u->align_bits, f2 = r->u->align2_bits, emin = tsri_emin(r->u->acc);
  int e_c = c->cls == TSR_NUM_FINITE ? c->exp + r->u->acc->man_bits : emin;
  int e = t->some && t->top > e_c ? t->top : e_c, q = e - f2 - 1;
  tsr_i128 s = t->some ? floor_shift(t->sum, q - (t->top - f)) : 0;
  s += floor_shift(cut_acc(r, c, e_c, e), f - f2 - 1);
  if (s == 0) return tsri_finish_sum(r, 0, q, e);
  int msb = q + 127 - tsri_clz128(s < 0 ? -(tsr_u128)s : (tsr_u128)s);
  int down = (msb > emin ? msb : emin) - f2 - q;
  if (down > 0) s = floor_shift(floor_shift(s, down), -down);
  return tsri_finish_sum(r, s, q, e);
}

uint64_t tsri_step_two_stage(struct tsri_run *r, const struct tsri_piece *p) {
  struct tsri_term c = {TSR_NUM_ZERO, false, 0, 0};
  r->signs = (struct tsri_signs){0};
  struct stage t = first_stage(r, p);
  if (p->c) {
    c = tsri_load_acc(r, *p->c);
    tsri_signs_note(&r->signs, c.cls, c.sign);
  }
  if (tsri_signs_special(&r->signs)) return tsri_signs_result(r);
  return second_stage(r, &t, &c);
}
