#include "node_row.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/net/net.h"

enum { LIST_MAX = 16, ATTR_MAX = 12, WORD_MAX = 32 };

/* ---- text to arrays ---- */

static struct tsr_array *array_of(const char *text) {
  char name[8] = "";
  size_t n = strcspn(text, "[");
  assert_true(n < sizeof name && text[n] == '[');
  memcpy(name, text, n);
  enum tsr_dtype type = tsr_dtype_find(name);
  assert_int_not_equal(type, TSR_DTYPE_NONE);
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = 0;
  char *p = (char *)(uintptr_t)(text + n + 1);
  while (*p != ']') {
    dim[rank++] = strtoull(p, &p, 10);
    if (*p == ',') p++;
  }
  p++;
  struct tsr_array *a = NULL;
  assert_int_equal(tsr_array_create(NULL, type, rank, dim, &a, NULL), TSR_OK);
  p += strspn(p, " ");
  bool fill = *p == '=', count = false;
  p += fill;
  for (uint64_t i = 0; i < a->n; i++) {
    if (count || (fill && i)) {
      if (a->f) a->f[i] = a->f[i - 1] + count;
      if (a->i) a->i[i] = a->i[i - 1] + count;
      continue;
    }
    char *end;
    double f = a->f ? strtod(p, &end) : 0;
    int64_t whole = a->i ? strtoll(p, &end, 10) : 0;
    if (end == p) fail_msg("too few numbers in '%s'", text);
    if (a->f) a->f[i] = f;
    if (a->i) a->i[i] = whole;
    p = end;
    count = i == 0 && (strncmp(p, "..", 2) == 0 || (*p == '.' && p[-1] == '.'));
    if (count) p += strspn(p, ".");
  }
  if (a->n) assert_int_equal(p[strspn(p, " ")], 0); /* no more numbers than elements */
  return a;
}

/* ---- text to attributes ---- */

struct attrs {
  struct tsr_net_attr list[ATTR_MAX];
  char name[ATTR_MAX][WORD_MAX], word[ATTR_MAX][LIST_MAX][WORD_MAX];
  int64_t ints[ATTR_MAX][LIST_MAX];
  double floats[ATTR_MAX][LIST_MAX];
  const char *texts[ATTR_MAX][LIST_MAX];
  size_t n;
};

enum word_kind { WORD_INT, WORD_FLOAT, WORD_TEXT };

static enum word_kind kind_of(const char *w) {
  if (!isdigit((unsigned char)w[0]) && w[0] != '-') return WORD_TEXT;
  return strpbrk(w, ".e") ? WORD_FLOAT : WORD_INT;
}

static void take(struct attrs *a, const char *item) {
  static const enum tsr_attr_kind one[] = {TSR_ATTR_INT, TSR_ATTR_FLOAT, TSR_ATTR_TEXT};
  static const enum tsr_attr_kind many[] = {TSR_ATTR_INTS, TSR_ATTR_FLOATS, TSR_ATTR_TEXTS};
  size_t k = a->n++, n = 0, name = strcspn(item, "=");
  assert_true(k < ATTR_MAX && item[name] == '=' && name < WORD_MAX);
  memcpy(a->name[k], item, name);
  bool list = item[name + 1] == '[';
  enum word_kind kind = WORD_INT;
  for (const char *p = item + name + 1 + list; *p && *p != ']'; n++) {
    size_t len = list ? strcspn(p, ",]") : strlen(p);
    assert_true(n < LIST_MAX && len < WORD_MAX);
    memcpy(a->word[k][n], p, len);
    enum word_kind this = kind_of(a->word[k][n]);
    if (this > kind) kind = this;
    a->ints[k][n] = strtoll(a->word[k][n], NULL, 10);
    a->floats[k][n] = strtod(a->word[k][n], NULL);
    a->texts[k][n] = a->word[k][n];
    p += len + (p[len] == ',');
  }
  a->list[k] = (struct tsr_net_attr){.name = a->name[k],
                                     .kind = list ? many[kind] : one[kind],
                                     .i = a->ints[k][0],
                                     .f = a->floats[k][0],
                                     .text = a->texts[k][0],
                                     .n = list ? n : 0,
                                     .ints = a->ints[k],
                                     .floats = a->floats[k],
                                     .texts = a->texts[k]};
}

static void attrs_of(const char *text, struct attrs *a) {
  memset(a, 0, sizeof *a);
  while (text && *text) {
    char item[256] = "";
    size_t n = strcspn(text, " ");
    assert_true(n < sizeof item);
    memcpy(item, text, n);
    take(a, item);
    text += n + strspn(text + n, " ");
  }
}

/* ---- rows ---- */

struct node {
  struct tsr_net *net;
  struct tsr_array *in[ROW_IN], *out[ROW_OUT];
  size_t n_in, n_out;
};

/* How many outputs a node must have. */
static size_t outputs_of(const char *op) {
  if (strcmp(op, "DynamicQuantizeLinear") == 0) return 3;
  return strcmp(op, "TopK") == 0 ? 2 : 1;
}

static void node_of(const struct node_row *row, struct node *o) {
  static struct attrs a;
  struct tsr_err err;
  size_t in[ROW_IN], out[ROW_OUT];
  char name[16];
  memset(o, 0, sizeof *o);
  tsr_err_init(&err);
  attrs_of(row->attrs, &a);
  assert_int_equal(tsr_net_create("n", "n.onnx", row->opset, &o->net, &err), TSR_OK);
  for (; o->n_in < ROW_IN && row->in[o->n_in]; o->n_in++) {
    size_t i = o->n_in;
    snprintf(name, sizeof name, "in%zu", i);
    in[i] = SIZE_MAX;
    if (!*row->in[i]) continue;
    o->in[i] = array_of(row->in[i]);
    assert_int_equal(tsr_net_value(o->net, name, &in[i], &err), TSR_OK);
  }
  for (; o->n_out < ROW_OUT && row->want[o->n_out]; o->n_out++) {
    snprintf(name, sizeof name, "out%zu", o->n_out);
    out[o->n_out] = SIZE_MAX;
    if (*row->want[o->n_out])
      assert_int_equal(tsr_net_value(o->net, name, &out[o->n_out], &err), TSR_OK);
  }
  size_t least = row->error ? outputs_of(row->op) : 0; /* a row that is refused names none */
  for (; o->n_out < least; o->n_out++) {
    snprintf(name, sizeof name, "out%zu", o->n_out);
    assert_int_equal(tsr_net_value(o->net, name, &out[o->n_out], &err), TSR_OK);
  }
  assert_int_equal(tsr_net_node(o->net, row->op, "", "the_node", in, o->n_in, out, o->n_out,
                                a.list, a.n, &err),
                   TSR_OK);
  tsr_err_fini(&err);
}

static enum tsr_status eval(struct node *o, struct tsr_err *err) {
  return tsr_net_eval_node(o->net, &o->net->nodes[0], (const struct tsr_array *const *)o->in,
                           o->out, err);
}

static void drop_results(struct node *o) {
  for (size_t i = 0; i < o->n_out; i++) {
    tsr_array_destroy(o->out[i]);
    o->out[i] = NULL;
  }
}

static void node_fini(struct node *o) {
  drop_results(o);
  for (size_t i = 0; i < o->n_in; i++) tsr_array_destroy(o->in[i]);
  tsr_net_destroy(o->net);
}

static bool near(double a, double b, double tolerance) {
  if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
  if (isinf(a) || isinf(b)) return a == b;
  return fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

static void compare(const struct node_row *row, size_t at, size_t o,
                    const struct tsr_array *got) {
  struct tsr_array *want = array_of(row->want[o]);
  if (got->type != want->type || got->rank != want->rank)
    fail_msg("%s row %zu: output %zu has type %s, rank %u", row->op, at, o,
             tsr_dtype_name(got->type), got->rank);
  for (unsigned d = 0; d < got->rank; d++)
    if (got->dim[d] != want->dim[d])
      fail_msg("%s row %zu: output %zu has %zu at dimension %u", row->op, at, o,
               (size_t)got->dim[d], d);
  for (uint64_t i = 0; i < want->n; i++) {
    double tolerance = row->tolerance > 0 ? row->tolerance : 1e-12;
    double a = tsr_array_get(got, i), b = tsr_array_get(want, i);
    if (want->i ? got->i[i] != want->i[i] : !near(a, b, tolerance))
      fail_msg("%s row %zu: output %zu[%zu] is %.17g, expected %.17g", row->op, at, o,
               (size_t)i, a, b);
  }
  tsr_array_destroy(want);
}

static void row_holds(const struct node_row *row, size_t at) {
  struct node o;
  struct tsr_err err;
  tsr_err_init(&err);
  node_of(row, &o);
  enum tsr_status s = eval(&o, &err);
  if (row->error) {
    if (s != TSR_INPUT || err.n != 1) fail_msg("%s row %zu: is not refused", row->op, at);
    if (!strstr(err.msg[0], row->error) || !strstr(err.msg[0], "'the_node'"))
      fail_msg("%s row %zu: %s", row->op, at, err.msg[0]);
  } else {
    if (s != TSR_OK) fail_msg("%s row %zu: %s", row->op, at, err.n ? err.msg[0] : "?");
    for (size_t i = 0; i < o.n_out; i++)
      if (*row->want[i]) compare(row, at, i, o.out[i]);
  }
  node_fini(&o);
  tsr_err_fini(&err);
}

static void out_of_memory_is_reported(const struct node_row *row) {
  struct node o;
  node_of(row, &o);
  tsr_mem_fail_at(0, false);
  assert_int_equal(eval(&o, NULL), TSR_OK);
  uint64_t calls = tsr_mem_calls();
  drop_results(&o);
  for (uint64_t i = 1; i <= calls; i++) {
    tsr_mem_fail_at(i, false);
    enum tsr_status s = eval(&o, NULL);
    tsr_mem_fail_at(0, false);
    if (s != TSR_NOMEM) fail_msg("%s: allocation %zu fails unseen", row->op, (size_t)i);
    for (size_t k = 0; k < o.n_out; k++) assert_null(o.out[k]);
  }
  node_fini(&o);
}

void node_rows_hold(const struct node_row *rows, size_t n) {
  for (size_t i = 0; i < n; i++) row_holds(&rows[i], i);
  if (n && !rows[0].error) out_of_memory_is_reported(&rows[0]);
}
