#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workloads/models/train/lm.h"

enum { TEXT = 160 };

/* Nodes of one layer: `%` in the names stands for the layer, as a digit. */
struct nodes {
  struct tsr_train_export *x;
  char layer;
};

static const char *named(const struct nodes *k, const char *text, char to[TEXT]) {
  size_t i = 0;
  for (; text[i] && i + 1 < TEXT; i++) to[i] = text[i] == '%' ? k->layer : text[i];
  to[i] = 0;
  return to;
}

static void node(const struct nodes *k, const char *op, const char *in, const char *out,
                 const struct tsr_net_attr *attr) {
  char a[TEXT], b[TEXT];
  tsr_train_export_node(k->x, op, named(k, in, a), named(k, out, b), attr, attr != NULL);
}

/* A dense layer as exporters write it: product, then bias. */
static void dense(const struct nodes *k, const char *in, const char *name, const char *out) {
  char text[TEXT], product[32];
  snprintf(product, sizeof product, "%s.product", out);
  snprintf(text, sizeof text, "%s %s.weight", in, name);
  node(k, "MatMul", text, product, NULL);
  snprintf(text, sizeof text, "%s %s.bias", product, name);
  node(k, "Add", text, out, NULL);
}

static const int64_t by_heads[] = {0, 2, 1, 3}, last_turned[] = {0, 1, 3, 2};
static const struct tsr_net_attr perm_heads = {
    .name = "perm", .kind = TSR_ATTR_INTS, .n = 4, .ints = by_heads};
static const struct tsr_net_attr perm_last = {
    .name = "perm", .kind = TSR_ATTR_INTS, .n = 4, .ints = last_turned};
static const struct tsr_net_attr axis_2 = {.name = "axis", .kind = TSR_ATTR_INT, .i = 2};
static const struct tsr_net_attr axis_0 = {.name = "axis", .kind = TSR_ATTR_INT, .i = 0};
static const struct tsr_net_attr axis_last = {.name = "axis", .kind = TSR_ATTR_INT, .i = -1};

/* [B,S,d] as [B,heads,S,head_dim]. */
static void split(const struct nodes *k, const char *in, const char *out) {
  char text[TEXT], part[32];
  snprintf(part, sizeof part, "%s.parts", in);
  snprintf(text, sizeof text, "%s heads.shape", in);
  node(k, "Reshape", text, part, NULL);
  node(k, "Transpose", part, out, &perm_heads);
}

static void norm(const struct nodes *k, const char *in, const char *out) {
  const struct tsr_net_attr attrs[] = {
      axis_last, {.name = "epsilon", .kind = TSR_ATTR_FLOAT, .f = (double)1e-5f}};
  char a[TEXT], b[TEXT];
  tsr_train_export_node(k->x, "LayerNormalization", named(k, in, a), named(k, out, b), attrs,
                        2);
}

static void attention(const struct nodes *k) {
  dense(k, "%.n1", "%.attn.q", "%.q");
  dense(k, "%.n1", "%.attn.k", "%.k");
  dense(k, "%.n1", "%.attn.v", "%.v");
  split(k, "%.q", "%.query");
  split(k, "%.k", "%.key");
  split(k, "%.v", "%.value");
  node(k, "Concat", "past.%.key %.key", "present.%.key", &axis_2);
  node(k, "Concat", "past.%.value %.value", "present.%.value", &axis_2);
  node(k, "Transpose", "present.%.key", "%.keys", &perm_last);
  node(k, "MatMul", "%.query %.keys", "%.scores", NULL);
  node(k, "Mul", "%.scores scale", "%.scaled", NULL);
  node(k, "Where", "mask.part %.scaled masked", "%.masked", NULL);
  node(k, "Softmax", "%.masked", "%.p", &axis_last);
  node(k, "MatMul", "%.p present.%.value", "%.mix", NULL);
  node(k, "Transpose", "%.mix", "%.mixed", &perm_heads);
  node(k, "Reshape", "%.mixed flat.shape", "%.a", NULL);
  dense(k, "%.a", "%.attn.o", "%.o");
}

/* GELU by Erf, the five nodes of an exporter at opset 17. */
static void gelu(const struct nodes *k) {
  node(k, "Div", "%.h sqrt2", "%.gelu.div", NULL);
  node(k, "Erf", "%.gelu.div", "%.gelu.erf", NULL);
  node(k, "Add", "%.gelu.erf one", "%.gelu.add", NULL);
  node(k, "Mul", "%.h %.gelu.add", "%.gelu.mul", NULL);
  node(k, "Mul", "%.gelu.mul half", "%.u", NULL);
}

/* One layer on `in`; the result is `<layer>.out`. */
static void layer(const struct nodes *k, const char *in) {
  char text[TEXT];
  snprintf(text, sizeof text, "%s %%.ln1.weight %%.ln1.bias", in);
  norm(k, text, "%.n1");
  attention(k);
  snprintf(text, sizeof text, "%s %%.o", in);
  node(k, "Add", text, "%.middle", NULL);
  norm(k, "%.middle %.ln2.weight %.ln2.bias", "%.n2");
  dense(k, "%.n2", "%.ffn.1", "%.h");
  gelu(k);
  dense(k, "%.u", "%.ffn.2", "%.f");
  node(k, "Add", "%.middle %.f", "%.out", NULL);
}

/* The mask and the scalars. */
static void constants(struct tsr_train_export *x, const struct tsr_train_lm_shape *s) {
  const uint64_t square[] = {s->ctx, s->ctx};
  const int64_t heads[] = {0, 0, (int64_t)s->heads, (int64_t)(s->d / s->heads)};
  const int64_t flat[] = {0, 0, (int64_t)s->d}, axes[] = {0, 1}, zero[] = {0}, step[] = {1};
  const struct {
    const char *name;
    double v;
  } scalar[] = {{"scale", 1 / sqrt((double)(s->d / s->heads))},
                {"masked", -10000},
                {"sqrt2", 1.41421356237309505},
                {"one", 1},
                {"half", 0.5}};
  struct tsr_array *mask;
  size_t at;
  for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
    tsr_train_export_floats(x, scalar[i].name, 0, NULL, &scalar[i].v);
  tsr_train_export_ints(x, "heads.shape", 4, heads);
  tsr_train_export_ints(x, "flat.shape", 3, flat);
  tsr_train_export_ints(x, "mask.axes", 2, axes);
  tsr_train_export_ints(x, "zero", 1, zero);
  tsr_train_export_ints(x, "length.axis", 0, (const int64_t[]){1});
  tsr_train_export_ints(x, "past.axis", 0, (const int64_t[]){2});
  tsr_train_export_ints(x, "step", 0, step);
  if (x->s == TSR_OK) x->s = tsr_net_value(x->net, "mask", &at, x->err);
  if (x->s == TSR_OK)
    x->s = tsr_array_create(x->net->arena, TSR_DTYPE_BOOL, 2, square, &mask, x->err);
  if (x->s != TSR_OK) return;
  for (uint64_t i = 0; i < mask->n; i++) mask->i[i] = i % s->ctx <= i / s->ctx;
  x->s = tsr_net_constant(x->net, at, mask, x->err);
}

/* Positions P to P + S, the part of the mask, and the first residual stream. */
static void embed(const struct nodes *k) {
  node(k, "Shape", "tokens", "tokens.shape", NULL);
  node(k, "Gather", "tokens.shape length.axis", "length", &axis_0);
  node(k, "Shape", "past.0.key", "past.shape", NULL);
  node(k, "Gather", "past.shape past.axis", "past", &axis_0);
  node(k, "Add", "past length", "total", NULL);
  node(k, "Range", "past total step", "positions", NULL);
  node(k, "Unsqueeze", "past zero", "past.row", NULL);
  node(k, "Unsqueeze", "total zero", "total.row", NULL);
  node(k, "Concat", "past.row zero", "mask.start", &axis_0);
  node(k, "Concat", "total.row total.row", "mask.end", &axis_0);
  node(k, "Slice", "mask mask.start mask.end mask.axes", "mask.part", NULL);
  node(k, "Gather", "token.weight tokens", "token", &axis_0);
  node(k, "Gather", "position.weight positions", "position", &axis_0);
  node(k, "Add", "token position", "embedded", NULL);
}

static void cache(struct tsr_train_export *x, const struct tsr_train_lm_shape *s, bool past) {
  char dims[TEXT], name[TEXT];
  snprintf(dims, sizeof dims, past ? "B %zu P %zu" : "B %zu P+S %zu", s->heads,
           s->d / s->heads);
  for (size_t l = 0; l < s->layers; l++)
    for (size_t i = 0; i < 2; i++) {
      snprintf(name, sizeof name, "%s.%zu.%s", past ? "past" : "present", l,
               i ? "value" : "key");
      if (past)
        tsr_train_export_input(x, name, TSR_DTYPE_F32, dims);
      else
        tsr_train_export_output(x, name, dims);
    }
}

enum tsr_status tsr_train_lm_export(const struct tsr_train_lm *lm, struct tsr_net **out,
                                    struct tsr_err *err) {
  struct tsr_train_export x;
  struct nodes k = {.x = &x};
  char in[32] = "embedded", dims[TEXT];
  tsr_train_export_begin(&x, "char-lm", err);
  tsr_train_export_input(&x, "tokens", TSR_DTYPE_I64, "B S");
  cache(&x, &lm->shape, true);
  tsr_train_export_params(&x, lm->param, lm->n_params, lm->w);
  constants(&x, &lm->shape);
  embed(&k);
  for (size_t l = 0; l < lm->shape.layers; l++) {
    k.layer = (char)('0' + l);
    layer(&k, in);
    snprintf(in, sizeof in, "%zu.out", l);
  }
  snprintf(dims, sizeof dims, "%s lnf.weight lnf.bias", in);
  norm(&k, dims, "normed");
  node(&k, "MatMul", "normed head.weight", "logits", NULL);
  snprintf(dims, sizeof dims, "B S %zu", lm->shape.vocab);
  tsr_train_export_output(&x, "logits", dims);
  cache(&x, &lm->shape, false);
  return tsr_train_export_end(&x, out);
}
