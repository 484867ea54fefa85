/* RUN as users write it: a number, a name, `last`. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/store/store_int.h"

enum { NAMES_MAX = 1000 }; /* newest names looked at for `did you mean` */

static bool all_digits(const char *s) {
  return *s && s[strspn(s, "0123456789")] == '\0';
}

enum { NAME_BYTES_MAX = 200 };

/* Printable UTF-8, so that tables and JSON can show it; no option and no number. */
bool tsr_store_run_name_valid(const char *name) {
  size_t n = strlen(name);
  if (n == 0 || n > NAME_BYTES_MAX || name[0] == '-') return false;
  if (tsr_str_eq(name, "last") || all_digits(name)) return false;
  for (size_t i = 0; i < n;) {
    uint32_t c;
    size_t used = tsr_utf8_decode(name + i, n - i, &c);
    if (used == 0 || tsr_utf8_is_control(c)) return false;
    i += used;
  }
  return true;
}

/* Digits to a number; false when it passes 2^63 - 1. */
static bool number(const char *s, int64_t *out) {
  int64_t v = 0;
  for (; *s; s++)
    if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
      return false;
  *out = v;
  return true;
}

/* Adds `hint: did you mean '…'?` when some run has a name near to this one. */
static void hint_nearest(struct tsr_store *s, const char *word, struct tsr_err *err) {
  struct tsr_query *q = NULL;
  struct tsr_arena *a = tsr_arena_create();
  const char **names = a ? tsr_arena_array(a, NAMES_MAX, sizeof *names) : NULL;
  size_t n = 0;
  bool row = false;
  if (names && tsr_store_query(s,
                               "SELECT name FROM run WHERE name IS NOT NULL GROUP BY name "
                               "ORDER BY max(run_id) DESC LIMIT 1000",
                               &q, NULL) == TSR_OK) {
    while (n < NAMES_MAX && tsr_query_step(q, &row, NULL) == TSR_OK && row) {
      names[n] = tsr_arena_strdup(a, tsr_query_text(q, 0));
      if (!names[n]) break;
      n++;
    }
    const char *near = tsr_err_nearest(word, names, n);
    if (near) tsr_err_hint(err, "did you mean '%s'?", near);
  }
  tsr_query_close(q);
  if (a) tsr_arena_destroy(a);
}

static enum tsr_status none(struct tsr_store *s, const char *run, struct tsr_err *err) {
  int64_t lo = 0, hi = 0;
  enum tsr_status status = tsri_store_int(s, "SELECT min(run_id) FROM run", &lo, err);
  if (status == TSR_OK) status = tsri_store_int(s, "SELECT max(run_id) FROM run", &hi, err);
  if (status != TSR_OK) return status;
  if (hi == 0)
    return tsr_err_set(err, TSR_INPUT, "there is no run '%s'; store '%s' holds no runs", run,
                       s->path);
  tsr_err_set(err, TSR_INPUT,
              "there is no run '%s' in store '%s'; expected a number from %" PRId64
              " to %" PRId64 ", a name or 'last'",
              run, s->path, lo, hi);
  hint_nearest(s, run, err);
  return TSR_INPUT;
}

enum tsr_status tsr_store_find_run(struct tsr_store *s, const char *run, uint64_t *run_id,
                                   struct tsr_err *err) {
  int64_t id = 0;
  const char *sql = "SELECT max(run_id) FROM run WHERE name = ?1";
  if (tsr_str_eq(run, "last"))
    sql = "SELECT max(run_id) FROM run WHERE ?1 IS NOT NULL";
  else if (all_digits(run)) {
    if (!number(run, &id)) return none(s, run, err);
    sql = "SELECT run_id FROM run WHERE run_id = CAST(?1 AS INTEGER)";
  }
  struct tsr_query *q = NULL;
  enum tsr_status status = tsr_store_query(s, sql, &q, err);
  if (status != TSR_OK) return status;
  tsr_query_bind_text(q, 1, run);
  bool row = false;
  status = tsr_query_step(q, &row, err);
  bool found = status == TSR_OK && row && !tsr_query_is_null(q, 0);
  uint64_t v = found ? tsr_query_u64(q, 0) : 0;
  tsr_query_close(q);
  if (status != TSR_OK) return status;
  if (!found) return none(s, run, err);
  *run_id = v;
  return TSR_OK;
}
