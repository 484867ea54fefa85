/* Multiplications by value: operands gathered from scratchpads as the feeds say, summed
 * by the machine's matrix unit onto the accumulators that are there. */
#include <inttypes.h>
#include <string.h>

#include "sim/engine/values_int.h"

/* ---- gathering ---- */

struct walker {
  struct tsri_flight *f;
  const struct tsri_gather *g;
  struct tsri_bytes *pad;
  uint64_t local[TSR_ISA_DIMS]; /* bytes between neighbours of the clipped box */
  bool inner_runs;              /* the fastest column axis walks the last dimension by ones */
};

/* Coordinate of each dimension, relative to the box's start. */
struct at {
  uint64_t c[TSR_ISA_DIMS];
};

static void move(const struct tsri_operand *o, struct at *p, enum tsr_isa_axis x, uint64_t n) {
  for (uint32_t i = 0; i < o->box.rank; i++) p->c[i] += o->feed[i][x] * n;
}

/* How many elements from dimension i's coordinate on lie in the box and the tensor, and at
 * which byte the first does; `want` at most.  0 with *skip: so many lie outside first. */
static bool inside(const struct tsri_operand *o, int i, uint64_t c, uint64_t *index,
                   bool *in_box) {
  uint64_t at = (uint64_t)o->box.start[i] + c; /* coordinate in the tensor; < 0: very large */
  *in_box = true;
  if (at >= o->box.size[i]) return false; /* padding */
  uint64_t d = at - o->first[i];
  *in_box = at >= o->first[i] && d % o->box.step[i] == 0 && d / o->box.step[i] < o->count[i];
  *index = d / o->box.step[i];
  return *in_box;
}

static enum tsr_status outside_box(const struct walker *w, const struct at *p,
                                   struct tsr_err *err) {
  return tsri_values_wrong(
      w->f, err,
      "reads an element of scratchpad %s that its box does not hold (%" PRIu64 ", %" PRIu64
      ", %" PRIu64 ", %" PRIu64 " from its start)",
      tsr_isa_buf_names[w->g->o->buf], p->c[0], p->c[1], p->c[2], p->c[3]);
}

/* Byte of the element at p in the scratchpad; *pad: it is padding. */
static enum tsr_status locate(const struct walker *w, const struct at *p, uint64_t *byte,
                              bool *pad, struct tsr_err *err) {
  const struct tsri_operand *o = w->g->o;
  uint64_t at = o->addr;
  *pad = false;
  for (uint32_t i = 0; i < o->box.rank; i++) {
    uint64_t index = 0;
    bool in_box;
    if (!inside(o, (int)i, p->c[i], &index, &in_box)) {
      if (!in_box) return outside_box(w, p, err);
      *pad = true;
      return TSR_OK;
    }
    at += index * w->local[i];
  }
  *byte = at;
  return TSR_OK;
}

typedef enum tsr_status visit_fn(struct walker *w, const struct at *p, uint64_t n,
                                 uint64_t index, void *arg, struct tsr_err *err);

/* Calls fn for every run of the fastest column axis: n elements from p on. */
static enum tsr_status each_run(struct walker *w, visit_fn *fn, void *arg,
                                struct tsr_err *err) {
  const struct tsri_gather *g = w->g;
  const uint64_t *e = g->extent;
  struct at base = {{0}};
  uint64_t index = 0, n = e[g->cols[2]];
  enum tsr_status st = TSR_OK;
  move(g->o, &base, TSR_AXIS_G, g->group);
  for (uint64_t r0 = 0; r0 < e[g->rows[0]]; r0++)
    for (uint64_t r1 = 0; r1 < e[g->rows[1]]; r1++)
      for (uint64_t r2 = 0; r2 < e[g->rows[2]]; r2++)
        for (uint64_t c0 = 0; c0 < e[g->cols[0]]; c0++)
          for (uint64_t c1 = 0; !st && c1 < e[g->cols[1]]; c1++) {
            struct at p = base;
            move(g->o, &p, g->rows[0], r0);
            move(g->o, &p, g->rows[1], r1);
            move(g->o, &p, g->rows[2], r2);
            move(g->o, &p, g->cols[0], c0);
            move(g->o, &p, g->cols[1], c1);
            st = fn(w, &p, n, index, arg, err);
            index += n;
          }
  return st;
}

static void walker_init(struct walker *w, struct tsri_flight *f, const struct tsri_gather *g) {
  const struct tsri_operand *o = g->o;
  *w = (struct walker){.f = f, .g = g};
  w->pad = &f->unit->core->e->values->scratch[f->unit->core->id].buf[o->buf];
  uint64_t s = o->elem;
  for (int i = (int)o->box.rank; i-- > 0;) {
    w->local[i] = s;
    s *= o->count[i];
  }
  uint32_t last = o->box.rank - 1;
  w->inner_runs = o->box.rank && o->box.step[last] == 1 && o->feed[last][g->cols[2]] == 1;
  for (uint32_t i = 0; i < last && o->box.rank; i++)
    w->inner_runs = w->inner_runs && o->feed[i][g->cols[2]] == 0;
}

/* The part of a run along the last dimension that lies inside the tensor: [*from, *to). */
static void clip_run(const struct tsri_operand *o, const struct at *p, uint64_t n,
                     uint64_t *from, uint64_t *to) {
  uint32_t i = o->box.rank - 1;
  uint64_t at = (uint64_t)o->box.start[i] + p->c[i], end = o->box.size[i]; /* at + to <= end */
  bool before = (int64_t)at < 0;
  *from = before ? tsr_min_u64(n, 0 - at) : 0;
  *to = !before && at >= end ? *from : tsr_min_u64(n, end - at);
  if (*to < *from) *to = *from;
}

static enum tsr_status check_written(const struct walker *w, uint64_t byte, uint64_t n,
                                     struct tsr_err *err) {
  uint64_t hole;
  if (tsri_bytes_written(w->pad, byte, n, &hole)) return TSR_OK;
  return tsri_values_wrong(w->f, err, "reads byte %" PRIu64 " of scratchpad %s, never written",
                           hole, tsr_isa_buf_names[w->g->o->buf]);
}

static enum tsr_status take_one(struct walker *w, const struct at *p, uint8_t *out,
                                struct tsr_err *err) {
  uint64_t byte;
  bool pad;
  enum tsr_status st = locate(w, p, &byte, &pad, err);
  if (!st && !pad) st = check_written(w, byte, w->g->o->elem, err);
  if (!st)
    tsri_code_put(out, w->g->code, pad ? 0 : tsri_code_get(w->pad->data + byte, w->g->o->elem));
  return st;
}

static enum tsr_status take_run(struct walker *w, const struct at *p, uint64_t n,
                                uint64_t index, void *arg, struct tsr_err *err) {
  const struct tsri_gather *g = w->g;
  uint8_t *out = (uint8_t *)arg + index * g->code;
  enum tsr_status st = TSR_OK;
  struct at q = *p;
  if (!w->inner_runs || g->code != g->o->elem) {
    for (uint64_t j = 0; !st && j < n; j++) {
      st = take_one(w, &q, out + j * g->code, err);
      move(g->o, &q, g->cols[2], 1);
    }
    return st;
  }
  uint64_t from, to, first = 0, last;
  bool pad = false;
  clip_run(g->o, p, n, &from, &to);
  if (from < to) {
    q.c[g->o->box.rank - 1] += from;
    st = locate(w, &q, &first, &pad, err);
    q.c[g->o->box.rank - 1] += to - 1 - from;
    if (!st && !pad) st = locate(w, &q, &last, &pad, err); /* the whole run is in the box */
    if (!st && !pad) st = check_written(w, first, (to - from) * g->code, err);
  }
  if (st) return st;
  if (pad || from == to) {
    memset(out, 0, n * g->code);
    return TSR_OK;
  }
  memset(out, 0, from * g->code);
  memcpy(out + from * g->code, w->pad->data + first, (to - from) * g->code);
  memset(out + to * g->code, 0, (n - to) * g->code);
  return TSR_OK;
}

enum tsr_status tsri_gather(struct tsri_flight *f, const struct tsri_gather *g, uint8_t *out,
                            struct tsr_err *err) {
  struct walker w;
  walker_init(&w, f, g);
  return each_run(&w, take_run, out, err);
}

static enum tsr_status put_run(struct walker *w, const struct at *p, uint64_t n, uint64_t index,
                               void *arg, struct tsr_err *err) {
  const struct tsri_gather *g = w->g;
  const uint8_t *const *in = arg;
  struct at q = *p;
  enum tsr_status st = TSR_OK;
  for (uint64_t j = 0; !st && j < n; j++) {
    uint64_t byte = 0;
    bool pad;
    st = locate(w, &q, &byte, &pad, err);
    if (!st && !pad) {
      tsri_code_put(w->pad->data + byte, g->o->elem,
                    tsri_code_get(*in + (index + j) * g->code, g->code));
      tsri_bytes_mark(w->pad, byte, g->o->elem);
    }
    move(g->o, &q, g->cols[2], 1);
  }
  return st;
}

enum tsr_status tsri_scatter(struct tsri_flight *f, const struct tsri_gather *g,
                             const uint8_t *in, struct tsr_err *err) {
  struct walker w;
  walker_init(&w, f, g);
  return each_run(&w, put_run, &in, err);
}

/* ---- windows ---- */

/* The axes of a mask as a counter: the last one fastest. */
struct counter {
  enum tsr_isa_axis axis[TSR_AXIS_COUNT];
  uint64_t n, index[TSR_AXIS_COUNT];
  int axes;
};

static void counter_init(struct counter *c, unsigned mask, const uint64_t *extent) {
  *c = (struct counter){.n = 1};
  for (int x = 0; x < TSR_AXIS_COUNT; x++) {
    if (!(mask & 1u << x)) continue;
    c->axis[c->axes++] = (enum tsr_isa_axis)x;
    c->n *= extent[x];
  }
}

/* The offset of element i. */
static void counter_move(const struct counter *c, const struct tsri_operand *o,
                         const uint64_t *extent, uint64_t i, struct at *p) {
  for (int a = c->axes; a-- > 0;) {
    move(o, p, c->axis[a], i % extent[c->axis[a]]);
    i /= extent[c->axis[a]];
  }
}

enum tsr_status tsri_gather_windows(struct tsri_flight *f, const struct tsri_operand *o,
                                    const uint64_t *extent, unsigned rows, unsigned cols,
                                    unsigned win, uint32_t code, uint8_t *out,
                                    uint8_t *inside_to, struct tsr_err *err) {
  const struct tsri_gather g = {.o = o,
                                .extent = extent,
                                .cols = {TSR_AXIS_COUNT, TSR_AXIS_COUNT, TSR_AXIS_COUNT},
                                .code = code};
  struct walker w;
  struct counter r, c, v;
  walker_init(&w, f, &g);
  counter_init(&r, rows, extent);
  counter_init(&c, cols, extent);
  counter_init(&v, win, extent);
  enum tsr_status st = TSR_OK;
  for (uint64_t i = 0; i < r.n; i++)
    for (uint64_t k = 0; k < v.n; k++) {
      struct at base = {{0}};
      counter_move(&r, o, extent, i, &base);
      counter_move(&v, o, extent, k, &base);
      bool any = false;
      for (uint64_t j = 0; !st && j < c.n; j++) {
        struct at p = base;
        uint64_t byte = 0;
        bool pad = true;
        counter_move(&c, o, extent, j, &p);
        st = locate(&w, &p, &byte, &pad, err);
        if (!st && !pad) st = check_written(&w, byte, o->elem, err);
        if (!st)
          tsri_code_put(out + ((i * v.n + k) * c.n + j) * code, code,
                        pad ? 0 : tsri_code_get(w.pad->data + byte, o->elem));
        any = any || (!st && !pad);
      }
      inside_to[i * v.n + k] = any;
    }
  return st;
}

/* ---- multiplying ---- */

static enum tsr_status find_unit(struct tsri_flight *f, const struct tsr_mma **out,
                                 struct tsr_err *err) {
  struct tsr_values *v = f->unit->core->e->values;
  const struct tsri_data *d = f->data;
  const struct tsr_format *a, *b, *acc;
  enum tsr_status st = tsri_values_format(f, d->a.fmt, &a, err);
  if (!st) st = tsri_values_format(f, d->b.fmt, &b, err);
  if (!st) st = tsri_values_format(f, d->c.fmt, &acc, err);
  if (st) return st;
  for (size_t i = 0; i < v->n_units; i++)
    if (v->unit[i]->a == a && v->unit[i]->b == b && v->unit[i]->acc == acc) {
      *out = v->unit[i]->unit;
      return TSR_OK;
    }
  if (v->n_units == TSRI_UNITS_MAX) return tsri_values_wrong(f, err, "too many matrix units");
  struct tsri_unit_cache *c = tsr_mem_alloc(sizeof *c);
  if (!c) return tsr_err_nomem(err);
  c->a = a;
  c->b = b;
  c->acc = acc;
  st = tsr_mma_resolve(v->machine->mma, a, b, acc, &c->spec, &c->unit, err);
  if (st) {
    tsr_mem_free(c);
    return st;
  }
  v->unit[v->n_units++] = c;
  *out = c->unit;
  return TSR_OK;
}

/* The array cuts k where its rows end: the unit must be able to go on from there. */
static enum tsr_status check_cuts(struct tsri_flight *f, const struct tsr_mma *unit,
                                  struct tsr_err *err) {
  const struct tsr_mm_req *q = &f->part[0].req.mm;
  struct tsr_unit_facts facts;
  const struct tsr_instance *tile = f->unit->lane[0].inst;
  tile->ops->unit->facts(tile->params, &facts);
  uint64_t period = tsr_mma_period(unit), cut = 0;
  if (!strcmp(facts.dataflow, "ws") || !strcmp(facts.dataflow, "is"))
    cut = facts.rows * q->rate * (q->sparse ? 2 : 1);
  if (!cut || q->k <= cut || (period && cut % period == 0)) return TSR_OK;
  return tsri_values_wrong(
      f, err,
      "%s cuts k every %" PRIu64 " products (rows times rate), where matrix unit '%s' cannot "
      "go on from a rounded sum; expected a multiple of its %" PRIu64 ", or --numerics off",
      tile->name, cut, unit->name, period);
}

struct matrices {
  struct tsri_gather a, b, c;
  uint64_t m, n, k;
};

static void describe(const struct tsri_data *d, const struct tsr_mma *unit,
                     struct matrices *x) {
  const uint64_t *e = d->extent;
  x->a = (struct tsri_gather){&d->a,
                              e,
                              {TSR_AXIS_B, TSR_AXIS_OH, TSR_AXIS_OW},
                              {TSR_AXIS_KH, TSR_AXIS_KW, TSR_AXIS_C},
                              0,
                              (uint32_t)tsr_gemm_code_bytes(unit->a)};
  /* n alone: the other two column axes are of length 1 */
  x->b = (struct tsri_gather){&d->b,
                              e,
                              {TSR_AXIS_KH, TSR_AXIS_KW, TSR_AXIS_C},
                              {TSR_AXIS_COUNT, TSR_AXIS_COUNT, TSR_AXIS_N},
                              0,
                              (uint32_t)tsr_gemm_code_bytes(unit->b)};
  x->c = (struct tsri_gather){&d->c,
                              e,
                              {TSR_AXIS_B, TSR_AXIS_OH, TSR_AXIS_OW},
                              {TSR_AXIS_COUNT, TSR_AXIS_COUNT, TSR_AXIS_N},
                              0,
                              (uint32_t)tsr_gemm_code_bytes(unit->acc)};
  x->m = e[TSR_AXIS_B] * e[TSR_AXIS_OH] * e[TSR_AXIS_OW];
  x->n = e[TSR_AXIS_N];
  x->k = e[TSR_AXIS_KH] * e[TSR_AXIS_KW] * e[TSR_AXIS_C];
}

/* a, b and c of one group as whole matrices, c as it is (zeros where it is overwritten);
 * b_rows: elements of b along k that are there. */
struct blocks {
  uint8_t *a, *b, *c;
};

bool tsri_values_inside(const struct tsri_flight *f) {
  return f->unit->holds_sums && f->data->inst.op == TSR_ISA_MM && !f->part[0].req.mm.last;
}

static struct tsri_sums *sums_of(const struct tsri_flight *f) {
  const struct tsri_core *c = f->unit->core;
  return &c->e->values->scratch[c->id].sums;
}

/* The newest request before this one whose results wait for room where this one's go. */
static const struct tsri_flight *ahead_of(const struct tsri_flight *f) {
  const struct tsri_unit *u = f->unit;
  const struct tsri_operand *c = &f->data->c;
  const struct tsri_flight *found = NULL;
  for (unsigned i = 0; i < u->closed; i++)
    for (const struct tsri_flight *x = u->gate_ring[(u->gate_head + i) % TSR_TICKETS_MAX];
         x && x != f; x = x->next_gated) {
      const struct tsri_operand *o = &x->data->c;
      if (x->is_ahead && o->buf == c->buf && o->addr < c->addr + c->bytes &&
          c->addr < o->addr + o->bytes)
        found = x;
    }
  return found;
}

/* Sums in c, or on their way there. */
static enum tsr_status read_sums(struct tsri_flight *f, const struct matrices *x, uint8_t *c,
                                 struct tsr_err *err) {
  const struct tsri_flight *from = ahead_of(f);
  if (!from) return tsri_gather(f, &x->c, c, err);
  if (from->data->c.addr != f->data->c.addr || from->data->c.bytes != f->data->c.bytes ||
      memcmp(from->data->extent, f->data->extent, sizeof f->data->extent[0] * TSR_AXIS_KH) != 0)
    return tsri_values_wrong(
        f, err, "adds to a part of sums that instruction %zu has not written yet", from->pc);
  size_t bytes = x->m * x->n * x->c.code;
  memcpy(c, from->ahead + x->c.group * bytes, bytes);
  return TSR_OK;
}

/* The sums that the products are added to: none, those in the array, those in c. */
static enum tsr_status take_sums(struct tsri_flight *f, struct matrices *x, uint8_t *c,
                                 struct tsr_err *err) {
  const struct tsri_sums *s = sums_of(f);
  if (f->part[0].req.mm.first) {
    memset(c, 0, x->m * x->n * x->c.code);
    return TSR_OK;
  }
  if (!f->unit->holds_sums) return read_sums(f, x, c, err);
  if (s->m != x->m || s->n != x->n || s->addr != f->data->c.addr)
    return tsri_values_wrong(f, err, "adds to sums that the array does not hold");
  memcpy(c, s->codes, x->m * x->n * x->c.code);
  return TSR_OK;
}

/* There is no room for them yet: they are kept, group after group. */
static enum tsr_status keep_ahead(struct tsri_flight *f, const struct matrices *x,
                                  const uint8_t *c, struct tsr_err *err) {
  size_t bytes = x->m * x->n * x->c.code;
  if (!tsr_mem_grow((void **)&f->ahead, &f->cap_ahead, (x->c.group + 1) * bytes + 1, 1))
    return tsr_err_nomem(err);
  memcpy(f->ahead + x->c.group * bytes, c, bytes);
  f->is_ahead = true;
  return TSR_OK;
}

/* The sums go to c, or stay in the array, which holds one fold of each tile. */
static enum tsr_status put_sums(struct tsri_flight *f, struct matrices *x, const uint8_t *c,
                                struct tsr_err *err) {
  struct tsri_sums *s = sums_of(f);
  s->m = 0;
  if (!tsri_values_inside(f))
    return f->gated ? keep_ahead(f, x, c, err) : tsri_scatter(f, &x->c, c, err);
  struct tsr_unit_facts facts;
  const struct tsr_instance *tile = f->unit->lane[0].inst;
  tile->ops->unit->facts(tile->params, &facts);
  if (f->data->extent[TSR_AXIS_G] > 1 || x->m > facts.rows * f->unit->n_lanes ||
      x->n > facts.cols * f->unit->n_lanes)
    return tsri_values_wrong(
        f, err, "%s keeps sums of at most %" PRIu64 " by %" PRIu64 " results between requests",
        tile->name, facts.rows, facts.cols);
  size_t bytes = x->m * x->n * x->c.code;
  if (!tsr_mem_grow((void **)&s->codes, &s->cap, bytes + 1, 1)) return tsr_err_nomem(err);
  memcpy(s->codes, c, bytes);
  s->m = x->m;
  s->n = x->n;
  s->addr = f->data->c.addr;
  return TSR_OK;
}

static enum tsr_status take_blocks(struct tsri_flight *f, struct matrices *x, uint64_t b_rows,
                                   struct blocks *out, struct tsr_err *err) {
  struct tsr_values *v = f->unit->core->e->values;
  out->a = tsri_values_block(v, 0, x->m * x->k * x->a.code);
  out->b = tsri_values_block(v, 1, b_rows * x->n * x->b.code);
  out->c = tsri_values_block(v, 2, x->m * x->n * x->c.code);
  if (!out->a || !out->b || !out->c) return tsr_err_nomem(err);
  enum tsr_status st = tsri_gather(f, &x->a, out->a, err);
  if (!st) st = tsri_gather(f, &x->b, out->b, err);
  return st ? st : take_sums(f, x, out->c, err);
}

static enum tsr_status multiply(struct tsri_flight *f, const struct tsr_mma *unit,
                                struct matrices *x, struct tsr_err *err) {
  struct blocks z = {NULL, NULL, NULL};
  enum tsr_status st = take_blocks(f, x, x->k, &z, err);
  if (st) return st;
  const struct tsr_gemm g = {.unit = unit,
                             .m = x->m,
                             .n = x->n,
                             .k = x->k,
                             .a = z.a,
                             .lda = x->k,
                             .b = z.b,
                             .ldb = x->n,
                             .c = z.c,
                             .ldc = x->n,
                             .threads = 1};
  st = tsr_gemm_run(&g, NULL, NULL, err);
  return st ? st : put_sums(f, x, z.c, err);
}

static enum tsr_status check_sparse(struct tsri_flight *f, struct tsr_err *err) {
  const uint64_t *e = f->data->extent;
  uint64_t hole;
  if (e[TSR_AXIS_KH] * e[TSR_AXIS_KW] > 1)
    return tsri_values_wrong(f, err, "a compressed operand has its k along axis c alone");
  if (!tsri_bytes_written(
          &f->unit->core->e->values->scratch[f->unit->core->id].buf[f->data->meta.buf],
          f->data->meta.addr, f->data->meta.bytes, &hole))
    return tsri_values_wrong(f, err, "reads byte %" PRIu64 " of scratchpad %s, never written",
                             hole, tsr_isa_buf_names[f->data->meta.buf]);
  return TSR_OK;
}

/* The places that column j of b keeps, two of every group of 4 along k. */
static uint64_t kept_place(const struct tsri_flight *f, const struct matrices *x, uint64_t j,
                           uint64_t i) {
  const struct tsri_operand *o = &f->data->meta;
  const struct tsri_core *c = f->unit->core;
  uint64_t row = x->b.group * x->n + j, group = i / 2;
  const uint8_t *meta = c->e->values->scratch[c->id].buf[o->buf].data + o->addr +
                        row * tsr_ceil_div(x->k, 8) + group / 2;
  unsigned nibble = group % 2 ? *meta >> 4 : *meta & 15;
  return group * 4 + (i % 2 ? nibble >> 2 : nibble & 3);
}

/* Half the products: of each column of b those that it keeps, in ascending order of k,
 * through the unit as if they were all there are. */
static enum tsr_status multiply_sparse(struct tsri_flight *f, const struct tsr_mma *unit,
                                       struct matrices *x, struct tsr_err *err) {
  struct blocks z = {NULL, NULL, NULL};
  uint64_t half = tsr_ceil_div(x->k, 4) * 2;
  enum tsr_status st = take_blocks(f, x, half, &z, err);
  if (st) return st;
  TSR_CHECK(z.a && z.b && z.c);
  uint64_t *ka = tsr_mem_array(2 * half, sizeof *ka);
  if (!ka) return tsr_err_nomem(err);
  uint64_t *kb = ka + half;
  for (uint64_t i = 0; i < x->m; i++)
    for (uint64_t j = 0; j < x->n; j++) {
      uint64_t n = 0;
      for (uint64_t k = 0; k < half; k++) {
        uint64_t at = kept_place(f, x, j, k);
        if (at >= x->k) continue;
        ka[n] = tsri_code_get(z.a + (i * x->k + at) * x->a.code, x->a.code);
        kb[n++] = tsri_code_get(z.b + (k * x->n + j) * x->b.code, x->b.code);
      }
      uint8_t *acc = z.c + (i * x->n + j) * x->c.code;
      tsri_code_put(acc, x->c.code,
                    tsr_mma_dot(unit, ka, kb, n, tsri_code_get(acc, x->c.code), NULL));
    }
  tsr_mem_free(ka);
  return put_sums(f, x, z.c, err);
}

enum tsr_status tsri_values_mm(struct tsri_flight *f, struct tsr_err *err) {
  struct tsri_data *d = f->data;
  const struct tsr_mma *unit = NULL;
  struct matrices x;
  enum tsr_status st = find_unit(f, &unit, err);
  if (st || !unit) return st;
  if (unit->scale)
    return tsri_values_wrong(f, err, "operands have no block scales, which unit '%s' takes",
                             unit->name);
  describe(d, unit, &x);
  bool sparse = d->inst.f[8] != TSR_DENSE;
  uint64_t stored[TSR_AXIS_COUNT + 1]; /* extents of a b that holds 2 of every 4 along c */
  if (sparse) {
    memcpy(stored, d->extent, sizeof stored);
    stored[TSR_AXIS_C] = tsr_ceil_div(stored[TSR_AXIS_C], 4) * 2;
    x.b.extent = stored;
    st = check_sparse(f, err);
    if (st) return st;
  }
  if (!x.m || !x.n || !x.k) return TSR_OK;
  st = check_cuts(f, unit, err);
  for (uint64_t g = 0; !st && g < d->extent[TSR_AXIS_G]; g++) {
    x.a.group = x.b.group = x.c.group = g;
    st = sparse ? multiply_sparse(f, unit, &x, err) : multiply(f, unit, &x, err);
  }
  return st;
}

enum tsr_status tsri_values_write(struct tsri_flight *f, struct tsr_err *err) {
  const struct tsr_mma *unit = NULL;
  struct matrices x;
  enum tsr_status st = find_unit(f, &unit, err);
  if (st || !unit) return st;
  describe(f->data, unit, &x);
  for (uint64_t g = 0; !st && g < f->data->extent[TSR_AXIS_G]; g++) {
    x.c.group = g;
    st = tsri_scatter(f, &x.c, f->ahead + g * x.m * x.n * x.c.code, err);
  }
  f->is_ahead = false;
  return st;
}
