/* The attributes of an operator and its epilogue, from the cells of a row. */
#include <math.h> /* INFINITY, isfinite */
#include <stdlib.h>
#include <string.h>

#include "workloads/build.h"
#include "workloads/row_int.h"

/* SRC:assumed: what frameworks take unless told otherwise. */
static const struct {
  enum tsr_op_kind kind;
  double eps;
} eps_defaults[] = {{TSR_OP_LAYERNORM, 1e-5}, {TSR_OP_RMSNORM, 1e-6}, {TSR_OP_NORMALISE, 1e-5}};

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
  case TSRI_COL_ALPHA: return i->alpha;
  case TSRI_COL_BETA: return i->beta;
  case TSRI_COL_ZERO: return i->zero;
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
  return true;
}

static bool read_decimal(const struct tsri_field *f, double *to) {
  char copy[32], *end = copy;
  double v = is_decimal(f, copy, sizeof copy) ? strtod(copy, &end) : 0;
  if (end == copy || *end != '\0' || !isfinite(v)) return false;
  *to = v;
  return true;
}

static bool read_eps(struct tsri_reader *r, struct tsr_op *op) {
  for (size_t i = 0; i < sizeof eps_defaults / sizeof eps_defaults[0]; i++)
    if (eps_defaults[i].kind == op->kind) op->attr.eps = eps_defaults[i].eps;
  if (!tsri_filled(r, TSRI_COL_EPS)) return true;
  const struct tsri_field *f = tsri_cell(r, TSRI_COL_EPS);
  if (f->p[0] != '-' && read_decimal(f, &op->attr.eps)) return true;
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                             "eps is not a number; expected one such as 1e-5, got '%.*s'",
                             tsri_field_shown(f), f->p));
  return false;
}

/* A bound that is none is `inf` or `-inf`. */
static bool read_number(struct tsri_build *b, const char *name, const struct tsri_field *f,
                        double *to) {
  if (read_decimal(f, to)) return true;
  bool low = tsri_field_is(f, "-inf");
  if (low || tsri_field_is(f, "inf")) {
    *to = low ? -INFINITY : INFINITY;
    return true;
  }
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "%s is not a number; expected one such as 0.1, got '%.*s'", name,
                          tsri_field_shown(f), f->p));
  return false;
}

static bool read_numbers(struct tsri_reader *r, struct tsr_op *op) {
  struct tsr_op_attr *t = &op->attr;
  const struct {
    enum tsri_col c;
    double *to;
  } cells[] = {
      {TSRI_COL_ALPHA, &t->alpha}, {TSRI_COL_BETA, &t->beta}, {TSRI_COL_ZERO, &t->zero}};
  bool good = true;
  tsr_op_kind_numbers(op->kind, &t->alpha, &t->beta);
  for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++)
    if (tsri_filled(r, cells[i].c))
      good &= read_number(r->b, tsri_columns[cells[i].c].name, tsri_cell(r, cells[i].c),
                          cells[i].to);
  return good;
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

/* The numbers in the brackets of `name(1,2)`, each where the kind has one, in this order. */
static bool step_numbers(struct tsri_build *b, const struct tsri_field *f,
                         struct tsr_op_step *s) {
  const struct tsr_op_info *info = tsr_op_kind_info(s->kind);
  const struct {
    bool used;
    const char *name;
    double *to;
  } numbers[] = {{info->alpha, "alpha", &s->alpha},
                 {info->beta, "beta", &s->beta},
                 {info->zero, "zero", &s->zero}};
  size_t at = 0;
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && at <= f->n; i++) {
    if (!numbers[i].used) continue;
    size_t end = find_char(f, at, ',');
    struct tsri_field part = tsri_field_part(f, at, end - at), one = tsri_field_trim(part);
    if (!read_number(b, numbers[i].name, &one, numbers[i].to)) return false;
    at = end + 1;
  }
  if (at > f->n) return true;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "numbers of step %s; expected %s, got '%.*s'", info->name,
                          info->beta    ? "at most two, alpha and beta"
                          : info->alpha ? "one, alpha"
                          : info->zero  ? "one, zero"
                                        : "none",
                          tsri_field_shown(f), f->p));
  return false;
}

/* Where the name of a step ends, and its brackets, if any, do. */
static bool find_brackets(struct tsri_build *b, const struct tsri_field *f, size_t *open,
                          size_t *close) {
  size_t colon = find_char(f, 0, ':');
  *open = find_char(f, 0, '(');
  if (*open > colon) *open = colon;
  *close = *open;
  if (*open == f->n || f->p[*open] == ':') return true;
  *close = find_char(f, *open, ')');
  if (*close < f->n && (*close + 1 == f->n || f->p[*close + 1] == ':')) return true;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "step without an end; expected one such as clip(0,6), got '%.*s'",
                          tsri_field_shown(f), f->p));
  return false;
}

static bool step_with(struct tsri_build *b, const struct tsri_field *f, size_t colon,
                      struct tsr_op_step *s) {
  const struct tsr_op_info *info = tsr_op_kind_info(s->kind);
  if (info->b == TSR_SHAPE_WITH) s->with = with_default(s->kind);
  if (colon >= f->n) return true;
  struct tsri_field with = tsri_field_part(f, colon + 1, f->n - colon - 1);
  if (!with_word(b, &with, &s->with)) return false;
  if (info->b == TSR_SHAPE_WITH) return true;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &with.pos,
                          "a way to meet the second operand; expected none, %s has no such "
                          "operand",
                          info->name));
  return false;
}

/* `name`, `name(numbers)`, `name:with` or `name(numbers):with` */
static bool read_step(struct tsri_build *b, const struct tsri_field *f, struct tsr_op *op) {
  struct tsr_op_step s = {.with = TSR_WITH_FULL};
  size_t open, close;
  if (op->n_steps == TSR_EPILOGUE_MAX) {
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                            "epilogue too long; expected at most %d steps", TSR_EPILOGUE_MAX));
    return false;
  }
  if (!find_brackets(b, f, &open, &close)) return false;
  struct tsri_field name = tsri_field_part(f, 0, open);
  if (!step_kind(b, &name, &s.kind)) return false;
  tsr_op_kind_numbers(s.kind, &s.alpha, &s.beta);
  if (close > open) {
    struct tsri_field numbers = tsri_field_part(f, open + 1, close - open - 1);
    if (!step_numbers(b, &numbers, &s)) return false;
  }
  if (!step_with(b, f, close > open ? close + 1 : close, &s)) return false;
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
  good &= read_numbers(r, op);
  if (used(info, TSRI_COL_WITH)) good &= read_with(r, op);
  if (takes_epilogue(info)) good &= read_epilogue(r, op);
  return good;
}

void tsr_op_kind_defaults(enum tsr_op_kind kind, struct tsr_op_attr *attr) {
  *attr = (struct tsr_op_attr){.eps = 0};
  for (size_t i = 0; i < sizeof eps_defaults / sizeof eps_defaults[0]; i++)
    if (eps_defaults[i].kind == kind) attr->eps = eps_defaults[i].eps;
  tsr_op_kind_numbers(kind, &attr->alpha, &attr->beta);
  if (tsr_op_kind_info(kind)->b == TSR_SHAPE_WITH) attr->with = with_default(kind);
}
