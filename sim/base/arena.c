#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/base_int.h"
#include "sim/base/mem.h"

/* Chunks double from the first size to the largest; a larger request gets a
 * chunk of its own. */
enum { CHUNK_FIRST = 4096, CHUNK_LARGEST = 1 << 20, ALIGN = alignof(max_align_t) };

struct chunk {
  struct chunk *next;
  size_t used, size;
  alignas(max_align_t) char data[];
};

struct tsr_arena {
  struct chunk *head; /* the one that is being filled; full ones follow */
  size_t next_size;
};

struct tsr_arena *tsr_arena_create(void) {
  struct tsr_arena *a = tsr_mem_alloc(sizeof *a);
  if (a) a->next_size = CHUNK_FIRST;
  return a;
}

void tsr_arena_destroy(struct tsr_arena *a) {
  if (!a) return;
  for (struct chunk *c = a->head, *next; c; c = next) {
    next = c->next;
    tsr_mem_free(c);
  }
  tsr_mem_free(a);
}

static struct chunk *chunk_create(size_t size) {
  struct chunk *c = tsr_mem_alloc(sizeof *c + size);
  if (c) c->size = size;
  return c;
}

/* A large request stands behind the head, which keeps its free room. */
static void *alloc_alone(struct tsr_arena *a, size_t n) {
  struct chunk *c = chunk_create(n);
  if (!c) return NULL;
  c->used = n;
  struct chunk **at = a->head ? &a->head->next : &a->head;
  c->next = *at;
  *at = c;
  return c->data;
}

void *tsr_arena_alloc(struct tsr_arena *a, size_t n) {
  if (n > SIZE_MAX / 2 || tsri_mem_fail_now()) return NULL;
  n = n ? (n + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
  struct chunk *c = a->head;
  if (!c || c->size - c->used < n) {
    if (n > a->next_size / 4) return alloc_alone(a, n);
    c = chunk_create(a->next_size);
    if (!c) return NULL;
    c->next = a->head;
    a->head = c;
    if (a->next_size < CHUNK_LARGEST) a->next_size *= 2;
  }
  void *p = c->data + c->used;
  c->used += n;
  return p;
}

void *tsr_arena_array(struct tsr_arena *a, size_t count, size_t size) {
  size_t n;
  if (__builtin_mul_overflow(count, size, &n)) return NULL;
  return tsr_arena_alloc(a, n);
}

char *tsr_arena_strndup(struct tsr_arena *a, const char *s, size_t n) {
  if (n == SIZE_MAX) return NULL;
  char *p = tsr_arena_alloc(a, n + 1);
  if (p && n) memcpy(p, s, n);
  return p;
}

char *tsr_arena_strdup(struct tsr_arena *a, const char *s) {
  return tsr_arena_strndup(a, s, strlen(s));
}

char *tsr_arena_printf(struct tsr_arena *a, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, again);
  va_end(again);
  char *p = n < 0 ? NULL : tsr_arena_alloc(a, (size_t)n + 1);
  if (p) vsnprintf(p, (size_t)n + 1, fmt, ap);
  va_end(ap);
  return p;
}
