#include "interp.h"

#include <string.h>

#include "sim/base/mem.h"

struct tensor {
  uint64_t base, elem, size[TSR_ISA_DIMS], stride[TSR_ISA_DIMS], extent[TSR_ISA_DIMS],
      step[TSR_ISA_DIMS];
  int64_t start[TSR_ISA_DIMS], walk[TSR_ISA_DIMS][TSR_ISA_LOOPS];
  uint64_t feed[TSR_ISA_DIMS][TSR_AXIS_COUNT];
  uint32_t rank;
  int64_t fmt;
};
struct place {
  int64_t buf, fmt;
  uint64_t elem, base, wrap, advance[TSR_ISA_LOOPS];
};
struct axis {
  int64_t loop;
  uint64_t size, tile;
};
struct range { /* of an axis, at present */
  uint64_t lo, hi;
};
/* A unit walks the program by itself, and takes what is addressed to it. */
struct unit {
  size_t pc;
  struct tensor t[TSR_ISA_TENSORS];
  struct place p[TSR_ISA_PLACES];
  struct axis axis[TSR_AXIS_COUNT];
  int64_t name[TSR_ISA_FORMATS]; /* -1: none */
  uint64_t index[TSR_ISA_LOOPS], trips[TSR_ISA_LOOPS];
  size_t body[TSR_ISA_LOOPS];
};
/* What a byte of a scratchpad begins: an element of a tensor, for c with the products
 * that its sum holds. */
struct cell {
  uint64_t index; /* + 1; 0: nothing */
  uint64_t sum;
};
struct interp {
  const struct tsr_program *prog;
  const struct tsr_shape *s;
  const struct tsr_mapping *m;
  const struct tsr_layout *layout;
  const char *wrong;
  const struct tsr_part *part;
  struct unit unit[TSR_ISA_UNITS], *u;
  uint64_t sem[TSR_ISA_SEMS];
  uint64_t total[3], k; /* elements of a, b, c */
  struct cell *cell[3];
  uint64_t room[3];
  uint32_t *mark[2], load[2]; /* the load that brought an element last */
  uint64_t held;              /* elements of the present transfer */
  uint64_t addr;              /* of the next of them */
  uint64_t elem;
  uint8_t *times;  /* of each product */
  uint8_t *stored; /* outputs */
  bool any_sems;
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
  x->k = k;
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

/* ---- boxes and places ---- */

typedef void element_fn(struct interp *x, int t, uint64_t index);

static int64_t start_of(const struct unit *u, const struct tensor *b, uint32_t d) {
  int64_t start = b->start[d];
  for (int l = 0; l < TSR_ISA_LOOPS; l++) start += (int64_t)u->index[l] * b->walk[d][l];
  return start;
}

static void box_dim(struct interp *x, int t, uint32_t d, uint64_t addr, element_fn *fn) {
  const struct tensor *b = &x->u->t[t];
  if (d == b->rank) {
    uint64_t at = addr - x->layout->base_bytes[t];
    if (addr < x->layout->base_bytes[t] || at % b->elem || at / b->elem >= x->total[t])
      wrong(x, "a box leaves its tensor");
    else
      fn(x, t, at / b->elem);
    return;
  }
  int64_t start = start_of(x->u, b, d);
  for (uint64_t j = 0; j < b->extent[d] && !x->wrong; j++) {
    int64_t at = start + (int64_t)(j * b->step[d]);
    if (at >= 0 && at < (int64_t)b->size[d])
      box_dim(x, t, d + 1, addr + (uint64_t)at * b->stride[d], fn);
  }
}

static uint64_t address(const struct unit *u, const struct place *p) {
  uint64_t moved = 0;
  for (int l = 0; l < TSR_ISA_LOOPS; l++) moved += u->index[l] * p->advance[l];
  return p->base + (p->wrap ? moved % p->wrap : moved);
}

static struct cell *cell_at(struct interp *x, int64_t buf, uint64_t addr, uint64_t elem) {
  if (addr + elem <= x->room[buf]) return &x->cell[buf][addr];
  wrong(x, "a place leaves its scratchpad");
  return &x->cell[buf][0];
}

/* The place must be the tensor's: its scratchpad, its format, its element. */
static bool begin_transfer(struct interp *x, int64_t t, int64_t p) {
  const struct place *pl = &x->u->p[p];
  const struct tensor *b = &x->u->t[t];
  const uint64_t local[3] = {x->s->a_bytes, x->s->b_bytes, x->s->acc_bytes};
  const uint64_t far[3] = {x->s->a_bytes, x->s->b_bytes, x->s->out_bytes};
  static const int name[3] = {0, 1, 3}, local_name[3] = {0, 1, 2};
  if (t > 2 || pl->buf != t || pl->elem != local[t] || b->elem != far[t]) {
    wrong(x, "a transfer between a tensor and another's place");
    return false;
  }
  int64_t f = x->u->name[b->fmt], g = x->u->name[pl->fmt];
  if (f < 0 || g < 0 || strcmp(x->prog->name[f], x->layout->formats[name[t]]) != 0 ||
      strcmp(x->prog->name[g], x->layout->formats[local_name[t]]) != 0) {
    wrong(x, "a transfer of another format");
    return false;
  }
  x->held = 0;
  x->elem = pl->elem;
  x->addr = address(x->u, pl);
  return true;
}

static void load_element(struct interp *x, int t, uint64_t i) {
  if (x->mark[t][i] == x->load[t]) wrong(x, "a box holds an element twice");
  x->mark[t][i] = x->load[t];
  *cell_at(x, t, x->addr, x->elem) = (struct cell){.index = i + 1};
  x->addr += x->elem;
  x->held++;
}

static void load(struct interp *x, const struct tsr_inst *i) {
  int t = (int)i->f[0];
  if (t > 1 || i->f[2] != TSR_TO_OWN) {
    wrong(x, "a load of a result, or for others");
    return;
  }
  if (!begin_transfer(x, t, i->f[1])) return;
  x->load[t]++;
  box_dim(x, t, 0, x->u->t[t].base, load_element);
  uint64_t bytes[3];
  tsr_mapping_tile_bytes(x->s, x->m, bytes);
  if (x->held * x->elem > bytes[t]) wrong(x, "a load larger than its buffer's tile");
  x->n.loads[t]++;
  x->n.loaded[t] += x->held;
}

static void store_element(struct interp *x, int t, uint64_t i) {
  struct cell *c = cell_at(x, t, x->addr, x->elem);
  if (x->stored[i]) wrong(x, "an output stored twice");
  if (c->index != i + 1) wrong(x, "an output stored from where another lies");
  if (c->sum != x->k) wrong(x, "an output stored before it is complete");
  c->index = 0; /* it goes once */
  x->stored[i] = 1;
  x->addr += x->elem;
}

static void store(struct interp *x, const struct tsr_inst *i) {
  if (i->f[0] != 2 || i->f[2] != x->layout->shift) {
    wrong(x, "a store of another tensor or shift");
    return;
  }
  if (begin_transfer(x, 2, i->f[1])) box_dim(x, 2, 0, x->u->t[2].base, store_element);
  x->n.stores++;
}

/* ---- products ---- */

static struct range range_of(const struct interp *x, int a) {
  const struct axis *d = &x->u->axis[a];
  uint64_t at = d->loop == TSR_ISA_NO_LOOP ? 0 : x->u->index[d->loop] * d->tile;
  return (struct range){tsr_min_u64(at, d->size), tsr_min_u64(at + d->tile, d->size)};
}

/* Where an operand's element lies: the dense clipped box of tensor t in place p, walked as
 * the feeds say; `v` counts from the corner of the tile.  false: outside the tensor. */
static bool fed(struct interp *x, int64_t t, int64_t p, const uint64_t *v, uint64_t *addr) {
  const struct tensor *b = &x->u->t[t];
  uint64_t local = 0;
  bool inside = true;
  for (uint32_t d = 0; d < b->rank; d++) {
    int64_t start = start_of(x->u, b, d);
    uint64_t along = 0, before = 0, count = 0;
    for (int a = 0; a < TSR_AXIS_COUNT; a++) along += b->feed[d][a] * v[a];
    int64_t at = start + (int64_t)along;
    for (uint64_t j = 0; j < b->extent[d]; j++) { /* element by element: slow and plain */
      int64_t c = start + (int64_t)(j * b->step[d]);
      if (c < 0 || c >= (int64_t)b->size[d]) continue;
      count++;
      before += c < at;
    }
    if (at < 0 || at >= (int64_t)b->size[d])
      inside = false;
    else if (along % b->step[d] || along / b->step[d] >= b->extent[d])
      wrong(x, "a product of what its box does not hold");
    local = local * count + before;
  }
  *addr = address(x->u, &x->u->p[p]) + local * x->u->p[p].elem;
  return inside;
}

struct mm {
  const struct tsr_inst *in;
  bool first;                    /* overwrites */
  uint64_t from[TSR_AXIS_COUNT]; /* of the part and the tile */
};

static void operand(struct interp *x, int64_t t, int64_t p, const uint64_t *v, int64_t want,
                    const char *what) {
  uint64_t addr;
  if (x->wrong) return;
  if (!fed(x, t, p, v, &addr)) {
    if (want >= 0) wrong(x, "a product of padding that is none");
    return;
  }
  if (want < 0)
    wrong(x, "a product of an element where padding lies");
  else if (cell_at(x, x->u->p[p].buf, addr, x->u->p[p].elem)->index != (uint64_t)want + 1)
    wrong(x, what);
}

static void product(struct interp *x, const struct mm *m, const uint64_t *v, bool k_begins) {
  uint64_t at[TSR_AXIS_COUNT], addr;
  for (int a = 0; a < TSR_AXIS_COUNT; a++) at[a] = m->from[a] + v[a];
  uint64_t c = c_index(x, at);
  operand(x, m->in->f[4], m->in->f[1], v, a_index(x, at), "an operand of a that is not loaded");
  operand(x, m->in->f[5], m->in->f[2], v, (int64_t)b_index(x, at),
          "an operand of b that is not loaded");
  if (x->wrong) return;
  if (++x->times[c * x->k + k_index(x, at)] > 1) wrong(x, "a product computed twice");
  if (!fed(x, m->in->f[3], m->in->f[0], v, &addr)) wrong(x, "a result outside its tensor");
  struct cell *sum = cell_at(x, x->u->p[m->in->f[0]].buf, addr, x->u->p[m->in->f[0]].elem);
  if (m->first && k_begins) *sum = (struct cell){.index = c + 1};
  if (sum->index != c + 1) wrong(x, "a product added to another output");
  sum->sum++;
}

static void check_formats(struct interp *x, const struct tsr_inst *i) {
  const struct tsr_shape *s = x->s;
  const uint64_t elem[3] = {s->acc_bytes, s->a_bytes, s->b_bytes};
  static const int buf[3] = {TSR_BUF_C, TSR_BUF_A, TSR_BUF_B}, name[3] = {2, 0, 1};
  for (int o = 0; o < 3; o++) {
    const struct place *p = &x->u->p[i->f[o]];
    int64_t f = x->u->name[p->fmt];
    if (p->elem != elem[o] || p->buf != buf[o] || f < 0 ||
        strcmp(x->prog->name[f], x->layout->formats[name[o]]) != 0)
      wrong(x, "a matmul of other formats");
  }
  if (i->f[7] != x->layout->rate || i->f[8] != TSR_DENSE) wrong(x, "a matmul of another rate");
}

static void mm(struct interp *x, const struct tsr_inst *i) {
  struct mm m = {.in = i, .first = true};
  struct range r[TSR_AXIS_COUNT];
  uint64_t v[TSR_AXIS_COUNT] = {0};
  check_formats(x, i);
  for (int l = 0; l < TSR_ISA_LOOPS; l++)
    if (i->f[6] & (int64_t)1 << l && x->u->index[l]) m.first = false;
  for (int a = 0; a < TSR_AXIS_COUNT; a++) {
    r[a] = range_of(x, a);
    m.from[a] = r[a].lo;
    for (int j = 0; x->part && j < 2; j++)
      if ((int)x->part->axis[j] == a) m.from[a] = r[a].lo + x->part->from[j];
    if (r[a].lo >= r[a].hi) return; /* nothing of the tile is inside */
  }
  for (bool more = true; more && !x->wrong;) {
    product(x, &m, v, !v[TSR_AXIS_KH] && !v[TSR_AXIS_KW] && !v[TSR_AXIS_C]);
    int d = TSR_AXIS_COUNT - 1;
    for (; d >= 0 && ++v[d] == r[d].hi - r[d].lo; d--) v[d] = 0;
    more = d >= 0;
  }
  x->n.mms++;
}

/* ---- the program ---- */

static void describe(struct unit *u, const struct tsr_inst *i) {
  struct tensor *t = &u->t[i->f[0] % TSR_ISA_TENSORS];
  int64_t d = i->f[1] % TSR_ISA_DIMS;
  switch (i->op) {
  case TSR_ISA_FORMAT: u->name[i->f[0]] = i->f[1]; break;
  case TSR_ISA_TENSOR:
    *t = (struct tensor){.fmt = i->f[1], .elem = (uint64_t)i->f[2], .base = (uint64_t)i->f[3]};
    for (int j = 0; j < TSR_ISA_DIMS; j++) t->step[j] = 1;
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
  case TSR_ISA_FEED: t->feed[d][i->f[2]] = (uint64_t)i->f[3]; break;
  case TSR_ISA_PLACE:
    u->p[i->f[0]] = (struct place){.buf = i->f[1],
                                   .fmt = i->f[2],
                                   .elem = (uint64_t)i->f[3],
                                   .base = (uint64_t)i->f[4],
                                   .wrap = (uint64_t)i->f[5]};
    break;
  case TSR_ISA_ADVANCE: u->p[i->f[0]].advance[i->f[1]] = (uint64_t)i->f[2]; break;
  case TSR_ISA_AXIS:
    u->axis[i->f[0]] = (struct axis){i->f[1], (uint64_t)i->f[2], (uint64_t)i->f[3]};
    break;
  default: break;
  }
}

/* The unit that an instruction is for; -1: it describes, or opens or ends a loop. */
static int unit_of(const struct tsr_inst *i) {
  switch (i->op) {
  case TSR_ISA_WAIT:
  case TSR_ISA_SIGNAL:
  case TSR_ISA_BARRIER: return (int)i->f[0];
  case TSR_ISA_LOAD: return TSR_UNIT_LOAD;
  case TSR_ISA_STORE: return TSR_UNIT_STORE;
  case TSR_ISA_MM: return TSR_UNIT_TILE;
  default: return -1;
  }
}

/* Moves a unit on to what is for it, or to the end. */
static void seek(struct interp *x, int id) {
  struct unit *u = &x->unit[id];
  for (;; u->pc++) {
    const struct tsr_inst *i = &x->prog->inst[u->pc];
    if (i->op == TSR_ISA_HALT || unit_of(i) == id) return;
    if (i->op == TSR_ISA_LOOP) {
      u->index[i->f[0]] = 0;
      u->trips[i->f[0]] = (uint64_t)i->f[1];
      u->body[i->f[0]] = u->pc;
    } else if (i->op == TSR_ISA_END) {
      if (++u->index[i->f[0]] < u->trips[i->f[0]])
        u->pc = u->body[i->f[0]];
      else
        u->index[i->f[0]] = 0;
    } else {
      describe(u, i);
    }
  }
}

/* One step of a unit; false where it waits or is at its end. */
static bool step(struct interp *x, int id) {
  x->u = &x->unit[id];
  const struct tsr_inst *i = &x->prog->inst[x->u->pc];
  switch (i->op) {
  case TSR_ISA_HALT: return false;
  case TSR_ISA_WAIT:
    if (x->sem[i->f[1]] < (uint64_t)i->f[3]) return false;
    x->sem[i->f[1]] -= (uint64_t)i->f[3];
    break;
  case TSR_ISA_SIGNAL:
    if (i->f[3] != TSR_TO_OWN) wrong(x, "a signal to other cores");
    x->sem[i->f[1]]++;
    break;
  case TSR_ISA_LOAD: load(x, i); break;
  case TSR_ISA_STORE: store(x, i); break;
  case TSR_ISA_MM: mm(x, i); break;
  default: wrong(x, "an instruction that lowering does not use"); break;
  }
  x->u->pc++;
  seek(x, id);
  return true;
}

/* Units in an order of their preference: one that may go on goes before the others, as far
 * as its semaphores let it. */
static void run_units(struct interp *x, const int *order) {
  for (bool any = true; any && !x->wrong;) {
    any = false;
    for (int i = 0; !any && i < TSR_ISA_UNITS; i++) any = step(x, order[i]);
  }
  for (int i = 0; i < TSR_ISA_UNITS; i++)
    if (x->prog->inst[x->unit[i].pc].op != TSR_ISA_HALT)
      wrong(x, "a wait that no signal comes for");
}

/* At the end semaphores hold what they held: no slot is lost or made up. */
static void check_sems(struct interp *x) {
  uint64_t at_first[TSR_ISA_SEMS] = {0};
  const struct tsr_program *p = x->prog;
  for (size_t i = 0; i < p->n; i++)
    if (p->inst[i].op == TSR_ISA_SEM) at_first[p->inst[i].f[0]] = (uint64_t)p->inst[i].f[1];
  for (int i = 0; i < TSR_ISA_SEMS; i++)
    if (x->sem[i] != at_first[i]) wrong(x, "a semaphore does not come back to its value");
}

static void run_core(struct interp *x, const int *order) {
  memset(x->unit, 0, sizeof x->unit);
  memset(x->sem, 0, sizeof x->sem);
  for (int b = 0; b < 3; b++) memset(x->cell[b], 0, x->room[b] * sizeof *x->cell[b]);
  for (size_t i = 0; i < x->prog->n; i++)
    if (x->prog->inst[i].op == TSR_ISA_SEM)
      x->sem[x->prog->inst[i].f[0]] = (uint64_t)x->prog->inst[i].f[1];
  for (int i = 0; i < TSR_ISA_UNITS; i++) {
    for (int t = 0; t < TSR_ISA_TENSORS; t++)
      for (int d = 0; d < TSR_ISA_DIMS; d++) x->unit[i].t[t].step[d] = 1;
    for (int a = 0; a < TSR_AXIS_COUNT; a++)
      x->unit[i].axis[a] = (struct axis){TSR_ISA_NO_LOOP, 1, 1};
    for (int f = 0; f < TSR_ISA_FORMATS; f++) x->unit[i].name[f] = -1;
    seek(x, i);
  }
  run_units(x, order);
  if (!x->wrong && !x->any_sems) check_sems(x);
}

static const char *run_all(const struct interp_job *j, const int *order,
                           struct interp_counts *counts) {
  struct interp x = {.s = j->s, .m = j->m, .layout = j->layout, .any_sems = j->any_sems};
  totals(&x);
  for (int t = 0; t < 2; t++) x.mark[t] = tsr_mem_array(x.total[t], sizeof *x.mark[t]);
  for (int b = 0; b < 3; b++) {
    x.room[b] = j->layout->slot_bytes[b] * j->layout->slots[b];
    x.cell[b] = tsr_mem_array(x.room[b] + 1, sizeof *x.cell[b]);
  }
  x.times = tsr_mem_array(x.total[2], x.k);
  x.stored = tsr_mem_alloc(x.total[2]);
  for (size_t c = 0; c < j->cores && !x.wrong; c++) {
    x.prog = j->program[c];
    x.part = j->part ? &j->part[c] : NULL;
    run_core(&x, order);
  }
  for (uint64_t c = 0; c < x.total[2]; c++)
    if (!x.stored[c]) wrong(&x, "an output that is never stored");
  for (int t = 0; t < 2; t++) tsr_mem_free(x.mark[t]);
  for (int b = 0; b < 3; b++) tsr_mem_free(x.cell[b]);
  tsr_mem_free(x.times);
  tsr_mem_free(x.stored);
  if (counts) *counts = x.n;
  return x.wrong;
}

const char *interp_run(const struct interp_job *j, struct interp_counts *counts) {
  /* Loads as early as they can with stores as late, and the reverse. */
  static const int early[] = {TSR_UNIT_LOAD, TSR_UNIT_TILE, TSR_UNIT_VECTOR, TSR_UNIT_STORE};
  static const int late[] = {TSR_UNIT_STORE, TSR_UNIT_VECTOR, TSR_UNIT_TILE, TSR_UNIT_LOAD};
  const char *w = run_all(j, early, counts);
  return w ? w : run_all(j, late, NULL);
}
