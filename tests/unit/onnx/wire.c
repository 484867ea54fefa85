#include "tests/unit/onnx/wire.h"

#include <string.h>

void wire_varint(struct tsr_str *s, uint64_t v) {
  while (v > 0x7f) {
    const char c = (char)((v & 0x7f) | 0x80);
    tsr_str_addn(s, &c, 1);
    v >>= 7;
  }
  const char last = (char)v;
  tsr_str_addn(s, &last, 1);
}

void wire_int(struct tsr_str *s, unsigned field, int64_t v) {
  wire_varint(s, field << 3);
  wire_varint(s, (uint64_t)v);
}

void wire_float(struct tsr_str *s, unsigned field, float v) {
  char bytes[4];
  memcpy(bytes, &v, sizeof bytes);
  wire_varint(s, field << 3 | 5);
  tsr_str_addn(s, bytes, sizeof bytes);
}

void wire_bytes(struct tsr_str *s, unsigned field, const void *p, size_t n) {
  wire_varint(s, field << 3 | 2);
  wire_varint(s, n);
  tsr_str_addn(s, p, n);
}

void wire_text(struct tsr_str *s, unsigned field, const char *text) {
  wire_bytes(s, field, text, strlen(text));
}

void wire_message(struct tsr_str *s, unsigned field, struct tsr_str *message) {
  wire_bytes(s, field, message->p ? message->p : "", message->n);
  tsr_str_fini(message);
}

static void names(struct tsr_str *s, unsigned field, const char *list) {
  for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
    wire_bytes(s, field, p, strcspn(p, ","));
}

void wire_node(struct tsr_str *graph, const char *op, const char *name, const char *in,
               const char *out) {
  struct tsr_str n = TSR_STR_INIT;
  names(&n, 1, in);
  names(&n, 2, out);
  if (name) wire_text(&n, 3, name);
  if (op) wire_text(&n, 4, op);
  wire_message(graph, GRAPH_NODE, &n);
}

void wire_value(struct tsr_str *graph, unsigned field, const char *name, int64_t dim) {
  struct tsr_str d = TSR_STR_INIT, shape = TSR_STR_INIT, tensor = TSR_STR_INIT;
  struct tsr_str type = TSR_STR_INIT, v = TSR_STR_INIT;
  wire_int(&d, 1, dim);
  wire_message(&shape, 1, &d);
  wire_int(&tensor, 1, 1);
  wire_message(&tensor, 2, &shape);
  wire_message(&type, 1, &tensor);
  if (name) wire_text(&v, 1, name);
  wire_message(&v, 2, &type);
  wire_message(graph, field, &v);
}

void wire_initialiser(struct tsr_str *graph, const char *name, int64_t n) {
  struct tsr_str t = TSR_STR_INIT, raw = TSR_STR_INIT;
  for (int64_t i = 0; i < n; i++) {
    const float f = (float)i;
    char bytes[4];
    memcpy(bytes, &f, sizeof bytes);
    tsr_str_addn(&raw, bytes, sizeof bytes);
  }
  wire_int(&t, 1, n);
  wire_int(&t, 2, 1);
  if (name) wire_text(&t, 8, name);
  wire_message(&t, 9, &raw);
  wire_message(graph, GRAPH_INITIALISER, &t);
}

struct tsr_str wire_model(struct tsr_str *graph, int64_t opset) {
  struct tsr_str m = TSR_STR_INIT, import = TSR_STR_INIT;
  wire_int(&m, 1, 8);
  wire_message(&m, 7, graph);
  wire_text(&import, 1, "");
  wire_int(&import, 2, opset);
  if (opset)
    wire_message(&m, 8, &import);
  else
    tsr_str_fini(&import);
  return m;
}

struct tsr_str wire_relu(void) {
  struct tsr_str g = TSR_STR_INIT;
  wire_node(&g, "Relu", "act", "x", "y");
  wire_value(&g, GRAPH_INPUT, "x", 4);
  wire_value(&g, GRAPH_OUTPUT, "y", 4);
  return wire_model(&g, 13);
}
