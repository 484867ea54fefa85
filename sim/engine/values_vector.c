/* Vector operations by value (models/arith/vector.h), on what scratchpads hold. */
#include <inttypes.h>
#include <string.h>

#include "models/arith/vector.h"
#include "sim/engine/values_int.h"

/* A dense matrix of codes in a scratchpad: its bytes, and a copy where an element takes
 * other bytes than a code. */
struct matrix {
  const struct tsri_operand *o;
  const struct tsr_format *format;
  uint64_t elems;
  uint8_t *codes;
  bool copied;
};

static struct tsri_bytes *pad_of(const struct tsri_flight *f, const struct tsri_operand *o) {
  const struct tsri_core *c = f->unit->core;
  return &c->e->values->scratch[c->id].buf[o->buf];
}

static enum tsr_status check_read(const struct tsri_flight *f, const struct tsri_operand *o,
                                  struct tsr_err *err) {
  uint64_t hole;
  if (tsri_bytes_written(pad_of(f, o), o->addr, o->bytes, &hole)) return TSR_OK;
  return tsri_values_wrong(f, err, "reads byte %" PRIu64 " of scratchpad %s, never written",
                           hole, tsr_isa_buf_names[o->buf]);
}

/* The matrix of an operand, with its present codes where `read`. */
static enum tsr_status open_matrix(struct tsri_flight *f, const struct tsri_operand *o,
                                   int block, uint64_t elems, bool read, struct matrix *m,
                                   struct tsr_err *err) {
  *m = (struct matrix){.o = o, .elems = elems};
  enum tsr_status st = tsri_values_format(f, o->fmt, &m->format, err);
  if (!st && read) st = check_read(f, o, err);
  if (st) return st;
  size_t code = tsr_gemm_code_bytes(m->format);
  m->copied = code != o->elem;
  m->codes = pad_of(f, o)->data + o->addr;
  if (!m->copied) return TSR_OK;
  const uint8_t *from = m->codes;
  m->codes = tsri_values_block(f->unit->core->e->values, block, elems * code);
  if (!m->codes) return tsr_err_nomem(err);
  for (uint64_t i = 0; i < elems; i++)
    tsri_code_put(m->codes + i * code, (uint32_t)code,
                  tsri_code_get(from + i * o->elem, o->elem));
  return TSR_OK;
}

static void close_result(const struct tsri_flight *f, const struct matrix *m) {
  struct tsri_bytes *pad = pad_of(f, m->o);
  size_t code = tsr_gemm_code_bytes(m->format);
  for (uint64_t i = 0; m->copied && i < m->elems; i++)
    tsri_code_put(pad->data + m->o->addr + i * m->o->elem, m->o->elem,
                  tsri_code_get(m->codes + i * code, (uint32_t)code));
  tsri_bytes_mark(pad, m->o->addr, m->o->bytes);
}

static unsigned lanes_of(const struct tsri_flight *f) {
  const struct tsr_instance *unit = f->unit->lane[0].inst;
  struct tsr_unit_facts facts;
  unit->ops->unit->facts(unit->params, &facts);
  return (unsigned)tsr_min_u64(tsr_max_u64(facts.lanes, 1), TSR_VEC_LANES_MAX);
}

static enum tsr_status run_vec(struct tsri_flight *f, struct tsr_err *err) {
  static const enum tsr_vec_spread spread[TSR_ISA_BCS] = {[TSR_BC_NONE] = TSR_VEC_EACH,
                                                          [TSR_BC_ROW] = TSR_VEC_ROW,
                                                          [TSR_BC_COL] = TSR_VEC_COL,
                                                          [TSR_BC_ONE] = TSR_VEC_ONE};
  const struct tsri_data *d = f->data;
  const struct tsr_vec_req *q = &f->part[0].req.vec;
  const struct tsr_vec_info *info = tsr_vec_info(q->op);
  bool reduce = info->kind == TSR_VEC_REDUCE, compress = q->op == TSR_VEC_COMPRESS24;
  uint64_t d_cols = reduce ? 1 : compress ? tsr_ceil_div(q->cols, 4) * 2 : q->cols;
  struct matrix md, ma, mb = {0};
  enum tsr_status st = open_matrix(f, &d->a, 0, q->rows * q->cols, true, &ma, err);
  if (!st && q->b_bytes) st = open_matrix(f, &d->b, 1, q->b_elems, true, &mb, err);
  if (!st) st = open_matrix(f, &d->c, 2, q->rows * d_cols, reduce && !q->first, &md, err);
  if (st) return st;
  struct tsr_vec_job job = {.op = (enum tsr_vec_op)q->op,
                            .rows = q->rows,
                            .cols = q->cols,
                            .a = {ma.codes, ma.format, q->cols},
                            .spread = spread[d->inst.f[4]],
                            .d = md.codes,
                            .d_format = md.format,
                            .ldd = d_cols,
                            .imm = (uint32_t)d->inst.f[8],
                            .first = q->first,
                            .lanes = lanes_of(f)};
  if (q->b_bytes)
    job.b = (struct tsr_vec_in){
        mb.codes, mb.format,
        d->inst.f[4] == TSR_BC_NONE || d->inst.f[4] == TSR_BC_ROW ? q->cols : 1};
  if (compress) {
    job.meta = pad_of(f, &d->b)->data + d->b.addr;
    job.ldm = tsr_ceil_div(q->cols, 8);
  }
  tsr_vec_run(&job, NULL, NULL);
  close_result(f, &md);
  if (compress) tsri_bytes_mark(pad_of(f, &d->b), d->b.addr, d->b.bytes);
  return TSR_OK;
}

/* Windows gathered first: row after row of results, the window's elements of all columns
 * behind one another. */
static enum tsr_status run_window(struct tsri_flight *f, struct tsr_err *err) {
  const struct tsri_data *d = f->data;
  const struct tsr_vec_req *q = &f->part[0].req.vec;
  struct matrix md;
  const struct tsr_format *fa = NULL;
  enum tsr_status st = tsri_values_format(f, d->a.fmt, &fa, err);
  if (!st) st = open_matrix(f, &d->c, 2, q->rows * q->cols, false, &md, err);
  if (st) return st;
  size_t code = tsr_gemm_code_bytes(fa);
  uint8_t *a =
      tsri_values_block(f->unit->core->e->values, 0, q->rows * q->window * q->cols * code);
  if (!a) return tsr_err_nomem(err);
  uint8_t *inside = tsri_values_block(f->unit->core->e->values, 1, q->rows * q->window);
  if (!inside) return tsr_err_nomem(err);
  st = tsri_gather_windows(f, &d->a, d->extent, (unsigned)d->inst.f[4], (unsigned)d->inst.f[5],
                           (unsigned)d->inst.f[6], (uint32_t)code, a, inside, err);
  for (uint64_t r = 0; !st && r < q->rows; r++) {
    /* Padding is no element of a window: what lies outside is left out. */
    uint64_t n = 0, bytes = q->cols * code;
    uint8_t *row = a + r * q->window * bytes;
    for (uint64_t w = 0; w < q->window; w++) {
      if (!inside[r * q->window + w]) continue;
      if (n != w) memmove(row + n * bytes, row + w * bytes, bytes);
      n++;
    }
    struct tsr_vec_job job = {.op = (enum tsr_vec_op)q->op,
                              .rows = 1,
                              .cols = q->cols,
                              .a = {row, fa, q->window * q->cols},
                              .d = md.codes + r * q->cols * tsr_gemm_code_bytes(md.format),
                              .d_format = md.format,
                              .ldd = q->cols,
                              .window = n,
                              .window_ld = q->cols,
                              .imm = (uint32_t)d->inst.f[7],
                              .first = true,
                              .lanes = 1};
    tsr_vec_run(&job, NULL, NULL);
  }
  if (!st) close_result(f, &md);
  return st;
}

enum tsr_status tsri_values_vector(struct tsri_flight *f, struct tsr_err *err) {
  const struct tsr_vec_req *q = &f->part[0].req.vec;
  if (!q->rows || !q->cols) return TSR_OK;
  return f->data->inst.op == TSR_ISA_WINDOW ? run_window(f, err) : run_vec(f, err);
}
