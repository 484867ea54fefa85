/* Trace files: a request a line, `cycle-or-* R|W hex-address`; # begins a remark. */
#include <stdlib.h>
#include <string.h>

#include "models/dram/scenario.h"
#include "sim/base/io.h"
#include "sim/base/mem.h"

struct reading {
  struct tsr_src src;
  const char *at; /* in the present line */
  const char *line, *end;
  uint32_t number;
  struct tsr_dram_stream *out;
  struct tsr_err *err;
};

static enum tsr_status wrong(const struct reading *r, const char *at, size_t n,
                             const char *rule) {
  struct tsr_pos pos = {&r->src, r->number, (uint32_t)(at - r->line) + 1, n ? (uint32_t)n : 1};
  return tsr_err_at(r->err, TSR_INPUT, &pos,
                    "a request is 'CYCLE|* R|W ADDRESS'; expected %s, got '%.*s'", rule,
                    (int)(n > 40 ? 40 : n), at);
}

static const char *word(struct reading *r, size_t *n) {
  while (r->at < r->end && *r->at && strchr(" \t\r", *r->at)) r->at++;
  const char *from = r->at;
  while (r->at < r->end && (!*r->at || !strchr(" \t\r#", *r->at))) r->at++;
  *n = (size_t)(r->at - from);
  return from;
}

/* Digits of a base, all of them. */
static bool number(const char *s, size_t n, unsigned base, uint64_t *out) {
  uint64_t v = 0;
  if (!n) return false;
  for (size_t i = 0; i < n; i++) {
    char c = s[i];
    unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                 : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                        : 99;
    if (d >= base || !tsr_mul_u64(v, base, &v) || !tsr_add_u64(v, d, &v)) return false;
  }
  *out = v;
  return true;
}

enum { CYCLE_BITS = 48 };

static enum tsr_status read_line(struct reading *r) {
  size_t n;
  const char *w = word(r, &n);
  if (!n) return TSR_OK; /* blank, or a remark */
  struct tsr_dram_stream *s = r->out;
  uint64_t cycle = 0, addr;
  bool any = n == 1 && *w == '*';
  if (!any && (!number(w, n, 10, &cycle) || cycle >> CYCLE_BITS))
    return wrong(r, w, n, "a cycle below 2^48 or *");
  w = word(r, &n);
  if (n != 1 || !strchr("RWrw", *w)) return wrong(r, w, n, "R or W");
  bool write = *w == 'W' || *w == 'w';
  w = word(r, &n);
  const char *digits = w;
  if (n > 2 && w[0] == '0' && (w[1] == 'x' || w[1] == 'X')) digits += 2;
  if (!number(digits, n - (size_t)(digits - w), 16, &addr) || addr >> 62)
    return wrong(r, w, n, "a hexadecimal address below 2^62");
  w = word(r, &n);
  if (n) return wrong(r, w, n, "the end of the line");
  if (s->n && any) cycle = s->at[s->n - 1];
  if (s->n && cycle < s->at[s->n - 1])
    return wrong(r, r->line, (size_t)(r->end - r->line), "cycles that do not go back");
  if (!tsr_mem_grow((void **)&s->addr, &s->cap, s->n + 1, sizeof *s->addr) ||
      !tsr_mem_grow((void **)&s->at, &s->cap_at, s->n + 1, sizeof *s->at))
    return tsr_err_nomem(r->err);
  s->addr[s->n] = addr << 1 | write;
  s->at[s->n++] = cycle;
  return TSR_OK;
}

enum tsr_status tsr_dram_trace_parse(const char *path, const char *text, size_t len,
                                     struct tsr_dram_stream *out, struct tsr_err *err) {
  struct tsr_dram_stream s = {.n = 0};
  struct reading r = {.src = {path, text, len}, .out = &s, .err = err};
  enum tsr_status st = TSR_OK;
  for (const char *p = text, *stop = text + len; !st && p < stop;) {
    const char *end = memchr(p, '\n', (size_t)(stop - p));
    r.line = r.at = p;
    r.end = end ? end : stop;
    r.number++;
    st = read_line(&r);
    p = r.end + (end != NULL);
  }
  if (!st && !s.n)
    st = tsr_err_set(err, TSR_INPUT, "'%s' has no requests; expected lines such as '* R 0x40'",
                     path);
  if (st)
    tsr_dram_stream_fini(&s);
  else
    *out = s;
  return st;
}

enum tsr_status tsr_dram_trace_read(const char *path, struct tsr_dram_stream *out,
                                    struct tsr_err *err) {
  char *text;
  size_t len;
  enum tsr_status st = tsr_io_read(path, &text, &len, err);
  if (st) return st;
  st = tsr_dram_trace_parse(path, text, len, out, err);
  tsr_mem_free(text);
  return st;
}

/* Of `id;set;pattern;requests;keys` what stands behind the second semicolon. */
enum tsr_status tsr_dram_scenario_find(const char *path, const char *id, char **out,
                                       struct tsr_err *err) {
  char *text;
  size_t len, n = strlen(id);
  enum tsr_status st = tsr_io_read(path, &text, &len, err);
  if (st) return st;
  const char *found = NULL;
  for (const char *p = text; *p && !found;) {
    size_t line = strcspn(p, "\n");
    const char *behind = strncmp(p, id, n) == 0 && p[n] == ';' ? p + n + 1 : NULL;
    const char *second = behind ? memchr(behind, ';', (size_t)(p + line - behind)) : NULL;
    if (second) {
      text[p + line - text] = 0;
      found = second + 1;
    }
    p += line;
    if (!found && *p) p++;
  }
  if (found) {
    *out = tsr_mem_strdup(found);
    if (!*out) st = tsr_err_nomem(err);
  } else {
    st = tsr_err_set(
        err, TSR_INPUT,
        "'%s' has no scenario '%s'; expected a line 'ID;SET;PATTERN;REQUESTS;KEYS'", path, id);
  }
  tsr_mem_free(text);
  return st;
}
