#include "workloads/models/train/export.h"

#include <string.h>

#include "sim/base/io.h"
#include "workloads/onnx/onnx_write.h"

enum { WORDS = 8, WORD = 64 };

void tsr_train_export_begin(struct tsr_train_export *x, const char *name, struct tsr_err *err) {
  *x = (struct tsr_train_export){.err = err};
  x->s = tsr_net_create(name, name, 17, &x->net, err);
}

enum tsr_status tsr_train_export_end(struct tsr_train_export *x, struct tsr_net **out) {
  if (x->s == TSR_OK)
    *out = x->net;
  else
    tsr_net_destroy(x->net);
  return x->s;
}

/* The next word of *text, which moves behind it; false at its end. */
static bool word(const char **text, char to[WORD]) {
  const char *p = *text;
  while (*p == ' ') p++;
  size_t n = strcspn(p, " ");
  if (!n || n >= WORD) return false;
  memcpy(to, p, n);
  to[n] = 0;
  *text = p + n;
  return true;
}

static size_t value(struct tsr_train_export *x, const char *name) {
  size_t at = 0;
  if (x->s == TSR_OK) x->s = tsr_net_value(x->net, name, &at, x->err);
  return at;
}

static void shape(struct tsr_train_export *x, size_t at, enum tsr_dtype type,
                  const char *dims) {
  char w[WORD];
  if (x->s != TSR_OK) return;
  struct tsr_net_value *v = &x->net->values[at];
  v->type = type;
  v->shaped = true;
  for (v->rank = 0; v->rank < TSR_RANK_MAX && word(&dims, w); v->rank++) {
    unsigned d = v->rank;
    bool open = w[0] < '0' || w[0] > '9';
    if (open) {
      v->dim_name[d] = tsr_arena_strdup(x->net->arena, w);
      if (!v->dim_name[d]) x->s = tsr_err_nomem(x->err);
    } else {
      for (const char *p = w; *p; p++) v->dim[d] = v->dim[d] * 10 + (uint64_t)(*p - '0');
    }
  }
}

void tsr_train_export_input(struct tsr_train_export *x, const char *name, enum tsr_dtype type,
                            const char *dims) {
  size_t at = value(x, name);
  shape(x, at, type, dims);
  if (x->s == TSR_OK) x->s = tsr_net_input(x->net, at, x->err);
}

void tsr_train_export_output(struct tsr_train_export *x, const char *name, const char *dims) {
  size_t at = value(x, name);
  shape(x, at, TSR_DTYPE_F32, dims);
  if (x->s == TSR_OK) x->s = tsr_net_output(x->net, at, x->err);
}

static struct tsr_array *constant(struct tsr_train_export *x, const char *name,
                                  enum tsr_dtype type, unsigned rank, const uint64_t *dim) {
  struct tsr_array *a = NULL;
  size_t at = value(x, name);
  if (x->s == TSR_OK) x->s = tsr_array_create(x->net->arena, type, rank, dim, &a, x->err);
  if (x->s == TSR_OK) x->s = tsr_net_constant(x->net, at, a, x->err);
  return x->s == TSR_OK ? a : NULL;
}

void tsr_train_export_params(struct tsr_train_export *x, const struct tsr_train_param *p,
                             size_t n, const float *w) {
  for (size_t i = 0; i < n; i++) {
    struct tsr_array *a = constant(x, p[i].name, TSR_DTYPE_F32, p[i].rank, p[i].dim);
    for (size_t j = 0; a && j < p[i].n; j++) a->f[j] = (double)w[p[i].at + j];
  }
}

void tsr_train_export_floats(struct tsr_train_export *x, const char *name, unsigned rank,
                             const uint64_t *dim, const double *v) {
  struct tsr_array *a = constant(x, name, TSR_DTYPE_F32, rank, dim);
  for (uint64_t i = 0; a && i < a->n; i++) a->f[i] = tsr_dtype_round(TSR_DTYPE_F32, v[i]);
}

void tsr_train_export_ints(struct tsr_train_export *x, const char *name, size_t n,
                           const int64_t *v) {
  const uint64_t dim[] = {n};
  struct tsr_array *a = constant(x, name, TSR_DTYPE_I64, n != 0, dim);
  for (uint64_t i = 0; a && i < a->n; i++) a->i[i] = v[i];
}

void tsr_train_export_node(struct tsr_train_export *x, const char *op, const char *in,
                           const char *out, const struct tsr_net_attr *attrs, size_t n_attrs) {
  size_t ins[WORDS], outs[WORDS], n_in = 0, n_out = 0;
  char w[WORD], name[WORD] = "";
  while (n_in < WORDS && word(&in, w)) ins[n_in++] = value(x, w);
  while (n_out < WORDS && word(&out, w)) {
    if (!n_out) memcpy(name, w, WORD);
    outs[n_out++] = value(x, w);
  }
  if (x->s == TSR_OK)
    x->s = tsr_net_node(x->net, op, "", name, ins, n_in, outs, n_out, attrs, n_attrs, x->err);
}

static bool fits(const struct tsr_array *a, const struct tsr_train_param *p) {
  return a && a->f && a->rank == p->rank && !memcmp(a->dim, p->dim, p->rank * sizeof *p->dim);
}

enum tsr_status tsr_train_import(const struct tsr_net *net, const struct tsr_train_param *p,
                                 size_t n, float *w, struct tsr_err *err) {
  for (size_t i = 0; i < n; i++) {
    size_t at = tsr_net_find(net, p[i].name);
    const struct tsr_array *a = at == SIZE_MAX ? NULL : net->values[at].constant;
    if (!fits(a, &p[i]))
      return tsr_err_set(err, TSR_INPUT, "%s: no parameter %s of the shape expected", net->path,
                         p[i].name);
  }
  for (size_t i = 0; i < n; i++) {
    const struct tsr_array *a = net->values[tsr_net_find(net, p[i].name)].constant;
    for (size_t j = 0; j < p[i].n; j++) w[p[i].at + j] = (float)a->f[j];
  }
  return TSR_OK;
}

enum tsr_status tsr_train_save(const struct tsr_net *net, const char *path,
                               struct tsr_err *err) {
  unsigned char *data;
  size_t len;
  enum tsr_status s = tsr_onnx_write(net, &data, &len, err);
  if (s != TSR_OK) return s;
  s = tsr_io_write(path, data, len, err);
  tsr_mem_free(data);
  return s;
}
