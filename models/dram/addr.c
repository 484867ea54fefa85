#include "models/dram/addr.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[TSRI_FIELDS] = {"ch", "ra", "si", "bg", "ba", "co", "ro"};

static bool is_power(uint64_t n) {
  return n && !(n & (n - 1));
}
static uint32_t log2_of(uint64_t n) {
  return 63 - (uint32_t)__builtin_clzll(n);
}

static int field_of(const char *s, size_t n) {
  if (n == 2 && !strncmp(s, "pc", 2)) return TSRI_UNIT;
  for (int f = 0; f < TSRI_FIELDS; f++)
    if (n == 2 && !strncmp(s, names[f], 2)) return f;
  return -1;
}

static enum tsr_status widths(struct tsri_addr_map *m, const struct tsr_dram_config *c,
                              struct tsr_err *err) {
  const struct tsr_dram_org *o = &c->org;
  if (!is_power(o->tx_bytes) || !is_power(o->row_bytes) || o->row_bytes < o->tx_bytes)
    return tsr_err_set(err, TSR_INPUT,
                       "'org.row_bytes' must be a power of two of 'org.tx_bytes' or more, and "
                       "that one too");
  const uint64_t sizes[TSRI_FIELDS] = {o->channels, o->units, o->stack_ids,
                                       o->groups,   o->banks, o->row_bytes / o->tx_bytes,
                                       o->rows};
  for (int f = 0; f < TSRI_FIELDS; f++) {
    if (!is_power(sizes[f]))
      return tsr_err_set(err, TSR_INPUT,
                         "an address is cut into fields of bits, so that the number of %s must "
                         "be a power of two, got %llu",
                         f == TSRI_CH     ? "channels"
                         : f == TSRI_UNIT ? "ranks or pseudo-channels"
                         : f == TSRI_SID  ? "stack ids"
                         : f == TSRI_BG   ? "bank groups"
                         : f == TSRI_BA   ? "banks"
                                          : "rows",
                         (unsigned long long)sizes[f]);
    m->width[f] = log2_of(sizes[f]);
  }
  m->shift = log2_of(o->tx_bytes);
  m->sids = (uint32_t)o->stack_ids;
  m->groups = (uint32_t)o->groups;
  m->banks = (uint32_t)o->banks;
  return TSR_OK;
}

static enum tsr_status wrong(struct tsr_err *err, const char *key, const char *s, size_t n,
                             const char *why) {
  return tsr_err_set(err, TSR_INPUT, "'%s' part '%.*s': %s", key, (int)n, s, why);
}

/* `co:2` or `co`. */
static enum tsr_status add_part(struct tsri_addr_map *m, const char *s, size_t n, uint32_t *at,
                                uint32_t *got, struct tsr_err *err) {
  const char *colon = memchr(s, ':', n);
  size_t head = colon ? (size_t)(colon - s) : n;
  int f = field_of(s, head);
  if (f < 0)
    return wrong(err, "map", s, n, "expected a field ch, ra, pc, si, bg, ba, co or ro");
  uint64_t left = m->width[f] - got[f], bits = left;
  if (colon) {
    char *end;
    bits = strtoul(colon + 1, &end, 10);
    if (end != s + n || end == colon + 1 || bits == 0)
      return wrong(err, "map", s, n, "expected a number of bits after ':'");
    if (bits > left) return wrong(err, "map", s, n, "the field has no such many bits left");
  }
  if (!bits) return TSR_OK;
  if (m->n == TSRI_PARTS_MAX) return wrong(err, "map", s, n, "there are too many parts");
  m->part[m->n].field = (uint8_t)f;
  m->part[m->n].from = (uint8_t)*at;
  m->part[m->n].to = (uint8_t)got[f];
  m->part[m->n++].mask = ((uint64_t)1 << bits) - 1;
  got[f] += (uint32_t)bits;
  *at += (uint32_t)bits;
  return TSR_OK;
}

/* `bg=co.2` or `bg=co`. */
static enum tsr_status add_hash(struct tsri_addr_map *m, const char *s, size_t n,
                                struct tsr_err *err) {
  const char *eq = memchr(s, '=', n);
  if (!eq) return wrong(err, "hash", s, n, "expected FIELD=FIELD.SHIFT");
  const char *dot = memchr(eq, '.', (size_t)(s + n - eq));
  const char *end = dot ? dot : s + n;
  int onto = field_of(s, (size_t)(eq - s)), of = field_of(eq + 1, (size_t)(end - eq - 1));
  if (onto < 0 || of < 0)
    return wrong(err, "hash", s, n, "expected fields ch, ra, pc, si, bg, ba, co or ro");
  if (onto == TSRI_CO && of != TSRI_RO)
    return wrong(err, "hash", s, n, "onto the column only the row may be xored");
  uint64_t shift = 0;
  if (dot) {
    char *tail;
    shift = strtoul(dot + 1, &tail, 10);
    if (tail != s + n || tail == dot + 1 || shift > 63)
      return wrong(err, "hash", s, n, "expected a shift below 64 after '.'");
  }
  if (onto == of) return wrong(err, "hash", s, n, "a field xored onto itself loses its bits");
  if (m->n_hash == TSRI_PARTS_MAX) return wrong(err, "hash", s, n, "there are too many parts");
  m->hash[m->n_hash].onto = (uint8_t)onto;
  m->hash[m->n_hash].of = (uint8_t)of;
  m->hash[m->n_hash].shift = (uint8_t)shift;
  m->hash[m->n_hash++].mask = ((uint64_t)1 << m->width[onto]) - 1;
  return TSR_OK;
}

/* Two places must not become one: what is xored onto a field is known from the others only
 * if no chain of them comes back to it. */
static enum tsr_status check_hash(const struct tsri_addr_map *m, struct tsr_err *err) {
  uint32_t done = 0; /* fields whose values of `map` can be told */
  for (int round = 0; round < TSRI_FIELDS; round++)
    for (int f = 0; f < TSRI_FIELDS; f++) {
      bool can = true;
      for (uint32_t h = 0; h < m->n_hash; h++)
        if (m->hash[h].onto == f && m->hash[h].mask && !(done & 1u << m->hash[h].of))
          can = false;
      if (can) done |= 1u << f;
    }
  if (done == (1u << TSRI_FIELDS) - 1) return TSR_OK;
  return tsr_err_set(
      err, TSR_INPUT,
      "'hash' xors fields onto each other in a circle: two addresses would be one "
      "place");
}

static enum tsr_status
each(const char *text, enum tsr_status (*fn)(void *arg, const char *s, size_t n), void *arg) {
  while (*text) {
    size_t n = strcspn(text, ",;");
    enum tsr_status st = n ? fn(arg, text, n) : TSR_OK;
    if (st) return st;
    text += n + (text[n] != 0);
  }
  return TSR_OK;
}

struct reading {
  struct tsri_addr_map *m;
  uint32_t at, got[TSRI_FIELDS];
  struct tsr_err *err;
};
static enum tsr_status read_part(void *arg, const char *s, size_t n) {
  struct reading *r = arg;
  return add_part(r->m, s, n, &r->at, r->got, r->err);
}
static enum tsr_status read_hash(void *arg, const char *s, size_t n) {
  struct reading *r = arg;
  return add_hash(r->m, s, n, r->err);
}

/* By the fields, one by one. */
static struct tsri_place_of place_by_fields(const struct tsri_addr_map *m, uint64_t number) {
  uint64_t v[TSRI_FIELDS] = {0}, raw[TSRI_FIELDS];
  for (uint32_t i = 0; i < m->n; i++)
    v[m->part[i].field] |= (number >> m->part[i].from & m->part[i].mask) << m->part[i].to;
  memcpy(raw, v, sizeof raw);
  for (uint32_t i = 0; i < m->n_hash; i++)
    v[m->hash[i].onto] ^= raw[m->hash[i].of] >> m->hash[i].shift & m->hash[i].mask;
  return (struct tsri_place_of){
      .channel = (uint32_t)v[TSRI_CH],
      .bank = (((uint32_t)v[TSRI_UNIT] * m->sids + (uint32_t)v[TSRI_SID]) * m->groups +
               (uint32_t)v[TSRI_BG]) *
                  m->banks +
              (uint32_t)v[TSRI_BA],
      .row = (uint32_t)v[TSRI_RO],
      .column = (uint32_t)v[TSRI_CO]};
}

static void fill(struct tsri_addr_map *m, uint32_t bits) {
  m->bytes = (bits + 7) / 8;
  for (uint32_t k = 0; k < m->bytes; k++)
    for (uint64_t x = 0; x < 256; x++) {
      struct tsri_place_of at = place_by_fields(m, x << 8 * k);
      m->of_byte[k][x].channel_bank = (uint64_t)at.channel << 32 | at.bank;
      m->of_byte[k][x].row_column = (uint64_t)at.row << 32 | at.column;
    }
}

enum tsr_status tsri_addr_init(struct tsri_addr_map *m, const struct tsr_dram_config *c,
                               struct tsr_err *err) {
  *m = (struct tsri_addr_map){.n = 0};
  struct reading r = {.m = m, .err = err};
  enum tsr_status st = widths(m, c, err);
  if (!st) st = each(c->map, read_part, &r);
  for (int f = 0; !st && f < TSRI_FIELDS; f++)
    if (r.got[f] != m->width[f])
      st = tsr_err_set(err, TSR_INPUT, "'map' has %u of the %u bits of field '%s'", r.got[f],
                       m->width[f], names[f]);
  if (!st) st = each(c->hash, read_hash, &r);
  if (!st) st = check_hash(m, err);
  if (!st) fill(m, r.at);
  return st;
}

struct tsri_place_of tsri_addr_place(const struct tsri_addr_map *m, uint64_t addr) {
  uint64_t a = 0, b = 0;
  addr >>= m->shift;
  for (uint32_t k = 0; k < m->bytes; k++, addr >>= 8) {
    a ^= m->of_byte[k][addr & 255].channel_bank;
    b ^= m->of_byte[k][addr & 255].row_column;
  }
  return (struct tsri_place_of){.channel = (uint32_t)(a >> 32),
                                .bank = (uint32_t)a,
                                .row = (uint32_t)(b >> 32),
                                .column = (uint32_t)b};
}
