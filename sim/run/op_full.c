/* Numeric figures of a layer that is no product (`--numerics full`).
 *
 * Operands are handed on from layers before (hand.h) or drawn into the image like those of
 * products, positive where the operator asks for it (logarithms, roots, scales); indices are
 * those of tsr_engine_index, so that a run without values moves the same rows.  What the
 * program left must equal what op_value.c makes of the same operands, bit for bit, or the run
 * fails; the row `out` holds the error against the exact result of the same operands. */
#include <inttypes.h>
#include <string.h>

#include "kernels/check/exact.h"
#include "models/arith/gemm.h"
#include "sim/base/log.h"
#include "sim/run/hand.h"
#include "sim/run/op_value.h"

struct layer {
  struct tsri_op_data d;
  struct tsr_check check;
  uint64_t wrong, first, got, want;
  int tensor;
};

struct tsri_op_full {
  const struct tsr_run_plan *plan;
  struct tsr_values *values;
  struct tsri_hand *hand; /* NULL: all operands are drawn */
  uint64_t seed;
  struct layer **layer; /* by index; NULL: not at work */
};

enum tsr_status tsri_op_full_create(const struct tsr_run_plan *p, struct tsr_values *values,
                                    struct tsri_hand *hand, uint64_t seed,
                                    struct tsri_op_full **out, struct tsr_err *err) {
  struct tsri_op_full *f = tsr_mem_alloc(sizeof *f);
  if (!f) return tsr_err_nomem(err);
  *f = (struct tsri_op_full){p, values, hand, seed,
                             tsr_mem_array(p->n_layers + 1, sizeof *f->layer)};
  if (!f->layer) {
    tsr_mem_free(f);
    return tsr_err_nomem(err);
  }
  *out = f;
  return TSR_OK;
}

void tsri_op_full_destroy(struct tsri_op_full *f) {
  if (!f) return;
  for (size_t i = 0; i < f->plan->n_layers; i++) tsr_mem_free(f->layer[i]);
  tsr_mem_free(f->layer);
  tsr_mem_free(f);
}

/* ---- what stands in memory before ---- */

static void put(uint8_t *to, uint32_t elem, uint64_t code) {
  for (uint32_t i = 0; i < elem; i++) to[i] = (uint8_t)(code >> 8 * i);
}

/* Operands of an operator that is not defined for negative ones, and scales. */
static bool positive(enum tsr_op_kind kind, int tensor) {
  if (kind == TSR_OP_QUANTISE || kind == TSR_OP_DEQUANTISE) return tensor == TSR_LOWER_B;
  return tensor == TSR_LOWER_A &&
         (kind == TSR_OP_LOG || kind == TSR_OP_SQRT || kind == TSR_OP_RSQRT);
}

static uint64_t magnitude(const struct tsr_format *f, uint64_t code) {
  struct tsr_num v = tsr_arith_decode(f, code);
  unsigned events = 0;
  if (!v.sign) return code;
  v.sign = false;
  return tsr_arith_encode(f, TSR_ROUND_RNE, &v, &events);
}

static enum tsr_status draw(const struct tsri_op_full *f, size_t layer, const struct layer *l,
                            int t, uint8_t *to, struct tsr_err *err) {
  enum { MANY = 4096 };
  const struct tsr_format *fmt = l->d.format[t];
  uint8_t codes[MANY * 8];
  float from[MANY];
  struct tsr_draw_table *table;
  enum tsr_status st = tsr_draw_table_create(fmt, &table, err);
  bool plus = positive(l->d.l->op->kind, t);
  for (uint64_t i = 0, n = l->d.tensor[t].elems; !st && i < n; i += MANY) {
    uint64_t many = tsr_min_u64(MANY, n - i);
    if (tsr_interrupted)
      st = tsr_err_set(err, TSR_SIM, "interrupted in layer '%s'; nothing was stored",
                       l->d.l->op->name);
    tsr_draw_normal_many(table, f->seed, (uint64_t)layer << 2 | (uint64_t)t, i, many, codes,
                         from);
    for (uint64_t j = 0; j < many; j++) {
      uint64_t code = tsr_exact_code(codes, tsr_gemm_code_bytes(fmt), j);
      put(to + (i + j) * l->d.elem[t], l->d.elem[t], plus ? magnitude(fmt, code) : code);
    }
  }
  if (!st) tsr_draw_table_destroy(table);
  return st;
}

/* An operand that is handed on. */
static enum tsr_status take(const struct tsri_op_full *f, size_t layer, const struct layer *l,
                            int t, uint8_t *to, struct tsr_err *err) {
  const struct tsr_format *fmt = l->d.format[t];
  uint64_t n = l->d.tensor[t].elems;
  size_t bytes = tsr_gemm_code_bytes(fmt);
  void *codes = tsr_mem_array(n, bytes);
  if (!codes) return tsr_err_nomem(err);
  enum tsr_status st = tsri_hand_take(f->hand, layer, t, fmt, n, codes, NULL, err);
  for (uint64_t i = 0; !st && i < n; i++)
    put(to + i * l->d.elem[t], l->d.elem[t], tsr_exact_code(codes, bytes, i));
  tsr_mem_free(codes);
  return st;
}

static uint64_t address(const struct layer *l, int t) {
  return l->d.at.base_bytes[t];
}

static void number(const struct layer *l, int t, uint64_t i, uint8_t *to) {
  const struct tsr_op *op = l->d.l->op;
  uint64_t v = i;
  if (l->d.tensor[t].content == TSR_CONTENT_PLACES)
    v = i < op->m ? op->n - op->m + i : i - op->m;
  float x = (float)v;
  memcpy(to + i * sizeof x, &x, sizeof x);
}

static enum tsr_status fill(const struct tsri_op_full *f, size_t layer, const struct layer *l,
                            int t, uint8_t *to, struct tsr_err *err) {
  const struct tsr_lower_tensor *x = &l->d.tensor[t];
  if (t <= TSR_LOWER_B && tsri_hand_has(f->hand, layer, t))
    return take(f, layer, l, t, to, err);
  switch (x->content) {
  case TSR_CONTENT_DATA: return draw(f, layer, l, t, to, err);
  case TSR_CONTENT_INDEX:
    for (uint64_t i = 0; i < x->elems; i++)
      put(to + i * l->d.elem[t], l->d.elem[t],
          tsr_engine_index(f->seed, address(l, t) + i * l->d.elem[t], x->below));
    return TSR_OK;
  case TSR_CONTENT_COUNT:
  case TSR_CONTENT_PLACES:
    for (uint64_t i = 0; i < x->elems; i++) number(l, t, i, to);
    return TSR_OK;
  default: return TSR_OK;
  }
}

enum tsr_status tsri_op_full_begin(struct tsri_op_full *f, size_t layer, struct tsr_err *err) {
  const struct tsr_run_layer_plan *p = &f->plan->layers[layer];
  const struct tsr_machine_instance *unit = &f->plan->machine->slot[TSR_SLOT_VECTOR];
  struct layer *l = f->layer[layer] = tsr_mem_alloc(sizeof *l);
  struct tsr_unit_facts facts;
  if (!l) return tsr_err_nomem(err);
  unit->ops->unit->facts(unit->params, &facts);
  l->d = (struct tsri_op_data){.l = p, .acc = p->acc, .mma = f->plan->machine->mma};
  l->d.lanes = (unsigned)tsr_min_u64(tsr_max_u64(facts.lanes, 1), TSR_VEC_LANES_MAX);
  tsri_op_at(f->plan, p, &l->d.at);
  tsr_check_init(&l->check, p->out);
  enum tsr_status st = tsr_lower_op_tensors(p->op, &l->d.at, l->d.tensor, err);
  for (int t = 0; !st && t < TSR_LOWER_TENSORS; t++) {
    const struct tsr_lower_tensor *x = &l->d.tensor[t];
    uint8_t *to;
    l->d.format[t] = tsri_op_format(p, x->fmt);
    l->d.elem[t] = l->d.at.bytes[x->fmt];
    if (!x->elems) continue;
    bool there = x->content != TSR_CONTENT_RESULT && x->content != TSR_CONTENT_SCRATCH;
    st = tsr_values_tensor(f->values, address(l, t), x->elems * l->d.elem[t], there, &to, err);
    if (!st) st = fill(f, layer, l, t, to, err);
    l->d.codes[t] = to;
  }
  return st;
}

/* ---- what stands there after ---- */

static void compare(void *arg, int t, uint64_t first, uint64_t n, const void *want,
                    const double *exact) {
  struct layer *l = arg;
  const struct tsr_format *fmt = l->d.format[t];
  size_t bytes = tsr_gemm_code_bytes(fmt);
  for (uint64_t i = 0; i < n; i++) {
    const uint8_t *at = l->d.codes[t] + (first + i) * l->d.elem[t];
    uint64_t got = 0, due = tsr_exact_code(want, bytes, i);
    for (uint32_t j = 0; j < l->d.elem[t]; j++) got |= (uint64_t)at[j] << 8 * j;
    if (got != due && !l->wrong++) {
      l->tensor = t;
      l->first = first + i;
      l->got = got;
      l->want = due;
    }
    if (t == TSR_LOWER_OUT) tsri_hand_add(&l->check, fmt, exact[i], got);
  }
}

static enum tsr_status complete(const struct tsri_op_full *f, const struct layer *l,
                                struct tsr_err *err) {
  uint64_t byte;
  for (int t = 0; t < TSR_LOWER_TENSORS; t++)
    if (l->d.tensor[t].elems && l->d.tensor[t].content == TSR_CONTENT_RESULT &&
        tsr_values_missing(f->values, address(l, t), &byte))
      return tsr_err_set(err, TSR_SIM,
                         "layer '%s': the program never wrote byte %" PRIu64 " of the result",
                         l->d.l->op->name, byte);
  return TSR_OK;
}

static enum tsr_status equal(const struct layer *l, struct tsr_err *err) {
  if (!l->wrong) return TSR_OK;
  return tsr_err_set(
      err, TSR_SIM,
      "layer '%s': the program's result is not the operator's in %" PRIu64
      " elements, the first at %s%" PRIu64 ": expected code 0x%" PRIx64 ", got 0x%" PRIx64,
      l->d.l->op->name, l->wrong, l->tensor == TSR_LOWER_OUT ? "" : "column number ", l->first,
      l->want, l->got);
}

static enum tsr_status row(const struct layer *l, struct tsr_arena *arena,
                           struct tsr_run_numeric **rows, size_t *n, struct tsr_err *err) {
  *rows = tsr_arena_array(arena, 2, sizeof **rows);
  if (!*rows) return tsr_err_nomem(err);
  *n = 1;
  return tsri_run_numeric_whole(&l->check, "out", l->d.l->op->k, arena, *rows, err);
}

/* The results go to whoever reads them; held against the reference they make a row. */
static enum tsr_status hand_on(const struct tsri_op_full *f, size_t layer, struct layer *l,
                               struct tsr_arena *arena, struct tsr_run_numeric *rows, size_t *n,
                               struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (int t = TSR_LOWER_OUT; !st && t < TSR_LOWER_TENSORS; t++) {
    bool columns = t != TSR_LOWER_OUT, held = false;
    const struct tsr_lower_tensor *x = &l->d.tensor[t];
    if (!x->elems || x->content != TSR_CONTENT_RESULT) continue;
    if (!tsri_hand_keeps(f->hand, layer, columns)) continue;
    st = tsri_hand_put(f->hand, layer, columns, l->d.format[t], l->d.elem[t], x->elems,
                       l->d.codes[t], &l->check, &held, err);
    if (!st && held && !columns) st = tsri_hand_row(&l->check, arena, &rows[(*n)++], err);
  }
  return st;
}

enum tsr_status tsri_op_full_end(struct tsri_op_full *f, size_t layer, struct tsr_arena *arena,
                                 const struct tsr_run_numeric **rows, size_t *n,
                                 struct tsr_err *err) {
  struct layer *l = f->layer[layer];
  enum tsr_status st = complete(f, l, err);
  if (!st) st = tsri_op_values(&l->d, compare, l, err);
  if (!st) st = equal(l, err);
  struct tsr_run_numeric *list = NULL;
  if (!st) st = row(l, arena, &list, n, err);
  if (!st) st = hand_on(f, layer, l, arena, list, n, err);
  *rows = list;
  for (int t = 0; t < TSR_LOWER_TENSORS; t++)
    if (l->d.tensor[t].elems) tsr_values_drop(f->values, address(l, t));
  tsr_mem_free(l);
  f->layer[layer] = NULL;
  return st;
}
