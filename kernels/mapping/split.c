/* Dividing a layer among cores. */
#include <string.h>

#include "kernels/mapping/mapping_int.h"

const char *const tsr_split_names[] = {"auto", "batch", "heads", "m", "n", "k", NULL};

/* A share is a whole number of array widths where the axis lies along the array. */
static uint64_t grain(const struct tsr_target *t, enum tsr_isa_axis x) {
  bool rows_are_m = t->flow == TSR_FLOW_OS || t->flow == TSR_FLOW_DOT;
  if (t->flow == TSR_FLOW_RS) return x == TSR_AXIS_N ? t->rows : x == TSR_AXIS_OW ? t->cols : 1;
  if (x == TSR_AXIS_N) return t->flow == TSR_FLOW_IS ? 1 : t->cols;
  if (x == TSR_AXIS_OW) return rows_are_m ? t->rows : t->flow == TSR_FLOW_IS ? t->cols : 1;
  if (x == TSR_AXIS_C) return rows_are_m ? t->depth * t->rate : t->rows * t->rate;
  return 1;
}

struct tsr_shape tsr_split_largest(const struct tsr_split *split, const struct tsr_shape *s) {
  struct tsr_shape part = *s;
  for (int i = 0; i < 2; i++)
    if (split->parts[i] > 1)
      part.size[split->axis[i]] = tsr_min_u64(part.size[split->axis[i]], split->chunk[i]);
  return part;
}

uint64_t tsr_split_divide(const struct tsr_shape *s, const struct tsr_target *t,
                          enum tsr_isa_axis x, uint64_t n, uint64_t *chunk) {
  uint64_t size = s->size[x], each = tsr_ceil_div(size, n), unit = grain(t, x);
  if (x == TSR_AXIS_C && t->promote && t->promote < size) unit = t->promote;
  if (unit > 1 && size > unit) each = tsr_min_u64(tsr_ceil_div(each, unit) * unit, size);
  *chunk = each;
  return tsr_ceil_div(size, each);
}

struct trial {
  const struct tsr_shape *s;
  struct tsr_target t;
  const char *name;
  bool found;
  struct tsr_split split;
  struct tsr_mapping mapping;
  struct tsr_err *err;
};

/* What the partial sums of p cores cost, in cycles: they were stored as results are; all are
 * loaded again and added, and the results stored. */
static double reduce_cycles(const struct tsr_shape *s, const struct tsr_target *t, uint64_t p,
                            uint32_t sum_bytes) {
  double elems =
      (double)s->size[TSR_AXIS_G] * (double)tsr_shape_m(s) * (double)s->size[TSR_AXIS_N];
  double moved = elems * ((double)p * sum_bytes + s->out_bytes) / t->dram_bytes_per_cycle;
  double added = t->lanes ? elems / (double)t->lanes : 0; /* p sums on p cores */
  return (moved > added ? moved : added) + 3 * t->latency_cycles;
}

static uint32_t sum_bytes(const struct tsr_shape *s, const struct tsr_target *t) {
  return t->promote && t->promote < tsr_shape_k(s) ? TSR_PROMOTED_BYTES : s->acc_bytes;
}

/* Divides x among p cores and y among q; keeps the fastest. */
static enum tsr_status try_grid(struct trial *tr, const struct tsr_target *t,
                                enum tsr_isa_axis x, uint64_t p, enum tsr_isa_axis y,
                                uint64_t q) {
  struct tsr_split split = {.axis = {x, y}};
  struct tsr_shape part = *tr->s;
  split.parts[0] = tsr_split_divide(tr->s, t, x, p, &split.chunk[0]);
  split.parts[1] = 1;
  split.chunk[1] = tr->s->size[y];
  if (y != x) split.parts[1] = tsr_split_divide(tr->s, t, y, q, &split.chunk[1]);
  part.size[x] = split.chunk[0];
  if (y != x) part.size[y] = split.chunk[1];
  bool reduces = tsr_axis_is_k(x) && split.parts[0] > 1;
  if (reduces) part.out_bytes = sum_bytes(&part, t);
  tr->t = *t;
  tr->t.dram_bytes_per_cycle /= (double)tsr_split_cores(&split);
  for (int i = TSR_BUF_A; i <= TSR_BUF_B; i++)
    if (t->multicast && tsr_split_shares(&split, i))
      tr->t.readers[i] = (double)tsr_split_cores(&split);
  struct tsr_mapping m;
  enum tsr_status st = tsr_mapping_template(&part, &tr->t, tr->name, &m, tr->err);
  if (st) return st;
  if (reduces) m.cost_cycles += reduce_cycles(tr->s, t, split.parts[0], part.out_bytes);
  bool better = !tr->found || m.cost_cycles < tr->mapping.cost_cycles;
  bool fewer = tr->found && m.cost_cycles <= tr->mapping.cost_cycles &&
               tsr_split_cores(&split) < tsr_split_cores(&tr->split);
  if (!better && !fewer) return TSR_OK;
  tr->found = true;
  tr->split = split;
  tr->mapping = m;
  return TSR_OK;
}

/* The axis of m that is divided: images, else rows of the image, else columns (or m of a
 * matmul). */
static enum tsr_isa_axis m_axis(const struct tsr_shape *s, uint64_t cores) {
  if (s->size[TSR_AXIS_B] >= cores) return TSR_AXIS_B;
  if (s->size[TSR_AXIS_OH] > 1) return TSR_AXIS_OH;
  return s->size[TSR_AXIS_OW] > 1 ? TSR_AXIS_OW : TSR_AXIS_B;
}

/* The axis of k that is divided, the outermost: a core's products are a run of k.  Groups lie
 * between a convolution's channels; then they are divided themselves. */
static enum tsr_isa_axis k_axis(const struct tsr_shape *s, const struct tsr_target *t) {
  bool taps = s->size[TSR_AXIS_KH] > 1 || s->size[TSR_AXIS_KW] > 1;
  if (t->epilogue) return TSR_AXIS_G;            /* its steps want whole sums */
  if (taps && t->scale_bytes) return TSR_AXIS_G; /* parts would cut the tiles of scales */
  if (s->size[TSR_AXIS_KH] > 1) return TSR_AXIS_KH;
  if (s->size[TSR_AXIS_KW] > 1) return TSR_AXIS_KW;
  return s->conv && s->size[TSR_AXIS_G] > 1 ? TSR_AXIS_G : TSR_AXIS_C;
}

static bool n_divides(const struct tsr_shape *s) {
  return !s->conv || s->size[TSR_AXIS_G] == 1; /* groups lie between their columns */
}

static enum tsr_status try_auto(struct trial *tr, const struct tsr_target *t, uint64_t cores) {
  const struct tsr_shape *s = tr->s;
  enum tsr_isa_axis m = m_axis(s, cores);
  enum tsr_status st = TSR_OK;
  bool heads = s->size[TSR_AXIS_G] > 1;
  for (uint64_t p = 1; !st && p <= cores; p = p < cores && 2 * p > cores ? cores : 2 * p) {
    if (n_divides(s)) st = try_grid(tr, t, m, p, TSR_AXIS_N, cores / p);
    if (!st && heads) st = try_grid(tr, t, TSR_AXIS_G, p, m, cores / p);
    if (!st && p > 1 && tsr_axis_is_k(k_axis(s, t)))
      st = try_grid(tr, t, k_axis(s, t), p, k_axis(s, t), 1);
  }
  return st;
}

enum tsr_status tsr_mapping_split(const struct tsr_shape *s, const struct tsr_target *t,
                                  enum tsr_split_kind kind, uint64_t cores, const char *name,
                                  struct tsr_split *split, struct tsr_mapping *out,
                                  struct tsr_err *err) {
  struct trial tr = {.s = s, .name = name, .err = err};
  enum tsr_isa_axis x = TSR_AXIS_G;
  switch (kind) {
  case TSR_SPLIT_BATCH: x = s->size[TSR_AXIS_B] > 1 ? TSR_AXIS_B : TSR_AXIS_OW; break;
  case TSR_SPLIT_M: x = m_axis(s, cores); break;
  case TSR_SPLIT_N: x = n_divides(s) ? TSR_AXIS_N : TSR_AXIS_G; break;
  case TSR_SPLIT_K: x = k_axis(s, t); break;
  default: break;
  }
  /* What has but one head has none to divide. */
  if (kind == TSR_SPLIT_HEADS && s->size[TSR_AXIS_G] == 1) kind = TSR_SPLIT_AUTO;
  enum tsr_status st = kind == TSR_SPLIT_AUTO && cores > 1 ? try_auto(&tr, t, cores)
                                                           : try_grid(&tr, t, x, cores, x, 1);
  if (st) return st;
  *split = tr.split;
  *out = tr.mapping;
  return TSR_OK;
}

bool tsr_split_shares(const struct tsr_split *s, int tensor) {
  for (int i = 0; i < 2; i++)
    if (s->parts[i] > 1 && tsr_mapping_follows(tensor, s->axis[i])) return false;
  return true;
}

struct tsr_part tsr_split_part(const struct tsr_shape *s, const struct tsr_split *split,
                               uint64_t core) {
  struct tsr_part p;
  const uint64_t at[2] = {core / split->parts[1], core % split->parts[1]};
  for (int i = 0; i < 2; i++) {
    enum tsr_isa_axis x = split->axis[i];
    p.axis[i] = x;
    p.from[i] = at[i] * split->chunk[i];
    p.size[i] = tsr_min_u64(split->chunk[i], s->size[x] - p.from[i]);
  }
  if (p.axis[1] == p.axis[0]) { /* one axis */
    p.from[1] = p.from[0];
    p.size[1] = p.size[0];
  }
  return p;
}
