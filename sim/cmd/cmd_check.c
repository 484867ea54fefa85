/* check, config: files before they are run. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/io.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"
#include "sim/cmd/run_opts.h"
#include "sim/engine/machine.h"
#include "sim/run/run.h"
#include "workloads/exchange/graph_json.h"
#include "workloads/spec/spec.h"

struct check_args {
  struct cmd_run_opts common; /* of them what models need */
  char **files;
  int n;
  bool graph;
  const char *out;
};

enum { OPT_GRAPH = 256 };
static const struct argp_option check_options[] = {
    CMD_MODEL_OPTIONS,
    {"graph", OPT_GRAPH, NULL, 0,
     "print the operator graph of one workload (a file or a built-in name) as JSON, as it "
     "reads "
     "back as a workload (.json)",
     0},
    {"output", 'o', "F.json", 0, "write it there", 0},
    {0}};

static error_t parse_check(int key, char *arg, struct argp_state *state) {
  struct check_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case CMD_OPT_DIM:
  case CMD_OPT_SKIP: return cmd_run_opts_parse(&a->common, key, arg, state);
  case OPT_GRAPH: a->graph = true; return 0;
  case 'o': a->out = arg; return 0;
  case ARGP_KEY_ARGS:
    a->files = state->argv + state->next;
    a->n = state->argc - state->next;
    state->next = state->argc;
    return 0;
  case ARGP_KEY_END:
    if (!a->n) cmd_usage_error(state, "check takes files");
    if (a->graph && a->n > 1) cmd_usage_error(state, "--graph is of one workload");
    if (a->out && !a->graph) cmd_usage_error(state, "-o is of --graph; expected it with one");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static bool is_yaml(const char *path) {
  return tsr_str_ends(path, ".yaml") || tsr_str_ends(path, ".yml");
}

static enum tsr_status check_program(const char *path, char **what, struct tsr_err *err) {
  char *bytes;
  size_t n;
  struct tsr_program_set p;
  enum tsr_status st = tsr_io_read(path, &bytes, &n, err);
  if (st) return st;
  st = tsr_isa_set_load(path, (const uint8_t *)bytes, n, &p, err);
  tsr_mem_free(bytes);
  if (st) return st;
  *what = tsr_mem_printf("program of %zu instructions for %zu core%s", p.program[0].n, p.n,
                         p.n == 1 ? "" : "s");
  tsr_isa_set_fini(&p);
  return TSR_OK;
}

/* Sound is an architecture that runs the smallest matmul: its values fit together, its
 * formats have a rate and a matrix unit, its components can be built. */
static enum tsr_status check_arch(const char *path, char **what, struct tsr_err *err) {
  const struct tsr_run_options o = {.arch = path, .workload = "gemm:1x1x1"};
  struct tsr_run_plan p;
  struct tsr_engine *e = NULL;
  enum tsr_status st = tsr_run_plan_make(&o, &p, err);
  if (st) return st;
  st = tsr_engine_create(p.machine, NULL, &e, err);
  if (!st) *what = tsr_mem_printf("architecture %s", p.machine->name);
  tsr_engine_destroy(e);
  tsr_run_plan_fini(&p);
  return st;
}

/* A YAML file is an architecture, or a workload's specification by its text. */
static enum tsr_status find_spec(const char *path, bool *spec, struct tsr_err *err) {
  char *text;
  size_t n;
  *spec = false;
  if (!is_yaml(path)) return TSR_OK;
  enum tsr_status st = tsr_io_read(path, &text, &n, err);
  if (st) return st;
  *spec = tsr_spec_is(text, n);
  tsr_mem_free(text);
  return TSR_OK;
}

/* What a file is, is told by its ending; any other file is a workload. */
static enum tsr_status check_file(const struct check_args *a, const char *path, char **what,
                                  struct tsr_err *err) {
  const struct tsr_workload_options how = {.dims = a->common.dims,
                                           .n_dims = a->common.n_dims,
                                           .skip_unsupported = a->common.skip_unsupported};
  bool spec;
  enum tsr_status found = find_spec(path, &spec, err);
  if (found) return found;
  if (is_yaml(path) && !spec) return check_arch(path, what, err);
  if (tsr_str_ends(path, ".bin")) return check_program(path, what, err);
  /* A bare word would name a built-in network. */
  char *file = tsr_mem_printf(strpbrk(path, "/.") ? "%s" : "./%s", path);
  if (!file) return tsr_err_nomem(err);
  struct tsr_graph *g;
  enum tsr_status st = tsr_workload_read(file, &how, &g, err);
  tsr_mem_free(file);
  if (st) return st;
  *what = tsr_mem_printf("workload %s, %zu operators", g->name, g->n_ops);
  tsr_graph_destroy(g);
  return TSR_OK;
}

/* The operators of a workload, for other programs. */
static enum tsr_status print_graph(struct cmd_ctx *ctx, const struct check_args *a) {
  const struct tsr_workload_options how = {.dims = a->common.dims,
                                           .n_dims = a->common.n_dims,
                                           .skip_unsupported = a->common.skip_unsupported};
  const char *const inputs[] = {a->files[0]};
  struct tsr_graph *g = NULL;
  struct tsr_str text = TSR_STR_INIT;
  enum tsr_status st = a->out ? cmd_guard_output(ctx, a->out, inputs, 1) : TSR_OK;
  if (!st) st = tsr_workload_read(a->files[0], &how, &g, &ctx->err);
  if (!st) st = tsr_graph_json_write(g, &text, &ctx->err);
  if (!st && text.failed) st = tsr_err_nomem(&ctx->err);
  if (!st && a->out) st = tsr_io_write(a->out, text.p, text.n, &ctx->err);
  if (!st && !a->out) st = cmd_print(ctx, text.p);
  tsr_str_fini(&text);
  tsr_graph_destroy(g);
  return st;
}

CMD(check) {
  static const struct argp argp = {.options = check_options,
                                   .parser = parse_check,
                                   .args_doc = "FILE...",
                                   .doc = "Validates files: architectures (.yaml), programs "
                                          "(.bin), workloads (.onnx, .json, .yaml with a "
                                          "line `kind:`, and anything else)."};
  struct check_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  if (a.graph) {
    enum tsr_status st = print_graph(ctx, &a);
    cmd_run_opts_fini(&a.common);
    return st;
  }
  struct tsr_str out = TSR_STR_INIT;
  enum tsr_status first = TSR_OK;
  if (ctx->json) tsr_str_add(&out, "{\"files\": [");
  for (int i = 0; i < a.n; i++) {
    char *what = NULL;
    enum tsr_status st = check_file(&a, a.files[i], &what, &ctx->err);
    if (!first) first = st;
    if (ctx->json) {
      tsr_str_add(&out, i ? ", {\"file\": " : "{\"file\": ");
      tsr_str_add_json(&out, a.files[i]);
      tsr_str_addf(&out, ", \"ok\": %s}", st ? "false" : "true");
    } else if (!st) {
      tsr_str_addf(&out, "%s: %s\n", a.files[i], what ? what : "");
    }
    tsr_mem_free(what);
  }
  if (ctx->json) tsr_str_add(&out, "]}\n");
  enum tsr_status st = out.failed ? tsr_err_nomem(&ctx->err) : TSR_OK;
  if (!st && out.p) st = cmd_print(ctx, out.p);
  tsr_str_fini(&out);
  cmd_run_opts_fini(&a.common);
  return first ? first : st;
}

enum { OPT_YAML = 256, OPT_KEYS };

struct config_args {
  const char *arch;
  const char **sets;
  size_t n_sets, cap;
  bool yaml, keys;
};

static error_t parse_config(int key, char *arg, struct argp_state *state) {
  struct config_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case 'a': a->arch = arg; return 0;
  case 's': {
    void *list = a->sets;
    if (!tsr_mem_grow(&list, &a->cap, a->n_sets + 1, sizeof *a->sets))
      cmd_usage_error(state, "out of memory");
    a->sets = list;
    a->sets[a->n_sets++] = arg;
    return 0;
  }
  case OPT_YAML: a->yaml = true; return 0;
  case OPT_KEYS: a->keys = true; return 0;
  case ARGP_KEY_ARG:
    cmd_usage_error(state, "unexpected argument '%s'; -a names the architecture", arg);
    return 0;
  case ARGP_KEY_END:
    if (!a->arch && !a->keys) cmd_usage_error(state, "--arch is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static void key_json(void *arg, const char *key, const struct tsr_param *row) {
  struct tsr_str *out = arg;
  bool first = out->n && out->p[out->n - 1] == '[';
  tsr_str_addf(out, "%s{\"key\": \"%s\", \"default\": ", first ? "" : ", ", key);
  if (row->def)
    tsr_str_add_json(out, row->def);
  else
    tsr_str_add(out, "null"); /* required */
  tsr_str_add(out, ", \"doc\": ");
  tsr_str_add_json(out, row->doc);
  tsr_str_add(out, ", \"source\": ");
  tsr_str_add_json(out, row->src);
  tsr_str_add(out, "}");
}

static void print_key(void *arg, const char *key, const struct tsr_param *row) {
  struct tsr_str *out = arg;
  bool sourced = strcmp(row->src, "SRC:assumed") != 0;
  cmd_wrap(out, 34, "%-22s %-10s %s%s%s%s", key, row->def ? row->def : "required", row->doc,
           sourced ? " (" : "", sourced ? row->src : "", sourced ? ")" : "");
}

static void config_json(const struct tsr_machine *m, struct tsr_str *out) {
  tsr_str_add(out, "{\"name\": ");
  tsr_str_add_json(out, m->name);
  tsr_str_add(out, ", \"values\": {");
  for (size_t i = 0; i < m->n_values; i++) {
    tsr_str_add(out, i ? ", " : "");
    tsr_str_add_json(out, m->values[i].key);
    tsr_str_add(out, ": {\"value\": ");
    tsr_str_add_json(out, m->values[i].text);
    tsr_str_add(out, ", \"origin\": ");
    tsr_str_add_json(out, m->values[i].origin);
    tsr_str_add(out, "}");
  }
  tsr_str_add(out, "}, \"instances\": [");
  for (size_t i = 0; i < m->n_slots; i++) {
    tsr_str_add(out, i ? ", {\"name\": " : "{\"name\": ");
    tsr_str_add_json(out, m->slot[i].name);
    tsr_str_addf(out, ", \"kind\": \"%s\"}", m->slot[i].ops->kind);
  }
  tsr_str_add(out, "]}\n");
}

CMD(config) {
  static const struct argp_option options[] = {
      {"arch", 'a', "ARCH", 0, "architecture: a preset or a file", 0},
      {"set", 's', "K=V", 0, "change a key (repeatable)", 0},
      {"yaml", OPT_YAML, NULL, 0, "as a file that --arch takes", 0},
      {"keys", OPT_KEYS, NULL, 0, "every key with its default, meaning and source", 0},
      {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse_config,
      .doc = "Prints an architecture's effective values with the origin of each, and the "
             "instances and links it expands into."};
  struct config_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct tsr_str out = TSR_STR_INIT;
  struct tsr_machine *m = NULL;
  enum tsr_status st = TSR_OK;
  if (a.keys && ctx->json) {
    tsr_str_add(&out, "{\"keys\": [");
    tsr_machine_keys(key_json, &out);
    tsr_str_add(&out, "]}\n");
  } else if (a.keys) {
    tsr_machine_keys(print_key, &out);
  } else {
    st = tsr_machine_read(a.arch, NULL, a.sets, a.n_sets, &m, &ctx->err);
  }
  if (!st && m) {
    if (ctx->json)
      config_json(m, &out);
    else if (a.yaml)
      tsr_str_add(&out, m->text);
    else
      tsr_machine_print(m, &out);
  }
  if (!st) st = out.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p);
  tsr_machine_destroy(m);
  tsr_str_fini(&out);
  tsr_mem_free(a.sets);
  return st;
}
