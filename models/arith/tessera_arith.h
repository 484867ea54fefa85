/* libtessera: number formats, conversions, matrix units, matrix products.
 *
 * The library's one public header; `cmake --install` puts it, with what it includes,
 * into one file, tessera/arith.h (`pkg-config tessera`).  It needs no SystemC and no
 * SQLite.  Event flags are enum tsr_event, rounding enum tsr_round.
 * Ownership, units and errors: as each section says.  models/arith/LIBRARY.md is its
 * manual. */
#ifndef TSR_MODELS_ARITH_TESSERA_ARITH_H
#define TSR_MODELS_ARITH_TESSERA_ARITH_H

#ifdef __cplusplus
extern "C" {
#endif

#include "models/arith/block.h"
#include "models/arith/format.h"
#include "models/arith/gemm.h"
#include "models/arith/mma.h"
#include "models/arith/mma_spec.h"

#ifdef __cplusplus
}
#endif

#endif
