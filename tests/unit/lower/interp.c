#include "interp.h"

#include <string.h>

#include "sim/base/mem.h"

struct tensor {
  uint64_t base, elem, size[4], stride[4], extent[4], step[4];
  int64_t start[4], walk[4][TSR_ISA_LOOPS];
  uint32_t rank;
};
struct axis {
  int64_t loop;
  uint64_t size, tile;
};
struct range { /* of an axis, at present */
  uint64_t lo, hi;
};
struct interp {
  const struct tsr_shape *s;
  const struct tsr_mapping *m;
  const struct tsr_layout *layout;
  const char *wrong;
  struct tensor t[3];
  struct axis axis[TSR_AXIS_COUNT];
  uint64_t index[TSR_ISA_LOOPS], trips[TSR_ISA_LOOPS], sem[TSR_ISA_SEMS];
  size_t body[TSR_ISA_LOOPS];
  uint64_t sem_set;  /* bits */
  uint64_t total[3]; /* elements of a, b, c */
  uint32_t *mark[3]; /* a, b: the load that brought it; c: the store round that wrote it */
  uint32_t load[2], round;
  uint64_t held[2]; /* elements of the latest load */
  uint8_t *times;   /* of each product */
  uint64_t *sums;   /* products added into each output */
  uint8_t *stored;
  uint64_t touched; /* outputs written in this round */
  struct interp_counts n;
};

static void wrong(struct interp *x, const char *what) {
  if (!x->wrong) x->wrong = what;
}

static uint64_t sz(const struct interp *x, enum tsr_isa_axis a) {
  return x->s->size[a];
}

/* ---- the layouts of lower.h ---- */

static void totals(struct interp *x) {
  const struct tsr_shape *s = x->s;
  uint64_t g = sz(x, TSR_AXIS_G), k = tsr_shape_k(s), m = tsr_shape_m(s), n = sz(x, TSR_AXIS_N);
  x->total[0] =
      s->conv ? sz(x, TSR_AXIS_B) * s->in_h * s->in_w * g * sz(x, TSR_AXIS_C) : g * m * k;
  x->total[1] = g * k * n;
  x->total[2] = g * m * n;
}

/* Coordinates by axis; -1: padding. */
static int64_t a_index(const struct interp *x, const uint64_t *v) {
  const struct tsr_shape *s = x->s;
  if (!s->conv)
    return (int64_t)((v[TSR_AXIS_G] * sz(x, TSR_AXIS_OW) + v[TSR_AXIS_OW]) * sz(x, TSR_AXIS_C) +
                     v[TSR_AXIS_C]);
  int64_t h =
      (int64_t)(v[TSR_AXIS_OH] * s->stride_h + v[TSR_AXIS_KH] * s->dil_h) - (int64_t)s->pad_t;
  int64_t w =
      (int64_t)(v[TSR_AXIS_OW] * s->stride_w + v[TSR_AXIS_KW] * s->dil_w) - (int64_t)s->pad_l;
  if (h < 0 || w < 0 || h >= (int64_t)s->in_h || w >= (int64_t)s->in_w) return -1;
  uint64_t row = (v[TSR_AXIS_B] * s->in_h + (uint64_t)h) * s->in_w + (uint64_t)w;
  return (int64_t)((row * sz(x, TSR_AXIS_G) + v[TSR_AXIS_G]) * sz(x, TSR_AXIS_C) +
                   v[TSR_AXIS_C]);
}

static uint64_t k_index(const struct interp *x, const uint64_t *v) {
  return (v[TSR_AXIS_KH] * sz(x, TSR_AXIS_KW) + v[TSR_AXIS_KW]) * sz(x, TSR_AXIS_C) +
         v[TSR_AXIS_C];
}
static uint64_t b_index(const struct interp *x, const uint64_t *v) {
  return (v[TSR_AXIS_G] * tsr_shape_k(x->s) + k_index(x, v)) * sz(x, TSR_AXIS_N) +
         v[TSR_AXIS_N];
}
static uint64_t c_index(const struct interp *x, const uint64_t *v) {
  uint64_t m = (v[TSR_AXIS_B] * sz(x, TSR_AXIS_OH) + v[TSR_AXIS_OH]) * sz(x, TSR_AXIS_OW) +
               v[TSR_AXIS_OW];
  uint64_t g = v[TSR_AXIS_G], n = v[TSR_AXIS_N];
  if (x->s->conv) return (m * sz(x, TSR_AXIS_G) + g) * sz(x, TSR_AXIS_N) + n;
  return (g * tsr_shape_m(x->s) + m) * sz(x, TSR_AXIS_N) + n;
}

/* ---- boxes ---- */

typedef void element_fn(struct interp *x, int t, uint64_t index);

static void box_dim(struct interp *x, int t, uint32_t d, uint64_t addr, element_fn *fn) {
  const struct tensor *b = &x->t[t];
  if (d == b->rank) {
    uint64_t at = addr - x->layout->base_bytes[t];
    if (addr < x->layout->base_bytes[t] || at % b->elem || at / b->elem >= x->total[t])
      wrong(x, "a box leaves its tensor");
    else
      fn(x, t, at / b->elem);
    return;
  }
  int64_t start = b->start[d];
  for (int l = 0; l < TSR_ISA_LOOPS; l++) start += (int64_t)x->index[l] * b->walk[d][l];
  for (uint64_t j = 0; j < b->extent[d] && !x->wrong; j++) {
    int64_t at = start + (int64_t)(j * b->step[d]);
    if (at >= 0 && at < (int64_t)b->size[d])
      box_dim(x, t, d + 1, addr + (uint64_t)at * b->stride[d], fn);
  }
}

static void load_element(struct interp *x, int t, uint64_t i) {
  if (x->mark[t][i] == x->load[t]) wrong(x, "a box holds an element twice");
  x->mark[t][i] = x->load[t];
  x->held[t]++;
}

static void load(struct interp *x, int t, int64_t buf) {
  if (t != buf || t > 1) {
    wrong(x, "a load into another buffer");
    return;
  }
  x->load[t]++;
  x->held[t] = 0;
  box_dim(x, t, 0, x->t[t].base, load_element);
  uint64_t bytes[3];
  tsr_mapping_tile_bytes(x->s, x->m, bytes);
  if (x->held[t] * x->t[t].elem > bytes[t]) wrong(x, "a load larger than its buffer's tile");
  x->n.loads[t]++;
  x->n.loaded[t] += x->held[t];
}

static void store_element(struct interp *x, int t, uint64_t i) {
  (void)t;
  if (x->stored[i]) wrong(x, "an output stored twice");
  if (x->sums[i] != tsr_shape_k(x->s)) wrong(x, "an output stored before it is complete");
  if (x->mark[2][i] != x->round) wrong(x, "an output stored that this tile did not write");
  x->stored[i] = 1;
  x->touched--;
}

static void store(struct interp *x, int t, int64_t buf) {
  if (t != 2 || buf != TSR_BUF_C) {
    wrong(x, "a store of another buffer");
    return;
  }
  box_dim(x, 2, 0, x->t[2].base, store_element);
  if (x->touched && !x->wrong) wrong(x, "outputs written and not stored");
  x->round++;
  x->n.stores++;
}

/* ---- products ---- */

static struct range range_of(const struct interp *x, int a) {
  const struct axis *d = &x->axis[a];
  uint64_t at = d->loop == TSR_ISA_NO_LOOP ? 0 : x->index[d->loop] * d->tile;
  return (struct range){tsr_min_u64(at, d->size), tsr_min_u64(at + d->tile, d->size)};
}

static void product(struct interp *x, const uint64_t *v) {
  int64_t a = a_index(x, v);
  uint64_t b = b_index(x, v), c = c_index(x, v);
  if (a >= 0 && x->mark[0][a] != x->load[0]) wrong(x, "an operand of a that is not loaded");
  if (x->mark[1][b] != x->load[1]) wrong(x, "an operand of b that is not loaded");
  uint8_t *times = &x->times[c * tsr_shape_k(x->s) + k_index(x, v)];
  if (++*times > 1) wrong(x, "a product computed twice");
  if (x->mark[2][c] != x->round) x->touched++;
  x->mark[2][c] = x->round;
  x->sums[c]++;
}

/* Whether the input rows or columns that the tile needs are exactly a box. */
static bool exact(const struct interp *x, bool height) {
  enum tsr_isa_axis o = height ? TSR_AXIS_OH : TSR_AXIS_OW;
  struct range k = range_of(x, height ? TSR_AXIS_KH : TSR_AXIS_KW), out = range_of(x, o);
  uint64_t stride = height ? x->s->stride_h : x->s->stride_w;
  uint64_t dil = height ? x->s->dil_h : x->s->dil_w;
  if (out.hi - out.lo < x->m->tile[o]) return false; /* an edge: the box is not cut there */
  if (k.hi - k.lo == 1) return true;
  return dil == 1 && (stride <= k.hi - k.lo || out.hi - out.lo == 1);
}

/* What is loaded is what is needed, and nothing else. */
static void check_loads(struct interp *x, uint64_t need_a, uint64_t need_b) {
  if (x->held[1] != need_b) wrong(x, "a load of b with more than the tile needs");
  if (x->s->conv && !(exact(x, true) && exact(x, false))) return;
  if (x->held[0] != need_a) wrong(x, "a load of a with more than the tile needs");
}

static void mm(struct interp *x) {
  enum { UNSEEN = 0, SEEN = 1 };
  struct range r[TSR_AXIS_COUNT];
  uint64_t v[TSR_AXIS_COUNT], need_a = 0, need_b = 1;
  for (int a = 0; a < TSR_AXIS_COUNT; a++) {
    r[a] = range_of(x, a);
    v[a] = r[a].lo;
    if (r[a].lo >= r[a].hi) return; /* nothing of the tile is inside */
  }
  uint8_t *seen = tsr_mem_alloc(x->total[0] + 1);
  for (bool more = true; more && !x->wrong;) {
    product(x, v);
    int64_t a = a_index(x, v);
    if (a >= 0 && seen[a] == UNSEEN) {
      seen[a] = SEEN;
      need_a++;
    }
    int d = TSR_AXIS_COUNT - 1;
    for (; d >= 0 && ++v[d] == r[d].hi; d--) v[d] = r[d].lo;
    more = d >= 0;
  }
  static const int of_b[] = {TSR_AXIS_G, TSR_AXIS_N, TSR_AXIS_KH, TSR_AXIS_KW, TSR_AXIS_C};
  for (size_t i = 0; i < sizeof of_b / sizeof *of_b; i++)
    need_b *= r[of_b[i]].hi - r[of_b[i]].lo;
  check_loads(x, need_a, need_b);
  tsr_mem_free(seen);
  x->n.mms++;
}

/* ---- the program ---- */

static void describe(struct interp *x, const struct tsr_inst *i) {
  struct tensor *t = &x->t[i->f[0] % 3];
  int64_t d = i->f[1] % 4;
  switch (i->op) {
  case TSR_ISA_TENSOR:
    t->elem = (uint64_t)i->f[1];
    t->base = (uint64_t)i->f[2];
    break;
  case TSR_ISA_DIM:
    if (t->rank <= d) t->rank = (uint32_t)d + 1;
    t->size[d] = (uint64_t)i->f[2];
    t->stride[d] = (uint64_t)i->f[3];
    break;
  case TSR_ISA_BOX:
    t->extent[d] = (uint64_t)i->f[2];
    t->step[d] = (uint64_t)i->f[3];
    break;
  case TSR_ISA_START: t->start[d] = i->f[2]; break;
  case TSR_ISA_WALK: t->walk[d][i->f[2]] = i->f[3]; break;
  case TSR_ISA_AXIS:
    x->axis[i->f[0]] = (struct axis){i->f[1], (uint64_t)i->f[2], (uint64_t)i->f[3]};
    break;
  default: break;
  }
}

static void step(struct interp *x, const struct tsr_inst *i, size_t *pc) {
  const struct tsr_shape *s = x->s;
  switch (i->op) {
  case TSR_ISA_SEM:
    x->sem[i->f[0]] = (uint64_t)i->f[1];
    x->sem_set |= 1u << i->f[0];
    break;
  case TSR_ISA_LOOP:
    x->index[i->f[0]] = 0;
    x->trips[i->f[0]] = (uint64_t)i->f[1];
    x->body[i->f[0]] = *pc;
    break;
  case TSR_ISA_END:
    if (++x->index[i->f[0]] < x->trips[i->f[0]])
      *pc = x->body[i->f[0]];
    else
      x->index[i->f[0]] = 0;
    break;
  case TSR_ISA_WAIT:
    if (x->sem[i->f[1]]-- == 0) wrong(x, "a wait that no signal came before");
    break;
  case TSR_ISA_SIGNAL: x->sem[i->f[1]]++; break;
  case TSR_ISA_LOAD: load(x, (int)i->f[0], i->f[1]); break;
  case TSR_ISA_STORE: store(x, (int)i->f[0], i->f[1]); break;
  case TSR_ISA_MM:
    if (i->f[0] != s->a_bytes || i->f[1] != s->b_bytes || i->f[2] != s->acc_bytes ||
        i->f[3] != s->out_bytes || i->f[4] != x->layout->rate)
      wrong(x, "a matmul of other formats");
    mm(x);
    break;
  default: describe(x, i); break;
  }
}

/* At the end semaphores hold what they held: no slot is lost or made up. */
static void check_end(struct interp *x, const struct tsr_program *p) {
  uint64_t at_first[TSR_ISA_SEMS] = {0};
  for (size_t i = 0; i < p->n; i++)
    if (p->inst[i].op == TSR_ISA_SEM) at_first[p->inst[i].f[0]] = (uint64_t)p->inst[i].f[1];
  for (int i = 0; i < TSR_ISA_SEMS; i++)
    if (x->sem[i] != at_first[i]) wrong(x, "a semaphore does not come back to its value");
  for (uint64_t c = 0; c < x->total[2]; c++)
    if (!x->stored[c]) wrong(x, "an output that is never stored");
}

const char *interp_run(const struct tsr_program *p, const struct tsr_shape *s,
                       const struct tsr_mapping *m, const struct tsr_layout *layout,
                       struct interp_counts *counts) {
  struct interp x = {.s = s, .m = m, .layout = layout, .load = {1, 1}, .round = 1};
  for (int a = 0; a < TSR_AXIS_COUNT; a++) x.axis[a] = (struct axis){TSR_ISA_NO_LOOP, 1, 1};
  totals(&x);
  for (int t = 0; t < 3; t++) x.mark[t] = tsr_mem_array(x.total[t], sizeof *x.mark[t]);
  x.times = tsr_mem_array(x.total[2], tsr_shape_k(s));
  x.sums = tsr_mem_array(x.total[2], sizeof *x.sums);
  x.stored = tsr_mem_alloc(x.total[2]);
  for (size_t pc = 0; p->inst[pc].op != TSR_ISA_HALT && !x.wrong;) {
    const struct tsr_inst *i = &p->inst[pc++];
    step(&x, i, &pc);
  }
  if (!x.wrong) check_end(&x, p);
  for (int t = 0; t < 3; t++) tsr_mem_free(x.mark[t]);
  tsr_mem_free(x.times);
  tsr_mem_free(x.sums);
  tsr_mem_free(x.stored);
  if (counts) *counts = x.n;
  return x.wrong;
}
