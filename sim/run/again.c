/* A stored run's inputs, run again. */
#include <stdlib.h>
#include <string.h>

#include "sim/run/run_int.h"
#include "workloads/net/net.h"

struct stored { /* arena copies */
  struct tsr_arena *arena;
  struct tsr_run_options o;
  const char *options;
};

static int index_of(const char *const *names, const char *word, size_t n) {
  for (int i = 0; names[i]; i++)
    if (strlen(names[i]) == n && !memcmp(names[i], word, n)) return i;
  return -1;
}

/* The value of `key=` in the options text; *n its length. */
static const char *option(const char *text, const char *key, size_t *n) {
  size_t k = strlen(key);
  for (const char *line = text; line && *line;) {
    const char *end = strchr(line, '\n');
    if (!strncmp(line, key, k) && line[k] == '=') {
      *n = end ? (size_t)(end - line) - k - 1 : strlen(line) - k - 1;
      return line + k + 1;
    }
    line = end ? end + 1 : NULL;
  }
  *n = 0;
  return "";
}

static bool number(const char *text, const char *key, uint64_t *out) {
  size_t n;
  const char *p = option(text, key, &n);
  return n && tsr_quantity_parse(p, n, TSR_UNIT_COUNT, out) == TSR_QUANTITY_OK;
}

/* A line's value as text; NULL when there is no such line. */
static const char *text(struct stored *s, const char *key) {
  size_t n;
  const char *p = option(s->options, key, &n);
  return n ? tsr_arena_strndup(s->arena, p, n) : NULL;
}

/* The lines `key=NAME=VALUE`: how many, and each into its list. */
struct pair {
  const char *name, *value;
};
static enum tsr_status pairs(struct stored *s, const char *key, struct pair **out, size_t *n) {
  size_t k = strlen(key);
  *n = 0;
  *out = tsr_arena_array(s->arena, strlen(s->options) / 4 + 1, sizeof **out);
  if (!*out) return TSR_NOMEM;
  for (const char *line = s->options; line && *line;) {
    const char *end = strchr(line, '\n');
    if (!strncmp(line, key, k) && line[k] == '=') {
      char *name = tsr_arena_strndup(s->arena, line + k + 1,
                                     (end ? (size_t)(end - line) : strlen(line)) - k - 1);
      char *is = name ? strchr(name, '=') : NULL;
      if (!is) return TSR_NOMEM;
      *is = '\0';
      (*out)[(*n)++] = (struct pair){name, is + 1};
    }
    line = end ? end + 1 : NULL;
  }
  return TSR_OK;
}

static enum tsr_status read_files(struct stored *s, const char *key,
                                  const struct tsr_run_file **out, size_t *n) {
  struct pair *list;
  enum tsr_status st = pairs(s, key, &list, n);
  struct tsr_run_file *files = st ? NULL : tsr_arena_array(s->arena, *n + 1, sizeof *files);
  if (!files) return TSR_NOMEM;
  for (size_t i = 0; i < *n; i++) files[i] = (struct tsr_run_file){list[i].name, list[i].value};
  *out = files;
  return TSR_OK;
}

static enum tsr_status read_lists(struct stored *s) {
  struct pair *list;
  size_t n;
  enum tsr_status st = pairs(s, "dim", &list, &n);
  struct tsr_net_dim *dims = st ? NULL : tsr_arena_array(s->arena, n + 1, sizeof *dims);
  if (!dims) return TSR_NOMEM;
  for (size_t i = 0; i < n; i++)
    dims[i] = (struct tsr_net_dim){list[i].name, strtoull(list[i].value, NULL, 10)};
  s->o.dims = dims;
  s->o.n_dims = n;
  st = read_files(s, "input", &s->o.inputs, &s->o.n_inputs);
  return st ? st : read_files(s, "expect", &s->o.expects, &s->o.n_expects);
}

static enum tsr_status read_options(struct stored *s, uint64_t run_id, struct tsr_err *err) {
  size_t n;
  const char *p = option(s->options, "numerics", &n);
  int numerics = index_of(tsr_numerics_names, p, n);
  p = option(s->options, "trace", &n);
  int trace = index_of(tsr_trace_names, p, n);
  if (numerics < 0 || trace < 0 || !number(s->options, "batch", &s->o.batch) ||
      !number(s->options, "seed", &s->o.seed))
    return tsr_err_set(err, TSR_STORE, "the stored options of run %llu are damaged",
                       (unsigned long long)run_id);
  if (read_lists(s)) return tsr_err_nomem(err);
  s->o.dataset = text(s, "dataset");
  (void)number(s->options, "decode", &s->o.decode);
  const char *ulp = text(s, "ulp");
  s->o.ulp = ulp ? strtod(ulp, NULL) : 0;
  s->o.skip_unsupported = text(s, "skip_unsupported") != NULL;
  s->o.numerics = (enum tsr_numerics)numerics;
  s->o.trace = (enum tsr_trace)trace;
  return TSR_OK;
}

static enum tsr_status read_inputs(struct tsr_store *store, uint64_t run_id, struct stored *s,
                                   struct tsr_err *err) {
  struct tsr_query *q;
  enum tsr_status st =
      tsr_store_query(store, "SELECT role, name, text FROM v_inputs WHERE run = ?1", &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 1, run_id);
  bool row = true;
  while (!(st = tsr_query_step(q, &row, err)) && row) {
    const char *role = tsr_query_text(q, 0);
    const char *name = tsr_arena_strdup(s->arena, tsr_query_text(q, 1));
    const char *text = tsr_arena_strdup(s->arena, tsr_query_text(q, 2));
    if (!name || !text) {
      st = tsr_err_nomem(err);
      break;
    }
    if (!strcmp(role, "arch")) s->o.arch = name, s->o.arch_text = text;
    if (!strcmp(role, "workload")) s->o.workload = name, s->o.workload_text = text;
    if (!strcmp(role, "program")) s->o.program = name, s->o.program_text = text;
    if (!strcmp(role, "mapping")) s->o.mapping = name, s->o.mapping_text = text;
    if (!strcmp(role, "options")) s->options = text;
    if (!strcmp(role, "changes")) s->o.changes = text;
  }
  tsr_query_close(q);
  if (st) return st;
  if (!s->o.arch || (!s->o.workload && !s->o.program) || !s->options)
    return tsr_err_set(err, TSR_STORE, "run %llu lacks a stored input",
                       (unsigned long long)run_id);
  return TSR_OK;
}

enum tsr_status tsr_run_again(struct tsr_store *store, uint64_t run_id, const char *version,
                              uint64_t *new_run_id, struct tsr_err *err) {
  struct stored s = {.arena = tsr_arena_create()};
  if (!s.arena) return tsr_err_nomem(err);
  enum tsr_status st = read_inputs(store, run_id, &s, err);
  if (!st) st = read_options(&s, run_id, err);
  if (!st) {
    s.o.version = version;
    st = tsr_run_execute(&s.o, store, new_run_id, err);
  }
  tsr_arena_destroy(s.arena);
  return st;
}
