/* A program of the user's in the place of a lowered one. */
#include <inttypes.h>
#include <string.h>

#include "kernels/check/draw.h"
#include "models/arith/gemm.h"
#include "sim/base/io.h"
#include "sim/run/run_int.h"

/* ---- reading ---- */

static enum tsr_status parse(const char *path, const char *bytes, size_t n,
                             struct tsr_program_set *out, struct tsr_err *err) {
  if (n >= 7 && !memcmp(bytes, "TSRPROG", 7))
    return tsr_isa_set_load(path, (const uint8_t *)bytes, n, out, err);
  return tsr_isa_set_assemble(path, bytes, n, out, err);
}

/* A program names the machine that it was made for, or none. */
static enum tsr_status check_machine(const struct tsr_run_plan *p, const char *path,
                                     struct tsr_err *err) {
  const struct tsr_program_set *s = &p->program;
  const struct tsr_machine *m = p->machine;
  if (s->n > m->cores)
    return tsr_err_set(err, TSR_INPUT, "%s is a program for %zu cores; %s has %" PRIu64, path,
                       s->n, m->name, m->cores);
  if (!s->machine || s->machine_hash == m->hash) return TSR_OK;
  enum tsr_status st = tsr_err_set(err, TSR_INPUT,
                                   "%s was made for machine '%s' (%016" PRIx64
                                   "); this is '%s' (%016" PRIx64 ")",
                                   path, s->machine, s->machine_hash, m->name, m->hash);
  tsr_err_hint(err, "lower it again for this machine, or take the machine's line out of its "
                    "text (disasm, asm)");
  return st;
}

/* ---- rates ---- */

/* Names of the formats of places, as far as a program has described them. */
struct scope {
  const struct tsr_program *p;
  int64_t name[TSR_ISA_FORMATS], place[TSR_ISA_PLACES]; /* place: a format register */
};

static const char *format_at(const struct scope *s, int64_t place) {
  return s->p->name[s->name[s->place[place]]];
}

/* `highest`: raised to the rate at which the tile executes these formats. */
static enum tsr_status check_rate(const struct tsr_machine *m, const struct scope *s, size_t at,
                                  uint32_t *highest, struct tsr_err *err) {
  const struct tsr_inst *in = &s->p->inst[at];
  bool mm = in->op == TSR_ISA_MM;
  const char *a = mm ? format_at(s, in->f[1]) : NULL;
  const char *b = format_at(s, in->f[mm ? 2 : 0]);
  const char *acc = mm ? format_at(s, in->f[0]) : NULL;
  uint64_t rate = (uint64_t)in->f[mm ? 7 : 2];
  uint64_t most = tsr_machine_rate_most(m, a, b, acc, mm && in->f[8] != TSR_DENSE);
  if (mm && most > *highest) *highest = (uint32_t)most;
  if (rate <= most) return TSR_OK;
  struct tsr_str text = TSR_STR_INIT;
  tsr_isa_print(s->p, in, &text);
  enum tsr_status st = tsr_err_set(
      err, TSR_INPUT,
      "instruction %zu (%s): the tile of %s multiplies %s%s%s%s%s at a rate of at most %" PRIu64
      ", got %" PRIu64,
      at, text.p ? text.p : "", m->name, a ? a : "", a ? " by " : "", b, acc ? " into " : "",
      acc ? acc : "", most, rate);
  tsr_str_fini(&text);
  tsr_err_hint(err, "tile.rates tell what the tile executes; see `tessera config`");
  return st;
}

/* No multiplication is faster than the machine. */
static enum tsr_status check_rates(const struct tsr_machine *m, const struct tsr_program *p,
                                   uint32_t *highest, struct tsr_err *err) {
  struct scope s = {.p = p};
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; !st && i < p->n; i++) {
    const struct tsr_inst *in = &p->inst[i];
    if (in->op == TSR_ISA_FORMAT) s.name[in->f[0]] = in->f[1];
    if (in->op == TSR_ISA_PLACE) s.place[in->f[0]] = in->f[2];
    if (in->op == TSR_ISA_MM || in->op == TSR_ISA_PRELOAD)
      st = check_rate(m, &s, i, highest, err);
  }
  return st;
}

/* ---- all of it ---- */

enum tsr_status tsri_program_read(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                  struct tsr_err *err) {
  char *bytes = NULL;
  size_t n = 0;
  enum tsr_status st = TSR_OK;
  if (!o->program_text) st = tsr_io_read(o->program, &bytes, &n, err);
  if (st) return st;
  const char *text = o->program_text ? o->program_text : bytes;
  st = parse(o->program, text, o->program_text ? strlen(text) : n, &p->program, err);
  tsr_mem_free(bytes);
  if (!st) st = check_machine(p, o->program, err);
  for (size_t c = 0; !st && c < p->program.n; c++)
    if (!p->program.program[c].borrowed)
      st = check_rates(p->machine, &p->program.program[c], &p->program_rate, err);
  if (st) return st;
  struct tsr_str printed = TSR_STR_INIT;
  tsr_isa_set_disasm(&p->program, &printed);
  p->program_text = printed.failed ? NULL : tsr_arena_strdup(p->arena, printed.p);
  tsr_str_fini(&printed);
  return p->program_text ? TSR_OK : tsr_err_nomem(err);
}

/* ---- its place in the plan ---- */

enum tsr_status tsri_program_alone(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                   struct tsr_err *err) {
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_graph *g = a ? tsr_arena_alloc(a, sizeof *g) : NULL;
  struct tsr_op *op = a ? tsr_arena_alloc(a, sizeof *op) : NULL;
  if (!g || !op) {
    tsr_arena_destroy(a);
    return tsr_err_nomem(err);
  }
  const char *slash = strrchr(o->program, '/');
  op->name = tsr_arena_strdup(a, slash ? slash + 1 : o->program);
  op->kind = TSR_OP_GEMM;
  op->count = op->m = op->n = op->k = 1;
  op->format_a = op->format_b = op->format_acc = op->format_out = op->sparsity = "";
  *g = (struct tsr_graph){.arena = a, .name = op->name, .text = "", .n_ops = 1, .ops = op};
  if (!op->name) {
    tsr_arena_destroy(a);
    return tsr_err_nomem(err);
  }
  p->tenants[0] = (struct tsr_run_tenant){
      .source = o->program, .graph = g, .n_cores = (uint32_t)p->machine->cores};
  p->n_tenants = 1;
  p->name = op->name;
  p->alone = true;
  return TSR_OK;
}

enum tsr_status tsri_program_place(struct tsr_run_plan *p, struct tsr_err *err) {
  if (p->n_layers != 1)
    return tsr_err_set(err, TSR_INPUT, "--program stands for one layer; workload '%s' has %zu",
                       p->name, p->n_layers);
  struct tsr_run_layer_plan *l = &p->layers[0];
  if (p->program.n > l->max_cores)
    return tsr_err_set(err, TSR_INPUT, "the program is for %zu cores; the workload has %u",
                       p->program.n, l->max_cores);
  l->foreign = true;
  if (p->program_rate) l->rate = p->program_rate; /* of the formats that are executed */
  l->n_cores = (uint32_t)p->program.n;
  p->events = p->tile_cycles = 0;
  for (size_t c = 0; c < p->program.n; c++) {
    uint64_t events, cycles;
    tsr_engine_estimate(p->machine, &p->program.program[c], &events, &cycles);
    if (!tsr_add_u64(p->events, events, &p->events)) p->events = UINT64_MAX;
    p->tile_cycles = tsr_max_u64(p->tile_cycles, cycles);
  }
  l->events = p->events;
  return TSR_OK;
}

/* ---- its tensors ---- */

struct region {
  uint64_t from, to;
  bool loaded;
  const struct tsr_format *format; /* of the first load */
  uint32_t elem;
};
enum { REGIONS_MAX = 256 };
#define REGION_BYTES_MAX ((uint64_t)4 << 30) /* of all: they are drawn and held */

struct regions {
  struct region list[REGIONS_MAX];
  size_t n;
};

/* What overlaps is one. */
static bool add_region(struct regions *r, struct region x) {
  for (size_t i = 0; i < r->n;) {
    struct region *o = &r->list[i];
    if (x.to <= o->from || o->to <= x.from) {
      i++;
      continue;
    }
    if (o->loaded && (!x.loaded || o->from < x.from)) {
      x.format = o->format;
      x.elem = o->elem;
    }
    x.from = tsr_min_u64(x.from, o->from);
    x.to = tsr_max_u64(x.to, o->to);
    x.loaded = x.loaded || o->loaded;
    *o = r->list[--r->n];
    i = 0;
  }
  if (r->n == REGIONS_MAX) return false;
  r->list[r->n++] = x;
  return true;
}

struct described {
  int64_t name[TSR_ISA_FORMATS];
  struct {
    uint64_t base, elem, span;
    int64_t fmt;
  } tensor[TSR_ISA_TENSORS];
};

static void describe(struct described *d, const struct tsr_inst *in) {
  int64_t t = in->f[0];
  if (in->op == TSR_ISA_FORMAT) d->name[t] = in->f[1];
  if (in->op == TSR_ISA_TENSOR) {
    d->tensor[t].fmt = in->f[1];
    d->tensor[t].elem = (uint64_t)in->f[2];
    d->tensor[t].base = (uint64_t)in->f[3];
    d->tensor[t].span = (uint64_t)in->f[2];
  }
  if (in->op == TSR_ISA_DIM && in->f[2] > 0)
    d->tensor[t].span += ((uint64_t)in->f[2] - 1) * (uint64_t)in->f[3];
}

static enum tsr_status collect(const struct tsr_program *p, struct regions *r,
                               struct tsr_err *err) {
  struct described d = {0};
  for (size_t i = 0; i < p->n; i++) {
    const struct tsr_inst *in = &p->inst[i];
    bool load = in->op == TSR_ISA_LOAD || in->op == TSR_ISA_GATHER;
    bool store = in->op == TSR_ISA_STORE || in->op == TSR_ISA_SCATTER;
    describe(&d, in);
    if (!load && !store) continue;
    int64_t t = in->f[0], name = d.name[d.tensor[t].fmt];
    struct region x = {.from = d.tensor[t].base,
                       .to = d.tensor[t].base + d.tensor[t].span,
                       .loaded = load,
                       .elem = (uint32_t)d.tensor[t].elem};
    x.format = tsr_format_find(p->name[name]);
    if (!x.format)
      return tsr_err_set(
          err, TSR_INPUT,
          "instruction %zu: values of format '%s' cannot be drawn; expected one of "
          "the table",
          i, p->name[name]);
    if (!add_region(r, x))
      return tsr_err_set(err, TSR_INPUT, "the program has more than %d tensors", REGIONS_MAX);
  }
  return TSR_OK;
}

static enum tsr_status check_bytes(const struct regions *r, struct tsr_err *err) {
  uint64_t all = 0;
  for (size_t i = 0; i < r->n; i++)
    if (!tsr_add_u64(all, r->list[i].to - r->list[i].from, &all)) all = UINT64_MAX;
  if (all <= REGION_BYTES_MAX) return TSR_OK;
  return tsr_err_set(err, TSR_INPUT,
                     "the program's tensors span %" PRIu64
                     " bytes, of which values are held up to %" PRIu64
                     "; expected smaller ones, or --numerics off",
                     all, REGION_BYTES_MAX);
}

static enum tsr_status fill(const struct region *x, struct tsr_values *values, uint64_t seed,
                            struct tsr_err *err) {
  uint8_t *data;
  enum tsr_status st =
      tsr_values_tensor(values, x->from, x->to - x->from, x->loaded, &data, err);
  for (uint64_t i = 0; !st && x->loaded && (i + 1) * x->elem <= x->to - x->from; i++) {
    float from;
    uint64_t code = tsr_draw_quantise(x->format, tsr_draw_normal(seed, x->from, i),
                                      TSR_DRAW_INT_SCALE, &from);
    for (uint32_t b = 0; b < x->elem; b++)
      data[i * x->elem + b] = b < 8 ? (uint8_t)(code >> 8 * b) : 0;
  }
  return st;
}

enum tsr_status tsri_program_tensors(const struct tsr_run_plan *p, struct tsr_values *values,
                                     uint64_t seed, struct tsr_err *err) {
  struct regions *r = tsr_mem_alloc(sizeof *r);
  if (!r) return tsr_err_nomem(err);
  enum tsr_status st = TSR_OK;
  for (size_t c = 0; !st && c < p->program.n; c++)
    if (!p->program.program[c].borrowed) st = collect(&p->program.program[c], r, err);
  if (!st) st = check_bytes(r, err);
  for (size_t i = 0; !st && i < r->n; i++) st = fill(&r->list[i], values, seed, err);
  tsr_mem_free(r);
  return st;
}
