// The outside of the arrays: feeds operands, takes results, counts.
#include "tests/rtl/rtl.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include RTL_HEADER

double sc_time_stamp() {
  return 0;
}

extern const uint64_t rtl_rows = RTL_ROWS, rtl_cols = RTL_COLS;

namespace {

enum : uint64_t { R = RTL_ROWS, C = RTL_COLS, PATIENCE = 100000 };

struct Fold {
  size_t req;
  uint64_t row0, col0; // along the array's rows (os: m, ws: k) and columns (n)
  uint64_t beats;      // operands that stream
  bool fresh, last;    // no partial sum comes in; the sum is complete
};

struct Bench {
  RTL_CLASS top;
  bool os;
  rtl_mm *mm;
  std::vector<Fold> folds;
  std::vector<rtl_fold> times;
  uint64_t cycle = 0;
  bool began = false;
  size_t xf = 0, wf = 0;   // fold whose operands, weights come next
  uint64_t xt = 0, wt = 0; // which of them
  std::vector<size_t> yf;  // by column: fold whose result comes next
  std::vector<uint64_t> yt;
  uint64_t idle = 0;

  explicit Bench(bool is_os, rtl_mm *reqs) : os(is_os), mm(reqs), yf(C, 0), yt(C, 0) {}

  void cut(size_t req) {
    const rtl_mm &q = mm[req];
    const uint64_t rows = os ? q.m : q.k;
    for (uint64_t c = 0; c < q.n; c += C)
      for (uint64_t r = 0; r < rows; r += R)
        folds.push_back({req, r, c, os ? q.k : q.m, q.first && (os || r == 0),
                         q.last && (os || r + R >= rows)});
  }
  uint16_t a(const rtl_mm &q, uint64_t i, uint64_t k) const {
    return i < q.m && k < q.k ? q.a[i * q.k + k] : 0;
  }
  uint16_t b(const rtl_mm &q, uint64_t k, uint64_t j) const {
    return k < q.k && j < q.n ? q.b[k * q.n + j] : 0;
  }

  void clock(CData &clk) {
    clk = 1;
    top.eval();
    clk = 0;
  }
  CData &clk() { return os ? top.os_clk : top.ws_clk; }

  void offer() { // what the feeders hold at the moment
    const bool x = xf < folds.size();
    top.os_x_valid = os && x;
    top.ws_x_valid = !os && x;
    if (x) {
      const Fold &f = folds[xf];
      const rtl_mm &q = mm[f.req];
      top.os_x_first = f.fresh && xt == 0;
      top.os_x_last = f.last && xt + 1 == f.beats;
      top.ws_x_fresh = f.fresh;
      top.ws_x_last = xt + 1 == f.beats;
      for (uint64_t i = 0; i < R; i++)
        top.a[i] = os ? a(q, f.row0 + i, xt) : a(q, xt, f.row0 + i);
      if (os)
        for (uint64_t j = 0; j < C; j++) top.os_b[j] = b(q, xt, f.col0 + j);
    }
    const bool w = !os && wf < folds.size();
    top.ws_w_valid = w;
    if (w) {
      const Fold &f = folds[wf];
      for (uint64_t j = 0; j < C; j++)
        top.ws_w[j] = b(mm[f.req], f.row0 + R - 1 - wt, f.col0 + j);
    }
  }

  void skip_unfinished(uint64_t j) { // os: folds that leave no result
    while (os && yf[j] < folds.size() && !folds[yf[j]].last) yf[j]++;
  }
  bool results_left() const {
    for (size_t f : yf)
      if (f < folds.size()) return true;
    return false;
  }

  // Whether all results that are offered may be taken: those of a request from `open`
  // on. Nobody waits before the first handshake.
  bool may_take() const {
    for (uint64_t j = 0; j < C; j++)
      if ((os ? top.os_y_valid : top.ws_y_valid[j]) && cycle < mm[folds[yf[j]].req].open)
        return false;
    return true;
  }

  void store(const Fold &f, uint64_t i, uint64_t j, uint32_t value) {
    rtl_mm &q = mm[f.req];
    if (f.last && i < q.m && f.col0 + j < q.n) q.c[i * q.n + f.col0 + j] = value;
  }

  void take_results() {
    if (os ? !top.os_y_valid || !top.os_y_ready : !top.ws_y_ready) return;
    for (uint64_t j = 0; j < C; j++) {
      if (!os && !top.ws_y_valid[j]) continue;
      const Fold &f = folds[yf[j]];
      rtl_mm &q = mm[f.req];
      if (os && top.os_y_row == R - 1) q.computed = cycle; // the later fold counts
      if (os)
        store(f, f.row0 + top.os_y_row, j, top.os_y[j]);
      else
        store(f, yt[j], j, top.ws_y[j]);
      q.end = cycle + 1;
      yt[j]++;
      if (os ? top.os_y_row == 0 : yt[j] == f.beats) {
        yt[j] = 0;
        yf[j]++;
        skip_unfinished(j);
      }
      idle = 0;
    }
  }

  void take_operands() {
    if (os ? top.os_x_valid && top.os_x_ready : top.ws_x_valid && top.ws_x_ready) {
      rtl_fold &t = times[xf];
      if (xt == 0) t.start = cycle;
      t.end = cycle + 1;
      t.beats++;
      mm[folds[xf].req].taken = t.end;
      if (++xt == folds[xf].beats) xf++, xt = 0;
      idle = 0;
      began = true;
    }
    if (!os && top.ws_w_valid && top.ws_w_ready) {
      if (++wt == R) wf++, wt = 0;
      idle = 0;
      began = true;
    }
  }

  void step() {
    offer();
    top.os_y_ready = top.ws_y_ready = 1;
    top.eval();
    if (!may_take()) {
      top.os_y_ready = top.ws_y_ready = 0;
      top.eval();
      idle = 0;
    }
    take_results();
    take_operands();
    clock(clk());
    if (began) cycle++;
    if (++idle > PATIENCE) {
      fprintf(stderr, "the array stands still\n");
      abort();
    }
  }

  void run() {
    top.rst = 1;
    top.eval();
    clock(clk());
    top.rst = 0;
    for (uint64_t j = 0; j < C; j++) skip_unfinished(j);
    times.resize(folds.size());
    while (xf < folds.size() || results_left()) step();
  }
};

} // namespace

size_t rtl_run(rtl_flow flow, bool fp, rtl_mm *mm, size_t n, rtl_fold *out, size_t cap) {
  Bench b(flow == RTL_OS || flow == RTL_OS_SERIAL, mm);
  b.top.fp = fp;
  b.top.os_serial = flow == RTL_OS_SERIAL;
  b.top.ws_preload = flow == RTL_WS_PRELOAD;
  for (size_t i = 0; i < n; i++) b.cut(i);
  b.run();
  for (size_t i = 0; i < n; i++) {
    if (!b.os) mm[i].computed = mm[i].end;
    if (b.os && !mm[i].last) mm[i].computed = mm[i].end = mm[i].taken;
  }
  for (size_t i = 0; i < b.times.size() && i < cap; i++) out[i] = b.times[i];
  b.top.final();
  return b.folds.size();
}
