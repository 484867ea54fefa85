/* From trained weights to nets, and back.
 *
 * A model is one run of f32 parameters with a table of names and shapes; an exporter adds its
 * nodes by the names of their values, and a reader finds the parameters by name again.
 * Units: elements.  Ownership: a net is the caller's (tsr_net_destroy); tables are static or
 * the model's.  Errors: an exporter keeps its first error, later calls do nothing; TSR_INPUT
 * when a net lacks a parameter. */
#ifndef TSR_WORKLOADS_MODELS_TRAIN_EXPORT_H
#define TSR_WORKLOADS_MODELS_TRAIN_EXPORT_H

#include "workloads/net/net.h"

enum { TSR_TRAIN_NAME = 24 };

struct tsr_train_param {
  char name[TSR_TRAIN_NAME];
  unsigned rank;
  uint64_t dim[4];
  size_t at, n; /* where it stands in the run of parameters */
};

struct tsr_train_export {
  struct tsr_net *net;
  enum tsr_status s;
  struct tsr_err *err; /* borrowed; may be NULL */
};

/* A net of opset 17. */
void tsr_train_export_begin(struct tsr_train_export *x, const char *name, struct tsr_err *err);
/* The net (transferred), or the status of what went wrong. */
enum tsr_status tsr_train_export_end(struct tsr_train_export *x, struct tsr_net **out);
/* `dims` as text, blank between them: a number, or the name of an open dimension. */
void tsr_train_export_input(struct tsr_train_export *x, const char *name, enum tsr_dtype type,
                            const char *dims);
void tsr_train_export_output(struct tsr_train_export *x, const char *name, const char *dims);
/* All parameters as initialisers. */
void tsr_train_export_params(struct tsr_train_export *x, const struct tsr_train_param *p,
                             size_t n, const float *w);
void tsr_train_export_floats(struct tsr_train_export *x, const char *name, unsigned rank,
                             const uint64_t *dim, const double *v);
/* Integers, of rank 1; a scalar of rank 0 when n is 0. */
void tsr_train_export_ints(struct tsr_train_export *x, const char *name, size_t n,
                           const int64_t *v);
/* A node named after its (first) output; names of inputs and outputs with blanks between. */
void tsr_train_export_node(struct tsr_train_export *x, const char *op, const char *in,
                           const char *out, const struct tsr_net_attr *attrs, size_t n_attrs);

/* The parameters of a net that was exported, by name and shape. */
enum tsr_status tsr_train_import(const struct tsr_net *net, const struct tsr_train_param *p,
                                 size_t n, float *w, struct tsr_err *err);
/* Writes the net as an ONNX file. */
enum tsr_status tsr_train_save(const struct tsr_net *net, const char *path,
                               struct tsr_err *err);

#endif
