/* mma: matrix units: what there is, vector files replayed, error studies. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/picture/picture.h"
#include "analysis/query/query.h"
#include "kernels/check/study.h"
#include "kernels/check/vectors.h"
#include "models/arith/gemm.h"
#include "models/arith/mma_spec.h"
#include "sim/base/io.h"
#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/base/units.h"
#include "sim/cmd/cmd.h"

enum { OPT_MODEL = 256, OPT_K, OPT_M, OPT_N, OPT_DIST, OPT_SEED };
enum { KS_MAX = 64, DIM_MAX = 1024, LADDER_FROM = 16 };
static const uint64_t k_max = UINT64_C(1) << 24;
enum action { LIST, CHECK, EVAL };
static const char *const actions[] = {"list", "check", "eval", NULL};

struct mma_args {
  int action; /* -1: none yet */
  const char **models, **files;
  size_t n_models, cap_models, n_files, cap_files;
  uint64_t k[KS_MAX];
  size_t n_k;
  bool dists[TSR_DRAW_N_], has_dist;
  uint64_t m, n, seed;
  const char *out;
  const char *eval_only; /* the first option that only eval has */
};

/* ---- arguments ---- */

static void push(const struct argp_state *state, const char ***list, size_t *n, size_t *cap,
                 const char *word) {
  void *p = *list;
  if (!tsr_mem_grow(&p, cap, *n + 1, sizeof **list)) cmd_usage_error(state, "out of memory");
  *list = p;
  (*list)[(*n)++] = word;
}

/* Calls `each` for every part of a list between commas. */
static void split(const struct argp_state *state, const char *text, struct mma_args *a,
                  void (*each)(const struct argp_state *, const char *, struct mma_args *)) {
  for (const char *p = text; p;) {
    const char *end = strchr(p, ',');
    char *word = end ? tsr_mem_strndup(p, (size_t)(end - p)) : tsr_mem_strdup(p);
    if (!word) cmd_usage_error(state, "out of memory");
    each(state, word, a);
    tsr_mem_free(word);
    p = end ? end + 1 : NULL;
  }
}

static void add_k(const struct argp_state *state, const char *word, struct mma_args *a) {
  uint64_t k = cmd_number(state, "--k", word);
  if (k < 1 || k > k_max)
    cmd_usage_error(state, "--k takes 1 to %" PRIu64 ", got '%s'", k_max, word);
  for (size_t i = 0; i < a->n_k; i++)
    if (a->k[i] == k) return;
  if (a->n_k == KS_MAX) cmd_usage_error(state, "--k takes at most %d values", KS_MAX);
  a->k[a->n_k++] = k;
}

static void add_dist(const struct argp_state *state, const char *word, struct mma_args *a) {
  a->has_dist = true;
  if (!strcmp(word, "all"))
    for (int d = 0; d < TSR_DRAW_N_; d++) a->dists[d] = true;
  else
    a->dists[cmd_choice(state, "--dist", tsr_draw_names, word)] = true;
}

static uint64_t dimension(const struct argp_state *state, const char *option,
                          const char *text) {
  uint64_t v = cmd_number(state, option, text);
  if (v < 1 || v > DIM_MAX)
    cmd_usage_error(state, "%s takes 1 to %d, got '%s'", option, DIM_MAX, text);
  return v;
}

/* One K means the ladder of powers of two up to it; a list is itself. */
static void finish_k(struct mma_args *a, bool is_list) {
  if (is_list || a->n_k != 1) return;
  uint64_t k = a->k[0];
  a->n_k = tsr_study_ladder(LADDER_FROM, k, a->k);
}

static void check_args(const struct argp_state *state, struct mma_args *a) {
  if (a->action < 0) cmd_usage_error(state, "mma takes an action: list, check or eval");
  if (a->action != EVAL && a->eval_only)
    cmd_usage_error(state, "%s is an option of mma eval", a->eval_only);
  if (a->action == LIST && a->n_models) cmd_usage_error(state, "mma list takes no --model");
  if (a->action == CHECK && !a->n_files) cmd_usage_error(state, "mma check takes files");
  if (a->action == CHECK && a->n_models > 1)
    cmd_usage_error(state, "mma check takes one --model");
  if (a->action != CHECK && a->n_files)
    cmd_usage_error(state, "unexpected argument '%s'", a->files[0]);
  if (a->action != EVAL) return;
  if (!a->n_models) cmd_usage_error(state, "mma eval takes at least one --model");
  if (!a->n_k) cmd_usage_error(state, "--k is missing");
  if (!a->has_dist) a->dists[TSR_DRAW_NORMAL] = true;
}

static error_t parse_mma(int key, char *arg, struct argp_state *state) {
  struct mma_args *a = ((struct cmd_input *)state->input)->own;
  static const char *const eval_options[] = {"--k", "--m", "--n", "--dist", "--seed"};
  if (key >= OPT_K && key <= OPT_SEED && !a->eval_only)
    a->eval_only = eval_options[key - OPT_K];
  switch (key) {
  case OPT_MODEL: push(state, &a->models, &a->n_models, &a->cap_models, arg); return 0;
  case OPT_K:
    split(state, arg, a, add_k);
    finish_k(a, strchr(arg, ',') != NULL);
    return 0;
  case OPT_M: a->m = dimension(state, "--m", arg); return 0;
  case OPT_N: a->n = dimension(state, "--n", arg); return 0;
  case OPT_DIST: split(state, arg, a, add_dist); return 0;
  case OPT_SEED: a->seed = cmd_number(state, "--seed", arg); return 0;
  case 'o':
    a->out = arg;
    if (!a->eval_only) a->eval_only = "-o";
    return 0;
  case ARGP_KEY_ARG:
    if (a->action < 0)
      a->action = cmd_choice(state, "mma", actions, arg);
    else /* eval: a bare word behind --model is one more of them */
      push(state, &a->files, &a->n_files, &a->cap_files, arg);
    return 0;
  case ARGP_KEY_END:
    if (a->action == EVAL) {
      for (size_t i = 0; i < a->n_files; i++)
        push(state, &a->models, &a->n_models, &a->cap_models, a->files[i]);
      a->n_files = 0;
    }
    check_args(state, a);
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static enum tsr_status finish(struct cmd_ctx *ctx, struct tsr_str *out) {
  enum tsr_status st = out->failed ? tsr_err_nomem(&ctx->err) : TSR_OK;
  if (!st) st = cmd_print(ctx, out->p ? out->p : "");
  tsr_str_fini(out);
  return st;
}

/* ---- list ---- */

static void list_row(struct cmd_ctx *ctx, struct tsr_str *out, const struct tsr_mma *u,
                     bool first) {
  if (!ctx->json) {
    tsr_str_addf(out, "%-46s %-12s %-12s %-6s %-8s %s\n", u->name, u->a->name, u->b->name,
                 u->acc->name, tsr_gemm_path(u), u->doc);
    return;
  }
  tsr_str_add(out, first ? "\n {\"name\": " : ",\n {\"name\": ");
  tsr_str_add_json(out, u->name);
  tsr_str_addf(out, ", \"format_a\": \"%s\", \"format_b\": \"%s\", \"format_acc\": \"%s\"",
               u->a->name, u->b->name, u->acc->name);
  tsr_str_addf(out, ", \"fused_len\": %d, \"align_bits\": %d, \"path\": \"%s\", \"doc\": ",
               u->fused_len, u->align_bits, tsr_gemm_path(u));
  tsr_str_add_json(out, u->doc);
  tsr_str_add(out, ", \"source\": ");
  tsr_str_add_json(out, u->src);
  tsr_str_add(out, "}");
}

static enum tsr_status list(struct cmd_ctx *ctx) {
  struct tsr_str out = TSR_STR_INIT;
  if (ctx->json)
    tsr_str_add(&out, "{\"units\": [");
  else
    tsr_str_addf(&out, "%-46s %-12s %-12s %-6s %-8s %s\n", "unit", "a", "b", "acc", "path",
                 "what it is");
  for (size_t i = 0; i < tsr_mma_count(); i++) list_row(ctx, &out, tsr_mma_at(i), i == 0);
  if (ctx->json) tsr_str_add(&out, "]}\n");
  return finish(ctx, &out);
}

/* ---- check ---- */

static void check_row(struct cmd_ctx *ctx, struct tsr_str *out,
                      const struct tsr_vectors_result *r, bool first) {
  if (!ctx->json) {
    tsr_str_addf(out,
                 "%s: %s: %" PRIu64 " tiles, %" PRIu64 " elements, %" PRIu64 " exact, %" PRIu64
                 " contested, %" PRIu64 " mismatches\n",
                 r->file, r->model, r->tiles, r->elements, r->exact, r->contested,
                 r->mismatches);
    return;
  }
  tsr_str_add(out, first ? "\n {\"file\": " : ",\n {\"file\": ");
  tsr_str_add_json(out, r->file);
  tsr_str_add(out, ", \"model\": ");
  tsr_str_add_json(out, r->model);
  tsr_str_addf(out,
               ", \"tiles\": %" PRIu64 ", \"elements\": %" PRIu64 ", \"exact\": %" PRIu64
               ", \"contested\": %" PRIu64 ", \"mismatches\": %" PRIu64
               ", \"contested_differ\": %" PRIu64 "}",
               r->tiles, r->elements, r->exact, r->contested, r->mismatches,
               r->contested_differ);
}

/* A file that cannot be read does not hide the others; its status wins. */
static enum tsr_status check(struct cmd_ctx *ctx, const struct mma_args *a) {
  struct tsr_str out = TSR_STR_INIT;
  uint64_t elements = 0, mismatches = 0;
  enum tsr_status first = TSR_OK;
  bool any = false;
  if (ctx->json) tsr_str_add(&out, "{\"files\": [");
  for (size_t i = 0; i < a->n_files; i++) {
    struct tsr_vectors_result r;
    if (tsr_interrupted) {
      first = tsr_err_set(&ctx->err, TSR_SIM, "interrupted");
      break;
    }
    tsr_progress("files", i, a->n_files);
    const char *model = a->n_models ? a->models[0] : NULL;
    enum tsr_status st = tsr_vectors_check(a->files[i], model, &r, &ctx->err);
    if (st) {
      if (!first) first = st;
      continue;
    }
    check_row(ctx, &out, &r, !any);
    any = true;
    elements += r.elements;
    mismatches += r.mismatches;
    if (r.mismatches) {
      (void)tsr_err_set(&ctx->err, TSR_NO, "%s: %s; expected no mismatch, got %" PRIu64, r.file,
                        r.first, r.mismatches);
    }
  }
  tsr_progress("files", 0, 0);
  if (ctx->json)
    tsr_str_addf(&out, "], \"elements\": %" PRIu64 ", \"mismatches\": %" PRIu64 "}\n", elements,
                 mismatches);
  else if (a->n_files > 1)
    tsr_str_addf(&out, "%zu files, %" PRIu64 " elements, %" PRIu64 " mismatches\n", a->n_files,
                 elements, mismatches);
  enum tsr_status st = finish(ctx, &out);
  if (first) return first;
  return st ? st : mismatches ? TSR_NO : TSR_OK;
}

/* ---- eval ---- */

/* What a study leaves until it is stored; texts and arrays live in the arena. */
struct eval {
  const struct mma_args *a;
  struct tsr_arena *arena;
  struct tsr_mma_spec *specs;
  const struct tsr_mma **units;
  struct tsr_eval_point *points;
  size_t n;
  const struct tsr_hist_edge *ulp, *cancel;
};

/* A row of the table by name, or the text of a unit. */
static enum tsr_status find_unit(struct eval *e, size_t i, struct tsr_err *err) {
  const char *text = e->a->models[i];
  e->units[i] = tsr_mma_find(text);
  if (e->units[i]) return TSR_OK;
  enum tsr_status st = tsr_mma_parse(text, NULL, NULL, NULL, &e->specs[i], err);
  e->units[i] = &e->specs[i].unit;
  return st;
}

static const struct tsr_hist_edge *ulp_edges(struct tsr_arena *arena) {
  struct tsr_hist_edge *x = tsr_arena_array(arena, TSR_CHECK_BINS, sizeof *x);
  for (unsigned i = 0; x && i < TSR_CHECK_BINS; i++) tsr_check_bin_edges(i, &x[i].lo, &x[i].hi);
  return x;
}

static const struct tsr_hist_edge *cancel_edges(struct tsr_arena *arena) {
  struct tsr_hist_edge *x = tsr_arena_array(arena, TSR_STUDY_CANCEL_BINS, sizeof *x);
  for (unsigned i = 0; x && i < TSR_STUDY_CANCEL_BINS; i++)
    x[i] = (struct tsr_hist_edge){i, i + 1 < TSR_STUDY_CANCEL_BINS ? i + 1 : INFINITY};
  return x;
}

static const uint64_t *keep(struct tsr_arena *arena, const uint64_t *from, size_t n) {
  uint64_t *to = tsr_arena_array(arena, n, sizeof *to);
  if (to) memcpy(to, from, n * sizeof *to);
  return to;
}

static enum tsr_status add_point(struct eval *e, const struct tsr_study *s,
                                 const struct tsr_study_result *x, struct tsr_err *err) {
  struct tsr_check_result r;
  const struct tsr_mma *u = s->unit;
  const struct tsr_mma_stats *t = &x->stats;
  tsr_check_finish(&x->check, &r);
  struct tsr_eval_point *p = &e->points[e->n++];
  *p = (struct tsr_eval_point){.unit = u->name,
                               .format_a = u->a->name,
                               .format_b = u->b->name,
                               .format_acc = u->acc->name,
                               .dist = tsr_draw_names[s->dist],
                               .k = s->k,
                               .checked_elems = r.checked_elems,
                               .overflow = r.overflow,
                               .underflow = r.underflow,
                               .saturated = r.saturated,
                               .subnormal_in = r.subnormal_in,
                               .nan = r.nan,
                               .max_ulp = r.max_ulp,
                               .mean_ulp = r.mean_ulp,
                               .norm_err = r.norm_err,
                               .sqnr_db = r.sqnr_db,
                               .bias = r.bias,
                               .max_comp = r.max_comp,
                               .mean_comp = r.mean_comp,
                               .bound = x->bound,
                               .terms = t->terms,
                               .swamped_terms = t->swamped_terms,
                               .truncated_terms = t->truncated_terms,
                               .acc_steps = t->steps,
                               .absorbed_acc = t->absorbed_acc,
                               .cancelled_steps = t->cancelled_steps,
                               .cancel_bits = t->cancel_bits,
                               .cancel_max = t->cancel_max,
                               .quantisation_err = x->quantisation_err,
                               .unquantised_err = x->unquantised_err,
                               .n_ulp = TSR_CHECK_BINS,
                               .ulp = keep(e->arena, x->check.hist, TSR_CHECK_BINS),
                               .ulp_edges = e->ulp,
                               .n_cancel = TSR_STUDY_CANCEL_BINS,
                               .cancel = keep(e->arena, x->cancel, TSR_STUDY_CANCEL_BINS),
                               .cancel_edges = e->cancel};
  return p->ulp && p->cancel ? TSR_OK : tsr_err_nomem(err);
}

static size_t count_points(const struct mma_args *a) {
  size_t dists = 0;
  for (int d = 0; d < TSR_DRAW_N_; d++) dists += a->dists[d];
  return a->n_models * dists * a->n_k;
}

static enum tsr_status study(struct eval *e, struct tsr_err *err) {
  const struct mma_args *a = e->a;
  size_t total = count_points(a);
  TSR_CHECK(a->n_models == 0 || e->units);
  enum tsr_status st = TSR_OK;
  for (size_t u = 0; !st && u < a->n_models; u++)
    for (int d = 0; d < TSR_DRAW_N_; d++)
      for (size_t k = 0; !st && a->dists[d] && k < a->n_k; k++) {
        struct tsr_study s = {e->units[u], (enum tsr_draw)d, a->seed, a->m, a->n, a->k[k]};
        struct tsr_study_result x;
        tsr_progress("points", e->n, total);
        st = tsr_study_run(&s, &x, err);
        if (!st) st = add_point(e, &s, &x, err);
      }
  tsr_progress("points", 0, 0);
  return st;
}

static enum tsr_status eval_make(struct eval *e, struct tsr_err *err) {
  const struct mma_args *a = e->a;
  e->arena = tsr_arena_create();
  if (!e->arena) return tsr_err_nomem(err);
  e->specs = tsr_arena_array(e->arena, a->n_models, sizeof *e->specs);
  e->units = tsr_arena_array(e->arena, a->n_models, sizeof *e->units);
  e->points = tsr_arena_array(e->arena, count_points(a), sizeof *e->points);
  e->ulp = ulp_edges(e->arena);
  e->cancel = cancel_edges(e->arena);
  if (!e->specs || !e->units || !e->points || !e->ulp || !e->cancel) return tsr_err_nomem(err);
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < a->n_models; i++) st = find_unit(e, i, err);
  return st;
}

static enum tsr_status picture(struct tsr_store *s, uint64_t id, const char *path,
                               struct tsr_err *err) {
  char *svg = NULL;
  enum tsr_status st = tsr_picture_error_k(s, id, &svg, err);
  if (!st) st = tsr_io_write(path, svg, strlen(svg), err);
  tsr_mem_free(svg);
  return st;
}

static enum tsr_status print_eval(struct cmd_ctx *ctx, struct tsr_store *s, uint64_t id,
                                  const char *picture_path) {
  char *text = NULL;
  enum tsr_query_format format = ctx->json ? TSR_QUERY_JSON : TSR_QUERY_TEXT;
  enum tsr_status st = tsr_query_eval(s, id, format, &text, &ctx->err);
  struct tsr_str out = TSR_STR_INIT;
  if (!st) {
    tsr_str_add(&out, text);
    if (!ctx->json && picture_path) tsr_str_addf(&out, "picture in %s\n", picture_path);
    if (!ctx->json) tsr_str_addf(&out, "study %" PRIu64 " in %s\n", id, ctx->db);
    st = finish(ctx, &out);
  }
  tsr_mem_free(text);
  return st;
}

static enum tsr_status eval(struct cmd_ctx *ctx, const struct mma_args *a) {
  struct eval e = {.a = a};
  struct tsr_store *s = NULL;
  uint64_t id = 0;
  enum tsr_status st = a->out ? cmd_guard_output(ctx, a->out, NULL, 0) : TSR_OK;
  if (!st) st = eval_make(&e, &ctx->err);
  if (!st) st = cmd_open(ctx, TSR_STORE_WRITE, &s);
  if (!st) st = study(&e, &ctx->err);
  const struct tsr_eval_record record = {cmd_version, a->seed, a->m, a->n, e.n, e.points};
  if (!st) st = tsr_store_put_eval(s, &record, &id, &ctx->err);
  if (!st && a->out) st = picture(s, id, a->out, &ctx->err);
  if (!st) st = print_eval(ctx, s, id, a->out);
  if (e.arena) tsr_arena_destroy(e.arena);
  return cmd_close(ctx, s, st);
}

CMD(mma) {
  static const struct argp_option options[] = {
      {"model", OPT_MODEL, "NAME", 0, "a unit of `mma list`, or its text (repeatable for eval)",
       0},
      {"k", OPT_K, "K[,K...]", 0,
       "eval: lengths; one value stands for the powers of two up to it", 0},
      {"m", OPT_M, "M", 0, "eval: rows of results (default 16)", 0},
      {"n", OPT_N, "N", 0, "eval: columns of results (default 16)", 0},
      {"dist", OPT_DIST, "D[,D...]", 0,
       "eval: normal, uniform, same-sign, lognormal, outliers, cancelling, ones, or all "
       "(default normal)",
       0},
      {"seed", OPT_SEED, "N", 0, "eval: of the operands' values (default 1)", 0},
      {"output", 'o', "FILE.svg", 0, "eval: draw the error against K", 0},
      {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse_mma,
      .args_doc = "list|check FILE...|eval",
      .doc = "list: the matrix units. check: replays vector files through their unit, or "
             "--model; exit 1 on a mismatch. eval: error of units against the exact result, "
             "into the store (v_mma_eval)."};
  struct mma_args a = {.action = -1, .m = 16, .n = 16, .seed = 1};
  cmd_parse(ctx, &argp, argc, argv, &a);
  enum tsr_status st = a.action == LIST    ? list(ctx)
                       : a.action == CHECK ? check(ctx, &a)
                                           : eval(ctx, &a);
  tsr_mem_free(a.models);
  tsr_mem_free(a.files);
  return st;
}
