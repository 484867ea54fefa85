#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/io.h"
#include "sim/base/rng.h"
#include "sim/base/str.h"
#include "sim/config/tree.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* ---- rows of tests/data/yaml ---- */

static void dump_text(struct tsr_str *s, const char *p) {
  for (; *p; p++) {
    if (*p == '\n')
      tsr_str_add(s, "\\n");
    else if (*p == '\t')
      tsr_str_add(s, "\\t");
    else
      tsr_str_addn(s, p, 1);
  }
}

static void dump(struct tsr_str *s, const struct tsr_node *n, int depth, const char *key) {
  static const char *const kinds[] = {"scalar", "seq", "map"};
  tsr_str_addf(s, "%*s%u:%u+%u %s%s%s", depth * 2, "", n->pos.line, n->pos.col, n->pos.width,
               key, *key ? ": " : "", kinds[n->kind]);
  if (n->kind == TSR_NODE_SCALAR) {
    tsr_str_add(s, n->quoted ? " q[" : " [");
    dump_text(s, n->text);
    tsr_str_add(s, "]");
  }
  tsr_str_add(s, "\n");
  for (size_t i = 0; i < n->n; i++) {
    if (n->kind == TSR_NODE_SEQ)
      dump(s, n->items[i], depth + 1, "-");
    else
      dump(s, n->entries[i].value, depth + 1, n->entries[i].key);
  }
}

/* What the reader makes of a text: its tree, or its messages. */
static char *outcome(const char *path, const char *text, size_t len, bool *good) {
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_node *root = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status st = tsr_config_tree_parse(a, path, text, len, &root, &err);
  char *p;
  *good = st == TSR_OK;
  if (*good) {
    struct tsr_str s = TSR_STR_INIT;
    assert_int_equal(err.total, 0);
    dump(&s, root, 0, "");
    p = tsr_str_take(&s);
  } else {
    assert_int_equal(st, TSR_INPUT);
    assert_int_equal(err.status, TSR_INPUT);
    assert_null(root);
    assert_true(err.n > 0);
    p = tsr_err_text(&err);
  }
  tsr_err_fini(&err);
  tsr_arena_destroy(a);
  return p;
}

static char *slurp(const char *path, size_t *len) {
  char *text;
  if (tsr_io_read(path, &text, len, NULL) != TSR_OK) fail_msg("cannot read %s", path);
  return text;
}

static size_t check_folder(const char *folder, const char *partner, bool want_good) {
  char dir[512], path[1024];
  size_t rows = 0, len;
  snprintf(dir, sizeof dir, "%s/yaml/%s", TSR_TEST_DATA, folder);
  DIR *d = opendir(dir);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    if (!tsr_str_ends(e->d_name, ".yaml")) continue;
    bool good;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    char *text = slurp(path, &len), *got = outcome(e->d_name, text, len, &good);
    int stem = (int)(strlen(e->d_name) - strlen(".yaml"));
    snprintf(path, sizeof path, "%s/%.*s%s", dir, stem, e->d_name, partner);
    char *want = slurp(path, &len);
    if (good != want_good || !tsr_str_eq(got, want))
      fail_msg("%s gives\n%s\nexpected\n%s", e->d_name, got, want);
    tsr_mem_free(text);
    tsr_mem_free(got);
    tsr_mem_free(want);
    rows++;
  }
  closedir(d);
  return rows;
}

static void valid_documents_give_their_trees(void **state) {
  (void)state;
  assert_true(check_folder("valid", ".tree", true) >= 18);
}

static void invalid_documents_give_their_messages(void **state) {
  (void)state;
  assert_true(check_folder("invalid", ".err", false) >= 40);
}

/* ---- what rows of data cannot say ---- */

static const char document[] =
    "version: 1\ntile: {kind: systolic, rows: 32, formats: {a: int8}}\n"
    "sram:\n  a: {size: 512KiB}\nlist:\n- 1\n- x: [y, z]\ntext: \"q\"\n";

static void dotted_paths_find_values(void **state) {
  (void)state;
  static const struct {
    const char *path, *text;
  } rows[] = {
      {"version", "1"},
      {"tile.rows", "32"},
      {"tile.formats.a", "int8"},
      {"sram.a.size", "512KiB"},
      {"tile.cols", NULL},
      {"til", NULL},
      {"version.x", NULL},
      {"tile.rows.x", NULL},
      {"", NULL},
      {".", NULL},
      {"tile.", NULL},
      {"list.0", NULL},
  };
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_node *root;
  assert_int_equal(tsr_config_tree_parse(a, "f", document, strlen(document), &root, NULL),
                   TSR_OK);
  for (size_t i = 0; i < LEN(rows); i++) {
    const struct tsr_node *n = tsr_config_tree_get(root, rows[i].path);
    if (!rows[i].text)
      assert_null(n);
    else
      assert_string_equal(n->text, rows[i].text);
  }
  const struct tsr_node *size = tsr_config_tree_get(root, "sram.a.size");
  assert_string_equal(tsr_config_origin(a, size), "f:4");
  tsr_arena_destroy(a);
}

static void a_text_need_not_outlive_parsing(void **state) {
  (void)state;
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_node *root;
  char *text = tsr_mem_strdup("a: 1\n"), *path = tsr_mem_strdup("p");
  assert_int_equal(tsr_config_tree_parse(a, path, text, 5, &root, NULL), TSR_OK);
  tsr_mem_free(text);
  tsr_mem_free(path);
  const struct tsr_node *n = tsr_config_tree_get(root, "a");
  assert_string_equal(n->text, "1");
  assert_string_equal(n->pos.src->path, "p");
  assert_memory_equal(n->pos.src->text, "a: 1\n", 5);
  tsr_arena_destroy(a);
}

static void a_file_is_read(void **state) {
  (void)state;
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_node *root = NULL;
  const char *text = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(
      tsr_config_tree_read(a, TSR_TEST_DATA "/yaml/valid/crlf.yaml", &root, &text, &err),
      TSR_OK);
  assert_string_equal(text, "a: 1\r\nb:\r\n  c: 2\r\n");
  assert_string_equal(tsr_config_tree_get(root, "b.c")->text, "2");
  root = NULL;
  assert_int_equal(tsr_config_tree_read(a, "/nonexistent/x.yaml", &root, NULL, &err),
                   TSR_INPUT);
  assert_string_equal(err.msg[0],
                      "error: cannot read '/nonexistent/x.yaml': no such file or directory\n");
  assert_null(root);
  tsr_err_fini(&err);
  tsr_arena_destroy(a);
}

static void too_many_values_are_refused(void **state) {
  (void)state;
  static const struct {
    size_t items;
    enum tsr_status st;
  } rows[] = {{999999, TSR_OK}, {1000000, TSR_INPUT}}; /* and the list itself */
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_arena *a = tsr_arena_create();
    struct tsr_node *root;
    struct tsr_err err = TSR_ERR_INIT;
    size_t n = 2 * rows[i].items;
    char *text = tsr_mem_alloc(2 * n + 1), *p = text;
    for (size_t k = 0; k < rows[i].items; k++, p += 4) memcpy(p, "- a\n", 4);
    assert_int_equal(tsr_config_tree_parse(a, "f", text, (size_t)(p - text), &root, &err),
                     rows[i].st);
    if (rows[i].st != TSR_OK)
      assert_string_equal(err.msg[0],
                          "f:1000000:3: error: document is too large; expected at most "
                          "1000000 values\n- a\n  ^\n");
    tsr_err_fini(&err);
    tsr_mem_free(text);
    tsr_arena_destroy(a);
  }
}

/* Memory that runs out at any allocation is reported and leaks nothing. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  static const bool modes[] = {false, true};
  for (size_t m = 0; m < LEN(modes); m++) {
    uint64_t nth = 1;
    for (enum tsr_status st = TSR_NOMEM; st != TSR_OK; nth++) {
      struct tsr_err err = TSR_ERR_INIT;
      struct tsr_node *root = NULL;
      tsr_mem_fail_at(nth, modes[m]);
      struct tsr_arena *a = tsr_arena_create();
      st = a ? tsr_config_tree_parse(a, "f", document, strlen(document), &root, &err)
             : TSR_NOMEM;
      tsr_mem_fail_at(0, false);
      assert_true(st == TSR_OK || st == TSR_NOMEM);
      assert_int_equal(root != NULL, st == TSR_OK);
      if (a) assert_int_equal(err.status, st);
      tsr_err_fini(&err);
      tsr_arena_destroy(a);
    }
    assert_true(nth > 40);
  }
}

/* Any bytes give a tree or messages with a place inside the text. */
static void random_changes_never_crash(void **state) {
  (void)state;
  static const char odd[] = "{}[]:,-?&*!|>'\"%@`#\n\t \x80\xff\0ab";
  struct tsr_rng r = {5};
  size_t n = strlen(document), good = 0;
  for (int i = 0; i < 3000; i++) {
    struct tsr_arena *a = tsr_arena_create();
    struct tsr_err err = TSR_ERR_INIT;
    struct tsr_node *root = NULL;
    char *text = tsr_mem_strndup(document, n);
    for (uint64_t k = tsr_rng_range(&r, 1, 4); k; k--)
      text[tsr_rng_range(&r, 0, n - 1)] = odd[tsr_rng_range(&r, 0, sizeof odd - 2)];
    enum tsr_status st = tsr_config_tree_parse(a, "f", text, n, &root, &err);
    good += st == TSR_OK;
    assert_true(st == TSR_OK ? root && !err.n : st == TSR_INPUT && !root && err.n);
    if (err.n) assert_memory_equal(err.msg[0], "f:", 2);
    tsr_err_fini(&err);
    tsr_mem_free(text);
    tsr_arena_destroy(a);
  }
  assert_true(good > 100 && good < 2900);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(valid_documents_give_their_trees),
      cmocka_unit_test(invalid_documents_give_their_messages),
      cmocka_unit_test(dotted_paths_find_values),
      cmocka_unit_test(a_text_need_not_outlive_parsing),
      cmocka_unit_test(a_file_is_read),
      cmocka_unit_test(too_many_values_are_refused),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(random_changes_never_crash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
