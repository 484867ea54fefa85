#include "sim/config/tree.h"

#include <string.h>

#include "sim/base/io.h"
#include "sim/config/config_int.h"

static const char set_path[] = "--set";

int tsri_shown(const char *text) {
  size_t n = strlen(text);
  if (n <= 60) return (int)n;
  for (n = 60; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;) n--;
  return (int)n;
}

bool tsri_is_null(const struct tsr_node *n) {
  return n->kind == TSR_NODE_SCALAR && !n->quoted && !*n->text;
}

struct tsr_src *tsri_src_create(struct tsr_arena *a, const char *path, const char *text,
                                size_t len) {
  struct tsr_src *s = tsr_arena_alloc(a, sizeof *s);
  if (!s) return NULL;
  s->path = tsr_arena_strdup(a, path);
  s->text = tsr_arena_strndup(a, text, len);
  s->len = len;
  return s->path && s->text ? s : NULL;
}

static enum tsr_status parse(struct tsr_arena *a, const char *path, const char *text,
                             size_t len, struct tsr_node **out, const char **text_out,
                             struct tsr_err *err) {
  static const char bom[3] = {'\xef', '\xbb', '\xbf'};
  struct tsr_node *root = NULL;
  if (len >= sizeof bom && memcmp(text, bom, sizeof bom) == 0) {
    text += sizeof bom;
    len -= sizeof bom;
  }
  struct tsr_src *src = tsri_src_create(a, path, text, len);
  if (!src) return tsr_err_nomem(err);
  enum tsr_status st = tsri_yaml_parse(a, src, 0, &root, err);
  if (st != TSR_OK) return st;
  if (!root || tsri_is_null(root)) {
    root = tsr_arena_alloc(a, sizeof *root);
    if (!root) return tsr_err_nomem(err);
    root->kind = TSR_NODE_MAP;
    root->pos = (struct tsr_pos){src, 1, 1, 1};
  }
  *out = root;
  if (text_out) *text_out = src->text;
  return TSR_OK;
}

enum tsr_status tsr_config_tree_parse(struct tsr_arena *a, const char *path, const char *text,
                                      size_t len, struct tsr_node **out, struct tsr_err *err) {
  return parse(a, path, text, len, out, NULL, err);
}

enum tsr_status tsr_config_tree_read(struct tsr_arena *a, const char *path,
                                     struct tsr_node **out, const char **text_out,
                                     struct tsr_err *err) {
  char *text;
  size_t len;
  enum tsr_status st = tsr_io_read(path, &text, &len, err);
  if (st != TSR_OK) return st;
  st = parse(a, path, text, len, out, text_out, err);
  tsr_mem_free(text);
  return st;
}

static struct tsr_entry *find(const struct tsr_node *map, const char *key, size_t n) {
  for (size_t i = 0; i < map->n; i++)
    if (strncmp(map->entries[i].key, key, n) == 0 && !map->entries[i].key[n])
      return &map->entries[i];
  return NULL;
}

struct tsr_node *tsr_config_tree_get(const struct tsr_node *root, const char *path) {
  for (;;) {
    size_t n = strcspn(path, ".");
    struct tsr_entry *e = root->kind == TSR_NODE_MAP ? find(root, path, n) : NULL;
    if (!e) return NULL;
    if (!path[n]) return e->value;
    root = e->value;
    path += n + 1;
  }
}

/* ---- --set ---- */

/* An assignment `key=value`, the key being text[from … eq-1] with dots. */
struct assignment {
  struct tsr_arena *a;
  const struct tsr_src *src;
  size_t eq;
  struct tsr_err *err;
};

static struct tsr_pos set_pos(const struct assignment *s, size_t at, size_t width) {
  return (struct tsr_pos){s->src, 1, (uint32_t)at + 1, width ? (uint32_t)width : 1};
}

static enum tsr_status check_key(const struct assignment *s) {
  const char *t = s->src->text;
  struct tsr_pos pos = set_pos(s, 0, s->src->len);
  if (t[s->eq] != '=')
    return tsr_err_at(s->err, TSR_USAGE, &pos,
                      "no '=' in the assignment; expected K=V, got '%.*s'", TSRI_SHOW(t));
  for (size_t i = 0; i <= s->eq; i++) {
    if ((t[i] != '.' && t[i] != '=') || (i && t[i - 1] != '.')) continue;
    pos = set_pos(s, i, 1);
    return tsr_err_at(s->err, TSR_USAGE, &pos,
                      "key has an empty part; expected K=V with K such as tile.rows");
  }
  return TSR_OK;
}

static enum tsr_status parse_value(const struct assignment *s, struct tsr_node **out) {
  struct tsr_node *n = NULL;
  enum tsr_status st = tsri_yaml_parse(s->a, s->src, s->eq + 1, &n, s->err);
  if (st != TSR_OK) return st;
  if (!n) { /* `K=`: as `K:` in a file */
    n = tsr_arena_alloc(s->a, sizeof *n);
    if (!n) return tsr_err_nomem(s->err);
    n->text = "";
    n->pos = set_pos(s, s->eq + 1, 1);
  }
  *out = n;
  return TSR_OK;
}

/* Puts key text[from … to-1] with its value into map; the map changes last. */
static enum tsr_status put(const struct assignment *s, struct tsr_node *map, size_t from,
                           size_t to, struct tsr_node *value) {
  struct tsr_entry *old = find(map, s->src->text + from, to - from);
  struct tsr_pos pos = set_pos(s, from, to - from);
  if (old) {
    old->value = value;
    old->key_pos = pos;
    return TSR_OK;
  }
  struct tsr_entry *entries = tsr_arena_array(s->a, map->n + 1, sizeof *entries);
  const char *key = tsr_arena_strndup(s->a, s->src->text + from, to - from);
  if (!entries || !key) return tsr_err_nomem(s->err);
  if (map->n) memcpy(entries, map->entries, map->n * sizeof *entries);
  entries[map->n] = (struct tsr_entry){key, pos, value};
  map->entries = entries;
  map->n++;
  return TSR_OK;
}

/* Wraps *value in a map for each part of text[from … eq-1], last part first. */
static enum tsr_status wrap(const struct assignment *s, size_t from, struct tsr_node **value) {
  for (size_t to = s->eq;;) {
    size_t at = to;
    while (at > from && s->src->text[at - 1] != '.') at--;
    struct tsr_node *map = tsr_arena_alloc(s->a, sizeof *map);
    if (!map) return tsr_err_nomem(s->err);
    map->kind = TSR_NODE_MAP;
    map->pos = set_pos(s, at, to - at);
    enum tsr_status st = put(s, map, at, to, *value);
    if (st != TSR_OK) return st;
    *value = map;
    if (at == from) return TSR_OK;
    to = at - 1;
  }
}

static enum tsr_status no_mapping(const struct assignment *s, size_t from, size_t to) {
  struct tsr_pos pos = set_pos(s, from, to - from);
  return tsr_err_at(s->err, TSR_USAGE, &pos,
                    "'%.*s' is no mapping; expected one, to set a key below it", (int)to,
                    s->src->text);
}

enum tsr_status tsr_config_tree_set(struct tsr_arena *a, struct tsr_node *root,
                                    const char *assignment, struct tsr_err *err) {
  struct tsr_node *value = NULL;
  struct assignment s = {a, tsri_src_create(a, set_path, assignment, strlen(assignment)),
                         strcspn(assignment, "="), err};
  if (!s.src) return tsr_err_nomem(err);
  enum tsr_status st = check_key(&s);
  if (st == TSR_OK) st = parse_value(&s, &value);
  if (st != TSR_OK) return st;
  struct tsr_node *map = root;
  if (map->kind != TSR_NODE_MAP) return no_mapping(&s, 0, s.eq);
  for (size_t from = 0;;) {
    size_t to = from + strcspn(assignment + from, ".=");
    struct tsr_entry *e = find(map, assignment + from, to - from);
    bool last = to == s.eq, absent = !e || tsri_is_null(e->value);
    if (!last && absent) st = wrap(&s, to + 1, &value);
    if (last || absent) return st == TSR_OK ? put(&s, map, from, to, value) : st;
    if (e->value->kind != TSR_NODE_MAP) return no_mapping(&s, from, to);
    map = e->value;
    from = to + 1;
  }
}

const char *tsr_config_origin(struct tsr_arena *a, const struct tsr_node *n) {
  if (strcmp(n->pos.src->path, set_path) == 0) return set_path;
  return tsr_arena_printf(a, "%s:%u", n->pos.src->path, (unsigned)n->pos.line);
}
