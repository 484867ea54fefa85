/* A decoder-only transformer of bytes with a hand-written backward pass.
 *
 * Token and position embeddings; per layer, each before its residual add: LayerNorm, causal
 * attention of `heads` heads, LayerNorm, two dense layers with GELU; LayerNorm, output head of
 * its own (SRC:vaswani2017, pre-norm as SRC:radford2019).
 * Shapes: tokens[b,s], logits[b,s,vocab]; weights [in,out], the right operand of a MatMul.
 * Units: f32.  Ownership: a model is the caller's (tsr_train_lm_destroy).
 * Errors: TSR_NOMEM; sizes that do not fit are the caller's bug. */
#ifndef TSR_WORKLOADS_MODELS_TRAIN_LM_H
#define TSR_WORKLOADS_MODELS_TRAIN_LM_H

#include "workloads/models/train/export.h"

/* The rows of a layer in the table of parameters. */
enum tsr_train_lm_row {
  TSR_TRAIN_LN1_G,
  TSR_TRAIN_LN1_B,
  TSR_TRAIN_WQ,
  TSR_TRAIN_BQ,
  TSR_TRAIN_WK,
  TSR_TRAIN_BK,
  TSR_TRAIN_WV,
  TSR_TRAIN_BV,
  TSR_TRAIN_WO,
  TSR_TRAIN_BO,
  TSR_TRAIN_LN2_G,
  TSR_TRAIN_LN2_B,
  TSR_TRAIN_W1,
  TSR_TRAIN_B1,
  TSR_TRAIN_W2,
  TSR_TRAIN_B2,
  TSR_TRAIN_LM_ROWS
};
/* The rows before the first layer, and, from its end on, behind the last. */
enum { TSR_TRAIN_TOKEN, TSR_TRAIN_POSITION, TSR_TRAIN_LM_FIRST };
enum { TSR_TRAIN_LNF_G, TSR_TRAIN_LNF_B, TSR_TRAIN_HEAD, TSR_TRAIN_LM_LAST };

struct tsr_train_lm_shape {
  size_t layers, d, heads, ffn, vocab, ctx; /* ctx: positions */
};
struct tsr_train_lm {
  struct tsr_train_lm_shape shape;
  size_t n_params;
  struct tsr_train_param *param;
  size_t n;              /* weights */
  float *w, *g;          /* weights, gradients */
  size_t tokens, length; /* that there is room for: b * s, s */
  struct tsri_lm_work *work;
};

/* The shape of char-lm.onnx. */
extern const struct tsr_train_lm_shape tsr_train_lm_char;

/* A model with random weights counted from `seed`, with room for passes of `tokens` tokens in
 * rows of at most `length`. */
enum tsr_status tsr_train_lm_create(const struct tsr_train_lm_shape *shape, uint64_t seed,
                                    size_t tokens, size_t length, struct tsr_train_lm **out,
                                    struct tsr_err *err);
void tsr_train_lm_destroy(struct tsr_train_lm *lm);
void tsr_train_lm_forward(struct tsr_train_lm *lm, const uint8_t *tokens, size_t b, size_t s,
                          float *logits);
/* After forward of the same tokens: the gradient into g. */
void tsr_train_lm_backward(struct tsr_train_lm *lm, const uint8_t *tokens, size_t b, size_t s,
                           const float *dlogits);
/* Makes the channels outliers: gain and bias of every LayerNorm are multiplied by `factor` in
 * them, the rows of what reads them divided.  The function stays what it is, exactly when
 * `factor` is a power of 2; the normalised activations get the outlier channels of large models
 * (SRC:dettmers2022), which SRC:xiao2023 takes away by the inverse of this. */
void tsr_train_lm_outliers(struct tsr_train_lm *lm, const size_t *channel, size_t n,
                           float factor);
enum tsr_status tsr_train_lm_export(const struct tsr_train_lm *lm, struct tsr_net **out,
                                    struct tsr_err *err);

#endif
