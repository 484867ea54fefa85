#include "sim/base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/base_int.h"

/* The fault shim. Atomic, since components may allocate from threads. */
static _Atomic uint64_t calls, fail_nth;
static _Atomic bool fail_all;

void tsr_mem_fail_at(uint64_t nth, bool all) {
  atomic_store(&calls, 0);
  atomic_store(&fail_nth, nth);
  atomic_store(&fail_all, all);
}

uint64_t tsr_mem_calls(void) {
  return atomic_load(&calls);
}

bool tsri_mem_fail_now(void) {
  uint64_t n = atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed) + 1;
  uint64_t nth = atomic_load_explicit(&fail_nth, memory_order_relaxed);
  if (nth == 0 || n < nth) return false;
  return n == nth || atomic_load_explicit(&fail_all, memory_order_relaxed);
}

void *tsr_mem_alloc(size_t n) {
  return tsri_mem_fail_now() ? NULL : calloc(1, n ? n : 1);
}

void *tsr_mem_array(size_t count, size_t size) {
  size_t n;
  if (__builtin_mul_overflow(count, size, &n)) return NULL;
  return tsr_mem_alloc(n);
}

/* The capacity after growth: at least doubled, so that adding n elements one by
 * one costs O(n). */
static size_t grown_cap(size_t cap, size_t need) {
  size_t twice = cap > SIZE_MAX / 2 ? need : cap * 2;
  size_t c = twice > need ? twice : need;
  return c < 8 ? 8 : c;
}

bool tsr_mem_grow(void **p, size_t *cap, size_t need, size_t size) {
  size_t n;
  if (need <= *cap) return true;
  size_t c = grown_cap(*cap, need);
  if (__builtin_mul_overflow(c, size, &n) || tsri_mem_fail_now()) return false;
  char *q = realloc(*p, n ? n : 1);
  if (!q) return false;
  memset(q + *cap * size, 0, (c - *cap) * size);
  *p = q;
  *cap = c;
  return true;
}

char *tsr_mem_strndup(const char *s, size_t n) {
  if (n == SIZE_MAX) return NULL;
  char *p = tsr_mem_alloc(n + 1);
  if (p && n) memcpy(p, s, n);
  return p;
}

char *tsr_mem_strdup(const char *s) {
  return tsr_mem_strndup(s, strlen(s));
}

char *tsr_mem_vprintf(const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  if (n < 0) return NULL;
  char *p = tsr_mem_alloc((size_t)n + 1);
  if (p) vsnprintf(p, (size_t)n + 1, fmt, ap);
  return p;
}

char *tsr_mem_printf(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *p = tsr_mem_vprintf(fmt, ap);
  va_end(ap);
  return p;
}

void tsr_mem_free(void *p) {
  free(p);
}
