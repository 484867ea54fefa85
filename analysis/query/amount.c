/* Figures with a prefix, for people. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/query/query.h"

struct scale {
  double base;
  size_t one, n; /* the place without a prefix; how many places */
  const char *const *prefixes;
};

static const char *const si[] = {"f", "p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
static const struct scale scales[] = {{1000, 5, sizeof si / sizeof si[0], si},
                                      {1024, 0, sizeof binary / sizeof binary[0], binary}};

/* As many decimals as leave `digits` digits in all. */
static void significant(char buf[static 48], double v, int digits) {
  for (int decimals = digits - 1; decimals >= 0; decimals--) {
    int n = snprintf(buf, 48, "%.*f", decimals, v);
    if (n - (decimals > 0) <= digits) return;
  }
}

char *tsr_query_amount(char buf[TSR_QUERY_AMOUNT_MAX], double v, int digits, const char *unit) {
  const struct scale *s = &scales[!strcmp(unit, "B")];
  size_t p = s->one;
  char text[48];
  if (isnan(v) || isinf(v)) {
    snprintf(buf, TSR_QUERY_AMOUNT_MAX, "%s", isnan(v) ? "-" : "inf");
    return buf;
  }
  for (; v >= s->base && p + 1 < s->n; p++) v /= s->base;
  for (; v > 0 && v < 1 && p > 0; p--) v *= s->base;
  significant(text, v, digits);
  if (strtod(text, NULL) >= s->base && p + 1 < s->n) {
    v /= s->base; /* rounded up to the next prefix */
    p++;
    significant(text, v, digits);
  }
  /* What was counted is a whole number. */
  if (p == s->one && v == floor(v)) snprintf(text, sizeof text, "%.0f", v);
  snprintf(buf, TSR_QUERY_AMOUNT_MAX, "%s %s%.20s", text, s->prefixes[p], unit);
  return buf;
}
