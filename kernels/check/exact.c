/* Exact dot products by slices (kernels/check/exact.h). */
#include "kernels/check/exact.h"

#include <string.h>

#include "kernels/check/exact_int.h"
#include "models/arith/gemm.h"

enum { MR = TSRI_EXACT_MR, NR = TSRI_EXACT_NR, KC = 256, SLICES = 4, PARTS = SLICES * SLICES };
enum { TABLE_BITS = 16 };

/* One operand: its slices, magnitudes and originals of a range of k, packed. */
struct side {
  const struct tsr_format *f;
  size_t bytes;
  double *table; /* value of each code, formats of at most TABLE_BITS bits */
  double *slice[SLICES], *abs, *from;
};

struct tsr_exact {
  size_t rows, cols; /* room, multiples of MR and NR */
  struct side a, b;
  double *part[PARTS], *abs, *from; /* rows x cols each; made when first used */
  struct tsr_exact_plan plan;
  tsri_exact_kernel *kernel;
};

/* ---- ranges and plans ---- */

void tsr_exact_range_init(struct tsr_exact_range *r) {
  *r = (struct tsr_exact_range){0, 0, false, false};
}

void tsr_exact_range_add(struct tsr_exact_range *r, const struct tsr_num *v) {
  if (v->cls == TSR_NUM_INF || v->cls == TSR_NUM_NAN) r->special = true;
  if (v->cls != TSR_NUM_FINITE) return;
  int lsb = v->exp + __builtin_ctzll(v->sig), msb = v->exp + 63 - __builtin_clzll(v->sig);
  if (!r->any || lsb < r->lsb) r->lsb = lsb;
  if (!r->any || msb > r->msb) r->msb = msb;
  r->any = true;
}

static int ceil_log2(uint64_t v) {
  int n = 0;
  while (n < 63 && UINT64_C(1) << n < v) n++;
  return n;
}

/* Magnitudes below 2^bits in n slices of w bits: each slice but the highest is
 * rounded to nearest, so all are at most 2^(w - 1). */
static unsigned width(int bits, unsigned n) {
  return ((unsigned)bits + 1 + n - 1) / n;
}

bool tsr_exact_plan_make(const struct tsr_exact_range *a, const struct tsr_exact_range *b,
                         uint64_t k, struct tsr_exact_plan *out) {
  if (a->special || b->special) return false;
  int bits_a = a->msb - a->lsb + 1, bits_b = b->msb - b->lsb + 1, log2k = ceil_log2(k);
  int lsb = a->lsb + b->lsb;
  /* A value must be an integer of a double, and the whole sum fit 126 bits. */
  if (bits_a > 53 || bits_b > 53 || bits_a + bits_b + log2k > 126 || lsb < -900 || lsb > 800)
    return false;
  struct tsr_exact_plan best = {0};
  for (unsigned na = 1; na <= SLICES; na++)
    for (unsigned nb = 1; nb <= SLICES; nb++) {
      unsigned wa = width(bits_a, na), wb = width(bits_b, nb);
      /* k products of at most 2^(wa - 1 + wb - 1) sum to at most 2^53. */
      if ((int)(wa + wb) - 2 + log2k > 53) continue;
      if (!best.na || na * nb < best.na * best.nb)
        best = (struct tsr_exact_plan){na, nb, wa, wb, a->lsb, b->lsb, lsb};
    }
  if (!best.na) return false;
  *out = best;
  return true;
}

/* ---- codes ---- */

uint64_t tsr_exact_code(const void *codes, size_t bytes, size_t i) {
  switch (bytes) {
  case 1: return ((const uint8_t *)codes)[i];
  case 2: return ((const uint16_t *)codes)[i];
  case 4: return ((const uint32_t *)codes)[i];
  default: return ((const uint64_t *)codes)[i];
  }
}

void tsr_exact_code_set(void *codes, size_t bytes, size_t i, uint64_t code) {
  switch (bytes) {
  case 1: ((uint8_t *)codes)[i] = (uint8_t)code; break;
  case 2: ((uint16_t *)codes)[i] = (uint16_t)code; break;
  case 4: ((uint32_t *)codes)[i] = (uint32_t)code; break;
  default: ((uint64_t *)codes)[i] = code; break;
  }
}

static inline double value(const struct side *s, const void *codes, size_t i) {
  if (s->table && s->bytes == 2) return s->table[((const uint16_t *)codes)[i]];
  if (s->table) return s->table[((const uint8_t *)codes)[i]];
  return tsr_arith_to_double(s->f, tsr_exact_code(codes, s->bytes, i));
}

/* ---- life ---- */

static bool side_init(struct side *s, const struct tsr_format *f) {
  s->f = f;
  s->bytes = tsr_gemm_code_bytes(f);
  if (f->bits > TABLE_BITS) return true;
  size_t n = (size_t)1 << (8 * s->bytes);
  s->table = tsr_mem_array(n, sizeof *s->table);
  for (size_t i = 0; s->table && i < n; i++)
    s->table[i] = tsr_arith_to_double(f, i & ((UINT64_C(1) << f->bits) - 1));
  return s->table != NULL;
}

static void side_fini(struct side *s) {
  tsr_mem_free(s->table);
  for (int i = 0; i < SLICES; i++) tsr_mem_free(s->slice[i]);
  tsr_mem_free(s->abs);
  tsr_mem_free(s->from);
}

static bool make(double **p, size_t n) {
  if (!*p) *p = tsr_mem_array(n, sizeof **p);
  return *p != NULL;
}

/* Room for the most that a plan can ask for: four slices of one operand by one of
 * the other up to four by four.  What is not written is not paged in. */
static bool make_all(struct tsr_exact *e) {
  bool ok = true;
  for (int i = 0; i < SLICES; i++)
    ok = ok && make(&e->a.slice[i], e->rows * KC) && make(&e->b.slice[i], e->cols * KC);
  ok = ok && make(&e->a.abs, e->rows * KC) && make(&e->b.abs, e->cols * KC) &&
       make(&e->a.from, e->rows * KC) && make(&e->b.from, e->cols * KC);
  for (int i = 0; i < PARTS; i++) ok = ok && make(&e->part[i], e->rows * e->cols);
  return ok && make(&e->abs, e->rows * e->cols) && make(&e->from, e->rows * e->cols);
}

enum tsr_status tsr_exact_create(const struct tsr_format *fa, const struct tsr_format *fb,
                                 size_t rows, size_t cols, struct tsr_exact **out,
                                 struct tsr_err *err) {
  struct tsr_exact *e = tsr_mem_alloc(sizeof *e);
  if (!e) return tsr_err_nomem(err);
  e->rows = tsr_ceil_div(rows, MR) * MR;
  e->cols = tsr_ceil_div(cols, NR) * NR;
  if (!side_init(&e->a, fa) || !side_init(&e->b, fb) || !make_all(e)) {
    tsr_exact_destroy(e);
    return tsr_err_nomem(err);
  }
  (void)tsr_exact_force(e, NULL);
  *out = e;
  return TSR_OK;
}

void tsr_exact_destroy(struct tsr_exact *e) {
  if (!e) return;
  side_fini(&e->a);
  side_fini(&e->b);
  for (int i = 0; i < PARTS; i++) tsr_mem_free(e->part[i]);
  tsr_mem_free(e->abs);
  tsr_mem_free(e->from);
  tsr_mem_free(e);
}

/* ---- packing ---- */

/* 2^e, -1022 <= e <= 1023. */
static double pow2(int e) {
  uint64_t bits = (uint64_t)(e + 1023) << 52;
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Cuts integers into slices: rounding to a multiple of 2^(w*i) is one exact
 * addition and one exact subtraction of 1.5 * 2^(52 + w*i). */
struct cut {
  double unit;          /* of the operand: value * unit is the integer */
  double magic[SLICES]; /* of slices 1 … */
  double scale[SLICES]; /* 2^-(w*i) */
  unsigned n;
};

static struct cut cut_of(unsigned n, unsigned w, int lsb) {
  struct cut c = {.unit = pow2(-lsb), .n = n};
  for (unsigned i = 0; i < n; i++) {
    c.magic[i] = 1.5 * pow2((int)(52 + w * i));
    c.scale[i] = pow2(-(int)(w * i));
  }
  return c;
}

static inline void put_slices(const struct side *s, const struct cut *c, size_t at, double v) {
  double rest = v * c->unit;
  for (unsigned i = c->n; i-- > 1;) {
    double high = (rest + c->magic[i]) - c->magic[i];
    s->slice[i][at] = high * c->scale[i];
    rest -= high;
  }
  s->slice[0][at] = rest;
}

/* Packs k of [from, from + n) of `lanes` rows (or columns), w of them interleaved.
 * `step`: distance in memory of neighbouring lanes; `k_step`: of neighbouring k. */
struct packing {
  size_t lanes, w, from, n, step, k_step;
};

static inline void pack_one(const struct side *s, const struct cut *c,
                            const struct tsr_exact_operand *o, size_t at, size_t in, bool pad) {
  double v = pad ? 0 : value(s, o->codes, in);
  put_slices(s, c, at, v);
  s->abs[at] = v < 0 ? -v : v;
  if (o->from) s->from[at] = pad ? 0 : (double)o->from[in];
}

/* In the order of memory. */
static void pack(const struct side *s, const struct cut *c, const struct packing *p,
                 const struct tsr_exact_operand *o) {
  size_t padded = tsr_ceil_div(p->lanes, p->w) * p->w;
  if (p->k_step == 1) {
    for (size_t i = 0; i < padded; i++) {
      size_t at = i / p->w * p->n * p->w + i % p->w, in = i * p->step + p->from;
      for (size_t l = 0; l < p->n; l++) pack_one(s, c, o, at + l * p->w, in + l, i >= p->lanes);
    }
    return;
  }
  for (size_t l = 0; l < p->n; l++)
    for (size_t block = 0; block < padded; block += p->w) {
      size_t at = (block * p->n) + l * p->w, in = block * p->step + (p->from + l) * p->k_step;
      for (size_t i = 0; i < p->w; i++)
        pack_one(s, c, o, at + i, in + i * p->step, block + i >= p->lanes);
    }
}

/* ---- running ---- */

static const struct path {
  const char *name;
  tsri_exact_kernel *kernel;
} paths[] = {/* best first */
#if defined(__x86_64__)
             {"avx512", tsri_exact_avx512},
             {"avx2", tsri_exact_avx2},
#endif
             {"portable", tsri_exact_portable}};

static bool has(const char *path) {
#if defined(__x86_64__)
  if (!strcmp(path, "avx512")) return __builtin_cpu_supports("avx512f");
  if (!strcmp(path, "avx2"))
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return !strcmp(path, "portable");
}

bool tsr_exact_force(struct tsr_exact *e, const char *path) {
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
    if ((!path || !strcmp(path, paths[i].name)) && has(paths[i].name)) {
      e->kernel = paths[i].kernel;
      return true;
    }
  return false;
}

static void multiply(const struct tsr_exact *e, size_t rows, size_t cols, size_t k,
                     const double *a, const double *b, double *c) {
  for (size_t j = 0; j < cols; j += NR)
    for (size_t i = 0; i < rows; i += MR)
      e->kernel(k, a + i * k, b + j * k, c + i * e->cols + j, e->cols);
}

static void clear(const struct tsr_exact *e, double *c, size_t rows) {
  memset(c, 0, tsr_ceil_div(rows, MR) * MR * e->cols * sizeof *c);
}

void tsr_exact_run(struct tsr_exact *e, const struct tsr_exact_plan *plan, size_t rows,
                   size_t cols, size_t k, const struct tsr_exact_operand *a,
                   const struct tsr_exact_operand *b) {
  TSR_CHECK(rows <= e->rows && cols <= e->cols);
  e->plan = *plan;
  struct cut ca = cut_of(plan->na, plan->wa, plan->lsb_a);
  struct cut cb = cut_of(plan->nb, plan->wb, plan->lsb_b);
  bool from = a->from && b->from;
  for (unsigned p = 0; p < plan->na * plan->nb; p++) clear(e, e->part[p], rows);
  clear(e, e->abs, rows);
  clear(e, e->from, rows);
  for (size_t at = 0; at < k; at += KC) {
    size_t n = tsr_min_u64(KC, k - at);
    pack(&e->a, &ca, &(struct packing){rows, MR, at, n, a->ld, 1}, a);
    pack(&e->b, &cb, &(struct packing){cols, NR, at, n, 1, b->ld}, b);
    for (unsigned i = 0; i < plan->na; i++)
      for (unsigned j = 0; j < plan->nb; j++)
        multiply(e, rows, cols, n, e->a.slice[i], e->b.slice[j], e->part[i * plan->nb + j]);
    multiply(e, rows, cols, n, e->a.abs, e->b.abs, e->abs);
    if (from) multiply(e, rows, cols, n, e->a.from, e->b.from, e->from);
  }
}

tsr_i128 tsr_exact_sum(const struct tsr_exact *e, size_t row, size_t col) {
  const struct tsr_exact_plan *p = &e->plan;
  tsr_i128 sum = 0;
  for (unsigned i = 0; i < p->na; i++)
    for (unsigned j = 0; j < p->nb; j++) {
      int64_t v = (int64_t)e->part[i * p->nb + j][row * e->cols + col];
      sum += (tsr_i128)v * ((tsr_i128)1 << (p->wa * i + p->wb * j));
    }
  return sum;
}

double tsr_exact_abs(const struct tsr_exact *e, size_t row, size_t col) {
  return e->abs[row * e->cols + col];
}
double tsr_exact_from(const struct tsr_exact *e, size_t row, size_t col) {
  return e->from[row * e->cols + col];
}
