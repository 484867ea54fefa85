#include "files.h"

#include <dirent.h>
#include <unistd.h>

#include "sim/base/mem.h"

static char folder[] = "/tmp/tessera_tensor_XXXXXX";

int files_enter(void **state) {
  (void)state;
  memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static void empty(const char *path) {
  DIR *d = opendir(path);
  assert_non_null(d);
  for (const struct dirent *e; (e = readdir(d)) != NULL;) {
    char name[512];
    if (e->d_name[0] == '.') continue;
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    if (unlink(name) != 0) {
      empty(name);
      rmdir(name);
    }
  }
  closedir(d);
}

int files_leave(void **state) {
  (void)state;
  empty(folder);
  return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

void files_put(const char *path, const void *data, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

void files_message(struct tsr_err *err, const char *says) {
  if (err->n != 1 || !strstr(err->msg[0], says))
    fail_msg("expected one message with '%s', got %zu: %s", says, err->n,
             err->n ? err->msg[0] : "none");
  tsr_err_fini(err);
}

void files_starve(files_act *act, void *arg) {
  for (uint64_t nth = 1;; nth++) {
    struct tsr_err err = TSR_ERR_INIT;
    assert_true(nth < 10000);
    tsr_mem_fail_at(nth, false);
    enum tsr_status st = act(arg, &err);
    tsr_mem_fail_at(0, false);
    tsr_err_fini(&err);
    if (st == TSR_OK) {
      assert_true(nth > 1);
      return;
    }
    assert_int_equal(st, TSR_NOMEM);
  }
}
