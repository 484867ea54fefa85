/* Data sets: images with labels, or a text.
 *
 * A path is one of
 *   a folder with t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each plain or `.gz`: the
 *     test part of MNIST and its kin (Debian's dataset-fashion-mnist has one);
 *   one images file of such a pair (`…images-idx3-ubyte[.gz]`); its labels lie beside it;
 *   a safetensors file with `images` (u8 or f32; [N,H,W] or [N,C,H,W]) and `labels` (integers,
 *     [N]);
 *   a text file (`.txt`), whose bytes are tokens.
 * What a file is follows from its first bytes; only a text is known by its ending.
 * Units and shapes: images come as f32 [n,C,H,W]; those of unsigned bytes as u8/255 in double
 * precision, those of f32 as they are.
 * Ownership: a data set is the caller's (tsr_dataset_close); labels and text live with it;
 * arrays are the caller's, or the arena's where one is given.
 * Errors: TSR_INPUT says what was expected. */
#ifndef TSR_WORKLOADS_TENSOR_DATASET_H
#define TSR_WORKLOADS_TENSOR_DATASET_H

#include "workloads/net/array.h"

enum tsr_dataset_kind { TSR_DATASET_IMAGES, TSR_DATASET_TEXT };
struct tsr_dataset;

enum tsr_status tsr_dataset_open(const char *path, struct tsr_dataset **out,
                                 struct tsr_err *err);
void tsr_dataset_close(struct tsr_dataset *d);
enum tsr_dataset_kind tsr_dataset_kind(const struct tsr_dataset *d);
/* Images, or bytes of the text; at least 1. */
uint64_t tsr_dataset_count(const struct tsr_dataset *d);
/* C, H, W of an image. */
void tsr_dataset_image_dims(const struct tsr_dataset *d, uint64_t dim[3]);
/* Images [first, first + n), which are within the count. */
enum tsr_status tsr_dataset_images(struct tsr_dataset *d, uint64_t first, uint64_t n,
                                   struct tsr_arena *arena, struct tsr_array **out,
                                   struct tsr_err *err);
/* One for each image, 0 or more; NULL of a text. */
const int64_t *tsr_dataset_labels(const struct tsr_dataset *d);
/* The text, count bytes; NULL of images. */
const uint8_t *tsr_dataset_text(const struct tsr_dataset *d);

#endif
