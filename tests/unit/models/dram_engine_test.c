/* dram.banks behind DMA engines: bursts answered later.  What the engines come to is held
 * against the replay of the same requests, and against what must be whatever the order. */
#include "fake.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/dram/replay.h"
#include "sim/base/mem.h"

struct rig {
  struct fake f;
  struct tsr_instance dram, buf, load, store;
};

static void rig_open(struct rig *r, const char *dram, const char *sram, const char *dma) {
  fake_open(&r->f, 1000000000);
  fake_make(&r->f, &r->dram, "dram.banks", dram, NULL, NULL, NULL);
  fake_make(&r->f, &r->buf, "sram", sram, NULL, NULL, NULL);
  fake_make(&r->f, &r->load, "dma.load", dma, &r->dram, &r->dram, NULL);
  fake_make(&r->f, &r->store, "dma.store", dma, &r->dram, &r->dram, NULL);
}
static void rig_close(struct rig *r) {
  fake_drop(&r->load);
  fake_drop(&r->store);
  fake_drop(&r->buf);
  fake_drop(&r->dram);
  fake_close(&r->f);
}

#define FREE_SRAM "{size: 1MiB, width: unlimited}"

/* A long load takes as long as the same reads in the replay, but for its first and last few. */
static void a_load_takes_what_the_replay_takes(void **state) {
  (void)state;
  static const char *const presets[] = {"ddr4-3200", "hbm2-2000", "lpddr4-2400", "gddr6-14000"};
  enum { BYTES = 4 << 20 };
  for (size_t i = 0; i < LEN(presets); i++) {
    char text[96], scenario[64];
    struct tsr_dram_config c;
    struct tsr_dram_stream s = {0};
    struct tsr_dram_replay replay;
    struct rig r;
    assert_true(tsr_dram_preset(presets[i], &c));
    c.org.channels = 1;
    snprintf(scenario, sizeof scenario, "seq;%d;", (int)(BYTES / c.org.tx_bytes));
    assert_int_equal(tsr_dram_scenario(scenario, c.org.tx_bytes, 0, &s, NULL), TSR_OK);
    assert_int_equal(tsr_dram_replay(&c, &s, &replay, NULL), TSR_OK);
    tsr_dram_stream_fini(&s);

    snprintf(text, sizeof text, "{preset: %s, channels: 1}", presets[i]);
    rig_open(&r, text, FREE_SRAM, "{outstanding: 4096, burst: 128B}");
    struct ask a = {.req = fake_bytes(&r.buf, 0, BYTES)};
    fake_chain(&r.f, &r.load, &a, 1, 0);
    fake_run(&r.f);
    fake_check(&a, 1);
    double clocks = (double)(a.done - a.started) / (double)c.tck_fs;
    assert_int_equal(fake_counter(&r.dram, "read_bytes"), BYTES);
    assert_int_equal(fake_counter(&r.load, "moved_bytes"), BYTES);
    if (clocks < 0.98 * (double)replay.clocks || clocks > 1.02 * (double)replay.clocks)
      fail_msg("%s: %.0f clocks, %.0f in the replay", presets[i], clocks,
               (double)replay.clocks);
    rig_close(&r);
  }
}

/* One burst, of two transactions on HBM2: a row is opened, the data come. */
static void a_burst_takes_its_latency(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, "{preset: hbm2-2000, channels: 1, map: 'co,bg,ba,pc,ro', hash: ''}", FREE_SRAM,
           "{outstanding: 8}");
  struct ask a = {.req = fake_bytes(&r.buf, 0, 64)};
  fake_chain(&r.f, &r.load, &a, 1, 10 * NS);
  fake_run(&r.f);
  struct tsr_dram_config c;
  assert_true(tsr_dram_preset("hbm2-2000", &c));
  /* taken in a clock after it came; the second transaction tCCD_L behind the first */
  uint64_t activate = c.t.act_clk - 1;
  uint64_t clocks = 1 + activate + c.t.rcd_rd + c.t.ccd_l + c.t.cl + c.t.bl;
  uint64_t t = a.done - a.started;
  assert_in_range(t, (clocks - 1) * c.tck_fs, (clocks + 1) * c.tck_fs);
  assert_in_range(a.ticket.late.latency_cycles + a.ticket.late.bank_cycles, t / NS - 6, t / NS);
  rig_close(&r);
}

enum { ASKS = 60 };
struct outcome {
  uint64_t done[2 * ASKS], counter[32];
};
/* Loads and stores of all sizes at once, through a window and a port drawn. */
static void mixed(uint64_t seed, struct outcome *out) {
  struct tsr_rng g = {seed};
  static const char *const presets[] = {"ddr4-3200", "hbm2-2000", "lpddr5-6400", "ddr5-4800"};
  char dram[96], dma[64], sram[64];
  snprintf(dram, sizeof dram, "{preset: %s, channels: %d}", presets[tsr_rng_range(&g, 0, 3)],
           1 << tsr_rng_range(&g, 0, 3));
  snprintf(dma, sizeof dma, "{outstanding: %d, burst: %dB}", (int)tsr_rng_range(&g, 1, 300),
           32 << tsr_rng_range(&g, 0, 4));
  snprintf(sram, sizeof sram, "{size: 1MiB, width: %dB}", 8 << tsr_rng_range(&g, 0, 5));
  struct rig r;
  rig_open(&r, dram, sram, dma);
  struct ask asks[2][ASKS];
  uint64_t bytes[2] = {0, 0};
  memset(asks, 0, sizeof asks);
  for (int d = 0; d < 2; d++) {
    for (int i = 0; i < ASKS; i++) {
      uint64_t n = tsr_rng_range(&g, 1, 1u << tsr_rng_range(&g, 0, 15));
      uint64_t base = tsr_rng_range(&g, 0, 1 << 20) * 64;
      asks[d][i].req = fake_bytes(&r.buf, base, n);
      bytes[d] += n;
    }
    fake_chain(&r.f, d ? &r.store : &r.load, asks[d], ASKS, (uint64_t)d * 100 * NS);
  }
  fake_run(&r.f);
  for (int d = 0; d < 2; d++) {
    struct tsr_instance *u = d ? &r.store : &r.load;
    fake_check(asks[d], ASKS);
    assert_int_equal(fake_counter(u, "transfers"), ASKS);
    assert_int_equal(fake_counter(u, "useful_bytes"), bytes[d]);
    assert_int_equal(fake_counter(&r.dram, d ? "write_bytes" : "read_bytes"),
                     fake_counter(u, "moved_bytes"));
    for (int i = 0; i < ASKS; i++) {
      const struct tsr_lateness *l = &asks[d][i].ticket.late;
      uint64_t took = tsr_ceil_div(asks[d][i].done - asks[d][i].started, NS);
      if (i) assert_true(asks[d][i].done >= asks[d][i - 1].done);
      assert_true(l->bank_cycles <= took && l->refresh_cycles <= took &&
                  l->turn_cycles <= took);
      assert_true(l->latency_cycles <= took);
      out->done[d * ASKS + i] = asks[d][i].done;
    }
  }
  size_t n = 0;
  for (; r.dram.ops->counters[n].name; n++) out->counter[n] = r.dram.counters[n];
  rig_close(&r);
}

static void all_come_in_order_and_the_same_again(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    struct outcome a = {0}, b = {0};
    mixed(seed, &a);
    mixed(seed, &b);
    assert_memory_equal(&a, &b, sizeof a);
  }
}

static void on_last(void *arg, uint64_t tag, uint64_t clock) {
  (void)tag;
  *(uint64_t *)arg = clock;
}
/* A channel that rests, asked at the end or all the time: the same refreshes, and what comes
 * then takes as long. */
static void a_long_rest_is_counted_at_once(void **state) {
  (void)state;
  const char *name;
  enum { STEP = 1000 };
  for (size_t i = 0; (name = tsr_dram_preset_name(i, NULL)); i++)
    for (uint64_t rest = 3000000; rest < 3000000 + 5 * 777; rest += 777) {
      struct tsr_dram_config c;
      static struct tsri_addr_map map;
      struct tsri_channel ch[2];
      struct tsri_channel_sums sums[2] = {{0}, {0}};
      uint64_t last[2] = {0, 0};
      assert_true(tsr_dram_preset(name, &c));
      assert_int_equal(tsri_addr_init(&map, &c, NULL), TSR_OK);
      for (int k = 0; k < 2; k++) {
        assert_int_equal(tsri_channel_init(&ch[k], &c, &sums[k], NULL), TSR_OK);
        ch[k].done = on_last;
        ch[k].arg = &last[k];
        struct tsri_place_of at = tsri_addr_place(&map, 0);
        tsri_channel_accept(&ch[k], 5, at, 0, false, 0);
        for (uint64_t t = STEP; k && t < rest; t += STEP)
          (void)tsri_channel_run(&ch[k], t, TSRI_UNTIL_LIMIT);
        (void)tsri_channel_run(&ch[k], rest + 1, TSRI_UNTIL_LIMIT);
        for (uint64_t j = 0; j < 8; j++) {
          uint64_t addr = j * c.org.tx_bytes * c.org.channels;
          at = tsri_addr_place(&map, addr);
          if (tsri_channel_room(&ch[k], false))
            tsri_channel_accept(&ch[k], rest, at, addr, false, j);
        }
        (void)tsri_channel_run(&ch[k], UINT64_MAX, TSRI_UNTIL_READS_DONE);
        tsri_channel_fini(&ch[k]);
      }
      if (last[0] != last[1] || memcmp(&sums[0], &sums[1], sizeof sums[0]) != 0)
        fail_msg("%s: %" PRIu64 " and %" PRIu64 ", %" PRIu64 " and %" PRIu64 " refreshes", name,
                 last[0], last[1], sums[0].refs + sums[0].refbs, sums[1].refs + sums[1].refbs);
    }
}

/* More in flight than there is room for is said at once. */
static void too_much_in_flight_is_refused(void **state) {
  (void)state;
  struct fake f;
  struct tsr_instance dram, load;
  struct tsr_err err = TSR_ERR_INIT;
  fake_open(&f, 1000000000);
  fake_make(&f, &dram, "dram.banks", "{preset: hbm2-2000, channels: 1}", NULL, NULL, NULL);
  fake_prepare(&load, "dma.load", "{outstanding: 65536, burst: 64KiB}");
  struct tsr_wiring w = {.env = &f.env, .self = &load, .peer = {&dram, &dram}, .cores = 1};
  assert_int_equal(load.ops->init(load.state, load.params, &w, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "in flight"));
  tsr_err_fini(&err);
  fake_drop(&load);
  fake_drop(&dram);
  fake_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_load_takes_what_the_replay_takes),
      cmocka_unit_test(a_burst_takes_its_latency),
      cmocka_unit_test(all_come_in_order_and_the_same_again),
      cmocka_unit_test(a_long_rest_is_counted_at_once),
      cmocka_unit_test(too_much_in_flight_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
