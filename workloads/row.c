/* One operator from the cells of a row: kind, sizes, geometry. */
#include <stddef.h>
#include <string.h>

#include "workloads/row_int.h"

const struct tsri_column tsri_columns[] = {
#define COLUMN_ROW(id, name, required, use, place) {name, required, TSRI_USE_##use, place},
    TSRI_COLUMN_LIST(COLUMN_ROW)
#undef COLUMN_ROW
};

static const char *const column_names[] = {
#define COLUMN_NAME(id, name, required, use, place) name,
    TSRI_COLUMN_LIST(COLUMN_NAME)
#undef COLUMN_NAME
};

static const char *const op_names[] = {
#define OP(id, name, cls, weight, a, b, c, flags, doc) name,
#include "workloads/op.def"
#undef OP
};

const char *tsri_column_nearest(const char *word) {
  return tsr_err_nearest(word, column_names, TSRI_COL_COUNT_);
}

const struct tsri_field *tsri_cell(const struct tsri_reader *r, enum tsri_col c) {
  return r->at[c] == SIZE_MAX ? NULL : &r->row.f[r->at[c]];
}

bool tsri_filled(const struct tsri_reader *r, enum tsri_col c) {
  const struct tsri_field *f = tsri_cell(r, c);
  return f && f->n > 0;
}

/* Ours for what others call an operator. */
static const char *other_name(const char *word) {
  static const struct {
    const char *theirs, *ours;
  } names[] = {{"depthwise", "dwconv"},
               {"depthwise_conv", "dwconv"},
               {"dw_conv", "dwconv"},
               {"conv2d", "conv"},
               {"convolution", "conv"},
               {"fc", "linear"},
               {"dense", "linear"},
               {"matmul", "gemm"},
               {"batch_matmul", "bmm"},
               {"layer_norm", "layernorm"},
               {"rms_norm", "rmsnorm"},
               {"batch_norm", "batchnorm"},
               {"swish", "silu"},
               {"hard_swish", "hardswish"},
               {"hard_sigmoid", "hardsigmoid"},
               {"max_pool", "maxpool"},
               {"avg_pool", "avgpool"},
               {"average_pool", "avgpool"},
               {"residual", "add"},
               {"sum", "rowsum"},
               {"mean", "rowmean"},
               {"quantize", "quantise"},
               {"dequantize", "dequantise"},
               {"sdpa", "attention"},
               {"rotary", "rope"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (!strcmp(word, names[i].theirs)) return names[i].ours;
  return NULL;
}

bool tsri_kind_read(struct tsri_build *b, const struct tsri_field *f, enum tsr_op_kind *kind) {
  char word[64];
  size_t n = (size_t)tsri_field_shown(f);
  memcpy(word, f->p, n);
  word[n] = '\0';
  if (n == f->n && tsr_op_kind_find(word, kind)) return true;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "unknown op; expected an operator such as conv, linear, attn_qk, "
                          "attention, softmax, layernorm, relu, add or maxpool, got '%s'",
                          word));
  const char *near = other_name(word);
  if (!near) near = tsr_err_nearest(word, op_names, TSR_OP_KIND_COUNT_);
  if (near) tsr_err_hint(b->err, "did you mean '%s'?", near);
  return false;
}

static uint64_t *place_u64(void *base, size_t offset) {
  return (uint64_t *)(void *)((char *)base + offset);
}

/* The first column of the geometry that the row fills, or TSRI_COL_COUNT_. */
static enum tsri_col geometry_of(const struct tsri_reader *r) {
  for (enum tsri_col c = TSRI_COL_BATCH; c <= TSRI_COL_GROUPS; c++)
    if (tsri_filled(r, c)) return c;
  return TSRI_COL_COUNT_;
}

/* What an empty size means where the row has no geometry; 0: it must be there.  A list of
 * matmuls says all four. */
static uint64_t size_default(const struct tsri_reader *r, enum tsri_col c,
                             const struct tsr_op_info *info) {
  if (info->cls == TSR_CLASS_MATMUL || info->cls == TSR_CLASS_CONV) return 0;
  if (c == TSRI_COL_K) return !info->uses_k || info->cls == TSR_CLASS_GATHER;
  if (c != TSRI_COL_COUNT) return 0;
  return info->cls != TSR_CLASS_ATTENTION || !tsri_filled(r, TSRI_COL_HEADS);
}

/* An empty size is 0 until the geometry, or `heads` in the place of count, gives it. */
static bool read_sizes(struct tsri_reader *r, struct tsr_op *op, const struct tsr_op_info *info,
                       bool geometry) {
  bool good = true;
  for (enum tsri_col c = TSRI_COL_M; c <= TSRI_COL_COUNT; c++) {
    uint64_t *to = place_u64(op, tsri_columns[c].place);
    if (tsri_filled(r, c)) {
      good &= tsri_field_u64(r->b, tsri_cell(r, c), tsri_columns[c].name, 1, to);
      continue;
    }
    if (geometry) continue;
    *to = info ? size_default(r, c, info) : 0;
    bool by_heads = c == TSRI_COL_COUNT && info && info->cls == TSR_CLASS_ATTENTION;
    if (*to == 0 && !by_heads)
      good &= tsri_field_u64(r->b, tsri_cell(r, c), tsri_columns[c].name, 1, to);
  }
  return good;
}

static bool is_global(enum tsr_op_kind k) {
  return k == TSR_OP_GLOBAL_MAXPOOL || k == TSR_OP_GLOBAL_AVGPOOL;
}

/* What an empty column of the geometry means; 0 with USE_GEOM: it must be there.  Columns are
 * read in order, so what these take over is known. */
static uint64_t geometry_default(const struct tsr_op *op, enum tsri_col c) {
  bool window = tsr_op_kind_info(op->kind)->cls == TSR_CLASS_WINDOW;
  if (tsri_columns[c].use != TSRI_USE_GEOM) return tsri_columns[c].use == TSRI_USE_GEOM1;
  if (window && c == TSRI_COL_OUT_C) return op->conv.in_c;
  if (is_global(op->kind) && c == TSRI_COL_K_H) return op->conv.in_h;
  if (is_global(op->kind) && c == TSRI_COL_K_W) return op->conv.in_w;
  return 0;
}

/* One column of the geometry; `first` is the filled one that asks for the others. */
static bool read_geometry_cell(struct tsri_reader *r, enum tsri_col c, enum tsri_col first,
                               struct tsr_op *op) {
  const struct tsri_column *column = &tsri_columns[c];
  uint64_t *to = place_u64(&op->conv, column->place);
  if (tsri_filled(r, c))
    return tsri_field_u64(r->b, tsri_cell(r, c), column->name, column->use != TSRI_USE_PAD, to);
  *to = geometry_default(op, c);
  if (*to || column->use != TSRI_USE_GEOM) return true;
  const struct tsri_field *f = tsri_cell(r, c);
  const struct tsr_pos *pos = f ? &f->pos : &tsri_cell(r, first)->pos;
  bool window = tsr_op_kind_info(op->kind)->cls == TSR_CLASS_WINDOW;
  const char *all = window
                        ? "in_c, in_h, in_w, k_h, k_w of a pooling"
                        : "in_c, in_h, in_w, out_c, k_h, k_w together, or none of the geometry";
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, pos,
                             "%s is empty although %s is given; expected %s", column->name,
                             tsri_columns[first].name, all));
  return false;
}

static void agree(struct tsri_reader *r, enum tsri_col c, uint64_t want, uint64_t *size) {
  uint64_t got = *size;
  *size = want;
  if (want == got || !tsri_filled(r, c)) return;
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &tsri_cell(r, c)->pos,
                             "%s does not agree with the geometry; expected %llu, got '%llu'",
                             tsri_columns[c].name, (unsigned long long)want,
                             (unsigned long long)got));
}

static void geometry_check(struct tsri_reader *r, struct tsr_op *op, enum tsri_col first) {
  struct tsri_shape s;
  const char *why = NULL;
  /* The groups of a dwconv are judged below, at their own column. */
  if (!tsri_op_shape(op->kind, &op->conv, &s, &why)) {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &tsri_cell(r, first)->pos,
                               "impossible geometry; expected %s", why));
    return;
  }
  op->conv.out_h = s.out_h;
  op->conv.out_w = s.out_w;
  agree(r, TSRI_COL_M, s.m, &op->m);
  agree(r, TSRI_COL_N, s.n, &op->n);
  agree(r, TSRI_COL_K, s.k, &op->k);
  agree(r, TSRI_COL_COUNT, s.count, &op->count);
  if (op->kind != TSR_OP_DWCONV || op->conv.groups == op->conv.in_c) return;
  enum tsri_col c = tsri_filled(r, TSRI_COL_GROUPS) ? TSRI_COL_GROUPS : TSRI_COL_OP;
  tsri_note(r->b,
            tsr_err_at(r->b->err, TSR_INPUT, &tsri_cell(r, c)->pos,
                       "groups of a dwconv; expected in_c = %llu, got '%llu'",
                       (unsigned long long)op->conv.in_c, (unsigned long long)op->conv.groups));
}

static void read_geometry(struct tsri_reader *r, struct tsr_op *op, enum tsri_col first) {
  enum tsr_op_class cls = tsr_op_kind_info(op->kind)->cls;
  if (cls != TSR_CLASS_CONV && cls != TSR_CLASS_WINDOW) {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &tsri_cell(r, first)->pos,
                               "%s in a row of op %s; expected the geometry only in rows of "
                               "conv and dwconv and of pooling",
                               tsri_columns[first].name, tsr_op_kind_name(op->kind)));
    return;
  }
  bool good = true;
  for (enum tsri_col c = TSRI_COL_BATCH; c <= TSRI_COL_GROUPS; c++)
    good &= read_geometry_cell(r, c, first, op);
  op->has_conv = true;
  if (good) geometry_check(r, op, first);
}

/* Which cell a broken rule is shown at: that of the field where it is filled. */
static const struct tsr_pos *field_pos(const struct tsri_reader *r, const char *field) {
  for (enum tsri_col c = 0; c < TSRI_COL_COUNT_; c++)
    if (!strcmp(tsri_columns[c].name, field) && tsri_filled(r, c)) return &tsri_cell(r, c)->pos;
  return &tsri_cell(r, TSRI_COL_OP)->pos;
}

static void attr_check(struct tsri_reader *r, const struct tsr_op *op) {
  const char *field, *rule;
  if (tsri_attr_check(op, &field, &rule)) return;
  tsri_note(r->b,
            tsr_err_at(r->b->err, TSR_INPUT, field_pos(r, field), "%s of op %s; expected %s",
                       field, tsr_op_kind_name(op->kind), rule));
}

static void window_without_geometry(struct tsri_reader *r, const struct tsr_op *op) {
  tsri_note(r->b,
            tsr_err_at(r->b->err, TSR_INPUT, &tsri_cell(r, TSRI_COL_OP)->pos,
                       "%s without geometry; expected in_c, in_h, in_w%s",
                       tsr_op_kind_name(op->kind), is_global(op->kind) ? "" : ", k_h, k_w"));
}

void tsri_row_op(struct tsri_reader *r, struct tsr_op *op) {
  bool kind = tsri_kind_read(r->b, tsri_cell(r, TSRI_COL_OP), &op->kind);
  const struct tsr_op_info *info = kind ? tsr_op_kind_info(op->kind) : NULL;
  enum tsri_col geometry = geometry_of(r);
  bool window = info && info->cls == TSR_CLASS_WINDOW, has = geometry != TSRI_COL_COUNT_;
  if (window && !has) {
    window_without_geometry(r, op);
    return;
  }
  bool sizes = read_sizes(r, op, info, has);
  if (!kind) return;
  bool attrs = tsri_attr_read(r, op);
  if (sizes && has)
    read_geometry(r, op, geometry);
  else if (sizes && attrs)
    attr_check(r, op);
}
