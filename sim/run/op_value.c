#include "sim/run/op_value.h"

#include <math.h>
#include <string.h>

#include "kernels/check/exact.h"
#include "kernels/ref/vector.h"
#include "models/arith/gemm.h"
#include "models/arith/vector.h"
#include "sim/base/log.h"

enum { BLOCK_ELEMS = 1 << 16, BUFFERS = 24 };

/* ---- buffers ---- */

struct work {
  const struct tsri_op_data *d;
  tsri_op_result_fn *fn;
  void *arg;
  void *buffer[BUFFERS];
  int n;
  bool failed;
};

static void *room(struct work *w, uint64_t n, size_t size) {
  TSR_CHECK(w->n < BUFFERS);
  void *p = w->failed ? NULL : tsr_mem_array(tsr_max_u64(n, 1), size);
  w->failed = w->failed || !p;
  w->buffer[w->n++] = p;
  return p;
}

static void *codes_room(struct work *w, const struct tsr_format *f, uint64_t n) {
  return room(w, n, tsr_gemm_code_bytes(f));
}

static void close_work(struct work *w) {
  while (w->n) tsr_mem_free(w->buffer[--w->n]);
}

/* Elements [first, first + n) of a tensor as codes. */
static void fetch(const struct work *w, int t, uint64_t first, uint64_t n, void *to) {
  const struct tsri_op_data *d = w->d;
  size_t bytes = tsr_gemm_code_bytes(d->format[t]);
  const uint8_t *from = d->codes[t] + first * d->elem[t];
  if (bytes == d->elem[t]) {
    memcpy(to, from, n * bytes);
    return;
  }
  for (uint64_t i = 0; i < n; i++) {
    uint64_t code = 0;
    for (uint32_t j = 0; j < d->elem[t]; j++)
      code |= (uint64_t)from[i * d->elem[t] + j] << 8 * j;
    tsr_exact_code_set(to, bytes, i, code);
  }
}

static void decode(const struct tsr_format *f, const void *codes, uint64_t n, double *to) {
  size_t bytes = tsr_gemm_code_bytes(f);
  for (uint64_t i = 0; i < n; i++)
    to[i] = tsr_arith_to_double(f, tsr_exact_code(codes, bytes, i));
}

static void result(const struct work *w, int t, uint64_t first, uint64_t n, const void *want,
                   const double *exact) {
  w->fn(w->arg, t, first, n, want, exact);
}

/* Rows that a block of them holds. */
static uint64_t block_rows(uint64_t rows, uint64_t cols) {
  return tsr_min_u64(rows, tsr_max_u64(1, BLOCK_ELEMS / tsr_max_u64(cols, 1)));
}

/* ---- a list of vector operations ---- */

struct matrix {
  void *p;
  const struct tsr_format *f;
  uint64_t ld; /* 1: an element a row */
  uint64_t rows, cols;
};

struct rows {
  struct work *w;
  struct tsr_vector_step step[TSR_STEPS_MAX];
  size_t n_steps;
  struct matrix x[TSR_STEP_NONE];
  double *a, *b, *y;
  uint64_t m, n, tn, passes; /* of a group; columns of a tile */
};

/* Which elements of b a group of rows meets: rows and columns that it has, and the first. */
static void shape_of_b(const struct tsr_op *op, uint64_t m, uint64_t n, uint64_t *rows,
                       uint64_t *cols, bool *shared) {
  enum tsr_op_shape s = tsr_op_kind_info(op->kind)->b;
  enum tsr_with with = op->attr.with;
  *shared = s == TSR_SHAPE_SHARED;
  if (s == TSR_SHAPE_N || s == TSR_SHAPE_N2) with = TSR_WITH_ROW;
  if (*shared) with = TSR_WITH_FULL;
  *rows = with == TSR_WITH_FULL || with == TSR_WITH_COL ? m : 1;
  *cols = with == TSR_WITH_FULL || with == TSR_WITH_ROW ? n : 1;
  if (s == TSR_SHAPE_N2) *rows = 2;
  if (s == TSR_SHAPE_NONE) *rows = *cols = 0;
}

static void run_step(struct rows *r, const struct tsr_vector_step *s, uint64_t rows,
                     uint64_t col, uint64_t cols, bool first) {
  static const enum tsr_vec_spread spread[TSR_ISA_BCS] = {[TSR_BC_NONE] = TSR_VEC_EACH,
                                                          [TSR_BC_ROW] = TSR_VEC_ROW,
                                                          [TSR_BC_COL] = TSR_VEC_COL,
                                                          [TSR_BC_ONE] = TSR_VEC_ONE};
  const struct matrix *d = &r->x[s->d], *a = &r->x[s->a];
  uint64_t c = a->ld == 1 && a->cols == 1 ? 1 : cols;
  struct tsr_vec_job j = {.op = (enum tsr_vec_op)s->op,
                          .rows = rows,
                          .cols = c,
                          .spread = spread[s->bc],
                          .d_format = d->f,
                          .ldd = d->ld,
                          .imm = tsr_lower_op_imm(r->w->d->l->op, (enum tsr_step_imm)s->imm),
                          .first = first,
                          .lanes = r->w->d->lanes};
  bool whole_a = a->cols > 1, whole_d = d->cols > 1;
  j.a = (struct tsr_vec_in){
      (const char *)a->p + (whole_a ? col : 0) * tsr_gemm_code_bytes(a->f), a->f, a->ld};
  j.d = (char *)d->p + (whole_d ? col : 0) * tsr_gemm_code_bytes(d->f);
  if (s->b != TSR_STEP_NONE) {
    const struct matrix *b = &r->x[s->b];
    j.b = (struct tsr_vec_in){
        (const char *)b->p + (b->cols > 1 ? col : 0) * tsr_gemm_code_bytes(b->f), b->f, b->ld};
  }
  tsr_vec_run(&j, NULL, NULL);
}

/* The list on a block of rows, tile of columns by tile of columns. */
static void run_list(struct rows *r, uint64_t rows) {
  bool cut = r->tn < r->n;
  for (uint64_t pass = 0; pass < (cut ? r->passes : 1); pass++) {
    for (uint64_t col = 0; col < r->n; col += r->tn)
      for (size_t i = 0; i < r->n_steps; i++) {
        const struct tsr_vector_step *s = &r->step[i];
        if (cut ? s->pass != pass || s->when == TSR_STEP_END : s->when == TSR_STEP_AGAIN)
          continue;
        run_step(r, s, rows, col, tsr_min_u64(r->tn, r->n - col), col == 0);
      }
    for (size_t i = 0; cut && i < r->n_steps; i++)
      if (r->step[i].pass == pass && r->step[i].when == TSR_STEP_END)
        run_step(r, &r->step[i], rows, 0, 1, true);
  }
}

static enum tsr_ref_with ref_with(enum tsr_isa_bc bc) {
  static const enum tsr_ref_with to[TSR_ISA_BCS] = {[TSR_BC_NONE] = TSR_REF_FULL,
                                                    [TSR_BC_ROW] = TSR_REF_ROW,
                                                    [TSR_BC_COL] = TSR_REF_COL,
                                                    [TSR_BC_ONE] = TSR_REF_SCALAR};
  return to[bc];
}

/* a / scale + zero, or (a - zero) * scale. */
static void exact_scaled(const struct rows *r, uint64_t rows, bool divides) {
  const struct tsr_op *op = r->w->d->l->op;
  enum tsr_ref_with with = ref_with((enum tsr_isa_bc)r->step[0].bc);
  double zero = op->attr.zero;
  uint64_t n = rows * r->n;
  for (uint64_t i = 0; i < n; i++) r->y[i] = divides ? r->a[i] : r->a[i] - zero;
  tsr_ref_broadcast(tsr_ref_binary(divides ? "div" : "mul"), r->y, r->b, with, rows, r->n,
                    r->y);
  for (uint64_t i = 0; divides && i < n; i++) r->y[i] += zero;
}

/* Exact results of a block of rows. */
static void exact_rows(struct rows *r, uint64_t rows) {
  const struct tsr_op *op = r->w->d->l->op;
  const char *name = tsr_op_kind_name(op->kind);
  uint64_t n = r->n;
  tsr_ref_reduce_fn *reduce = tsr_ref_reduce(name);
  tsr_ref_unary_fn *unary = tsr_ref_unary(op->kind == TSR_OP_CONCAT ? "copy" : name);
  tsr_ref_numbers_fn *numbers = tsr_ref_numbers(name);
  const struct tsr_vector_step *s = &r->step[0];
  if (op->kind == TSR_OP_BIAS) name = "add";
  tsr_ref_binary_fn *binary = tsr_ref_binary(name);
  if (s->op == TSR_VEC_QUANTISE || s->op == TSR_VEC_DEQUANTISE) {
    exact_scaled(r, rows, s->op == TSR_VEC_QUANTISE);
    return;
  }
  if (binary) {
    tsr_ref_broadcast(binary, r->a, r->b, ref_with((enum tsr_isa_bc)s->bc), rows, n, r->y);
    return;
  }
  for (uint64_t i = 0; i < rows; i++) {
    const double *x = r->a + i * n;
    double *y = r->y + i * n;
    if (reduce) r->y[i] = reduce(x, n);
    for (uint64_t j = 0; unary && !reduce && j < n; j++) y[j] = unary(x[j]);
    for (uint64_t j = 0; numbers && j < n; j++)
      y[j] = numbers(x[j], op->attr.alpha, op->attr.beta);
    switch (op->kind) {
    case TSR_OP_SOFTMAX: tsr_ref_softmax(x, n, y); break;
    case TSR_OP_LOG_SOFTMAX: tsr_ref_log_softmax(x, n, y); break;
    case TSR_OP_NORMALISE: tsr_ref_layernorm(x, NULL, NULL, op->attr.eps, n, y); break;
    case TSR_OP_LAYERNORM: tsr_ref_layernorm(x, r->b, r->b + n, op->attr.eps, n, y); break;
    case TSR_OP_RMSNORM: tsr_ref_rmsnorm(x, r->b, op->attr.eps, n, y); break;
    case TSR_OP_BATCHNORM: tsr_ref_batchnorm(x, r->b, r->b + n, n, y); break;
    case TSR_OP_ROPE: /* an odd last column is copied */
      tsr_ref_rope(x, r->b + i * n, n / 2 * 2, y);
      if (n % 2) y[n - 1] = x[n - 1];
      break;
    default: break;
    }
  }
}

/* Rows of A, from several sources behind one another where there are. */
static void fetch_rows(struct rows *r, uint64_t row, uint64_t rows) {
  const struct tsr_lower_at *at = &r->w->d->at;
  const struct tsr_op *op = r->w->d->l->op;
  struct matrix *a = &r->x[TSR_STEP_A];
  size_t bytes = tsr_gemm_code_bytes(a->f);
  if (!at->n_sources) {
    fetch(r->w, TSR_LOWER_A, row * r->n, rows * r->n, a->p);
    return;
  }
  uint64_t before = 0, all = op->m * op->count;
  for (size_t s = 0; s < at->n_sources; before += at->source[s++])
    for (uint64_t i = 0; i < rows; i++)
      fetch(r->w, TSR_LOWER_A, before * all + (row + i) * at->source[s], at->source[s],
            (char *)a->p + (i * r->n + before) * bytes);
}

static void open_rows(struct rows *r, uint64_t block, bool reduces) {
  const struct tsri_op_data *d = r->w->d;
  uint64_t n = r->n, some = block * n;
  const struct tsr_format *f[3] = {d->format[TSR_LOWER_A], d->format[TSR_LOWER_B],
                                   d->format[TSR_LOWER_OUT]};
  r->x[TSR_STEP_A] = (struct matrix){codes_room(r->w, f[0], some), f[0], n, block, n};
  uint64_t width = reduces ? 1 : n;
  r->x[TSR_STEP_D] = (struct matrix){codes_room(r->w, f[2], some), f[2], width, block, width};
  for (int t = TSR_STEP_T0; t <= TSR_STEP_T1; t++)
    r->x[t] = (struct matrix){codes_room(r->w, d->acc, some), d->acc, n, block, n};
  for (int t = TSR_STEP_R0; t <= TSR_STEP_R2; t++)
    r->x[t] = (struct matrix){codes_room(r->w, d->acc, block), d->acc, 1, block, 1};
  uint64_t two = tsr_max_u64(some, 2 * n);
  r->x[TSR_STEP_B] = (struct matrix){codes_room(r->w, f[1], two), f[1], n, block, n};
  r->a = room(r->w, some, sizeof *r->a);
  r->b = room(r->w, two, sizeof *r->b);
  r->y = room(r->w, some, sizeof *r->y);
}

static enum tsr_status rows_values(struct work *w, struct tsr_err *err) {
  const struct tsri_op_data *d = w->d;
  const struct tsr_op *op = d->l->op;
  struct rows r = {.w = w};
  struct tsr_lower_rows size;
  uint64_t b_rows, b_cols;
  bool reduces = false, shared;
  tsr_lower_op_rows(op, &size);
  r.m = size.m;
  r.n = size.n;
  r.tn = d->l->cut.parts > 1 && !d->at.n_sources ? d->l->cut.tile[2] : r.n;
  r.n_steps = tsr_lower_op_steps(op, r.step);
  for (size_t i = 0; i < r.n_steps; i++) {
    r.passes = tsr_max_u64(r.passes, r.step[i].pass + 1u);
    reduces = reduces || (r.step[i].when == TSR_STEP_END && r.step[i].d == TSR_STEP_D);
  }
  uint64_t block = block_rows(r.m, r.n), width = reduces ? 1 : r.n;
  open_rows(&r, block, reduces);
  if (w->failed) return tsr_err_nomem(err);
  shape_of_b(op, r.m, r.n, &b_rows, &b_cols, &shared);
  struct matrix *b = &r.x[TSR_STEP_B], *b1 = &r.x[TSR_STEP_B1];
  b->cols = b->ld = b_cols;
  for (uint64_t g = 0; g < size.g; g++)
    for (uint64_t row = 0; row < r.m; row += block) {
      uint64_t rows = tsr_min_u64(block, r.m - row);
      bool by_row = b_rows == r.m && tsr_op_kind_info(op->kind)->b != TSR_SHAPE_N2 &&
                    r.step[0].bc != TSR_BC_ROW && r.step[0].bc != TSR_BC_ONE;
      uint64_t first = (shared ? 0 : g * b_rows * b_cols) + (by_row ? row * b_cols : 0);
      uint64_t many = by_row ? rows * b_cols : b_rows * b_cols;
      fetch_rows(&r, g * r.m + row, rows);
      if (many) fetch(w, TSR_LOWER_B, first, many, b->p);
      *b1 = *b;
      b1->p = (char *)b->p + r.n * tsr_gemm_code_bytes(b->f);
      run_list(&r, rows);
      decode(r.x[TSR_STEP_A].f, r.x[TSR_STEP_A].p, rows * r.n, r.a);
      decode(b->f, b->p, many, r.b);
      exact_rows(&r, rows);
      result(w, TSR_LOWER_OUT, (g * r.m + row) * width, rows * width, r.x[TSR_STEP_D].p, r.y);
    }
  return TSR_OK;
}

/* ---- selection ---- */

static enum tsr_status topk_values(struct work *w, struct tsr_err *err) {
  const struct tsri_op_data *d = w->d;
  const struct tsr_op *op = d->l->op;
  const struct tsr_format *fa = d->format[TSR_LOWER_A], *fd = d->format[TSR_LOWER_OUT];
  void *a = codes_room(w, fa, op->n), *want = codes_room(w, fd, op->k);
  double *x = room(w, op->n, sizeof *x), *y = room(w, op->k, sizeof *y);
  size_t *column = room(w, op->k, sizeof *column);
  uint32_t *number = room(w, op->k, sizeof *number);
  if (w->failed) return tsr_err_nomem(err);
  for (uint64_t row = 0; row < op->m * op->count; row++) {
    fetch(w, TSR_LOWER_A, row * op->n, op->n, a);
    decode(fa, a, op->n, x);
    tsr_ref_topk(x, op->n, op->k, y, column);
    for (uint64_t j = 0; j < op->k; j++) {
      unsigned events = 0;
      tsr_exact_code_set(want, tsr_gemm_code_bytes(fd), j,
                         tsr_arith_from_double(fd, TSR_ROUND_RNE, y[j], &events));
    }
    result(w, TSR_LOWER_OUT, row * op->k, op->k, want, y);
    for (uint64_t j = 0; j < op->k; j++) {
      number[j] = (uint32_t)column[j];
      y[j] = (double)column[j];
    }
    result(w, TSR_LOWER_X0, row * op->k, op->k, number, y);
  }
  return TSR_OK;
}

/* ---- windows ---- */

/* A vector operation on one window of columns: n rows of them behind one another. */
static void window_of(enum tsr_vec_op op, const void *codes, const struct tsr_format *fa,
                      uint64_t n, uint64_t cols, uint32_t imm, void *d,
                      const struct tsr_format *fd) {
  struct tsr_vec_job j = {.op = op,
                          .rows = 1,
                          .cols = cols,
                          .a = {codes, fa, n * cols},
                          .d = d,
                          .d_format = fd,
                          .ldd = cols,
                          .window = n,
                          .window_ld = cols,
                          .imm = imm,
                          .first = true,
                          .lanes = 1};
  tsr_vec_run(&j, NULL, NULL);
}

static void exact_pool(const struct tsr_op *op, bool mean, const double *x, double *y) {
  const struct tsr_conv *v = &op->conv;
  const struct tsr_ref_pool p = {.batch = v->batch,
                                 .in_h = v->in_h,
                                 .in_w = v->in_w,
                                 .c = v->in_c,
                                 .out_h = v->out_h,
                                 .out_w = v->out_w,
                                 .k_h = v->k_h,
                                 .k_w = v->k_w,
                                 .stride_h = v->stride_h,
                                 .stride_w = v->stride_w,
                                 .pad_t = v->pad_t,
                                 .pad_l = v->pad_l,
                                 .dil_h = v->dil_h,
                                 .dil_w = v->dil_w};
  (mean ? tsr_ref_avgpool : tsr_ref_maxpool)(&p, x, y);
}

/* Elements of the window of a result, ascending, without the padding; how many. */
static uint64_t collect(struct work *w, uint64_t b, uint64_t oh, uint64_t ow, void *to) {
  const struct tsr_conv *v = &w->d->l->op->conv;
  size_t bytes = tsr_gemm_code_bytes(w->d->format[TSR_LOWER_A]);
  uint64_t n = 0;
  for (uint64_t kh = 0; kh < v->k_h; kh++)
    for (uint64_t kw = 0; kw < v->k_w; kw++) {
      uint64_t ih = oh * v->stride_h + kh * v->dil_h, iw = ow * v->stride_w + kw * v->dil_w;
      if (ih < v->pad_t || iw < v->pad_l || ih - v->pad_t >= v->in_h ||
          iw - v->pad_l >= v->in_w)
        continue;
      uint64_t at = (b * v->in_h + ih - v->pad_t) * v->in_w + iw - v->pad_l;
      fetch(w, TSR_LOWER_A, at * v->in_c, v->in_c, (char *)to + n++ * v->in_c * bytes);
    }
  return n;
}

static enum tsr_status window_values(struct work *w, struct tsr_err *err) {
  const struct tsri_op_data *d = w->d;
  const struct tsr_op *op = d->l->op;
  const struct tsr_conv *v = &op->conv;
  const struct tsr_format *fa = d->format[TSR_LOWER_A], *fd = d->format[TSR_LOWER_OUT];
  bool mean = op->kind == TSR_OP_AVGPOOL || op->kind == TSR_OP_GLOBAL_AVGPOOL;
  uint64_t in = d->tensor[TSR_LOWER_A].elems, out = d->tensor[TSR_LOWER_OUT].elems, i = 0;
  void *all = codes_room(w, fa, in), *win = codes_room(w, fa, v->k_h * v->k_w * v->in_c);
  void *want = codes_room(w, fd, v->in_c);
  double *x = room(w, in, sizeof *x), *y = room(w, out, sizeof *y);
  if (w->failed) return tsr_err_nomem(err);
  fetch(w, TSR_LOWER_A, 0, in, all);
  decode(fa, all, in, x);
  exact_pool(op, mean, x, y);
  float inverse = (float)(1.0 / (double)(v->k_h * v->k_w));
  uint32_t imm = 0;
  if (mean) memcpy(&imm, &inverse, sizeof imm);
  for (uint64_t b = 0; b < v->batch; b++)
    for (uint64_t oh = 0; oh < v->out_h; oh++)
      for (uint64_t ow = 0; ow < v->out_w; ow++, i += v->in_c) {
        uint64_t n = collect(w, b, oh, ow, win);
        window_of(mean ? TSR_VEC_POOLMEAN : TSR_VEC_POOLMAX, win, fa, n, v->in_c, imm, want,
                  fd);
        result(w, TSR_LOWER_OUT, i, v->in_c, want, y + i);
      }
  return TSR_OK;
}

static enum tsr_status transpose_values(struct work *w, struct tsr_err *err) {
  const struct tsri_op_data *d = w->d;
  const struct tsr_op *op = d->l->op;
  const struct tsr_format *fa = d->format[TSR_LOWER_A], *fd = d->format[TSR_LOWER_OUT];
  void *col = codes_room(w, fa, op->m), *want = codes_room(w, fd, op->m);
  double *y = room(w, op->m, sizeof *y);
  if (w->failed) return tsr_err_nomem(err);
  for (uint64_t g = 0; g < op->count; g++)
    for (uint64_t j = 0; j < op->n; j++) {
      for (uint64_t i = 0; i < op->m; i++)
        fetch(w, TSR_LOWER_A, (g * op->m + i) * op->n + j, 1,
              (char *)col + i * tsr_gemm_code_bytes(fa));
      decode(fa, col, op->m, y);
      window_of(TSR_VEC_POOLMAX, col, fa, 1, op->m, 0, want, fd);
      result(w, TSR_LOWER_OUT, (g * op->n + j) * op->m, op->m, want, y);
    }
  return TSR_OK;
}

/* ---- rows by index ---- */

struct gather {
  int table, list;
  uint64_t k, rows;
  bool weights;
};

static struct gather gather_of(const struct tsr_op *op) {
  switch (op->kind) {
  case TSR_OP_EMBEDDING:
    return (struct gather){TSR_LOWER_B, TSR_LOWER_A, op->k, op->attr.table, 0};
  case TSR_OP_MOE_SCATTER:
    return (struct gather){TSR_LOWER_A, TSR_LOWER_X0, op->k, op->m * op->k, true};
  case TSR_OP_MOE_GATHER: return (struct gather){TSR_LOWER_A, TSR_LOWER_B, 1, op->m / op->k, 0};
  default: return (struct gather){TSR_LOWER_A, TSR_LOWER_B, 1, op->attr.table, false};
  }
}

/* Negative indices count from the end. */
static void from_end(uint32_t *list, uint64_t n, uint64_t below) {
  for (uint64_t i = 0; i < n; i++)
    if (list[i] >> 31) list[i] += (uint32_t)below;
}

static enum tsr_status gather_values(struct work *w, struct tsr_err *err) {
  const struct tsri_op_data *d = w->d;
  const struct tsr_op *op = d->l->op;
  const struct gather x = gather_of(op);
  const struct tsr_format *ft = d->format[x.table], *fd = d->format[TSR_LOWER_OUT],
                          *fb = d->format[TSR_LOWER_B];
  uint64_t n = op->n, some = x.k * n;
  size_t bytes = tsr_gemm_code_bytes(ft);
  void *rows = codes_room(w, ft, some), *product = codes_room(w, d->acc, some);
  void *weight = codes_room(w, fb, x.k), *want = codes_room(w, fd, n);
  double *t = room(w, some, sizeof *t), *by = room(w, x.k, sizeof *by),
         *y = room(w, n, sizeof *y);
  uint32_t *list = room(w, x.k, sizeof *list);
  uint64_t *place = room(w, x.k, sizeof *place);
  if (w->failed) return tsr_err_nomem(err);
  for (uint64_t i = 0; i < op->m * op->count; i++) {
    uint64_t g = i / op->m;
    fetch(w, x.list, i * x.k, x.k, list);
    from_end(list, x.k, x.rows);
    for (uint64_t j = 0; j < x.k; j++) {
      place[j] = j;
      fetch(w, x.table, (g * x.rows + list[j]) * n, n, (char *)rows + j * n * bytes);
    }
    decode(ft, rows, some, t);
    if (x.weights) {
      fetch(w, TSR_LOWER_B, i * x.k, x.k, weight);
      decode(fb, weight, x.k, by);
      const struct tsr_vec_job j = {.op = TSR_VEC_MUL,
                                    .rows = x.k,
                                    .cols = n,
                                    .a = {rows, ft, n},
                                    .b = {weight, fb, 1},
                                    .spread = TSR_VEC_COL,
                                    .d = product,
                                    .d_format = d->acc,
                                    .ldd = n,
                                    .lanes = 1};
      tsr_vec_run(&j, NULL, NULL);
    }
    if (x.k == 1 && !x.weights)
      window_of(TSR_VEC_POOLMAX, rows, ft, 1, n, 0, want, fd); /* of one element: itself */
    else
      window_of(TSR_VEC_POOLSUM, x.weights ? product : rows, x.weights ? d->acc : ft, x.k, n, 0,
                want, fd);
    TSR_CHECK(tsr_ref_gather(t, x.k, n, place, x.weights ? by : NULL, 1, x.k, y));
    result(w, TSR_LOWER_OUT, i * n, n, want, y);
  }
  return TSR_OK;
}

static enum tsr_status columns_values(struct work *w, struct tsr_err *err) {
  const struct tsri_op_data *d = w->d;
  const struct tsr_op *op = d->l->op;
  const struct tsr_format *fa = d->format[TSR_LOWER_A], *fd = d->format[TSR_LOWER_OUT];
  uint64_t n = op->n, table = op->attr.table;
  size_t bytes = tsr_gemm_code_bytes(fa);
  char *some = codes_room(w, fa, n);
  void *want = codes_room(w, fd, n);
  double *y = room(w, n, sizeof *y);
  uint32_t *list = room(w, n, sizeof *list);
  if (w->failed) return tsr_err_nomem(err);
  for (uint64_t i = 0; i < op->m * op->count; i++) {
    if (tsr_interrupted)
      return tsr_err_set(err, TSR_SIM, "interrupted in layer '%s'; nothing was stored",
                         op->name);
    fetch(w, TSR_LOWER_B, i / op->m * n, n, list);
    from_end(list, n, table);
    for (uint64_t j = 0; j < n; j++)
      fetch(w, TSR_LOWER_A, i * table + list[j], 1, some + j * bytes);
    decode(fa, some, n, y);
    window_of(TSR_VEC_POOLMAX, some, fa, 1, n, 0, want, fd); /* of one element: itself */
    result(w, TSR_LOWER_OUT, i * n, n, want, y);
  }
  return TSR_OK;
}

/* ---- attention ---- */

struct heads {
  struct work *w;
  const struct tsr_op *op;
  const struct tsr_mma *unit;
  struct tsr_mma_spec spec;
  void *q, *kt, *k, *v, *s, *p, *o, *max, *old, *sum, *mask, *place_q, *place_k, *want, *mid,
      *soft;
  const struct tsr_format *fa, *fb, *fp32, *fd;
  uint32_t scale;
};

static void vec(struct heads *h, enum tsr_vec_op op, struct matrix d, struct matrix a,
                const struct matrix *b, enum tsr_vec_spread spread, uint32_t imm, bool first) {
  struct tsr_vec_job j = {.op = op,
                          .rows = a.rows,
                          .cols = a.cols,
                          .a = {a.p, a.f, a.ld},
                          .spread = spread,
                          .d = d.p,
                          .d_format = d.f,
                          .ldd = d.ld,
                          .imm = imm,
                          .first = first,
                          .lanes = h->w->d->lanes};
  if (b) j.b = (struct tsr_vec_in){b->p, b->f, b->ld};
  tsr_vec_run(&j, NULL, NULL);
}

static enum tsr_status product(struct heads *h, const void *a, uint64_t lda, const void *b,
                               uint64_t m, uint64_t n, uint64_t k, void *c, bool first,
                               struct tsr_err *err) {
  if (first) memset(c, 0, m * n * tsr_gemm_code_bytes(h->unit->acc));
  const struct tsr_gemm g = {.unit = h->unit,
                             .m = m,
                             .n = n,
                             .k = k,
                             .a = a,
                             .lda = lda,
                             .b = b,
                             .ldb = n,
                             .c = c,
                             .ldc = n,
                             .threads = 1};
  return tsr_gemm_run(&g, NULL, NULL, err);
}

/* Rows [from, from + n) of a matrix of width columns, turned. */
static void turn(const void *from, uint64_t first, uint64_t n, uint64_t width, size_t bytes,
                 void *to) {
  for (uint64_t i = 0; i < n; i++)
    for (uint64_t j = 0; j < width; j++)
      memcpy((char *)to + (j * n + i) * bytes,
             (const char *)from + ((first + i) * width + j) * bytes, bytes);
}

static void add_mask(struct heads *h, struct matrix s, uint64_t key) {
  struct matrix z = {h->mask, h->fp32, s.ld, s.rows, s.cols};
  struct matrix k = {(char *)h->place_k + key * 4, h->fp32, s.cols, 1, s.cols};
  struct matrix q = {h->place_q, h->fp32, 1, s.rows, 1};
  const float most = 0x1.fffffep127f;
  uint32_t bits;
  memcpy(&bits, &most, sizeof bits);
  vec(h, TSR_VEC_MULI, z, s, NULL, TSR_VEC_EACH, 0, true);
  vec(h, TSR_VEC_SUB, z, z, &k, TSR_VEC_ROW, 0, true);
  vec(h, TSR_VEC_ADD, z, z, &q, TSR_VEC_COL, 0, true);
  vec(h, TSR_VEC_MINI, z, z, NULL, TSR_VEC_EACH, 0, true);
  vec(h, TSR_VEC_MULI, z, z, NULL, TSR_VEC_EACH, bits, true);
  vec(h, TSR_VEC_ADD, s, s, &z, TSR_VEC_EACH, 0, true);
}

static enum tsr_status tiled(struct heads *h, struct tsr_err *err) {
  const struct tsr_op *op = h->op;
  uint64_t m = op->m, n = op->n, d = op->k, tn = h->w->d->l->cut.tile[3];
  const struct tsr_format *acc = h->unit->acc;
  struct matrix max = {h->max, h->fp32, 1, m, 1}, old = {h->old, h->fp32, 1, m, 1},
                sum = {h->sum, h->fp32, 1, m, 1}, o = {h->o, acc, d, m, d};
  size_t bb = tsr_gemm_code_bytes(h->fb);
  for (uint64_t j = 0; j < n; j += tn) {
    uint64_t cols = tsr_min_u64(tn, n - j);
    struct matrix s = {h->s, acc, cols, m, cols}, p = {h->p, h->fa, cols, m, cols};
    turn(h->k, j, cols, d, bb, h->kt);
    enum tsr_status st = product(h, h->q, d, h->kt, m, cols, d, h->s, true, err);
    if (st) return st;
    vec(h, TSR_VEC_MULI, s, s, NULL, TSR_VEC_EACH, h->scale, true);
    if (op->attr.causal) add_mask(h, s, j);
    if (j) vec(h, TSR_VEC_COPY, old, max, NULL, TSR_VEC_EACH, 0, true);
    vec(h, TSR_VEC_ROWMAX, max, s, NULL, TSR_VEC_EACH, 0, j == 0);
    vec(h, TSR_VEC_SUBEXP, s, s, &max, TSR_VEC_COL, 0, true);
    if (j) {
      vec(h, TSR_VEC_SUBEXP, old, old, &max, TSR_VEC_EACH, 0, true);
      vec(h, TSR_VEC_MUL, sum, sum, &old, TSR_VEC_EACH, 0, true);
      vec(h, TSR_VEC_MUL, o, o, &old, TSR_VEC_COL, 0, true);
    }
    vec(h, TSR_VEC_ROWSUM, sum, s, NULL, TSR_VEC_EACH, 0, j == 0);
    vec(h, TSR_VEC_COPY, p, s, NULL, TSR_VEC_EACH, 0, true);
    st = product(h, h->p, cols, (const char *)h->v + j * d * bb, m, d, cols, h->o, j == 0, err);
    if (st) return st;
  }
  vec(h, TSR_VEC_DIV, (struct matrix){h->want, h->fd, d, m, d}, o, &sum, TSR_VEC_COL, 0, true);
  return TSR_OK;
}

/* Codes of one format in another, one rounding each. */
static void convert(const struct tsr_format *from, const void *a, const struct tsr_format *to,
                    void *b, uint64_t n) {
  unsigned events = 0;
  for (uint64_t i = 0; i < n; i++)
    tsr_exact_code_set(b, tsr_gemm_code_bytes(to), i,
                       tsr_arith_convert(from, tsr_exact_code(a, tsr_gemm_code_bytes(from), i),
                                         to, TSR_ROUND_RNE, &events));
}

static enum tsr_status plain(struct heads *h, struct tsr_err *err) {
  const struct tsr_op *op = h->op;
  uint64_t m = op->m, n = op->n, d = op->k, tn = h->w->d->l->cut.tile[3];
  const struct tsr_format *acc = h->unit->acc;
  size_t bb = tsr_gemm_code_bytes(h->fb), ab = tsr_gemm_code_bytes(h->fa);
  struct matrix max = {h->max, h->fp32, 1, m, 1}, sum = {h->sum, h->fp32, 1, m, 1};
  struct matrix mid = {h->mid, h->fd, n, m, n}, z = {h->soft, h->fp32, n, m, n},
                p = {h->p, h->fa, n, m, n};
  turn(h->k, 0, n, d, bb, h->kt);
  enum tsr_status st = product(h, h->q, d, h->kt, m, n, d, h->s, true, err);
  if (st) return st;
  convert(acc, h->s, h->fd, h->mid, m * n);
  vec(h, TSR_VEC_MULI, z, mid, NULL, TSR_VEC_EACH, h->scale, true);
  if (op->attr.causal) add_mask(h, z, 0);
  vec(h, TSR_VEC_ROWMAX, max, z, NULL, TSR_VEC_EACH, 0, true);
  vec(h, TSR_VEC_SUBEXP, z, z, &max, TSR_VEC_COL, 0, true);
  vec(h, TSR_VEC_ROWSUM, sum, z, NULL, TSR_VEC_EACH, 0, true);
  vec(h, TSR_VEC_DIV, p, z, &sum, TSR_VEC_COL, 0, true);
  for (uint64_t j = 0; !st && j < n; j += tn)
    st = product(h, (const char *)h->p + j * ab, n, (const char *)h->v + j * d * bb, m, d,
                 tsr_min_u64(tn, n - j), h->o, j == 0, err);
  convert(acc, h->o, h->fd, h->want, m * d);
  return st;
}

static enum tsr_status open_heads(struct heads *h, struct tsr_err *err) {
  struct work *w = h->w;
  const struct tsri_op_data *d = w->d;
  uint64_t m = h->op->m, n = h->op->n, k = h->op->k;
  enum tsr_status st = tsr_mma_resolve(d->mma, h->fa, h->fb, d->acc, &h->spec, &h->unit, err);
  if (st) return st;
  h->q = codes_room(w, h->fa, m * k);
  h->k = codes_room(w, h->fb, n * k);
  h->kt = codes_room(w, h->fb, n * k);
  h->v = codes_room(w, h->fb, n * k);
  h->s = codes_room(w, d->acc, m * n);
  h->p = codes_room(w, h->fa, m * n);
  h->mid = codes_room(w, h->fd, m * n);
  h->mask = codes_room(w, h->fp32, m * n);
  h->soft = codes_room(w, h->fp32, m * n);
  h->o = codes_room(w, d->acc, m * k);
  h->want = codes_room(w, h->fd, m * k);
  h->max = codes_room(w, h->fp32, m);
  h->old = codes_room(w, h->fp32, m);
  h->sum = codes_room(w, h->fp32, m);
  h->place_q = codes_room(w, h->fp32, m);
  h->place_k = codes_room(w, h->fp32, n);
  return w->failed ? tsr_err_nomem(err) : TSR_OK;
}

static enum tsr_status attention_values(struct work *w, struct tsr_err *err) {
  const struct tsri_op_data *d = w->d;
  const struct tsr_op *op = d->l->op;
  const struct tsr_op_attr *t = &op->attr;
  uint64_t m = op->m, n = op->n, k = op->k, ratio = t->heads / t->kv_heads;
  uint64_t kv = op->count / ratio;
  struct heads h = {.w = w,
                    .op = op,
                    .fa = d->format[TSR_LOWER_A],
                    .fb = d->format[TSR_LOWER_B],
                    .fd = d->format[TSR_LOWER_OUT],
                    .fp32 = tsr_format_find("fp32")};
  float scale = (float)(1.0 / sqrt((double)k));
  memcpy(&h.scale, &scale, sizeof scale);
  enum tsr_status st = open_heads(&h, err);
  double *q = room(w, m * k, sizeof *q), *key = room(w, n * k, sizeof *key),
         *v = room(w, n * k, sizeof *v), *some = room(w, 2 * n, sizeof *some),
         *y = room(w, m * k, sizeof *y);
  if (!st && w->failed) st = tsr_err_nomem(err);
  for (uint64_t i = 0; !st && t->causal && i < m + n; i++) {
    float at = i < m ? (float)(n - m + i) : (float)(i - m);
    memcpy(i < m ? (char *)h.place_q + i * 4 : (char *)h.place_k + (i - m) * 4, &at, sizeof at);
  }
  const struct tsr_ref_attention exact = {m, n, k, t->causal, 0};
  for (uint64_t head = 0; !st && head < op->count; head++) {
    if (tsr_interrupted)
      return tsr_err_set(err, TSR_SIM, "interrupted in layer '%s'; nothing was stored",
                         op->name);
    fetch(w, TSR_LOWER_A, head * m * k, m * k, h.q);
    fetch(w, TSR_LOWER_B, head / ratio * n * k, n * k, h.k);
    fetch(w, TSR_LOWER_B, (kv + head / ratio) * n * k, n * k, h.v);
    st = d->at.attention == TSR_ATTENTION_PLAIN ? plain(&h, err) : tiled(&h, err);
    if (st) break;
    decode(h.fa, h.q, m * k, q);
    decode(h.fb, h.k, n * k, key);
    decode(h.fb, h.v, n * k, v);
    tsr_ref_attention(&exact, q, key, v, some, y);
    result(w, TSR_LOWER_OUT, head * m * k, m * k, h.want, y);
  }
  return st;
}

enum tsr_status tsri_op_values(const struct tsri_op_data *d, tsri_op_result_fn *fn, void *arg,
                               struct tsr_err *err) {
  struct work w = {.d = d, .fn = fn, .arg = arg};
  enum tsr_status st;
  enum tsr_op_kind kind = d->l->op->kind;
  enum tsr_op_class cls = tsr_op_kind_info(kind)->cls;
  if (kind == TSR_OP_TOPK)
    st = topk_values(&w, err);
  else if (kind == TSR_OP_TRANSPOSE)
    st = transpose_values(&w, err);
  else if (kind == TSR_OP_GATHER_COLS)
    st = columns_values(&w, err);
  else if (cls == TSR_CLASS_WINDOW)
    st = window_values(&w, err);
  else if (cls == TSR_CLASS_GATHER)
    st = gather_values(&w, err);
  else if (cls == TSR_CLASS_ATTENTION)
    st = attention_values(&w, err);
  else
    st = rows_values(&w, err);
  close_work(&w);
  return st;
}
