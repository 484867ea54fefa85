/* The attributes of an operator and its epilogue, from the cells of a row. */
#include <stdlib.h>
#include <string.h>

#include "workloads/row_int.h"

/* SRC:assumed: what frameworks take unless told otherwise. */
static const struct {
  enum tsr_op_kind kind;
  double eps;
} eps_defaults[] = {{TSR_OP_LAYERNORM, 1e-5}, {TSR_OP_RMSNORM, 1e-6}};

static bool takes_epilogue(const struct tsr_op_info *i) {
  return i->cls == TSR_CLASS_MATMUL || i->cls == TSR_CLASS_CONV;
}

static bool used(const struct tsr_op_info *i, enum tsri_col c) {
  switch (c) {
  case TSRI_COL_HEADS:
  case TSRI_COL_KV_HEADS:
  case TSRI_COL_CAUSAL: return i->cls == TSR_CLASS_ATTENTION;
  case TSRI_COL_TABLE: return i->table;
  case TSRI_COL_EXPERTS: return i->experts;
  case TSRI_COL_EPS: return i->eps;
  case TSRI_COL_WITH: return i->b == TSR_SHAPE_WITH;
  default: return takes_epilogue(i);
  }
}

/* Filled columns that the kind has no use for. */
static bool columns_fit(struct tsri_reader *r, const struct tsr_op_info *info) {
  bool good = true;
  for (enum tsri_col c = TSRI_COL_HEADS; c <= TSRI_COL_EPILOGUE; c++) {
    if (!tsri_filled(r, c) || used(info, c)) continue;
    good = false;
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &tsri_cell(r, c)->pos,
                               "%s in a row of op %s; expected nothing, this op has none",
                               tsri_columns[c].name, info->name));
  }
  return good;
}

static bool number(struct tsri_reader *r, enum tsri_col c, uint64_t otherwise, uint64_t *to) {
  *to = otherwise;
  if (!tsri_filled(r, c)) return true;
  return tsri_field_u64(r->b, tsri_cell(r, c), tsri_columns[c].name, 1, to);
}

static bool read_heads(struct tsri_reader *r, struct tsr_op *op) {
  struct tsr_op_attr *t = &op->attr;
  if (!number(r, TSRI_COL_HEADS, op->count, &t->heads) ||
      !number(r, TSRI_COL_KV_HEADS, t->heads, &t->kv_heads))
    return false;
  if (op->count == 0) op->count = t->heads;
  if (!tsri_filled(r, TSRI_COL_CAUSAL)) return true;
  const struct tsri_field *f = tsri_cell(r, TSRI_COL_CAUSAL);
  t->causal = tsri_field_is(f, "1");
  if (t->causal || tsri_field_is(f, "0")) return true;
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                             "causal; expected 0 or 1, got '%.*s'", tsri_field_shown(f), f->p));
  return false;
}

/* Digits, one point, an exponent: what strtod reads the same everywhere. */
static bool is_decimal(const struct tsri_field *f, char *copy, size_t cap) {
  if (f->n == 0 || f->n >= cap) return false;
  for (size_t i = 0; i < f->n; i++)
    if (!strchr("0123456789.eE-", f->p[i])) return false;
  memcpy(copy, f->p, f->n);
  copy[f->n] = '\0';
  return copy[0] != '-';
}

static bool read_eps(struct tsri_reader *r, struct tsr_op *op) {
  for (size_t i = 0; i < sizeof eps_defaults / sizeof eps_defaults[0]; i++)
    if (eps_defaults[i].kind == op->kind) op->attr.eps = eps_defaults[i].eps;
  if (!tsri_filled(r, TSRI_COL_EPS)) return true;
  const struct tsri_field *f = tsri_cell(r, TSRI_COL_EPS);
  char copy[32], *end = copy;
  double v = is_decimal(f, copy, sizeof copy) ? strtod(copy, &end) : 0;
  if (end != copy && *end == '\0') {
    op->attr.eps = v;
    return true;
  }
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                             "eps is not a number; expected one such as 1e-5, got '%.*s'",
                             tsri_field_shown(f), f->p));
  return false;
}

static bool with_word(struct tsri_build *b, const struct tsri_field *f, enum tsr_with *to) {
  for (enum tsr_with w = 0; w < TSR_WITH_COUNT_; w++)
    if (tsri_field_is(f, tsr_with_name(w))) {
      *to = w;
      return true;
    }
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "unknown way to meet the second operand; expected full, row, col or "
                          "scalar, got '%.*s'",
                          tsri_field_shown(f), f->p));
  return false;
}

/* A scale of a tensor, one for each column of an accumulated product, else an element each. */
static enum tsr_with with_default(enum tsr_op_kind kind) {
  if (kind == TSR_OP_QUANTISE) return TSR_WITH_SCALAR;
  return kind == TSR_OP_DEQUANTISE ? TSR_WITH_ROW : TSR_WITH_FULL;
}

static bool read_with(struct tsri_reader *r, struct tsr_op *op) {
  op->attr.with = with_default(op->kind);
  if (!tsri_filled(r, TSRI_COL_WITH)) return true;
  return with_word(r->b, tsri_cell(r, TSRI_COL_WITH), &op->attr.with);
}

/* Names that mean something only behind a matmul. */
static bool step_kind(struct tsri_build *b, const struct tsri_field *f,
                      enum tsr_op_kind *kind) {
  if (tsri_field_is(f, "residual")) {
    *kind = TSR_OP_ADD;
    return true;
  }
  if (tsri_field_is(f, "requantise")) {
    *kind = TSR_OP_QUANTISE;
    return true;
  }
  if (!tsri_kind_read(b, f, kind)) return false;
  if (tsr_op_kind_info(*kind)->step) return true;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "no step of an epilogue; expected bias, batchnorm, residual, "
                          "requantise or an operator on single elements, got '%.*s'",
                          tsri_field_shown(f), f->p));
  return false;
}

static size_t find_char(const struct tsri_field *f, size_t from, char c) {
  while (from < f->n && f->p[from] != c) from++;
  return from;
}

/* `name` or `name:with` */
static bool read_step(struct tsri_build *b, const struct tsri_field *f, struct tsr_op *op) {
  struct tsr_op_step s = {0};
  size_t colon = find_char(f, 0, ':');
  struct tsri_field name = tsri_field_part(f, 0, colon);
  if (op->n_steps == TSR_EPILOGUE_MAX) {
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                            "epilogue too long; expected at most %d steps", TSR_EPILOGUE_MAX));
    return false;
  }
  if (!step_kind(b, &name, &s.kind)) return false;
  const struct tsr_op_info *info = tsr_op_kind_info(s.kind);
  if (info->b == TSR_SHAPE_WITH) s.with = with_default(s.kind);
  if (colon < f->n) {
    struct tsri_field with = tsri_field_part(f, colon + 1, f->n - colon - 1);
    if (!with_word(b, &with, &s.with)) return false;
    if (info->b != TSR_SHAPE_WITH) {
      tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &with.pos,
                              "a way to meet the second operand; expected none, %s has no such "
                              "operand",
                              info->name));
      return false;
    }
  }
  op->step[op->n_steps++] = s;
  return true;
}

static bool read_epilogue(struct tsri_reader *r, struct tsr_op *op) {
  if (!tsri_filled(r, TSRI_COL_EPILOGUE)) return true;
  const struct tsri_field *f = tsri_cell(r, TSRI_COL_EPILOGUE);
  for (size_t at = 0;; at++) {
    size_t end = find_char(f, at, '+');
    struct tsri_field step = tsri_field_part(f, at, end - at);
    if (!read_step(r->b, &step, op)) return false;
    at = end;
    if (at >= f->n) return true;
  }
}

bool tsri_attr_read(struct tsri_reader *r, struct tsr_op *op) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  if (!columns_fit(r, info)) return false;
  bool good = true;
  if (used(info, TSRI_COL_HEADS)) good &= read_heads(r, op);
  if (used(info, TSRI_COL_TABLE)) good &= number(r, TSRI_COL_TABLE, 0, &op->attr.table);
  if (used(info, TSRI_COL_EXPERTS)) good &= number(r, TSRI_COL_EXPERTS, 0, &op->attr.experts);
  if (info->eps) good &= read_eps(r, op);
  if (used(info, TSRI_COL_WITH)) good &= read_with(r, op);
  if (takes_epilogue(info)) good &= read_epilogue(r, op);
  return good;
}
