#include "tile_rig.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/mem.h"

static const char *const flows[] = {"os", "ws", "is"};

void rig_make(struct rig *r, const char *kind, const char *text, const char *sram_a,
              const char *sram_b, const char *sram_c) {
  fake_open(&r->f, 1000000000);
  fake_make(&r->f, &r->a, "sram", sram_a, NULL, NULL, NULL);
  fake_make(&r->f, &r->b, "sram", sram_b, NULL, NULL, NULL);
  fake_make(&r->f, &r->c, "sram", sram_c, NULL, NULL, NULL);
  fake_make(&r->f, &r->tile, kind, text, &r->a, &r->b, &r->c);
}

void rig_open(struct rig *r, const struct array *x, const char *sram_a, const char *sram_b,
              const char *sram_c) {
  char text[200];
  snprintf(text, sizeof text,
           "{rows: %llu, cols: %llu, dataflow: %s, weight_preload: %s, drain: %s, rule: %s}",
           (unsigned long long)x->R, (unsigned long long)x->C, flows[x->flow],
           x->preload ? "true" : "false", x->serial ? "serial" : "overlap",
           x->onnxim ? "onnxim" : "array");
  rig_make(r, "tile.systolic", text, sram_a, sram_b, sram_c);
}

void rig_run(struct rig *r, struct ask *a, size_t n) {
  fake_chain(&r->f, &r->tile, a, n, 0);
  fake_run(&r->f);
  fake_check(a, n);
  r->tile.ops->unit->end(r->tile.state);
}
void rig_close(struct rig *r) {
  fake_drop(&r->tile);
  fake_drop(&r->a);
  fake_drop(&r->b);
  fake_drop(&r->c);
  fake_close(&r->f);
}

struct ask mm(uint64_t m, uint64_t n, uint64_t k) {
  struct ask a = {.req = {.mm = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .groups = 1,
                                 .first = true,
                                 .last = true,
                                 .a_bytes = 2,
                                 .b_bytes = 2,
                                 .acc_bytes = 4,
                                 .out_bytes = 2,
                                 .rate = 1}}};
  return a;
}

/* ---- the second evaluation ---- */

/* Products along k: of every four positions the first two, where b is sparse. */
static uint64_t executed_k(const struct tsr_mm_req *q) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < q->k; i++) n += !q->sparse || i % 4 < 2;
  return n;
}

uint64_t macs_of(const struct tsr_mm_req *q) {
  return q->m * q->n * executed_k(q) * q->groups;
}

uint64_t folds_of(const struct array *x, const struct tsr_mm_req *q) {
  uint64_t rows = x->flow == OS ? q->m : executed_k(q), cols = x->flow == IS ? q->m : q->n;
  uint64_t high = x->flow == OS ? x->R : x->R * q->rate;
  return ((rows + high - 1) / high) * ((cols + x->C - 1) / x->C) * q->groups;
}
uint64_t stream_of(const struct array *x, const struct tsr_mm_req *q) {
  if (x->flow == OS) return (executed_k(q) + q->rate - 1) / q->rate;
  uint64_t T = x->flow == WS ? q->m : q->n;
  return x->onnxim && T < 4 ? 4 : T;
}

uint64_t end_of(const struct array *x, const struct tsr_mm_req *q) {
  uint64_t F = folds_of(x, q), T = stream_of(x, q), skew = x->R + x->C - 2;
  if (x->flow == OS && x->serial) return F * (T + skew + x->R);
  if (x->flow == OS) return F * (T + skew) + x->R;
  if (!x->preload) return F * (x->R + T + skew);
  uint64_t first = x->onnxim ? 2 * x->R - 1 : x->R;
  return first + (F - 1) * (T > x->R ? T : x->R) + T + skew;
}

uint64_t cycles(uint64_t fs) {
  assert_int_equal(fs % NS, 0);
  return fs / NS;
}

struct array random_array(struct tsr_rng *r) {
  struct array x = {(int)tsr_rng_range(r, 0, 2), tsr_rng_range(r, 1, 40),
                    tsr_rng_range(r, 1, 40),     tsr_rng_range(r, 0, 1),
                    tsr_rng_range(r, 0, 1),      false};
  return x;
}
