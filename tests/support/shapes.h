/* Random operators and cores for tests of mapping and lowering. */
#ifndef TSR_TESTS_SUPPORT_SHAPES_H
#define TSR_TESTS_SUPPORT_SHAPES_H

#include "kernels/mapping/mapping.h"
#include "sim/base/rng.h"

/* A matmul whose sizes are at most `max`. */
struct tsr_shape shapes_gemm(struct tsr_rng *r, uint64_t max);
/* A convolution: padding, stride (also above the filter), dilation, groups up to
 * depthwise, batch.  Channels of a group and image sides are at most `max`. */
struct tsr_shape shapes_conv(struct tsr_rng *r, uint64_t max);
/* A small array with buffers of `least` to `most` bytes. */
struct tsr_target shapes_target(struct tsr_rng *r, uint64_t least, uint64_t most);

#endif
