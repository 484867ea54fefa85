#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"
#include "machine.h"
#include "workloads/translate/translate.h"

/* ---- reading ---- */

enum { NAMES = 12, ATTRS = 12, LIST = 16 };

struct reading {
  const char *p;
  struct tsr_net *net;
  uint64_t seed;
};

static void blanks(struct reading *r) {
  while (isspace((unsigned char)*r->p)) r->p++;
}
static bool eat(struct reading *r, const char *word) {
  blanks(r);
  if (strncmp(r->p, word, strlen(word)) != 0) return false;
  r->p += strlen(word);
  return true;
}
static void want(struct reading *r, const char *word) {
  if (!eat(r, word)) fail_msg("expected '%s' at '%s'", word, r->p);
}
static void word(struct reading *r, char out[64]) {
  blanks(r);
  size_t n = 0;
  while ((isalnum((unsigned char)*r->p) || *r->p == '_') && n < 63) out[n++] = *r->p++;
  out[n] = '\0';
  if (n == 0) fail_msg("expected a name at '%s'", r->p);
}
/* A word, or anything between apostrophes. */
static void quoted(struct reading *r, char out[64]) {
  size_t n = 0;
  if (!eat(r, "'")) {
    word(r, out);
    return;
  }
  while (*r->p && *r->p != '\'' && n < 63) out[n++] = *r->p++;
  out[n] = '\0';
  want(r, "'");
}
static double number(struct reading *r) {
  char *end;
  double v = strtod(r->p, &end);
  if (end == r->p) fail_msg("expected a number at '%s'", r->p);
  r->p = end;
  return v;
}
static bool at_number(struct reading *r) {
  char *end;
  blanks(r);
  strtod(r->p, &end);
  return end != r->p;
}

static double drawn(struct reading *r) { /* in [0, 1) */
  r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(r->seed >> 40) / 16777216.0;
}

static void fill(struct reading *r, struct tsr_array *a) {
  bool whole = !tsr_dtype_is_float(a->type);
  double low = a->type == TSR_DTYPE_BOOL || a->type == TSR_DTYPE_U8 ? 0 : whole ? -6 : -2;
  double high = a->type == TSR_DTYPE_BOOL ? 2 : whole ? 7 : 2;
  if (eat(r, ":")) {
    for (uint64_t i = 0; i < a->n; i++) tsr_array_set(a, i, number(r));
    return;
  }
  if (at_number(r)) {
    low = number(r);
    want(r, "~");
    high = number(r);
  }
  for (uint64_t i = 0; i < a->n; i++) {
    double v = low + drawn(r) * (high - low);
    tsr_array_set(a, i, whole ? floor(v) : v);
  }
}

static size_t value(struct reading *r, const char *name) {
  size_t v = SIZE_MAX;
  assert_int_equal(tsr_net_value(r->net, name, &v, NULL), TSR_OK);
  return v;
}

/* `f32[2,3] …` into a value; inputs keep their numbers in *given. */
static void declare(struct reading *r, const char *name, enum tsr_dtype type, bool constant,
                    struct tsr_array **given) {
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = 0;
  want(r, "[");
  while (!eat(r, "]")) {
    dim[rank++] = (uint64_t)number(r);
    eat(r, ",");
  }
  struct tsr_array *a = NULL;
  assert_int_equal(tsr_array_create(r->net->arena, type, rank, dim, &a, NULL), TSR_OK);
  fill(r, a);
  size_t v = value(r, name);
  if (constant) {
    assert_int_equal(tsr_net_constant(r->net, v, a, NULL), TSR_OK);
    return;
  }
  struct tsr_net_value *x = &r->net->values[v];
  x->type = type;
  x->shaped = true;
  x->rank = rank;
  memcpy(x->dim, dim, sizeof dim);
  assert_int_equal(tsr_net_input(r->net, v, NULL), TSR_OK);
  for (size_t i = 0; i < NAMES; i++)
    if (!given[i]) {
      given[i] = a;
      break;
    }
}

struct attrs {
  size_t n;
  struct tsr_net_attr a[ATTRS];
  char name[ATTRS][64], text[ATTRS][64];
  int64_t ints[ATTRS][LIST];
  double floats[ATTRS][LIST];
  char words[LIST][64]; /* of the one list of texts */
  const char *texts[LIST];
};

/* An integer or, with a point, a float. */
static bool is_float(const char *p) {
  while (*p == '-' || isdigit((unsigned char)*p)) p++;
  return *p == '.' || *p == 'e';
}

static void read_attr(struct reading *r, struct attrs *s) {
  size_t k = s->n++;
  struct tsr_net_attr *a = &s->a[k];
  word(r, s->name[k]);
  a->name = s->name[k];
  want(r, "=");
  if (eat(r, "[")) {
    a->kind = TSR_ATTR_INTS;
    blanks(r);
    for (; isalpha((unsigned char)*r->p); eat(r, ","), blanks(r)) {
      a->kind = TSR_ATTR_TEXTS;
      word(r, s->words[a->n]);
      s->texts[a->n] = s->words[a->n];
      a->n++;
    }
    if (a->kind == TSR_ATTR_TEXTS) a->texts = s->texts;
    for (; !eat(r, "]"); eat(r, ",")) {
      if (is_float(r->p)) a->kind = TSR_ATTR_FLOATS;
      s->floats[k][a->n] = number(r);
      s->ints[k][a->n] = (int64_t)s->floats[k][a->n];
      a->n++;
    }
    a->ints = s->ints[k];
    a->floats = s->floats[k];
  } else if (at_number(r) && !isalpha((unsigned char)*r->p)) {
    a->kind = is_float(r->p) ? TSR_ATTR_FLOAT : TSR_ATTR_INT;
    a->f = number(r);
    a->i = (int64_t)a->f;
  } else {
    a->kind = TSR_ATTR_TEXT;
    quoted(r, s->text[k]);
    a->text = s->text[k];
  }
}

static void read_node(struct reading *r, const char *op, const size_t *out, size_t n_out) {
  size_t in[NAMES], n_in = 0;
  char name[64];
  struct attrs s;
  memset(&s, 0, sizeof s);
  for (want(r, "("); !eat(r, ")"); eat(r, ",")) {
    word(r, name);
    in[n_in++] = strcmp(name, "_") == 0 ? SIZE_MAX : value(r, name);
  }
  for (blanks(r); *r->p && *r->p != ';'; blanks(r)) read_attr(r, &s);
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_net_node(r->net, op, "", "", in, n_in, out, n_out, s.a, s.n, &err))
    fail_msg("%s", err.n ? err.msg[0] : "no memory");
  tsr_err_fini(&err);
}

static void statement(struct reading *r, struct tsr_array **given) {
  char names[NAMES][64], what[64];
  size_t n = 0, out[NAMES];
  do word(r, names[n++]);
  while (eat(r, ","));
  bool constant = eat(r, ":=");
  if (!constant) want(r, "=");
  word(r, what);
  enum tsr_dtype type = tsr_dtype_find(what);
  if (type != TSR_DTYPE_NONE) {
    declare(r, names[0], type, constant, given);
    return;
  }
  for (size_t i = 0; i < n; i++)
    out[i] = strcmp(names[i], "_") == 0 ? SIZE_MAX : value(r, names[i]);
  read_node(r, what, out, n);
}

/* Results that nothing reads leave the model. */
static void outputs(struct tsr_net *net) {
  for (size_t i = 0; i < net->n_nodes; i++)
    for (size_t k = 0; k < net->nodes[i].n_out; k++) {
      size_t v = net->nodes[i].out[k];
      bool read = v == SIZE_MAX;
      for (size_t j = 0; j < net->n_nodes; j++)
        for (size_t q = 0; q < net->nodes[j].n_in; q++) read = read || net->nodes[j].in[q] == v;
      if (!read) assert_int_equal(tsr_net_output(net, v, NULL), TSR_OK);
    }
}

static struct tsr_net *read_net(const struct net_case *c, struct tsr_array **given) {
  struct reading r = {.p = c->text, .seed = 88172645463325252u};
  assert_int_equal(tsr_net_create("case", "case", c->opset ? c->opset : 21, &r.net, NULL),
                   TSR_OK);
  do statement(&r, given);
  while (eat(&r, ";"));
  outputs(r.net);
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_net_finish(r.net, NULL, &err))
    fail_msg("%s: %s", c->text, err.n ? err.msg[0] : "no memory");
  tsr_err_fini(&err);
  return r.net;
}

struct tsr_net *net_of(const struct net_case *c) {
  struct tsr_array *given[NAMES] = {NULL};
  return read_net(c, given);
}

/* ---- running ---- */

static double *copy_of(const struct tsr_array *a) {
  double *x = tsr_mem_array(a->n, sizeof *x);
  assert_non_null(x);
  for (uint64_t i = 0; i < a->n; i++) x[i] = tsr_array_get(a, i);
  return x;
}

static double **values_of(const struct tsr_net *net, struct tsr_array *const *given) {
  double **x = tsr_mem_array(net->n_values, sizeof *x);
  assert_non_null(x);
  for (size_t v = 0; v < net->n_values; v++) {
    const struct tsr_net_value *s = &net->values[v];
    if (s->alias != SIZE_MAX) continue;
    uint64_t n = 0;
    if (s->constant)
      x[v] = copy_of(s->constant);
    else if (s->shaped && tsr_array_count(s->rank, s->dim, &n)) {
      x[v] = tsr_mem_array(n, sizeof **x);
      assert_non_null(x[v]);
      for (uint64_t i = 0; i < n; i++) x[v][i] = (double)NAN;
    }
  }
  for (size_t i = 0; i < net->n_inputs; i++) {
    tsr_mem_free(x[net->inputs[i]]);
    x[net->inputs[i]] = copy_of(given[i]);
  }
  return x;
}

static void compare(const struct net_case *c, const struct tsr_net *net, size_t output,
                    const struct tsr_array *want_array, const double *got) {
  double tolerance = c->tolerance > 0 ? c->tolerance : 1e-9;
  for (uint64_t i = 0; i < want_array->n; i++) {
    double w = tsr_array_get(want_array, i), g = got[i];
    bool same = w == g || (isnan(w) && isnan(g)) || fabs(w - g) <= tolerance * fmax(1, fabs(w));
    if (!same)
      fail_msg("%s: element %llu of '%s' is %.12g, not %.12g", c->text, (unsigned long long)i,
               net->values[output].name, g, w);
  }
}

static void run(const struct net_case *c, const struct tsr_graph *g,
                struct tsr_array *const *given) {
  struct tsr_net *net = g->nets[0];
  double **x = values_of(net, given);
  machine_run(g, x);
  struct tsr_array **reference = tsr_mem_array(net->n_values, sizeof *reference);
  assert_non_null(reference);
  for (size_t i = 0; i < net->n_inputs; i++) reference[net->inputs[i]] = given[i];
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_net_eval(net, reference, NULL, NULL, &err)) fail_msg("%s: %s", c->text, err.msg[0]);
  for (size_t i = 0; i < net->n_outputs; i++) {
    size_t o = net->outputs[i], from = tsr_translate_source(net, o);
    const struct tsr_array *w = reference[o] ? reference[o] : net->values[o].constant;
    assert_non_null(w);
    assert_non_null(x[from]);
    compare(c, net, o, w, x[from]);
  }
  for (size_t v = 0; v < net->n_values; v++) {
    tsr_mem_free(x[v]);
    if (!net->values[v].is_input && !net->values[v].constant) tsr_array_destroy(reference[v]);
  }
  tsr_mem_free(x);
  tsr_mem_free(reference);
  tsr_err_fini(&err);
}

/* The kinds of the operators, in order. */
static void check_ops(const struct net_case *c, const struct tsr_graph *g) {
  char have[512] = "";
  for (size_t i = 0; i < g->n_ops; i++) {
    if (i) strncat(have, "+", sizeof have - strlen(have) - 1);
    strncat(have, tsr_op_kind_name(g->ops[i].kind), sizeof have - strlen(have) - 1);
    for (size_t s = 0; s < g->ops[i].n_steps; s++) {
      strncat(have, ".", sizeof have - strlen(have) - 1);
      strncat(have, tsr_op_kind_name(g->ops[i].step[s].kind), sizeof have - strlen(have) - 1);
    }
  }
  if (c->ops && strcmp(have, c->ops) != 0)
    fail_msg("%s: operators '%s', not '%s'", c->text, have, c->ops);
}

void net_case_holds(const struct net_case *c) {
  struct tsr_array *given[NAMES] = {NULL};
  struct tsr_net *net = read_net(c, given);
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  enum tsr_status s = tsr_translate(net, NULL, &g, &err);
  if (c->error) {
    assert_int_equal(s, TSR_INPUT);
    assert_null(g);
    if (!strstr(err.msg[0], c->error)) fail_msg("%s: message %s", c->text, err.msg[0]);
    tsr_net_destroy(net);
    tsr_err_fini(&err);
    return;
  }
  if (s) fail_msg("%s: %s", c->text, err.n ? err.msg[0] : "no memory");
  check_ops(c, g);
  run(c, g, given);
  tsr_graph_destroy(g);
  tsr_err_fini(&err);
}

void net_case_survives(const struct net_case *c) {
  for (uint64_t nth = 1;; nth++) {
    struct tsr_net *net = net_of(c);
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    tsr_mem_fail_at(nth, false);
    enum tsr_status s = tsr_translate(net, "p.", &g, &err);
    uint64_t calls = tsr_mem_calls();
    tsr_mem_fail_at(0, false);
    bool done = calls < nth;
    if (done)
      assert_int_equal(s, c->error ? TSR_INPUT : TSR_OK);
    else if (s && s != TSR_NOMEM && !c->error)
      fail_msg("%s: allocation %llu: status %d", c->text, (unsigned long long)nth, s);
    if (s) {
      assert_null(g);
      tsr_net_destroy(net);
    } else {
      tsr_graph_destroy(g);
    }
    tsr_err_fini(&err);
    if (done) return;
  }
}

void net_cases_ops(const struct net_case *c, size_t n, bool *seen) {
  for (size_t i = 0; i < n; i++) {
    struct tsr_net *net = net_of(&c[i]);
    for (size_t k = 0; k < net->n_nodes; k++) seen[net->nodes[k].op] = true;
    tsr_net_destroy(net);
  }
}
