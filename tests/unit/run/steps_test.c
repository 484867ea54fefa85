/* A model read several times: passes, their dimensions, one graph of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/run/steps.h"
#include "tests/unit/run/handed.h"
#include "workloads/translate/view.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

static const char decoder[] =
    "in tokens i64 B S; in past_key_values.0.key f32 B P 4; normal words 128 4; "
    "Gather words,tokens e; Concat past_key_values.0.key,e present.0.key axis=1; "
    "Transpose present.0.key t perm=0,2,1; MatMul e,t s; Softmax s p axis=-1; "
    "MatMul p,present.0.key c; normal w 4 128; MatMul c,w logits; out present.0.key logits";
static const char fixed[] = "in tokens i64 2 5; normal w 128 4; Gather w,tokens y; out y";
static const char images[] = "in x f32 N 4; normal w 4 3; MatMul x,w y; out y";
static const char text[] = "twenty-three characters";

static char folder[] = "/tmp/tessera-steps-XXXXXX";

static int enter(void **state) {
  (void)state;
  if (!mkdtemp(folder) || chdir(folder)) return -1;
  nets_write(decoder, "d.onnx");
  nets_write(fixed, "f.onnx");
  nets_write(images, "i.onnx");
  FILE *f = fopen("t.txt", "wb");
  return !f || fwrite(text, 1, sizeof text - 1, f) != sizeof text - 1 || fclose(f);
}

static int leave(void **state) {
  static const char *const files[] = {"d.onnx", "f.onnx", "i.onnx", "t.txt"};
  (void)state;
  for (size_t i = 0; i < LEN(files); i++) (void)remove(files[i]);
  return chdir("/") || rmdir(folder);
}

struct row {
  const char *path, *data;
  uint64_t decode;
  struct tsr_net_dim dims[3];
  size_t n_dims;
  const char *passes; /* first+n of each */
  uint64_t tokens;
  const char *says; /* instead: why not */
};
static const struct row rows[] = {
    {"d.onnx", "t.txt", 0, {{"B", 2}, {"S", 5}}, 2, "0+2 2+2", 5, NULL}, /* 3 are left */
    {"d.onnx", "t.txt", 0, {{"B", 3}, {"S", 5}}, 2, "0+3 3+1", 5, NULL},
    {"d.onnx", "t.txt", 0, {{"S", 23}}, 1, "0+1", 23, NULL},
    {"d.onnx", "t.txt", 0, {{"S", 24}}, 1, NULL, 0, "too little"},
    {"f.onnx", "t.txt", 0, {{0}}, 0, "0+2 2+2", 5, NULL},
    {"d.onnx", "t.txt", 3, {{"S", 4}}, 1, "0+1 0+1 0+1 0+1", 4, NULL},
    {"d.onnx", NULL, 2, {{"B", 2}, {"S", 4}}, 2, "0+2 0+2 0+2", 4, NULL},
    {"d.onnx", "t.txt", 1, {{"B", 6}, {"S", 4}}, 2, NULL, 0, "has 23 tokens; expected 24"},
    {"f.onnx", NULL, 2, {{0}}, 0, NULL, 0, "begins with 'past'"},
    {"i.onnx", "t.txt", 0, {{0}}, 0, NULL, 0, "no integer input"},
    {"i.onnx", NULL, 2, {{0}}, 0, NULL, 0, "no integer input"},
    {"d.onnx", "t.txt", 0, {{"S", 5}, {"Q", 5}}, 2, NULL, 0, "'Q'"},
};

static struct tsr_run_options options(const struct row *r) {
  return (struct tsr_run_options){.workload = r->path,
                                  .dataset = r->data,
                                  .decode = r->decode,
                                  .dims = r->dims,
                                  .n_dims = r->n_dims,
                                  .arch = "systolic-32",
                                  .seed = 1,
                                  .numerics = TSR_NUMERICS_FULL,
                                  .version = "test"};
}

static void passes_cover_the_data(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct tsri_steps *s = NULL;
    struct tsr_graph *g = NULL;
    const struct tsr_run_options o = options(&rows[i]);
    enum tsr_status st = tsri_steps_read(&o, NULL, rows[i].path, NULL, &s, &g, &err);
    if (rows[i].says) {
      if (!st || !err.n || !strstr(err.msg[0], rows[i].says))
        fail_msg("row %zu: '%s'", i, err.n ? err.msg[0] : "read");
      tsr_err_fini(&err);
      continue;
    }
    if (st) fail_msg("row %zu: %s", i, err.msg[0]);
    struct tsr_str got = TSR_STR_INIT;
    for (size_t p = 0; p < s->n; p++)
      tsr_str_addf(&got, "%s%llu+%llu", p ? " " : "", (unsigned long long)s->pass[p].first,
                   (unsigned long long)s->pass[p].n);
    assert_string_equal(got.p, rows[i].passes);
    assert_int_equal(s->tokens, rows[i].tokens);
    assert_int_equal(g->n_nets, s->n);
    tsr_str_fini(&got);
    tsri_steps_destroy(s);
    tsr_graph_destroy(g);
  }
}

/* Whether operator i waits for each of a pass that no other of that pass waits for. */
static void waits_for_all(const struct tsr_graph *g, size_t i, size_t pass) {
  for (size_t e = 0; e < i; e++) {
    if (g->bindings[e].net != pass) continue;
    bool followed = false, waited = false;
    for (size_t k = e + 1; k < i; k++)
      for (size_t a = 0; a < g->ops[k].n_after; a++) followed |= g->ops[k].after[a] == e;
    for (size_t a = 0; a < g->ops[i].n_after; a++) waited |= g->ops[i].after[a] == e;
    if (!followed && !waited) fail_msg("%s is not waited for", g->ops[e].name);
  }
}

/* Operators wait for the pass before, carry its number, and belong to its net. */
static void passes_follow_one_another(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsri_steps *s;
  struct tsr_graph *g;
  const struct tsr_run_options o = options(&rows[5]);
  assert_int_equal(tsri_steps_read(&o, NULL, "d.onnx", NULL, &s, &g, &err), TSR_OK);
  size_t first = 0; /* of the pass */
  for (size_t i = 0; i < g->n_ops; i++) {
    char prefix[32];
    size_t pass = g->bindings[i].net;
    if (i && pass != g->bindings[i - 1].net) {
      assert_int_equal(pass, g->bindings[i - 1].net + 1);
      first = i;
    }
    (void)snprintf(prefix, sizeof prefix, "step%zu.", pass);
    assert_int_equal(strncmp(g->ops[i].name, prefix, strlen(prefix)), 0);
    assert_true(!pass || g->ops[i].n_after > 0);
    for (size_t a = 0; a < g->ops[i].n_after; a++) assert_true(g->ops[i].after[a] < i);
    if (i == first && pass) waits_for_all(g, i, pass - 1);
  }
  for (size_t p = 0; p < 4; p++) {
    size_t in = tsr_net_find(g->nets[p], "past_key_values.0.key");
    assert_int_equal(g->nets[p]->values[in].dim[1], p ? 3 + p : 0);
    size_t out = tsri_steps_cache(g->nets[p], in);
    assert_int_equal(out, tsr_net_find(g->nets[p], "present.0.key"));
    assert_int_equal(tsri_steps_scores(g->nets[p]), tsr_net_find(g->nets[p], "logits"));
    assert_int_equal(tsri_steps_cache(g->nets[p], tsr_net_find(g->nets[p], "tokens")),
                     SIZE_MAX);
  }
  tsri_steps_destroy(s);
  tsr_graph_destroy(g);
}

/* Too many dimensions are refused before anything is read. */
static void too_many_dimensions_are_refused(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net_dim dims[40];
  for (size_t i = 0; i < LEN(dims); i++) dims[i] = (struct tsr_net_dim){"B", 1};
  struct tsr_run_options o = options(&rows[0]);
  o.dims = dims;
  o.n_dims = LEN(dims);
  struct tsri_steps *s;
  struct tsr_graph *g;
  assert_int_equal(tsri_steps_read(&o, NULL, "d.onnx", NULL, &s, &g, &err), TSR_USAGE);
  tsr_err_fini(&err);
}

static void a_failed_allocation_ends_the_loop(void **state) {
  (void)state;
  struct tsr_run_options o = options(&rows[5]);
  o.decode = 1;
  enum tsr_status st = TSR_NOMEM;
  for (uint64_t n = 1; st; n += 1 + n / 8) {
    struct tsr_err err = TSR_ERR_INIT;
    uint64_t id;
    tsr_mem_fail_at(n, false);
    st = tsr_run_execute(&o, NULL, &id, &err);
    tsr_mem_fail_at(0, false);
    if (st && st != TSR_NOMEM)
      fail_msg("allocation %llu: status %d, %s", (unsigned long long)n, (int)st,
               err.n ? err.msg[0] : "no message");
    tsr_err_fini(&err);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(passes_cover_the_data),
      cmocka_unit_test(passes_follow_one_another),
      cmocka_unit_test(too_many_dimensions_are_refused),
      cmocka_unit_test(a_failed_allocation_ends_the_loop),
  };
  return cmocka_run_group_tests(tests, enter, leave);
}
