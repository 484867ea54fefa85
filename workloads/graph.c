/* The operator graph: kinds, sizes, checks. */
#include <string.h>

#include "workloads/workloads_int.h"

static const struct {
  const char *name;
  bool weight;
} kinds[] = {
#define KIND_ROW(id, name, w, doc) {name, w},
    TSR_OP_LIST(KIND_ROW)
#undef KIND_ROW
};

const char *tsr_op_kind_name(enum tsr_op_kind k) {
  TSR_CHECK((unsigned)k < TSR_OP_KIND_COUNT_);
  return kinds[k].name;
}

bool tsr_op_kind_b_is_weight(enum tsr_op_kind k) {
  TSR_CHECK((unsigned)k < TSR_OP_KIND_COUNT_);
  return kinds[k].weight;
}

bool tsr_op_kind_find(const char *name, enum tsr_op_kind *out) {
  for (unsigned k = 0; k < TSR_OP_KIND_COUNT_; k++)
    if (strcmp(kinds[k].name, name) == 0) {
      *out = (enum tsr_op_kind)k;
      return true;
    }
  return false;
}

void tsr_graph_destroy(struct tsr_graph *g) {
  if (g) tsr_arena_destroy(g->arena); /* g itself lives there */
}

/* The product of four, false on overflow; *out unchanged then. */
static bool product(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *out) {
  uint64_t v;
  if (!tsr_mul_u64(a, b, &v) || !tsr_mul_u64(v, c, &v) || !tsr_mul_u64(v, d, &v)) return false;
  *out = v;
  return true;
}

bool tsr_op_macs(const struct tsr_op *op, uint64_t *macs) {
  return product(op->m, op->n, op->k, op->count, macs);
}

bool tsr_op_elems(const struct tsr_op *op, uint64_t *a, uint64_t *b, uint64_t *c) {
  uint64_t ea, eb, ec;
  const struct tsr_conv *v = &op->conv;
  bool good = op->has_conv ? product(v->batch, v->in_h, v->in_w, v->in_c, &ea)
                           : product(op->m, op->k, op->count, 1, &ea);
  if (!good || !product(op->k, op->n, op->count, 1, &eb) ||
      !product(op->m, op->n, op->count, 1, &ec))
    return false;
  *a = ea;
  *b = eb;
  *c = ec;
  return true;
}

/* Places the window takes along one axis; *why is set when there is none. */
static bool axis(uint64_t in, uint64_t before, uint64_t behind, uint64_t kernel,
                 uint64_t stride, uint64_t dil, uint64_t *out, const char **why) {
  uint64_t padded, window;
  if (!tsr_add_u64(in, before, &padded) || !tsr_add_u64(padded, behind, &padded) ||
      !tsr_mul_u64(kernel - 1, dil, &window) || !tsr_add_u64(window, 1, &window)) {
    *why = "sizes below 2^64";
    return false;
  }
  if (window > padded) {
    *why = "a kernel no larger than the padded input";
    return false;
  }
  *out = (padded - window) / stride + 1;
  return true;
}

static bool all_positive(const struct tsr_conv *c) {
  return c->batch && c->in_c && c->in_h && c->in_w && c->out_c && c->k_h && c->k_w &&
         c->stride_h && c->stride_w && c->dil_h && c->dil_w && c->groups;
}

bool tsri_conv_shape(const struct tsr_conv *c, struct tsri_shape *out, const char **why) {
  struct tsri_shape s = {0};
  if (!all_positive(c)) {
    *why = "sizes of 1 or more";
    return false;
  }
  if (c->in_c % c->groups || c->out_c % c->groups) {
    *why = "groups that divide in_c and out_c";
    return false;
  }
  if (!axis(c->in_h, c->pad_t, c->pad_b, c->k_h, c->stride_h, c->dil_h, &s.out_h, why) ||
      !axis(c->in_w, c->pad_l, c->pad_r, c->k_w, c->stride_w, c->dil_w, &s.out_w, why))
    return false;
  s.n = c->out_c / c->groups;
  s.count = c->groups;
  if (!product(c->batch, s.out_h, s.out_w, 1, &s.m) ||
      !product(c->k_h, c->k_w, c->in_c / c->groups, 1, &s.k)) {
    *why = "sizes below 2^64";
    return false;
  }
  *out = s;
  return true;
}

static enum tsr_status check_conv(const struct tsr_op *op, struct tsr_err *err) {
  struct tsri_shape s;
  const char *why = NULL;
  if (!tsri_conv_shape(&op->conv, &s, &why))
    return tsr_err_at(err, TSR_INPUT, &op->pos, "impossible geometry of '%s'; expected %s",
                      op->name, why);
  const struct {
    const char *name;
    uint64_t want, got;
  } row[] = {
      {"out_h", s.out_h, op->conv.out_h},
      {"out_w", s.out_w, op->conv.out_w},
      {"M", s.m, op->m},
      {"N", s.n, op->n},
      {"K", s.k, op->k},
      {"count", s.count, op->count},
      {"groups", op->kind == TSR_OP_DWCONV ? op->conv.in_c : op->conv.groups, op->conv.groups}};
  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
    if (row[i].want != row[i].got)
      return tsr_err_at(
          err, TSR_INPUT, &op->pos,
          "%s of '%s' does not agree with the geometry; expected %llu, got '%llu'", row[i].name,
          op->name, (unsigned long long)row[i].want, (unsigned long long)row[i].got);
  return TSR_OK;
}

enum tsr_status tsr_op_check(const struct tsr_op *op, struct tsr_err *err) {
  if (!op->m || !op->n || !op->k || !op->count)
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "a size of '%s' is zero; expected M, N, K and count of 1 or more",
                      op->name);
  if (op->has_conv) {
    enum tsr_status s = check_conv(op, err);
    if (s) return s;
  }
  uint64_t macs, a, b, c;
  if (!tsr_op_macs(op, &macs))
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "'%s' is too large; expected M*N*K*count below 2^64, got "
                      "'%llux%llux%llu', count %llu",
                      op->name, (unsigned long long)op->m, (unsigned long long)op->n,
                      (unsigned long long)op->k, (unsigned long long)op->count);
  if (!tsr_op_elems(op, &a, &b, &c))
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "a tensor of '%s' is too large; expected below 2^64 elements", op->name);
  return TSR_OK;
}
