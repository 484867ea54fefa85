/* Nets of drawn shapes, axes and attributes against the reference: what rows of cases miss. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness.h"

enum { ROUNDS = 150, TEXT = 1024 };

struct drawing {
  uint64_t seed;
  char text[TEXT];
  size_t n;
};

static unsigned below(struct drawing *d, unsigned n) {
  d->seed = d->seed * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((d->seed >> 33) % n);
}

__attribute__((format(printf, 2, 3))) static void say(struct drawing *d, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(d->text + d->n, TEXT - d->n, fmt, ap);
  va_end(ap);
  assert_true(n >= 0 && (size_t)n < TEXT - d->n);
  d->n += (size_t)n;
}

static void say_list(struct drawing *d, const char *open, const unsigned *v, unsigned n) {
  say(d, "%s", open);
  for (unsigned i = 0; i < n; i++) say(d, "%s%u", i ? "," : "", v[i]);
  say(d, "]");
}

static void say_shape(struct drawing *d, const char *name, const unsigned *dim, unsigned rank) {
  say(d, "%s = f32", name);
  say_list(d, "[", dim, rank);
  say(d, "; ");
}

static unsigned shape(struct drawing *d, unsigned *dim, unsigned most) {
  static const unsigned sizes[] = {1, 1, 2, 3, 5, 7};
  unsigned rank = 1 + below(d, most);
  for (unsigned i = 0; i < rank; i++) dim[i] = sizes[below(d, 6)];
  return rank;
}

/* A shape that broadcasts with another: some leading dimensions gone, some of 1. */
static void say_partner(struct drawing *d, const char *name, const unsigned *dim,
                        unsigned rank) {
  unsigned part[8], from = below(d, 3) ? 0 : below(d, rank + 1);
  for (unsigned i = from; i < rank; i++) part[i - from] = below(d, 3) ? dim[i] : 1;
  say_shape(d, name, part, rank - from);
}

static void broadcast(struct drawing *d) {
  static const char *const ops[] = {"Add", "Sub", "Mul", "Max", "Less", "GreaterOrEqual"};
  unsigned dim[8], rank = shape(d, dim, 5);
  say_partner(d, "a", dim, rank);
  say_partner(d, "b", dim, rank);
  say(d, "n = Neg(a); y = %s(n,b); z = %s(b,n)", ops[below(d, 6)], ops[below(d, 6)]);
}

static void choose(struct drawing *d) {
  unsigned dim[8], rank = shape(d, dim, 4);
  say_partner(d, "a", dim, rank);
  say_partner(d, "b", dim, rank);
  say_partner(d, "q", dim, rank);
  say(d, "c = Greater(q,a); y = Where(c,a,b)");
}

static void permute(struct drawing *d) {
  unsigned dim[8], perm[8], rank = shape(d, dim, 6);
  for (unsigned i = 0; i < rank; i++) {
    unsigned at = below(d, i + 1);
    perm[i] = perm[at];
    perm[at] = i;
  }
  say_shape(d, "x", dim, rank);
  say(d, "n = Neg(x); t = Transpose(n) perm=");
  say_list(d, "[", perm, rank);
  say(d, "; y = Abs(t)");
}

static void reduction(struct drawing *d) {
  static const char *const ops[] = {"Sum",  "Mean", "Max",       "Min",
                                    "Prod", "L2",   "SumSquare", "LogSumExp"};
  unsigned dim[8], axes[8], n = 0, rank = shape(d, dim, 5);
  for (unsigned i = 0; i < rank; i++)
    if (below(d, 2)) axes[n++] = i;
  say_shape(d, "x", dim, rank);
  if (n) {
    say(d, "a := i64[%u] :", n);
    for (unsigned i = 0; i < n; i++) say(d, " %u", axes[i]);
    say(d, "; ");
  }
  say(d, "y = Reduce%s(x%s) keepdims=%u", ops[below(d, 8)], n ? ",a" : "", below(d, 2));
}

static void one_axis(struct drawing *d) {
  static const char *const ops[] = {"Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin"};
  unsigned dim[8], rank = shape(d, dim, 4), op = below(d, 5);
  say_shape(d, "x", dim, rank);
  say(d, "y = %s(x) axis=%u", ops[op], below(d, rank));
  if (op > 2) say(d, " keepdims=%u select_last_index=%u", below(d, 2), below(d, 2));
}

static void slices(struct drawing *d) {
  unsigned dim[8], rank = shape(d, dim, 4);
  static const char *const parts[] = {"start", "end", "axis", "step"};
  say_shape(d, "x", dim, rank);
  for (unsigned p = 0; p < 4; p++) {
    say(d, "%s := i64[%u] :", parts[p], rank);
    for (unsigned i = 0; i < rank; i++) {
      int v = p == 2 ? (int)i : (int)below(d, 9) - 4;
      if (p == 3 && v == 0) v = 1;
      say(d, " %d", v);
    }
    say(d, "; ");
  }
  say(d, "y = Slice(x,start,end,axis,step); n = Neg(x)");
}

static void joined(struct drawing *d) {
  unsigned dim[8], rank = shape(d, dim, 4), axis = below(d, rank), n = 2 + below(d, 3);
  for (unsigned i = 0; i < n; i++) {
    char name[8] = {(char)('a' + i)};
    dim[axis] = 1 + below(d, 4);
    say_shape(d, name, dim, rank);
  }
  say(d, "cat = Concat(");
  for (unsigned i = 0; i < n; i++) say(d, "%s%c", i ? "," : "", 'a' + (char)i);
  say(d, ") axis=%u; p, q = Split(cat) num_outputs=2 axis=%u; y = Neg(q); z = Abs(cat)", axis,
      axis);
}

static void pool(struct drawing *d) {
  unsigned dims = 1 + below(d, 3), dim[8] = {1 + below(d, 2), 1 + below(d, 3)};
  unsigned kernel[3], stride[3], dil[3], pads[6];
  for (unsigned i = 0; i < dims; i++) {
    kernel[i] = 1 + below(d, 3);
    stride[i] = 1 + below(d, 3);
    dil[i] = 1 + below(d, 2);
    dim[2 + i] = (kernel[i] - 1) * dil[i] + 1 + below(d, 5);
    pads[i] = below(d, kernel[i]);
    pads[dims + i] = below(d, kernel[i]);
  }
  bool mean = below(d, 2);
  say_shape(d, "x", dim, 2 + dims);
  say(d, "y = %s(x)", mean ? "AveragePool" : "MaxPool");
  say_list(d, " kernel_shape=[", kernel, dims);
  say_list(d, " strides=[", stride, dims);
  say_list(d, " dilations=[", dil, dims);
  say_list(d, " pads=[", pads, 2 * dims);
  say(d, " ceil_mode=%u", below(d, 2));
  if (mean) say(d, " count_include_pad=%u", below(d, 2));
}

static void borders(struct drawing *d) {
  static const char *const modes[] = {"constant", "reflect", "edge", "wrap"};
  unsigned dim[8], rank = shape(d, dim, 3);
  for (unsigned i = 0; i < rank; i++) dim[i] += 2;
  say_shape(d, "x", dim, rank);
  say(d, "p := i64[%u] :", 2 * rank);
  for (unsigned i = 0; i < 2 * rank; i++) say(d, " %u", below(d, 3));
  say(d, "; y = Pad(x,p) mode=%s", modes[below(d, 4)]);
}

static void picked(struct drawing *d) {
  unsigned dim[8], rank = shape(d, dim, 4), axis = below(d, rank), n = 1 + below(d, 4);
  bool constant = below(d, 2);
  say_shape(d, "x", dim, rank);
  say(d, "i %s i64[%u] 0~%u; y = Gather(x,i) axis=%u; ", constant ? ":=" : "=", n, dim[axis],
      axis);
  dim[axis] = n;
  say(d, "j %s i64", constant ? ":=" : "=");
  say_list(d, "[", dim, rank);
  say(d, " 0~1; z = GatherElements(x,j) axis=%u", axis);
}

static const struct {
  const char *name;
  void (*draw)(struct drawing *d);
} families[] = {
    {"broadcasts", broadcast},   {"choices", choose},    {"permutations", permute},
    {"reductions", reduction},   {"one axis", one_axis}, {"slices", slices},
    {"joined and cut", joined},  {"poolings", pool},     {"borders", borders},
    {"picked by index", picked},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

static void equals_the_reference(void **state) {
  static struct drawing d;
  const size_t *family = *state;
  d.seed = 17 + *family;
  for (unsigned i = 0; i < ROUNDS; i++) {
    d.n = 0;
    families[*family].draw(&d);
    net_case_holds(&(struct net_case){.text = d.text});
  }
}

int main(void) {
  static struct CMUnitTest tests[FAMILIES];
  static size_t number[FAMILIES];
  for (size_t i = 0; i < FAMILIES; i++) {
    number[i] = i;
    tests[i].name = families[i].name;
    tests[i].test_func = equals_the_reference;
    tests[i].initial_state = &number[i];
  }
  return _cmocka_run_group_tests("translate_drawn", tests, FAMILIES, NULL, NULL);
}
