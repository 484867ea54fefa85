/* Where tensors lie in memory: weights for good, activations as long as they are needed.
 *
 * A layer reads a result where the layer before left it (link.c), so that a last-level buffer
 * may still hold it; what has no such source lies in a block of the layer's own.  Blocks of
 * activations share addresses where one is over before the other begins: layers on all cores of
 * their workload are barriers, those between two of them may run side by side. */
#include <inttypes.h>
#include <string.h>

#include "sim/run/pack.h"
#include "sim/run/run_int.h"

enum { PLACE_ALIGN = 4096 };

static uint64_t align_up(uint64_t v) {
  return tsr_ceil_div(v, PLACE_ALIGN) * PLACE_ALIGN;
}

/* ---- sizes ---- */

static enum tsr_status sizes_of_product(const struct tsr_run_layer_plan *l,
                                        struct tsri_sizes *z, struct tsr_err *err) {
  const struct tsr_shape *s = &l->shape;
  /* Room for the arithmetic on strides and tiles that follows. */
  const uint64_t limit = UINT64_MAX >> 8;
  uint64_t a, b, c;
  if (!tsr_op_elems(l->op, &a, &b, &c) || !tsr_mul_u64(a, s->a_bytes, &z->a) ||
      !tsr_mul_u64(b, s->b_bytes, &z->b) || !tsr_mul_u64(c, s->acc_bytes, &z->c) ||
      z->a >= limit || z->b >= limit || z->c >= limit)
    return tsr_err_at(err, TSR_INPUT, &l->op->pos,
                      "the tensors of layer '%s' pass 2^56 bytes; expected smaller m, n, k or "
                      "count",
                      l->op->name);
  if (l->place.pad_bytes || l->place.tiled) {
    uint64_t pitch, row = tsri_weight_row(l, &pitch);
    if (!tsr_mul_u64(b / row, pitch, &z->b) || z->b >= limit)
      return tsr_err_at(err, TSR_INPUT, &l->op->pos,
                        "the padded weights of layer '%s' pass 2^56 bytes", l->op->name);
  }
  z->c = c * s->out_bytes;
  for (size_t i = 0; i < l->op->n_steps; i++) /* no larger than C in 4 bytes an element */
    z->step[i] = tsri_epilogue_elems(l, i) * tsr_ceil_div(tsri_epilogue_format(l, i)->bits, 8);
  return TSR_OK;
}

enum tsr_status tsri_sizes_of(const struct tsr_run_plan *p, const struct tsr_run_layer_plan *l,
                              struct tsri_sizes *z, struct tsr_err *err) {
  *z = (struct tsri_sizes){0};
  if (tsri_is_product(l->op)) return sizes_of_product(l, z, err);
  uint64_t bytes[TSR_LOWER_TENSORS] = {0};
  enum tsr_status st = tsri_op_sizes(p, l, bytes, err);
  z->a = bytes[TSR_LOWER_A];
  z->b = bytes[TSR_LOWER_B];
  z->c = bytes[TSR_LOWER_OUT];
  memcpy(z->extra, bytes + TSR_LOWER_X0, sizeof z->extra);
  return st;
}

/* Beside its tensors: partial sums of cores that divide k among them, one C for each, or of
 * those that an epilogue comes back to; scales. */
static enum tsr_status sizes_beside(const struct tsr_run_layer_plan *l, struct tsri_sizes *z,
                                    struct tsr_err *err) {
  const uint64_t limit = UINT64_MAX >> 8;
  if (!tsri_is_product(l->op)) return TSR_OK;
  uint64_t c = z->c / l->shape.out_bytes, parts = tsri_run_stored(l);
  if (parts && (!tsr_mul_u64(c, tsri_run_sum_bytes(l), &z->parts) ||
                !tsr_mul_u64(z->parts, parts, &z->parts) || z->parts >= limit))
    return tsr_err_at(err, TSR_INPUT, &l->op->pos,
                      "the partial sums of layer '%s' pass 2^56 bytes; expected another split",
                      l->op->name);
  uint64_t scale = l->scale ? tsr_ceil_div(l->scale->bits, 8) : 0;
  if (scale && (!tsr_mul_u64(tsri_run_scales(l), scale, &z->scales) || z->scales >= limit))
    return tsr_err_set(err, TSR_INPUT, "the scales of '%s' pass 2^56 bytes", l->op->name);
  return TSR_OK;
}

/* ---- when layers are at work ---- */

/* From and to which layer's turn each of a workload's may run: its own where it has all
 * cores, else anywhere between the barriers around it. */
static void find_turns(const struct tsr_run_plan *p, const struct tsr_run_tenant *t,
                       struct tsri_block *turn) {
  const struct tsr_run_layer_plan *l = &p->layers[t->first_layer];
  size_t n = t->graph->n_ops, barrier = 0;
  for (size_t i = 0; i < n; i++) {
    bool all = l[i].n_cores == t->n_cores;
    if (all) barrier = i;
    turn[i] = (struct tsri_block){.from = barrier, .to = i};
  }
  for (size_t i = n, next = n; i-- > 0;) {
    bool all = l[i].n_cores == t->n_cores;
    if (!all) turn[i].to = next - 1;
    if (all) next = i;
  }
}

/* ---- blocks ---- */

struct placing {
  struct tsr_run_plan *p;
  const struct tsr_run_tenant *t;
  const struct tsri_sizes *sizes; /* of all layers */
  const struct tsri_link *links;  /* of all layers, TSRI_LINKS each */
  struct tsri_block *turn;        /* of the tenant's layers */
  bool apart; /* operands without a source share no addresses: a buffer would seem to hold them
               */
  struct tsri_block *live; /* by address */
  size_t n_live;
  uint64_t height; /* of all blocks so far */
};

static void expire(struct placing *x, size_t now) {
  size_t n = 0;
  for (size_t i = 0; i < x->n_live; i++)
    if (x->live[i].to >= now) x->live[n++] = x->live[i];
  x->n_live = n;
}

static void insert(struct placing *x, const struct tsri_block *b, size_t at) {
  memmove(&x->live[at + 1], &x->live[at], (x->n_live - at) * sizeof *x->live);
  x->live[at] = *b;
  x->n_live++;
  x->height = tsr_max_u64(x->height, b->at + b->bytes);
}

static uint64_t put(struct placing *x, size_t from, size_t to, uint64_t bytes) {
  struct tsri_block b = {.from = from, .to = to, .bytes = align_up(bytes)};
  size_t at = 0;
  if (!bytes) return 0;
  TSR_CHECK(tsri_block_fit(x->live, x->n_live, PLACE_ALIGN, UINT64_MAX - 1, &b, &at));
  insert(x, &b, at);
  return b.at;
}

/* Behind all that was put so far, for good: a last-level buffer never held anything there. */
static uint64_t put_apart(struct placing *x, uint64_t bytes) {
  const struct tsri_block b = {.to = SIZE_MAX, .bytes = align_up(bytes), .at = x->height};
  if (!bytes) return 0;
  insert(x, &b, x->n_live);
  return b.at;
}

/* The end of the last turn of those that read each result where it lies. */
static void find_lives(const struct placing *x, size_t *last) {
  size_t first = x->t->first_layer, n = x->t->graph->n_ops;
  for (size_t i = 0; i < n; i++) last[i] = x->turn[i].to;
  for (size_t i = 0; i < n; i++) { /* all parts write it */
    size_t head = tsri_result_head(x->p, first + i) - first;
    last[head] = tsr_max_u64(last[head], x->turn[i].to);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t o = 0; o < TSRI_LINKS; o++) {
      size_t source = x->links[(first + i) * TSRI_LINKS + o].layer;
      if (source == SIZE_MAX) continue;
      last[source - first] = tsr_max_u64(last[source - first], x->turn[i].to);
    }
}

/* The address of an operand: where its source left it, or in a block of its own. */
static uint64_t operand_at(struct placing *x, size_t i, size_t o, uint64_t bytes) {
  size_t layer = x->t->first_layer + i;
  const struct tsri_link *l = &x->links[layer * TSRI_LINKS + o];
  if (l->layer == SIZE_MAX) /* it was there before the run */
    return x->apart ? put_apart(x, bytes) : put(x, x->turn[i].from, x->turn[i].to, bytes);
  return x->p->layers[l->layer].base_bytes[TSR_BUF_C] + l->from_bytes;
}

static uint64_t result_at(struct placing *x, size_t i, size_t last) {
  size_t layer = x->t->first_layer + i, head = tsri_result_head(x->p, layer);
  const struct tsr_run_layer_plan *l = &x->p->layers[layer];
  uint64_t bytes = x->sizes[layer].c;
  if (l->kept) return l->kept;
  if (head != layer)
    return x->p->layers[head].base_bytes[TSR_BUF_C] + tsri_result_from(l, bytes);
  return put(x, x->turn[i].from, last, tsri_result_whole(l, bytes));
}

static void place_layer(struct placing *x, size_t i, size_t last) {
  struct tsr_run_layer_plan *l = &x->p->layers[x->t->first_layer + i];
  const struct tsri_sizes *z = &x->sizes[x->t->first_layer + i];
  size_t from = x->turn[i].from, to = x->turn[i].to;
  expire(x, from);
  l->base_bytes[TSR_BUF_A] = operand_at(x, i, TSRI_LINK_A, z->a);
  l->base_bytes[TSR_BUF_C] = result_at(x, i, last);
  if (!tsr_op_kind_b_is_weight(l->op->kind))
    l->base_bytes[TSR_BUF_B] = operand_at(x, i, TSRI_LINK_B, z->b);
  l->parts_bytes = put(x, from, to, z->parts);
  for (size_t s = 0; s < l->op->n_steps; s++)
    l->step_bytes[s] = operand_at(x, i, TSRI_LINK_STEP + s, z->step[s]);
  for (int t = 0; t < TSR_LOWER_EXTRA; t++) l->extra_bytes[t] = put(x, from, to, z->extra[t]);
}

/* The activations of a workload, from address 0 on; *height: behind them. */
static enum tsr_status place_tenant(struct tsr_run_plan *p, const struct tsr_run_tenant *t,
                                    const struct tsri_sizes *sizes,
                                    const struct tsri_link *links, uint64_t *height,
                                    struct tsr_err *err) {
  enum { BLOCKS = 2 + TSRI_LINKS + TSR_LOWER_EXTRA }; /* of a layer at most */
  size_t n = t->graph->n_ops;
  struct placing x = {
      .p = p, .t = t, .sizes = sizes, .links = links, .apart = p->machine->llb >= 0};
  size_t *last = tsr_mem_array(n + 1, sizeof *last);
  x.turn = tsr_mem_array(n + 1, sizeof *x.turn);
  x.live = tsr_mem_array(n + 1, BLOCKS * sizeof *x.live);
  bool ok = last && x.turn && x.live;
  if (ok) {
    find_turns(p, t, x.turn);
    find_lives(&x, last);
    for (size_t i = 0; i < n; i++) place_layer(&x, i, last[i]);
    *height = x.height;
  }
  tsr_mem_free(last);
  tsr_mem_free(x.turn);
  tsr_mem_free(x.live);
  return ok ? TSR_OK : tsr_err_nomem(err);
}

/* ---- weights ---- */

enum tsr_status tsri_placement(struct tsr_run_plan *p, struct tsr_run_layer_plan *l,
                               struct tsr_err *err) {
  const struct tsr_pos *pos = NULL;
  const bool weights = tsri_is_product(l->op) && tsr_op_b_is_weight(l->op);
  if (!p->mappings) return TSR_OK;
  l->place = tsr_mapping_file_place(p->mappings, l->op->name, &pos);
  l->place_loose = !pos;
  if (pos && !weights)
    return tsr_err_at(err, TSR_INPUT, pos, "place: layer '%s' has no weights to be placed",
                      l->op->name);
  if (pos && l->place.tiled && l->op->has_conv)
    return tsr_err_at(err, TSR_INPUT, pos,
                      "place: layout: tiled is of matmuls; layer '%s' is a convolution",
                      l->op->name);
  if (!weights) l->place = (struct tsr_placement){0};
  if (l->op->has_conv) l->place.tiled = false;
  uint64_t element = weights ? l->shape.b_bytes : 1;
  if (l->place.skew_bytes % element || l->place.pad_bytes % element)
    return tsr_err_at(err, TSR_INPUT, pos ? pos : &l->op->pos,
                      "place: skew and pad of '%s' are no multiples of an element's %" PRIu64
                      " bytes",
                      l->op->name, element);
  return TSR_OK;
}

uint64_t tsri_weight_row(const struct tsr_run_layer_plan *l, uint64_t *pitch_bytes) {
  uint64_t row = l->place.tiled ? l->mapping.tile[TSR_AXIS_N] : l->shape.size[TSR_AXIS_N];
  *pitch_bytes = row * l->shape.b_bytes + l->place.pad_bytes;
  return row;
}

/* Panels are as wide as a tile; none is cut, at the end or between cores. */
static enum tsr_status check_panels(struct tsr_run_layer_plan *l, struct tsr_err *err) {
  uint64_t tile = l->mapping.tile[TSR_AXIS_N], n = l->shape.size[TSR_AXIS_N];
  if (!l->place.tiled) return TSR_OK;
  bool whole = n % tile == 0;
  for (int i = 0; i < 2; i++)
    if (l->split.axis[i] == TSR_AXIS_N && l->split.parts[i] > 1 && l->split.chunk[i] % tile)
      whole = false;
  if (whole) return TSR_OK;
  if (l->place_loose) {
    l->place.tiled = false;
    return TSR_OK;
  }
  return tsr_err_at(
      err, TSR_INPUT, &l->op->pos,
      "place: layout: tiled needs a tile of n that divides n (and what a core has "
      "of it); of layer '%s' it is %" PRIu64 " of %" PRIu64,
      l->op->name, tile, n);
}

/* In the order of the layers, from address 0 on: scales, then what they scale. */
static enum tsr_status place_weights(struct tsr_run_plan *p, const struct tsri_sizes *sizes,
                                     uint64_t *weights, struct tsr_err *err) {
  *weights = 0;
  for (size_t i = 0; i < p->n_layers; i++) {
    struct tsr_run_layer_plan *l = &p->layers[i];
    bool held = tsr_op_kind_b_is_weight(l->op->kind);
    l->scales_bytes = *weights;
    if (!tsr_add_u64(*weights, align_up(sizes[i].scales), weights))
      return tsr_err_set(err, TSR_INPUT, "the scales of '%s' pass 2^64 bytes", l->graph->name);
    uint64_t align = tsr_max_u64(l->place.align_bytes, PLACE_ALIGN);
    if (held && *weights < UINT64_MAX >> 1)
      *weights = tsr_ceil_div(*weights, align) * align + l->place.skew_bytes;
    if (held) l->base_bytes[TSR_BUF_B] = *weights;
    uint64_t bytes = align_up(sizes[i].b + l->place.skew_bytes) - l->place.skew_bytes;
    if (held && !tsr_add_u64(*weights, bytes, weights))
      return tsr_err_set(err, TSR_INPUT, "the weights of '%s' pass 2^64 bytes", l->graph->name);
  }
  return TSR_OK;
}

/* What bypasses a last-level buffer. */
static void send_past(const struct tsr_run_plan *p, struct tsr_run_layer_plan *l) {
  for (int t = TSR_BUF_A; p->machine->llb >= 0 && t <= TSR_BUF_C; t++)
    if (l->bypass & 1u << t && !l->near[t]) l->base_bytes[t] |= TSR_ADDR_PAST;
}

static void move_by(uint64_t *address, uint64_t by) {
  if (!(*address & TSR_ADDR_NEAR)) *address += by;
}

/* Activations lie behind the weights. */
static void move_layer(struct tsr_run_layer_plan *l, uint64_t by) {
  move_by(&l->base_bytes[TSR_BUF_A], by);
  move_by(&l->base_bytes[TSR_BUF_C], by);
  if (!tsr_op_kind_b_is_weight(l->op->kind)) move_by(&l->base_bytes[TSR_BUF_B], by);
  l->parts_bytes += by;
  for (size_t s = 0; s < l->op->n_steps; s++) move_by(&l->step_bytes[s], by);
  for (int t = 0; t < TSR_LOWER_EXTRA; t++) l->extra_bytes[t] += by;
}

/* ---- all of it ---- */

static enum tsr_status check_capacity(struct tsr_run_plan *p, uint64_t weights, uint64_t acts,
                                      struct tsr_err *err) {
  const struct tsr_machine_instance *dram = &p->machine->slot[TSR_SLOT_DRAM];
  uint64_t capacity = dram->ops->memory->capacity(dram->params);
  if (!tsr_add_u64(weights, acts, &p->dram_bytes)) p->dram_bytes = UINT64_MAX - 1;
  if (capacity == TSR_UNLIMITED || p->dram_bytes <= capacity) return TSR_OK;

  const bool large = p->dram_bytes >= (uint64_t)1 << 30;
  const double unit = large ? 1 << 30 : 1 << 10;
  const char *name = large ? "GiB" : "KiB";
  uint64_t missing = p->dram_bytes - capacity;
  return tsr_err_set(err, TSR_INPUT,
                     "workload '%s' does not fit dram.capacity: it needs %.2f %s (%.2f %s of "
                     "weights), the machine has %.2f %s; %.2f %s (%" PRIu64
                     " bytes) are missing",
                     p->name, (double)p->dram_bytes / unit, name, (double)weights / unit, name,
                     (double)capacity / unit, name, (double)missing / unit, name, missing);
}

static enum tsr_status place_all(struct tsr_run_plan *p, struct tsri_sizes *sizes,
                                 struct tsri_link *links, struct tsr_err *err) {
  uint64_t weights, acts = 0;
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < p->n_layers; i++) {
    st = check_panels(&p->layers[i], err);
    if (!st) st = tsri_sizes_of(p, &p->layers[i], &sizes[i], err);
    if (!st) st = sizes_beside(&p->layers[i], &sizes[i], err);
  }
  if (!st) st = place_weights(p, sizes, &weights, err);
  if (st) return st;
  tsri_links_find(p, sizes, links);
  for (size_t t = 0; !st && t < p->n_tenants; t++) {
    const struct tsr_run_tenant *x = &p->tenants[t];
    uint64_t height = 0;
    st = place_tenant(p, x, sizes, links, &height, err);
    for (size_t i = 0; !st && i < x->graph->n_ops; i++)
      move_layer(&p->layers[x->first_layer + i], weights + acts);
    if (!st && !tsr_add_u64(acts, height, &acts)) acts = UINT64_MAX - 1;
  }
  for (size_t i = 0; !st && i < p->n_layers; i++) send_past(p, &p->layers[i]);
  return st ? st : check_capacity(p, weights, acts, err);
}

enum tsr_status tsri_place(struct tsr_run_plan *p, struct tsr_err *err) {
  struct tsri_sizes *sizes = tsr_mem_array(p->n_layers + 1, sizeof *sizes);
  struct tsri_link *links = tsr_mem_array(p->n_layers + 1, TSRI_LINKS * sizeof *links);
  enum tsr_status st = sizes && links ? place_all(p, sizes, links, err) : tsr_err_nomem(err);
  tsr_mem_free(sizes);
  tsr_mem_free(links);
  return st;
}
