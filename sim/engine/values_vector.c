/* Vector operations by value. */
#include "sim/engine/values_int.h"

enum tsr_status tsri_values_vector(struct tsri_flight *f, struct tsr_err *err) {
  return tsri_values_wrong(f, err, "vector operations have no values yet");
}
