/* sram: a scratchpad cut into equal buffers (double buffering: 2), whose port a
 * DMA engine and a tile share.
 *
 * A direction moves banks * width bytes a cycle.  Ports: `1rw` one port, reads and
 * writes share it; `1r1w` one of each; `2rw` two that do either.  The tile goes
 * first: while one of its phases runs, the DMA side gets what the phase leaves of
 * the port.  What a phase needs beyond the port lengthens the phase. */
#include "models/models_int.h"
#include "models/server.h"

struct params {
  uint64_t size, banks, width, buffers;
  int ports;
};

enum { PORTS_1RW, PORTS_1R1W, PORTS_2RW };
static const char *const ports_names[] = {"1rw", "1r1w", "2rw", NULL};

static const struct tsr_param params[] = {
    {.key = "size",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES,
     .low = 16,
     .high = 1ull << 50,
     .offset = offsetof(struct params, size),
     .uncertainty = "exact",
     .doc = "capacity, all buffers together",
     .src = "SRC:assumed"},
    {.key = "banks",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 4096,
     .def = "1",
     .offset = offsetof(struct params, banks),
     .uncertainty = "exact",
     .doc = "banks that work in parallel",
     .src = "SRC:assumed"},
    {.key = "width",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_BYTES,
     .low = 1,
     .high = 1u << 20,
     .unlimited = true,
     .def = "unlimited",
     .offset = offsetof(struct params, width),
     .uncertainty = "exact",
     .doc = "bytes a bank's port moves in one core cycle",
     .src = "SRC:assumed"},
    {.key = "ports",
     .type = TSR_PARAM_ENUM,
     .names = ports_names,
     .def = "1r1w",
     .offset = offsetof(struct params, ports),
     .uncertainty = "exact",
     .doc = "ports of a bank",
     .src = "SRC:assumed"},
    {.key = "buffers",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = 16,
     .def = "2",
     .offset = offsetof(struct params, buffers),
     .uncertainty = "exact",
     .doc = "equal parts that are filled and emptied in turn",
     .src = "SRC:assumed"},
    {.key = NULL}};

enum { READ_BYTES, WRITE_BYTES, CONFLICT_CYCLES, DMA_WAIT_FS };
static const struct tsr_counter counters[] = {
    {"read_bytes", TSR_COUNTER_SUM, "bytes read, by tile and DMA"},
    {"write_bytes", TSR_COUNTER_SUM, "bytes written, by tile and DMA"},
    {"conflict_cycles", TSR_COUNTER_SUM, "cycles by which the port lengthened tile phases"},
    {"dma_wait_fs", TSR_COUNTER_SUM, "time by which tile phases delayed the DMA side"},
    {NULL, TSR_COUNTER_SUM, NULL}};

struct phase { /* of the tile */
  uint64_t start_fs, end_fs;
  uint64_t capacity; /* bytes that the port could move in it */
  uint64_t used[2];  /* bytes that the tile moves: read, write */
};

struct state {
  const struct params *p;
  const struct tsr_env *env;
  uint64_t *counters;
  uint64_t bytes_per_cycle;
  struct tsr_server dma[2]; /* read, write */
  struct phase phase[2];    /* the one before the latest may still run */
};

static uint64_t bytes_per_cycle(const void *vp) {
  const struct params *p = vp;
  return p->width == TSR_UNLIMITED ? TSR_UNLIMITED : p->width * p->banks;
}

static enum tsr_status init(void *vs, const void *vp, const struct tsr_wiring *w,
                            struct tsr_err *err) {
  struct state *s = vs;
  s->p = vp;
  s->env = w->env;
  s->counters = w->self->counters;
  s->bytes_per_cycle = bytes_per_cycle(vp);
  uint64_t rate = TSR_UNLIMITED;
  if (s->bytes_per_cycle != TSR_UNLIMITED &&
      (!tsr_mul_u64(s->bytes_per_cycle, w->env->clock_hz, &rate) || rate >> 63))
    return tsr_err_set(
        err, TSR_INPUT,
        "%s: width times banks times clock is too large; expected below 2^63 B/s",
        w->self->name);
  tsr_server_init(&s->dma[0], rate);
  tsr_server_init(&s->dma[1], rate);
  return TSR_OK;
}

/* Bytes of the phase that stand in the way of the DMA side in this direction. */
static uint64_t in_the_way(const struct state *s, const struct phase *ph, bool write) {
  if (s->p->ports == PORTS_1R1W) return ph->used[write];
  uint64_t both = ph->used[0] + ph->used[1];
  if (s->p->ports == PORTS_1RW) return both;
  return both > ph->capacity ? both - ph->capacity : 0; /* the other port takes the rest */
}

/* How long the DMA side, about to move one unit at `from`, is kept waiting. */
static uint64_t kept_waiting(const struct state *s, const struct tsr_server *port, bool write,
                             uint64_t from) {
  for (int i = 0; i < 2; i++) {
    const struct phase *ph = &s->phase[i];
    if (from < ph->start_fs || from >= ph->end_fs) continue;
    uint64_t used = in_the_way(s, ph, write), left = ph->end_fs - from;
    if (used >= ph->capacity) return left;
    /* the port works at (capacity - used)/capacity of its rate */
    tsr_u128 extra = (tsr_u128)port->quot * used / (ph->capacity - used);
    return extra < left ? (uint64_t)extra : left;
  }
  return 0;
}

static uint64_t dma(void *vs, uint64_t bytes, bool write, uint32_t n, uint64_t *time_fs) {
  struct state *s = vs;
  s->counters[write ? WRITE_BYTES : READ_BYTES] += bytes * n;
  if (s->bytes_per_cycle == TSR_UNLIMITED) return 0;
  struct tsr_server *port = &s->dma[s->p->ports == PORTS_1RW ? 0 : write];
  if (bytes != port->unit_bytes) tsr_server_set_unit(port, bytes);
  uint64_t waited = 0, start;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t from = tsr_max_u64(time_fs[i], port->free_fs);
    uint64_t wait = kept_waiting(s, port, write, from);
    waited += wait;
    time_fs[i] = tsr_server_take(port, bytes, wait ? from + wait : time_fs[i], &start);
  }
  s->counters[DMA_WAIT_FS] += waited;
  return waited;
}

static void occupy(void *vs, uint64_t start_cycle, uint64_t cycles, uint64_t read,
                   uint64_t write) {
  struct state *s = vs;
  if (s->bytes_per_cycle == TSR_UNLIMITED) return;
  s->phase[0] = s->phase[1];
  s->phase[1] = (struct phase){.start_fs = s->env->cycle_fs(s->env->engine, start_cycle),
                               .end_fs = s->env->cycle_fs(s->env->engine, start_cycle + cycles),
                               .capacity = cycles * s->bytes_per_cycle,
                               .used = {read, write}};
}

static uint64_t tile(void *vs, uint64_t start_cycle, uint64_t cycles, uint64_t read,
                     uint64_t write, const struct tsr_pattern *pattern) {
  struct state *s = vs;
  (void)pattern;
  s->counters[READ_BYTES] += read;
  s->counters[WRITE_BYTES] += write;
  uint64_t width = s->bytes_per_cycle;
  if (width == TSR_UNLIMITED) return cycles;
  uint64_t need = s->p->ports == PORTS_1R1W  ? tsr_max_u64(read, write)
                  : s->p->ports == PORTS_1RW ? read + write
                                             : (read + write + 1) / 2;
  uint64_t takes = tsr_max_u64(cycles, tsr_ceil_div(need, width));
  s->counters[CONFLICT_CYCLES] += takes - cycles;
  if (start_cycle != TSR_PHASE_LATER) occupy(vs, start_cycle, takes, read, write);
  return takes;
}

static uint64_t slot_bytes(const void *vp) {
  const struct params *p = vp;
  return p->size / p->buffers;
}
static uint64_t slots(const void *vp) {
  return ((const struct params *)vp)->buffers;
}

static const struct tsr_buffer_ops buffer = {.dma = dma,
                                             .tile = tile,
                                             .occupy = occupy,
                                             .slot_bytes = slot_bytes,
                                             .slots = slots,
                                             .bytes_per_cycle = bytes_per_cycle};

const struct tsr_component tsri_sram = {.abi = TSR_MODEL_ABI,
                                        .kind = "sram",
                                        .doc = "scratchpad whose port a DMA engine and a "
                                               "tile share",
                                        .state_size = sizeof(struct state),
                                        .params_size = sizeof(struct params),
                                        .params = params,
                                        .counters = counters,
                                        .init = init,
                                        .buffer = &buffer};
