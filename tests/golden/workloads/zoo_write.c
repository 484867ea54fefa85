/* tsr_zoo_generate FOLDER: writes every network of the zoo into FOLDER. */
#include "sim/base/io.h"
#include "sim/base/mem.h"
#include "workloads/zoo/generate.h"

static enum tsr_status write_one(const char *folder, size_t i) {
  struct tsr_str text = TSR_STR_INIT;
  tsri_zoo_make_text(i, &text);
  size_t n = text.n;
  char *made = tsr_str_take(&text);
  char *path = tsr_mem_printf("%s/%s.csv", folder, tsri_zoo_make_name(i));
  enum tsr_status s = made && path ? tsr_io_write(path, made, n, NULL) : TSR_NOMEM;
  tsr_mem_free(made);
  tsr_mem_free(path);
  return s;
}

int main(int argc, char **argv) {
  enum tsr_status s = argc == 2 ? TSR_OK : TSR_USAGE;
  for (size_t i = 0; s == TSR_OK && i < tsri_zoo_make_count(); i++) s = write_one(argv[1], i);
  return tsr_status_exit(s);
}
