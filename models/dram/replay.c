#include "models/dram/replay.h"

#include <string.h>

#include "sim/base/log.h"
#include "sim/base/mem.h"

struct replay {
  const struct tsr_dram_config *c;
  struct tsri_addr_map map;
  struct tsri_channel *ch; /* owned */
  uint32_t n;
  struct tsri_channel_sums sums; /* of all */
  struct tsri_timeline timeline;
  uint64_t last_read, max_latency;
  const struct tsr_dram_stream *stream;
  uint32_t *accepted; /* clock at which a request was taken, low bits; owned */
};

static void on_done(void *arg, uint64_t tag, uint64_t clock) {
  struct replay *r = arg;
  if (r->stream->addr[tag] & 1) return;
  r->last_read = tsr_max_u64(r->last_read, clock - 1); /* its last beat */
  uint32_t latency = (uint32_t)clock - r->accepted[tag];
  r->max_latency = tsr_max_u64(r->max_latency, latency);
}

static enum tsr_status prepare(struct replay *r, struct tsr_err *err) {
  enum tsr_status st = tsr_dram_check(r->c, err);
  if (!st) st = tsri_addr_init(&r->map, r->c, err);
  if (st) return st;
  r->ch = tsr_mem_array(r->c->org.channels, sizeof *r->ch);
  r->accepted = tsr_mem_array(r->stream->n + 1, sizeof *r->accepted);
  if (!r->ch || !r->accepted) return tsr_err_nomem(err);
  while (!st && r->n < r->c->org.channels) {
    st = tsri_channel_init(&r->ch[r->n], r->c, &r->sums, err);
    r->ch[r->n].done = on_done;
    r->ch[r->n].arg = r;
    r->ch[r->n].timeline = &r->timeline;
    r->n++;
  }
  return st;
}

/* When request i may come at the earliest. */
static uint64_t due(const struct replay *r, size_t i, double gap) {
  if (r->stream->at) return r->stream->at[i];
  return gap > 0 ? (uint64_t)((double)i * gap) : 0;
}

/* Puts all in; the clock of the last. */
static uint64_t inject(struct replay *r, double gap) {
  uint64_t t = 0, n = 0;
  for (size_t i = 0; i < r->stream->n && !tsr_interrupted; i++) {
    uint64_t word = r->stream->addr[i], addr = word >> 1, from = due(r, i, gap);
    bool write = word & 1;
    if (n == r->c->inject) from = tsr_max_u64(from, t + 1);
    struct tsri_place_of at = tsri_addr_place(&r->map, addr);
    struct tsri_channel *ch = &r->ch[at.channel];
    from = tsr_max_u64(from, t);
    (void)tsri_channel_run(ch, from + 1, TSRI_UNTIL_LIMIT);
    if (!tsri_channel_room(ch, write)) {
      uint64_t freed = tsri_channel_run(ch, UINT64_MAX,
                                        write ? TSRI_UNTIL_WRITE_ROOM : TSRI_UNTIL_READ_ROOM);
      from = tsr_max_u64(from, freed);
    }
    if (from > t) n = 0;
    t = from;
    n++;
    r->accepted[i] = (uint32_t)t;
    tsri_channel_accept(ch, t, at, addr, write, i);
  }
  return t;
}

static void play(struct replay *r, struct tsr_dram_replay *out) {
  const struct tsr_dram_org *o = &r->c->org;
  double per_clock = (double)(tsr_dram_buses(r->c) * o->tx_bytes) / (double)r->c->t.bl;
  double gap = r->stream->load > 0 ? (double)o->tx_bytes / per_clock / r->stream->load : 0;
  uint64_t end = r->stream->n ? inject(r, gap) : 0;
  for (uint32_t i = 0; i < r->n; i++)
    (void)tsri_channel_run(&r->ch[i], UINT64_MAX, TSRI_UNTIL_READS_DONE);
  end = tsr_max_u64(end, r->last_read);
  for (uint32_t i = 0; i < r->n && !r->c->posted; i++)
    end = tsr_max_u64(end, tsri_channel_write_out(&r->ch[i]));
  for (uint32_t i = 0; i < r->n; i++) (void)tsri_channel_run(&r->ch[i], end, TSRI_UNTIL_LIMIT);
  out->sums = r->sums;
  out->timeline = r->timeline;
  out->requests = r->stream->n;
  out->clocks = end + 1;
  out->max_latency_clocks = r->max_latency;
  /* what crossed the buses; as the references count, what was asked for */
  uint64_t moved = r->c->posted ? r->stream->n : r->sums.read_cmds + r->sums.write_cmds;
  out->bandwidth_pct =
      100.0 * (double)moved * (double)o->tx_bytes / ((double)out->clocks * per_clock);
}

enum tsr_status tsr_dram_replay(const struct tsr_dram_config *c,
                                const struct tsr_dram_stream *s, struct tsr_dram_replay *out,
                                struct tsr_err *err) {
  struct replay r = {.c = c, .stream = s, .timeline = {.clocks = 64}};
  struct tsr_dram_replay result = {0};
  enum tsr_status st = prepare(&r, err);
  if (!st) play(&r, &result);
  if (!st && tsr_interrupted) st = tsr_err_set(err, TSR_SIM, "interrupted");
  for (uint32_t i = 0; i < r.n; i++) tsri_channel_fini(&r.ch[i]);
  tsr_mem_free(r.ch);
  tsr_mem_free(r.accepted);
  if (!st) *out = result;
  return st;
}
