/* Protocol buffers and ONNX messages by hand, apart from the product's own writer: each
 * function appends one field to a text of bytes.  Messages handed in are freed. */
#ifndef TSR_TESTS_UNIT_ONNX_WIRE_H
#define TSR_TESTS_UNIT_ONNX_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/base/str.h"

void wire_varint(struct tsr_str *s, uint64_t v);
void wire_int(struct tsr_str *s, unsigned field, int64_t v);
void wire_float(struct tsr_str *s, unsigned field, float v);
void wire_bytes(struct tsr_str *s, unsigned field, const void *p, size_t n);
void wire_text(struct tsr_str *s, unsigned field, const char *text);
void wire_message(struct tsr_str *s, unsigned field, struct tsr_str *message);

enum {
  GRAPH_NODE = 1,
  GRAPH_INITIALISER = 5,
  GRAPH_INPUT = 11,
  GRAPH_OUTPUT = 12,
  GRAPH_INFO = 13
};

/* Into a graph.  Lists of names are separated by commas, `x,,y` leaves one out; NULL: none. */
void wire_node(struct tsr_str *graph, const char *op, const char *name, const char *in,
               const char *out);
/* f32 of one dimension. */
void wire_value(struct tsr_str *graph, unsigned field, const char *name, int64_t dim);
/* f32 of n elements, 0, 1, …, as raw data. */
void wire_initialiser(struct tsr_str *graph, const char *name, int64_t n);
/* The graph as a model of the default domain's opset; 0: none is named.  Frees the graph. */
struct tsr_str wire_model(struct tsr_str *graph, int64_t opset);
/* y = Relu(x) on four elements. */
struct tsr_str wire_relu(void);

#endif
