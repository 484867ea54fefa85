/* llb: what is there, what is read, what is written back, and when. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

#define DRAM "{channels: 1, bandwidth: 64GB/s, latency: 100ns}" /* 1 ns a line of 64 B */

struct rig {
  struct fake f;
  struct tsr_instance dram, llb;
};

static void rig_open(struct rig *r, const char *dram, const char *llb) {
  fake_open(&r->f, 1000000000);
  fake_make(&r->f, &r->dram, "dram.simple", dram, NULL, NULL, NULL);
  fake_make(&r->f, &r->llb, "llb", llb, &r->dram, NULL, NULL);
}

static void rig_close(struct rig *r) {
  fake_drop(&r->llb);
  fake_drop(&r->dram);
  fake_close(&r->f);
}

/* n bursts one behind the other in memory, all ready at once. */
static struct tsr_train burst_train(uint64_t addr, uint32_t n, uint32_t bytes, bool write,
                                    uint64_t ready) {
  struct tsr_train t = {.n = n, .burst_bytes = bytes, .write = write, .n_cores = 1};
  for (uint32_t i = 0; i < n; i++) {
    t.addr[i] = addr + (uint64_t)i * bytes;
    t.ready_fs[i] = ready;
  }
  return t;
}

static uint64_t serve(struct rig *r, struct tsr_train *t) {
  r->f.now = tsr_max_u64(r->f.now, t->ready_fs[0]);
  return r->llb.ops->memory->serve(r->llb.state, t, t->ready_fs[0]);
}

static uint64_t count(const struct rig *r, const char *name) {
  return fake_counter(&r->llb, name);
}

/* ---- contents, against lists ---- */

enum { SETS_MAX = 64, WAYS_MAX = 8 };
struct slow {
  uint64_t slices, sets, ways, line;
  struct {
    uint64_t number;
    bool dirty;
  } list[SETS_MAX][WAYS_MAX]; /* latest first */
  uint64_t n[SETS_MAX];
  uint64_t present, absent, past, writebacks, fills, dirtied;
};

/* Sets of all slices in one row: together they are the line number modulo their count. */
static void slow_access(struct slow *s, uint64_t number, bool write, bool whole, bool past) {
  uint64_t set = number % (s->slices * s->sets), i = 0;
  bool dirty = false;
  while (i < s->n[set] && s->list[set][i].number != number) i++;
  if (i < s->n[set]) {
    s->present++;
    dirty = s->list[set][i].dirty;
  } else if (past) {
    s->past++;
    *(write ? &s->writebacks : &s->fills) += 1;
    s->dirtied += write;
    return;
  } else {
    s->absent++;
    s->fills += !(write && whole);
    if (s->n[set] < s->ways)
      s->n[set]++;
    else
      s->writebacks += s->list[set][s->ways - 1].dirty;
    i = s->n[set] - 1;
  }
  for (; i > 0; i--) s->list[set][i] = s->list[set][i - 1];
  s->dirtied += write && !dirty;
  s->list[set][0].number = number;
  s->list[set][0].dirty = dirty || write;
}

static void slow_train(struct slow *s, const struct tsr_train *t) {
  for (uint32_t i = 0; i < t->n; i++)
    for (uint64_t n = t->addr[i] / s->line; n * s->line < t->addr[i] + t->burst_bytes; n++) {
      bool whole =
          t->addr[i] <= n * s->line && t->addr[i] + t->burst_bytes >= (n + 1) * s->line;
      slow_access(s, n, t->write, whole, t->past);
    }
}

static void slow_compare(const struct rig *r, const struct slow *s) {
  assert_int_equal(count(r, "hits") + count(r, "merges"), s->present);
  assert_int_equal(count(r, "misses"), s->absent);
  assert_int_equal(count(r, "passes"), s->past);
  assert_int_equal(count(r, "fill_bytes"), s->fills * s->line);
  assert_int_equal(count(r, "writeback_bytes"), s->writebacks * s->line);
  assert_int_equal(count(r, "dirtied_bytes"), s->dirtied * s->line);
  assert_int_equal(fake_counter(&r->dram, "read_bytes"), s->fills * s->line);
  assert_int_equal(fake_counter(&r->dram, "write_bytes"), s->writebacks * s->line);
  uint64_t dirty = 0;
  for (uint64_t k = 0; k < s->slices * s->sets; k++)
    for (uint64_t i = 0; i < s->n[k]; i++) dirty += s->list[k][i].dirty;
  assert_int_equal(count(r, "dirtied_bytes") - count(r, "writeback_bytes"), dirty * s->line);
}

static void lines_come_and_go_as_in_lists(void **state) {
  (void)state;
  static const struct {
    uint64_t slices, sets, ways, line, burst;
  } rows[] = {{1, 1, 1, 64, 64},  {1, 4, 2, 64, 64},   {4, 1, 8, 64, 64},  {3, 5, 4, 96, 32},
              {2, 8, 4, 128, 64}, {2, 3, 2, 32, 4096}, {5, 2, 3, 64, 100}, {8, 8, 8, 64, 64}};
  uint64_t present = 0, absent = 0, writebacks = 0, past = 0;
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint64_t seed = 1; seed <= 8; seed++) {
      struct slow s = {.slices = rows[i].slices,
                       .sets = rows[i].sets,
                       .ways = rows[i].ways,
                       .line = rows[i].line};
      uint64_t lines = s.slices * s.sets * s.ways, burst = rows[i].burst;
      struct tsr_rng rng = {seed};
      struct rig r;
      char text[128];
      snprintf(text, sizeof text, "{size: %uB, slices: %u, ways: %u, line: %uB}",
               (unsigned)(lines * s.line), (unsigned)s.slices, (unsigned)s.ways,
               (unsigned)s.line);
      rig_open(&r, DRAM, text);
      for (int k = 0; k < 400; k++) {
        /* half of them within what fits, some far away */
        uint64_t span = lines * s.line * (k % 2 ? 1 : 3) / burst + 1;
        uint32_t n = seed == 1 ? 1 : (uint32_t)tsr_rng_range(&rng, 1, TSR_TRAIN_MAX);
        struct tsr_train t = burst_train(0, n, (uint32_t)burst, tsr_rng_range(&rng, 0, 2) == 0,
                                         (uint64_t)k * 40 * NS);
        t.past = seed > 4 && tsr_rng_range(&rng, 0, 3) == 0;
        uint64_t first = tsr_rng_range(&rng, 0, span);
        for (uint32_t j = 0; j < n; j++)
          t.addr[j] = (k % 3 ? first + j : tsr_rng_range(&rng, 0, span)) * burst;
        (void)serve(&r, &t);
        slow_train(&s, &t);
        slow_compare(&r, &s);
      }
      present += s.present;
      absent += s.absent;
      writebacks += s.writebacks;
      past += s.past;
      rig_close(&r);
    }
  assert_true(present > 50000 && absent > 50000 && writebacks > 20000 && past > 5000);
}

/* One access at a time, far apart: which hit, by hand.  Two ways, one set. */
static void the_line_used_longest_ago_makes_room(void **state) {
  (void)state;
  static const struct {
    uint64_t line;
    bool write, hit, writes_back;
  } rows[] = {{0, false, false, false}, {1, true, false, false},
              {0, false, true, false},  {2, false, false, true},  /* 1 goes, dirty */
              {0, true, true, false},   {1, false, false, false}, /* 2 goes, clean */
              {0, false, true, false},  {2, false, false, false}, /* 1 goes, clean by now */
              {1, false, false, true},                            /* 0 goes */
              {2, false, true, false}};
  struct rig r;
  rig_open(&r, DRAM, "{size: 128B, slices: 1, ways: 2, latency: 10ns}");
  for (size_t i = 0; i < LEN(rows); i++) {
    uint64_t hits = count(&r, "hits"), written = count(&r, "writebacks");
    struct tsr_train t = burst_train(rows[i].line * 64, 1, 64, rows[i].write, i * 1000 * NS);
    (void)serve(&r, &t);
    assert_int_equal(count(&r, "hits") - hits, rows[i].hit);
    assert_int_equal(count(&r, "writebacks") - written, rows[i].writes_back);
    bool reads = !rows[i].hit && !rows[i].write;
    uint64_t takes = (10 + 1 + (reads ? 100 : 0)) * NS;
    assert_int_equal(t.end_fs[0], i * 1000 * NS + takes);
  }
  rig_close(&r);
}

/* ---- time ---- */

/* 10 ns to the port, 2 ns for 64 B there; 100 ns for a line from the DRAM. */
#define TIMED "{size: 64KiB, slices: 1, ways: 4, line: 128B, latency: 10ns, bandwidth: 32GB/s}"

static void an_access_takes_its_parts(void **state) {
  (void)state;
  static const struct {
    uint64_t at, addr;
    uint32_t bytes;
    bool write;
    uint64_t takes; /* ns */
    const char *counts;
  } rows[] = {
      {0, 0, 64, false, 112, "misses"},
      {1000, 64, 64, false, 12, "hits"},
      {2000, 0, 128, false, 14, "hits"},
      {3000, 256, 128, true, 14, "misses"}, /* whole: nothing is read */
      {4000, 256, 64, false, 12, "hits"},
      {5000, 512, 64, true, 112, "misses"}, /* a part: the line is read first */
      {6000, 640, 64, false, 112, "misses"},
      {6040, 704, 64, false, 72 + 2,
       "merges"},                         /* the line is there at 6110, the port at 6112 */
      {6106, 640, 64, false, 12, "hits"}, /* looked up at 6116: it is there */
      {7000, 1024, 64, true, 112, "misses"},
      {7050, 1024, 64, false, 64, "merges"}, /* the data of a write that waits too */
  };
  struct rig r;
  rig_open(&r, DRAM, TIMED);
  for (size_t i = 0; i < LEN(rows); i++) {
    uint64_t before = count(&r, rows[i].counts), fills = count(&r, "fill_bytes");
    struct tsr_train t =
        burst_train(rows[i].addr, 1, rows[i].bytes, rows[i].write, rows[i].at * NS);
    (void)serve(&r, &t);
    assert_int_equal(t.end_fs[0], (rows[i].at + rows[i].takes) * NS);
    assert_int_equal(count(&r, rows[i].counts), before + 1);
    bool reads = rows[i].takes >= 112;
    assert_int_equal(count(&r, "fill_bytes") - fills, reads ? 128 : 0);
    assert_int_equal(t.start_fs[0], rows[i].at * NS); /* taken at once */
  }
  rig_close(&r);
}

/* What hits goes before the data of a miss that were booked first. */
static void a_hit_does_not_wait_for_a_miss(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, DRAM, TIMED);
  struct tsr_train t = burst_train(0, 1, 64, false, 0);
  (void)serve(&r, &t);
  t = burst_train(4096, 4, 64, false, 1000 * NS);
  (void)serve(&r, &t);
  assert_int_equal(t.end_fs[0], 1112 * NS);
  t = burst_train(0, 1, 64, false, 1001 * NS);
  (void)serve(&r, &t);
  assert_int_equal(t.end_fs[0], 1013 * NS);
  /* four halves of two lines that come 2 ns apart, 2 ns each at the port */
  assert_int_equal(count(&r, "slice_wait_fs"), (0 + 2 + 2 + 4) * NS);
  rig_close(&r);
}

/* One line of room.  What is dirty before it is there is written back when it is. */
static void a_line_on_its_way_is_written_back_later(void **state) {
  (void)state;
  for (int split = 0; split < 2; split++) {
    struct rig r;
    rig_open(&r, DRAM, "{size: 64B, slices: 1, ways: 1, latency: 10ns}");
    struct tsr_train t = burst_train(0, 1, 32, true, 0);
    if (split) {
      (void)serve(&r, &t); /* read until 110 */
      t = burst_train(64, 1, 32, false, NS);
    } else {
      t.n = 2; /* both in one train */
      t.addr[1] = 64;
      t.ready_fs[1] = NS;
    }
    (void)serve(&r, &t);
    assert_int_equal(count(&r, "writebacks"), 1);
    assert_int_equal(r.dram.ops->memory->free_fs(r.dram.state), 111 * NS);
    assert_int_equal(r.llb.ops->memory->free_fs(r.llb.state), 101 * NS); /* sent 10 before */
    rig_close(&r);
  }
}

/* One line of room, bursts of a line and a half: line 1 is read and makes room at once for
 * line 2, which is written whole and is there. */
static void a_fill_that_came_to_nothing_delays_no_other_line(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, DRAM, "{size: 64B, slices: 1, ways: 1, latency: 10ns, bandwidth: 64GB/s}");
  struct tsr_train t = burst_train(0, 2, 96, true, 0);
  (void)serve(&r, &t);
  assert_int_equal(count(&r, "fill_bytes"), 64);
  assert_int_equal(count(&r, "misses"), 3);
  assert_int_equal(count(&r, "merges"), 1);
  t = burst_train(128, 1, 64, false, 40 * NS);
  (void)serve(&r, &t);
  assert_int_equal(count(&r, "hits"), 1);
  assert_int_equal(t.end_fs[0], 51 * NS);
  rig_close(&r);
}

/* The first of two lines is read, the second is there: the burst ends with the first. */
static void a_burst_ends_with_its_last_line(void **state) {
  (void)state;
  for (uint64_t there = 0; there < 2; there++) {
    struct rig r;
    rig_open(&r, DRAM, "{size: 64KiB, slices: 2, ways: 4, latency: 10ns, bandwidth: 64GB/s}");
    struct tsr_train t = burst_train(there * 64, 1, 64, false, 0);
    (void)serve(&r, &t);
    t = burst_train(0, 1, 128, false, 1000 * NS);
    (void)serve(&r, &t);
    assert_int_equal(t.end_fs[0], 1111 * NS);
    const struct tsr_memory_ops *m = r.llb.ops->memory, *d = r.dram.ops->memory;
    uint64_t behind = d->pipe_fs(r.dram.state, 64); /* two of three accesses went there */
    assert_int_equal(m->pipe_fs(r.llb.state, 64), 10 * NS + behind * 2 / 3);
    rig_close(&r);
  }
}

/* Two cores want the same lines at once: the DRAM gives them once, and neither is late. */
static void requests_for_a_line_on_its_way_merge(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, DRAM, "{size: 64KiB, slices: 4, ways: 4, latency: 10ns, bandwidth: unlimited}");
  uint64_t end[2] = {0, 0};
  for (uint32_t core = 0; core < 2; core++)
    for (uint64_t k = 0; k < 8; k++) {
      struct tsr_train t = burst_train(k * 2048, 32, 64, false, core * NS);
      t.core = core;
      (void)serve(&r, &t);
      end[core] = t.end_fs[31];
    }
  assert_int_equal(count(&r, "misses"), 256);
  assert_int_equal(count(&r, "merges"), 256);
  assert_int_equal(fake_counter(&r.dram, "read_bytes"), 256 * 64);
  assert_int_equal(end[0], (10 + 255 + 100) * NS);
  assert_int_equal(end[1], end[0]);
  rig_close(&r);
}

/* Lines that are there: the ports bound, 2 ns a burst each. */
static void ports_bound_what_hits(void **state) {
  (void)state;
  static const uint64_t slices[] = {1, 2, 4, 8};
  for (size_t i = 0; i < LEN(slices); i++) {
    struct rig r;
    char text[128];
    snprintf(text, sizeof text,
             "{size: 64KiB, slices: %u, ways: 4, latency: 10ns, bandwidth: 32GB/s}",
             (unsigned)slices[i]);
    rig_open(&r, DRAM, text);
    uint64_t last = 0, from = 100000 * NS, idle = 0;
    for (int pass = 0; pass < 2; pass++)
      for (uint64_t k = 0; k < 32; k++) {
        struct tsr_train t = burst_train(k * 2048, 32, 64, false, pass ? from : 0);
        idle = serve(&r, &t);
        if (pass && k) assert_int_equal(idle, 0); /* never for want of bursts */
        for (uint32_t j = 0; j < 32; j++) last = tsr_max_u64(last, t.end_fs[j]);
      }
    assert_int_equal(count(&r, "hits"), 1024);
    assert_int_equal(last, from + (10 + 1024 * 2 / slices[i]) * NS);
    for (uint64_t k = 0; k < slices[i]; k++) {
      struct tsr_resource x;
      r.llb.ops->memory->resource(r.llb.state, k, &x);
      char name[16];
      snprintf(name, sizeof name, "slice%u", (unsigned)k);
      assert_string_equal(x.name, name);
      assert_int_equal(x.bytes, 2 * 1024 * 64 / slices[i]);
      assert_int_equal(x.busy_fs, 2 * 1024 * 2 * NS / slices[i]);
    }
    assert_int_equal(r.llb.ops->memory->resources(r.llb.state), slices[i]);
    rig_close(&r);
  }
}

/* Twice what fits is written: half of it goes to the DRAM, the rest stays dirty. */
static void what_is_written_leaves_when_it_must(void **state) {
  (void)state;
  enum { SIZE = 65536 };
  struct rig r;
  rig_open(&r, DRAM, "{size: 64KiB, slices: 4, ways: 4, latency: 10ns, bandwidth: unlimited}");
  uint64_t last = 0;
  for (uint64_t at = 0; at < 2 * SIZE; at += 2048) {
    struct tsr_train t = burst_train(at, 32, 64, true, 0);
    (void)serve(&r, &t);
    last = tsr_max_u64(last, t.end_fs[31]);
  }
  assert_int_equal(fake_counter(&r.dram, "write_bytes"), SIZE);
  assert_int_equal(fake_counter(&r.dram, "read_bytes"), 0);
  assert_int_equal(count(&r, "dirtied_bytes") - count(&r, "writeback_bytes"), SIZE);
  assert_int_equal(last, 10 * NS); /* nobody waits for it */
  /* but who needs the DRAM next does: 1024 lines of 1 ns before his */
  struct tsr_train t = burst_train(1 << 20, 1, 64, false, 0);
  (void)serve(&r, &t);
  assert_int_equal(t.end_fs[0], (10 + 1024 + 100) * NS);
  rig_close(&r);
}

/* ---- the whole stack ---- */

enum { CORES = 4 };
struct stack {
  struct fake f;
  struct tsr_instance dram, llb, noc, buf[CORES], load[CORES];
};

static void stack_open(struct stack *s, const char *llb, const char *noc) {
  fake_open(&s->f, 1000000000);
  s->f.cores = CORES;
  fake_make(&s->f, &s->dram, "dram.simple", "{channels: 2, bandwidth: 32GB/s, latency: 80ns}",
            NULL, NULL, NULL);
  fake_make(&s->f, &s->llb, "llb", llb, &s->dram, NULL, NULL);
  fake_make(&s->f, &s->noc, "noc.mesh", noc, &s->llb, NULL, NULL);
  for (uint32_t c = 0; c < CORES; c++) {
    s->f.core = c;
    fake_make(&s->f, &s->buf[c], "sram", "{size: 1MiB, width: unlimited}", NULL, NULL, NULL);
    fake_make(&s->f, &s->load[c], "dma.load", "{outstanding: 256}", &s->noc, &s->dram, NULL);
  }
}

static void stack_close(struct stack *s) {
  assert_int_equal(s->dram.users, 0);
  for (uint32_t c = 0; c < CORES; c++) {
    fake_drop(&s->load[c]);
    fake_drop(&s->buf[c]);
  }
  fake_drop(&s->noc);
  fake_drop(&s->llb);
  fake_drop(&s->dram);
  fake_close(&s->f);
}

/* All cores load the same 64 KiB, twice: the DRAM reads it once, and the second time the
 * slices and links bound. */
static void what_cores_share_is_read_once(void **state) {
  (void)state;
  enum { BYTES = 65536, N = BYTES / 64 };
  struct stack s;
  stack_open(&s, "{size: 128KiB, slices: 2, ways: 4, latency: 5ns, bandwidth: 128GB/s}",
             "{header: 0, bandwidth: 64GB/s}");
  uint64_t took[2];
  struct ask a[2][CORES];
  for (int pass = 0; pass < 2; pass++) {
    uint64_t from = s.f.now + 1000 * NS;
    for (uint32_t c = 0; c < CORES; c++) {
      a[pass][c].req = (struct tsr_req){.xfer = {.box = {.rank = 1,
                                                         .elem_bytes = 1,
                                                         .size = {BYTES},
                                                         .stride_bytes = {1},
                                                         .extent = {BYTES},
                                                         .step = {1}},
                                                 .buffer = &s.buf[c]}};
      fake_chain(&s.f, &s.load[c], &a[pass][c], 1, from);
    }
    fake_run(&s.f);
    took[pass] = s.f.now - from;
    fake_check(a[pass], CORES);
    assert_int_equal(fake_counter(&s.dram, "read_bytes"), BYTES);
  }
  assert_in_range(took[0], N * 2 * NS, (N * 2 + 300) * NS); /* 2 ns a burst from the DRAM */
  /* then: two slices of half a ns a burst have 4 N of them; each of the links into the
   * other column has N of 1 ns */
  assert_in_range(took[1], N * NS, (N + N / 10 + 100) * NS);
  assert_int_equal(fake_counter(&s.llb, "misses"), N);
  assert_int_equal(fake_counter(&s.llb, "hits") + fake_counter(&s.llb, "merges"),
                   (2 * CORES - 1) * N);
  for (uint32_t c = 0; c < CORES; c++) { /* and that is what the engines say */
    const struct tsr_lateness *late = &a[1][c].ticket.late;
    uint64_t cycles = (a[1][c].done - a[1][c].started) / NS;
    assert_in_range(late->noc_cycles, cycles * 3 / 4, cycles + 2);
    assert_in_range(late->latency_cycles, 0, cycles / 4 + 20);
  }
  stack_close(&s);
}

/* A core beside the only slice: no link, the port alone. */
static void a_slow_port_is_what_a_transfer_waits_for(void **state) {
  (void)state;
  enum { N = 1000 };
  struct fake f;
  struct tsr_instance dram, llb, buf, load;
  fake_open(&f, 1000000000);
  fake_make(&f, &dram, "dram.simple", DRAM, NULL, NULL, NULL);
  fake_make(&f, &llb, "llb",
            "{size: 128KiB, slices: 1, ways: 4, latency: 5ns, bandwidth: 16GB/s}", &dram, NULL,
            NULL);
  fake_make(&f, &buf, "sram", "{size: 1MiB, width: unlimited}", NULL, NULL, NULL);
  fake_make(&f, &load, "dma.load", "{outstanding: 256}", &llb, &dram, NULL);
  for (int pass = 0; pass < 2; pass++) {
    struct ask a = {.req = {.xfer = {.box = {.rank = 1,
                                             .elem_bytes = 64,
                                             .size = {N},
                                             .stride_bytes = {64},
                                             .extent = {N},
                                             .step = {1}},
                                     .buffer = &buf}}};
    fake_chain(&f, &load, &a, 1, f.now + 1000 * NS);
    fake_run(&f);
    /* 4 ns a burst.  The first pass waits for the DRAM once, and what the DRAM itself needs
     * for it, 1 ns a burst, is not the port's. */
    uint64_t took = (a.done - a.started) / NS, port = pass ? 4 * N : 3 * N;
    assert_int_equal(took, 4 * N + 5 + (pass ? 0 : 100));
    assert_in_range(a.ticket.late.noc_cycles, port - port / 12, port);
    assert_in_range(a.ticket.late.noc_cycles + a.ticket.late.latency_cycles, port - 4,
                    port + 110);
  }
  fake_drop(&load);
  fake_drop(&buf);
  fake_drop(&llb);
  fake_drop(&dram);
  fake_close(&f);
}

/* ---- properties over random traffic ---- */

struct outcome {
  uint64_t last, misses, hits, dram_bytes;
};

static struct outcome traffic(uint64_t seed, const char *llb) {
  struct tsr_rng rng = {seed};
  struct rig r;
  rig_open(&r, "{channels: 4, bandwidth: 100GB/s, latency: 80ns}", llb);
  struct outcome o = {0};
  uint64_t when = 0, bytes[2] = {0, 0}, lines = 0;
  for (int i = 0; i < 300; i++) {
    uint32_t n = (uint32_t)tsr_rng_range(&rng, 1, TSR_TRAIN_MAX);
    bool write = tsr_rng_range(&rng, 0, 2) == 0;
    struct tsr_train t = burst_train(tsr_rng_range(&rng, 0, 1500) * 64, n, 64, write, when);
    uint64_t idle = serve(&r, &t);
    assert_true(idle <= 4 * (t.end_fs[n - 1] - when) + 4 * 80 * NS);
    for (uint32_t k = 0; k < n; k++) {
      assert_true(t.start_fs[k] >= when && t.end_fs[k] >= t.start_fs[k] + 10 * NS);
      o.last = tsr_max_u64(o.last, t.end_fs[k]);
    }
    bytes[write] += n * 64;
    lines += n;
    when += tsr_rng_range(&rng, 0, 20) * NS;
  }
  o.hits = count(&r, "hits") + count(&r, "merges");
  o.misses = count(&r, "misses");
  o.dram_bytes = fake_counter(&r.dram, "read_bytes") + fake_counter(&r.dram, "write_bytes");
  assert_int_equal(o.hits + o.misses, lines);
  assert_int_equal(count(&r, "read_bytes"), bytes[0]);
  assert_int_equal(count(&r, "write_bytes"), bytes[1]);
  assert_int_equal(o.dram_bytes, count(&r, "fill_bytes") + count(&r, "writeback_bytes"));
  uint64_t moved = 0, wait = 0;
  for (size_t k = 0; k < r.llb.ops->memory->resources(r.llb.state); k++) {
    struct tsr_resource x;
    r.llb.ops->memory->resource(r.llb.state, k, &x);
    moved += x.bytes;
    wait += x.wait_fs;
  }
  assert_int_equal(moved, bytes[0] + bytes[1]);
  assert_int_equal(wait, count(&r, "slice_wait_fs"));
  rig_close(&r);
  return o;
}

/* Slices times sets stay the same, so that every access does as before; only the ports are
 * more or faster.  A slice books in the order of the calls, so that what comes sooner might
 * take another's place: here are none. */
static void more_ports_are_not_slower(void **state) {
  (void)state;
  static const struct {
    const char *less, *more;
  } rows[] = {
      {"{size: 64KiB, slices: 1, ways: 4, latency: 10ns, bandwidth: 30GB/s}",
       "{size: 64KiB, slices: 4, ways: 4, latency: 10ns, bandwidth: 30GB/s}"},
      {"{size: 64KiB, slices: 2, ways: 16, latency: 10ns, bandwidth: 30GB/s}",
       "{size: 64KiB, slices: 16, ways: 16, latency: 10ns, bandwidth: 30GB/s}"},
      {"{size: 64KiB, slices: 2, ways: 2, latency: 10ns, bandwidth: 30GB/s}",
       "{size: 64KiB, slices: 2, ways: 2, latency: 10ns, bandwidth: 60GB/s}"},
      {"{size: 64KiB, slices: 2, ways: 2, latency: 30ns, bandwidth: 30GB/s}",
       "{size: 64KiB, slices: 2, ways: 2, latency: 10ns, bandwidth: 30GB/s}"},
  };
  int slower = 0, faster = 0;
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint64_t seed = 1; seed <= 50; seed++) {
      struct outcome a = traffic(seed, rows[i].less), b = traffic(seed, rows[i].more);
      assert_int_equal(a.misses, b.misses);
      assert_int_equal(a.dram_bytes, b.dram_bytes);
      slower += b.last > a.last;
      faster += b.last < a.last;
    }
  assert_int_equal(slower, 0);
  assert_true(faster > 150);
}

/* LRU keeps the contents of a smaller number of ways: more ways never miss more. */
static void more_ways_do_not_miss_more(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 50; seed++) {
    uint64_t before = UINT64_MAX;
    for (unsigned ways = 1; ways <= 16; ways *= 2) {
      char text[96];
      snprintf(text, sizeof text, "{size: %uKiB, slices: 4, ways: %u, latency: 10ns}", 8 * ways,
               ways);
      struct outcome o = traffic(seed, text);
      assert_true(o.misses < before);
      before = o.misses;
    }
  }
}

/* ---- what is refused ---- */

static void a_size_that_does_not_divide_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool good;
  } rows[] = {{"{size: 8KiB, slices: 8, ways: 16}", true},
              {"{size: 12KiB, slices: 8, ways: 16}", false},
              {"{size: 4KiB, slices: 8, ways: 16}", false},
              {"{size: 24KiB, slices: 8, ways: 16}", true},
              {"{}", false}};
  for (size_t i = 0; i < LEN(rows); i++)
    for (uint64_t nth = 0; nth < 2; nth++) {
      struct fake f;
      struct tsr_instance dram, llb;
      fake_open(&f, 1000000000);
      fake_make(&f, &dram, "dram.simple", "", NULL, NULL, NULL);
      fake_prepare(&llb, "llb", rows[i].text);
      struct tsr_err err = TSR_ERR_INIT;
      struct tsr_wiring w = {.env = &f.env, .self = &llb, .peer = {&dram}, .cores = 1};
      tsr_mem_fail_at(nth, false);
      enum tsr_status st = llb.ops->init(llb.state, llb.params, &w, &err);
      tsr_mem_fail_at(0, false);
      if (!rows[i].good)
        assert_true(st == TSR_INPUT || nth);
      else
        assert_int_equal(st, nth ? TSR_NOMEM : TSR_OK);
      tsr_err_fini(&err);
      fake_drop(&llb);
      fake_drop(&dram);
      fake_close(&f);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_come_and_go_as_in_lists),
      cmocka_unit_test(the_line_used_longest_ago_makes_room),
      cmocka_unit_test(an_access_takes_its_parts),
      cmocka_unit_test(a_hit_does_not_wait_for_a_miss),
      cmocka_unit_test(a_line_on_its_way_is_written_back_later),
      cmocka_unit_test(a_fill_that_came_to_nothing_delays_no_other_line),
      cmocka_unit_test(a_burst_ends_with_its_last_line),
      cmocka_unit_test(requests_for_a_line_on_its_way_merge),
      cmocka_unit_test(ports_bound_what_hits),
      cmocka_unit_test(what_is_written_leaves_when_it_must),
      cmocka_unit_test(what_cores_share_is_read_once),
      cmocka_unit_test(a_slow_port_is_what_a_transfer_waits_for),
      cmocka_unit_test(more_ports_are_not_slower),
      cmocka_unit_test(more_ways_do_not_miss_more),
      cmocka_unit_test(a_size_that_does_not_divide_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
