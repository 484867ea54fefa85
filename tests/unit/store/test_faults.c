/* Memory, disk and life end in the middle of a put: the store stays whole. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/mem.h"
#include "sim/store/store_int.h"
#include "tests/unit/store/sample.h"

static char dir[64];
static char path[128];
static struct sample sample;

/* SQLite's own allocator, with one allocation that fails. */
static sqlite3_mem_methods libc_mem;
static long mem_at, mem_calls;
static void *failing_malloc(int n) {
  return ++mem_calls == mem_at ? NULL : libc_mem.xMalloc(n);
}
static void *failing_realloc(void *p, int n) {
  return ++mem_calls == mem_at ? NULL : libc_mem.xRealloc(p, n);
}

static int group_setup(void **state) {
  (void)state;
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &libc_mem) != SQLITE_OK) return 1;
  sqlite3_mem_methods m = libc_mem;
  m.xMalloc = failing_malloc;
  m.xRealloc = failing_realloc;
  /* Without lookaside and page pools every allocation comes by here. */
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &m) != SQLITE_OK;
}

static int setup(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "%s", sample_dir());
  snprintf(path, sizeof path, "%s/t.db", dir);
  sample_init(&sample, 3, 4, true);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  sample_fini(&sample);
  sample_dir_remove(dir);
  return 0;
}

static struct tsr_store *open_writer(void) {
  struct tsr_store *s = NULL;
  assert_int_equal(tsr_store_open(path, TSR_STORE_WRITE, &s, NULL), TSR_OK);
  return s;
}

/* The store holds `runs` runs, each whole. */
static void assert_whole(struct tsr_store *s, long long runs, const char *what, long nth) {
  struct tsr_err err = TSR_ERR_INIT;
  if (tsr_store_check(s, &err) != TSR_OK) fail_msg("%s %ld: %s", what, nth, err.msg[0]);
  if (sample_number(s, "SELECT count(*) FROM run") != runs)
    fail_msg("%s %ld: %lld runs", what, nth, sample_number(s, "SELECT count(*) FROM run"));
  long long layers = runs * (long long)sample.run.n_layers;
  assert_int_equal(sample_number(s, "SELECT count(*) FROM layer"), layers);
  tsr_err_fini(&err);
}

static void sqlite_arm(uint64_t nth) {
  mem_at = mem_calls + (long)nth;
}
static void ours_arm(uint64_t nth) {
  tsr_mem_fail_at(nth, false);
}
static void disk_arm(uint64_t nth) {
  tsr_store_fail_at(nth);
}
static void sqlite_disarm(void) {
  mem_at = 0;
}
static void ours_disarm(void) {
  tsr_mem_fail_at(0, false);
}
static void disk_disarm(void) {
  tsr_store_fail_at(0);
}
static uint64_t sqlite_count(void) {
  return (uint64_t)mem_calls;
}
static uint64_t ours_count(void) {
  return tsr_mem_calls();
}
static uint64_t disk_count(void) {
  return tsri_fault_vfs_writes();
}

static const struct fault {
  const char *what;
  void (*arm)(uint64_t nth);
  void (*disarm)(void);
  uint64_t (*count)(void);
  uint64_t stride; /* of the points tried: every one is slow under sanitizers */
} faults[] = {
    {"allocation of SQLite", sqlite_arm, sqlite_disarm, sqlite_count, 11},
    {"allocation of ours", ours_arm, ours_disarm, ours_count, 1},
    {"write", disk_arm, disk_disarm, disk_count, 1},
};

static bool thin; /* `thin`: a seventh of the points, for every day */
static uint64_t stride_of(const struct fault *f) {
  return thin ? 7 * f->stride : f->stride;
}

static uint64_t points_of_a_put(const struct fault *f, struct tsr_store *s) {
  uint64_t id = 0;
  f->disarm();
  uint64_t before = f->count();
  assert_int_equal(tsr_store_put_run(s, &sample.run, &id, NULL), TSR_OK);
  return f->count() - before;
}

static void a_put_that_meets_a_fault_is_whole_or_not_there(void **state) {
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    const struct fault *f = &faults[i];
    teardown(state);
    setup(state);
    tsr_store_fail_at(0); /* the shim stands before the stores opened from here on */
    struct tsr_store *s = open_writer();
    long long runs = 1;
    uint64_t points = points_of_a_put(f, s);
    unsigned refused = 0;
    assert_true(points > 5);
    for (uint64_t nth = 1; nth <= points; nth += stride_of(f)) {
      struct tsr_err err = TSR_ERR_INIT;
      uint64_t id = 42;
      f->arm(nth);
      enum tsr_status status = tsr_store_put_run(s, &sample.run, &id, &err);
      f->disarm();
      if (status == TSR_OK) {
        runs++;
        assert_int_equal(id, runs);
      } else {
        refused++;
        if (status != TSR_STORE && status != TSR_NOMEM) fail_msg("status %d", status);
        assert_int_equal(id, 42);
      }
      assert_whole(s, runs, f->what, (long)nth);
      tsr_err_fini(&err);
    }
    if (refused * stride_of(f) < points / 2)
      fail_msg("%s: only %u of %d points refused the put", f->what, refused, (int)points);
    /* The same connection goes on, and another process would read the same. */
    uint64_t id = 0;
    assert_int_equal(tsr_store_put_run(s, &sample.run, &id, NULL), TSR_OK);
    assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
    s = open_writer();
    assert_whole(s, runs + 1, f->what, -1);
    assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  }
}

static void a_store_whose_making_meets_a_fault_can_be_made_again(void **state) {
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    const struct fault *f = &faults[i];
    bool done = false;
    uint64_t nth = 1;
    for (; !done; nth += stride_of(f)) {
      teardown(state);
      setup(state);
      struct tsr_err err = TSR_ERR_INIT;
      struct tsr_store *s = NULL;
      tsr_store_fail_at(0);
      uint64_t before = f->what[0] == 'w' ? 0 : f->count();
      if (f->arm == ours_arm) before = 0;
      f->arm(nth);
      enum tsr_status status = tsr_store_open(path, TSR_STORE_WRITE, &s, &err);
      done = f->count() - before < nth;
      f->disarm();
      if (status != TSR_OK && status != TSR_STORE && status != TSR_NOMEM)
        fail_msg("%s %d: status %d", f->what, (int)nth, status);
      assert_true((status == TSR_OK) == (s != NULL));
      assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
      s = open_writer();
      assert_whole(s, 0, f->what, (long)nth);
      assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
      tsr_err_fini(&err);
    }
    assert_true(nth > 3);
  }
}

static void a_writer_killed_in_the_middle_leaves_nothing(void **state) {
  (void)state;
  enum { KILLS = 10 };
  struct sample big;
  sample_init(&big, 40, 600, true);
  struct tsr_store *s = open_writer();
  uint64_t id = 0;
  assert_int_equal(tsr_store_put_run(s, &sample.run, &id, NULL), TSR_OK);
  struct timespec t0, t1;
  clock_gettime(CLOCK_MONOTONIC, &t0);
  assert_int_equal(tsr_store_put_run(s, &big.run, &id, NULL), TSR_OK);
  clock_gettime(CLOCK_MONOTONIC, &t1);
  long long put_ns = (t1.tv_sec - t0.tv_sec) * 1000000000ll + (t1.tv_nsec - t0.tv_nsec);
  assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
  long long runs = 2;
  unsigned cut = 0;
  for (int i = 0; i < KILLS; i++) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
      struct tsr_store *c = NULL;
      if (tsr_store_open(path, TSR_STORE_WRITE, &c, NULL) != TSR_OK) _exit(1);
      if (write(ready[1], "r", 1) != 1) _exit(2);
      if (tsr_store_put_run(c, &big.run, &id, NULL) != TSR_OK) _exit(3);
      _exit(0); /* without a close: the log is left as a crash leaves it */
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    long long wait_ns = put_ns * (i + 1) / (KILLS + 1);
    struct timespec pause = {wait_ns / 1000000000, wait_ns % 1000000000};
    nanosleep(&pause, NULL);
    kill(pid, SIGKILL);
    int st = 0;
    assert_int_equal(waitpid(pid, &st, 0), pid);
    close(ready[0]);
    close(ready[1]);
    s = open_writer();
    long long now = sample_number(s, "SELECT count(*) FROM run");
    if (WIFSIGNALED(st)) {
      /* The kill may fall between the commit and the exit: one run more, whole. */
      assert_true(now == runs || now == runs + 1);
      cut += now == runs;
    } else {
      assert_int_equal(st, 0);
      assert_int_equal(now, runs + 1);
    }
    runs = now;
    struct tsr_err err = TSR_ERR_INIT;
    if (tsr_store_check(s, &err) != TSR_OK) fail_msg("kill %d: %s", i, err.msg[0]);
    assert_int_equal(sample_number(s, "SELECT count(*) FROM segment"),
                     3 * 4 + (runs - 1) * 40 * 600);
    assert_int_equal(tsr_store_close(s, NULL), TSR_OK);
    tsr_err_fini(&err);
  }
  if (!cut) fail_msg("no kill fell into a put");
  sample_fini(&big);
}

int main(int argc, char **argv) {
  thin = argc > 1 && !strcmp(argv[1], "thin");
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      T(a_put_that_meets_a_fault_is_whole_or_not_there),
      T(a_store_whose_making_meets_a_fault_can_be_made_again),
      T(a_writer_killed_in_the_middle_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, group_setup, NULL);
}
