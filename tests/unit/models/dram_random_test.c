/* Random devices behind random controllers: whatever the check of a configuration accepts
 * answers all requests, gives no forbidden command, and never uses more than its data buses. */
#include "dram_rig.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"

enum { TABLES = 500, N = 160 };

static uint64_t power(struct tsr_rng *g, uint64_t low, uint64_t high) {
  return (uint64_t)1 << tsr_rng_range(g, low, high);
}
static bool coin(struct tsr_rng *g) {
  return tsr_rng_next(g) & 1;
}
/* Mostly small, at times large, at times none. */
static uint64_t clocks(struct tsr_rng *g, uint64_t high) {
  uint64_t kind = tsr_rng_range(g, 0, 9);
  return kind == 0 ? 0 : tsr_rng_range(g, 1, kind < 7 ? high / 8 + 1 : high);
}

static void draw_org(struct tsr_rng *g, struct tsr_dram_org *o) {
  *o = (struct tsr_dram_org){.channels = 1,
                             .units = power(g, 0, 2),
                             .shared_bus = coin(g),
                             .stack_ids = power(g, 0, 2),
                             .groups = power(g, 0, 3),
                             .banks = power(g, 0, 4),
                             .rows = power(g, 3, 16),
                             .tx_bytes = power(g, 4, 7),
                             .dual_bus = coin(g)};
  o->row_bytes = o->tx_bytes * power(g, 0, 7);
}

/* Data of a read are through before a write's begin: a standard's tRTW. */
static uint64_t least_rtw(const struct tsr_dram_timing *t) {
  return t->cl + t->bl > t->cwl ? t->cl + t->bl - t->cwl : 0;
}

static void draw_timing(struct tsr_rng *g, struct tsr_dram_config *c) {
  struct tsr_dram_timing *t = &c->t;
#define T(field, key, doc) t->field = clocks(g, 200);
#include "models/dram/timing.def"
#undef T
  t->bl = tsr_rng_range(g, 1, 16);
  t->rtw = least_rtw(t) + clocks(g, 40);
  t->ras += tsr_max_u64(t->rcd_rd, t->rcd_wr); /* what is below it is refused */
  t->act_clk = tsr_rng_range(g, 0, 4);
  t->col_clk = tsr_rng_range(g, 0, 3);
  t->row_clk = tsr_rng_range(g, 0, 3);
  t->aad = t->wck_post = 0;
  switch (tsr_rng_range(g, 0, 5)) {
  case 0: /* an activate in two, a data clock that stops */
    t->act_clk = t->col_clk = t->row_clk = 1;
    t->aad = tsr_rng_range(g, 1, 12);
    t->wck_post = tsr_rng_range(g, 0, 4);
    c->org.dual_bus = false;
    break;
  case 1: c->org.half_clock = true; break;
  default: break;
  }
  t->rfc = tsr_rng_range(g, 1, 600);
  t->rfc_pb = tsr_rng_range(g, 1, 300);
  t->rrefd = tsr_rng_range(g, 0, 60);
  t->refi = tsr_rng_range(g, 0, 9) ? tsr_rng_range(g, 600, 16000) : 0;
}

static void draw_policy(struct tsr_rng *g, struct tsr_dram_policy *p) {
  int policies = 0;
  while (tsr_dram_policy_names[policies]) policies++;
  tsr_dram_policy_set((int)tsr_rng_range(g, 0, (uint64_t)policies - 1), p);
  if (tsr_rng_range(g, 0, 2) == 0) return; /* as it is */
#define P(field, key, low, high, doc) \
  if (tsr_rng_range(g, 0, 3) == 0) p->field = tsr_rng_range(g, low, tsr_min_u64(high, 40));
#include "models/dram/policy.def"
#undef P
}

/* The fields in any order, the column's bits in two parts or one. */
static void draw_map(struct tsr_rng *g, struct tsr_dram_config *c) {
  const char *fields[] = {"ra", "si", "bg", "ba", "co", "ro"};
  static const char *const hashes[] = {"", "", "ba=ro,bg=ro.2", "bg=co,ba=co.1,ro=co.2",
                                       "ra=ro.1,si=ba"};
  uint64_t bursts = c->org.row_bytes / c->org.tx_bytes;
  size_t n = 0;
  if (bursts > 2 && coin(g)) n += (size_t)snprintf(c->map, sizeof c->map, "co:1,");
  for (size_t i = LEN(fields); i > 0; i--) {
    size_t k = tsr_rng_range(g, 0, i - 1);
    n += (size_t)snprintf(c->map + n, sizeof c->map - n, "%s,", fields[k]);
    fields[k] = fields[i - 1];
  }
  strcpy(c->hash, hashes[tsr_rng_range(g, 0, LEN(hashes) - 1)]);
}

static struct tsr_dram_config draw(struct tsr_rng *g) {
  struct tsr_dram_config c = {.tck_fs = 1000000, .inject = 1};
  draw_org(g, &c.org);
  draw_timing(g, &c);
  draw_policy(g, &c.p);
  draw_map(g, &c);
  c.page = (int)tsr_rng_range(g, 0, TSR_DRAM_PAGE_ADAPTIVE);
  c.refresh = (int)tsr_rng_range(g, 0, TSR_DRAM_REFRESH_BANK);
  return c;
}

/* From the first datum to the last of each bus at least as many clocks as bursts take. */
static void check_buses(const struct dram_rig *r) {
  const struct tsr_dram_timing *t = &r->c.t;
  uint64_t bursts[TSR_DRAM_UNITS_MAX] = {0}, from[TSR_DRAM_UNITS_MAX], to[TSR_DRAM_UNITS_MAX];
  for (size_t i = 0; i < r->watch.n; i++) {
    const struct dram_command *x = &r->watch.past[i];
    bool read = dram_command_reads(x->cmd);
    if (!read && !dram_command_writes(x->cmd)) continue;
    uint32_t bus = r->c.org.shared_bus ? 0 : x->bank / r->ch.dev.banks_of_unit;
    uint64_t at = x->at + (read ? t->cl : t->cwl), end = at + t->bl;
    from[bus] = bursts[bus] ? tsr_min_u64(from[bus], at) : at;
    to[bus] = bursts[bus] ? tsr_max_u64(to[bus], end) : end;
    bursts[bus]++;
  }
  for (size_t b = 0; b < LEN(bursts); b++)
    if (bursts[b]) assert_true(bursts[b] * t->bl <= to[b] - from[b]);
}

static void whatever_is_accepted_answers_all_requests(void **state) {
  (void)state;
  struct tsr_rng g = {20240607};
  static struct dram_request req[N];
  for (int accepted = 0; accepted < TABLES;) {
    struct tsr_dram_config c = draw(&g);
    uint64_t places = tsr_dram_capacity(&c) / c.org.tx_bytes, seed = tsr_rng_next(&g);
    int kind = (int)tsr_rng_range(&g, 0, DRAM_STREAMS - 1);
    uint64_t banks = places / c.org.rows / (c.org.row_bytes / c.org.tx_bytes);
    if (tsr_dram_check(&c, NULL) || places / banks < N) continue;
    snprintf(c.preset, sizeof c.preset, "table %d", accepted++);
    struct dram_rig r;
    dram_rig_open(&r, &c);
    dram_stream_make(&r, (enum dram_stream_kind)kind, seed, req, N);
    dram_rig_play(&r, req, N);
    check_buses(&r);
    dram_rig_close(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whatever_is_accepted_answers_all_requests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
