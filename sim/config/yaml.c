#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "sim/base/io.h"
#include "sim/config/config_int.h"

/* No anchors, so a document cannot grow beyond its text; these bound the tree of
 * a hostile text. */
enum { MAX_DEPTH = 64, MAX_NODES = 1000000 };

/* A mapping or sequence that is being read. */
struct level {
  struct tsr_node *node;
  void *rows; /* struct tsr_entry or struct tsr_node *, owned until copied */
  size_t n, cap;
  bool have_key; /* mapping: rows[n] holds a key that waits for its value */
};

struct reader {
  struct tsr_arena *a;
  const struct tsr_src *src;
  struct tsr_err *err;
  enum tsr_status st; /* of the first error noted: reading may have gone on after it */
  size_t *lines;      /* byte offset of each line's start in src->text */
  size_t n_lines, cap_lines;
  size_t at_line, at_col, at_byte; /* last mark found: marks mostly ascend */
  struct level stack[MAX_DEPTH];
  size_t depth, nodes, documents;
  struct tsr_node *root;
};

static enum tsr_status note(struct reader *r, enum tsr_status st) {
  if (r->st == TSR_OK) r->st = st;
  return st;
}

/* ---- positions ---- */

static bool add_line(struct reader *r, size_t start) {
  void *p = r->lines;
  if (!tsr_mem_grow(&p, &r->cap_lines, r->n_lines + 1, sizeof *r->lines)) return false;
  r->lines = p;
  r->lines[r->n_lines++] = start;
  return true;
}

static struct tsr_pos pos_at(const struct reader *r, size_t line, size_t byte, size_t width) {
  size_t start = line ? r->lines[line] : 0;
  return (struct tsr_pos){r->src, (uint32_t)line + 1, (uint32_t)(byte - start) + 1,
                          width ? (uint32_t)width : 1};
}

/* libyaml counts columns in characters; ours are bytes. */
static size_t mark_byte(struct reader *r, const yaml_mark_t *m) {
  if (m->line >= r->n_lines) return r->src->len;
  if (m->line != r->at_line || m->column < r->at_col) {
    r->at_line = m->line;
    r->at_col = 0;
    r->at_byte = r->lines[m->line];
  }
  while (r->at_col < m->column && r->at_byte < r->src->len) {
    uint32_t cp;
    r->at_byte += tsr_utf8_decode(r->src->text + r->at_byte, r->src->len - r->at_byte, &cp);
    r->at_col++;
  }
  return r->at_byte;
}

static struct tsr_pos mark_pos(struct reader *r, const yaml_mark_t *from,
                               const yaml_mark_t *to) {
  size_t line = from->line < r->n_lines ? from->line : r->n_lines - 1;
  size_t start = mark_byte(r, from);
  size_t end = to && to->line == from->line  ? mark_byte(r, to)
               : to && line + 1 < r->n_lines ? r->lines[line + 1] - 1
                                             : start;
  return pos_at(r, line, start, end > start ? end - start : 1);
}

/* ---- characters ---- */

static enum tsr_status bad_char(struct reader *r, size_t at, size_t len, uint32_t cp) {
  struct tsr_pos pos = pos_at(r, r->n_lines - 1, at, len);
  if (!len)
    return tsr_err_at(r->err, TSR_INPUT, &pos,
                      "text is not UTF-8; expected UTF-8, got byte 0x%02x",
                      (unsigned char)r->src->text[at]);
  if (cp == '\r')
    return tsr_err_at(r->err, TSR_INPUT, &pos,
                      "line ends in a lone carriage return; expected LF or CR LF");
  return tsr_err_at(r->err, TSR_INPUT, &pos,
                    "control character; expected printable text, got U+%04X", (unsigned)cp);
}

/* Finds the lines and refuses, before libyaml sees them, characters that it
 * counts differently (other line breaks) or reports without a place. */
static enum tsr_status scan(struct reader *r, size_t off) {
  const char *t = r->src->text;
  if (!add_line(r, off)) return tsr_err_nomem(r->err);
  r->at_byte = off;
  for (size_t i = off, len; i < r->src->len; i += len) {
    uint32_t cp = 0;
    len = tsr_utf8_decode(t + i, r->src->len - i, &cp);
    bool crlf = cp == '\r' && i + 1 < r->src->len && t[i + 1] == '\n';
    bool fine = cp == '\t' || cp == '\n' || crlf;
    if (!len || cp == 0xfeff || (tsr_utf8_is_control(cp) && !fine))
      return bad_char(r, i, len, cp);
    if (cp == '\n' && !add_line(r, i + 1)) return tsr_err_nomem(r->err);
  }
  return TSR_OK;
}

/* ---- libyaml's complaints in our words ---- */

static const struct {
  const char *problem, *context; /* parts of libyaml's texts; NULL matches any */
  enum {
    AT_PROBLEM,
    AT_CONTEXT,
    OPENED
  } place; /* AT_CONTEXT: where the construct starts
              is the better place; OPENED: name both */
  const char *what;
} complaints[] = {
    {"tab character", NULL, AT_PROBLEM, "a tab indents this line; expected spaces"},
    {"end of stream", "quoted scalar", AT_CONTEXT,
     "quoted text is not closed; expected a quote"},
    {"document indicator", "quoted scalar", AT_CONTEXT,
     "quoted text is not closed; expected a quote"},
    {"',' or ']'", NULL, OPENED, "list is not closed; expected ',' or ']'"},
    {"',' or '}'", NULL, OPENED, "mapping is not closed; expected ',' or '}'"},
    {"expected key", NULL, AT_PROBLEM,
     "line fits no mapping above; expected a key at the same indentation"},
    {"'-' indicator", NULL, AT_PROBLEM,
     "line fits no list above; expected '-' at the same indentation"},
    {"mapping values are not allowed", NULL, AT_PROBLEM,
     "a second ':' on this line; expected a new line or quoted text"},
    {"block sequence entries are not allowed", NULL, AT_PROBLEM,
     "a list starts here; expected it on a new line"},
    {"expected ':'", NULL, AT_CONTEXT, "key has no ':'; expected 'key: value'"},
    {"unknown escape character", NULL, AT_PROBLEM,
     "unknown escape; expected one of YAML's, or single quotes"},
    {"document start", NULL, AT_PROBLEM, "text after the end of the document; expected none"},
};

static enum tsr_status bad_token(struct reader *r, const struct tsr_pos *pos, size_t byte) {
  const char *t = r->src->text;
  if (byte < r->src->len && t[byte] == '\t')
    return tsr_err_at(r->err, TSR_INPUT, pos, "a tab indents this line; expected spaces");
  tsr_err_at(r->err, TSR_INPUT, pos, "character starts no value; expected a value, got '%.*s'",
             byte < r->src->len ? 1 : 0, t + byte);
  tsr_err_hint(r->err, "put quotes around a text that starts with it");
  return TSR_INPUT;
}

static enum tsr_status yaml_error(struct reader *r, const yaml_parser_t *y) {
  const char *problem = y->problem ? y->problem : "unknown error";
  const char *context = y->context ? y->context : "";
  if (y->error == YAML_MEMORY_ERROR) return tsr_err_nomem(r->err);
  struct tsr_pos pos = mark_pos(r, &y->problem_mark, NULL);
  if (strstr(problem, "cannot start any token"))
    return bad_token(r, &pos, mark_byte(r, &y->problem_mark));
  for (size_t i = 0; i < sizeof complaints / sizeof *complaints; i++) {
    if (!strstr(problem, complaints[i].problem)) continue;
    if (complaints[i].context && !strstr(context, complaints[i].context)) continue;
    struct tsr_pos from = mark_pos(r, &y->context_mark, NULL);
    if (complaints[i].place == AT_CONTEXT) pos = from;
    if (complaints[i].place != OPENED)
      return tsr_err_at(r->err, TSR_INPUT, &pos, "%s", complaints[i].what);
    return tsr_err_at(r->err, TSR_INPUT, &pos, "%s; it was opened at %u:%u", complaints[i].what,
                      (unsigned)from.line, (unsigned)from.col);
  }
  return tsr_err_at(r->err, TSR_INPUT, &pos, "no valid YAML: %s", problem);
}

/* ---- the tree ---- */

static enum tsr_status refuse_extras(struct reader *r, const yaml_event_t *e, bool anchor,
                                     bool tag) {
  struct tsr_pos pos = mark_pos(r, &e->start_mark, NULL);
  if (anchor)
    note(r,
         tsr_err_at(r->err, TSR_INPUT, &pos, "anchors are not supported; expected plain YAML"));
  if (tag)
    note(r, tsr_err_at(r->err, TSR_INPUT, &pos, "tags are not supported; expected plain YAML"));
  return TSR_OK;
}

/* NULL: it could not be made, which is noted. */
static struct tsr_node *node_create(struct reader *r, const yaml_event_t *e,
                                    enum tsr_node_kind kind) {
  struct tsr_pos pos =
      mark_pos(r, &e->start_mark, kind == TSR_NODE_SCALAR ? &e->end_mark : NULL);
  if (++r->nodes > MAX_NODES) {
    note(r, tsr_err_at(r->err, TSR_INPUT, &pos,
                       "document is too large; expected at most %d values", MAX_NODES));
    return NULL;
  }
  struct tsr_node *n = tsr_arena_alloc(r->a, sizeof *n);
  if (!n) {
    note(r, tsr_err_nomem(r->err));
    return NULL;
  }
  n->kind = kind;
  n->pos = pos;
  return n;
}

static enum tsr_status level_grow(struct reader *r, struct level *l, size_t size) {
  return tsr_mem_grow(&l->rows, &l->cap, l->n + 1, size) ? TSR_OK : tsr_err_nomem(r->err);
}

static enum tsr_status place(struct reader *r, struct tsr_node *n) {
  if (!r->depth) {
    r->root = n;
    return TSR_OK;
  }
  struct level *l = &r->stack[r->depth - 1];
  bool map = l->node->kind == TSR_NODE_MAP;
  if (map && l->have_key) {
    ((struct tsr_entry *)l->rows)[l->n++].value = n;
    l->have_key = false;
    return TSR_OK;
  }
  if (map && (n->kind != TSR_NODE_SCALAR || !*n->text))
    return tsr_err_at(r->err, TSR_INPUT, &n->pos, "key is %s; expected a word",
                      n->kind == TSR_NODE_SCALAR ? "empty" : "a list or mapping");
  enum tsr_status st =
      level_grow(r, l, map ? sizeof(struct tsr_entry) : sizeof(struct tsr_node *));
  if (st != TSR_OK) return st;
  if (map)
    ((struct tsr_entry *)l->rows)[l->n] = (struct tsr_entry){n->text, n->pos, NULL};
  else
    ((struct tsr_node **)l->rows)[l->n++] = n;
  l->have_key = map;
  return TSR_OK;
}

static enum tsr_status on_scalar(struct reader *r, const yaml_event_t *e) {
  const char *text = (const char *)e->data.scalar.value;
  size_t len = e->data.scalar.length;
  struct tsr_node *n = node_create(r, e, TSR_NODE_SCALAR);
  if (!n) return r->st;
  refuse_extras(r, e, e->data.scalar.anchor, e->data.scalar.tag);
  if (memchr(text, '\0', len))
    return tsr_err_at(r->err, TSR_INPUT, &n->pos, "text holds a NUL character; expected none");
  n->text = tsr_arena_strndup(r->a, text, len);
  n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  return n->text ? place(r, n) : tsr_err_nomem(r->err);
}

/* Reported, and read as an empty value, so that later mistakes are found too. */
static enum tsr_status on_alias(struct reader *r, const yaml_event_t *e) {
  struct tsr_node *n = node_create(r, e, TSR_NODE_SCALAR);
  if (!n) return r->st;
  n->text = "*";
  note(r, tsr_err_at(r->err, TSR_INPUT, &n->pos,
                     "aliases are not supported; expected the value itself"));
  tsr_err_hint(r->err, "put quotes around a text that starts with '*'");
  return place(r, n);
}

static enum tsr_status on_start(struct reader *r, const yaml_event_t *e,
                                enum tsr_node_kind kind) {
  struct tsr_node *n = node_create(r, e, kind);
  if (!n) return r->st;
  if (kind == TSR_NODE_MAP)
    refuse_extras(r, e, e->data.mapping_start.anchor, e->data.mapping_start.tag);
  else
    refuse_extras(r, e, e->data.sequence_start.anchor, e->data.sequence_start.tag);
  if (r->depth == MAX_DEPTH)
    return tsr_err_at(r->err, TSR_INPUT, &n->pos,
                      "nested too deeply; expected at most %d levels", MAX_DEPTH);
  enum tsr_status st = place(r, n);
  if (st == TSR_OK) r->stack[r->depth++] = (struct level){.node = n};
  return st;
}

/* By key, then by place: a total order. */
static int by_key(const void *a, const void *b) {
  const struct tsr_entry *x = *(const struct tsr_entry *const *)a;
  const struct tsr_entry *y = *(const struct tsr_entry *const *)b;
  int c = strcmp(x->key, y->key);
  return c ? c : (x > y) - (x < y);
}

static int by_place(const void *a, const void *b) {
  const struct tsr_entry *x = ((const struct tsr_entry *const *)a)[1];
  const struct tsr_entry *y = ((const struct tsr_entry *const *)b)[1];
  return (x > y) - (x < y);
}

/* Each repeated key is reported in file order with the place of the first. */
static enum tsr_status check_duplicates(struct reader *r, const struct tsr_node *map) {
  const struct tsr_entry **sorted = tsr_mem_array(map->n, sizeof *sorted);
  const struct tsr_entry *(*pairs)[2] = tsr_mem_array(map->n, sizeof *pairs);
  size_t n = 0;
  for (size_t i = 0; sorted && pairs && i < map->n; i++) sorted[i] = &map->entries[i];
  if (sorted && pairs) qsort(sorted, map->n, sizeof *sorted, by_key);
  for (size_t i = 1, first = 0; sorted && pairs && i < map->n; i++) {
    if (strcmp(sorted[first]->key, sorted[i]->key) != 0) {
      first = i;
      continue;
    }
    pairs[n][0] = sorted[first];
    pairs[n++][1] = sorted[i];
  }
  bool done = sorted && pairs;
  if (n) qsort(pairs, n, sizeof *pairs, by_place);
  for (size_t i = 0; i < n; i++) {
    const struct tsr_pos *at = &pairs[i][0]->key_pos;
    note(r, tsr_err_at(r->err, TSR_INPUT, &pairs[i][1]->key_pos,
                       "duplicate key '%.*s'; expected it once, first given at %s:%u:%u",
                       TSRI_SHOW(pairs[i][1]->key), at->src->path, (unsigned)at->line,
                       (unsigned)at->col));
  }
  tsr_mem_free(sorted);
  tsr_mem_free(pairs);
  return done ? TSR_OK : tsr_err_nomem(r->err);
}

static enum tsr_status on_end(struct reader *r) {
  struct level *l = &r->stack[r->depth - 1];
  struct tsr_node *n = l->node;
  bool map = n->kind == TSR_NODE_MAP;
  size_t size = map ? sizeof(struct tsr_entry) : sizeof(struct tsr_node *);
  void *rows = tsr_arena_array(r->a, l->n, size);
  if (!rows) return tsr_err_nomem(r->err);
  if (l->n) memcpy(rows, l->rows, l->n * size);
  if (map)
    n->entries = rows;
  else
    n->items = rows;
  n->n = l->n;
  tsr_mem_free(l->rows);
  r->depth--;
  return map && n->n > 1 ? check_duplicates(r, n) : TSR_OK;
}

static enum tsr_status on_document(struct reader *r, const yaml_event_t *e) {
  struct tsr_pos pos = mark_pos(r, &e->start_mark, NULL);
  if (r->documents++)
    return tsr_err_at(r->err, TSR_INPUT, &pos, "second document; expected a single one");
  if (e->data.document_start.tag_directives.start != e->data.document_start.tag_directives.end)
    note(r, tsr_err_at(r->err, TSR_INPUT, &pos, "tags are not supported; expected plain YAML"));
  return TSR_OK;
}

static enum tsr_status on_event(struct reader *r, const yaml_event_t *e) {
  switch (e->type) {
  case YAML_DOCUMENT_START_EVENT: return on_document(r, e);
  case YAML_ALIAS_EVENT: return on_alias(r, e);
  case YAML_SCALAR_EVENT: return on_scalar(r, e);
  case YAML_SEQUENCE_START_EVENT: return on_start(r, e, TSR_NODE_SEQ);
  case YAML_MAPPING_START_EVENT: return on_start(r, e, TSR_NODE_MAP);
  case YAML_SEQUENCE_END_EVENT:
  case YAML_MAPPING_END_EVENT: return on_end(r);
  default: return TSR_OK;
  }
}

static enum tsr_status read_events(struct reader *r, yaml_parser_t *y) {
  enum tsr_status st = TSR_OK;
  for (bool end = false; !end && st == TSR_OK;) {
    yaml_event_t e;
    if (!yaml_parser_parse(y, &e)) return yaml_error(r, y);
    end = e.type == YAML_STREAM_END_EVENT;
    st = on_event(r, &e);
    yaml_event_delete(&e);
  }
  return st;
}

enum tsr_status tsri_yaml_parse(struct tsr_arena *a, const struct tsr_src *src, size_t off,
                                struct tsr_node **out, struct tsr_err *err) {
  struct reader r = {.a = a, .src = src, .err = err};
  yaml_parser_t y;
  if (src->len > TSR_IO_TEXT_MAX)
    return tsr_err_set(err, TSR_INPUT, "'%s' is too large; expected at most %u MiB", src->path,
                       TSR_IO_TEXT_MAX >> 20);
  enum tsr_status st = scan(&r, off);
  if (st == TSR_OK && !yaml_parser_initialize(&y))
    st = tsr_err_nomem(err);
  else if (st == TSR_OK) {
    yaml_parser_set_encoding(&y, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&y, (const unsigned char *)src->text + off, src->len - off);
    st = read_events(&r, &y);
    yaml_parser_delete(&y);
  }
  for (size_t i = 0; i < r.depth; i++) tsr_mem_free(r.stack[i].rows);
  tsr_mem_free(r.lines);
  if (r.st != TSR_OK) st = r.st;
  if (st == TSR_OK) *out = r.root;
  return st;
}
