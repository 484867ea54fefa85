/* Data sets by what their files hold. */
#include "workloads/tensor/dataset.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/io.h"
#include "sim/base/str.h"
#include "workloads/tensor/file_int.h"
#include "workloads/tensor/idx.h"
#include "workloads/tensor/safetensors.h"

struct tsr_dataset {
  enum tsr_dataset_kind kind;
  uint64_t n, dim[3];
  int64_t *labels;            /* owned */
  char *text;                 /* owned */
  struct tsr_idx idx;         /* images as bytes, or */
  struct tsr_safetensors *st; /* images in a file: */
  size_t images;              /* the tensor */
};

void tsr_dataset_close(struct tsr_dataset *d) {
  if (!d) return;
  tsr_mem_free(d->labels);
  tsr_mem_free(d->text);
  tsr_idx_fini(&d->idx);
  tsr_safetensors_close(d->st);
  tsr_mem_free(d);
}

/* ---- a pair of IDX files ---- */

static enum tsr_status take_labels(struct tsr_dataset *d, const char *path,
                                   const struct tsr_idx *labels, struct tsr_err *err) {
  if (labels->rank != 1 || labels->n != d->n)
    return tsr_err_set(err, TSR_INPUT,
                       "labels of '%s'; expected one for each of the %llu images, got %llu",
                       path, (unsigned long long)d->n, (unsigned long long)labels->n);
  d->labels = tsr_mem_array((size_t)d->n, sizeof *d->labels);
  if (!d->labels) return tsr_err_nomem(err);
  for (uint64_t i = 0; i < d->n; i++) d->labels[i] = labels->data[i];
  return TSR_OK;
}

static enum tsr_status open_pair(struct tsr_dataset *d, const char *images, const char *labels,
                                 struct tsr_err *err) {
  struct tsr_idx of_labels = {0};
  enum tsr_status st = tsr_idx_open(images, &d->idx, err);
  if (st) return st;
  const struct tsr_idx *x = &d->idx;
  char shape[TSRI_SHAPE_TEXT];
  if (x->rank != 3 || x->n == 0)
    return tsr_err_set(err, TSR_INPUT,
                       "images of '%s'; expected count x rows x columns, got %s", images,
                       tsri_shape_text(x->rank, x->dim, shape));
  d->n = x->dim[0];
  d->dim[0] = 1;
  d->dim[1] = x->dim[1];
  d->dim[2] = x->dim[2];
  st = tsr_idx_open(labels, &of_labels, err);
  if (!st) st = take_labels(d, labels, &of_labels, err);
  tsr_idx_fini(&of_labels);
  return st;
}

static bool exists(const char *path) {
  return access(path, F_OK) == 0;
}

/* `<folder>/<name>` or the same with `.gz`, the one that is there; NULL: no memory. */
static char *beside(const char *folder, const char *name) {
  char *plain = tsr_mem_printf("%s/%s", folder, name);
  if (!plain || exists(plain)) return plain;
  char *packed = tsr_mem_printf("%s.gz", plain);
  if (packed && !exists(packed)) {
    tsr_mem_free(packed);
    return plain; /* reading it tells that it is missing */
  }
  tsr_mem_free(plain);
  return packed;
}

static enum tsr_status open_folder(struct tsr_dataset *d, const char *path,
                                   struct tsr_err *err) {
  char *images = beside(path, "t10k-images-idx3-ubyte");
  char *labels = beside(path, "t10k-labels-idx1-ubyte");
  enum tsr_status st = TSR_OK;
  if (!images || !labels)
    st = tsr_err_nomem(err);
  else if (!exists(images) || !exists(labels))
    st = tsr_err_set(err, TSR_INPUT,
                     "folder '%s' is no data set; expected t10k-images-idx3-ubyte and "
                     "t10k-labels-idx1-ubyte in it, plain or with .gz",
                     path);
  else
    st = open_pair(d, images, labels, err);
  tsr_mem_free(images);
  tsr_mem_free(labels);
  return st;
}

/* `…images-idx3-ubyte…` names its labels `…labels-idx1-ubyte…`. */
static enum tsr_status open_images_file(struct tsr_dataset *d, const char *path,
                                        struct tsr_err *err) {
  static const char ours[] = "images-idx3-ubyte", theirs[] = "labels-idx1-ubyte";
  const char *base = strrchr(path, '/');
  const char *at = strstr(base ? base : path, ours);
  if (!at)
    return tsr_err_set(err, TSR_INPUT,
                       "name of '%s'; expected images-idx3-ubyte in it, with the labels beside "
                       "it as labels-idx1-ubyte",
                       path);
  char *labels = tsr_mem_printf("%.*s%s%s", (int)(at - path), path, theirs, at + strlen(ours));
  if (!labels) return tsr_err_nomem(err);
  enum tsr_status st = open_pair(d, path, labels, err);
  tsr_mem_free(labels);
  return st;
}

/* ---- safetensors ---- */

static enum tsr_status find_tensor(const struct tsr_dataset *d, const char *path,
                                   const char *name, size_t *out, struct tsr_err *err) {
  size_t i = tsr_safetensors_find(d->st, name);
  if (i == SIZE_MAX)
    return tsr_err_set(err, TSR_INPUT,
                       "'%s' is no data set; expected the tensors 'images' and 'labels', '%s' "
                       "is missing",
                       path, name);
  *out = i;
  return TSR_OK;
}

static enum tsr_status check_images(struct tsr_dataset *d, const char *path,
                                    struct tsr_err *err) {
  const struct tsr_safetensors_info *x = tsr_safetensors_at(d->st, d->images);
  bool type = x->type == TSR_DTYPE_U8 || x->type == TSR_DTYPE_F32;
  char shape[TSRI_SHAPE_TEXT];
  if (!type || (x->rank != 3 && x->rank != 4) || x->n == 0)
    return tsr_err_set(err, TSR_INPUT,
                       "images of '%s'; expected U8 or F32 of [N,H,W] or [N,C,H,W], got %s %s",
                       path, x->dtype, tsri_shape_text(x->rank, x->dim, shape));
  d->n = x->dim[0];
  d->dim[0] = x->rank == 4 ? x->dim[1] : 1;
  d->dim[1] = x->dim[x->rank - 2];
  d->dim[2] = x->dim[x->rank - 1];
  return TSR_OK;
}

static enum tsr_status read_labels(struct tsr_dataset *d, const char *path, size_t tensor,
                                   struct tsr_err *err) {
  const struct tsr_safetensors_info *x = tsr_safetensors_at(d->st, tensor);
  if (tsr_dtype_is_float(x->type) || x->rank != 1 || x->n != d->n)
    return tsr_err_set(err, TSR_INPUT,
                       "labels of '%s'; expected %llu integers, one for each image, got %s of "
                       "%llu",
                       path, (unsigned long long)d->n, x->dtype, (unsigned long long)x->n);
  struct tsr_array *a;
  enum tsr_status st = tsr_safetensors_read(d->st, tensor, NULL, &a, err);
  if (st) return st;
  d->labels = tsr_mem_array((size_t)d->n, sizeof *d->labels);
  if (!d->labels) st = tsr_err_nomem(err);
  for (uint64_t i = 0; i < d->n && !st; i++) {
    d->labels[i] = a->i[i];
    if (a->i[i] < 0)
      st = tsr_err_set(err, TSR_INPUT, "label %llu of '%s'; expected 0 or more, got '%lld'",
                       (unsigned long long)i, path, (long long)a->i[i]);
  }
  tsr_array_destroy(a);
  return st;
}

static enum tsr_status open_safetensors(struct tsr_dataset *d, const char *path,
                                        struct tsr_err *err) {
  size_t labels = 0;
  enum tsr_status st = tsr_safetensors_open(path, &d->st, err);
  if (!st) st = find_tensor(d, path, "images", &d->images, err);
  if (!st) st = find_tensor(d, path, "labels", &labels, err);
  if (!st) st = check_images(d, path, err);
  return st ? st : read_labels(d, path, labels, err);
}

/* ---- text ---- */

static enum tsr_status open_text(struct tsr_dataset *d, const char *path, struct tsr_err *err) {
  size_t n;
  enum tsr_status st = tsr_io_read(path, &d->text, &n, err);
  if (st) return st;
  if (n == 0)
    return tsr_err_set(err, TSR_INPUT, "'%s' is empty; expected a text of one byte or more",
                       path);
  d->kind = TSR_DATASET_TEXT;
  d->n = n;
  return TSR_OK;
}

/* ---- what a path is ---- */

enum { LOOK = 9 };

static bool looks_idx(const uint8_t *p, size_t n) {
  bool packed = n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
  return packed || (n >= 4 && !p[0] && !p[1] && p[2] && p[3] && p[3] <= TSR_RANK_MAX);
}

static bool looks_safetensors(const uint8_t *p, size_t n) {
  return n == LOOK && p[LOOK - 1] == '{' && !p[5] && !p[6] && !p[7];
}

static enum tsr_status open_file(struct tsr_dataset *d, const char *path, struct tsr_err *err) {
  uint8_t head[LOOK];
  struct tsri_source s;
  enum tsr_status st = tsri_source_open(&s, path, err);
  if (st) return st;
  size_t n = (size_t)tsr_min_u64(s.size, sizeof head);
  st = tsri_source_read(&s, 0, head, n, err);
  tsri_source_close(&s);
  if (st) return st;
  if (tsr_str_ends(path, ".txt")) return open_text(d, path, err);
  if (looks_safetensors(head, n) || tsr_str_ends(path, ".safetensors"))
    return open_safetensors(d, path, err);
  if (looks_idx(head, n)) return open_images_file(d, path, err);
  return tsr_err_set(err, TSR_INPUT,
                     "'%s' is no data set; expected a folder of IDX files, an IDX file of "
                     "images, a safetensors file with 'images' and 'labels', or a .txt file",
                     path);
}

enum tsr_status tsr_dataset_open(const char *path, struct tsr_dataset **out,
                                 struct tsr_err *err) {
  struct stat sb;
  struct tsr_dataset *d = tsr_mem_alloc(sizeof *d);
  if (!d) return tsr_err_nomem(err);
  bool folder = stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
  enum tsr_status st = (folder ? open_folder : open_file)(d, path, err);
  if (st)
    tsr_dataset_close(d);
  else
    *out = d;
  return st;
}

enum tsr_dataset_kind tsr_dataset_kind(const struct tsr_dataset *d) {
  return d->kind;
}

uint64_t tsr_dataset_count(const struct tsr_dataset *d) {
  return d->n;
}

void tsr_dataset_image_dims(const struct tsr_dataset *d, uint64_t dim[3]) {
  memcpy(dim, d->dim, sizeof d->dim);
}

const int64_t *tsr_dataset_labels(const struct tsr_dataset *d) {
  return d->labels;
}

const uint8_t *tsr_dataset_text(const struct tsr_dataset *d) {
  return (const uint8_t *)d->text;
}

enum { BYTE_MAX = 255 };

static enum tsr_status fill_images(struct tsr_dataset *d, uint64_t first, uint64_t n,
                                   struct tsr_array *to, struct tsr_err *err) {
  uint64_t size = d->dim[0] * d->dim[1] * d->dim[2];
  if (!d->st) {
    for (uint64_t i = 0; i < n * size; i++)
      to->f[i] = (double)d->idx.data[first * size + i] / BYTE_MAX;
    return TSR_OK;
  }
  struct tsr_array *a;
  enum tsr_status st = tsr_safetensors_read_rows(d->st, d->images, first, n, NULL, &a, err);
  if (st) return st;
  for (uint64_t i = 0; i < a->n; i++) to->f[i] = a->f ? a->f[i] : (double)a->i[i] / BYTE_MAX;
  tsr_array_destroy(a);
  return TSR_OK;
}

enum tsr_status tsr_dataset_images(struct tsr_dataset *d, uint64_t first, uint64_t n,
                                   struct tsr_arena *arena, struct tsr_array **out,
                                   struct tsr_err *err) {
  TSR_CHECK(d->kind == TSR_DATASET_IMAGES && first <= d->n && n <= d->n - first);
  struct tsr_array *a;
  const uint64_t dim[4] = {n, d->dim[0], d->dim[1], d->dim[2]};
  enum tsr_status st = tsr_array_create(arena, TSR_DTYPE_F32, 4, dim, &a, err);
  if (st) return st;
  st = fill_images(d, first, n, a, err);
  if (!st)
    *out = a;
  else if (!arena)
    tsr_array_destroy(a);
  return st;
}
