#include <string.h>

#include "models/dram/channel_int.h"

/* ---- life ---- */

/* The classes in which a command changes more than what its bank can do. */
static void find_shares(struct tsri_channel *ch) {
  for (int cmd = 0; cmd < TSRI_CMDS; cmd++) {
    ch->shares[cmd] = (uint8_t)(1u << tsri_class_of(cmd));
    for (uint32_t i = 0; i < ch->dev.n_rules[cmd]; i++) {
      const struct tsri_rule *r = &ch->dev.rule[cmd][i];
      if (r->level == TSRI_LEVEL_BANK || r->after == TSRI_PREA || r->after == TSRI_REFA ||
          r->after == TSRI_REFB)
        continue;
      ch->shares[cmd] |= (uint8_t)(1u << tsri_class_of(r->after));
    }
  }
}

enum { OLDEST = 5 };
static struct tsri_oldest *oldest_of(struct tsri_channel *ch, int i) {
  return i < 2 ? &ch->hit[i] : i < 4 ? &ch->miss[i - 2] : &ch->active;
}
static bool oldest_init(const struct tsri_channel *ch, struct tsri_oldest *x) {
  x->mask = tsr_mem_array(ch->mask_words, sizeof *x->mask);
  x->seq = tsr_mem_array(ch->dev.banks, sizeof *x->seq);
  x->slot = tsr_mem_array(ch->dev.banks, sizeof *x->slot);
  return x->mask && x->seq && x->slot;
}
static void oldest_fini(struct tsri_oldest *x) {
  tsr_mem_free(x->mask);
  tsr_mem_free(x->seq);
  tsr_mem_free(x->slot);
}

enum tsr_status tsri_channel_init(struct tsri_channel *ch, const struct tsr_dram_config *c,
                                  struct tsri_channel_sums *sums, struct tsr_err *err) {
  *ch = (struct tsri_channel){.c = c, .sums = sums, .act2 = NONE, .col_from = 1, .row_from = 1};
  enum tsr_status st = tsri_device_init(&ch->dev, c, err);
  if (st) return st;
  const struct tsr_dram_policy *p = &c->p;
  uint32_t banks = ch->dev.banks, units = ch->dev.units;
  uint64_t n = p->reads + p->writes + banks * p->bank_queue + (p->merge_reads ? 1024 : 64);
  uint32_t cap = 16;
  while (cap < 2 * n) cap *= 2;
  ch->n_slots = (uint32_t)n;
  ch->mask_words = (banks + 63) / 64;
  ch->slot = tsr_mem_array(n, sizeof *ch->slot);
  ch->bank = tsr_mem_array(banks, sizeof *ch->bank);
  ch->unit = tsr_mem_array(units, sizeof *ch->unit);
  ch->ref_queue = tsr_mem_array(16 * (size_t)units, sizeof *ch->ref_queue);
  ch->shut = tsr_mem_array(ch->mask_words, sizeof *ch->shut);
  ch->kept = tsr_mem_array(ch->mask_words, sizeof *ch->kept);
  bool ok = ch->slot && ch->bank && ch->unit && ch->ref_queue && ch->shut && ch->kept;
  for (int i = 0; i < OLDEST; i++) ok = oldest_init(ch, oldest_of(ch, i)) && ok;
  for (int d = 0; d < 2; d++) {
    ch->at[d].mask = cap - 1;
    ch->at[d].key = tsr_mem_array(cap, sizeof *ch->at[d].key);
    ch->at[d].slot = tsr_mem_array(cap, sizeof *ch->at[d].slot);
    ok = ok && ch->at[d].key && ch->at[d].slot;
    tsri_list_init(&ch->queue[d]);
  }
  if (!ok) return tsr_err_nomem(err);
  for (uint32_t u = 0; u < units; u++)
    for (int d = 0; d < 2; d++) ch->unit[u].age[d] = (struct tsri_age){NONE, NONE};
  for (uint32_t i = 0; i < n; i++) ch->slot[i].next = i + 1 < n ? (int32_t)i + 1 : NONE;
  for (uint32_t b = 0; b < banks; b++) {
    struct tsri_bank *x = &ch->bank[b];
    for (int d = 0; d < 2; d++) tsri_list_init(&x->list[d]);
    x->active = NONE;
    x->last_row = TSRI_NO_ROW;
    ch->shut[b / 64] |= (uint64_t)1 << b % 64;
  }
  uint64_t each = c->t.refi;
  if (c->refresh == TSR_DRAM_REFRESH_BANK) each = c->t.refi / ch->dev.banks_of_unit;
  if (!each && c->t.refi) each = 1;
  for (uint32_t u = 0; u < units; u++)
    ch->unit[u].next_ref = !each || c->refresh == TSR_DRAM_REFRESH_NONE ? NEVER
                           : p->stagger                                 ? each / units * (u + 1)
                                                                        : each;
  ch->due_at = tsri_refresh_next(ch);
  find_shares(ch);
  ch->row_tier = c->org.dual_bus && !p->one_command ? TSRI_ROW_LATER : 0;
  return TSR_OK;
}

void tsri_channel_fini(struct tsri_channel *ch) {
  tsri_device_fini(&ch->dev);
  tsr_mem_free(ch->slot);
  tsr_mem_free(ch->bank);
  for (int i = 0; i < OLDEST; i++) oldest_fini(oldest_of(ch, i));
  tsr_mem_free(ch->unit);
  tsr_mem_free(ch->ref_queue);
  tsr_mem_free(ch->shut);
  tsr_mem_free(ch->kept);
  for (int d = 0; d < 2; d++) {
    tsr_mem_free(ch->at[d].key);
    tsr_mem_free(ch->at[d].slot);
  }
}

bool tsri_channel_idle(const struct tsri_channel *ch) {
  return ch->queued == 0 && ch->n_active == 0 && ch->act2 < 0 && ch->queue[0].n == 0 &&
         ch->queue[1].n == 0;
}

/* ---- requests in ---- */

void tsri_channel_accept(struct tsri_channel *ch, uint64_t t, struct tsri_place_of at,
                         uint64_t addr, bool write, uint64_t tag) {
  *(write ? &ch->sums->writes : &ch->sums->reads) += 1;
  if (tsri_table_find(&ch->at[1], addr) >=
      0) { /* a write of it waits: it has the data, or takes them */
    if (!write) {
      ch->sums->forwards++;
      ch->sums->latency_clocks++;
    }
    ch->done(ch->arg, tag, t + 1);
    return;
  }
  TSR_CHECK(ch->free >= 0);
  int32_t i = ch->free;
  struct tsri_slot *s = &ch->slot[i];
  ch->free = s->next;
  *s = (struct tsri_slot){.addr = addr,
                          .arrive = t,
                          .seq = ch->seq++,
                          .tag = tag,
                          .bank = at.bank,
                          .row = at.row,
                          .same = NONE,
                          .write = write};
  if (!write && ch->c->p.merge_reads) {
    int32_t first = tsri_table_find(&ch->at[0], addr);
    if (first >= 0) {
      s->same = ch->slot[first].same;
      ch->slot[first].same = i;
      ch->sums->merges++;
      return;
    }
    tsri_table_enter(&ch->at[0], addr, i);
  }
  if (write) {
    tsri_table_enter(&ch->at[1], addr, i);
    ch->done(ch->arg, tag, t + 1);
  }
  ch->held[write]++;
  ch->reading += !write;
  ch->unit[at.bank / ch->dev.banks_of_unit].waiting++;
  if (tsri_bank_queues(ch)) { /* the clock's command is not for it, and may still come */
    tsri_list_push(ch, &ch->queue[write], i);
    if (ch->feed_at <= t) ch->feed_at = t + 1;
    ch->chosen = false;
    return;
  }
  tsri_pool_offer(ch, i);
  if (ch->col_from <= t) ch->col_from = t + 1;
  if (ch->row_from <= t) ch->row_from = t + 1;
  tsri_choice_add(ch, i);
}

/* ---- giving ---- */

static void release(struct tsri_channel *ch, int32_t i) {
  ch->slot[i].next = ch->free;
  ch->free = i;
}

/* It leaves its bank's list. */
static void take_out(struct tsri_channel *ch, int32_t i) {
  struct tsri_slot *s = &ch->slot[i];
  tsri_list_drop(ch, &ch->bank[s->bank].list[tsri_list_of(ch, s)], i);
  struct tsri_age *age = &ch->unit[s->bank >> ch->dev.shift[TSRI_LEVEL_UNIT]].age[s->write];
  *(s->older >= 0 ? &ch->slot[s->older].newer : &age->oldest) = s->newer;
  *(s->newer >= 0 ? &ch->slot[s->newer].older : &age->newest) = s->older;
  ch->queued--;
}

/* It no longer takes one of the channel's places. */
static void make_room(struct tsri_channel *ch, const struct tsri_slot *s, uint64_t t) {
  ch->held[s->write]--;
  ch->freed_at = t;
}

static void look_at_row(struct tsri_channel *ch, struct tsri_slot *s, uint32_t row) {
  if (s->seen) return;
  s->seen = true;
  if (row == s->row)
    ch->sums->hits++;
  else if (row != TSRI_NO_ROW)
    ch->sums->conflicts++;
}

/* Why the data bus stood idle before a column command at t. */
static void charge_idle(struct tsri_channel *ch, const struct tsri_slot *s, uint64_t t) {
  const struct tsr_dram_timing *tm = &ch->c->t;
  uint32_t u = s->bank / ch->dev.banks_of_unit;
  struct tsri_unit_state *x = &ch->unit[u];
  uint64_t base = s->arrive + 1, last = x->col_at;
  bool last_write = x->col_write;
  if (ch->c->org.shared_bus)
    for (uint32_t v = 0; v < ch->dev.units; v++)
      if (ch->unit[v].col_at > last) {
        last = ch->unit[v].col_at;
        last_write = ch->unit[v].col_write;
      }
  bool turn = last && last_write != s->write;
  if (turn) ch->sums->turnarounds++;
  if (last) base = tsr_max_u64(base, last - 1 + tm->bl);
  x->col_at = t + 1;
  x->col_write = s->write;
  uint64_t free = last ? last - 1 + tm->bl : 0;
  ch->sums->away_clocks += base - free;
  if (t <= base) return;
  uint64_t gap = t - base;
  uint64_t from = tsr_max_u64(base, x->ref_from), to = tsr_min_u64(t, x->ref_to);
  bool held = x->ref_to && (x->ref_bank == UINT32_MAX || x->ref_bank == s->bank);
  uint64_t refresh = held && to > from ? to - from : 0, part = 0;
  gap -= refresh;
  if (turn) {
    uint64_t after = last - 1 + (last_write ? tm->cwl + tm->bl + tm->wtr_s : tm->rtw);
    part = after > base ? tsr_min_u64(gap, after - base) : 0;
    gap -= part;
  }
  ch->sums->refresh_clocks += refresh;
  ch->sums->turn_clocks += part;
  ch->sums->bank_clocks += gap;
}

static void answer(struct tsri_channel *ch, int32_t i, uint64_t done) {
  while (i >= 0) {
    const struct tsri_slot *s = &ch->slot[i];
    int32_t next = s->same;
    ch->sums->latency_clocks += done - s->arrive;
    ch->done(ch->arg, s->tag, done);
    release(ch, i);
    i = next;
  }
}

/* Pages that close themselves: whether a column command closes its row behind it. */
static bool closes(const struct tsri_channel *ch, const struct tsri_slot *s) {
  const struct tsri_bank *b = &ch->bank[s->bank];
  if (ch->c->page == TSR_DRAM_PAGE_OPEN || b->active >= 0 || b->hits[0] || b->hits[1])
    return false;
  return ch->c->page == TSR_DRAM_PAGE_CLOSED || b->close_bias >= 2;
}

static void draw(struct tsri_timeline *l, uint64_t t) {
  while (t / l->clocks >= TSRI_BINS) {
    for (int i = 0; i < TSRI_BINS / 2; i++)
      l->transactions[i] = l->transactions[2 * i] + l->transactions[2 * i + 1];
    memset(l->transactions + TSRI_BINS / 2, 0, sizeof l->transactions / 2);
    l->clocks *= 2;
  }
  l->transactions[t / l->clocks]++;
}

static void give_column(struct tsri_channel *ch, int32_t i, uint64_t t) {
  struct tsri_slot *s = &ch->slot[i];
  struct tsri_bank *b = &ch->bank[s->bank];
  const struct tsr_dram_timing *tm = &ch->c->t;
  look_at_row(ch, s, s->row);
  if (b->active == i) {
    b->active = NONE;
    ch->n_active--;
    tsri_oldest_set(ch, &ch->active, s->bank, NONE);
  } else {
    tsri_pool_next_hit(ch, i);
    take_out(ch, i);
    if (!tsri_bank_queues(ch)) make_room(ch, s, t);
  }
  charge_idle(ch, s, t);
  bool close = closes(ch, s);
  enum tsri_cmd cmd = s->write ? (close ? TSRI_WRA : TSRI_WR) : (close ? TSRI_RDA : TSRI_RD);
  tsri_device_give(&ch->dev, cmd, s->bank, s->row, t);
  b->served++;
  if (ch->timeline) draw(ch->timeline, t);
  if (ch->watch) ch->watch(ch->arg, cmd, s->bank, s->row, t);
  if (close) {
    ch->sums->pres++;
    tsri_pool_sort_bank(ch, s->bank);
  }
  tsri_choice_moved(ch, cmd, s->bank);
  if (tm->wck_post)
    ch->wck_until =
        tsr_max_u64(ch->wck_until, t + (s->write ? tm->cwl : tm->cl) + tm->bl + tm->wck_post);
  ch->sums->queue_clocks += t - s->arrive;
  ch->unit[s->bank / ch->dev.banks_of_unit].waiting--;
  if (s->write) {
    ch->sums->write_cmds++;
    if (tsri_table_find(&ch->at[1], s->addr) == i) tsri_table_leave(&ch->at[1], s->addr);
    release(ch, i);
  } else {
    ch->sums->read_cmds++;
    ch->reading--;
    if (ch->c->p.merge_reads) tsri_table_leave(&ch->at[0], s->addr);
    answer(ch, i, t + tm->cl + tm->bl);
  }
}

/* It has its row and waits among the active ones. */
static void promote(struct tsri_channel *ch, int32_t i) {
  struct tsri_slot *s = &ch->slot[i];
  ch->bank[s->bank].active = i;
  ch->n_active++;
  tsri_oldest_set(ch, &ch->active, s->bank, i);
}

static void learn(struct tsri_bank *b, uint32_t row, bool conflict) {
  if (conflict && b->close_bias < 3) b->close_bias++;
  if (!conflict && row == b->last_row && b->close_bias) b->close_bias--;
}

static void give_row(struct tsri_channel *ch, const struct tsri_choice *x) {
  struct tsri_slot *s = &ch->slot[x->slot];
  struct tsri_bank *b = &ch->bank[s->bank];
  look_at_row(ch, s, ch->dev.row[s->bank]);
  tsri_device_give(&ch->dev, x->cmd, s->bank, s->row, x->at);
  if (ch->watch) ch->watch(ch->arg, x->cmd, s->bank, s->row, x->at);
  if (x->cmd == TSRI_PRE) {
    ch->sums->pres++;
    learn(b, s->row, true);
    tsri_pool_sort_bank(ch, s->bank);
    tsri_choice_moved(ch, TSRI_PRE, s->bank);
    return;
  }
  ch->sums->acts++;
  learn(b, s->row, false);
  b->last_row = s->row;
  b->served = 0;
  bool split = ch->c->t.aad > 0, goes = split || ch->c->p.active_first;
  if (goes) take_out(ch, x->slot);
  tsri_pool_sort_bank(ch, s->bank);
  tsri_choice_moved(ch, TSRI_ACT, s->bank);
  if (!goes) return;
  make_room(ch, s, x->at);
  if (s->write) tsri_table_leave(&ch->at[1], s->addr);
  if (split) {
    ch->act2 = x->slot;
    tsri_bank_keep(ch, s->bank, true);
    ch->act2_by = x->at + ch->c->t.aad;
  } else {
    promote(ch, x->slot);
  }
}

static void give_refresh(struct tsri_channel *ch, const struct tsri_choice *x) {
  tsri_choice_forget(ch);
  uint32_t u = x->bank / ch->dev.banks_of_unit;
  if (ch->watch) ch->watch(ch->arg, x->cmd, x->bank, 0, x->at);
  if (x->all)
    tsri_device_give_unit(&ch->dev, x->cmd, u, x->at);
  else
    tsri_device_give(&ch->dev, x->cmd, x->bank, 0, x->at);
  for (uint32_t b = u * ch->dev.banks_of_unit; b < (u + 1) * ch->dev.banks_of_unit; b++)
    if (x->all || b == x->bank) tsri_pool_sort_bank(ch, b);
  if (x->cmd == TSRI_PRE || x->cmd == TSRI_PREA) {
    ch->sums->pres++;
    return;
  }
  bool one = x->cmd == TSRI_REFB;
  *(one ? &ch->sums->refbs : &ch->sums->refs) += 1;
  ch->unit[u].ref_bank = one ? x->bank : UINT32_MAX;
  ch->unit[u].ref_to = x->at + (one ? ch->c->t.rfc_pb : ch->c->t.rfc);
  tsri_refresh_keep(ch, u, false);
  if (one) ch->unit[u].next_bank = (ch->unit[u].next_bank + 1) % ch->dev.banks_of_unit;
  ch->unit[u].refreshing = false;
  tsri_refresh_done(ch, u);
}

/* Both buses go on; of two, what the other may still take at this clock. */
static void advance(struct tsri_channel *ch, enum tsri_cmd cmd, uint64_t t) {
  bool column = tsri_is_column(cmd);
  if (!ch->c->org.dual_bus) {
    ch->col_from = ch->row_from = t + 1;
  } else if (ch->c->p.one_command) {
    bool second = ch->second_at == t;
    ch->col_from = ch->row_from = second ? t + 1 : t;
    ch->second_at = second ? 0 : t;
    ch->second_column = !column;
  } else if (column) {
    ch->col_from = t + 1;
    ch->row_from = tsr_max_u64(ch->row_from, t);
  } else {
    ch->row_from = t + 1;
    ch->col_from = tsr_max_u64(ch->col_from, t + 1);
  }
}

/* The data clock has stopped: a command more, and the access behind it. */
static bool wake_clock(struct tsri_channel *ch, struct tsri_choice *x) {
  if (!ch->c->t.wck_post || !tsri_is_column(x->cmd) || x->at < ch->wck_until) return false;
  if (ch->act2 >= 0 && ch->act2_by <= x->at + 1) {
    *x = (struct tsri_choice){
        .kind = TSRI_SECOND, .cmd = TSRI_ACT, .at = x->at, .slot = ch->act2};
    return false;
  }
  x->at++;
  return true;
}

static void give(struct tsri_channel *ch, struct tsri_choice x) {
  ch->chosen = false;
  if (x.kind == TSRI_REQUEST) (void)wake_clock(ch, &x);
  if (ch->c->p.rotate && x.kind == TSRI_REQUEST) ch->rotate = x.bank;
  if (x.kind == TSRI_SECOND) {
    promote(ch, ch->act2);
    tsri_bank_keep(ch, ch->slot[ch->act2].bank, false);
    ch->act2 = NONE;
    tsri_choice_forget(ch);
  } else if (x.kind == TSRI_REFRESH) {
    give_refresh(ch, &x);
  } else if (tsri_is_column(x.cmd)) {
    give_column(ch, x.slot, x.at);
  } else {
    give_row(ch, &x);
  }
  if (ch->c->org.half_clock && !tsri_is_column(x.cmd) && x.at % 2 == 1) {
    bool all = x.all;
    ch->pair_at = x.at + (x.cmd == TSRI_ACT ? 3 : 1);
    ch->pair_unit = x.bank / ch->dev.banks_of_unit;
    ch->pair_bank = all ? UINT32_MAX : x.bank;
  }
  advance(ch, x.cmd, x.at);
}

/* ---- bank queues ---- */

/* The first request of a direction whose bank's queue has room goes on there at clock t; false:
 * none can.  A write does not overtake a read of its address: reads go first, then. */
static bool feed_from(struct tsri_channel *ch, bool write, uint64_t t) {
  const struct tsr_dram_policy *p = &ch->c->p;
  struct tsri_list *q = &ch->queue[write];
  for (int32_t i = q->head; i >= 0; i = ch->slot[i].next) {
    struct tsri_slot *s = &ch->slot[i];
    if (ch->bank[s->bank].list[0].n >= p->bank_queue) continue;
    if (write) {
      if (p->merge_reads && tsri_table_find(&ch->at[0], s->addr) >= 0) {
        ch->draining = 0;
        return feed_from(ch, false, t);
      }
      ch->draining--;
    }
    tsri_list_drop(ch, q, i);
    make_room(ch, s, t);
    tsri_pool_offer(ch, i);
    tsri_choice_forget(ch);
    return true;
  }
  return false;
}

/* One request goes on into its bank's queue at clock t; false: none can. */
static bool feed(struct tsri_channel *ch, uint64_t t) {
  const struct tsr_dram_policy *p = &ch->c->p;
  if (!ch->draining) {
    if (ch->queue[1].n >= p->drain_high ||
        (ch->queue[1].n >= (ch->flush ? 1 : p->drain_idle) && !ch->queued))
      ch->draining = ch->queue[1].n;
  }
  return feed_from(ch, ch->draining > 0, t);
}

/* ---- running ---- */

enum { LONG_REST = 1 << 16 }; /* clocks that may be worth a look whether refreshes repeat */

/* With two buses of which the second takes what is left: what it may take at this clock. */
static bool give_second(struct tsri_channel *ch, const struct tsri_choice *x, uint64_t limit) {
  uint64_t t = ch->second_at;
  ch->second_at = 0;
  ch->chosen = false;
  if (x->kind != TSRI_NOTHING && x->at == t && t < limit && x->kind != TSRI_REFRESH) {
    if (tsri_is_column(x->cmd) == ch->second_column) {
      ch->second_at = t;
      give(ch, *x);
      return true;
    }
    if (ch->c->p.rotate) ch->rotate = x->bank;
    tsri_choice_forget(ch);
  }
  ch->col_from = tsr_max_u64(ch->col_from, t + 1);
  ch->row_from = tsr_max_u64(ch->row_from, t + 1);
  return true;
}

/* A queue is fed at the end of a clock, behind the command of that clock. */
static bool step_queues(struct tsri_channel *ch, const struct tsri_choice *x, uint64_t limit) {
  uint64_t t = ch->feed_at;
  if (!ch->queue[0].n && !ch->queue[1].n) return false;
  if (t >= limit || (x->kind != TSRI_NOTHING && x->at <= t)) return false;
  bool moved = feed(ch, t);
  if (moved) {
    ch->chosen = false;
    ch->col_from = tsr_max_u64(ch->col_from, t + 1);
    ch->row_from = tsr_max_u64(ch->row_from, t + 1);
    ch->feed_at = t + 1;
    return true;
  }
  /* nothing changes before a command makes room, or more come */
  ch->feed_at = x->kind != TSRI_NOTHING ? x->at : limit;
  return ch->feed_at < limit && x->kind != TSRI_NOTHING && x->at < limit ? true : false;
}

static bool is_so(const struct tsri_channel *ch, enum tsri_until until) {
  switch (until) {
  case TSRI_UNTIL_READ_ROOM: return tsri_channel_room(ch, false);
  case TSRI_UNTIL_WRITE_ROOM: return tsri_channel_room(ch, true);
  case TSRI_UNTIL_ROOM: return tsri_channel_room(ch, false) || tsri_channel_room(ch, true);
  case TSRI_UNTIL_READS_DONE: return !ch->reading;
  case TSRI_UNTIL_IDLE: return tsri_channel_idle(ch);
  default: return false;
  }
}

uint64_t tsri_channel_run(struct tsri_channel *ch, uint64_t limit, enum tsri_until until) {
  bool long_rest = limit != UINT64_MAX && ch->due_at < limit && limit - ch->due_at > LONG_REST;
  for (bool so = false;;) {
    if (until != TSRI_UNTIL_LIMIT && !so && is_so(ch, until)) { /* the other bus's clock too */
      if (tsri_bank_queues(ch) || !ch->c->org.dual_bus) return ch->freed_at;
      limit = tsr_min_u64(limit, ch->freed_at + 1);
      so = true;
    }
    if (long_rest && !ch->watch && tsri_channel_idle(ch)) tsri_refresh_skip(ch, limit);
    uint64_t from = tsr_min_u64(ch->col_from, ch->row_from);
    if (ch->due_at <= from && ch->due_at < limit) tsri_refresh_fall_due(ch, from);
    uint64_t due = ch->due_at;
    if (!ch->chosen) {
      ch->next = tsri_choice_make(ch);
      ch->chosen = true;
    }
    const struct tsri_choice *x = &ch->next;
    if (ch->second_at) {
      (void)give_second(ch, x, limit);
      continue;
    }
    if (tsri_bank_queues(ch) && step_queues(ch, x, tsr_min_u64(limit, due))) continue;
    if (x->at >= due && due < limit) { /* a refresh falls due first */
      tsri_refresh_fall_due(ch, due);
      ch->col_from = tsr_max_u64(ch->col_from, due);
      ch->row_from = tsr_max_u64(ch->row_from, due);
      ch->chosen = false;
      continue;
    }
    if (x->kind == TSRI_NOTHING || x->at >= limit) return so ? ch->freed_at : limit;
    give(ch, *x);
  }
}

uint64_t tsri_channel_write_out(struct tsri_channel *ch) {
  uint64_t last = 0;
  ch->flush = true;
  ch->chosen = false;
  tsri_choice_forget(ch);
  (void)tsri_channel_run(ch, UINT64_MAX, TSRI_UNTIL_IDLE);
  for (uint32_t u = 0; u < ch->dev.units; u++) {
    const struct tsri_unit_state *x = &ch->unit[u];
    if (x->col_at && x->col_write)
      last = tsr_max_u64(last, x->col_at - 1 + ch->c->t.cwl + ch->c->t.bl - 1);
  }
  return last;
}
