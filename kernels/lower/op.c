/* What the families of operators share, and which family an operator is of. */
#include "kernels/lower/op.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/lower/op_int.h"

const char *const tsr_attention_names[] = {"tiled", "plain", NULL};

struct family {
  enum tsr_status (*cut)(const struct tsr_op *op, const struct tsr_lower_at *at, uint64_t cores,
                         struct tsr_lower_cut *cut, struct tsr_err *err);
  void (*lower)(struct tsri_emit *e, uint64_t core);
  const char *way, *axes[4];
};

static const struct family *family_of(const struct tsr_op *op) {
  static const struct family rows = {
      tsri_rows_cut, tsri_rows_lower, "rows", {"count", "rows", "cols"}};
  static const struct family each = {
      tsri_rows_cut, tsri_rows_lower, "each", {"count", "rows", "cols"}};
  static const struct family copy = {
      tsri_rows_cut, tsri_rows_lower, "copy", {"count", "rows", "cols"}};
  static const struct family topk = {tsri_topk_cut, tsri_topk_lower, "rows", {"rows", "cols"}};
  static const struct family window = {
      tsri_window_cut, tsri_window_lower, "window", {"images", "oh", "ow", "channels"}};
  static const struct family transpose = {
      tsri_transpose_cut, tsri_transpose_lower, "tiles", {"count", "rows", "cols"}};
  static const struct family gather = {
      tsri_gather_cut, tsri_gather_lower, "gather", {"count", "rows", "cols"}};
  static const struct family columns = {
      tsri_columns_cut, tsri_columns_lower, "columns", {"count", "rows", "cols"}};
  static const struct family attention = {tsri_attention_cut,
                                          tsri_attention_lower,
                                          "attention",
                                          {"kv heads", "heads", "queries", "keys"}};
  if (op->kind == TSR_OP_TOPK) return &topk;
  if (op->kind == TSR_OP_TRANSPOSE) return &transpose;
  if (op->kind == TSR_OP_GATHER_COLS) return &columns;
  switch (tsr_op_kind_info(op->kind)->cls) {
  case TSR_CLASS_ROWWISE: return &rows;
  case TSR_CLASS_ELEMENTWISE: return &each;
  case TSR_CLASS_LAYOUT: return &copy;
  case TSR_CLASS_WINDOW: return &window;
  case TSR_CLASS_GATHER: return &gather;
  case TSR_CLASS_ATTENTION: return &attention;
  default: TSR_BUG("a matmul is lowered from its mapping");
  }
}

/* ---- tensors ---- */

static void extra(const struct tsr_op *op, const struct tsr_lower_at *at,
                  struct tsr_lower_tensor *x) {
  uint64_t m = op->m, n = op->n, k = op->k, count = op->count;
  bool plain = op->kind == TSR_OP_ATTENTION && at->attention == TSR_ATTENTION_PLAIN;
  if (op->kind == TSR_OP_TOPK) {
    x[0] = (struct tsr_lower_tensor){m * k * count, TSR_LOWER_FMT_INT32, TSR_CONTENT_RESULT, n};
    x[1] = (struct tsr_lower_tensor){n, TSR_LOWER_FMT_FP32, TSR_CONTENT_COUNT, 0};
  } else if (op->kind == TSR_OP_MOE_SCATTER) {
    x[0] =
        (struct tsr_lower_tensor){m * k * count, TSR_LOWER_FMT_INT32, TSR_CONTENT_INDEX, m * k};
  } else if (plain) {
    x[0] = (struct tsr_lower_tensor){m * n * count, TSR_LOWER_FMT_OUT, TSR_CONTENT_SCRATCH, 0};
    x[1] = (struct tsr_lower_tensor){m * n * count, TSR_LOWER_FMT_A, TSR_CONTENT_SCRATCH, 0};
  }
  if (op->kind == TSR_OP_ATTENTION && op->attr.causal)
    x[2] = (struct tsr_lower_tensor){m + n, TSR_LOWER_FMT_FP32, TSR_CONTENT_PLACES, 0};
}

enum tsr_status tsr_lower_op_tensors(const struct tsr_op *op, const struct tsr_lower_at *at,
                                     struct tsr_lower_tensor t[TSR_LOWER_TENSORS],
                                     struct tsr_err *err) {
  static const enum tsr_lower_fmt fmt[] = {TSR_LOWER_FMT_A, TSR_LOWER_FMT_B, TSR_LOWER_FMT_OUT};
  uint64_t elems[3], most;
  if (!tsr_op_elems(op, &elems[0], &elems[1], &elems[2]) || !tsr_mul_u64(op->m, op->n, &most) ||
      !tsr_mul_u64(most, op->k, &most) || !tsr_mul_u64(most, op->count, &most) || most >> 56)
    return tsr_err_at(
        err, TSR_INPUT, &op->pos,
        "the tensors of layer '%s' pass 2^56 elements; expected smaller m, n, k or "
        "count",
        op->name);
  memset(t, 0, TSR_LOWER_TENSORS * sizeof *t);
  for (int i = 0; i < 3; i++)
    t[i] = (struct tsr_lower_tensor){
        elems[i], fmt[i], i == TSR_LOWER_OUT ? TSR_CONTENT_RESULT : TSR_CONTENT_DATA, 0};
  int index = op->kind == TSR_OP_EMBEDDING ? TSR_LOWER_A : TSR_LOWER_B;
  if (op->kind == TSR_OP_EMBEDDING || op->kind == TSR_OP_GATHER ||
      op->kind == TSR_OP_GATHER_COLS || op->kind == TSR_OP_MOE_GATHER)
    t[index] = (struct tsr_lower_tensor){elems[index], TSR_LOWER_FMT_INT32, TSR_CONTENT_INDEX,
                                         op->kind == TSR_OP_MOE_GATHER ? op->m / op->k
                                                                       : op->attr.table};
  extra(op, at, &t[TSR_LOWER_X0]);
  return TSR_OK;
}

/* ---- the way in ---- */

enum tsr_status tsr_lower_op_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                 uint64_t cores, struct tsr_lower_cut *cut,
                                 struct tsr_err *err) {
  struct tsr_lower_cut c = {.parts = 1};
  enum tsr_status st = family_of(op)->cut(op, at, cores, &c, err);
  if (!st) *cut = c;
  return st;
}

enum tsr_status tsr_lower_op(const struct tsr_op *op, const struct tsr_lower_at *at,
                             const struct tsr_lower_cut *cut, uint64_t core,
                             struct tsr_program *out, struct tsr_err *err) {
  struct tsri_emit e = {.p = out, .op = op, .at = at, .cut = cut};
  family_of(op)->lower(&e, core);
  TSRI_EMIT(&e, HALT, 0);
  if (!out->failed) return TSR_OK;
  tsr_isa_program_fini(out);
  return tsr_err_nomem(err);
}

const char *tsr_lower_op_way(const struct tsr_op *op, const struct tsr_lower_at *at,
                             const struct tsr_lower_cut *cut) {
  const struct family *f = family_of(op);
  if (op->kind == TSR_OP_ATTENTION) return tsr_attention_names[at->attention];
  return cut->parts > 1 && f->lower == tsri_rows_lower ? "cut" : f->way;
}

void tsr_lower_op_print(const struct tsr_op *op, const struct tsr_lower_cut *cut,
                        struct tsr_str *out) {
  const struct family *f = family_of(op);
  const char *gap = "";
  for (int i = 0; i < 4 && f->axes[i]; i++) {
    tsr_str_addf(out, "%s%s/%" PRIu64, gap, f->axes[i], cut->tile[i]);
    gap = " ";
  }
  if (cut->resident) tsr_str_addf(out, ", keys and values resident");
}

/* ---- cores ---- */

void tsri_divide(struct tsr_lower_cut *cut, const int *axes, int n, uint64_t cores) {
  double best = 0;
  for (int i = 0; i < n; i++) {
    uint64_t size = cut->size[axes[i]], parts = tsr_min_u64(cores, size);
    uint64_t chunk = tsr_ceil_div(size, parts);
    double share = (double)chunk / (double)size;
    if (i && share >= best) continue;
    best = share;
    cut->axis = axes[i];
    cut->chunk = chunk;
    cut->cores = (uint32_t)tsr_ceil_div(size, chunk);
  }
}

uint64_t tsri_from(const struct tsr_lower_cut *cut, int axis, uint64_t core) {
  return axis == cut->axis ? core * cut->chunk : 0;
}

uint64_t tsri_size(const struct tsr_lower_cut *cut, int axis, uint64_t core) {
  uint64_t size = cut->size[axis];
  if (axis != cut->axis) return size;
  return tsr_min_u64(cut->chunk, size - core * cut->chunk);
}

/* ---- emitting ---- */

uint64_t tsri_align(uint64_t bytes) {
  return tsr_ceil_div(bytes, 64) * 64;
}

struct tsri_ring tsri_ring_of(const struct tsr_lower_at *at, int buf) {
  return (struct tsri_ring){buf, at->slots[buf], at->slot_bytes[buf]};
}

void tsri_emit_formats(struct tsri_emit *e, const enum tsr_lower_fmt *list) {
  for (; *list != TSR_LOWER_FMTS; list++)
    TSRI_EMIT(e, FORMAT, *list, tsr_isa_name(e->p, e->at->formats[*list]));
}

void tsri_emit_tensor(struct tsri_emit *e, int t, enum tsr_lower_fmt fmt, uint64_t base_bytes) {
  TSRI_EMIT(e, TENSOR, t, fmt, e->at->bytes[fmt], (int64_t)base_bytes);
}

void tsri_emit_dim(struct tsri_emit *e, int t, enum tsr_lower_fmt fmt, int i, uint64_t size,
                   uint64_t stride, uint64_t extent) {
  TSRI_EMIT(e, DIM, t, i, (int64_t)size, (int64_t)(stride * e->at->bytes[fmt]));
  TSRI_EMIT(e, BOX, t, i, (int64_t)extent, 1);
}

void tsri_emit_walk(struct tsri_emit *e, int t, int i, int loop, uint64_t delta) {
  TSRI_EMIT(e, WALK, t, i, loop, (int64_t)delta);
}

void tsri_emit_ring(struct tsri_emit *e, int p, const struct tsri_ring *ring, uint64_t offset,
                    enum tsr_lower_fmt fmt, const struct tsri_trip *trips, int n) {
  uint64_t wrap = ring->slots * ring->bytes, each = ring->bytes % wrap;
  TSRI_EMIT(e, PLACE, p, ring->buf, fmt, e->at->bytes[fmt], (int64_t)offset, (int64_t)wrap);
  for (int i = n; i-- > 0;) {
    if (each && trips[i].loop >= 0) TSRI_EMIT(e, ADVANCE, p, trips[i].loop, (int64_t)each);
    each = (uint64_t)((tsr_u128)each * (trips[i].trips % ring->slots) % wrap);
  }
}

void tsri_emit_fixed(struct tsri_emit *e, int p, int buf, uint64_t base,
                     enum tsr_lower_fmt fmt) {
  TSRI_EMIT(e, PLACE, p, buf, fmt, e->at->bytes[fmt], (int64_t)base, 1);
}

void tsri_emit_wait(struct tsri_emit *e, int unit, int sem) {
  TSRI_EMIT(e, WAIT, unit, sem, TSR_GATE_START, 1);
}

void tsri_emit_signal(struct tsri_emit *e, int unit, int sem, int when) {
  TSRI_EMIT(e, SIGNAL, unit, sem, when, TSR_TO_OWN);
}

void tsri_emit_load(struct tsri_emit *e, int t, int p, int buf) {
  tsri_emit_wait(e, TSR_UNIT_LOAD, TSRI_FREE + buf);
  TSRI_EMIT(e, LOAD, t, p, TSR_TO_OWN);
  tsri_emit_signal(e, TSR_UNIT_LOAD, TSRI_FULL + buf, TSR_WHEN_DONE);
}

void tsri_emit_store(struct tsri_emit *e, int t, int p) {
  tsri_emit_wait(e, TSR_UNIT_STORE, TSRI_FULL + TSR_BUF_C);
  TSRI_EMIT(e, STORE, t, p, 0);
  tsri_emit_signal(e, TSR_UNIT_STORE, TSRI_FREE + TSR_BUF_C, TSR_WHEN_READ);
}

void tsri_emit_drain(struct tsri_emit *e, int unit, int buf) {
  int64_t n = (int64_t)e->at->slots[buf];
  TSRI_EMIT(e, WAIT, unit, TSRI_FREE + buf, TSR_GATE_START, n);
  for (int64_t i = 0; i < n; i++) tsri_emit_signal(e, unit, TSRI_FREE + buf, TSR_WHEN_DONE);
}

void tsri_emit_vec(struct tsri_emit *e, int op, int d, int a, int b, int bc, int rows, int cols,
                   int over, uint32_t imm) {
  TSRI_EMIT(e, VEC, op, d, a, b, bc, rows, cols, over, imm);
}

enum tsr_status tsri_no_fit(const struct tsr_op *op, const char *what, uint64_t bytes,
                            uint64_t have, const char *buf, struct tsr_err *err) {
  return tsr_err_at(err, TSR_INPUT, &op->pos,
                    "layer '%s' (%s): %s takes %" PRIu64 " bytes; expected at most %" PRIu64
                    ", a buffer of sram.%s",
                    op->name, tsr_op_kind_name(op->kind), what, bytes, have, buf);
}
