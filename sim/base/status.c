#include "sim/base/status.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
  int code;
  const char *text;
} rows[TSR_STATUS_COUNT_] = {
#define ROW(name, code, doc) [TSR_##name] = {code, doc},
    TSR_STATUS_LIST(ROW)
#undef ROW
};

int tsr_status_exit(enum tsr_status s) {
  TSR_CHECK(s < TSR_STATUS_COUNT_);
  return rows[s].code;
}

const char *tsr_status_text(enum tsr_status s) {
  TSR_CHECK(s < TSR_STATUS_COUNT_);
  return rows[s].text;
}

/* The one place below sim/cmd that writes to standard error: nothing above can
 * be trusted any more. */
_Noreturn void tsr_bug(const char *file, int line, const char *what) {
  fprintf(stderr, "%s:%d: bug: %s\n", file, line, what);
  fflush(NULL);
  abort();
}
