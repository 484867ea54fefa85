#include "tests/unit/run/ran.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/store/sample.h"

enum tsr_status ran_options(struct ran *r, struct tsr_run_options *o, struct tsr_err *err) {
  char path[128];
  uint64_t id;
  o->seed = 1;
  o->trace = TSR_TRACE_SUMMARY;
  o->version = "test";
  for (o->n_sets = 0; o->sets && o->sets[o->n_sets];) o->n_sets++;
  snprintf(r->dir, sizeof r->dir, "%s", sample_dir());
  snprintf(path, sizeof path, "%s/t.db", r->dir);
  r->store = NULL;
  enum tsr_status st = tsr_store_open(path, TSR_STORE_WRITE, &r->store, err);
  return st ? st : tsr_run_execute(o, r->store, &id, err);
}

static enum tsr_status make(struct ran *r, const char *arch, const char *workload,
                            const char *const *sets, const char *mapping, const char *text,
                            enum tsr_numerics numerics, struct tsr_err *err) {
  struct tsr_run_options o = {.arch = arch,
                              .workload = workload,
                              .sets = sets,
                              .mapping = mapping,
                              .mapping_text = text,
                              .numerics = numerics};
  return ran_options(r, &o, err);
}

enum tsr_status ran_try(struct ran *r, const char *arch, const char *workload,
                        const char *const *sets, enum tsr_numerics numerics,
                        struct tsr_err *err) {
  return make(r, arch, workload, sets, NULL, NULL, numerics, err);
}

enum tsr_status ran_mapped(struct ran *r, const char *arch, const char *workload,
                           const char *const *sets, const char *mapping,
                           enum tsr_numerics numerics, struct tsr_err *err) {
  return make(r, arch, workload, sets, mapping ? "m.yaml" : TSR_RUN_MAPPING_BEST, mapping,
              numerics, err);
}

void ran_make(struct ran *r, const char *arch, const char *workload, const char *const *sets,
              enum tsr_numerics numerics) {
  struct tsr_err err = TSR_ERR_INIT;
  if (ran_try(r, arch, workload, sets, numerics, &err))
    fail_msg("%s: %s", workload, err.n ? err.msg[0] : "no run");
  tsr_err_fini(&err);
}

double ran_number(struct ran *r, const char *sql) {
  struct tsr_query *q = NULL;
  bool row = false;
  assert_int_equal(tsr_store_query(r->store, sql, &q, NULL), TSR_OK);
  assert_int_equal(tsr_query_step(q, &row, NULL), TSR_OK);
  double v = row ? tsr_query_double(q, 0) : 0;
  if (v != v) v = 0; /* NULL */
  tsr_query_close(q);
  return v;
}

void ran_fini(struct ran *r) {
  assert_int_equal(tsr_store_close(r->store, NULL), TSR_OK);
  sample_dir_remove(r->dir);
}
