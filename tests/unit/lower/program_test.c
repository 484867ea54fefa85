/* Lowered programs do the work of their operator, element by element. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "interp.h"
#include "sim/base/mem.h"
#include "tests/support/shapes.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static struct tsr_layout layout_for(const struct tsr_target *t) {
  struct tsr_layout l = {.base_bytes = {4096, 1 << 20, 7},
                         .rate = t->rate,
                         .formats = {"fp16", "bf16", "fp32", "tf32"}};
  memcpy(l.slots, t->slots, sizeof l.slots);
  memcpy(l.slot_bytes, t->slot_bytes, sizeof l.slot_bytes);
  return l;
}

static void print_shape(const struct tsr_shape *s, const struct tsr_mapping *m,
                        const char *wrong) {
  struct tsr_str out = TSR_STR_INIT;
  tsr_mapping_print(s, m, &out);
  for (int x = 0; x < TSR_AXIS_COUNT; x++)
    tsr_str_addf(&out, " %s=%d/%d", tsr_isa_axis_names[x], (int)s->size[x], (int)m->tile[x]);
  if (s->conv)
    tsr_str_addf(&out, " in %dx%d stride %dx%d dil %dx%d pad %d,%d", (int)s->in_h, (int)s->in_w,
                 (int)s->stride_h, (int)s->stride_w, (int)s->dil_h, (int)s->dil_w,
                 (int)s->pad_t, (int)s->pad_l);
  print_error("%s: %s\n", wrong, out.p ? out.p : "");
  tsr_str_fini(&out);
}

static const char *interpret(const struct tsr_program *p, const struct tsr_shape *s,
                             const struct tsr_mapping *m, const struct tsr_layout *l,
                             struct interp_counts *n) {
  return interp_run(
      &(struct interp_job){.s = s, .m = m, .layout = l, .cores = 1, .program = &p}, n);
}

static void check_one(const struct tsr_shape *s, const struct tsr_mapping *m,
                      const struct tsr_layout *l, struct interp_counts *n) {
  struct tsr_program p = {0};
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_lower_program(s, m, l, NULL, &p, &err), TSR_OK);
  assert_int_equal(tsr_isa_check(&p, &err), TSR_OK);
  const char *wrong = interpret(&p, s, m, l, n);
  if (wrong) print_shape(s, m, wrong);
  assert_null(wrong);
  tsr_isa_program_fini(&p);
}

static void run_random(uint64_t seed, int count, bool conv) {
  struct tsr_rng r = {seed};
  int done = 0, tiled = 0;
  for (int i = 0; i < 20 * count && done < count; i++) {
    struct tsr_shape s = conv ? shapes_conv(&r, 7) : shapes_gemm(&r, 24);
    struct tsr_target t = shapes_target(&r, 4, i % 3 ? 300 : 60);
    if (s.size[TSR_AXIS_G] * tsr_shape_m(&s) * tsr_shape_k(&s) * s.size[TSR_AXIS_N] > 60000)
      continue;
    struct tsr_mapping m;
    if (tsr_mapping_template(&s, &t, "l", &m, NULL)) continue;
    struct tsr_layout l = layout_for(&t);
    check_one(&s, &m, &l, NULL);
    done++;
    tiled += m.n_loops > 1;
  }
  assert_int_equal(done, count);
  assert_true(tiled > count / 3); /* loops were put to work */
}

/* The parts of several cores make up the whole, and overlap nowhere. */
static void check_parts(const struct tsr_shape *s, const struct tsr_target *t,
                        enum tsr_split_kind kind, uint64_t cores, unsigned *several) {
  enum { CORES = 8 };
  struct tsr_split split;
  struct tsr_mapping m;
  struct tsr_program p[CORES] = {{0}};
  const struct tsr_program *list[CORES];
  struct tsr_part part[CORES];
  if (tsr_mapping_split(s, t, kind, cores, "l", &split, &m, NULL)) return;
  uint64_t n = tsr_split_cores(&split);
  assert_in_range(n, 1, cores);
  for (int i = 0; i < 2; i++) /* sums of several cores: tests/unit/run has them by value */
    if (split.axis[i] >= TSR_AXIS_KH && split.parts[i] > 1) return;
  struct tsr_layout l = layout_for(t);
  for (uint64_t c = 0; c < n; c++) {
    part[c] = tsr_split_part(s, &split, c);
    const struct tsr_lower_core core = {split, c};
    assert_int_equal(tsr_lower_program(s, &m, &l, &core, &p[c], NULL), TSR_OK);
    assert_int_equal(tsr_isa_check(&p[c], NULL), TSR_OK);
    list[c] = &p[c];
  }
  const struct interp_job j = {
      .s = s, .m = &m, .layout = &l, .cores = n, .program = list, .part = part};
  const char *wrong = interp_run(&j, NULL);
  if (wrong) {
    print_error("%s of %d cores, part 0 of axes %d, %d\n", tsr_split_names[kind], (int)n,
                split.axis[0], split.axis[1]);
    print_shape(s, &m, wrong);
  }
  assert_null(wrong);
  for (uint64_t c = 0; c < n; c++) tsr_isa_program_fini(&p[c]);
  *several += n > 1;
}

static void parts_of_several_cores_make_up_the_whole(void **state) {
  (void)state;
  static const enum tsr_split_kind kinds[] = {TSR_SPLIT_AUTO, TSR_SPLIT_BATCH, TSR_SPLIT_HEADS,
                                              TSR_SPLIT_M, TSR_SPLIT_N};
  static const uint64_t cores[] = {1, 2, 4, 7};
  struct tsr_rng r = {34};
  unsigned several = 0;
  for (int i = 0; i < 120; i++) {
    struct tsr_shape s = i % 2 ? shapes_conv(&r, 6) : shapes_gemm(&r, 20);
    struct tsr_target t = shapes_target(&r, 4, 300);
    if (s.size[TSR_AXIS_G] * tsr_shape_m(&s) * tsr_shape_k(&s) * s.size[TSR_AXIS_N] > 30000)
      continue;
    for (size_t k = 0; k < LEN(kinds); k++)
      check_parts(&s, &t, kinds[k], cores[(size_t)(i / 2) % LEN(cores)], &several);
  }
  print_message("%u layers on several cores\n", several);
  assert_true(several > 150);
}

static void random_matmuls_are_computed_once_from_what_is_loaded(void **state) {
  (void)state;
  run_random(31, 500, false);
}
static void random_convolutions_are_computed_once_from_what_is_loaded(void **state) {
  (void)state;
  run_random(32, 700, true);
}

/* Geometries that tend to go wrong, each under every dataflow and buffer size. */
static void awkward_convolutions_are_computed(void **state) {
  (void)state;
  static const struct {
    uint64_t b, g, c, n, in, k, stride, dil, pad, out;
  } rows[] = {
      {1, 1, 3, 4, 7, 1, 3, 1, 0, 3}, /* stride above the filter */
      {1, 1, 2, 3, 9, 2, 4, 1, 0, 2}, /* and rows between that nobody needs */
      {2, 1, 2, 2, 5, 3, 1, 1, 1, 5}, /* padded on both sides */
      {1, 1, 2, 2, 2, 3, 1, 1, 2, 4}, /* filter larger than the image */
      {1, 1, 1, 1, 7, 3, 1, 3, 0, 1}, /* dilated over the whole of it */
      {1, 1, 2, 2, 6, 3, 2, 2, 3, 4}, /* dilated, strided and padded */
      {1, 4, 1, 1, 5, 3, 1, 1, 1, 5}, /* depthwise */
      {2, 3, 1, 2, 4, 2, 2, 1, 0, 2}, /* depthwise with a multiplier */
      {1, 3, 2, 4, 4, 3, 1, 1, 1, 4}, /* groups */
      {3, 1, 1, 1, 1, 1, 1, 1, 0, 1}, /* a single pixel */
      {1, 1, 1, 1, 3, 1, 1, 1, 2, 7}, /* padding around a filter of one place */
      {1, 1, 1, 2, 8, 1, 5, 1, 2, 3},
  };
  unsigned mapped = 0;
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint64_t room = 4; room <= 2048; room *= 2)
      for (int flow = 0; flow < 3; flow++) {
        struct tsr_shape s = {.size = {rows[i].g, rows[i].b, rows[i].out, rows[i].out,
                                       rows[i].n, rows[i].k, rows[i].k, rows[i].c},
                              .conv = true,
                              .in_h = rows[i].in,
                              .in_w = rows[i].in,
                              .stride_h = rows[i].stride,
                              .stride_w = rows[i].stride,
                              .dil_h = rows[i].dil,
                              .dil_w = rows[i].dil,
                              .pad_t = rows[i].pad,
                              .pad_l = rows[i].pad,
                              .a_bytes = 2,
                              .b_bytes = 2,
                              .acc_bytes = 4,
                              .out_bytes = 2};
        struct tsr_target t = {.flow = (enum tsr_dataflow)flow,
                               .rows = 4,
                               .cols = 4,
                               .rate = 1,
                               .slot_bytes = {room, room, room},
                               .slots = {2, 2, 2},
                               .burst_bytes = 64,
                               .dram_bytes_per_cycle = 16};
        struct tsr_mapping m;
        if (tsr_mapping_template(&s, &t, "l", &m, NULL)) continue;
        struct tsr_layout l = layout_for(&t);
        check_one(&s, &m, &l, NULL);
        mapped++;
      }
  assert_true(mapped > 200);
}

/* A buffer is filled as often as the loops down to its own innermost one turn. */
static void tiles_are_moved_no_more_than_the_loops_ask(void **state) {
  (void)state;
  static const struct {
    struct tsr_map_loop loop[3];
    uint32_t n;
    uint64_t a, b, stores, mms;
  } rows[] = {
      {{{0, 0, 0}}, 0, 1, 1, 1, 1},
      {{{TSR_AXIS_OW, 4, 3}}, 1, 3, 1, 3, 3}, /* weights stay */
      {{{TSR_AXIS_N, 4, 3}}, 1, 1, 3, 3, 3},  /* inputs stay */
      {{{TSR_AXIS_C, 4, 3}}, 1, 3, 3, 1, 3},  /* outputs stay */
      {{{TSR_AXIS_N, 4, 3}, {TSR_AXIS_OW, 4, 3}}, 2, 9, 3, 9, 9},
      {{{TSR_AXIS_OW, 4, 3}, {TSR_AXIS_N, 4, 3}}, 2, 3, 9, 9, 9},
      {{{TSR_AXIS_OW, 4, 3}, {TSR_AXIS_C, 4, 3}}, 2, 9, 9, 3, 9},
      {{{TSR_AXIS_OW, 4, 3}, {TSR_AXIS_N, 4, 3}, {TSR_AXIS_C, 4, 3}}, 3, 27, 27, 9, 27},
  };
  struct tsr_shape s = {.size = {1, 1, 1, 12, 12, 1, 1, 12},
                        .a_bytes = 2,
                        .b_bytes = 2,
                        .acc_bytes = 4,
                        .out_bytes = 2};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_mapping m = {.flow = TSR_FLOW_WS, .n_loops = rows[i].n};
    memcpy(m.tile, s.size, sizeof m.tile);
    for (uint32_t l = 0; l < rows[i].n; l++) {
      m.loop[l] = rows[i].loop[l];
      m.tile[m.loop[l].axis] = m.loop[l].tile;
    }
    struct tsr_layout l = {.base_bytes = {0, 4096, 8192},
                           .slots = {2, 2, 2},
                           .slot_bytes = {2048, 2048, 2048},
                           .rate = 1,
                           .formats = {"fp16", "fp16", "fp32", "fp16"}};
    struct interp_counts n;
    check_one(&s, &m, &l, &n);
    assert_int_equal(n.loads[0], rows[i].a);
    assert_int_equal(n.loads[1], rows[i].b);
    assert_int_equal(n.stores, rows[i].stores);
    assert_int_equal(n.mms, rows[i].mms);
  }
}

/* How a place advances depends on whether trips are a multiple of the buffers. */
static size_t others_than_advance(const struct tsr_program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) n += p->inst[i].op != TSR_ISA_ADVANCE;
  return n;
}

static void length_follows_the_loops_and_not_the_work(void **state) {
  (void)state;
  struct tsr_rng r = {33};
  for (int i = 0; i < 300; i++) {
    struct tsr_shape s = i % 2 ? shapes_conv(&r, 7) : shapes_gemm(&r, 24);
    struct tsr_target t = shapes_target(&r, 4, 200);
    struct tsr_mapping m;
    if (tsr_mapping_template(&s, &t, "l", &m, NULL)) continue;
    struct tsr_layout l = layout_for(&t);
    struct tsr_program p = {0}, q = {0};
    assert_int_equal(tsr_lower_program(&s, &m, &l, NULL, &p, NULL), TSR_OK);
    for (uint32_t j = 0; j < m.n_loops; j++) { /* the same tiles, a thousand times more */
      s.size[m.loop[j].axis] *= 1000;
      m.loop[j].trips = tsr_ceil_div(s.size[m.loop[j].axis], m.loop[j].tile);
    }
    s.in_h *= 1000;
    s.in_w *= 1000;
    assert_int_equal(tsr_lower_program(&s, &m, &l, NULL, &q, NULL), TSR_OK);
    assert_int_equal(others_than_advance(&q), others_than_advance(&p));
    assert_true(q.n <= 96 + 16 * (size_t)m.n_loops);
    tsr_isa_program_fini(&p);
    tsr_isa_program_fini(&q);
  }
}

/* The interpreter finds a program that lacks any one of its instructions, or has a
 * wrong number in it: what it passes means something. */
static void a_mutated_program_is_found_out(void **state) {
  (void)state;
  static const struct tsr_shape shapes[] = {{.size = {2, 1, 1, 8, 9, 1, 1, 10},
                                             .a_bytes = 2,
                                             .b_bytes = 2,
                                             .acc_bytes = 4,
                                             .out_bytes = 2},
                                            {.size = {1, 2, 4, 4, 6, 3, 3, 6},
                                             .conv = true,
                                             .in_h = 6,
                                             .in_w = 6,
                                             .stride_h = 1,
                                             .stride_w = 1,
                                             .dil_h = 1,
                                             .dil_w = 1,
                                             .a_bytes = 2,
                                             .b_bytes = 2,
                                             .acc_bytes = 4,
                                             .out_bytes = 2}};
  struct tsr_target t = {.flow = TSR_FLOW_WS,
                         .rows = 4,
                         .cols = 4,
                         .rate = 1,
                         .slot_bytes = {60, 60, 60},
                         .slots = {2, 2, 2}, /* with one of b a ring of a would not matter */
                         .burst_bytes = 64,
                         .dram_bytes_per_cycle = 16};
  unsigned mutants = 0;
  for (size_t i = 0; i < LEN(shapes); i++) {
    const struct tsr_shape *s = &shapes[i];
    struct tsr_mapping m;
    struct tsr_program p = {0};
    struct tsr_layout l = layout_for(&t);
    assert_int_equal(tsr_mapping_template(s, &t, "l", &m, NULL), TSR_OK);
    assert_true(m.n_loops >= 3);
    assert_int_equal(tsr_lower_program(s, &m, &l, NULL, &p, NULL), TSR_OK);
    assert_null(interpret(&p, s, &m, &l, NULL));
    for (size_t at = 0; at + 1 < p.n; at++) {
      struct tsr_inst *in = &p.inst[at], keep = *in;
      if (in->op == TSR_ISA_LOOP || in->op == TSR_ISA_END) continue; /* the check's subject */
      *in = (struct tsr_inst){.op = TSR_ISA_SEM, .f = {15, 0}};      /* nothing */
      if (!interpret(&p, s, &m, &l, NULL)) {
        struct tsr_str text = TSR_STR_INIT;
        *in = keep;
        tsr_isa_disasm(&p, &text);
        fail_msg("shape %zu: %zu is not needed\n%s", i, at, text.p);
      }
      *in = keep;
      mutants++;
      int j = in->op == TSR_ISA_WALK                            ? 3
              : in->op == TSR_ISA_BOX || in->op == TSR_ISA_AXIS ? 2
                                                                : -1;
      if (j < 0) continue;
      in->f[j]--;
      if (in->f[j] > 0 && !interpret(&p, s, &m, &l, NULL))
        fail_msg("shape %zu: %zu may be one less", i, at);
      *in = keep;
    }
    tsr_isa_program_fini(&p);
  }
  assert_true(mutants > 60);
}

static void running_out_of_memory_is_told(void **state) {
  (void)state;
  struct tsr_shape s = {.size = {1, 1, 1, 12, 12, 1, 1, 12},
                        .a_bytes = 2,
                        .b_bytes = 2,
                        .acc_bytes = 4,
                        .out_bytes = 2};
  struct tsr_mapping m = {.tile = {1, 1, 1, 12, 12, 1, 1, 12}};
  struct tsr_layout l = {.slots = {2, 2, 2},
                         .slot_bytes = {2048, 2048, 2048},
                         .rate = 1,
                         .formats = {"fp16", "fp16", "fp32", "fp16"}};
  for (uint64_t nth = 1;; nth++) {
    struct tsr_program p = {0};
    tsr_mem_fail_at(nth, false);
    enum tsr_status st = tsr_lower_program(&s, &m, &l, NULL, &p, NULL);
    bool reached = tsr_mem_calls() >= nth;
    tsr_mem_fail_at(0, false);
    assert_int_equal(st, reached ? TSR_NOMEM : TSR_OK);
    if (st) assert_null(p.inst);
    tsr_isa_program_fini(&p);
    if (!reached) break;
    assert_true(nth < 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_matmuls_are_computed_once_from_what_is_loaded),
      cmocka_unit_test(random_convolutions_are_computed_once_from_what_is_loaded),
      cmocka_unit_test(parts_of_several_cores_make_up_the_whole),
      cmocka_unit_test(awkward_convolutions_are_computed),
      cmocka_unit_test(tiles_are_moved_no_more_than_the_loops_ask),
      cmocka_unit_test(length_follows_the_loops_and_not_the_work),
      cmocka_unit_test(a_mutated_program_is_found_out),
      cmocka_unit_test(running_out_of_memory_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
