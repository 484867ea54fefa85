/* Rates of the tile by formats: `fp8_e4m3*fp8_e4m3+fp32>fp16 sparse = 4, …`. */
#include <ctype.h>
#include <string.h>

#include "sim/engine/machine_int.h"

struct reader {
  struct tsr_machine *m;
  const char *text, *p;
  const struct tsr_node *node; /* for messages, may be NULL */
  struct tsr_err *err;
};

static void skip(struct reader *r) {
  while (*r->p == ' ') r->p++;
}

static enum tsr_status wrong(const struct reader *r, const char *expected) {
  static const char what[] =
      "tile.rates.rules: expected %s at '%s'; a rule is A*B+ACC>OUT sparse=RATE";
  if (r->node) return tsr_err_at(r->err, TSR_INPUT, &r->node->pos, what, expected, r->p);
  return tsr_err_set(r->err, TSR_INPUT, what, expected, r->p);
}

/* A format's name, NULL for `any`. */
static enum tsr_status read_name(struct reader *r, const char **out) {
  skip(r);
  const char *from = r->p;
  while (isalnum((unsigned char)*r->p) || *r->p == '_' || *r->p == ':') r->p++;
  if (r->p == from) return wrong(r, "a format or `any`");
  char *name = tsr_arena_printf(r->m->arena, "%.*s", (int)(r->p - from), from);
  if (!name) return tsr_err_nomem(r->err);
  *out = strcmp(name, "any") ? name : NULL;
  skip(r);
  return TSR_OK;
}

static bool take(struct reader *r, const char *token) {
  size_t n = strlen(token);
  if (strncmp(r->p, token, n) != 0) return false;
  r->p += n;
  skip(r);
  return true;
}

static enum tsr_status read_rule(struct reader *r, struct tsr_machine_rate_rule *out) {
  enum tsr_status st = read_name(r, &out->a);
  if (!st && !take(r, "*")) st = wrong(r, "`*`");
  if (!st) st = read_name(r, &out->b);
  if (!st && take(r, "+")) st = read_name(r, &out->acc);
  if (!st && take(r, ">")) st = read_name(r, &out->out);
  if (!st) out->sparse = take(r, "sparse");
  if (!st && !take(r, "=")) st = wrong(r, "`=`");
  if (st) return st;
  unsigned rate = 0;
  const char *from = r->p;
  while (isdigit((unsigned char)*r->p) && rate <= 16)
    rate = rate * 10 + (unsigned)(*r->p++ - '0');
  if (r->p == from || rate > 16) return wrong(r, "a rate of 0 to 16");
  out->rate = rate;
  skip(r);
  return TSR_OK;
}

enum tsr_status tsri_rates_read(struct tsr_machine *m, const char *text,
                                const struct tsr_node *node, struct tsr_err *err) {
  struct reader r = {m, text, text, node, err};
  size_t cap = 1;
  for (const char *c = text; *c; c++) cap += *c == ',';
  m->n_rules = 0;
  m->rules = tsr_arena_array(m->arena, cap, sizeof *m->rules);
  if (!m->rules) return tsr_err_nomem(err);
  skip(&r);
  if (!*r.p) return TSR_OK;
  do {
    enum tsr_status st = read_rule(&r, &m->rules[m->n_rules]);
    if (st) return st;
    m->n_rules++;
  } while (take(&r, ","));
  return *r.p ? wrong(&r, "`,` or the end") : TSR_OK;
}

static uint64_t plain_rate(const struct tsr_machine *m, const char *format) {
  for (size_t i = 0; i < m->n_rates; i++)
    if (!strcmp(m->rates[i].format, format)) return m->rates[i].rate;
  return m->rate_other;
}

static bool fits(const char *rule, const char *name) {
  return !rule || !strcmp(rule, name);
}

uint64_t tsr_machine_rate(const struct tsr_machine *m, const char *a, const char *b,
                          const char *acc, const char *out, bool sparse) {
  for (size_t i = 0; i < m->n_rules; i++) {
    const struct tsr_machine_rate_rule *q = &m->rules[i];
    if (q->sparse == sparse && fits(q->a, a) && fits(q->b, b) && fits(q->acc, acc) &&
        fits(q->out, out))
      return q->rate;
  }
  uint64_t rate = plain_rate(m, a);
  return rate == plain_rate(m, b) ? rate : 0;
}
