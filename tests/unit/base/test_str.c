#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "sim/base/mem.h"
#include "sim/base/str.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static void a_builder_adds_up(void **state) {
  (void)state;
  struct tsr_str s = TSR_STR_INIT;
  for (int i = 0; i < 1000; i++) tsr_str_addf(&s, "%d,", i % 10);
  tsr_str_add(&s, "end");
  tsr_str_addn(&s, "xyz", 1);
  assert_int_equal(s.n, 2004);
  char *p = tsr_str_take(&s);
  assert_string_equal(p + 1998, "9,endx");
  tsr_mem_free(p);
  assert_null(s.p);
  p = tsr_str_take(&s);
  assert_string_equal(p, "");
  tsr_mem_free(p);
}

static void a_builder_remembers_that_memory_ran_out(void **state) {
  (void)state;
  for (uint64_t nth = 1; nth <= 2; nth++) {
    struct tsr_str s = TSR_STR_INIT;
    tsr_mem_fail_at(nth, false);
    tsr_str_add(&s, "short");
    tsr_str_addf(&s, "%100d", 1);
    tsr_str_add(&s, "more");
    tsr_mem_fail_at(0, false);
    assert_true(s.failed);
    assert_null(tsr_str_take(&s));
    assert_false(s.failed);
    tsr_str_add(&s, "again");
    tsr_str_fini(&s);
  }
}

static void xml_is_escaped(void **state) {
  (void)state;
  static const struct {
    const char *in, *out;
  } rows[] = {
      {"plain", "plain"},
      {"<a b=\"c\" d='e'>&</a>", "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;&lt;/a&gt;"},
      {"a\tb\nc", "a\tb\nc"},
      {"\x01\x1b[2Jx\x7f\r", "[2Jx"},
      {"\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac"},
      {"\xff\xc3", "??"},
      {"\xef\xbf\xbf|\xe2\x80\xae", "|"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_str s = TSR_STR_INIT;
    tsr_str_add_xml(&s, rows[i].in);
    char *p = tsr_str_take(&s);
    assert_string_equal(p, rows[i].out);
    tsr_mem_free(p);
  }
}

static void utf8_is_decoded_strictly(void **state) {
  (void)state;
  static const struct {
    const char *in;
    size_t n, len;
    uint32_t cp;
  } rows[] = {
      {"A", 1, 1, 'A'},
      {"\0", 1, 1, 0},
      {"\xc2\x80", 2, 2, 0x80},
      {"\xdf\xbf", 2, 2, 0x7ff},
      {"\xe0\xa0\x80", 3, 3, 0x800},
      {"\xef\xbf\xbd", 3, 3, 0xfffd},
      {"\xf0\x90\x80\x80", 4, 4, 0x10000},
      {"\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff},
      {"", 0, 0, 0},
      {"\x80", 1, 0, 0},
      {"\xc1\xbf", 2, 0, 0},         /* overlong */
      {"\xe0\x9f\xbf", 3, 0, 0},     /* overlong */
      {"\xf0\x8f\xbf\xbf", 4, 0, 0}, /* overlong */
      {"\xed\xa0\x80", 3, 0, 0},     /* surrogate */
      {"\xf4\x90\x80\x80", 4, 0, 0}, /* above U+10FFFF */
      {"\xf8\x88\x80\x80", 4, 0, 0},
      {"\xe2\x82", 2, 0, 0}, /* cut */
      {"\xe2\x28\xa1", 3, 0, 0},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    uint32_t cp = 0;
    assert_int_equal(tsr_utf8_decode(rows[i].in, rows[i].n, &cp), rows[i].len);
    assert_int_equal(cp, rows[i].cp);
  }
}

static void endings_and_equality(void **state) {
  (void)state;
  assert_true(tsr_str_eq("a", "a"));
  assert_false(tsr_str_eq("a", "ab"));
  assert_true(tsr_str_ends("x.csv", ".csv"));
  assert_true(tsr_str_ends(".csv", ".csv"));
  assert_false(tsr_str_ends("csv", ".csv"));
  assert_true(tsr_str_ends("x", ""));
}

/* Known answers of 64-bit FNV-1a. SRC:fnv */
static void fnv1a_gives_the_published_values(void **state) {
  (void)state;
  static const struct {
    const char *in;
    uint64_t hash;
  } rows[] = {
      {"", 0xcbf29ce484222325u},
      {"a", 0xaf63dc4c8601ec8cu},
      {"foobar", 0x85944171f73967e8u},
  };
  for (size_t i = 0; i < LEN(rows); i++)
    assert_true(tsr_fnv1a(TSR_FNV_INIT, rows[i].in, strlen(rows[i].in)) == rows[i].hash);
  uint64_t h = tsr_fnv1a(TSR_FNV_INIT, "foo", 3);
  assert_true(tsr_fnv1a(h, "bar", 3) == rows[2].hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_builder_adds_up),
      cmocka_unit_test(a_builder_remembers_that_memory_ran_out),
      cmocka_unit_test(xml_is_escaped),
      cmocka_unit_test(utf8_is_decoded_strictly),
      cmocka_unit_test(endings_and_equality),
      cmocka_unit_test(fnv1a_gives_the_published_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
