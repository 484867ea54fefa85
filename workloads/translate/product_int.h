/* What the files of products share: matrix products, convolutions, integers, recurrent layers,
 * and the pass that makes epilogues of what stands behind them. */
#ifndef TSR_WORKLOADS_TRANSLATE_PRODUCT_INT_H
#define TSR_WORKLOADS_TRANSLATE_PRODUCT_INT_H

#include "workloads/translate/translate_int.h"

/* The families; tables as those of translate_int.h. */
extern const struct tsri_tr_row tsri_tr_matmul_rows[], tsri_tr_conv_rows[],
    tsri_tr_integer_rows[], tsri_tr_recurrent_rows[];

/* Returns what f returns unless that is TSR_OK. */
#define TSRI_TRY(f)                    \
  do {                                 \
    enum tsr_status try_status = (f);  \
    if (try_status) return try_status; \
  } while (0)

/* ---- views ---- */

/* The value's dimensions, reached by none of the operand's `rank` dimensions yet. */
struct tsr_view tsri_tr_view_blank(const struct tsri_tr *t, size_t value, unsigned rank,
                                   const uint64_t *dim);
/* Operand dimension e moves along the value's dimension d. */
void tsri_tr_view_move(struct tsr_view *v, unsigned d, unsigned e, int64_t by);
/* Two views of the same operand take the same places, each of its own value. */
bool tsri_tr_view_same(const struct tsr_view *a, const struct tsr_view *b);

/* ---- matrix products (matmul.c) ---- */

/* The product of two values as MatMul defines it, all operands bound; formats by their types.
 * `out` has the shape of the result. */
enum tsr_status tsri_tr_matmul(struct tsri_tr *t, size_t a, size_t b, size_t out,
                               struct tsri_tr_item *item);
/* The same of two matrices, each of them transposed or not. */
enum tsr_status tsri_tr_gemm(struct tsri_tr *t, size_t a, bool ta, size_t b, bool tb,
                             size_t out, struct tsri_tr_item *item);
struct tsr_view tsri_tr_view_matrix(const struct tsri_tr *t, size_t value, bool transposed);
/* `bias` of item's results as the next step of its epilogue: `view` gives one element for each
 * column, of all counts. */
enum tsr_status tsri_tr_step(struct tsri_tr *t, struct tsri_tr_item *item,
                             enum tsr_op_kind kind, enum tsr_with with,
                             const struct tsr_view *view);

/* ---- convolutions (conv.c) ---- */

/* A convolution of x [N, C, spatial…] with w [out_c, in_c/groups, spatial…]. */
struct tsri_tr_conv {
  struct tsr_net_window win;
  uint64_t batch, in_c, out_c;
  bool
      transposed; /* w is [in_c, out_c/groups, spatial…], its taps from the last to the first */
};
/* Emits it into `out` [N, out_c, spatial…], named `what`; bias: one element for each output
 * channel, SIZE_MAX: none.  More than two spatial dimensions: windows are copied out first. */
enum tsr_status tsri_tr_conv_emit(struct tsri_tr *t, const char *what,
                                  const struct tsri_tr_conv *c, size_t x, size_t w, size_t bias,
                                  size_t out);
/* The convolution that a node of the family of Conv is; x and w by number of input. */
enum tsr_status tsri_tr_conv_of(struct tsri_tr *t, const struct tsr_net_node *n, size_t x,
                                size_t w, struct tsri_tr_conv *c);

/* ---- integers (integer.c) ---- */

/* A product of MatMul, Gemm or Conv whose operands come from DequantizeLinear is done on the
 * codes: *done then, and nothing is left to do. */
enum tsr_status tsri_tr_on_codes(struct tsri_tr *t, const struct tsr_net_node *n, bool *done);

/* ---- layout (free.c) ---- */

bool tsri_tr_is_product(const struct tsri_tr_item *item);
/* The only item that writes the value, or the only one that `reads` it; SIZE_MAX: none, or
 * several. */
size_t tsri_tr_only_item(const struct tsri_tr *t, size_t value, bool reads);
/* It leaves the model, or goes to a node that has no kernel. */
bool tsri_tr_leaves(const struct tsri_tr *t, size_t value);
/* Copies that only products read become views of these.  To be called when all nodes are
 * lowered. */
enum tsr_status tsri_tr_free_layout(struct tsri_tr *t);

/* ---- epilogues (fuse.c) ---- */

/* Operators that stand behind a product become steps of its epilogue where the machine can run
 * them so; what nobody reads is dropped.  To be called behind tsri_tr_free_layout. */
enum tsr_status tsri_tr_fuse(struct tsri_tr *t);
/* All elements of a constant operand of one row, or of one part, the caller's. */
enum tsr_status tsri_tr_read(const struct tsri_tr *t, const struct tsr_operand_view *o,
                             double **out);
/* Binds new weights to a product: its own, each column times by[column of all counts]. */
enum tsr_status tsri_tr_scale_weights(struct tsri_tr *t, struct tsri_tr_item *p,
                                      const double *by);

/* ---- neighbours (settle.c) ---- */

/* Factors go into weights, rows are counted as the product before them counts its own.  To be
 * called behind tsri_tr_fuse. */
enum tsr_status tsri_tr_settle(struct tsri_tr *t);

#endif
