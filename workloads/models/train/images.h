/* Two classifiers of 28 x 28 images with a hand-written backward pass.
 *
 * MLP: 784 - 128 - 10 with Relu.  CNN: 3 x 3 convolutions 1 - 8 - 16, each with Relu and 2 x 2
 * max pooling, then 784 - 32 - 10 with Relu (SRC:lecun1998 is the pattern): 307,648
 * multiply-accumulates an image.
 * Shapes: images x[n,784] in [0, 1]; logits[n,10]; weights as ONNX's Gemm and Conv have them,
 * [out,in] and [out,in,3,3].
 * Ownership: a model is the caller's (tsr_train_images_destroy).  Errors: TSR_NOMEM. */
#ifndef TSR_WORKLOADS_MODELS_TRAIN_IMAGES_H
#define TSR_WORKLOADS_MODELS_TRAIN_IMAGES_H

#include "workloads/models/train/export.h"

enum tsr_train_images_kind { TSR_TRAIN_MLP, TSR_TRAIN_CNN };
enum {
  TSR_TRAIN_BATCH = 64,
  TSR_TRAIN_PIXELS = 784,
  TSR_TRAIN_CLASSES = 10,
  TSR_TRAIN_IMAGE_PARAMS = 8
};

struct tsr_train_images {
  enum tsr_train_images_kind kind;
  size_t n_params; /* rows of the table */
  struct tsr_train_param param[TSR_TRAIN_IMAGE_PARAMS];
  size_t n;     /* weights */
  float *w, *g; /* weights, gradients */
  struct tsri_images_work *work;
};

/* A model with weights by He's rule (SRC:he2015init), counted from `seed`. */
enum tsr_status tsr_train_images_create(enum tsr_train_images_kind kind, uint64_t seed,
                                        struct tsr_train_images **out, struct tsr_err *err);
void tsr_train_images_destroy(struct tsr_train_images *net);
/* n is at most TSR_TRAIN_BATCH. */
void tsr_train_images_forward(struct tsr_train_images *net, const float *x, size_t n,
                              float *logits);
/* After forward of the same images: the gradient into g. */
void tsr_train_images_backward(struct tsr_train_images *net, const float *x, size_t n,
                               const float *dlogits);
enum tsr_status tsr_train_images_export(const struct tsr_train_images *net,
                                        struct tsr_net **out, struct tsr_err *err);

#endif
