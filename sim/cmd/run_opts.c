#include "sim/cmd/run_opts.h"

#include <string.h>

#include "sim/base/mem.h"

bool cmd_split(char *arg, const char **name, const char **rest) {
  char *is = strchr(arg, '=');
  if (!is || is == arg || !is[1]) return false;
  *is = '\0';
  *name = arg;
  *rest = is + 1;
  return true;
}

static void add_dim(struct cmd_run_opts *o, char *arg, struct argp_state *state) {
  const char *name, *value;
  if (!cmd_split(arg, &name, &value))
    cmd_usage_error(state, "--dim takes NAME=N, as in --dim batch=8");
  void *list = o->dims;
  if (!tsr_mem_grow(&list, &o->cap_dims, o->n_dims + 1, sizeof *o->dims))
    cmd_usage_error(state, "out of memory");
  o->dims = list;
  o->dims[o->n_dims++] = (struct tsr_net_dim){name, cmd_number(state, "--dim", value)};
}

error_t cmd_run_opts_parse(struct cmd_run_opts *o, int key, char *arg,
                           struct argp_state *state) {
  switch (key) {
  case 'a': o->arch = arg; return 0;
  case 'w': tsr_str_addf(&o->workload, "%s%s", o->workload.n ? " + " : "", arg); return 0;
  case 'b':
    o->batch = cmd_number(state, "--batch", arg);
    if (!o->batch) cmd_usage_error(state, "--batch takes at least 1");
    return 0;
  case CMD_OPT_DIM: add_dim(o, arg, state); return 0;
  case CMD_OPT_SKIP: o->skip_unsupported = true; return 0;
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
  out->dims = o->dims;
  out->n_dims = o->n_dims;
  out->skip_unsupported = o->skip_unsupported;
}

void cmd_run_opts_fini(struct cmd_run_opts *o) {
  tsr_mem_free(o->sets);
  tsr_mem_free(o->dims);
  tsr_str_fini(&o->workload);
}
