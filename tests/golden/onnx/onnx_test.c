/* Every model of ONNX's own test data, evaluated in double precision and compared with the
 * outputs that are stored beside it.  Integers that are rounded from floats next to a tie may
 * need the type's own rounding on the way: such a model is asked again with it, and counted.  A
 * model is skipped only when it holds an operator that net.def lacks, a type that is no number,
 * control flow, or a node told to train.
 *
 * `onnx_test [TEXT]`: only the tests whose name contains it.  Exits with 77 where the data are
 * not installed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/golden/onnx/cases.h"

enum { WORDS_MAX = 512 };

struct word {
  char text[220];
  size_t n;
};

struct tally {
  const char *only;
  size_t passed, failed, with_constants, rounded;
  size_t skipped[ONNX_SKIPS_];
  struct word words[WORDS_MAX]; /* operators and kinds of types that models were skipped for */
  size_t n_words;
};

static void count_word(struct tally *t, const char *text, size_t n) {
  size_t at = 0;
  while (at < t->n_words &&
         (strlen(t->words[at].text) != n || strncmp(t->words[at].text, text, n)))
    at++;
  if (at == WORDS_MAX) return;
  if (at == t->n_words)
    snprintf(t->words[t->n_words++].text, sizeof t->words[0].text, "%.*s", (int)n, text);
  t->words[at].n++;
}

static void count_skip(struct tally *t, enum onnx_skip skip, const struct onnx_case *c) {
  t->skipped[skip]++;
  if (skip != ONNX_NO_OPERATOR) return;
  for (const char *p = c->why.p; *p;) {
    size_t n = strcspn(p, " ");
    count_word(t, p, n);
    p += n + (p[n] == ' ');
  }
}

static bool compare(const struct onnx_case *c, struct tsr_array *const *value,
                    struct tsr_str *why) {
  static const struct onnx_distance distance = {1e-3, 1e-7};
  const struct tsr_net *net = c->net;
  if (c->n_out > net->n_outputs) {
    tsr_str_addf(why, "%zu outputs of data for %zu outputs", c->n_out, net->n_outputs);
    return false;
  }
  for (size_t i = 0; i < c->n_out; i++) {
    size_t v = net->outputs[i];
    const struct tsr_array *got = value[v] ? value[v] : net->values[v].constant;
    if (!got) {
      tsr_str_addf(why, "output '%s' has no value", net->values[v].name);
      return false;
    }
    if (onnx_same(got, c->want[i], &distance, why)) continue;
    tsr_str_addf(why, " in output '%s'", net->values[v].name);
    return false;
  }
  return true;
}

/* Node by node with all results rounded to their type in between, as a runner in that type has
 * them. */
static enum tsr_status eval_rounded(const struct tsr_net *net, struct tsr_array **value,
                                    struct tsr_err *err) {
  enum { ENDS_MAX = 64 };
  for (size_t k = 0; k < net->n_nodes; k++) {
    const struct tsr_net_node *n = &net->nodes[k];
    const struct tsr_array *in[ENDS_MAX];
    struct tsr_array *out[ENDS_MAX] = {NULL};
    if (n->folded) continue;
    if (n->n_in > ENDS_MAX || n->n_out > ENDS_MAX)
      return tsr_err_set(err, TSR_INPUT, "node '%s' has too many inputs or outputs", n->name);
    for (size_t i = 0; i < n->n_in; i++) {
      size_t v = n->in[i];
      const struct tsr_array *constant = v == SIZE_MAX ? NULL : net->values[v].constant;
      in[i] = v == SIZE_MAX ? NULL : constant ? constant : value[v];
    }
    enum tsr_status st = tsr_net_eval_node(net, n, in, out, err);
    if (st != TSR_OK) return st;
    for (size_t i = 0; i < n->n_out; i++) {
      if (n->out[i] == SIZE_MAX) continue;
      value[n->out[i]] = out[i];
      for (uint64_t e = 0; out[i]->f && e < out[i]->n; e++)
        out[i]->f[e] = tsr_dtype_round(out[i]->type, out[i]->f[e]);
    }
  }
  return TSR_OK;
}

static bool ask(const struct onnx_case *c, bool rounded, struct tsr_str *why) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_array **value = tsr_mem_array(c->net->n_values, sizeof *value);
  bool good = value != NULL;
  for (size_t i = 0; good && i < c->n_in; i++)
    if (c->net->values[c->in_value[i]].is_input) value[c->in_value[i]] = c->in[i];
  if (good && rounded) good = eval_rounded(c->net, value, &err) == TSR_OK;
  if (good && !rounded) good = tsr_net_eval(c->net, value, NULL, NULL, &err) == TSR_OK;
  if (good)
    good = compare(c, value, why);
  else
    tsr_str_add(why, err.n ? err.msg[0] : "no message");
  for (size_t v = 0; value && v < c->net->n_values; v++)
    if (!c->net->values[v].is_input && value[v] != c->net->values[v].constant)
      tsr_array_destroy(value[v]);
  tsr_mem_free(value);
  tsr_err_fini(&err);
  return good;
}

static void run_case(void *arg, const char *name, const char *model, const char *folder) {
  struct tally *t = arg;
  struct onnx_case c = {0};
  enum onnx_skip skip;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_str why = TSR_STR_INIT;
  if (t->only && !strstr(name, t->only)) return;
  bool good = onnx_case_open(name, model, folder, &c, &skip, &err) == TSR_OK;
  if (good && skip != ONNX_RUNS) {
    count_skip(t, skip, &c);
  } else {
    if (!good) tsr_str_add(&why, err.n ? err.msg[0] : "no message");
    bool exact = good && ask(&c, false, &why);
    good = good && (exact || ask(&c, true, &why));
    t->rounded += good && !exact;
    t->passed += good;
    t->failed += !good;
    t->with_constants += good && c.constants != ONNX_AS_INPUTS;
    if (!good) printf("FAILED %s: %s\n", name, why.p ? why.p : "");
  }
  tsr_str_fini(&why);
  tsr_err_fini(&err);
  onnx_case_close(&c);
}

static int more_first(const void *a, const void *b) {
  const struct word *x = a, *y = b;
  return x->n != y->n ? (x->n < y->n ? 1 : -1) : strcmp(x->text, y->text);
}

static void report(struct tally *t) {
  size_t skipped = 0;
  for (size_t i = 0; i < ONNX_SKIPS_; i++) skipped += t->skipped[i];
  printf("golden: onnx reference: %zu passed, %zu failed, %zu skipped (unsupported operator: "
         "%zu, strings/sequences: %zu, control flow: %zu, training: %zu)\n",
         t->passed, t->failed, skipped, t->skipped[ONNX_NO_OPERATOR],
         t->skipped[ONNX_NO_NUMBERS], t->skipped[ONNX_CONTROL], t->skipped[ONNX_TRAINS]);
  printf("golden: onnx reference: %zu of the passed have shapes that depend on their inputs' "
         "values, which were constants then\n",
         t->with_constants);
  printf("golden: onnx reference: %zu of the passed need values rounded to their type between "
         "operators\n",
         t->rounded);
  qsort(t->words, t->n_words, sizeof t->words[0], more_first);
  printf("golden: onnx operators without a row:");
  for (size_t i = 0; i < t->n_words; i++)
    printf("%s %s %zu", i ? "," : "", t->words[i].text, t->words[i].n);
  printf("\n");
}

int main(int argc, char **argv) {
  static const char *const groups[] = {"node", "simple", "pytorch-operator",
                                       "pytorch-converted", "light"};
  const char *root = getenv("TESSERA_ONNX_DATA");
  static struct tally t;
  size_t n = 0;
  t.only = argc > 1 ? argv[1] : NULL;
  if (!root) root = ONNX_CASES_ROOT;
  if (access(root, R_OK) != 0) {
    printf("skipped: no ONNX test data in %s (package libonnx-testdata)\n", root);
    return 77;
  }
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    n += onnx_cases_walk(root, groups[i], run_case, &t);
  report(&t);
  /* A walk that finds next to nothing has looked in the wrong place. */
  if (!t.only && n < 500) printf("FAILED: only %zu test data sets\n", n);
  return t.failed > 0 || t.passed == 0 || (!t.only && n < 500);
}
