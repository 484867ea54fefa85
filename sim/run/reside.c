/* What had better stay on the chip (`--keep auto`): a few ways, each simulated whole.
 *
 * On a machine of one core some sizes of what scratchpad a keeps; with a last-level buffer
 * weights that bypass it.  Of the ways that are no slower than none, and within a hundredth of
 * the fastest, the one that moves the fewest bytes, then the first. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/log.h"

#include "sim/run/run_int.h"

enum { EIGHTHS = 7, WAYS_MAX = 1 + EIGHTHS };

struct way {
  struct tsr_residency how;
  struct tsr_run_measured m;
  bool fits;
};

static size_t list_ways(const struct tsr_machine *m, struct way *w) {
  uint64_t bytes = tsri_size_of_a(m);
  size_t n = 1;
  w[0].how = (struct tsr_residency){0};
  if (m->llb >= 0) w[n++].how = (struct tsr_residency){.weights_bypass = true};
  for (uint64_t i = 1; m->cores == 1 && m->llb < 0 && i <= EIGHTHS; i++)
    w[n++].how = (struct tsr_residency){.keep_bytes = bytes / 8 * i};
  return n;
}

/* Templates stand for whatever mappings are to come. */
static enum tsr_status measure(const struct tsr_run_options *o, struct way *w, bool must,
                               struct tsr_err *err) {
  struct tsr_run_options own = *o;
  struct tsr_run_plan p;
  struct tsr_err quiet = TSR_ERR_INIT;
  own.keep = own.mapping = own.mapping_text = NULL;
  own.residency = &w->how;
  enum tsr_status st = tsr_run_plan_make(&own, &p, must ? err : &quiet);
  w->fits = !st && (must || p.n_kept || w->how.weights_bypass);
  if (!st) {
    if (w->fits) st = tsr_run_measure(&p, &w->m, err);
    tsr_run_plan_fini(&p);
  } else if (!must && (st == TSR_INPUT || st == TSR_USAGE)) {
    st = TSR_OK; /* tiles do not fit what is left */
  }
  tsr_err_fini(&quiet);
  return st;
}

enum tsr_status tsri_without(const struct tsr_run_options *o, const struct tsr_run_plan *p,
                             struct tsr_err *err) {
  struct way w = {.how = {0}};
  bool any = p->residency.keep_bytes || p->residency.weights_bypass;
  if (!any || o->residency || o->graph) return TSR_OK; /* a graph in memory runs once */
  enum tsr_status st = measure(o, &w, true, err);
  if (!st)
    tsr_log_note("without what stays on the chip, by templates: %" PRIu64 " cycles, %" PRIu64
                 " bytes of DRAM",
                 w.m.cycles, w.m.dram_bytes);
  return st;
}

static const struct way *choose(const struct way *w, size_t n) {
  uint64_t fastest = UINT64_MAX;
  const struct way *best = &w[0];
  for (size_t i = 0; i < n; i++)
    if (w[i].fits) fastest = tsr_min_u64(fastest, w[i].m.cycles);
  for (size_t i = 0; i < n; i++) {
    const struct tsr_run_measured *m = &w[i].m;
    bool good = w[i].fits && m->cycles <= w[0].m.cycles && m->cycles <= fastest + fastest / 100;
    bool first = best->m.cycles > fastest + fastest / 100;
    if (good && (first || m->dram_bytes < best->m.dram_bytes)) best = &w[i];
  }
  return best;
}

static void note(const struct way *none, const struct way *best) {
  char size[48];
  const struct tsr_residency *how = &best->how;
  if (best == none) {
    tsr_log_note("keep auto: nothing had better stay on the chip");
    return;
  }
  tsr_log_note("keep auto: %s%s; by templates %" PRIu64 " cycles and %" PRIu64
               " bytes of DRAM, without %" PRIu64 " and %" PRIu64,
               how->keep_bytes ? "keep " : "bypass: weights",
               how->keep_bytes ? tsr_quantity_print(how->keep_bytes, TSR_UNIT_BYTES, size) : "",
               best->m.cycles, best->m.dram_bytes, none->m.cycles, none->m.dram_bytes);
}

enum tsr_status tsri_reside(const struct tsr_run_options *o, struct tsr_residency *out,
                            struct tsr_err *err) {
  struct tsr_machine *m = NULL;
  struct way w[WAYS_MAX + 1] = {0};
  enum tsr_status st = tsr_machine_read(o->arch, o->arch_text, o->sets, o->n_sets, &m, err);
  if (st) return st;
  size_t n = list_ways(m, w);
  tsr_machine_destroy(m);
  for (size_t i = 0; !st && i < n; i++) st = measure(o, &w[i], i == 0, err);
  if (st) return st;
  const struct way *best = choose(w, n);
  *out = best->how;
  note(&w[0], best);
  return TSR_OK;
}
