/* ONNX's own test data: models with stored inputs and outputs, as the package libonnx-testdata
 * installs them.  A folder of models holds `<test>/model.onnx` and
 * `<test>/test_data_set_<n>/{input,output}_<k>.pb`.
 *
 * Ownership: a loaded case is freed with onnx_case_close.  Texts are the case's. */
#ifndef TSR_TESTS_GOLDEN_ONNX_CASES_H
#define TSR_TESTS_GOLDEN_ONNX_CASES_H

#include "sim/base/str.h"
#include "workloads/net/net.h"

#define ONNX_CASES_ROOT "/usr/share/libonnx-testdata/data"

/* Why a model cannot be asked; everything else is a failure. */
enum onnx_skip {
  ONNX_RUNS,
  ONNX_NO_OPERATOR, /* net.def has no row for one of its operators */
  ONNX_NO_NUMBERS,  /* strings, sequences, optionals, maps, sparse tensors */
  ONNX_CONTROL,     /* control flow: a node holds a graph */
  ONNX_TRAINS,      /* a node is told to train, which is no inference */
  ONNX_SKIPS_
};

/* What had to be a constant for the shapes to follow. */
enum onnx_constants { ONNX_AS_INPUTS, ONNX_LISTS_CONSTANT, ONNX_ALL_CONSTANT };

struct onnx_case {
  const char *name, *model, *folder; /* <group>/<test>, its model, one test_data_set_<n> */
  struct tsr_net *net;               /* finished */
  bool fix; /* set before opening: inputs that say how nodes work are constants */
  enum onnx_constants constants;
  size_t n_in, n_out;
  struct tsr_array **in, **want; /* by file: input_<k>, output_<k> */
  size_t *in_value;              /* the value of the net that in[k] is for */
  struct tsr_str why;            /* of a skip: operators, or the kind of type */
};

typedef void onnx_case_fn(void *arg, const char *name, const char *model, const char *folder);
/* Calls fn for each test data set of each model below root/group, by name; the number of sets,
 * 0 when the folder is not there. */
size_t onnx_cases_walk(const char *root, const char *group, onnx_case_fn *fn, void *arg);

/* Reads the model and the data, finishes the net with the shapes of the inputs.  *skip says
 * whether it can be asked; TSR_OK with a skip leaves net NULL. */
enum tsr_status onnx_case_open(const char *name, const char *model, const char *folder,
                               struct onnx_case *c, enum onnx_skip *skip, struct tsr_err *err);
void onnx_case_close(struct onnx_case *c);

/* The distance that a float may have: relative and absolute, as ONNX's own runner. */
struct onnx_distance {
  double relative, absolute;
};
/* Whether `got` is `want`: type, shape, integers exactly, floats within the distance (equal
 * infinities and NaNs).  `why` says where not. */
bool onnx_same(const struct tsr_array *got, const struct tsr_array *want,
               const struct onnx_distance *d, struct tsr_str *why);

#endif
