#include "sim/cmd/run_opts.h"

#include "sim/base/mem.h"

error_t cmd_run_opts_parse(struct cmd_run_opts *o, int key, char *arg,
                           struct argp_state *state) {
  switch (key) {
  case 'a': o->arch = arg; return 0;
  case 'w': tsr_str_addf(&o->workload, "%s%s", o->workload.n ? " + " : "", arg); return 0;
  case 'b':
    o->batch = cmd_number(state, "--batch", arg);
    if (!o->batch) cmd_usage_error(state, "--batch takes at least 1");
    return 0;
  case 'm': o->mapping = arg; return 0;
  case 'k': o->keep = arg; return 0;
  case 's': {
    void *list = o->sets;
    if (!tsr_mem_grow(&list, &o->cap_sets, o->n_sets + 1, sizeof *o->sets))
      cmd_usage_error(state, "out of memory");
    o->sets = list;
    o->sets[o->n_sets++] = arg;
    return 0;
  }
  case ARGP_KEY_ARG:
    cmd_usage_error(
        state, "unexpected argument '%s'; -a names the architecture, -w the workload", arg);
    return 0;
  case ARGP_KEY_END:
    if (!o->arch) cmd_usage_error(state, "--arch is missing");
    if (o->workload.failed) cmd_usage_error(state, "out of memory");
    if (!o->workload.p && !o->program) cmd_usage_error(state, "--workload is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

void cmd_run_opts_apply(const struct cmd_run_opts *o, struct tsr_run_options *out) {
  out->arch = o->arch;
  out->workload = o->workload.p;
  out->program = o->program;
  out->mapping = o->mapping;
  out->keep = o->keep;
  out->sets = o->sets;
  out->n_sets = o->n_sets;
  out->batch = o->batch;
}

void cmd_run_opts_fini(struct cmd_run_opts *o) {
  tsr_mem_free(o->sets);
  tsr_str_fini(&o->workload);
}
