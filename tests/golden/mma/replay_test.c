/* Replays golden vectors through every unit they speak about: the files in
 * tests/data/mma, and all files of $TESSERA_GOLDEN/mma where that is set. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/check/vectors.h"

enum { MAX_UNITS = 512 };

struct tally {
  size_t files, elements, contested, contested_differ, mismatches;
  size_t by_unit[MAX_UNITS]; /* elements compared, by index of the unit */
};

static size_t index_of(const char *name) {
  size_t i = 0;
  while (i < tsr_mma_count() && strcmp(tsr_mma_at(i)->name, name) != 0) i++;
  return i;
}

static void replay(struct tally *t, const char *path, const char *model) {
  struct tsr_vectors_result r;
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_vectors_check(path, model, &r, &err)) {
    char *text = tsr_err_text(&err);
    fail_msg("%s: %s", path, text);
  }
  tsr_err_fini(&err);
  assert_int_equal(r.elements, r.exact + r.contested + r.mismatches);
  t->elements += r.elements;
  t->contested += r.contested;
  t->contested_differ += r.contested_differ;
  t->mismatches += r.mismatches;
  if (index_of(r.model) < tsr_mma_count()) t->by_unit[index_of(r.model)] += r.elements;
  if (r.mismatches)
    print_error("%s through %s: %llu mismatches; %s\n", path, r.model,
                (unsigned long long)r.mismatches, r.first);
}

/* The names after `# alias=`: every one of them must exist and give these results. */
static size_t replay_aliases(struct tally *t, const char *path, const char *header) {
  const char *at = strstr(header, "# alias=");
  size_t n = 0;
  if (!at) return 0;
  for (at += strlen("# alias="); *at && *at != '\n'; n++) {
    char name[128];
    size_t len = strcspn(at, " \n");
    snprintf(name, sizeof name, "%.*s", (int)len, at);
    if (!tsr_mma_find(name)) fail_msg("%s: no unit %s", path, name);
    replay(t, path, name);
    at += len + (at[len] == ' ');
  }
  return n;
}

/* An integer file holds the results of four units. */
static size_t replay_integers(struct tally *t, const char *path, const char *file) {
  static const char *const modes[] = {"wrap", "satend", "satstep", "pair16"};
  if (strncmp(file, "int_", 4) != 0) return 0;
  for (size_t i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "%.*s_%s", (int)strcspn(file, "."), file, modes[i]);
    replay(t, path, name);
  }
  return 4;
}

static void replay_file(struct tally *t, const char *dir, const char *file) {
  char path[4096], header[4096];
  snprintf(path, sizeof path, "%s/%s", dir, file);
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  header[fread(header, 1, sizeof header - 1, in)] = 0;
  fclose(in);
  t->files++;
  if (replay_integers(t, path, file) == 0 && replay_aliases(t, path, header) == 0)
    replay(t, path, NULL);
}

static struct tally replay_folder(const char *path) {
  struct tally t = {0};
  DIR *dir = opendir(path);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    size_t n = strlen(e->d_name);
    if (n > 4 && strcmp(e->d_name + n - 4, ".txt") == 0 && strchr(e->d_name, '_'))
      replay_file(&t, path, e->d_name);
  }
  closedir(dir);
  print_message("%s: %zu files, %zu elements, %zu contested (%zu differ), %zu mismatches\n",
                path, t.files, t.elements, t.contested, t.contested_differ, t.mismatches);
  return t;
}

/* fp32, fp64 and tf32 operands of accumulator rows have no vectors; tests/unit/arith
 * compares them with the machine's fma and with exact sums. */
static bool has_vectors(const struct tsr_mma *u) {
  return strncmp(u->name, "acc_", 4) != 0 || u->a->bits <= 16;
}

static void committed_vectors_are_reproduced_by_every_unit(void **state) {
  (void)state;
  struct tally t = replay_folder(TSR_TEST_DATA "/mma");
  assert_int_equal(t.mismatches, 0);
  assert_true(tsr_mma_count() <= MAX_UNITS);
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    if (has_vectors(tsr_mma_at(i)) && t.by_unit[i] < 16)
      fail_msg("%s: no vectors replayed", tsr_mma_at(i)->name);
  }
}

static void external_vectors_are_reproduced(void **state) {
  (void)state;
  const char *root = getenv("TESSERA_GOLDEN");
  char path[4096];
  if (!root) {
    print_message("TESSERA_GOLDEN is not set: the full vector set is not replayed\n");
    skip();
  }
  snprintf(path, sizeof path, "%s/mma", root);
  struct tally t = replay_folder(path);
  assert_int_equal(t.mismatches, 0);
  assert_true(t.files > 0);
}

/* A vector that is wrong in one bit is seen, and a contested one is not counted. */
static void a_wrong_vector_is_a_mismatch(void **state) {
  (void)state;
  static const struct {
    const char *rows;
    uint64_t exact, contested, mismatches, differ;
  } rows[] = {
      {"D 40400000 00000000\n", 2, 0, 0, 0},
      {"D 40400001 00000000\n", 1, 0, 1, 0},
      {"D 40400001 00000000\nX 1 0\n", 1, 1, 0, 1},
      {"D 40400000 00000000\nX 1 1\n", 0, 2, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char path[] = "/tmp/tessera-vectors-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    dprintf(fd,
            "# model=nv_volta_mma_m8n8k4_f32_f16_f32\n# a=fp16 b=fp16 c=fp32 d=fp32\n"
            "# M=1 N=2 K=2\ntile 0\nA 3c00 4000\nB 3c00 0 3c00 0\nC 0 0\n%s",
            rows[i].rows);
    close(fd);
    struct tsr_vectors_result r;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_vectors_check(path, NULL, &r, &err), TSR_OK);
    assert_int_equal(r.exact, rows[i].exact);
    assert_int_equal(r.contested, rows[i].contested);
    assert_int_equal(r.mismatches, rows[i].mismatches);
    assert_int_equal(r.contested_differ, rows[i].differ);
    assert_int_equal(r.first[0] != 0, rows[i].mismatches != 0);
    tsr_err_fini(&err);
    remove(path);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(committed_vectors_are_reproduced_by_every_unit),
      cmocka_unit_test(external_vectors_are_reproduced),
      cmocka_unit_test(a_wrong_vector_is_a_mismatch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
