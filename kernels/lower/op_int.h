#ifndef TSR_KERNELS_LOWER_OP_INT_H
#define TSR_KERNELS_LOWER_OP_INT_H

#include "kernels/lower/op.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

/* Format registers are those of enum tsr_lower_fmt; semaphores: a slot is free, a slot is
 * full, for scratchpads a, b, c; further ones are a family's own. */
enum { TSRI_FREE = 0, TSRI_FULL = 3, TSRI_SEM_OWN = 6 };

struct tsri_emit {
  struct tsr_program *p;
  const struct tsr_op *op;
  const struct tsr_lower_at *at;
  const struct tsr_lower_cut *cut;
};
#define TSRI_EMIT(e, op_, ...) \
  tsr_isa_emit((e)->p, TSR_ISA_##op_, (const int64_t[]){__VA_ARGS__})

/* A loop of the program that places of a ring follow, outer to inner. */
struct tsri_trip {
  int loop;
  uint64_t trips;
};
/* Slots of a scratchpad that transfers use in turn. */
struct tsri_ring {
  int buf;
  uint64_t slots, bytes;
};
struct tsri_ring tsri_ring_of(const struct tsr_lower_at *at, int buf);

/* `format` for those of the list, ended by TSR_LOWER_FMTS. */
void tsri_emit_formats(struct tsri_emit *e, const enum tsr_lower_fmt *list);
void tsri_emit_tensor(struct tsri_emit *e, int t, enum tsr_lower_fmt fmt, uint64_t base_bytes);
/* Dimension i: size, stride in elements of the tensor's format, the box's extent. */
void tsri_emit_dim(struct tsri_emit *e, int t, enum tsr_lower_fmt fmt, int i, uint64_t size,
                   uint64_t stride, uint64_t extent);
void tsri_emit_walk(struct tsri_emit *e, int t, int i, int loop, uint64_t delta);
/* A place at `offset` of every slot of a ring, the next slot with each inner trip. */
void tsri_emit_ring(struct tsri_emit *e, int p, const struct tsri_ring *ring, uint64_t offset,
                    enum tsr_lower_fmt fmt, const struct tsri_trip *trips, int n);
/* A place that stays. */
void tsri_emit_fixed(struct tsri_emit *e, int p, int buf, uint64_t base,
                     enum tsr_lower_fmt fmt);
void tsri_emit_wait(struct tsri_emit *e, int unit, int sem);
void tsri_emit_signal(struct tsri_emit *e, int unit, int sem, int when);
/* A load behind a free slot, which is then full; a store the other way round. */
void tsri_emit_load(struct tsri_emit *e, int t, int p, int buf);
void tsri_emit_store(struct tsri_emit *e, int t, int p);
void tsri_emit_vec(struct tsri_emit *e, int op, int d, int a, int b, int bc, int rows, int cols,
                   int over, uint32_t imm);
/* The unit goes on when all slots are free, so that the next transfer may take the first. */
void tsri_emit_drain(struct tsri_emit *e, int unit, int buf);
uint64_t tsri_align(uint64_t bytes);
enum tsr_status tsri_no_fit(const struct tsr_op *op, const char *what, uint64_t bytes,
                            uint64_t have, const char *buf, struct tsr_err *err);
/* Divides the axis, of the first n of cut->size, that gives the largest part least work. */
void tsri_divide(struct tsr_lower_cut *cut, const int *axes, int n, uint64_t cores);
/* What a core has of an axis. */
uint64_t tsri_from(const struct tsr_lower_cut *cut, int axis, uint64_t core);
uint64_t tsri_size(const struct tsr_lower_cut *cut, int axis, uint64_t core);

enum tsr_status tsri_rows_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                              uint64_t cores, struct tsr_lower_cut *cut, struct tsr_err *err);
void tsri_rows_lower(struct tsri_emit *e, uint64_t core);
enum tsr_status tsri_topk_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                              uint64_t cores, struct tsr_lower_cut *cut, struct tsr_err *err);
void tsri_topk_lower(struct tsri_emit *e, uint64_t core);
enum tsr_status tsri_window_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                uint64_t cores, struct tsr_lower_cut *cut, struct tsr_err *err);
void tsri_window_lower(struct tsri_emit *e, uint64_t core);
enum tsr_status tsri_transpose_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                   uint64_t cores, struct tsr_lower_cut *cut,
                                   struct tsr_err *err);
void tsri_transpose_lower(struct tsri_emit *e, uint64_t core);
enum tsr_status tsri_gather_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                uint64_t cores, struct tsr_lower_cut *cut, struct tsr_err *err);
void tsri_gather_lower(struct tsri_emit *e, uint64_t core);
enum tsr_status tsri_columns_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                 uint64_t cores, struct tsr_lower_cut *cut,
                                 struct tsr_err *err);
void tsri_columns_lower(struct tsri_emit *e, uint64_t core);
enum tsr_status tsri_attention_cut(const struct tsr_op *op, const struct tsr_lower_at *at,
                                   uint64_t cores, struct tsr_lower_cut *cut,
                                   struct tsr_err *err);
void tsri_attention_lower(struct tsri_emit *e, uint64_t core);

#endif
