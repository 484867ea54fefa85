#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include "sim/base/str.h"
#include "sim/config/tree.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static const char document[] = "clock: 1GHz\ntile: {rows: 32}\nsram:\nlist: [1]\n";

static struct tsr_node *parse(struct tsr_arena *a) {
  struct tsr_node *root;
  assert_int_equal(tsr_config_tree_parse(a, "f", document, strlen(document), &root, NULL),
                   TSR_OK);
  return root;
}

static void assignments_replace_and_add(void **state) {
  (void)state;
  static const struct {
    const char *assignment, *path, *text;
    size_t col;
  } rows[] = {
      {"clock=2GHz", "clock", "2GHz", 7},
      {"tile.rows=64", "tile.rows", "64", 11},
      {"tile.cols=16", "tile.cols", "16", 11},
      {"sram.a.size=1KiB", "sram.a.size", "1KiB", 13}, /* below a null */
      {"new.deep.key=x", "new.deep.key", "x", 14},
      {"power.node=", "power.node", "", 12},
      {"name=a=b", "name", "a=b", 6},
      {"name=\"q r\"", "name", "q r", 6},
      {"list={a: {b: 7}}", "list.a.b", "7", 14},
      {"tile=off", "tile", "off", 6},
      {"name=\xc3\xa9", "name", "\xc3\xa9", 6},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_arena *a = tsr_arena_create();
    struct tsr_node *root = parse(a);
    assert_int_equal(tsr_config_tree_set(a, root, rows[i].assignment, NULL), TSR_OK);
    const struct tsr_node *n = tsr_config_tree_get(root, rows[i].path);
    assert_non_null(n);
    assert_string_equal(n->text, rows[i].text);
    assert_string_equal(n->pos.src->path, "--set");
    assert_string_equal(n->pos.src->text, rows[i].assignment);
    assert_int_equal(n->pos.line, 1);
    assert_int_equal(n->pos.col, rows[i].col);
    assert_string_equal(tsr_config_origin(a, n), "--set");
    tsr_arena_destroy(a);
  }
}

static void neighbours_stay(void **state) {
  (void)state;
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_node *root = parse(a);
  assert_int_equal(tsr_config_tree_set(a, root, "tile.cols=16", NULL), TSR_OK);
  assert_int_equal(tsr_config_tree_set(a, root, "tile.cols=[1, 2]", NULL), TSR_OK);
  assert_string_equal(tsr_config_tree_get(root, "tile.rows")->text, "32");
  assert_int_equal(tsr_config_tree_get(root, "tile")->n, 2);
  assert_int_equal(tsr_config_tree_get(root, "tile.cols")->n, 2);
  assert_int_equal(root->n, 4);
  tsr_arena_destroy(a);
}

static void bad_assignments_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *assignment;
    enum tsr_status st;
    const char *message;
  } rows[] = {
      {"clock", TSR_USAGE,
       "--set:1:1: error: no '=' in the assignment; expected K=V, got 'clock'\nclock\n^~~~~\n"},
      {"", TSR_USAGE,
       "--set:1:1: error: no '=' in the assignment; expected K=V, got ''\n\n^\n"},
      {"=1", TSR_USAGE,
       "--set:1:1: error: key has an empty part; expected K=V with K such as "
       "tile.rows\n=1\n^\n"},
      {"a..b=1", TSR_USAGE,
       "--set:1:3: error: key has an empty part; expected K=V with K such as "
       "tile.rows\na..b=1\n  ^\n"},
      {"a.=1", TSR_USAGE,
       "--set:1:3: error: key has an empty part; expected K=V with K such as tile.rows\na.=1\n "
       " ^\n"},
      {"clock.x=1", TSR_USAGE,
       "--set:1:1: error: 'clock' is no mapping; expected one, to set a key below it\n"
       "clock.x=1\n^~~~~\n"},
      {"tile.rows.x.y=1", TSR_USAGE,
       "--set:1:6: error: 'tile.rows' is no mapping; expected one, to set a key below it\n"
       "tile.rows.x.y=1\n     ^~~~\n"},
      {"list.0=1", TSR_USAGE,
       "--set:1:1: error: 'list' is no mapping; expected one, to set a key below it\n"
       "list.0=1\n^~~~\n"},
      {"tile.rows=[1", TSR_INPUT,
       "--set:1:13: error: list is not closed; expected ',' or ']'; it was opened at 1:11\n"
       "tile.rows=[1\n            ^\n"},
      {"clock=@", TSR_INPUT,
       "--set:1:7: error: character starts no value; expected a value, got '@'\nclock=@\n      "
       "^\n"
       "hint: put quotes around a text that starts with it\n"},
      {"clock=&a 1", TSR_INPUT,
       "--set:1:7: error: anchors are not supported; expected plain YAML\nclock=&a 1\n      "
       "^\n"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_arena *a = tsr_arena_create();
    struct tsr_node *root = parse(a);
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_config_tree_set(a, root, rows[i].assignment, &err), rows[i].st);
    assert_int_equal(err.n, 1);
    assert_string_equal(err.msg[0], rows[i].message);
    assert_int_equal(root->n, 4);
    assert_string_equal(tsr_config_tree_get(root, "clock")->text, "1GHz");
    assert_string_equal(tsr_config_tree_get(root, "tile.rows")->text, "32");
    tsr_err_fini(&err);
    tsr_arena_destroy(a);
  }
}

static void without_memory_the_tree_stays(void **state) {
  (void)state;
  uint64_t nth = 1;
  for (enum tsr_status st = TSR_NOMEM; st != TSR_OK; nth++) {
    struct tsr_arena *a = tsr_arena_create();
    struct tsr_node *root = parse(a);
    tsr_mem_fail_at(nth, false);
    st = tsr_config_tree_set(a, root, "sram.a.b.size=[1, 2]", NULL);
    tsr_mem_fail_at(0, false);
    assert_true(st == TSR_OK || st == TSR_NOMEM);
    assert_int_equal(!tsr_config_tree_get(root, "sram.a"), st != TSR_OK);
    assert_int_equal(root->n, 4);
    tsr_arena_destroy(a);
  }
  assert_true(nth > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(assignments_replace_and_add),
      cmocka_unit_test(neighbours_stay),
      cmocka_unit_test(bad_assignments_are_refused),
      cmocka_unit_test(without_memory_the_tree_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
