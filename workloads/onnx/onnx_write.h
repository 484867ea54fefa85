/* A net as an ONNX model: what tsr_onnx_parse reads back as an equal net.
 *
 * Initialisers are written as raw bytes in their declared type (SRC:onnx_proto), rounded to it;
 * open dimensions as dim_param; types and shapes of values between nodes where they are known;
 * producer `tessera`, IR version 8, the opset of the net.  What tsr_net_finish folded is
 * written as the nodes that make it.
 *
 * Units: bytes.  Ownership: the bytes are the caller's (tsr_mem_free).
 * Errors: TSR_INPUT for a node with a subgraph, which a net does not hold, and for a model of
 * more than TSR_ONNX_FILE_MAX bytes. */
#ifndef TSR_WORKLOADS_ONNX_ONNX_WRITE_H
#define TSR_WORKLOADS_ONNX_ONNX_WRITE_H

#include "workloads/net/net.h"

enum tsr_status tsr_onnx_write(const struct tsr_net *net, unsigned char **out, size_t *len,
                               struct tsr_err *err);

/* One array as a TensorProto; name may be NULL. */
enum tsr_status tsr_onnx_tensor_write(const struct tsr_array *a, const char *name,
                                      unsigned char **out, size_t *len, struct tsr_err *err);

#endif
