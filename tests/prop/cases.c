#include "tests/prop/cases.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PICK(r, ...) \
  pick(r, (const uint64_t[]){__VA_ARGS__}, sizeof(uint64_t[]){__VA_ARGS__} / sizeof(uint64_t))

static uint64_t pick(struct tsr_rng *r, const uint64_t *list, size_t n) {
  return list[tsr_rng_range(r, 0, n - 1)];
}
/* Small values as likely as large ones. */
static uint64_t skewed(struct tsr_rng *r, uint64_t high) {
  return tsr_rng_range(r, 1, tsr_rng_range(r, 1, high));
}

uint64_t prop_cases(uint64_t usual) {
  const char *more = getenv("TESSERA_PROP_CASES");
  return more && *more ? strtoull(more, NULL, 10) : usual;
}

void prop_machine_random(struct tsr_rng *r, struct prop_machine *m) {
  *m = (struct prop_machine){
      .flow = (int)tsr_rng_range(r, TSR_FLOW_OS, TSR_FLOW_IS),
      .preload = tsr_rng_range(r, 0, 1),
      .serial_drain = tsr_rng_range(r, 0, 3) == 0,
      .rows = skewed(r, 40),
      .cols = skewed(r, 40),
      .rate = PICK(r, 1, 1, 2, 4),
      .ports = (int)tsr_rng_range(r, PROP_1RW, PROP_2RW),
      .outstanding = PICK(r, 1, 2, 3, 8, 64, 1024),
      .burst_bytes = PICK(r, 1, 8, 32, 64, 100),
      .channels = PICK(r, 1, 2, 3, 8),
      .bandwidth = PICK(r, 100000000, 3000000000, 12800000000, 600000000000, TSR_UNLIMITED),
      .latency_ns = PICK(r, 0, 1, 17, 100, 1000),
      .clock_mhz = PICK(r, 1000, 700, 1300, 333)};
  for (int b = 0; b < 3; b++) {
    m->size_bytes[b] = PICK(r, 1024, 4096, 16384, 65536, 1u << 20);
    m->buffers[b] = PICK(r, 1, 2, 2, 3, 4, 16);
    m->banks[b] = PICK(r, 1, 2, 8);
    m->width_bytes[b] = PICK(r, 1, 4, 16, 64, TSR_UNLIMITED);
  }
}

void prop_machine_share(struct tsr_rng *r, struct prop_machine *m) {
  m->cores = PICK(r, 1, 2, 2, 3, 4, 7);
  m->tiles = PICK(r, 1, 1, 1, 2);
  m->split = (int)PICK(r, TSR_SPLIT_AUTO, TSR_SPLIT_AUTO, TSR_SPLIT_M, TSR_SPLIT_N,
                       TSR_SPLIT_HEADS, TSR_SPLIT_BATCH);
  m->noc = (int)PICK(r, PROP_NONE, PROP_CROSSBAR, PROP_MESH);
  m->noc_bandwidth = PICK(r, 1000000000, 16000000000, 64000000000, TSR_UNLIMITED);
  m->hop_ns = PICK(r, 0, 1, 5);
  m->header_bytes = PICK(r, 0, 16);
  m->llb_bytes = PICK(r, 0, 0, 0, 4096, 65536);
  m->llb_slices = PICK(r, 1, 4);
}

void prop_machine_idealise(struct prop_machine *m) {
  m->bandwidth = TSR_UNLIMITED;
  m->latency_ns = 0;
  for (int b = 0; b < 3; b++) m->width_bytes[b] = TSR_UNLIMITED;
}

static void add(struct prop_sets *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct prop_sets *s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  assert_true(s->n < PROP_SETS);
  vsnprintf(s->text[s->n], PROP_SET_MAX, fmt, ap);
  s->set[s->n] = s->text[s->n];
  s->n++;
  va_end(ap);
}

static void add_scratchpad(struct prop_sets *s, const struct prop_machine *m, int b) {
  static const char *const ports[] = {
      [PROP_1RW] = "1rw", [PROP_1R1W] = "1r1w", [PROP_2RW] = "2rw"};
  const char name = "abc"[b];
  add(s, "sram.%c.size=%" PRIu64 "B", name, m->size_bytes[b]);
  add(s, "sram.%c.buffers=%" PRIu64, name, m->buffers[b]);
  add(s, "sram.%c.banks=%" PRIu64, name, m->banks[b]);
  add(s, "sram.%c.ports=%s", name, ports[m->ports]);
  if (m->width_bytes[b] == TSR_UNLIMITED)
    add(s, "sram.%c.width=unlimited", name);
  else
    add(s, "sram.%c.width=%" PRIu64 "B", name, m->width_bytes[b]);
}

static void add_shared(struct prop_sets *s, const struct prop_machine *m) {
  static const char *const kinds[] = {
      [PROP_NONE] = "none", [PROP_CROSSBAR] = "crossbar", [PROP_MESH] = "mesh"};
  add(s, "cores=%" PRIu64, m->cores);
  add(s, "tile.count=%" PRIu64, m->tiles);
  add(s, "split=%s", tsr_split_names[m->split]);
  if (m->llb_bytes) {
    add(s, "llb.size=%" PRIu64 "B", m->llb_bytes);
    add(s, "llb.slices=%" PRIu64, m->llb_slices);
    add(s, "llb.ways=4");
  }
  if (m->noc == PROP_NONE) return;
  add(s, "noc.kind=%s", kinds[m->noc]);
  if (m->noc_bandwidth == TSR_UNLIMITED)
    add(s, "noc.bandwidth=unlimited");
  else
    add(s, "noc.bandwidth=%" PRIu64 "B/s", m->noc_bandwidth);
  add(s, "noc.hop=%" PRIu64 "ns", m->hop_ns);
  add(s, "noc.header=%" PRIu64 "B", m->header_bytes);
}

void prop_machine_sets(const struct prop_machine *m, struct prop_sets *out) {
  *out = (struct prop_sets){.n = 0};
  add(out, "tile.dataflow=%s", tsr_flow_names[m->flow]);
  add(out, "tile.weight_preload=%s", m->preload ? "true" : "false");
  add(out, "tile.drain=%s", m->serial_drain ? "serial" : "overlap");
  add(out, "tile.rows=%" PRIu64, m->rows);
  add(out, "tile.cols=%" PRIu64, m->cols);
  add(out, "tile.rates.fp16=%" PRIu64, m->rate);
  for (int b = 0; b < 3; b++) add_scratchpad(out, m, b);
  add(out, "dma.outstanding=%" PRIu64, m->outstanding);
  add(out, "dma.burst=%" PRIu64 "B", m->burst_bytes);
  add(out, "dram.channels=%" PRIu64, m->channels);
  if (m->bandwidth == TSR_UNLIMITED)
    add(out, "dram.bandwidth=unlimited");
  else
    add(out, "dram.bandwidth=%" PRIu64 "B/s", m->bandwidth);
  add(out, "dram.latency=%" PRIu64 "ns", m->latency_ns);
  add(out, "dram.capacity=unlimited");
  if (m->cores) add_shared(out, m);
  add(out, "clock=%" PRIu64 "MHz", m->clock_mhz);
}

static void convolution(struct tsr_rng *r, struct prop_operator *o) {
  uint64_t groups = PICK(r, 1, 1, 2, 5), c = groups * skewed(r, 16), f = groups * skewed(r, 24);
  uint64_t k[2], stride[2], pad[4], dil = PICK(r, 1, 1, 2), in[2], out[2],
                                    batch = PICK(r, 1, 1, 3);
  for (int i = 0; i < 2; i++) {
    k[i] = PICK(r, 1, 1, 2, 3, 5);
    stride[i] = PICK(r, 1, 1, 2, 3);
    pad[i] = PICK(r, 0, 1, 2);
    pad[i + 2] = PICK(r, 0, 1, 2);
    in[i] = dil * (k[i] - 1) + skewed(r, 12);
    out[i] = (in[i] + pad[i] + pad[i + 2] - dil * (k[i] - 1) - 1) / stride[i] + 1;
  }
  static const char head[] =
      "model,layer,op,M,N,K,count,notes,batch,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w,"
      "pad_t,pad_l,pad_b,pad_r,dil_h,dil_w,groups\n";
  int n = snprintf(o->text, sizeof o->text, "%sm,a,conv", head);
  const uint64_t row[] = {batch * out[0] * out[1], f / groups, k[0] * k[1] * c / groups,
                          groups};
  const uint64_t geometry[] = {batch,     c,      in[0],  in[1],  f,      k[0], k[1], stride[0],
                               stride[1], pad[0], pad[1], pad[2], pad[3], dil,  dil,  groups};
  for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
    n += snprintf(o->text + n, sizeof o->text - (size_t)n, ",%" PRIu64, row[i]);
  n += snprintf(o->text + n, sizeof o->text - (size_t)n, ",");
  for (size_t i = 0; i < sizeof geometry / sizeof geometry[0]; i++)
    n += snprintf(o->text + n, sizeof o->text - (size_t)n, ",%" PRIu64, geometry[i]);
  snprintf(o->text + n, sizeof o->text - (size_t)n, "\n");
  snprintf(o->name, sizeof o->name, "net.csv");
}

void prop_operator_random(struct tsr_rng *r, struct prop_operator *o) {
  *o = (struct prop_operator){.conv = tsr_rng_range(r, 0, 1)};
  if (o->conv)
    convolution(r, o);
  else
    snprintf(o->name, sizeof o->name, "gemm:%" PRIu64 "x%" PRIu64 "x%" PRIu64, skewed(r, 200),
             skewed(r, 200), skewed(r, 300));
}

void prop_print(const struct prop_machine *m, const struct prop_operator *o) {
  struct prop_sets s;
  prop_machine_sets(m, &s);
  print_message("--arch systolic-32 --workload %s", o->name);
  for (size_t i = 0; i < s.n; i++) print_message(" --set %s", s.set[i]);
  print_message("\n%s", o->text);
}

bool prop_plan(const struct prop_machine *m, const struct prop_operator *o,
               struct tsr_run_plan *out) {
  struct prop_sets s;
  struct tsr_err err = TSR_ERR_INIT;
  prop_machine_sets(m, &s);
  struct tsr_run_options opt = {.arch = "systolic-32",
                                .workload = o->name,
                                .workload_text = o->conv ? o->text : NULL,
                                .sets = s.set,
                                .n_sets = s.n};
  enum tsr_status st = tsr_run_plan_make(&opt, out, &err);
  bool too_large = st && err.n && strstr(err.msg[0], "does not fit: ");
  if (st && !too_large) {
    prop_print(m, o);
    fail_msg("%s", err.n ? err.msg[0] : "no plan");
  }
  tsr_err_fini(&err);
  return !st;
}

struct tsr_machine *prop_machine_make(const struct prop_machine *m) {
  struct prop_sets s;
  struct tsr_machine *out;
  struct tsr_err err = TSR_ERR_INIT;
  prop_machine_sets(m, &s);
  if (tsr_machine_read("systolic-32", NULL, s.set, s.n, &out, &err))
    fail_msg("%s", err.n ? err.msg[0] : "no machine");
  return out;
}

void prop_run(const struct tsr_run_plan *p, const struct tsr_machine *on, struct layer *out) {
  struct tsr_engine *e;
  struct tsr_program_set set = {0};
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_engine_create(on, NULL, &e, &err), TSR_OK);
  if (tsr_run_lower(p, 0, &set, &err) || layer_run_set(e, &set, "layer", out, &err))
    fail_msg("%s", err.n ? err.msg[0] : "no result");
  tsr_isa_set_fini(&set);
  tsr_engine_destroy(e);
}
