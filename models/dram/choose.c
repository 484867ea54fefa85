#include <string.h>

#include "models/dram/channel_int.h"

enum { TIER_URGENT, TIER_ACTIVE, TIER_REFRESH, TIER_COLUMN, TIER_ANY, TIER_LAST };

uint64_t tsri_refresh_next(const struct tsri_channel *ch) {
  uint64_t t = NEVER;
  for (uint32_t u = 0; u < ch->dev.units; u++) t = tsr_min_u64(t, ch->unit[u].next_ref);
  return t;
}

/* ---- what may go ---- */

/* On a device of half clocks all but precharges begin at a rising edge, and a precharge at
 * the falling edge behind a row command is for another bank. */
static uint64_t edge(const struct tsri_channel *ch, enum tsri_cmd cmd, uint32_t bank,
                     uint64_t at) {
  if (!ch->c->org.half_clock) return at;
  if (cmd != TSRI_PRE && cmd != TSRI_PREA) return at | 1;
  if (at != ch->pair_at || at % 2 == 1) return at;
  if (bank / ch->dev.banks_of_unit != ch->pair_unit) return at;
  bool clash = cmd == TSRI_PREA || ch->pair_bank == UINT32_MAX || ch->pair_bank == bank;
  return clash ? at + 1 : at;
}

static uint64_t order_of(const struct tsri_channel *ch, uint32_t bank, uint64_t seq) {
  if (!ch->c->p.rotate) return seq;
  uint32_t n = ch->dev.banks;
  uint64_t distance = (bank + n - ch->rotate - 1) % n;
  return distance << 48 | (seq & (((uint64_t)1 << 48) - 1)); /* in a bank, the oldest */
}

static bool is_better(const struct tsri_choice *best, uint64_t at, uint32_t tier,
                      uint64_t order) {
  if (at != best->at) return at < best->at;
  return tier != best->tier ? tier < best->tier : order < best->order;
}
static void take_better(struct tsri_choice *best, const struct tsri_choice *x) {
  if (is_better(best, x->at, x->tier, x->order)) *best = *x;
}

static void consider(const struct tsri_channel *ch, struct tsri_choice *best,
                     struct tsri_choice x) {
  bool column = tsri_is_column(x.cmd);
  x.at = edge(ch, x.cmd, x.bank, tsr_max_u64(x.at, column ? ch->col_from : ch->row_from));
  if (!column) x.tier += ch->row_tier;
  take_better(best, &x);
}

static uint32_t tier_of(const struct tsri_channel *ch, enum tsri_cmd cmd) {
  return ch->c->p.columns_first && tsri_is_column(cmd) ? TIER_COLUMN : TIER_ANY;
}

/* Whether a bank's row stays for those that it has: request `want` of list l asks for
 * another. */
static bool protects(const struct tsri_channel *ch, uint32_t bank, int l, int32_t want) {
  const struct tsr_dram_policy *p = &ch->c->p;
  const struct tsri_bank *b = &ch->bank[bank];
  if (b->active >= 0) return true;
  if (p->head_only && b->list[l].head != want) return true;
  if (!p->protect || !b->hits[l]) return false;
  if (p->hit_limit && b->served >= p->hit_limit) return false;
  return p->protect == 2 || ch->slot[ch->hit[l].slot[bank]].arrive <= ch->slot[want].arrive;
}

static bool is_kept(const struct tsri_channel *ch, uint32_t bank) {
  return ch->kept[bank / 64] >> bank % 64 & 1;
}
void tsri_bank_keep(struct tsri_channel *ch, uint32_t bank, bool on) {
  uint64_t bit = (uint64_t)1 << bank % 64, *w = &ch->kept[bank / 64];
  *w = on ? *w | bit : *w & ~bit;
}
/* The banks that a unit's refresh needs. */
void tsri_refresh_keep(struct tsri_channel *ch, uint32_t u, bool on) {
  uint32_t n = ch->dev.banks_of_unit;
  if (ch->c->refresh == TSR_DRAM_REFRESH_BANK)
    tsri_bank_keep(ch, u * n + ch->unit[u].next_bank, on);
  else
    for (uint32_t b = u * n; b < (u + 1) * n; b++) tsri_bank_keep(ch, b, on);
}

/* A command for a request; what cannot win is seen early. */
static inline void attempt(const struct tsri_channel *ch, struct tsri_choice *best,
                           enum tsri_cmd cmd, uint64_t at, uint32_t bank,
                           const struct tsri_oldest *x, uint32_t tier) {
  bool column = tsri_is_column(cmd);
  at = tsr_max_u64(at, column ? ch->col_from : ch->row_from);
  if (at > best->at) return;
  at = edge(ch, cmd, bank, at);
  if (!column) tier += ch->row_tier;
  uint64_t order = order_of(ch, bank, x->seq[bank]);
  if (!is_better(best, at, tier, order)) return;
  best->kind = TSRI_REQUEST;
  best->cmd = cmd;
  best->at = at;
  best->tier = tier;
  best->order = order;
  best->bank = bank;
  best->all = false;
  best->slot = x->slot[bank];
}

/* The requests of a mask's banks by one command, one by one. */
static void offer_each(const struct tsri_channel *ch, struct tsri_choice *best,
                       enum tsri_cmd cmd, const struct tsri_oldest *x, uint32_t w,
                       uint64_t mask) {
  for (; mask; mask &= mask - 1) {
    uint32_t b = w * 64 + (uint32_t)__builtin_ctzll(mask);
    attempt(ch, best, cmd, tsri_device_ready(&ch->dev, cmd, b), b, x, tier_of(ch, cmd));
  }
}

/* The same at once: of all the earliest, and of those of one clock the oldest, as one number:
 * clocks from now in the upper 24 bits (no wait is as long: models/dram/config.c), the
 * request's number in the lower 40. */
enum { SEQ_BITS = 40 };
struct oldest {
  uint64_t key;
  uint32_t bank;
};
static void find_least(const struct tsri_channel *ch, enum tsri_cmd cmd,
                       const struct tsri_oldest *x, uint32_t w, uint64_t bits, uint64_t from,
                       struct oldest *out) {
  const struct tsri_device *d = &ch->dev;
  const uint64_t *r = d->ready[cmd], *seq = x->seq + (size_t)w * 64;
  const uint32_t first = w * 64, b0 = first + (uint32_t)__builtin_ctzll(bits);
  const uint32_t in_group = d->shift[TSRI_LEVEL_GROUP];
  const uint64_t *own = r + d->first[TSRI_LEVEL_BANK] + first;
  const uint64_t *group = r + d->first[TSRI_LEVEL_GROUP] + (first >> in_group);
  const uint64_t odd = ch->c->org.half_clock && cmd != TSRI_PRE;
  const uint64_t low = ((uint64_t)1 << SEQ_BITS) - 1;
  uint64_t shared = r[d->first[TSRI_LEVEL_UNIT] + (b0 >> d->shift[TSRI_LEVEL_UNIT])];
  shared = tsr_max_u64(shared, r[d->first[TSRI_LEVEL_SID] + (b0 >> d->shift[TSRI_LEVEL_SID])]);
  shared = tsr_max_u64(shared, from);
  struct oldest least = *out;
  if (((shared | odd) - from) << SEQ_BITS > least.key) return;
  for (; bits; bits &= bits - 1) {
    uint32_t b = (uint32_t)__builtin_ctzll(bits);
    uint64_t at = tsr_max_u64(tsr_max_u64(own[b], group[b >> in_group]), shared) | odd;
    uint64_t key = (at - from) << SEQ_BITS | (seq[b] & low);
    least.bank = key < least.key ? first + b : least.bank;
    least.key = key < least.key ? key : least.key;
  }
  *out = least;
}
static void offer_mask(const struct tsri_channel *ch, struct tsri_choice *best,
                       enum tsri_cmd cmd, const struct tsri_oldest *x, uint32_t w,
                       uint64_t mask) {
  const struct tsri_device *d = &ch->dev;
  const uint64_t *r = d->ready[cmd],
                 from = tsr_max_u64(tsri_is_column(cmd) ? ch->col_from : ch->row_from, r[0]);
  const uint32_t banks = 1u << d->shift[TSRI_LEVEL_SID];
  const uint64_t block = banks >= 64 ? UINT64_MAX : ((uint64_t)1 << banks) - 1;
  struct oldest least = {UINT64_MAX, 0};
  if (!mask || from > best->at) return;
  if (ch->c->p.rotate || (ch->c->org.half_clock && cmd == TSRI_PRE)) {
    offer_each(ch, best, cmd, x, w, mask);
    return;
  }
  while (mask) { /* of a stack id at a time */
    uint32_t bit = (uint32_t)__builtin_ctzll(mask);
    uint64_t bits = mask & block << (banks >= 64 ? 0 : bit & ~(banks - 1));
    find_least(ch, cmd, x, w, bits, from, &least);
    mask &= ~bits;
  }
  attempt(ch, best, cmd, from + (least.key >> SEQ_BITS), least.bank, x, tier_of(ch, cmd));
}

/* Banks whose row may be closed for their oldest request to another. */
static uint64_t closable(const struct tsri_channel *ch, uint32_t w, int l) {
  const struct tsri_oldest *x = &ch->miss[l];
  uint64_t may = 0;
  for (uint64_t m = x->mask[w] & ~ch->shut[w] & ~ch->kept[w]; m; m &= m - 1) {
    uint32_t bit = (uint32_t)__builtin_ctzll(m), b = w * 64 + bit;
    if (!protects(ch, b, l, x->slot[b])) may |= (uint64_t)1 << bit;
  }
  return may;
}

/* Whether none of a unit's can go before the oldest request that has its row: then no other
 * needs to be looked at.  It is looked for among the oldest few. */
enum { AGES = 8 };
static bool offer_oldest(const struct tsri_channel *ch, struct tsri_choice *best, uint32_t u) {
  const struct tsri_device *d = &ch->dev;
  const bool write = ch->writing;
  int32_t i = ch->unit[u].age[write].oldest;
  const enum tsri_cmd cmd = write ? TSRI_WR : TSRI_RD;
  if (i < 0) return true;
  for (int k = 0; d->row[ch->slot[i].bank] != ch->slot[i].row || is_kept(ch, ch->slot[i].bank);
       k++, i = ch->slot[i].newer)
    if (k == AGES || ch->slot[i].newer < 0) return false;
  const uint32_t b = ch->slot[i].bank;
  const uint64_t *r = d->ready[cmd];
  uint64_t least =
      tsr_max_u64(r[d->first[TSRI_LEVEL_UNIT] + u], tsr_max_u64(r[0], ch->col_from));
  if (tsri_device_ready(d, cmd, b) > least) return false;
  attempt(ch, best, cmd, least, b, &ch->hit[write], tier_of(ch, cmd));
  return true;
}

/* The requests of the present direction that have their row, of one list of requests. */
static void offer_columns(const struct tsri_channel *ch, struct tsri_choice *best) {
  const bool write = ch->writing;
  const enum tsri_cmd cmd = write ? TSRI_WR : TSRI_RD;
  const uint32_t n = ch->dev.banks_of_unit;
  const uint64_t all = n >= 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1;
  uint64_t left[TSRI_BANK_WORDS];
  for (uint32_t w = 0; w < ch->mask_words; w++) left[w] = ch->hit[write].mask[w] & ~ch->kept[w];
  for (uint32_t u = 0; u < ch->dev.units && !ch->c->p.rotate; u++)
    if (offer_oldest(ch, best, u))
      for (uint32_t b = u * n; b < (u + 1) * n; b += 64) left[b / 64] &= ~(all << b % 64);
  for (uint32_t w = 0; w < ch->mask_words; w++)
    offer_mask(ch, best, cmd, &ch->hit[write], w, left[w]);
}

static void offer_class(const struct tsri_channel *ch, struct tsri_choice *best, int class) {
  int l = tsri_bank_queues(ch) ? 0 : ch->writing;
  const struct tsri_oldest *miss = &ch->miss[l];
  if (class == TSRI_COLUMNS && !tsri_bank_queues(ch)) {
    offer_columns(ch, best);
    return;
  }
  for (uint32_t w = 0; w < ch->mask_words; w++) {
    if (class == TSRI_ACTS && ch->act2 < 0)
      offer_mask(ch, best, TSRI_ACT, miss, w, miss->mask[w] & ch->shut[w] & ~ch->kept[w]);
    if (class == TSRI_PRES) offer_mask(ch, best, TSRI_PRE, miss, w, closable(ch, w, l));
    for (int d = 0; d < 2 && class == TSRI_COLUMNS; d++)
      offer_mask(ch, best, d ? TSRI_WR : TSRI_RD, &ch->hit[d], w,
                 ch->hit[d].mask[w] & ~ch->kept[w]);
  }
}

/* A bank's requests of the present direction, which may have become better ones. */
static void offer_bank(const struct tsri_channel *ch, struct tsri_choice *best, uint32_t b,
                       int class) {
  int l = ch->writing;
  bool shut = ch->dev.row[b] == TSRI_NO_ROW;
  enum tsri_cmd cmd = class == TSRI_ACTS   ? TSRI_ACT
                      : class == TSRI_PRES ? TSRI_PRE
                      : l                  ? TSRI_WR
                                           : TSRI_RD;
  const struct tsri_oldest *x = class == TSRI_COLUMNS ? &ch->hit[l] : &ch->miss[l];
  if (!tsri_oldest_has(x, b) || is_kept(ch, b)) return;
  if (class == TSRI_ACTS && (!shut || ch->act2 >= 0)) return;
  if (class == TSRI_PRES && (shut || protects(ch, b, l, x->slot[b]))) return;
  uint64_t from = class == TSRI_COLUMNS ? ch->col_from : ch->row_from;
  uint64_t at = tsr_max_u64(tsri_device_ready(&ch->dev, cmd, b), from);
  attempt(ch, best, cmd, at, b, x, tier_of(ch, cmd));
}

/* Whether the best of a class may be kept from command to command. */
static bool keeps(const struct tsri_channel *ch) {
  return !tsri_bank_queues(ch) && !ch->c->p.active_first && !ch->c->t.aad;
}

void tsri_choice_forget(struct tsri_channel *ch) {
  for (int k = 0; k < TSRI_CLASSES; k++) ch->known[k] = false;
}

/* Whether the best of a class has to wait longer than it had.  Where it has not, it is still
 * the best: no command makes another one go sooner, but of its own bank. */
static bool is_later(const struct tsri_channel *ch, const struct tsri_choice *x) {
  return x->kind != TSRI_NOTHING &&
         (ch->c->org.half_clock || tsri_device_ready(&ch->dev, x->cmd, x->bank) > x->at);
}

/* A command was given to bank b. */
void tsri_choice_moved(struct tsri_channel *ch, enum tsri_cmd cmd, uint32_t b) {
  for (int k = 0; k < TSRI_CLASSES; k++) {
    if (!ch->known[k]) continue;
    const struct tsri_choice *x = &ch->best[k];
    if (!keeps(ch) || x->bank == b || (ch->shares[cmd] >> k & 1 && is_later(ch, x)))
      ch->known[k] = false;
    else
      offer_bank(ch, &ch->best[k], b, k);
  }
}

static bool any_active(const struct tsri_channel *ch, uint32_t unit) {
  for (uint32_t b = unit * ch->dev.banks_of_unit; b < (unit + 1) * ch->dev.banks_of_unit; b++)
    if (ch->bank[b].active >= 0) return true;
  return false;
}

/* What the refresh of unit u needs next. */
static void offer_refresh(const struct tsri_channel *ch, struct tsri_choice *best, uint32_t u) {
  const struct tsri_device *d = &ch->dev;
  uint32_t first = u * d->banks_of_unit;
  struct tsri_choice x = {
      .kind = TSRI_REFRESH, .tier = TIER_REFRESH, .bank = first, .all = true};
  if (ch->act2 >= 0 && ch->slot[ch->act2].bank / d->banks_of_unit == u) return;
  if (ch->c->refresh == TSR_DRAM_REFRESH_BANK) {
    uint32_t b = first + ch->unit[u].next_bank;
    x.bank = b;
    x.all = false;
    x.cmd = d->row[b] == TSRI_NO_ROW ? TSRI_REFB : TSRI_PRE;
    if (x.cmd == TSRI_PRE && ch->bank[b].active >= 0) return;
    x.at = tsri_device_ready(d, x.cmd, b);
    consider(ch, best, x);
    return;
  }
  if (d->open[u] && ch->c->p.refresh_banks) {
    for (uint32_t b = first; b < first + d->banks_of_unit; b++) {
      if (d->row[b] == TSRI_NO_ROW || ch->bank[b].active >= 0) continue;
      x.bank = b;
      x.all = false;
      x.order = b;
      x.cmd = TSRI_PRE;
      x.at = tsri_device_ready(d, TSRI_PRE, b);
      consider(ch, best, x);
    }
    return;
  }
  if (d->open[u] && ch->n_active && any_active(ch, u)) return;
  x.cmd = d->open[u] ? TSRI_PREA : TSRI_REFA;
  x.at = tsri_device_ready_unit(d, x.cmd, u);
  consider(ch, best, x);
}

/* Whether an activate would put off a refresh of one bank that could go as soon: by as much as
 * it is longer on the command bus.  Activates that follow each other would for ever. */
static bool puts_off(const struct tsri_channel *ch, const struct tsri_choice *act,
                     const struct tsri_choice *refresh) {
  const struct tsr_dram_timing *t = &ch->c->t;
  uint64_t longer = t->act_clk > t->row_clk ? t->act_clk - t->row_clk : 0;
  if (ch->c->org.half_clock) longer = 2 * longer + 1; /* and at a rising edge */
  return refresh->cmd == TSRI_REFB && act->kind == TSRI_REQUEST && act->cmd == TSRI_ACT &&
         refresh->at <= act->at + longer;
}

/* ---- refreshes falling due ---- */

static uint64_t refresh_interval(const struct tsri_channel *ch) {
  uint64_t i = ch->c->t.refi;
  if (ch->c->refresh == TSR_DRAM_REFRESH_BANK) i /= ch->dev.banks_of_unit;
  if (!i) i = 1;
  if (ch->c->p.stagger && i >= ch->dev.units) i = i / ch->dev.units * ch->dev.units;
  return i;
}

/* Whether a unit's refresh may wait no longer, or need not. */
static bool must_refresh(const struct tsri_channel *ch, uint32_t u) {
  const struct tsri_unit_state *x = &ch->unit[u];
  if (!x->due) return false;
  return x->due > ch->c->p.postpone || !x->waiting || x->refreshing;
}

/* Those that are due at clock t line up. */
void tsri_refresh_fall_due(struct tsri_channel *ch, uint64_t t) {
  for (uint32_t u = 0; u < ch->dev.units; u++) {
    struct tsri_unit_state *x = &ch->unit[u];
    while (x->next_ref <= t) {
      x->next_ref += refresh_interval(ch);
      if (x->due < 16) {
        if (!x->due) x->ref_from = x->next_ref - refresh_interval(ch);
        x->due++;
        ch->ref_queue[ch->ref_n++] = u;
      }
    }
  }
  ch->due_at = tsri_refresh_next(ch);
  ch->chosen = false;
}

void tsri_refresh_done(struct tsri_channel *ch, uint32_t u) {
  uint32_t i = 0;
  while (ch->ref_queue[i] != u) i++;
  ch->ref_n--;
  memmove(ch->ref_queue + i, ch->ref_queue + i + 1, (ch->ref_n - i) * sizeof *ch->ref_queue);
  ch->unit[u].due--;
}

/* A round is as many intervals as there are banks in turn: after it all is as before.  The last
 * few are given one by one, so that what comes then meets them. */
void tsri_refresh_skip(struct tsri_channel *ch, uint64_t t) {
  enum { LEFT = 4 };
  const bool one = ch->c->refresh == TSR_DRAM_REFRESH_BANK;
  const uint64_t turns = one ? ch->dev.banks_of_unit : 1, round = turns * refresh_interval(ch);
  if (ch->due_at >= t || (t - ch->due_at) / round <= LEFT) return;
  for (uint32_t u = 0; u < ch->dev.units; u++)
    if (ch->dev.open[u] || ch->unit[u].due) return;
  const uint64_t rounds = (t - ch->due_at) / round - LEFT;
  for (uint32_t u = 0; u < ch->dev.units; u++) ch->unit[u].next_ref += rounds * round;
  *(one ? &ch->sums->refbs : &ch->sums->refs) += rounds * turns * ch->dev.units;
  ch->due_at = tsri_refresh_next(ch);
  ch->chosen = false;
  tsri_choice_forget(ch);
}

/* ---- choosing ---- */

/* Which direction goes next; told whenever requests are about to be looked at. */
static void choose_direction(struct tsri_channel *ch) {
  const struct tsr_dram_policy *p = &ch->c->p;
  bool before = ch->writing;
  if (tsri_bank_queues(ch)) return;
  if (!ch->writing) {
    if (ch->held[1] >= p->drain_high ||
        (!ch->held[0] && ch->held[1] >= (ch->flush ? 1 : p->drain_idle)))
      ch->writing = true;
  } else if (ch->held[1] <= p->drain_low && ch->held[0]) {
    ch->writing = false;
  } else if (!ch->held[1] && p->drain_idle) {
    ch->writing = false;
  }
  if (ch->writing != before) tsri_choice_forget(ch);
}

/* Those that had their row opened. */
static void offer_actives(const struct tsri_channel *ch, struct tsri_choice *best) {
  const struct tsri_oldest *x = &ch->active;
  for (uint32_t w = 0; w < ch->mask_words; w++)
    for (uint64_t m = x->mask[w]; m; m &= m - 1) {
      uint32_t b = w * 64 + (uint32_t)__builtin_ctzll(m);
      enum tsri_cmd cmd = ch->slot[x->slot[b]].write ? TSRI_WR : TSRI_RD;
      attempt(ch, best, cmd, tsri_device_ready(&ch->dev, cmd, b), b, x, TIER_ACTIVE);
    }
}

/* What the requests in banks' lists need; not an activate that would put off `refresh`. */
static void offer_requests(struct tsri_channel *ch, struct tsri_choice *best,
                           const struct tsri_choice *refresh) {
  for (int k = 0; k < TSRI_CLASSES; k++) {
    struct tsri_choice *x = &ch->best[k];
    uint64_t from = k == TSRI_COLUMNS ? ch->col_from : ch->row_from;
    if (!ch->known[k] || x->at < from) {
      *x = (struct tsri_choice){.kind = TSRI_NOTHING, .at = NEVER, .tier = UINT32_MAX};
      offer_class(ch, x, k);
      ch->known[k] = true;
    }
    if (!puts_off(ch, x, refresh)) take_better(best, x);
  }
}

/* The next command: the earliest, and of those of one clock the first by the policy. */
struct tsri_choice tsri_choice_make(struct tsri_channel *ch) {
  struct tsri_choice best = {.kind = TSRI_NOTHING, .at = NEVER, .tier = UINT32_MAX};
  uint64_t from = tsr_min_u64(ch->col_from, ch->row_from);
  if (ch->n_active) {
    offer_actives(ch, &best);
    if (best.at <= from && !ch->ref_n && !ch->c->org.dual_bus && ch->act2 < 0) return best;
  }
  bool held = false;
  struct tsri_choice refresh = {.kind = TSRI_NOTHING, .at = NEVER, .tier = UINT32_MAX};
  for (uint32_t i = 0; i < ch->ref_n; i++) {
    uint32_t u = ch->ref_queue[i];
    if (!must_refresh(ch, u)) continue;
    if (ch->c->p.refresh_alone && i) break; /* in order */
    if (!ch->unit[u].refreshing) {
      ch->unit[u].refreshing = true;
      tsri_refresh_keep(ch, u, true);
      tsri_choice_forget(ch);
    }
    offer_refresh(ch, &refresh, u);
    held = ch->c->p.refresh_alone;
    if (ch->c->p.refresh_banks) break;
  }
  take_better(&best, &refresh);
  if (!held && (best.at > from || ch->c->org.dual_bus || !ch->c->p.active_first)) {
    choose_direction(ch);
    if (ch->queued) offer_requests(ch, &best, &refresh);
  }
  if (ch->act2 >= 0) {
    bool urgent = from >= ch->act2_by;
    consider(ch, &best,
             (struct tsri_choice){.kind = TSRI_SECOND,
                                  .cmd = TSRI_ACT,
                                  .at = from,
                                  .tier = urgent ? TIER_URGENT : TIER_LAST,
                                  .bank = ch->slot[ch->act2].bank,
                                  .slot = ch->act2});
  }
  return best;
}

/* What was chosen stands, or gives way to what has come in. */
void tsri_choice_add(struct tsri_channel *ch, int32_t i) {
  const struct tsri_slot *s = &ch->slot[i];
  bool writing = ch->writing;
  if (ch->chosen) choose_direction(ch);
  if (ch->writing != writing || ch->unit[s->bank / ch->dev.banks_of_unit].due) {
    ch->chosen = false;
    tsri_choice_forget(ch);
    return;
  }
  if (s->write != writing || (ch->ref_n && ch->c->p.refresh_alone)) return;
  uint32_t b = s->bank, row = ch->dev.row[b];
  if (row == s->row && ch->best[TSRI_PRES].bank == b) { /* the row may stay open for it */
    ch->known[TSRI_PRES] = false;
    if (ch->next.bank == b) ch->chosen = false;
  }
  const struct tsri_oldest *x = row == s->row ? &ch->hit[writing] : &ch->miss[writing];
  if (x->slot[b] != i) return; /* an older one of its bank stands before it */
  int k = row == s->row ? TSRI_COLUMNS : row == TSRI_NO_ROW ? TSRI_ACTS : TSRI_PRES;
  if (ch->known[k])
    offer_bank(ch, &ch->best[k], b, k);
  else
    ch->chosen = false;
  if (k == TSRI_ACTS && ch->ref_n) ch->chosen = false; /* it might put off a refresh */
  if (ch->chosen) offer_bank(ch, &ch->next, b, k);
}
