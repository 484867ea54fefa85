/* Tensors of a plain or batched matmul: C[g][m][n] = A[g][m][k] * B[g][k][n]. */
#include "kernels/lower/lower_int.h"

static struct tsri_dim along(const struct tsr_shape *s, const struct tsr_mapping *m,
                             enum tsr_isa_axis x) {
  return (struct tsri_dim){
      .size = s->size[x], .extent = m->tile[x], .step = 1, .follow = {{x, 1}}, .n_follow = 1};
}

void tsri_describe_matmul(const struct tsr_shape *s, const struct tsr_mapping *m,
                          struct tsri_tensor t[3]) {
  struct tsri_dim g = along(s, m, TSR_AXIS_G), rows = along(s, m, TSR_AXIS_OW),
                  cols = along(s, m, TSR_AXIS_N), k = along(s, m, TSR_AXIS_C);
  t[0] = (struct tsri_tensor){.elem_bytes = s->a_bytes, .rank = 3, .dim = {g, rows, k}};
  t[1] = (struct tsri_tensor){.elem_bytes = s->b_bytes, .rank = 3, .dim = {g, k, cols}};
  t[2] = (struct tsri_tensor){.elem_bytes = s->out_bytes, .rank = 3, .dim = {g, rows, cols}};
}
