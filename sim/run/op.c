/* Layers that are no product: what of a plan concerns them (kernels/lower/op.h). */
#include <string.h>

#include "sim/run/run_int.h"
#include "workloads/translate/view.h"

bool tsri_is_product(const struct tsr_op *op) {
  enum tsr_op_class cls = tsr_op_kind_info(op->kind)->cls;
  return cls == TSR_CLASS_MATMUL || cls == TSR_CLASS_CONV;
}

static const struct tsr_operand_view *bound_a(const struct tsr_run_layer_plan *l) {
  return &l->graph->bindings[l->op - l->graph->ops].a;
}

unsigned tsri_op_parts(const struct tsr_run_layer_plan *l) {
  if (l->op->kind != TSR_OP_CONCAT || !l->graph->bindings) return 0;
  const struct tsr_operand_view *v = bound_a(l);
  bool apart =
      v->n_parts > 1 && v->n_parts <= TSR_LOWER_SOURCES && v->rows == l->op->m * l->op->count;
  return apart ? v->n_parts : 0;
}

/* Columns of what a concat reads; none where its names do not add up to its own. */
static void sources_of(const struct tsr_run_layer_plan *l, struct tsr_lower_at *at) {
  const struct tsr_op *op = l->op;
  uint64_t sum = 0;
  if (l->graph && l->graph->bindings) {
    at->n_sources = tsri_op_parts(l);
    for (size_t i = 0; i < at->n_sources; i++) at->source[i] = bound_a(l)->cols[i];
    return;
  }
  if (op->kind != TSR_OP_CONCAT || op->n_after < 2 || op->n_after > TSR_LOWER_SOURCES) return;
  for (size_t i = 0; i < op->n_after; i++) {
    uint64_t a, b, c, rows = op->m * op->count;
    if (!tsr_op_elems(&l->graph->ops[op->after[i]], &a, &b, &c) || c % rows) return;
    at->source[i] = c / rows;
    if (!tsr_add_u64(sum, at->source[i], &sum)) return;
  }
  if (sum == op->n) at->n_sources = op->n_after;
}

void tsri_op_at(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                struct tsr_lower_at *at) {
  const struct tsr_format *formats[TSR_LOWER_FMTS] = {
      l->a, l->b, l->acc, l->out, tsr_format_find("int32"), tsr_format_find("fp32")};
  const char *const names[TSR_LOWER_FMTS] = {l->format_a,   l->format_b, l->format_acc,
                                             l->format_out, "int32",     "fp32"};
  *at = (struct tsr_lower_at){.rate = l->rate,
                              .attention = p->machine->attention,
                              .integers = l->a->is_int || l->b->is_int};
  memcpy(at->base_bytes, l->base_bytes, sizeof l->base_bytes);
  memcpy(at->base_bytes + TSR_LOWER_X0, l->extra_bytes, sizeof l->extra_bytes);
  memcpy(at->formats, names, sizeof names);
  for (int f = 0; f < TSR_LOWER_FMTS; f++)
    at->bytes[f] = (uint32_t)tsr_ceil_div(formats[f]->bits, 8);
  for (int b = 0; b < 3; b++) tsri_slots(p, b, &at->slots[b], &at->slot_bytes[b]);
  sources_of(l, at);
}

const struct tsr_format *tsri_op_format(const struct tsr_run_layer_plan *l,
                                        enum tsr_lower_fmt f) {
  switch (f) {
  case TSR_LOWER_FMT_A: return l->a;
  case TSR_LOWER_FMT_B: return l->b;
  case TSR_LOWER_FMT_ACC: return l->acc;
  case TSR_LOWER_FMT_OUT: return l->out;
  case TSR_LOWER_FMT_INT32: return tsr_format_find("int32");
  default: return tsr_format_find("fp32");
  }
}

enum tsr_status tsri_op_sizes(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                              uint64_t bytes[TSR_LOWER_TENSORS], struct tsr_err *err) {
  struct tsr_lower_at at;
  struct tsr_lower_tensor t[TSR_LOWER_TENSORS];
  tsri_op_at(p, l, &at);
  enum tsr_status st = tsr_lower_op_tensors(l->op, &at, t, err);
  for (int i = 0; !st && i < TSR_LOWER_TENSORS; i++)
    if (!tsr_mul_u64(t[i].elems, at.bytes[t[i].fmt], &bytes[i]) || bytes[i] >> 58)
      st = tsr_err_at(err, TSR_INPUT, &l->op->pos,
                      "the tensors of layer '%s' pass 2^58 bytes; expected smaller m, n, k or "
                      "count",
                      l->op->name);
  return st;
}

enum tsr_status tsri_op_map(const struct tsr_run_plan *p, struct tsr_run_layer_plan *l,
                            struct tsr_err *err) {
  struct tsr_lower_at at;
  tsri_op_at(p, l, &at);
  enum tsr_status st = tsr_lower_op_cut(l->op, &at, l->max_cores, &l->cut, err);
  l->n_cores = l->cut.cores;
  return st;
}

enum tsr_status tsri_op_lower(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                              uint32_t core, struct tsr_program *out, struct tsr_err *err) {
  struct tsr_lower_at at;
  tsri_op_at(p, l, &at);
  enum tsr_status st = tsr_lower_op(l->op, &at, &l->cut, core, out, err);
  if (!st) st = tsr_isa_check(out, err);
  return st;
}

/* Operands that are used and the result, moved once; rows by index once for each index. */
uint64_t tsri_op_compulsory(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l) {
  uint64_t bytes[TSR_LOWER_TENSORS], sum = 0;
  struct tsr_lower_at at;
  struct tsr_lower_tensor t[TSR_LOWER_TENSORS];
  const struct tsr_op *op = l->op;
  tsri_op_at(p, l, &at);
  TSR_CHECK(!tsri_op_sizes(p, l, bytes, NULL) && !tsr_lower_op_tensors(op, &at, t, NULL));
  for (int i = 0; i < TSR_LOWER_TENSORS; i++)
    if (t[i].content != TSR_CONTENT_SCRATCH) sum += bytes[i];
  if (tsr_op_kind_info(op->kind)->cls != TSR_CLASS_GATHER) return sum;
  int table = op->kind == TSR_OP_EMBEDDING ? TSR_LOWER_B : TSR_LOWER_A;
  uint64_t k = op->kind == TSR_OP_EMBEDDING || op->kind == TSR_OP_MOE_SCATTER ? op->k : 1;
  uint64_t rows = op->m * op->count * k * op->n * at.bytes[t[table].fmt];
  return sum - bytes[table] + tsr_min_u64(bytes[table], rows);
}

void tsr_run_layer_print(const struct tsr_run_layer_plan *l, struct tsr_str *out) {
  if (tsri_is_product(l->op))
    tsr_mapping_print(&l->shape, &l->mapping, out);
  else
    tsr_lower_op_print(l->op, &l->cut, out);
}

void tsr_run_layer_kernel(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                          struct tsr_str *out) {
  struct tsr_lower_at at;
  if (tsri_is_product(l->op)) {
    tsr_str_addf(out, "%s.%s", l->shape.conv ? "conv" : "matmul",
                 tsr_flow_names[l->mapping.flow]);
    return;
  }
  tsri_op_at(p, l, &at);
  tsr_str_addf(out, "%s.%s", tsr_op_kind_name(l->op->kind),
               tsr_lower_op_way(l->op, &at, &l->cut));
}
