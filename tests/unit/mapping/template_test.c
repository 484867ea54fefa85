/* The os, ws and is templates: what a mapping promises to those below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "kernels/mapping/mapping.h"
#include "sim/base/mem.h"
#include "tests/support/shapes.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
#define FOR_AXES(x) for (int x = 0; x < TSR_AXIS_COUNT; x++)
#define HUGE_SLOT (UINT64_C(1) << 30)

static struct tsr_shape random_shape(struct tsr_rng *r, uint64_t gemm_max, uint64_t conv_max) {
  return tsr_rng_range(r, 0, 1) ? shapes_gemm(r, gemm_max) : shapes_conv(r, conv_max);
}

static bool k_whole(const struct tsr_shape *s, const struct tsr_mapping *m) {
  for (int x = TSR_AXIS_KH; x <= TSR_AXIS_C; x++)
    if (m->tile[x] != s->size[x]) return false;
  return true;
}

static void check_fits(const struct tsr_shape *s, const struct tsr_target *t,
                       const struct tsr_mapping *m) {
  uint64_t bytes[3];
  tsr_mapping_tile_bytes(s, m, bytes);
  for (int i = 0; i < 3; i++) assert_in_range(bytes[i], 1, t->slot_bytes[i]);
}

static void check_loops(const struct tsr_shape *s, const struct tsr_mapping *m) {
  bool looped[TSR_AXIS_COUNT] = {false};
  for (uint32_t i = 0; i < m->n_loops; i++) {
    const struct tsr_map_loop *l = &m->loop[i];
    assert_false(looped[l->axis]);
    looped[l->axis] = true;
    assert_int_equal(l->tile, m->tile[l->axis]);
    assert_true(l->trips > 1);
    /* the last tile is the first that reaches the end */
    assert_true(l->trips * l->tile >= s->size[l->axis]);
    assert_true((l->trips - 1) * l->tile < s->size[l->axis]);
  }
  FOR_AXES(x) {
    assert_in_range(m->tile[x], 1, s->size[x]);
    if (!looped[x]) assert_int_equal(m->tile[x], s->size[x]);
  }
}

/* What the lowering and the tile rely on. */
static void check_rules(const struct tsr_shape *s, const struct tsr_target *t,
                        const struct tsr_mapping *m) {
  const uint64_t *z = s->size;
  if (m->tile[TSR_AXIS_G] > 1) {
    assert_true(k_whole(s, m));
    assert_int_equal(m->tile[TSR_AXIS_N], z[TSR_AXIS_N]);
  }
  if (s->conv && z[TSR_AXIS_G] > 1) { /* a box must not reach into the next group */
    assert_int_equal(z[TSR_AXIS_C] % m->tile[TSR_AXIS_C], 0);
    assert_int_equal(z[TSR_AXIS_N] % m->tile[TSR_AXIS_N], 0);
  }
  if (m->flow == TSR_FLOW_OS && !k_whole(s, m)) { /* one fold while k passes */
    assert_true(tsr_mapping_tile_m(m) <= t->rows);
    assert_true(m->tile[TSR_AXIS_N] <= t->cols);
  }
  static const enum tsr_isa_axis spatial[][2] = {[TSR_FLOW_OS] = {TSR_AXIS_OW, TSR_AXIS_N},
                                                 [TSR_FLOW_WS] = {TSR_AXIS_C, TSR_AXIS_N},
                                                 [TSR_FLOW_IS] = {TSR_AXIS_C, TSR_AXIS_OW}};
  assert_int_equal(m->flow, t->flow);
  assert_int_equal(m->spatial_rows, spatial[t->flow][0]);
  assert_int_equal(m->spatial_cols, spatial[t->flow][1]);
  bool k_rows = m->spatial_rows == TSR_AXIS_C;
  assert_int_equal(m->array_rows, t->rows * (k_rows ? t->rate : 1));
  assert_int_equal(m->array_cols, t->cols);
}

/* The cuts against a walk over the tiles of k, element by element: a range ends
 * where its tile or the array's rows end. */
static void check_cuts(const struct tsr_shape *s, const struct tsr_target *t,
                       const struct tsr_mapping *m) {
  uint64_t K = tsr_shape_k(s), at = 0;
  if (t->flow == TSR_FLOW_OS) {
    assert_int_equal(tsr_mapping_k_cut(s, m, 0), K);
    return;
  }
  const uint64_t *z = s->size, *e = m->tile;
  for (uint64_t h = 0; h < z[TSR_AXIS_KH]; h += e[TSR_AXIS_KH])
    for (uint64_t w = 0; w < z[TSR_AXIS_KW]; w += e[TSR_AXIS_KW])
      for (uint64_t c = 0; c < z[TSR_AXIS_C]; c += e[TSR_AXIS_C]) {
        uint64_t in_tile = tsr_min_u64(e[TSR_AXIS_KH], z[TSR_AXIS_KH] - h) *
                           tsr_min_u64(e[TSR_AXIS_KW], z[TSR_AXIS_KW] - w) *
                           tsr_min_u64(e[TSR_AXIS_C], z[TSR_AXIS_C] - c);
        assert_int_equal(at, (h * z[TSR_AXIS_KW] + w) * z[TSR_AXIS_C] + c);
        for (uint64_t end = at + in_tile; at < end;) {
          uint64_t to = tsr_mapping_k_cut(s, m, at);
          assert_int_equal(to, tsr_min_u64(at + t->rows * t->rate, end));
          at = to;
        }
      }
  assert_int_equal(at, K);
}

static void random_operators_get_sound_mappings(void **state) {
  (void)state;
  struct tsr_rng r = {21};
  unsigned mapped = 0, tiled = 0;
  for (int i = 0; i < 1500; i++) {
    struct tsr_shape s = random_shape(&r, 60, 12);
    struct tsr_target t = shapes_target(&r, 4, 3000);
    struct tsr_mapping m;
    if (tsr_mapping_template(&s, &t, "l", &m, NULL)) continue;
    mapped++;
    tiled += m.n_loops > 1;
    check_fits(&s, &t, &m);
    check_loops(&s, &m);
    check_rules(&s, &t, &m);
    check_cuts(&s, &t, &m);
  }
  assert_true(mapped > 1000 && tiled > 500); /* the search was put to work */
}

static void large_operators_get_sound_mappings(void **state) {
  (void)state;
  static const struct {
    uint64_t g, m, n, k;
  } rows[] = {{1, 100000, 100000, 100000}, {1, 1, 1000000, 1}, {12, 2048, 2048, 64},
              {1, 1, 32000, 4096},         {1, 7, 7, 1000003}, {1000, 1, 1, 128}};
  for (size_t i = 0; i < LEN(rows); i++)
    for (int flow = 0; flow < 3; flow++) {
      struct tsr_shape s = {.size = {rows[i].g, 1, 1, rows[i].m, rows[i].n, 1, 1, rows[i].k},
                            .a_bytes = 2,
                            .b_bytes = 2,
                            .acc_bytes = 4,
                            .out_bytes = 2};
      struct tsr_target t = {.flow = (enum tsr_dataflow)flow,
                             .rows = 128,
                             .cols = 128,
                             .preload = true,
                             .rate = 1,
                             .slot_bytes = {1 << 20, 1 << 20, 1 << 20},
                             .slots = {2, 2, 2},
                             .burst_bytes = 64,
                             .dram_bytes_per_cycle = 600,
                             .latency_cycles = 100};
      struct tsr_mapping m;
      assert_int_equal(tsr_mapping_template(&s, &t, "l", &m, NULL), TSR_OK);
      check_fits(&s, &t, &m);
      check_loops(&s, &m);
      check_rules(&s, &t, &m);
    }
}

static void equal_input_gives_equal_output(void **state) {
  (void)state;
  struct tsr_rng r = {22};
  for (int i = 0; i < 200; i++) {
    struct tsr_shape s = random_shape(&r, 200, 12);
    struct tsr_target t = shapes_target(&r, 100, 5000);
    struct tsr_mapping a, b;
    memset(&a, 1, sizeof a);
    memset(&b, 2, sizeof b);
    if (tsr_mapping_template(&s, &t, "one", &a, NULL)) continue;
    assert_int_equal(tsr_mapping_template(&s, &t, "other", &b, NULL), TSR_OK);
    assert_memory_equal(a.tile, b.tile, sizeof a.tile);
    assert_int_equal(a.n_loops, b.n_loops);
    for (uint32_t l = 0; l < a.n_loops; l++) {
      assert_int_equal(a.loop[l].axis, b.loop[l].axis);
      assert_int_equal(a.loop[l].trips, b.loop[l].trips);
    }
    assert_int_equal(a.k_cut, b.k_cut);
  }
}

static void what_does_not_fit_is_told(void **state) {
  (void)state;
  static const struct {
    uint64_t slot[3];
    const char *says;
  } rows[] = {{{1, 4096, 4096}, "scratchpad a needs 2B, a buffer holds 1B"},
              {{4096, 1, 4096}, "scratchpad b needs 2B, a buffer holds 1B"},
              {{4096, 4096, 3}, "scratchpad c needs 4B, a buffer holds 3B"}};
  struct tsr_shape s = {.size = {1, 1, 1, 50, 50, 1, 1, 50},
                        .a_bytes = 2,
                        .b_bytes = 2,
                        .acc_bytes = 4,
                        .out_bytes = 2};
  for (size_t i = 0; i < LEN(rows); i++)
    for (int flow = 0; flow < 3; flow++) {
      struct tsr_target t = {.flow = (enum tsr_dataflow)flow,
                             .rows = 8,
                             .cols = 8,
                             .rate = 1,
                             .slots = {2, 2, 2},
                             .burst_bytes = 64,
                             .dram_bytes_per_cycle = 8};
      memcpy(t.slot_bytes, rows[i].slot, sizeof t.slot_bytes);
      struct tsr_err err = TSR_ERR_INIT;
      struct tsr_mapping m, before;
      memset(&m, 3, sizeof m);
      before = m;
      assert_int_equal(tsr_mapping_template(&s, &t, "fc7", &m, &err), TSR_INPUT);
      assert_int_equal(err.total, 1);
      assert_non_null(strstr(err.msg[0], "'fc7'"));
      assert_non_null(strstr(err.msg[0], tsr_flow_names[flow]));
      if (!strstr(err.msg[0], rows[i].says)) fail_msg("%s", err.msg[0]);
      assert_memory_equal(&m, &before, sizeof m);
      tsr_err_fini(&err);
    }
}

/* The least buffers that a matmul needs: one element each. */
static void one_element_of_room_is_enough_for_a_matmul(void **state) {
  (void)state;
  struct tsr_rng r = {23};
  for (int i = 0; i < 300; i++) {
    struct tsr_shape s = shapes_gemm(&r, 40);
    struct tsr_target t = shapes_target(&r, 4, 4);
    struct tsr_mapping m;
    assert_int_equal(tsr_mapping_template(&s, &t, "l", &m, NULL), TSR_OK);
    check_fits(&s, &t, &m);
    check_loops(&s, &m);
    check_rules(&s, &t, &m);
  }
}

/* Folds along one axis, tile by tile; unit 0 counts tiles. */
static uint64_t folds_along(uint64_t size, uint64_t tile, uint64_t per, uint64_t unit) {
  uint64_t sum = 0;
  for (uint64_t at = 0; at < size; at += tile)
    sum += unit ? tsr_ceil_div(tsr_min_u64(tile, size - at) * per, unit) : 1;
  return sum;
}
/* The same along m or k, whose three axes the tiles cut. */
static uint64_t folds_along3(const uint64_t *size, const uint64_t *tile, uint64_t unit) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < size[0]; i += tile[0])
    for (uint64_t j = 0; j < size[1]; j += tile[1])
      sum += folds_along(size[2], tile[2],
                         tsr_min_u64(tile[0], size[0] - i) * tsr_min_u64(tile[1], size[1] - j),
                         unit);
  return sum;
}

static uint64_t folds_of(const struct tsr_shape *s, const struct tsr_target *t,
                         const uint64_t *tile) {
  const uint64_t *z = s->size;
  uint64_t R = t->rows, C = t->cols, Rk = R * t->rate;
  uint64_t m_R = folds_along3(&z[TSR_AXIS_B], &tile[TSR_AXIS_B], R);
  uint64_t m_C = folds_along3(&z[TSR_AXIS_B], &tile[TSR_AXIS_B], C);
  uint64_t m_1 = folds_along3(&z[TSR_AXIS_B], &tile[TSR_AXIS_B], 0);
  uint64_t k = folds_along3(&z[TSR_AXIS_KH], &tile[TSR_AXIS_KH], Rk);
  uint64_t n_C = folds_along(z[TSR_AXIS_N], tile[TSR_AXIS_N], 1, C);
  uint64_t n_1 = folds_along(z[TSR_AXIS_N], tile[TSR_AXIS_N], 1, 0);
  switch (t->flow) {
  case TSR_FLOW_OS: return z[TSR_AXIS_G] * m_R * n_C; /* a fold waits for all of k */
  case TSR_FLOW_WS: return z[TSR_AXIS_G] * m_1 * k * n_C;
  default: return z[TSR_AXIS_G] * n_1 * k * m_C;
  }
}

static void room_enough_needs_no_more_folds_than_the_formula(void **state) {
  (void)state;
  struct tsr_rng r = {24};
  for (int i = 0; i < 600; i++) {
    struct tsr_shape s = random_shape(&r, i % 10 ? 100 : 3000, 14);
    struct tsr_target t = shapes_target(&r, HUGE_SLOT, HUGE_SLOT);
    t.preload = false;
    if (i % 3 == 0) t.rows = t.cols = 32;
    struct tsr_mapping m;
    assert_int_equal(tsr_mapping_template(&s, &t, "l", &m, NULL), TSR_OK);
    assert_true(folds_of(&s, &t, m.tile) <= folds_of(&s, &t, s.size));
    uint64_t M = tsr_shape_m(&s), K = tsr_shape_k(&s), N = s.size[TSR_AXIS_N];
    uint64_t rows =
        t.flow == TSR_FLOW_OS ? tsr_ceil_div(M, t.rows) : tsr_ceil_div(K, t.rows * t.rate);
    uint64_t cols = tsr_ceil_div(t.flow == TSR_FLOW_IS ? M : N, t.cols);
    assert_int_equal(folds_of(&s, &t, s.size), s.size[TSR_AXIS_G] * rows * cols);
  }
}

static void more_room_is_never_refused(void **state) {
  (void)state;
  struct tsr_rng r = {25};
  for (int i = 0; i < 300; i++) {
    struct tsr_shape s = random_shape(&r, 60, 10);
    struct tsr_target t = shapes_target(&r, 4, 600);
    struct tsr_mapping m;
    if (tsr_mapping_template(&s, &t, "l", &m, NULL)) continue;
    for (int b = 0; b < 3; b++) t.slot_bytes[b] += tsr_rng_range(&r, 0, 500);
    assert_int_equal(tsr_mapping_template(&s, &t, "l", &m, NULL), TSR_OK);
  }
}

static void the_line_names_loops_and_tiles(void **state) {
  (void)state;
  struct tsr_shape s = {.size = {1, 1, 1, 300, 50, 1, 1, 70},
                        .a_bytes = 2,
                        .b_bytes = 2,
                        .acc_bytes = 4,
                        .out_bytes = 2};
  struct tsr_mapping m = {.flow = TSR_FLOW_WS,
                          .tile = {1, 1, 1, 100, 50, 1, 1, 35},
                          .n_loops = 2,
                          .loop = {{TSR_AXIS_OW, 100, 3}, {TSR_AXIS_C, 35, 2}}};
  struct tsr_str out = TSR_STR_INIT;
  tsr_mapping_print(&s, &m, &out);
  assert_string_equal(out.p, "ws m:3x100 k:2x35 tile 100x50x35");
  tsr_str_fini(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_operators_get_sound_mappings),
      cmocka_unit_test(large_operators_get_sound_mappings),
      cmocka_unit_test(equal_input_gives_equal_output),
      cmocka_unit_test(what_does_not_fit_is_told),
      cmocka_unit_test(one_element_of_room_is_enough_for_a_matmul),
      cmocka_unit_test(room_enough_needs_no_more_folds_than_the_formula),
      cmocka_unit_test(more_room_is_never_refused),
      cmocka_unit_test(the_line_names_loops_and_tiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
