/* Small networks as ONNX models, node by node. */
#include "tests/support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "workloads/net/net.h"
#include "workloads/onnx/onnx_write.h"

enum { OPSET = 17, NAME = 96, ATTRS = 4, INTS = 8, INPUTS = 8 };

/* A model in the making. */
struct model {
  struct tsr_net *net;
  uint64_t seed;
  unsigned values;   /* made so far, for their names */
  char prefix[NAME]; /* before names of nodes */
};

static void ok(enum tsr_status st) {
  assert_int_equal(st, TSR_OK);
}

static size_t value(struct model *m, const char *name) {
  size_t v = SIZE_MAX;
  char made[NAME];
  if (!name) (void)snprintf(made, sizeof made, "v%u", m->values++);
  ok(tsr_net_value(m->net, name ? name : made, &v, NULL));
  return v;
}

/* `2,3` as dimensions; `0` is one left open. */
static unsigned dims_of(const char *text, uint64_t *dim) {
  unsigned n = 0;
  char *end;
  for (const char *p = text; *p; p = *end ? end + 1 : end) dim[n++] = strtoull(p, &end, 10);
  return n;
}

static size_t input(struct model *m, const char *name, enum tsr_dtype type, const char *dims) {
  size_t v = value(m, name);
  struct tsr_net_value *x = &m->net->values[v];
  x->type = type;
  x->shaped = true;
  x->rank = dims_of(dims, x->dim);
  for (unsigned d = 0; d < x->rank; d++) x->dim_name[d] = x->dim[d] ? NULL : "batch";
  ok(tsr_net_input(m->net, v, NULL));
  return v;
}

static struct tsr_array *array(struct model *m, enum tsr_dtype type, const char *dims,
                               size_t *v) {
  struct tsr_array *a = NULL;
  uint64_t dim[TSR_RANK_MAX];
  unsigned rank = dims_of(dims, dim);
  ok(tsr_array_create(m->net->arena, type, rank, dim, &a, NULL));
  *v = value(m, NULL);
  return a;
}

/* Parameters between -1/4 and 1/4. */
static size_t weights(struct model *m, const char *dims) {
  size_t v;
  struct tsr_array *a = array(m, TSR_DTYPE_F32, dims, &v);
  for (uint64_t i = 0; i < a->n; i++) {
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    tsr_array_set(a, i, (double)(m->seed >> 53) / 4096.0 - 0.25);
  }
  ok(tsr_net_constant(m->net, v, a, NULL));
  return v;
}

static size_t number(struct model *m, double x) {
  size_t v;
  struct tsr_array *a = array(m, TSR_DTYPE_F32, "", &v);
  tsr_array_set(a, 0, x);
  ok(tsr_net_constant(m->net, v, a, NULL));
  return v;
}

/* `-1,2` as a list of integers. */
static size_t whole(struct model *m, const char *list) {
  size_t v;
  int64_t x[INTS];
  char n[4], *end;
  unsigned count = 0;
  for (const char *p = list; *p; p = *end ? end + 1 : end) x[count++] = strtoll(p, &end, 10);
  (void)snprintf(n, sizeof n, "%u", count);
  struct tsr_array *a = array(m, TSR_DTYPE_I64, n, &v);
  for (unsigned i = 0; i < count; i++) tsr_array_set(a, i, (double)x[i]);
  ok(tsr_net_constant(m->net, v, a, NULL));
  return v;
}

struct attrs {
  struct tsr_net_attr a[ATTRS];
  char name[ATTRS][NAME];
  int64_t ints[ATTRS][INTS];
  size_t n;
};

/* `axis=1 perm=1,0,2 epsilon=0.5`: a list where there is a comma, a float where a point. */
static void read_attrs(const char *text, struct attrs *s) {
  memset(s, 0, sizeof *s);
  for (const char *p = text; *p;) {
    struct tsr_net_attr *a = &s->a[s->n];
    size_t len = strcspn(p, "="), all = strcspn(p, " ");
    (void)snprintf(s->name[s->n], NAME, "%.*s", (int)len, p);
    a->name = s->name[s->n];
    a->ints = s->ints[s->n];
    bool list = memchr(p, ',', all) != NULL, real = memchr(p, '.', all) != NULL;
    a->kind = real ? TSR_ATTR_FLOAT : list ? TSR_ATTR_INTS : TSR_ATTR_INT;
    char *end;
    a->f = strtod(p + len + 1, NULL);
    for (const char *q = p + len + 1; q < p + all && !real; q = end + 1)
      s->ints[s->n][a->n++] = strtoll(q, &end, 10);
    a->i = s->ints[s->n][0];
    if (!list) a->n = 0;
    s->n++;
    p += all;
    while (*p == ' ') p++;
  }
}

#define IN(...) ((const size_t[]){__VA_ARGS__, SIZE_MAX})

/* A node of one result; name NULL: it has none of its own. */
static size_t node(struct model *m, const char *op, const char *name, const size_t *in,
                   const char *attrs) {
  char full[2 * NAME] = "";
  struct attrs a;
  size_t n = 0, out = value(m, NULL);
  while (in[n] != SIZE_MAX) n++;
  if (name) (void)snprintf(full, sizeof full, "%s%s", m->prefix, name);
  read_attrs(attrs, &a);
  ok(tsr_net_node(m->net, op, "", full, in, n, &out, 1, a.a, a.n, NULL));
  return out;
}

static size_t reshape(struct model *m, size_t x, const char *to) {
  return node(m, "Reshape", NULL, IN(x, whole(m, to)), "");
}

static size_t transpose(struct model *m, size_t x, const char *perm) {
  return node(m, "Transpose", NULL, IN(x), perm);
}

/* x times weights. */
static size_t dense(struct model *m, const char *name, size_t x, const char *dims) {
  return node(m, "MatMul", name, IN(x, weights(m, dims)), "");
}

/* The same and a bias, as it is exported: a node each. */
static size_t biased(struct model *m, const char *name, size_t x, const char *dims,
                     const char *width) {
  return node(m, "Add", NULL, IN(weights(m, width), dense(m, name, x, dims)), "");
}

static void make(const char *name, void (*fill)(struct model *), const char *path) {
  struct model m = {.seed = 88172645463325252u};
  unsigned char *bytes;
  size_t len;
  ok(tsr_net_create(name, path, OPSET, &m.net, NULL));
  fill(&m);
  ok(tsr_onnx_write(m.net, &bytes, &len, NULL));
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, len, f), len);
  assert_int_equal(fclose(f), 0);
  tsr_mem_free(bytes);
  tsr_net_destroy(m.net);
}

/* ---- decoder ---- */

static size_t rms_norm(struct model *m, const char *name, size_t x) {
  size_t square = node(m, "Pow", NULL, IN(x, number(m, 2)), "");
  size_t mean = node(m, "ReduceMean", NULL, IN(square), "axes=-1, keepdims=1");
  size_t sum = node(m, "Add", NULL, IN(mean, number(m, 0x1p-20)), "");
  size_t root = node(m, "Reciprocal", NULL, IN(node(m, "Sqrt", NULL, IN(sum), "")), "");
  size_t ratio = node(m, "Mul", NULL, IN(x, root), "");
  return node(m, "Mul", name, IN(weights(m, "64"), ratio), "");
}

/* [batch, 32, 2 * 16] as [batch, 4, 32, 16]: each of two heads twice. */
static size_t repeated_heads(struct model *m, size_t x) {
  x = transpose(m, reshape(m, x, "0,32,2,16"), "perm=0,2,1,3");
  x = node(m, "Unsqueeze", NULL, IN(x, whole(m, "2")), "");
  x = node(m, "Expand", NULL, IN(x, whole(m, "1,2,2,32,16")), "");
  return reshape(m, x, "0,4,32,16");
}

static size_t decoder_attention(struct model *m, size_t h) {
  size_t q = dense(m, "q_proj", h, "64,64"), k = dense(m, "k_proj", h, "64,32");
  size_t v = dense(m, "v_proj", h, "64,32");
  q = transpose(m, reshape(m, q, "0,32,4,16"), "perm=0,2,1,3");
  k = transpose(m, repeated_heads(m, k), "perm=0,1,3,2");
  v = repeated_heads(m, v);
  size_t s = node(m, "MatMul", "attn_qk", IN(q, k), "");
  s = node(m, "Div", NULL, IN(s, number(m, 4)), "");
  s = node(m, "Softmax", "softmax", IN(s), "axis=-1");
  s = node(m, "MatMul", "attn_pv", IN(s, v), "");
  return reshape(m, transpose(m, s, "perm=0,2,1,3"), "0,32,64");
}

static size_t decoder_layer(struct model *m, size_t x) {
  size_t h = decoder_attention(m, rms_norm(m, "attn_norm", x));
  x = node(m, "Add", NULL, IN(x, dense(m, "o_proj", h, "64,64")), "");
  h = rms_norm(m, "ffn_norm", x);
  size_t gate = dense(m, "gate", h, "64,96");
  gate = node(m, "Mul", NULL, IN(gate, node(m, "Sigmoid", NULL, IN(gate), "")), "");
  h = node(m, "Mul", NULL, IN(gate, dense(m, "up", h, "64,96")), "");
  return node(m, "Add", NULL, IN(x, dense(m, "down", h, "96,64")), "");
}

static void decoder(struct model *m) {
  size_t ids = input(m, "ids", TSR_DTYPE_I64, "0,32");
  size_t x = node(m, "Gather", "embed", IN(weights(m, "100,64"), ids), "axis=0");
  for (int i = 0; i < 2; i++) {
    (void)snprintf(m->prefix, sizeof m->prefix, "layers.%d.", i);
    x = decoder_layer(m, x);
  }
  m->prefix[0] = 0;
  x = rms_norm(m, "final_norm", x);
  x = node(m, "Gather", NULL, IN(x, whole(m, "-1")), "axis=1");
  ok(tsr_net_output(m->net, dense(m, "lm_head", x, "64,100"), NULL));
}

void models_decoder(const char *path) {
  make("d", decoder, path);
}

/* ---- encoder ---- */

static size_t heads(struct model *m, size_t x, const char *perm) {
  return transpose(m, reshape(m, x, "24,4,8"), perm);
}

static size_t layer_norm(struct model *m, const char *name, size_t x) {
  return node(m, "LayerNormalization", name, IN(x, weights(m, "32"), weights(m, "32")),
              "epsilon=0.00000762939453125");
}

static size_t gelu(struct model *m, size_t x) {
  size_t e = node(m, "Erf", NULL,
                  IN(node(m, "Div", NULL, IN(x, number(m, 1.4142135623730951)), "")), "");
  size_t y = node(m, "Mul", NULL, IN(x, node(m, "Add", NULL, IN(e, number(m, 1)), "")), "");
  return node(m, "Mul", NULL, IN(y, number(m, 0.5)), "");
}

static void encoder(struct model *m) {
  size_t ids = input(m, "ids", TSR_DTYPE_I64, "24");
  size_t x = node(m, "Gather", "embed", IN(weights(m, "50,32"), ids), "axis=0");
  x = layer_norm(m, "embed_norm", x);
  (void)snprintf(m->prefix, sizeof m->prefix, "layers.0.");
  size_t q = biased(m, "q_proj", x, "32,32", "32"), k = biased(m, "k_proj", x, "32,32", "32");
  size_t v = biased(m, "v_proj", x, "32,32", "32");
  q = node(m, "Mul", NULL, IN(heads(m, q, "perm=1,0,2"), number(m, 0.35355339059327373)), "");
  size_t s = node(m, "MatMul", "attn_qk", IN(q, heads(m, k, "perm=1,2,0")), "");
  s = node(m, "Softmax", "softmax", IN(s), "axis=-1");
  s = node(m, "MatMul", "attn_pv", IN(s, heads(m, v, "perm=1,0,2")), "");
  s = reshape(m, transpose(m, s, "perm=1,0,2"), "24,32");
  s = node(m, "Add", NULL, IN(biased(m, "attn_out", s, "32,32", "32"), x), "");
  x = layer_norm(m, "attn_norm", s);
  s = gelu(m, biased(m, "ffn1", x, "32,64", "64"));
  s = node(m, "Add", NULL, IN(biased(m, "ffn2", s, "64,32", "32"), x), "");
  x = layer_norm(m, "ffn_norm", s);
  m->prefix[0] = 0;
  x = node(m, "Gather", NULL, IN(x, whole(m, "0")), "axis=0");
  x = node(m, "Gemm", "pooler", IN(x, weights(m, "32,32"), weights(m, "32")), "transB=1");
  ok(tsr_net_output(m->net, node(m, "Tanh", NULL, IN(x), ""), NULL));
}

void models_encoder(const char *path) {
  make("w", encoder, path);
}

/* ---- convolutions ---- */

static size_t conv(struct model *m, const char *name, size_t x, const char *dims,
                   const char *width, const char *attrs) {
  return node(m, "Conv", name, IN(x, weights(m, dims), weights(m, width)), attrs);
}

static void cnn(struct model *m) {
  size_t x = input(m, "image", TSR_DTYPE_F32, "1,3,16,16");
  x = conv(m, "conv1", x, "16,3,3,3", "16", "strides=2,2 pads=1,1,1,1");
  x = node(m, "Relu", NULL, IN(x), "");
  size_t y = conv(m, "dw", x, "16,1,3,3", "16", "pads=1,1,1,1 group=16");
  y = node(m, "Clip", NULL, IN(y, number(m, 0), number(m, 6)), "");
  y = conv(m, "project", y, "16,16,1,1", "16", "strides=1,1");
  x = node(m, "Relu", NULL, IN(node(m, "Add", NULL, IN(y, x), "")), "");
  x = node(m, "MaxPool", "pool", IN(x), "kernel_shape=2,2 strides=2,2");
  x = conv(m, "conv2", x, "32,16,3,3", "32", "pads=1,1,1,1");
  x = node(m, "Relu", NULL, IN(x), "");
  x = node(m, "GlobalAveragePool", "gap", IN(x), "");
  x = node(m, "Flatten", NULL, IN(x), "axis=1");
  x = node(m, "Gemm", "fc", IN(x, weights(m, "10,32"), weights(m, "10")), "transB=1");
  ok(tsr_net_output(m->net, node(m, "Softmax", "softmax", IN(x), "axis=1"), NULL));
}

void models_cnn(const char *path) {
  make("c", cnn, path);
}

/* ---- recommendation ---- */

static size_t layer(struct model *m, const char *name, size_t x, const char *dims,
                    const char *width, const char *activation) {
  x = node(m, "Gemm", name, IN(x, weights(m, dims), weights(m, width)), "transB=1");
  return node(m, activation, NULL, IN(x), "");
}

static size_t look_up(struct model *m, const char *name, const char *dims) {
  char of[NAME];
  (void)snprintf(of, sizeof of, "index of %s", name);
  size_t at = input(m, of, TSR_DTYPE_I64, "1");
  return node(m, "Gather", name, IN(weights(m, dims), at), "axis=0");
}

static void dlrm(struct model *m) {
  size_t x = input(m, "dense", TSR_DTYPE_F32, "1,13");
  x = layer(m, "bot0", x, "32,13", "32", "Relu");
  x = layer(m, "bot1", x, "16,32", "16", "Relu");
  size_t a = look_up(m, "embedding.0", "40,16"), b = look_up(m, "embedding.1", "30,16");
  size_t c = look_up(m, "embedding.2", "20,16");
  size_t f = node(m, "Concat", "features", IN(x, a, b, c), "axis=1");
  f = reshape(m, f, "4,16");
  f = node(m, "MatMul", "interaction", IN(f, transpose(m, f, "perm=1,0")), "");
  size_t pairs = input(m, "pairs of features", TSR_DTYPE_I64, "6");
  f = node(m, "Gather", "pairs", IN(reshape(m, f, "16"), pairs), "axis=0");
  f = node(m, "Concat", "top_input", IN(x, reshape(m, f, "1,6")), "axis=1");
  f = layer(m, "top0", f, "24,22", "24", "Relu");
  ok(tsr_net_output(m->net, layer(m, "top1", f, "1,24", "1", "Sigmoid"), NULL));
}

void models_dlrm(const char *path) {
  make("r", dlrm, path);
}
