/* What stays on the chip between layers: bytes that can be derived, bits that are the same,
 * chains that are cut, what is refused, and what is looked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/base/rng.h"
#include "sim/run/pack.h"
#include "tests/unit/run/ran.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))
#define HEAD "model,layer,op,M,N,K,count,notes,epilogue,after\n"

struct moved {
  double read, written, dma, cycles, layers;
};

/* keep "": none. */
static enum tsr_status try(const char *arch, const char *csv, const char *const *sets,
                           const char *keep, const char *mapping, enum tsr_numerics numerics,
                           struct moved *out, struct tsr_err *err) {
  struct ran r;
  struct tsr_run_options o = {.arch = arch,
                              .workload = "w.csv",
                              .workload_text = csv,
                              .sets = sets,
                              .keep = *keep ? keep : NULL,
                              .mapping = mapping ? "m.yaml" : NULL,
                              .mapping_text = mapping,
                              .numerics = numerics};
  enum tsr_status st = ran_options(&r, &o, err);
  if (!st)
    *out = (struct moved){ran_number(&r, "SELECT dram_read_bytes FROM v_runs"),
                          ran_number(&r, "SELECT dram_write_bytes FROM v_runs"),
                          ran_number(&r, "SELECT dma_bytes FROM v_runs"),
                          ran_number(&r, "SELECT cycles FROM v_runs"),
                          ran_number(&r, "SELECT layers FROM v_runs")};
  ran_fini(&r);
  return st;
}

static struct moved run(const char *arch, const char *csv, const char *const *sets,
                        const char *keep, const char *mapping, enum tsr_numerics numerics) {
  struct tsr_err err = TSR_ERR_INIT;
  struct moved m = {0, 0, 0, 0, 0};
  if (try(arch, csv, sets, keep, mapping, numerics, &m, &err))
    fail_msg("%s", err.n ? err.msg[0] : "no run");
  tsr_err_fini(&err);
  return m;
}

/* M = 256, 128 -> 256 -> 64, fp16: X 64 KiB, H 128 KiB, weights 64 + 32 KiB, Y 32 KiB. */
static const char mlp[] =
    HEAD "w,up,linear,256,256,128,1,,gelu,-\nw,down,linear,256,64,256,1,,,up\n";
enum { KI = 1024, X = 64 * KI, H = 128 * KI, WEIGHTS = 96 * KI, Y = 32 * KI };

static void a_result_that_fits_is_neither_written_nor_read(void **state) {
  (void)state;
  struct moved none = run("systolic-128", mlp, NULL, "", NULL, TSR_NUMERICS_OFF);
  assert_true(none.read == X + WEIGHTS + H && none.written == H + Y);
  assert_true(none.dma == none.read + none.written);
  struct moved kept = run("systolic-128", mlp, NULL, "128KiB", NULL, TSR_NUMERICS_FULL);
  assert_true(kept.read == X + WEIGHTS && kept.written == Y);
  assert_true(kept.dma == none.dma && kept.layers == 2);
  assert_true(kept.cycles < none.cycles);
  /* said in the file of mappings */
  struct moved said = run("systolic-128", mlp, NULL, "",
                          "version: 1\nkeep: 128KiB\nlayers: []\n", TSR_NUMERICS_OFF);
  assert_true(said.read == kept.read && said.cycles == kept.cycles);
  said =
      run("systolic-128", mlp, NULL, "",
          "version: 1\nkeep: 128KiB\nlayers: [{layer: up, bypass: [c]}]\n", TSR_NUMERICS_OFF);
  assert_true(said.read == none.read && said.written == none.written);
}

/* Beside a result of 16 KiB for each KiB of X, 820 rows fit: five parts, each of which loads
 * all weights, and nothing in between is moved. */
static void a_chain_that_does_not_fit_runs_in_parts(void **state) {
  (void)state;
  static const char wide[] =
      HEAD "w,up,linear,4096,256,32,1,,relu,-\nw,down,linear,4096,32,256,1,,bias,up\n"
           "w,next,linear,4096,16,32,1,,,down\n";
  struct moved none = run("systolic-128", wide, NULL, "", NULL, TSR_NUMERICS_OFF);
  struct moved kept = run("systolic-128", wide, NULL, "512KiB", NULL, TSR_NUMERICS_FULL);
  const double h = 4096 * 256 * 2, x = 4096 * 32 * 2, y = 4096 * 16 * 2;
  const double weights = (2 * 32 * 256 + 32 * 16) * 2 + 32 * 4; /* and the bias in fp32 */
  assert_true(none.written == h + x + y && none.read == x + h + x + weights);
  assert_true(kept.layers == 5 * 3);
  assert_true(kept.read == x + 5 * weights && kept.written == y);
}

/* Products of their own (heads) are cut without loading anything twice. */
static void heads_of_a_chain_run_one_after_the_other(void **state) {
  (void)state;
  static const char heads[] =
      HEAD "w,q,linear,128,256,64,1,,,-\nw,k,linear,128,256,64,1,,,-\n"
           "w,v,linear,128,256,64,1,,,-\nw,qk,attn_qk,128,128,32,8,,,q k\n"
           "w,p,softmax,128,128,1,8,,,qk\nw,pv,attn_pv,128,32,128,8,,,p v\n"
           "w,out,linear,128,64,256,1,,,pv\n";
  struct moved none = run("systolic-32", heads, NULL, "", NULL, TSR_NUMERICS_OFF);
  struct moved kept = run("systolic-32", heads, NULL, "130KiB", NULL, TSR_NUMERICS_FULL);
  const double s = 8 * 128 * 128 * 2;
  assert_true(kept.layers == 3 + 4 * 3 + 1);
  assert_true(none.dma - kept.read - kept.written >= 4 * s);
}

/* The other summand of an addition stays until it is read. */
static void a_second_reader_is_waited_for(void **state) {
  (void)state;
  static const char skip[] =
      HEAD "w,a,linear,128,128,128,1,,,-\nw,b,linear,128,128,128,1,,relu,a\n"
           "w,c,linear,128,128,128,1,,add,b a\nw,d,linear,128,64,128,1,,,c\n";
  enum { T = 32 * KI };
  struct moved all = run("systolic-128", skip, NULL, "128KiB", NULL, TSR_NUMERICS_FULL);
  assert_true(all.read == T + 3 * T + T / 2 && all.written == T / 2);
  struct moved one = run("systolic-128", skip, NULL, "32KiB", NULL, TSR_NUMERICS_FULL);
  assert_true(one.written == 2 * T + T / 2); /* b goes before a, c after b */
  /* what is read a second time by the same layer is read from memory */
  static const char twice[] = HEAD "w,a,linear,64,64,64,1,,,-\nw,b,bmm,64,64,64,1,,,a\n";
  struct moved both = run("systolic-32", twice, NULL, "64KiB", NULL, TSR_NUMERICS_FULL);
  assert_true(both.written == 2 * 64 * 64 * 2);
}

/* Then activations, of which 128 KiB are alive at most, are read there alone. */
static void weights_that_bypass_leave_room_in_the_last_level_buffer(void **state) {
  (void)state;
  static const char *const small[] = {"llb.size=256KiB", NULL};
  static const char big[] =
      HEAD "w,a,linear,128,256,512,1,,,-\nw,b,linear,128,256,256,1,,relu,a\n"
           "w,c,linear,128,2048,256,1,,,b\n";
  const double weights = (512 * 256 + 256 * 256 + 256 * 2048) * 2, x = 128 * 512 * 2;
  struct moved held = run("mesh-16", big, small, "", NULL, TSR_NUMERICS_OFF);
  struct moved past = run("mesh-16", big, small, "",
                          "version: 1\nbypass: weights\nlayers: []\n", TSR_NUMERICS_FULL);
  assert_true(past.dma == held.dma && held.read > weights + x);
  assert_true(past.read == weights + x);
}

/* On sixteen cores y and z run side by side, and read x where the buffer has it; inputs that no
 * layer made come from memory, each its own. */
static void a_last_level_buffer_holds_what_was_written_and_no_more(void **state) {
  (void)state;
  static const char readers[] =
      HEAD "w,x,linear,128,256,64,1,,,-\nw,y,linear,128,64,256,1,,,x\n"
           "w,z,linear,128,32,256,1,,,x\n";
  static const char inputs[] =
      HEAD "w,q,linear,128,64,64,1,,,-\nw,k,linear,128,64,64,1,,,-\n"
           "w,v,linear,128,64,64,1,,,-\nw,qk,attn_qk,128,128,64,1,,,q k\n";
  struct moved m = run("mesh-16", readers, NULL, "", NULL, TSR_NUMERICS_FULL);
  assert_true(m.read == 2 * (128 * 64 + 64 * 256 + 256 * 64 + 256 * 32) && m.written == 0);
  m = run("mesh-16", inputs, NULL, "", NULL, TSR_NUMERICS_FULL);
  assert_true(m.read == 3 * 2 * (128 * 64 + 64 * 64) && m.written == 0);
}

static void what_cannot_be_kept_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *arch, *keep, *mapping, *says;
  } rows[] = {
      {"mesh-16", "64KiB", NULL, "in the scratchpad of one core; mesh-16 has 16"},
      {"systolic-128", "8MiB", NULL, "all of scratchpad a; expected less than 8MiB, got 8MiB"},
      {"systolic-128", "much", NULL, "takes bytes, as in 2MiB, or auto, got 'much'"},
      {"systolic-128", "1MiB", "version: 1\nlayers: []\n", "expected `keep: 1MiB` in m.yaml"},
      {"systolic-128", "", "version: 1\nkeep: much\nlayers: []\n",
       "m.yaml:2:7: error: what is kept"},
      {"systolic-128", "", "version: 1\nbypass: all\nlayers: []\n", "m.yaml:2:9: error: "},
      {"systolic-128", "", "version: 1\nlayers: [{layer: up, bypass: [d]}]\n",
       "m.yaml:2:31: error: "},
      {"systolic-128", "", "version: 1\nlayers: [{layer: up, k_cut: 3}]\n", "no loops"},
      {"systolic-128", "", "version: 1\nlayers: [{layer: up, loops: [], levels: {c: sram}}]\n",
       "level of c; expected dram"},
      {"systolic-128", "8388544B", NULL, "does not fit"}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct moved m;
    assert_int_not_equal(
        try(rows[i].arch, mlp, NULL, rows[i].keep, rows[i].mapping, TSR_NUMERICS_OFF, &m, &err),
        TSR_OK);
    if (!strstr(err.msg[0], rows[i].says))
      fail_msg("row %zu: '%s' is not in '%s'", i, rows[i].says, err.msg[0]);
    tsr_err_fini(&err);
  }
}

static void what_is_looked_for_is_no_slower(void **state) {
  (void)state;
  static const char *const archs[] = {"systolic-32", "tpu-v1", "edge-npu", "mesh-16"};
  for (size_t i = 0; i < LEN(archs); i++) {
    struct moved none = run(archs[i], mlp, NULL, "", NULL, TSR_NUMERICS_OFF);
    struct moved found = run(archs[i], mlp, NULL, "auto", NULL, TSR_NUMERICS_OFF);
    assert_true(found.cycles <= none.cycles);
    if (i < 3) assert_true(found.read + found.written < none.read + none.written);
  }
}

/* Against all pairs: what lives at the same time shares no byte, and nothing lower was free. */
static void blocks_are_packed_low_and_apart(void **state) {
  (void)state;
  struct tsr_rng rng = {5};
  for (int round = 0; round < 200; round++) {
    struct tsri_block b[24];
    size_t n = 0;
    uint64_t align = tsr_rng_range(&rng, 1, 5), limit = tsr_rng_range(&rng, 20, 200);
    for (int k = 0; k < 24; k++) {
      struct tsri_block x = {.from = tsr_rng_range(&rng, 0, 9), .at = UINT64_MAX};
      x.to = x.from + tsr_rng_range(&rng, 0, 4);
      x.bytes = tsr_rng_range(&rng, 1, 30);
      uint64_t low = UINT64_MAX; /* the lowest place, by trying all */
      for (uint64_t at = 0; low == UINT64_MAX && at + x.bytes <= limit; at += align) {
        bool free = true;
        for (size_t i = 0; i < n; i++)
          free = free && (b[i].to < x.from || x.to < b[i].from || b[i].at >= at + x.bytes ||
                          at >= b[i].at + b[i].bytes);
        if (free) low = at;
      }
      size_t at = SIZE_MAX;
      assert_int_equal(tsri_block_fit(b, n, align, limit, &x, &at), low != UINT64_MAX);
      assert_true(x.at == low);
      if (low == UINT64_MAX) continue;
      assert_true(at <= n && (at == 0 || b[at - 1].at <= x.at) && (at == n || b[at].at > x.at));
      memmove(&b[at + 1], &b[at], (n++ - at) * sizeof *b);
      b[at] = x;
    }
    assert_true(n > 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_result_that_fits_is_neither_written_nor_read),
      cmocka_unit_test(a_chain_that_does_not_fit_runs_in_parts),
      cmocka_unit_test(heads_of_a_chain_run_one_after_the_other),
      cmocka_unit_test(a_second_reader_is_waited_for),
      cmocka_unit_test(weights_that_bypass_leave_room_in_the_last_level_buffer),
      cmocka_unit_test(a_last_level_buffer_holds_what_was_written_and_no_more),
      cmocka_unit_test(what_cannot_be_kept_is_refused),
      cmocka_unit_test(what_is_looked_for_is_no_slower),
      cmocka_unit_test(blocks_are_packed_low_and_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
