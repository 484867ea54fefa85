/* noc.crossbar and noc.mesh: ways, latencies, contention, multicast. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

enum { CORES_MAX = 16 };
#define FREE_SRAM "{size: 1MiB, width: unlimited}"
#define FREE_DRAM "{channels: 1, bandwidth: unlimited, latency: 100ns}"

struct rig {
  struct fake f;
  uint32_t cores;
  struct tsr_instance dram, noc, buf[CORES_MAX], load[CORES_MAX], store[CORES_MAX];
};

/* `kind` NULL: engines stand before the DRAM itself. */
static void rig_open(struct rig *r, uint32_t cores, const char *dram, const char *kind,
                     const char *noc, const char *dma) {
  fake_open(&r->f, 1000000000);
  r->f.cores = r->cores = cores;
  fake_make(&r->f, &r->dram, "dram.simple", dram, NULL, NULL, NULL);
  if (kind) fake_make(&r->f, &r->noc, kind, noc, &r->dram, NULL, NULL);
  struct tsr_instance *mem = kind ? &r->noc : &r->dram;
  for (uint32_t i = 0; i < cores; i++) {
    r->f.core = i;
    fake_make(&r->f, &r->buf[i], "sram", FREE_SRAM, NULL, NULL, NULL);
    fake_make(&r->f, &r->load[i], "dma.load", dma, mem, &r->dram, NULL);
    fake_make(&r->f, &r->store[i], "dma.store", dma, mem, &r->dram, NULL);
  }
}

static void rig_close(struct rig *r) {
  assert_int_equal(r->dram.users, 0);
  for (uint32_t i = 0; i < r->cores; i++) {
    fake_drop(&r->load[i]);
    fake_drop(&r->store[i]);
    fake_drop(&r->buf[i]);
  }
  if (r->noc.ops) fake_drop(&r->noc);
  fake_drop(&r->dram);
  fake_close(&r->f);
}

/* What the memory says of a resource, by name; bytes 0 where there is none of it. */
static struct tsr_resource resource(const struct tsr_instance *m, const char *name) {
  struct tsr_resource x;
  for (size_t i = 0; i < m->ops->memory->resources(m->state); i++) {
    m->ops->memory->resource(m->state, i, &x);
    if (!strcmp(x.name, name)) return x;
  }
  fail_msg("no resource %s", name);
  return x;
}

/* Burst number 0 of a train of one. */
static struct tsr_train one(uint32_t core, uint32_t n_cores, uint64_t addr, bool write,
                            uint64_t ready) {
  struct tsr_train t = {.n = 1,
                        .burst_bytes = 64,
                        .write = write,
                        .core = core,
                        .n_cores = n_cores,
                        .addr = {addr},
                        .ready_fs = {ready}};
  return t;
}

static void serve(struct tsr_instance *m, struct tsr_train *t) {
  (void)m->ops->memory->serve(m->state, t, t->ready_fs[0]);
}

/* ---- latency ---- */

static uint64_t apart(uint64_t a, uint64_t b) {
  return a > b ? a - b : b - a;
}

/* Every core to every slice, alone: 2 ns a hop, 16 B at 16 B/ns, then 64 B back. */
static void a_lone_burst_pays_its_hops(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint32_t cores;
    uint64_t x, slices, at[8][2]; /* where slices sit */
  } rows[] = {
      {"", 9, 3, 1, {{0, 1}}},
      {"", 7, 3, 3, {{0, 0}, {0, 1}, {0, 2}}},
      {"", 16, 4, 2, {{0, 1}, {0, 3}}},
      {"", 4, 2, 4, {{0, 0}, {0, 0}, {0, 1}, {0, 1}}},
      {"x: 8, y: 2, ", 16, 8, 2, {{0, 0}, {0, 1}}},
      {"x: 5, ", 10, 5, 1, {{0, 1}}},
      {"y: 1, ", 6, 6, 1, {{0, 0}}},
      {"place: sides, ", 16, 4, 4, {{0, 1}, {3, 1}, {0, 3}, {3, 3}}},
      {"place: sides, ", 9, 3, 1, {{0, 1}}},
      {"place: spread, ", 16, 4, 4, {{2, 0}, {2, 1}, {2, 2}, {2, 3}}},
      {"place: spread, ", 4, 2, 4, {{0, 0}, {1, 0}, {0, 1}, {1, 1}}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r = {.cores = 0};
    char text[160];
    snprintf(text, sizeof text, "{%sslices: %u, hop: 2ns, bandwidth: 16GB/s, interleave: 64B}",
             rows[i].text, (unsigned)rows[i].slices);
    rig_open(&r, rows[i].cores, FREE_DRAM, "noc.mesh", text, "{}");
    uint64_t when = 0;
    for (uint32_t c = 0; c < rows[i].cores; c++)
      for (uint64_t s = 0; s < rows[i].slices; s++)
        for (int write = 0; write < 2; write++, when += 1000 * NS) {
          uint64_t d =
              apart(c % rows[i].x, rows[i].at[s][0]) + apart(c / rows[i].x, rows[i].at[s][1]);
          struct tsr_train t = one(c, 1, (s + 3 * rows[i].slices) * 64, write, when);
          serve(&r.noc, &t);
          uint64_t there = d ? 2 * d * NS + (write ? 5 : 1) * NS : 0;
          uint64_t back = d && !write ? 2 * d * NS + 4 * NS : 0;
          assert_int_equal(t.end_fs[0], when + there + 100 * NS + back);
          assert_int_equal(t.start_fs[0], when); /* seen from the core */
          assert_int_equal(t.noc_fs, 0);
        }
    assert_int_equal(fake_counter(&r.noc, "link_wait_fs"), 0);
    rig_close(&r);
  }
}

/* For a memory that is busy until 1 us, and bursts of 64 B at 1 ns: what the ways add. */
static void pipe_and_free_know_the_ways(void **state) {
  (void)state;
  static const struct {
    const char *kind, *text;
    uint32_t cores;
    uint64_t mean, farthest; /* ps */
  } rows[] = {
      {"noc.mesh", "{y: 1, slices: 1, hop: 3ns, header: 32B}", 3, 3000 + 1000 * 2 / 3, 6500},
      {"noc.mesh", "{x: 4, y: 4, slices: 4, hop: 2ns}", 16, (6 + 5) * 1000 - 2000 - 250 - 500,
       0},
      {"noc.crossbar", "{slices: 2, hop: 5ns, header: 0}", 7, 6000, 5000},
      {"noc.mesh", "{slices: 3}", 1, 0, 0},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r = {.cores = 0};
    rig_open(&r, rows[i].cores, "{channels: 1, bandwidth: 64GB/s, latency: 100ns}",
             rows[i].kind, rows[i].text, "{}");
    const struct tsr_memory_ops *n = r.noc.ops->memory, *d = r.dram.ops->memory;
    uint64_t start, end, mean = rows[i].mean * 1000, farthest = rows[i].farthest * 1000;
    if (i == 1) { /* by counting: hops of 2 ns, 1 ns for data, 1/4 ns for a header */
      uint64_t hops = 0, apart_sum = 0, most = 0;
      for (uint64_t c = 0; c < 16; c++)
        for (uint64_t s = 0; s < 4; s++) {
          uint64_t h = c % 4 + apart(c / 4, s);
          hops += h;
          apart_sum += h > 0;
          most = tsr_max_u64(most, h);
        }
      mean = hops * 2 * NS / 64 + apart_sum * NS / 64;
      farthest = most * 2 * NS + NS / 4;
    }
    fake_burst(&r.dram, 64, false, 999 * NS, &start, &end);
    uint64_t pipe = n->pipe_fs(r.noc.state, 64) - d->pipe_fs(r.dram.state, 64);
    assert_in_range(pipe, mean, mean + 1000);
    assert_int_equal(n->free_fs(r.noc.state), 1000 * NS - farthest);
    rig_close(&r);
  }
}

static void a_crossbar_is_one_hop_each_way(void **state) {
  (void)state;
  struct rig r = {.cores = 0};
  rig_open(&r, 4, FREE_DRAM, "noc.crossbar",
           "{slices: 2, hop: 3ns, bandwidth: 16GB/s, interleave: 128B}", "{}");
  for (uint32_t c = 0; c < 4; c++)
    for (int write = 0; write < 2; write++) {
      uint64_t when = (2 * c + (uint64_t)write) * 1000 * NS;
      struct tsr_train t = one(c, 1, 64 * c, write, when);
      serve(&r.noc, &t);
      assert_int_equal(t.end_fs[0] - when,
                       write ? 8 * NS + 100 * NS : 4 * NS + 100 * NS + 7 * NS);
    }
  assert_int_equal(r.noc.ops->memory->resources(r.noc.state), 2 * (4 + 2));
  assert_int_equal(resource(&r.noc, "core1.up").bytes, 16 + 16 + 64);
  assert_int_equal(resource(&r.noc, "core1.down").bytes, 64);
  assert_int_equal(resource(&r.noc, "slice0.up").bytes, 2 * (16 + 16 + 64)); /* cores 0, 1 */
  assert_int_equal(resource(&r.noc, "slice1.down").bytes, 2 * 64);
  rig_close(&r);
}

/* First along x, then along y; the way back starts along x too. */
static void messages_go_along_x_then_y(void **state) {
  (void)state;
  static const struct {
    uint32_t core;
    const char *there[4], *back[4];
  } rows[] = {
      {5, {"x2y1.west", "x1y1.west", "x0y1.north"}, {"x0y0.east", "x1y0.east", "x2y0.south"}},
      {8,
       {"x2y2.west", "x1y2.west", "x0y2.north", "x0y1.north"},
       {"x0y0.east", "x1y0.east", "x2y0.south", "x2y1.south"}},
      {6, {"x0y2.north", "x0y1.north"}, {"x0y0.south", "x0y1.south"}},
      {2, {"x2y0.west", "x1y0.west"}, {"x0y0.east", "x1y0.east"}},
      {0, {NULL}, {NULL}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct rig r = {.cores = 0};
    rig_open(&r, 9, FREE_DRAM, "noc.mesh", "{slices: 3, interleave: 64B, header: 8B}", "{}");
    struct tsr_train t = one(rows[i].core, 1, 0, false, 0);
    serve(&r.noc, &t);
    uint64_t sum = 0;
    for (int k = 0; k < 4; k++) {
      if (rows[i].there[k]) assert_int_equal(resource(&r.noc, rows[i].there[k]).bytes, 8);
      if (rows[i].back[k]) assert_int_equal(resource(&r.noc, rows[i].back[k]).bytes, 64);
      sum += (rows[i].there[k] ? 8 : 0) + (rows[i].back[k] ? 64 : 0);
    }
    assert_int_equal(fake_counter(&r.noc, "link_bytes"), sum); /* and no other link */
    assert_int_equal(r.noc.ops->memory->resources(r.noc.state), 24);
    rig_close(&r);
  }
}

/* ---- equality with no interconnect ---- */

static struct tsr_req random_req(struct tsr_rng *r, struct tsr_instance *buf) {
  struct tsr_req q = fake_bytes(buf, tsr_rng_range(r, 0, 9999), tsr_rng_range(r, 1, 30000));
  q.xfer.box.extent[0] = tsr_rng_range(r, 1, q.xfer.box.size[0]);
  q.xfer.box.start[0] = (int64_t)tsr_rng_range(r, 0, 200) - 100;
  return q;
}

enum { ASKS = 10 };
static void random_run(uint64_t seed, const char *kind, const char *noc, struct ask a[2][ASKS],
                       uint64_t *events) {
  struct tsr_rng rng = {seed};
  struct rig r = {.cores = 0};
  char dram[96], dma[48];
  snprintf(dram, sizeof dram, "{channels: %u, bandwidth: %uMB/s, latency: %uns}",
           (unsigned)tsr_rng_range(&rng, 1, 9), (unsigned)tsr_rng_range(&rng, 500, 90000),
           (unsigned)tsr_rng_range(&rng, 0, 90));
  snprintf(dma, sizeof dma, "{outstanding: %u}", (unsigned)tsr_rng_range(&rng, 1, 300));
  rig_open(&r, 1, dram, kind, noc, dma);
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < ASKS; i++) a[k][i].req = random_req(&rng, &r.buf[0]);
    fake_chain(&r.f, k ? &r.store[0] : &r.load[0], a[k], ASKS,
               tsr_rng_range(&rng, 0, 500) * NS);
  }
  fake_run(&r.f);
  *events = r.f.events;
  for (int k = 0; k < 2; k++) fake_check(a[k], ASKS);
  if (kind) {
    const struct tsr_memory_ops *n = r.noc.ops->memory, *d = r.dram.ops->memory;
    assert_int_equal(n->pipe_fs(r.noc.state, 64), d->pipe_fs(r.dram.state, 64));
    assert_int_equal(n->free_fs(r.noc.state), d->free_fs(r.dram.state));
    assert_int_equal(fake_counter(&r.noc, "link_wait_fs"), 0);
  }
  rig_close(&r);
}

static void beside_its_memory_a_core_pays_nothing(void **state) {
  (void)state;
  static const struct {
    const char *kind, *text;
  } rows[] = {{"noc.mesh", "{slices: 1}"},
              {"noc.mesh", "{bandwidth: 1MB/s, hop: 1us, header: 64B, place: sides}"},
              {"noc.mesh", "{x: 1, y: 1, slices: 7, place: spread}"},
              {"noc.crossbar", "{bandwidth: unlimited, hop: 0}"}};
  for (uint64_t seed = 1; seed <= 60; seed++)
    for (size_t i = 0; i < LEN(rows); i++) {
      static struct ask a[2][ASKS], b[2][ASKS];
      uint64_t events, events_noc;
      random_run(seed, NULL, NULL, a, &events);
      random_run(seed, rows[i].kind, rows[i].text, b, &events_noc);
      assert_int_equal(events, events_noc);
      for (int k = 0; k < 2 * ASKS; k++) {
        const struct ask *x = &a[k / ASKS][k % ASKS], *y = &b[k / ASKS][k % ASKS];
        assert_int_equal(x->started, y->started);
        assert_int_equal(x->accepted, y->accepted);
        assert_int_equal(x->consumed, y->consumed);
        assert_int_equal(x->done, y->done);
        assert_int_equal(x->ticket.late.latency_cycles, y->ticket.late.latency_cycles);
        assert_int_equal(x->ticket.late.conflict_cycles, y->ticket.late.conflict_cycles);
        assert_int_equal(y->ticket.late.noc_cycles, 0);
      }
    }
}

/* ---- throughput ---- */

/* Loads of n bursts by the cores of a mask, all at once; the end of each. */
static void loads(const char *kind, const char *noc, const char *dram, const char *dma,
                  uint32_t cores, uint32_t mask, uint64_t n, struct ask *a) {
  struct rig r = {.cores = 0};
  rig_open(&r, cores, dram, kind, noc, dma);
  for (uint32_t c = 0; c < cores; c++) {
    if (!(mask >> c & 1)) continue;
    a[c].req = fake_bytes(&r.buf[c], (uint64_t)c << 20, 64 * n);
    fake_chain(&r.f, &r.load[c], &a[c], 1, 0);
  }
  fake_run(&r.f);
  for (uint32_t c = 0; c < cores; c++)
    if (mask >> c & 1) fake_check(&a[c], 1);
  rig_close(&r);
}

#define FAST_DRAM "{channels: 4, bandwidth: 1TB/s, latency: 100ns}"

/* The link passes a burst a ns.  One core has it all, two have half each. */
static void two_cores_on_one_link_have_half_each(void **state) {
  (void)state;
  static const struct {
    const char *kind, *text;
    uint32_t cores, first, second;
    bool shares;
  } rows[] = {
      {"noc.mesh", "{y: 1, slices: 1, header: 0, hop: 2ns}", 3, 1, 2, true},
      {"noc.mesh", "{x: 3, y: 3, slices: 1, header: 0}", 9, 4, 5, true},  /* x0y1.east */
      {"noc.mesh", "{x: 3, y: 3, slices: 1, header: 0}", 9, 4, 0, false}, /* apart */
      {"noc.mesh", "{x: 3, y: 3, slices: 1, header: 0}", 9, 5, 3, false}, /* 3 is there */
      {"noc.crossbar", "{slices: 1, header: 0}", 2, 0, 1, true},          /* slice0.down */
      {"noc.crossbar", "{slices: 2, header: 0, interleave: 1MiB}", 2, 0, 1, false},
  };
  enum { N = 4000 };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct ask a[CORES_MAX] = {{.n_done = 0}}, b[CORES_MAX] = {{.n_done = 0}};
    uint32_t p = rows[i].first, q = rows[i].second;
    loads(rows[i].kind, rows[i].text, FAST_DRAM, "{outstanding: 512}", rows[i].cores, 1u << p,
          N, a);
    assert_in_range(a[p].done, N * NS, (N + 150) * NS); /* the rate and one latency */
    assert_in_range(a[p].ticket.late.noc_cycles, N - N / 4, N + 150);
    loads(rows[i].kind, rows[i].text, FAST_DRAM, "{outstanding: 512}", rows[i].cores,
          1u << p | 1u << q, N, b);
    uint64_t last = tsr_max_u64(b[p].done, b[q].done),
             first = tsr_min_u64(b[p].done, b[q].done);
    if (rows[i].shares) {
      assert_in_range(last, 2 * N * NS, (2 * N + 150) * NS);
      assert_in_range(first, (2 * N - 600) * NS, last); /* a window apart at most */
    } else {
      assert_in_range(b[p].done, a[p].done, a[p].done + 3 * NS);
    }
  }
}

/* 2 ns a burst at the DRAM, nothing else in the way: it serves all without a gap, and each
 * of the cores has its part at any time. */
static void cores_share_the_memory_evenly(void **state) {
  (void)state;
  static const struct {
    const char *kind, *text;
  } rows[] = {{NULL, NULL}, {"noc.crossbar", "{slices: 2, hop: 2ns, bandwidth: unlimited}"}};
  enum { N = 1000 };
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint32_t cores = 1; cores <= 16; cores *= 4) {
      struct ask a[CORES_MAX] = {{.n_done = 0}};
      loads(rows[i].kind, rows[i].text, "{channels: 1, bandwidth: 32GB/s, latency: 60ns}",
            "{outstanding: 256}", cores, (1u << cores) - 1, N, a);
      uint64_t last = 0, first = UINT64_MAX;
      for (uint32_t c = 0; c < cores; c++) {
        last = tsr_max_u64(last, a[c].done);
        first = tsr_min_u64(first, a[c].done);
      }
      uint64_t train = TSR_TRAIN_MAX * 2 * NS, way = rows[i].kind ? 4 * NS : 0;
      assert_int_equal(last, (cores * N - 1) * 2 * NS + 60 * NS + way);
      assert_true(last - first <= cores * train);
    }
}

/* Four bursts in flight each: the memory could do more, and each core says so of itself. */
static void a_core_of_many_knows_its_own_window(void **state) {
  (void)state;
  enum { N = 1000 };
  for (uint32_t cores = 2; cores <= 16; cores *= 2) {
    struct ask a[CORES_MAX] = {{.n_done = 0}};
    loads(NULL, NULL, FAST_DRAM, "{outstanding: 4}", cores, (1u << cores) - 1, N, a);
    for (uint32_t c = 0; c < cores; c++) {
      assert_in_range(a[c].done, N / 4 * 100 * NS, N / 4 * 102 * NS);
      assert_in_range(a[c].ticket.late.latency_cycles, N / 4 * 97, N / 4 * 102);
      assert_int_equal(a[c].ticket.late.noc_cycles, 0);
    }
  }
}

/* 2 ns a burst at the DRAM; 1 ns of link and four hops of 3 ns there, 102 ns of latency,
 * the same way back: 128 ns, so that 64 bursts in flight keep the DRAM busy, 63 do not. */
static void a_window_as_long_as_the_round_trip_hides_the_way(void **state) {
  (void)state;
  static const struct {
    unsigned outstanding;
    bool hidden;
  } rows[] = {{63, false}, {64, true}, {65, true}, {32, false}, {21, false}, {512, true}};
  enum { N = 63 * 64 };
  for (size_t i = 0; i < LEN(rows); i++) {
    char dma[48];
    struct ask a[CORES_MAX] = {{.n_done = 0}};
    snprintf(dma, sizeof dma, "{outstanding: %u}", rows[i].outstanding);
    loads("noc.mesh", "{y: 1, slices: 1, header: 64B, hop: 3ns, bandwidth: 64GB/s}",
          "{channels: 1, bandwidth: 32GB/s, latency: 102ns}", dma, 5, 1u << 4, N, a);
    const uint64_t round = (1 + 12 + 102 + 1 + 12) * NS, window = rows[i].outstanding;
    if (rows[i].hidden)
      assert_int_equal(a[4].done, (N - 1) * 2 * NS + round);
    else
      assert_int_equal(a[4].done, (N / window - 1) * round + (window - 1) * 2 * NS + round);
    assert_int_equal(a[4].ticket.late.noc_cycles, 0); /* nothing waited for a link */
  }
}

/* Up and down are links of their own: a load and a store run at the whole rate each. */
static void directions_do_not_disturb_each_other(void **state) {
  (void)state;
  enum { N = 3000 };
  struct rig r = {.cores = 0};
  rig_open(&r, 2, FAST_DRAM, "noc.mesh", "{y: 1, slices: 1, header: 0}", "{outstanding: 256}");
  struct ask in = {.req = fake_bytes(&r.buf[1], 0, 64 * N)},
             out = {.req = fake_bytes(&r.buf[1], 1 << 20, 64 * N)};
  fake_chain(&r.f, &r.load[1], &in, 1, 0);
  fake_chain(&r.f, &r.store[1], &out, 1, 0);
  fake_run(&r.f);
  assert_in_range(in.done, N * NS, (N + 150) * NS);
  assert_in_range(out.done, N * NS, (N + 150) * NS);
  assert_in_range(out.ticket.late.noc_cycles + out.ticket.late.latency_cycles, N / 2, N + 150);
  struct tsr_resource up = resource(&r.noc, "x1y0.west"), down = resource(&r.noc, "x0y0.east");
  assert_int_equal(up.bytes, 64 * N);
  assert_int_equal(down.bytes, 64 * N);
  assert_int_equal(up.busy_fs, N * NS);
  assert_int_equal(fake_counter(&r.noc, "link_busy_fs"), 2 * N * NS);
  assert_int_equal(fake_counter(&r.noc, "busiest_link_fs"), N * NS);
  rig_close(&r);
}

/* ---- multicast ---- */

/* The links that XY ways from (sx, sy) to cores first..last take, each counted once. */
static uint64_t tree_links(uint64_t width, uint64_t sx, uint64_t sy, uint32_t first,
                           uint32_t n) {
  bool seen[64][64] = {{false}}; /* by the router they lead to: it is reached one way only */
  uint64_t count = 0;
  for (uint32_t c = first; c < first + n; c++) {
    uint64_t x = sx, y = sy, tx = c % width, ty = c / width;
    while (x != tx || y != ty) {
      if (x != tx)
        x += x < tx ? 1 : UINT64_MAX;
      else
        y += y < ty ? 1 : UINT64_MAX;
      count += !seen[x][y];
      seen[x][y] = true;
    }
  }
  return count;
}

static void a_multicast_takes_each_link_of_its_tree_once(void **state) {
  (void)state;
  struct tsr_rng rng = {11};
  for (int i = 0; i < 200; i++) {
    struct rig r = {.cores = 0};
    rig_open(&r, 16, FREE_DRAM, "noc.mesh",
             "{slices: 4, interleave: 64B, header: 0, hop: 2ns, bandwidth: 16GB/s}", "{}");
    uint32_t first = (uint32_t)tsr_rng_range(&rng, 0, 15);
    uint32_t n = (uint32_t)tsr_rng_range(&rng, 1, 16 - first);
    uint64_t s = tsr_rng_range(&rng, 0, 3), far = 0;
    struct tsr_train t = one(first, n, 64 * s, false, 0);
    serve(&r.noc, &t);
    for (uint32_t c = first; c < first + n; c++)
      far = tsr_max_u64(far, apart(c % 4, 0) + apart(c / 4, s));
    uint64_t ask = apart(first % 4, 0) + apart(first / 4, s);
    assert_int_equal(fake_counter(&r.noc, "link_bytes"), 64 * tree_links(4, 0, s, first, n));
    assert_int_equal(t.end_fs[0], 2 * ask * NS + 100 * NS + (far ? 2 * far * NS + 4 * NS : 0));
    assert_int_equal(fake_counter(&r.dram, "read_bytes"), 64);
    size_t links = r.noc.ops->memory->resources(r.noc.state);
    for (size_t k = 0; k < links; k++) {
      struct tsr_resource x;
      r.noc.ops->memory->resource(r.noc.state, k, &x);
      assert_true(x.bytes == 0 || x.bytes == 64);
    }
    rig_close(&r);
  }
}

/* A load of one core for four: each scratchpad has the bytes, the DRAM gives them once.
 * Two of the ports are slow, 4 ns a burst, side by side; a tile keeps one for 500 ns. */
static void a_shared_load_ends_when_all_have_it(void **state) {
  (void)state;
  enum { N = 500 };
  static const struct {
    const char *kind, *text;
    uint64_t link_bytes, first; /* of a burst; ns until it is at the farthest */
  } rows[] = {{"noc.mesh", "{y: 1, slices: 1, header: 0}", 64 * 3, 100 + 3 + 1},
              {"noc.crossbar", "{slices: 1, header: 0}", 64 * 5, 1 + 100 + 1 + 1}};
  uint64_t before = 0;
  for (size_t i = 0; i < LEN(rows); i++)
    for (int how = 0; how < 3; how++) {
      struct rig r = {.cores = 0};
      rig_open(&r, 4, FAST_DRAM, rows[i].kind, rows[i].text, "{outstanding: 256}");
      struct tsr_instance slow[2];
      for (int k = 0; k < 2; k++)
        fake_make(&r.f, &slow[k], "sram",
                  how ? "{size: 1MiB, width: 16B, ports: 1rw}" : FREE_SRAM, NULL, NULL, NULL);
      if (how == 2) (void)slow[0].ops->buffer->tile(slow[0].state, 200, 500, 500 * 16, 0, NULL);
      struct tsr_instance *others[] = {&slow[0], &slow[1], &r.buf[1]};
      struct ask a = {.req = fake_bytes(&r.buf[0], 0, 64 * N)};
      a.req.xfer.others = others;
      a.req.xfer.n_others = LEN(others);
      fake_chain(&r.f, &r.load[0], &a, 1, 0);
      fake_run(&r.f);
      fake_check(&a, 1);
      /* from the first burst at or after 200 ns on */
      uint64_t met = rows[i].first + (200 - rows[i].first + 3) / 4 * 4;
      uint64_t kept = how == 2 ? 700 - met : 0, conflict = a.ticket.late.conflict_cycles;
      if (how)
        assert_int_equal(a.done, (rows[i].first + 4 * N + kept) * NS);
      else
        assert_in_range(a.done, (rows[i].first + N - 1) * NS, (rows[i].first + N + 1) * NS);
      if (how == 1) assert_in_range(conflict, 2 * N, 4 * N + 110);
      /* the tile's part shows at the port and in the window that it fills; who waits is
       * charged no more than his wait */
      if (how == 2) assert_in_range(conflict, before + 2 * kept, before + 2 * kept + 110);
      before = conflict;
      assert_int_equal(fake_counter(&slow[0], "dma_wait_fs"), kept * NS);
      assert_int_equal(fake_counter(&r.dram, "read_bytes"), 64 * N);
      assert_int_equal(fake_counter(&r.noc, "link_bytes"), rows[i].link_bytes * N);
      assert_int_equal(fake_counter(&r.buf[0], "write_bytes"), 64 * N);
      assert_int_equal(fake_counter(&r.buf[1], "write_bytes"), 64 * N);
      assert_int_equal(fake_counter(&slow[0], "write_bytes"), 64 * N);
      assert_int_equal(fake_counter(&slow[1], "write_bytes"), 64 * N);
      for (int k = 0; k < 2; k++) fake_drop(&slow[k]);
      rig_close(&r);
    }
}

/* ---- properties over random traffic ---- */

/* Trains of random cores at random times; the last end. */
static uint64_t traffic(uint64_t seed, const char *kind, const char *noc, bool check) {
  struct tsr_rng rng = {seed};
  struct rig r = {.cores = 0};
  rig_open(&r, 16, "{channels: 4, bandwidth: 200GB/s, latency: 60ns}", kind, noc, "{}");
  uint64_t last = 0, when = 0;
  for (int i = 0; i < 200; i++) {
    struct tsr_train t = {.n = (uint32_t)tsr_rng_range(&rng, 1, TSR_TRAIN_MAX),
                          .burst_bytes = 64,
                          .write = tsr_rng_range(&rng, 0, 2) == 0,
                          .core = (uint32_t)tsr_rng_range(&rng, 0, 15),
                          .n_cores = 1};
    if (!t.write && tsr_rng_range(&rng, 0, 3) == 0)
      t.n_cores = (uint32_t)tsr_rng_range(&rng, 1, 16 - t.core);
    uint64_t addr = tsr_rng_range(&rng, 0, 1000) * 64;
    for (uint32_t k = 0; k < t.n; k++) {
      t.addr[k] = addr + 64 * k;
      t.ready_fs[k] = when;
    }
    r.f.now = when;
    serve(&r.noc, &t);
    for (uint32_t k = 0; k < t.n; k++) {
      assert_true(t.start_fs[k] >= when && t.end_fs[k] >= t.start_fs[k]);
      last = tsr_max_u64(last, t.end_fs[k]);
    }
    when += tsr_rng_range(&rng, 0, 30) * NS;
  }
  if (check) { /* the report by link adds up to the counters */
    uint64_t bytes = 0, busy = 0, wait = 0, most = 0;
    size_t n = r.noc.ops->memory->resources(r.noc.state);
    for (size_t k = 0; k < n; k++) {
      struct tsr_resource x;
      r.noc.ops->memory->resource(r.noc.state, k, &x);
      bytes += x.bytes;
      busy += x.busy_fs;
      wait += x.wait_fs;
      most = tsr_max_u64(most, x.busy_fs);
      assert_true(x.busy_fs <= last);
    }
    assert_true(bytes > 0 && wait > 0);
    assert_int_equal(bytes, fake_counter(&r.noc, "link_bytes"));
    assert_int_equal(wait, fake_counter(&r.noc, "link_wait_fs"));
    assert_int_equal(most, fake_counter(&r.noc, "busiest_link_fs"));
    assert_in_range(fake_counter(&r.noc, "link_busy_fs"), busy, busy + n);
    uint64_t rate = r.noc.ops->memory->bandwidth(r.noc.params);
    tsr_u128 work = (tsr_u128)bytes * TSR_FS_PER_S;
    assert_int_equal(fake_counter(&r.noc, "link_busy_fs"), (uint64_t)(work / rate)); /* exact */
  }
  rig_close(&r);
  return last;
}

/* Bookings in the order of the calls are a list schedule, and those know anomalies: what
 * arrives sooner at one link may take another's place at the next.  Here are none. */
static void more_of_a_link_is_not_slower(void **state) {
  (void)state;
  static const struct {
    const char *kind, *less, *more;
  } rows[] = {
      {"noc.mesh", "{slices: 4, bandwidth: 21GB/s}", "{slices: 4, bandwidth: 43GB/s}"},
      {"noc.mesh", "{slices: 4, bandwidth: 40GB/s}", "{slices: 4, bandwidth: unlimited}"},
      {"noc.mesh", "{slices: 4, hop: 8ns}", "{slices: 4, hop: 1ns}"},
      {"noc.mesh", "{slices: 1, bandwidth: 20GB/s}", "{slices: 4, bandwidth: 20GB/s}"},
      {"noc.mesh", "{slices: 4, header: 64B, bandwidth: 20GB/s}",
       "{slices: 4, header: 0, bandwidth: 20GB/s}"},
      {"noc.crossbar", "{slices: 4, bandwidth: 20GB/s}", "{slices: 4, bandwidth: 40GB/s}"},
      {"noc.crossbar", "{slices: 1, bandwidth: 20GB/s}", "{slices: 4, bandwidth: 20GB/s}"},
  };
  int slower = 0, faster = 0;
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint64_t seed = 1; seed <= 40; seed++) {
      uint64_t less = traffic(seed, rows[i].kind, rows[i].less, true);
      uint64_t more = traffic(seed, rows[i].kind, rows[i].more, false);
      slower += more > less;
      faster += more < less;
    }
  assert_int_equal(slower, 0);
  assert_true(faster > 250);
}

/* ---- what is refused ---- */

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *kind, *text, *llb, *says; /* llb NULL: DRAM behind */
    uint32_t cores;
  } rows[] = {
      {"noc.mesh", "{x: 2, y: 2}", NULL, "5 cores do not fit", 5},
      {"noc.mesh", "{x: 32}", NULL, "1025", 1025},
      {"noc.crossbar", "{}", NULL, "1 to 1024 cores", 0},
      {"noc.crossbar", "{slices: 3}", "{size: 1MiB, slices: 8}", "divisor of 8, got 3", 4},
      {"noc.mesh", "{interleave: 256B}", "{size: 1MiB, line: 128B}", "0 or 128B, got 256B", 4},
      {"noc.mesh", "{slices: 4, interleave: 128B}", "{size: 1MiB, line: 128B}", NULL, 4},
      {"noc.mesh", "{x: 2, y: 2}", NULL, NULL, 4},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct fake f;
    struct tsr_instance dram, llb, noc;
    fake_open(&f, 1000000000);
    fake_make(&f, &dram, "dram.simple", "", NULL, NULL, NULL);
    if (rows[i].llb) fake_make(&f, &llb, "llb", rows[i].llb, &dram, NULL, NULL);
    fake_prepare(&noc, rows[i].kind, rows[i].text);
    struct tsr_wiring w = {.env = &f.env,
                           .self = &noc,
                           .peer = {rows[i].llb ? &llb : &dram},
                           .cores = rows[i].cores};
    struct tsr_err err = TSR_ERR_INIT;
    enum tsr_status st = noc.ops->init(noc.state, noc.params, &w, &err);
    assert_int_equal(st, rows[i].says ? TSR_INPUT : TSR_OK);
    if (rows[i].says && !strstr(err.msg[0], rows[i].says)) fail_msg("%s", err.msg[0]);
    tsr_err_fini(&err);
    fake_drop(&noc);
    if (rows[i].llb) fake_drop(&llb);
    fake_drop(&dram);
    fake_close(&f);
  }
}

static void memory_that_runs_out_is_an_error(void **state) {
  (void)state;
  static const struct {
    const char *kind;
    uint64_t allocations;
  } rows[] = {{"noc.crossbar", 1}, {"noc.mesh", 2}};
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint64_t nth = 1; nth <= rows[i].allocations + 1; nth++) {
      struct fake f;
      struct tsr_instance dram, noc;
      fake_open(&f, 1000000000);
      fake_make(&f, &dram, "dram.simple", "", NULL, NULL, NULL);
      fake_prepare(&noc, rows[i].kind, "");
      struct tsr_wiring w = {.env = &f.env, .self = &noc, .peer = {&dram}, .cores = 4};
      struct tsr_err err = TSR_ERR_INIT;
      tsr_mem_fail_at(nth, false);
      enum tsr_status st = noc.ops->init(noc.state, noc.params, &w, &err);
      tsr_mem_fail_at(0, false);
      assert_int_equal(st, nth > rows[i].allocations ? TSR_OK : TSR_NOMEM);
      tsr_err_fini(&err);
      fake_drop(&noc);
      fake_drop(&dram);
      fake_close(&f);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_lone_burst_pays_its_hops),
      cmocka_unit_test(pipe_and_free_know_the_ways),
      cmocka_unit_test(a_crossbar_is_one_hop_each_way),
      cmocka_unit_test(messages_go_along_x_then_y),
      cmocka_unit_test(beside_its_memory_a_core_pays_nothing),
      cmocka_unit_test(two_cores_on_one_link_have_half_each),
      cmocka_unit_test(cores_share_the_memory_evenly),
      cmocka_unit_test(a_core_of_many_knows_its_own_window),
      cmocka_unit_test(a_window_as_long_as_the_round_trip_hides_the_way),
      cmocka_unit_test(directions_do_not_disturb_each_other),
      cmocka_unit_test(a_multicast_takes_each_link_of_its_tree_once),
      cmocka_unit_test(a_shared_load_ends_when_all_have_it),
      cmocka_unit_test(more_of_a_link_is_not_slower),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(memory_that_runs_out_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
