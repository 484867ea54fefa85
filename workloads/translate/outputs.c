/* Outputs of the model that no operator makes: they are elements of an input under another
 * shape (a model that only reshapes), or constants.  The machine writes them all the same, by
 * `copy`. */
#include "workloads/translate/product_int.h"

static bool is_written(const struct tsri_tr *t, size_t value) {
  for (size_t i = 0; i < t->n; i++) {
    const struct tsri_tr_item *it = &t->items[i];
    if (it->dropped) continue;
    if (it->bind.has_out && it->bind.out.value == value) return true;
    if (it->bind.has_out2 && it->bind.out2.value == value) return true;
  }
  return false;
}

/* A value that nobody is to make: the model's input itself, or what a skipped node would. */
static bool is_given(const struct tsr_net *net, size_t value) {
  const struct tsr_net_value *v = &net->values[value];
  return v->is_input || (v->producer != SIZE_MAX && net->nodes[v->producer].skipped);
}

static enum tsr_status copy_out(struct tsri_tr *t, size_t output) {
  struct tsr_net *net = t->net;
  const struct tsri_tr_shape s = tsri_tr_shape_of(t, output);
  struct tsr_view from = tsri_tr_view(t, output);
  size_t to = output;
  if (!s.n) return TSR_OK;
  if (net->values[output].producer != SIZE_MAX) t->node = net->values[output].producer;
  if (tsr_translate_source(net, output) == output) { /* a constant: its elements stay its own */
    enum tsr_status st = tsri_tr_temp(t, "made", s.type, s.rank, s.dim, &to);
    if (st) return st;
    net->values[output].alias = to;
  } else {
    net->values[output].alias = SIZE_MAX;
  }
  struct tsr_view dst = tsri_tr_view(t, to);
  return tsri_tr_copy(t, "output", &from, &dst);
}

enum tsr_status tsri_tr_outputs(struct tsri_tr *t) {
  enum tsr_status st = TSR_OK;
  for (size_t o = 0; !st && o < t->net->n_outputs; o++) {
    size_t output = t->net->outputs[o], source = tsr_translate_source(t->net, output);
    if (is_given(t->net, output) || is_written(t, source)) continue;
    if (source != output && t->net->values[source].producer != SIZE_MAX &&
        t->net->nodes[t->net->values[source].producer].skipped)
      continue;
    st = copy_out(t, output);
  }
  return st;
}
