/* A TensorProto as an array.  Its elements stand in raw bytes, in a list that its type names,
 * or in another file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/io.h"
#include "workloads/onnx/onnx_int.h"

static const char *const type_names[] = {
    [0] = "undefined",   [1] = "f32",       [2] = "u8",          [3] = "i8",
    [4] = "u16",         [5] = "i16",       [6] = "i32",         [7] = "i64",
    [8] = "string",      [9] = "bool",      [10] = "f16",        [11] = "f64",
    [12] = "u32",        [13] = "u64",      [14] = "complex64",  [15] = "complex128",
    [16] = "bf16",       [17] = "f8e4m3fn", [18] = "f8e4m3fnuz", [19] = "f8e5m2",
    [20] = "f8e5m2fnuz", [21] = "u4",       [22] = "i4",         [23] = "f4e2m1",
};

const char *tsri_onnx_type_name(int32_t type, char *buf, size_t n) {
  if (type >= 0 && (size_t)type < sizeof type_names / sizeof *type_names)
    return type_names[type];
  snprintf(buf, n, "type %" PRId32, type);
  return buf;
}

bool tsri_onnx_type_held(int32_t type) {
  return type > TSR_DTYPE_NONE && type < TSR_DTYPE_N_ && type != TSR_DTYPE_STRING &&
         tsr_dtype_bytes((enum tsr_dtype)type) > 0;
}

/* What is being read, and what its messages say. */
struct reading {
  const char *path, *label;
  const Onnx__TensorProto *t;
  struct tsr_array *a;
  struct tsr_err *err;
};

static enum tsr_status check_kind(const struct reading *r) {
  const Onnx__TensorProto *t = r->t;
  char buf[32];
  int32_t type = t->has_data_type ? t->data_type : 0;
  if (!tsri_onnx_type_held(type))
    return tsr_err_set(r->err, TSR_INPUT,
                       "%s: %s holds elements of %s; expected one of f16, bf16, f32, f64, "
                       "bool, i8 … i64, u8 … u64",
                       r->path, r->label, tsri_onnx_type_name(type, buf, sizeof buf));
  if (t->segment)
    return tsr_err_set(r->err, TSR_INPUT,
                       "%s: %s is a segment of a tensor; expected a whole tensor", r->path,
                       r->label);
  return TSR_OK;
}

static enum tsr_status shape(const struct reading *r, uint64_t *dim, uint64_t *n) {
  const Onnx__TensorProto *t = r->t;
  if (t->n_dims > TSR_RANK_MAX)
    return tsr_err_set(r->err, TSR_INPUT, "%s: %s has %zu dimensions; expected at most %d",
                       r->path, r->label, t->n_dims, TSR_RANK_MAX);
  for (size_t i = 0; i < t->n_dims; i++) {
    if (t->dims[i] < 0)
      return tsr_err_set(r->err, TSR_INPUT,
                         "%s: dimension %zu of %s is %" PRId64 "; expected 0 or more", r->path,
                         i, r->label, t->dims[i]);
    dim[i] = (uint64_t)t->dims[i];
  }
  if (!tsr_array_count((unsigned)t->n_dims, dim, n))
    return tsr_err_set(r->err, TSR_INPUT,
                       "%s: the dimensions of %s are too large; expected at most 2^40 "
                       "elements",
                       r->path, r->label);
  return TSR_OK;
}

/* The typed list of an element type (SRC:onnx_proto, comments of TensorProto). */
static size_t list_length(const Onnx__TensorProto *t) {
  switch (t->data_type) {
  case TSR_DTYPE_F32: return t->n_float_data;
  case TSR_DTYPE_F64: return t->n_double_data;
  case TSR_DTYPE_I64: return t->n_int64_data;
  case TSR_DTYPE_U32:
  case TSR_DTYPE_U64: return t->n_uint64_data;
  default: return t->n_int32_data;
  }
}

static bool is_external(const Onnx__TensorProto *t) {
  return t->has_data_location &&
         t->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* Before the array is made: that the model holds as much as the dimensions say. */
static enum tsr_status check_size(const struct reading *r, uint64_t n) {
  const Onnx__TensorProto *t = r->t;
  unsigned width = tsr_dtype_bytes((enum tsr_dtype)t->data_type);
  size_t listed = list_length(t);
  if (is_external(t)) return TSR_OK;
  if (t->has_raw_data && listed)
    return tsr_err_set(r->err, TSR_INPUT,
                       "%s: %s has its elements twice, as raw data and as a list", r->path,
                       r->label);
  uint64_t got = t->has_raw_data ? t->raw_data.len : (uint64_t)listed * width;
  if (got == n * width) return TSR_OK;
  return tsr_err_set(
      r->err, TSR_INPUT,
      "%s: %s of %" PRIu64 " elements of %s needs %" PRIu64 " bytes, got %" PRIu64, r->path,
      r->label, n, tsr_dtype_name((enum tsr_dtype)t->data_type), n * width, got);
}

static void put_bytes(struct tsr_array *a, const unsigned char *p) {
  unsigned width = tsr_dtype_bytes(a->type);
  for (uint64_t i = 0; i < a->n; i++)
    tsr_dtype_load(a->type, p + i * width, a->f ? &a->f[i] : NULL, a->i ? &a->i[i] : NULL);
}

/* 16-bit floats stand in the low half of an int32 each; small integers as themselves. */
static void put_int32(struct tsr_array *a, const int32_t *v) {
  for (uint64_t i = 0; i < a->n; i++) {
    if (a->i) {
      a->i[i] = tsr_dtype_wrap(a->type, v[i]);
      continue;
    }
    const unsigned char half[2] = {(unsigned char)(v[i] & 0xff),
                                   (unsigned char)(v[i] >> 8 & 0xff)};
    tsr_dtype_load(a->type, half, &a->f[i], NULL);
  }
}

static void put_list(struct tsr_array *a, const Onnx__TensorProto *t) {
  switch (a->type) {
  case TSR_DTYPE_F32:
    for (uint64_t i = 0; i < a->n; i++) a->f[i] = (double)t->float_data[i];
    break;
  case TSR_DTYPE_F64:
    for (uint64_t i = 0; i < a->n; i++) a->f[i] = t->double_data[i];
    break;
  case TSR_DTYPE_I64:
    for (uint64_t i = 0; i < a->n; i++) a->i[i] = t->int64_data[i];
    break;
  case TSR_DTYPE_U32:
  case TSR_DTYPE_U64:
    for (uint64_t i = 0; i < a->n; i++)
      a->i[i] = tsr_dtype_wrap(a->type, (int64_t)t->uint64_data[i]);
    break;
  default: put_int32(a, t->int32_data); break;
  }
}

enum tsr_status tsri_onnx_tensor(const char *path, const char *label,
                                 const Onnx__TensorProto *t, struct tsr_arena *arena,
                                 struct tsr_array **out, struct tsr_err *err) {
  struct reading r = {path, label, t, NULL, err};
  uint64_t dim[TSR_RANK_MAX], n;
  unsigned char *beside = NULL;
  enum tsr_status st = check_kind(&r);
  if (st == TSR_OK) st = shape(&r, dim, &n);
  if (st == TSR_OK) st = check_size(&r, n);
  if (st == TSR_OK && is_external(t))
    st = tsri_onnx_external(path, label, t, n * tsr_dtype_bytes((enum tsr_dtype)t->data_type),
                            &beside, err);
  if (st == TSR_OK)
    st = tsr_array_create(arena, (enum tsr_dtype)t->data_type, (unsigned)t->n_dims, dim, &r.a,
                          err);
  if (st == TSR_OK) {
    if (beside)
      put_bytes(r.a, beside);
    else if (t->has_raw_data)
      put_bytes(r.a, t->raw_data.data);
    else
      put_list(r.a, t);
    *out = r.a;
  }
  tsr_mem_free(beside);
  return st;
}

enum tsr_status tsr_onnx_tensor_parse(const char *path, const void *data, size_t len,
                                      struct tsr_array **out, struct tsr_err *err) {
  struct tsri_onnx_memory memory;
  ProtobufCMessage *m;
  tsri_onnx_memory_init(&memory, len);
  enum tsr_status st =
      tsri_onnx_unpack(path, &onnx__tensor_proto__descriptor, data, len, &memory, &m, err);
  if (st != TSR_OK) return st;
  st = tsri_onnx_tensor(path, "the tensor", (const Onnx__TensorProto *)m, NULL, out, err);
  protobuf_c_message_free_unpacked(m, &memory.allocator);
  return st;
}

enum tsr_status tsr_onnx_tensor_read(const char *path, struct tsr_array **out,
                                     struct tsr_err *err) {
  unsigned char *data;
  size_t len;
  enum tsr_status st = tsr_io_read_bytes(path, TSR_ONNX_FILE_MAX, &data, &len, err);
  if (st != TSR_OK) return st;
  st = tsr_onnx_tensor_parse(path, data, len, out, err);
  tsr_mem_free(data);
  return st;
}
