/* Memory: every allocation of the project goes through here, so that tests can
 * make the nth one fail, and so that sizes are multiplied with a check.
 *
 * Functions return NULL when out of memory (or when told to fail); callers turn
 * that into TSR_NOMEM.  An arena frees everything at once; what it returns is
 * owned by the arena, aligned for any type and zero-filled. */
#ifndef TSR_SIM_BASE_MEM_H
#define TSR_SIM_BASE_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 tsr_u128;
__extension__ typedef __int128 tsr_i128;

/* n bytes, zero-filled (n = 0 gives a unique pointer). */
void *tsr_mem_alloc(size_t n);
/* count * size bytes, zero-filled; NULL also when the product overflows. */
void *tsr_mem_array(size_t count, size_t size);
/* Grows *p (an array of elements of `size` bytes holding *cap) to hold at least
 * `need`.  New elements are zero-filled.  false: out of memory, *p unchanged. */
bool tsr_mem_grow(void **p, size_t *cap, size_t need, size_t size);
char *tsr_mem_strdup(const char *s);
char *tsr_mem_strndup(const char *s, size_t n);
char *tsr_mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *tsr_mem_vprintf(const char *fmt, va_list ap);
void tsr_mem_free(void *p);

/* Tests: the nth allocation from now fails (1 = the next one), and with `all`
 * every later one too.  0 switches it off.  _calls counts since then.  Growing
 * and every allocation from an arena count. */
void tsr_mem_fail_at(uint64_t nth, bool all);
uint64_t tsr_mem_calls(void);

struct tsr_arena;
struct tsr_arena *tsr_arena_create(void);
void tsr_arena_destroy(struct tsr_arena *a);
void *tsr_arena_alloc(struct tsr_arena *a, size_t n);
void *tsr_arena_array(struct tsr_arena *a, size_t count, size_t size);
char *tsr_arena_strdup(struct tsr_arena *a, const char *s);
char *tsr_arena_strndup(struct tsr_arena *a, const char *s, size_t n);
char *tsr_arena_printf(struct tsr_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Checked 64-bit arithmetic: false on overflow, *out unchanged then. */
static inline bool tsr_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool tsr_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
  uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline uint64_t tsr_ceil_div(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}
static inline uint64_t tsr_gcd_u64(uint64_t a, uint64_t b) {
  while (b) {
    uint64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}
static inline uint64_t tsr_min_u64(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}
static inline uint64_t tsr_max_u64(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

#endif
