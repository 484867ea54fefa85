/* A program with one mistake in it does not pass.
 *
 * Every single change of the kinds below to every instruction of some lowered programs is
 * run by value, on machines whose memory is fast, slow and slow to take results, so that
 * each unit hurries and lingers in turn.  It must be refused by the check, stop in the
 * engine (deadlock, limit, race, unwritten or foreign bytes) or leave a wrong result; what
 * does neither must belong to a class that changes nothing, which is shown beside it. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/mem.h"
#include "tests/unit/lower/interp.h"
#include "tests/unit/run/valued.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* ---- layers and machines ---- */

enum { MACHINES = 4, SETS = 20 };
static const struct subject {
  const char *label, *workload, *text, *set[SETS];
  bool slow_results; /* many loads for each of them */
  bool few_results;  /* no more than slots, on the core that is changed */
} subjects[] = {
    {"ws, three loops",
     "gemm:9x10x40",
     NULL,
     {"tile.dataflow=ws", "tile.rows=8", "tile.cols=4", "sram.a.size=256B", "sram.b.size=256B",
      "sram.c.size=256B"},
     .slow_results = true},
    {"ws, results come faster than they go",
     "gemm:16x24x8",
     NULL,
     {"tile.dataflow=ws", "tile.rows=8", "tile.cols=4", "sram.a.size=512B", "sram.b.size=128B",
      "sram.c.size=512B"},
     .slow_results = false},
    {"os",
     "gemm:13x7x24",
     NULL,
     {"tile.dataflow=os", "tile.rows=4", "tile.cols=4", "sram.a.size=192B", "sram.b.size=256B",
      "sram.c.size=192B"},
     .slow_results = true},
    {"is, two cores",
     "gemm:17x6x24",
     NULL,
     {"tile.dataflow=is", "tile.rows=8", "tile.cols=4", "sram.a.size=256B", "sram.b.size=256B",
      "sram.c.size=256B", "cores=2", "split=m"},
     .few_results = true},
    {"a convolution",
     "net.csv",
     "model,layer,op,M,N,K,count,notes,batch,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w,"
     "pad_t,pad_l,pad_b,pad_r,dil_h,dil_w,groups\n"
     "m,a,conv,24,6,36,1,,1,4,8,6,6,3,3,2,1,1,1,1,1,1,1,1\n",
     {"tile.dataflow=ws", "tile.rows=8", "tile.cols=4", "sram.a.size=512B", "sram.b.size=512B",
      "sram.c.size=256B"},
     .slow_results = true},
};

/* Speeds alone: the programs are those of the first. */
static const char *const speeds[MACHINES][6] = {
    {"dram.bandwidth=unlimited", "dram.latency=0ns", "sram.c.width=1B"},
    {"dram.bandwidth=200MB/s", "dram.latency=300ns"},
    {"dram.bandwidth=4GB/s", "dram.latency=40ns", "dma.outstanding=2"},
    {"dram.bandwidth=unlimited", "dram.latency=300ns", "dma.outstanding=1"},
};

static void plan_subject(const struct subject *s, int machine, struct tsr_run_plan *out) {
  static const char *const base[] = {"dma.burst=8B", "sim.max_cycles=400000", "sram.a.width=8B",
                                     "sram.b.width=8B"};
  const char *sets[SETS + 16];
  size_t n = 0;
  struct tsr_err err = TSR_ERR_INIT;
  for (size_t i = 0; i < LEN(base); i++) sets[n++] = base[i];
  for (size_t i = 0; i < SETS && s->set[i]; i++) sets[n++] = s->set[i];
  for (size_t i = 0; i < 6 && speeds[machine][i]; i++) sets[n++] = speeds[machine][i];
  struct tsr_run_options o = {.arch = "systolic-32",
                              .workload = s->workload,
                              .workload_text = s->text,
                              .sets = sets,
                              .n_sets = n};
  if (tsr_run_plan_make(&o, out, &err)) fail_msg("%s", err.n ? err.msg[0] : "no plan");
}

/* ---- changes ---- */

enum kind { ADD, SWAP, BIT, DROP };
struct rule {
  enum tsr_isa_op op;
  enum kind kind;
  int field;     /* or the first of two */
  int64_t value; /* added, or the other field, or the bit */
};
#define ROW(op, kind, field, value) \
  { TSR_ISA_##op, kind, field, value }
static const struct rule rules[] = {
    ROW(FORMAT, ADD, 0, 1),   ROW(FORMAT, DROP, 0, 0), ROW(TENSOR, ADD, 3, 2),
    ROW(TENSOR, ADD, 3, -2),  ROW(TENSOR, ADD, 2, 1),  ROW(TENSOR, DROP, 0, 0),
    ROW(DIM, ADD, 2, -1),     ROW(DIM, ADD, 2, 1),     ROW(DIM, ADD, 3, 2),
    ROW(DIM, ADD, 3, -2),     ROW(DIM, DROP, 0, 0),    ROW(BOX, ADD, 2, -1),
    ROW(BOX, ADD, 2, 1),      ROW(BOX, ADD, 3, 1),     ROW(BOX, DROP, 0, 0),
    ROW(START, ADD, 2, 1),    ROW(START, ADD, 2, -1),  ROW(START, DROP, 0, 0),
    ROW(WALK, ADD, 3, 1),     ROW(WALK, ADD, 3, -1),   ROW(WALK, ADD, 2, 1),
    ROW(WALK, DROP, 0, 0),    ROW(FEED, ADD, 3, 1),    ROW(FEED, ADD, 3, -1),
    ROW(FEED, DROP, 0, 0),    ROW(PLACE, ADD, 1, 1),   ROW(PLACE, ADD, 4, 2),
    ROW(PLACE, ADD, 5, 2),    ROW(PLACE, ADD, 5, -2),  ROW(PLACE, ADD, 3, -1),
    ROW(PLACE, DROP, 0, 0),   ROW(ADVANCE, ADD, 2, 2), ROW(ADVANCE, ADD, 2, -2),
    ROW(ADVANCE, DROP, 0, 0), ROW(AXIS, ADD, 2, 1),    ROW(AXIS, ADD, 2, -1),
    ROW(AXIS, ADD, 3, 1),     ROW(AXIS, ADD, 3, -1),   ROW(AXIS, ADD, 1, 1),
    ROW(AXIS, DROP, 0, 0),    ROW(SEM, ADD, 1, 1),     ROW(SEM, ADD, 1, -1),
    ROW(SEM, DROP, 0, 0),     ROW(LOOP, ADD, 1, 1),    ROW(LOOP, ADD, 1, -1),
    ROW(WAIT, ADD, 1, 1),     ROW(WAIT, ADD, 1, 3),    ROW(WAIT, ADD, 2, 1),
    ROW(WAIT, ADD, 2, -1),    ROW(WAIT, ADD, 3, 1),    ROW(WAIT, DROP, 0, 0),
    ROW(SIGNAL, ADD, 1, 1),   ROW(SIGNAL, ADD, 1, 3),  ROW(SIGNAL, ADD, 2, 1),
    ROW(SIGNAL, ADD, 2, -1),  ROW(SIGNAL, DROP, 0, 0), ROW(LOAD, ADD, 0, 1),
    ROW(LOAD, ADD, 1, 1),     ROW(LOAD, DROP, 0, 0),   ROW(STORE, ADD, 0, -1),
    ROW(STORE, ADD, 1, -1),   ROW(STORE, ADD, 2, 1),   ROW(STORE, DROP, 0, 0),
    ROW(MM, SWAP, 0, 1),      ROW(MM, SWAP, 1, 2),     ROW(MM, SWAP, 3, 4),
    ROW(MM, SWAP, 4, 5),      ROW(MM, BIT, 6, 0),      ROW(MM, BIT, 6, 1),
    ROW(MM, BIT, 6, 2),       ROW(MM, BIT, 6, 3),      ROW(MM, DROP, 0, 0),
};

/* A copy of the set with one instruction of one core changed; false: the words do not
 * allow it, or nothing is changed. */
static bool mutate(const struct tsr_program_set *from, size_t core, size_t at,
                   const struct rule *r, struct tsr_program_set *out) {
  for (size_t c = 0; c < from->n; c++) {
    struct tsr_program p = {0};
    const struct tsr_program *q = &from->program[c];
    for (size_t i = 0; i < q->n; i++) {
      struct tsr_inst in = q->inst[i];
      if (in.op == TSR_ISA_FORMAT) in.f[1] = tsr_isa_name(&p, q->name[in.f[1]]);
      if (c == core && i == at) {
        int64_t *f = &in.f[r->field], old = *f;
        if (r->kind == DROP) continue;
        if (r->kind == ADD) *f += r->value;
        if (r->kind == BIT) *f ^= (int64_t)1 << r->value;
        if (r->kind == SWAP) {
          *f = in.f[r->value];
          in.f[r->value] = old;
        }
        if (*f < 0 && in.op != TSR_ISA_START && in.op != TSR_ISA_WALK) {
          tsr_isa_program_fini(&p);
          return false;
        }
      }
      tsr_isa_emit(&p, (enum tsr_isa_op)in.op, in.f);
    }
    assert_int_equal(tsr_isa_set_add(out, &p, 1, NULL), TSR_OK);
  }
  return true;
}

/* ---- verdicts ---- */

enum verdict { CHECK, DEADLOCK, LIMIT, RACE, UNWRITTEN, FOREIGN, WRONG, WORK, OTHER, PASSED };
static const char *const verdicts[] = {
    "refused by the check", "deadlock",   "cycle limit", "race",  "unwritten bytes", "outside",
    "wrong result",         "other work", "other",       "passed"};

static enum verdict verdict_of(const char *msg) {
  static const struct {
    const char *part;
    enum verdict v;
  } parts[] = {
      {"deadlock", DEADLOCK},     {"passes sim.max", LIMIT},   {"while instruction", RACE},
      {"never wr", UNWRITTEN},    {"no tensor lies", FOREIGN}, {"scratchpad", FOREIGN},
      {"does not hold", FOREIGN}, {"result is not", WRONG},    {"other work", WORK}};
  for (size_t i = 0; i < LEN(parts); i++)
    if (strstr(msg, parts[i].part)) return parts[i].v;
  return OTHER;
}

static enum verdict judge(const struct tsr_run_plan *plans, const struct tsr_program_set *set,
                          size_t core) {
  enum verdict v = PASSED;
  if (tsr_isa_check(&set->program[core], NULL)) return CHECK;
  for (int m = 0; v == PASSED && m < MACHINES; m++) {
    struct tsr_err err = TSR_ERR_INIT;
    if (valued_run_set(&plans[m], 0, 3, set, &err)) {
      assert_true(err.n > 0);
      v = verdict_of(err.msg[0]);
      if (v == OTHER) print_message("other: %s\n", err.msg[0]);
    }
    tsr_err_fini(&err);
  }
  return v;
}

/* What the interpreter of tests/unit/lower says, which knows no time: loads as early as
 * can be with stores as late, and the reverse.  NULL: the program does its work. */
static const char *interpret(const struct tsr_run_plan *p, const struct tsr_program_set *set,
                             bool any_sems) {
  enum { CORES = 8 };
  const struct tsr_run_layer_plan *l = &p->layers[0];
  const struct tsr_program *list[CORES];
  struct tsr_part part[CORES];
  struct tsr_layout layout = {
      .rate = l->rate,
      .shift = l->shift,
      .formats = {l->format_a, l->format_b, l->format_acc, l->format_out}};
  for (int b = 0; b < 3; b++) {
    const struct tsr_machine_instance *x = &p->machine->slot[TSR_SLOT_SRAM_A + b];
    layout.base_bytes[b] = l->base_bytes[b];
    layout.slots[b] = x->ops->buffer->slots(x->params);
    layout.slot_bytes[b] = x->ops->buffer->slot_bytes(x->params);
  }
  assert_true(set->n <= CORES);
  for (size_t c = 0; c < set->n; c++) {
    list[c] = &set->program[c];
    part[c] = tsr_split_part(&l->shape, &l->split, c);
  }
  const struct interp_job j = {.s = &l->shape,
                               .m = &l->mapping,
                               .layout = &layout,
                               .cores = set->n,
                               .program = list,
                               .part = part,
                               .any_sems = any_sems};
  return interp_run(&j, NULL);
}

/* ---- what changes nothing ---- */

struct survivor {
  const struct subject *subject;
  const struct tsr_run_plan *plan;
  const struct tsr_program_set *changed;
  const struct tsr_inst *inst; /* before */
  const struct rule *rule;
};

/* By the interpreter the program does its work whoever hurries: a dimension of one element
 * has no stride, a box or an axis is clipped where its tensor ends, slots may lie elsewhere
 * as long as they do not overlap, a signal may come later and a wait sooner, a slot less
 * be used, iterations that find nothing be added. */
static bool does_its_work(const struct survivor *s) {
  return !interpret(s->plan, s->changed, false);
}
/* The same, a wait or a signal apart that another implies: operands come in pairs and in
 * order, so that a free slot of one says that the other has one too; what is moved once
 * needs no leave and gives none. */
static bool another_implies_it(const struct survivor *s) {
  return (s->inst->op == TSR_ISA_WAIT || s->inst->op == TSR_ISA_SIGNAL) &&
         !interpret(s->plan, s->changed, true);
}
/* A box larger by one, its slot with room for it: what comes besides is read by none. */
static bool brings_more(const struct survivor *s) {
  const char *why = interpret(s->plan, s->changed, false);
  return s->inst->op == TSR_ISA_BOX && s->rule->field == 2 && s->rule->value == 1 &&
         s->inst->f[0] != TSR_BUF_C && why && strstr(why, "larger than its buffer's tile");
}
/* An axis of whole tiles may be walked by any loop with no more trips than it has tiles: a
 * multiplication takes the extent alone from it, and that is the tile at each of them. */
static bool whole_tiles(const struct survivor *s) {
  const int64_t *f = s->inst->f;
  return s->inst->op == TSR_ISA_AXIS && s->rule->field == 1 && f[2] % f[3] == 0;
}
/* A core with no more results than slots never takes one back. */
static bool slots_for_all(const struct survivor *s) {
  return s->inst->op == TSR_ISA_SIGNAL && s->inst->f[0] == TSR_UNIT_STORE &&
         s->rule->kind == DROP && s->subject->few_results;
}
/* No mistake of no effect, but one that these machines cannot show: a result takes a slot
 * too early, where many loads come for each of them and the last one has long gone.  The
 * subject whose results come faster than they go shows it. */
static bool results_are_slow(const struct survivor *s) {
  const char *why = interpret(s->plan, s->changed, true);
  bool slots = (s->inst->op == TSR_ISA_SEM && s->inst->f[0] == 2 && s->rule->value == 1) ||

               (s->inst->op == TSR_ISA_WAIT && s->inst->f[0] == TSR_UNIT_TILE &&
                s->inst->f[1] == 2 && s->rule->kind == DROP) ||
               (s->inst->op == TSR_ISA_ADVANCE && s->inst->f[0] == 2);
  return slots && s->subject->slow_results && why && strstr(why, "from where another lies");
}

static const struct {
  const char *label;
  bool (*holds)(const struct survivor *s);
} classes[] = {{"right by the interpreter", does_its_work},
               {"implied by another wait", another_implies_it},
               {"a load of more than is read", brings_more},
               {"another loop with the same extents", whole_tiles},
               {"slots for all results", slots_for_all},
               {"results too slow to show it", results_are_slow}};

struct tally {
  unsigned n[PASSED + 1], classed[LEN(classes)], unexplained;
};

static void explain(const struct survivor *s, size_t at, struct tally *t) {
  for (size_t c = 0; c < LEN(classes); c++)
    if (classes[c].holds(s)) {
      t->classed[c]++;
      return;
    }
  struct tsr_str text = TSR_STR_INIT;
  tsr_isa_print(NULL, s->inst, &text);
  print_error("%s: passes with instruction %zu (%s) changed, kind %d, field %d, value %d: %s\n",
              s->subject->label, at, text.p, (int)s->rule->kind, s->rule->field,
              (int)s->rule->value, interpret(s->plan, s->changed, true));
  tsr_str_fini(&text);
  t->unexplained++;
}

static void run_subject(const struct subject *s, struct tally *t) {
  struct tsr_run_plan plans[MACHINES];
  struct tsr_program_set set = {0};
  for (int m = 0; m < MACHINES; m++) plan_subject(s, m, &plans[m]);
  assert_int_equal(tsr_run_lower(&plans[0], 0, &set, NULL), TSR_OK);
  for (int m = 1; m < MACHINES; m++) {
    plans[m].layers[0].mapping = plans[0].layers[0].mapping;
    plans[m].layers[0].split = plans[0].layers[0].split;
  }
  size_t core = set.n - 1; /* the last part */
  if (judge(plans, &set, core) != PASSED) fail_msg("%s: fails unchanged", s->label);
  const struct tsr_program *p = &set.program[core];
  for (size_t at = 0; at < p->n; at++)
    for (size_t r = 0; r < LEN(rules); r++) {
      struct tsr_program_set changed = {0};
      if (rules[r].op != (enum tsr_isa_op)p->inst[at].op) continue;
      if (mutate(&set, core, at, &rules[r], &changed)) {
        enum verdict v = judge(plans, &changed, core);
        t->n[v]++;
        const struct survivor left = {s, &plans[0], &changed, &p->inst[at], &rules[r]};
        if (v == PASSED) explain(&left, at, t);
      }
      tsr_isa_set_fini(&changed);
    }
  tsr_isa_set_fini(&set);
  for (int m = 0; m < MACHINES; m++) tsr_run_plan_fini(&plans[m]);
}

static void a_changed_program_is_found_out(void **state) {
  (void)state;
  struct tally t = {.unexplained = 0};
  for (size_t i = 0; i < LEN(subjects); i++) run_subject(&subjects[i], &t);
  for (int v = 0; v <= PASSED; v++) print_message("%u %s\n", t.n[v], verdicts[v]);
  for (size_t c = 0; c < LEN(classes); c++)
    print_message("  of them %u: %s\n", t.classed[c], classes[c].label);
  unsigned caught = 0;
  for (int v = 0; v < PASSED; v++) caught += t.n[v];
  assert_int_equal(t.unexplained, 0);
  assert_int_equal(t.n[OTHER], 0);
  for (int v = CHECK; v < OTHER; v++)
    if (v != LIMIT) assert_true(t.n[v] > 0);
  assert_true(caught > 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_changed_program_is_found_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
