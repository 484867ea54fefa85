/* The operator graph: kinds and the sizes of operators. */
#include <math.h> /* INFINITY */
#include <string.h>

#include "workloads/workloads_int.h"

enum {
  FLAG_ROWS = 1,
  FLAG_EPS = 2,
  FLAG_EXPERTS = 4,
  FLAG_STEP = 8,
  FLAG_ALPHA = 16,
  FLAG_BETA = 32,
  FLAG_ZERO = 64
};

#define HAS_MACS(cls) ((cls) <= TSR_CLASS_ATTENTION)
#define HOLDS_K(s) ((s) == TSR_SHAPE_MK || (s) == TSR_SHAPE_MKN || (s) == TSR_SHAPE_SRC)
#define USES_K(cls, a, b, c) \
  (HAS_MACS(cls) || (cls) == TSR_CLASS_WINDOW || HOLDS_K(a) || HOLDS_K(b) || HOLDS_K(c))

#define HAS_TABLE(s) ((s) == TSR_SHAPE_TN || (s) == TSR_SHAPE_MT)

static const struct tsr_op_info kinds[] = {
#define OP(id, name, cls, weight, a, b, c, flags, doc)                   \
  {name,                                                                 \
   doc,                                                                  \
   TSR_CLASS_##cls,                                                      \
   weight,                                                               \
   TSR_SHAPE_##a,                                                        \
   TSR_SHAPE_##b,                                                        \
   TSR_SHAPE_##c,                                                        \
   ((flags)&FLAG_ROWS) != 0,                                             \
   ((flags)&FLAG_EPS) != 0,                                              \
   ((flags)&FLAG_EXPERTS) != 0,                                          \
   ((flags)&FLAG_STEP) != 0,                                             \
   HAS_MACS(TSR_CLASS_##cls),                                            \
   USES_K(TSR_CLASS_##cls, TSR_SHAPE_##a, TSR_SHAPE_##b, TSR_SHAPE_##c), \
   HAS_TABLE(TSR_SHAPE_##a) || HAS_TABLE(TSR_SHAPE_##b),                 \
   ((flags)&FLAG_ALPHA) != 0,                                            \
   ((flags)&FLAG_BETA) != 0,                                             \
   ((flags)&FLAG_ZERO) != 0},
#include "workloads/op.def"
#undef OP
};

static const char *const with_names[TSR_WITH_COUNT_] = {"full", "row", "col", "scalar"};

const struct tsr_op_info *tsr_op_kind_info(enum tsr_op_kind k) {
  TSR_CHECK((unsigned)k < TSR_OP_KIND_COUNT_);
  return &kinds[k];
}

const char *tsr_op_kind_name(enum tsr_op_kind k) {
  return tsr_op_kind_info(k)->name;
}

void tsr_op_kind_numbers(enum tsr_op_kind k, double *alpha, double *beta) {
  static const struct {
    enum tsr_op_kind kind;
    double alpha, beta;
  } rows[] = {{TSR_OP_LEAKY_RELU, 0.01, 0}, /* SRC:onnx_operators, all of them */
              {TSR_OP_ELU, 1, 0},
              {TSR_OP_SELU, 1.67326319217681884765625, 1.05070102214813232421875},
              {TSR_OP_CELU, 1, 0},
              {TSR_OP_AFFINE, 1, 0},
              {TSR_OP_CLIP, -INFINITY, INFINITY}};
  *alpha = *beta = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].kind == k) {
      *alpha = rows[i].alpha;
      *beta = rows[i].beta;
    }
}

bool tsr_op_kind_b_is_weight(enum tsr_op_kind k) {
  return tsr_op_kind_info(k)->b_is_weight;
}

bool tsr_op_kind_find(const char *name, enum tsr_op_kind *out) {
  for (unsigned k = 0; k < TSR_OP_KIND_COUNT_; k++)
    if (strcmp(kinds[k].name, name) == 0) {
      *out = (enum tsr_op_kind)k;
      return true;
    }
  return false;
}

const char *tsr_with_name(enum tsr_with w) {
  TSR_CHECK((unsigned)w < TSR_WITH_COUNT_);
  return with_names[w];
}

bool tsr_op_b_is_weight(const struct tsr_op *op) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  bool a_row_each = info->b == TSR_SHAPE_WITH && op->attr.with == TSR_WITH_COL;
  return info->b_is_weight && !a_row_each;
}

void tsr_graph_destroy(struct tsr_graph *g) {
  if (!g) return;
  for (size_t i = 0; i < g->n_nets; i++) g->destroy_net(g->nets[i]);
  tsr_arena_destroy(g->arena); /* g itself lives there */
}

bool tsri_elems_product(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *out) {
  uint64_t v;
  if (!tsr_mul_u64(a, b, &v) || !tsr_mul_u64(v, c, &v) || !tsr_mul_u64(v, d, &v)) return false;
  *out = v;
  return true;
}

bool tsr_op_macs(const struct tsr_op *op, uint64_t *macs) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  uint64_t v = 0;
  if (info->has_macs && !tsri_elems_product(op->m, op->n, op->k, op->count, &v)) return false;
  if (info->cls == TSR_CLASS_ATTENTION && !tsr_mul_u64(v, 2, &v)) return false;
  *macs = v;
  return true;
}

bool tsr_op_attention_pairs(const struct tsr_op *op, uint64_t *pairs) {
  if (tsr_op_kind_info(op->kind)->cls != TSR_CLASS_ATTENTION) return false;
  if (!op->attr.causal) return tsri_elems_product(op->m, op->n, op->count, 1, pairs);
  /* The last query sees all n keys, each one before it one less. */
  uint64_t first = op->n - op->m + 1, twice, even = op->m % 2 == 0;
  if (op->m > op->n || !tsr_add_u64(first, op->n, &twice)) return false;
  /* m * (first + n) / 2, and first + n is even where m is odd. */
  return tsri_elems_product(even ? op->m / 2 : op->m, even ? twice : twice / 2, op->count, 1,
                            pairs);
}

/* Elements of an operand of this shape in the operator's sizes, all counts. */
static bool shape_elems(const struct tsr_op *op, enum tsr_op_shape shape, enum tsr_with with,
                        uint64_t *out) {
  const struct tsr_conv *v = &op->conv;
  const struct tsr_op_attr *t = &op->attr;
  uint64_t e, m = op->m, n = op->n, k = op->k, count = op->count;
  switch (shape) {
  case TSR_SHAPE_NONE: *out = 0; return true;
  case TSR_SHAPE_MK: return tsri_elems_product(m, k, count, 1, out);
  case TSR_SHAPE_KN: return tsri_elems_product(k, n, count, 1, out);
  case TSR_SHAPE_MN: return tsri_elems_product(m, n, count, 1, out);
  case TSR_SHAPE_M: return tsri_elems_product(m, count, 1, 1, out);
  case TSR_SHAPE_N: return tsri_elems_product(n, count, 1, 1, out);
  case TSR_SHAPE_N2: return tsri_elems_product(n, count, 2, 1, out);
  case TSR_SHAPE_IN: return tsri_elems_product(v->batch, v->in_h, v->in_w, v->in_c, out);
  case TSR_SHAPE_KV:
    if (t->heads == 0) return false;
    return tsri_elems_product(count / t->heads, t->kv_heads, n, k, &e) &&
           tsr_mul_u64(e, 2, out);
  case TSR_SHAPE_TN: return tsri_elems_product(t->table, n, count, 1, out);
  case TSR_SHAPE_MT: return tsri_elems_product(t->table, m, count, 1, out);
  case TSR_SHAPE_MKN: return tsri_elems_product(m, k, n, count, out);
  case TSR_SHAPE_SRC: return tsri_elems_product(m / k, n, count, 1, out);
  case TSR_SHAPE_SHARED: return tsri_elems_product(m, n, 1, 1, out);
  case TSR_SHAPE_WITH: break;
  }
  static const enum tsr_op_shape by_with[TSR_WITH_COUNT_] = {[TSR_WITH_FULL] = TSR_SHAPE_MN,
                                                             [TSR_WITH_ROW] = TSR_SHAPE_N,
                                                             [TSR_WITH_COL] = TSR_SHAPE_M};
  if (with != TSR_WITH_SCALAR) return shape_elems(op, by_with[with], with, out);
  *out = count;
  return true;
}

bool tsr_op_elems(const struct tsr_op *op, uint64_t *a, uint64_t *b, uint64_t *c) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  enum tsr_op_shape of_a = op->has_conv ? TSR_SHAPE_IN : info->a;
  uint64_t ea, eb, ec;
  if (!shape_elems(op, of_a, op->attr.with, &ea) ||
      !shape_elems(op, info->b, op->attr.with, &eb) ||
      !shape_elems(op, info->c, op->attr.with, &ec))
    return false;
  *a = ea;
  *b = eb;
  *c = ec;
  return true;
}

bool tsr_op_step_elems(const struct tsr_op *op, size_t i, uint64_t *elems) {
  TSR_CHECK(i < op->n_steps);
  const struct tsr_op_step *s = &op->step[i];
  return shape_elems(op, tsr_op_kind_info(s->kind)->b, s->with, elems);
}

/* The step reads what another operator made. */
static bool step_reads(const struct tsr_op_step *s) {
  const struct tsr_op_info *info = tsr_op_kind_info(s->kind);
  return info->b != TSR_SHAPE_NONE && !info->b_is_weight;
}

bool tsr_op_step_source(const struct tsr_op *op, size_t i, size_t *source) {
  TSR_CHECK(i < op->n_steps);
  if (!step_reads(&op->step[i])) return false;
  size_t behind = 1; /* this step and those after it that read */
  for (size_t j = i + 1; j < op->n_steps; j++) behind += step_reads(&op->step[j]);
  *source = op->n_after > behind ? op->after[op->n_after - behind] : SIZE_MAX;
  return true;
}

/* Names of `after` that are operands, not what steps read. */
static size_t operand_names(const struct tsr_op *op) {
  size_t reads = 0;
  for (size_t i = 0; i < op->n_steps; i++) reads += step_reads(&op->step[i]);
  if (op->n_after == 0) return 0;
  return op->n_after > reads ? op->n_after - reads : 1;
}

bool tsr_op_source(const struct tsr_op *op, unsigned operand, size_t *source) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  size_t names = operand_names(op), at = operand;
  if (operand > (info->cls == TSR_CLASS_ATTENTION ? 2 : 1)) return false;
  if (operand == 1 && (info->b == TSR_SHAPE_NONE || tsr_op_b_is_weight(op))) return false;
  if (operand == 1 && op->kind == TSR_OP_MOE_SCATTER && names > 1) at = names - 1;
  if (at >= names && info->has_macs && names > 0) at = names - 1;
  *source = at < names ? op->after[at] : SIZE_MAX;
  return true;
}

/* A batch adds rows where each stands for itself, else independent operators. */
static bool batch_adds_rows(const struct tsr_op *op) {
  const struct tsr_op_info *info = tsr_op_kind_info(op->kind);
  bool one_for_all = info->b == TSR_SHAPE_WITH &&
                     (op->attr.with == TSR_WITH_ROW || op->attr.with == TSR_WITH_SCALAR);
  if (info->b_is_weight || info->cls == TSR_CLASS_WINDOW) return true;
  return info->rows && !one_for_all;
}

bool tsr_op_batch(struct tsr_op *op, uint64_t batch) {
  bool rows = batch_adds_rows(op);
  uint64_t of_conv = op->conv.batch;
  if (op->has_conv && !tsr_mul_u64(of_conv, batch, &of_conv)) return false;
  if (!tsr_mul_u64(rows ? op->m : op->count, batch, rows ? &op->m : &op->count)) return false;
  op->conv.batch = of_conv;
  return true;
}
