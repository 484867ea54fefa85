/* The lists of a DLRM: tables, widths of the bottom and the top. */
#include <string.h>

#include "sim/base/units.h"
#include "workloads/spec/spec_int.h"

enum { LIST_MOST = 10000 };

struct rule {
  const char *key, *what; /* what one number is */
  uint64_t most;
  size_t least_n;
};

static enum tsr_status number(const struct rule *r, const struct tsr_node *n, uint64_t most,
                              uint64_t *out, struct tsr_err *err) {
  uint64_t v = 0;
  bool good =
      n->kind == TSR_NODE_SCALAR && !n->quoted &&
      tsr_quantity_parse(n->text, strlen(n->text), TSR_UNIT_COUNT, &v) == TSR_QUANTITY_OK;
  if (!good || v < 1 || v > most)
    return tsr_err_at(err, TSR_INPUT, &n->pos,
                      "'%s' holds no %s; expected a whole number from 1 to %llu", r->key,
                      r->what, (unsigned long long)most);
  *out = v;
  return TSR_OK;
}

static enum tsr_status read_list(struct tsr_arena *a, const struct tsri_spec *s,
                                 const struct rule *r, struct tsri_list *out,
                                 struct tsr_err *err) {
  const struct tsr_node *n = tsr_config_tree_get(s->root, r->key);
  if (!n)
    return tsr_err_at(err, TSR_INPUT, &s->root->pos, "'%s' is missing; expected a list of %ss",
                      r->key, r->what);
  if (n->kind != TSR_NODE_SEQ || n->n < r->least_n || n->n > LIST_MOST)
    return tsr_err_at(err, TSR_INPUT, &n->pos, "'%s' is no list of %zu to %d %ss", r->key,
                      r->least_n, LIST_MOST, r->what);
  out->v = tsr_arena_array(a, n->n, sizeof *out->v);
  if (!out->v) return tsr_err_nomem(err);
  for (size_t i = 0; i < n->n; i++) {
    enum tsr_status st = number(r, n->items[i], r->most, &out->v[i], err);
    if (st) return st;
  }
  out->n = n->n;
  return TSR_OK;
}

static const struct rule tables_rule = {"tables", "size of a table", UINT32_MAX, 1},
                         bottom_rule = {"bottom", "width", 1u << 24, 2},
                         top_rule = {"top", "width", 1u << 24, 1};

/* A list of sizes, or how many tables of `rows` rows. */
static enum tsr_status read_tables(struct tsr_arena *a, struct tsri_spec *s,
                                   struct tsr_err *err) {
  const struct tsr_node *n = tsr_config_tree_get(s->root, "tables");
  bool one = n && n->kind == TSR_NODE_SCALAR, rows = tsri_spec_has(s, "rows");
  if (one != rows && n)
    return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, one ? "tables" : "rows"),
                      "'%s'; expected 'rows' beside a number of tables, and only there",
                      one ? "tables" : "rows");
  if (!one) return read_list(a, s, &tables_rule, &s->tables, err);
  uint64_t count = 0;
  enum tsr_status st = number(&tables_rule, n, LIST_MOST, &count, err);
  if (st) return st;
  s->tables.n = (size_t)count;
  s->tables.v = tsr_arena_array(a, s->tables.n, sizeof *s->tables.v);
  if (!s->tables.v) return tsr_err_nomem(err);
  for (size_t i = 0; i < s->tables.n; i++) s->tables.v[i] = s->rows;
  return TSR_OK;
}

enum tsr_status tsri_spec_lists(struct tsr_arena *a, struct tsri_spec *s, struct tsr_err *err) {
  enum tsr_status st = read_tables(a, s, err);
  if (!st) st = read_list(a, s, &bottom_rule, &s->bottom, err);
  if (!st) st = read_list(a, s, &top_rule, &s->top, err);
  for (size_t i = 0; !st && i < s->tables.n; i++)
    s->tables.v[i] = tsr_min_u64(s->tables.v[i], s->max_rows);
  return st;
}
