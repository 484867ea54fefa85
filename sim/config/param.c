#include "sim/config/param.h"

#include <string.h>

#include "sim/config/config_int.h"

size_t tsr_param_count(const struct tsr_param *table) {
  size_t n = 0;
  while (table[n].key) n++;
  return n;
}

void tsr_param_defaults(const struct tsr_param *table, void *dst) {
  for (; table->key; table++)
    if (table->def && tsri_value_set(table, table->def, false, dst))
      TSR_BUG("a default of a parameter table breaks its own rule");
}

struct reading {
  const struct tsr_param *table;
  const char *prefix;
  const char *const *ignore;
  void *dst;
  bool *seen, *given; /* given: named in the mapping, its value good or not */
  struct tsr_err *err;
  enum tsr_status st; /* of the first error */
};

static void note(struct reading *r, enum tsr_status st) {
  if (r->st == TSR_OK) r->st = st;
}

/* `'key' <wrong>; expected <rule>[, got <got>]`. */
static void complain(struct reading *r, const struct tsr_param *row, const struct tsr_pos *pos,
                     const char *wrong, const char *got) {
  struct tsr_str rule = TSR_STR_INIT;
  tsri_value_rule(row, &rule);
  char *text = tsr_str_take(&rule);
  if (!text)
    note(r, tsr_err_nomem(r->err));
  else if (got)
    note(r, tsr_err_at(r->err, TSR_INPUT, pos, "'%s%s' %s; expected %s, got '%.*s'", r->prefix,
                       row->key, wrong, text, TSRI_SHOW(got)));
  else
    note(r, tsr_err_at(r->err, TSR_INPUT, pos, "'%s%s' %s; expected %s", r->prefix, row->key,
                       wrong, text));
  tsr_mem_free(text);
}

static void read_value(struct reading *r, const struct tsr_param *row,
                       const struct tsr_node *n) {
  size_t i = (size_t)(row - r->table);
  r->given[i] = true;
  if (n->kind != TSR_NODE_SCALAR) {
    complain(r, row, &n->pos, n->kind == TSR_NODE_SEQ ? "is a list" : "is a mapping", NULL);
    return;
  }
  if (tsri_is_null(n) && row->type != TSR_PARAM_NAME && row->type != TSR_PARAM_TEXT) {
    complain(r, row, &n->pos, "has no value", NULL);
    return;
  }
  const char *wrong = tsri_value_set(row, n->text, n->quoted, r->dst);
  if (!wrong) {
    if (r->seen) r->seen[i] = true;
    return;
  }
  complain(r, row, &n->pos, wrong, n->text);
  if (row->type != TSR_PARAM_ENUM) return;
  size_t names = 0;
  while (row->names[names]) names++;
  const char *near = tsr_err_nearest(n->text, row->names, names);
  if (near) tsr_err_hint(r->err, "did you mean '%s'?", near);
}

static size_t ignored(const struct reading *r) {
  size_t n = 0;
  while (r->ignore && r->ignore[n]) n++;
  return n;
}

/* The keys that may stand at the level `below` ("" or "a.b."), in the order of
 * the table, in `a`; NULL when memory ran out. */
static const char **level_names(const struct reading *r, const char *below, struct tsr_arena *a,
                                size_t *n) {
  size_t skip = strlen(below), more = skip ? 0 : ignored(r);
  const char **names = tsr_arena_array(a, tsr_param_count(r->table) + more, sizeof *names);
  *n = 0;
  for (const struct tsr_param *row = r->table; names && row->key; row++) {
    if (strncmp(row->key, below, skip) != 0) continue;
    const char *name = tsr_arena_strndup(a, row->key + skip, strcspn(row->key + skip, "."));
    if (!name) return NULL;
    if (!*n || !tsr_str_eq(names[*n - 1], name)) names[(*n)++] = name;
  }
  for (size_t i = 0; names && i < more; i++) names[(*n)++] = r->ignore[i];
  return names;
}

static char *join(const char **names, size_t n) {
  struct tsr_str s = TSR_STR_INIT;
  for (size_t i = 0; i < n; i++) tsr_str_addf(&s, "%s%s", i ? ", " : "", names[i]);
  return tsr_str_take(&s);
}

static void unknown_key(struct reading *r, const char *below, const struct tsr_entry *e) {
  size_t n;
  struct tsr_arena *a = tsr_arena_create();
  const char **names = a ? level_names(r, below, a, &n) : NULL;
  char *list = names ? join(names, n) : NULL;
  if (!list)
    note(r, tsr_err_nomem(r->err));
  else {
    note(r, tsr_err_at(r->err, TSR_USAGE, &e->key_pos, "unknown key '%s%s%.*s'", r->prefix,
                       below, TSRI_SHOW(e->key)));
    const char *near = tsr_err_nearest(e->key, names, n);
    if (strchr(e->key, '.'))
      tsr_err_hint(r->err, "write dotted keys as nested mappings");
    else if (near)
      tsr_err_hint(r->err, "did you mean '%s%s%s'?", r->prefix, below, near);
    else
      tsr_err_hint(r->err, "the keys here are %s", list);
  }
  tsr_mem_free(list);
  tsr_arena_destroy(a);
}

static bool is_ignored(const struct reading *r, const char *key) {
  for (size_t i = 0; r->ignore && r->ignore[i]; i++)
    if (tsr_str_eq(r->ignore[i], key)) return true;
  return false;
}

static void read_level(struct reading *r, const char *below, const struct tsr_node *map);

/* `key` is the head of dotted keys: its value is a mapping of theirs. */
static void read_group(struct reading *r, const char *path, const struct tsr_node *n) {
  if (tsri_is_null(n)) return;
  if (n->kind != TSR_NODE_MAP) {
    note(r, tsr_err_at(r->err, TSR_INPUT, &n->pos, "'%s%s' is no mapping; expected its keys",
                       r->prefix, path));
    return;
  }
  char *below = tsr_mem_printf("%s.", path);
  if (below)
    read_level(r, below, n);
  else
    note(r, tsr_err_nomem(r->err));
  tsr_mem_free(below);
}

static void read_entry(struct reading *r, const char *below, const struct tsr_entry *e) {
  char *path = tsr_mem_printf("%s%s", below, e->key);
  if (!path) {
    note(r, tsr_err_nomem(r->err));
    return;
  }
  size_t n = strlen(path);
  const struct tsr_param *row = r->table;
  while (row->key && (strncmp(row->key, path, n) != 0 || (row->key[n] && row->key[n] != '.')))
    row++;
  if (strchr(e->key, '.'))
    unknown_key(r, below, e);
  else if (row->key && !row->key[n])
    read_value(r, row, e->value);
  else if (row->key)
    read_group(r, path, e->value);
  else if (*below || !is_ignored(r, e->key))
    unknown_key(r, below, e);
  tsr_mem_free(path);
}

static void read_level(struct reading *r, const char *below, const struct tsr_node *map) {
  for (size_t i = 0; i < map->n; i++) read_entry(r, below, &map->entries[i]);
}

static void check_required(struct reading *r, const struct tsr_node *map) {
  for (size_t i = 0; r->table[i].key; i++) {
    if (r->table[i].def || r->given[i] || (r->seen && r->seen[i])) continue;
    complain(r, &r->table[i], map ? &map->pos : NULL, "is missing", NULL);
  }
}

enum tsr_status tsr_param_read(const struct tsr_param *table, const char *prefix,
                               const struct tsr_node *map, const char *const *ignore, void *dst,
                               bool *seen, struct tsr_err *err) {
  struct reading r = {table, prefix, ignore, dst, seen, NULL, err, TSR_OK};
  if (map && map->kind != TSR_NODE_MAP && !tsri_is_null(map)) {
    size_t n = strlen(prefix); /* ends in a dot */
    return tsr_err_at(err, TSR_INPUT, &map->pos,
                      "%s%.*s%s no mapping; expected keys with values", n ? "'" : "this",
                      n ? (int)n - 1 : 0, prefix, n ? "' is" : " is");
  }
  r.given = tsr_mem_array(tsr_param_count(table), sizeof *r.given);
  if (!r.given) return tsr_err_nomem(err);
  if (map) read_level(&r, "", map); /* a null has no entries */
  check_required(&r, map);
  tsr_mem_free(r.given);
  return r.st;
}
