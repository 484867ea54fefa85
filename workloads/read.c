/* From what the user wrote to a checked graph. */
#include <string.h>

#include "sim/base/io.h"
#include "workloads/exchange/graph_json.h"
#include "workloads/spec/spec.h"
#include "workloads/workloads_int.h"

/* Spellings that are a workload themselves, not the name of one. */
static const struct spelling {
  const char *prefix;
  void (*read)(struct tsri_build *b);
} spellings[] = {{"gemm:", tsri_gemm_read}, {"op:", tsri_op_read}};

static const struct spelling *spelling_of(const char *what) {
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
    if (strncmp(what, spellings[i].prefix, strlen(spellings[i].prefix)) == 0)
      return &spellings[i];
  return NULL;
}

/* A path holds a slash or a dot; anything else names something built in. */
static bool is_path(const char *what) {
  return strpbrk(what, "/.") != NULL;
}

static enum tsr_status unknown_name(const char *what, struct tsr_err *err) {
  const char *names[64];
  size_t n = 0;
  for (; n < tsr_zoo_count() && n < sizeof names / sizeof names[0]; n++)
    names[n] = tsr_zoo_name(n);
  tsr_err_set(err, TSR_USAGE,
              "unknown workload; expected gemm:MxNxK, op:NAME:KEY=V, a built-in name or a path "
              "with '/' or '.', got '%s'",
              what);
  const char *near = tsr_err_nearest(what, names, n);
  for (size_t i = 0; !near && i < n; i++)
    if (*what && !strncmp(names[i], what, strlen(what))) near = names[i];
  if (near)
    tsr_err_hint(err, "did you mean '%s'?", near);
  else
    tsr_err_hint(err, "`tessera presets workload` lists the names");
  return TSR_USAGE;
}

/* The last part of a path without `.csv`. */
static void base_name(const char *path, const char **name, size_t *n) {
  const char *slash = strrchr(path, '/');
  *name = slash && slash[1] ? slash + 1 : path;
  *n = strlen(*name);
  if (*n > 4 && strcmp(*name + *n - 4, ".csv") == 0) *n -= 4;
}

void tsri_text_read(struct tsri_build *b) {
  if (tsri_scan_check(b)) return;
  struct tsri_row row = {0};
  bool more = tsri_scan_row(b, &row);
  while (more && tsri_row_blank(&row)) more = tsri_scan_row(b, &row);
  struct tsr_pos start = {b->src, 1, 1, 1};
  if (b->status != TSR_OK) {
    /* The text itself is broken. */
  } else if (!more) {
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &start,
                            "empty file; expected a header and one row a layer"));
  } else if (tsri_csv_is_header(&row)) {
    tsri_csv_read(b, &row);
  } else if (tsri_scalesim_is_first(&row)) {
    tsri_scalesim_read(b, &row);
  } else {
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &row.f[0].pos,
                            "no known kind of layer list; expected the columns "
                            "model,layer,op,M,N,K,count,notes, or SCALE-Sim's 'Layer, M, N, K' "
                            "or 'Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter "
                            "Width, Channels, Num Filter, Strides', got %zu fields",
                            row.n));
  }
  tsri_row_fini(&row);
}

static void apply_batch(struct tsri_build *b, struct tsr_op *op, uint64_t batch) {
  if (!tsr_op_batch(op, batch))
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &op->pos,
                            "'%s' is too large at this batch; expected sizes below 2^64, got "
                            "'%llu'",
                            op->name, (unsigned long long)batch));
}

static void finish_ops(struct tsri_build *b, uint64_t batch) {
  b->g->batch = batch ? batch : 1;
  for (size_t i = 0; i < b->n && !tsri_build_full(b); i++) {
    size_t before = b->errors;
    if (batch) apply_batch(b, &b->ops[i], batch);
    if (b->errors != before) continue;
    enum tsr_status s = tsr_op_check(&b->ops[i], b->err);
    if (s) tsri_note(b, s);
    if (b->ops[i].has_conv) b->g->batch = tsr_max_u64(b->g->batch, b->ops[i].conv.batch);
  }
}

/* The text to read: borrowed, or read from the file into *owned. */
static enum tsr_status find_text(const char *what, const char **text, size_t *len, char **owned,
                                 struct tsr_err *err) {
  const char *found = spelling_of(what) ? what : tsr_zoo_text(what);
  if (found) {
    *text = found;
    *len = strlen(found);
    return TSR_OK;
  }
  if (!is_path(what)) return unknown_name(what, err);
  enum tsr_status s = tsr_io_read(what, owned, len, err);
  if (s == TSR_OK) *text = *owned;
  return s;
}

static bool is_model(const char *what) {
  return is_path(what) && tsr_str_ends(what, ".onnx");
}

/* A file by its ending; a built-in network by its text, that of the zoo or of a stored run. */
static bool is_spec(const char *what, const char *text, size_t len) {
  if (spelling_of(what)) return false;
  if (is_path(what)) return tsr_str_ends(what, ".yaml") || tsr_str_ends(what, ".yml");
  return tsr_spec_is(text, len);
}

enum tsr_status tsr_workload_read(const char *what, const struct tsr_workload_options *o,
                                  struct tsr_graph **out, struct tsr_err *err) {
  static const struct tsr_workload_options none = {0};
  if (!o) o = &none;
  if (is_model(what)) return tsri_model_read(what, o, out, err);
  if (o->n_dims || o->skip_unsupported)
    return tsr_err_set(err, TSR_USAGE,
                       "workload '%s' has no open dimensions and no unsupported operators; "
                       "expected an ONNX model (.onnx) for --dim and --skip-unsupported",
                       what);
  struct tsri_build b;
  const char *text = o->text;
  char *owned = NULL;
  size_t len = text ? strlen(text) : 0;
  if (!text) {
    enum tsr_status s = find_text(what, &text, &len, &owned, err);
    if (s) return s;
  }
  TSR_CHECK(text != NULL);
  if (is_spec(what, text, len)) {
    enum tsr_status s = tsr_spec_read(what, text, len, o->batch, out, err);
    tsr_mem_free(owned);
    return s;
  }
  if (!spelling_of(what) && tsr_graph_json_is(text, len)) {
    enum tsr_status s = tsr_graph_json_read(what, text, len, o->batch, out, err);
    tsr_mem_free(owned);
    return s;
  }
  const char *base = what;
  size_t base_len = strlen(what);
  if (!spelling_of(what)) base_name(what, &base, &base_len);
  char *name = tsr_mem_strndup(base, base_len);
  if (!name) {
    tsr_mem_free(owned);
    return tsr_err_nomem(err);
  }
  const struct spelling *spelled = spelling_of(what);
  if (spelled != spelling_of(text)) spelled = NULL;
  enum tsr_status s = tsri_build_init(&b, spelled ? "--workload" : what, name, text, len, err);
  tsr_mem_free(name);
  tsr_mem_free(owned);
  if (s == TSR_OK) {
    if (spelled)
      spelled->read(&b);
    else
      tsri_text_read(&b);
  }
  if (b.status == TSR_OK) finish_ops(&b, o->batch);
  return tsri_build_finish(&b, out);
}
