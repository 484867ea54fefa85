/* Chains of layers that run part by part, so that what passes between them stays on the chip.
 *
 * A chain begins and ends with a matmul; each layer is the only reader of the one before, as
 * its first operand, and needs of it no more than the same rows, or the same of `count`
 * independent products.  Where its intermediates do not fit what scratchpad a keeps, the chain
 * is cut along these (`NAME.part0` …): one part runs through the whole chain before the next
 * begins.
 *
 * Products of a part are as many as fit.  Rows are cut where that moves fewer bytes: each
 * intermediate is neither written nor read, but all weights are loaded for every part. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/run/run_int.h"

/* Layers [0, n) of a chain, as operators of the graph. */
enum { CHAIN_MAX = 64 };
struct chain {
  size_t op[CHAIN_MAX], n;
  bool groups;          /* cut along count, else along the rows */
  uint64_t units, each; /* how many there are, and those of a part */
};

struct fusing {
  const struct tsr_machine *m;
  uint64_t keep_bytes;
  const struct tsr_mapping_file *mappings; /* NULL: none */
  struct tsr_graph *g;
  size_t *user; /* the only reader of a result; SIZE_MAX: none or several */
  struct chain *chain;
  size_t n_chains;
  size_t *of; /* chain of an operator, SIZE_MAX: none */
  struct tsr_op *ops;
  size_t n, *at; /* of the new graph; where the old ones stand */
};

/* ---- what belongs together ---- */

static void find_users(struct fusing *f) {
  for (size_t i = 0; i < f->g->n_ops; i++) f->user[i] = SIZE_MAX;
  bool *several = tsr_arena_array(f->g->arena, f->g->n_ops + 1, sizeof *several);
  for (size_t i = 0; several && i < f->g->n_ops; i++)
    for (size_t a = 0; a < f->g->ops[i].n_after; a++) {
      size_t source = f->g->ops[i].after[a];
      if (f->user[source] != SIZE_MAX && f->user[source] != i) several[source] = true;
      f->user[source] = i;
    }
  for (size_t i = 0; i < f->g->n_ops; i++)
    if (!several || several[i]) f->user[i] = SIZE_MAX;
}

static bool is_matmul(const struct tsr_op *op) {
  return tsr_op_kind_info(op->kind)->cls == TSR_CLASS_MATMUL;
}

/* Rows of an operator need rows alone; its results are as many as it has rows. */
static bool is_link(const struct tsr_op *op) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  if (is_matmul(op)) return true;
  bool by_rows = info->cls == TSR_CLASS_ROWWISE || info->cls == TSR_CLASS_ELEMENTWISE;
  return by_rows && info->rows && info->c == TSR_SHAPE_MN &&
         (info->b != TSR_SHAPE_WITH || op->attr.with == TSR_WITH_ROW ||
          op->attr.with == TSR_WITH_SCALAR);
}

/* The next of a chain, SIZE_MAX: none. */
static size_t next_of(const struct fusing *f, size_t i) {
  const struct tsr_op *op = &f->g->ops[i];
  size_t user = f->user[i], from;
  if (user == SIZE_MAX || f->of[user] != SIZE_MAX) return SIZE_MAX;
  if (f->mappings && tsr_mapping_file_bypass(f->mappings, op->name) & 1u << TSR_BUF_C)
    return SIZE_MAX; /* it is not to stay */
  const struct tsr_op *next = &f->g->ops[user];
  if (!is_link(next) || next->m != op->m || next->count != op->count) return SIZE_MAX;
  if (!tsr_op_source(next, 0, &from) || from != i) return SIZE_MAX;
  if (tsr_op_source(next, 1, &from) && from == i) return SIZE_MAX;
  for (size_t s = 0; s < next->n_steps; s++)
    if (tsr_op_step_source(next, s, &from) && from == i) return SIZE_MAX;
  return user;
}

/* ---- what it costs ---- */

/* How much of what is saved on intermediates weights may take again. */
static const double WORTH = 0.5;

static uint64_t bytes_of(const char *own, const char *machine) {
  struct tsr_format f;
  return tsri_format_read(tsri_or_else(own, machine), &f, NULL) ? 0 : tsr_ceil_div(f.bits, 8);
}

/* Bytes of a result, and of what is loaded for every part of rows. */
static double result_bytes(const struct fusing *f, const struct tsr_op *op) {
  return (double)op->m * (double)op->n * (double)op->count *
         (double)bytes_of(op->format_out, f->m->format_out);
}
static double weight_bytes(const struct fusing *f, const struct tsr_op *op) {
  if (!is_matmul(op)) return 0;
  return (double)op->k * (double)op->n * (double)op->count *
         (double)bytes_of(op->format_b, f->m->format_b);
}

/* Whether a result is taken in the format in which it is left. */
static bool fits_format(const struct fusing *f, const struct tsr_op *op,
                        const struct tsr_op *next) {
  return !strcmp(tsri_or_else(op->format_out, f->m->format_out),
                 tsri_or_else(next->format_a, f->m->format_a));
}

/* Bytes that a chain cut so saves; 0 or less: none, or too few to pay for more, and smaller,
 * layers. */
static double saved(const struct fusing *f, const struct chain *c) {
  double kept = 0, weights = 0;
  for (size_t i = 0; i < c->n; i++) {
    const struct tsr_op *op = &f->g->ops[c->op[i]];
    if (i + 1 < c->n) kept += 2 * result_bytes(f, op);
    weights += c->groups ? 0 : weight_bytes(f, op);
  }
  double more = weights * (double)(tsr_ceil_div(c->units, c->each) - 1);
  return more > WORTH * kept ? 0 : kept - more;
}

/* How many units of a chain fit at once: two intermediates that follow each other are there at
 * the same time. */
static bool size_parts(const struct fusing *f, struct chain *c) {
  const struct tsr_op *first = &f->g->ops[c->op[0]];
  double most = 0, before = 0;
  for (size_t i = 0; i + 1 < c->n; i++) {
    double bytes = result_bytes(f, &f->g->ops[c->op[i]]);
    if (before + bytes > most) most = before + bytes;
    before = bytes;
  }
  c->groups = first->count > 1;
  c->units = c->groups ? first->count : first->m;
  if (most <= (double)f->keep_bytes) return false; /* nothing to gain */
  double fit = (double)f->keep_bytes / (most / (double)c->units);
  if (fit < 1) return false;
  c->each = tsr_ceil_div(c->units, tsr_ceil_div(c->units, (uint64_t)fit));
  return true;
}

/* The chain from operator i on that saves the most. */
static bool find_chain(const struct fusing *f, size_t i, struct chain *best) {
  struct chain c = {.op = {i}, .n = 1};
  double most = 0; /* of what it saves */
  if (!is_matmul(&f->g->ops[i]) || f->of[i] != SIZE_MAX) return false;
  for (size_t next; c.n < CHAIN_MAX; i = next) {
    next = next_of(f, i);
    if (next == SIZE_MAX || !fits_format(f, &f->g->ops[i], &f->g->ops[next])) break;
    c.op[c.n++] = next;
    if (!is_matmul(&f->g->ops[next]) || !size_parts(f, &c)) continue;
    double bytes = saved(f, &c);
    if (bytes <= most) continue;
    most = bytes;
    *best = c;
  }
  return most > 0;
}

/* ---- the new graph ---- */

static bool copy_names(struct fusing *f, struct tsr_op *op) {
  size_t *after = tsr_arena_array(f->g->arena, op->n_after + 1, sizeof *after);
  if (!after) return false;
  for (size_t a = 0; a < op->n_after; a++) after[a] = f->at[op->after[a]];
  op->after = after;
  return true;
}

static bool add_part(struct fusing *f, const struct chain *c, size_t i, uint64_t part,
                     size_t head) {
  struct tsr_op op = f->g->ops[c->op[i]];
  uint64_t from = part * c->each, n = tsr_min_u64(c->each, c->units - from);
  op.part = (struct tsr_op_part){.from = from,
                                 .n = n,
                                 .of = c->units,
                                 .groups = c->groups,
                                 .joined = i + 1 == c->n,
                                 .head = head};
  *(c->groups ? &op.count : &op.m) = n;
  op.name = tsr_arena_printf(f->g->arena, "%s.part%" PRIu64, op.name, part);
  if (!op.name || !copy_names(f, &op)) return false;
  f->at[c->op[i]] = f->n;
  f->ops[f->n++] = op;
  return true;
}

static bool add_chain(struct fusing *f, const struct chain *c) {
  size_t head = f->n + c->n - 1; /* the last layer's first part */
  for (uint64_t p = 0; p < tsr_ceil_div(c->units, c->each); p++)
    for (size_t i = 0; i < c->n; i++)
      if (!add_part(f, c, i, p, head)) return false;
  return true;
}

static bool rewrite(struct fusing *f) {
  size_t n = f->g->n_ops;
  for (size_t c = 0; c < f->n_chains; c++)
    n += f->chain[c].n * (tsr_ceil_div(f->chain[c].units, f->chain[c].each) - 1);
  f->ops = tsr_arena_array(f->g->arena, n, sizeof *f->ops);
  if (!f->ops) return false;
  for (size_t i = 0; i < f->g->n_ops; i++) {
    const struct chain *c = f->of[i] == SIZE_MAX ? NULL : &f->chain[f->of[i]];
    if (c && c->op[c->n - 1] != i) continue; /* it comes with the last of its chain */
    if (c && !add_chain(f, c)) return false;
    if (c) continue;
    struct tsr_op op = f->g->ops[i];
    if (!copy_names(f, &op)) return false;
    f->at[i] = f->n;
    f->ops[f->n++] = op;
  }
  f->g->ops = f->ops;
  f->g->n_ops = f->n;
  return true;
}

enum tsr_status tsri_fuse(const struct tsr_run_plan *p, struct tsr_graph *g,
                          struct tsr_err *err) {
  struct fusing f = {
      .m = p->machine, .keep_bytes = p->residency.keep_bytes, .mappings = p->mappings, .g = g};
  f.user = tsr_arena_array(g->arena, g->n_ops + 1, sizeof *f.user);
  f.of = tsr_arena_array(g->arena, g->n_ops + 1, sizeof *f.of);
  f.at = tsr_arena_array(g->arena, g->n_ops + 1, sizeof *f.at);
  f.chain = tsr_mem_array(g->n_ops / 2 + 1, sizeof *f.chain); /* two layers at least */
  bool ok = f.user && f.of && f.at && f.chain;
  if (ok) {
    for (size_t i = 0; i < g->n_ops; i++) f.of[i] = SIZE_MAX;
    find_users(&f);
    for (size_t i = 0; i < g->n_ops; i++) {
      struct chain *c = &f.chain[f.n_chains];
      if (!find_chain(&f, i, c)) continue;
      for (size_t j = 0; j < c->n; j++) f.of[c->op[j]] = f.n_chains;
      f.n_chains++;
    }
    if (f.n_chains) ok = rewrite(&f);
  }
  tsr_mem_free(f.chain);
  return ok ? TSR_OK : tsr_err_nomem(err);
}
