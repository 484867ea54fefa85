/* Across the files of the reader: what is being read, and its steps. */
#ifndef TSR_WORKLOADS_ONNX_ONNX_INT_H
#define TSR_WORKLOADS_ONNX_ONNX_INT_H

#include <onnx.pb-c.h>

#include "workloads/onnx/onnx.h"

/* An allocator of protobuf-c on sim/base/mem.h, with an end. */
struct tsri_onnx_memory {
  ProtobufCAllocator allocator;
  uint64_t left; /* bytes that may still be asked for */
  bool spent;    /* an allocation was refused because of that */
  bool failed;   /* one found no memory */
};
void tsri_onnx_memory_init(struct tsri_onnx_memory *m, size_t file_size);
/* The message of these bytes, checked for nesting and for lengths that pass its end before
 * anything is allocated; freed with protobuf_c_message_free_unpacked. */
enum tsr_status tsri_onnx_unpack(const char *path, const ProtobufCMessageDescriptor *what,
                                 const void *data, size_t len, struct tsri_onnx_memory *memory,
                                 ProtobufCMessage **out, struct tsr_err *err);

/* An array of a tensor, in the arena where one is given.  `label` names it in messages. */
enum tsr_status tsri_onnx_tensor(const char *path, const char *label,
                                 const Onnx__TensorProto *t, struct tsr_arena *arena,
                                 struct tsr_array **out, struct tsr_err *err);
/* `string`, `complex64`, … as the words of messages; "type N" by number where unknown. */
const char *tsri_onnx_type_name(int32_t type, char *buf, size_t n);
/* Whether arrays hold this type. */
bool tsri_onnx_type_held(int32_t type);

/* The n bytes of a tensor that stand in another file (transferred; tsr_mem_free). */
enum tsr_status tsri_onnx_external(const char *path, const char *label,
                                   const Onnx__TensorProto *t, uint64_t n, unsigned char **out,
                                   struct tsr_err *err);

/* Inputs, outputs and declared shapes. */
enum tsr_status tsri_onnx_declare_inputs(struct tsr_net *net, const Onnx__GraphProto *g,
                                         struct tsr_err *err);
enum tsr_status tsri_onnx_declare_rest(struct tsr_net *net, const Onnx__GraphProto *g,
                                       struct tsr_err *err);

/* "" for a text that is not there. */
static inline const char *tsri_onnx_text(const char *s) {
  return s ? s : "";
}

#endif
