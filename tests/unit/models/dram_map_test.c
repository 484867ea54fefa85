/* Where addresses lie, and what streams of them are made: maps, traces, scenarios. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/dram/addr.h"
#include "models/dram/scenario.h"
#include "sim/base/mem.h"

/* All messages so far have `part`. */
static void expect_part(struct tsr_err *err, const char *part) {
  char *text = tsr_err_text(err);
  assert_non_null(text);
  if (!strstr(text, part)) fail_msg("expected '%s' in: %s", part, text);
  tsr_mem_free(text);
  tsr_err_fini(err);
}

/* ---- maps ---- */

/* A place as one number. */
static uint64_t key_of(const struct tsr_dram_config *c, struct tsri_place_of at) {
  const struct tsr_dram_org *o = &c->org;
  uint64_t banks = o->units * o->stack_ids * o->groups * o->banks;
  uint64_t columns = o->row_bytes / o->tx_bytes;
  assert_true(at.channel < o->channels && at.bank < banks);
  assert_true(at.row < o->rows && at.column < columns);
  return ((at.channel * banks + at.bank) * o->rows + at.row) * columns + at.column;
}
static uint64_t place_key(const struct tsr_dram_config *c, const struct tsri_addr_map *m,
                          uint64_t addr) {
  return key_of(c, tsri_addr_place(m, addr));
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Independent vectors over two elements among v[0..n-1], which are lost. */
static size_t rank_of(uint64_t *v, size_t n) {
  size_t rank = 0;
  for (int bit = 63; bit >= 0; bit--) {
    size_t k = rank;
    while (k < n && !(v[k] >> bit & 1)) k++;
    if (k == n) continue;
    uint64_t pivot = v[k];
    v[k] = v[rank];
    v[rank] = pivot;
    for (size_t i = rank + 1; i < n; i++)
      if (v[i] >> bit & 1) v[i] ^= pivot;
    rank++;
  }
  return rank;
}

/* A map of bits by exclusive or whose bits' images are independent is one to one. */
static void each_presets_map_gives_every_address_a_place_of_its_own(void **state) {
  (void)state;
  const char *name;
  for (size_t i = 0; (name = tsr_dram_preset_name(i, NULL)); i++) {
    struct tsr_dram_config c;
    struct tsri_addr_map m;
    assert_true(tsr_dram_preset(name, &c));
    assert_int_equal(tsr_dram_check(&c, NULL), TSR_OK);
    assert_int_equal(tsri_addr_init(&m, &c, NULL), TSR_OK);
    uint64_t bits[64], n = 0, capacity = tsr_dram_capacity(&c);
    struct tsr_rng g = {i};
    assert_int_equal(place_key(&c, &m, 0), 0);
    for (uint64_t a = c.org.tx_bytes; a < capacity; a *= 2) bits[n++] = place_key(&c, &m, a);
    for (int k = 0; k < 2000; k++) {
      uint64_t a = tsr_rng_range(&g, 0, capacity - 1), b = tsr_rng_range(&g, 0, capacity - 1);
      assert_int_equal(place_key(&c, &m, a) ^ place_key(&c, &m, b), place_key(&c, &m, a ^ b));
      assert_int_equal(place_key(&c, &m, a), place_key(&c, &m, a + capacity)); /* wraps */
    }
    assert_int_equal(rank_of(bits, n), n);
  }
}

static void no_two_transactions_share_a_place(void **state) {
  (void)state;
  enum { SAMPLE = 20000 };
  static uint64_t addr[SAMPLE], key[SAMPLE];
  const char *name;
  for (size_t i = 0; (name = tsr_dram_preset_name(i, NULL)); i++) {
    struct tsr_dram_config c;
    struct tsri_addr_map m;
    struct tsr_rng g = {i + 99};
    assert_true(tsr_dram_preset(name, &c));
    assert_int_equal(tsri_addr_init(&m, &c, NULL), TSR_OK);
    uint64_t places = tsr_dram_capacity(&c) / c.org.tx_bytes, from = tsr_rng_next(&g);
    for (size_t k = 0; k < SAMPLE; k++) /* half of them neighbours */
      addr[k] = (k % 2 ? tsr_rng_next(&g) : from + k) % places;
    qsort(addr, SAMPLE, sizeof *addr, by_value);
    size_t n = 0;
    for (size_t k = 0; k < SAMPLE; k++)
      if (!k || addr[k] != addr[k - 1])
        key[n++] = place_key(&c, &m, addr[k] * c.org.tx_bytes + k % c.org.tx_bytes);
    qsort(key, n, sizeof *key, by_value);
    for (size_t k = 1; k < n; k++) assert_true(key[k] != key[k - 1]);
  }
}

/* 2 channels, 2 ranks, 4 groups, 4 banks, 16 columns, 1024 rows of 64 B. */
static struct tsr_dram_config small(void) {
  struct tsr_dram_config c = {.t = {.bl = 4}, .p = {.writes = 8, .drain_high = 4}};
  c.org = (struct tsr_dram_org){.channels = 2,
                                .units = 2,
                                .stack_ids = 1,
                                .groups = 4,
                                .banks = 4,
                                .rows = 1024,
                                .row_bytes = 1024,
                                .tx_bytes = 64};
  strcpy(c.map, "co,ch,ra,bg,ba,ro");
  return c;
}

static void fields_lie_where_the_map_says(void **state) {
  (void)state;
  static const struct {
    const char *map, *hash;
    uint64_t addr;
    struct tsri_place_of at;
  } rows[] = {
      /* co 6..9 ch 10 ra 11 bg 12,13 ba 14,15 ro 16..25 */
      {"co,ch,ra,bg,ba,ro", "", 63, {0, 0, 0, 0}},
      {"co,ch,ra,bg,ba,ro", "", 3 << 6, {0, 0, 0, 3}},
      {"co,ch,ra,bg,ba,ro", "", 1 << 10, {1, 0, 0, 0}},
      {"co,ch,ra,bg,ba,ro", "", 1 << 11, {0, 16, 0, 0}},
      {"co,ch,ra,bg,ba,ro", "", 2 << 12, {0, 2 * 4, 0, 0}},
      {"co,ch,ra,bg,ba,ro", "", 3 << 14, {0, 3, 0, 0}},
      {"co,ch,ra,bg,ba,ro", "", 5 << 16, {0, 0, 5, 0}},
      {"co,ch,pc,si,bg,ba,ro", "", 1 << 11, {0, 16, 0, 0}}, /* pc is ra; si has no bits */
      /* co 6,7 bg 8 ba 9,10 bg 11 co 12,13 ch 14 ra 15 ro */
      {"co:2,bg:1,ba,bg,co,ch,ra,ro", "", 1 << 8 | 1 << 12, {0, 4, 0, 4}},
      {"co:2,bg:1,ba,bg,co,ch,ra,ro", "", 1 << 11, {0, 8, 0, 0}},
      /* xored: the row's upper bits onto the group, the column onto the bank */
      {"co,ch,ra,bg,ba,ro", "bg=ro.2,ba=co", 4 << 16 | 1 << 12, {0, 0, 4, 0}},
      {"co,ch,ra,bg,ba,ro", "bg=ro.2,ba=co", 8 << 16 | 7 << 6, {0, 2 * 4 + 3, 8, 7}},
      {"co,ch,ra,bg,ba,ro", "ba=bg,bg=ro", 1 << 16 | 1 << 12, {0, 1, 1, 0}}, /* of `map` */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_config c = small();
    struct tsri_addr_map m;
    strcpy(c.map, rows[i].map);
    strcpy(c.hash, rows[i].hash);
    assert_int_equal(tsri_addr_init(&m, &c, NULL), TSR_OK);
    struct tsri_place_of at = tsri_addr_place(&m, rows[i].addr);
    assert_int_equal(key_of(&c, at), key_of(&c, rows[i].at));
  }
}

static void what_is_no_map_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *map, *hash, *part;
  } rows[] = {
      {"co,ch,ra,bg,ba,xx", "", "'map' part 'xx': expected a field"},
      {"co,ch,ra,bg,ba,row", "", "'map' part 'row'"},
      {"co,ch,ra,bg,ba,ro:11", "", "'map' part 'ro:11': the field has no such many bits left"},
      {"co:3,ch,ra,bg,ba,co:2,ro", "", "'map' part 'co:2'"},
      {"co:0,ch,ra,bg,ba,ro", "", "'map' part 'co:0': expected a number of bits"},
      {"co:,ch,ra,bg,ba,ro", "", "'map' part 'co:'"},
      {"co:2x,ch,ra,bg,ba,ro", "", "'map' part 'co:2x'"},
      {"co,ch,ra,bg,ba", "", "'map' has 0 of the 10 bits of field 'ro'"},
      {"co:2,ch,ra,bg,ba,ro", "", "'map' has 2 of the 4 bits of field 'co'"},
      {"", "", "'map' has 0 of the 1 bits of field 'ch'"},
      {"co,ch,ra,bg,ba,ro", "bg", "'hash' part 'bg': expected FIELD=FIELD"},
      {"co,ch,ra,bg,ba,ro", "bg=zz", "'hash' part 'bg=zz': expected fields"},
      {"co,ch,ra,bg,ba,ro", "zz=bg", "'hash' part 'zz=bg'"},
      {"co,ch,ra,bg,ba,ro", "bg=ro.64", "expected a shift below 64"},
      {"co,ch,ra,bg,ba,ro", "bg=ro.", "expected a shift below 64"},
      {"co,ch,ra,bg,ba,ro", "bg=bg.1", "onto itself"},
      {"co,ch,ra,bg,ba,ro", "co=bg", "onto the column only the row"},
      {"co,ch,ra,bg,ba,ro", "bg=ba,ba=bg", "in a circle"},
      {"co,ch,ra,bg,ba,ro", "bg=ba,ba=ro,ro=bg", "in a circle"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_config c = small();
    struct tsr_err err = TSR_ERR_INIT;
    strcpy(c.map, rows[i].map);
    strcpy(c.hash, rows[i].hash);
    assert_int_equal(tsr_dram_check(&c, &err), TSR_INPUT);
    expect_part(&err, rows[i].part);
  }
}

static void what_is_no_power_of_two_is_refused(void **state) {
  (void)state;
#define FIELD(f) offsetof(struct tsr_dram_org, f)
  static const struct {
    size_t field;
    uint64_t value;
    const char *part;
  } rows[] = {{FIELD(channels), 3, "channels must be a power of two, got 3"},
              {FIELD(units), 3, "ranks or pseudo-channels must be a power of two"},
              {FIELD(stack_ids), 5, "stack ids must be a power of two"},
              {FIELD(groups), 6, "bank groups must be a power of two"},
              {FIELD(banks), 12, "banks must be a power of two"},
              {FIELD(rows), 1000, "rows must be a power of two"},
              {FIELD(banks), 0, "banks must be a power of two, got 0"},
              {FIELD(row_bytes), 1000, "'org.row_bytes' must be a power of two"},
              {FIELD(row_bytes), 32, "'org.row_bytes' must be a power of two"},
              {FIELD(tx_bytes), 48, "'org.row_bytes' must be a power of two"},
              {FIELD(banks), 64, "a channel has 512 banks; expected at most 256"}};
#undef FIELD
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_config c = small();
    struct tsr_err err = TSR_ERR_INIT;
    *(uint64_t *)((char *)&c.org + rows[i].field) = rows[i].value;
    assert_int_equal(tsr_dram_check(&c, &err), TSR_INPUT);
    expect_part(&err, rows[i].part);
  }
}

/* ---- traces ---- */

struct wish {
  uint64_t addr, at;
  bool write;
};

static void a_trace_is_read_line_by_line(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t n;
    struct wish wish[4];
  } rows[] = {
      {"* R 0x40\n", 1, {{0x40, 0, false}}},
      {"* R 40", 1, {{0x40, 0, false}}}, /* no end of line; no 0x */
      {"5 W 0X1aBc\r\n", 1, {{0x1abc, 5, true}}},
      {"# remark\n\n  7\tr\t0 # another\n7 w 80#third\n", 2, {{0, 7, false}, {0x80, 7, true}}},
      {"3 R 0\n* W 40\n9 R 80\n* R c0\n",
       4,
       {{0, 3, false}, {0x40, 3, true}, {0x80, 9, false}, {0xc0, 9, false}}},
      {"* R 3fffffffffffffff\n", 1, {{0x3fffffffffffffff, 0, false}}},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_stream s;
    assert_int_equal(tsr_dram_trace_parse("t", rows[i].text, strlen(rows[i].text), &s, NULL),
                     TSR_OK);
    assert_int_equal(s.n, rows[i].n);
    for (size_t k = 0; k < s.n; k++) {
      assert_int_equal(s.addr[k] >> 1, rows[i].wish[k].addr);
      assert_int_equal(s.addr[k] & 1, rows[i].wish[k].write);
      assert_int_equal(s.at[k], rows[i].wish[k].at);
    }
    tsr_dram_stream_fini(&s);
  }
}

static void what_is_no_trace_is_refused_with_its_place(void **state) {
  (void)state;
  static const struct {
    const char *text, *place, *part;
  } rows[] = {
      {"* R 0\nx R 0\n", "t:2:1: error: ", "expected a cycle below 2^48 or *, got 'x'"},
      {"-1 R 0\n", "t:1:1: error: ", "expected a cycle below 2^48 or *"},
      {"** R 0\n", "t:1:1: error: ", "expected a cycle below 2^48 or *"},
      {"18446744073709551616 R 0\n", "t:1:1: error: ", "expected a cycle below 2^48 or *"},
      {"* X 0\n", "t:1:3: error: ", "expected R or W, got 'X'"},
      {"* RW 0\n", "t:1:3: error: ", "expected R or W, got 'RW'"},
      {"* \n", "t:1:3: error: ", "expected R or W"},
      {"*  R  zz\n", "t:1:7: error: ", "expected a hexadecimal address below 2^62, got 'zz'"},
      {"* R 0x\n", "t:1:5: error: ", "expected a hexadecimal address"},
      {"* R\n", "t:1:4: error: ", "expected a hexadecimal address"},
      {"* R 4000000000000000\n", "t:1:5: error: ", "below 2^62"},
      {"* R 10000000000000000\n", "t:1:5: error: ", "below 2^62"},
      {"* R 0 0\n", "t:1:7: error: ", "expected the end of the line, got '0'"},
      {"5 R 0\n\n4 R 0\n", "t:3:1: error: ", "expected cycles that do not go back"},
      {"", "", "'t' has no requests"},
      {"# nothing\n\n", "", "'t' has no requests"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_stream s = {.n = 77};
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_dram_trace_parse("t", rows[i].text, strlen(rows[i].text), &s, &err),
                     TSR_INPUT);
    assert_int_equal(s.n, 77); /* left alone */
    char *text = tsr_err_text(&err);
    assert_non_null(text);
    if (!strstr(text, rows[i].place)) fail_msg("expected '%s' in: %s", rows[i].place, text);
    tsr_mem_free(text);
    expect_part(&err, rows[i].part);
  }
}

/* ---- scenarios ---- */

#define MIB (UINT64_C(1) << 20)

static void a_scenario_is_its_rule(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t tx;
    size_t n;
    uint64_t addr[9];
    unsigned writes; /* a bit each */
  } rows[] = {
      {"seq;3;base=0x100", 32, 3, {256, 288, 320}, 0},
      {"seq;2;w=1", 64, 2, {0, 64}, 3},
      {"seq;2;base=1073741792", 32, 2, {1024 * MIB - 32, 0}, 0}, /* modulo 1 GiB */
      {"stride;3;S=4096 base=64", 64, 3, {64, 4160, 8256}, 0},
      /* once round, a transaction further */
      {"stride;4;S=0x20000000", 64, 4, {0, 512 * MIB, 64, 512 * MIB + 64}, 0},
      /* two streams, two transactions in turn; the second is written */
      {"nstream;8;K=2 C=2 D=4096 wmask=2",
       64,
       8,
       {0, 64, 4096, 4160, 128, 192, 4224, 4288},
       0xcc},
      /* tiles of two rows of 128 B of a matrix of pitch 256 */
      {"tile2d;9;R=2 W=128 P=256", 64, 9, {0, 64, 256, 320, 128, 192, 384, 448, 512}, 0},
      {"pingpong;4;S=1024 wmask=1", 32, 4, {0, 1024, 32, 1056}, 5},
      /* 1 x 32 of A, 32 x 32 of B, a row each; C of 4 B is written */
      {"gemm;5;M=1 N=32 K=2 tm=1 tn=32 tk=2 e=2 bA=0 bB=4096 bC=8192",
       64,
       5,
       {0, 4096, 4160, 8192, 8256},
       0x18},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_stream s;
    assert_int_equal(tsr_dram_scenario(rows[i].text, rows[i].tx, 0, &s, NULL), TSR_OK);
    assert_int_equal(s.n, rows[i].n);
    for (size_t k = 0; k < s.n; k++) {
      assert_int_equal(s.addr[k] >> 1, rows[i].addr[k]);
      assert_int_equal(s.addr[k] & 1, rows[i].writes >> k & 1);
    }
    assert_null(s.at);
    tsr_dram_stream_fini(&s);
  }
}

static void random_scenarios_keep_their_range_and_share_of_writes(void **state) {
  (void)state;
  enum { N = 20000 };
  struct tsr_dram_stream s, again;
  const char *text = "rand;20000;seed=77 range=0x100000 wpct=30";
  assert_int_equal(tsr_dram_scenario(text, 64, 0, &s, NULL), TSR_OK);
  assert_int_equal(tsr_dram_scenario(text, 64, 0, &again, NULL), TSR_OK);
  uint64_t writes = 0, halves = 0, bytes = 0;
  for (int b = 0; b < 256; b++) bytes += b % 100 < 30; /* the rule: of a byte, modulo 100 */
  const uint64_t due = N * bytes / 256;
  for (size_t i = 0; i < N; i++) {
    assert_true(s.addr[i] >> 1 < 0x100000 && (s.addr[i] >> 1) % 64 == 0);
    assert_int_equal(s.addr[i], again.addr[i]);
    writes += s.addr[i] & 1;
    halves += s.addr[i] >> 1 < 0x80000;
  }
  /* six standard deviations: sqrt(20000 / 4) is 71 */
  assert_true(writes > due - 426 && writes < due + 426);
  assert_true(halves > N / 2 - 426 && halves < N / 2 + 426);
  assert_int_equal(tsr_dram_stream_hash(&s), tsr_dram_stream_hash(&again));
  again.addr[N - 1] ^= 1;
  assert_int_not_equal(tsr_dram_stream_hash(&s), tsr_dram_stream_hash(&again));
  tsr_dram_stream_fini(&s);
  tsr_dram_stream_fini(&again);
}

static void load_and_number_of_requests_are_taken(void **state) {
  (void)state;
  struct tsr_dram_stream s;
  assert_int_equal(tsr_dram_scenario("seq;3;load=0.25", 64, 7, &s, NULL), TSR_OK);
  assert_int_equal(s.n, 7);
  assert_true(s.load == 0.25);
  tsr_dram_stream_fini(&s);
}

static void what_is_no_scenario_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *text, *part;
  } rows[] = {
      {"", "unknown pattern; expected seq, stride"},
      {"sequ;1;", "unknown pattern"},
      {"seq", "it ends behind the pattern"},
      {"seq;;", "the number of requests is none"},
      {"seq;x;", "the number of requests is none"},
      {"seq;-1;", "the number of requests is none"},
      {"seq;1073741825;", "more than 2^30 requests"},
      {"seq;1;base", "a key has no value"},
      {"seq;1;S=64", "unknown key 'S'; expected base w, load"},
      {"seq;1;base=1 base=2", "a key is given twice"},
      {"seq;1;base=zz", "'base=zz' is no number"},
      {"seq;1;base=", "'base=' is no number"},
      {"seq;1;base=99999999999999999999", "is no number"},
      {"seq;1;load=0", "'load' is no part of the peak"},
      {"seq;1;load=x", "'load' is no part of the peak"},
      {"seq;1;load=", "'load' is no number"},
      {"stride;1;", "'S' is missing or 0"},
      {"nstream;1;K=0 C=1", "'K' is missing or 0"},
      {"tile2d;1;R=1 W=128 P=64", "a tile is wider than the pitch"},
      {"tile2d;1;R=0xffffffffff W=0xffffffffff P=0xffffffffff", "a tile is too large"},
      {"gemm;1;M=1 N=1 K=1 tm=1 tn=1", "'tk' is missing or 0"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_dram_stream s;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_dram_scenario(rows[i].text, 64, 0, &s, &err), TSR_INPUT);
    expect_part(&err, rows[i].part);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_presets_map_gives_every_address_a_place_of_its_own),
      cmocka_unit_test(no_two_transactions_share_a_place),
      cmocka_unit_test(fields_lie_where_the_map_says),
      cmocka_unit_test(what_is_no_map_is_refused),
      cmocka_unit_test(what_is_no_power_of_two_is_refused),
      cmocka_unit_test(a_trace_is_read_line_by_line),
      cmocka_unit_test(what_is_no_trace_is_refused_with_its_place),
      cmocka_unit_test(a_scenario_is_its_rule),
      cmocka_unit_test(random_scenarios_keep_their_range_and_share_of_writes),
      cmocka_unit_test(load_and_number_of_requests_are_taken),
      cmocka_unit_test(what_is_no_scenario_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
