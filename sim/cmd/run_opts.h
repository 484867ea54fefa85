/* The options that name what is run: shared by run and lower. */
#ifndef TSR_SIM_CMD_RUN_OPTS_H
#define TSR_SIM_CMD_RUN_OPTS_H

#include "sim/cmd/cmd.h"
#include "sim/run/run.h"
#include "workloads/net/net.h"

struct cmd_run_opts {
  const char *arch, *program, *mapping, *keep;
  struct tsr_str workload; /* several: with ` + ` between them */
  const char **sets;       /* owned */
  size_t n_sets, cap_sets;
  uint64_t batch;
  struct tsr_net_dim *dims; /* owned */
  size_t n_dims, cap_dims;
  bool skip_unsupported;
};

/* Keys without a letter. */
enum { CMD_OPT_DIM = 512, CMD_OPT_SKIP };

/* Splits NAME=REST at the first `=` (the argument is changed); false: there is no name or no
 * rest. */
bool cmd_split(char *arg, const char **name, const char **rest);

/* Rows for a command's argp table: of models, and all. */
#define CMD_MODEL_OPTIONS                                                                     \
  {"dim", CMD_OPT_DIM, "NAME=N", 0, "size of an open dimension of a model (repeatable)", -1}, \
  {                                                                                           \
    "skip-unsupported", CMD_OPT_SKIP, NULL, 0,                                                \
        "leave out a model's operators that the machine has no kernel for", -1                \
  }
#define CMD_RUN_OPTIONS                                                                     \
  {"arch", 'a', "ARCH", 0, "architecture: a preset or a file", -1},                         \
      {"workload",                                                                          \
       'w',                                                                                 \
       "W",                                                                                 \
       0,                                                                                   \
       "workload: a network's name, a file, gemm:MxNxK, "                                   \
       "op:NAME:KEY=V,...; several at once each with its cores, W@FIRST-LAST (repeatable)", \
       -1},                                                                                 \
      {"mapping",                                                                           \
       'm',                                                                                 \
       "F|best",                                                                            \
       0,                                                                                   \
       "mappings: a file, or searched for as by map, and what stays on the chip as by "     \
       "--keep auto",                                                                       \
       -1},                                                                                 \
      {"keep",                                                                              \
       'k',                                                                                 \
       "SIZE|auto",                                                                         \
       0,                                                                                   \
       "of scratchpad a, for results that stay there until they are read (default 0)",      \
       -1},                                                                                 \
      CMD_MODEL_OPTIONS,                                                                    \
      {"set", 's', "K=V", 0, "change a key of the architecture (repeatable)", -1}, {        \
    "batch", 'b', "N", 0, "so many times the workload's own batch (default 1)", -1          \
  }
/* Handles one key; ARGP_ERR_UNKNOWN for others'. */
error_t cmd_run_opts_parse(struct cmd_run_opts *o, int key, char *arg,
                           struct argp_state *state);
void cmd_run_opts_apply(const struct cmd_run_opts *o, struct tsr_run_options *out);
void cmd_run_opts_fini(struct cmd_run_opts *o);

#endif
