/* presets, models: what is built in. */
#include <string.h>

#include "models/arith/format.h"
#include "models/arith/mma.h"
#include "models/dram/dram.h"
#include "models/presets.h"
#include "models/registry.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"
#include "sim/engine/engine.h"
#include "workloads/graph.h"
#include "workloads/net/net.h"

struct presets_args {
  const char *kind;
};

static error_t parse_presets(int key, char *arg, struct argp_state *state) {
  static const char *const kinds[] = {"arch", "workload", "dram", NULL};
  struct presets_args *a = ((struct cmd_input *)state->input)->own;
  if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
  if (a->kind) cmd_usage_error(state, "unexpected argument '%s'", arg);
  a->kind = kinds[cmd_choice(state, "KIND", kinds, arg)];
  return 0;
}

enum { NAME_WIDTH = 23, KIND_WIDTH = 9, COLUMNS = 100 };

/* name_width: of the names of a list. Where they leave a text little room, a long one
 * stands below its name. */
static void row_wide(struct cmd_ctx *ctx, struct tsr_str *out, bool *first, const char *kind,
                     int name_width, const char *name, const char *doc) {
  if (!ctx->json) {
    size_t at = KIND_WIDTH + 1 + (size_t)name_width + 1;
    if (at > COLUMNS / 2 && at + strlen(doc) > COLUMNS)
      cmd_wrap(out, KIND_WIDTH + 3, "%-9s %s\n%*s%s", kind, name, KIND_WIDTH + 3, "", doc);
    else
      cmd_wrap(out, at, "%-9s %-*s %s", kind, name_width, name, doc);
    return;
  }
  tsr_str_addf(out, "%s{\"kind\": \"%s\", \"name\": ", *first ? "" : ", ", kind);
  tsr_str_add_json(out, name);
  tsr_str_add(out, ", \"doc\": ");
  tsr_str_add_json(out, doc);
  tsr_str_add(out, "}");
  *first = false;
}

static void row(struct cmd_ctx *ctx, struct tsr_str *out, bool *first, const char *kind,
                const char *name, const char *doc) {
  row_wide(ctx, out, first, kind, NAME_WIDTH, name, doc);
}

static enum tsr_status finish(struct cmd_ctx *ctx, struct tsr_str *out) {
  enum tsr_status st = out->failed ? tsr_err_nomem(&ctx->err) : TSR_OK;
  if (!st && out->p) st = cmd_print(ctx, out->p);
  tsr_str_fini(out);
  return st;
}

CMD(presets) {
  static const struct argp argp = {.parser = parse_presets,
                                   .args_doc = "[arch|workload|dram]",
                                   .doc = "Lists what can be named without a file."};
  struct presets_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct tsr_str out = TSR_STR_INIT;
  bool first = true;
  if (ctx->json) tsr_str_add(&out, "{\"presets\": [");
  for (size_t i = 0; i < tsr_preset_count(); i++) {
    size_t n;
    const char *doc = tsr_preset_doc(i, &n);
    char *line = tsr_mem_strndup(doc, n);
    if (!a.kind || !strcmp(a.kind, tsr_preset_kind(i)))
      row(ctx, &out, &first, tsr_preset_kind(i), tsr_preset_name(i), line ? line : "");
    tsr_mem_free(line);
  }
  for (size_t i = 0; i < tsr_zoo_count(); i++)
    if (!a.kind || !strcmp(a.kind, "workload"))
      row(ctx, &out, &first, "workload", tsr_zoo_name(i), tsr_zoo_doc(i));
  const char *name, *doc;
  for (size_t i = 0; (name = tsr_dram_preset_name(i, &doc)) != NULL; i++)
    if (!a.kind || !strcmp(a.kind, "dram")) row_wide(ctx, &out, &first, "dram", 42, name, doc);
  if (ctx->json) tsr_str_add(&out, "]}\n");
  return finish(ctx, &out);
}

/* ---- models ---- */

enum { OPT_ASSUMED = 256, OPT_ISA, OPT_FORMATS, OPT_COMPONENTS, OPT_OPERATORS };
struct models_args {
  unsigned what;
};
enum { ASSUMED = 1, ISA = 2, FORMATS = 4, COMPONENTS = 8, OPERATORS = 16 };

static error_t parse_models(int key, char *arg, struct argp_state *state) {
  struct models_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case OPT_ASSUMED: a->what |= ASSUMED; return 0;
  case OPT_ISA: a->what |= ISA; return 0;
  case OPT_FORMATS: a->what |= FORMATS; return 0;
  case OPT_COMPONENTS: a->what |= COMPONENTS; return 0;
  case OPT_OPERATORS: a->what |= OPERATORS; return 0;
  case ARGP_KEY_ARG: cmd_usage_error(state, "unexpected argument '%s'", arg); return 0;
  case ARGP_KEY_END:
    if (!a->what) a->what = COMPONENTS | FORMATS;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static void show_components(struct cmd_ctx *ctx, struct tsr_str *out, bool *first) {
  for (size_t i = 0; i < tsr_models_count(); i++) {
    const struct tsr_component *c = tsr_models_at(i);
    row(ctx, out, first, "component", c->kind, c->doc);
    for (size_t k = 0; !ctx->json && c->counters && c->counters[k].name; k++)
      cmd_wrap(out, 38, "          counter %-16s %s", c->counters[k].name, c->counters[k].doc);
  }
  for (int c = 0; c < TSR_CAUSE_COUNT; c++)
    row(ctx, out, first, "cause", tsr_engine_state_name(TSR_STATE_CAUSE0 + c),
        tsr_engine_cause_doc((enum tsr_cause)c));
}

static void show_operators(struct cmd_ctx *ctx, struct tsr_str *out, bool *first) {
  for (int op = TSR_NET_UNKNOWN + 1; op < TSR_NET_OP_COUNT_; op++)
    row(ctx, out, first, "operator", tsr_net_op_name((enum tsr_net_op)op),
        tsr_net_op_doc((enum tsr_net_op)op));
}

static void show_formats(struct cmd_ctx *ctx, struct tsr_str *out, bool *first) {
  for (size_t i = 0; i < tsr_format_count(); i++)
    row(ctx, out, first, "format", tsr_format_at(i)->name, tsr_format_at(i)->doc);
  int width = 0;
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    int n = (int)strlen(tsr_mma_at(i)->name);
    width = n > width ? n : width;
  }
  for (size_t i = 0; i < tsr_mma_count(); i++)
    row_wide(ctx, out, first, "mma", width, tsr_mma_at(i)->name, tsr_mma_at(i)->doc);
}

struct assumed {
  struct cmd_ctx *ctx;
  struct tsr_str *out;
  bool *first;
};

static void show_assumed_key(void *arg, const char *key, const struct tsr_param *p) {
  struct assumed *a = arg;
  if (strcmp(p->src, "SRC:assumed") != 0 || !p->def || !*p->def) return;
  char *doc = tsr_mem_printf("default %s: %s", p->def, p->doc);
  row(a->ctx, a->out, a->first, "key", key, doc ? doc : p->doc);
  tsr_mem_free(doc);
}

/* Lines of presets that carry the mark. */
static void show_assumed_presets(struct assumed *a) {
  for (size_t i = 0; i < tsr_preset_count(); i++) {
    const char *t = tsr_preset_text(tsr_preset_kind(i), tsr_preset_name(i));
    for (const char *line = t; line && *line;) {
      const char *end = strchr(line, '\n');
      size_t n = end ? (size_t)(end - line) : strlen(line);
      char *copy = tsr_mem_strndup(line, n);
      char *mark = copy ? strstr(copy, "# SRC:assumed") : NULL;
      if (mark) {
        char *p = copy;
        while (*p == ' ') p++;
        while (mark > p && mark[-1] == ' ') mark--;
        *mark = '\0';
        row(a->ctx, a->out, a->first, "preset", tsr_preset_name(i), p);
      }
      tsr_mem_free(copy);
      line = end ? end + 1 : NULL;
    }
  }
}

static void show_isa(struct cmd_ctx *ctx, struct tsr_str *out, bool *first) {
  if (!ctx->json) {
    struct tsr_str manual = TSR_STR_INIT;
    tsr_isa_manual(&manual);
    if (manual.p) cmd_wrap_text(out, 16, manual.p);
    out->failed = out->failed || manual.failed;
    tsr_str_fini(&manual);
    return;
  }
  for (int op = 0; op < TSR_ISA_OP_COUNT; op++)
    row(ctx, out, first, "instruction", tsr_isa_mnemonic((enum tsr_isa_op)op),
        tsr_isa_doc((enum tsr_isa_op)op));
}

CMD(models) {
  static const struct argp_option options[] = {
      {"assumed", OPT_ASSUMED, NULL, 0, "numbers without a source", 0},
      {"isa", OPT_ISA, NULL, 0, "the instruction set", 0},
      {"formats", OPT_FORMATS, NULL, 0, "number formats and matrix units", 0},
      {"operators", OPT_OPERATORS, NULL, 0, "operators of ONNX models that run", 0},
      {"components", OPT_COMPONENTS, NULL, 0, "hardware components, counters, stall causes", 0},
      {0}};
  static const struct argp argp = {
      .options = options, .parser = parse_models, .doc = "Lists what is modelled."};
  struct models_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct tsr_str out = TSR_STR_INIT;
  bool first = true;
  if (ctx->json) tsr_str_add(&out, "{\"models\": [");
  if (a.what & COMPONENTS) show_components(ctx, &out, &first);
  if (a.what & OPERATORS) show_operators(ctx, &out, &first);
  if (a.what & FORMATS) show_formats(ctx, &out, &first);
  if (a.what & ISA) show_isa(ctx, &out, &first);
  if (a.what & ASSUMED) {
    struct assumed s = {ctx, &out, &first};
    tsr_machine_keys(show_assumed_key, &s);
    show_assumed_presets(&s);
  }
  if (ctx->json) tsr_str_add(&out, "]}\n");
  return finish(ctx, &out);
}
