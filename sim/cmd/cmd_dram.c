/* dram replay: a trace or a scenario through the DRAM model alone. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "models/dram/replay.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"

enum { OPT_PRESET = 256, OPT_TRACE, OPT_SCENARIO, OPT_REQUESTS, OPT_INJECT };
enum { SETS_MAX = 64 };

struct dram_args {
  bool replay;
  const char *preset, *trace, *scenario;
  const char *sets[SETS_MAX];
  size_t n_sets;
  uint64_t requests, inject; /* 0: not given */
};

static const struct argp_option dram_options[] = {
    {"preset", OPT_PRESET, "P", 0,
     "device, its controller and its mapping (`tessera presets dram`)", 0},
    {"trace", OPT_TRACE, "F", 0, "file of lines 'CYCLE|* R|W ADDRESS', address in hexadecimal",
     0},
    {"scenario", OPT_SCENARIO, "S", 0,
     "'pattern;requests;key=value …', or FILE:ID, a line of a file of them; patterns and keys: "
     "seq base w; stride S base w; rand seed range wpct; nstream K C D wmask base; tile2d R W "
     "P "
     "base w; pingpong S wmask base; gemm M N K tm tn tk e ec bA bB bC; all of them load, a "
     "part "
     "of the peak; sizes in bytes",
     0},
    {"requests", OPT_REQUESTS, "N", 0, "as many instead of what the scenario says", 0},
    {"inject", OPT_INJECT, "N", 0, "requests put in a clock, at most; default: the preset's",
     0},
    {"set", 's', "K=V", 0, "a key of the DRAM, as below `dram` in an architecture", 0},
    {0}};

static error_t parse_dram(int key, char *arg, struct argp_state *state) {
  struct dram_args *a = ((struct cmd_input *)state->input)->own;
  static const char *const actions[] = {"replay", NULL};
  switch (key) {
  case OPT_PRESET: a->preset = arg; return 0;
  case OPT_TRACE: a->trace = arg; return 0;
  case OPT_SCENARIO: a->scenario = arg; return 0;
  case OPT_REQUESTS:
    a->requests = cmd_number(state, "--requests", arg);
    if (!a->requests) cmd_usage_error(state, "--requests takes at least 1");
    return 0;
  case OPT_INJECT:
    a->inject = cmd_number(state, "--inject", arg);
    if (!a->inject || a->inject > 1024) cmd_usage_error(state, "--inject takes 1 to 1024");
    return 0;
  case 's':
    if (a->n_sets == SETS_MAX) cmd_usage_error(state, "at most %d --set", SETS_MAX);
    a->sets[a->n_sets++] = arg;
    return 0;
  case ARGP_KEY_ARG:
    if (a->replay) cmd_usage_error(state, "unexpected argument '%s'", arg);
    (void)cmd_choice(state, "dram", actions, arg);
    a->replay = true;
    return 0;
  case ARGP_KEY_END:
    if (!a->replay) cmd_usage_error(state, "dram takes an action: replay");
    if (!a->preset) cmd_usage_error(state, "--preset is missing");
    if (!a->trace == !a->scenario)
      cmd_usage_error(state, "dram replay takes either --trace or --scenario");
    if (a->trace && a->requests) cmd_usage_error(state, "--requests needs --scenario");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* `FILE:ID` has no semicolon; where a file is named so, it is one. */
static enum tsr_status scenario_text(const char *what, char **text, struct tsr_err *err) {
  const char *colon = strrchr(what, ':');
  *text = NULL;
  if (strchr(what, ';') || !colon) {
    *text = tsr_mem_strdup(what);
    return *text ? TSR_OK : tsr_err_nomem(err);
  }
  char *path = tsr_mem_strndup(what, (size_t)(colon - what));
  if (!path) return tsr_err_nomem(err);
  enum tsr_status st = tsr_dram_scenario_find(path, colon + 1, text, err);
  tsr_mem_free(path);
  return st;
}

static enum tsr_status make_stream(struct cmd_ctx *ctx, const struct dram_args *a,
                                   const struct tsr_dram_config *c, struct tsr_dram_stream *s) {
  if (a->trace) return tsr_dram_trace_read(a->trace, s, &ctx->err);
  char *text;
  enum tsr_status st = scenario_text(a->scenario, &text, &ctx->err);
  if (!st) st = tsr_dram_scenario(text, c->org.tx_bytes, a->requests, s, &ctx->err);
  tsr_mem_free(text);
  return st;
}

/* ---- output ---- */

struct figures {
  uint64_t read_bytes, write_bytes;
  double seconds, bandwidth, peak, latency_ns, frontend_ns, hit_rate, mean_queue, wall_s;
};

static struct figures derive(const struct tsr_dram_config *c, const struct tsr_dram_replay *r,
                             double wall_s) {
  const struct tsri_channel_sums *x = &r->sums;
  const double tck = (double)c->tck_fs * 1e-15;
  const double served = (double)(x->read_cmds + x->write_cmds);
  struct figures f = {.read_bytes = x->reads * c->org.tx_bytes,
                      .write_bytes = x->writes * c->org.tx_bytes,
                      .seconds = (double)r->clocks * tck,
                      .peak = (double)tsr_dram_bandwidth(c),
                      .wall_s = wall_s};
  f.bandwidth = r->bandwidth_pct / 100 * f.peak;
  f.frontend_ns = 2 * (double)c->frontend_fs * 1e-6;
  f.latency_ns = x->reads ? (double)x->latency_clocks / (double)x->reads * tck * 1e9 : 0;
  f.latency_ns += f.frontend_ns;
  f.hit_rate = served > 0 ? (double)x->hits / served : 0;
  f.mean_queue = (double)x->queue_clocks / (double)r->clocks;
  return f;
}

static void print_json(struct tsr_str *o, const struct tsr_dram_config *c,
                       const struct tsr_dram_replay *r, const struct figures *f,
                       uint64_t hash) {
  const struct tsri_channel_sums *x = &r->sums;
  tsr_str_add(o, "{\"preset\": ");
  tsr_str_add_json(o, c->preset);
  tsr_str_addf(o, ", \"policy\": \"%s\"", tsr_dram_policy_names[c->policy_name]);
  tsr_str_addf(o,
               ", \"requests\": %" PRIu64 ", \"read_bytes\": %" PRIu64
               ", \"write_bytes\": %" PRIu64 ", \"cycles\": %" PRIu64
               ", \"bandwidth_bytes_per_s\": %.6g, \"peak_bytes_per_s\": %.6g"
               ", \"bandwidth_pct\": %.6g, ",
               r->requests, f->read_bytes, f->write_bytes, r->clocks, f->bandwidth, f->peak,
               r->bandwidth_pct);
  if (x->reads)
    tsr_str_addf(o, "\"avg_read_latency_ns\": %.6g, \"avg_read_latency_cycles\": %.6g, ",
                 f->latency_ns, (double)x->latency_clocks / (double)x->reads);
  else
    tsr_str_add(o, "\"avg_read_latency_ns\": null, \"avg_read_latency_cycles\": null, ");
  tsr_str_addf(
      o,
      "\"max_read_latency_cycles\": %" PRIu64 ", \"row_hit_rate\": %.6g, \"row_hits\": %" PRIu64
      ", \"row_conflicts\": %" PRIu64 ", \"activates\": %" PRIu64 ", \"precharges\": %" PRIu64
      ", \"refreshes\": %" PRIu64 ", \"bank_refreshes\": %" PRIu64 ", \"turnarounds\": %" PRIu64
      ", \"read_commands\": %" PRIu64 ", \"write_commands\": %" PRIu64
      ", \"forwards\": %" PRIu64 ", \"merges\": %" PRIu64 ", \"avg_queue\": %.6g",
      r->max_latency_clocks, f->hit_rate, x->hits, x->conflicts, x->acts, x->pres, x->refs,
      x->refbs, x->turnarounds, x->read_cmds, x->write_cmds, x->forwards, x->merges,
      f->mean_queue);
  tsr_str_addf(o,
               ", \"idle_cycles\": {\"bank\": %" PRIu64 ", \"refresh\": %" PRIu64
               ", \"turnaround\": %" PRIu64 "}, \"timeline\": {\"bin_cycles\": %" PRIu64
               ", \"bytes\": [",
               x->bank_clocks, x->refresh_clocks, x->turn_clocks, r->timeline.clocks);
  for (int i = 0; i < TSRI_BINS; i++)
    tsr_str_addf(o, "%s%" PRIu64, i ? ", " : "", r->timeline.transactions[i] * c->org.tx_bytes);
  tsr_str_addf(o,
               "]}, \"energy_pj\": null, \"trace_hash\": \"%" PRIx64
               "\", \"requests_per_s\": %.6g}\n",
               hash, f->wall_s > 0 ? (double)r->requests / f->wall_s : 0);
}

static void print_text(struct tsr_str *o, const struct tsr_dram_config *c,
                       const struct tsr_dram_replay *r, const struct figures *f,
                       uint64_t hash) {
  const struct tsri_channel_sums *x = &r->sums;
  double all = (double)r->clocks * (double)tsr_dram_buses(c) / 100;
  tsr_str_addf(o,
               "%s, policy %s: %" PRIu64 " requests of %" PRIu64 " B in %" PRIu64
               " cycles, %.4g us\n",
               c->preset, tsr_dram_policy_names[c->policy_name], r->requests, c->org.tx_bytes,
               r->clocks, f->seconds * 1e6);
  tsr_str_addf(o, "bandwidth   %.4g GB/s, %.2f %% of %.4g GB/s\n", f->bandwidth * 1e-9,
               r->bandwidth_pct, f->peak * 1e-9);
  if (x->reads)
    tsr_str_addf(o, "reads       latency %.1f ns in the mean, %.1f at most\n", f->latency_ns,
                 (double)r->max_latency_clocks * (double)c->tck_fs * 1e-6 + f->frontend_ns);
  tsr_str_addf(o,
               "rows        %" PRIu64 " activates, %" PRIu64
               " precharges, %.1f %% hits, %" PRIu64 " conflicts\n",
               x->acts, x->pres, f->hit_rate * 100, x->conflicts);
  tsr_str_addf(o, "refreshes   %" PRIu64 " of all banks, %" PRIu64 " of one\n", x->refs,
               x->refbs);
  tsr_str_addf(
      o,
      "idle        %.1f %% for rows and banks, %.1f %% for refreshes, %.1f %% for %" PRIu64
      " turnarounds\n",
      (double)x->bank_clocks / all, (double)x->refresh_clocks / all,
      (double)x->turn_clocks / all, x->turnarounds);
  tsr_str_addf(o, "trace hash  %" PRIx64 "\n", hash);
}

static enum tsr_status tell(struct cmd_ctx *ctx, const struct tsr_dram_config *c,
                            const struct tsr_dram_stream *s, const struct tsr_dram_replay *r,
                            double wall_s) {
  struct tsr_str out = TSR_STR_INIT;
  struct figures f = derive(c, r, wall_s);
  uint64_t hash = tsr_dram_stream_hash(s);
  (ctx->json ? print_json : print_text)(&out, c, r, &f, hash);
  enum tsr_status st = out.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p);
  tsr_str_fini(&out);
  return st;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

CMD(dram) {
  static const struct argp argp = {
      .options = dram_options,
      .parser = parse_dram,
      .args_doc = "replay",
      .doc =
          "Puts a stream of requests through the DRAM model alone, in order, each as soon as "
          "its channel has room, and tells what came of it."};
  struct dram_args a = {.replay = false};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct tsr_dram_config c;
  struct tsr_dram_stream s = {.n = 0};
  struct tsr_dram_replay r;
  enum tsr_status st = tsr_dram_config_read(a.preset, a.sets, a.n_sets, &c, &ctx->err);
  if (!st && a.inject) c.inject = a.inject;
  if (!st) st = make_stream(ctx, &a, &c, &s);
  double from = now_s();
  if (!st) st = tsr_dram_replay(&c, &s, &r, &ctx->err);
  if (!st) st = tell(ctx, &c, &s, &r, now_s() - from);
  tsr_dram_stream_fini(&s);
  return st;
}
