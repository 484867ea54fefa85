/* Inputs whose values are known before the run. */
#include "workloads/net/net.h"

/* Inputs that say how an operator works; its data are elsewhere. */
static const struct parameter {
  enum tsr_net_op op;
  unsigned first, last;
} parameters[] = {{TSR_NET_RESHAPE, 1, 1},
                  {TSR_NET_EXPAND, 1, 1},
                  {TSR_NET_TILE, 1, 1},
                  {TSR_NET_SLICE, 1, 4},
                  {TSR_NET_PAD, 1, 3},
                  {TSR_NET_TOPK, 1, 1},
                  {TSR_NET_SQUEEZE, 1, 1},
                  {TSR_NET_UNSQUEEZE, 1, 1},
                  {TSR_NET_SPLIT, 1, 1},
                  {TSR_NET_RESIZE, 1, 3},
                  {TSR_NET_UPSAMPLE, 1, 1},
                  {TSR_NET_CONSTANT_OF_SHAPE, 0, 0},
                  {TSR_NET_RANGE, 0, 2},
                  {TSR_NET_ONE_HOT, 1, 2},
                  {TSR_NET_TRILU, 1, 1},
                  {TSR_NET_CUM_SUM, 1, 1},
                  {TSR_NET_DROPOUT, 1, 2},
                  {TSR_NET_NON_ZERO, 0, 0},
                  {TSR_NET_REDUCE_SUM, 1, 1},
                  {TSR_NET_REDUCE_MEAN, 1, 1},
                  {TSR_NET_REDUCE_MAX, 1, 1},
                  {TSR_NET_REDUCE_MIN, 1, 1},
                  {TSR_NET_REDUCE_PROD, 1, 1},
                  {TSR_NET_REDUCE_L1, 1, 1},
                  {TSR_NET_REDUCE_L2, 1, 1},
                  {TSR_NET_REDUCE_LOG_SUM, 1, 1},
                  {TSR_NET_REDUCE_LOG_SUM_EXP, 1, 1},
                  {TSR_NET_REDUCE_SUM_SQUARE, 1, 1},
                  {TSR_NET_MATMUL_INTEGER, 2, 3},
                  {TSR_NET_CONV_INTEGER, 1, 3},
                  {TSR_NET_QLINEAR_MATMUL, 1, 2},
                  {TSR_NET_QLINEAR_MATMUL, 4, 7},
                  {TSR_NET_QLINEAR_CONV, 1, 8},
                  {TSR_NET_QUANTIZE_LINEAR, 1, 2},
                  {TSR_NET_DEQUANTIZE_LINEAR, 1, 2}};

bool tsr_net_is_parameter(const struct tsr_net *net, size_t value) {
  for (size_t i = 0; i < net->n_nodes; i++)
    for (size_t k = 0; k < net->nodes[i].n_in; k++) {
      if (net->nodes[i].in[k] != value) continue;
      for (size_t p = 0; p < sizeof parameters / sizeof parameters[0]; p++)
        if (parameters[p].op == net->nodes[i].op && k >= parameters[p].first &&
            k <= parameters[p].last)
          return true;
    }
  return false;
}

enum tsr_status tsr_net_fix(struct tsr_net *net, size_t value, const struct tsr_array *from,
                            struct tsr_err *err) {
  struct tsr_array *own;
  enum tsr_status st = tsr_array_copy(net->arena, from, &own, err);
  if (st) return st;
  size_t n = 0;
  for (size_t i = 0; i < net->n_inputs; i++)
    if (net->inputs[i] != value) net->inputs[n++] = net->inputs[i];
  net->n_inputs = n;
  net->values[value].is_input = false;
  net->values[value].shaped = false;
  return tsr_net_constant(net, value, own, err);
}
