#include "models/dram/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/io.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"

enum { KEYS_MAX = 16 };
static const uint64_t SPACE = (uint64_t)1 << 30; /* addresses are reduced to it */
static const uint64_t REQUESTS_MAX = (uint64_t)1 << 30;

struct keys {
  uint32_t n;
  struct {
    char name[8];
    uint64_t value;
  } key[KEYS_MAX];
  double load;
};

struct pattern {
  const char *name;
  const char *keys; /* that it knows, blank-separated; with ! it needs */
  void (*make)(struct tsr_dram_stream *s, struct keys *k, uint64_t n, uint64_t t);
};

static uint64_t get(struct keys *k, const char *name, uint64_t def) {
  for (uint32_t i = 0; i < k->n; i++)
    if (!strcmp(k->key[i].name, name)) return k->key[i].value;
  return def;
}

static void put(struct tsr_dram_stream *s, uint64_t addr, bool write) {
  s->addr[s->n++] = (addr & (SPACE - 1)) << 1 | write;
}

static void make_seq(struct tsr_dram_stream *s, struct keys *k, uint64_t n, uint64_t t) {
  uint64_t base = get(k, "base", 0);
  bool w = get(k, "w", 0);
  for (uint64_t i = 0; i < n; i++) put(s, base + i * t, w);
}
static void make_stride(struct tsr_dram_stream *s, struct keys *k, uint64_t n, uint64_t t) {
  uint64_t base = get(k, "base", 0), step = get(k, "S", 0);
  bool w = get(k, "w", 0);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t raw = base + i * step;
    put(s, (raw & (SPACE - 1)) + (raw / SPACE) * t, w);
  }
}
/* SRC:marsaglia2003 */
static uint64_t xorshift(uint64_t *x) {
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}
static void make_rand(struct tsr_dram_stream *s, struct keys *k, uint64_t n, uint64_t t) {
  uint64_t seed = get(k, "seed", 88172645463325252u), range = get(k, "range", SPACE);
  uint64_t writes = get(k, "wpct", 0), places = tsr_max_u64(range / t, 1);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t x = xorshift(&seed);
    put(s, (x >> 12) % places * t, (x >> 56) % 100 < writes);
  }
}
static void make_nstream(struct tsr_dram_stream *s, struct keys *k, uint64_t n, uint64_t t) {
  uint64_t streams = get(k, "K", 1), chunk = get(k, "C", 1), apart = get(k, "D", 0);
  uint64_t base = get(k, "base", 0), writes = get(k, "wmask", 0);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t g = i / chunk, which = g % streams, at = g / streams * chunk + i % chunk;
    put(s, base + which * apart + at * t, which < 64 && writes >> which & 1);
  }
}
static void make_tile2d(struct tsr_dram_stream *s, struct keys *k, uint64_t n, uint64_t t) {
  uint64_t rows = get(k, "R", 1), width = get(k, "W", 1), pitch = get(k, "P", 1);
  uint64_t base = get(k, "base", 0), w = get(k, "w", 0);
  uint64_t line = tsr_ceil_div(width, t), per = rows * line, tiles = pitch / width;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t tile = i / per, q = i % per, row = q / line, b = q % line;
    put(s, base + (tile / tiles * rows + row) * pitch + tile % tiles * width + b * t, w);
  }
}
static void make_pingpong(struct tsr_dram_stream *s, struct keys *k, uint64_t n, uint64_t t) {
  uint64_t apart = get(k, "S", 0), base = get(k, "base", 0), writes = get(k, "wmask", 0);
  for (uint64_t i = 0; i < n; i++)
    put(s, base + (i & 1) * apart + (i >> 1) * t, writes >> (i & 1) & 1);
}

struct matrix {
  uint64_t base, pitch;
  bool write;
};
/* nr rows from r0 and nc bytes from c0. */
static void put_tile(struct tsr_dram_stream *s, const struct matrix *m, uint64_t r0,
                     uint64_t nr, uint64_t c0, uint64_t nc, uint64_t n, uint64_t t) {
  for (uint64_t a = 0; a < nr && s->n < n; a++)
    for (uint64_t b = 0; b < nc && s->n < n; b += t)
      put(s, m->base + (r0 + a) * m->pitch + c0 + b, m->write);
}
static void make_gemm(struct tsr_dram_stream *s, struct keys *k, uint64_t n, uint64_t t) {
  uint64_t m = get(k, "M", 0), nn = get(k, "N", 0), kk = get(k, "K", 0);
  uint64_t tm = get(k, "tm", 1), tn = get(k, "tn", 1), tk = get(k, "tk", 1);
  uint64_t e = get(k, "e", 2), ec = get(k, "ec", 4);
  struct matrix a = {get(k, "bA", 0), kk * e, false};
  struct matrix b = {get(k, "bB", 256u << 20), nn * e, false};
  struct matrix c = {get(k, "bC", 512u << 20), nn * ec, true};
  for (uint64_t i = 0; i < m && s->n < n; i += tm)
    for (uint64_t j = 0; j < nn && s->n < n; j += tn) {
      for (uint64_t l = 0; l < kk && s->n < n; l += tk) {
        put_tile(s, &a, i, tm, l * e, tk * e, n, t);
        put_tile(s, &b, l, tk, j * e, tn * e, n, t);
      }
      put_tile(s, &c, i, tm, j * ec, tn * ec, n, t);
    }
}

static const struct pattern patterns[] = {
    {"seq", "base w", make_seq},
    {"stride", "S! base w", make_stride},
    {"rand", "seed range wpct", make_rand},
    {"nstream", "K! C! D wmask base", make_nstream},
    {"tile2d", "R! W! P! base w", make_tile2d},
    {"pingpong", "S! wmask base", make_pingpong},
    {"gemm", "M! N! K! tm! tn! tk! e ec bA bB bC", make_gemm}};

/* ---- reading ---- */

static enum tsr_status wrong(struct tsr_err *err, const char *text, const char *what) {
  return tsr_err_set(err, TSR_INPUT,
                     "scenario '%.80s': %s; expected 'pattern;requests;key=value …'", text,
                     what);
}

/* Of a list `S! base w`: 0 unknown, 1 known, 2 needed. */
static int knows(const char *list, const char *name, size_t n) {
  while (*list) {
    size_t len = strcspn(list, " "), head = len && list[len - 1] == '!' ? len - 1 : len;
    if (head == n && !strncmp(list, name, n)) return head == len ? 1 : 2;
    list += len;
    list += strspn(list, " ");
  }
  return 0;
}

static bool read_number(const char *s, size_t n, uint64_t *out) {
  char buf[32], *end;
  if (n == 0 || n >= sizeof buf || s[0] == '-' || s[0] == '+' || s[0] == ' ') return false;
  memcpy(buf, s, n);
  buf[n] = 0;
  errno = 0;
  int base = n > 1 && buf[0] == '0' && (buf[1] == 'x' || buf[1] == 'X') ? 16 : 10;
  *out = strtoull(buf, &end, base);
  return !*end && !errno;
}

static enum tsr_status read_load(const char *text, const char *s, size_t n, struct keys *k,
                                 struct tsr_err *err) {
  char buf[32], *end;
  if (n == 0 || n >= sizeof buf) return wrong(err, text, "'load' is no number");
  memcpy(buf, s, n);
  buf[n] = 0;
  k->load = strtod(buf, &end);
  if (*end || !(k->load >= 1e-6) || k->load > 1)
    return wrong(err, text, "'load' is no part of the peak, from 0.000001 to 1");
  return TSR_OK;
}

static enum tsr_status read_key(const char *text, const struct pattern *p, const char *s,
                                size_t n, struct keys *k, struct tsr_err *err) {
  const char *eq = memchr(s, '=', n);
  if (!eq) return wrong(err, text, "a key has no value");
  size_t head = (size_t)(eq - s), rest = n - head - 1;
  if (head == 4 && !strncmp(s, "load", 4)) return read_load(text, eq + 1, rest, k, err);
  if (!knows(p->keys, s, head))
    return tsr_err_set(err, TSR_INPUT,
                       "scenario '%.80s': unknown key '%.*s'; expected %s, load", text,
                       (int)tsr_min_u64(head, 32), s, p->keys);
  if (k->n == KEYS_MAX) return wrong(err, text, "too many keys");
  uint64_t value;
  if (!read_number(eq + 1, rest, &value))
    return tsr_err_set(err, TSR_INPUT, "scenario '%.80s': '%.*s' is no number", text,
                       (int)tsr_min_u64(n, 64), s);
  for (uint32_t i = 0; i < k->n; i++)
    if (strlen(k->key[i].name) == head && !strncmp(k->key[i].name, s, head))
      return wrong(err, text, "a key is given twice");
  memcpy(k->key[k->n].name, s, head);
  k->key[k->n].name[head] = 0;
  k->key[k->n++].value = value;
  return TSR_OK;
}

static enum tsr_status check_keys(const char *text, const struct pattern *p, struct keys *k,
                                  struct tsr_err *err) {
  for (const char *list = p->keys; *list;) {
    size_t len = strcspn(list, " ");
    if (list[len - 1] == '!') {
      char name[8] = "";
      memcpy(name, list, len - 1);
      bool zero = !get(k, name, 0);
      if (zero)
        return tsr_err_set(err, TSR_INPUT, "scenario '%.80s': '%s' is missing or 0", text,
                           name);
    }
    list += len;
    list += strspn(list, " ");
  }
  static const char *const sizes[] = {"M", "N", "K", "tm", "tn", "tk", "e", "ec"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !strcmp(p->name, "gemm"); i++) {
    uint64_t v = get(k, sizes[i], 1), most = *sizes[i] == 'e' ? 64 : 1u << 24;
    if (!v || v > most)
      return tsr_err_set(err, TSR_INPUT, "scenario '%.80s': '%s' is none of 1 to %" PRIu64,
                         text, sizes[i], most);
  }
  if (get(k, "wpct", 0) > 100) return wrong(err, text, "'wpct' is no percentage");
  if (get(k, "w", 0) > 1) return wrong(err, text, "'w' is neither 0 nor 1");
  if (!strcmp(p->name, "tile2d") && get(k, "P", 1) < get(k, "W", 1))
    return wrong(err, text, "a tile is wider than the pitch");
  uint64_t per;
  if (!tsr_mul_u64(get(k, "R", 1), get(k, "W", 1), &per))
    return wrong(err, text, "a tile is too large");
  return TSR_OK;
}

enum tsr_status tsr_dram_scenario(const char *text, uint64_t tx_bytes, uint64_t requests,
                                  struct tsr_dram_stream *out, struct tsr_err *err) {
  size_t head = strcspn(text, ";");
  const struct pattern *p = NULL;
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
    if (strlen(patterns[i].name) == head && !strncmp(patterns[i].name, text, head))
      p = &patterns[i];
  if (!p)
    return tsr_err_set(
        err, TSR_INPUT,
        "scenario '%.80s': unknown pattern; expected seq, stride, rand, nstream, "
        "tile2d, pingpong or gemm",
        text);
  if (!text[head]) return wrong(err, text, "it ends behind the pattern");
  const char *at = text + head + 1;
  size_t len = strcspn(at, ";");
  uint64_t n;
  if (!read_number(at, len, &n)) return wrong(err, text, "the number of requests is none");
  if (requests) n = requests;
  if (!n) return wrong(err, text, "there are 0 requests");
  if (n > REQUESTS_MAX) return wrong(err, text, "there are more than 2^30 requests");
  struct keys k = {.n = 0};
  at += len;
  if (*at) at++;
  for (at += strspn(at, " \t\r"); *at; at += strspn(at, " \t\r")) {
    len = strcspn(at, " \t\r");
    enum tsr_status st = read_key(text, p, at, len, &k, err);
    if (st) return st;
    at += len;
  }
  enum tsr_status st = check_keys(text, p, &k, err);
  if (st) return st;
  *out = (struct tsr_dram_stream){.load = k.load};
  out->addr = tsr_mem_array(n + 1, sizeof *out->addr);
  if (!out->addr) return tsr_err_nomem(err);
  p->make(out, &k, n, tx_bytes);
  return TSR_OK;
}

void tsr_dram_stream_fini(struct tsr_dram_stream *s) {
  tsr_mem_free(s->addr);
  tsr_mem_free(s->at);
  *s = (struct tsr_dram_stream){.n = 0};
}

uint64_t tsr_dram_stream_hash(const struct tsr_dram_stream *s) {
  uint64_t h = 1469598103934665603u; /* of the recorded runs; FNV's own ends in another 7 */
  for (size_t i = 0; i < s->n; i++) {
    uint8_t bytes[8];
    for (int b = 0; b < 8; b++) bytes[b] = (uint8_t)(s->addr[i] >> 8 * b);
    h = tsr_fnv1a(h, bytes, sizeof bytes);
  }
  return h;
}
