/* The DRAM image and the scratchpads: who wrote what, and who is at it now. */
#include "sim/engine/values.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/arith/vector.h"
#include "sim/engine/values_int.h"

/* ---- life ---- */

static void free_bytes(struct tsri_bytes *b) {
  tsr_mem_free(b->data);
  tsr_mem_free(b->written);
}

enum tsr_status tsr_values_create(const struct tsr_machine *m, struct tsr_values **out,
                                  struct tsr_err *err) {
  struct tsr_values *v = tsr_mem_alloc(sizeof *v);
  if (!v) return tsr_err_nomem(err);
  v->machine = m;
  v->scratch = tsr_mem_array(m->cores, sizeof *v->scratch);
  bool ok = v->scratch != NULL;
  for (uint64_t c = 0; ok && c < m->cores; c++)
    for (int b = 0; ok && b < TSR_ISA_BUFS; b++) {
      const struct tsr_machine_instance *x =
          &m->slot[tsr_machine_slot(m, c, TSR_SLOT_SRAM_A + b)];
      struct tsri_bytes *s = &v->scratch[c].buf[b];
      s->n = x->ops->buffer->slot_bytes(x->params) * x->ops->buffer->slots(x->params);
      s->data = tsr_mem_alloc(s->n);
      s->written = tsr_mem_alloc(s->n);
      ok = s->data && s->written;
    }
  if (!ok) {
    tsr_values_destroy(v);
    return tsr_err_nomem(err);
  }
  *out = v;
  return TSR_OK;
}

static void free_segment(struct tsri_segment *s) {
  free_bytes(&s->bytes);
  tsr_mem_free(s->kept);
}

void tsr_values_drop(struct tsr_values *v, uint64_t base) {
  size_t n = 0;
  for (size_t i = 0; i < v->n_segments; i++) {
    if (v->segment[i].base == base && v->segment[i].owner == v->owner)
      free_segment(&v->segment[i]);
    else
      v->segment[n++] = v->segment[i];
  }
  v->n_segments = n;
}

void tsr_values_of(struct tsr_values *v, size_t job) {
  v->owner = job;
}

void tsri_values_start(struct tsr_values *v, uint32_t core) {
  struct tsri_scratch *s = &v->scratch[core];
  s->n_holds = 0;
  s->sums.m = 0;
  for (int b = 0; b < TSR_ISA_BUFS; b++) {
    memset(s->buf[b].written, 0, s->buf[b].top);
    s->buf[b].top = 0;
  }
}

void tsr_values_destroy(struct tsr_values *v) {
  if (!v) return;
  if (v->scratch) {
    for (size_t i = 0; i < v->n_segments; i++) free_segment(&v->segment[i]);
    for (uint64_t c = 0; c < v->machine->cores; c++) {
      for (int b = 0; b < TSR_ISA_BUFS; b++) free_bytes(&v->scratch[c].buf[b]);
      tsr_mem_free(v->scratch[c].hold);
      tsr_mem_free(v->scratch[c].sums.codes);
    }
  }
  for (size_t i = 0; i < v->n_units; i++) tsr_mem_free(v->unit[i]);
  for (int i = 0; i < 3; i++) tsr_mem_free(v->block[i]);
  tsr_mem_free(v->segment);
  tsr_mem_free(v->scratch);
  tsr_mem_free(v);
}

/* ---- the image ---- */

enum tsr_status tsr_values_tensor(struct tsr_values *v, uint64_t base, uint64_t bytes,
                                  bool written, uint8_t **data, struct tsr_err *err) {
  if (!tsr_mem_grow((void **)&v->segment, &v->cap_segments, v->n_segments + 1,
                    sizeof *v->segment))
    return tsr_err_nomem(err);
  struct tsri_segment s = {.base = base, .owner = v->owner, .bytes = {.n = bytes}};
  s.bytes.data = tsr_mem_alloc(tsr_max_u64(bytes, 1));
  s.bytes.written = written ? NULL : tsr_mem_alloc(tsr_max_u64(bytes, 1));
  if (!s.bytes.data || (!written && !s.bytes.written)) {
    free_bytes(&s.bytes);
    return tsr_err_nomem(err);
  }
  size_t at = v->n_segments++;
  for (; at > 0 && v->segment[at - 1].base > base; at--) v->segment[at] = v->segment[at - 1];
  v->segment[at] = s;
  if (data) *data = s.bytes.data;
  return TSR_OK;
}

static struct tsri_segment *segment_at(const struct tsr_values *v, size_t owner,
                                       uint64_t addr) {
  for (size_t i = v->n_segments; i-- > 0;)
    if (v->segment[i].base <= addr && v->segment[i].owner == owner)
      return addr - v->segment[i].base < v->segment[i].bytes.n ? &v->segment[i] : NULL;
  return NULL;
}

enum tsr_status tsr_values_keep(struct tsr_values *v, uint64_t base, uint32_t elem_bytes,
                                uint32_t from_bytes, uint8_t **kept, struct tsr_err *err) {
  struct tsri_segment *s = segment_at(v, v->owner, base);
  TSR_CHECK(s && s->base == base && !s->kept);
  s->kept = tsr_mem_array(s->bytes.n / elem_bytes, from_bytes);
  if (!s->kept) return tsr_err_nomem(err);
  s->elem_bytes = elem_bytes;
  s->from_bytes = from_bytes;
  *kept = s->kept;
  return TSR_OK;
}

bool tsri_bytes_written(const struct tsri_bytes *b, uint64_t at, uint64_t n, uint64_t *first) {
  if (!b->written) return true;
  const uint8_t *hole = memchr(b->written + at, 0, n);
  if (hole) *first = (uint64_t)(hole - b->written);
  return !hole;
}

void tsri_bytes_mark(struct tsri_bytes *b, uint64_t at, uint64_t n) {
  if (!b->written) return;
  memset(b->written + at, 1, n);
  b->top = tsr_max_u64(b->top, at + n);
}

bool tsr_values_missing(const struct tsr_values *v, uint64_t base, uint64_t *byte) {
  const struct tsri_segment *s = segment_at(v, v->owner, base);
  TSR_CHECK(s && s->base == base);
  return !tsri_bytes_written(&s->bytes, 0, s->bytes.n, byte);
}

uint8_t *tsri_values_block(struct tsr_values *v, int i, uint64_t n) {
  return tsr_mem_grow((void **)&v->block[i], &v->cap_block[i], n + 1, 1) ? v->block[i] : NULL;
}

/* ---- messages and formats ---- */

enum tsr_status tsri_values_wrong(const struct tsri_flight *f, struct tsr_err *err,
                                  const char *fmt, ...) {
  char what[256];
  va_list ap;
  va_start(ap, fmt);
  (void)vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  const struct tsri_core *c = f->unit->core;
  struct tsr_str text = TSR_STR_INIT;
  tsr_isa_print(c->issue.p, &f->data->inst, &text);
  enum tsr_status st = tsr_err_set(
      err, TSR_SIM, "layer '%s', core %u, instruction %zu (%s), cycle %" PRIu64 ": %s",
      tsri_engine_job_name(c), c->id, f->pc, text.p ? text.p : "", tsri_engine_cycle(c->e),
      what);
  tsr_str_fini(&text);
  return st;
}

enum tsr_status tsri_values_format(const struct tsri_flight *f, int number,
                                   const struct tsr_format **out, struct tsr_err *err) {
  const struct tsri_core *c = f->unit->core;
  struct tsr_values *v = c->e->values;
  if (number < 0 || (size_t)number >= c->issue.p->n_names)
    return tsri_values_wrong(f, err, "format f%d was not described", -1 - number);
  const char *name = c->issue.p->name[number];
  *out = tsr_format_find(name);
  for (size_t i = 0; !*out && i < v->n_formats; i++)
    if (!strcmp(v->format_name[i], name)) *out = &v->format[i];
  if (*out) return TSR_OK;
  if (v->n_formats == TSRI_FORMATS_MAX || strlen(name) >= sizeof v->format_name[0])
    return tsri_values_wrong(f, err, "too many formats by description");
  char *copy = v->format_name[v->n_formats];
  memcpy(copy, name, strlen(name) + 1);
  enum tsr_status st = tsr_format_parse(copy, &v->format[v->n_formats], err);
  if (st) return st;
  *out = &v->format[v->n_formats++];
  return TSR_OK;
}

/* ---- who is at what ---- */

static struct tsri_scratch *scratch_of(const struct tsri_flight *f, uint32_t core) {
  return &f->unit->core->e->values->scratch[core];
}

static enum tsr_status hold(struct tsri_flight *f, uint32_t core, const struct tsri_operand *o,
                            bool write, struct tsr_err *err) {
  struct tsri_scratch *s = scratch_of(f, core);
  uint64_t from = o->addr, to = o->addr + o->bytes;
  if (from == to) return TSR_OK;
  for (size_t i = 0; i < s->n_holds; i++) {
    const struct tsri_hold *h = &s->hold[i];
    bool same = h->flight->unit == f->unit; /* a unit keeps its own order */
    if (same || h->buf != o->buf || !(h->write || write) || h->to <= from || to <= h->from)
      continue;
    return tsri_values_wrong(f, err,
                             "%s bytes %" PRIu64 " to %" PRIu64
                             " of scratchpad %s while instruction %zu still %s them",
                             write ? "writes" : "reads", tsr_max_u64(from, h->from),
                             tsr_min_u64(to, h->to), tsr_isa_buf_names[o->buf], h->flight->pc,
                             h->write ? "writes" : "reads");
  }
  if (!tsr_mem_grow((void **)&s->hold, &s->cap_holds, s->n_holds + 1, sizeof *s->hold))
    return tsr_err_nomem(err);
  s->hold[s->n_holds++] = (struct tsri_hold){f, o->buf, write, from, to};
  return TSR_OK;
}

/* Lets go of what a request reads (or all). */
static void let_go(const struct tsri_flight *f, uint32_t core, bool reads_only) {
  struct tsri_scratch *s = scratch_of(f, core);
  size_t n = 0;
  for (size_t i = 0; i < s->n_holds; i++)
    if (s->hold[i].flight != f || (reads_only && s->hold[i].write)) s->hold[n++] = s->hold[i];
  s->n_holds = n;
}

/* The cores whose scratchpads a request writes. */
static void targets(const struct tsri_flight *f, uint32_t *first, uint32_t *n) {
  const struct tsri_core *c = f->unit->core;
  *first = c->id;
  *n = 1;
  if (f->data->inst.op != TSR_ISA_LOAD || f->data->inst.f[2] != TSR_TO_ALL) return;
  *first = c->job->job->first_core;
  *n = c->job->job->n_cores;
}

static bool is_store(const struct tsri_flight *f) {
  return f->data->inst.op == TSR_ISA_STORE || f->data->inst.op == TSR_ISA_SCATTER;
}

static enum tsr_status hold_results(struct tsri_flight *f, struct tsr_err *err) {
  uint32_t first, n;
  targets(f, &first, &n);
  enum tsr_status st = TSR_OK;
  for (uint32_t i = 0; !st && i < n; i++) st = hold(f, first + i, &f->data->c, true, err);
  return st;
}

/* compress24 writes there which elements it keeps. */
static bool writes_b(const struct tsri_flight *f) {
  return f->data->inst.op == TSR_ISA_VEC && f->data->inst.f[0] == TSR_VEC_COMPRESS24;
}

enum tsr_status tsri_values_begin(struct tsri_flight *f, struct tsr_err *err) {
  uint32_t core = f->unit->core->id;
  const struct tsri_data *d = f->data;
  enum tsr_status st = TSR_OK;
  if (is_store(f)) {
    st = hold(f, core, &d->c, false, err);
    return !st && d->a.bytes ? hold(f, core, &d->a, false, err) : st;
  }
  if (d->a.bytes) st = hold(f, core, &d->a, false, err);
  if (!st && d->b.bytes) st = hold(f, core, &d->b, writes_b(f), err);
  if (!st && d->meta.bytes) st = hold(f, core, &d->meta, false, err);
  if (!st && !f->gated && !tsri_values_inside(f)) st = hold_results(f, err);
  return st;
}

enum tsr_status tsri_values_index(struct tsri_flight *f, struct tsr_err *err) {
  const struct tsri_data *d = f->data;
  const struct tsri_bytes *pad = &scratch_of(f, f->unit->core->id)->buf[d->a.buf];
  uint64_t hole;
  for (uint64_t i = 0; i < d->list.n; i++) f->index[i] = 0;
  if (!tsri_bytes_written(pad, d->a.addr, d->a.bytes, &hole))
    return tsri_values_wrong(f, err, "reads byte %" PRIu64 " of scratchpad %s, never written",
                             hole, tsr_isa_buf_names[d->a.buf]);
  for (uint64_t i = 0; i < d->list.n; i++) {
    uint64_t index = tsri_code_get(pad->data + d->a.addr + i * d->a.elem, d->a.elem);
    if (d->a.elem == 4 && index >> 31)
      index += d->list.below - (UINT64_C(1) << 32); /* from the end */
    if (index >= d->list.below)
      return tsri_values_wrong(f, err,
                               "index %" PRIu64 " of its list is %" PRIu64
                               "; expected one below %" PRIu64 ", the size of dimension 0",
                               i, index, d->list.below);
    f->index[i] = index;
  }
  return TSR_OK;
}

enum tsr_status tsri_values_open(struct tsri_flight *f, struct tsr_err *err) {
  enum tsr_status st = hold_results(f, err);
  return !st && f->is_ahead ? tsri_values_write(f, err) : st;
}

enum tsr_status tsri_values_consumed(struct tsri_flight *f, struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  switch (f->data->inst.op) {
  case TSR_ISA_MM: st = tsri_values_mm(f, err); break;
  case TSR_ISA_VEC:
  case TSR_ISA_WINDOW: st = tsri_values_vector(f, err); break;
  case TSR_ISA_PRELOAD: break;
  default: st = tsri_values_transfer(f, err); break;
  }
  let_go(f, f->unit->core->id, true);
  return st;
}

enum tsr_status tsri_values_done(struct tsri_flight *f, struct tsr_err *err) {
  (void)err;
  uint32_t first, n;
  targets(f, &first, &n);
  for (uint32_t i = 0; i < n; i++) let_go(f, first + i, false);
  return TSR_OK;
}

/* ---- transfers ---- */

struct transfer {
  struct tsri_flight *f;
  const struct tsri_operand *o;
  const struct tsr_format *from, *to; /* both NULL: bytes alone */
  bool store;
  uint64_t local; /* next byte in the scratchpad */
};

static uint64_t convert(const struct transfer *t, uint64_t code) {
  if (!t->from) return code;
  struct tsr_num v = tsr_arith_decode(t->from, code);
  unsigned events = 0;
  v.exp -= (int)t->f->data->shift;
  return tsr_arith_encode(t->to, TSR_ROUND_RNE, &v, &events);
}

/* n elements of the tensor, `step` bytes apart from addr on, against the next ones of the
 * scratchpad. */
static enum tsr_status run(struct transfer *t, uint64_t addr, uint64_t n, uint64_t step,
                           struct tsr_err *err) {
  struct tsri_flight *f = t->f;
  struct tsr_values *v = f->unit->core->e->values;
  uint32_t elem = t->o->box.elem_bytes, local_elem = t->o->elem;
  const struct tsri_core *core = f->unit->core;
  struct tsri_segment *s = segment_at(v, (size_t)(core->job - core->e->job), addr);
  uint64_t last = addr + (n - 1) * step + elem, hole;
  if (!s || last - s->base > s->bytes.n)
    return tsri_values_wrong(
        f, err, "%s bytes %" PRIu64 " to %" PRIu64 " of memory, where no tensor lies",
        t->store ? "writes" : "reads", addr, last);
  uint64_t at = addr - s->base;
  struct tsri_bytes *pad = &v->scratch[f->unit->core->id].buf[t->o->buf];
  bool plain = !t->from && elem == local_elem && step == elem;
  if (t->store && !tsri_bytes_written(pad, t->local, n * local_elem, &hole))
    return tsri_values_wrong(f, err, "reads byte %" PRIu64 " of scratchpad %s, never written",
                             hole, tsr_isa_buf_names[t->o->buf]);
  if (plain && !t->store) {
    if (!tsri_bytes_written(&s->bytes, at, n * elem, &hole))
      return tsri_values_wrong(f, err, "reads byte %" PRIu64 " of memory, never written",
                               s->base + hole);
    memcpy(pad->data + t->local, s->bytes.data + at, n * elem);
  } else if (plain && !s->kept) {
    memcpy(s->bytes.data + at, pad->data + t->local, n * elem);
    tsri_bytes_mark(&s->bytes, at, n * elem);
  } else {
    for (uint64_t i = 0; i < n; i++) {
      uint8_t *mem = s->bytes.data + at + i * step,
              *own = pad->data + t->local + i * local_elem;
      if (t->store) {
        uint64_t code = tsri_code_get(own, local_elem);
        tsri_code_put(mem, elem, convert(t, code));
        tsri_bytes_mark(&s->bytes, at + i * step, elem);
        if (s->kept)
          tsri_code_put(s->kept + (at + i * step) / s->elem_bytes * s->from_bytes,
                        s->from_bytes, code);
      } else {
        if (!tsri_bytes_written(&s->bytes, at + i * step, elem, &hole))
          return tsri_values_wrong(f, err, "reads byte %" PRIu64 " of memory, never written",
                                   s->base + hole);
        tsri_code_put(own, local_elem, convert(t, tsri_code_get(mem, elem)));
      }
    }
  }
  if (!t->store) tsri_bytes_mark(pad, t->local, n * local_elem);
  t->local += n * local_elem;
  return TSR_OK;
}

/* The place of element j of dimension i of the clipped box. */
static uint64_t place(const struct transfer *t, int i, uint64_t j) {
  const struct tsr_xfer_req *x = &t->f->part[0].req.xfer;
  const struct tsri_operand *o = t->o;
  uint64_t at = i == 0 && x->index ? x->index[j] : o->first[i] + j * o->box.step[i];
  return at * o->box.stride_bytes[i];
}

static enum tsr_status walk(struct transfer *t, int i, uint64_t addr, struct tsr_err *err) {
  const struct tsri_operand *o = t->o;
  int last = (int)o->box.rank - 1;
  TSR_CHECK(i >= 0 && i < TSR_ISA_DIMS);
  if (i == last && !(i == 0 && t->f->part[0].req.xfer.index))
    return run(t, addr + place(t, i, 0), o->count[i], o->box.stride_bytes[i] * o->box.step[i],
               err);
  enum tsr_status st = TSR_OK;
  for (uint64_t j = 0; !st && j < o->count[i]; j++)
    st = i == last ? run(t, addr + place(t, i, j), 1, o->box.elem_bytes, err)
                   : walk(t, i + 1, addr + place(t, i, j), err);
  return st;
}

/* A load for all cores: the others get what the first got. */
static void copy_to_others(const struct tsri_flight *f) {
  struct tsr_values *v = f->unit->core->e->values;
  const struct tsri_operand *o = &f->data->c;
  uint32_t first, n, own = f->unit->core->id;
  targets(f, &first, &n);
  for (uint32_t i = 0; i < n; i++) {
    if (first + i == own) continue;
    struct tsri_bytes *to = &v->scratch[first + i].buf[o->buf];
    memcpy(to->data + o->addr, v->scratch[own].buf[o->buf].data + o->addr, o->bytes);
    tsri_bytes_mark(to, o->addr, o->bytes);
  }
}

enum tsr_status tsri_values_transfer(struct tsri_flight *f, struct tsr_err *err) {
  const struct tsri_data *d = f->data;
  struct transfer t = {.f = f, .o = &d->c, .store = is_store(f), .local = d->c.addr};
  const struct tsr_format *tensor = NULL, *pad = NULL;
  if (!d->c.bytes) return TSR_OK; /* all of it lies outside */
  enum tsr_status st = tsri_values_format(f, d->tensor_fmt, &tensor, err);
  if (!st) st = tsri_values_format(f, d->c.fmt, &pad, err);
  if (st) return st;
  if (tensor != pad || d->shift) {
    t.from = t.store ? pad : tensor;
    t.to = t.store ? tensor : pad;
  }
  if (d->c.box.rank == 0) return run(&t, d->c.box.base_bytes, 1, d->c.box.elem_bytes, err);
  st = walk(&t, 0, d->c.box.base_bytes, err);
  if (!st && !t.store) copy_to_others(f);
  return st;
}
