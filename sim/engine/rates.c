/* Rates of the tile by formats: `fp8_e4m3.fp8_e4m3.fp32.fp16.sparse=4,…`. */
#include <ctype.h>
#include <string.h>

#include "sim/engine/machine_int.h"

struct reader {
  struct tsr_machine *m;
  const char *text, *p;
  const struct tsr_node *node; /* for messages, may be NULL */
  struct tsr_err *err;
};

static enum tsr_status wrong(const struct reader *r, const char *expected) {
  static const char what[] = "tile.rates.rules: expected %s at '%s'; a rule is "
                             "A.B[.ACC[.OUT]][.sparse]=RATE, a part may be `any`";
  if (r->node) return tsr_err_at(r->err, TSR_INPUT, &r->node->pos, what, expected, r->p);
  return tsr_err_set(r->err, TSR_INPUT, what, expected, r->p);
}

static bool take(struct reader *r, char c) {
  if (*r->p != c) return false;
  r->p++;
  return true;
}

/* A format's name, NULL for `any`; *sparse: it was that word. */
static enum tsr_status read_name(struct reader *r, const char **out, bool *sparse) {
  const char *from = r->p;
  while (isalnum((unsigned char)*r->p) || *r->p == '_' || *r->p == ':') r->p++;
  if (r->p == from) return wrong(r, "a format or `any`");
  char *name = tsr_arena_printf(r->m->arena, "%.*s", (int)(r->p - from), from);
  if (!name) return tsr_err_nomem(r->err);
  *sparse = strcmp(name, "sparse") == 0;
  *out = strcmp(name, "any") != 0 && !*sparse ? name : NULL;
  return TSR_OK;
}

static enum tsr_status read_rate(struct reader *r, uint32_t *out) {
  unsigned rate = 0;
  const char *from = r->p;
  while (isdigit((unsigned char)*r->p) && rate <= 16)
    rate = rate * 10 + (unsigned)(*r->p++ - '0');
  if (r->p == from || rate > 16) return wrong(r, "a rate of 0 to 16");
  *out = rate;
  return TSR_OK;
}

static enum tsr_status read_rule(struct reader *r, struct tsr_machine_rate_rule *out) {
  const char **const parts[] = {&out->a, &out->b, &out->acc, &out->out, NULL};
  size_t n = 0;
  do {
    const char *name = NULL;
    const char *at = r->p;
    enum tsr_status st = read_name(r, &name, &out->sparse);
    if (st) return st;
    if (out->sparse) break;
    if (!parts[n]) {
      r->p = at;
      return wrong(r, "`sparse` or `=`");
    }
    *parts[n++] = name;
  } while (take(r, '.'));
  if (n < 2) return wrong(r, "formats of both operands");
  return take(r, '=') ? read_rate(r, &out->rate) : wrong(r, "`=`");
}

enum tsr_status tsri_rates_read(struct tsr_machine *m, const char *text,
                                const struct tsr_node *node, struct tsr_err *err) {
  struct reader r = {m, text, text, node, err};
  size_t cap = 1;
  for (const char *c = text; *c; c++) cap += *c == ',' || *c == ';';
  m->n_rules = 0;
  m->rules = tsr_arena_array(m->arena, cap, sizeof *m->rules);
  if (!m->rules) return tsr_err_nomem(err);
  if (!*r.p) return TSR_OK;
  do {
    enum tsr_status st = read_rule(&r, &m->rules[m->n_rules]);
    if (st) return st;
    m->n_rules++;
  } while (take(&r, ',') || take(&r, ';'));
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

static bool may_fit(const char *rule, const char *name) {
  return !name || fits(rule, name);
}

uint64_t tsr_machine_rate_most(const struct tsr_machine *m, const char *a, const char *b,
                               const char *acc, bool sparse) {
  uint64_t rate = plain_rate(m, b), most = 0;
  if (!a || plain_rate(m, a) == rate) most = rate;
  for (size_t i = 0; i < m->n_rules; i++) {
    const struct tsr_machine_rate_rule *q = &m->rules[i];
    if (q->sparse == sparse && may_fit(q->a, a) && fits(q->b, b) && may_fit(q->acc, acc))
      most = tsr_max_u64(most, q->rate);
  }
  return most;
}
