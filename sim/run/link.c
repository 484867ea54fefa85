/* Which operands are results of layers before, and where in them they lie.
 *
 * An operand is its source's result as it is: as many bytes, in the same format.  An attention
 * may also take queries, keys and values from one result that holds nothing else, in this
 * order.  A part of a larger operator takes the part of its source's result that goes with it;
 * parts whose results lie as one are the first's.  What is put together of several results
 * (concat), or is a part of one, or in another format, has no link. */
#include "sim/run/run_int.h"

static struct tsri_link no_link(void) {
  return (struct tsri_link){.layer = SIZE_MAX};
}

/* The layer that an operand of l comes from, SIZE_MAX: none of the plan's. */
static size_t source_of(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                        unsigned operand) {
  size_t op;
  if (!tsr_op_source(l->op, operand, &op) || op == SIZE_MAX) return SIZE_MAX;
  return p->tenants[l->tenant].first_layer + op;
}

/* Queries, keys and values side by side in one result. */
static bool is_fused(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                     const struct tsri_sizes *sizes, const struct tsri_sizes *own) {
  size_t q = source_of(p, l, 0);
  if (l->op->part.of) return false;
  if (tsr_op_kind_info(l->op->kind)->cls != TSR_CLASS_ATTENTION || q == SIZE_MAX) return false;
  const struct tsr_format *f = p->layers[q].out;
  return source_of(p, l, 1) == q && source_of(p, l, 2) == q && l->a == f && l->b == f &&
         own->a + own->b == sizes[q].c;
}

size_t tsri_result_head(const struct tsr_run_plan *p, size_t layer) {
  const struct tsr_run_layer_plan *l = &p->layers[layer];
  return l->op->part.joined ? p->tenants[l->tenant].first_layer + l->op->part.head : layer;
}
uint64_t tsri_result_whole(const struct tsr_run_layer_plan *l, uint64_t bytes) {
  const struct tsr_op_part *x = &l->op->part;
  return x->joined ? bytes / x->n * x->of : bytes;
}
uint64_t tsri_result_from(const struct tsr_run_layer_plan *l, uint64_t bytes) {
  const struct tsr_op_part *x = &l->op->part;
  return x->joined ? bytes / x->n * x->from : 0;
}

/* An operand of `bytes` of layer l: all of its source's result, or the part of it that l is of
 * its operator (cut: the operand goes with the cut). */
static struct tsri_link link_of(const struct tsr_run_plan *p,
                                const struct tsr_run_layer_plan *l,
                                const struct tsri_sizes *sizes, size_t source, uint64_t bytes,
                                bool cut, const struct tsr_format *f) {
  if (source == SIZE_MAX || !bytes || p->layers[source].out != f) return no_link();
  const struct tsr_op_part *x = &l->op->part;
  uint64_t all = tsri_result_whole(&p->layers[source], sizes[source].c);
  struct tsri_link link = {.layer = tsri_result_head(p, source)};
  if (bytes == all) return link;
  if (!x->of || !cut || bytes / x->n * x->of != all) return no_link();
  link.from_bytes = bytes / x->n * x->from;
  return link;
}

static void links_of(const struct tsr_run_plan *p, size_t i, const struct tsri_sizes *sizes,
                     struct tsri_link *out) {
  const struct tsr_run_layer_plan *l = &p->layers[i];
  const struct tsri_sizes *z = &sizes[i];
  for (size_t o = 0; o < TSRI_LINKS; o++) out[o] = no_link();
  if (is_fused(p, l, sizes, z)) {
    out[TSRI_LINK_A].layer = out[TSRI_LINK_B].layer = source_of(p, l, 0);
    out[TSRI_LINK_B].from_bytes = z->a;
    return;
  }
  enum tsr_op_class cls = tsr_op_kind_info(l->op->kind)->cls;
  bool lists = cls == TSR_CLASS_GATHER; /* one of its operands holds indices */
  if (l->op->kind != TSR_OP_EMBEDDING)
    out[TSRI_LINK_A] = link_of(p, l, sizes, source_of(p, l, 0), z->a, true, l->a);
  if (cls != TSR_CLASS_ATTENTION && !lists && source_of(p, l, 1) != source_of(p, l, 0))
    out[TSRI_LINK_B] = link_of(p, l, sizes, source_of(p, l, 1), z->b, l->op->part.groups, l->b);
  for (size_t s = 0; tsri_is_product(l->op) && s < l->op->n_steps; s++) {
    size_t op;
    if (!tsr_op_step_source(l->op, s, &op) || op == SIZE_MAX) continue;
    size_t source = p->tenants[l->tenant].first_layer + op;
    struct tsri_link link =
        link_of(p, l, sizes, source, z->step[s], true, tsri_epilogue_format(l, s));
    for (size_t o = 0; o < TSRI_LINK_STEP + s; o++) /* one of a layer's operands alone */
      if (out[o].layer == link.layer) link = no_link();
    out[TSRI_LINK_STEP + s] = link;
  }
}

void tsri_links_find(const struct tsr_run_plan *p, const struct tsri_sizes *sizes,
                     struct tsri_link *out) {
  for (size_t i = 0; i < p->n_layers; i++) links_of(p, i, sizes, out + i * TSRI_LINKS);
}
