// The outside of the dot product tile: feeds operands, takes results, counts.
#include "tests/rtl/dot.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

#include RTL_HEADER

double sc_time_stamp() {
  return 0;
}

extern const uint64_t dot_m = DOT_M, dot_n = DOT_N, dot_k = DOT_K, dot_depth = DOT_DEPTH,
                      dot_accumulators = DOT_ACC;

namespace {

enum : uint64_t { M = DOT_M, N = DOT_N, K = DOT_K, OPS = (M + N) * K, PATIENCE = 100000 };

struct Step {
  size_t req, fold;
  uint64_t row, col, k; // where its operands begin
  uint64_t acc;
  bool fresh, last; // of its block
};

struct Element {
  uint64_t place;
  uint16_t value;
};

// A fragment that the registers hold: of which request, where.
struct Held {
  size_t req = SIZE_MAX;
  uint64_t at = 0, k = 0;
  bool is(size_t r, uint64_t a, uint64_t p) const { return req == r && at == a && k == p; }
};

struct Bench {
  RTL_CLASS top;
  const dot_config &x;
  rtl_mm *mm;
  std::vector<Step> steps;
  std::vector<rtl_fold> times;
  std::vector<std::vector<uint32_t>> c; // the scratchpad: results of each request
  std::vector<size_t> untaken;          // blocks of each request still to come
  std::deque<size_t> flying;            // last steps of blocks, in the pipeline
  uint64_t cycle = 0, idle = 0;
  size_t at = 0; // step whose operands come
  std::vector<Element> rest;
  bool loading = false, clear_a = false, clear_b = false;
  Held held_a, held_b;

  Bench(const dot_config &cfg, rtl_mm *reqs, size_t n) : x(cfg), mm(reqs), untaken(n, 0) {
    for (size_t i = 0; i < n; i++) {
      c.emplace_back(mm[i].m * mm[i].n);
      cut(i);
    }
  }

  // Blocks [from, to) of a strip, k outer.
  void fold(size_t req, uint64_t strip, uint64_t from, uint64_t to) {
    const rtl_mm &q = mm[req];
    for (uint64_t k = 0; k < q.k; k += K)
      for (uint64_t i = from; i < to; i++) {
        const uint64_t bm = x.keep == DOT_KEEP_A ? strip : i;
        const uint64_t bn = x.keep == DOT_KEEP_A ? i : strip;
        steps.push_back({req, times.size(), bm * M, bn * N, k, i - from, k == 0, k + K >= q.k});
      }
    untaken[req] += to - from;
    times.push_back({});
  }
  void cut(size_t req) {
    const rtl_mm &q = mm[req];
    const uint64_t bm = (q.m + M - 1) / M, bn = (q.n + N - 1) / N;
    const uint64_t strips = x.keep == DOT_KEEP_A ? bm : bn;
    const uint64_t blocks = x.keep == DOT_KEEP_A ? bn : bm;
    for (uint64_t s = 0; s < strips; s++) {
      uint64_t folds = 1, from = 0;
      while (folds * x.accumulators < blocks) folds++;
      for (; from < blocks; folds--) { // the larger ones first
        uint64_t size = 1;
        while (size * folds < blocks - from) size++;
        fold(req, s, from, from + size);
        from += size;
      }
    }
  }

  // What the next step's operands lack.
  void load() {
    const Step &s = steps[at];
    const rtl_mm &q = mm[s.req];
    clear_a = !(x.keep == DOT_KEEP_A && held_a.is(s.req, s.row, s.k));
    clear_b = !(x.keep == DOT_KEEP_B && held_b.is(s.req, s.col, s.k));
    rest.clear();
    for (uint64_t k = 0; k < K && s.k + k < q.k; k++) {
      for (uint64_t i = 0; clear_a && i < M && s.row + i < q.m; i++)
        rest.push_back({i * K + k, q.a[(s.row + i) * q.k + s.k + k]});
      for (uint64_t j = 0; clear_b && j < N && s.col + j < q.n; j++)
        rest.push_back({(M + j) * K + k, q.b[(s.k + k) * q.n + s.col + j]});
    }
    held_a = {s.req, s.row, s.k};
    held_b = {s.req, s.col, s.k};
    loading = true;
  }

  uint64_t beat() const {
    return std::min<uint64_t>(rest.size(), x.lanes ? x.lanes : uint64_t(OPS));
  }

  // A sum that goes on comes from the scratchpad: its results must be there.
  bool sums_there(const Step &s) const {
    if (mm[s.req].first) return true;
    for (size_t i = 0; i < s.req; i++)
      if (untaken[i]) return false;
    return true;
  }
  uint32_t begin_with(const Step &s, uint64_t i, uint64_t j) const {
    const rtl_mm &q = mm[s.req];
    if (q.first || s.row + i >= q.m || s.col + j >= q.n) return 0;
    return c[s.req - 1][(s.row + i) * q.n + s.col + j];
  }

  void offer() {
    top.x_valid = at < steps.size();
    if (!top.x_valid) return;
    if (!loading) load();
    const Step &s = steps[at];
    top.x_clear_a = clear_a;
    top.x_clear_b = clear_b;
    top.x_count = beat();
    for (uint64_t l = 0; l < beat(); l++) {
      top.x_place[l] = rest[l].place;
      top.x_data[l] = rest[l].value;
    }
    top.x_step = beat() == rest.size();
    top.x_acc = s.acc;
    top.x_fresh = s.fresh;
    top.x_last = s.last;
    for (uint64_t i = 0; i < M; i++)
      for (uint64_t j = 0; j < N; j++) top.x_c[i * N + j] = begin_with(s, i, j);
    if (top.x_step && !sums_there(s)) top.x_valid = 0;
  }

  void take_operands() {
    if (!top.x_valid || !top.x_ready) return;
    const Step &s = steps[at];
    rtl_fold &t = times[s.fold];
    if (!t.end) t.start = cycle;
    t.end = cycle + 1;
    mm[s.req].taken = cycle + 1;
    idle = 0;
    rest.erase(rest.begin(), rest.begin() + beat());
    clear_a = clear_b = false;
    if (!top.x_step) return;
    t.beats++;
    if (s.last) flying.push_back(at);
    loading = false;
    at++;
  }

  void take_results() {
    if (!top.y_valid || !top.y_ready) return;
    const Step &s = steps[flying.front()];
    flying.pop_front();
    rtl_mm &q = mm[s.req];
    for (uint64_t i = 0; i < M && s.row + i < q.m; i++)
      for (uint64_t j = 0; j < N && s.col + j < q.n; j++) {
        c[s.req][(s.row + i) * q.n + s.col + j] = top.y[i * N + j];
        if (q.last) q.c[(s.row + i) * q.n + s.col + j] = top.y[i * N + j];
      }
    untaken[s.req]--;
    q.computed = q.end = cycle + 1;
    idle = 0;
  }

  // The request whose result is offered: of the step that enters, where it leaves at once.
  bool may_take() const {
    const size_t step = flying.empty() ? at : flying.front();
    return cycle >= mm[steps[step].req].open;
  }

  void clock() {
    top.clk = 1;
    top.eval();
    top.clk = 0;
  }

  void cycle_once() {
    offer();
    top.y_ready = 1;
    top.eval();
    if (top.y_valid && !may_take()) {
      top.y_ready = 0;
      top.eval();
      idle = 0;
    }
    take_operands();
    take_results();
    clock();
    cycle++;
    if (++idle > PATIENCE) {
      fprintf(stderr, "the tile stands still\n");
      abort();
    }
  }

  void run() {
    top.rst = 1;
    top.x_valid = 0;
    top.eval();
    for (int i = 0; i <= DOT_DEPTH; i++) clock();
    top.rst = 0;
    while (at < steps.size() || !flying.empty()) cycle_once();
  }
};

} // namespace

size_t dot_run(const dot_config *x, bool fp, rtl_mm *mm, size_t n, rtl_fold *out, size_t cap) {
  Bench b(*x, mm, n);
  b.top.fp = fp;
  b.top.forward = x->forward;
  b.run();
  for (size_t i = 0; i < b.times.size() && i < cap; i++) out[i] = b.times[i];
  b.top.final();
  return b.times.size();
}
