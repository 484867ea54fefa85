/* Arrays of the host: element types, what a file's bytes say, rounding to a narrower float. */
#include "workloads/net/array.h"

#include <math.h>
#include <string.h>

/* A floating type below double: precision (with the hidden bit), exponents of normal numbers.
 */
struct narrow {
  unsigned precision;
  int low, high;
};
struct dtype {
  const char *name;
  unsigned bytes;
  bool is_float, is_signed;
  struct narrow narrow;
};
static const struct dtype TYPES[TSR_DTYPE_N_] = {
    [TSR_DTYPE_F32] = {"f32", 4, true, true, {24, -126, 127}},
    [TSR_DTYPE_U8] = {"u8", 1, false, false, {0, 0, 0}},
    [TSR_DTYPE_I8] = {"i8", 1, false, true, {0, 0, 0}},
    [TSR_DTYPE_U16] = {"u16", 2, false, false, {0, 0, 0}},
    [TSR_DTYPE_I16] = {"i16", 2, false, true, {0, 0, 0}},
    [TSR_DTYPE_I32] = {"i32", 4, false, true, {0, 0, 0}},
    [TSR_DTYPE_I64] = {"i64", 8, false, true, {0, 0, 0}},
    [TSR_DTYPE_STRING] = {"string", 0, false, false, {0, 0, 0}},
    [TSR_DTYPE_BOOL] = {"bool", 1, false, false, {0, 0, 0}},
    [TSR_DTYPE_F16] = {"f16", 2, true, true, {11, -14, 15}},
    [TSR_DTYPE_F64] = {"f64", 8, true, true, {53, -1022, 1023}},
    [TSR_DTYPE_U32] = {"u32", 4, false, false, {0, 0, 0}},
    [TSR_DTYPE_U64] = {"u64", 8, false, false, {0, 0, 0}},
    [TSR_DTYPE_BF16] = {"bf16", 2, true, true, {8, -126, 127}},
};

static const struct dtype *info(enum tsr_dtype t) {
  static const struct dtype none = {"?", 0, false, false, {0, 0, 0}};
  if ((unsigned)t >= TSR_DTYPE_N_ || !TYPES[t].name) return &none;
  return &TYPES[t];
}

const char *tsr_dtype_name(enum tsr_dtype t) {
  return info(t)->name;
}

enum tsr_dtype tsr_dtype_find(const char *name) {
  for (unsigned t = 0; t < TSR_DTYPE_N_; t++)
    if (TYPES[t].name && strcmp(TYPES[t].name, name) == 0) return (enum tsr_dtype)t;
  return TSR_DTYPE_NONE;
}

bool tsr_dtype_is_float(enum tsr_dtype t) {
  return info(t)->is_float;
}

unsigned tsr_dtype_bytes(enum tsr_dtype t) {
  return info(t)->bytes;
}

/* ---- rounding ---- */

/* To `precision` bits, less where the number is below the normal ones: adding and taking away
 * a power of two leaves the bits above its unit in the last place, ties to even. */
static double round_narrow(const struct narrow *w, double v) {
  if (v == 0 || !isfinite(v)) return v;
  int e = ilogb(v) < w->low ? w->low : ilogb(v);
  double unit = ldexp(1.0, e - (int)w->precision + 1);
  double q = nearbyint(v / unit) * unit; /* exact: a scaling by powers of two */
  if (fabs(q) >= ldexp(1.0, w->high + 1)) return copysign(INFINITY, v);
  return copysign(q, v);
}

double tsr_dtype_round(enum tsr_dtype t, double v) {
  if (t == TSR_DTYPE_F32) return (double)(float)v;
  if (t == TSR_DTYPE_F16 || t == TSR_DTYPE_BF16) return round_narrow(&TYPES[t].narrow, v);
  return v;
}

int64_t tsr_dtype_wrap(enum tsr_dtype t, int64_t v) {
  if (t == TSR_DTYPE_BOOL) return v != 0;
  unsigned bits = info(t)->bytes * 8;
  if (bits == 0 || bits >= 64) return v;
  uint64_t mask = (UINT64_C(1) << bits) - 1, u = (uint64_t)v & mask;
  if (info(t)->is_signed && (u >> (bits - 1))) u |= ~mask;
  return (int64_t)u;
}

/* ---- bytes of files ---- */

static uint64_t load_le(const unsigned char *p, unsigned bytes) {
  uint64_t u = 0;
  for (unsigned b = 0; b < bytes; b++) u |= (uint64_t)p[b] << (8 * b);
  return u;
}

static double widen(const struct narrow *w, unsigned bits, uint64_t u) {
  unsigned frac = w->precision - 1;
  bool minus = u >> (bits - 1);
  uint64_t m = u & ((UINT64_C(1) << frac) - 1);
  int e = (int)((u >> frac) & ((UINT64_C(1) << (bits - 1 - frac)) - 1));
  double v;
  if (e == w->high - w->low + 2) {
    v = m ? (double)NAN : (double)INFINITY;
  } else if (e == 0) {
    v = ldexp((double)m, w->low - (int)frac);
  } else {
    v = ldexp((double)(m | UINT64_C(1) << frac), e + w->low - 1 - (int)frac);
  }
  return minus ? -v : v;
}

void tsr_dtype_load(enum tsr_dtype t, const void *p, double *f, int64_t *i) {
  const struct dtype *d = info(t);
  uint64_t u = load_le(p, d->bytes);
  if (!d->is_float) {
    *i = tsr_dtype_wrap(t, (int64_t)u);
  } else if (t == TSR_DTYPE_F64) {
    memcpy(f, &u, sizeof *f);
  } else if (t == TSR_DTYPE_F32) {
    uint32_t u32 = (uint32_t)u;
    float v;
    memcpy(&v, &u32, sizeof v);
    *f = (double)v;
  } else {
    *f = widen(&d->narrow, d->bytes * 8, u);
  }
}

/* The code of a value that the type holds (as tsr_dtype_round gives it). */
static uint64_t narrow_code(const struct narrow *w, unsigned bits, double v) {
  unsigned frac = w->precision - 1;
  uint64_t sign = signbit(v) ? UINT64_C(1) << (bits - 1) : 0;
  uint64_t top = (uint64_t)(w->high - w->low + 2) << frac;
  if (isnan(v)) return sign | top | UINT64_C(1) << (frac - 1);
  if (isinf(v)) return sign | top;
  if (v == 0) return sign;
  int e = ilogb(v);
  if (e < w->low) return sign | (uint64_t)ldexp(fabs(v), (int)frac - w->low);
  uint64_t m = (uint64_t)ldexp(fabs(v), (int)frac - e); /* with the hidden bit */
  return sign | (((uint64_t)(e - w->low) << frac) + m);
}

void tsr_dtype_store(enum tsr_dtype t, double f, int64_t i, void *p) {
  const struct dtype *d = info(t);
  uint64_t u = 0;
  if (!d->is_float) {
    u = (uint64_t)tsr_dtype_wrap(t, i);
  } else if (t == TSR_DTYPE_F64) {
    memcpy(&u, &f, sizeof u);
  } else if (t == TSR_DTYPE_F32) {
    float v = (float)f;
    uint32_t u32;
    memcpy(&u32, &v, sizeof u32);
    u = u32;
  } else {
    u = narrow_code(&d->narrow, d->bytes * 8, tsr_dtype_round(t, f));
  }
  for (unsigned b = 0; b < d->bytes; b++)
    ((unsigned char *)p)[b] = (unsigned char)(u >> (8 * b));
}

/* ---- arrays ---- */

bool tsr_array_count(unsigned rank, const uint64_t *dim, uint64_t *n) {
  uint64_t r = 1;
  bool empty = false;
  for (unsigned d = 0; d < rank; d++) empty |= dim[d] == 0;
  for (unsigned d = 0; d < rank; d++) {
    if (dim[d] > TSR_ARRAY_ELEMS_MAX) return false;
    if (!empty && (!tsr_mul_u64(r, dim[d], &r) || r > TSR_ARRAY_ELEMS_MAX)) return false;
  }
  *n = empty ? 0 : r;
  return true;
}

static void *take(struct tsr_arena *arena, size_t count, size_t size) {
  return arena ? tsr_arena_array(arena, count, size) : tsr_mem_array(count, size);
}

enum tsr_status tsr_array_create(struct tsr_arena *arena, enum tsr_dtype type, unsigned rank,
                                 const uint64_t *dim, struct tsr_array **out,
                                 struct tsr_err *err) {
  uint64_t n;
  if (!tsr_dtype_bytes(type))
    return tsr_err_set(err, TSR_INPUT, "an array of type '%s' cannot be held",
                       tsr_dtype_name(type));
  if (rank > TSR_RANK_MAX)
    return tsr_err_set(err, TSR_INPUT,
                       "an array has too many dimensions; expected at most %d, "
                       "got '%u'",
                       TSR_RANK_MAX, rank);
  if (!tsr_array_count(rank, dim, &n))
    return tsr_err_set(err, TSR_INPUT, "an array is too large; expected at most 2^40 elements");
  struct tsr_array *a = take(arena, 1, sizeof *a);
  if (!a) return tsr_err_nomem(err);
  a->type = type;
  a->rank = rank;
  for (unsigned d = 0; d < rank; d++) a->dim[d] = dim[d];
  a->n = n;
  void *data = take(arena, (size_t)n, sizeof(double));
  if (!data) {
    if (!arena) tsr_mem_free(a);
    return tsr_err_nomem(err);
  }
  if (tsr_dtype_is_float(type)) {
    a->f = data;
  } else {
    a->i = data;
  }
  *out = a;
  return TSR_OK;
}

enum tsr_status tsr_array_copy(struct tsr_arena *arena, const struct tsr_array *from,
                               struct tsr_array **out, struct tsr_err *err) {
  struct tsr_array *a;
  enum tsr_status st = tsr_array_create(arena, from->type, from->rank, from->dim, &a, err);
  if (st) return st;
  if (a->f && a->n) memcpy(a->f, from->f, (size_t)a->n * sizeof *a->f);
  if (a->i && a->n) memcpy(a->i, from->i, (size_t)a->n * sizeof *a->i);
  *out = a;
  return TSR_OK;
}

void tsr_array_destroy(struct tsr_array *a) {
  if (!a) return;
  tsr_mem_free(a->f);
  tsr_mem_free(a->i);
  tsr_mem_free(a);
}

/* ---- elements ---- */

static double int_as_double(enum tsr_dtype t, int64_t v) {
  return t == TSR_DTYPE_U64 ? (double)(uint64_t)v : (double)v;
}

double tsr_array_get(const struct tsr_array *a, uint64_t i) {
  return a->f ? a->f[i] : int_as_double(a->type, a->i[i]);
}

/* Towards zero; what no integer of 64 bits holds becomes the nearest that one does, NaN 0. */
static int64_t trunc_int(enum tsr_dtype t, double v) {
  if (isnan(v)) return 0;
  if (t == TSR_DTYPE_U64 && v >= 0x1p63) return v >= 0x1p64 ? -1 : (int64_t)(uint64_t)v;
  if (v >= 0x1p63) return INT64_MAX;
  if (v < -0x1p63) return INT64_MIN;
  return (int64_t)v;
}

int64_t tsr_array_get_int(const struct tsr_array *a, uint64_t i) {
  return a->i ? a->i[i] : trunc_int(TSR_DTYPE_I64, a->f[i]);
}

void tsr_array_set(struct tsr_array *a, uint64_t i, double v) {
  if (a->f) {
    a->f[i] = v;
  } else if (a->type == TSR_DTYPE_BOOL) {
    a->i[i] = v != 0;
  } else {
    a->i[i] = tsr_dtype_wrap(a->type, trunc_int(a->type, nearbyint(v)));
  }
}
