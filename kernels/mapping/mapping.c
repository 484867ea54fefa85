#include "kernels/mapping/mapping.h"

#include <inttypes.h>

#include "kernels/mapping/mapping_int.h"

const char *const tsr_flow_names[] = {"os", "ws", "is", "dot", "rs", NULL};

static uint64_t product3(const uint64_t *v, int a, int b, int c) {
  return v[a] * v[b] * v[c];
}

bool tsr_shape_equal(const struct tsr_shape *x, const struct tsr_shape *y) {
  for (int i = 0; i < TSR_AXIS_COUNT; i++)
    if (x->size[i] != y->size[i]) return false;
  return x->conv == y->conv && x->in_h == y->in_h && x->in_w == y->in_w &&
         x->stride_h == y->stride_h && x->stride_w == y->stride_w && x->dil_h == y->dil_h &&
         x->dil_w == y->dil_w && x->pad_t == y->pad_t && x->pad_l == y->pad_l &&
         x->a_bytes == y->a_bytes && x->b_bytes == y->b_bytes && x->acc_bytes == y->acc_bytes &&
         x->out_bytes == y->out_bytes;
}

bool tsr_mapping_follows(int tensor, enum tsr_isa_axis x) {
  static const uint32_t not [3] = {
      [TSR_BUF_A] = 1u << TSR_AXIS_N,
      [TSR_BUF_B] = 1u << TSR_AXIS_B | 1u << TSR_AXIS_OH | 1u << TSR_AXIS_OW,
      [TSR_BUF_C] = 1u << TSR_AXIS_KH | 1u << TSR_AXIS_KW | 1u << TSR_AXIS_C};
  return !(not [tensor] & 1u << x);
}

uint32_t tsr_mapping_level(const struct tsr_mapping *m, int tensor) {
  uint32_t level = 0;
  for (uint32_t i = 0; i < m->n_loops; i++)
    if (tsr_mapping_follows(tensor, m->loop[i].axis)) level = i + 1;
  return level;
}

uint64_t tsr_shape_m(const struct tsr_shape *s) {
  return product3(s->size, TSR_AXIS_B, TSR_AXIS_OH, TSR_AXIS_OW);
}
uint64_t tsr_shape_k(const struct tsr_shape *s) {
  return product3(s->size, TSR_AXIS_KH, TSR_AXIS_KW, TSR_AXIS_C);
}
uint64_t tsr_mapping_tile_m(const struct tsr_mapping *m) {
  return product3(m->tile, TSR_AXIS_B, TSR_AXIS_OH, TSR_AXIS_OW);
}
uint64_t tsr_mapping_tile_k(const struct tsr_mapping *m) {
  return product3(m->tile, TSR_AXIS_KH, TSR_AXIS_KW, TSR_AXIS_C);
}

void tsri_input_span(const struct tsr_shape *s, const uint64_t *tile, bool height,
                     uint64_t *extent, uint64_t *step) {
  uint64_t out = tile[height ? TSR_AXIS_OH : TSR_AXIS_OW];
  uint64_t k = tile[height ? TSR_AXIS_KH : TSR_AXIS_KW];
  uint64_t stride = height ? s->stride_h : s->stride_w;
  uint64_t dil = height ? s->dil_h : s->dil_w;
  if (k == 1) { /* the filter touches one place: every stride-th row or column */
    *extent = out;
    *step = stride;
    return;
  }
  *extent = (out - 1) * stride + (k - 1) * dil + 1;
  *step = 1;
}

void tsr_mapping_input_span(const struct tsr_shape *s, const struct tsr_mapping *m, bool height,
                            uint64_t *extent, uint64_t *step) {
  tsri_input_span(s, m->tile, height, extent, step);
}

/* Elements of scratchpad a that a tile takes: what is loaded, clipped to the
 * input where a box is larger than it. */
static uint64_t tile_a_elems(const struct tsr_shape *s, const uint64_t *tile) {
  uint64_t chans = tile[TSR_AXIS_G] * tile[TSR_AXIS_C];
  if (!s->conv) return chans * tile[TSR_AXIS_OW];
  uint64_t h, w, step;
  tsri_input_span(s, tile, true, &h, &step);
  h = tsr_min_u64(h, tsr_ceil_div(s->in_h, step));
  tsri_input_span(s, tile, false, &w, &step);
  w = tsr_min_u64(w, tsr_ceil_div(s->in_w, step));
  return tile[TSR_AXIS_B] * h * w * chans;
}

void tsri_tile_bytes(const struct tsr_shape *s, const uint64_t *tile, uint64_t bytes[3]) {
  uint64_t m = product3(tile, TSR_AXIS_B, TSR_AXIS_OH, TSR_AXIS_OW);
  uint64_t k = product3(tile, TSR_AXIS_KH, TSR_AXIS_KW, TSR_AXIS_C);
  uint64_t g = tile[TSR_AXIS_G], n = tile[TSR_AXIS_N];
  bytes[0] = tile_a_elems(s, tile) * s->a_bytes;
  bytes[1] = g * k * n * s->b_bytes;
  bytes[2] = g * m * n * s->acc_bytes;
}

void tsr_mapping_tile_bytes(const struct tsr_shape *s, const struct tsr_mapping *m,
                            uint64_t bytes[3]) {
  tsri_tile_bytes(s, m->tile, bytes);
}

/* The tile of k that `from` lies in.  Tiles of k are contiguous: one axis is cut, those
 * outside it go one by one, those inside are whole; the last tile of a cut axis is short. */
static void k_tile(const struct tsr_shape *s, const struct tsr_mapping *m, uint64_t from,
                   uint64_t *start, uint64_t *end) {
  uint64_t inner = 1, whole; /* elements of k in a step of the cut axis, in all its steps */
  int x = TSR_AXIS_C;
  while (x > TSR_AXIS_KH && m->tile[x] >= s->size[x]) inner *= s->size[x--];
  whole = inner * s->size[x];
  uint64_t base = from / whole * whole, tile = inner * m->tile[x];
  *start = base + (from - base) / tile * tile;
  *end = tsr_min_u64(*start + tile, base + whole);
}

uint64_t tsr_mapping_k_tile(const struct tsr_shape *s, const struct tsr_mapping *m,
                            uint64_t from) {
  uint64_t start, end;
  k_tile(s, m, from, &start, &end);
  return end;
}

uint64_t tsr_mapping_k_tiles(const struct tsr_shape *s, const struct tsr_mapping *m) {
  uint64_t n = 1;
  for (int x = TSR_AXIS_KH; x <= TSR_AXIS_C; x++) n *= tsr_ceil_div(s->size[x], m->tile[x]);
  return n;
}

uint64_t tsr_mapping_k_index(const struct tsr_shape *s, const struct tsr_mapping *m,
                             uint64_t from) {
  const uint64_t *z = s->size, *t = m->tile;
  uint64_t c = from % z[TSR_AXIS_C], w = from / z[TSR_AXIS_C] % z[TSR_AXIS_KW];
  uint64_t h = from / z[TSR_AXIS_C] / z[TSR_AXIS_KW];
  uint64_t row = h / t[TSR_AXIS_KH] * tsr_ceil_div(z[TSR_AXIS_KW], t[TSR_AXIS_KW]);
  return (row + w / t[TSR_AXIS_KW]) * tsr_ceil_div(z[TSR_AXIS_C], t[TSR_AXIS_C]) +
         c / t[TSR_AXIS_C];
}

uint64_t tsr_mapping_k_cut(const struct tsr_shape *s, const struct tsr_mapping *m,
                           uint64_t from) {
  uint64_t start, end;
  if (!m->k_cut && !m->promoted) return tsr_shape_k(s);
  k_tile(s, m, from, &start, &end);
  if (!m->k_cut) return end;
  uint64_t cut = start + ((from - start) / m->k_cut + 1) * m->k_cut;
  return tsr_min_u64(cut, end);
}

static const char *axis_word(const struct tsr_shape *s, enum tsr_isa_axis x) {
  if (!s->conv && x == TSR_AXIS_OW) return "m";
  if (!s->conv && x == TSR_AXIS_C) return "k";
  return tsr_isa_axis_names[x];
}

void tsr_mapping_print(const struct tsr_shape *s, const struct tsr_mapping *m,
                       struct tsr_str *out) {
  tsr_str_addf(out, "%s", tsr_flow_names[m->flow]);
  for (uint32_t i = 0; i < m->n_loops; i++)
    tsr_str_addf(out, " %s:%" PRIu64 "x%" PRIu64, axis_word(s, m->loop[i].axis),
                 m->loop[i].trips, m->loop[i].tile);
  tsr_str_addf(out, " tile %" PRIu64 "x%" PRIu64 "x%" PRIu64, tsr_mapping_tile_m(m),
               m->tile[TSR_AXIS_N], tsr_mapping_tile_k(m));
  if (m->tile[TSR_AXIS_G] > 1) tsr_str_addf(out, "x%" PRIu64, m->tile[TSR_AXIS_G]);
  if (m->promoted) tsr_str_add(out, m->scaled ? " scaled" : " promoted");
}

void tsr_mapping_target(const struct tsr_mapping *m, struct tsr_target *t) {
  for (int b = 0; b < 3; b++) {
    if (!m->slots[b]) continue;
    t->slot_bytes[b] = t->slot_bytes[b] * t->slots[b] / m->slots[b];
    t->slots[b] = m->slots[b];
  }
}

enum tsr_level tsr_mapping_home(const struct tsr_target *t, int tensor) {
  if (t->near[tensor]) return TSR_LEVEL_SRAM;
  return t->llb_bytes && !(t->bypass & 1u << tensor) ? TSR_LEVEL_LLB : TSR_LEVEL_DRAM;
}
