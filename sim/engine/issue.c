/* Instructions to component requests: the only place that knows both. */
#include <string.h>

#include "sim/engine/engine_int.h"

void tsri_issue_start(struct tsri_issue *is, const struct tsr_program *p,
                      struct tsr_instance *buffers) {
  memset(is, 0, sizeof *is);
  is->p = p;
  is->buffers = buffers;
  for (int x = 0; x < TSR_AXIS_COUNT; x++)
    is->axis[x] = (struct tsri_axis){TSR_ISA_NO_LOOP, 1, 1};
  for (int t = 0; t < TSR_ISA_TENSORS; t++)
    for (int i = 0; i < TSR_ISA_DIMS; i++) is->tensor[t].box.step[i] = 1;
}

static bool is_description(uint8_t op) {
  return op == TSR_ISA_TENSOR || op == TSR_ISA_DIM || op == TSR_ISA_BOX ||
         op == TSR_ISA_START || op == TSR_ISA_WALK || op == TSR_ISA_AXIS;
}

/* A dimension that is described raises the tensor's rank. */
void tsri_issue_describe(struct tsri_issue *is, const struct tsr_inst *in) {
  if (in->op == TSR_ISA_AXIS) {
    is->axis[in->f[0]] =
        (struct tsri_axis){(int)in->f[1], (uint64_t)in->f[2], (uint64_t)in->f[3]};
    return;
  }
  if (!is_description(in->op)) return;
  struct tsri_tensor *t = &is->tensor[in->f[0]];
  int64_t i = in->f[1];
  switch (in->op) {
  case TSR_ISA_TENSOR:
    t->box.elem_bytes = (uint32_t)in->f[1];
    t->box.base_bytes = (uint64_t)in->f[2];
    break;
  case TSR_ISA_DIM:
    if (t->box.rank <= (uint32_t)i) t->box.rank = (uint32_t)i + 1;
    t->box.size[i] = (uint64_t)in->f[2];
    t->box.stride_bytes[i] = (uint64_t)in->f[3];
    break;
  case TSR_ISA_BOX:
    t->box.extent[i] = (uint64_t)in->f[2];
    t->box.step[i] = (uint64_t)in->f[3];
    break;
  case TSR_ISA_START: t->box.start[i] = in->f[2]; break;
  case TSR_ISA_WALK:
    if (in->f[2] != TSR_ISA_NO_LOOP) t->walk[i][in->f[2]] = in->f[3];
    break;
  default: break;
  }
}

static uint64_t loop_index(const struct tsri_issue *is, int l) {
  return l == TSR_ISA_NO_LOOP ? 0 : is->loop[l].index;
}

static void request_xfer(const struct tsri_issue *is, const struct tsr_inst *in,
                         struct tsr_xfer_req *x) {
  const struct tsri_tensor *t = &is->tensor[in->f[0]];
  x->box = t->box;
  x->buffer = &is->buffers[in->f[1]];
  for (uint32_t i = 0; i < t->box.rank; i++)
    for (int l = 0; l < TSR_ISA_LOOPS; l++)
      if (t->walk[i][l]) x->box.start[i] += (int64_t)is->loop[l].index * t->walk[i][l];
}

/* The part of an axis' present tile that lies inside it. */
static uint64_t axis_extent(const struct tsri_issue *is, int x) {
  const struct tsri_axis *a = &is->axis[x];
  uint64_t at = loop_index(is, a->loop) * a->tile;
  if (at >= a->size) return 0;
  return a->size - at < a->tile ? a->size - at : a->tile;
}

static void request_mm(const struct tsri_issue *is, const struct tsr_inst *in,
                       struct tsr_mm_req *q) {
  uint64_t ext[TSR_AXIS_COUNT];
  for (int x = 0; x < TSR_AXIS_COUNT; x++) ext[x] = axis_extent(is, x);
  *q = (struct tsr_mm_req){.groups = ext[TSR_AXIS_G],
                           .m = ext[TSR_AXIS_B] * ext[TSR_AXIS_OH] * ext[TSR_AXIS_OW],
                           .n = ext[TSR_AXIS_N],
                           .k = ext[TSR_AXIS_KH] * ext[TSR_AXIS_KW] * ext[TSR_AXIS_C],
                           .first = true,
                           .last = true,
                           .a_bytes = (uint32_t)in->f[0],
                           .b_bytes = (uint32_t)in->f[1],
                           .acc_bytes = (uint32_t)in->f[2],
                           .out_bytes = (uint32_t)in->f[3],
                           .rate = (uint32_t)in->f[4]};
  for (int x = TSR_AXIS_KH; x <= TSR_AXIS_C; x++) {
    const struct tsri_axis *a = &is->axis[x];
    if (a->loop == TSR_ISA_NO_LOOP) continue;
    uint64_t index = is->loop[a->loop].index;
    q->first = q->first && index == 0;
    q->last = q->last && (index + 1) * a->tile >= a->size;
  }
}

void tsri_issue_request(const struct tsri_issue *is, const struct tsr_inst *in,
                        struct tsr_req *out) {
  if (in->op == TSR_ISA_MM)
    request_mm(is, in, &out->mm);
  else
    request_xfer(is, in, &out->xfer);
}

bool tsri_issue_next(struct tsri_issue *is, struct tsri_op *op, int *unit) {
  for (;;) {
    const struct tsr_inst *in = &is->p->inst[is->pc++];
    if (is_description(in->op)) {
      tsri_issue_describe(is, in);
      continue;
    }
    switch (in->op) {
    case TSR_ISA_SEM:
      op->kind = TSRI_OP_SIGNAL;
      op->sem = (int)in->f[0];
      is->sem_init[op->sem] = (uint32_t)in->f[1];
      *unit = -1;
      return true;
    case TSR_ISA_LOOP:
      is->loop[in->f[0]] = (struct tsri_loop){0, (uint64_t)in->f[1], is->pc};
      break;
    case TSR_ISA_END: {
      struct tsri_loop *l = &is->loop[in->f[0]];
      if (++l->index < l->trips)
        is->pc = l->body;
      else
        l->index = 0;
      break;
    }
    case TSR_ISA_WAIT:
      *op = (struct tsri_op){.kind = TSRI_OP_WAIT, .sem = (int)in->f[1], .when = (int)in->f[2]};
      *unit = (int)in->f[0];
      return true;
    case TSR_ISA_SIGNAL:
      *op =
          (struct tsri_op){.kind = TSRI_OP_SIGNAL, .sem = (int)in->f[1], .when = (int)in->f[2]};
      *unit = (int)in->f[0];
      return true;
    case TSR_ISA_HALT: is->halted = true; return false;
    default: /* load, store, mm */
      op->kind = TSRI_OP_REQ;
      tsri_issue_request(is, in, &op->req);
      *unit = in->op == TSR_ISA_LOAD    ? TSR_UNIT_LOAD
              : in->op == TSR_ISA_STORE ? TSR_UNIT_STORE
                                        : TSR_UNIT_TILE;
      return true;
    }
  }
}
