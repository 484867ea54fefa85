/* The walk over a box against an enumeration of its elements one by one. */
#include "fake.h"

#include "models/dma/walk.h"
#include "sim/base/mem.h"

enum { BURSTS_MAX = 1 << 16 };

struct slow {
  uint64_t burst[BURSTS_MAX], n, elems;
};

static void slow_element(struct slow *s, uint64_t addr, uint64_t bytes, uint64_t burst_bytes) {
  s->elems++;
  for (uint64_t b = 0; b < bytes; b++) {
    uint64_t k = (addr + b) / burst_bytes * burst_bytes;
    if (s->n && s->burst[s->n - 1] == k) continue; /* neighbours share it */
    assert_true(s->n < BURSTS_MAX);
    s->burst[s->n++] = k;
  }
}

static void slow_dim(struct slow *s, const struct tsr_box *x, const uint64_t *index, uint32_t i,
                     uint64_t addr, uint64_t burst_bytes) {
  if (i == x->rank) {
    slow_element(s, addr, x->elem_bytes, burst_bytes);
    return;
  }
  for (uint64_t j = 0; j < x->extent[i]; j++) {
    int64_t at = x->start[i] + (int64_t)(j * x->step[i]);
    if (i == 0 && index) at = (int64_t)index[j];
    if (at < 0 || (uint64_t)at >= x->size[i]) continue;
    slow_dim(s, x, index, i + 1, addr + (uint64_t)at * x->stride_bytes[i], burst_bytes);
  }
}

static void compare(const struct tsr_box *x, const uint64_t *index, uint64_t burst_bytes) {
  static struct slow s;
  s.n = s.elems = 0;
  slow_dim(&s, x, index, 0, x->base_bytes, burst_bytes);
  struct tsri_walk w;
  tsri_walk_init(&w, x, index, burst_bytes);
  assert_int_equal(w.useful_bytes, s.elems * x->elem_bytes);
  assert_int_equal(w.empty, s.elems == 0);
  uint64_t addr;
  for (uint64_t i = 0; i < s.n; i++) {
    assert_true(tsri_walk_next(&w, &addr));
    assert_int_equal(addr, s.burst[i]);
  }
  assert_false(tsri_walk_next(&w, &addr));
  assert_false(tsri_walk_next(&w, &addr)); /* and it stays at the end */
}

/* Row-major, rows sometimes padded. */
static struct tsr_box random_box(struct tsr_rng *r, bool inside) {
  struct tsr_box x = {.base_bytes = tsr_rng_range(r, 0, 300),
                      .rank = (uint32_t)tsr_rng_range(r, 1, 4),
                      .elem_bytes = (uint32_t)tsr_rng_range(r, 1, 9)};
  uint64_t stride = x.elem_bytes;
  for (uint32_t i = x.rank; i-- > 0;) {
    x.size[i] = tsr_rng_range(r, 1, 9);
    x.stride_bytes[i] = stride;
    stride *= x.size[i];
    if (tsr_rng_range(r, 0, 3) == 0) stride += tsr_rng_range(r, 0, 70);
    int64_t lo = inside ? 0 : -12;
    x.start[i] = lo + (int64_t)tsr_rng_range(r, 0, x.size[i] + (inside ? 0 : 14));
    x.extent[i] = tsr_rng_range(r, 1, 12);
    x.step[i] = tsr_rng_range(r, 0, 2) ? 1 : tsr_rng_range(r, 1, 5);
  }
  return x;
}

static void random_boxes_walk_as_enumerated(void **state) {
  (void)state;
  struct tsr_rng r = {1};
  for (int i = 0; i < 6000; i++) {
    struct tsr_box x = random_box(&r, i % 2);
    compare(&x, NULL, tsr_rng_range(&r, 1, 96));
    compare(&x, NULL, 64);
  }
}

/* Rows in any order, some twice, some outside, some neighbours. */
static void listed_places_walk_as_enumerated(void **state) {
  (void)state;
  struct tsr_rng r = {2};
  uint64_t inside = 0, empty = 0;
  for (int i = 0; i < 4000; i++) {
    struct tsr_box x = random_box(&r, i % 2);
    uint64_t index[40];
    x.extent[0] = tsr_rng_range(&r, 1, LEN(index));
    x.start[0] = -77; /* not looked at, nor the step */
    x.step[0] = 0;
    for (uint64_t j = 0; j < x.extent[0]; j++)
      index[j] = j && tsr_rng_range(&r, 0, 1) ? index[j - 1] + 1
                                              : tsr_rng_range(&r, 0, x.size[0] + i % 3);
    for (uint64_t j = 0; j < x.extent[0]; j++) inside += index[j] < x.size[0];
    compare(&x, index, tsr_rng_range(&r, 1, 96));
    compare(&x, index, 64);
    struct tsri_walk w;
    tsri_walk_init(&w, &x, index, 64);
    empty += w.empty;
  }
  assert_true(inside > 10000 && empty > 10); /* both were met */
}

static void boxes_are_clipped_at_every_edge(void **state) {
  (void)state;
  for (int64_t start = -7; start <= 7; start++)
    for (uint64_t extent = 1; extent <= 9; extent++)
      for (uint64_t step = 1; step <= 4; step++)
        for (uint64_t size = 1; size <= 5; size++) {
          struct tsr_box x = {.base_bytes = 3,
                              .rank = 2,
                              .elem_bytes = 2,
                              .size = {size, 4},
                              .stride_bytes = {8, 2},
                              .start = {start, 1},
                              .extent = {extent, 2},
                              .step = {step, 1}};
          compare(&x, NULL, 4);
          struct tsr_box y = {.base_bytes = 3,
                              .rank = 2,
                              .elem_bytes = 2,
                              .size = {4, size},
                              .stride_bytes = {2 * size, 2},
                              .start = {-1, start},
                              .extent = {4, extent},
                              .step = {1, step}};
          compare(&y, NULL, 8);
        }
}

static void touching_dimensions_become_one_run(void **state) {
  (void)state;
  static const struct {
    struct tsr_box box;
    uint32_t rank;
    uint64_t run_bytes;
  } rows[] = {
      /* whole rows of a dense tensor: one run */
      {{0, 3, 2, {4, 5, 6}, {60, 12, 2}, {1, 0, 0}, {2, 5, 6}, {1, 1, 1}}, 0, 120},
      /* part of the last dimension: a run a row */
      {{0, 3, 2, {4, 5, 6}, {60, 12, 2}, {0, 0, 0}, {2, 5, 3}, {1, 1, 1}}, 2, 6},
      {{0, 3, 2, {4, 5, 6}, {60, 12, 2}, {0, 0, 0}, {2, 3, 3}, {1, 1, 1}}, 2, 6},
      /* a dimension of one element takes no loop */
      {{0, 3, 2, {4, 5, 6}, {60, 12, 2}, {0, 2, 0}, {3, 1, 6}, {1, 1, 1}}, 1, 12},
      /* … nor a break, whatever its step */
      {{0, 3, 2, {4, 1, 6}, {12, 12, 2}, {0, 0, 0}, {4, 1, 6}, {1, 5, 1}}, 0, 48},
      /* padding after each row stands between the runs */
      {{0, 2, 2, {4, 6}, {16, 2}, {0, 0}, {4, 6}, {1, 1}}, 1, 12},
      /* every second element: a run an element */
      {{0, 1, 4, {9}, {4}, {0}, {5}, {2}}, 1, 4},
      /* clipped to one element each: a single one */
      {{0, 2, 4, {3, 3}, {12, 4}, {-4, 2}, {5, 9}, {1, 1}}, 0, 4},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsri_walk w;
    tsri_walk_init(&w, &rows[i].box, NULL, 64);
    assert_int_equal(w.rank, rows[i].rank);
    assert_int_equal(w.run_bytes, rows[i].run_bytes);
    compare(&rows[i].box, NULL, 64);
  }
}

static void a_box_outside_the_tensor_is_empty(void **state) {
  (void)state;
  static const struct {
    int64_t start;
    uint64_t extent, step;
  } rows[] = {{-3, 3, 1},        {5, 1, 1},
              {-4, 2, 2},        {-1, 2, 7},
              {INT64_MIN, 4, 1}, {INT64_MIN, UINT64_MAX, 1},
              {INT64_MAX, 2, 1}, {-1, 2, UINT64_MAX >> 1}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_box x = {.rank = 1,
                        .elem_bytes = 4,
                        .size = {5},
                        .stride_bytes = {4},
                        .start = {rows[i].start},
                        .extent = {rows[i].extent},
                        .step = {rows[i].step}};
    bool reaches = rows[i].start == INT64_MIN && rows[i].extent == UINT64_MAX;
    struct tsri_walk w;
    uint64_t addr, n = 0;
    tsri_walk_init(&w, &x, NULL, 64);
    while (tsri_walk_next(&w, &addr)) n++;
    assert_int_equal(w.useful_bytes, reaches ? 20 : 0);
    assert_int_equal(n, reaches ? 1 : 0);
  }
}

static void neighbours_share_the_burst_they_touch(void **state) {
  (void)state;
  static const struct {
    uint64_t base, run_elems, rows, stride, bursts;
  } rows[] = {
      {0, 16, 4, 64, 4},  /* a burst each */
      {32, 16, 4, 64, 5}, /* straddling: the end of one is the start of the next */
      {0, 8, 4, 32, 2},   /* two runs a burst */
      {0, 1, 16, 8, 2},   /* eight runs a burst */
      {60, 2, 1, 64, 2},  /* one run over an edge */
      {60, 2, 2, 64, 3},  {0, 4, 3, 128, 3},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_box x = {.base_bytes = rows[i].base,
                        .rank = 2,
                        .elem_bytes = 4,
                        .size = {rows[i].rows, rows[i].run_elems},
                        .stride_bytes = {rows[i].stride, 4},
                        .extent = {rows[i].rows, rows[i].run_elems},
                        .step = {1, 1}};
    struct tsri_walk w;
    uint64_t addr, n = 0;
    tsri_walk_init(&w, &x, NULL, 64);
    while (tsri_walk_next(&w, &addr)) n++;
    assert_int_equal(n, rows[i].bursts);
    compare(&x, NULL, 64);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_boxes_walk_as_enumerated),
      cmocka_unit_test(listed_places_walk_as_enumerated),
      cmocka_unit_test(boxes_are_clipped_at_every_edge),
      cmocka_unit_test(touching_dimensions_become_one_run),
      cmocka_unit_test(a_box_outside_the_tensor_is_empty),
      cmocka_unit_test(neighbours_share_the_burst_they_touch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
