/* One operator run by itself, with values or without, as lowered or with a program spoilt. */
#ifndef TSR_TESTS_UNIT_RUN_OPS_H
#define TSR_TESTS_UNIT_RUN_OPS_H

#include "sim/run/run_int.h"

struct op_run {
  const char *arch, *workload;
  const char *sets[12]; /* ends with NULL */
  bool values;
  size_t without; /* the n-th request from 1 on, in all programs, is left out; 0: none */
};
struct op_result {
  uint64_t cycles, read_bytes, write_bytes, macs, vector_cycles, requests;
  uint32_t cores;
  uint64_t program; /* instructions of the first core's */
  char way[64];
  struct tsr_run_numeric numeric;
};
enum tsr_status op_run(const struct op_run *x, struct op_result *out, struct tsr_err *err);

#endif
