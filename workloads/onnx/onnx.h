/* ONNX models as nets.
 *
 * Reads the binary form of a ModelProto or TensorProto (SRC:onnx_proto): the graph of the
 * model with its nodes, initialisers, inputs, outputs and declared shapes becomes a net
 * (workloads/net/net.h), whose operators have ONNX's meaning (SRC:onnx_operators) at the opset
 * that the model imports.  Initialisers are inside the file or in files beside it.
 *
 * Read: opset 1 and later (later than TSR_ONNX_OPSET_MAX with a warning), numeric tensors of
 * at most eight dimensions.  Refused by name: strings, sparse tensors, sequences, optionals,
 * local functions, types that net's arrays do not hold.  Training information, metadata and
 * quantisation annotations are not read.
 *
 * Units: elements; sizes in messages are bytes.  Open dimensions have the model's name
 * (dim_param), or `<input>.<axis>` where it gives none.
 * Ownership: nets and arrays are the caller's (tsr_net_destroy, tsr_array_destroy).
 * Errors: TSR_INPUT names the file, the tensor, node or value, and what was expected; damage is
 * named with its byte.  Any bytes are safe to read: memory for the messages is at most 64 times
 * the file and 64 MiB, nesting at most TSR_ONNX_DEPTH_MAX messages. */
#ifndef TSR_WORKLOADS_ONNX_ONNX_H
#define TSR_WORKLOADS_ONNX_ONNX_H

#include "workloads/net/net.h"

enum { TSR_ONNX_OPSET_MAX = 21, TSR_ONNX_DEPTH_MAX = 64 };
/* Largest file: what a protocol buffer can be, 2 GiB. */
#define TSR_ONNX_FILE_MAX ((UINT64_C(1) << 31) - 1)

/* The net of a file.  With options it is finished (tsr_net_finish); o NULL leaves that to the
 * caller. */
enum tsr_status tsr_onnx_read(const char *path, const struct tsr_net_options *o,
                              struct tsr_net **out, struct tsr_err *err);
/* The same of bytes in memory; files that the model names are looked for beside `path`. */
enum tsr_status tsr_onnx_parse(const char *path, const void *data, size_t len,
                               const struct tsr_net_options *o, struct tsr_net **out,
                               struct tsr_err *err);
/* A file that is one tensor, as test data are (`input_0.pb`). */
enum tsr_status tsr_onnx_tensor_read(const char *path, struct tsr_array **out,
                                     struct tsr_err *err);
enum tsr_status tsr_onnx_tensor_parse(const char *path, const void *data, size_t len,
                                      struct tsr_array **out, struct tsr_err *err);

#endif
