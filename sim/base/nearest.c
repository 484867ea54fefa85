#include <stdbool.h>
#include <string.h>

#include "sim/base/err.h"

/* Longer words are no slip of a finger. */
enum { LONGEST = 64 };

static size_t min3(size_t a, size_t b, size_t c) {
  size_t m = a < b ? a : b;
  return m < c ? m : c;
}

/* Insertions, deletions, substitutions and swaps of neighbours, each counts 1
 * (optimal string alignment, SRC:damerau1964). Both at most LONGEST long. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb) {
  size_t d[3][LONGEST + 1]; /* rows i-2, i-1, i, by i mod 3 */
  for (size_t i = 0; i <= na; i++) {
    size_t *row = d[i % 3], *up = d[(i + 2) % 3], *up2 = d[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= nb; j++) {
      if (i == 0) {
        row[j] = j;
        continue;
      }
      row[j] = min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
      bool swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swap && up2[j - 2] + 1 < row[j]) row[j] = up2[j - 2] + 1;
    }
  }
  return d[na % 3][nb];
}

const char *tsr_err_nearest(const char *word, const char *const *names, size_t n) {
  size_t len = strlen(word), limit = len / 3 ? len / 3 : 1;
  const char *best = NULL;
  if (len > LONGEST) return NULL;
  for (size_t i = 0; i < n; i++) {
    size_t m = strlen(names[i]);
    if (m > LONGEST) continue;
    size_t d = distance(word, len, names[i], m);
    if (d > limit) continue;
    best = names[i];
    if (d == 0) break;
    limit = d - 1; /* only something nearer replaces it */
  }
  return best;
}
