/* The parts of a controller: who waits (pool.c), what goes next (choose.c), what it does
 * (channel.c). */
#ifndef TSR_MODELS_DRAM_CHANNEL_INT_H
#define TSR_MODELS_DRAM_CHANNEL_INT_H

#include "models/dram/channel.h"
#include "sim/base/mem.h"

enum { NONE = -1 }; /* no slot */
#define NEVER UINT64_MAX
enum { TSRI_BANK_WORDS = (TSR_DRAM_BANKS_MAX + 63) / 64 };
enum { TSRI_ROW_LATER = 8 }; /* tiers: of two buses a clock's column command goes first */

static inline bool tsri_is_column(enum tsri_cmd c) {
  return c == TSRI_RD || c == TSRI_WR || c == TSRI_RDA || c == TSRI_WRA;
}
static inline bool tsri_bank_queues(const struct tsri_channel *ch) {
  return ch->c->p.bank_queue > 0;
}
static inline bool tsri_oldest_has(const struct tsri_oldest *x, uint32_t b) {
  return x->mask[b / 64] >> b % 64 & 1;
}
/* The list of its bank in which a request waits. */
static inline int tsri_list_of(const struct tsri_channel *ch, const struct tsri_slot *s) {
  return tsri_bank_queues(ch) ? 0 : s->write;
}
static inline int tsri_class_of(int cmd) {
  return cmd == TSRI_ACT ? TSRI_ACTS : cmd == TSRI_PRE ? TSRI_PRES : TSRI_COLUMNS;
}

/* ---- who waits ---- */

void tsri_list_init(struct tsri_list *l);
void tsri_list_push(struct tsri_channel *ch, struct tsri_list *l, int32_t i);
void tsri_list_drop(struct tsri_channel *ch, struct tsri_list *l, int32_t i);
/* By address; a slot, or NONE. */
int32_t tsri_table_find(const struct tsri_table *t, uint64_t addr);
void tsri_table_enter(struct tsri_table *t, uint64_t addr, int32_t slot);
void tsri_table_leave(struct tsri_table *t, uint64_t addr);
/* Bank b's oldest of a kind is a slot, or NONE. */
void tsri_oldest_set(const struct tsri_channel *ch, struct tsri_oldest *x, uint32_t b,
                     int32_t slot);
/* Request i goes into its bank's list, where it may be chosen. */
void tsri_pool_offer(struct tsri_channel *ch, int32_t i);
/* A bank's row is another one: its oldest requests anew. */
void tsri_pool_sort_bank(struct tsri_channel *ch, uint32_t bank);
/* Request i, the oldest hit of its direction, is about to go: the next is the oldest. */
void tsri_pool_next_hit(struct tsri_channel *ch, int32_t i);

/* ---- what goes next ---- */

/* The next command: the earliest, and of those of one clock the first by the policy. */
struct tsri_choice tsri_choice_make(struct tsri_channel *ch);
/* What was chosen stands, or gives way to request i, which has come in. */
void tsri_choice_add(struct tsri_channel *ch, int32_t i);
/* A command was given to bank b; anything may have changed. */
void tsri_choice_moved(struct tsri_channel *ch, enum tsri_cmd cmd, uint32_t b);
void tsri_choice_forget(struct tsri_channel *ch);

/* Refreshes: when the next falls due; those of clock t line up; a unit's is done; the banks
 * that it needs are kept, or no longer. */
uint64_t tsri_refresh_next(const struct tsri_channel *ch);
void tsri_refresh_fall_due(struct tsri_channel *ch, uint64_t t);
void tsri_refresh_done(struct tsri_channel *ch, uint32_t unit);
/* Nothing waits, all rows are closed and nobody watches: refreshes up to shortly before clock t
 * are counted at once. */
void tsri_refresh_skip(struct tsri_channel *ch, uint64_t t);
void tsri_refresh_keep(struct tsri_channel *ch, uint32_t unit, bool on);
void tsri_bank_keep(struct tsri_channel *ch, uint32_t bank, bool on);

#endif
