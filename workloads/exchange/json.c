/* Values of a JSON document and their places in its text. */
#include <stdarg.h>
#include <string.h>

#include "sim/base/str.h"
#include "workloads/exchange/json_int.h"

static enum tsr_status syntax(const struct tsri_json *j, const json_error_t *e) {
  struct tsr_pos pos = {&j->src, e->line > 0 ? (uint32_t)e->line : 1, 1, 1};
  if (json_error_code(e) == json_error_out_of_memory) return tsr_err_nomem(j->err);
  if (e->column > 0) pos.col = (uint32_t)e->column;
  return tsr_err_at(j->err, TSR_INPUT, &pos, "no JSON: %s", e->text);
}

enum tsr_status tsri_json_read(struct tsri_json *j, const char *path, const char *text,
                               size_t n, struct tsr_err *err) {
  json_error_t e;
  size_t skip = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  *j = (struct tsri_json){.src = {path, text + skip, n - skip}, .err = err};
  json_t *root = json_loadb(j->src.text, j->src.len, JSON_REJECT_DUPLICATES, &e);
  if (!root) return syntax(j, &e);
  if (json_is_object(root)) {
    j->root = root;
    return TSR_OK;
  }
  json_decref(root);
  struct tsr_pos pos = {&j->src, 1, 1, 1};
  return tsr_err_at(err, TSR_INPUT, &pos, "expected a JSON object, got an array");
}

void tsri_json_fini(struct tsri_json *j) {
  json_decref(j->root);
  j->root = NULL;
}

/* ---- places: the text is known to be JSON, so every step below finds what it looks for ----
 */

struct scan {
  const struct tsr_src *src;
  size_t at, line_start;
  uint32_t line;
};

static char here(const struct scan *s) {
  return s->at < s->src->len ? s->src->text[s->at] : '\0';
}

static void step(struct scan *s) {
  if (here(s) == '\n') {
    s->line++;
    s->line_start = s->at + 1;
  }
  if (s->at < s->src->len) s->at++;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void blanks(struct scan *s) {
  while (is_blank(here(s))) step(s);
}

static void skip_string(struct scan *s) {
  step(s);
  while (here(s) && here(s) != '"') {
    if (here(s) == '\\') step(s);
    step(s);
  }
  step(s);
}

static bool ends_plain(char c) {
  return c == '\0' || c == ',' || c == ']' || c == '}' || is_blank(c);
}

static void skip_value(struct scan *s) {
  size_t depth = 0;
  blanks(s);
  do {
    char c = here(s);
    if (c == '"') {
      skip_string(s);
    } else if (c == '{' || c == '[') {
      depth++;
      step(s);
    } else if (c == '}' || c == ']') {
      depth--;
      step(s);
    } else if (depth == 0) {
      while (!ends_plain(here(s))) step(s);
    } else {
      step(s);
    }
  } while (depth && here(s));
}

static struct tsr_pos place(const struct scan *s, size_t end) {
  size_t width = end > s->at ? end - s->at : 1;
  if (width > 80) width = 1; /* of a whole object, its brace */
  return (struct tsr_pos){s->src, s->line, (uint32_t)(s->at - s->line_start) + 1,
                          (uint32_t)width};
}

static struct tsr_pos place_of_value(const struct scan *s) {
  struct scan end = *s;
  bool large = here(s) == '{' || here(s) == '[';
  if (!large) skip_value(&end);
  return place(s, large ? s->at + 1 : end.at);
}

/* From an object's brace to the value of `key`, or to the key itself. */
static bool enter_key(struct scan *s, const char *key, bool at_key) {
  if (here(s) != '{') return false;
  step(s);
  for (blanks(s); here(s) == '"'; blanks(s)) {
    struct scan from = *s;
    skip_string(s);
    size_t n = s->at - from.at - 2;
    bool found = n == strlen(key) && memcmp(s->src->text + from.at + 1, key, n) == 0;
    if (found && at_key) {
      *s = from;
      return true;
    }
    blanks(s);
    step(s); /* the colon */
    blanks(s);
    if (found) return true;
    skip_value(s);
    blanks(s);
    if (here(s) == ',') step(s);
  }
  return false;
}

static bool enter_index(struct scan *s, size_t index) {
  if (here(s) != '[') return false;
  step(s);
  for (blanks(s); here(s) && here(s) != ']'; blanks(s)) {
    if (index-- == 0) return true;
    skip_value(s);
    blanks(s);
    if (here(s) == ',') step(s);
  }
  return false;
}

/* The value at `way`; false: *s is the innermost one that was found. */
static bool enter(struct scan *s, const struct tsri_way *way, bool at_key) {
  if (!way) {
    blanks(s);
    return true;
  }
  if (!enter(s, way->up, false)) return false;
  struct scan found = *s;
  if (!(way->key ? enter_key(&found, way->key, at_key) : enter_index(&found, way->index)))
    return false;
  *s = found;
  return true;
}

struct tsr_pos tsri_json_pos(const struct tsri_json *j, const struct tsri_way *way,
                             bool at_key) {
  struct scan s = {.src = &j->src, .line = 1};
  enter(&s, way, at_key);
  return place_of_value(&s);
}

void tsri_json_elements(const struct tsri_json *j, const struct tsri_way *way,
                        struct tsr_pos *pos, size_t n) {
  struct scan s = {.src = &j->src, .line = 1};
  if (!enter(&s, way, false) || here(&s) != '[') return;
  step(&s);
  for (size_t i = 0; i < n; i++) {
    blanks(&s);
    pos[i] = place_of_value(&s);
    skip_value(&s);
    blanks(&s);
    if (here(&s) == ',') step(&s);
  }
}

/* ---- values ---- */

static bool note(struct tsri_json *j, enum tsr_status st) {
  if (!j->status) j->status = st;
  j->errors++;
  return false;
}

/* No longer word is looked for among known ones. */
enum { WORD_MAX = 64 };

static bool report(struct tsri_json *j, const struct tsr_pos *pos, const char *fmt,
                   va_list ap) {
  char *text = tsr_mem_vprintf(fmt, ap);
  if (!text) return tsri_json_nomem(j);
  enum tsr_status st = tsr_err_at(j->err, TSR_INPUT, pos, "%s", text);
  tsr_mem_free(text);
  return note(j, st);
}

bool tsri_json_bad(struct tsri_json *j, const struct tsri_way *way, const char *fmt, ...) {
  struct tsr_pos pos = tsri_json_pos(j, way, false);
  va_list ap;
  va_start(ap, fmt);
  report(j, &pos, fmt, ap);
  va_end(ap);
  return false;
}

bool tsri_json_nomem(struct tsri_json *j) {
  return note(j, tsr_err_nomem(j->err));
}

bool tsri_json_keys(struct tsri_json *j, const struct tsri_way *way, json_t *o,
                    const char *const *names, size_t n) {
  const char *key;
  json_t *value;
  json_object_foreach(o, key, value) {
    size_t i = 0;
    while (i < n && strcmp(names[i], key) != 0) i++;
    if (i < n) continue;
    struct tsr_str list = TSR_STR_INIT;
    for (i = 0; i < n; i++) tsr_str_addf(&list, "%s%s", i ? ", " : "", names[i]);
    const struct tsri_way at = {way, key, 0};
    struct tsr_pos pos = tsri_json_pos(j, &at, true);
    const char *near = strlen(key) < WORD_MAX ? tsr_err_nearest(key, names, n) : NULL;
    note(j, tsr_err_at(j->err, TSR_INPUT, &pos, "unknown key; expected %s, got '%s'",
                       list.p ? list.p : "another", key));
    if (near) tsr_err_hint(j->err, "did you mean '%s'?", near);
    tsr_str_fini(&list);
    return false;
  }
  return true;
}

const char *tsri_json_sort(const json_t *v) {
  if (!v) return "nothing";
  switch (json_typeof(v)) {
  case JSON_OBJECT: return "an object";
  case JSON_ARRAY: return "an array";
  case JSON_STRING: return "a text";
  case JSON_INTEGER:
  case JSON_REAL: return "a number";
  case JSON_TRUE:
  case JSON_FALSE: return "a truth value";
  case JSON_NULL: break;
  }
  return "null";
}

static bool missing(struct tsri_json *j, const struct tsri_way *up, const char *key) {
  return tsri_json_bad(j, up, "key '%s' is missing; expected it in this object", key);
}

bool tsri_json_u64(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                   const char *key, uint64_t low, bool required, uint64_t *out) {
  const json_t *v = json_object_get(o, key);
  const struct tsri_way way = {up, key, 0};
  if (!v) return required ? missing(j, up, key) : true;
  json_int_t n = json_is_integer(v) ? json_integer_value(v) : -1;
  if (n < 0 || (uint64_t)n < low)
    return tsri_json_bad(j, &way, "%s; expected a whole number of %llu or more", key,
                         (unsigned long long)low);
  *out = (uint64_t)n;
  return true;
}

bool tsri_json_flag(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                    const char *key, bool *out) {
  const json_t *v = json_object_get(o, key);
  const struct tsri_way way = {up, key, 0};
  if (!v) return true;
  if (!json_is_boolean(v))
    return tsri_json_bad(j, &way, "%s; expected true or false, got %s", key, tsri_json_sort(v));
  *out = json_is_true(v);
  return true;
}

/* NULL: it can stand in a table. */
static const char *word_flaw(const char *p, size_t n) {
  uint32_t cp;
  if (n == 0) return "nothing";
  if (p[0] == ' ' || p[n - 1] == ' ') return "a blank at an end";
  for (size_t i = 0; i < n;) {
    size_t len = tsr_utf8_decode(p + i, n - i, &cp);
    if (len == 0 || tsr_utf8_is_control(cp)) return "a control character";
    i += len;
  }
  return NULL;
}

bool tsri_json_word(struct tsri_json *j, const struct tsri_way *up, const json_t *o,
                    const char *key, bool required, const char **out) {
  const json_t *v = json_object_get(o, key);
  const struct tsri_way way = {up, key, 0};
  if (!v) return required ? missing(j, up, key) : true;
  if (!json_is_string(v))
    return tsri_json_bad(j, &way, "%s; expected a text, got %s", key, tsri_json_sort(v));
  const char *flaw = word_flaw(json_string_value(v), json_string_length(v));
  if (flaw) return tsri_json_bad(j, &way, "%s; expected a name, got %s", key, flaw);
  *out = json_string_value(v);
  return true;
}
