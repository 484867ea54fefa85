/* The project's own layer lists: a header of named columns in any order. */
#include <string.h>

#include "workloads/row_int.h"

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

static void unknown_column(struct tsri_reader *r, const struct tsri_field *f) {
  char word[64];
  size_t n = (size_t)tsri_field_shown(f);
  memcpy(word, f->p, n);
  word[n] = '\0';
  struct tsri_build *b = r->b;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f->pos,
                          "unknown column; expected model, layer, op, M, N, K, count, notes, "
                          "a column of the geometry, an attribute or after, got '%s'",
                          word));
  const char *near = tsri_column_nearest(word);
  if (near) tsr_err_hint(b->err, "did you mean '%s'?", near);
}

static void header_field(struct tsri_reader *r, size_t i) {
  const struct tsri_field *f = &r->row.f[i];
  size_t c = 0;
  while (c < TSRI_COL_COUNT_ && !tsri_field_is(f, tsri_columns[c].name)) c++;
  if (c == TSRI_COL_COUNT_) {
    unknown_column(r, f);
  } else if (r->at[c] != SIZE_MAX) {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                               "column twice in the header; expected each column once, got "
                               "'%s' again",
                               tsri_columns[c].name));
  } else {
    r->at[c] = i;
  }
}

static void header_read(struct tsri_reader *r) {
  r->n_columns = r->row.n;
  for (size_t c = 0; c < TSRI_COL_COUNT_; c++) r->at[c] = SIZE_MAX;
  for (size_t i = 0; i < r->row.n && !tsri_build_full(r->b); i++) header_field(r, i);
  for (size_t c = 0; c < TSRI_COL_COUNT_; c++)
    if (tsri_columns[c].required && r->at[c] == SIZE_MAX)
      tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &r->row.end,
                                 "column '%s' is missing; expected a header with model, layer, "
                                 "op, M, N, K, count, notes",
                                 tsri_columns[c].name));
}

/* A name that can stand in a table, a picture or a message. */
static bool name_good(struct tsri_reader *r, const struct tsri_field *f, const char *what) {
  const char *wrong = f->n == 0 ? "is empty" : NULL;
  for (size_t i = 0; i < f->n && !wrong; i++)
    if ((unsigned char)f->p[i] < 0x20) wrong = "holds a tab or a line end";
  if (!wrong && (f->p[0] == ' ' || f->p[f->n - 1] == ' ')) wrong = "has a blank at its end";
  if (!wrong) return true;
  tsri_note(r->b,
            tsr_err_at(r->b->err, TSR_INPUT, &f->pos, "%s %s; expected a name", what, wrong));
  return false;
}

static void read_model(struct tsri_reader *r) {
  const struct tsri_field *f = tsri_cell(r, TSRI_COL_MODEL);
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

static void read_layer(struct tsri_reader *r, struct tsr_op *op) {
  const struct tsri_field *f = tsri_cell(r, TSRI_COL_LAYER);
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

/* The next name of an `after` field; *at moves behind it. false: no more. */
static bool next_name(const struct tsri_field *f, size_t *at, struct tsri_field *name) {
  while (*at < f->n && (f->p[*at] == ' ' || f->p[*at] == ';')) ++*at;
  size_t from = *at;
  while (*at < f->n && f->p[*at] != ' ' && f->p[*at] != ';') ++*at;
  *name = tsri_field_part(f, from, *at - from);
  return name->n > 0;
}

static bool after_add(struct tsri_reader *r, const struct tsri_field *name, size_t *list,
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

static size_t *after_list(struct tsri_reader *r, size_t names) {
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
static void read_after(struct tsri_reader *r, struct tsr_op *op) {
  const struct tsri_field *f = tsri_cell(r, TSRI_COL_AFTER);
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

static bool row_length(struct tsri_reader *r) {
  if (r->row.n == r->n_columns) return true;
  bool longer = r->row.n > r->n_columns;
  const struct tsr_pos *pos = longer ? &r->row.f[r->n_columns].pos : &r->row.end;
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, pos,
                             "too %s fields; expected %zu as in the header, got %zu",
                             longer ? "many" : "few", r->n_columns, r->row.n));
  return false;
}

static void read_row(struct tsri_reader *r) {
  struct tsr_op op;
  memset(&op, 0, sizeof op);
  if (!row_length(r)) return;
  read_model(r);
  read_layer(r, &op);
  tsri_row_op(r, &op);
  read_after(r, &op);
  /* A row with errors keeps its name, so that rows after it may refer to it. */
  if (op.name && r->b->status != TSR_NOMEM) tsri_build_add(r->b, &op);
}

void tsri_csv_read(struct tsri_build *b, struct tsri_row *header) {
  struct tsri_reader r = {.b = b, .row = *header};
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
