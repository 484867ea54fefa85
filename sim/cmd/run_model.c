#include "sim/cmd/run_model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/query/query.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"

struct row {
  const struct tsr_run_layer_plan *layer;
  struct tsr_cost cost;
  uint64_t events; /* cycles of the stored run, 0: there is none */
};

struct table {
  struct tsr_run_plan p;
  struct row *row; /* owned */
  size_t n, others;
  double cycles;
  bool both;
};

/* ---- gathered ---- */

/* Cycles of the stored run's next layer. */
static enum tsr_status next_cycles(struct tsr_query *q, uint64_t *out, struct tsr_err *err) {
  bool row = false;
  enum tsr_status st = q ? tsr_query_step(q, &row, err) : TSR_OK;
  *out = !st && row ? tsr_query_u64(q, 0) : 0;
  return st;
}

static enum tsr_status gather(struct table *t, const struct tsr_run_options *o,
                              struct tsr_store *s, uint64_t run, struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status st = tsr_run_plan_make(o, &t->p, err);
  if (st) return st;
  t->both = s != NULL;
  t->row = tsr_mem_array(t->p.n_layers + 1, sizeof *t->row);
  if (!t->row) return tsr_err_nomem(err);
  if (s)
    st = tsr_store_query(s, "SELECT cycles FROM v_layers WHERE run = ?1 ORDER BY layer", &q,
                         err);
  if (!st && q) tsr_query_bind_u64(q, 1, run);
  for (size_t i = 0; !st && i < t->p.n_layers; i++) {
    struct row *r = &t->row[t->n];
    r->layer = &t->p.layers[i];
    st = next_cycles(q, &r->events, err);
    if (st || !tsr_run_is_product(r->layer)) {
      t->others++;
      continue;
    }
    tsr_run_cost(&t->p, r->layer, &r->cost);
    t->cycles += r->cost.cycles;
    t->n++;
  }
  tsr_query_close(q);
  return st;
}

static void fini(struct table *t) {
  tsr_mem_free(t->row);
  tsr_run_plan_fini(&t->p);
}

/* ---- off by ---- */

static double off(const struct row *r) {
  return r->events ? r->cost.cycles / (double)r->events - 1 : 0;
}

static int by_size(const void *a, const void *b) {
  double x = fabs(off(a)), y = fabs(off(b));
  return (x > y) - (x < y);
}

/* In per cent; the rows are sorted by it. */
static void quantiles(struct table *t, double *median, double *p95) {
  qsort(t->row, t->n, sizeof *t->row, by_size);
  *median = 100 * fabs(off(&t->row[t->n / 2]));
  *p95 = 100 * fabs(off(&t->row[t->n * 95 / 100]));
}

/* ---- printed ---- */

static void text_row(const struct row *r, struct tsr_str *out) {
  tsr_str_addf(out, "%-28s %12.0f  %-6s %6.1f %6.1f", r->layer->op->name, r->cost.cycles,
               tsr_bound_names[r->cost.bound],
               100 * r->cost.busy[TSR_BOUND_TILE] / r->cost.cycles,
               100 * r->cost.busy[TSR_BOUND_MEMORY] / r->cost.cycles);
  if (r->events) tsr_str_addf(out, "  %12" PRIu64 " %+7.2f", r->events, 100 * off(r));
  tsr_str_add(out, "  ");
  tsr_run_layer_print(r->layer, out);
  tsr_str_add(out, "\n");
}

enum tsr_status cmd_model_text(struct cmd_ctx *ctx, const struct tsr_run_options *o,
                               struct tsr_store *s, uint64_t run, struct tsr_str *out) {
  struct table t = {0};
  enum tsr_status st = gather(&t, o, s, run, &ctx->err);
  if (!st) {
    tsr_str_addf(out, "%-28s %12s  %-6s %6s %6s%s  mapping\n", "layer", "model", "bound",
                 "tile %", "mem %", t.both ? "        events   off %" : "");
    for (size_t i = 0; i < t.n; i++) text_row(&t.row[i], out);
    tsr_str_addf(out, "%.0f cycles of matmuls and convolutions by the model", t.cycles);
    if (t.others) tsr_str_addf(out, "; %zu other layers are left out", t.others);
    if (t.both && t.n) {
      double median, p95;
      quantiles(&t, &median, &p95);
      tsr_str_addf(out, "; off by %.2f %% (median), %.2f %% (95th percentile)", median, p95);
    }
    tsr_str_add(out, "\n");
  }
  fini(&t);
  return st;
}

static void json_row(const struct row *r, struct tsr_str *out) {
  struct tsr_str map = TSR_STR_INIT;
  tsr_run_layer_print(r->layer, &map);
  tsr_str_add(out, "{\"name\": ");
  tsr_str_add_json(out, r->layer->op->name);
  tsr_str_addf(out,
               ", \"cycles\": %.0f, \"bound\": \"%s\", \"tile_cycles\": %.0f, "
               "\"memory_cycles\": %.0f, \"vector_cycles\": %.0f, \"dram_bytes\": %.0f",
               r->cost.cycles, tsr_bound_names[r->cost.bound], r->cost.busy[TSR_BOUND_TILE],
               r->cost.busy[TSR_BOUND_MEMORY], r->cost.busy[TSR_BOUND_VECTOR],
               r->cost.dram_bytes);
  if (r->events)
    tsr_str_addf(out, ", \"event_cycles\": %" PRIu64 ", \"off_pct\": %.4f", r->events,
                 100 * off(r));
  tsr_str_add(out, ", \"mapping\": ");
  tsr_str_add_json(out, map.p ? map.p : "");
  tsr_str_add(out, "}");
  out->failed = out->failed || map.failed;
  tsr_str_fini(&map);
}

enum tsr_status cmd_model_json(struct cmd_ctx *ctx, const struct tsr_run_options *o,
                               struct tsr_store *s, uint64_t run, struct tsr_str *out) {
  struct table t = {0};
  enum tsr_status st = gather(&t, o, s, run, &ctx->err);
  if (!st) {
    tsr_str_addf(out,
                 "{\"model\": \"analytic\", \"cycles\": %.0f, \"left_out\": %zu, "
                 "\"layers\": [",
                 t.cycles, t.others);
    for (size_t i = 0; i < t.n; i++) {
      tsr_str_add(out, i ? ",\n  " : "\n  ");
      json_row(&t.row[i], out);
    }
    tsr_str_add(out, "]}");
  }
  fini(&t);
  return st;
}
