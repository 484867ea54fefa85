#include "tests/unit/store/sample.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/mem.h"

enum { PEAK = 1024 };
static const double clock_hz = 1e9;

static const struct tsr_run_input inputs[] = {
    {"arch", "edge.yaml", "version: 1\nname: edge\n"},
    {"workload", "net.csv", "model,layer,op,M,N,K,count,notes\n"},
};

static void layer_segments(struct tsr_arena *a, struct tsr_run_layer *l, size_t n) {
  struct tsr_run_segment *g = tsr_arena_array(a, n ? n : 1, sizeof *g);
  for (size_t i = 0; i < n; i++)
    g[i] = (struct tsr_run_segment){
        "tile0", i % 2 ? "idle" : "busy", l->start_cycles + i, 3, 10, i % 5 + 1};
  l->n_segments = n;
  l->segments = g;
}

static void layer_parts(struct tsr_arena *a, struct tsr_run_layer *l) {
  struct tsr_run_stall *st = tsr_arena_array(a, 3, sizeof *st);
  st[0] = (struct tsr_run_stall){"dram_bandwidth", l->stall_cycles - 50};
  st[1] = (struct tsr_run_stall){"ramp", 50};
  st[2] = (struct tsr_run_stall){"noc", 0};
  l->n_stalls = 3;
  l->stalls = st;
  struct tsr_run_unit *u = tsr_arena_array(a, 4, sizeof *u);
  u[0] = (struct tsr_run_unit){"tile0", "busy", l->compute_cycles};
  u[1] = (struct tsr_run_unit){"tile0", "dram_bandwidth", l->stall_cycles};
  u[2] = (struct tsr_run_unit){"dma", "busy", l->cycles / 2};
  u[3] = (struct tsr_run_unit){"dma", "idle", l->cycles - l->cycles / 2};
  l->n_units = 4;
  l->units = u;
  if (!l->macs) return;
  struct tsr_run_numeric *x = tsr_arena_array(a, 2, sizeof *x);
  static const uint64_t hist[] = {7, 0, 2};
  static const struct tsr_hist_edge edges[] = {{0, 0}, {0, 0.5}, {0.5, 1}};
  x[0] = (struct tsr_run_numeric){.tensor = "out",
                                  .k_to = l->k,
                                  .checked_elems = 64,
                                  .overflow = 1,
                                  .underflow = 2,
                                  .saturated = 3,
                                  .subnormal_in = 4,
                                  .nan = 5,
                                  .swamped_terms = 6,
                                  .max_ulp = 1.5,
                                  .mean_ulp = 0.1,
                                  .norm_err = 1e-3,
                                  .sqnr_db = INFINITY,
                                  .bias = -0.25,
                                  .max_comp = 1e-7,
                                  .mean_comp = 1e-8,
                                  .bound = 1e-6,
                                  .terms = 9,
                                  .truncated_terms = 8,
                                  .acc_steps = 7,
                                  .absorbed_acc = 1,
                                  .cancelled_steps = 5,
                                  .cancel_bits = 20,
                                  .cancel_max = 11};
  x[1] = x[0];
  x[1].n_hist = 3;
  x[1].hist = hist;
  x[1].hist_edges = edges;
  x[1].k_to = l->k / 2;
  x[1].sqnr_db = 60.125;
  l->n_numeric = 2;
  l->numeric = x;
}

static void layer_fill(struct sample *s, size_t i, size_t segments, bool has_macs,
                       uint64_t start) {
  struct tsr_run_layer *l = &s->layers[i];
  l->index = i;
  l->name = tsr_arena_printf(s->arena, "layers.%zu.%s", i, has_macs ? "qkv" : "softmax");
  l->op = has_macs ? "matmul" : "softmax";
  l->m = 128, l->n = 64 * (i + 1), l->k = 256, l->count = 1;
  l->kernel = has_macs ? "mma_fp16" : "vector";
  l->mapping = has_macs ? "os" : NULL;
  l->format_a = l->format_b = l->format_out = "fp16";
  l->format_acc = "fp32";
  if (i == 1) {
    l->requested_kernel = "mma_fp8";
    l->fallback_reason = "no \"fp8\" rate on this tile, so fp16";
  }
  l->folds = i + 1;
  l->start_cycles = start;
  l->compute_cycles = 4000 * (i + 1);
  l->stall_cycles = 50 + 700 * (i + 1);
  l->cycles = l->compute_cycles + l->stall_cycles;
  l->time_s = (double)l->cycles / clock_hz;
  l->macs = l->executed_macs = has_macs ? l->m * l->n * l->k : 0;
  l->peak_macs_per_cycle = PEAK;
  l->utilization = has_macs ? (double)l->macs / ((double)l->cycles * PEAK) : (double)NAN;
  l->mapping_efficiency = has_macs ? 0.75 : (double)NAN;
  l->compulsory_bytes = 2 * (l->m * l->k + l->k * l->n + l->m * l->n);
  l->dram_write_bytes = 2 * l->m * l->n;
  l->dram_read_bytes = l->compulsory_bytes - l->dram_write_bytes + 18080 * (i + 1);
  l->dma_bytes = l->dram_read_bytes + l->dram_write_bytes;
  l->sram_read_bytes = 900000;
  l->sram_write_bytes = 100000;
  l->transfers = 12;
  l->tile_active_cycles = l->compute_cycles - 100;
  l->energy_pj = NAN;
  layer_segments(s->arena, l, segments);
  layer_parts(s->arena, l);
}

static const struct tsr_run_tenant_record tenants[] = {
    {.workload = "net.csv", .first_core = 0, .cores = 1}};
static const struct tsr_run_counter counters[] = {
    {.instance = "dram", .counter = "activates", .value = 1234567},
    {.instance = "dram", .counter = "read_bytes", .value = 4096}};
static const struct tsr_run_moved moved[] = {
    {.instance = "dram", .start_cycles = 0, .cycles = 64, .bytes = 4096},
    {.instance = "dram", .start_cycles = 128, .cycles = 64, .bytes = 8192}};
static const struct tsr_run_quality quality[] = {
    {.metric = "top1", .value = 0.875, .n = 500, .limit_value = NAN, .met = TSR_STORE_NULL},
    {.metric = "expect_ulp",
     .tensor = "logits",
     .value = 3,
     .n = 5000,
     .limit_value = 2,
     .met = 0}};
static const struct tsr_run_resource resources[] = {{.instance = "dram",
                                                     .resource = "channel0",
                                                     .bytes = 4096,
                                                     .busy_cycles = 80,
                                                     .wait_cycles = 12345},
                                                    {.instance = "core0.sram.a",
                                                     .resource = "bank1",
                                                     .bytes = 512,
                                                     .busy_cycles = 16,
                                                     .wait_cycles = 3}};

void sample_init(struct sample *s, size_t layers, size_t segments, bool vector) {
  memset(s, 0, sizeof *s);
  s->arena = tsr_arena_create();
  s->layers = tsr_arena_array(s->arena, layers, sizeof *s->layers);
  struct tsr_run_totals t = {0};
  for (size_t i = 0; i < layers; i++) {
    layer_fill(s, i, segments, !(vector && i % 3 == 2), t.cycles);
    const struct tsr_run_layer *l = &s->layers[i];
    t.cycles += l->cycles;
    t.macs += l->macs;
    t.executed_macs += l->executed_macs;
    t.dram_read_bytes += l->dram_read_bytes;
    t.dram_write_bytes += l->dram_write_bytes;
    t.dma_bytes += l->dma_bytes;
    t.sram_read_bytes += l->sram_read_bytes;
    t.sram_write_bytes += l->sram_write_bytes;
  }
  t.time_s = (double)t.cycles / clock_hz;
  t.utilization = (double)t.executed_macs / PEAK / (double)t.cycles;
  t.tensor_active = 0.5;
  t.energy_pj = t.avg_power_mw = t.peak_power_mw = t.tokens_per_s = (double)NAN;
  t.inferences_per_s = 1 / t.time_s;
  t.events = 1234;
  t.fast_forwarded = 99;
  t.wall_s = 0.125;
  s->run = (struct tsr_run_record){.name = "base",
                                   .arch = "edge.yaml",
                                   .workload = "net.csv",
                                   .model = "event",
                                   .status = "done",
                                   .version = "0.1.0",
                                   .seed = UINT64_MAX,
                                   .numerics = "off",
                                   .trace = "summary",
                                   .clock_hz = clock_hz,
                                   .peak_macs_per_cycle = PEAK,
                                   .dram_bytes_per_s = 51.2e9,
                                   .totals = t,
                                   .n_tenants = 1,
                                   .tenants = tenants,
                                   .n_resources = 2,
                                   .resources = resources,
                                   .n_counters = 2,
                                   .counters = counters,
                                   .n_moved = 2,
                                   .moved = moved,
                                   .n_quality = 2,
                                   .quality = quality,
                                   .n_inputs = 2,
                                   .inputs = inputs,
                                   .n_layers = layers,
                                   .layers = s->layers};
}

void sample_fini(struct sample *s) {
  tsr_arena_destroy(s->arena);
}

const char *sample_dir(void) {
  static char dir[64];
  /* In memory where there is such a place: the tests sync thousands of times. */
  snprintf(dir, sizeof dir, "%s/tsr-store-XXXXXX",
           access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp");
  if (!mkdtemp(dir)) abort();
  return dir;
}

void sample_dir_remove(const char *dir) {
  DIR *d = opendir(dir);
  if (!d) return;
  char path[512];
  for (struct dirent *e; (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
    if (unlink(path) != 0) rmdir(path);
  }
  closedir(d);
  rmdir(dir);
}

long long sample_number(struct tsr_store *s, const char *sql) {
  struct tsr_query *q = NULL;
  bool row = false;
  long long v = -1;
  if (tsr_store_query(s, sql, &q, NULL) != TSR_OK) return v;
  if (tsr_query_step(q, &row, NULL) == TSR_OK && row) v = (long long)tsr_query_u64(q, 0);
  tsr_query_close(q);
  return v;
}
