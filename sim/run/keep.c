/* What of a plan's results stays in scratchpad a until its last reader is through.
 *
 * A part of scratchpad a is set aside (`keep`); the buffers that tiles take turns in share the
 * rest.  A result goes there instead of to memory when it fits beside those that are alive with
 * it, when its readers take it as it is (link.c), and when nobody else needs it.  Those that
 * are needed for the fewest layers come first: they give their room to the most others.
 *
 * For machines of one core: what others keep, a core does not reach. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/run/pack.h"
#include "sim/run/run_int.h"

struct candidate {
  size_t layer;
  struct tsri_block block;
};

struct keeping {
  struct tsr_run_plan *p;
  struct tsri_sizes *sizes; /* owned, as is what follows */
  struct tsri_link *links;
  size_t *last;    /* that waits for each result */
  bool *linked;    /* it is read as it is … */
  bool *elsewhere; /* … and otherwise */
  struct candidate *list;
  size_t n;
  struct tsri_block *put; /* by address */
  size_t n_put;
};

static bool open_tables(struct keeping *k) {
  size_t n = k->p->n_layers + 1;
  k->sizes = tsr_mem_array(n, sizeof *k->sizes);
  k->links = tsr_mem_array(n, TSRI_LINKS * sizeof *k->links);
  k->last = tsr_mem_array(n, sizeof *k->last);
  k->linked = tsr_mem_array(n, sizeof *k->linked);
  k->elsewhere = tsr_mem_array(n, sizeof *k->elsewhere);
  k->list = tsr_mem_array(n, sizeof *k->list);
  k->put = tsr_mem_array(n, sizeof *k->put);
  return k->sizes && k->links && k->last && k->linked && k->elsewhere && k->list && k->put;
}
static void close_tables(struct keeping *k) {
  tsr_mem_free(k->sizes);
  tsr_mem_free(k->links);
  tsr_mem_free(k->last);
  tsr_mem_free(k->linked);
  tsr_mem_free(k->elsewhere);
  tsr_mem_free(k->list);
  tsr_mem_free(k->put);
}

/* How often an operator reads what it waits for, and how often where it was left.  Some names
 * only say what comes first, as the other summand of a network whose additions are not listed.
 */
struct uses {
  unsigned all, linked;
};
static struct uses uses_of(const struct tsr_op *op, const struct tsri_link *links, size_t name,
                           size_t layer) {
  struct uses u = {0, 0};
  size_t from;
  if (op->kind == TSR_OP_CONCAT || op->kind == TSR_OP_MOE_SCATTER) return (struct uses){1, 0};
  for (unsigned operand = 0; operand < 3; operand++) { /* keys and values are one operand */
    if (!tsr_op_source(op, operand, &from) || from != name) continue;
    u.all++;
    u.linked += links[operand ? TSRI_LINK_B : TSRI_LINK_A].layer == layer;
  }
  for (size_t s = 0; s < op->n_steps; s++) {
    if (!tsr_op_step_source(op, s, &from) || from != name) continue;
    u.all++;
    u.linked += links[TSRI_LINK_STEP + s].layer == layer;
  }
  return u;
}

/* Who needs what: as it is, or in memory. */
static void find_readers(struct keeping *k) {
  for (size_t i = 0; i < k->p->n_layers; i++) {
    const struct tsr_run_layer_plan *l = &k->p->layers[i];
    size_t first = k->p->tenants[l->tenant].first_layer;
    for (size_t a = 0; a < l->op->n_after; a++) {
      size_t name = l->op->after[a], source = tsri_result_head(k->p, first + name);
      struct uses u = uses_of(l->op, &k->links[i * TSRI_LINKS], name, source);
      if (u.linked) k->linked[source] = true;
      if (u.linked < u.all) k->elsewhere[source] = true;
      k->last[source] = i;
    }
  }
}

static int sooner(const void *vx, const void *vy) {
  const struct candidate *x = vx, *y = vy;
  size_t a = x->block.to - x->block.from, b = y->block.to - y->block.from;
  if (a != b) return a < b ? -1 : 1;
  return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static void list_candidates(struct keeping *k) {
  for (size_t i = 0; i < k->p->n_layers; i++) {
    const struct tsr_run_layer_plan *l = &k->p->layers[i];
    if (tsri_result_head(k->p, i) != i || !k->linked[i] || k->elsewhere[i] ||
        l->bypass & 1u << TSR_BUF_C)
      continue;
    k->list[k->n++] = (struct candidate){
        i, {.from = i, .to = k->last[i], .bytes = tsri_result_whole(l, k->sizes[i].c)}};
  }
  qsort(k->list, k->n, sizeof *k->list, sooner);
}

static void put_all(struct keeping *k) {
  const struct tsr_run_plan *p = k->p;
  struct tsr_unit_facts dma;
  const struct tsr_machine_instance *load = &p->machine->slot[TSR_SLOT_LOAD];
  load->ops->unit->facts(load->params, &dma);
  uint64_t slots, bytes;
  tsri_slots(p, TSR_BUF_A, &slots, &bytes);
  uint64_t align = dma.burst_bytes, from = tsr_ceil_div(slots * bytes, align) * align;
  for (size_t i = 0; i < k->n; i++) {
    struct tsri_block b = k->list[i].block;
    size_t at = 0;
    b.bytes = tsr_ceil_div(b.bytes, align) * align; /* whole bursts are written */
    if (!tsri_block_fit(k->put, k->n_put, align, p->residency.keep_bytes, &b, &at)) continue;
    memmove(&k->put[at + 1], &k->put[at], (k->n_put - at) * sizeof *k->put);
    k->put[at] = b;
    k->n_put++;
    p->layers[k->list[i].layer].kept = TSR_ADDR_NEAR + from + b.at;
    k->p->n_kept++;
  }
}

/* Which operands of whom lie there. */
static void mark(const struct keeping *k) {
  for (size_t i = 0; i < k->p->n_layers; i++) {
    struct tsr_run_layer_plan *l = &k->p->layers[i];
    size_t head = tsri_result_head(k->p, i);
    if (head != i && k->p->layers[head].kept)
      l->kept = k->p->layers[head].kept + tsri_result_from(l, k->sizes[i].c);
    l->near[TSR_BUF_C] = l->kept != 0;
    for (int t = TSR_BUF_A; t <= TSR_BUF_B; t++) {
      size_t source = k->links[i * TSRI_LINKS + (size_t)t].layer;
      l->near[t] = source != SIZE_MAX && k->p->layers[source].kept;
    }
  }
}

static enum tsr_status keep_all(struct tsr_run_plan *p, struct tsr_err *err) {
  struct keeping k = {.p = p};
  enum tsr_status st = open_tables(&k) ? TSR_OK : tsr_err_nomem(err);
  for (size_t i = 0; !st && i < p->n_layers; i++)
    st = tsri_sizes_of(p, &p->layers[i], &k.sizes[i], err);
  if (!st) {
    tsri_links_find(p, k.sizes, k.links);
    find_readers(&k);
    list_candidates(&k);
    put_all(&k);
    mark(&k);
  }
  close_tables(&k);
  return st;
}

/* ---- how much ---- */

uint64_t tsri_size_of_a(const struct tsr_machine *m) {
  const struct tsr_machine_instance *a = &m->slot[TSR_SLOT_SRAM_A];
  return a->ops->buffer->slots(a->params) * a->ops->buffer->slot_bytes(a->params);
}

static enum tsr_status check_keep(const struct tsr_run_plan *p, struct tsr_err *err) {
  char have[48], got[48];
  if (!p->residency.keep_bytes) return TSR_OK;
  if (p->machine->cores > 1)
    return tsr_err_set(err, TSR_INPUT,
                       "results are kept in the scratchpad of one core; %s has %" PRIu64
                       ", which meet in memory or in llb; expected keep 0",
                       p->machine->name, p->machine->cores);
  if (p->residency.keep_bytes < tsri_size_of_a(p->machine)) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT,
                     "keep takes all of scratchpad a; expected less than %s, got %s",
                     tsr_quantity_print(tsri_size_of_a(p->machine), TSR_UNIT_BYTES, have),
                     tsr_quantity_print(p->residency.keep_bytes, TSR_UNIT_BYTES, got));
}

/* What was asked for beside a file of mappings is stored as one. */
static enum tsr_status write_text(struct tsr_run_plan *p, struct tsr_err *err) {
  struct tsr_str text = TSR_STR_INIT;
  tsr_mapping_write_head(&p->residency, false, &text);
  p->mapping_text = text.failed ? NULL : tsr_arena_strdup(p->arena, text.p);
  tsr_str_fini(&text);
  return p->mapping_text ? TSR_OK : tsr_err_nomem(err);
}

static enum tsr_status read_keep(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                 struct tsr_err *err) {
  if (p->mappings) p->residency = tsr_mapping_file_residency(p->mappings);
  if (!o->keep && !o->residency) return TSR_OK;
  if (o->program)
    return tsr_err_set(err, TSR_USAGE,
                       "--keep beside --program, which says itself where its "
                       "tensors lie; expected one of them");
  if (p->mappings)
    return tsr_err_set(err, TSR_USAGE,
                       "--keep beside a file of mappings; expected `keep: %s` in %s", o->keep,
                       o->mapping);
  if (o->residency) {
    p->residency = *o->residency;
    return TSR_OK;
  }
  if (tsr_quantity_parse(o->keep, strlen(o->keep), TSR_UNIT_BYTES, &p->residency.keep_bytes) !=
      TSR_QUANTITY_OK)
    return tsr_err_set(err, TSR_USAGE, "--keep takes bytes, as in 2MiB, or auto, got '%s'",
                       o->keep);
  return TSR_OK;
}

enum tsr_status tsri_keep_read(const struct tsr_run_options *o, struct tsr_run_plan *p,
                               struct tsr_err *err) {
  enum tsr_status st = read_keep(o, p, err);
  if (!st) st = check_keep(p, err);
  bool any = p->residency.keep_bytes || p->residency.weights_bypass;
  return st || !any || p->mappings ? st : write_text(p, err);
}

enum tsr_status tsri_keep(struct tsr_run_plan *p, struct tsr_err *err) {
  for (size_t i = 0; i < p->n_layers; i++) {
    struct tsr_run_layer_plan *l = &p->layers[i];
    if (p->mappings) tsr_mapping_file_workload(p->mappings, l->tenant);
    if (p->mappings) l->bypass = tsr_mapping_file_bypass(p->mappings, l->op->name);
    enum tsr_status st = tsri_placement(p, l, err);
    if (st) return st;
    if (p->residency.weights_bypass && tsr_op_b_is_weight(l->op)) l->bypass |= 1u << TSR_BUF_B;
  }
  if (!p->residency.keep_bytes) return TSR_OK;
  enum tsr_status st = keep_all(p, err);
  char size[48];
  if (!st && !p->n_kept)
    tsr_err_warn(
        err, NULL,
        "keep: nothing stays in the %s of scratchpad a: no result that fits is read as "
        "it is by all its readers",
        tsr_quantity_print(p->residency.keep_bytes, TSR_UNIT_BYTES, size));
  return st;
}
