#include <systemc>

#include "tests/unit/engine/foreign.h"

namespace {
int unwound;
struct unwinding_counter {
  ~unwinding_counter() { unwound++; }
};
} // namespace

struct foreign : sc_core::sc_module {
  sc_core::sc_in<sc_dt::uint64> result;
  const sc_core::sc_event &done;
  foreign_ask_fn *ask;
  void *arg;
  uint64_t sum = 0, last_time = 0;

  SC_HAS_PROCESS(foreign);
  foreign(sc_core::sc_module_name name, const sc_core::sc_event &e, foreign_ask_fn *fn, void *a)
      : sc_module(name), result("result"), done(e), ask(fn), arg(a) {
    SC_THREAD(work);
  }

  void work() {
    unwinding_counter counter;
    for (uint64_t i = 0; i < 5; i++) {
      wait(sc_core::sc_time::from_value(100));
      ask(arg, i);
      wait(done);
      sum += result.read();
      last_time = sc_core::sc_time_stamp().value();
    }
    wait(); // for nothing: lives until the close
  }
};

extern "C" {

struct foreign *foreign_create(const char *name, struct tsr_sc_event *done,
                               struct tsr_sc_signal *result, foreign_ask_fn *ask, void *arg) {
  auto *event = static_cast<const sc_core::sc_event *>(tsr_sc_event_native(done));
  auto *signal = static_cast<sc_core::sc_signal<sc_dt::uint64> *>(tsr_sc_signal_native(result));
  auto *f = new foreign(name, *event, ask, arg);
  f->result(*signal);
  return f;
}

uint64_t foreign_sum(const struct foreign *f) {
  return f->sum;
}
uint64_t foreign_last_time(const struct foreign *f) {
  return f->last_time;
}
int foreign_unwound(void) {
  return unwound;
}
void foreign_destroy(void *f) {
  delete static_cast<foreign *>(f);
}
}
