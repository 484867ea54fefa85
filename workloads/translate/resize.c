/* Resize and Upsample by the plan of the net: axes of one tap are tables of a copy; along
 * others each tap is a copy by table, times its weights, and the taps are added up. */
#include <string.h>

#include "workloads/translate/translate_int.h"

/* The table of tap k along axis d; `outside` gives entries that are none. */
static int64_t *table_of(struct tsri_tr *t, const struct tsr_net_resize *r, unsigned d,
                         unsigned k, bool outside) {
  int64_t *table = tsr_arena_array(t->net->arena, r->out[d], sizeof *table);
  for (uint64_t o = 0; table && o < r->out[d]; o++)
    table[o] = outside && r->outside[d] && r->outside[d][o]
                   ? -1
                   : (int64_t)r->index[d][o * r->taps[d] + k];
  return table;
}

static enum tsr_status look_up(struct tsri_tr *t, const struct tsr_net_resize *r, unsigned d,
                               unsigned k, bool outside, struct tsr_view *v) {
  v->table[d] = table_of(t, r, d, k, outside);
  if (!v->table[d]) return tsr_err_nomem(t->err);
  v->dim[d] = v->n_table[d] = r->out[d];
  return TSR_OK;
}

/* The axis stays as it is: each result is the element at its place. */
static bool is_plain(const struct tsr_net_resize *r, unsigned d) {
  if (r->in[d] != r->out[d] || r->outside[d]) return false;
  for (uint64_t o = 0; o < r->out[d]; o++)
    for (unsigned k = 0; k < r->taps[d]; k++) {
      uint64_t at = o * r->taps[d] + k;
      if (r->weight[d][at] != 0 && (r->index[d][at] != o || r->weight[d][at] != 1))
        return false;
    }
  return true;
}

/* Every axis has one tap: a copy. */
static enum tsr_status pick(struct tsri_tr *t, const struct tsr_net_node *n,
                            const struct tsr_net_resize *r) {
  struct tsr_view src = tsri_tr_view(t, n->in[0]), dst = tsri_tr_view(t, n->out[0]);
  bool plain = true;
  src.fill = r->fill;
  for (unsigned d = 0; d < r->rank; d++) {
    if (is_plain(r, d)) continue;
    plain = false;
    enum tsr_status s = look_up(t, r, d, 0, true, &src);
    if (s) return s;
  }
  if (plain) return tsri_tr_alias(t, n->in[0], n->out[0]);
  return tsri_tr_copy(t, NULL, &src, &dst);
}

/* Tap k of axis d, weighted, as a new value of these dimensions. */
static enum tsr_status tap(struct tsri_tr *t, const struct tsr_net_resize *r, unsigned d,
                           unsigned k, size_t x, enum tsr_dtype type, const uint64_t *dim,
                           size_t *out) {
  uint64_t along[TSR_RANK_MAX];
  for (unsigned e = 0; e < r->rank; e++) along[e] = e == d ? dim[e] : 1;
  size_t taken = SIZE_MAX, weights = SIZE_MAX;
  struct tsr_array *a = NULL;
  struct tsr_view src = tsri_tr_view(t, x);
  enum tsr_status s = look_up(t, r, d, k, false, &src);
  if (!s) s = tsri_tr_temp(t, "tap", type, r->rank, dim, &taken);
  if (!s) s = tsri_tr_temp(t, "weighted", type, r->rank, dim, out);
  if (!s) s = tsri_tr_const(t, "weights", type, r->rank, along, &weights, &a);
  if (s) return s;
  for (uint64_t o = 0; o < r->out[d]; o++)
    tsr_array_set(a, o, r->weight[d][o * r->taps[d] + k]);
  struct tsr_view dst = tsri_tr_view(t, taken);
  s = tsri_tr_copy(t, "tap", &src, &dst);
  return s ? s : tsri_tr_binary(t, "weighted", TSR_OP_MUL, taken, weights, *out);
}

/* Axis d of *x resized: *x becomes a new value, or `last` where that is one. */
static enum tsr_status along_axis(struct tsri_tr *t, const struct tsr_net_resize *r, unsigned d,
                                  enum tsr_dtype type, size_t last, size_t *x) {
  uint64_t dim[TSR_RANK_MAX];
  memcpy(dim, t->net->values[*x].dim, sizeof dim);
  dim[d] = r->out[d];
  size_t sum = SIZE_MAX;
  for (unsigned k = 0; k < r->taps[d]; k++) {
    size_t one = SIZE_MAX, both = last;
    enum tsr_status s = tap(t, r, d, k, *x, type, dim, &one);
    bool final = k + 1 == r->taps[d] && last != SIZE_MAX;
    if (!s && k && !final) s = tsri_tr_temp(t, "sum", type, r->rank, dim, &both);
    if (!s && k) s = tsri_tr_binary(t, "sum", TSR_OP_ADD, sum, one, both);
    if (s) return s;
    sum = k ? both : one;
  }
  *x = sum;
  return last == SIZE_MAX || sum == last ? TSR_OK : tsri_tr_alias(t, sum, last);
}

/* Results outside the input are the fill. */
static enum tsr_status fill(struct tsri_tr *t, const struct tsr_net_resize *r, size_t x,
                            enum tsr_dtype type, size_t out) {
  uint64_t dim[TSR_RANK_MAX];
  for (unsigned d = 0; d < r->rank; d++) dim[d] = r->outside[d] ? r->out[d] : 1;
  size_t inside = SIZE_MAX, border = SIZE_MAX, kept = SIZE_MAX;
  struct tsr_array *a = NULL, *b = NULL;
  enum tsr_status s = tsri_tr_const(t, "inside", TSR_DTYPE_BOOL, r->rank, dim, &inside, &a);
  if (!s) s = tsri_tr_const(t, "border", type, r->rank, dim, &border, &b);
  if (!s) s = tsri_tr_temp(t, "kept", type, r->rank, r->out, &kept);
  for (uint64_t i = 0; !s && i < a->n; i++) {
    bool is_in = true;
    uint64_t left = i;
    for (unsigned d = r->rank; d-- > 0; left /= dim[d])
      is_in = is_in && !(r->outside[d] && r->outside[d][left % dim[d]]);
    tsr_array_set(a, i, is_in);
    tsr_array_set(b, i, is_in ? 0 : r->fill);
  }
  if (!s) s = tsri_tr_binary(t, "kept", TSR_OP_KEEP, x, inside, kept);
  return s ? s : tsri_tr_binary(t, "filled", TSR_OP_ADD, kept, border, out);
}

static enum tsr_status weigh(struct tsri_tr *t, const struct tsr_net_node *n,
                             const struct tsr_net_resize *r) {
  enum tsr_dtype type = tsri_tr_shape_of(t, n->out[0]).type;
  unsigned last = 0;
  bool outside = false;
  for (unsigned d = 0; d < r->rank; d++) {
    if (!is_plain(r, d)) last = d;
    outside = outside || r->outside[d];
  }
  size_t x = n->in[0];
  for (unsigned d = 0; d < r->rank; d++) {
    if (is_plain(r, d)) continue;
    enum tsr_status s =
        along_axis(t, r, d, type, d == last && !outside ? n->out[0] : SIZE_MAX, &x);
    if (s) return s;
  }
  return outside ? fill(t, r, x, type, n->out[0]) : TSR_OK;
}

static enum tsr_status resize(struct tsri_tr *t, const struct tsr_net_node *n,
                              const void *arg) {
  (void)arg;
  struct tsr_net_resize r;
  if (tsri_tr_shape_of(t, n->out[0]).n == 0) return TSR_OK;
  enum tsr_status s = tsr_net_resize_plan(t->net, n, t->net->arena, &r, t->err);
  if (s) return s;
  bool picks = true;
  for (unsigned d = 0; d < r.rank; d++) picks = picks && (r.taps[d] == 1 || is_plain(&r, d));
  return picks ? pick(t, n, &r) : weigh(t, n, &r);
}

const struct tsri_tr_row tsri_tr_resize_rows[] = {
    {"Resize", resize, NULL},
    {"Upsample", resize, NULL},
    {NULL, NULL, NULL},
};
