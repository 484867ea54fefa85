/* Which operands are results of layers before, and where in them they lie.
 *
 * An operand is its source's result as it is: as many bytes, in the same format.  An attention
 * may also take queries, keys and values from one result that holds nothing else, in this
 * order.  What is put together of several results (concat), or is a part of one, or in another
 * format, has no link. */
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
  if (tsr_op_kind_info(l->op->kind)->cls != TSR_CLASS_ATTENTION || q == SIZE_MAX) return false;
  const struct tsr_format *f = p->layers[q].out;
  return source_of(p, l, 1) == q && source_of(p, l, 2) == q && l->a == f && l->b == f &&
         own->a + own->b == sizes[q].c;
}

static struct tsri_link whole(const struct tsr_run_plan *p, const struct tsri_sizes *sizes,
                              size_t source, uint64_t bytes, const struct tsr_format *f) {
  bool same = source != SIZE_MAX && bytes && sizes[source].c == bytes &&
              p->layers[source].out == f;
  return same ? (struct tsri_link){.layer = source} : no_link();
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
    out[TSRI_LINK_A] = whole(p, sizes, source_of(p, l, 0), z->a, l->a);
  if (cls != TSR_CLASS_ATTENTION && !lists && source_of(p, l, 1) != source_of(p, l, 0))
    out[TSRI_LINK_B] = whole(p, sizes, source_of(p, l, 1), z->b, l->b);
  for (size_t s = 0; tsri_is_product(l->op) && s < l->op->n_steps; s++) {
    size_t op;
    if (!tsr_op_step_source(l->op, s, &op) || op == SIZE_MAX) continue;
    size_t source = p->tenants[l->tenant].first_layer + op;
    struct tsri_link link =
        whole(p, sizes, source, z->step[s], tsri_epilogue_format(l, s));
    for (size_t o = 0; o < TSRI_LINK_STEP + s; o++) /* one of a layer's operands alone */
      if (out[o].layer == link.layer) link = no_link();
    out[TSRI_LINK_STEP + s] = link;
  }
}

void tsri_links_find(const struct tsr_run_plan *p, const struct tsri_sizes *sizes,
                     struct tsri_link *out) {
  for (size_t i = 0; i < p->n_layers; i++) links_of(p, i, sizes, out + i * TSRI_LINKS);
}
