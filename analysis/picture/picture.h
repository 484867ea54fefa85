/* Pictures of stored runs, as SVG.
 *
 * Roofline: x is useful operations (2 per executed MAC) per DRAM byte moved, y is
 * operations per second attained; both axes are decimal logarithms.  The roof over
 * a layer is min(peak of its executed formats, x * DRAM bandwidth)
 * (SRC:williams2009).  The views of the store give every figure.
 * Ownership: *svg is transferred (tsr_mem_free), untouched on failure.
 * Errors: TSR_INPUT for a run that is not there, TSR_USAGE for no run or too many,
 * TSR_STORE, TSR_NOMEM. */
#ifndef TSR_ANALYSIS_PICTURE_PICTURE_H
#define TSR_ANALYSIS_PICTURE_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"
#include "sim/store/store.h"

enum { TSR_PICTURE_RUNS_MAX = 8 }; /* runs that still have a colour each */

/* One circle a layer with MACs, its area the layer's time; 1280 x 800, no script.
 * Layers without MACs have no place on the axes: a note counts them. */
enum tsr_status tsr_picture_roofline(struct tsr_store *s, const uint64_t *run_ids, size_t n,
                                     char **svg, struct tsr_err *err);

/* Error of matrix units against K (`mma eval`): the largest componentwise error of
 * each unit with its bound, both axes logarithmic, a panel a distribution; the
 * legend below the panels holds any number of units.  TSR_INPUT: no such study. */
enum tsr_status tsr_picture_error_k(struct tsr_store *s, uint64_t eval_id, char **svg,
                                    struct tsr_err *err);

#endif
