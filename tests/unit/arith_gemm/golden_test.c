/* Golden vectors through whole matrix products, on every path: the files of
 * tests/data/mma, and those of $TESSERA_GOLDEN/mma where that is set. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/check/vectors.h"
#include "models/arith/gemm.h"
#include "sim/base/mem.h"

static const char *const paths[] = {"avx512", "avx2", "portable", "scalar"};

struct tally {
  size_t files, elements, fast, contested, mismatches;
};

/* Codes of `from` as an array in memory of `to`, which contains it. */
static void *codes(const uint64_t *row, size_t n, const struct tsr_format *from,
                   const struct tsr_format *to) {
  size_t bytes = tsr_gemm_code_bytes(to);
  char *p = tsr_mem_array(n, bytes);
  assert_non_null(p);
  for (size_t i = 0; i < n; i++) {
    uint64_t code =
        from == to ? row[i] : tsr_arith_convert(from, row[i], to, TSR_ROUND_RNE, NULL);
    memcpy(p + i * bytes, &code, bytes);
  }
  return p;
}

/* Scales of B come by columns, and are wanted by blocks of k. */
static uint8_t *turned(const uint64_t *row, size_t n, size_t blocks) {
  uint8_t *p = tsr_mem_alloc(n * blocks);
  assert_non_null(p);
  for (size_t j = 0; j < n; j++)
    for (size_t b = 0; b < blocks; b++) p[b * n + j] = (uint8_t)row[j * blocks + b];
  return p;
}

static bool is_nan(const struct tsr_format *f, uint64_t code) {
  return tsr_arith_decode(f, code).cls == TSR_NUM_NAN;
}

static void compare(struct tally *t, const struct tsr_vectors *v, const struct tsr_gemm *g,
                    const char *path) {
  const struct tsr_format *f = g->unit->acc;
  size_t bytes = tsr_gemm_code_bytes(f);
  for (size_t i = 0; i < v->m * v->n; i++) {
    uint64_t got = 0, want = v->row[TSR_VECTORS_D][i];
    memcpy(&got, (const char *)g->c + i * bytes, bytes);
    t->elements++;
    if (got == want || (!v->nan_exact && is_nan(f, got) && is_nan(f, want))) continue;
    if (v->count[TSR_VECTORS_X] && v->row[TSR_VECTORS_X][i]) {
      t->contested++;
      continue;
    }
    if (t->mismatches++ < 5)
      print_error("%s tile %s, element %zu on %s: %llx, want %llx\n", v->path, v->number, i,
                  path, (unsigned long long)got, (unsigned long long)want);
  }
}

static void replay_tile(struct tally *t, const struct tsr_vectors *v, const struct tsr_mma *u) {
  size_t blocks = v->scale ? v->k / v->scale_block : 0;
  struct tsr_gemm g = {.unit = u,
                       .m = v->m,
                       .n = v->n,
                       .k = v->k,
                       .lda = v->k,
                       .ldb = v->n,
                       .ldc = v->n,
                       .lds_a = blocks,
                       .lds_b = v->n};
  void *a = codes(v->row[TSR_VECTORS_A], v->m * v->k, u->a, u->a);
  void *b = codes(v->row[TSR_VECTORS_B], v->k * v->n, u->b, u->b);
  uint8_t *sa = NULL, *sb = NULL;
  g.a = a;
  g.b = b;
  if (blocks) {
    sa = codes(v->row[TSR_VECTORS_SA], v->m * blocks, v->scale, v->scale);
    sb = turned(v->row[TSR_VECTORS_SB], v->n, blocks);
    g.scale_a = sa;
    g.scale_b = sb;
  }
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    if (!tsr_gemm_force(paths[i])) continue;
    /* A path that would be another one's says nothing new. */
    if (strcmp(tsr_gemm_path(u), paths[i]) != 0) continue;
    g.c = codes(v->row[TSR_VECTORS_C], v->m * v->n, v->c ? v->c : u->acc, u->acc);
    assert_int_equal(tsr_gemm_run(&g, NULL, NULL, NULL), TSR_OK);
    compare(t, v, &g, paths[i]);
    t->fast += strcmp(paths[i], "scalar") != 0;
    tsr_mem_free(g.c);
  }
  assert_true(tsr_gemm_force(NULL));
  tsr_mem_free(a);
  tsr_mem_free(b);
  tsr_mem_free(sa);
  tsr_mem_free(sb);
}

static const struct tsr_mma *unit_of(const struct tsr_vectors *v, const char *file) {
  char name[128];
  if (strncmp(file, "int_", 4) == 0) {
    snprintf(name, sizeof name, "%.*s_wrap", (int)strcspn(file, "."), file);
  } else if (strncmp(file, "acc_", 4) == 0) {
    snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "."), file);
  } else if (!tsr_vectors_key(v, "model", name, sizeof name)) {
    return NULL;
  }
  return tsr_mma_find(name);
}

static void replay_file(struct tally *t, const char *dir, const char *file) {
  char path[4096];
  struct tsr_vectors v;
  snprintf(path, sizeof path, "%s/%s", dir, file);
  assert_int_equal(tsr_vectors_open(&v, path, NULL), TSR_OK);
  const struct tsr_mma *u = unit_of(&v, file);
  bool more = u != NULL;
  t->files += more;
  while (more) {
    assert_int_equal(tsr_vectors_next(&v, &more, NULL), TSR_OK);
    if (more) replay_tile(t, &v, u);
  }
  tsr_vectors_close(&v);
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
  print_message("%s: %zu files, %zu elements on all paths, %zu contested differ, "
                "%zu mismatches\n",
                path, t.files, t.elements, t.contested, t.mismatches);
  return t;
}

static void committed_vectors_are_reproduced_on_every_path(void **state) {
  (void)state;
  struct tally t = replay_folder(TSR_TEST_DATA "/mma");
  assert_int_equal(t.mismatches, 0);
  assert_true(t.files > 100);
  assert_true(t.fast > 1000);
}

static void external_vectors_are_reproduced_on_every_path(void **state) {
  (void)state;
  const char *root = getenv("TESSERA_GOLDEN");
  char path[4096];
  if (!root) {
    print_message("TESSERA_GOLDEN is not set: the full vector set is not replayed\n");
    skip();
  }
  snprintf(path, sizeof path, "%s/mma", root);
  assert_int_equal(replay_folder(path).mismatches, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(committed_vectors_are_reproduced_on_every_path),
      cmocka_unit_test(external_vectors_are_reproduced_on_every_path)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
