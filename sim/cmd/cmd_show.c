/* show, roofline: what the store holds. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/picture/picture.h"
#include "analysis/query/query.h"
#include "sim/base/io.h"
#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"

enum { OPT_CSV = 256 };
#define TABLES                                                                         \
  "runs, layers, units, stalls, resources, counters, bandwidth, contention, kernels, " \
  "numerics, "                                                                         \
  "quality or steps"

struct show_args {
  const char *what, *run;
  bool csv;
};

static error_t parse_show(int key, char *arg, struct argp_state *state) {
  struct show_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case OPT_CSV: a->csv = true; return 0;
  case ARGP_KEY_ARG:
    if (a->run) cmd_usage_error(state, "unexpected argument '%s'", arg);
    if (a->what)
      a->run = arg;
    else
      a->what = arg;
    return 0;
  case ARGP_KEY_END:
    if (!a->what) cmd_usage_error(state, "show takes a table: " TABLES);
    if (a->run && !strcmp(a->what, "runs"))
      cmd_usage_error(state, "show runs takes no run, got '%s'", a->run);
    if (a->csv && ((struct cmd_input *)state->input)->ctx->json)
      cmd_usage_error(state, "--csv and --json exclude each other");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

CMD(show) {
  static const struct argp_option options[] = {
      {"csv", OPT_CSV, NULL, 0, "comma separated, every digit", 0}, {0}};
  static const struct argp argp = {.options = options,
                                   .parser = parse_show,
                                   .args_doc = "TABLE [RUN]",
                                   .doc = "Prints a table from the store: " TABLES
                                          ". RUN is a number, a name, or 'last' (the "
                                          "default)."};
  struct show_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct tsr_store *s = NULL;
  uint64_t run = 0;
  char *text = NULL;
  enum tsr_query_format format = ctx->json ? TSR_QUERY_JSON
                                 : a.csv   ? TSR_QUERY_CSV
                                           : TSR_QUERY_TEXT;
  enum tsr_status st = cmd_open(ctx, TSR_STORE_READ, &s);
  if (!st && strcmp(a.what, "runs") != 0)
    st = tsr_store_find_run(s, a.run ? a.run : "last", &run, &ctx->err);
  if (!st) st = tsr_query_show(s, a.what, run, format, &text, &ctx->err);
  if (!st) st = cmd_print(ctx, text);
  tsr_mem_free(text);
  const char *why = NULL;
  if (!st) st = tsr_query_show_empty(s, a.what, run, &why, &ctx->err);
  if (!st && why) tsr_log_note("%s", why);
  return cmd_close(ctx, s, st);
}

struct roofline_args {
  const char *run[TSR_PICTURE_RUNS_MAX];
  size_t n;
  const char *out;
};

static error_t parse_roofline(int key, char *arg, struct argp_state *state) {
  struct roofline_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case 'o': a->out = arg; return 0;
  case ARGP_KEY_ARG:
    if (a->n == TSR_PICTURE_RUNS_MAX)
      cmd_usage_error(state, "a roofline takes at most %d runs", TSR_PICTURE_RUNS_MAX);
    a->run[a->n++] = arg;
    return 0;
  case ARGP_KEY_END:
    if (!a->n) cmd_usage_error(state, "roofline takes a run: a number, a name or 'last'");
    if (!a->out) cmd_usage_error(state, "-o FILE.svg is missing");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

CMD(roofline) {
  static const struct argp_option options[] = {
      {"output", 'o', "FILE.svg", 0, "where the picture goes", 0}, {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse_roofline,
      .args_doc = "RUN...",
      .doc = "Draws runs as a roofline: one point a layer, operations per DRAM byte against "
             "operations per second."};
  struct roofline_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct tsr_store *s = NULL;
  uint64_t run[TSR_PICTURE_RUNS_MAX];
  char *svg = NULL;
  enum tsr_status st = cmd_guard_output(ctx, a.out, NULL, 0);
  if (!st) st = cmd_open(ctx, TSR_STORE_READ, &s);
  for (size_t i = 0; !st && i < a.n; i++)
    st = tsr_store_find_run(s, a.run[i], &run[i], &ctx->err);
  if (!st) st = tsr_picture_roofline(s, run, a.n, &svg, &ctx->err);
  if (!st) st = tsr_io_write(a.out, svg, strlen(svg), &ctx->err);
  if (!st) {
    struct tsr_str out = TSR_STR_INIT;
    if (ctx->json) {
      tsr_str_add(&out, "{\"file\": ");
      tsr_str_add_json(&out, a.out);
      tsr_str_add(&out, "}\n");
    } else {
      tsr_str_addf(&out, "roofline in %s\n", a.out);
    }
    st = out.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p);
    tsr_str_fini(&out);
  }
  tsr_mem_free(svg);
  return cmd_close(ctx, s, st);
}
