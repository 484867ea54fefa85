/* The assembler: what it reads, what it makes of it, what it says of mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants these above */
#include <cmocka.h>

#include "sim/base/io.h"
#include "sim/base/mem.h"
#include "tests/unit/isa/insts.h"

#define LEN(a) (sizeof(a) / sizeof(*(a)))

/* Assembles an exact copy, so that a read past the end is seen. */
static enum tsr_status assemble(const char *text, size_t n, bool whole, struct tsr_program *p,
                                struct tsr_err *err) {
  char *exact = tsr_mem_alloc(n);
  assert_non_null(exact);
  memcpy(exact, text, n);
  enum tsr_status st = (whole ? tsr_isa_assemble : tsri_assemble_part)("p.s", exact, n, p, err);
  tsr_mem_free(exact);
  return st;
}

/* One instruction, with whatever else `text` holds. */
static struct tsr_inst one(const char *text) {
  struct tsr_program p;
  struct tsr_err err = TSR_ERR_INIT;
  if (assemble(text, strlen(text), false, &p, &err)) fail_msg("%s: %s", text, err.msg[0]);
  assert_int_equal(err.total, 0);
  assert_int_equal(p.n, 1);
  struct tsr_inst in = p.inst[0];
  FOR_FIELDS(&tsri_rows[in.op], j)
  if (tsri_kinds[tsri_rows[in.op].field[j].kind].quoted) /* as insts_text counts them */
    in.f[j] = (int64_t)tsri_name_find(insts_names(), p.name[in.f[j]]);
  tsr_isa_program_fini(&p);
  return in;
}

/* ---- text of the disassembler ---- */

static void printed_instructions_assemble_to_the_same_words(void **state) {
  (void)state;
  struct tsr_rng r = {11};
  FOR_ROWS(op)
  for (int i = 0; i < 300; i++) {
    struct tsr_inst in = insts_random(op, &r);
    char *text = insts_text(&in);
    struct tsr_inst back = one(text);
    if (!insts_same(&in, &back)) fail_msg("%s", text);
    tsr_mem_free(text);
  }
}

/* The operands of a printed instruction: the value alone. */
static int values_of(char *text, char *values[TSR_ISA_FIELDS_MAX]) {
  int n = 0;
  for (char *at = strchr(text, ' '); at;) {
    *at++ = '\0';
    at += *at == ' ';
    char *quote = strchr(at, '"'), *is = strchr(at, '='), *comma = strchr(at, ',');
    values[n++] = is && (!comma || is < comma) ? is + 1 : at;
    at = quote && quote < comma ? strchr(strchr(quote + 1, '"'), ',') : comma;
  }
  return n;
}

/* Some operands by name at random places, the others in their order. */
static void write_shuffled(const struct tsr_inst *in, uint64_t named, struct tsr_rng *r,
                           struct tsr_str *out) {
  const struct tsri_row *row = &tsri_rows[in->op];
  char *text = insts_text(in), *values[TSR_ISA_FIELDS_MAX];
  int n = values_of(text, values);
  bool done[TSR_ISA_FIELDS_MAX] = {false};
  tsr_str_add(out, row->mnemonic);
  for (int k = 0; k < n; k++) {
    int j;
    do { /* any that is left; of those without a name the first */
      j = (int)tsr_rng_range(r, 0, (uint64_t)n - 1);
      for (int i = 0; !(named >> j & 1) && i < j; i++)
        if (!done[i] && !(named >> i & 1)) j = i;
    } while (done[j]);
    done[j] = true;
    tsr_str_add(out, k ? " ,\t" : "\t");
    if (named >> j & 1) tsr_str_addf(out, "%s = ", row->field[j].name);
    tsr_str_add(out, values[j]);
  }
  tsr_mem_free(text);
}

static void operands_stand_by_name_in_any_order_or_by_position(void **state) {
  (void)state;
  struct tsr_rng r = {12};
  FOR_ROWS(op)
  for (uint64_t i = 0; i < 300; i++) {
    struct tsr_inst in = insts_random(op, &r);
    struct tsr_str text = TSR_STR_INIT;
    write_shuffled(&in, i < 2 ? i * UINT64_MAX : tsr_rng_next(&r), &r, &text);
    struct tsr_inst back = one(text.p);
    if (!insts_same(&in, &back)) fail_msg("%s", text.p);
    tsr_str_fini(&text);
  }
}

/* What the assembler takes is what has a code. */
static void ranges_of_operands_end_where_their_codes_end(void **state) {
  (void)state;
  FOR_ROWS(op)
  FOR_FIELDS(&tsri_rows[op], j) {
    const struct tsri_field *f = &tsri_rows[op].field[j];
    tsr_i128 low, high;
    tsri_field_range(f, &low, &high);
    tsr_i128 codes = high - low + 1;
    uint32_t count = tsri_kinds[f->kind].count;
    assert_true(codes == (count ? (tsr_i128)count : (tsr_i128)1 << f->width));
    struct tsr_inst in = {.op = (uint8_t)op};
    FOR_FIELDS(&tsri_rows[op], k) in.f[k] = 0;
    in.f[j] = (int64_t)(uint64_t)low;
    assert_true(tsri_operands_fit(&in));
    in.f[j] = (int64_t)(uint64_t)high;
    assert_true(tsri_operands_fit(&in));
    if (f->width == 64 && !count) continue; /* every pattern is a value */
    in.f[j] = (int64_t)(high + 1);
    assert_false(tsri_operands_fit(&in));
    in.f[j] = (int64_t)(low - 1);
    assert_false(tsri_operands_fit(&in));
  }
}

/* ---- expressions ---- */

static void expressions_have_their_value(void **state) {
  (void)state;
  static const struct {
    const char *text;
    int64_t value;
  } rows[] = {
      {"0", 0},
      {"007", 7},
      {"0x1F", 31},
      {"0xffffffffffffffff - 0xfffffffffffffffe", 1},
      {"1B", 1},
      {"2KB", 2000},
      {"3KiB", 3072},
      {"1.5KiB", 1536},
      {"2MiB + 1", 2097153},
      {"1GiB", 1 << 30},
      {"-9223372036854775808", INT64_MIN},
      {"9223372036854775807", INT64_MAX},
      {"1 + 2 * 3", 7},
      {"(1 + 2) * 3", 9},
      {"10 - 4 - 3", 3},
      {"100 / 10 / 5", 2},
      {"17 % 5 * 2", 4},
      {"7 / 2", 3},
      {"-7 / 2", -3}, /* towards zero, as in C */
      {"-7 % 2", -1},
      {"7 % -2", 1},
      {"-2 * 3", -6},
      {"2 * -3", -6},
      {"- - 4", 4},
      {"-+-+-4", -4},
      {"1-1", 0},
      {"((((5))))", 5},
      {"0xffffffffffffffff * 0x7fffffffffffffff / 0xffffffffffffffff - 0x7ffffffffffffffe",
       1}, /* 128 bits on the way */
      {"k", 3},
      {"k*k - -k", 12},
      {"here", 0},
      {"behind - here", 1},
      {"later.label_2", 1},
      {"x", 7}, /* an axis elsewhere; a name here */
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_str text = TSR_STR_INIT;
    tsr_str_addf(&text, "k = 3\nx=k+4\nhere: start t0, i=0, value=%s\nbehind: later.label_2:",
                 rows[i].text);
    struct tsr_inst in = one(text.p);
    if (in.f[2] != rows[i].value) fail_msg("%s: %lld", rows[i].text, (long long)in.f[2]);
    tsr_str_fini(&text);
  }
}

static void brackets_nest_deeply_but_not_without_end(void **state) {
  (void)state;
  static const int depths[] = {1, 64, 65, 100000};
  for (size_t i = 0; i < LEN(depths); i++) {
    struct tsr_str text = TSR_STR_INIT;
    struct tsr_program p = {0};
    tsr_str_add(&text, "x = ");
    for (int d = 0; d < depths[i]; d++) tsr_str_add(&text, "-(");
    tsr_str_add(&text, "1");
    for (int d = 0; d < depths[i]; d++) tsr_str_add(&text, ")");
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(tsri_assemble_part("p.s", text.p, text.n, &p, &err),
                     depths[i] > 64 ? TSR_INPUT : TSR_OK);
    if (depths[i] > 64) assert_non_null(strstr(err.msg[0], "too deep"));
    tsr_err_fini(&err);
    tsr_isa_program_fini(&p);
    tsr_str_fini(&text);
  }
}

/* ---- lines ---- */

static void layout_changes_nothing(void **state) {
  (void)state;
  static const char plain[] = "format f3, \"b;#,c\"\nsem s1, value=2\nloop l0, trips=3\n"
                              "  wait vector, s1, start, n=1\nend l0\nhalt\n";
  static const char *const texts[] = {
      plain,
      "format f3, \"b;#,c\"\r\nsem s1, value=2\r\nloop l0, trips=3\r\n"
      "wait vector, s1, start\r\nend l0\r\nhalt\r\n",
      "\xef\xbb\xbf"
      "format f3, \"b;#,c\"\nsem s1, value=2\nloop l0, trips=3\n"
      "wait vector, s1, start\nend l0\nhalt",
      "; \"head\n\n  format\tf3,\"b;#,c\"; \"one\n sem s1,2 ; two\n\tloop l0,3# \"three\n"
      " wait vector,s1,start;\n\nend l0\nhalt#\xc3\xa4\n",
      "two = 2\ntop:\n\nalso: format name = \"b;#,c\" , f3\nsem value=two, s=s1\n"
      "loop l0, trips=two + 1\nwait n=two - 1, s=s1, vector, start\nend l0\nhalt\nbehind:",
      "a: b: format f3, \"b;#,c\"\nc: sem s1, 2\nloop l0, end_ - c\nwait vector, s1, "
      "when=start\n"
      "end_: end l0\nhalt\n",
      "n = last - top\ntop: format f3, \"b;#,c\"\nsem s1, n - 3\nloop l0, n - 2\n"
      "wait vector, s1, start\nend l0\nlast: halt",
      ".core 0\nformat f3, \"b;#,c\"\nsem s1, 2\nloop l0, 3\nwait vector, s1, start\nend "
      "l0\nhalt",
  };
  struct tsr_program want;
  assert_int_equal(tsr_isa_assemble("p.s", plain, strlen(plain), &want, NULL), TSR_OK);
  for (size_t i = 0; i < LEN(texts); i++) {
    struct tsr_program p = {0};
    struct tsr_err err = TSR_ERR_INIT;
    if (assemble(texts[i], strlen(texts[i]), true, &p, &err))
      fail_msg("%s: %s", texts[i], err.msg[0]);
    assert_int_equal(p.n, want.n);
    for (size_t j = 0; j < p.n; j++) assert_true(insts_same(&p.inst[j], &want.inst[j]));
    assert_int_equal(p.n_names, 1);
    assert_string_equal(p.name[0], "b;#,c");
    tsr_isa_program_fini(&p);
  }
  tsr_isa_program_fini(&want);
}

/* ---- mistakes ---- */

static void mistakes_are_shown_where_they_are(void **state) {
  (void)state;
  static const struct {
    const char *text, *where, *says, *hint;
  } rows[] = {
      {"tensr t0, f0, 2, 0", "p.s:1:1:", "unknown instruction;", "did you mean 'tensor'?"},
      {"\n x: Halt", "p.s:2:5:", "got 'Halt'", "did you mean 'halt'?"},
      {"tensor t0, f0, elm=2, base=0", "p.s:1:16:", "expected t, fmt, elem, base, got 'elm'",
       "did you mean 'elem'?"},
      {"tensor t0, f0, elem=2", "p.s:1:1:", "'tensor' lacks 'base'", NULL},
      {"dim", "p.s:1:1:", "lacks 't', 'i', 'size', 'stride'", NULL},
      {"signal load, s0", "p.s:1:1:", "'signal' lacks 'when'", NULL},
      {"mm p0, p1, p2, t0, over=l0", "p.s:1:1:", "'mm' lacks 'ta', 'tb'", NULL},
      {"load t0, p0, own, all",
       "p.s:1:19:", "takes 3 operands; expected t, p, to, got 'all' too", NULL},
      {"end l0, l=l0", "p.s:1:9:", "takes 1 operand;", NULL},
      {"halt 1", "p.s:1:6:", "takes 0 operands; expected nothing, got '1' too", NULL},
      {"load p=p0, p=p0", "p.s:1:12:", "'p' given twice", NULL},
      {"load t0,", "p.s:1:9:", "expected p0 to p15, got the end of the line", NULL},
      {"load , p0", "p.s:1:6:", "expected t0 to t15, got ','", NULL},
      {"load t0 p0", "p.s:1:9:", "expected ',' or the end of the line, got 'p0'", NULL},
      {"load t16, p0", "p.s:1:6:", "expected t0 to t15, got 't16'", NULL},
      {"load t00, p0", "p.s:1:6:", "expected t0 to t15, got 't00'", NULL},
      {"load t, p0", "p.s:1:6:", "expected t0 to t15, got 't'", NULL},
      {"load t18446744073709551616, p0",
       "p.s:1:6:", "expected t0 to t15, got 't18446744073709551616'", NULL},
      {"load 0, p0", "p.s:1:6:", "expected t0 to t15, got '0'", NULL},
      {"sem s256, 0", "p.s:1:5:", "expected s0 to s255, got 's256'", NULL},
      {"place p16, a, f0, 1, 0, 1", "p.s:1:7:", "expected p0 to p15, got 'p16'", NULL},
      {"place p0, d, f0, 1, 0, 1", "p.s:1:11:", "one of a, b, c, got 'd'", "did you mean 'a'?"},
      {"place p0, a, f16, 1, 0, 1", "p.s:1:14:", "expected f0 to f15, got 'f16'", NULL},
      {"axis n, l15, 1, 1", "p.s:1:9:", "expected l0 to l14 or none, got 'l15'", NULL},
      {"signal tilt, s0, done", "p.s:1:8:", "one of load, tile, store, vector, got 'tilt'",
       "did you mean 'tile'?"},
      {"signal tile, s0, done, every", "p.s:1:24:", "one of own, all, first, got 'every'",
       NULL},
      {"vec gleu, p0, p1, rows=ow, cols=n", "p.s:1:5:", "'op' has an unknown value;",
       "did you mean 'gelu'?"},
      {"vec relu, p0, p1, rows=ow, cols=n, bc=rows",
       "p.s:1:39:", "one of each, row, col, one, got 'rows'", "did you mean 'row'?"},
      {"vec relu, p0, p1, rows=ow|m, cols=n",
       "p.s:1:27:", "one of g, b, oh, ow, n, kh, kw, c, or none, got 'm'", "did you mean 'g'?"},
      {"vec relu, p0, p1, rows=ow|, cols=n", "p.s:1:27:", "or none, got ','", NULL},
      {"vec relu, p0, p1, rows=, cols=n", "p.s:1:24:", "or none, got ','", NULL},
      {"vec relu, p0, p1, rows=ow|b|ow, cols=n", "p.s:1:29:", "'rows' has 'ow' twice", NULL},
      {"vec relu, p0, p1, rows=ow b, cols=n",
       "p.s:1:27:", "'rows' goes on; expected '|', ',' or the end of the line, got 'b'", NULL},
      {"vec relu, p0, p1, rows=none|b, cols=n",
       "p.s:1:28:", "'rows' goes on; expected '|', ','", NULL},
      {"vec relu, p0, p1, rows=3, cols=n", "p.s:1:24:", "or none, got '3'", NULL},
      {"vec relu, p0, p1, rows=ow, cols=n, imm=4294967296",
       "p.s:1:40:", "expected 0 to 4294967295, got '4294967296'", NULL},
      {"mm p0, p1, p2, t0, t1, t2, over=l0|l15",
       "p.s:1:36:", "expected l0 to l14 or none, got 'l15'", NULL},
      {"mm p0, p1, p2, t0, t1, t2, over=ow",
       "p.s:1:33:", "expected l0 to l14 or none, got 'ow'", NULL},
      {"mm p0, p1, p2, t0, t1, t2, over=l3|l3", "p.s:1:36:", "'over' has 'l3' twice", NULL},
      {"mm p0, p1, p2, t0, t1, t2, sparse=sparse",
       "p.s:1:35:", "one of dense, sparse24, got 'sparse'", "did you mean 'sparse24'?"},
      {"format f0, fp16", "p.s:1:12:",
       "'name' is no such text; expected 1 to 63 printable ASCII characters in quotes, got "
       "'fp16'",
       NULL},
      {"format f0, \"\"", "p.s:1:12:", "1 to 63 printable", NULL},
      {"format f0, \"fp16", "p.s:1:12:", "got '\"fp16'", NULL},
      {"format f0, \"a	b\"", "p.s:1:12:", "1 to 63 printable", NULL},
      {"format f0, \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
       "p.s:1:12:", "1 to 63 printable", NULL},
      {"format f0, \"fp16\" \"x\"",
       "p.s:1:19:", "'name' goes on; expected ',' or the end of the line", NULL},
      {"format \"f0\", \"fp16\"", "p.s:1:8:", "expected f0 to f15", NULL},
      {"start t0, 0, \"1\"", "p.s:1:14:", "a number, a name or '('", NULL},
      {"preload p0, t0, 256", "p.s:1:17:", "expected 0 to 255, got '256'", NULL},
      {"preload p0, t0, 252 + 2*2 ", "p.s:1:17:", "got '256'", NULL},
      {"preload p0, t0, -1", "p.s:1:17:", "expected 0 to 255, got '-1'", NULL},
      {"tensor t0, f0, 1, 18446744073709551615 + 1", "p.s:1:19:", "got '18446744073709551616'",
       NULL},
      {".core 1", "p.s:1:7:", "to begin with 0 and to end below 4096, got '1'", NULL},
      {".core 0-4096", "p.s:1:7:", "got '0-4096'", NULL},
      {".core 0\nhalt\n.core 2", "p.s:3:7:", "to begin with 1", NULL},
      {".core 0-3\nhalt\n.core 5-4", "p.s:3:7:", "to begin with 4", NULL},
      {".core 0-(1-2)", "p.s:1:7:", "got '0-(1-2)'", NULL},
      {".core", "p.s:1:6:", "a number, a name or '(', got the end of the line", NULL},
      {".core 0 1", "p.s:1:9:", "expected '-' or the end of the line, got '1'", NULL},
      {"halt\n.core 0", "p.s:2:1:", "instructions above belong to no core", NULL},
      {".core: halt", "p.s:1:1:", "name taken by a directive", NULL},
      {".machine = 3", "p.s:1:1:", "name taken by a directive", NULL},
      {".cors 0", "p.s:1:1:", "unknown instruction;", NULL},
      {".machine tpu, 1", "p.s:1:10:", "'machine' is no such text", NULL},
      {".machine \"tpu\"", "p.s:1:15:", "expected ',' and a hash, got the end of the line",
       NULL},
      {".machine \"tpu\", -1", "p.s:1:17:", "64 bits, got '-1'", NULL},
      {".machine \"tpu\", 1, 2", "p.s:1:18:", "an operator or the end of the line, got ','",
       NULL},
      {".machine \"tpu\", 1\n.machine \"tpu\", 1", "p.s:2:1:", "'.machine' given twice", NULL},
      {"start t0, 0, 9223372036854775808", "p.s:1:14:",
       "expected -9223372036854775808 to 9223372036854775807, got '9223372036854775808'", NULL},
      {"start t0, 0, 1e3", "p.s:1:14:", "no number;", NULL},
      {"start t0, 0, 12.5", "p.s:1:14:", "expected 12, 0x1f or 512KiB, got '12.5'", NULL},
      {"start t0, 0, 0x", "p.s:1:14:", "no number;", NULL},
      {"start t0, 0, 0x1fKiB", "p.s:1:14:", "no number;", NULL},
      {"start t0, 0, 12kib", "p.s:1:14:", "no number;", NULL},
      {"start t0, 0, 18446744073709551616", "p.s:1:14:", "number too large;", NULL},
      {"start t0, 0, 99999999TiB", "p.s:1:14:", "number too large;", NULL},
      {"start t0, 0, s1", "p.s:1:14:", "got register 's1'", NULL},
      {"start t0, 0, none", "p.s:1:14:", "got register 'none'", NULL},
      {"start t0, 0, 3 +", "p.s:1:17:", "a number, a name or '(', got the end of the line",
       NULL},
      {"start t0, 0, (3", "p.s:1:16:", "'(' of column 14 is open;", NULL},
      {"start t0, 0, 3)", "p.s:1:15:", "expected an operator, ',' or the end of the line",
       NULL},
      {"start t0, 0, 3 / (4 - 4)", "p.s:1:16:", "division by zero", NULL},
      {"start t0, 0, 3 % 0", "p.s:1:16:", "division by zero", NULL},
      {"x = 0x8000000000000000 * 0x8000000000000000 * 2", "p.s:1:45:", "128 bits", NULL},
      {"x = -0x8000000000000000 * 0x8000000000000000 * 2\ny = x - 1", "p.s:2:7:", "128 bits",
       NULL},
      {"x = -0x8000000000000000 * 0x8000000000000000 * 2\ny = x / -1", "p.s:2:7:", "128 bits",
       NULL},
      {"x = -0x8000000000000000 * 0x8000000000000000 * 2\ny = x % -1", "p.s:2:7:", "128 bits",
       NULL},
      {"x = -0x8000000000000000 * 0x8000000000000000 * 2\ny = -x", "p.s:2:5:", "128 bits",
       NULL},
      {"size = 3\nstart t0, 0, sise", "p.s:2:14:", "unknown name;", "did you mean 'size'?"},
      {"start t0, 0, x\nx = 1", "p.s:1:14:", "constant used before line 2 defines it", NULL},
      {"x = x", "p.s:1:5:", "constant used before line 1 defines it", NULL},
      {"x = 1\nx = 1", "p.s:2:1:", "name taken by line 1", NULL},
      {"x: x: halt", "p.s:1:4:", "name taken by line 1", NULL},
      {"x: halt\nx = 2", "p.s:2:1:", "name taken by line 1", NULL},
      {"load = 1", "p.s:1:1:", "name taken by an instruction", NULL},
      {"halt: halt", "p.s:1:1:", "name taken by an instruction", NULL},
      {"t7 = 1", "p.s:1:1:", "name taken by a register", NULL},
      {"none: halt", "p.s:1:1:", "name taken by a register", NULL},
      {"x = 1, 2", "p.s:1:6:", "an operator or the end of the line, got ','", NULL},
      {"x =", "p.s:1:4:", "got the end of the line", NULL},
      {"= 3", "p.s:1:1:", "expected an instruction, a label or a constant, got '='", NULL},
      {"12: halt", "p.s:1:1:", "got '12'", NULL},
      {"halt\nhalt \xc3\xa4", "p.s:2:6:", "got 'ä' too", NULL},
      {"\xff", "p.s:1:1:", "a label or a constant, got '?'", NULL},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_program p = {.n = 77}, before = p;
    struct tsr_err err = TSR_ERR_INIT;
    enum tsr_status st = assemble(rows[i].text, strlen(rows[i].text), false, &p, &err);
    const char *m = err.n ? err.msg[0] : "";
    bool good = st == TSR_INPUT && err.status == TSR_INPUT && err.total == 1 &&
                !strncmp(m, rows[i].where, strlen(rows[i].where)) && strstr(m, rows[i].says) &&
                (rows[i].hint ? strstr(m, rows[i].hint) != NULL : !strstr(m, "hint"));
    if (!good) fail_msg("%s\n%zu messages: %s", rows[i].text, err.total, m);
    assert_memory_equal(&p, &before, sizeof p);
    tsr_err_fini(&err);
  }
}

/* Every mistake of a source, each once, up to the number that is held. */
static void mistakes_are_collected(void **state) {
  (void)state;
  static const char text[] = "bad = 1 / 0\n"
                             "loop l9, bad\n" /* told already */
                             "tensor t99, f0, elem=300, base=-1\n"
                             "nonsense\n"
                             "end l0\n";
  struct tsr_program p;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(assemble(text, sizeof text - 1, true, &p, &err), TSR_INPUT);
  static const char *const places[] = {
      "p.s:1:9:", "p.s:3:8:", "p.s:3:22:", "p.s:3:32:", "p.s:4:1:"};
  assert_int_equal(err.total, LEN(places)); /* and no check of what is not whole */
  for (size_t i = 0; i < LEN(places); i++) assert_non_null(strstr(err.msg[i], places[i]));
  tsr_err_fini(&err);
  struct tsr_str many = TSR_STR_INIT;
  for (int i = 0; i < 100; i++) tsr_str_add(&many, "start t0, 0, nosuch\n");
  err = (struct tsr_err)TSR_ERR_INIT;
  assert_int_equal(assemble(many.p, many.n, true, &p, &err), TSR_INPUT);
  assert_int_equal(err.total, 100);
  assert_int_equal(err.n, TSR_ERR_MAX);
  tsr_err_fini(&err);
  assert_int_equal(assemble(many.p, many.n, true, &p, NULL), TSR_INPUT);
  tsr_str_fini(&many);
}

static void unsound_programs_are_shown_at_the_instruction_to_blame(void **state) {
  (void)state;
  static const struct {
    const char *text, *where, *says;
  } rows[] = {
      {"", "p.s:1:1:", "ends with halt"},
      {"; nothing\nx = 3\n", "p.s:1:1:", "ends with halt"},
      {"sem s0, 1\n\n  sem s1, 1\n", "p.s:3:3:", "ends with halt"},
      {"halt\nhalt\n", "p.s:1:1:", "halt before the end"},
      {"loop l0, 2\n x: loop l1, 2\nend l1\nhalt", "p.s:1:1:", "not closed"},
      {"loop l0, 2\n x: loop l1, 2\nhalt", "p.s:2:5:", "not closed"},
      {"loop l0, 2\n end l1\nhalt", "p.s:2:2:", "innermost open"},
      {"x = 0\nloop l0, x\n end l1\nhalt", "p.s:2:1:", "at least once"},
      {"loop none, 1\nend none\nhalt", "p.s:1:1:", "none"},
      {"dim t0, 4, 1, 1\nhalt", "p.s:1:1:", "dimensions 0 to 3"},
      {"sem s0, 1\n\nx: store t1, p1\nhalt", "p.s:3:4:", "tensor t1 is not described above"},
      {".core 0\nhalt\n .core 1-2\n", "p.s:3:2:", "ends with halt; there is no instruction"},
      {".core 0\nhalt\n.core 1-2\nend l0\nhalt", "p.s:4:1:", "innermost open"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_program p = {.n = 77}, before = p;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(assemble(rows[i].text, strlen(rows[i].text), true, &p, &err), TSR_INPUT);
    assert_int_equal(err.total, 1);
    if (strncmp(err.msg[0], rows[i].where, strlen(rows[i].where)) != 0 ||
        !strstr(err.msg[0], rows[i].says))
      fail_msg("row %zu: %s", i, err.msg[0]);
    assert_memory_equal(&p, &before, sizeof p);
    tsr_err_fini(&err);
  }
}

static void a_caret_stands_under_the_mistake(void **state) {
  (void)state;
  static const char text[] = "x: load t0, d ; comment\nhalt\n";
  struct tsr_program p;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(assemble(text, sizeof text - 1, true, &p, &err), TSR_INPUT);
  assert_non_null(strstr(err.msg[0], "\nx: load t0, d ; comment\n            ^\n"));
  tsr_err_fini(&err);
}

static void a_binary_program_is_told_from_text(void **state) {
  (void)state;
  static const char text[] = "halt\n";
  struct tsr_program p;
  struct tsr_err err = TSR_ERR_INIT;
  uint8_t *bytes;
  size_t n;
  assert_int_equal(assemble(text, sizeof text - 1, true, &p, &err), TSR_OK);
  struct tsr_program_set set = {0};
  assert_int_equal(tsr_isa_set_add(&set, &p, 1, NULL), TSR_OK);
  assert_int_equal(tsr_isa_set_save(&set, &bytes, &n, NULL), TSR_OK);
  tsr_isa_set_fini(&set);
  assert_int_equal(assemble((const char *)bytes, n, true, &p, &err), TSR_INPUT);
  assert_int_equal(err.total, 1);
  assert_non_null(strstr(err.msg[0], "a binary program"));
  assert_non_null(strstr(err.msg[0], "tessera disasm"));
  tsr_mem_free(bytes);
  tsr_err_fini(&err);
}

/* ---- operands that are left out ---- */

static void what_is_left_out_has_its_usual_value(void **state) {
  (void)state;
  static const struct {
    const char *text, *whole;
  } rows[] = {
      {"box t1, 2, 3", "box t1, i=2, extent=3, step=1"},
      {"wait load, s1, result", "wait load, s1, result, n=1"},
      {"signal tile, s1, read", "signal tile, s1, read, own"},
      {"load t1, p1", "load t1, p1, own"},
      {"preload p3, t4", "preload p3, t4, rate=1"},
      {"mm p1, p2, p3, t1, t2, t3", "mm p1, p2, p3, t1, t2, t3, over=none, rate=1, dense, p0"},
      {"mm p1, p2, p3, t1, t2, t3, pm=p4, sparse=sparse24",
       "mm p1, p2, p3, t1, t2, t3, over=none, rate=1, sparse24, p4"},
      {"mm p1, p2, p3, t1, t2, t3, l2|l0",
       "mm p1, p2, p3, t1, t2, t3, over=l0|l2, rate=1, dense, p0"},
      {"vec exp, p1, p2, rows=c | b | ow, cols=none",
       "vec exp, p1, p2, p0, each, rows=b|ow|c, cols=none, over=none, imm=0"},
      {"window rowmax, p1, p2, t2, rows=oh|ow, cols=n, win=kh|kw",
       "window rowmax, p1, p2, t2, rows=oh|ow, cols=n, win=kh|kw, imm=0"},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_inst in = one(rows[i].text);
    char *text = insts_text(&in);
    assert_string_equal(text, rows[i].whole);
    tsr_mem_free(text);
  }
}

/* ---- sets ---- */

static void a_set_is_printed_as_it_is_read(void **state) {
  (void)state;
  static const struct {
    const char *text, *printed; /* NULL: the same */
    size_t cores;
  } rows[] = {
      {"halt\n", NULL, 1},
      {".core 0\nhalt\n", "halt\n", 1},
      {".core 0-3\nhalt\n", NULL, 4},
      {".core 0-4095\nhalt\n", NULL, 4096},
      {".core 0\nhalt\n.core 1\nhalt\n.core 2-3\nhalt\n", ".core 0-3\nhalt\n", 4},
      {".machine \"tpu v1; #2\", 0x00000000000000ff\nhalt\n", NULL, 1},
      {"h = 0xff\n.core 0-h / h ; is no value\nhalt\n", "", 0},
      {"last = 1\n.core 0-last\nformat f0, \"fp16\"\nhalt\n.machine \"m\", 1 + 1\n"
       ".core last + 1\nhalt",
       "", 0},
      {"last = 1\n.core 0-last\nformat f0, \"fp16\"\nhalt\n.machine \"m\", last + 1\n"
       ".core (last + 1)\nhalt",
       ".machine \"m\", 0x0000000000000002\n.core 0-1\nformat f0, \"fp16\"\nhalt\n"
       ".core 2\nhalt\n",
       3},
      {".core 0\na: sem s0, 1\nb: halt\n.core 1\nsem s0, b - a\nhalt\n.core 2\n"
       "format f1, \"x\"\nc: halt\n.core 3\nsem s1, c\nhalt\n", /* labels count in a program */
       ".core 0-1\nsem s0, value=1\nhalt\n.core 2\nformat f1, \"x\"\nhalt\n.core 3\n"
       "sem s1, value=1\nhalt\n",
       4},
  };
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_program_set set = {0};
    struct tsr_err err = TSR_ERR_INIT;
    struct tsr_str text = TSR_STR_INIT;
    enum tsr_status st =
        tsr_isa_set_assemble("p.s", rows[i].text, strlen(rows[i].text), &set, &err);
    assert_int_equal(st, rows[i].cores ? TSR_OK : TSR_INPUT);
    assert_int_equal(set.n, rows[i].cores);
    for (size_t c = 0; c < set.n; c++)
      assert_int_equal(tsr_isa_check(&set.program[c], NULL), 0);
    tsr_isa_set_disasm(&set, &text);
    if (set.n) assert_string_equal(text.p, rows[i].printed ? rows[i].printed : rows[i].text);
    tsr_str_fini(&text);
    tsr_isa_set_fini(&set);
    tsr_err_fini(&err);
  }
}

static void one_program_is_not_taken_from_a_set_of_more(void **state) {
  (void)state;
  static const struct {
    const char *text, *where;
  } rows[] = {{".core 0-1\nhalt\n", "p.s:1:1:"},
              {".core 0\nhalt\n .core 1\nhalt\n", "p.s:3:2:"},
              {"halt\n .machine \"m\", 0\n", "p.s:2:2:"}};
  for (size_t i = 0; i < LEN(rows); i++) {
    struct tsr_program p = {.n = 77}, before = p;
    struct tsr_err err = TSR_ERR_INIT;
    assert_int_equal(assemble(rows[i].text, strlen(rows[i].text), true, &p, &err), TSR_INPUT);
    assert_int_equal(err.total, 1);
    assert_memory_equal(err.msg[0], rows[i].where, strlen(rows[i].where));
    assert_memory_equal(&p, &before, sizeof p);
    tsr_err_fini(&err);
  }
}

static void names_are_counted_up_to_what_a_program_holds(void **state) {
  (void)state;
  for (int n = TSR_ISA_NAMES; n <= TSR_ISA_NAMES + 1; n++) {
    struct tsr_str text = TSR_STR_INIT;
    struct tsr_program p = {0};
    struct tsr_err err = TSR_ERR_INIT;
    for (int i = 0; i < 2 * n; i++)
      tsr_str_addf(&text, "format f%d, \"%d\"\n", i % TSR_ISA_FORMATS, i % n);
    tsr_str_add(&text, "halt");
    assert_int_equal(assemble(text.p, text.n, true, &p, &err),
                     n > TSR_ISA_NAMES ? TSR_INPUT : TSR_OK);
    assert_int_equal(p.n_names, n > TSR_ISA_NAMES ? 0 : n);
    for (size_t i = 0; i + 1 < p.n; i++) assert_int_equal(p.inst[i].f[1], i % (size_t)n);
    if (err.n) assert_non_null(strstr(err.msg[0], "p.s:65:12: error: too many names;"));
    tsr_err_fini(&err);
    tsr_isa_program_fini(&p);
    tsr_str_fini(&text);
  }
}

/* The example of the README: what it describes, and that it comes back from its listing. */
static void the_example_assembles(void **state) {
  (void)state;
  static const char path[] = TSR_TEST_DATA "/isa/matmul.s";
  char *source;
  size_t n;
  struct tsr_program p, again;
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_str text = TSR_STR_INIT;
  assert_int_equal(tsr_io_read(path, &source, &n, &err), TSR_OK);
  if (tsr_isa_assemble(path, source, n, &p, &err)) fail_msg("%s", err.msg[0]);
  static const struct {
    uint8_t op;
    size_t n;
  } counts[] = {{TSR_ISA_FORMAT, 2}, {TSR_ISA_TENSOR, 3},  {TSR_ISA_DIM, 6},
                {TSR_ISA_BOX, 6},    {TSR_ISA_WALK, 2},    {TSR_ISA_FEED, 6},
                {TSR_ISA_PLACE, 3},  {TSR_ISA_ADVANCE, 2}, {TSR_ISA_AXIS, 3},
                {TSR_ISA_LOOP, 1},   {TSR_ISA_LOAD, 2},    {TSR_ISA_MM, 1},
                {TSR_ISA_STORE, 1}};
  for (size_t c = 0; c < LEN(counts); c++) {
    size_t have = 0;
    for (size_t i = 0; i < p.n; i++) have += p.inst[i].op == counts[c].op;
    assert_int_equal(have, counts[c].n);
  }
  tsr_isa_disasm(&p, &text);
  assert_non_null(strstr(text.p, "tensor t2, f1, elem=4, base=32768\n"));
  assert_non_null(strstr(text.p, "place p1, b, f0, elem=2, base=0, wrap=16384\n"));
  assert_non_null(strstr(text.p, "loop l0, trips=2\n  wait load, s0, start, n=1\n"));
  if (tsr_isa_assemble("again", text.p, text.n, &again, &err)) fail_msg("%s", err.msg[0]);
  assert_true(tsri_program_same(&p, &again));
  tsr_str_fini(&text);
  tsr_isa_program_fini(&again);
  tsr_isa_program_fini(&p);
  tsr_mem_free(source);
}

/* Bytes that no text holds end in a message, not in a shorter program. */
static void stray_bytes_are_refused(void **state) {
  (void)state;
  for (int c = 0; c < 256; c++) {
    char text[] = "halt ?\n";
    text[5] = (char)c;
    struct tsr_program p;
    bool blank = strchr(" \t\r\n;#", c) && c;
    enum tsr_status st = assemble(text, sizeof text - 1, true, &p, NULL);
    if ((st == TSR_OK) != blank) fail_msg("byte %d: %d", c, (int)st);
    if (!st) tsr_isa_program_fini(&p);
  }
}

static void running_out_of_memory_is_told(void **state) {
  (void)state;
  static const char text[] = ".machine \"m\", 1\n.core 0-2\nn = 3\ntop: sem s0, n\nloop l0, n\n"
                             "wait load, s0, start\nend l0\nm = n * n\nlast: halt\n"
                             ".core 3\nformat f0, \"fp16\"\nhalt\n";
  static const char wrong[] = "n = 3\nm = o\nload q, z=3\nlood\nsem s0\n.core 7\nformat f, 1\n"
                              "vec add, p0, p0, rows=q, cols=n|n\n";
  for (int w = 0; w < 2; w++) {
    const char *t = w ? wrong : text;
    enum tsr_status want = w ? TSR_INPUT : TSR_OK;
    for (uint64_t nth = 1;; nth++) {
      struct tsr_program_set set;
      struct tsr_err err = TSR_ERR_INIT;
      tsr_mem_fail_at(nth, false);
      enum tsr_status st = tsr_isa_set_assemble("p.s", t, strlen(t), &set, &err);
      bool reached = tsr_mem_calls() >= nth;
      tsr_mem_fail_at(0, false);
      assert_true(st == want || (reached && st == TSR_NOMEM));
      if (!w) assert_int_equal(st == TSR_NOMEM, reached);
      assert_int_equal(st != TSR_OK, err.total > 0);
      if (!st) tsr_isa_set_fini(&set);
      tsr_err_fini(&err);
      if (!reached) break;
      assert_true(nth < 500);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(printed_instructions_assemble_to_the_same_words),
      cmocka_unit_test(operands_stand_by_name_in_any_order_or_by_position),
      cmocka_unit_test(ranges_of_operands_end_where_their_codes_end),
      cmocka_unit_test(expressions_have_their_value),
      cmocka_unit_test(brackets_nest_deeply_but_not_without_end),
      cmocka_unit_test(layout_changes_nothing),
      cmocka_unit_test(mistakes_are_shown_where_they_are),
      cmocka_unit_test(mistakes_are_collected),
      cmocka_unit_test(unsound_programs_are_shown_at_the_instruction_to_blame),
      cmocka_unit_test(a_caret_stands_under_the_mistake),
      cmocka_unit_test(a_binary_program_is_told_from_text),
      cmocka_unit_test(what_is_left_out_has_its_usual_value),
      cmocka_unit_test(a_set_is_printed_as_it_is_read),
      cmocka_unit_test(one_program_is_not_taken_from_a_set_of_more),
      cmocka_unit_test(names_are_counted_up_to_what_a_program_holds),
      cmocka_unit_test(the_example_assembles),
      cmocka_unit_test(stray_bytes_are_refused),
      cmocka_unit_test(running_out_of_memory_is_told),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  insts_names_fini();
  return failed;
}
