/* Instructions to component requests: the only place that knows both. */
#include <string.h>

#include "models/arith/vector.h"
#include "sim/engine/engine_int.h"

void tsri_issue_start(struct tsri_issue *is, const struct tsr_program *p,
                      struct tsr_instance *const *buffers, const uint64_t *bytes) {
  memset(is, 0, sizeof *is);
  is->p = p;
  for (int b = 0; b < TSR_ISA_BUFS; b++) {
    is->buffer[b] = buffers ? buffers[b] : NULL;
    is->buffer_bytes[b] = bytes ? bytes[b] : UINT64_MAX;
  }
  is->memory_bytes = UINT64_MAX;
  for (int f = 0; f < TSR_ISA_FORMATS; f++) is->format_name[f] = -1;
  for (int x = 0; x < TSR_AXIS_COUNT; x++)
    is->axis[x] = (struct tsri_axis){TSR_ISA_NO_LOOP, 1, 1};
  for (int t = 0; t < TSR_ISA_TENSORS; t++)
    for (int i = 0; i < TSR_ISA_DIMS; i++) is->tensor[t].box.step[i] = 1;
}

static void describe_tensor(struct tsri_tensor *t, const struct tsr_inst *in) {
  int64_t i = in->f[1];
  switch (in->op) {
  case TSR_ISA_DIM: /* raises the tensor's rank */
    if (t->box.rank <= (uint32_t)i) t->box.rank = (uint32_t)i + 1;
    t->box.size[i] = (uint64_t)in->f[2];
    t->box.stride_bytes[i] = (uint64_t)in->f[3];
    break;
  case TSR_ISA_BOX:
    t->box.extent[i] = (uint64_t)in->f[2];
    t->box.step[i] = (uint64_t)in->f[3];
    break;
  case TSR_ISA_START: t->box.start[i] = in->f[2]; break;
  case TSR_ISA_WALK:
    if (in->f[2] != TSR_ISA_NO_LOOP) t->walk[i][in->f[2]] = in->f[3];
    break;
  case TSR_ISA_FEED: t->feed[i][in->f[2]] = (uint64_t)in->f[3]; break;
  default: break;
  }
}

/* A register described anew is as new. */
static void new_tensor(struct tsri_tensor *t, const struct tsr_inst *in) {
  *t = (struct tsri_tensor){.fmt = (int)in->f[1],
                            .box = {.base_bytes = (uint64_t)in->f[3],
                                    .elem_bytes = (uint32_t)in->f[2],
                                    .step = {1, 1, 1, 1}}};
}

void tsri_issue_describe(struct tsri_issue *is, const struct tsr_inst *in) {
  switch (in->op) {
  case TSR_ISA_FORMAT: is->format_name[in->f[0]] = (int)in->f[1]; break;
  case TSR_ISA_AXIS:
    is->axis[in->f[0]] =
        (struct tsri_axis){(int)in->f[1], (uint64_t)in->f[2], (uint64_t)in->f[3]};
    break;
  case TSR_ISA_PLACE:
    is->place[in->f[0]] = (struct tsri_place){.buf = (int)in->f[1],
                                              .fmt = (int)in->f[2],
                                              .elem = (uint32_t)in->f[3],
                                              .base = (uint64_t)in->f[4],
                                              .wrap = (uint64_t)in->f[5]};
    break;
  case TSR_ISA_ADVANCE:
    if (in->f[1] != TSR_ISA_NO_LOOP) is->place[in->f[0]].advance[in->f[1]] = (uint64_t)in->f[2];
    break;
  case TSR_ISA_TENSOR: new_tensor(&is->tensor[in->f[0]], in); break;
  case TSR_ISA_DIM:
  case TSR_ISA_BOX:
  case TSR_ISA_START:
  case TSR_ISA_WALK:
  case TSR_ISA_FEED: describe_tensor(&is->tensor[in->f[0]], in); break;
  default: break;
  }
}

static bool is_description(uint8_t op) {
  return op <= TSR_ISA_AXIS;
}

int tsri_issue_unit(uint8_t op) {
  switch (op) {
  case TSR_ISA_LOAD:
  case TSR_ISA_GATHER: return TSR_UNIT_LOAD;
  case TSR_ISA_STORE:
  case TSR_ISA_SCATTER: return TSR_UNIT_STORE;
  case TSR_ISA_MM:
  case TSR_ISA_PRELOAD: return TSR_UNIT_TILE;
  case TSR_ISA_VEC:
  case TSR_ISA_WINDOW: return TSR_UNIT_VECTOR;
  default: return -1;
  }
}

/* ---- addresses ---- */

static void box_at(const struct tsri_issue *is, const struct tsri_tensor *t,
                   struct tsr_box *out) {
  *out = t->box;
  for (uint32_t i = 0; i < t->box.rank; i++)
    for (int l = 0; l < TSR_ISA_LOOPS; l++)
      if (t->walk[i][l]) /* modulo 2^64, as all coordinates */
        out->start[i] =
            (int64_t)((uint64_t)out->start[i] + (uint64_t)t->walk[i][l] * is->loop[l].index);
}

/* The elements of a box that lie inside the tensor. */
static void clip(const struct tsr_box *b, struct tsri_operand *o) {
  for (uint32_t i = 0; i < TSR_ISA_DIMS; i++) {
    o->first[i] = 0;
    o->count[i] = 1;
    if (i >= b->rank) continue;
    uint64_t j0 = b->start[i] < 0 ? tsr_ceil_div(0 - (uint64_t)b->start[i], b->step[i]) : 0;
    uint64_t at = (uint64_t)b->start[i] + j0 * b->step[i];
    bool none = j0 >= b->extent[i] || at >= b->size[i];
    o->first[i] = at;
    o->count[i] =
        none ? 0 : tsr_min_u64(b->extent[i] - j0, tsr_ceil_div(b->size[i] - at, b->step[i]));
  }
}

static uint64_t address(const struct tsri_issue *is, const struct tsri_place *p) {
  uint64_t moved = 0;
  for (int l = 0; l < TSR_ISA_LOOPS; l++)
    if (p->advance[l]) /* modulo 2^64 and then wrap: exact where wrap divides it or it is small
                        */
      moved = (uint64_t)((moved + (tsr_u128)is->loop[l].index * p->advance[l]) % p->wrap);
  return p->base + moved;
}

uint64_t tsri_issue_address(const struct tsri_issue *is, int place) {
  return address(is, &is->place[place]);
}

static void fault_at(struct tsri_fault *f, const char *what, int buf, uint64_t from,
                     uint64_t to, uint64_t limit) {
  if (!f->what) *f = (struct tsri_fault){what, from, to, limit, buf};
}

/* What a register holds when the request is issued: a later description is for later ones. */
static int format_now(const struct tsri_issue *is, int reg) {
  return is->format_name[reg] >= 0 ? is->format_name[reg] : -1 - reg;
}

static void set_place(const struct tsri_issue *is, int p, uint64_t elems,
                      struct tsri_operand *o, struct tsri_fault *fault) {
  const struct tsri_place *pl = &is->place[p];
  o->buf = pl->buf;
  o->fmt = format_now(is, pl->fmt);
  o->elem = pl->elem;
  o->addr = address(is, pl);
  uint64_t end;
  if (!tsr_mul_u64(elems, pl->elem, &o->bytes) || !tsr_add_u64(o->addr, o->bytes, &end) ||
      end > is->buffer_bytes[pl->buf])
    fault_at(fault, "reaches past the end of", pl->buf, o->addr, o->addr + o->bytes,
             is->buffer_bytes[pl->buf]);
}

/* Box of tensor t in place p. */
static void operand(const struct tsri_issue *is, int t, int p, struct tsri_operand *o,
                    struct tsri_fault *fault) {
  const struct tsri_tensor *x = &is->tensor[t];
  box_at(is, x, &o->box);
  clip(&o->box, o);
  memcpy(o->feed, x->feed, sizeof o->feed);
  uint64_t elems = 1;
  for (int i = 0; i < TSR_ISA_DIMS; i++)
    if (!tsr_mul_u64(elems, o->count[i], &elems)) elems = UINT64_MAX;
  set_place(is, p, elems, o, fault);
}

static uint64_t loop_index(const struct tsri_issue *is, int l) {
  return l == TSR_ISA_NO_LOOP ? 0 : is->loop[l].index;
}

/* The part of an axis' present tile that lies inside it. */
static uint64_t axis_extent(const struct tsri_issue *is, int x) {
  const struct tsri_axis *a = &is->axis[x];
  uint64_t at;
  if (!tsr_mul_u64(loop_index(is, a->loop), a->tile, &at) || at >= a->size) return 0;
  return a->size - at < a->tile ? a->size - at : a->tile;
}

/* Within TSRI_WORK_MAX, which `extents` sees to. */
static uint64_t product(const uint64_t *ext, uint64_t mask) {
  uint64_t n = 1;
  for (int x = 0; x < TSR_AXIS_COUNT; x++)
    if (mask & 1u << x) n *= ext[x];
  return n;
}

/* Of all axes; no work where those of the mask multiply to more than one instruction may
 * do, so that nothing computed from them overflows. */
static void extents(const struct tsri_issue *is, uint64_t mask,
                    uint64_t ext[TSR_AXIS_COUNT + 1], struct tsri_fault *fault) {
  uint64_t n = 1;
  for (int x = 0; x < TSR_AXIS_COUNT; x++) {
    ext[x] = axis_extent(is, x);
    if (!(mask & 1u << x) || !ext[x]) continue; /* the others may meet no empty axis */
    if (!tsr_mul_u64(n, ext[x], &n)) n = UINT64_MAX;
  }
  ext[TSR_AXIS_COUNT] = 1;
  if (n <= TSRI_WORK_MAX) return;
  fault_at(fault, "does more than", TSRI_FAULT_WORK, 0, n, TSRI_WORK_MAX);
  for (int x = 0; x < TSR_AXIS_COUNT; x++) ext[x] = 0;
}

/* What lies further apart lies in no scratchpad. */
static const uint64_t PITCH_MAX = (uint64_t)1 << 38;

/* Bytes in the scratchpad between neighbours along the innermost axis of a mask that the
 * operand follows. */
static int64_t pitch(const struct tsri_operand *o, uint64_t mask, const uint64_t *ext) {
  uint64_t local[TSR_ISA_DIMS], s = o->elem;
  for (int i = TSR_ISA_DIMS; i-- > 0;) {
    local[i] = s;
    if ((uint32_t)i < o->box.rank) s *= o->count[i];
  }
  for (int x = TSR_AXIS_COUNT; x-- > 0;) {
    if (!(mask & 1u << x) || ext[x] < 2) continue;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < o->box.rank; i++)
      bytes += o->feed[i][x] / o->box.step[i] * local[i];
    return (int64_t)tsr_min_u64(bytes, PITCH_MAX);
  }
  return o->elem;
}

static struct tsr_buffer_view view(const struct tsri_issue *is, const struct tsri_operand *o,
                                   uint64_t rows, uint64_t cols, const uint64_t *ext) {
  return (struct tsr_buffer_view){is->buffer[o->buf], is->buffer_from[o->buf] + o->addr,
                                  pitch(o, rows, ext), pitch(o, cols, ext)};
}

/* ---- requests ---- */

enum {
  MASK_M = 1u << TSR_AXIS_B | 1u << TSR_AXIS_OH | 1u << TSR_AXIS_OW,
  MASK_N = 1u << TSR_AXIS_N,
  MASK_K = 1u << TSR_AXIS_KH | 1u << TSR_AXIS_KW | 1u << TSR_AXIS_C,
  MASK_ALL = (1u << TSR_AXIS_COUNT) - 1
};

/* Whether every loop of a mask is in its first (last) iteration. */
static bool loops_first(const struct tsri_issue *is, uint64_t mask) {
  for (int l = 0; l < TSR_ISA_LOOPS; l++)
    if (mask & 1u << l && is->loop[l].index) return false;
  return true;
}
static bool loops_last(const struct tsri_issue *is, uint64_t mask) {
  for (int l = 0; l < TSR_ISA_LOOPS; l++)
    if (mask & 1u << l && is->loop[l].index + 1 < is->loop[l].trips) return false;
  return true;
}

/* A matrix of rows x cols elements, dense at a place. */
static struct tsr_buffer_view matrix(const struct tsri_issue *is, int p, uint64_t rows,
                                     uint64_t cols, struct tsri_operand *o,
                                     struct tsri_fault *fault) {
  uint64_t elems;
  if (!tsr_mul_u64(rows, cols, &elems)) elems = UINT64_MAX;
  set_place(is, p, elems, o, fault);
  return (struct tsr_buffer_view){is->buffer[o->buf], is->buffer_from[o->buf] + o->addr,
                                  (int64_t)(cols * o->elem), o->elem};
}

/* Rows of results of a convolution's tile; of one row, or of a matmul, each result is one. */
static uint64_t lines_of(const uint64_t *ext) {
  uint64_t rows = ext[TSR_AXIS_B] * ext[TSR_AXIS_OH];
  return rows > 1 ? rows : ext[TSR_AXIS_OW];
}

static uint64_t elems_of(const struct tsri_operand *o) {
  uint64_t elems = 1;
  for (uint32_t i = 0; i < o->box.rank; i++) elems *= o->count[i];
  return elems;
}

static void request_mm(const struct tsri_issue *is, const struct tsr_inst *in,
                       struct tsr_mm_req *q, struct tsri_data *d, struct tsri_fault *fault) {
  extents(is, MASK_ALL, d->extent, fault);
  const uint64_t *ext = d->extent;
  operand(is, (int)in->f[3], (int)in->f[0], &d->c, fault);
  operand(is, (int)in->f[4], (int)in->f[1], &d->a, fault);
  operand(is, (int)in->f[5], (int)in->f[2], &d->b, fault);
  bool sparse = in->f[8] != TSR_DENSE;
  if (sparse) /* a row of ceil(k/8) bytes for each column of b */
    (void)matrix(is, (int)in->f[9], ext[TSR_AXIS_G] * ext[TSR_AXIS_N],
                 tsr_ceil_div(product(ext, MASK_K), 8), &d->meta, fault);
  *q = (struct tsr_mm_req){.groups = ext[TSR_AXIS_G],
                           .m = product(ext, MASK_M),
                           .n = ext[TSR_AXIS_N],
                           .k = product(ext, MASK_K),
                           .lines = lines_of(ext),
                           .k_lines = ext[TSR_AXIS_KH],
                           .a_elems = elems_of(&d->a) / tsr_max_u64(ext[TSR_AXIS_G], 1),
                           .first = loops_first(is, (uint64_t)in->f[6]),
                           .last = loops_last(is, (uint64_t)in->f[6]),
                           .sparse = sparse,
                           .a_bytes = d->a.elem,
                           .b_bytes = d->b.elem,
                           .acc_bytes = d->c.elem,
                           .out_bytes = d->c.elem,
                           .rate = (uint32_t)in->f[7],
                           .a = view(is, &d->a, MASK_M, MASK_K, ext),
                           .b = view(is, &d->b, MASK_K, MASK_N, ext),
                           .c = view(is, &d->c, MASK_M, MASK_N, ext)};
}

static void request_preload(const struct tsri_issue *is, const struct tsr_inst *in,
                            struct tsr_mm_req *q, struct tsri_data *d,
                            struct tsri_fault *fault) {
  extents(is, MASK_M | MASK_N | MASK_K, d->extent, fault);
  operand(is, (int)in->f[1], (int)in->f[0], &d->b, fault);
  *q = (struct tsr_mm_req){.kind = TSR_MM_PRELOAD,
                           .groups = 1,
                           .m = product(d->extent, MASK_M),
                           .n = d->extent[TSR_AXIS_N],
                           .k = product(d->extent, MASK_K),
                           .a_bytes = d->b.elem,
                           .b_bytes = d->b.elem,
                           .rate = (uint32_t)in->f[2],
                           .b = view(is, &d->b, MASK_K, MASK_N, d->extent)};
}

uint64_t tsri_issue_memory_end(const struct tsri_issue *is, uint64_t base) {
  if (!(base & TSR_ADDR_NEAR)) {
    uint64_t past = base & TSR_ADDR_PAST, end;
    return tsr_add_u64(is->memory_bytes, past, &end) ? end : UINT64_MAX;
  }
  uint64_t bytes = is->buffer_bytes[TSR_BUF_A];
  return bytes == UINT64_MAX ? bytes : TSR_ADDR_NEAR + bytes;
}

/* The last byte of a transfer lies in the memory. */
static void check_memory(const struct tsri_issue *is, const struct tsri_operand *o,
                         struct tsri_fault *fault) {
  tsr_u128 end = (tsr_u128)o->box.base_bytes + o->box.elem_bytes;
  for (uint32_t i = 0; i < o->box.rank; i++) {
    if (!o->count[i]) return; /* all of it lies outside the tensor */
    tsr_u128 last = o->first[i] + (tsr_u128)(o->count[i] - 1) * o->box.step[i];
    end += last * o->box.stride_bytes[i]; /* of the tensor's own size: within 2^65 */
  }
  uint64_t memory = tsri_issue_memory_end(is, o->box.base_bytes);
  if (end > memory)
    fault_at(fault, "reaches past the end of", -1, o->box.base_bytes,
             end > UINT64_MAX ? UINT64_MAX : (uint64_t)end, memory);
}

/* Where in memory a list in a scratchpad was loaded from; 0 when no load brought it. */
static uint64_t loaded_from(const struct tsri_issue *is, const struct tsri_operand *o,
                            uint64_t *step) {
  uint64_t known = tsr_min_u64(is->n_loaded, TSRI_LOADED);
  *step = o->elem;
  for (uint64_t i = 1; i <= known; i++) {
    const struct tsri_loaded *l = &is->loaded[(is->n_loaded - i) % TSRI_LOADED];
    if (l->buf != o->buf || o->addr < l->addr || o->addr >= l->addr + l->bytes) continue;
    *step = l->memory_elem;
    return l->memory + (o->addr - l->addr) / l->elem * l->memory_elem;
  }
  return 0;
}

/* Dimension 0 as listed: none of it is clipped, and the list says where it lies. */
static void listed(const struct tsri_issue *is, const struct tsr_inst *in, struct tsri_data *d,
                   struct tsri_fault *fault) {
  struct tsri_operand *o = &d->c;
  uint64_t elems = o->count[0] = o->box.extent[0];
  o->first[0] = 0;
  for (int i = 1; i < TSR_ISA_DIMS; i++)
    if (!tsr_mul_u64(elems, o->count[i], &elems)) elems = UINT64_MAX;
  set_place(is, (int)in->f[1], elems, o, fault);
  set_place(is, (int)in->f[2], o->count[0], &d->a, fault);
  d->list = (struct tsri_list){.n = o->count[0], .below = o->box.size[0]};
  d->list.memory = loaded_from(is, &d->a, &d->list.memory_elem);
}

static void request_xfer(const struct tsri_issue *is, const struct tsr_inst *in,
                         struct tsr_xfer_req *x, struct tsri_data *d,
                         struct tsri_fault *fault) {
  bool list = in->op == TSR_ISA_GATHER || in->op == TSR_ISA_SCATTER;
  struct tsri_fault none = {0};
  operand(is, (int)in->f[0], (int)in->f[1], &d->c, list ? &none : fault);
  if (list) listed(is, in, d, fault);
  d->tensor_fmt = format_now(is, is->tensor[in->f[0]].fmt);
  check_memory(is, &d->c, fault);
  d->shift = in->op == TSR_ISA_STORE ? (uint32_t)in->f[2] : 0;
  *x = (struct tsr_xfer_req){.box = d->c.box,
                             .buffer = is->buffer[d->c.buf],
                             .local_addr = is->buffer_from[d->c.buf] + d->c.addr};
  if (in->op != TSR_ISA_LOAD || in->f[2] != TSR_TO_ALL) return;
  x->others = is->others[d->c.buf];
  x->n_others = is->n_others;
}

static void request_vec(const struct tsri_issue *is, const struct tsr_inst *in,
                        struct tsr_vec_req *v, struct tsri_data *d, struct tsri_fault *fault) {
  extents(is, (uint64_t)(in->f[5] | in->f[6]), d->extent, fault);
  uint64_t rows = product(d->extent, (uint64_t)in->f[5]);
  uint64_t cols = product(d->extent, (uint64_t)in->f[6]);
  const struct tsr_vec_info *info = tsr_vec_info((unsigned)in->f[0]);
  bool compress = in->f[0] == TSR_VEC_COMPRESS24, first = loops_first(is, (uint64_t)in->f[7]);
  bool copies = info->kind == TSR_VEC_BINARY && in->f[7] && first; /* a sum begins */
  bool second = (info->sources > 1 && !copies) || compress;
  uint64_t b_rows = in->f[4] == TSR_BC_NONE || in->f[4] == TSR_BC_COL ? rows : 1;
  uint64_t b_cols = in->f[4] == TSR_BC_NONE || in->f[4] == TSR_BC_ROW ? cols : 1;
  uint64_t d_cols = info->kind == TSR_VEC_REDUCE ? 1 : cols;
  if (compress) { /* 2 of 4, and a nibble for each 4, in the place of b */
    d_cols = tsr_ceil_div(cols, 4) * 2;
    b_cols = tsr_ceil_div(cols, 8);
  }
  *v = (struct tsr_vec_req){.op = copies ? TSR_VEC_COPY : (uint32_t)in->f[0],
                            .rows = rows,
                            .cols = cols,
                            .window = 1,
                            .first = first,
                            .b_elems = second && !compress ? b_rows * b_cols : 0};
  v->d = matrix(is, (int)in->f[1], rows, d_cols, &d->c, fault);
  v->a = matrix(is, (int)in->f[2], rows, cols, &d->a, fault);
  if (second) v->b = matrix(is, (int)in->f[3], b_rows, b_cols, &d->b, fault);
  v->d_bytes = d->c.elem;
  v->a_bytes = d->a.elem;
  v->b_bytes = second && !compress ? d->b.elem : 0;
}

static void request_window(const struct tsri_issue *is, const struct tsr_inst *in,
                           struct tsr_vec_req *v, struct tsri_data *d,
                           struct tsri_fault *fault) {
  extents(is, (uint64_t)(in->f[4] | in->f[5] | in->f[6]), d->extent, fault);
  uint64_t rows = product(d->extent, (uint64_t)in->f[4]);
  uint64_t cols = product(d->extent, (uint64_t)in->f[5]);
  *v = (struct tsr_vec_req){.op = (uint32_t)in->f[0],
                            .rows = rows,
                            .cols = cols,
                            .window = product(d->extent, (uint64_t)in->f[6]),
                            .first = true};
  v->d = matrix(is, (int)in->f[1], rows, cols, &d->c, fault);
  operand(is, (int)in->f[3], (int)in->f[2], &d->a, fault);
  v->a = view(is, &d->a, (uint64_t)in->f[4], (uint64_t)in->f[5], d->extent);
  v->d_bytes = d->c.elem;
  v->a_bytes = d->a.elem;
}

void tsri_issue_request(const struct tsri_issue *is, const struct tsr_inst *in,
                        struct tsr_req *out, struct tsri_data *data, struct tsri_fault *fault) {
  data->inst = *in;
  data->a.bytes = data->b.bytes = data->c.bytes = data->meta.bytes = 0;
  data->list.n = 0;
  switch (in->op) {
  case TSR_ISA_MM: request_mm(is, in, &out->mm, data, fault); break;
  case TSR_ISA_PRELOAD: request_preload(is, in, &out->mm, data, fault); break;
  case TSR_ISA_VEC: request_vec(is, in, &out->vec, data, fault); break;
  case TSR_ISA_WINDOW: request_window(is, in, &out->vec, data, fault); break;
  default: request_xfer(is, in, &out->xfer, data, fault); break;
  }
}

/* ---- the stream ---- */

/* A wait, signal or barrier; false for a request. */
static bool synchronise(const struct tsr_inst *in, struct tsri_op *op) {
  switch (in->op) {
  case TSR_ISA_WAIT:
    op->kind = TSRI_OP_WAIT;
    op->sem = (int)in->f[1];
    op->when = (int)in->f[2];
    op->n = (uint32_t)in->f[3];
    return true;
  case TSR_ISA_SIGNAL:
    op->kind = TSRI_OP_SIGNAL;
    op->sem = (int)in->f[1];
    op->when = (int)in->f[2];
    op->to = (int)in->f[3];
    return true;
  case TSR_ISA_BARRIER: op->kind = TSRI_OP_BARRIER; return true;
  default: return false;
  }
}

static void end_loop(struct tsri_issue *is, int64_t loop) {
  struct tsri_loop *l = &is->loop[loop];
  if (++l->index < l->trips) {
    is->pc = l->body;
    is->looped |= 1u << loop;
  } else {
    l->index = 0;
  }
}

/* What the latest loads brought, for lists of indices. */
static void note_load(struct tsri_issue *is, const struct tsri_operand *o) {
  struct tsri_loaded *l = &is->loaded[is->n_loaded++ % TSRI_LOADED];
  *l = (struct tsri_loaded){.buf = o->buf,
                            .elem = o->elem,
                            .memory_elem = o->box.elem_bytes,
                            .addr = o->addr,
                            .bytes = o->bytes,
                            .memory = o->box.base_bytes};
  for (uint32_t i = 0; i < o->box.rank; i++) l->memory += o->first[i] * o->box.stride_bytes[i];
}

bool tsri_issue_next(struct tsri_issue *is, struct tsri_op *op, struct tsri_data *data,
                     int *unit, struct tsri_fault *fault) {
  for (;;) {
    op->pc = is->pc;
    op->data = NULL;
    const struct tsr_inst *in = &is->p->inst[is->pc++];
    if (++is->idle > TSRI_IDLE_MAX) {
      fault_at(fault, "asks no unit for anything for", TSRI_FAULT_IDLE, 0, is->idle,
               TSRI_IDLE_MAX);
      *unit = -1;
      return true;
    }
    is->described += in->op <= TSR_ISA_SEM;
    if (is_description(in->op)) {
      tsri_issue_describe(is, in);
      continue;
    }
    switch (in->op) {
    case TSR_ISA_SEM:
      op->sem = (int)in->f[0];
      is->sem_init[op->sem] = (uint32_t)in->f[1];
      *unit = -1;
      return true;
    case TSR_ISA_LOOP:
      is->loop[in->f[0]] = (struct tsri_loop){0, (uint64_t)in->f[1], is->pc};
      break;
    case TSR_ISA_END: end_loop(is, in->f[0]); break;
    case TSR_ISA_HALT: is->halted = true; return false;
    default:
      if (synchronise(in, op)) {
        *unit = (int)in->f[0];
        return true;
      }
      op->kind = TSRI_OP_REQ;
      is->idle = 0;
      tsri_issue_request(is, in, &op->req, data, fault);
      op->list = data->list;
      if (in->op == TSR_ISA_LOAD) note_load(is, &data->c);
      *unit = tsri_issue_unit(in->op);
      return true;
    }
  }
}
