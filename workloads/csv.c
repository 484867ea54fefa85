/* The project's own layer lists: a header of named columns in any order. */
#include <stddef.h>
#include <string.h>

#include "workloads/workloads_int.h"

/* What a column holds and where it goes. */
enum use {
  USE_TEXT,  /* read by name below */
  USE_SIZE,  /* m n k count: 1 or more; may be empty where the geometry gives them */
  USE_GEOM,  /* geometry without a default: required once one geometry column is filled */
  USE_GEOM1, /* geometry, 1 or more, 1 when empty */
  USE_PAD    /* geometry, 0 when empty */
};

#define CONV(field) offsetof(struct tsr_conv, field)
#define OP(field) offsetof(struct tsr_op, field)
/* X(id, name, required in the header, use, place) */
#define COLUMN_LIST(X)                                      \
  X(MODEL, "model", true, USE_TEXT, 0)                      \
  X(LAYER, "layer", true, USE_TEXT, 0)                      \
  X(OP, "op", true, USE_TEXT, 0)                            \
  X(M, "M", true, USE_SIZE, OP(m))                          \
  X(N, "N", true, USE_SIZE, OP(n))                          \
  X(K, "K", true, USE_SIZE, OP(k))                          \
  X(COUNT, "count", true, USE_SIZE, OP(count))              \
  X(NOTES, "notes", true, USE_TEXT, 0)                      \
  X(BATCH, "batch", false, USE_GEOM1, CONV(batch))          \
  X(IN_C, "in_c", false, USE_GEOM, CONV(in_c))              \
  X(IN_H, "in_h", false, USE_GEOM, CONV(in_h))              \
  X(IN_W, "in_w", false, USE_GEOM, CONV(in_w))              \
  X(OUT_C, "out_c", false, USE_GEOM, CONV(out_c))           \
  X(K_H, "k_h", false, USE_GEOM, CONV(k_h))                 \
  X(K_W, "k_w", false, USE_GEOM, CONV(k_w))                 \
  X(STRIDE_H, "stride_h", false, USE_GEOM1, CONV(stride_h)) \
  X(STRIDE_W, "stride_w", false, USE_GEOM1, CONV(stride_w)) \
  X(PAD_T, "pad_t", false, USE_PAD, CONV(pad_t))            \
  X(PAD_L, "pad_l", false, USE_PAD, CONV(pad_l))            \
  X(PAD_B, "pad_b", false, USE_PAD, CONV(pad_b))            \
  X(PAD_R, "pad_r", false, USE_PAD, CONV(pad_r))            \
  X(DIL_H, "dil_h", false, USE_GEOM1, CONV(dil_h))          \
  X(DIL_W, "dil_w", false, USE_GEOM1, CONV(dil_w))          \
  X(GROUPS, "groups", false, USE_GEOM1, CONV(groups))       \
  X(AFTER, "after", false, USE_TEXT, 0)

enum col {
#define COLUMN_ENUM(id, name, required, use, place) COL_##id,
  COLUMN_LIST(COLUMN_ENUM)
#undef COLUMN_ENUM
      COL_COUNT_
};

static const struct column {
  const char *name;
  bool required;
  enum use use;
  size_t place;
} columns[] = {
#define COLUMN_ROW(id, name, required, use, place) {name, required, use, place},
    COLUMN_LIST(COLUMN_ROW)
#undef COLUMN_ROW
};

static const char *const column_names[] = {
#define COLUMN_NAME(id, name, required, use, place) name,
    COLUMN_LIST(COLUMN_NAME)
#undef COLUMN_NAME
};

static const char *const op_names[] = {
#define OP_NAME(id, name, w, doc) name,
    TSR_OP_LIST(OP_NAME)
#undef OP_NAME
};

struct reader {
  struct tsri_build *b;
  size_t at[COL_COUNT_]; /* place of a column in a row, SIZE_MAX = not there */
  size_t n_columns;
  const char *model; /* of the first row that has a good one */
  size_t *stamp;     /* owned: per operator the row whose `after` named it last, + 1 */
  size_t n_stamp;
  struct tsri_row row;
};

static bool word_is(const struct tsri_field *f, const char *word) {
  struct tsri_field t = tsri_field_trim(*f);
  if (strlen(word) != t.n) return false;
  for (size_t i = 0; i < t.n; i++) {
    char c = t.p[i];
    if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != word[i]) return false;
  }
  return true;
}

/* These words stand in no header of another tool's files. */
bool tsri_csv_is_header(const struct tsri_row *row) {
  for (size_t i = 0; i < row->n; i++)
    if (word_is(&row->f[i], "model") || word_is(&row->f[i], "op") ||
        word_is(&row->f[i], "notes"))
      return true;
  return false;
}

static void unknown_column(struct reader *r, const struct tsri_field *f) {
  char word[64];
  size_t n = (size_t)tsri_field_shown(f);
  memcpy(word, f->p, n);
  word[n] = '\0';
  struct tsri_build *b = r->b;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "unknown column; expected model, layer, op, M, N, K, count, notes, "
                          "a column of the geometry or after, got '%s'",
                          word));
  const char *near = tsr_err_nearest(word, column_names, COL_COUNT_);
  if (near) tsr_err_hint(b->err, "did you mean '%s'?", near);
}

static void header_field(struct reader *r, size_t i) {
  const struct tsri_field *f = &r->row.f[i];
  size_t c = 0;
  while (c < COL_COUNT_ && !tsri_field_is(f, columns[c].name)) c++;
  if (c == COL_COUNT_) {
    unknown_column(r, f);
  } else if (r->at[c] != SIZE_MAX) {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                               "column twice in the header; expected each column once, got "
                               "'%s' again",
                               columns[c].name));
  } else {
    r->at[c] = i;
  }
}

static void header_read(struct reader *r) {
  r->n_columns = r->row.n;
  for (size_t c = 0; c < COL_COUNT_; c++) r->at[c] = SIZE_MAX;
  for (size_t i = 0; i < r->row.n && !tsri_build_full(r->b); i++) header_field(r, i);
  for (size_t c = 0; c < COL_COUNT_; c++)
    if (columns[c].required && r->at[c] == SIZE_MAX)
      tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &r->row.end,
                                 "column '%s' is missing; expected a header with model, layer, "
                                 "op, M, N, K, count, notes",
                                 columns[c].name));
}

/* A field of the row, or NULL when its column is not in the header. */
static const struct tsri_field *cell(const struct reader *r, enum col c) {
  return r->at[c] == SIZE_MAX ? NULL : &r->row.f[r->at[c]];
}

static bool filled(const struct reader *r, enum col c) {
  const struct tsri_field *f = cell(r, c);
  return f && f->n > 0;
}

/* A name that can stand in a table, a picture or a message. */
static bool name_good(struct reader *r, const struct tsri_field *f, const char *what) {
  const char *wrong = f->n == 0 ? "is empty" : NULL;
  for (size_t i = 0; i < f->n && !wrong; i++)
    if ((unsigned char)f->p[i] < 0x20) wrong = "holds a tab or a line end";
  if (!wrong && (f->p[0] == ' ' || f->p[f->n - 1] == ' ')) wrong = "has a blank at its end";
  if (!wrong) return true;
  tsri_note(r->b,
            tsr_err_at(r->b->err, TSR_INPUT, &f->pos, "%s %s; expected a name", what, wrong));
  return false;
}

static void read_model(struct reader *r) {
  const struct tsri_field *f = cell(r, COL_MODEL);
  struct tsri_build *b = r->b;
  if (!name_good(r, f, "model")) return;
  if (!r->model) {
    r->model = tsri_field_text(b, f);
    if (!r->model) tsri_nomem(b);
    return;
  }
  if (tsri_field_is(f, r->model)) return;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "another model; expected '%s' in every row, got '%.*s'", r->model,
                          tsri_field_shown(f), f->p));
  tsr_err_hint(b->err, "a file holds one workload; put each model into its own file");
}

static void read_layer(struct reader *r, struct tsr_op *op) {
  const struct tsri_field *f = cell(r, COL_LAYER);
  struct tsri_build *b = r->b;
  if (!name_good(r, f, "layer")) return;
  op->pos = f->pos;
  size_t other = tsri_build_find(b, f->p, f->n);
  if (other != SIZE_MAX) {
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                            "layer name taken by line %u; expected each layer under its own "
                            "name, got '%.*s'",
                            (unsigned)b->ops[other].pos.line, tsri_field_shown(f), f->p));
    return;
  }
  op->name = tsri_field_text(b, f);
  if (!op->name) tsri_nomem(b);
}

/* Ours for what others call an operator. */
static const char *other_name(const char *word) {
  static const struct {
    const char *theirs, *ours;
  } names[] = {{"depthwise", "dwconv"}, {"depthwise_conv", "dwconv"}, {"dw_conv", "dwconv"},
               {"conv2d", "conv"},      {"convolution", "conv"},      {"fc", "linear"},
               {"dense", "linear"},     {"matmul", "gemm"},           {"batch_matmul", "bmm"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (!strcmp(word, names[i].theirs)) return names[i].ours;
  return NULL;
}

static bool read_kind(struct reader *r, struct tsr_op *op) {
  const struct tsri_field *f = cell(r, COL_OP);
  char word[64];
  size_t n = (size_t)tsri_field_shown(f);
  memcpy(word, f->p, n);
  word[n] = '\0';
  if (n == f->n && tsr_op_kind_find(word, &op->kind)) return true;
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                             "unknown op; expected conv, dwconv, linear, moe_linear, attn_qk, "
                             "attn_pv, gemm or bmm, got '%s'",
                             word));
  const char *near = other_name(word);
  if (!near) near = tsr_err_nearest(word, op_names, TSR_OP_KIND_COUNT_);
  if (near) tsr_err_hint(r->b->err, "did you mean '%s'?", near);
  return false;
}

static uint64_t *place_u64(void *base, size_t offset) {
  return (uint64_t *)(void *)((char *)base + offset);
}

/* The first column of the geometry that the row fills, or COL_COUNT_. */
static enum col geometry_of(const struct reader *r) {
  for (enum col c = COL_BATCH; c <= COL_GROUPS; c++)
    if (filled(r, c)) return c;
  return COL_COUNT_;
}

/* An empty size is 0 until the geometry gives it. */
static bool read_sizes(struct reader *r, struct tsr_op *op, bool geometry) {
  bool good = true;
  for (enum col c = COL_M; c <= COL_COUNT; c++)
    if (!geometry || filled(r, c))
      good &=
          tsri_field_u64(r->b, cell(r, c), columns[c].name, 1, place_u64(op, columns[c].place));
  return good;
}

/* One column of the geometry; `first` is the filled one that asks for the others. */
static bool read_geometry_cell(struct reader *r, enum col c, enum col first,
                               struct tsr_conv *conv) {
  uint64_t *to = place_u64(conv, columns[c].place);
  if (filled(r, c))
    return tsri_field_u64(r->b, cell(r, c), columns[c].name, columns[c].use != USE_PAD, to);
  *to = columns[c].use == USE_PAD ? 0 : 1;
  if (columns[c].use != USE_GEOM) return true;
  const struct tsri_field *f = cell(r, c);
  const struct tsr_pos *pos = f ? &f->pos : &cell(r, first)->pos;
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, pos,
                             "%s is empty although %s is given; expected in_c, in_h, in_w, "
                             "out_c, k_h, k_w together, or none of the geometry",
                             columns[c].name, columns[first].name));
  return false;
}

static void agree(struct reader *r, enum col c, uint64_t want, uint64_t *size) {
  uint64_t got = *size;
  *size = want;
  if (want == got || !filled(r, c)) return;
  tsri_note(r->b,
            tsr_err_at(r->b->err, TSR_INPUT, &cell(r, c)->pos,
                       "%s does not agree with the geometry; expected %llu, got '%llu'",
                       columns[c].name, (unsigned long long)want, (unsigned long long)got));
}

static void geometry_check(struct reader *r, struct tsr_op *op, enum col first) {
  struct tsri_shape s;
  const char *why = NULL;
  if (!tsri_conv_shape(&op->conv, &s, &why)) {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &cell(r, first)->pos,
                               "impossible geometry; expected %s", why));
    return;
  }
  op->conv.out_h = s.out_h;
  op->conv.out_w = s.out_w;
  agree(r, COL_M, s.m, &op->m);
  agree(r, COL_N, s.n, &op->n);
  agree(r, COL_K, s.k, &op->k);
  agree(r, COL_COUNT, s.count, &op->count);
  if (op->kind != TSR_OP_DWCONV || op->conv.groups == op->conv.in_c) return;
  enum col c = filled(r, COL_GROUPS) ? COL_GROUPS : COL_OP;
  tsri_note(r->b,
            tsr_err_at(r->b->err, TSR_INPUT, &cell(r, c)->pos,
                       "groups of a dwconv; expected in_c = %llu, got '%llu'",
                       (unsigned long long)op->conv.in_c, (unsigned long long)op->conv.groups));
}

static void read_geometry(struct reader *r, struct tsr_op *op, enum col first) {
  if (op->kind != TSR_OP_CONV && op->kind != TSR_OP_DWCONV) {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &cell(r, first)->pos,
                               "%s in a row of op %s; expected the geometry only in rows of "
                               "conv and dwconv",
                               columns[first].name, tsr_op_kind_name(op->kind)));
    return;
  }
  bool good = true;
  for (enum col c = COL_BATCH; c <= COL_GROUPS; c++)
    good &= read_geometry_cell(r, c, first, &op->conv);
  op->has_conv = true;
  if (good) geometry_check(r, op, first);
}

/* The next name of an `after` field; *at moves behind it. false: no more. */
static bool next_name(const struct tsri_field *f, size_t *at, struct tsri_field *name) {
  while (*at < f->n && (f->p[*at] == ' ' || f->p[*at] == ';')) ++*at;
  size_t from = *at;
  while (*at < f->n && f->p[*at] != ' ' && f->p[*at] != ';') ++*at;
  *name = *f;
  name->p = f->p + from;
  name->n = *at - from;
  if (f->pos.width == f->n) { /* unquoted: the position of the name itself */
    name->pos.col += (uint32_t)from;
    name->pos.width = (uint32_t)name->n;
  }
  return name->n > 0;
}

static bool after_add(struct reader *r, const struct tsri_field *name, size_t *list,
                      size_t *n) {
  struct tsri_build *b = r->b;
  size_t i = tsri_build_find(b, name->p, name->n);
  bool twice = i != SIZE_MAX && r->stamp[i] == b->n + 1;
  if (i != SIZE_MAX && !twice) {
    r->stamp[i] = b->n + 1;
    list[(*n)++] = i;
    return true;
  }
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &name->pos,
                          "%s in after; expected names of earlier rows, each once, got '%.*s'",
                          twice ? "layer twice" : "unknown layer", tsri_field_shown(name),
                          name->p));
  return false;
}

static size_t *after_list(struct reader *r, size_t names) {
  void *p = r->stamp;
  bool grown = tsr_mem_grow(&p, &r->n_stamp, r->b->n + 1, sizeof *r->stamp);
  r->stamp = p;
  /* A name twice is an error, so no list is longer than the rows before it. */
  size_t most = names < r->b->n ? names : r->b->n;
  size_t *list = grown ? tsr_arena_array(r->b->g->arena, most + 1, sizeof *list) : NULL;
  if (!list) tsri_nomem(r->b);
  return list;
}

/* Empty: the row before.  `-`: nothing, the operator reads the model's input. */
static void read_after(struct reader *r, struct tsr_op *op) {
  const struct tsri_field *f = cell(r, COL_AFTER);
  struct tsri_field name;
  size_t at = 0, names = 0;
  if (f)
    while (next_name(f, &at, &name)) names++;
  if (names == 0) {
    tsri_build_chain(r->b, op);
    return;
  }
  if (tsri_field_is(f, "-")) return;
  size_t *list = after_list(r, names);
  if (!list) return;
  op->after = list;
  for (at = 0; next_name(f, &at, &name);)
    if (!after_add(r, &name, list, &op->n_after)) return;
}

static bool row_length(struct reader *r) {
  if (r->row.n == r->n_columns) return true;
  bool longer = r->row.n > r->n_columns;
  const struct tsr_pos *pos = longer ? &r->row.f[r->n_columns].pos : &r->row.end;
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, pos,
                             "too %s fields; expected %zu as in the header, got %zu",
                             longer ? "many" : "few", r->n_columns, r->row.n));
  return false;
}

static void read_row(struct reader *r) {
  struct tsr_op op;
  memset(&op, 0, sizeof op);
  if (!row_length(r)) return;
  read_model(r);
  read_layer(r, &op);
  bool kind = read_kind(r, &op);
  enum col geometry = geometry_of(r);
  bool sizes = read_sizes(r, &op, geometry != COL_COUNT_);
  if (kind && sizes && geometry != COL_COUNT_) read_geometry(r, &op, geometry);
  read_after(r, &op);
  /* A row with errors keeps its name, so that rows after it may refer to it. */
  if (op.name && r->b->status != TSR_NOMEM) tsri_build_add(r->b, &op);
}

void tsri_csv_read(struct tsri_build *b, struct tsri_row *header) {
  struct reader r = {.b = b, .row = *header};
  header_read(&r);
  struct tsr_pos end = r.row.end;
  if (b->status == TSR_OK) {
    while (!tsri_build_full(b) && tsri_scan_row(b, &r.row)) read_row(&r);
    if (b->status == TSR_OK && b->n == 0)
      tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &end,
                              "no layer below the header; expected one row a layer"));
  }
  if (r.model) b->g->name = r.model;
  tsr_mem_free(r.stamp);
  *header = r.row; /* the caller frees what grew */
}
