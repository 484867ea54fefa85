/* lower, disasm: programs as text and as binary. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/io.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"
#include "sim/cmd/run_opts.h"

enum { OPT_LAYER = 256 };

struct lower_args {
  struct cmd_run_opts common;
  const char *layer, *out;
};

static const struct argp_option lower_options[] = {
    CMD_RUN_OPTIONS,
    {"layer", OPT_LAYER, "L", 0, "only this layer: its name or index", 0},
    {"output", 'o', "FILE.bin", 0, "write the binary program of one layer", 0},
    {0}};

static error_t parse_lower(int key, char *arg, struct argp_state *state) {
  struct lower_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case OPT_LAYER: a->layer = arg; return 0;
  case 'o': a->out = arg; return 0;
  default: return cmd_run_opts_parse(&a->common, key, arg, state);
  }
}

/* The layer by name or index; n_layers: all. */
static enum tsr_status find_layer(const struct tsr_run_plan *p, const char *layer, size_t *out,
                                  struct tsr_err *err) {
  *out = p->n_layers;
  if (!layer) return TSR_OK;
  for (size_t i = 0; i < p->n_layers; i++)
    if (!strcmp(p->layers[i].op->name, layer)) {
      *out = i;
      return TSR_OK;
    }
  uint64_t n;
  if (tsr_quantity_parse(layer, strlen(layer), TSR_UNIT_COUNT, &n) == TSR_QUANTITY_OK &&
      n < p->n_layers) {
    *out = n;
    return TSR_OK;
  }
  enum tsr_status st =
      tsr_err_set(err, TSR_USAGE, "no layer '%s' in workload '%s'", layer, p->name);
  const char **names = tsr_mem_array(p->n_layers, sizeof *names);
  for (size_t i = 0; names && i < p->n_layers; i++) names[i] = p->layers[i].op->name;
  const char *near = names ? tsr_err_nearest(layer, names, p->n_layers) : NULL;
  if (near)
    tsr_err_hint(err, "did you mean '%s'?", near);
  else
    tsr_err_hint(err, "layers are 0 to %zu, or by name", p->n_layers - 1);
  tsr_mem_free(names);
  return st;
}

static enum tsr_status print_layer(struct cmd_ctx *ctx, const struct tsr_run_plan *p, size_t i,
                                   bool first, struct tsr_str *out) {
  const struct tsr_run_layer_plan *l = &p->layers[i];
  struct tsr_program_set set = {0};
  enum tsr_status st = tsr_run_lower(p, i, &set, &ctx->err);
  if (st) {
    tsr_isa_set_fini(&set);
    return st;
  }
  struct tsr_str text = TSR_STR_INIT, map = TSR_STR_INIT;
  tsr_isa_set_disasm(&set, &text);
  tsr_run_layer_print(l, &map);
  if (ctx->json) {
    tsr_str_add(out, first ? "{\"name\": " : ", {\"name\": ");
    tsr_str_add_json(out, l->op->name);
    tsr_str_add(out, ", \"mapping\": ");
    tsr_str_add_json(out, map.p ? map.p : "");
    tsr_str_addf(out, ", \"cores\": %u, \"instructions\": %zu, \"text\": ", l->n_cores,
                 set.program[0].n);
    tsr_str_add_json(out, text.p ? text.p : "");
    tsr_str_add(out, "}");
  } else {
    tsr_str_addf(out, "%s; %s: %s, %zu instructions\n%s", first ? "" : "\n", l->op->name,
                 map.p ? map.p : "", set.program[0].n, text.p ? text.p : "");
  }
  out->failed = out->failed || text.failed || map.failed;
  tsr_str_fini(&text);
  tsr_str_fini(&map);
  tsr_isa_set_fini(&set);
  return TSR_OK;
}

enum tsr_status cmd_write_set(struct cmd_ctx *ctx, const struct tsr_program_set *set,
                              const char *path) {
  uint8_t *bytes = NULL;
  size_t n;
  enum tsr_status st = tsr_isa_set_save(set, &bytes, &n, &ctx->err);
  if (!st) st = tsr_io_write(path, bytes, n, &ctx->err);
  tsr_mem_free(bytes);
  return st;
}

static enum tsr_status write_layer(struct cmd_ctx *ctx, const struct tsr_run_plan *p, size_t i,
                                   const char *path) {
  struct tsr_program_set set = {0};
  enum tsr_status st = tsr_run_lower(p, i, &set, &ctx->err);
  if (!st) st = cmd_write_set(ctx, &set, path);
  tsr_isa_set_fini(&set);
  return st;
}

CMD(lower) {
  static const struct argp argp = {
      .options = lower_options,
      .parser = parse_lower,
      .doc = "Maps and lowers a workload and prints its programs, one a layer."};
  struct lower_args a = {0};
  struct tsr_run_options o = {0};
  struct tsr_run_plan p = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  cmd_run_opts_apply(&a.common, &o);
  size_t only = 0;
  const char *const inputs[] = {o.arch, o.workload};
  enum tsr_status st = a.out ? cmd_guard_output(ctx, a.out, inputs, 2) : TSR_OK;
  if (!st) st = tsr_run_plan_make(&o, &p, &ctx->err);
  if (!st) st = find_layer(&p, a.layer, &only, &ctx->err);
  if (!st && a.out && only == p.n_layers) {
    if (p.n_layers > 1)
      st = tsr_err_set(&ctx->err, TSR_USAGE, "-o takes one layer; name it with --layer");
    only = 0;
  }
  if (!st && a.out) st = write_layer(ctx, &p, only, a.out);
  struct tsr_str out = TSR_STR_INIT;
  if (!st && ctx->json) tsr_str_add(&out, "{\"layers\": [");
  bool first = true;
  for (size_t i = 0; !st && (ctx->json || !a.out) && i < p.n_layers; i++) {
    if (only != p.n_layers && i != only) continue;
    st = print_layer(ctx, &p, i, first, &out);
    first = false;
  }
  if (!st && ctx->json) tsr_str_add(&out, "]}\n");
  if (!st && out.failed) st = tsr_err_nomem(&ctx->err);
  if (!st && out.p) st = cmd_print(ctx, out.p);
  tsr_str_fini(&out);
  tsr_run_plan_fini(&p);
  cmd_run_opts_fini(&a.common);
  return st;
}

struct disasm_args {
  const char *file;
};

static error_t parse_disasm(int key, char *arg, struct argp_state *state) {
  struct disasm_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case ARGP_KEY_ARG:
    if (a->file) cmd_usage_error(state, "disasm takes one file, got '%s' too", arg);
    a->file = arg;
    return 0;
  case ARGP_KEY_END:
    if (!a->file) cmd_usage_error(state, "disasm takes a file");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* Of the different programs, each once. */
static size_t count_instructions(const struct tsr_program_set *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->n; i++)
    if (!s->program[i].borrowed) n += s->program[i].n;
  return n;
}

CMD(disasm) {
  static const struct argp argp = {
      .parser = parse_disasm,
      .args_doc = "FILE.bin",
      .doc = "Prints a binary program (of `lower -o` or `asm -o`) as text."};
  struct disasm_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  char *bytes = NULL;
  size_t n;
  struct tsr_program_set s = {0};
  struct tsr_str text = TSR_STR_INIT, out = TSR_STR_INIT;
  enum tsr_status st = tsr_io_read(a.file, &bytes, &n, &ctx->err);
  if (!st) st = tsr_isa_set_load(a.file, (const uint8_t *)bytes, n, &s, &ctx->err);
  if (!st) {
    tsr_isa_set_disasm(&s, &text);
    if (ctx->json) {
      tsr_str_addf(&out, "{\"cores\": %zu, \"instructions\": %zu, \"text\": ", s.n,
                   count_instructions(&s));
      tsr_str_add_json(&out, text.p ? text.p : "");
      tsr_str_add(&out, "}\n");
    } else {
      tsr_str_add(&out, text.p ? text.p : "");
    }
    st = out.failed || text.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p);
  }
  tsr_str_fini(&text);
  tsr_str_fini(&out);
  tsr_isa_set_fini(&s);
  tsr_mem_free(bytes);
  return st;
}
