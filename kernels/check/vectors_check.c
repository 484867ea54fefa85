/* Replays a vector file through a matrix unit (kernels/check/vectors.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/check/vectors.h"
#include "sim/base/mem.h"

/* One unit a D row: int files have four. */
struct replay {
  struct tsr_vectors v;
  struct tsr_mma_spec spec;
  const struct tsr_mma *unit[TSR_MMA_INT_N_]; /* by D row; NULL: not compared */
  uint64_t *column;                           /* of B */
  struct tsr_vectors_result r;
};

static enum tsr_status at_header(const struct tsr_vectors *v, const char *what,
                                 const char *name, struct tsr_err *err) {
  struct tsr_pos pos = {&v->src, 1, 1, 1};
  enum tsr_status st = tsr_err_at(err, TSR_INPUT, &pos, "%s '%s'", what, name);
  tsr_err_hint(err, "a unit can be named with --model");
  return st;
}

/* What the words of a line `model op=…` say. */
static bool has_parameters(const struct tsr_vectors *v, const struct tsr_mma *u) {
  char op[16], word[16], want[16];
  if (!tsr_vectors_key(v, "op", op, sizeof op)) return false;
  if (u->kind != TSR_MMA_FUSED || u->scale || u->a != v->a || u->b != v->b || u->acc != v->d)
    return false;
  if (u->c && u->c != v->c) return false;
  if (strcmp(op, "fp8emul") == 0) return u->via != NULL;
  if (strcmp(op, "t") != 0 || u->via) return false;
  snprintf(want, sizeof want, "%d", u->fused_len);
  if (!tsr_vectors_key(v, "L", word, sizeof word) || strcmp(word, want) != 0) return false;
  snprintf(want, sizeof want, "%d", u->align_bits);
  if (!tsr_vectors_key(v, "F", word, sizeof word) || strcmp(word, want) != 0) return false;
  if (!tsr_vectors_key(v, "rho", word, sizeof word)) return false;
  const char *out = u->inner ? "E8M13" : u->acc->man_bits == 23 ? "FP32" : "FP16";
  snprintf(want, sizeof want, "%s-%s", tsr_round_name(u->round), out);
  return strcmp(word, want) == 0;
}

static const struct tsr_mma *by_parameters(const struct tsr_vectors *v) {
  for (size_t i = 0; i < tsr_mma_count(); i++)
    if (has_parameters(v, tsr_mma_at(i))) return tsr_mma_at(i);
  return NULL;
}

static const struct tsr_mma *by_int_mode(const struct tsr_vectors *v, enum tsr_mma_int mode) {
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (u->kind == TSR_MMA_INT && u->int_mode == mode && u->a == v->a && u->b == v->b &&
        u->acc == v->d && tsr_mma_is_plain(u))
      return u;
  }
  return NULL;
}

static enum tsr_status set_unit(struct replay *p, const struct tsr_mma *u, const char *name,
                                struct tsr_err *err) {
  const struct tsr_vectors *v = &p->v;
  if (!u) return at_header(v, "unknown matrix unit", name, err);
  if (u->a != v->a || u->b != v->b || u->acc != v->d)
    return tsr_err_set(err, TSR_INPUT,
                       "matrix unit '%s' multiplies %s by %s into %s; expected a unit for %s, "
                       "which has %s by %s into %s",
                       u->name, u->a->name, u->b->name, u->acc->name, v->path, v->a->name,
                       v->b->name, v->d->name);
  if (v->is_int) {
    p->unit[u->int_mode] = u;
  } else {
    p->unit[0] = u;
  }
  snprintf(p->r.model, sizeof p->r.model, "%s", u->name);
  return TSR_OK;
}

static enum tsr_status named_unit(struct replay *p, const char *model, struct tsr_err *err) {
  const struct tsr_mma *u = tsr_mma_find(model);
  if (u) return set_unit(p, u, model, err);
  enum tsr_status st = tsr_mma_parse(model, p->v.a, p->v.b, p->v.d, &p->spec, err);
  return st ? st : set_unit(p, &p->spec.unit, model, err);
}

/* `dir/int_s8_s8_s32.txt`: the four modes of one pair of formats. */
static enum tsr_status int_units(struct replay *p, struct tsr_err *err) {
  const char *name = strrchr(p->v.path, '/');
  name = name ? name + 1 : p->v.path;
  if (strncmp(name, "int_", 4) != 0)
    return at_header(&p->v, "no unit named for an integer file", name, err);
  for (int i = 0; i < TSR_MMA_INT_N_; i++) {
    p->unit[i] = by_int_mode(&p->v, (enum tsr_mma_int)i);
    if (!p->unit[i]) return at_header(&p->v, "no integer unit for", name, err);
  }
  snprintf(p->r.model, sizeof p->r.model, "%.*s", (int)strcspn(name, "."), name);
  return TSR_OK;
}

static enum tsr_status find_units(struct replay *p, const char *model, struct tsr_err *err) {
  char a[32], d[32], word[64], name[TSR_MMA_TEXT_MAX];
  if (model) return named_unit(p, model, err);
  if (tsr_vectors_key(&p->v, "model", name, sizeof name))
    return set_unit(p, tsr_mma_find(name), name, err);
  if (tsr_vectors_key(&p->v, "alg", word, sizeof word) &&
      tsr_vectors_key(&p->v, "a", a, sizeof a) && tsr_vectors_key(&p->v, "d", d, sizeof d)) {
    snprintf(name, sizeof name, "acc_%s_%s_%s", word, a, d);
    return set_unit(p, tsr_mma_find(name), name, err);
  }
  if (p->v.is_int) return int_units(p, err);
  return set_unit(p, by_parameters(&p->v), "of the header's parameters", err);
}

static bool same(const struct tsr_vectors *v, uint64_t got, uint64_t want) {
  if (got == want) return true;
  return !v->nan_exact && tsr_arith_decode(v->d, got).cls == TSR_NUM_NAN &&
         tsr_arith_decode(v->d, want).cls == TSR_NUM_NAN;
}

static void compare(struct replay *p, int row, size_t at, uint64_t got) {
  const struct tsr_vectors *v = &p->v;
  uint64_t want = v->row[TSR_VECTORS_D + row][at];
  bool equal = same(v, got, want);
  bool marked = v->count[TSR_VECTORS_X] > at && v->row[TSR_VECTORS_X][at];
  p->r.elements++;
  p->r.contested += marked;
  p->r.contested_differ += marked && !equal;
  p->r.exact += !marked && equal;
  p->r.mismatches += !marked && !equal;
  if (marked || equal || p->r.first[0]) return;
  snprintf(p->r.first, sizeof p->r.first,
           "tile %s (line %" PRIu32 "), D%s value %zu: expected %" PRIx64 ", got %" PRIx64,
           v->number, v->tile_line, v->is_int ? (const char *[]){"1", "2", "3", "4"}[row] : "",
           at + 1, want, got);
}

static uint64_t element(const struct replay *p, const struct tsr_mma *u, size_t i, size_t j) {
  const struct tsr_vectors *v = &p->v;
  size_t blocks = v->scale ? v->k / v->scale_block : 0;
  uint64_t c = v->row[TSR_VECTORS_C][i * v->n + j];
  if (v->c != u->acc) c = tsr_arith_convert(v->c, c, u->acc, TSR_ROUND_RNE, NULL);
  struct tsr_mma_dot_args args = {
      .a = v->row[TSR_VECTORS_A] + i * v->k, .b = p->column, .k = v->k, .c = c};
  if (v->scale) {
    args.scale_a = v->row[TSR_VECTORS_SA] + i * blocks;
    args.scale_b = v->row[TSR_VECTORS_SB] + j * blocks;
  }
  return tsr_mma_dot_full(u, &args, NULL, NULL);
}

static void replay_element(struct replay *p, int row, size_t i, size_t j) {
  const struct tsr_vectors *v = &p->v;
  const struct tsr_mma *u = p->unit[row];
  if (v->n_modes == 0) compare(p, row, i * v->n + j, element(p, u, i, j));
  for (size_t mode = 0; mode < v->n_modes; mode++) {
    struct tsr_mma with_mode = tsr_mma_with_round(u, v->modes[mode]);
    compare(p, row, mode, element(p, &with_mode, i, j));
  }
}

static void replay_tile(struct replay *p) {
  const struct tsr_vectors *v = &p->v;
  p->r.tiles++;
  for (size_t j = 0; j < v->n; j++) {
    for (size_t k = 0; k < v->k; k++) p->column[k] = v->row[TSR_VECTORS_B][k * v->n + j];
    for (size_t i = 0; i < v->m; i++)
      for (int row = 0; row < TSR_MMA_INT_N_; row++)
        if (p->unit[row]) replay_element(p, row, i, j);
  }
}

static enum tsr_status replay_all(struct replay *p, const char *model, struct tsr_err *err) {
  enum tsr_status st = find_units(p, model, err);
  if (st) return st;
  const struct tsr_mma *u = p->unit[0];
  if (!p->v.is_int && u->scale &&
      (u->scale != p->v.scale || (size_t)u->scale_block != p->v.scale_block))
    return at_header(&p->v, "block scales are not those of", u->name, err);
  p->column = tsr_mem_array(p->v.k, sizeof *p->column);
  if (!p->column) return tsr_err_nomem(err);
  bool more = true;
  while (!(st = tsr_vectors_next(&p->v, &more, err)) && more) replay_tile(p);
  tsr_mem_free(p->column);
  if (!st && p->r.tiles == 0) {
    struct tsr_pos pos = {&p->v.src, p->v.line, 1, 1};
    st = tsr_err_at(err, TSR_INPUT, &pos, "no tile in this file; expected 'tile <number>'");
  }
  return st;
}

/* text NULL: that of the file. */
static enum tsr_status check(const char *path, const char *text, size_t len, const char *model,
                             struct tsr_vectors_result *out, struct tsr_err *err) {
  struct replay *p = tsr_mem_alloc(sizeof *p);
  if (!p) return tsr_err_nomem(err);
  enum tsr_status st = text ? tsr_vectors_open_text(&p->v, path, text, len, err)
                            : tsr_vectors_open(&p->v, path, err);
  if (!st) {
    st = replay_all(p, model, err);
    tsr_vectors_close(&p->v);
  }
  p->r.file = path;
  if (!st) *out = p->r;
  tsr_mem_free(p);
  return st;
}

enum tsr_status tsr_vectors_check(const char *path, const char *model,
                                  struct tsr_vectors_result *out, struct tsr_err *err) {
  return check(path, NULL, 0, model, out, err);
}

enum tsr_status tsr_vectors_check_text(const char *path, const char *text, size_t len,
                                       const char *model, struct tsr_vectors_result *out,
                                       struct tsr_err *err) {
  return check(path, text, len, model, out, err);
}
