#include "dram_rig.h"

#include <stdlib.h>

#include "sim/base/mem.h"

enum { PATIENCE = 20000000 }; /* clocks in which something must have happened */

static void on_done(void *arg, uint64_t tag, uint64_t clock) {
  struct dram_rig *r = arg;
  assert_true(tag < r->n);
  assert_int_equal(r->answered[tag], 0); /* not twice */
  assert_true(clock > r->taken[tag]);
  r->answered[tag] = clock;
  r->last = tsr_max_u64(r->last, clock);
}

void dram_rig_open(struct dram_rig *r, const struct tsr_dram_config *c) {
  *r = (struct dram_rig){.c = *c};
  r->c.org.channels = 1;
  assert_int_equal(tsr_dram_check(&r->c, NULL), TSR_OK);
  assert_int_equal(tsri_addr_init(&r->map, &r->c, NULL), TSR_OK);
  assert_int_equal(tsri_channel_init(&r->ch, &r->c, &r->sums, NULL), TSR_OK);
  dram_watch_open(&r->watch, &r->c, &r->ch, on_done, r);
}
void dram_rig_close(struct dram_rig *r) {
  tsri_channel_fini(&r->ch);
  dram_watch_close(&r->watch);
  tsr_mem_free(r->taken);
  tsr_mem_free(r->answered);
}

/* Takes request i at clock t or as soon as there is room. */
static uint64_t put_in(struct dram_rig *r, size_t i, uint64_t t) {
  const struct dram_request *q = &r->req[i];
  (void)tsri_channel_run(&r->ch, t + 1, TSRI_UNTIL_LIMIT);
  if (!tsri_channel_room(&r->ch, q->write)) {
    enum tsri_until until = q->write ? TSRI_UNTIL_WRITE_ROOM : TSRI_UNTIL_READ_ROOM;
    t = tsr_max_u64(t, tsri_channel_run(&r->ch, t + PATIENCE, until));
    assert_true(tsri_channel_room(&r->ch, q->write)); /* or it hangs */
  }
  r->taken[i] = t;
  tsri_channel_accept(&r->ch, t, tsri_addr_place(&r->map, q->addr), q->addr, q->write, i);
  return t;
}

static uint64_t read_commands(const struct dram_watch *w) {
  return w->count[TSRI_RD] + w->count[TSRI_RDA];
}
static uint64_t write_commands(const struct dram_watch *w) {
  return w->count[TSRI_WR] + w->count[TSRI_WRA];
}

/* Until what may be written has been. */
static void finish(struct dram_rig *r, uint64_t t) {
  (void)tsri_channel_run(&r->ch, t + PATIENCE, TSRI_UNTIL_READS_DONE);
  for (size_t i = 0; i < r->n; i++) assert_int_not_equal(r->answered[i], 0);
  t = tsr_max_u64(t, r->last);
  for (int k = 0; k < 200 && !tsri_channel_idle(&r->ch); k++) {
    uint64_t before = r->watch.n;
    (void)tsri_channel_run(&r->ch, t += 4096, TSRI_UNTIL_LIMIT);
    if (k > 20 && r->watch.n == before) break;
  }
}

static int by_address(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}
static bool all_distinct(const struct dram_request *req, size_t n) {
  uint64_t *a = tsr_mem_array(n + 1, sizeof *a);
  bool distinct = true;
  assert_non_null(a);
  for (size_t i = 0; i < n; i++) a[i] = req[i].addr;
  qsort(a, n, sizeof *a, by_address);
  for (size_t i = 1; i < n; i++) distinct = distinct && a[i] != a[i - 1];
  tsr_mem_free(a);
  return distinct;
}

/* By bank and row, what was asked for and what was commanded: sums of a hash. */
static void check_places(const struct dram_rig *r) {
  uint64_t asked = 0, seen = 0, left = r->sums.writes - r->sums.write_cmds;
  for (size_t i = 0; i < r->n; i++) {
    struct tsri_place_of at = tsri_addr_place(&r->map, r->req[i].addr);
    asked += tsr_rng_u64(at.bank, at.row, r->req[i].write);
  }
  for (size_t i = 0; i < r->watch.n; i++) {
    const struct dram_command *x = &r->watch.past[i];
    if (dram_command_reads(x->cmd) || dram_command_writes(x->cmd))
      seen += tsr_rng_u64(x->bank, x->row, dram_command_writes(x->cmd));
  }
  if (!left) assert_int_equal(asked, seen);
}

static void check_sums(const struct dram_rig *r) {
  const struct tsri_channel_sums *s = &r->sums;
  const struct dram_watch *w = &r->watch;
  uint64_t reads = 0, left = s->writes - s->write_cmds;
  for (size_t i = 0; i < r->n; i++) reads += !r->req[i].write;
  assert_int_equal(s->reads, reads);
  assert_int_equal(s->writes, r->n - reads);
  assert_int_equal(s->read_cmds + s->forwards + s->merges, s->reads);
  assert_int_equal(s->read_cmds, read_commands(w));
  assert_int_equal(s->write_cmds, write_commands(w));
  assert_int_equal(s->acts, w->count[TSRI_ACT]);
  assert_int_equal(s->refs, w->count[TSRI_REFA]);
  assert_int_equal(s->refbs, w->count[TSRI_REFB]);
  assert_int_equal(s->pres, w->count[TSRI_PRE] + w->count[TSRI_PREA] + w->count[TSRI_RDA] +
                                w->count[TSRI_WRA]);
  if (!all_distinct(r->req, r->n)) return;
  assert_int_equal(s->forwards + s->merges, 0);
  assert_true(left < tsr_max_u64(r->c.p.drain_idle, 1));
  check_places(r);
}

void dram_rig_play(struct dram_rig *r, const struct dram_request *req, size_t n) {
  assert_int_equal(r->n, 0); /* once */
  r->n = n;
  r->req = req;
  r->taken = tsr_mem_array(n + 1, sizeof *r->taken);
  r->answered = tsr_mem_array(n + 1, sizeof *r->answered);
  assert_true(r->taken && r->answered);
  uint64_t t = 0;
  for (size_t i = 0; i < n; i++) t = put_in(r, i, tsr_max_u64(t, req[i].at));
  finish(r, t);
  check_sums(r);
}

uint64_t dram_rig_clock_of(const struct dram_rig *r, unsigned kinds, size_t i) {
  for (size_t k = 0; k < r->watch.n; k++)
    if (kinds & 1u << r->watch.past[k].cmd && i-- == 0) return r->watch.past[k].at;
  fail_msg("no such command");
  return 0;
}

void dram_stream_make(const struct dram_rig *r, enum dram_stream_kind kind, uint64_t seed,
                      struct dram_request *req, size_t n) {
  const uint64_t tx = r->c.org.tx_bytes, places = tsr_dram_capacity(&r->c) / tx;
  struct tsr_rng g = {seed};
  uint64_t odd = tsr_rng_next(&g) | 1, first = tsr_rng_next(&g), at = 0, k = 0;
  uint32_t bank = tsri_addr_place(&r->map, first % places * tx).bank;
  assert_true(n <= places); /* a power of two: times an odd number none comes twice */
  for (size_t i = 0; i < n; i++, k++) {
    bool write = kind >= DRAM_MIXED && tsr_rng_range(&g, 0, 99) < 40;
    uint64_t step = kind == DRAM_SEQUENTIAL ? 1 : odd;
    uint64_t place = (first + k * step) % places;
    while (kind == DRAM_CONFLICT && tsri_addr_place(&r->map, place * tx).bank != bank)
      place = (first + ++k * step) % places;
    if (kind == DRAM_REPEATS) place = tsr_rng_range(&g, 0, 15) * (places / 16);
    if (kind == DRAM_PAUSES && tsr_rng_range(&g, 0, 30) == 0)
      at += tsr_rng_range(&g, 1, tsr_rng_range(&g, 0, 5) ? 100 : 6000);
    req[i] = (struct dram_request){place * tx, at, write};
  }
}
