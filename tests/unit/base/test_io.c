#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/io.h"
#include "sim/base/mem.h"

static char dir[64];
static char path[128];

static int enter(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "/tmp/tsr-io-XXXXXX");
  if (!mkdtemp(dir)) return -1;
  snprintf(path, sizeof path, "%s/file.txt", dir);
  return 0;
}

static size_t files_in(const char *folder) {
  size_t n = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static int leave(void **state) {
  (void)state;
  unlink(path);
  return rmdir(dir);
}

static void check_content(const char *want) {
  char *text;
  size_t len;
  assert_int_equal(tsr_io_read(path, &text, &len, NULL), TSR_OK);
  assert_int_equal(len, strlen(want));
  assert_string_equal(text, want);
  tsr_mem_free(text);
}

static void what_is_written_reads_back(void **state) {
  (void)state;
  assert_int_equal(tsr_io_write(path, "one", 3, NULL), TSR_OK);
  check_content("one");
  assert_int_equal(tsr_io_write(path, "", 0, NULL), TSR_OK);
  check_content("");
  size_t n = 100000, len;
  char *big = tsr_mem_alloc(n + 1), *text;
  for (size_t i = 0; i < n; i++) big[i] = (char)(i % 251);
  assert_int_equal(tsr_io_write(path, big, n, NULL), TSR_OK);
  assert_int_equal(tsr_io_read(path, &text, &len, NULL), TSR_OK);
  assert_int_equal(len, n);
  assert_memory_equal(text, big, n + 1);
  tsr_mem_free(big);
  tsr_mem_free(text);
  assert_int_equal(files_in(dir), 1);
}

static void a_failed_write_leaves_the_old_file(void **state) {
  (void)state;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_io_write(path, "old", 3, NULL), TSR_OK);
  tsr_io_fail_at(1);
  assert_int_equal(tsr_io_write(path, "new", 3, &err), TSR_STORE);
  assert_non_null(strstr(err.msg[0], "no space left"));
  check_content("old");
  assert_int_equal(files_in(dir), 1);
  assert_int_equal(tsr_io_write(path, "new", 3, NULL), TSR_OK);
  check_content("new");
  tsr_err_fini(&err);
}

static void the_nth_write_fails_once(void **state) {
  (void)state;
  tsr_io_fail_at(3);
  static const bool want[] = {false, false, true, false, false};
  for (size_t i = 0; i < 5; i++) assert_int_equal(tsr_io_fail_now(), want[i]);
  tsr_io_fail_at(0);
  assert_false(tsr_io_fail_now());
}

static void links_stay_links_and_modes_stay(void **state) {
  (void)state;
  char link[128];
  struct stat sb;
  snprintf(link, sizeof link, "%s/link", dir);
  assert_int_equal(tsr_io_write(path, "old", 3, NULL), TSR_OK);
  assert_int_equal(chmod(path, 0640), 0);
  assert_int_equal(symlink("file.txt", link), 0);
  assert_int_equal(tsr_io_write(link, "new", 3, NULL), TSR_OK);
  check_content("new");
  assert_int_equal(lstat(link, &sb), 0);
  assert_true(S_ISLNK(sb.st_mode));
  assert_int_equal(stat(path, &sb), 0);
  assert_int_equal(sb.st_mode & 0777, 0640);
  unlink(link);
}

static void unusable_paths_are_named(void **state) {
  (void)state;
  static const struct {
    const char *path, *message;
    bool write;
  } rows[] = {
      {"/nonexistent/a.yaml",
       "error: cannot read '/nonexistent/a.yaml': no such file or directory\n", false},
      {"/tmp", "error: cannot read '/tmp'; expected a file, got a folder\n", false},
      {"/dev/zero", "error: '/dev/zero' is too large; expected at most 64 MiB\n", false},
      {"/nonexistent/a", "error: cannot write '/nonexistent/a': no such file or directory\n",
       true},
      {"/tmp", "error: cannot write '/tmp': is a directory\n", true},
      {"", "error: cannot write '': no such file or directory\n", true},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tsr_err err = TSR_ERR_INIT;
    char *text = dir;
    size_t len = 9;
    if (rows[i].write)
      assert_int_equal(tsr_io_write(rows[i].path, "x", 1, &err), TSR_STORE);
    else
      assert_int_equal(tsr_io_read(rows[i].path, &text, &len, &err), TSR_INPUT);
    assert_string_equal(err.msg[0], rows[i].message);
    assert_true(text == dir && len == 9);
    tsr_err_fini(&err);
  }
  assert_int_equal(tsr_io_write("/dev/null", "x", 1, NULL), TSR_OK);
}

static void a_pipe_can_be_read(void **state) {
  (void)state;
  int fd[2];
  char name[64], *text;
  size_t len;
  assert_int_equal(pipe(fd), 0);
  assert_int_equal(write(fd[1], "piped", 5), 5);
  close(fd[1]);
  snprintf(name, sizeof name, "/dev/fd/%d", fd[0]);
  assert_int_equal(tsr_io_read(name, &text, &len, NULL), TSR_OK);
  assert_string_equal(text, "piped");
  tsr_mem_free(text);
  close(fd[0]);
}

static void reading_without_memory_is_reported(void **state) {
  (void)state;
  assert_int_equal(tsr_io_write(path, "one", 3, NULL), TSR_OK);
  char *text;
  size_t len;
  tsr_mem_fail_at(1, false);
  assert_int_equal(tsr_io_read(path, &text, &len, NULL), TSR_NOMEM);
  tsr_mem_fail_at(0, false);
}

static void bytes_are_read_up_to_a_limit(void **state) {
  (void)state;
  static const struct {
    size_t size;
    uint64_t limit;
    enum tsr_status want;
  } rows[] = {{0, 0, TSR_OK}, {1, 0, TSR_INPUT}, {5000, 5000, TSR_OK}, {5000, 4999, TSR_INPUT}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    unsigned char *data = NULL, *back = NULL;
    size_t len = 0;
    data = tsr_mem_alloc(rows[i].size);
    for (size_t j = 0; j < rows[i].size; j++) data[j] = (unsigned char)(j % 256);
    assert_int_equal(tsr_io_write(path, data, rows[i].size, NULL), TSR_OK);
    assert_int_equal(tsr_io_read_bytes(path, rows[i].limit, &back, &len, NULL), rows[i].want);
    if (rows[i].want == TSR_OK) {
      assert_int_equal(len, rows[i].size);
      assert_memory_equal(back, data, len);
    } else {
      assert_null(back);
    }
    tsr_mem_free(data);
    tsr_mem_free(back);
  }
}

static void a_part_is_read_whole_or_refused(void **state) {
  (void)state;
  static const struct {
    uint64_t offset;
    size_t len;
    const char *want; /* NULL: refused */
  } rows[] = {
      {0, 6, "abcdef"}, {2, 3, "cde"},         {6, 0, ""},           {5, 2, NULL},
      {7, 1, NULL},     {UINT64_MAX, 1, NULL}, {INT64_MAX, 2, NULL},
  };
  assert_int_equal(tsr_io_write(path, "abcdef", 6, NULL), TSR_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char got[8] = "";
    enum tsr_status st = tsr_io_read_part(path, rows[i].offset, got, rows[i].len, NULL);
    assert_int_equal(st, rows[i].want ? TSR_OK : TSR_INPUT);
    if (rows[i].want) assert_string_equal(got, rows[i].want);
  }
  struct tsr_err err = TSR_ERR_INIT;
  char got[8], want[256];
  assert_int_equal(tsr_io_read_part(path, 4, got, 5, &err), TSR_INPUT);
  snprintf(want, sizeof want, "error: '%s' is too short; expected 5 bytes from byte 4, got 2\n",
           path);
  assert_string_equal(err.msg[0], want);
  tsr_err_fini(&err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_is_written_reads_back, enter, leave),
      cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_file, enter, leave),
      cmocka_unit_test(the_nth_write_fails_once),
      cmocka_unit_test_setup_teardown(links_stay_links_and_modes_stay, enter, leave),
      cmocka_unit_test(unusable_paths_are_named),
      cmocka_unit_test(a_pipe_can_be_read),
      cmocka_unit_test_setup_teardown(bytes_are_read_up_to_a_limit, enter, leave),
      cmocka_unit_test_setup_teardown(a_part_is_read_whole_or_refused, enter, leave),
      cmocka_unit_test_setup_teardown(reading_without_memory_is_reported, enter, leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
