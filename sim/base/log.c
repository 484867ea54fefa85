#include "sim/base/log.h"

#include <stdarg.h>
#include <string.h>

#include "sim/base/mem.h"

/* Set once by sim/cmd before any work starts. */
static struct {
  tsr_log_fn *log;
  void *log_arg;
  tsr_progress_fn *progress;
  void *progress_arg;
} sink;

volatile int tsr_interrupted;

void tsr_log_sink(tsr_log_fn *fn, void *arg) {
  sink.log = fn;
  sink.log_arg = arg;
}

void tsr_progress_sink(tsr_progress_fn *fn, void *arg) {
  sink.progress = fn;
  sink.progress_arg = arg;
}

void tsr_log_note(const char *fmt, ...) {
  if (!sink.log) return;
  va_list ap;
  va_start(ap, fmt);
  char *text = tsr_mem_vprintf(fmt, ap);
  va_end(ap);
  for (char *line = text, *nl; line; line = nl ? nl + 1 : NULL) {
    nl = strchr(line, '\n');
    if (nl)
      *nl = '\0';
    else if (!*line && line != text)
      break; /* the text ended with a newline */
    sink.log(sink.log_arg, line);
  }
  tsr_mem_free(text);
}

void tsr_progress(const char *what, uint64_t done, uint64_t total) {
  if (sink.progress) sink.progress(sink.progress_arg, what, done, total);
}
