/* JSON values from columns. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/query/query_int.h"

void tsri_real(struct tsr_str *s, double v) {
  char buf[40];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(buf, sizeof buf, "%.*g", digits, v);
    if (strtod(buf, NULL) == v) break;
  }
  tsr_str_add(s, buf);
  /* A reader that tells integers from reals shall see a real. */
  if (!strpbrk(buf, ".eni")) tsr_str_add(s, ".0");
}

void tsri_json_value(struct tsr_str *s, const struct tsr_query *q, int i) {
  if (tsr_query_is_null(q, i)) {
    tsr_str_add(s, "null");
  } else if (tsr_query_is_text(q, i)) {
    if (tsr_str_eq(tsr_query_column_name(q, i), "stalls"))
      tsr_str_add(s, tsr_query_text(q, i));
    else
      tsr_str_add_json(s, tsr_query_text(q, i));
  } else if (tsr_query_is_real(q, i)) {
    double v = tsr_query_double(q, i);
    if (isfinite(v))
      tsri_real(s, v);
    else
      tsr_str_add(s, "null");
  } else {
    tsr_str_addf(s, "%" PRId64, (int64_t)tsr_query_u64(q, i));
  }
}

void tsri_json_members(struct tsr_str *s, const struct tsr_query *q, int from, int to) {
  for (int i = from; i < to; i++) {
    if (i > from) tsr_str_add(s, ", ");
    tsr_str_add_json(s, tsr_query_column_name(q, i));
    tsr_str_add(s, ": ");
    tsri_json_value(s, q, i);
  }
}

enum tsr_status tsri_take(struct tsr_str *s, char **out, struct tsr_err *err) {
  tsr_str_add(s, "\n");
  char *text = tsr_str_take(s);
  if (!text) return tsr_err_nomem(err);
  *out = text;
  return TSR_OK;
}

enum tsr_status tsri_no_run(uint64_t run_id, struct tsr_err *err) {
  return tsr_err_set(err, TSR_INPUT, "there is no run %" PRIu64 " in the store", run_id);
}
