/* A graph from its JSON. */
#include <math.h> /* INFINITY */
#include <stddef.h>
#include <string.h>

#include "workloads/build.h"
#include "workloads/exchange/graph_int.h"

#define SIZE(field, low, needed) \
  { #field, offsetof(struct tsr_op, field), low, needed }
#define CONV(field, low, needed) \
  { #field, offsetof(struct tsr_conv, field), low, needed }
const struct tsri_graph_size tsri_graph_sizes[] = {
    SIZE(m, 1, true), SIZE(n, 1, true), SIZE(k, 1, false), SIZE(count, 1, false), {0}};
const struct tsri_graph_size tsri_graph_conv[] = {CONV(batch, 1, false),
                                                  CONV(in_c, 1, true),
                                                  CONV(in_h, 1, true),
                                                  CONV(in_w, 1, true),
                                                  CONV(out_c, 1, true),
                                                  CONV(out_h, 1, true),
                                                  CONV(out_w, 1, true),
                                                  CONV(k_h, 1, true),
                                                  CONV(k_w, 1, true),
                                                  CONV(stride_h, 1, false),
                                                  CONV(stride_w, 1, false),
                                                  CONV(pad_t, 0, false),
                                                  CONV(pad_l, 0, false),
                                                  CONV(pad_b, 0, false),
                                                  CONV(pad_r, 0, false),
                                                  CONV(dil_h, 1, false),
                                                  CONV(dil_w, 1, false),
                                                  CONV(groups, 1, false),
                                                  {0}};
#undef SIZE
#undef CONV

struct reader {
  struct tsri_json j;
  struct tsr_build *b;
  uint64_t batch; /* of what was asked for */
  size_t *stamp;  /* owned: the operator whose `after` named it last, + 1 */
};

/* Sizes of a table; those left out are their least. */
static bool read_sizes(struct tsri_json *j, const struct tsri_way *way, const json_t *o,
                       const struct tsri_graph_size *sizes, void *to) {
  for (const struct tsri_graph_size *s = sizes; s->key; s++) {
    uint64_t v = s->low;
    if (!tsri_json_u64(j, way, o, s->key, s->low, s->needed, &v)) return false;
    memcpy((char *)to + s->place, &v, sizeof v);
  }
  return true;
}

static bool read_kind(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                      enum tsr_op_kind *out) {
  static const char *const names[] = {
#define OP(id, name, cls, weight, a, b, c, flags, doc) name,
#include "workloads/op.def"
#undef OP
  };
  const char *word = NULL;
  const struct tsri_way way = {up, "op", 0};
  if (!tsri_json_word(j, up, o, "op", true, &word)) return false;
  if (tsr_op_kind_find(word, out)) return true;
  tsri_json_bad(j, &way,
                "unknown op; expected an operator such as conv, linear, attention, softmax, "
                "layernorm, relu, add or maxpool, got '%s'",
                word);
  const char *near = tsr_err_nearest(word, names, TSR_OP_KIND_COUNT_);
  if (near) tsr_err_hint(j->err, "did you mean '%s'?", near);
  return false;
}

static bool read_conv(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                      struct tsr_op *op) {
  json_t *c = json_object_get(o, "conv");
  const struct tsri_way way = {up, "conv", 0};
  const char *names[24];
  size_t n = 0;
  if (!c) return true;
  if (!json_is_object(c))
    return tsri_json_bad(j, &way, "conv; expected an object, got %s", tsri_json_sort(c));
  for (; tsri_graph_conv[n].key; n++) names[n] = tsri_graph_conv[n].key;
  op->has_conv = true;
  return tsri_json_keys(j, &way, c, names, n) &&
         read_sizes(j, &way, c, tsri_graph_conv, &op->conv);
}

/* A number; "inf" and "-inf" are the infinities. */
static bool read_number(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                        const char *key, double *out) {
  const json_t *v = json_object_get(o, key);
  const struct tsri_way way = {up, key, 0};
  if (!v) return true;
  if (json_is_number(v)) {
    *out = json_number_value(v);
    return true;
  }
  const char *word = json_string_value(v);
  bool low = word && strcmp(word, "-inf") == 0;
  if (!low && !(word && strcmp(word, "inf") == 0))
    return tsri_json_bad(j, &way, "%s; expected a number, \"inf\" or \"-inf\", got %s", key,
                         tsri_json_sort(v));
  *out = low ? -INFINITY : INFINITY;
  return true;
}

static bool read_with(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                      enum tsr_with *out) {
  const char *word = NULL;
  const struct tsri_way way = {up, "with", 0};
  if (!tsri_json_word(j, up, o, "with", false, &word)) return false;
  if (!word) return true;
  for (enum tsr_with w = 0; w < TSR_WITH_COUNT_; w++)
    if (strcmp(word, tsr_with_name(w)) == 0) {
      *out = w;
      return true;
    }
  return tsri_json_bad(j, &way,
                       "unknown way to meet the second operand; expected full, row, col or "
                       "scalar, got '%s'",
                       word);
}

/* Keys of what a kind takes; returns how many. */
enum { KEYS_MAX = 12 };

static size_t attribute_keys(enum tsr_op_kind kind, bool is_step, const char **keys) {
  const struct tsr_op_info *i = tsr_op_kind_info(kind);
  const struct {
    bool used;
    const char *key;
  } rows[] = {{is_step, "op"},
              {!is_step && i->cls == TSR_CLASS_ATTENTION, "heads"},
              {!is_step && i->cls == TSR_CLASS_ATTENTION, "kv_heads"},
              {!is_step && i->cls == TSR_CLASS_ATTENTION, "causal"},
              {!is_step && i->table, "table"},
              {!is_step && i->experts, "experts"},
              {!is_step && i->eps, "eps"},
              {i->alpha, "alpha"},
              {i->beta, "beta"},
              {i->zero, "zero"},
              {i->b == TSR_SHAPE_WITH, "with"}};
  size_t n = 0;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
    if (rows[r].used) keys[n++] = rows[r].key;
  return n;
}

static bool read_attributes(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                            struct tsr_op *op) {
  json_t *a = json_object_get(o, "attributes");
  const struct tsri_way way = {up, "attributes", 0};
  const char *keys[KEYS_MAX];
  struct tsr_op_attr *t = &op->attr;
  tsr_op_kind_defaults(op->kind, t);
  if (tsr_op_kind_info(op->kind)->cls == TSR_CLASS_ATTENTION) t->heads = op->count;
  t->kv_heads = t->heads;
  if (!a) return true;
  if (!json_is_object(a))
    return tsri_json_bad(j, &way, "attributes; expected an object, got %s", tsri_json_sort(a));
  size_t n = attribute_keys(op->kind, false, keys);
  if (n == 0 && json_object_size(a))
    return tsri_json_bad(j, &way, "attributes of op %s; expected none",
                         tsr_op_kind_name(op->kind));
  if (!tsri_json_keys(j, &way, a, keys, n) ||
      !tsri_json_u64(j, &way, a, "heads", 1, false, &t->heads))
    return false;
  t->kv_heads = t->heads;
  return tsri_json_u64(j, &way, a, "kv_heads", 1, false, &t->kv_heads) &&
         tsri_json_flag(j, &way, a, "causal", &t->causal) &&
         tsri_json_u64(j, &way, a, "table", 1, false, &t->table) &&
         tsri_json_u64(j, &way, a, "experts", 1, false, &t->experts) &&
         read_number(j, &way, a, "eps", &t->eps) &&
         read_number(j, &way, a, "alpha", &t->alpha) &&
         read_number(j, &way, a, "beta", &t->beta) &&
         read_number(j, &way, a, "zero", &t->zero) && read_with(j, &way, a, &t->with);
}

static bool read_step(struct tsri_json *j, const struct tsri_way *way, json_t *o,
                      struct tsr_op_step *out) {
  struct tsr_op_step s = {.with = TSR_WITH_FULL};
  struct tsr_op_attr t;
  const char *keys[KEYS_MAX];
  if (!json_is_object(o))
    return tsri_json_bad(j, way, "step of an epilogue; expected an object, got %s",
                         tsri_json_sort(o));
  if (!read_kind(j, way, o, &s.kind)) return false;
  tsr_op_kind_defaults(s.kind, &t);
  s = (struct tsr_op_step){s.kind, t.with, t.alpha, t.beta, t.zero};
  if (!tsri_json_keys(j, way, o, keys, attribute_keys(s.kind, true, keys)) ||
      !read_number(j, way, o, "alpha", &s.alpha) || !read_number(j, way, o, "beta", &s.beta) ||
      !read_number(j, way, o, "zero", &s.zero) || !read_with(j, way, o, &s.with))
    return false;
  *out = s;
  return true;
}

static bool read_epilogue(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                          struct tsr_op *op) {
  const json_t *e = json_object_get(o, "epilogue");
  const struct tsri_way way = {up, "epilogue", 0};
  if (!e) return true;
  if (!json_is_array(e) || json_array_size(e) > TSR_EPILOGUE_MAX)
    return tsri_json_bad(j, &way, "epilogue; expected an array of at most %d steps",
                         TSR_EPILOGUE_MAX);
  for (; op->n_steps < json_array_size(e); op->n_steps++) {
    const struct tsri_way at = {&way, NULL, op->n_steps};
    if (!read_step(j, &at, json_array_get(e, op->n_steps), &op->step[op->n_steps]))
      return false;
  }
  return true;
}

static bool read_formats(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                         struct tsr_op *op) {
  static const char *const keys[] = {"a", "b", "acc", "out"};
  json_t *f = json_object_get(o, "formats");
  const struct tsri_way way = {up, "formats", 0};
  if (!f) return true;
  if (!json_is_object(f))
    return tsri_json_bad(j, &way, "formats; expected an object, got %s", tsri_json_sort(f));
  return tsri_json_keys(j, &way, f, keys, sizeof keys / sizeof keys[0]) &&
         tsri_json_word(j, &way, f, "a", false, &op->format_a) &&
         tsri_json_word(j, &way, f, "b", false, &op->format_b) &&
         tsri_json_word(j, &way, f, "acc", false, &op->format_acc) &&
         tsri_json_word(j, &way, f, "out", false, &op->format_out);
}

/* Digits from *p on, below 2^32; 0: none. */
static uint64_t digits(const char **p) {
  uint64_t v = 0;
  for (; **p >= '0' && **p <= '9' && v <= UINT32_MAX; ++*p) v = 10 * v + (uint64_t)(**p - '0');
  return v;
}

static bool read_sparsity(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                          struct tsr_op *op) {
  const struct tsri_way way = {up, "sparsity", 0};
  if (!tsri_json_word(j, up, o, "sparsity", false, &op->sparsity)) return false;
  if (!op->sparsity) return true;
  const char *p = op->sparsity;
  uint64_t n = digits(&p), m = *p == ':' ? (p++, digits(&p)) : 0;
  if (n && n <= m && *p == '\0') return true;
  return tsri_json_bad(
      j, &way, "sparsity; expected N:M with N from 1 to M such as 2:4, got '%s'", op->sparsity);
}

/* The index of an earlier operator, or SIZE_MAX: reported. */
static size_t read_name_of(struct reader *r, const struct tsri_way *way, const json_t *v) {
  const char *name = json_string_value(v);
  size_t i = name ? tsr_build_find(r->b, name) : SIZE_MAX;
  bool twice = i != SIZE_MAX && r->stamp[i] == tsr_build_count(r->b) + 1;
  if (i != SIZE_MAX && !twice) {
    r->stamp[i] = tsr_build_count(r->b) + 1;
    return i;
  }
  tsri_json_bad(&r->j, way,
                "%s in after; expected names of earlier operators, each once, got %s%s%s",
                twice ? "operator twice" : "unknown operator", name ? "'" : tsri_json_sort(v),
                name ? name : "", name ? "'" : "");
  return SIZE_MAX;
}

static bool read_after(struct reader *r, const struct tsri_way *up, const json_t *o,
                       struct tsr_op *op, size_t **list) {
  const json_t *v = json_object_get(o, "after");
  const struct tsri_way way = {up, "after", 0};
  if (!v) return true;
  if (!json_is_array(v))
    return tsri_json_bad(&r->j, &way, "after; expected an array of names, got %s",
                         tsri_json_sort(v));
  *list = tsr_mem_array(json_array_size(v) + 1, sizeof **list);
  if (!*list) return tsri_json_nomem(&r->j);
  for (; op->n_after < json_array_size(v); op->n_after++) {
    const struct tsri_way at = {&way, NULL, op->n_after};
    size_t i = read_name_of(r, &at, json_array_get(v, op->n_after));
    if (i == SIZE_MAX) return false;
    (*list)[op->n_after] = i;
  }
  op->after = *list;
  return true;
}

static bool read_op(struct tsri_json *j, const struct tsri_way *way, json_t *o,
                    struct tsr_op *op) {
  static const char *const keys[] = {"name",     "op",      "m",        "n",
                                     "k",        "count",   "conv",     "attributes",
                                     "epilogue", "formats", "sparsity", "after"};
  if (!json_is_object(o))
    return tsri_json_bad(j, way, "operator; expected an object, got %s", tsri_json_sort(o));
  return tsri_json_keys(j, way, o, keys, sizeof keys / sizeof keys[0]) &&
         tsri_json_word(j, way, o, "name", true, &op->name) &&
         read_kind(j, way, o, &op->kind) && read_sizes(j, way, o, tsri_graph_sizes, op) &&
         read_conv(j, way, o, op) && read_attributes(j, way, o, op) &&
         read_epilogue(j, way, o, op) && read_formats(j, way, o, op) &&
         read_sparsity(j, way, o, op);
}

static bool add_op(struct reader *r, const struct tsri_way *way, json_t *o, struct tsr_op *op) {
  const struct tsri_way at_name = {way, "name", 0};
  size_t *list = NULL;
  bool good = read_after(r, way, o, op, &list);
  if (good && tsr_build_find(r->b, op->name) != SIZE_MAX)
    good = tsri_json_bad(
        &r->j, &at_name,
        "name of an operator taken; expected each under its own name, got '%s'", op->name);
  if (good && r->batch && !tsr_op_batch(op, r->batch))
    good = tsri_json_bad(&r->j, &at_name,
                         "'%s' is too large at this batch; expected sizes below 2^64, got "
                         "'%llu'",
                         op->name, (unsigned long long)r->batch);
  if (good) {
    enum tsr_status st = tsr_build_add(r->b, op, r->j.err);
    if (st && !r->j.status) r->j.status = st;
    if (st) r->j.errors++;
  }
  tsr_mem_free(list);
  return good;
}

static bool full(const struct reader *r) {
  return r->j.errors >= TSR_ERR_MAX || r->j.status == TSR_NOMEM;
}

static void read_ops(struct reader *r, const json_t *ops) {
  const struct tsri_way way = {NULL, "operators", 0};
  size_t n = json_array_size(ops);
  struct tsr_pos *pos = tsr_mem_array(n + 1, sizeof *pos);
  r->stamp = tsr_mem_array(n + 1, sizeof *r->stamp);
  if (!pos || !r->stamp) {
    tsri_json_nomem(&r->j);
    tsr_mem_free(pos);
    return;
  }
  tsri_json_elements(&r->j, &way, pos, n);
  for (size_t i = 0; i < n && !full(r); i++) {
    const struct tsri_way at = {&way, NULL, i};
    struct tsr_op op = {.pos = pos[i]};
    json_t *o = json_array_get(ops, i);
    op.pos.src = tsr_build_src(r->b);
    bool good = read_op(&r->j, &at, o, &op) && add_op(r, &at, o, &op);
    /* One with errors keeps its name, so that later ones may refer to it. */
    const struct tsr_op named = {.name = op.name};
    if (!good && op.name && !full(r)) (void)tsr_build_add(r->b, &named, NULL);
  }
  tsr_mem_free(pos);
}

static bool read_version(struct tsri_json *j) {
  const struct tsri_way way = {NULL, "tessera_graph", 0};
  const json_t *v = json_object_get(j->root, "tessera_graph");
  if (!v)
    return tsri_json_bad(
        j, NULL, "no graph: the key 'tessera_graph' is missing; expected \"tessera_graph\": %d",
        TSR_GRAPH_JSON_VERSION);
  if (json_is_integer(v) && json_integer_value(v) == TSR_GRAPH_JSON_VERSION) return true;
  return tsri_json_bad(j, &way, "version of a graph; expected %d, the one that is read here",
                       TSR_GRAPH_JSON_VERSION);
}

static bool read_root(struct reader *r, const char **name, uint64_t *batch) {
  static const char *const keys[] = {"tessera_graph", "name", "batch", "operators"};
  struct tsri_json *j = &r->j;
  const struct tsri_way way = {NULL, "operators", 0};
  if (!read_version(j) ||
      !tsri_json_keys(j, NULL, j->root, keys, sizeof keys / sizeof keys[0]) ||
      !tsri_json_word(j, NULL, j->root, "name", true, name) ||
      !tsri_json_u64(j, NULL, j->root, "batch", 1, false, batch))
    return false;
  const json_t *ops = json_object_get(j->root, "operators");
  if (!json_is_array(ops) || json_array_size(ops) == 0)
    return tsri_json_bad(j, &way,
                         "operators; expected an array of one operator or more, got %s",
                         json_is_array(ops) ? "an empty one" : tsri_json_sort(ops));
  if (r->batch && !tsr_mul_u64(*batch, r->batch, batch))
    return tsri_json_bad(j, NULL, "batch too large; expected a product below 2^64");
  return true;
}

static enum tsr_status read_graph(struct reader *r, size_t len, const char *text,
                                  struct tsr_graph **out) {
  const char *name = NULL;
  uint64_t batch = 1;
  struct tsri_json *j = &r->j;
  if (!read_root(r, &name, &batch)) return j->status;
  enum tsr_status st = tsr_build_create(name, j->src.path, text, len, &r->b, j->err);
  if (st) return st;
  read_ops(r, json_object_get(j->root, "operators"));
  if (!j->status) return tsr_build_finish(r->b, batch, out, j->err);
  tsr_build_destroy(r->b);
  return j->status;
}

bool tsr_graph_json_is(const char *text, size_t len) {
  size_t i = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  while (i < len && memchr(" \t\r\n", text[i], 4)) i++;
  return i < len && text[i] == '{';
}

enum tsr_status tsr_graph_json_read(const char *path, const char *text, size_t len,
                                    uint64_t batch, struct tsr_graph **out,
                                    struct tsr_err *err) {
  struct reader r = {.batch = batch};
  enum tsr_status st = tsri_json_read(&r.j, path, text, len, err);
  if (!st) st = read_graph(&r, len, text, out);
  tsri_json_fini(&r.j);
  tsr_mem_free(r.stamp);
  return st;
}
