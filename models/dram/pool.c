#include "models/dram/channel_int.h"

/* ---- lists and tables ---- */

void tsri_list_init(struct tsri_list *l) {
  *l = (struct tsri_list){NONE, NONE, 0};
}
void tsri_list_push(struct tsri_channel *ch, struct tsri_list *l, int32_t i) {
  struct tsri_slot *s = &ch->slot[i];
  s->prev = l->tail;
  s->next = NONE;
  if (l->tail >= 0)
    ch->slot[l->tail].next = i;
  else
    l->head = i;
  l->tail = i;
  l->n++;
}
void tsri_list_drop(struct tsri_channel *ch, struct tsri_list *l, int32_t i) {
  const struct tsri_slot *s = &ch->slot[i];
  if (s->prev >= 0)
    ch->slot[s->prev].next = s->next;
  else
    l->head = s->next;
  if (s->next >= 0)
    ch->slot[s->next].prev = s->prev;
  else
    l->tail = s->prev;
  l->n--;
}

static uint32_t place_in(const struct tsri_table *t, uint64_t addr) {
  return (uint32_t)(addr * 0x9e3779b97f4a7c15u >> 32) & t->mask;
}
int32_t tsri_table_find(const struct tsri_table *t, uint64_t addr) {
  for (uint32_t i = place_in(t, addr);; i = (i + 1) & t->mask) {
    if (!t->key[i]) return NONE;
    if (t->key[i] == addr + 1) return t->slot[i];
  }
}
void tsri_table_enter(struct tsri_table *t, uint64_t addr, int32_t slot) {
  uint32_t i = place_in(t, addr);
  while (t->key[i]) i = (i + 1) & t->mask;
  t->key[i] = addr + 1;
  t->slot[i] = slot;
}
/* Closes the gap that it leaves, so that no search stops too early. */
void tsri_table_leave(struct tsri_table *t, uint64_t addr) {
  uint32_t i = place_in(t, addr);
  while (t->key[i] != addr + 1) i = (i + 1) & t->mask;
  for (uint32_t k = i;;) {
    k = (k + 1) & t->mask;
    if (!t->key[k]) break;
    uint32_t home = place_in(t, t->key[k] - 1);
    if (((k - home) & t->mask) < ((k - i) & t->mask)) continue;
    t->key[i] = t->key[k];
    t->slot[i] = t->slot[k];
    i = k;
  }
  t->key[i] = 0;
}

/* ---- requests in ---- */

void tsri_oldest_set(const struct tsri_channel *ch, struct tsri_oldest *x, uint32_t b,
                     int32_t slot) {
  uint64_t bit = (uint64_t)1 << b % 64;
  if (slot < 0) {
    x->mask[b / 64] &= ~bit;
    return;
  }
  x->mask[b / 64] |= bit;
  x->slot[b] = slot;
  x->seq[b] = ch->slot[slot].seq;
}
/* Into its bank's list, where it may be chosen. */
void tsri_pool_offer(struct tsri_channel *ch, int32_t i) {
  struct tsri_slot *s = &ch->slot[i];
  int l = tsri_list_of(ch, s);
  struct tsri_bank *b = &ch->bank[s->bank];
  tsri_list_push(ch, &b->list[l], i);
  struct tsri_age *age = &ch->unit[s->bank >> ch->dev.shift[TSRI_LEVEL_UNIT]].age[s->write];
  s->older = age->newest;
  s->newer = NONE;
  *(s->older >= 0 ? &ch->slot[s->older].newer : &age->oldest) = i;
  age->newest = i;
  ch->queued++;
  struct tsri_oldest *x = &ch->miss[l];
  if (ch->dev.row[s->bank] == s->row) {
    b->hits[l]++;
    x = &ch->hit[s->write];
  }
  if (!tsri_oldest_has(x, s->bank)) tsri_oldest_set(ch, x, s->bank, i);
}

/* A bank's row is another one: its oldest requests anew. */
void tsri_pool_sort_bank(struct tsri_channel *ch, uint32_t bank) {
  struct tsri_bank *b = &ch->bank[bank];
  uint32_t row = ch->dev.row[bank];
  uint64_t bit = (uint64_t)1 << bank % 64, *shut = &ch->shut[bank / 64];
  *shut = row == TSRI_NO_ROW ? *shut | bit : *shut & ~bit;
  for (int d = 0; d < 2; d++) {
    tsri_oldest_set(ch, &ch->hit[d], bank, NONE);
    tsri_oldest_set(ch, &ch->miss[d], bank, row == TSRI_NO_ROW ? b->list[d].head : NONE);
    b->hits[d] = 0;
  }
  for (int l = 0; l < 2 && row != TSRI_NO_ROW; l++)
    for (int32_t i = b->list[l].head; i >= 0; i = ch->slot[i].next) {
      const struct tsri_slot *s = &ch->slot[i];
      struct tsri_oldest *x = s->row == row ? &ch->hit[s->write] : &ch->miss[l];
      if (s->row == row) b->hits[l]++;
      if (!tsri_oldest_has(x, bank)) tsri_oldest_set(ch, x, bank, i);
    }
}

/* The hit behind i, which was the oldest of its direction and goes. */
void tsri_pool_next_hit(struct tsri_channel *ch, int32_t i) {
  const struct tsri_slot *s = &ch->slot[i];
  int l = tsri_list_of(ch, s);
  uint32_t left = --ch->bank[s->bank].hits[l];
  int32_t k = s->next;
  while (left && k >= 0 && (ch->slot[k].row != s->row || ch->slot[k].write != s->write))
    k = ch->slot[k].next;
  tsri_oldest_set(ch, &ch->hit[s->write], s->bank, left ? k : NONE);
}
