// The only C++ of the product: SystemC behind the C interface of sc.h.
//
// Three rules hold in this file.  No exception crosses an extern "C" function:
// attempt() and blocked() turn every one into a result.  An unwinding that
// SystemC starts (a kill) is kept while C frames return and is raised again
// below them.  Every allocation of ours goes through sim/base/mem.h, so that
// tests can make it fail; SystemC's own do not.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <pthread.h>
#include <string>
#include <utility>
#include <vector>

#include "sim/systemc/sc.h"
extern "C" {
#include "sim/base/mem.h"
}

using namespace sc_core;

// libsystemc carries a main() that refers to sc_main().  A program's own main()
// wins; this satisfies the linker and is never called.
extern "C" __attribute__((weak)) int sc_main(int, char *[]);
extern "C" __attribute__((weak)) int sc_main(int, char *[]) {
  return 1;
}

namespace {

// SystemC 2.3.4 tells AddressSanitizer about the stacks of coroutines but gives
// (0, 0) for the main stack, so that a later throw there would be reported as an
// overflow.  on_main_stack() puts the bounds back.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TSRI_SC_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TSRI_SC_ASAN 1
#endif
#ifdef TSRI_SC_ASAN
extern "C" void __sanitizer_start_switch_fiber(void **, const void *, size_t);
extern "C" void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);
void on_main_stack() {
  static void *low;
  static size_t size;
  if (!low) {
    pthread_attr_t attr;
    pthread_getattr_np(pthread_self(), &attr);
    pthread_attr_getstack(&attr, &low, &size);
    pthread_attr_destroy(&attr);
  }
  __sanitizer_start_switch_fiber(nullptr, low, size);
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
}
#else
inline void on_main_stack() {}
#endif

// Allocation through sim/base/mem.h for what derives from this.
struct counted {
  static void *operator new(size_t n) {
    void *p = tsr_mem_alloc(n);
    if (!p) throw std::bad_alloc();
    return p;
  }
  static void operator delete(void *p) { tsr_mem_free(p); }
};

// The same for a standard container.
template <typename T> struct counted_allocator {
  using value_type = T;
  counted_allocator() = default;
  template <typename U> explicit counted_allocator(const counted_allocator<U> &) {}
  T *allocate(size_t n) {
    void *p = tsr_mem_array(n, sizeof(T));
    if (!p) throw std::bad_alloc();
    return static_cast<T *>(p);
  }
  void deallocate(T *p, size_t) { tsr_mem_free(p); }
  bool operator==(const counted_allocator &) const { return true; }
  bool operator!=(const counted_allocator &) const { return false; }
};

using counted_string = std::basic_string<char, std::char_traits<char>, counted_allocator<char>>;

// What tsr_sc_close frees.  The order of the kinds is the order of freeing: who
// refers comes before what is referred to.
enum kind { TRACE, PROC, INITIATOR, TARGET, FIFO, SIGNAL, EVENT, MODULE, KINDS };

struct node : counted {
  tsr_sc_sim *sim;
  node *next = nullptr, **link = nullptr;
  node(tsr_sc_sim *s, kind k); // puts itself first in its kind's list
  node(const node &) = delete;
  virtual ~node() {
    *link = next;
    if (next) next->link = link;
  }
};

struct close_hook : counted {
  tsr_sc_close_fn *fn;
  void *arg;
  close_hook *next;
  close_hook(tsr_sc_close_fn *f, void *a, close_hook *n) : fn(f), arg(a), next(n) {}
};

const uint64_t default_stack_bytes = 64 * 1024;

uint64_t mask_of(unsigned bits) {
  return bits >= 64 ? UINT64_MAX : (uint64_t(1) << bits) - 1;
}

} // namespace

struct tsr_sc_sim : counted {
  sc_simcontext *context = nullptr, *previous = nullptr;
  pthread_t owner = pthread_self();
  tsr_sc_options options{};
  char text[512] = "";
  enum tsr_sc_result failure = TSR_SC_OK;
  bool ran = false, running = false, stopped = false;
  tsr_sc_proc *current = nullptr; // the process of ours that runs now
  close_hook *hooks = nullptr;
  node *made[KINDS] = {};
};

struct tsr_sc_module : node {
  struct body : sc_module {
    explicit body(sc_module_name name) : sc_module(name) {}
  } module;
  tsr_sc_module(tsr_sc_sim *s, const char *name) : node(s, MODULE), module(name) {}
};

struct tsr_sc_event : node {
  std::optional<sc_event> own; // none: the event of a signal
  const sc_event *event = nullptr;
  explicit tsr_sc_event(tsr_sc_sim *s) : node(s, EVENT) {}
};

struct tsr_sc_proc : node {
  tsr_sc_fn *fn;
  void *arg;
  bool thread;
  sc_process_handle handle;
  std::exception_ptr unwinding; // a kill on its way through C frames
  tsr_sc_proc(tsr_sc_sim *s, tsr_sc_fn *f, void *a, bool t)
      : node(s, PROC), fn(f), arg(a), thread(t) {}
};

struct tsr_sc_fifo : node {
  sc_fifo<uint64_t> fifo;
  tsr_sc_fifo(tsr_sc_sim *s, const char *name, int capacity)
      : node(s, FIFO), fifo(name, capacity) {}
};

struct tsr_sc_signal : node {
  unsigned bits;
  std::optional<sc_signal<bool>> bit;
  std::optional<sc_signal<sc_dt::uint64>> word;
  tsr_sc_event *changed = nullptr;
  tsr_sc_signal(tsr_sc_sim *s, const char *name, unsigned n) : node(s, SIGNAL), bits(n) {
    if (bits == 1)
      bit.emplace(name);
    else
      word.emplace(name);
  }
};

// SystemC writes an instant when it leaves it, so never the last one; write_instant
// does.  Naming the protected member through a derived type is allowed.
struct tsri_sc_trace_access : sc_trace_file {
  static void write_instant(sc_trace_file *file) {
    (file->*&tsri_sc_trace_access::cycle)(false);
  }
};

struct tsr_sc_trace : node {
  sc_trace_file *file;
  tsr_sc_trace(tsr_sc_sim *s, const char *stem)
      : node(s, TRACE), file(sc_create_vcd_trace_file(stem)) {}
  ~tsr_sc_trace() override {
    if (sim->ran) tsri_sc_trace_access::write_instant(file);
    sc_close_vcd_trace_file(file);
  }
};

// Carries the C payload through the generic one.
struct tsri_sc_extension : counted, tlm::tlm_extension<tsri_sc_extension> {
  tsr_sc_payload *payload = nullptr;
  tlm_extension_base *clone() const override { return new tsri_sc_extension(*this); }
  void copy_from(const tlm_extension_base &other) override {
    payload = static_cast<const tsri_sc_extension &>(other).payload;
  }
};

struct tsr_sc_initiator : node {
  struct body : sc_module {
    tlm_utils::simple_initiator_socket<body> socket;
    explicit body(sc_module_name name) : sc_module(name), socket("socket") {}
  } module;
  tlm::tlm_generic_payload generic;
  tsri_sc_extension *extension;
  tsr_sc_initiator(tsr_sc_sim *s, const char *name)
      : node(s, INITIATOR), module(name), extension(new tsri_sc_extension) {
    generic.set_extension(extension); // freed with `generic`
  }
};

struct tsr_sc_target : node {
  tsr_sc_transport_fn *fn;
  void *arg;
  struct body : sc_module {
    tsr_sc_target *owner;
    tlm_utils::simple_target_socket<body> socket;
    body(sc_module_name name, tsr_sc_target *o) : sc_module(name), owner(o), socket("socket") {
      socket.register_b_transport(this, &body::transport);
    }
    void transport(tlm::tlm_generic_payload &generic, sc_time &delay) {
      uint64_t ticks = delay.value();
      auto *payload = generic.get_extension<tsri_sc_extension>()->payload;
      enum tsr_sc_result r = owner->fn(owner->arg, payload, &ticks);
      delay = sc_time::from_value(ticks);
      generic.set_response_status(r < 0 ? tlm::TLM_GENERIC_ERROR_RESPONSE
                                        : tlm::TLM_OK_RESPONSE);
    }
  } module;
  tsr_sc_target(tsr_sc_sim *s, const char *name, tsr_sc_transport_fn *f, void *a)
      : node(s, TARGET), fn(f), arg(a), module(name, this) {}
};

namespace {

tsr_sc_sim *open_sim; // SystemC has one current context in a process

node::node(tsr_sc_sim *s, kind k) : sim(s), next(s->made[k]), link(&s->made[k]) {
  if (next) next->link = &next;
  *link = this;
}

// --- errors -----------------------------------------------------------------

void set_text(tsr_sc_sim *s, const char *first, const char *second) {
  snprintf(s->text, sizeof s->text, "%s%s%s", first, second ? ": " : "", second ? second : "");
}

void pass_on(tsr_sc_sim *s, const sc_report &report) {
  tsr_sc_report out{};
  out.severity = static_cast<enum tsr_sc_severity>(report.get_severity());
  out.type = report.get_msg_type();
  out.text = report.get_msg();
  out.process = report.get_process_name();
  out.time_ticks = report.get_time().value();
  s->options.on_report(s->options.on_report_arg, &out);
}

// In place of SystemC's handler: nothing is printed, nothing aborts.
void on_report(const sc_report &report, const sc_actions &actions) {
  if (open_sim && open_sim->options.on_report && actions != SC_DO_NOTHING)
    pass_on(open_sim, report);
  if (report.get_severity() >= SC_ERROR) throw report;
}

// Call in a handler: the one place where an exception becomes a result.
enum tsr_sc_result caught(tsr_sc_sim *s) {
  try {
    throw;
  } catch (const sc_unwind_exception &) {
    if (!s->current) return TSR_SC_KILLED;
    s->current->unwinding = std::current_exception();
    return TSR_SC_KILLED;
  } catch (const sc_report &report) {
    set_text(s, report.get_msg_type(), report.get_msg());
    return TSR_SC_REPORT;
  } catch (const std::bad_alloc &) {
    set_text(s, "out of memory", nullptr);
    return TSR_SC_NOMEM;
  } catch (const std::exception &e) {
    set_text(s, "exception", e.what());
    return TSR_SC_EXCEPTION;
  } catch (...) {
    set_text(s, "exception of unknown type", nullptr);
    return TSR_SC_EXCEPTION;
  }
}

bool on_own_thread(const tsr_sc_sim *s) {
  return pthread_equal(s->owner, pthread_self());
}

template <typename Body> enum tsr_sc_result attempt(tsr_sc_sim *s, Body &&body) noexcept {
  try {
    body();
    return TSR_SC_OK;
  } catch (...) {
    return caught(s);
  }
}

// For calls that build: checks the OS thread, gives a status.
template <typename Body>
enum tsr_status build(tsr_sc_sim *s, struct tsr_err *err, Body &&body) noexcept {
  enum tsr_sc_result r = on_own_thread(s) ? attempt(s, body) : TSR_SC_WRONG_THREAD;
  return tsr_sc_status(s, r, err);
}

// For calls that wait: other processes run meanwhile, so `current` is put back.
template <typename Body> enum tsr_sc_result blocked(tsr_sc_sim *s, Body &&body) noexcept {
  tsr_sc_proc *self = s->current;
  if (!self || !self->thread) return TSR_SC_NOT_A_THREAD;
  if (self->unwinding) return TSR_SC_KILLED;
  s->current = nullptr;
  try {
    body();
    s->current = self;
    return TSR_SC_OK;
  } catch (...) {
    s->current = self;
    return caught(s);
  }
}

uint64_t now_of(const tsr_sc_sim *s) {
  return s->context->time_stamp().value();
}

bool within_time(const tsr_sc_sim *s, uint64_t ticks) {
  return ticks <= UINT64_MAX - now_of(s);
}

// New objects are named below `module` while this lives.
struct scope {
  sc_simcontext *context;
  explicit scope(tsr_sc_module *m) : context(m->sim->context) {
    context->hierarchy_push(&m->module);
  }
  ~scope() { context->hierarchy_pop(); }
  scope(const scope &) = delete;
};

const char *name_or(const char *name, const char *stem) {
  return name ? name : sc_gen_unique_name(stem);
}

// --- life ---------------------------------------------------------------------

// The context that the library made when it was loaded stays: its static events
// point to it until exit.  Each simulation gets a context of its own.
void enter_context(tsr_sc_sim *s) {
  s->previous = sc_get_curr_simcontext();
  s->context = new sc_simcontext;
  sc_curr_simcontext = s->context;
  sc_report_handler::set_handler(on_report);
  sc_report_handler::set_actions("/OSCI/SystemC", SC_DO_NOTHING);
  sc_report_handler::set_actions(SC_ID_IEEE_1666_DEPRECATION_, SC_DO_NOTHING);
  uint64_t fs = s->options.resolution_fs ? s->options.resolution_fs : 1;
  sc_set_time_resolution(double(fs), SC_FS);
}

void leave_context(tsr_sc_sim *s) {
  if (!s->previous) return;
  if (s->context) delete s->context;
  sc_curr_simcontext = s->previous;
}

using handles = std::vector<sc_process_handle, counted_allocator<sc_process_handle>>;

void collect_processes(const std::vector<sc_object *> &objects, handles &out) {
  for (sc_object *object : objects) {
    if (dynamic_cast<sc_process_b *>(object)) out.push_back(sc_process_handle(object));
    collect_processes(object->get_child_objects(), out);
  }
}

// Kills all processes but itself.  Only a process may do so: kill() from outside
// crashes SystemC 2.3.4.
void reap(tsr_sc_sim *s, tsr_sc_proc *self) {
  sc_process_handle me = sc_get_current_process_handle();
  s->current = self;
  handles all;
  collect_processes(sc_get_top_level_objects(s->context), all);
  for (sc_process_handle &h : all) {
    if (h != me && h.valid() && !h.terminated()) h.kill();
    s->current = self;
  }
  s->current = nullptr;
  on_main_stack();
}

void end_processes(tsr_sc_sim *s) {
  if (!s->ran || !sc_is_running()) return;
  sc_spawn_options as_method;
  as_method.spawn_method();
  auto *self = new tsr_sc_proc(s, nullptr, nullptr, false);
  self->handle = sc_spawn(
      [s, self] {
        reap(s, self);
        self->handle.kill(); // a dynamic process is freed only when it ended
      },
      sc_gen_unique_name("reaper"), &as_method);
  sc_start(SC_ZERO_TIME);
  on_main_stack();
}

void call_hooks(tsr_sc_sim *s) {
  while (s->hooks) {
    close_hook *h = s->hooks;
    s->hooks = h->next;
    h->fn(h->arg);
    delete h;
  }
}

void free_kind(tsr_sc_sim *s, kind k) {
  while (s->made[k]) delete s->made[k]; // unlinks itself
}

void free_all(tsr_sc_sim *s) {
  for (int k = 0; k < KINDS; k++) free_kind(s, kind(k));
}

enum tsr_sc_result run_result(const tsr_sc_sim *s) {
  if (s->failure) return s->failure;
  if (s->stopped) return TSR_SC_STOPPED;
  return sc_pending_activity(s->context) ? TSR_SC_OK : TSR_SC_STARVED;
}

// --- processes -------------------------------------------------------------------

void note_failure(tsr_sc_proc *p, enum tsr_sc_result r) {
  bool known = r == TSR_SC_REPORT || r == TSR_SC_EXCEPTION;
  char text[sizeof p->sim->text];
  snprintf(text, sizeof text, "process %.100s: %.380s", p->handle.name(),
           known ? p->sim->text : tsr_sc_result_text(r));
  tsr_sc_fail(p->sim, r, text);
}

void run_process(tsr_sc_proc *p) {
  tsr_sc_sim *s = p->sim;
  s->current = p;
  if (!p->thread) on_main_stack();
  enum tsr_sc_result r = p->fn(p->arg);
  s->current = nullptr;
  if (p->unwinding) std::rethrow_exception(std::exchange(p->unwinding, nullptr));
  if (r < 0 && !s->failure) note_failure(p, r);
}

void set_spawn_options(const tsr_sc_proc *p, const tsr_sc_proc_options *o,
                       sc_spawn_options &out) {
  if (p->thread) {
    size_t stack = o && o->stack_bytes ? o->stack_bytes : p->sim->options.stack_bytes;
    out.set_stack_size(int(stack));
  } else {
    out.spawn_method();
  }
  if (!o) return;
  if (o->wait_first) out.dont_initialize();
  for (size_t i = 0; i < o->n_sensitive; i++) out.set_sensitivity(o->sensitive[i]->event);
}

enum tsr_status process_new(tsr_sc_module *m, const char *name, tsr_sc_fn *fn, void *arg,
                            const tsr_sc_proc_options *options, tsr_sc_proc **out,
                            struct tsr_err *err, bool thread) {
  return build(m->sim, err, [&] {
    scope below(m);
    auto *p = new tsr_sc_proc(m->sim, fn, arg, thread);
    sc_spawn_options spawn;
    set_spawn_options(p, options, spawn);
    p->handle =
        sc_spawn([p] { run_process(p); }, name_or(name, thread ? "thread" : "method"), &spawn);
    if (out) *out = p;
  });
}

// --- traces -------------------------------------------------------------------------

// Length of `path` without ".vcd", which SystemC appends; 0 when it has none.
size_t vcd_stem(const char *path) {
  size_t n = strlen(path);
  return n > 4 && !strcmp(path + n - 4, ".vcd") ? n - 4 : 0;
}

bool can_write(const char *path) {
  FILE *f = fopen(path, "wb");
  return f && !fclose(f);
}

} // namespace

extern "C" {

// --- life ---------------------------------------------------------------------

enum tsr_status tsr_sc_open(const struct tsr_sc_options *options, struct tsr_sc_sim **out,
                            struct tsr_err *err) {
  if (open_sim) return tsr_err_set(err, TSR_SIM, "a simulation is open already");
  tsr_sc_sim *s;
  try {
    s = new tsr_sc_sim;
  } catch (...) {
    return tsr_err_nomem(err);
  }
  if (options) s->options = *options;
  if (!s->options.stack_bytes) s->options.stack_bytes = default_stack_bytes;
  open_sim = s;
  enum tsr_status status = build(s, err, [&] { enter_context(s); });
  if (status == TSR_OK) {
    *out = s;
    return TSR_OK;
  }
  attempt(s, [&] { leave_context(s); });
  open_sim = nullptr;
  delete s;
  return status;
}

enum tsr_sc_result tsr_sc_run(struct tsr_sc_sim *sim, uint64_t ticks) {
  if (!on_own_thread(sim)) return TSR_SC_WRONG_THREAD;
  if (sim->running) return TSR_SC_STATE;
  if (sim->failure || sim->stopped) return run_result(sim);
  if (ticks != TSR_SC_FOREVER && !within_time(sim, ticks)) return TSR_SC_ARG;
  sim->ran = sim->running = true;
  enum tsr_sc_result r = attempt(sim, [&] {
    if (ticks == TSR_SC_FOREVER)
      sc_start();
    else
      sc_start(sc_time::from_value(ticks), SC_RUN_TO_TIME);
  });
  on_main_stack();
  sim->running = false;
  sim->current = nullptr;
  if (r < 0 && !sim->failure) sim->failure = r;
  return run_result(sim);
}

enum tsr_sc_result tsr_sc_stop(struct tsr_sc_sim *sim) {
  if (!on_own_thread(sim)) return TSR_SC_WRONG_THREAD;
  sim->stopped = true;
  // A pause, not sc_stop(), after which no process could be killed any more.
  return sim->running ? attempt(sim, [] { sc_pause(); }) : TSR_SC_OK;
}

enum tsr_sc_result tsr_sc_fail(struct tsr_sc_sim *sim, enum tsr_sc_result why,
                               const char *text) {
  if (!on_own_thread(sim)) return TSR_SC_WRONG_THREAD;
  if (why >= 0) return TSR_SC_ARG;
  if (!sim->failure) {
    sim->failure = why;
    set_text(sim, text, nullptr);
  }
  return sim->running ? attempt(sim, [] { sc_pause(); }) : TSR_SC_OK;
}

enum tsr_sc_result tsr_sc_close(struct tsr_sc_sim *sim) {
  if (!sim) return TSR_SC_OK;
  if (!on_own_thread(sim)) return TSR_SC_WRONG_THREAD;
  if (sim->running) return TSR_SC_STATE;
  enum tsr_sc_result ended = attempt(sim, [&] {
    free_kind(sim, TRACE); // what dying threads write is no part of a trace
    end_processes(sim);
  });
  enum tsr_sc_result freed = attempt(sim, [&] {
    call_hooks(sim);
    free_all(sim);
    leave_context(sim);
  });
  sc_curr_simcontext = sim->previous;
  open_sim = nullptr;
  delete sim;
  return ended < 0 ? ended : freed;
}

enum tsr_status tsr_sc_at_close(struct tsr_sc_sim *sim, tsr_sc_close_fn *fn, void *arg,
                                struct tsr_err *err) {
  return build(sim, err, [&] { sim->hooks = new close_hook(fn, arg, sim->hooks); });
}

uint64_t tsr_sc_now(const struct tsr_sc_sim *sim) {
  return now_of(sim);
}

uint64_t tsr_sc_deltas(const struct tsr_sc_sim *) {
  return sc_delta_count();
}

enum tsr_sc_result tsr_sc_next_time(const struct tsr_sc_sim *sim, uint64_t *out) {
  sc_time next;
  if (!sim->context->next_time(next)) return TSR_SC_STARVED;
  *out = next.value();
  return TSR_SC_OK;
}

const char *tsr_sc_error(const struct tsr_sc_sim *sim) {
  return sim->text;
}

const char *tsr_sc_result_text(enum tsr_sc_result r) {
  switch (r) {
#define TSRI_SC_TEXT(name, value, status, doc) \
  case TSR_SC_##name: return doc;
    TSR_SC_RESULT_LIST(TSRI_SC_TEXT)
#undef TSRI_SC_TEXT
  }
  return "unknown result";
}

static enum tsr_status status_of(enum tsr_sc_result r) {
  switch (r) {
#define TSRI_SC_STATUS(name, value, status, doc) \
  case TSR_SC_##name: return TSR_##status;
    TSR_SC_RESULT_LIST(TSRI_SC_STATUS)
#undef TSRI_SC_STATUS
  }
  return TSR_SIM;
}

enum tsr_status tsr_sc_status(const struct tsr_sc_sim *sim, enum tsr_sc_result r,
                              struct tsr_err *err) {
  enum tsr_status status = status_of(r);
  if (status == TSR_OK) return TSR_OK;
  if (status == TSR_NOMEM) return tsr_err_nomem(err);
  bool known = r == TSR_SC_REPORT || r == TSR_SC_EXCEPTION || r == sim->failure;
  return tsr_err_set(err, status, "SystemC: %s",
                     known && sim->text[0] ? sim->text : tsr_sc_result_text(r));
}

const char *tsr_sc_version(void) {
  return sc_version();
}

// --- structure -----------------------------------------------------------------

enum tsr_status tsr_sc_module_new(struct tsr_sc_sim *sim, struct tsr_sc_module *parent,
                                  const char *name, struct tsr_sc_module **out,
                                  struct tsr_err *err) {
  return build(sim, err, [&] {
    std::optional<scope> below;
    if (parent) below.emplace(parent);
    *out = new tsr_sc_module(sim, name_or(name, "module"));
  });
}

struct tsr_sc_sim *tsr_sc_module_sim(const struct tsr_sc_module *module) {
  return module->sim;
}

enum tsr_status tsr_sc_event_new(struct tsr_sc_module *module, const char *name,
                                 struct tsr_sc_event **out, struct tsr_err *err) {
  return build(module->sim, err, [&] {
    scope below(module);
    auto *e = new tsr_sc_event(module->sim);
    e->own.emplace(name_or(name, "event"));
    e->event = &*e->own;
    *out = e;
  });
}

void tsr_sc_event_free(struct tsr_sc_event *event) {
  if (event) attempt(event->sim, [&] { delete event; });
}

enum tsr_sc_result tsr_sc_notify_now(struct tsr_sc_event *event) {
  if (!event->own) return TSR_SC_ARG;
  return attempt(event->sim, [&] { event->own->notify(); });
}

enum tsr_sc_result tsr_sc_notify_after(struct tsr_sc_event *event, uint64_t ticks) {
  if (!event->own || !within_time(event->sim, ticks)) return TSR_SC_ARG;
  return attempt(event->sim, [&] { event->own->notify(sc_time::from_value(ticks)); });
}

enum tsr_sc_result tsr_sc_cancel(struct tsr_sc_event *event) {
  if (!event->own) return TSR_SC_ARG;
  return attempt(event->sim, [&] { event->own->cancel(); });
}

// --- processes -------------------------------------------------------------------

enum tsr_status tsr_sc_method_new(struct tsr_sc_module *module, const char *name, tsr_sc_fn *fn,
                                  void *arg, const struct tsr_sc_proc_options *options,
                                  struct tsr_sc_proc **out, struct tsr_err *err) {
  return process_new(module, name, fn, arg, options, out, err, false);
}

enum tsr_status tsr_sc_thread_new(struct tsr_sc_module *module, const char *name, tsr_sc_fn *fn,
                                  void *arg, const struct tsr_sc_proc_options *options,
                                  struct tsr_sc_proc **out, struct tsr_err *err) {
  return process_new(module, name, fn, arg, options, out, err, true);
}

enum tsr_sc_result tsr_sc_kill(struct tsr_sc_proc *proc) {
  tsr_sc_sim *s = proc->sim;
  tsr_sc_proc *self = s->current; // the victim becomes current while it unwinds
  if (!self) return TSR_SC_STATE;
  if (proc->handle.terminated()) return TSR_SC_OK;
  try {
    proc->handle.kill();
  } catch (...) {
    s->current = self;
    return caught(s);
  }
  s->current = self;
  if (!self->thread) on_main_stack();
  return TSR_SC_OK;
}

enum tsr_sc_result tsr_sc_next_after(struct tsr_sc_sim *sim, uint64_t ticks) {
  if (!within_time(sim, ticks)) return TSR_SC_ARG;
  return attempt(sim, [&] { next_trigger(sc_time::from_value(ticks), sim->context); });
}

enum tsr_sc_result tsr_sc_next_event(struct tsr_sc_sim *sim, struct tsr_sc_event *event) {
  return attempt(sim, [&] { next_trigger(*event->event, sim->context); });
}

enum tsr_sc_result tsr_sc_wait(struct tsr_sc_sim *sim) {
  return blocked(sim, [&] { wait(sim->context); });
}

enum tsr_sc_result tsr_sc_wait_for(struct tsr_sc_sim *sim, uint64_t ticks) {
  if (!within_time(sim, ticks)) return TSR_SC_ARG;
  return blocked(sim, [&] { wait(sc_time::from_value(ticks), sim->context); });
}

enum tsr_sc_result tsr_sc_wait_event(struct tsr_sc_sim *sim, struct tsr_sc_event *event) {
  return blocked(sim, [&] { wait(*event->event, sim->context); });
}

enum tsr_sc_result tsr_sc_wait_event_for(struct tsr_sc_sim *sim, struct tsr_sc_event *event,
                                         uint64_t ticks) {
  return tsr_sc_wait_any(sim, &event, 1, ticks, nullptr);
}

enum tsr_sc_result tsr_sc_wait_any(struct tsr_sc_sim *sim, struct tsr_sc_event *const *events,
                                   size_t n, uint64_t ticks, size_t *which) {
  bool forever = ticks == TSR_SC_FOREVER;
  if (!n || (!forever && !within_time(sim, ticks))) return TSR_SC_ARG;
  enum tsr_sc_result r = blocked(sim, [&] {
    sc_event_or_list list;
    for (size_t i = 0; i < n; i++) list |= *events[i]->event;
    if (forever)
      wait(list, sim->context);
    else
      wait(sc_time::from_value(ticks), list, sim->context);
  });
  if (r != TSR_SC_OK) return r;
  for (size_t i = 0; i < n; i++) {
    if (!events[i]->event->triggered()) continue;
    if (which) *which = i;
    return TSR_SC_OK;
  }
  return TSR_SC_TIMEOUT;
}

// --- fifos -------------------------------------------------------------------------

enum tsr_status tsr_sc_fifo_new(struct tsr_sc_module *module, const char *name, size_t capacity,
                                struct tsr_sc_fifo **out, struct tsr_err *err) {
  if (!capacity || capacity > INT32_MAX) return tsr_sc_status(module->sim, TSR_SC_ARG, err);
  return build(module->sim, err, [&] {
    scope below(module);
    *out = new tsr_sc_fifo(module->sim, name_or(name, "fifo"), int(capacity));
  });
}

enum tsr_sc_result tsr_sc_fifo_put(struct tsr_sc_fifo *fifo, uint64_t token) {
  return blocked(fifo->sim, [&] { fifo->fifo.write(token); });
}

enum tsr_sc_result tsr_sc_fifo_get(struct tsr_sc_fifo *fifo, uint64_t *token) {
  return blocked(fifo->sim, [&] { fifo->fifo.read(*token); });
}

enum tsr_sc_result tsr_sc_fifo_try_put(struct tsr_sc_fifo *fifo, uint64_t token) {
  bool done = false;
  enum tsr_sc_result r = attempt(fifo->sim, [&] { done = fifo->fifo.nb_write(token); });
  return r < 0 || done ? r : TSR_SC_FULL;
}

enum tsr_sc_result tsr_sc_fifo_try_get(struct tsr_sc_fifo *fifo, uint64_t *token) {
  bool done = false;
  enum tsr_sc_result r = attempt(fifo->sim, [&] { done = fifo->fifo.nb_read(*token); });
  return r < 0 || done ? r : TSR_SC_EMPTY;
}

size_t tsr_sc_fifo_used(const struct tsr_sc_fifo *fifo) {
  return size_t(fifo->fifo.num_available());
}

size_t tsr_sc_fifo_free_slots(const struct tsr_sc_fifo *fifo) {
  return size_t(fifo->fifo.num_free());
}

// --- signals and traces ---------------------------------------------------------------

enum tsr_status tsr_sc_signal_new(struct tsr_sc_module *module, const char *name, unsigned bits,
                                  struct tsr_sc_signal **out, struct tsr_err *err) {
  if (!bits || bits > 64) return tsr_sc_status(module->sim, TSR_SC_ARG, err);
  return build(module->sim, err, [&] {
    scope below(module);
    auto *s = new tsr_sc_signal(module->sim, name_or(name, "signal"), bits);
    s->changed = new tsr_sc_event(module->sim);
    s->changed->event =
        s->bit ? &s->bit->value_changed_event() : &s->word->value_changed_event();
    *out = s;
  });
}

enum tsr_sc_result tsr_sc_signal_write(struct tsr_sc_signal *signal, uint64_t value) {
  value &= mask_of(signal->bits);
  return attempt(signal->sim, [&] {
    if (signal->bit)
      signal->bit->write(value != 0);
    else
      signal->word->write(value);
  });
}

uint64_t tsr_sc_signal_read(const struct tsr_sc_signal *signal) {
  return signal->bit ? uint64_t(signal->bit->read()) : uint64_t(signal->word->read());
}

struct tsr_sc_event *tsr_sc_signal_changed(struct tsr_sc_signal *signal) {
  return signal->changed;
}

enum tsr_status tsr_sc_trace_open(struct tsr_sc_sim *sim, const char *path,
                                  struct tsr_sc_trace **out, struct tsr_err *err) {
  size_t stem = vcd_stem(path);
  if (!stem)
    return tsr_err_set(err, TSR_STORE, "expected a trace name ending in .vcd, got '%s'", path);
  if (!can_write(path)) return tsr_err_set(err, TSR_STORE, "%s: cannot be written", path);
  return build(sim, err, [&] {
    auto *t = new tsr_sc_trace(sim, counted_string(path, stem).c_str());
    t->file->set_time_unit(double(sc_time::from_value(1).to_seconds()) * 1e15, SC_FS);
    *out = t;
  });
}

enum tsr_status tsr_sc_trace_signal(struct tsr_sc_trace *trace, struct tsr_sc_signal *signal,
                                    const char *name, struct tsr_err *err) {
  return build(trace->sim, err, [&] {
    if (signal->bit)
      sc_trace(trace->file, *signal->bit, name);
    else
      sc_trace(trace->file, signal->word->read(), name, int(signal->bits));
  });
}

enum tsr_status tsr_sc_trace_value(struct tsr_sc_trace *trace, const uint64_t *value,
                                   unsigned bits, const char *name, struct tsr_err *err) {
  if (!bits || bits > 64) return tsr_sc_status(trace->sim, TSR_SC_ARG, err);
  return build(trace->sim, err, [&] {
    sc_trace(trace->file, *reinterpret_cast<const sc_dt::uint64 *>(value), name, int(bits));
  });
}

void tsr_sc_trace_close(struct tsr_sc_trace *trace) {
  attempt(trace->sim, [&] { delete trace; });
}

// --- TLM -------------------------------------------------------------------------------

enum tsr_status tsr_sc_target_new(struct tsr_sc_module *module, const char *name,
                                  tsr_sc_transport_fn *fn, void *arg,
                                  struct tsr_sc_target **out, struct tsr_err *err) {
  return build(module->sim, err, [&] {
    scope below(module);
    *out = new tsr_sc_target(module->sim, name_or(name, "target"), fn, arg);
  });
}

enum tsr_status tsr_sc_initiator_new(struct tsr_sc_module *module, const char *name,
                                     struct tsr_sc_initiator **out, struct tsr_err *err) {
  return build(module->sim, err, [&] {
    scope below(module);
    *out = new tsr_sc_initiator(module->sim, name_or(name, "initiator"));
  });
}

enum tsr_status tsr_sc_bind(struct tsr_sc_initiator *initiator, struct tsr_sc_target *target,
                            struct tsr_err *err) {
  return build(initiator->sim, err,
               [&] { initiator->module.socket.bind(target->module.socket); });
}

enum tsr_sc_result tsr_sc_transport(struct tsr_sc_initiator *initiator,
                                    struct tsr_sc_payload *payload, uint64_t *delay_ticks) {
  tsr_sc_sim *s = initiator->sim;
  tlm::tlm_generic_payload &generic = initiator->generic;
  enum tsr_sc_result r = attempt(s, [&] {
    initiator->extension->payload = payload;
    generic.set_command(payload->write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    generic.set_address(payload->address_bytes);
    generic.set_data_ptr(static_cast<unsigned char *>(payload->data));
    generic.set_data_length(payload->length_bytes);
    generic.set_streaming_width(payload->length_bytes);
    generic.set_byte_enable_ptr(nullptr);
    generic.set_dmi_allowed(false);
    generic.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    sc_time delay = sc_time::from_value(*delay_ticks);
    initiator->module.socket->b_transport(generic, delay);
    *delay_ticks = delay.value();
  });
  if (r < 0) return r;
  if (s->current && s->current->unwinding) return TSR_SC_KILLED;
  return generic.is_response_ok() ? TSR_SC_OK : TSR_SC_FAILED;
}

// --- for a foreign module ------------------------------------------------------------------

const void *tsr_sc_event_native(const struct tsr_sc_event *event) {
  return event->event;
}

void *tsr_sc_signal_native(struct tsr_sc_signal *signal) {
  if (signal->bit) return &*signal->bit;
  return &*signal->word;
}

} // extern "C"
