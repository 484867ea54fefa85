/* Bytes as messages of protobuf-c. */
#include <inttypes.h>

#include "workloads/onnx/onnx_int.h"

/* protobuf-c trusts nesting: it is walked here first, without recursion, in one pass. */
struct level {
  const ProtobufCMessageDescriptor *what;
  const unsigned char *end;
  uint64_t seen; /* fields that stand once and hold a message, by index */
};

struct walk {
  const char *path;
  const unsigned char *begin, *p;
  struct level level[TSR_ONNX_DEPTH_MAX];
  unsigned depth; /* levels open */
  struct tsr_err *err;
};

static enum tsr_status damaged(const struct walk *w, const unsigned char *at,
                               const char *what) {
  return tsr_err_set(w->err, TSR_INPUT, "'%s' is no %s: %s at byte %zu", w->path,
                     w->level[0].what->short_name, what, (size_t)(at - w->begin));
}

static bool varint(struct walk *w, uint64_t *out) {
  const unsigned char *end = w->level[w->depth - 1].end;
  *out = 0;
  for (unsigned i = 0; i < 10 && w->p < end; i++) {
    unsigned char c = *w->p++;
    if (i < 9 || c < 2) *out |= (uint64_t)(c & 0x7f) << (7 * i);
    if (c < 0x80) return true;
  }
  return false;
}

static enum tsr_status enter(struct walk *w, const ProtobufCFieldDescriptor *f, uint64_t len,
                             const unsigned char *at) {
  struct level *top = &w->level[w->depth - 1];
  size_t index = (size_t)(f - top->what->fields);
  if (f->label != PROTOBUF_C_LABEL_REPEATED && index < 64) {
    /* Writers never split a message; joining its parts is quadratic work. */
    if (top->seen >> index & 1)
      return tsr_err_set(w->err, TSR_INPUT, "%s: %s has a second '%s' at byte %zu", w->path,
                         top->what->short_name, f->name, (size_t)(at - w->begin));
    top->seen |= UINT64_C(1) << index;
  }
  if (w->depth == TSR_ONNX_DEPTH_MAX)
    return tsr_err_set(w->err, TSR_INPUT,
                       "'%s' nests too deep; expected at most %d messages inside each other",
                       w->path, TSR_ONNX_DEPTH_MAX);
  w->level[w->depth++] = (struct level){f->descriptor, w->p + len, 0};
  return TSR_OK;
}

static enum tsr_status field(struct walk *w) {
  const struct level *top = &w->level[w->depth - 1];
  const unsigned char *at = w->p;
  uint64_t tag, len;
  if (!varint(w, &tag)) return damaged(w, at, "a field that never ends");
  if (tag >> 3 == 0 || tag >> 3 > UINT32_MAX >> 3) return damaged(w, at, "no field number");
  switch (tag & 7) {
  case PROTOBUF_C_WIRE_TYPE_VARINT:
    return varint(w, &len) ? TSR_OK : damaged(w, at, "a number that never ends");
  case PROTOBUF_C_WIRE_TYPE_64BIT: len = 8; break;
  case PROTOBUF_C_WIRE_TYPE_32BIT: len = 4; break;
  case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
    if (!varint(w, &len)) return damaged(w, at, "a length that never ends");
    break;
  default: return damaged(w, at, "an unknown kind of field");
  }
  if (len > (size_t)(top->end - w->p))
    return tsr_err_set(w->err, TSR_INPUT,
                       "'%s' is no %s: a field of %" PRIu64 " bytes at byte %zu; expected at "
                       "most the %zu bytes that are left",
                       w->path, w->level[0].what->short_name, len, (size_t)(at - w->begin),
                       (size_t)(top->end - w->p));
  const ProtobufCFieldDescriptor *f =
      protobuf_c_message_descriptor_get_field(top->what, (unsigned)(tag >> 3));
  if (f && f->type == PROTOBUF_C_TYPE_MESSAGE &&
      (tag & 7) == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
    return enter(w, f, len, at);
  w->p += len;
  return TSR_OK;
}

static enum tsr_status walk_all(struct walk *w) {
  enum tsr_status st = TSR_OK;
  while (st == TSR_OK && w->depth) {
    if (w->p == w->level[w->depth - 1].end)
      w->depth--;
    else
      st = field(w);
  }
  return st;
}

static void *take(void *data, size_t n) {
  struct tsri_onnx_memory *m = data;
  if (n > m->left) {
    m->spent = true;
    return NULL;
  }
  m->left -= n;
  void *p = tsr_mem_alloc(n);
  m->failed |= !p;
  return p;
}

static void give(void *data, void *p) {
  (void)data;
  tsr_mem_free(p);
}

void tsri_onnx_memory_init(struct tsri_onnx_memory *m, size_t file_size) {
  *m = (struct tsri_onnx_memory){.allocator = {take, give, m},
                                 .left = 64 * (uint64_t)file_size + (64u << 20)};
}

enum tsr_status tsri_onnx_unpack(const char *path, const ProtobufCMessageDescriptor *what,
                                 const void *data, size_t len, struct tsri_onnx_memory *memory,
                                 ProtobufCMessage **out, struct tsr_err *err) {
  if (len > TSR_ONNX_FILE_MAX)
    return tsr_err_set(err, TSR_INPUT, "'%s' is too large; expected at most %" PRIu64 " MiB",
                       path, (TSR_ONNX_FILE_MAX + 1) >> 20);
  struct walk w = {.path = path, .begin = data, .p = data, .depth = 1, .err = err};
  w.level[0] = (struct level){what, w.begin + len, 0};
  enum tsr_status st = walk_all(&w);
  if (st != TSR_OK) return st;
  uint64_t limit = memory->left;
  ProtobufCMessage *m = protobuf_c_message_unpack(what, &memory->allocator, len, data);
  if (!m && memory->spent)
    return tsr_err_set(err, TSR_INPUT,
                       "'%s' asks for more than %" PRIu64 " bytes of memory; expected at most "
                       "64 times its size and 64 MiB",
                       path, limit);
  if (!m && memory->failed) return tsr_err_nomem(err);
  if (!m)
    return tsr_err_set(err, TSR_INPUT,
                       "'%s' is no %s: a field has the wrong type, or a needed one is missing",
                       path, what->short_name);
  *out = m;
  return TSR_OK;
}
