/* The blocked product (workloads/net/dense_int.h): panels of four rows of A and four columns of
 * B are packed, so that the inner loop reads both in order and keeps 16 sums in registers. */
#include "workloads/net/dense_int.h"

#include <string.h>

#include "sim/base/mem.h"

enum {
  MM_R = 4, /* rows and columns of a register block */
  MM_K = 256,
  MM_M = 64,
  MM_N = 256,
  MM_THIN = 2 /* up to so many rows, packing costs more than it gains */
};

typedef double pair __attribute__((vector_size(16)));

static size_t offset(const size_t *list, size_t stride, size_t i) {
  return list ? list[i] : i * stride;
}

/* out[panel][k][MM_R] of rows [i0, i0 + mb), columns [k0, k0 + kb); rows past mb are zeros. */
static void pack_a(const struct tsri_mat *a, size_t i0, size_t mb, size_t k0, size_t kb,
                   double *out) {
  for (size_t i = 0; i < mb; i += MM_R) {
    double *panel = out + i * kb;
    for (size_t r = 0; r < MM_R; r++) {
      if (i + r >= mb) {
        for (size_t k = 0; k < kb; k++) panel[k * MM_R + r] = 0;
        continue;
      }
      const double *row = a->p + offset(a->rows, a->row, i0 + i + r);
      for (size_t k = 0; k < kb; k++)
        panel[k * MM_R + r] = row[offset(a->cols, a->col, k0 + k)];
    }
  }
}

static void pack_b(const struct tsri_mat *b, size_t j0, size_t nb, size_t k0, size_t kb,
                   double *out) {
  for (size_t k = 0; k < kb; k++) {
    const double *row = b->p + offset(b->rows, b->row, k0 + k);
    for (size_t j = 0; j < nb; j += MM_R) {
      double *to = out + j * kb + k * MM_R;
      for (size_t r = 0; r < MM_R; r++)
        to[r] = j + r < nb ? row[offset(b->cols, b->col, j0 + j + r)] : 0;
    }
  }
}

/* c[rows,cols] += a * b of one register block; rows and cols at most MM_R. */
static void block(const double *a, const double *b, size_t kb, double *c, size_t c_row,
                  size_t rows, size_t cols) {
  double sum[MM_R][MM_R] = {{0}};
  pair s[MM_R][2];
  for (size_t r = 0; r < rows; r++)
    for (size_t j = 0; j < cols; j++) sum[r][j] = c[r * c_row + j];
  memcpy(s, sum, sizeof s);
  pair s00 = s[0][0], s01 = s[0][1], s10 = s[1][0], s11 = s[1][1];
  pair s20 = s[2][0], s21 = s[2][1], s30 = s[3][0], s31 = s[3][1];
  for (size_t k = 0; k < kb; k++, a += MM_R, b += MM_R) {
    pair b0, b1;
    memcpy(&b0, b, sizeof b0);
    memcpy(&b1, b + 2, sizeof b1);
    pair a0 = {a[0], a[0]}, a1 = {a[1], a[1]}, a2 = {a[2], a[2]}, a3 = {a[3], a[3]};
    s00 += a0 * b0;
    s01 += a0 * b1;
    s10 += a1 * b0;
    s11 += a1 * b1;
    s20 += a2 * b0;
    s21 += a2 * b1;
    s30 += a3 * b0;
    s31 += a3 * b1;
  }
  pair t[MM_R][2] = {{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}};
  memcpy(sum, t, sizeof sum);
  for (size_t r = 0; r < rows; r++)
    for (size_t j = 0; j < cols; j++) c[r * c_row + j] = sum[r][j];
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* n in whole panels. */
static size_t whole(size_t n) {
  return (n + MM_R - 1) / MM_R * MM_R;
}

static void blocks(const struct tsri_mm *p, size_t i0, size_t mb, size_t j0, size_t nb,
                   size_t kb, const double *a, const double *b) {
  for (size_t j = 0; j < nb; j += MM_R)
    for (size_t i = 0; i < mb; i += MM_R)
      block(a + i * kb, b + j * kb, kb, p->c + (i0 + i) * p->c_row + j0 + j, p->c_row,
            least(MM_R, mb - i), least(MM_R, nb - j));
}

/* A row or two: no packing. */
static void thin(const struct tsri_mm *p) {
  for (size_t i = 0; i < p->m; i++) {
    const double *a = p->a.p + offset(p->a.rows, p->a.row, i);
    double *c = p->c + i * p->c_row;
    if (!p->b.cols && p->b.col == 1) {
      for (size_t k = 0; k < p->k; k++) {
        double f = a[offset(p->a.cols, p->a.col, k)];
        const double *b = p->b.p + offset(p->b.rows, p->b.row, k);
        for (size_t j = 0; j < p->n; j++) c[j] += f * b[j];
      }
      continue;
    }
    for (size_t j = 0; j < p->n; j++) {
      const double *b = p->b.p + offset(p->b.cols, p->b.col, j);
      double sum = c[j];
      for (size_t k = 0; k < p->k; k++)
        sum += a[offset(p->a.cols, p->a.col, k)] * b[offset(p->b.rows, p->b.row, k)];
      c[j] = sum;
    }
  }
}

bool tsri_mm(const struct tsri_mm *p) {
  if (p->m <= MM_THIN) {
    thin(p);
    return true;
  }
  if (!p->n || !p->k) return true;
  size_t depth = least(p->k, MM_K);
  double *a = tsr_mem_array(least(whole(p->m), MM_M) * depth, sizeof *a);
  double *b = tsr_mem_array(least(whole(p->n), MM_N) * depth, sizeof *b);
  if (a && b)
    for (size_t j0 = 0; j0 < p->n; j0 += MM_N)
      for (size_t k0 = 0; k0 < p->k; k0 += MM_K) {
        size_t nb = least(MM_N, p->n - j0), kb = least(MM_K, p->k - k0);
        pack_b(&p->b, j0, nb, k0, kb, b);
        for (size_t i0 = 0; i0 < p->m; i0 += MM_M) {
          size_t mb = least(MM_M, p->m - i0);
          pack_a(&p->a, i0, mb, k0, kb, a);
          blocks(p, i0, mb, j0, nb, kb, a, b);
        }
      }
  bool ok = a && b;
  tsr_mem_free(a);
  tsr_mem_free(b);
  return ok;
}
