/* One dot product: which products go into which step, and what happens around the
 * steps (models/arith/mma.h). */
#include <stdlib.h>

#include "models/arith/mma_int.h"

static const struct tsr_format *stored(const struct tsr_format *f,
                                       const struct tsr_format *instead) {
  return instead ? instead : f;
}

/* A format with anything unusual has no normal numbers here. */
static struct tsri_normal take_apart(const struct tsr_format *f) {
  struct tsri_normal n = {.low = UINT64_MAX};
  if (f->is_int || f->codec || f->is_unsigned || !f->exp_bits) return n;
  n.low = UINT64_C(1) << f->man_bits;
  n.span = tsri_max_finite(f) - n.low;
  n.mag_mask = tsri_sign_bit(f) - 1;
  n.man_mask = n.low - 1;
  n.pad = f->pad_bits;
  n.man_bits = f->man_bits;
  n.sign_at = (unsigned)f->exp_bits + f->man_bits;
  n.exp = -f->bias - f->man_bits;
  return n;
}

void tsri_run_init(struct tsri_run *r, const struct tsr_mma *u,
                   const struct tsr_mma_dot_args *args, unsigned *events,
                   struct tsr_mma_stats *stats) {
  r->u = u;
  r->args = args;
  r->events = events;
  r->stats = stats;
  r->fa = stored(u->a, u->via);
  r->fb = stored(u->b, u->via);
  r->out = stored(u->acc, u->inner);
  r->frac = r->fa->man_bits + r->fb->man_bits + (u->scale ? 2 * u->scale->man_bits : 0);
  r->use_top = r->fa->is_int || r->fb->is_int || r->fa->codec || r->fb->codec;
  r->nan = tsri_mma_nan(u);
  r->na = take_apart(u->a);
  r->nb = take_apart(u->b);
  r->nacc = take_apart(u->acc);
  r->direct = !u->via;
  r->scale_from = r->scale_to = 0;
  r->live = false;
  r->step = 0;
  r->sum = 0;
  r->exp = 0;
  r->count = 0;
}

static tsri_step_fn *const steps[TSR_MMA_KIND_N_] = {[TSR_MMA_SEQ_FMA] = tsri_step_fma,
                                                     [TSR_MMA_FUSED] = tsri_step_fused,
                                                     [TSR_MMA_INT] = tsri_step_int,
                                                     [TSR_MMA_SEQ_MULADD] = tsri_step_muladd,
                                                     [TSR_MMA_TREE] = tsri_step_tree,
                                                     [TSR_MMA_EXACT] = tsri_step_exact,
                                                     [TSR_MMA_TWO_STAGE] = tsri_step_two_stage,
                                                     [TSR_MMA_GROUPED] = tsri_step_grouped};

/* The selection of a sparse unit: bits of group g. */
static uint32_t largest(const struct tsri_run *r, size_t g) {
  const struct tsr_mma *u = r->u;
  size_t m = (size_t)u->sparse_m, from = g * m, n = tsr_min_u64(m, r->args->k - from);
  uint32_t chosen = 0;
  for (int pick = 0; pick < u->sparse_n; pick++) {
    size_t best = n;
    struct tsri_term best_t = {TSR_NUM_ZERO, false, 0, 0};
    for (size_t i = 0; i < n; i++) {
      if (chosen >> i & 1) continue;
      struct tsr_num v = tsri_decode(u->a, r->args->a[from + i]);
      struct tsri_term t = {v.cls, false, 0, 0};
      if (v.cls == TSR_NUM_FINITE) {
        int up = __builtin_clzll(v.sig);
        t.exp = v.exp - up;
        t.sig = v.sig << up;
      }
      bool more = t.cls != best_t.cls   ? t.cls > best_t.cls
                  : t.exp != best_t.exp ? t.exp > best_t.exp
                                        : t.sig > best_t.sig;
      if (best < n && !more) continue;
      best = i;
      best_t = t;
    }
    if (best < n) chosen |= UINT32_C(1) << best;
  }
  return chosen;
}

/* Walks the k of one sum in the unit's order and hands them out step by step. */
struct walk {
  struct tsri_run *r;
  size_t lo, hi, at; /* `at`: the next k to look at */
  size_t lane, lanes;
  size_t group; /* whose selection is held; SIZE_MAX: none */
  uint32_t chosen;
  uint64_t a[TSR_MMA_LEN_MAX], b[TSR_MMA_LEN_MAX];
  size_t k[TSR_MMA_LEN_MAX];
};

static bool enters(struct walk *w, size_t k) {
  const struct tsr_mma *u = w->r->u;
  if (!u->sparse_m) return true;
  size_t g = k / (size_t)u->sparse_m;
  if (g != w->group) {
    w->group = g;
    w->chosen = w->r->args->select ? w->r->args->select[g] : largest(w->r, g);
  }
  return w->chosen >> (k % (size_t)u->sparse_m) & 1;
}

/* Moves `at` to the next k of the walk's lane, or to the first of the next lane: a
 * dot product costs its k, however many lanes there are. */
static bool seek(struct walk *w) {
  const struct tsr_mma *u = w->r->u;
  if (w->lanes == 1) return w->at < w->hi;
  size_t period = (size_t)u->order_period, width = (size_t)u->order_width;
  size_t n = w->hi - w->lo, first = w->lane * width;
  size_t off = w->at - w->lo, in = off % period;
  if (in < first) { /* the last lane's range ends with the period */
    off += first - in;
  } else if (in - first >= width) {
    off += period - in + first;
  }
  if (off >= n) { /* lanes begin one after the other: one beyond the end is the last */
    w->lane++;
    off = first + width;
    if (w->lane >= w->lanes || off >= n) off = n;
  }
  w->at = w->lo + off;
  return off < n;
}

/* The same, past what the selection leaves out where only products count. */
static bool seek_entering(struct walk *w) {
  const struct tsr_mma *u = w->r->u;
  while (seek(w)) {
    if (!u->sparse_m || u->sparse_logical || enters(w, w->at)) return true;
    w->at++;
  }
  return false;
}

static bool is_straight(const struct tsr_mma *u) {
  return !u->sparse_m && u->order != TSR_MMA_ORDER_STRIDED;
}

static void walk_open(struct walk *w, struct tsri_run *r, size_t lo, size_t hi) {
  const struct tsr_mma *u = r->u;
  w->r = r;
  w->lo = w->at = lo;
  w->hi = hi;
  w->lane = 0;
  w->lanes = 1;
  w->group = SIZE_MAX;
  if (u->order == TSR_MMA_ORDER_STRIDED)
    w->lanes = tsr_ceil_div((uint64_t)u->order_period, (uint64_t)u->order_width);
}

/* At most `len` of them as the next piece; false: there are none left. */
static bool walk_next(struct walk *w, size_t len, struct tsri_piece *p) {
  const struct tsr_mma_dot_args *args = w->r->args;
  if (is_straight(w->r->u)) {
    if (w->at >= w->hi) return false;
    p->a = args->a + w->at;
    p->b = args->b + w->at;
    p->k = NULL;
    p->base = w->at;
    p->n = tsr_min_u64(len, w->hi - w->at);
    w->at += p->n;
    p->end = w->at == w->hi;
    return true;
  }
  if (!seek_entering(w)) return false;
  p->a = w->a;
  p->b = w->b;
  p->k = w->k;
  p->n = 0;
  bool more = true;
  len = tsr_min_u64(len, TSR_MMA_LEN_MAX);
  for (size_t i = 0; i < len && more; i++, more = seek_entering(w)) {
    size_t k = w->at++;
    if (!enters(w, k)) continue;
    w->a[p->n] = args->a[k];
    w->b[p->n] = args->b[k];
    w->k[p->n++] = k;
  }
  p->end = !more;
  return true;
}

/* Products of one step; SIZE_MAX: the kind takes all of its sum. */
static size_t step_len(const struct tsr_mma *u) {
  bool chains = u->kind == TSR_MMA_SEQ_FMA || u->kind == TSR_MMA_SEQ_MULADD;
  if (u->kind == TSR_MMA_INT) return SIZE_MAX;
  if (chains && u->order != TSR_MMA_ORDER_TREE) return SIZE_MAX;
  if (u->fused_len > 0) return (size_t)u->fused_len;
  return chains ? 1 : SIZE_MAX;
}

/* Does a piece leave the accumulator in order for the next? */
static bool is_whole(const struct tsr_mma *u, size_t len) {
  return len != SIZE_MAX || u->kind == TSR_MMA_SEQ_FMA || u->kind == TSR_MMA_SEQ_MULADD;
}

/* Results of steps that are added in pairs, as in tsri_step_tree. */
static uint64_t sum_tree(struct tsri_run *r, struct walk *w, const uint64_t *c) {
  uint64_t stack[64];
  size_t depth = 0, count = 0, len = step_len(r->u);
  bool whole = len != SIZE_MAX; /* else one step takes the sum, in pieces */
  struct tsri_piece p = {.first = true};
  while (walk_next(w, len, &p)) {
    p.last = whole || p.end;
    p.end = true;
    uint64_t node = steps[r->u->kind](r, &p);
    p.first = whole;
    if (!p.last) continue;
    for (size_t bit = 1; count & bit; bit <<= 1)
      node = tsri_acc_add(r, r->u->round, stack[--depth], node);
    stack[depth++] = node;
    count++;
  }
  if (depth == 0) return c ? *c : 0;
  uint64_t root = stack[--depth];
  while (depth) root = tsri_acc_add(r, r->u->round, stack[--depth], root);
  return c ? tsri_acc_add(r, r->u->round, *c, root) : root;
}

static uint64_t sum_chain(struct tsri_run *r, struct walk *w, const uint64_t *c) {
  const struct tsr_mma *u = r->u;
  size_t len = step_len(u);
  bool whole = is_whole(u, len), after = u->join == TSR_MMA_JOIN_AFTER;
  uint64_t code = c ? *c : 0;
  struct tsri_piece p = {.first = true};
  while (walk_next(w, len, &p)) {
    p.c = c && !after ? &code : NULL;
    p.last = whole || p.end;
    uint64_t d = steps[u->kind](r, &p);
    if (p.last) code = c && after ? tsri_acc_add(r, u->outer_round, code, d) : d;
    if (p.last) c = &code;
    p.first = whole;
  }
  return code;
}

static uint64_t sum_steps(struct tsri_run *r, size_t lo, size_t hi, const uint64_t *c) {
  struct walk w;
  walk_open(&w, r, lo, hi);
  return r->u->order == TSR_MMA_ORDER_TREE ? sum_tree(r, &w, c) : sum_chain(r, &w, c);
}

typedef uint64_t sum_fn(struct tsri_run *r, size_t lo, size_t hi, const uint64_t *c);

/* Sums of `len` k each, started at +0 and added to c one after the other. */
static uint64_t sum_of_sums(struct tsri_run *r, size_t lo, size_t hi, const uint64_t *c,
                            int len, sum_fn *part) {
  const uint64_t zero = 0;
  if (!len) return part(r, lo, hi, c);
  uint64_t acc = c ? *c : 0;
  while (lo < hi) {
    size_t to = lo + tsr_min_u64((uint64_t)len, hi - lo);
    acc = tsri_acc_add(r, r->u->outer_round, acc, part(r, lo, to, &zero));
    lo = to;
  }
  return acc;
}

static uint64_t sum_chunks(struct tsri_run *r, size_t lo, size_t hi, const uint64_t *c) {
  return sum_of_sums(r, lo, hi, c, r->u->chunk, sum_steps);
}

/* Is the number of products of a step within what the step can hold? */
static void check(const struct tsr_mma *u) {
  bool long_step = u->kind != TSR_MMA_TREE && u->kind != TSR_MMA_EXACT;
  bool fuses =
      u->kind == TSR_MMA_FUSED || u->kind == TSR_MMA_TWO_STAGE || u->kind == TSR_MMA_GROUPED;
  if (u->fused_len < 0 || (long_step && u->fused_len > TSR_MMA_LEN_MAX) ||
      (fuses && u->fused_len < 1) || u->align_bits > TSR_MMA_BITS_MAX ||
      u->kind >= TSR_MMA_KIND_N_)
    abort();
}

uint64_t tsri_run_sum(struct tsri_run *r) {
  const struct tsr_mma_dot_args *args = r->args;
  check(r->u);
  return sum_of_sums(r, 0, args->k, &args->c, r->u->promote, sum_chunks);
}
