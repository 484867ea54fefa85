/* What many use: links, slices, channels; and the banks that conflicts are counted for. */
#include <stdio.h>
#include <string.h>

#include "sim/engine/engine_int.h"

static uint64_t cycles_of(const struct tsr_engine *e, uint64_t fs) {
  return tsr_clock_cycle_at(fs, e->env.clock_hz);
}

static bool memory_resource(const struct tsr_engine *e, const struct tsr_instance *x, size_t i,
                            struct tsr_resource_result *out) {
  struct tsr_resource r = {0};
  x->ops->memory->resource(x->state, i, &r);
  if (!r.bytes && !r.wait_fs) return false;
  *out = (struct tsr_resource_result){.instance = x->name,
                                      .bytes = r.bytes,
                                      .busy_cycles = cycles_of(e, r.busy_fs),
                                      .wait_cycles = cycles_of(e, r.wait_fs)};
  memcpy(out->name, r.name, sizeof out->name);
  return true;
}

static bool bank_resource(const struct tsr_instance *x, size_t i,
                          struct tsr_resource_result *out) {
  uint64_t conflicts = x->ops->buffer->bank_conflicts(x->state, i);
  if (!conflicts) return false;
  *out = (struct tsr_resource_result){.instance = x->name, .wait_cycles = conflicts};
  (void)snprintf(out->name, sizeof out->name, "bank%zu", i);
  return true;
}

static size_t count(const struct tsr_instance *x) {
  if (x->ops->memory && x->ops->memory->resources) return x->ops->memory->resources(x->state);
  if (x->ops->buffer && x->ops->buffer->banks) return x->ops->buffer->banks(x->params);
  return 0;
}

size_t tsri_resources_count(const struct tsr_engine *e) {
  size_t n = 0;
  for (size_t i = 0; i < e->machine->n_slots; i++) n += count(&e->inst[i]);
  return n;
}

size_t tsr_engine_resources(struct tsr_engine *e, const struct tsr_resource_result **out) {
  size_t n = 0;
  for (size_t i = 0; i < e->machine->n_slots; i++) {
    const struct tsr_instance *x = &e->inst[i];
    for (size_t j = 0; j < count(x); j++) {
      struct tsr_resource_result *r = &e->resource_results[n];
      n += x->ops->memory ? memory_resource(e, x, j, r) : bank_resource(x, j, r);
    }
  }
  *out = e->resource_results;
  return n;
}

enum tsr_status tsr_engine_counters(const struct tsr_engine *e,
                                    enum tsr_status (*fn)(void *arg,
                                                          const struct tsr_counter_result *r),
                                    void *arg) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < e->machine->n_slots; i++) {
    const struct tsr_instance *x = &e->inst[i];
    if (!x->ops->memory || !x->ops->counters) continue;
    for (size_t k = 0; !st && x->ops->counters[k].name; k++)
      st = fn(arg, &(struct tsr_counter_result){.instance = x->name,
                                                .name = x->ops->counters[k].name,
                                                .value = x->counters[k]});
  }
  return st;
}

static enum tsr_status
moved_by(const struct tsr_engine *e, const struct tsr_instance *x,
         enum tsr_status (*fn)(void *arg, const struct tsr_moved_result *r), void *arg) {
  struct tsr_history h;
  enum tsr_status st = TSR_OK;
  x->ops->memory->history(x->state, &h);
  for (uint64_t k = 0; !st && k < TSR_HISTORY_MAX; k++) {
    struct tsr_moved_result r = {
        .instance = x->name, .start_cycles = cycles_of(e, k * h.fs), .bytes = h.bytes[k]};
    r.cycles = cycles_of(e, (k + 1) * h.fs) - r.start_cycles;
    if (r.bytes && r.cycles) st = fn(arg, &r);
  }
  return st;
}

enum tsr_status tsr_engine_moved(const struct tsr_engine *e,
                                 enum tsr_status (*fn)(void *arg,
                                                       const struct tsr_moved_result *r),
                                 void *arg) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < e->machine->n_slots; i++)
    if (e->inst[i].ops->memory && e->inst[i].ops->memory->history)
      st = moved_by(e, &e->inst[i], fn, arg);
  return st;
}
