/* Mappings from files and by search: what is refused and where, that a file written is the
 * mapping that was meant, values under odd mappings bit for bit, and what a search promises. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/mapping/file.h"
#include "tests/unit/run/plans.h"
#include "tests/unit/run/ran.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

#define HEAD "version: 1\nlayers:\n  - layer: gemm0\n"
#define CONV_HEAD "version: 1\nlayers:\n  - layer: conv\n"
#define HEADS "version: 1\nlayers:\n  - layer: attention\n"
static const char attention[] = "op:attention:heads=2,s=64,d=16";
static const char conv[] = "op:conv:in_c=12,hw=10,out_c=8,window=3,pad=1";

static const struct {
  const char *workload, *arch, *text, *where, *says;
} wrongs[] = {
    {"gemm:64x96x128", "systolic-32", "layers: []\n", "1:1", "version: 1"},
    {"gemm:64x96x128", "systolic-32", "version: 2\nlayers: []\n", "1:10", "version: 1"},
    {"gemm:64x96x128", "systolic-32", "version: 1\n", "1:1", "no layers"},
    {"gemm:64x96x128", "systolic-32", "version: 1\nlayer: []\n", "2:1",
     "did you mean 'layers'"},
    {"gemm:64x96x128", "systolic-32", HEAD, "3:5", "no loops"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: 3\n", "4:12", "a list"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: [{axis: q, tile: 3}]\n", "4:20",
     "g, m, n or k of a matmul, got q"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: [{axis: oh, tile: 3}]\n", "4:20",
     "unknown axis"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: [{axis: m}]\n", "4:13", "half a loop"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: [{axis: m, tile: 0}]\n", "4:29",
     "above 0, got 0"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: [{axis: m, tile: 65}]\n", "4:29",
     "at most its 64 elements, got 65"},
    {"gemm:64x96x128", "systolic-32",
     HEAD "    loops: [{axis: m, tile: 8}, {axis: m, tile: 4}]\n", "4:40", "each axis once"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: [{axis: m, tile: 8, step: 4}]\n", "4:32",
     "unknown key 'step'"},
    {"gemm:64x96x128", "systolic-32",
     HEAD "    loops: [{axis: k, tile: 32}, {axis: m, tile: 8}]\n", "4:41",
     "inside a loop of k"},
    {"gemm:64x96x128", "systolic-32", HEAD "    dataflow: os\n    loops: []\n", "4:15",
     "the machine's tile is ws"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: []\n    buffers: {a: 17}\n", "5:18",
     "at most 16"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: []\n    spatial: {rows: n}\n", "5:21",
     "expected k, got n"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: []\n    k_cut: 64\n", "5:12",
     "expected 32"},
    {"gemm:64x96x128", "systolic-32",
     HEAD "    loops: [{axis: n, tile: 32}, {axis: m, tile: 8}]\n    resident: [a]\n", "5:16",
     "loads again"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: []\n    cores: {n: 2}\n", "5:12",
     "at most 1"},
    {"gemm:64x96x128", "mesh-16", HEAD "    loops: []\n    cores: {n: 97}\n", "5:16",
     "as it has elements"},
    {"gemm:64x96x128", "systolic-32", "version: 1\nlayers:\n  - {layer: fc*, loops: []}\n",
     "3:13", "no matmul, convolution or attention fits 'fc*'"},
    {"gemm:64x96x128", "mesh-16", HEAD "    loops: []\n    cores: {n: 3}\n    chunk: {n: 48}\n",
     "6:16", "are 2 parts; expected the 3 of cores"},
    {"gemm:64x96x128", "mesh-16", HEAD "    loops: []\n    cores: {n: 3}\n    chunk: {q: 32}\n",
     "6:13", "a chunk of 'q'"},
    {"gemm:64x96x128", "systolic-32", HEAD "    loops: []\n    chunk: {n: 32}\n", "5:13",
     "a chunk of 'n'"},
    {"gemm:4096x4096x4096", "systolic-32", HEAD "    loops: []\n", "4:12",
     "a tile takes 32MiB of scratchpad a"},
    {conv, "systolic-32", CONV_HEAD "    loops: [{axis: c, tile: 4}, {axis: kh, tile: 1}]\n",
     "4:40", "kh, kw, c in this order"},
    {conv, "systolic-32", CONV_HEAD "    loops: [{axis: kh, tile: 2}, {axis: c, tile: 4}]\n",
     "4:41", "a run of k"},
    {conv, "systolic-32", CONV_HEAD "    loops: [{axis: m, tile: 4}]\n", "4:20",
     "b, oh, ow, n, kh, kw or c"},
    {"gemm:64x96x128", "systolic-32", HEAD "    place: tiled\n", "4:12",
     "a mapping, got tiled"},
    {"gemm:64x96x128", "systolic-32", HEAD "    place: {pads: 64B}\n", "4:13",
     "did you mean 'pad'"},
    {"gemm:64x96x128", "systolic-32", HEAD "    place: {pad: 64}\n", "4:18",
     "bytes, at most 1GiB"},
    {"gemm:64x96x128", "systolic-32", HEAD "    place: {skew: 2GiB}\n", "4:19", "at most 1GiB"},
    {"gemm:64x96x128", "systolic-32", HEAD "    place: {align: 3KiB}\n", "4:20",
     "a power of two"},
    {"gemm:64x96x128", "systolic-32", HEAD "    place: {layout: column}\n", "4:21",
     "row or tiled, got column"},
    {"gemm:64x96x128", "systolic-32", HEAD "    place: {pad: 3B}\n", "4:12",
     "no multiples of an element's 2 bytes"},
    {conv, "systolic-32", CONV_HEAD "    place: {layout: tiled}\n", "4:12", "is of matmuls"},
    {"op:bmm:m=20,n=30,k=40,count=5", "systolic-32",
     "version: 1\nlayers: [{layer: bmm, place: {pad: 64B}}]\n", "2:30", "has no weights"},
    {attention, "systolic-32", HEADS "    loops: [{axis: n, tile: 65}]\n", "4:29",
     "at most its 64 elements, got 65"},
    {attention, "systolic-32", HEADS "    loops: [{axis: n, tile: 8}, {axis: m, tile: 8}]\n",
     "4:40", "m (queries), then n (keys)"},
    {attention, "systolic-32", HEADS "    loops: [{axis: k, tile: 8}]\n", "3:5",
     "loops over m and n, resident, bypass alone"},
    {attention, "systolic-32",
     "version: 1\nlayers:\n  - {layer: att*, loops: [], buffers: {a: 2}}\n", "3:13",
     "'att*' fits attention alone"},
    {"gemm:64x96x128", "systolic-32", "version: 1\nlayers:\n  - {layer: gemm0, workload: x}\n",
     "3:30", "0 for the first"},
    {attention, "systolic-32", HEADS "    loops: []\n    resident: [a]\n", "5:16",
     "keys and values"},
    {"op:attention:heads=1,s=4096,d=128", "systolic-32", HEADS "    loops: []\n", "4:12",
     "tiles of 4096 queries and 4096 keys do not fit"},
};

static void mistakes_are_shown_where_they_are(void **state) {
  (void)state;
  for (size_t i = 0; i < LEN(wrongs); i++) {
    struct ran r;
    struct tsr_err err = TSR_ERR_INIT;
    char where[48];
    (void)snprintf(where, sizeof where, "m.yaml:%s: error: ", wrongs[i].where);
    enum tsr_status st = ran_mapped(&r, wrongs[i].arch, wrongs[i].workload, NULL,
                                    wrongs[i].text, TSR_NUMERICS_OFF, &err);
    if (st != TSR_INPUT || !err.n) fail_msg("%s: not refused", wrongs[i].text);
    if (!strstr(err.msg[0], where) || !strstr(err.msg[0], wrongs[i].says))
      fail_msg("%s\nexpected %s … %s, got %s", wrongs[i].text, where, wrongs[i].says,
               err.msg[0]);
    tsr_err_fini(&err);
    ran_fini(&r);
  }
}

/* Loops in odd orders, odd tiles, three buffers: values are those of the operator. */
static void values_hold_under_any_mapping(void **state) {
  (void)state;
  static const struct {
    const char *arch, *workload, *sets[4], *text;
  } rows[] = {
      {"systolic-32",
       "gemm:70x90x100",
       {NULL},
       HEAD "    loops: [{axis: m, tile: 17}, {axis: n, tile: 23}, {axis: k, tile: 48}]\n"
            "    buffers: {a: 3, b: 1, c: 3}\n"},
      {"systolic-32",
       "gemm:70x90x100",
       {"tile.dataflow=is"},
       HEAD "    loops: [{axis: n, tile: 64}, {axis: m, tile: 33}]\n"},
      {"systolic-32",
       "gemm:70x90x100",
       {"tile.dataflow=os"},
       HEAD "    loops: [{axis: m, tile: 32}, {axis: n, tile: 30}, {axis: k, tile: 17}]\n"},
      {"dot-4x4",
       "gemm:70x90x100",
       {NULL},
       HEAD "    cores: {m: 2, n: 2}\n    loops: [{axis: n, tile: 13}, {axis: k, tile: 20}]\n"},
      {"mesh-16",
       "gemm:70x90x512",
       {NULL},
       HEAD "    cores: {k: 4}\n    loops: [{axis: m, tile: 20}, {axis: k, tile: 64}]\n"},
      {"systolic-32",
       conv,
       {NULL},
       CONV_HEAD "    loops: [{axis: n, tile: 3}, {axis: oh, tile: 3}, {axis: ow, tile: 4}, "
                 "{axis: kh, tile: 1}]\n    buffers: {a: 4}\n"},
      {"systolic-32",
       "op:bmm:m=20,n=30,k=40,count=5",
       {NULL},
       "version: 1\nlayers: [{layer: '*', loops: [{axis: n, tile: 8}, {axis: g, tile: 1}]}]\n"},
      {"systolic-32",
       "gemm:70x90x100",
       {NULL},
       HEAD "    loops: [{axis: m, tile: 17}, {axis: n, tile: 15}, {axis: k, tile: 48}]\n"
            "    place: {layout: tiled, align: 64KiB, skew: 130B, pad: 6B}\n"},
      {"systolic-32", "gemm:70x90x100", {NULL}, HEAD "    place: {skew: 4KiB, pad: 2B}\n"},
      {"mesh-16",
       "gemm:70x96x512",
       {NULL},
       HEAD "    cores: {n: 3}\n    loops: [{axis: n, tile: 8}, {axis: k, tile: 64}]\n"
            "    place: {layout: tiled}\n"},
      {"mesh-16",
       "gemm:70x90x512",
       {NULL},
       HEAD "    cores: {k: 4}\n    loops: [{axis: n, tile: 10}, {axis: k, tile: 64}]\n"
            "    place: {layout: tiled, pad: 16B}\n"},
      {"systolic-32", conv, {NULL}, CONV_HEAD "    place: {pad: 10B}\n"},
      {"systolic-32",
       "transformer-block",
       {NULL},
       "version: 1\nlayers: [{layer: '*', place: {layout: tiled, pad: 32B}}]\n"},
      {"systolic-32",
       "gemm:70x90x100",
       {"dram.model=banks", "dram.preset=hbm2-2000"},
       HEAD "    loops: [{axis: n, tile: 30}]\n    place: {layout: tiled}\n"},
      {"systolic-32",
       "gemm:70x90x100",
       {"tile.promote=32"},
       HEAD "    loops: [{axis: n, tile: 50}, {axis: m, tile: 9}, {axis: k, tile: 32}]\n"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct ran r;
    struct tsr_err err = TSR_ERR_INIT;
    if (ran_mapped(&r, rows[i].arch, rows[i].workload, rows[i].sets, rows[i].text,
                   TSR_NUMERICS_FULL, &err))
      fail_msg("%s\n%s", rows[i].text, err.n ? err.msg[0] : "no run");
    assert_true(ran_number(&r, "SELECT checked_elems FROM v_numeric WHERE seq = 0") > 0);
    assert_true(ran_number(&r, "SELECT count(*) FROM v_inputs WHERE role = 'mapping'") == 1);
    tsr_err_fini(&err);
    ran_fini(&r);
  }
}

/* On a DRAM that lays a row's neighbours into one bank: a tile of 32 columns is a row a burst
 * where the matrix lies row by row, and a few rows where its tiles lie one after the other. */
static void tiles_in_a_row_save_activates(void **state) {
  (void)state;
  static const char *const sets[] = {
      "dram.model=banks", "dram.preset=ddr4-3200", "dram.map=co,bg,ba,ra,si,ch,ro",
      "dram.hash=",       "dram.channels=1",       NULL};
  static const char *const texts[] = {HEAD "    place: {layout: row}\n",
                                      HEAD "    place: {layout: tiled}\n"};
  double acts[2], cycles[2], bytes[2];
  for (int i = 0; i < 2; i++) {
    struct ran r;
    assert_int_equal(ran_mapped(&r, "systolic-32", "gemm:32x4096x1024", sets, texts[i],
                                TSR_NUMERICS_OFF, NULL),
                     TSR_OK);
    acts[i] = ran_number(&r, "SELECT value FROM v_counters WHERE counter = 'activates'");
    cycles[i] = ran_number(&r, "SELECT cycles FROM v_runs");
    bytes[i] = ran_number(&r, "SELECT dram_read_bytes FROM v_runs");
    ran_fini(&r);
  }
  assert_true(bytes[0] == bytes[1]);
  assert_true(acts[1] > 0 && acts[0] > 4 * acts[1]);
  assert_true(cycles[0] > 1.5 * cycles[1]);
}

/* A plan's mappings, written and read again, are the same mappings. */
static void what_is_written_is_read(void **state) {
  (void)state;
  static const char *const archs[] = {"systolic-32", "systolic-128", "dot-4x4", "mesh-16"};
  static const char *const workloads[] = {"resnet50", "mobilenetv2", "transformer-block"};
  static const char *const sets[] = {"dram.capacity=unlimited", NULL};
  for (size_t a = 0; a < LEN(archs); a++)
    for (size_t w = 0; w < LEN(workloads); w++) {
      struct tsr_run_plan p;
      struct tsr_str text = TSR_STR_INIT;
      struct tsr_mapping_file *f;
      plan_make(&p, archs[a], workloads[w], sets);
      assert_int_equal(tsr_run_mappings_write(&p, &text, NULL), TSR_OK);
      assert_int_equal(tsr_mapping_file_read("m.yaml", text.p, &f, NULL), TSR_OK);
      for (size_t i = 0; i < p.n_layers; i++) {
        struct tsr_run_layer_plan *l = &p.layers[i];
        struct tsr_err err = TSR_ERR_INIT;
        struct tsr_target t;
        struct tsr_mapping m;
        struct tsr_split split = l->split;
        bool found;
        if (!tsr_run_is_product(l)) continue;
        tsr_run_target(&p, l, &t);
        if (tsr_mapping_file_find(f, l->op->name, &l->shape, &t, l->max_cores, &split, &m,
                                  &found, &err))
          fail_msg("%s %s: %s", archs[a], l->op->name, err.msg[0]);
        assert_true(found);
        assert_memory_equal(m.tile, l->mapping.tile, sizeof m.tile);
        assert_int_equal(m.n_loops, l->mapping.n_loops);
        for (uint32_t j = 0; j < m.n_loops; j++)
          assert_int_equal(m.loop[j].axis, l->mapping.loop[j].axis);
        assert_int_equal(m.k_cut, l->mapping.k_cut);
        assert_int_equal(m.promoted, l->mapping.promoted);
        tsr_err_fini(&err);
      }
      assert_int_equal(tsr_mapping_file_used(f, NULL), TSR_OK);
      tsr_mapping_file_destroy(f);
      tsr_str_fini(&text);
      tsr_run_plan_fini(&p);
    }
}

/* A written entry is that of its layer alone, whatever signs its name has. */
static void names_are_no_patterns(void **state) {
  (void)state;
  static const char *const names[] = {"l*",      "l1",          "blk[0].fc", "blk0.fc",
                                      "q\"uote", "back\\slash", "what?",     "what1"};
  struct tsr_run_plan p;
  plan_make(&p, "systolic-32", "gemm:64x64x64", (const char *const[]){NULL});
  struct tsr_run_layer_plan *l = &p.layers[0];
  struct tsr_target t;
  tsr_run_target(&p, l, &t);
  for (size_t i = 0; i < LEN(names); i++) {
    struct tsr_str text = TSR_STR_INIT;
    struct tsr_mapping_file *f;
    tsr_mapping_write_head(&(struct tsr_residency){0}, true, &text);
    tsr_mapping_write(names[i], &l->shape, &l->mapping, &l->split, &t, &text);
    assert_int_equal(tsr_mapping_file_read("m.yaml", text.p, &f, NULL), TSR_OK);
    for (size_t j = 0; j < LEN(names); j++) {
      struct tsr_mapping m;
      struct tsr_split split = l->split;
      bool found;
      assert_int_equal(
          tsr_mapping_file_find(f, names[j], &l->shape, &t, 1, &split, &m, &found, NULL),
          TSR_OK);
      assert_int_equal(found, i == j);
    }
    tsr_mapping_file_destroy(f);
    tsr_str_fini(&text);
  }
  tsr_run_plan_fini(&p);
}

/* Equal layers are twins, but not where a file divides or cuts them otherwise. */
static void twins_are_alike_in_all(void **state) {
  (void)state;
  static const char both[] =
      "version: 1\nlayers:\n"
      "  - {layer: gemm0, cores: {n: 8}, loops: [{axis: m, tile: 64}]}\n"
      "  - {layer: gemm1, cores: {%s: 8}, loops: [{axis: %s, tile: 64}]}\n";
  static const struct {
    const char *cores, *loop;
    size_t twin;
  } rows[] = {{"n", "m", 0}, {"m", "n", 1}, {"m", "m", 1}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_run_plan p;
    char text[256];
    size_t twin[2];
    (void)snprintf(text, sizeof text, both, rows[i].cores, rows[i].loop);
    const struct tsr_run_options o = {.arch = "mesh-16",
                                      .workload = "gemm:640x256x256,640x256x256",
                                      .mapping = "m.yaml",
                                      .mapping_text = text};
    assert_int_equal(tsr_run_plan_make(&o, &p, NULL), TSR_OK);
    tsr_run_twins(&p, twin);
    assert_int_equal(twin[0], 0);
    assert_int_equal(twin[1], rows[i].twin);
    tsr_run_plan_fini(&p);
  }
}

/* Never slower than the template; the same again; the values of what it finds. */
static void a_search_keeps_its_promises(void **state) {
  (void)state;
  static const struct {
    const char *arch, *workload;
  } rows[] = {{"systolic-32", "gemm:100x200x300,33x1000x64,1x512x512"},
              {"systolic-128", "op:conv:in_c=64,hw=28,out_c=96,window=3,pad=1"},
              {"edge-npu", "gemm:196x256x128"},
              {"dot-4x4", "gemm:256x256x256"},
              {"mesh-16", "op:bmm:m=64,n=64,k=64,count=24"}};
  static const char *const sets[] = {NULL};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_run_plan p;
    static struct tsr_run_found a, b;
    plan_make(&p, rows[i].arch, rows[i].workload, sets);
    for (size_t l = 0; l < p.n_layers; l++) {
      uint64_t cycles;
      assert_int_equal(tsr_run_search(&p, l, 7, &a, NULL), TSR_OK);
      assert_int_equal(tsr_run_search(&p, l, 7, &b, NULL), TSR_OK);
      assert_true(a.best_cycles <= a.before_cycles && a.evaluated > 10 && a.n > 0);
      assert_int_equal(a.best_cycles, b.best_cycles);
      assert_int_equal(a.evaluated, b.evaluated);
      assert_memory_equal(a.best.mapping.tile, b.best.mapping.tile, sizeof a.best.mapping.tile);
      assert_int_equal(tsr_run_simulate(&p, l, &a.best.mapping, &cycles, NULL), TSR_OK);
      assert_int_equal(cycles, a.best_cycles);
      for (size_t c = 1; c < a.n; c++) assert_true(a.model[c] >= a.model[c - 1]);
    }
    tsr_run_plan_fini(&p);
    struct ran r;
    struct tsr_err err = TSR_ERR_INIT;
    if (ran_mapped(&r, rows[i].arch, rows[i].workload, sets, NULL, TSR_NUMERICS_FULL, &err) &&
        strcmp(rows[i].arch, "edge-npu") != 0)
      fail_msg("%s: %s", rows[i].workload, err.n ? err.msg[0] : "no run");
    tsr_err_fini(&err);
    ran_fini(&r);
  }
}

/* The analytic model on what a test has time for; `bench cost` has the whole zoo. */
static void the_analytic_model_is_near(void **state) {
  (void)state;
  static const char *const archs[] = {"systolic-32", "systolic-128", "onnxim-128", "tpu-v1",
                                      "edge-npu"};
  static const char *const workloads[] = {"resnet50", "bert-base-s128"};
  static const char *const sets[] = {"dram.capacity=unlimited", NULL};
  double off[1000];
  size_t n = 0, near = 0, close = 0;
  for (size_t a = 0; a < LEN(archs); a++)
    for (size_t w = 0; w < LEN(workloads); w++) {
      struct tsr_run_plan p;
      size_t twin[LEN(off)];
      plan_make(&p, archs[a], workloads[w], sets);
      assert_true(p.n_layers < LEN(twin));
      tsr_run_twins(&p, twin);
      for (size_t i = 0; i < p.n_layers && n < LEN(off); i++) {
        struct tsr_cost c;
        uint64_t cycles;
        if (twin[i] != i) continue;
        tsr_run_cost(&p, &p.layers[i], &c);
        assert_int_equal(tsr_run_simulate(&p, i, &p.layers[i].mapping, &cycles, NULL), TSR_OK);
        double x = c.cycles / (double)cycles - 1;
        off[n] = x < 0 ? -x : x;
        near += off[n] <= 0.15;
        close += off[n++] <= 0.03;
      }
      tsr_run_plan_fini(&p);
    }
  print_message("%zu layers: %zu within 3 %%, %zu within 15 %%\n", n, close, near);
  assert_true(n > 100 && 2 * close >= n && 20 * near >= 19 * n);
}

/* Tiles by hand: fewer keys at once take longer, results are the same bits, and what is written
 * is read as it was. */
static void an_attention_is_tiled_as_the_file_says(void **state) {
  (void)state;
  static const char small[] = HEADS "    loops: [{axis: m, tile: 16}, {axis: n, tile: 8}]\n";
  static const char kept[] =
      HEADS "    loops: [{axis: m, tile: 16}, {axis: n, tile: 8}]\n    resident: [b]\n";
  static const char cycles[] = "SELECT cycles FROM v_runs",
                    bytes[] = "SELECT dma_bytes FROM v_runs";
  double took[3], moved[3];
  for (int i = 0; i < 3; i++) {
    struct tsr_err err = TSR_ERR_INIT;
    struct ran r;
    enum tsr_status st =
        i ? ran_mapped(&r, "systolic-32", attention, NULL, i > 1 ? kept : small,
                       TSR_NUMERICS_FULL, &err)
          : ran_try(&r, "systolic-32", attention, NULL, TSR_NUMERICS_FULL, &err);
    if (st) fail_msg("%s", err.n ? err.msg[0] : "no run");
    took[i] = ran_number(&r, cycles);
    moved[i] = ran_number(&r, bytes);
    tsr_err_fini(&err);
    ran_fini(&r);
  }
  const double q = 2 * 64 * 16 * 2; /* each of queries, keys, values, results */
  assert_true(took[1] > took[0] && took[2] > took[0]);
  assert_true(moved[0] == 4 * q && moved[2] == 4 * q);
  assert_true(moved[1] == q + 4 * 2 * q + q); /* keys and values for each of four tiles */

  const struct tsr_run_options o = {
      .arch = "systolic-32", .workload = attention, .mapping = "m.yaml", .mapping_text = kept};
  struct tsr_str once = TSR_STR_INIT, again = TSR_STR_INIT;
  struct tsr_run_plan p;
  assert_int_equal(tsr_run_plan_make(&o, &p, NULL), TSR_OK);
  assert_int_equal(tsr_run_mappings_write(&p, &once, NULL), TSR_OK);
  tsr_run_plan_fini(&p);
  struct tsr_run_options from = o;
  from.mapping_text = once.p;
  assert_int_equal(tsr_run_plan_make(&from, &p, NULL), TSR_OK);
  assert_int_equal(tsr_run_mappings_write(&p, &again, NULL), TSR_OK);
  tsr_run_plan_fini(&p);
  assert_string_equal(once.p, again.p);
  assert_non_null(strstr(once.p, "resident: [b]"));
  tsr_str_fini(&once);
  tsr_str_fini(&again);
}

/* Layers of two workloads have names in common: each gets its own mapping, and a stored run is
 * the same again. */
static void workloads_have_mappings_of_their_own(void **state) {
  (void)state;
  static const char text[] = "version: 1\nlayers:\n"
                             "  - {layer: gemm0, workload: 1, loops: [{axis: m, tile: 16}]}\n"
                             "  - {layer: gemm0, workload: 0, loops: [{axis: k, tile: 32}]}\n";
  struct ran r;
  struct tsr_err err = TSR_ERR_INIT;
  uint64_t again = 0;
  if (ran_mapped(&r, "mesh-16", "gemm:64x64x64@0-7 + gemm:128x64x64@8-15", NULL, text,
                 TSR_NUMERICS_FULL, &err))
    fail_msg("%s", err.n ? err.msg[0] : "no run");
  assert_true(ran_number(&r, "SELECT count(*) FROM v_layers WHERE layer = 0 AND mapping LIKE "
                             "'%k:2x32%'") == 1);
  assert_true(ran_number(&r, "SELECT count(*) FROM v_layers WHERE layer = 1 AND mapping LIKE "
                             "'%tile 16x%'") == 1);
  assert_int_equal(tsr_run_again(r.store, 1, "test", &again, NULL), TSR_OK);
  assert_true(ran_number(&r, "SELECT count(DISTINCT cycles) FROM v_runs") == 1);
  tsr_err_fini(&err);
  ran_fini(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workloads_have_mappings_of_their_own),
      cmocka_unit_test(an_attention_is_tiled_as_the_file_says),
      cmocka_unit_test(mistakes_are_shown_where_they_are),
      cmocka_unit_test(values_hold_under_any_mapping),
      cmocka_unit_test(tiles_in_a_row_save_activates),
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(names_are_no_patterns),
      cmocka_unit_test(twins_are_alike_in_all),
      cmocka_unit_test(a_search_keeps_its_promises),
      cmocka_unit_test(the_analytic_model_is_near),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
