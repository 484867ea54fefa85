/* `op:NAME:KEY=V[,KEY=V…]`: one operator without a file.  Keys are the columns of a layer list,
 * m n k for M N K, and short ones below; what they fill is read as a row of such a list. */
#include <string.h>

#include "workloads/row_int.h"

enum { PLACES = 4 };
/* Short keys by class; each fills some columns. */
static const struct alias {
  const char *key;
  enum tsr_op_class cls, cls2;
  size_t n;
  enum tsri_col to[PLACES];
} aliases[] = {
    {"s", TSR_CLASS_ATTENTION, TSR_CLASS_ATTENTION, 2, {TSRI_COL_M, TSRI_COL_N}},
    {"s_q", TSR_CLASS_ATTENTION, TSR_CLASS_ATTENTION, 1, {TSRI_COL_M}},
    {"s_kv", TSR_CLASS_ATTENTION, TSR_CLASS_ATTENTION, 1, {TSRI_COL_N}},
    {"d", TSR_CLASS_ATTENTION, TSR_CLASS_ATTENTION, 1, {TSRI_COL_K}},
    {"c", TSR_CLASS_WINDOW, TSR_CLASS_WINDOW, 1, {TSRI_COL_IN_C}},
    {"h", TSR_CLASS_WINDOW, TSR_CLASS_CONV, 1, {TSRI_COL_IN_H}},
    {"w", TSR_CLASS_WINDOW, TSR_CLASS_CONV, 1, {TSRI_COL_IN_W}},
    {"hw", TSR_CLASS_WINDOW, TSR_CLASS_CONV, 2, {TSRI_COL_IN_H, TSRI_COL_IN_W}},
    {"window", TSR_CLASS_WINDOW, TSR_CLASS_CONV, 2, {TSRI_COL_K_H, TSRI_COL_K_W}},
    {"stride", TSR_CLASS_WINDOW, TSR_CLASS_CONV, 2, {TSRI_COL_STRIDE_H, TSRI_COL_STRIDE_W}},
    {"dil", TSR_CLASS_WINDOW, TSR_CLASS_CONV, 2, {TSRI_COL_DIL_H, TSRI_COL_DIL_W}},
    {"pad",
     TSR_CLASS_WINDOW,
     TSR_CLASS_CONV,
     4,
     {TSRI_COL_PAD_T, TSRI_COL_PAD_L, TSRI_COL_PAD_B, TSRI_COL_PAD_R}},
};

static bool is_key(enum tsri_col c) {
  return tsri_columns[c].use != TSRI_USE_TEXT;
}

/* The columns that a key fills; 0: it is none of this kind. */
static size_t key_columns(const struct tsri_field *key, enum tsr_op_class cls,
                          enum tsri_col to[PLACES]) {
  static const char *const sizes[] = {"m", "n", "k"};
  for (size_t i = 0; i < 3; i++)
    if (tsri_field_is(key, sizes[i])) {
      to[0] = (enum tsri_col)(TSRI_COL_M + i);
      return 1;
    }
  for (enum tsri_col c = 0; c < TSRI_COL_COUNT_; c++)
    if (is_key(c) && tsri_field_is(key, tsri_columns[c].name)) {
      to[0] = c;
      return 1;
    }
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
    const struct alias *a = &aliases[i];
    if ((a->cls != cls && a->cls2 != cls) || !tsri_field_is(key, a->key)) continue;
    memcpy(to, a->to, sizeof a->to);
    return a->n;
  }
  return 0;
}

static void unknown_key(struct tsri_build *b, const struct tsri_field *key,
                        enum tsr_op_kind kind) {
  char word[64];
  size_t n = (size_t)tsri_field_shown(key);
  memcpy(word, key->p, n);
  word[n] = '\0';
  tsri_note(b,
            tsr_err_at(b->err, TSR_INPUT, &key->pos,
                       "unknown key of op %s; expected m, n, k, count or a column of a layer "
                       "list, got '%s'",
                       tsr_op_kind_name(kind), word));
  const char *keys[TSRI_COL_COUNT_];
  size_t n_keys = 0;
  for (enum tsri_col c = 0; c < TSRI_COL_COUNT_; c++)
    if (is_key(c)) keys[n_keys++] = tsri_columns[c].name;
  const char *near = tsr_err_nearest(word, keys, n_keys);
  if (near) tsr_err_hint(b->err, "did you mean '%s'?", near);
}

/* One KEY=V into the row. */
static void read_pair(struct tsri_reader *r, const struct tsri_field *pair,
                      enum tsr_op_kind kind) {
  struct tsri_build *b = r->b;
  size_t eq = 0;
  while (eq < pair->n && pair->p[eq] != '=') eq++;
  struct tsri_field key = tsri_field_part(pair, 0, eq);
  if (eq == pair->n || eq + 1 == pair->n) {
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &pair->pos,
                            "no value; expected KEY=V such as m=1024, got '%.*s'",
                            tsri_field_shown(pair), pair->p));
    return;
  }
  enum tsri_col to[PLACES];
  size_t n = key_columns(&key, tsr_op_kind_info(kind)->cls, to);
  if (n == 0) unknown_key(b, &key, kind);
  for (size_t i = 0; i < n; i++) {
    if (r->row.f[to[i]].n > 0) {
      tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &key.pos, "%s given twice; expected each once",
                              tsri_columns[to[i]].name));
      return;
    }
    r->row.f[to[i]] = tsri_field_part(pair, eq + 1, pair->n - eq - 1);
  }
}

static struct tsri_field until(const struct tsri_field *f, size_t from, char stop) {
  size_t at = from;
  while (at < f->n && f->p[at] != stop) at++;
  return tsri_field_part(f, from, at - from);
}

/* Up to a comma that stands in no brackets: `epilogue=clip(0,6)` is one pair. */
static struct tsri_field pair_at(const struct tsri_field *f, size_t from) {
  size_t at = from, open = 0;
  for (; at < f->n && (f->p[at] != ',' || open); at++) {
    if (f->p[at] == '(') open = 1;
    if (f->p[at] == ')') open = 0;
  }
  return tsri_field_part(f, from, at - from);
}

static void read_pairs(struct tsri_reader *r, const struct tsri_field *all, size_t at,
                       enum tsr_op_kind kind) {
  while (!tsri_build_full(r->b)) {
    struct tsri_field pair = pair_at(all, at);
    read_pair(r, &pair, kind);
    at += pair.n + 1;
    if (at > all->n) return;
  }
}

static void read_operator(struct tsri_reader *r, const struct tsri_field *all) {
  struct tsri_build *b = r->b;
  struct tsri_field end = tsri_field_part(all, all->n, 0);
  for (size_t c = 0; c < TSRI_COL_COUNT_; c++) {
    r->at[c] = c;
    r->row.f[c] = end;
  }
  size_t from = strlen("op:");
  struct tsri_field name = until(all, from, ':');
  r->row.f[TSRI_COL_OP] = name;
  struct tsr_op op;
  memset(&op, 0, sizeof op);
  if (!tsri_kind_read(b, &name, &op.kind)) return;
  if (from + name.n < all->n) read_pairs(r, all, from + name.n + 1, op.kind);
  if (b->status != TSR_OK) return;
  /* A matmul given alone is one. */
  struct tsri_field one = end;
  one.p = "1";
  one.n = 1;
  bool geometry = r->row.f[TSRI_COL_IN_C].n > 0;
  enum tsr_op_class cls = tsr_op_kind_info(op.kind)->cls;
  bool product = cls == TSR_CLASS_MATMUL || cls == TSR_CLASS_CONV;
  if (product && !geometry && r->row.f[TSRI_COL_COUNT].n == 0) r->row.f[TSRI_COL_COUNT] = one;
  tsri_row_op(r, &op);
  op.pos = name.pos;
  op.name = tsr_op_kind_name(op.kind);
  if (b->status == TSR_OK) tsri_build_add(b, &op);
}

void tsri_op_read(struct tsri_build *b) {
  struct tsri_reader r = {.b = b, .n_columns = TSRI_COL_COUNT_};
  r.row.f = tsr_mem_array(TSRI_COL_COUNT_, sizeof *r.row.f);
  if (!r.row.f) {
    tsri_nomem(b);
    return;
  }
  r.row.n = r.row.cap = TSRI_COL_COUNT_;
  struct tsri_field all = {b->src->text, b->src->len, {b->src, 1, 1, (uint32_t)b->src->len}};
  read_operator(&r, &all);
  tsri_row_fini(&r.row);
}
