/* Wrong input: each mistake ends in its exit code, with a message that stands where
 * the mistake is, nothing on standard output and no run in the store. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/cli/tool.h"

enum { USAGE = 2, INPUT = 3 };

static void expect_refused(const char *label, int rc, const char *const says[2],
                           const char *const *args) {
  struct tool_result r;
  tool_run(&r, args);
  bool said = strstr(r.err, "error: ") != NULL;
  for (int i = 0; i < 2; i++) said = said && (!says[i] || strstr(r.err, says[i]));
  if (r.rc != rc || r.out_n || !said)
    fail_msg("%s: exit %d, expected %d with '%s' '%s'; %zu bytes out; messages:\n%s", label,
             r.rc, rc, says[0] ? says[0] : "", says[1] ? says[1] : "", r.out_n, r.err);
  tool_result_fini(&r);
}

/* ---- architectures ---- */

#define ROOT "version: 1\nname: small\nclock: 1GHz\n"
#define TILE "tile:\n  rows: 8\n  cols: 8\n  rates: {fp16: 1}\n"
#define SRAM "sram:\n  a: {size: 64KiB}\n  b: {size: 64KiB}\n  c: {size: 64KiB}\n"

struct text_row {
  const char *label, *text;
  size_t n; /* 0: up to its NUL */
  int rc;
  const char *says[2];
};
#define NUL_INSIDE ROOT "\0" TILE SRAM

static const struct text_row archs[] = {
    {"unknown key",
     ROOT TILE "  colz: 8\n" SRAM,
     0,
     USAGE,
     {"arch.yaml:8:3: error: unknown key 'tile.colz'", "hint: did you mean 'tile.cols'?"}},
    {"unknown section",
     ROOT TILE SRAM "drams: {latency: 1ns}\n",
     0,
     USAGE,
     {"arch.yaml:12:1: error: unknown key 'drams'", "hint: did you mean 'dram'?"}},
    {"unknown scratchpad",
     ROOT TILE SRAM "  d: {size: 64KiB}\n",
     0,
     USAGE,
     {"arch.yaml:12:3: error: unknown key 'sram.d'", NULL}},
    {"unknown matrix unit",
     ROOT TILE "  mma: nosuch\n" SRAM,
     0,
     USAGE,
     {"unknown matrix unit 'nosuch'", NULL}},
    {"unknown format",
     ROOT TILE "  formats: {a: fp61}\n" SRAM,
     0,
     USAGE,
     {"got 'fp61'", "hint: did you mean"}},
    {"duplicate key",
     ROOT TILE "  rows: 9\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:8:3: error: duplicate key 'rows'", "first given at ./arch.yaml:5:3"}},
    {"missing key",
     ROOT "tile:\n  rows: 8\n  rates: {fp16: 1}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:5:3: error: 'tile.cols' is missing", "from 1 to 65536"}},
    {"missing section",
     ROOT TILE "sram:\n  a: {size: 1KiB}\n  b: {size: 1KiB}\n",
     0,
     INPUT,
     {"'sram.c.size' is missing", NULL}},
    {"below range",
     ROOT "tile: {rows: 0, cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:14: error: 'tile.rows' is out of range", "got '0'"}},
    {"above range",
     ROOT "tile: {rows: 65537, cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:14: error: 'tile.rows' is out of range", "got '65537'"}},
    {"above 64 bits",
     ROOT "tile: {rows: 99999999999999999999, cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:14: error: 'tile.rows' is too large", NULL}},
    {"negative",
     ROOT "tile: {rows: -8, cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:14: error: 'tile.rows' is negative", NULL}},
    {"a fraction",
     ROOT "tile: {rows: 8.5, cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:14: error: 'tile.rows' is no whole number", NULL}},
    {"a word",
     ROOT "tile: {rows: many, cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:14: error: 'tile.rows' is no number", NULL}},
    {"a unit where none is",
     ROOT "tile: {rows: 8KiB, cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:14: error: 'tile.rows' takes no unit", NULL}},
    {"no unit",
     ROOT TILE "sram: {a: {size: 64}, b: {size: 1KiB}, c: {size: 1KiB}}\n",
     0,
     INPUT,
     {"arch.yaml:8:18: error: 'sram.a.size' has no unit or a wrong one", "got '64'"}},
    {"another unit",
     "clock: 1ns\n" TILE SRAM,
     0,
     INPUT,
     {"arch.yaml:1:8: error: 'clock' has no unit or a wrong one", "got '1ns'"}},
    {"neither true nor false",
     ROOT TILE "  weight_preload: maybe\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:8:19: error: 'tile.weight_preload'", "got 'maybe'"}},
    {"unknown word",
     ROOT TILE "  dataflow: so\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:8:13: error: 'tile.dataflow' has an unknown value", "one of os, ws, is"}},
    {"a list for a number",
     ROOT "tile: {rows: [8], cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:14: error: 'tile.rows' is a list", NULL}},
    {"a number for a section",
     ROOT "tile: 8\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:7: error: 'tile' is no mapping", NULL}},
    {"a later version",
     "version: 2\nclock: 1GHz\n" TILE SRAM,
     0,
     INPUT,
     {"arch.yaml:1:10: error: 'version' is out of range", NULL}},
    {"a format that the tile lacks",
     ROOT TILE "  formats: {a: bf16, b: bf16}\n" SRAM,
     0,
     INPUT,
     {"the tile does not execute bf16 by bf16", NULL}},
    {"a matrix unit of other formats",
     ROOT TILE "  mma: acc_seqfma_bf16_fp32\n" SRAM,
     0,
     INPUT,
     {"matrix unit 'acc_seqfma_bf16_fp32' multiplies bf16 by bf16", NULL}},
    {"bracket left open",
     ROOT "tile: {rows: 8, cols: 8\n" SRAM,
     0,
     INPUT,
     {"error: mapping is not closed", "opened at 4:7"}},
    {"quote left open", ROOT "name: \"small\n" TILE SRAM, 0, INPUT, {"arch.yaml:", NULL}},
    {"a tab",
     ROOT "tile:\n\trows: 8\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:5:1: error: a tab indents this line", NULL}},
    {"a sequence",
     "- a\n- b\n",
     0,
     INPUT,
     {"arch.yaml:1:1: error: an architecture is a mapping", NULL}},
    {"a scalar",
     "hello\n",
     0,
     INPUT,
     {"arch.yaml:1:1: error: an architecture is a mapping", NULL}},
    {"nothing", "", 0, INPUT, {"error: 'clock' is missing", NULL}},
    {"an alias",
     ROOT "tile: &t {rows: 8, cols: 8}\n" SRAM,
     0,
     INPUT,
     {"arch.yaml:4:7: error:", NULL}},
    {"two documents", ROOT TILE SRAM "---\n" ROOT, 0, INPUT, {"arch.yaml:12:1: error:", NULL}},
    {"a NUL byte", NUL_INSIDE, sizeof NUL_INSIDE - 1, INPUT, {"arch.yaml:4:1: error:", NULL}},
    {"a program",
     "\x7f"
     "ELF\x02\x01\x01",
     0,
     INPUT,
     {"arch.yaml:1:1: error:", NULL}},
    {"no UTF-8",
     ROOT "name: sm\xff"
          "ll\n",
     0,
     INPUT,
     {"arch.yaml:4:9: error:", NULL}},
};

static void wrong_architectures_are_shown_where_they_are_wrong(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
    const struct text_row *a = &archs[i];
    tool_write("arch.yaml", a->text, a->n ? a->n : strlen(a->text));
    expect_refused(a->label, a->rc, a->says,
                   (const char *const[]){"run", "--arch", "./arch.yaml", "--workload",
                                         "gemm:8x8x8", NULL});
    if (i < 3) /* `config` reads the same way */
      expect_refused(a->label, a->rc, a->says,
                     (const char *const[]){"config", "--arch", "./arch.yaml", NULL});
  }
  tool_write("arch.yaml", ROOT TILE SRAM, strlen(ROOT TILE SRAM)); /* the text is right */
  TOOL_EXPECT(0, "run", "--arch", "./arch.yaml", "--workload", "gemm:8x8x8");
  assert_int_equal(tool_runs("tessera.db"), 1);
}

/* ---- workloads ---- */

#define OWN "model,layer,op,M,N,K,count,notes\n"
#define GEO                                                                                \
  "model,layer,op,M,N,K,count,notes,in_c,in_h,in_w,out_c,k_h,k_w,stride_h,stride_w,pad_t," \
  "pad_l,pad_b,pad_r,groups\n"
#define SCALE                                                                                  \
  "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, " \
  "Strides,\n"
#define MNK "Layer, M, N, K\n"

static const struct text_row workloads[] = {
    {"an empty file", "", 0, INPUT, {"net.csv:1:1: error: empty file", NULL}},
    {"a header alone", OWN, 0, INPUT, {"net.csv:1:33: error: no layer below the header", NULL}},
    {"an unknown column",
     "model,layr,op,M,N,K,count,notes\n",
     0,
     INPUT,
     {"net.csv:1:7: error: unknown column", NULL}},
    {"another file",
     "alpha,beta\n1,2\n",
     0,
     INPUT,
     {"net.csv:1:1: error:", "no known kind of layer list"}},
    {"too few fields",
     OWN "m,a,gemm,1,1,1,1\n",
     0,
     INPUT,
     {"net.csv:2:17: error: too few", NULL}},
    {"zero", OWN "m,a,gemm,0,1,1,1,\n", 0, INPUT, {"net.csv:2:10: error: M is zero", NULL}},
    {"negative",
     OWN "m,a,gemm,1,-3,1,1,\n",
     0,
     INPUT,
     {"net.csv:2:12: error: N is negative", NULL}},
    {"no number",
     OWN "m,a,gemm,1,1,1.5,1,\n",
     0,
     INPUT,
     {"net.csv:2:14: error: K is not", NULL}},
    {"above 64 bits",
     OWN "m,a,gemm,18446744073709551616,1,1,1,\n",
     0,
     INPUT,
     {"net.csv:2:10: error: M is too large", NULL}},
    {"a product above 64 bits",
     OWN "m,a,gemm,4294967296,4294967296,1,1,\n",
     0,
     INPUT,
     {"net.csv:2:3: error: 'a' is too large", NULL}},
    {"an unknown op",
     OWN "m,a,gem,1,1,1,1,\n",
     0,
     INPUT,
     {"net.csv:2:5: error: unknown op", "hint: did you mean 'gemm'?"}},
    {"a name twice",
     OWN "m,a,gemm,1,1,1,1,\nm,a,gemm,1,1,1,1,\n",
     0,
     INPUT,
     {"net.csv:3:3: error: layer name taken by line 2", NULL}},
    {"another geometry",
     GEO "m,a,conv,8,4,18,1,,2,5,5,4,3,3,,,,,,,\n",
     0,
     INPUT,
     {"net.csv:2:10: error: M does not agree with the geometry; expected 9, got '8'", NULL}},
    {"a quote left open",
     OWN "m,a,gemm,1,1,1,1,\"open\n",
     0,
     INPUT,
     {"net.csv:2:18: error: quoted field without an end", NULL}},
    {"a control byte", "model,layer,op,M\x01", 0, INPUT, {"net.csv:1:17: error:", "0x01"}},
    {"SCALE-Sim: filter above the input",
     SCALE "a,5,9,6,3,3,8,2,\n",
     0,
     INPUT,
     {"net.csv:2:7: error: Filter Height larger than IFMAP Height", NULL}},
    {"SCALE-Sim: a field missing", SCALE "a,9,9,3,3,3,8,\n", 0, INPUT, {"net.csv:2:", NULL}},
    {"SCALE-Sim: a blank inside a number",
     SCALE "FC, 1, 1, 1, 1, 1 2, 2, 1,\n",
     0,
     INPUT,
     {"net.csv:2:17: error: Channels", NULL}},
    {"SCALE-Sim: a column out of place",
     "Layer, M, K, N\na,1,2,3\n",
     0,
     INPUT,
     {"net.csv:1:10: error: column out of place", NULL}},
    {"SCALE-Sim: zero", MNK "a,1, 0 ,3\n", 0, INPUT, {"net.csv:2:6: error: N is zero", NULL}},
    {"SCALE-Sim: a value without a column",
     MNK "a,1,2,3,4,\n",
     0,
     INPUT,
     {"net.csv:2:9: error: value in a column without a known name", NULL}},
};

static void wrong_workloads_are_shown_where_they_are_wrong(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof workloads / sizeof workloads[0]; i++) {
    const struct text_row *w = &workloads[i];
    tool_write("net.csv", w->text, strlen(w->text));
    expect_refused(
        w->label, w->rc, w->says,
        (const char *const[]){"run", "--arch", "systolic-32", "--workload", "net.csv", NULL});
    tool_write("net.csv", w->text, strlen(w->text));
    struct tool_result r; /* `check` says the same, and nothing of the file being right */
    TOOL(&r, "check", "net.csv");
    assert_int_equal(r.rc, w->rc);
    assert_int_equal(r.out_n, 0);
    tool_result_fini(&r);
  }
  tool_write("net.csv", OWN "m,a,gemm,1,1,1,1,\n", strlen(OWN "m,a,gemm,1,1,1,1,\n"));
  TOOL_EXPECT(0, "run", "--arch", "systolic-32", "--workload", "net.csv");
  assert_int_equal(tool_runs("tessera.db"), 1);
}

/* ---- arguments of run ---- */

struct arg_row {
  const char *label, *args[3];
  int rc;
  const char *says[2];
};

#define SET(v) \
  { "--set", v, NULL }
#define W(v) \
  { "--workload", v, NULL }
static const struct arg_row run_args[] = {
    {"set: out of range", SET("tile.rows=0"), INPUT, {"--set:1:11: error: 'tile.rows'", NULL}},
    {"set: unknown key",
     SET("tile.rowz=8"),
     USAGE,
     {"--set:1:6: error: unknown key 'tile.rowz'", "hint: did you mean 'tile.rows'?"}},
    {"set: no value",
     SET("tile.rows="),
     INPUT,
     {"--set:1:11: error: 'tile.rows' has no value", NULL}},
    {"set: no assignment", SET("tile.rows"), USAGE, {"--set:1:1: error: no '='", NULL}},
    {"set: no key", SET("=8"), USAGE, {"--set:1:1: error: key has an empty part", NULL}},
    {"set: a unit where none is", SET("tile.rows=8KiB"), INPUT, {"--set:1:11: error:", NULL}},
    {"set: another unit", SET("dram.bandwidth=600GB"), INPUT, {"--set:1:16: error:", NULL}},
    {"set: no number", SET("dram.latency=fast"), INPUT, {"--set:1:14: error:", NULL}},
    {"set: a value for a section", SET("tile=8"), INPUT, {"'tile' is no mapping", NULL}},
    {"set: a key below a value", SET("tile.rows.x=3"), USAGE, {"--set:1:6: error:", NULL}},
    {"set: negative", SET("sim.max_events=-1"), INPUT, {"--set:1:16: error:", NULL}},
    {"set: a bracket left open",
     SET("tile.rows=[8"),
     INPUT,
     {"error: list is not closed", NULL}},
    {"gemm: nothing", W("gemm:"), INPUT, {"--workload:1:6: error: matmul without three", NULL}},
    {"gemm: one size",
     W("gemm:8"),
     INPUT,
     {"--workload:1:6: error: matmul without three", NULL}},
    {"gemm: four sizes", W("gemm:8x8x8x8"), INPUT, {"--workload:1:6: error:", NULL}},
    {"gemm: a comma behind", W("gemm:8x8x8,"), INPUT, {"--workload:1:12: error:", NULL}},
    {"gemm: a comma before", W("gemm:,8x8x8"), INPUT, {"--workload:1:6: error:", NULL}},
    {"gemm: zero", W("gemm:8x0x8"), INPUT, {"--workload:1:8: error: N is zero", NULL}},
    {"gemm: negative",
     W("gemm:8x8x-1"),
     INPUT,
     {"--workload:1:10: error: K is negative", NULL}},
    {"gemm: a fraction", W("gemm:8.5x8x8"), INPUT, {"--workload:1:6: error: M is not", NULL}},
    {"gemm: a blank", W("gemm:8x8x8 "), INPUT, {"--workload:1:10: error: K is not", NULL}},
    {"gemm: a capital X", W("gemm:8X8X8"), INPUT, {"--workload:1:6: error:", NULL}},
    {"gemm: above 64 bits",
     W("gemm:18446744073709551616x1x1"),
     INPUT,
     {"--workload:1:6: error: M is too large", NULL}},
    {"gemm: a product above 64 bits",
     W("gemm:4294967296x4294967296x4294967296"),
     INPUT,
     {"--workload:1:6: error: 'gemm0' is too large", NULL}},
    {"workload: unknown",
     W("resnet5"),
     USAGE,
     {"unknown workload", "did you mean 'resnet50'?"}},
    {"workload: nothing", W(""), USAGE, {"unknown workload", NULL}},
    {"workload: no file", W("none.csv"), INPUT, {"cannot read 'none.csv'", NULL}},
    {"workload: a folder", W("./folder"), INPUT, {"expected a file, got a folder", NULL}},
    {"arch: unknown",
     {"--arch", "systolic-23", NULL},
     USAGE,
     {"unknown architecture preset 'systolic-23'", "did you mean 'systolic-32'?"}},
    {"arch: no file",
     {"--arch", "./none.yaml", NULL},
     INPUT,
     {"cannot read './none.yaml'", NULL}},
    {"arch: a folder",
     {"--arch", "./folder", NULL},
     INPUT,
     {"expected a file, got a folder", NULL}},
    {"numerics: unknown", {"--numerics", "all", NULL}, USAGE, {"off, sample", "got 'all'"}},
    {"trace: unknown", {"--trace", "some", NULL}, USAGE, {"off, summary, full", "got 'some'"}},
    {"model: unknown", {"--model", "magic", NULL}, USAGE, {"event", "got 'magic'"}},
    {"seed: no number", {"--seed", "x", NULL}, USAGE, {"--seed takes a number", "got 'x'"}},
    {"seed: negative", {"--seed", "-1", NULL}, USAGE, {"--seed takes a number", NULL}},
    {"seed: above 64 bits", {"--seed", "18446744073709551616", NULL}, USAGE, {"--seed", NULL}},
    {"seed: nothing", {"--seed", "", NULL}, USAGE, {"--seed takes a number", NULL}},
    {"batch: zero", {"--batch", "0", NULL}, USAGE, {"--batch takes at least 1", NULL}},
    {"batch: a unit", {"--batch", "4KiB", NULL}, USAGE, {"--batch takes a number", NULL}},
    {"batch: unlimited",
     {"--batch", "unlimited", NULL},
     USAGE,
     {"--batch takes a number", NULL}},
    {"batch: above 64 bits of work",
     {"--batch", "18446744073709551614", NULL},
     INPUT,
     {"error:", NULL}},
    {"name: a number", {"--name", "12", NULL}, USAGE, {"--name takes a word", "got '12'"}},
    {"name: last", {"--name", "last", NULL}, USAGE, {"--name takes a word", NULL}},
    {"name: nothing", {"--name", "", NULL}, USAGE, {"--name takes a word", NULL}},
    {"an argument too many",
     {"resnet50", NULL, NULL},
     USAGE,
     {"unexpected argument 'resnet50'", "-w the workload"}},
    {"numerics: no value",
     {"--numerics", NULL},
     USAGE,
     {"--numerics lacks its value", "sample"}},
    {"a value too many", {"--json=1", NULL}, USAGE, {"--json takes no value", NULL}},
    {"unknown option",
     {"--sede=1", NULL},
     USAGE,
     {"unknown option '--sede=1'", "did you mean '--seed'?"}},
    {"unknown short option", {"-Z", NULL}, USAGE, {"unknown option '-Z'", NULL}},
};

static void wrong_arguments_are_told(void **state) {
  (void)state;
  assert_int_equal(mkdir("folder", 0700), 0);
  for (size_t i = 0; i < sizeof run_args / sizeof run_args[0]; i++) {
    const struct arg_row *a = &run_args[i];
    bool own = !strcmp(a->args[0], "--workload"); /* a second would run beside it */
    expect_refused(a->label, a->rc, a->says,
                   (const char *const[]){"run", "--arch", "systolic-32", a->args[0], a->args[1],
                                         own ? NULL : "--workload", "gemm:8x8x8", NULL});
  }
  assert_int_equal(tool_runs("tessera.db"), 0);
}

/* ---- other commands ---- */

struct command_row {
  const char *label, *args[6];
  int rc;
  const char *says[2];
};
static const struct command_row commands[] = {
    {"unknown command", {"rum"}, USAGE, {"unknown command 'rum'", "did you mean 'run'?"}},
    {"no architecture",
     {"run", "--workload", "gemm:1x1x1"},
     USAGE,
     {"--arch is missing", NULL}},
    {"no workload", {"run", "--arch", "systolic-32"}, USAGE, {"--workload is missing", NULL}},
    {"unknown table", {"show", "layer"}, USAGE, {"layer", "layers"}},
    {"no table", {"show"}, USAGE, {"show takes a table", NULL}},
    {"unknown run by number", {"show", "layers", "99"}, INPUT, {"99", NULL}},
    {"unknown run by name", {"show", "layers", "nosuch"}, INPUT, {"nosuch", NULL}},
    {"run number above 64 bits",
     {"show", "layers", "99999999999999999999"},
     INPUT,
     {NULL, NULL}},
    {"rerun nothing", {"rerun"}, USAGE, {"rerun takes a run", NULL}},
    {"rerun an unknown run", {"rerun", "99"}, INPUT, {"99", NULL}},
    {"rerun two", {"rerun", "1", "2"}, USAGE, {"rerun takes one run", NULL}},
    {"roofline of nothing", {"roofline", "-o", "r.svg"}, USAGE, {"roofline takes a run", NULL}},
    {"roofline to nowhere", {"roofline", "1"}, USAGE, {"-o FILE.svg is missing", NULL}},
    {"roofline of an unknown run", {"roofline", "99", "-o", "r.svg"}, INPUT, {"99", NULL}},
    {"check nothing", {"check"}, USAGE, {"check takes files", NULL}},
    {"check what is not there", {"check", "none.csv"}, INPUT, {"cannot read 'none.csv'", NULL}},
    {"check no program", {"check", "junk.bin"}, INPUT, {"junk.bin", NULL}},
    {"disasm no program", {"disasm", "junk.bin"}, INPUT, {"junk.bin", NULL}},
    {"disasm nothing", {"disasm"}, USAGE, {"disasm takes a file", NULL}},
    {"asm nothing", {"asm"}, USAGE, {"asm takes a file", NULL}},
    {"asm two files", {"asm", "bad.s", "bad.s"}, USAGE, {"got 'bad.s' too", NULL}},
    {"asm what is not there", {"asm", "none.s"}, INPUT, {"cannot read 'none.s'", NULL}},
    {"asm a binary", {"asm", "junk.bin"}, INPUT, {"junk.bin:1:", NULL}},
    {"asm a mistake",
     {"asm", "bad.s", "-o", "out.bin"},
     INPUT,
     {"bad.s:2:1: error: unknown instruction", "hint: did you mean 'halt'?"}},
    {"asm over its source",
     {"asm", "bad.s", "-o", "bad.s"},
     USAGE,
     {"-o 'bad.s' would overwrite", NULL}},
    {"lower an unknown layer",
     {"lower", "--arch=systolic-32", "--workload=gemm:8x8x8", "--layer=gemm1"},
     USAGE,
     {"no layer 'gemm1'", "did you mean 'gemm0'?"}},
    {"config by place",
     {"config", "systolic-32"},
     USAGE,
     {"unexpected argument 'systolic-32'", "-a names the architecture"}},
    {"config of nothing", {"config"}, USAGE, {"--arch is missing", NULL}},
    {"unknown kind of preset", {"presets", "nosuch"}, USAGE, {"nosuch", NULL}},
    {"db without an action", {"db"}, USAGE, {"db takes an action", NULL}},
    {"db with an unknown action", {"db", "burn"}, USAGE, {"got 'burn'", NULL}},
};

static void wrong_commands_are_told(void **state) {
  (void)state;
  TOOL_EXPECT(0, "run", "--arch", "systolic-32", "--workload", "gemm:8x8x8");
  tool_write("junk.bin", "TSRPROG1 is not all", 19);
  tool_write("bad.s", "x = 1\nhlat\n", 11);
  for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
    expect_refused(commands[i].label, commands[i].rc, commands[i].says, commands[i].args);
  assert_null(tool_read("out.bin", &(size_t){0}));
  assert_int_equal(tool_runs("tessera.db"), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(wrong_architectures_are_shown_where_they_are_wrong,
                                      tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(wrong_workloads_are_shown_where_they_are_wrong,
                                      tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(wrong_arguments_are_told, tool_enter, tool_leave),
      cmocka_unit_test_setup_teardown(wrong_commands_are_told, tool_enter, tool_leave)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
