/* vector: lanes, passes, trees, ports, against a model that counts cycle by cycle. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

#include "models/arith/vector.h"
#include "sim/base/mem.h"

struct shape { /* of a unit */
  uint64_t lanes, latency, tree, rate[TSR_VEC_CLASS_N_];
  bool pack;
};
struct rig {
  struct fake f;
  struct tsr_instance a, b, c, unit;
};

#define FREE "{size: 1MiB, width: unlimited}"

static void rig_open(struct rig *r, const struct shape *x, const char *a, const char *b,
                     const char *c) {
  char text[512];
  const uint64_t *k = x->rate;
  snprintf(text, sizeof text,
           "{lanes: %llu, latency: %llu, tree: %llu, pack: %s, rates: {move: %llu, simple: "
           "%llu, mul: %llu, div: %llu, special: %llu}, ops: {log: 9}}",
           (unsigned long long)x->lanes, (unsigned long long)x->latency,
           (unsigned long long)x->tree, x->pack ? "true" : "false", (unsigned long long)k[0],
           (unsigned long long)k[1], (unsigned long long)k[2], (unsigned long long)k[3],
           (unsigned long long)k[4]);
  fake_open(&r->f, 1000000000);
  fake_make(&r->f, &r->a, "sram", a, NULL, NULL, NULL);
  fake_make(&r->f, &r->b, "sram", b, NULL, NULL, NULL);
  fake_make(&r->f, &r->c, "sram", c, NULL, NULL, NULL);
  fake_make(&r->f, &r->unit, "vector", text, &r->a, &r->b, &r->c);
}
static void rig_run(struct rig *r, struct ask *asks, size_t n) {
  fake_chain(&r->f, &r->unit, asks, n, 0);
  fake_run(&r->f);
  fake_check(asks, n);
  r->unit.ops->unit->end(r->unit.state);
}
static void rig_close(struct rig *r) {
  fake_drop(&r->unit);
  fake_drop(&r->a);
  fake_drop(&r->b);
  fake_drop(&r->c);
  fake_close(&r->f);
}

static uint64_t cycles(uint64_t fs) {
  assert_int_equal(fs % NS, 0);
  return fs / NS;
}

static const struct shape plain = {8, 5, 2, {1, 1, 2, 4, 6}, false};
static const struct shape packed = {8, 5, 2, {1, 1, 2, 4, 6}, true};

/* d in c, a in a, b in b; elements of `bytes` each. */
static struct ask ask_of(struct rig *r, const char *op, uint64_t rows, uint64_t cols,
                         uint32_t bytes) {
  int id = tsr_vec_find(op);
  assert_true(id >= 0);
  bool two = tsr_vec_info((unsigned)id)->sources == 2;
  int64_t row = (int64_t)(cols * bytes);
  struct ask k = {.req = {.vec = {.op = (uint32_t)id,
                                  .rows = rows,
                                  .cols = cols,
                                  .window = 1,
                                  .first = true,
                                  .d_bytes = bytes,
                                  .a_bytes = bytes,
                                  .b_bytes = two ? bytes : 0,
                                  .b_elems = two ? rows * cols : 0,
                                  .d = {&r->c, 0, row, bytes},
                                  .a = {&r->a, 0, row, bytes},
                                  .b = {two ? &r->b : NULL, 0, row, bytes}}}};
  return k;
}

/* ---- the second evaluation: one element, one lane, one byte after the other ---- */

static uint64_t slow_rate(const struct shape *x, uint32_t op) {
  return op == TSR_VEC_LOG ? 9 : x->rate[tsr_vec_info(op)->cls];
}

static uint64_t slow_fit(const struct shape *x, const struct tsr_vec_req *q, uint64_t *slow) {
  uint32_t w = q->a_bytes;
  if (q->b_bytes > w) w = q->b_bytes;
  if (tsr_vec_info(q->op)->kind != TSR_VEC_REDUCE && q->d_bytes > w) w = q->d_bytes;
  *slow = w == 8 ? 2 : 1;
  if (!x->pack) return 1;
  return w == 1 ? 4 : w == 2 ? 2 : 1;
}

/* Cycles in which elements enter. */
static uint64_t slow_cycles(const struct shape *x, const struct tsr_vec_req *q) {
  enum tsr_vec_kind kind = tsr_vec_info(q->op)->kind;
  uint64_t slow, room = 0, passes = 0, each = x->lanes * slow_fit(x, q, &slow);
  uint64_t repeat = kind == TSR_VEC_WINDOW ? q->window : 1;
  for (uint64_t w = 0; w < repeat; w++, room = 0)
    for (uint64_t i = 0; i < q->rows; i++) {
      if (kind == TSR_VEC_REDUCE) room = 0;
      for (uint64_t j = 0; j < q->cols; j++) {
        if (!room) passes++, room = each;
        room--;
      }
    }
  uint64_t n = 0;
  for (uint64_t p = 0; p < passes; p++) n += slow_rate(x, q->op) * slow;
  return n;
}

static uint64_t slow_tail(const struct shape *x, const struct tsr_vec_req *q) {
  uint64_t n = x->latency, sums = q->cols < x->lanes ? q->cols : x->lanes;
  if (tsr_vec_info(q->op)->kind != TSR_VEC_REDUCE) return n;
  for (; sums > 1; sums = sums / 2 + sums % 2) n += x->tree;
  return n;
}

static uint64_t slow_elements(const struct tsr_vec_req *q) {
  return q->rows * q->cols * (tsr_vec_info(q->op)->kind == TSR_VEC_WINDOW ? q->window : 1);
}

/* Bytes that a request reads from or writes to a scratchpad. */
static void slow_bytes(const struct tsr_vec_req *q, const struct tsr_instance *x,
                       uint64_t *read, uint64_t *write) {
  enum tsr_vec_kind kind = tsr_vec_info(q->op)->kind;
  uint64_t results = kind == TSR_VEC_REDUCE ? q->rows : q->rows * q->cols, meta = 0;
  if (q->op == TSR_VEC_COMPRESS24) {
    uint64_t groups = (q->cols + 3) / 4;
    results = q->rows * groups * 2;
    meta = q->rows * ((groups + 1) / 2);
  }
  *read = *write = 0;
  if (q->a.buffer == x) *read += slow_elements(q) * q->a_bytes;
  if (q->b.buffer == x) *read += q->b_elems * q->b_bytes;
  if (q->d.buffer != x) return;
  *write += results * q->d_bytes + meta;
  if (!q->first && (kind == TSR_VEC_REDUCE || kind == TSR_VEC_WINDOW))
    *read += results * q->d_bytes;
}

/* The cycles that the ports of x (1r1w or 1rw, `width` a cycle; 0: any) need. */
static uint64_t slow_port(const struct tsr_vec_req *q, const struct tsr_instance *x,
                          uint64_t width, bool one_port) {
  uint64_t read, write, n = 0;
  slow_bytes(q, x, &read, &write);
  if (!width) return 0;
  while (read || write) {
    uint64_t left = width, r = read < left ? read : left;
    read -= r;
    if (one_port) left -= r;
    write -= write < left ? write : left;
    n++;
  }
  return n;
}

/* ---- tests ---- */

static void a_pass_more_for_one_element_more(void **state) {
  (void)state;
  static const struct {
    const char *op;
    const struct shape *x;
    uint32_t bytes;
    uint64_t rows, cols, cycles; /* filled to the last element: one column more costs */
    uint64_t more;
  } rows[] = {
      {"copy", &plain, 4, 1, 8, 1, 1},     {"add", &plain, 4, 1, 80, 10, 1},
      {"mul", &plain, 4, 1, 80, 20, 2},    {"div", &plain, 4, 1, 8, 4, 4},
      {"exp", &plain, 2, 1, 16, 12, 6},    {"log", &plain, 4, 1, 16, 18, 9},
      {"add", &packed, 2, 1, 160, 10, 1},  {"add", &packed, 1, 1, 320, 10, 1},
      {"add", &packed, 4, 1, 80, 10, 1},   {"exp", &packed, 2, 1, 32, 12, 6},
      {"add", &plain, 8, 1, 80, 20, 2},    {"add", &packed, 8, 1, 8, 2, 2},
      {"add", &plain, 4, 4, 6, 3, 1},      {"rowsum", &plain, 4, 4, 8, 4, 4},
      {"rowsum", &plain, 4, 3, 16, 6, 3},  {"rowsum", &packed, 2, 3, 16, 3, 3},
      {"rowsumsq", &plain, 4, 1, 8, 2, 2},
  };
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint64_t more = 0; more < 2; more++) {
      struct rig r;
      rig_open(&r, rows[i].x, FREE, FREE, FREE);
      struct ask k = ask_of(&r, rows[i].op, rows[i].rows, rows[i].cols + more, rows[i].bytes);
      rig_run(&r, &k, 1);
      uint64_t want = rows[i].cycles + (more ? rows[i].more : 0);
      if (cycles(k.accepted) != want)
        fail_msg("row %zu + %llu: %llu cycles", i, (unsigned long long)more,
                 (unsigned long long)cycles(k.accepted));
      assert_int_equal(k.consumed, k.accepted);
      assert_int_equal(cycles(k.done), want + slow_tail(rows[i].x, &k.req.vec));
      rig_close(&r);
    }
}

static void the_tree_grows_at_powers_of_two(void **state) {
  (void)state;
  static const struct {
    uint64_t cols, levels;
  } rows[] = {{1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 3}, {1000, 3}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r;
    rig_open(&r, &plain, FREE, FREE, FREE);
    struct ask k = ask_of(&r, "rowmax", 1, rows[i].cols, 4);
    rig_run(&r, &k, 1);
    assert_int_equal(cycles(k.done - k.accepted), 5 + 2 * rows[i].levels);
    rig_close(&r);
  }
}

/* 8 lanes, 80 elements of 4 bytes in 10 cycles: 32 bytes a cycle and operand. */
static void a_port_is_enough_at_its_width_and_not_below(void **state) {
  (void)state;
  static const char wide[] = "{size: 1MiB, width: 32B}", narrow[] = "{size: 1MiB, width: 31B}",
                    one[] = "{size: 1MiB, width: 64B, ports: 1rw}",
                    less[] = "{size: 1MiB, width: 63B, ports: 1rw}";
  static const struct {
    const char *a, *b, *c;
    bool in_place; /* d where a is */
    uint64_t conflict;
  } rows[] = {
      {wide, wide, wide, false, 0},   {narrow, wide, wide, false, 1},
      {wide, narrow, wide, false, 1}, {wide, wide, narrow, false, 1},
      {one, wide, wide, true, 0},     {less, wide, wide, true, 1},
      {wide, wide, wide, true, 0},    {"{size: 1MiB, width: 8B}", wide, wide, false, 30},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r;
    rig_open(&r, &plain, rows[i].a, rows[i].b, rows[i].c);
    struct ask k = ask_of(&r, "add", 1, 80, 4);
    if (rows[i].in_place) k.req.vec.d.buffer = &r.a;
    rig_run(&r, &k, 1);
    assert_int_equal(cycles(k.accepted), 10 + rows[i].conflict);
    assert_int_equal(cycles(k.done), 15 + rows[i].conflict);
    assert_int_equal(k.ticket.late.conflict_cycles, rows[i].conflict);
    assert_int_equal(fake_counter(&r.unit, "conflict_cycles"), rows[i].conflict);
    assert_int_equal(fake_counter(&r.unit, "active_cycles"), 10);
    assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_CONFLICT), rows[i].conflict);
    assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_BUSY), 10);
    assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_DRAIN), 5);
    assert_int_equal(fake_counter(&r.a, "read_bytes"), 320);
    assert_int_equal(fake_counter(rows[i].in_place ? &r.a : &r.c, "write_bytes"), 320);
    rig_close(&r);
  }
}

/* What else passes the ports: what d holds, places of 2:4, windows, a broadcast operand. */
static void bytes_are_counted(void **state) {
  (void)state;
  static const struct {
    const char *op;
    uint64_t rows, cols, window;
    bool first;
    uint64_t b_elems, a, b, c_read, c_write;
  } rows[] = {
      {"rowsum", 3, 10, 1, true, 0, 60, 0, 0, 6},
      {"rowsum", 3, 10, 1, false, 0, 60, 0, 6, 6},
      {"poolmax", 3, 10, 4, true, 0, 240, 0, 0, 60},
      {"poolmax", 3, 10, 4, false, 0, 240, 0, 60, 60},
      {"add", 3, 10, 1, false, 10, 60, 20, 0, 60},
      {"compress24", 3, 16, 1, true, 0, 96, 0, 0, 48 + 6},
      {"compress24", 1, 13, 1, true, 0, 26, 0, 0, 16 + 2},
      {"rope", 2, 8, 1, true, 8, 32, 16, 0, 32},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r;
    rig_open(&r, &plain, FREE, FREE, FREE);
    struct ask k = ask_of(&r, rows[i].op, rows[i].rows, rows[i].cols, 2);
    k.req.vec.window = rows[i].window;
    k.req.vec.first = rows[i].first;
    k.req.vec.b_elems = rows[i].b_elems;
    rig_run(&r, &k, 1);
    assert_int_equal(fake_counter(&r.a, "read_bytes"), rows[i].a);
    assert_int_equal(fake_counter(&r.b, "read_bytes"), rows[i].b);
    assert_int_equal(fake_counter(&r.c, "read_bytes"), rows[i].c_read);
    assert_int_equal(fake_counter(&r.c, "write_bytes"), rows[i].c_write);
    rig_close(&r);
  }
}

struct mover { /* moves when its time has come: a port knows nothing of what is over */
  struct tsr_instance *buf;
  bool write;
  uint64_t at_fs, end_fs, waited_fs;
};
static void on_move(void *arg) {
  struct mover *m = arg;
  m->end_fs = fake_move(m->buf, 32, m->write, m->at_fs, &m->waited_fs);
}

/* A DMA unit of 32 B at a port that the operation fills: reads from cycle 0, writes from
 * cycle 5 (the latency), 10 cycles each. */
static void ports_are_taken_while_elements_pass(void **state) {
  (void)state;
  static const struct {
    bool write;  /* at c; else a read at a */
    uint64_t at; /* cycle */
    uint64_t end;
  } rows[] = {{false, 0, 11}, {false, 9, 11}, {false, 10, 11}, {false, 11, 12},
              {true, 4, 5},   {true, 5, 16},  {true, 14, 16},  {true, 15, 16}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r;
    rig_open(&r, &plain, "{size: 1MiB, width: 32B}", FREE, "{size: 1MiB, width: 32B}");
    struct ask k = ask_of(&r, "copy", 1, 80, 4);
    struct mover m = {rows[i].write ? &r.c : &r.a, rows[i].write, rows[i].at * NS, 0, 0};
    fake_chain(&r.f, &r.unit, &k, 1, 0);
    fake_at(&r.f, m.at_fs, on_move, &m);
    fake_run(&r.f);
    assert_int_equal(cycles(m.end_fs), rows[i].end);
    assert_int_equal(cycles(m.waited_fs), rows[i].end - rows[i].at - 1);
    rig_close(&r);
  }
}

/* The next request's elements follow without a bubble, and results come in order. */
static void requests_are_pipelined_and_end_in_order(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, &plain, FREE, FREE, FREE);
  struct ask k[] = {ask_of(&r, "rowsum", 1, 16, 4), ask_of(&r, "copy", 1, 8, 4),
                    ask_of(&r, "copy", 0, 8, 4), ask_of(&r, "copy", 1, 160, 4)};
  rig_run(&r, k, LEN(k));
  static const uint64_t accepted[] = {2, 3, 3, 23}, done[] = {13, 13, 13, 28};
  for (size_t i = 0; i < LEN(k); i++) {
    assert_int_equal(cycles(k[i].accepted), accepted[i]);
    assert_int_equal(cycles(k[i].done), done[i]); /* 2 + 5 + 3 levels of 2, though 3 + 5 */
  }
  assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_BUSY), 23);
  assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_DRAIN), 5);
  assert_int_equal(fake_last_end(&r.f, &r.unit), 28);
  assert_int_equal(fake_counter(&r.unit, "ops"), 4);
  assert_int_equal(fake_counter(&r.unit, "elements"), 184);
  assert_int_equal(fake_counter(&r.unit, "simple_elems"), 16);
  assert_int_equal(fake_counter(&r.unit, "move_elems"), 168);
  assert_int_equal(r.f.events, 1 + 2 * LEN(k));
  rig_close(&r);
}

/* A request that comes while the one before drains cuts that drain short. */
static void a_drain_ends_where_the_next_begins(void **state) {
  (void)state;
  static const uint64_t gaps[] = {0, 1, 4, 5, 6, 100};
  for (size_t i = 0; i < LEN(gaps); i++) {
    struct rig r;
    rig_open(&r, &plain, FREE, FREE, FREE);
    struct ask k[] = {ask_of(&r, "copy", 1, 8, 4), ask_of(&r, "copy", 1, 8, 4)};
    fake_chain(&r.f, &r.unit, &k[0], 1, 0);
    fake_chain(&r.f, &r.unit, &k[1], 1, (1 + gaps[i]) * NS);
    fake_run(&r.f);
    fake_check(k, 2);
    uint64_t drained = gaps[i] < 5 ? gaps[i] : 5;
    assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_DRAIN), drained + 5);
    assert_int_equal(cycles(k[1].done), 1 + gaps[i] + 1 + 5);
    rig_close(&r);
  }
}

/* A scratchpad that only remembers what it was told. */
struct notes {
  struct tsr_pattern pattern;
  uint64_t start, cycles, read, write;
  unsigned asked, occupied;
};
static uint64_t note_tile(void *state, uint64_t start, uint64_t c, uint64_t read,
                          uint64_t write, const struct tsr_pattern *pattern) {
  struct notes *n = state;
  assert_true(start == TSR_PHASE_LATER && pattern);
  n->asked++;
  n->pattern = *pattern;
  n->read = read;
  n->write = write;
  return c;
}
static void note_occupy(void *state, uint64_t start, uint64_t c, uint64_t read,
                        uint64_t write) {
  struct notes *n = state;
  n->occupied++;
  n->start = start;
  n->cycles = c;
  assert_true(n->read == read && n->write == write);
}

/* 8 lanes: where they touch a scratchpad, by the view that moves most there. */
static void the_pattern_follows_the_strides(void **state) {
  (void)state;
  static const struct tsr_buffer_ops ops = {.tile = note_tile, .occupy = note_occupy};
  static const struct tsr_component sram = {.buffer = &ops};
  static const struct {
    uint64_t rows, cols;
    uint32_t a_bytes, d_bytes;
    int64_t i_bytes, j_bytes; /* of a */
    bool in_place;
    struct tsr_pattern want; /* at a */
  } rows[] = {
      {1, 80, 4, 4, 0, 4, false, {64, 4, 32, 8, 10, 4}},
      {5, 4, 2, 4, 128, 2, false, {64, 2, 128, 4, 5, 2}},     /* a row a step */
      {5, 16, 2, 4, 2, 100, false, {64, 100, 800, 8, 10, 2}}, /* transposed */
      {5, 8, 1, 4, 8, 1, true, {512, 4, 32, 8, 5, 4}},        /* d moves more */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r;
    rig_open(&r, &plain, FREE, FREE, FREE);
    struct notes a = {0}, d = {0};
    struct tsr_instance at_a = {.ops = &sram, .state = &a}, at_d = {.ops = &sram, .state = &d};
    struct ask k = ask_of(&r, "copy", rows[i].rows, rows[i].cols, 4);
    struct tsr_vec_req *q = &k.req.vec;
    q->a_bytes = rows[i].a_bytes;
    q->d_bytes = rows[i].d_bytes;
    q->a = (struct tsr_buffer_view){&at_a, 64, rows[i].i_bytes, rows[i].j_bytes};
    q->d = (struct tsr_buffer_view){rows[i].in_place ? &at_a : &at_d, 512, 32, 4};
    rig_run(&r, &k, 1);
    const struct tsr_pattern *w = &rows[i].want;
    assert_int_equal(a.pattern.addr, w->addr);
    assert_int_equal(a.pattern.lane_bytes, w->lane_bytes);
    assert_int_equal(a.pattern.step_bytes, w->step_bytes);
    assert_int_equal(a.pattern.lanes, w->lanes);
    assert_int_equal(a.pattern.steps, w->steps);
    assert_int_equal(a.pattern.elem_bytes, w->elem_bytes);
    assert_int_equal(a.asked, 1);
    assert_int_equal(a.occupied, 1);
    assert_int_equal(a.start, 0);
    assert_int_equal(a.cycles, cycles(k.accepted));
    assert_int_equal(d.asked, !rows[i].in_place);
    assert_int_equal(d.start, rows[i].in_place ? 0 : 5);
    rig_close(&r);
  }
}

/* 8 lanes, 8 elements each: the first enters in cycle 0, the next could in cycle 1. */
static void results_on_their_way_are_waited_for(void **state) {
  (void)state;
  enum { NONE, AS_A, AS_B };
  static const struct {
    const char *first, *second;
    int use;
    uint64_t apart; /* bytes between the result and what is read */
    uint64_t accepted;
  } rows[] = {
      {"copy", "copy", NONE, 0, 2},      /* another place */
      {"copy", "copy", AS_A, 0, 6},      /* latency 5 behind: as they come */
      {"copy", "copy", AS_A, 28, 6},     /* one element in common */
      {"copy", "copy", AS_A, 32, 2},     /* none */
      {"copy", "sub", AS_B, 0, 6},       /* each its own */
      {"square", "copy", AS_A, 0, 7},    /* enters in 2 cycles, so is done in 7 */
      {"rowmax", "subexp", AS_B, 0, 18}, /* 1 + 5 + 3 levels of 2, then 6 */
      {"rowmax", "subexp", NONE, 0, 7},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r;
    rig_open(&r, &plain, FREE, FREE, FREE);
    struct ask k[2] = {ask_of(&r, rows[i].first, 1, 8, 4), ask_of(&r, rows[i].second, 1, 8, 4)};
    struct tsr_vec_req *p = &k[0].req.vec, *q = &k[1].req.vec;
    p->d = (struct tsr_buffer_view){&r.c, 4096, 32, 4};
    q->a.addr = q->b.addr = q->d.addr = 65536;
    struct tsr_buffer_view *v = rows[i].use == AS_A ? &q->a : &q->b;
    if (rows[i].use != NONE) *v = (struct tsr_buffer_view){&r.c, 4096 + rows[i].apart, 32, 4};
    if (p->op != (uint32_t)tsr_vec_find("copy") && rows[i].use == AS_B) q->b_elems = 1;
    rig_run(&r, k, 2);
    if (cycles(k[1].accepted) != rows[i].accepted)
      fail_msg("row %zu: accepted in cycle %llu", i, (unsigned long long)cycles(k[1].accepted));
    rig_close(&r);
  }
}

static struct shape random_shape(struct tsr_rng *g) {
  struct shape x = {.lanes = tsr_rng_range(g, 1, 20),
                    .latency = tsr_rng_range(g, 0, 9),
                    .tree = tsr_rng_range(g, 0, 3),
                    .pack = tsr_rng_range(g, 0, 1)};
  for (int i = 0; i < TSR_VEC_CLASS_N_; i++) x.rate[i] = tsr_rng_range(g, 1, 5);
  return x;
}

static struct ask random_ask(struct rig *r, struct tsr_rng *g) {
  static const uint32_t widths[] = {1, 2, 4, 8};
  const char *op = tsr_vec_info((unsigned)tsr_rng_range(g, 0, TSR_VEC_N_ - 1))->name;
  struct ask k = ask_of(r, op, tsr_rng_range(g, 0, 6), tsr_rng_range(g, 1, 50), 4);
  struct tsr_vec_req *q = &k.req.vec;
  struct tsr_instance *any[] = {&r->a, &r->b, &r->c};
  q->window = tsr_rng_range(g, 1, 9);
  q->first = tsr_rng_range(g, 0, 1);
  q->a_bytes = widths[tsr_rng_range(g, 0, 3)];
  q->d_bytes = widths[tsr_rng_range(g, 0, 3)];
  if (q->b_bytes) q->b_bytes = widths[tsr_rng_range(g, 0, 3)];
  if (q->b_bytes) q->b_elems = tsr_rng_range(g, 1, q->rows * q->cols + 1);
  q->a.buffer = any[tsr_rng_range(g, 0, 2)];
  q->d.buffer = any[tsr_rng_range(g, 0, 2)];
  if (q->b.buffer) q->b.buffer = any[tsr_rng_range(g, 0, 2)];
  return k;
}

static void equals_the_slow_model(void **state) {
  (void)state;
  struct tsr_rng g = {17};
  for (int n = 0; n < 600; n++) {
    struct shape x = random_shape(&g);
    uint64_t width[3];
    bool one[3];
    char text[3][80];
    for (int i = 0; i < 3; i++) {
      width[i] = tsr_rng_range(&g, 0, 60);
      one[i] = tsr_rng_range(&g, 0, 1);
      const char *ports = one[i] ? "1rw" : "1r1w";
      snprintf(text[i], sizeof text[i], "{size: 1MiB, width: %lluB, ports: %s}",
               (unsigned long long)width[i], ports);
      if (!width[i]) snprintf(text[i], sizeof text[i], FREE);
    }
    struct rig r;
    rig_open(&r, &x, text[0], text[1], text[2]);
    const struct tsr_instance *buffers[] = {&r.a, &r.b, &r.c};
    struct ask k[5];
    for (size_t i = 0; i < LEN(k); i++) {
      k[i] = random_ask(&r, &g);
      /* places of its own: nobody waits for another's results */
      k[i].req.vec.a.addr += 3 * i << 16;
      k[i].req.vec.b.addr += (3 * i + 1) << 16;
      k[i].req.vec.d.addr += (3 * i + 2) << 16;
    }
    rig_run(&r, k, LEN(k));
    uint64_t free = 0, done = 0, busy = 0, conflict = 0, elements = 0;
    for (size_t i = 0; i < LEN(k); i++) {
      const struct tsr_vec_req *q = &k[i].req.vec;
      uint64_t c = slow_cycles(&x, q), T = c;
      for (int b = 0; c && b < 3; b++) {
        uint64_t need = slow_port(q, buffers[b], width[b], one[b]);
        if (need > T) T = need;
      }
      struct tsr_estimate e;
      r.unit.ops->unit->estimate(r.unit.params, &k[i].req, &e);
      assert_int_equal(e.cycles, c ? c + slow_tail(&x, q) : 0);
      assert_int_equal(e.events, 2);
      free += T;
      uint64_t end = c ? free + slow_tail(&x, q) : free;
      if (end > done) done = end;
      assert_int_equal(cycles(k[i].accepted), free);
      assert_int_equal(cycles(k[i].consumed), free);
      assert_int_equal(cycles(k[i].done), done);
      assert_int_equal(k[i].ticket.late.conflict_cycles, T - c);
      busy += c;
      conflict += T - c;
      elements += slow_elements(q);
    }
    assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_BUSY), busy);
    assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_CONFLICT), conflict);
    assert_int_equal(fake_spent(&r.f, &r.unit, TSR_SPAN_DRAIN), done - free);
    assert_int_equal(fake_counter(&r.unit, "active_cycles"), busy);
    assert_int_equal(fake_counter(&r.unit, "conflict_cycles"), conflict);
    assert_int_equal(fake_counter(&r.unit, "elements"), elements);
    static const char *const classes[] = {"move_elems", "simple_elems", "mul_elems",
                                          "div_elems", "special_elems"};
    for (size_t i = 0; i < LEN(classes); i++) elements -= fake_counter(&r.unit, classes[i]);
    assert_int_equal(elements, 0);
    rig_close(&r);
  }
}

/* Each operation's own rate is read, and only for it. */
static void an_operation_may_have_its_own_rate(void **state) {
  (void)state;
  for (unsigned op = 0; op < TSR_VEC_N_; op++) {
    struct tsr_instance x;
    char text[64];
    snprintf(text, sizeof text, "{lanes: 1, latency: 0, tree: 0, ops: {%s: 77}}",
             tsr_vec_info(op)->name);
    fake_prepare(&x, "vector", text);
    for (unsigned other = 0; other < TSR_VEC_N_; other++) {
      static const uint64_t rates[] = {1, 1, 1, 4, 4}; /* the defaults */
      struct tsr_req q = {
          .vec = {.op = other, .rows = 1, .cols = 1, .window = 1, .a_bytes = 4}};
      struct tsr_estimate e;
      x.ops->unit->estimate(x.params, &q, &e);
      assert_int_equal(e.cycles, other == op ? 77 : rates[tsr_vec_info(other)->cls]);
    }
    tsr_mem_free(x.state);
    tsr_mem_free(x.params);
    tsr_mem_free(x.counters);
  }
}

static void facts_and_huge_requests(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, &plain, FREE, FREE, FREE);
  struct tsr_unit_facts f;
  r.unit.ops->unit->facts(r.unit.params, &f);
  assert_int_equal(f.lanes, 8);
  assert_int_equal(f.latency_cycles, 5);
  struct tsr_req q = {.vec = {.op = TSR_VEC_POOLMAX,
                              .rows = UINT64_MAX / 2,
                              .cols = UINT64_MAX / 2,
                              .window = UINT64_MAX,
                              .a_bytes = 4}};
  struct tsr_estimate e;
  r.unit.ops->unit->estimate(r.unit.params, &q, &e);
  assert_true(e.cycles > UINT64_C(1) << 61 && e.cycles < UINT64_C(1) << 63); /* no wrap */
  rig_close(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pass_more_for_one_element_more),
      cmocka_unit_test(the_tree_grows_at_powers_of_two),
      cmocka_unit_test(a_port_is_enough_at_its_width_and_not_below),
      cmocka_unit_test(bytes_are_counted),
      cmocka_unit_test(ports_are_taken_while_elements_pass),
      cmocka_unit_test(requests_are_pipelined_and_end_in_order),
      cmocka_unit_test(a_drain_ends_where_the_next_begins),
      cmocka_unit_test(the_pattern_follows_the_strides),
      cmocka_unit_test(results_on_their_way_are_waited_for),
      cmocka_unit_test(equals_the_slow_model),
      cmocka_unit_test(an_operation_may_have_its_own_rate),
      cmocka_unit_test(facts_and_huge_requests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
