/* map: searches mappings, and says what they gain. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/io.h"
#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"
#include "sim/cmd/run_opts.h"

enum { OPT_OBJECTIVE = 256, OPT_SEED };

struct map_args {
  struct cmd_run_opts common;
  uint64_t seed;
  const char *out;
};

static const struct argp_option map_options[] = {
    CMD_RUN_OPTIONS,
    {"objective", OPT_OBJECTIVE, "time", 0, "what is to be least (default time)", 0},
    {"seed", OPT_SEED, "N", 0, "of a search that looks at a part (default 1)", 0},
    {"output", 'o', "F.yaml", 0, "write the mappings, for run --mapping", 0},
    {0}};

static error_t parse_map(int key, char *arg, struct argp_state *state) {
  static const char *const objectives[] = {"time", NULL};
  struct map_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case OPT_OBJECTIVE: (void)cmd_choice(state, "--objective", objectives, arg); return 0;
  case OPT_SEED: a->seed = cmd_number(state, "--seed", arg); return 0;
  case 'o': a->out = arg; return 0;
  default: return cmd_run_opts_parse(&a->common, key, arg, state);
  }
}

/* A layer that stands for all that are its twins. */
struct row {
  size_t layer, times;
  struct tsr_run_found found;
  double roofline;
};

struct table {
  struct row *row; /* owned */
  size_t n;
  size_t *row_of;                      /* of each layer, SIZE_MAX: none; owned */
  uint64_t before_cycles, best_cycles; /* of all layers */
  double roofline;
  size_t others;                         /* layers that have no mapping */
  struct tsr_run_measured before, after; /* the whole, where layers alone do not tell */
};

static enum tsr_status search(struct cmd_ctx *ctx, struct tsr_run_plan *p, uint64_t seed,
                              struct table *t) {
  enum tsr_status st = TSR_OK;
  t->row = tsr_mem_array(p->n_layers + 1, sizeof *t->row);
  t->row_of = tsr_mem_array(p->n_layers + 1, sizeof *t->row_of);
  if (!t->row || !t->row_of) return tsr_err_nomem(&ctx->err);
  tsr_run_twins(p, t->row_of);
  for (size_t i = 0; !st && i < p->n_layers; i++) {
    size_t twin = t->row_of[i];
    if (twin == SIZE_MAX) {
      t->others++;
      continue;
    }
    if (twin == i) {
      struct row *r = &t->row[t->n];
      t->row_of[i] = t->n++;
      r->layer = i;
      r->roofline = tsr_run_roofline_cycles(p, &p->layers[i]);
      st = tsr_run_search(p, i, seed, &r->found, &ctx->err);
    } else {
      t->row_of[i] = t->row_of[twin];
    }
    t->row[t->row_of[i]].times++;
    tsr_progress("layers mapped", i + 1, p->n_layers);
  }
  tsr_progress("layers mapped", 0, 0);
  if (!st && !t->n)
    st =
        tsr_err_set(&ctx->err, TSR_INPUT,
                    "%s has no matmul, convolution or attention; expected one to map", p->name);
  for (size_t i = 0; !st && i < t->n; i++) {
    const struct row *r = &t->row[i];
    t->before_cycles += r->times * r->found.before_cycles;
    t->best_cycles += r->times * r->found.best_cycles;
    t->roofline += (double)r->times * r->roofline;
  }
  return st;
}

static enum tsr_status assign(struct tsr_run_plan *p, struct table *t, struct tsr_err *err) {
  struct tsr_run_way *best = tsr_mem_array(p->n_layers + 1, sizeof *best);
  if (!best) return tsr_err_nomem(err);
  for (size_t i = 0; i < p->n_layers; i++)
    if (t->row_of[i] != SIZE_MAX) best[i] = t->row[t->row_of[i]].found.best;
  enum tsr_status st = tsr_run_take(p, best, &t->before, &t->after, err);
  tsr_mem_free(best);
  return st;
}

static double less(uint64_t before, uint64_t after) {
  return before ? 100 * (1 - (double)after / (double)before) : 0;
}

static void print_text(const struct tsr_run_plan *p, const struct table *t,
                       struct tsr_str *out) {
  tsr_str_addf(out, "%-28s %5s  %12s %12s %6s  %6s  %9s  mapping\n", "layer", "times", "before",
               "best", "less %", "x roof", "looked at");
  for (size_t i = 0; i < t->n; i++) {
    const struct row *r = &t->row[i];
    const struct tsr_run_layer_plan *l = &p->layers[r->layer];
    struct tsr_str map = TSR_STR_INIT;
    tsr_run_layer_print(l, &map);
    tsr_str_addf(out,
                 "%-28s %5zu  %12" PRIu64 " %12" PRIu64 " %6.1f  %6.2f  %8" PRIu64 "%s  %s\n",
                 l->op->name, r->times, r->found.before_cycles, r->found.best_cycles,
                 less(r->found.before_cycles, r->found.best_cycles),
                 (double)r->found.best_cycles / r->roofline, r->found.evaluated,
                 r->found.whole ? "*" : " ", map.p ? map.p : "");
    out->failed = out->failed || map.failed;
    tsr_str_fini(&map);
  }
  tsr_str_addf(out,
               "\n%s on %s: %" PRIu64 " cycles before, %" PRIu64
               " by the best mappings (%.1f %% less), %.2f times the roofline's %.0f\n"
               "each layer alone on a machine at rest; *: all there are",
               p->name, p->machine->name, t->before_cycles, t->best_cycles,
               less(t->before_cycles, t->best_cycles), (double)t->best_cycles / t->roofline,
               t->roofline);
  if (t->others) tsr_str_addf(out, "; %zu layers that are neither are left out", t->others);
  if (t->before.cycles)
    tsr_str_addf(out, "\nall layers as they run: %" PRIu64 " cycles before, %" PRIu64 " %s",
                 t->before.cycles, t->after.cycles,
                 t->after.cycles < t->before.cycles ? "by these"
                                                    : "by the ones before, which are kept");
  tsr_str_add(out, "\n");
}

static void print_json(const struct tsr_run_plan *p, const struct table *t,
                       struct tsr_str *out) {
  tsr_str_addf(out,
               "{\"before_cycles\": %" PRIu64 ", \"best_cycles\": %" PRIu64
               ", \"roofline_cycles\": %.0f, \"left_out\": %zu, ",
               t->before_cycles, t->best_cycles, t->roofline, t->others);
  if (t->before.cycles)
    tsr_str_addf(out,
                 "\"whole_before_cycles\": %" PRIu64 ", \"whole_best_cycles\": %" PRIu64 ", ",
                 t->before.cycles, t->after.cycles);
  tsr_str_add(out, "\"layers\": [");
  for (size_t i = 0; i < t->n; i++) {
    const struct row *r = &t->row[i];
    const struct tsr_run_layer_plan *l = &p->layers[r->layer];
    struct tsr_str map = TSR_STR_INIT;
    tsr_run_layer_print(l, &map);
    tsr_str_add(out, i ? ", {\"name\": " : "{\"name\": ");
    tsr_str_add_json(out, l->op->name);
    tsr_str_addf(out,
                 ", \"times\": %zu, \"before_cycles\": %" PRIu64 ", \"best_cycles\": %" PRIu64
                 ", \"roofline_cycles\": %.0f, \"evaluated\": %" PRIu64
                 ", \"whole\": %s, \"mapping\": ",
                 r->times, r->found.before_cycles, r->found.best_cycles, r->roofline,
                 r->found.evaluated, r->found.whole ? "true" : "false");
    tsr_str_add_json(out, map.p ? map.p : "");
    tsr_str_add(out, ", \"candidates\": [");
    for (size_t c = 0; c < r->found.n; c++)
      tsr_str_addf(out, "%s{\"model_cycles\": %.0f, \"cycles\": %" PRIu64 "}", c ? ", " : "",
                   r->found.model[c], r->found.cycles[c]);
    tsr_str_add(out, "]}");
    out->failed = out->failed || map.failed;
    tsr_str_fini(&map);
  }
  tsr_str_add(out, "]}\n");
}

CMD(map) {
  static const struct argp argp = {
      .options = map_options,
      .parser = parse_map,
      .doc =
          "Searches mappings of a workload's matmuls and convolutions: by the analytic model, "
          "the ten best confirmed in the event model; and tiles of attentions, by events. "
          "Never "
          "slower than the mapping before."};
  struct map_args a = {.seed = 1};
  struct tsr_run_options o = {0};
  struct tsr_run_plan p = {0};
  struct table t = {0};
  struct tsr_str out = TSR_STR_INIT, file = TSR_STR_INIT;
  cmd_parse(ctx, &argp, argc, argv, &a);
  cmd_run_opts_apply(&a.common, &o);
  const char *const inputs[] = {o.arch, o.workload, o.mapping};
  enum tsr_status st = a.out ? cmd_guard_output(ctx, a.out, inputs, 3) : TSR_OK;
  if (!st) st = tsr_run_plan_make(&o, &p, &ctx->err);
  if (!st) st = search(ctx, &p, a.seed, &t);
  if (!st) st = assign(&p, &t, &ctx->err);
  if (!st) {
    (ctx->json ? print_json : print_text)(&p, &t, &out);
    st = out.failed ? tsr_err_nomem(&ctx->err) : TSR_OK;
  }
  if (!st && a.out) st = tsr_run_mappings_write(&p, &file, &ctx->err);
  if (!st && a.out) st = tsr_io_write(a.out, file.p, file.n, &ctx->err);
  if (!st) st = cmd_print(ctx, out.p);
  tsr_str_fini(&out);
  tsr_str_fini(&file);
  tsr_mem_free(t.row);
  tsr_mem_free(t.row_of);
  tsr_run_plan_fini(&p);
  cmd_run_opts_fini(&a.common);
  return st;
}
