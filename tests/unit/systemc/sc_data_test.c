/* Fifos, signals and their VCD, TLM transport. */
#include "tests/unit/systemc/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void a_fifo_moves_tokens_in_order_and_blocks(void **state) {
  (void)state;
  struct world w;
  uint64_t v = 7;
  open_world(&w);
  assert_int_equal(tsr_sc_fifo_new(w.top, "f", 4, &w.fifo, NULL), TSR_OK);
  assert_int_equal(tsr_sc_fifo_free_slots(w.fifo), 4);
  assert_int_equal(tsr_sc_fifo_try_get(w.fifo, &v), TSR_SC_EMPTY);
  assert_int_equal(v, 7);
  assert_int_equal(tsr_sc_fifo_put(w.fifo, 1), TSR_SC_NOT_A_THREAD);
  add_thread(&w, "put", put_hundred);
  add_thread(&w, "get", get_hundred);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(w.sum, 5050);
  assert_int_equal(tsr_sc_fifo_used(w.fifo), 0);
  close_world(&w);
}

static enum tsr_sc_result fill(void *arg) {
  struct world *w = arg;
  uint64_t token = UINT64_MAX - 1;
  enum tsr_sc_result r;
  while ((r = tsr_sc_fifo_try_put(w->fifo, token)) == TSR_SC_OK) w->n++;
  w->seen = r;
  return TSR_SC_OK;
}

static void a_full_fifo_says_so(void **state) {
  (void)state;
  struct world w;
  uint64_t v = 0;
  open_world(&w);
  assert_int_equal(tsr_sc_fifo_new(w.top, NULL, 3, &w.fifo, NULL), TSR_OK);
  add_method(&w, "fill", fill);
  tsr_sc_run(w.sim, 1);
  assert_int_equal(w.n, 3);
  assert_int_equal(w.seen, TSR_SC_FULL);
  assert_int_equal(tsr_sc_fifo_used(w.fifo), 3);
  assert_int_equal(tsr_sc_fifo_try_get(w.fifo, &v), TSR_SC_OK);
  assert_true(v == UINT64_MAX - 1);
  close_world(&w);
}

/* --- VCD ------------------------------------------------------------------------ */

struct change {
  uint64_t time, value;
};

/* The identifier of the variable `name` in the VCD text. */
static bool find_variable(FILE *f, const char *name, char *id, size_t size) {
  char line[256];
  rewind(f);
  while (fgets(line, sizeof line, f)) {
    char code[32], var[64];
    if (sscanf(line, "$var %*s %*u %31s %63s", code, var) != 2 || strcmp(var, name) != 0)
      continue;
    snprintf(id, size, "%s", code);
    return true;
  }
  return false;
}

/* Its changes, as (time, value). */
static size_t read_changes(FILE *f, const char *name, struct change *out, size_t max) {
  char id[32], line[256];
  uint64_t time = 0;
  size_t n = 0;
  if (!find_variable(f, name, id, sizeof id)) return 0;
  while (fgets(line, sizeof line, f)) {
    char bits[80], code[32];
    if (line[0] == '#') {
      time = strtoull(line + 1, NULL, 10);
      continue;
    }
    bool vector = sscanf(line, "b%79s %31s", bits, code) == 2;
    bool scalar = !vector && (line[0] == '0' || line[0] == '1') &&
                  sscanf(line, "%1[01]%31s", bits, code) == 2;
    if ((vector || scalar) && strcmp(code, id) == 0 && n < max)
      out[n++] = (struct change){time, strtoull(bits, NULL, 2)};
  }
  return n;
}

static enum tsr_sc_result drive(void *arg) {
  struct world *w = arg;
  for (uint64_t i = 0; i < 6; i++) {
    tsr_sc_signal_write(w->bit, i & 1);
    tsr_sc_signal_write(w->word, 0x5000 + i / 2 * 3); /* 12 bits: the 5 is dropped */
    w->sum = i * i;
    if (tsr_sc_wait_for(w->sim, 500) < 0) break;
  }
  return TSR_SC_OK;
}

static enum tsr_sc_result count_calls(void *arg) {
  struct world *w = arg;
  w->n++;
  return TSR_SC_OK;
}

static void build_traced(struct world *w) {
  struct tsr_sc_trace *trace;
  assert_int_equal(tsr_sc_signal_new(w->top, "bit", 1, &w->bit, NULL), TSR_OK);
  assert_int_equal(tsr_sc_signal_new(w->top, "word", 12, &w->word, NULL), TSR_OK);
  struct tsr_sc_event *changed = tsr_sc_signal_changed(w->bit);
  assert_int_equal(tsr_sc_notify_after(changed, 1), TSR_SC_ARG); /* not ours to notify */
  struct tsr_sc_proc_options options = {
      .wait_first = true, .sensitive = &changed, .n_sensitive = 1};
  assert_int_equal(tsr_sc_method_new(w->top, "on", count_calls, w, &options, NULL, NULL),
                   TSR_OK);
  add_thread(w, "drive", drive);
  assert_int_equal(tsr_sc_trace_open(w->sim, "sc_data_test.vcd", &trace, NULL), TSR_OK);
  assert_int_equal(tsr_sc_trace_signal(trace, w->bit, "unit.bit", NULL), TSR_OK);
  assert_int_equal(tsr_sc_trace_signal(trace, w->word, "unit.word", NULL), TSR_OK);
  assert_int_equal(tsr_sc_trace_value(trace, &w->sum, 16, "square", NULL), TSR_OK);
}

static void a_vcd_holds_times_and_values(void **state) {
  (void)state;
  static const struct {
    const char *name;
    struct change want[8];
    size_t n;
  } row[] = {
      {"bit", {{0, 0}, {500, 1}, {1000, 0}, {1500, 1}, {2000, 0}, {2500, 1}}, 6},
      {"word", {{0, 0}, {1000, 3}, {2000, 6}}, 3},
      {"square", {{0, 0}, {500, 1}, {1000, 4}, {1500, 9}, {2000, 16}, {2500, 25}}, 6},
  };
  struct world w;
  char line[256];
  bool unit = false;
  open_world(&w);
  build_traced(&w);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(w.n, 5);
  assert_int_equal(tsr_sc_signal_read(w.bit), 1);
  assert_int_equal(tsr_sc_signal_read(w.word), 6);
  close_world(&w);
  FILE *f = fopen("sc_data_test.vcd", "r");
  assert_non_null(f);
  while (fgets(line, sizeof line, f)) unit = unit || strstr(line, "1 fs");
  assert_true(unit);
  for (size_t i = 0; i < COUNT(row); i++) {
    struct change got[16];
    assert_int_equal(read_changes(f, row[i].name, got, COUNT(got)), row[i].n);
    assert_memory_equal(got, row[i].want, row[i].n * sizeof *got);
  }
  fclose(f);
  remove("sc_data_test.vcd");
}

static void a_trace_that_cannot_be_written_is_refused(void **state) {
  (void)state;
  static const char *const path[] = {"no/such/folder/x.vcd", "x.txt", ".vcd", ""};
  struct world w;
  open_world(&w);
  for (size_t i = 0; i < COUNT(path); i++) {
    struct tsr_sc_trace *trace = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsr_sc_trace_open(w.sim, path[i], &trace, &err), TSR_STORE);
    assert_null(trace);
    assert_int_equal(err.n, 1);
    tsr_err_fini(&err);
  }
  close_world(&w);
}

/* --- TLM ------------------------------------------------------------------------ */

static uint8_t memory[4096];

static enum tsr_sc_result serve(void *arg, struct tsr_sc_payload *p, uint64_t *delay) {
  struct world *w = arg;
  if (p->address_bytes + p->length_bytes > sizeof memory) return TSR_SC_FAILED;
  uint8_t *at = memory + p->address_bytes;
  if (p->write)
    memcpy(at, p->data, p->length_bytes);
  else
    memcpy(p->data, at, p->length_bytes);
  *delay += 100;
  if (p->user) return tsr_sc_wait_for(w->sim, 30); /* a slow target blocks */
  return TSR_SC_OK;
}

static enum tsr_sc_result talk(void *arg) {
  struct world *w = arg;
  uint32_t out = 0xdeadbeef, in = 0;
  uint64_t delay = 0;
  struct tsr_sc_payload p = {true, 16, &out, sizeof out, NULL};
  if (tsr_sc_transport(w->initiator, &p, &delay) != TSR_SC_OK) return TSR_SC_FAILED;
  p = (struct tsr_sc_payload){false, 16, &in, sizeof in, w};
  if (tsr_sc_transport(w->initiator, &p, &delay) != TSR_SC_OK) return TSR_SC_FAILED;
  w->n = in;
  note(w, delay);
  note(w, tsr_sc_now(w->sim));
  p.address_bytes = 1 << 20;
  w->seen = tsr_sc_transport(w->initiator, &p, &delay);
  return TSR_SC_OK;
}

static void connect_memory(struct world *w) {
  struct tsr_sc_target *target;
  assert_int_equal(tsr_sc_target_new(w->top, "memory", serve, w, &target, NULL), TSR_OK);
  assert_int_equal(tsr_sc_initiator_new(w->top, "core", &w->initiator, NULL), TSR_OK);
  assert_int_equal(tsr_sc_bind(w->initiator, target, NULL), TSR_OK);
}

static void transport_carries_data_delay_and_refusal(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  connect_memory(&w);
  add_thread(&w, "talk", talk);
  assert_int_equal(tsr_sc_run(w.sim, TSR_SC_FOREVER), TSR_SC_STARVED);
  assert_int_equal(w.n, 0xdeadbeef);
  assert_int_equal(w.log[0], 200);
  assert_int_equal(w.log[1], 30);
  assert_int_equal(w.seen, TSR_SC_FAILED);
  close_world(&w);
}

static enum tsr_sc_result talk_slowly(void *arg) {
  struct world *w = arg;
  uint32_t in = 0;
  uint64_t delay = 0;
  struct tsr_sc_payload p = {false, 0, &in, sizeof in, w};
  w->seen = tsr_sc_transport(w->initiator, &p, &delay);
  return w->seen;
}

static void a_kill_inside_a_transport_returns_through_it(void **state) {
  (void)state;
  struct world w;
  open_world(&w);
  connect_memory(&w);
  add_thread(&w, "talk", talk_slowly);
  assert_int_equal(tsr_sc_run(w.sim, 10), TSR_SC_OK);
  assert_int_equal(w.seen, TSR_SC_OK);
  close_world(&w);
  assert_int_equal(w.seen, TSR_SC_KILLED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_fifo_moves_tokens_in_order_and_blocks),
      cmocka_unit_test(a_full_fifo_says_so),
      cmocka_unit_test(a_vcd_holds_times_and_values),
      cmocka_unit_test(a_trace_that_cannot_be_written_is_refused),
      cmocka_unit_test(transport_carries_data_delay_and_refusal),
      cmocka_unit_test(a_kill_inside_a_transport_returns_through_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
