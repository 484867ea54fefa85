/* A row of named columns and the operator it describes; shared by the reader of layer lists and
 * the one of `op:`. */
#ifndef TSR_WORKLOADS_ROW_INT_H
#define TSR_WORKLOADS_ROW_INT_H

#include "workloads/workloads_int.h"

/* What a column holds. */
enum tsri_use {
  TSRI_USE_TEXT,  /* read by name */
  TSRI_USE_SIZE,  /* m n k count: 1 or more; may be empty where something else gives them */
  TSRI_USE_GEOM,  /* geometry without a default: required once one geometry column is filled */
  TSRI_USE_GEOM1, /* geometry, 1 or more, 1 when empty */
  TSRI_USE_PAD,   /* geometry, 0 when empty */
  TSRI_USE_ATTR   /* only in rows of kinds that have it */
};

#define TSRI_CONV(field) offsetof(struct tsr_conv, field)
#define TSRI_OP(field) offsetof(struct tsr_op, field)
/* X(id, name, required in the header, use, place) */
#define TSRI_COLUMN_LIST(X)                                    \
  X(MODEL, "model", true, TEXT, 0)                             \
  X(LAYER, "layer", true, TEXT, 0)                             \
  X(OP, "op", true, TEXT, 0)                                   \
  X(M, "M", true, SIZE, TSRI_OP(m))                            \
  X(N, "N", true, SIZE, TSRI_OP(n))                            \
  X(K, "K", true, SIZE, TSRI_OP(k))                            \
  X(COUNT, "count", true, SIZE, TSRI_OP(count))                \
  X(NOTES, "notes", true, TEXT, 0)                             \
  X(BATCH, "batch", false, GEOM1, TSRI_CONV(batch))            \
  X(IN_C, "in_c", false, GEOM, TSRI_CONV(in_c))                \
  X(IN_H, "in_h", false, GEOM, TSRI_CONV(in_h))                \
  X(IN_W, "in_w", false, GEOM, TSRI_CONV(in_w))                \
  X(OUT_C, "out_c", false, GEOM, TSRI_CONV(out_c))             \
  X(K_H, "k_h", false, GEOM, TSRI_CONV(k_h))                   \
  X(K_W, "k_w", false, GEOM, TSRI_CONV(k_w))                   \
  X(STRIDE_H, "stride_h", false, GEOM1, TSRI_CONV(stride_h))   \
  X(STRIDE_W, "stride_w", false, GEOM1, TSRI_CONV(stride_w))   \
  X(PAD_T, "pad_t", false, PAD, TSRI_CONV(pad_t))              \
  X(PAD_L, "pad_l", false, PAD, TSRI_CONV(pad_l))              \
  X(PAD_B, "pad_b", false, PAD, TSRI_CONV(pad_b))              \
  X(PAD_R, "pad_r", false, PAD, TSRI_CONV(pad_r))              \
  X(DIL_H, "dil_h", false, GEOM1, TSRI_CONV(dil_h))            \
  X(DIL_W, "dil_w", false, GEOM1, TSRI_CONV(dil_w))            \
  X(GROUPS, "groups", false, GEOM1, TSRI_CONV(groups))         \
  X(HEADS, "heads", false, ATTR, TSRI_OP(attr.heads))          \
  X(KV_HEADS, "kv_heads", false, ATTR, TSRI_OP(attr.kv_heads)) \
  X(CAUSAL, "causal", false, ATTR, 0)                          \
  X(TABLE, "table", false, ATTR, TSRI_OP(attr.table))          \
  X(EXPERTS, "experts", false, ATTR, TSRI_OP(attr.experts))    \
  X(EPS, "eps", false, ATTR, 0)                                \
  X(ALPHA, "alpha", false, ATTR, 0)                            \
  X(BETA, "beta", false, ATTR, 0)                              \
  X(ZERO, "zero", false, ATTR, 0)                              \
  X(WITH, "with", false, ATTR, 0)                              \
  X(EPILOGUE, "epilogue", false, ATTR, 0)                      \
  X(AFTER, "after", false, TEXT, 0)

enum tsri_col {
#define TSRI_COLUMN_ENUM(id, name, required, use, place) TSRI_COL_##id,
  TSRI_COLUMN_LIST(TSRI_COLUMN_ENUM)
#undef TSRI_COLUMN_ENUM
      TSRI_COL_COUNT_
};

struct tsri_column {
  const char *name;
  bool required;
  enum tsri_use use;
  size_t place;
};
extern const struct tsri_column tsri_columns[TSRI_COL_COUNT_];
/* The column whose name is nearest to `word`, or NULL. */
const char *tsri_column_nearest(const char *word);

struct tsri_reader {
  struct tsri_build *b;
  size_t at[TSRI_COL_COUNT_]; /* place of a column in a row, SIZE_MAX = not there */
  size_t n_columns;
  const char *model; /* of the first row that has a good one */
  size_t *stamp;     /* owned: per operator the row whose `after` named it last, + 1 */
  size_t n_stamp;
  struct tsri_row row;
};

/* A field of the row, or NULL when its column is not in the header. */
const struct tsri_field *tsri_cell(const struct tsri_reader *r, enum tsri_col c);
bool tsri_filled(const struct tsri_reader *r, enum tsri_col c);
/* The kind, sizes, geometry, attributes and epilogue of the row; errors are noted. */
void tsri_row_op(struct tsri_reader *r, struct tsr_op *op);
/* A word of op.def; false: noted at the field. */
bool tsri_kind_read(struct tsri_build *b, const struct tsri_field *f, enum tsr_op_kind *kind);
/* attr.c: the attributes of the row and the epilogue.  false: noted. */
bool tsri_attr_read(struct tsri_reader *r, struct tsr_op *op);

#endif
