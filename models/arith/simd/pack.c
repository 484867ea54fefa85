/* Packing: each operand is decoded once, into the form its kernel reads. */
#include <limits.h>
#include <string.h>

#include "models/arith/simd/simd.h"

/* One operand while it is packed.  Codes of a byte are looked up. */
struct source {
  const struct tsr_format *f;
  const struct tsr_format *via; /* converted to this first; f: no */
  enum tsr_round via_round;
  bool flush; /* subnormals are +0 */
  const void *codes;
  size_t ld, rows, cols, bytes;
  double *value;   /* by code; this and weight NULL: decode each */
  int16_t *weight; /* by code: exponent, EXP_NONE for 0, EXP_ODD for inf and NaN */
  float *packed;   /* by code, once the scale is known: what is packed */
  int8_t *packed_exp;
  /* Read by its bits, without decoding. */
  bool direct;
  uint32_t mag_mask, max_finite;
  double unit;
  int top, least; /* exponents of the largest and the least non-zero value */
};

enum { EXP_NONE = INT16_MIN, EXP_ODD = INT16_MAX };

static double power_of_two(int e) {
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Exact: a significand of at most 53 bits, and no operand format of the kernels
 * reaches below the normal range of double but fp64 itself (read by its bits). */
static double value_of(const struct tsr_num *v) {
  double mag = v->cls == TSR_NUM_FINITE ? (double)v->sig * power_of_two(v->exp) : 0;
  if (v->cls == TSR_NUM_INF) mag = (double)__builtin_inff();
  if (v->cls == TSR_NUM_NAN) mag = (double)__builtin_nanf("");
  return v->sign ? -mag : mag;
}

static int16_t weight_of(const struct tsr_format *f, const struct tsr_num *v) {
  if (v->cls == TSR_NUM_ZERO) return EXP_NONE;
  if (v->cls != TSR_NUM_FINITE) return EXP_ODD;
  return (int16_t)(v->exp + f->man_bits);
}

static struct tsr_num number(const struct source *s, uint64_t code) {
  if (s->via != s->f) code = tsr_arith_convert(s->f, code, s->via, s->via_round, NULL);
  struct tsr_num v = tsr_arith_decode(s->via, code);
  if (v.subnormal && s->flush) v = (struct tsr_num){.cls = TSR_NUM_ZERO};
  return v;
}

/* Sign and magnitude, read by shifting the magnitude to where fp32 has it: a value
 * 2^(127 - bias) times too small, subnormals included. */
static inline void read_direct(const struct source *s, uint32_t code, double *value,
                               int *weight) {
  const struct tsr_format *f = s->f;
  code >>= f->pad_bits;
  uint32_t mag = code & s->mag_mask, field = mag >> f->man_bits;
  uint32_t bits = (code & ~s->mag_mask ? UINT32_C(1) << 31 : 0) | mag << (23 - f->man_bits);
  float v;
  memcpy(&v, &bits, sizeof v);
  *value = (double)v * s->unit;
  *weight = field ? (int)field - f->bias : mag ? 1 - f->bias : EXP_NONE;
  if (mag > s->max_finite) {
    bool inf = f->has_inf && (mag & ((UINT32_C(1) << f->man_bits) - 1)) == 0;
    *value = inf ? (double)__builtin_inff() : (double)__builtin_nanf("");
    if (inf && bits >> 31) *value = -*value;
    *weight = EXP_ODD;
  } else if (s->flush && mag && !field) { /* -0 is no subnormal and stays */
    *value = 0;
    *weight = EXP_NONE;
  }
}

static void look_up(const struct source *s, uint64_t code, double *value, int *weight) {
  if (s->direct) {
    read_direct(s, (uint32_t)code, value, weight);
    return;
  }
  if (s->weight) {
    *value = s->value[code];
    *weight = s->weight[code];
    return;
  }
  struct tsr_num v = number(s, code);
  *value = value_of(&v);
  *weight = weight_of(s->via, &v);
}

/* Sign and magnitude of fp32's range or less, nothing special but at the top. */
static bool is_direct(const struct tsr_format *f) {
  return !f->is_int && !f->codec && !f->is_unsigned && !f->no_neg_zero && f->bits <= 32 &&
         f->exp_bits <= 8 && f->man_bits <= 23 && f->bias <= 127 &&
         f->exp_bits + f->man_bits + 1 + f->pad_bits == f->bits;
}

static bool source_open(struct source *s, const struct tsr_mma *u, const struct tsr_format *f,
                        const void *codes, size_t ld, size_t rows, size_t cols) {
  *s = (struct source){.f = f,
                       .via = u->via ? u->via : f,
                       .via_round = u->via_round,
                       .flush = u->flush,
                       .codes = codes,
                       .ld = ld,
                       .rows = rows,
                       .cols = cols,
                       .bytes = tsr_gemm_code_bytes(f)};
  if (f->bits > 8) {
    s->direct = is_direct(f) && s->via == f;
    s->mag_mask = (uint32_t)((UINT64_C(1) << (f->exp_bits + f->man_bits)) - 1);
    s->max_finite =
        s->mag_mask - (uint32_t)(f->has_inf ? UINT64_C(1) << f->man_bits : f->has_nan);
    s->unit = power_of_two(127 - f->bias);
    return true;
  }
  /* A code is a byte: what lies above the format's bits reads as the format has it. */
  size_t n = (size_t)1 << (8 * s->bytes);
  s->value = tsr_mem_array(n, sizeof *s->value);
  s->weight = tsr_mem_array(n, sizeof *s->weight);
  if (!s->value || !s->weight) return false;
  for (size_t code = 0; code < n; code++) {
    struct tsr_num v = number(s, code);
    s->value[code] = value_of(&v);
    s->weight[code] = weight_of(s->via, &v);
  }
  return true;
}

static void source_close(struct source *s) {
  tsr_mem_free(s->value);
  tsr_mem_free(s->weight);
  tsr_mem_free(s->packed);
  tsr_mem_free(s->packed_exp);
}

struct job {
  struct tsri_plan *p;
  struct source a, b;
  int *tops, *leasts; /* by row or panel while the largest exponent is looked for */
};

static inline uint32_t magnitude(const struct source *s, size_t at) {
  uint32_t code =
      s->bytes == 2 ? ((const uint16_t *)s->codes)[at] : ((const uint32_t *)s->codes)[at];
  return code >> s->f->pad_bits & s->mag_mask;
}

/* The exponent grows with the magnitude: the least and the largest of a row tell. */
static void range_direct(const struct source *s, size_t row, int *top, int *least) {
  uint32_t hi = 0, lo = UINT32_MAX;
  uint32_t min = s->flush ? UINT32_C(1) << s->f->man_bits : 1;
  for (size_t at = row * s->ld; at < row * s->ld + s->cols; at++) {
    uint32_t mag = magnitude(s, at);
    bool counts = mag >= min && mag <= s->max_finite;
    hi = counts && mag > hi ? mag : hi;
    lo = counts && mag < lo ? mag : lo;
  }
  double unused;
  if (hi) read_direct(s, hi << s->f->pad_bits, &unused, top);
  if (hi) read_direct(s, lo << s->f->pad_bits, &unused, least);
}

static void range_of_row(const struct source *s, size_t row, int *top, int *least) {
  int hi = INT_MIN, lo = INT_MAX;
  *top = hi;
  *least = lo;
  if (s->direct) {
    range_direct(s, row, top, least);
    return;
  }
  for (size_t j = 0; j < s->cols; j++) {
    uint64_t code = tsri_code_at(s->codes, s->bytes, row * s->ld + j);
    double v;
    int w;
    if (s->weight)
      w = s->weight[code];
    else
      look_up(s, code, &v, &w);
    if (w == EXP_NONE || w == EXP_ODD) continue;
    if (w > hi) hi = w;
    if (w < lo) lo = w;
  }
  *top = hi;
  *least = lo;
}

static void range_a(void *arg, size_t i) {
  struct job *j = arg;
  range_of_row(&j->a, i, &j->tops[i], &j->leasts[i]);
}

static void range_b(void *arg, size_t i) {
  struct job *j = arg;
  range_of_row(&j->b, i, &j->tops[i], &j->leasts[i]);
}

static void range_join(const struct job *j, struct source *s) {
  s->top = INT_MIN;
  s->least = INT_MAX;
  for (size_t i = 0; i < s->rows; i++) {
    if (j->tops[i] > s->top) s->top = j->tops[i];
    if (j->leasts[i] < s->least) s->least = j->leasts[i];
  }
  if (s->top == INT_MIN) s->top = s->least = 0;
}

/* Exponent of an operand relative to its matrix, clipped so that a clipped one can
 * not be taken for a zero. */
static int8_t relative(int w, int top) {
  if (w == EXP_NONE) return TSRI_EXP_ZERO;
  if (w == EXP_ODD) return TSRI_EXP_SPECIAL;
  return (int8_t)(w - top < TSRI_EXP_ZERO + 1 ? TSRI_EXP_ZERO + 1 : w - top);
}

/* The scale is a power of two and a value has at most 24 significant bits: exact in
 * float, unless it falls below float's range.  A product with such a value is below
 * 2^(top - 124), which the fast step truncates to 0 (see README). */
static float scaled(double v, double scale) {
  return (float)(v * scale);
}

/* Makes s->packed; does nothing where there is no table. */
static bool source_scale(struct source *s, bool relatively) {
  if (!s->value) return true;
  size_t n = (size_t)1 << (8 * s->bytes);
  double scale = relatively ? power_of_two(-s->top) : 1;
  s->packed = tsr_mem_array(n, sizeof *s->packed);
  s->packed_exp = tsr_mem_array(n, 1);
  if (!s->packed || !s->packed_exp) return false;
  for (size_t i = 0; i < n; i++) {
    s->packed[i] = scaled(s->value[i], scale);
    s->packed_exp[i] = relative(s->weight[i], s->top);
  }
  return true;
}

/* As pack_run, all at once; false, and nothing of use written: there is an infinity or
 * a NaN, or the format is not read directly. */
static bool pack_direct(const struct source *s, size_t at, size_t n, float *value,
                        int8_t *exp) {
  if (!s->direct || s->flush) return false;
  const int bias = s->f->bias, top = s->top, man = s->f->man_bits;
  const double scale = s->unit * (exp ? power_of_two(-top) : 1);
  const uint32_t sign_mask = s->mag_mask + 1;
  const unsigned pad = s->f->pad_bits, up = 31u - s->f->exp_bits - s->f->man_bits;
  uint32_t most = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t code = s->bytes == 2 ? ((const uint16_t *)s->codes)[at + i]
                                  : ((const uint32_t *)s->codes)[at + i];
    uint32_t mag = code >> pad & s->mag_mask;
    uint32_t bits = (code >> pad & sign_mask) << up | mag << (23 - man);
    float v;
    memcpy(&v, &bits, sizeof v);
    value[i] = scaled((double)v, scale);
    most = mag > most ? mag : most;
  }
  for (size_t i = 0; exp && i < n; i++) {
    int field = (int)(magnitude(s, at + i) >> man);
    int w = (field > 1 ? field : 1) - bias - top;
    w = w < TSRI_EXP_ZERO + 1 ? TSRI_EXP_ZERO + 1 : w;
    exp[i] = (int8_t)(magnitude(s, at + i) ? w : TSRI_EXP_ZERO);
  }
  return most <= s->max_finite;
}

/* n elements from `at` on; `exp` may be NULL.  True: there was an infinity or NaN. */
static bool pack_run(const struct source *s, size_t at, size_t n, float *value, int8_t *exp) {
  if (pack_direct(s, at, n, value, exp)) return false;
  double scale = exp ? power_of_two(-s->top) : 1;
  unsigned odd = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t code = tsri_code_at(s->codes, s->bytes, at + i);
    if (s->packed) {
      value[i] = s->packed[code];
      if (!exp) continue;
      exp[i] = s->packed_exp[code];
    } else {
      double v;
      int w;
      look_up(s, code, &v, &w);
      value[i] = scaled(v, scale);
      if (!exp) continue;
      exp[i] = relative(w, s->top);
    }
    odd |= exp[i] == TSRI_EXP_SPECIAL;
  }
  return odd;
}

static void pack_a_float(void *arg, size_t i) {
  struct job *j = arg;
  struct tsri_plan *p = j->p;
  const struct source *s = &j->a;
  float *value = p->av + i * s->cols;
  int8_t *exp = p->ae ? p->ae + i * s->cols : NULL;
  bool odd = false;
  if (!p->period) {
    odd = pack_run(s, i * s->ld, s->cols, value, exp);
  } else {
    for (size_t k = 0; k < s->cols; k++)
      odd |= pack_run(s, i * s->ld + tsri_k_at(p, k), 1, value + k, exp ? exp + k : NULL);
  }
  if (exp) p->a_odd[i] = odd;
}

static void pack_b_float(void *arg, size_t panel) {
  struct job *j = arg;
  struct tsri_plan *p = j->p;
  const struct source *s = &j->b;
  size_t col = panel * TSRI_NC, width = tsri_panel_width(s->cols, panel);
  size_t n = tsr_min_u64(s->cols - col, width), at = panel * TSRI_NC * s->rows;
  bool odd = false;
  for (size_t k = 0; k < s->rows; k++, at += width) {
    int8_t *exp = p->be ? p->be + at : NULL;
    odd |= pack_run(s, tsri_k_at(p, k) * s->ld + col, n, p->bv + at, exp);
    for (size_t l = n; exp && l < width; l++) exp[l] = TSRI_EXP_ZERO;
  }
  if (p->be) p->b_odd[panel] = odd;
}

static void pack_a_double(void *arg, size_t i) {
  struct job *j = arg;
  const double *row = (const double *)j->a.codes + i * j->a.ld;
  memcpy(j->p->ad + i * j->a.cols, row, j->a.cols * sizeof *row);
}

static void pack_b_double(void *arg, size_t panel) {
  struct job *j = arg;
  const struct source *s = &j->b;
  size_t col = panel * TSRI_NC, width = tsri_panel_width(s->cols, panel);
  size_t n = tsr_min_u64(s->cols - col, width);
  double *out = j->p->bd + panel * TSRI_NC * s->rows;
  for (size_t k = 0; k < s->rows; k++, out += width)
    memcpy(out, (const double *)s->codes + k * s->ld + col, n * sizeof *out);
}

static int int_at(const struct source *s, size_t i) {
  struct tsr_num v = tsr_arith_decode(s->f, tsri_code_at(s->codes, s->bytes, i));
  return v.sign ? -(int)v.sig : (int)v.sig;
}

/* Pairs of k lie together in B: panel, k / 2, column, k % 2. */
static void pack_a_int16(void *arg, size_t i) {
  struct job *j = arg;
  int16_t *out = j->p->a16 + i * j->p->k_pad;
  for (size_t k = 0; k < j->a.cols; k++) out[k] = (int16_t)int_at(&j->a, i * j->a.ld + k);
}

static void pack_b_int16(void *arg, size_t panel) {
  struct job *j = arg;
  const struct source *s = &j->b;
  size_t col = panel * TSRI_NC, width = tsri_panel_width(s->cols, panel);
  size_t n = tsr_min_u64(s->cols - col, width);
  int16_t *out = j->p->b16 + panel * TSRI_NC * j->p->k_pad;
  for (size_t k = 0; k < s->rows; k++)
    for (size_t l = 0; l < n; l++)
      out[(k / 2 * width + l) * 2 + k % 2] = (int16_t)int_at(s, k * s->ld + col + l);
}

/* Quads of k lie together in B: panel, k / 4, column, k % 4.  The kernel multiplies
 * unsigned bytes of A by signed bytes of B: a signed A is moved up by 128, an
 * unsigned B down, and sums over k of the moved operands take that back out:
 *   sum a b = sum (a + da)(b - db) + db sum (a + da) - da sum (b - db) - k da db.
 * All of it is modulo 2^32; `a_sum` and `b_sum` hold db and da times these sums. */
static void pack_a_int8(void *arg, size_t i) {
  struct job *j = arg;
  const uint8_t *row = (const uint8_t *)j->a.codes + i * j->a.ld;
  uint8_t *out = j->p->a8 + i * j->p->k_pad, move = j->a.f->is_unsigned ? 0 : 0x80;
  uint32_t sum = 0;
  for (size_t k = 0; k < j->a.cols; k++) sum += out[k] = row[k] ^ move;
  j->p->a_sum[i] = (int32_t)(j->b.f->is_unsigned ? sum << 7 : 0);
}

static void pack_b_int8(void *arg, size_t panel) {
  struct job *j = arg;
  const struct source *s = &j->b;
  size_t col = panel * TSRI_NC, width = tsri_panel_width(s->cols, panel);
  size_t n = tsr_min_u64(s->cols - col, width);
  uint8_t *out = j->p->b8 + panel * TSRI_NC * j->p->k_pad, move = s->f->is_unsigned ? 0x80 : 0;
  uint32_t sum[TSRI_NC] = {0};
  for (size_t k = 0; k < s->rows; k++) {
    const uint8_t *row = (const uint8_t *)s->codes + k * s->ld + col;
    uint8_t *to = out + k / 4 * width * 4 + k % 4;
    for (size_t l = 0; l < n; l++) {
      to[4 * l] = row[l] ^ move;
      sum[l] += (uint32_t)(int8_t)to[4 * l];
    }
  }
  bool both = !j->a.f->is_unsigned && s->f->is_unsigned;
  uint32_t count = both ? (uint32_t)s->rows << 14 : 0;
  for (size_t l = 0; l < n; l++)
    j->p->b_sum[col + l] = (int32_t)((j->a.f->is_unsigned ? 0 : sum[l] << 7) + count);
}

static size_t b_elems(const struct tsri_plan *p, size_t k) {
  size_t last = p->panels ? p->panels - 1 : 0;
  return (last * TSRI_NC + (p->panels ? tsri_panel_width(p->g->n, last) : 0)) * k;
}

static bool alloc_float(struct tsri_plan *p, bool exponents) {
  size_t a = p->g->m * p->g->k, b = b_elems(p, p->g->k);
  p->av = tsr_mem_array(a, sizeof *p->av);
  p->bv = tsr_mem_array(b, sizeof *p->bv);
  if (!p->av || !p->bv) return false;
  if (!exponents) return true;
  p->ae = tsr_mem_array(a, 1);
  p->be = tsr_mem_array(b, 1);
  p->a_odd = tsr_mem_array(p->g->m, 1);
  p->b_odd = tsr_mem_array(p->panels, 1);
  return p->ae && p->be && p->a_odd && p->b_odd;
}

static bool pack_fused(struct job *j) {
  struct tsri_plan *p = j->p;
  const struct tsr_gemm *g = p->g;
  size_t most = tsr_max_u64(g->m, g->k);
  j->tops = tsr_mem_array(most, sizeof *j->tops);
  j->leasts = tsr_mem_array(most, sizeof *j->leasts);
  if (!j->tops || !j->leasts || !alloc_float(p, true)) return false;
  tsri_parallel(g->threads, g->m, range_a, j);
  range_join(j, &j->a);
  tsri_parallel(g->threads, g->k, range_b, j);
  range_join(j, &j->b);
  p->top = j->a.top + j->b.top;
  p->spread = j->a.least - j->a.top + j->b.least - j->b.top < TSRI_EXP_FAR;
  if (!source_scale(&j->a, true) || !source_scale(&j->b, true)) return false;
  tsri_parallel(g->threads, g->m, pack_a_float, j);
  tsri_parallel(g->threads, p->panels, pack_b_float, j);
  return true;
}

static bool pack_plain(struct job *j) {
  struct tsri_plan *p = j->p;
  if (!alloc_float(p, false) || !source_scale(&j->a, false) || !source_scale(&j->b, false))
    return false;
  tsri_parallel(p->g->threads, p->g->m, pack_a_float, j);
  tsri_parallel(p->g->threads, p->panels, pack_b_float, j);
  return true;
}

static bool pack_double(struct job *j) {
  struct tsri_plan *p = j->p;
  p->ad = tsr_mem_array(p->g->m * p->g->k, sizeof *p->ad);
  p->bd = tsr_mem_array(b_elems(p, p->g->k), sizeof *p->bd);
  if (!p->ad || !p->bd) return false;
  tsri_parallel(p->g->threads, p->g->m, pack_a_double, j);
  tsri_parallel(p->g->threads, p->panels, pack_b_double, j);
  return true;
}

static bool pack_int16(struct job *j) {
  struct tsri_plan *p = j->p;
  p->k_pad = (p->g->k + 3) / 4 * 4;
  p->a16 = tsr_mem_array(p->g->m * p->k_pad, sizeof *p->a16);
  p->b16 = tsr_mem_array(b_elems(p, p->k_pad), sizeof *p->b16);
  if (!p->a16 || !p->b16) return false;
  tsri_parallel(p->g->threads, p->g->m, pack_a_int16, j);
  tsri_parallel(p->g->threads, p->panels, pack_b_int16, j);
  return true;
}

static bool pack_int8(struct job *j) {
  struct tsri_plan *p = j->p;
  p->k_pad = (p->g->k + 3) / 4 * 4;
  p->a8 = tsr_mem_array(p->g->m * p->k_pad, 1);
  p->b8 = tsr_mem_array(b_elems(p, p->k_pad), 1);
  p->a_sum = tsr_mem_array(p->g->m, sizeof *p->a_sum);
  p->b_sum = tsr_mem_array(p->panels * TSRI_NC, sizeof *p->b_sum);
  if (!p->a8 || !p->b8 || !p->a_sum || !p->b_sum) return false;
  tsri_parallel(p->g->threads, p->g->m, pack_a_int8, j);
  tsri_parallel(p->g->threads, p->panels, pack_b_int8, j);
  return true;
}

enum { EXP_NAN = 10000 }; /* beyond any limit, whatever is added */

static void pack_scale(const struct tsr_format *f, uint64_t code, int32_t *exp, float *sig) {
  struct tsr_num v = tsr_arith_decode(f, code);
  *exp = v.cls == TSR_NUM_FINITE || v.cls == TSR_NUM_ZERO ? v.exp + f->man_bits : EXP_NAN;
  *sig = v.cls == TSR_NUM_FINITE ? (float)((double)v.sig * power_of_two(-f->man_bits)) : 0;
}

static bool pack_scales(struct tsri_plan *p) {
  const struct tsr_gemm *g = p->g;
  const struct tsr_format *f = g->unit->scale;
  if (!f || !g->scale_a) return true;
  size_t cols = p->panels * TSRI_NC;
  p->scale_block = (size_t)g->unit->scale_block;
  p->blocks = tsr_ceil_div(g->k, p->scale_block);
  p->a_exp = tsr_mem_array(g->m * p->blocks, sizeof *p->a_exp);
  p->a_sig = tsr_mem_array(g->m * p->blocks, sizeof *p->a_sig);
  p->b_exp = tsr_mem_array(cols * p->blocks, sizeof *p->b_exp);
  p->b_sig = tsr_mem_array(cols * p->blocks, sizeof *p->b_sig);
  if (!p->a_exp || !p->a_sig || !p->b_exp || !p->b_sig) return false;
  for (size_t i = 0; i < g->m; i++)
    for (size_t b = 0; b < p->blocks; b++)
      pack_scale(f, tsri_code_at(g->scale_a, 1, i * g->lds_a + b), &p->a_exp[i * p->blocks + b],
                 &p->a_sig[i * p->blocks + b]);
  for (size_t b = 0; b < p->blocks; b++)
    for (size_t l = 0; l < g->n; l++)
      pack_scale(f, tsri_code_at(g->scale_b, 1, b * g->lds_b + l), &p->b_exp[b * cols + l],
                 &p->b_sig[b * cols + l]);
  return true;
}

static bool pack(struct job *j) {
  if (!pack_scales(j->p)) return false;
  switch (j->p->kind) {
  case TSRI_GEMM_STAGES:
  case TSRI_GEMM_FUSED: return pack_fused(j);
  case TSRI_GEMM_FMA64: return pack_double(j);
  case TSRI_GEMM_INT16: return pack_int16(j);
  case TSRI_GEMM_INT8: return pack_int8(j);
  default: return pack_plain(j);
  }
}

bool tsri_pack(struct tsri_plan *p) {
  const struct tsr_gemm *g = p->g;
  struct job j = {.p = p};
  p->panels = (g->n + TSRI_NC - 1) / TSRI_NC;
  bool ok = source_open(&j.a, g->unit, g->unit->a, g->a, g->lda, g->m, g->k) &&
            source_open(&j.b, g->unit, g->unit->b, g->b, g->ldb, g->k, g->n) && pack(&j);
  source_close(&j.a);
  source_close(&j.b);
  tsr_mem_free(j.tops);
  tsr_mem_free(j.leasts);
  return ok;
}

void tsri_unpack(struct tsri_plan *p) {
  void *all[] = {p->av,    p->bv,    p->ae,    p->be,    p->a_odd, p->b_odd,
                 p->ad,    p->bd,    p->a16,   p->b16,   p->a8,    p->b8,
                 p->a_sum, p->b_sum, p->a_exp, p->b_exp, p->a_sig, p->b_sig};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tsr_mem_free(all[i]);
}
