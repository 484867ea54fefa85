/* Replays golden vectors through every unit they speak about: the files in
 * tests/data/mma, and all files of $TESSERA_GOLDEN/mma where that is set. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/arith/mma.h"
#include "tests/golden/mma/vectors.h"

enum { MAX_UNITS = 128 };

struct tally {
  size_t files, elements, contested, mismatches;
  size_t by_unit[MAX_UNITS]; /* elements compared, by index of the unit */
};

static struct vec_tile tile;

static size_t index_of(const struct tsr_mma *u) {
  size_t i = 0;
  while (tsr_mma_at(i) != u) i++;
  return i;
}

static size_t units_by_alias(const struct vec_file *f, const struct tsr_mma **out) {
  const char *at = strstr(f->header, "# alias=");
  size_t n = 0;
  if (!at) return 0;
  at += strlen("# alias=");
  while (*at && *at != '\n') {
    char name[128];
    size_t len = strcspn(at, " \n");
    snprintf(name, sizeof name, "%.*s", (int)len, at);
    if (tsr_mma_find(name)) out[n++] = tsr_mma_find(name);
    at += len + (at[len] == ' ');
  }
  return n;
}

/* Measured files name no instruction: all units of their parameters must agree. */
static size_t units_by_parameters(const struct vec_file *f, const struct tsr_mma **out) {
  char a[16], b[16], d[16], len[16], bits[16];
  size_t n = 0;
  if (!strstr(f->header, "# model op=t ") || !vec_word(f, "a=", a, sizeof a) ||
      !vec_word(f, "b=", b, sizeof b) || !vec_word(f, "d=", d, sizeof d) ||
      !vec_word(f, "L=", len, sizeof len) || !vec_word(f, "F=", bits, sizeof bits))
    return 0;
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    if (u->kind == TSR_MMA_FUSED && !strcmp(u->a->name, a) && !strcmp(u->b->name, b) &&
        !strcmp(u->acc->name, d) && u->fused_len == atoi(len) && u->align_bits == atoi(bits))
      out[n++] = u;
  }
  return n;
}

static size_t units_by_name(const struct vec_file *f, const char *file,
                            const struct tsr_mma **out) {
  char a[16], d[16], alg[16], name[128];
  if (strncmp(file, "int_", 4) == 0) {
    snprintf(name, sizeof name, "%.*s_wrap", (int)strcspn(file, "."), file);
  } else if (vec_word(f, "a=", a, sizeof a) && vec_word(f, "d=", d, sizeof d) &&
             vec_word(f, "alg=", alg, sizeof alg)) {
    snprintf(name, sizeof name, "acc_%s_%s_%s", alg, a, d);
  } else if (strstr(f->header, "# alg=seqfma")) {
    snprintf(name, sizeof name, "acc_seqfma_%s_%s", a, d);
  } else {
    return 0;
  }
  out[0] = tsr_mma_find(name);
  return out[0] != NULL;
}

static size_t units_of(const struct vec_file *f, const char *file, const struct tsr_mma **out) {
  size_t n = units_by_alias(f, out);
  if (n == 0) n = units_by_parameters(f, out);
  return n ? n : units_by_name(f, file, out);
}

static bool same(const struct tsr_mma *u, uint64_t x, uint64_t y, bool nan_exact) {
  if (x == y) return true;
  return !nan_exact && tsr_arith_decode(u->acc, x).cls == TSR_NUM_NAN &&
         tsr_arith_decode(u->acc, y).cls == TSR_NUM_NAN;
}

static void compare(struct tally *t, const struct tsr_mma *u, const char *file, uint64_t got,
                    uint64_t want, bool nan_exact, bool contested) {
  t->elements++;
  if (same(u, got, want, nan_exact)) return;
  if (contested) {
    t->contested++;
    return;
  }
  if (t->mismatches++ < 5)
    print_error("%s through %s: got %llx, want %llx\n", file, u->name, (unsigned long long)got,
                (unsigned long long)want);
}

static uint64_t element(const struct vec_file *f, const struct tsr_mma *u, size_t i, size_t j) {
  static uint64_t col[VEC_MAX];
  for (size_t l = 0; l < f->k; l++) col[l] = tile.row[VEC_B][l * f->n + j];
  return tsr_mma_dot(u, tile.row[VEC_A] + i * f->k, col, f->k, tile.row[VEC_C][i * f->n + j],
                     NULL);
}

static void replay_tile(struct tally *t, const struct vec_file *f, const struct tsr_mma *u,
                        const char *file) {
  bool nan_exact = strstr(f->header, "nan=exact") != NULL;
  bool modes = strstr(f->header, "modes RNE RZ") != NULL; /* D: one result a mode */
  assert_int_equal(tile.count[VEC_A], f->m * f->k);
  assert_int_equal(tile.count[VEC_B], f->k * f->n);
  assert_int_equal(tile.count[VEC_C], f->m * f->n);
  assert_true(tile.count[VEC_D] >= f->m * f->n);
  for (size_t i = 0; i < f->m; i++) {
    for (size_t j = 0; j < f->n; j++) {
      size_t at = i * f->n + j;
      compare(t, u, file, element(f, u, i, j), tile.row[VEC_D][at], nan_exact,
              tile.count[VEC_X] > at && tile.row[VEC_X][at]);
    }
  }
  if (!modes) return;
  struct tsr_mma toward_zero = *u;
  toward_zero.round = TSR_ROUND_RZ;
  compare(t, &toward_zero, file, element(f, &toward_zero, 0, 0), tile.row[VEC_D][1], nan_exact,
          false);
}

static void replay_file(struct tally *t, const char *dir, const char *file) {
  const struct tsr_mma *units[MAX_UNITS];
  char path[4096];
  struct vec_file f;
  snprintf(path, sizeof path, "%s/%s", dir, file);
  if (!vec_open(&f, path)) return;
  size_t n = units_of(&f, file, units);
  t->files += n > 0;
  while (n && vec_next(&f, &tile)) {
    for (size_t i = 0; i < n; i++) {
      size_t before = t->elements;
      replay_tile(t, &f, units[i], file);
      t->by_unit[index_of(units[i])] += t->elements - before;
    }
  }
  vec_close(&f);
}

static struct tally replay_folder(const char *path) {
  struct tally t = {0};
  DIR *dir = opendir(path);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    size_t n = strlen(e->d_name);
    if (n > 4 && strcmp(e->d_name + n - 4, ".txt") == 0) replay_file(&t, path, e->d_name);
  }
  closedir(dir);
  print_message("%s: %zu files, %zu elements, %zu contested differ, %zu mismatches\n", path,
                t.files, t.elements, t.contested, t.mismatches);
  return t;
}

/* fp32 and tf32 operands of sequential FMA have no vectors; tests/unit/arith
 * compares them with the machine's fmaf. */
static bool has_vectors(const struct tsr_mma *u) {
  return u->kind != TSR_MMA_SEQ_FMA ||
         (strcmp(u->a->name, "fp32") != 0 && strcmp(u->a->name, "tf32") != 0);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(committed_vectors_are_reproduced_by_every_unit),
      cmocka_unit_test(external_vectors_are_reproduced)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
