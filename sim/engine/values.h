/* Values: the bits that move when a program runs.
 *
 * Models a DRAM image (tensors at their addresses) and every core's scratchpads, byte by
 * byte, each with a note whether it was ever written.  A transfer copies (and converts) at
 * the instant in which its last byte was read, a multiplication computes through the
 * machine's matrix unit when its operands were read for the last time, from the
 * accumulators that it finds, in the accumulator's format.
 *
 * What is refused, with core, instruction and address: reading what was never written,
 * reaching outside the tensors, touching a scratchpad's bytes while another unit still
 * reads or writes them, a dataflow that cuts k where the matrix unit cannot go on.
 *
 * Ownership: the machine is borrowed.  Units: bytes. */
#ifndef TSR_SIM_ENGINE_VALUES_H
#define TSR_SIM_ENGINE_VALUES_H

#include "sim/engine/machine.h"

struct tsr_values;
enum tsr_status tsr_values_create(const struct tsr_machine *m, struct tsr_values **out,
                                  struct tsr_err *err);
void tsr_values_destroy(struct tsr_values *v);

/* What follows is of this job (the first, to begin with): each sees its own tensors alone, so
 * that those of two that run side by side may lie at the same addresses. */
void tsr_values_of(struct tsr_values *v, size_t job);
/* A tensor of the DRAM image, zero-filled; `written`: its bytes count as written.
 * Tensors must not overlap.  *data (may be NULL): its bytes, borrowed until
 * tsr_values_drop. */
enum tsr_status tsr_values_tensor(struct tsr_values *v, uint64_t base, uint64_t bytes,
                                  bool written, uint8_t **data, struct tsr_err *err);
/* From now stores into the tensor at `base` also keep the codes (of from_bytes) that they
 * converted, one for each of its elements of elem_bytes.  *kept: borrowed likewise. */
enum tsr_status tsr_values_keep(struct tsr_values *v, uint64_t base, uint32_t elem_bytes,
                                uint32_t from_bytes, uint8_t **kept, struct tsr_err *err);
/* The first byte of the tensor at `base` that was never written; false: there is none. */
bool tsr_values_missing(const struct tsr_values *v, uint64_t base, uint64_t *byte);
/* Drops the tensor at `base`. */
void tsr_values_drop(struct tsr_values *v, uint64_t base);

#endif
