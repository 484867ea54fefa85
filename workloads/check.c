/* What sizes, geometry and attributes of an operator must agree on. */
#include <float.h>
#include <math.h> /* fabs, floor, isinf */

#include "workloads/workloads_int.h"

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

static bool places(const struct tsr_conv *c, struct tsri_shape *s, const char **why) {
  if (!all_positive(c)) {
    *why = "sizes of 1 or more";
    return false;
  }
  if (c->in_c % c->groups || c->out_c % c->groups) {
    *why = "groups that divide in_c and out_c";
    return false;
  }
  return axis(c->in_h, c->pad_t, c->pad_b, c->k_h, c->stride_h, c->dil_h, &s->out_h, why) &&
         axis(c->in_w, c->pad_l, c->pad_r, c->k_w, c->stride_w, c->dil_w, &s->out_w, why);
}

bool tsri_conv_shape(const struct tsr_conv *c, struct tsri_shape *out, const char **why) {
  struct tsri_shape s = {0};
  if (!places(c, &s, why)) return false;
  s.n = c->out_c / c->groups;
  s.count = c->groups;
  if (!tsri_elems_product(c->batch, s.out_h, s.out_w, 1, &s.m) ||
      !tsri_elems_product(c->k_h, c->k_w, c->in_c / c->groups, 1, &s.k)) {
    *why = "sizes below 2^64";
    return false;
  }
  *out = s;
  return true;
}

/* Padding of more than half a window would make windows of padding alone. */
static bool padding_fits(uint64_t a, uint64_t b, uint64_t kernel, uint64_t dil) {
  uint64_t most = ((kernel - 1) * dil + 1) / 2; /* places() has seen the product fit */
  return a <= most && b <= most;
}

static bool window_shape(const struct tsr_conv *c, struct tsri_shape *out, const char **why) {
  struct tsri_shape s = {0};
  if (!places(c, &s, why)) return false;
  if (c->out_c != c->in_c || c->groups != 1) {
    *why = "out_c = in_c and one group in a pooling";
    return false;
  }
  if (!padding_fits(c->pad_t, c->pad_b, c->k_h, c->dil_h) ||
      !padding_fits(c->pad_l, c->pad_r, c->k_w, c->dil_w)) {
    *why = "padding of at most half a window";
    return false;
  }
  s.n = c->in_c;
  s.count = 1;
  if (!tsri_elems_product(c->batch, s.out_h, s.out_w, 1, &s.m) ||
      !tsri_elems_product(c->k_h, c->k_w, 1, 1, &s.k)) {
    *why = "sizes below 2^64";
    return false;
  }
  *out = s;
  return true;
}

static bool is_global(enum tsr_op_kind k) {
  return k == TSR_OP_GLOBAL_MAXPOOL || k == TSR_OP_GLOBAL_AVGPOOL;
}

bool tsri_op_shape(enum tsr_op_kind kind, const struct tsr_conv *c, struct tsri_shape *out,
                   const char **why) {
  struct tsri_shape s;
  bool window = tsr_op_kind_info(kind)->cls == TSR_CLASS_WINDOW;
  if (!(window ? window_shape(c, &s, why) : tsri_conv_shape(c, &s, why))) return false;
  if (is_global(kind) && (s.out_h != 1 || s.out_w != 1 || c->k_h != c->in_h ||
                          c->k_w != c->in_w || c->pad_t || c->pad_b || c->pad_l || c->pad_r)) {
    *why = "one window as large as the image, without padding";
    return false;
  }
  *out = s;
  return true;
}

static enum tsr_status disagree(const struct tsr_op *op, struct tsr_err *err, const char *name,
                                uint64_t want, uint64_t got) {
  return tsr_err_at(err, TSR_INPUT, &op->pos,
                    "%s of '%s' does not agree with the geometry; expected %llu, got '%llu'",
                    name, op->name, (unsigned long long)want, (unsigned long long)got);
}

static enum tsr_status check_geometry(const struct tsr_op *op, struct tsr_err *err) {
  struct tsri_shape s;
  const char *why = NULL;
  const struct tsr_conv *v = &op->conv;
  if (!tsri_op_shape(op->kind, v, &s, &why))
    return tsr_err_at(err, TSR_INPUT, &op->pos, "impossible geometry of '%s'; expected %s",
                      op->name, why);
  const struct {
    const char *name;
    uint64_t want, got;
  } row[] = {{"out_h", s.out_h, v->out_h},
             {"out_w", s.out_w, v->out_w},
             {"M", s.m, op->m},
             {"N", s.n, op->n},
             {"K", s.k, op->k},
             {"count", s.count, op->count},
             {"groups", op->kind == TSR_OP_DWCONV ? v->in_c : v->groups, v->groups}};
  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
    if (row[i].want != row[i].got)
      return disagree(op, err, row[i].name, row[i].want, row[i].got);
  return TSR_OK;
}

/* A rule that an operator breaks, and which of its fields. */
struct breach {
  const char *field, *rule;
};

static struct breach attention_breach(const struct tsr_op *op) {
  const struct tsr_op_attr *t = &op->attr;
  if (t->heads == 0 || op->count % t->heads)
    return (struct breach){"heads", "heads that divide count"};
  if (t->kv_heads == 0 || t->heads % t->kv_heads)
    return (struct breach){"kv_heads", "kv_heads that divide heads"};
  if (t->causal && op->n < op->m)
    return (struct breach){"causal", "at least as many keys N as queries M"};
  return (struct breach){0};
}

/* The immediate of a vector operation is an fp32. */
static bool fits_fp32(double v) {
  return fabs(v) <= FLT_MAX;
}

static bool is_bound(double v) {
  return fits_fp32(v) || isinf(v);
}

/* Numbers of an operator, or of a step of an epilogue. */
static struct breach number_breach(enum tsr_op_kind kind, double alpha, double beta,
                                   double zero) {
  const struct tsr_op_info *info = tsr_op_kind_info(kind);
  bool bounds = kind == TSR_OP_CLIP;
  const char *rule =
      bounds ? "a number that fp32 holds, or an infinity" : "a number that fp32 holds";
  if (info->alpha && !(bounds ? is_bound(alpha) : fits_fp32(alpha)))
    return (struct breach){"alpha", rule};
  if (kind == TSR_OP_CELU && !((float)alpha != 0 && fits_fp32(1 / alpha)))
    return (struct breach){"alpha", "a number that is not zero, with its inverse in fp32"};
  if (info->beta && !(bounds ? is_bound(beta) : fits_fp32(beta)))
    return (struct breach){"beta", rule};
  if (info->zero && !(fabs(zero) <= 0x1p24 && floor(zero) == zero))
    return (struct breach){"zero", "a whole number of at most 2^24 in size"};
  return (struct breach){0};
}

static struct breach attr_breach(const struct tsr_op *op) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  const struct tsr_op_attr *t = &op->attr;
  if (!info->uses_k && op->k != 1) return (struct breach){"K", "1, for it means nothing here"};
  if (info->cls == TSR_CLASS_ATTENTION) return attention_breach(op);
  if (info->table && t->table == 0)
    return (struct breach){"table", info->a == TSR_SHAPE_MT ? "the columns of the table"
                                                            : "the rows of the table"};
  if (info->eps && !(t->eps >= 0 && t->eps < 1))
    return (struct breach){"eps", "a number from 0 to below 1"};
  if (info->experts && (t->experts == 0 || op->k > t->experts))
    return (struct breach){"experts", "at least the K experts of a token"};
  if (info->a == TSR_SHAPE_SRC && op->m % op->k)
    return (struct breach){"M", "K rows for each token"};
  if (op->kind == TSR_OP_TOPK && op->k > op->n)
    return (struct breach){"K", "at most the N columns of a row"};
  if (op->kind == TSR_OP_ROPE && op->n % 2)
    return (struct breach){"N", "an even number, columns turn in pairs"};
  if ((unsigned)t->with >= TSR_WITH_COUNT_) return (struct breach){"with", "a known way"};
  return number_breach(op->kind, t->alpha, t->beta, t->zero);
}

bool tsri_attr_check(const struct tsr_op *op, const char **field, const char **rule) {
  struct breach b = attr_breach(op);
  *field = b.field;
  *rule = b.rule;
  return b.field == NULL;
}

static enum tsr_status check_steps(const struct tsr_op *op, struct tsr_err *err) {
  enum tsr_op_class cls = tsr_op_kind_info(op->kind)->cls;
  bool may = cls == TSR_CLASS_MATMUL || cls == TSR_CLASS_CONV;
  if (op->n_steps > (may ? TSR_EPILOGUE_MAX : 0))
    return tsr_err_at(
        err, TSR_INPUT, &op->pos,
        "epilogue of '%s'; expected at most %d steps, and only behind a matmul or "
        "a convolution",
        op->name, TSR_EPILOGUE_MAX);
  for (size_t i = 0; i < op->n_steps; i++) {
    uint64_t e;
    const struct tsr_op_info *info = tsr_op_kind_info(op->step[i].kind);
    if (!info->step)
      return tsr_err_at(
          err, TSR_INPUT, &op->pos,
          "step of the epilogue of '%s'; expected an operator on single elements, "
          "got '%s'",
          op->name, info->name);
    struct breach n =
        number_breach(op->step[i].kind, op->step[i].alpha, op->step[i].beta, op->step[i].zero);
    if (n.field)
      return tsr_err_at(err, TSR_INPUT, &op->pos,
                        "%s of step '%s' of the epilogue of '%s'; expected %s", n.field,
                        info->name, op->name, n.rule);
    if (!tsr_op_step_elems(op, i, &e))
      return tsr_err_at(err, TSR_INPUT, &op->pos,
                        "a tensor of '%s' is too large; expected below 2^64 elements",
                        op->name);
  }
  return TSR_OK;
}

static enum tsr_status check_products(const struct tsr_op *op, struct tsr_err *err) {
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

enum tsr_status tsr_op_check(const struct tsr_op *op, struct tsr_err *err) {
  if (!op->m || !op->n || !op->k || !op->count)
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "a size of '%s' is zero; expected M, N, K and count of 1 or more",
                      op->name);
  enum tsr_op_class cls = tsr_op_kind_info(op->kind)->cls;
  if (op->has_conv ? cls != TSR_CLASS_CONV && cls != TSR_CLASS_WINDOW : cls == TSR_CLASS_WINDOW)
    return tsr_err_at(err, TSR_INPUT, &op->pos,
                      "geometry of '%s'; expected it in a pooling, and elsewhere only in a "
                      "convolution",
                      op->name);
  enum tsr_status s = op->has_conv ? check_geometry(op, err) : TSR_OK;
  if (s) return s;
  const char *field, *rule;
  if (!tsri_attr_check(op, &field, &rule))
    return tsr_err_at(err, TSR_INPUT, &op->pos, "%s of '%s'; expected %s", field, op->name,
                      rule);
  s = check_steps(op, err);
  return s ? s : check_products(op, err);
}
