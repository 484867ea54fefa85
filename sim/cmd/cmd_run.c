/* run, rerun: simulate and store. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/query/query.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"
#include "sim/cmd/run_model.h"
#include "sim/cmd/run_opts.h"
#include "sim/run/run.h"

enum {
  OPT_NUMERICS = 256,
  OPT_TRACE,
  OPT_SEED,
  OPT_NAME,
  OPT_MODEL,
  OPT_PROGRAM,
  OPT_INPUT,
  OPT_EXPECT,
  OPT_ULP,
  OPT_DUMP,
  OPT_DATASET,
  OPT_DECODE
};
/* Of each list of files. */
enum { FILES_MAX = 256 };

enum model { MODEL_EVENT, MODEL_ANALYTIC, MODEL_BOTH };
struct run_args {
  struct cmd_run_opts common;
  enum model model;
  struct tsr_run_options o;
  struct tsr_run_file input[FILES_MAX], expect[FILES_MAX], dump[FILES_MAX];
  bool ulp;
};

static const struct argp_option run_options[] = {
    CMD_RUN_OPTIONS,
    {"numerics", OPT_NUMERICS, "off|sample|full", 0,
     "compute sampled outputs, or whole layers, bit for bit (default off)", 0},
    {"trace", OPT_TRACE, "off|summary|full", 0,
     "what is stored of the units' time (default summary)", 0},
    {"model", OPT_MODEL, "event|analytic|both", 0,
     "the event simulation (default), the analytic model of matmuls and convolutions (which "
     "stores nothing), or both and their difference",
     0},
    {"seed", OPT_SEED, "N", 0, "of the operands' values (default 1)", 0},
    {"name", OPT_NAME, "S", 0, "a name for the run", 0},
    {"input", OPT_INPUT, "NAME=F", 0,
     "with --numerics full, values of a model's input, or of a layer's operand LAYER.a or "
     "LAYER.b: a .npy file or FILE.safetensors:TENSOR (repeatable)",
     0},
    {"expect", OPT_EXPECT, "NAME=F", 0,
     "a tensor, or LAYER.c, must be that of the file, else exit 1 (repeatable)", 0},
    {"ulp", OPT_ULP, "X", 0, "by how many ulp of the results' format it may differ (default 1)",
     0},
    {"dump", OPT_DUMP, "NAME=F.npy", 0, "write a tensor (repeatable)", 0},
    {"dataset", OPT_DATASET, "F", 0,
     "with --numerics full, run a model over a data set: images with labels (a folder of IDX "
     "files, .safetensors) or a text (.txt)",
     0},
    {"decode", OPT_DECODE, "N", 0, "so many tokens behind the prompt, one after the other", 0},
    {"program", OPT_PROGRAM, "F", 0,
     "run this program, binary or text; with --workload it stands for the only layer", 0},
    {0}};

static void add_file(struct argp_state *state, const char *option, struct tsr_run_file *list,
                     size_t *n, char *arg) {
  if (*n == FILES_MAX) cmd_usage_error(state, "%s: expected at most %d", option, FILES_MAX);
  if (!cmd_split(arg, &list[*n].name, &list[*n].path))
    cmd_usage_error(state, "%s takes NAME=FILE, got '%s'", option, arg);
  ++*n;
}

static double ulp_of(struct argp_state *state, const char *arg) {
  char *end;
  double v = strtod(arg, &end);
  if (end == arg || *end || !(v >= 0) || v > 1e300)
    cmd_usage_error(state, "--ulp takes a number of at least 0, got '%s'", arg);
  return v;
}

static error_t parse_run(int key, char *arg, struct argp_state *state) {
  static const char *const models[] = {"event", "analytic", "both", NULL};
  struct run_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case OPT_NUMERICS:
    a->o.numerics = (enum tsr_numerics)cmd_choice(state, "--numerics", tsr_numerics_names, arg);
    return 0;
  case OPT_TRACE:
    a->o.trace = (enum tsr_trace)cmd_choice(state, "--trace", tsr_trace_names, arg);
    return 0;
  case OPT_MODEL: a->model = (enum model)cmd_choice(state, "--model", models, arg); return 0;
  case OPT_PROGRAM: a->common.program = arg; return 0;
  case OPT_INPUT: add_file(state, "--input", a->input, &a->o.n_inputs, arg); return 0;
  case OPT_EXPECT: add_file(state, "--expect", a->expect, &a->o.n_expects, arg); return 0;
  case OPT_DUMP: add_file(state, "--dump", a->dump, &a->o.n_dumps, arg); return 0;
  case OPT_ULP:
    a->o.ulp = ulp_of(state, arg);
    a->ulp = true;
    return 0;
  case OPT_DATASET: a->o.dataset = arg; return 0;
  case OPT_DECODE:
    a->o.decode = cmd_number(state, "--decode", arg);
    if (!a->o.decode || a->o.decode > 1000000)
      cmd_usage_error(state, "--decode takes 1 to 1000000 tokens");
    return 0;
  case OPT_SEED: a->o.seed = cmd_number(state, "--seed", arg); return 0;
  case OPT_NAME:
    if (!tsr_store_run_name_valid(arg))
      cmd_usage_error(state, "--name takes a word that is no number and not 'last'; got '%s'",
                      arg);
    a->o.name = arg;
    return 0;
  default: return cmd_run_opts_parse(&a->common, key, arg, state);
  }
}

/* What the array's own cycles are, where the run stored its units and they tell. */
static enum tsr_status split_text(struct tsr_store *s, uint64_t run, uint64_t compute,
                                  struct tsr_str *out, struct tsr_err *err) {
  struct tsr_query *q;
  enum tsr_status st = tsr_store_query(
      s,
      "SELECT coalesce(sum(CASE state WHEN 'busy' THEN cycles END), 0), coalesce(sum(CASE WHEN "
      "state IN ('fill', 'drain') THEN cycles END), 0) FROM v_units WHERE run = ?1 AND unit "
      "LIKE "
      "'%tile%'",
      &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 1, run);
  bool row;
  st = tsr_query_step(q, &row, err);
  if (!st && row && compute && tsr_query_u64(q, 0) + tsr_query_u64(q, 1) == compute)
    tsr_str_addf(out, ": %" PRIu64 " streaming, %" PRIu64 " fill and drain",
                 tsr_query_u64(q, 0), tsr_query_u64(q, 1));
  tsr_query_close(q);
  return st;
}

/* So many a second; a large rate with a prefix that stands apart. */
static void rate_text(double per_s, const char *of, struct tsr_str *out) {
  char buf[TSR_QUERY_AMOUNT_MAX];
  tsr_str_add(out, ", ");
  if (per_s >= 1e-3 && per_s < 99999.5)
    tsr_str_addf(out, "%.4g", per_s);
  else
    tsr_str_add(out, tsr_query_amount(buf, per_s, 4, ""));
  tsr_str_addf(out, " %s\n", of);
}

/* The totals as lines: name, value, unit. */
static enum tsr_status totals_text(struct tsr_store *s, uint64_t run, struct tsr_str *out,
                                   struct tsr_err *err) {
  struct tsr_query *q;
  enum tsr_status st = tsr_store_query(
      s,
      "SELECT cycles, time_s, utilization, tensor_active, macs, dram_read_bytes, "
      "dram_write_bytes, inferences_per_s, events, wall_s, arch, workload, "
      "(SELECT sum(compute_cycles) FROM v_layers l WHERE l.run = r.run), "
      "(SELECT sum(stall_cycles) FROM v_layers l WHERE l.run = r.run), "
      "(SELECT text FROM v_inputs i WHERE i.run = r.run AND role = 'changes'), "
      "overlap_cycles, fast_forwarded, dma_bytes, tokens_per_s FROM v_runs r WHERE run = ?1",
      &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 1, run);
  bool row;
  st = tsr_query_step(q, &row, err);
  if (!st && row) {
    bool changed = !tsr_query_is_null(q, 14);
    char amount[4][TSR_QUERY_AMOUNT_MAX];
    tsr_str_addf(out, "\n%s on %s%s%s: %" PRIu64 " cycles, %s", tsr_query_text(q, 11),
                 tsr_query_text(q, 10), changed ? " with " : "",
                 changed ? tsr_query_text(q, 14) : "", tsr_query_u64(q, 0),
                 tsr_query_amount(amount[0], tsr_query_double(q, 1), 4, "s"));
    if (!tsr_query_is_null(q, 18)) /* of a text or a decode loop */
      rate_text(tsr_query_double(q, 18), "tokens/s", out);
    else if (tsr_query_is_null(q, 7))
      tsr_str_add(out, "\n"); /* a program alone infers nothing */
    else
      rate_text(tsr_query_double(q, 7), "inferences/s", out);
    tsr_str_addf(out, "%" PRIu64 " compute", tsr_query_u64(q, 12));
    st = split_text(s, run, tsr_query_u64(q, 12), out, err);
    tsr_str_addf(out, "; %" PRIu64 " stalled", tsr_query_u64(q, 13));
    if (tsr_query_u64(q, 15)) /* what layers side by side count more than once */
      tsr_str_addf(out, "; %" PRIu64 " side by side", tsr_query_u64(q, 15));
    tsr_str_add(out, "\n");
    if (!tsr_query_is_null(q, 2)) /* something was multiplied */
      tsr_str_addf(out, "utilization %.1f %%, tensor active %.1f %%, %s, ",
                   tsr_query_double(q, 2) * 100, tsr_query_double(q, 3) * 100,
                   tsr_query_amount(amount[0], tsr_query_double(q, 4), 4, "MAC"));
    tsr_str_addf(out, "DRAM read %s, written %s",
                 tsr_query_amount(amount[1], tsr_query_double(q, 5), 4, "B"),
                 tsr_query_amount(amount[2], tsr_query_double(q, 6), 4, "B"));
    uint64_t moved = tsr_query_u64(q, 5) + tsr_query_u64(q, 6);
    if (tsr_query_u64(q, 17) > moved) /* the rest was between scratchpads, or a buffer's */
      tsr_str_addf(out, "; DMA engines moved %s",
                   tsr_query_amount(amount[1], tsr_query_double(q, 17), 4, "B"));
    tsr_str_add(out, "\n");
    tsr_str_addf(out, "simulated in %s, %" PRIu64 " events",
                 tsr_query_amount(amount[3], tsr_query_double(q, 9), 3, "s"),
                 tsr_query_u64(q, 8));
    tsr_str_addf(out, ", %.1f %% not fast-forwarded\n",
                 100 - 100 * tsr_query_double(q, 16) / tsr_query_double(q, 8));
  }
  tsr_query_close(q);
  return st;
}

/* Of --numerics full: each part of the error where it is worst. */
static enum tsr_status parts_text(struct tsr_store *s, uint64_t run, struct tsr_str *out,
                                  struct tsr_err *err) {
  struct tsr_query *q;
  enum tsr_status st = tsr_store_query(
      s,
      "SELECT tensor, max(norm_err), name FROM v_numeric WHERE run = ?1 AND tensor IN "
      "('quantisation', 'accumulation', 'rounding', 'unquantised') GROUP BY tensor "
      "ORDER BY seq",
      &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 1, run); /* bare columns are those of the one maximum */
  bool row;
  for (int n = 0; !(st = tsr_query_step(q, &row, err)) && row; n++) {
    bool whole = !strcmp(tsr_query_text(q, 0), "unquantised");
    tsr_str_addf(out, "%s%s %.2g",
                 n ? ", " : "worst error by part: ", whole ? "in all" : tsr_query_text(q, 0),
                 tsr_query_double(q, 1));
    tsr_str_addf(out, " (%s)%s", tsr_query_text(q, 2),
                 whole ? "; `tessera show numerics` has the table\n" : "");
  }
  tsr_query_close(q);
  return st;
}

static enum tsr_status numeric_text(struct tsr_store *s, uint64_t run, struct tsr_str *out,
                                    struct tsr_err *err) {
  struct tsr_query *q;
  enum tsr_status st = tsr_store_query(
      s,
      "SELECT sum(checked_elems), max(max_ulp), max(norm_err), sum(overflow), sum(underflow) "
      "FROM v_numeric WHERE run = ?1 AND seq = 0 HAVING count(*) > 0",
      &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 1, run);
  bool row;
  st = tsr_query_step(q, &row, err);
  if (!st && row)
    tsr_str_addf(out,
                 "numerics: %" PRIu64
                 " outputs checked, worst %.3g ulp, worst layer error %.2g, "
                 "%" PRIu64 " overflows, %" PRIu64 " underflows\n",
                 tsr_query_u64(q, 0), tsr_query_double(q, 1), tsr_query_double(q, 2),
                 tsr_query_u64(q, 3), tsr_query_u64(q, 4));
  tsr_query_close(q);
  return st ? st : parts_text(s, run, out, err);
}

/* What a network's results are worth, a line. */
static enum tsr_status quality_text(struct tsr_store *s, uint64_t run, struct tsr_str *out,
                                    struct tsr_err *err) {
  struct tsr_query *q;
  enum tsr_status st = tsr_store_query(
      s,
      "SELECT metric, tensor, value, n, limit_value, met FROM v_quality q WHERE run = ?1 AND "
      "(tensor IS NULL OR met IS NOT NULL OR tensor = (SELECT tensor FROM v_quality WHERE run "
      "= "
      "?1 AND metric = 'max_abs_err' ORDER BY seq LIMIT 1)) ORDER BY seq",
      &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 1, run);
  bool row, any = false;
  while (!(st = tsr_query_step(q, &row, err)) && row) {
    bool of = !tsr_query_is_null(q, 1);
    tsr_str_addf(out, "%s%s", any ? ", " : "quality: ", tsr_query_text(q, 0));
    if (of) tsr_str_addf(out, "(%s)", tsr_query_text(q, 1));
    tsr_str_addf(out, " %.4g", tsr_query_double(q, 2));
    if (!of && !any) tsr_str_addf(out, " of %" PRIu64, tsr_query_u64(q, 3));
    if (!tsr_query_is_null(q, 5))
      tsr_str_addf(out, " of at most %g: %s", tsr_query_double(q, 4),
                   tsr_query_u64(q, 5) ? "met" : "missed");
    any = true;
  }
  if (any) tsr_str_add(out, "\n");
  tsr_query_close(q);
  return st;
}

/* Whether every file that results were held against was met. */
static enum tsr_status check_met(struct tsr_store *s, uint64_t run, struct tsr_err *err) {
  struct tsr_query *q;
  enum tsr_status st =
      tsr_store_query(s, "SELECT count(*) FROM v_quality WHERE run = ?1 AND met = 0", &q, err);
  if (st) return st;
  tsr_query_bind_u64(q, 1, run);
  bool row;
  st = tsr_query_step(q, &row, err);
  uint64_t missed = !st && row ? tsr_query_u64(q, 0) : 0;
  tsr_query_close(q);
  return st ? st : missed ? TSR_NO : TSR_OK;
}

static enum tsr_status print_text(struct cmd_ctx *ctx, struct tsr_store *s, uint64_t run) {
  char *table = NULL;
  struct tsr_str out = TSR_STR_INIT;
  enum tsr_status st = tsr_query_show(s, "layers", run, TSR_QUERY_TEXT, &table, &ctx->err);
  if (!st) {
    tsr_str_add(&out, table);
    st = totals_text(s, run, &out, &ctx->err);
  }
  if (!st) st = numeric_text(s, run, &out, &ctx->err);
  if (!st) st = quality_text(s, run, &out, &ctx->err);
  tsr_str_addf(&out, "run %" PRIu64 " in %s\n", run, ctx->db);
  if (!st) st = out.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p);
  tsr_mem_free(table);
  tsr_str_fini(&out);
  return st;
}

/* The run; with `--model both` the analytic model's part too: in JSON as a key of the run. */
static enum tsr_status print_run(struct cmd_ctx *ctx, const struct run_args *a,
                                 struct tsr_store *s, uint64_t run) {
  struct tsr_str out = TSR_STR_INIT;
  enum tsr_status st = TSR_OK;
  if (!ctx->json) {
    st = print_text(ctx, s, run);
    if (!st && a->model == MODEL_BOTH) st = cmd_model_text(ctx, &a->o, s, run, &out);
  } else {
    char *json = NULL;
    st = tsr_query_run_json(s, run, &json, &ctx->err);
    char *end = st ? NULL : strrchr(json, '}');
    if (end && a->model == MODEL_BOTH) {
      tsr_str_addf(&out, "%.*s,\n \"analytic\": ", (int)(end - json), json);
      st = cmd_model_json(ctx, &a->o, s, run, &out);
      tsr_str_add(&out, "}\n");
    } else if (!st) {
      tsr_str_add(&out, json);
    }
    tsr_mem_free(json);
  }
  if (!st) st = out.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p ? out.p : "");
  tsr_str_fini(&out);
  return st;
}

/* The analytic model alone: it opens no store. */
static enum tsr_status print_model(struct cmd_ctx *ctx, const struct run_args *a) {
  struct tsr_str out = TSR_STR_INIT;
  enum tsr_status st = (ctx->json ? cmd_model_json : cmd_model_text)(ctx, &a->o, NULL, 0, &out);
  if (ctx->json) tsr_str_add(&out, "\n");
  if (!st) st = out.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p);
  tsr_str_fini(&out);
  return st;
}

/* A tensor must not be written over what the run reads, or into its store. */
static enum tsr_status guard_dumps(struct cmd_ctx *ctx, const struct run_args *a) {
  const struct tsr_run_options *o = &a->o;
  const char *read[2 * FILES_MAX + 4];
  size_t n = 0;
  enum tsr_status st = TSR_OK;
  read[n++] = ctx->db;
  read[n++] = o->arch;
  if (o->workload) read[n++] = o->workload;
  if (o->dataset) read[n++] = o->dataset;
  for (size_t i = 0; i < o->n_inputs; i++) read[n++] = o->inputs[i].path;
  for (size_t i = 0; i < o->n_expects; i++) read[n++] = o->expects[i].path;
  for (size_t i = 0; !st && i < o->n_dumps; i++)
    st = cmd_guard_output(ctx, o->dumps[i].path, read, n);
  return st;
}

/* Values need a run that has them. */
static enum tsr_status check_values(const struct run_args *a, struct tsr_err *err) {
  const struct tsr_run_options *o = &a->o;
  bool files = o->n_inputs || o->n_expects || o->n_dumps;
  if ((files || o->dataset) && o->numerics != TSR_NUMERICS_FULL)
    return tsr_err_set(err, TSR_USAGE,
                       "--input, --expect, --dump and --dataset are of values; expected "
                       "--numerics full with them");
  if (a->ulp && !o->n_expects)
    return tsr_err_set(err, TSR_USAGE, "--ulp is of --expect; expected it with one");
  return TSR_OK;
}

/* What the analytic model knows nothing of. */
static enum tsr_status check_model(const struct run_args *a, struct tsr_err *err) {
  if (a->model == MODEL_EVENT) return TSR_OK;
  if (!a->o.workload || a->o.program)
    return tsr_err_set(err, TSR_USAGE,
                       "the analytic model takes a workload's layers; expected --workload "
                       "without --program");
  if (a->model == MODEL_ANALYTIC &&
      (a->o.name || a->o.numerics != TSR_NUMERICS_OFF || a->o.trace != TSR_TRACE_SUMMARY))
    return tsr_err_set(err, TSR_USAGE,
                       "--model analytic stores no run and computes no values; expected it "
                       "without --name, --numerics and --trace");
  return TSR_OK;
}

CMD(run) {
  static const struct argp argp = {
      .options = run_options,
      .parser = parse_run,
      .doc =
          "Simulates a workload on an architecture and stores the run.\v"
          "ARCH is a preset (see `tessera presets`) or a file; W a network of the zoo, a file "
          "(.onnx, .yaml, .json, .csv), or gemm:MxNxK[,MxNxK...]."};
  struct run_args a = {
      .o = {.seed = 1, .trace = TSR_TRACE_SUMMARY, .version = cmd_version, .ulp = 1}};
  a.o.inputs = a.input;
  a.o.expects = a.expect;
  a.o.dumps = a.dump;
  cmd_parse(ctx, &argp, argc, argv, &a);
  cmd_run_opts_apply(&a.common, &a.o);
  struct tsr_store *s = NULL;
  uint64_t run = 0;
  enum tsr_status st = check_model(&a, &ctx->err);
  if (!st) st = check_values(&a, &ctx->err);
  if (!st) st = guard_dumps(ctx, &a);
  if (!st && a.model == MODEL_ANALYTIC) {
    st = print_model(ctx, &a);
    cmd_run_opts_fini(&a.common);
    return st;
  }
  if (!st) st = cmd_open(ctx, TSR_STORE_WRITE, &s);
  if (!st) st = tsr_run_execute(&a.o, s, &run, &ctx->err);
  if (!st) st = print_run(ctx, &a, s, run);
  if (!st) st = check_met(s, run, &ctx->err);
  cmd_run_opts_fini(&a.common);
  return cmd_close(ctx, s, st);
}

struct rerun_args {
  const char *run;
};

static error_t parse_rerun(int key, char *arg, struct argp_state *state) {
  struct rerun_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case ARGP_KEY_ARG:
    if (a->run) cmd_usage_error(state, "rerun takes one run, got '%s' too", arg);
    a->run = arg;
    return 0;
  case ARGP_KEY_END:
    if (!a->run) cmd_usage_error(state, "rerun takes a run: a number, a name or 'last'");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

CMD(rerun) {
  static const struct argp argp = {
      .parser = parse_rerun,
      .args_doc = "RUN",
      .doc = "Runs the stored inputs of a run again, as a new run, and compares every result "
             "table; exit 1 when a figure differs."};
  struct rerun_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct tsr_store *s = NULL;
  uint64_t run = 0, again = 0;
  char *difference = NULL;
  enum tsr_status st = cmd_open(ctx, TSR_STORE_WRITE, &s);
  if (!st) st = tsr_store_find_run(s, a.run, &run, &ctx->err);
  if (!st) st = tsr_run_again(s, run, cmd_version, &again, &ctx->err);
  if (!st) st = tsr_query_difference(s, run, again, &difference, &ctx->err);
  if (!st) {
    char *text = ctx->json
                     ? tsr_mem_printf("{\"run_id\": %" PRIu64 ", \"rerun_id\": %" PRIu64
                                      ", \"equal\": %s}\n",
                                      run, again, difference ? "false" : "true")
                     : tsr_mem_printf("run %" PRIu64 " %s run %" PRIu64 "%s%s\n", again,
                                      difference ? "differs from" : "equals", run,
                                      difference ? ": " : "", difference ? difference : "");
    st = text ? cmd_print(ctx, text) : tsr_err_nomem(&ctx->err);
    tsr_mem_free(text);
    if (!st && difference) st = TSR_NO;
  }
  tsr_mem_free(difference);
  return cmd_close(ctx, s, st);
}
