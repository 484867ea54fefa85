/* The figures of a roofline, from the views of the store. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/picture/picture_int.h"

static const char run_sql[] =
    "SELECT name, arch, workload, dram_bytes_per_s, 2 * peak_macs_per_cycle * clock_hz, time_s "
    "FROM v_runs WHERE run = ?1";
static const char layers_sql[] =
    "SELECT layer, name, op, ops, ops_per_byte, compulsory_ops_per_byte, attained_ops_per_s, "
    "roof_ops_per_s, bound_ops_per_s, time_s FROM v_roofline WHERE run = ?1 ORDER BY layer";
/* The mixed network's roof: sum of MACs over sum of MACs / peak. */
static const char roofs_sql[] =
    "SELECT coalesce(format_a, ''), roof_ops_per_s FROM v_roofline WHERE run = ?1 AND ops > 0 "
    "AND "
    "roof_ops_per_s > 0 GROUP BY 1, 2 UNION ALL "
    "SELECT 'mix', sum(ops) / sum(ops / roof_ops_per_s) FROM v_roofline WHERE run = ?1 AND ops "
    "> 0 "
    "AND roof_ops_per_s > 0 HAVING count(DISTINCT roof_ops_per_s) > 1 ORDER BY 2 DESC, 1";

static enum tsr_status begin(struct tsr_store *s, const char *sql, uint64_t id,
                             struct tsr_query **q, struct tsr_err *err) {
  enum tsr_status status = tsr_store_query(s, sql, q, err);
  if (status == TSR_OK) tsr_query_bind_u64(*q, 1, id);
  return status;
}

/* A copy in the arena; NULL stays NULL, a lack of memory sets *ok to false. */
static const char *copy(struct roofline *r, const struct tsr_query *q, int i, bool *ok) {
  if (tsr_query_is_null(q, i)) return NULL;
  const char *text = tsr_arena_strdup(r->arena, tsr_query_text(q, i));
  if (!text) *ok = false;
  return text;
}

static enum tsr_status load_run(struct tsr_store *s, uint64_t id, struct roofline *r,
                                struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status status = begin(s, run_sql, id, &q, err);
  if (status != TSR_OK) return status;
  bool row = false, ok = true;
  status = tsr_query_step(q, &row, err);
  if (status == TSR_OK && !row)
    status = tsr_err_set(err, TSR_INPUT, "there is no run %" PRIu64 " in the store", id);
  if (status == TSR_OK) {
    struct roofline_run *run = &r->runs[r->n_runs++];
    *run = (struct roofline_run){.id = id,
                                 .name = copy(r, q, 0, &ok),
                                 .arch = copy(r, q, 1, &ok),
                                 .workload = copy(r, q, 2, &ok),
                                 .bandwidth = tsr_query_double(q, 3),
                                 .peak = tsr_query_double(q, 4),
                                 .time_s = tsr_query_double(q, 5)};
    if (!ok) status = tsr_err_nomem(err);
  }
  tsr_query_close(q);
  return status;
}

static enum tsr_status add_point(struct roofline *r, const struct tsr_query *q,
                                 struct tsr_err *err) {
  size_t run = r->n_runs - 1;
  struct roofline_run *of = &r->runs[run];
  bool ok = true;
  struct point p = {.run = run, .layer = tsr_query_u64(q, 0)};
  p.x = tsr_query_double(q, 4);
  p.compulsory = tsr_query_double(q, 5);
  p.y = tsr_query_double(q, 6);
  p.roof = tsr_query_double(q, 7);
  p.bound = tsr_query_double(q, 8);
  p.time_s = tsr_query_double(q, 9);
  if (!(tsr_query_double(q, 3) > 0)) {
    of->without_macs++;
    if (p.time_s > 0) of->without_macs_s += p.time_s;
    return TSR_OK;
  }
  if (!(p.y > 0)) {
    of->without_time++;
    return TSR_OK;
  }
  if (!(p.x > 0)) of->without_bytes++;
  p.name = copy(r, q, 1, &ok);
  p.op = copy(r, q, 2, &ok);
  p.share = of->time_s > 0 ? p.time_s / of->time_s : (double)NAN;
  if (!ok ||
      !tsr_mem_grow((void **)&r->points, &r->cap_points, r->n_points + 1, sizeof *r->points))
    return tsr_err_nomem(err);
  r->points[r->n_points++] = p;
  return TSR_OK;
}

static enum tsr_status add_roof(struct roofline *r, const char *format, double ops_per_s,
                                struct tsr_err *err) {
  if (!tsr_mem_grow((void **)&r->roofs, &r->cap_roofs, r->n_roofs + 1, sizeof *r->roofs))
    return tsr_err_nomem(err);
  r->roofs[r->n_roofs++] = (struct roof){r->n_runs - 1, format, ops_per_s};
  return TSR_OK;
}

static enum tsr_status add_roof_row(struct roofline *r, const struct tsr_query *q,
                                    struct tsr_err *err) {
  bool ok = true;
  const char *format = copy(r, q, 0, &ok);
  return ok ? add_roof(r, format, tsr_query_double(q, 1), err) : tsr_err_nomem(err);
}

static enum tsr_status each(struct tsr_store *s, const char *sql, struct roofline *r,
                            enum tsr_status (*add)(struct roofline *, const struct tsr_query *,
                                                   struct tsr_err *),
                            struct tsr_err *err) {
  struct tsr_query *q = NULL;
  enum tsr_status status = begin(s, sql, r->runs[r->n_runs - 1].id, &q, err);
  if (status != TSR_OK) return status;
  bool row = false;
  while ((status = tsr_query_step(q, &row, err)) == TSR_OK && row)
    if ((status = add(r, q, err)) != TSR_OK) break;
  tsr_query_close(q);
  return status;
}

/* Costliest first; run and layer make the order total. */
static int by_time(const void *va, const void *vb) {
  const struct point *a = va, *b = vb;
  if (a->time_s != b->time_s) return a->time_s < b->time_s ? 1 : -1;
  if (a->run != b->run) return a->run < b->run ? -1 : 1;
  return a->layer < b->layer ? -1 : a->layer > b->layer;
}

enum tsr_status tsri_roofline_load(struct tsr_store *s, const uint64_t *ids, size_t n,
                                   struct roofline *r, struct tsr_err *err) {
  r->arena = tsr_arena_create();
  if (!r->arena) return tsr_err_nomem(err);
  for (size_t i = 0; i < n; i++) {
    enum tsr_status status = load_run(s, ids[i], r, err);
    size_t roofs = r->n_roofs;
    if (status == TSR_OK) status = each(s, layers_sql, r, add_point, err);
    if (status == TSR_OK) status = each(s, roofs_sql, r, add_roof_row, err);
    /* A run without a layer on the axes still has its machine's roof. */
    if (status == TSR_OK && r->n_roofs == roofs && r->runs[i].peak > 0)
      status = add_roof(r, "", r->runs[i].peak, err);
    if (status != TSR_OK) return status;
  }
  if (r->n_points) qsort(r->points, r->n_points, sizeof *r->points, by_time);
  return TSR_OK;
}

void tsri_roofline_fini(struct roofline *r) {
  if (r->arena) tsr_arena_destroy(r->arena);
  tsr_mem_free(r->points);
  tsr_mem_free(r->roofs);
}
