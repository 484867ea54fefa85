/* asm: a program's text as binary. */
#include "isa/isa.h"
#include "sim/base/io.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"

struct asm_args {
  const char *file, *out;
};

static const struct argp_option asm_options[] = {
    {"output", 'o', "FILE.bin", 0, "write the binary program", 0}, {0}};

static error_t parse_asm(int key, char *arg, struct argp_state *state) {
  struct asm_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case 'o': a->out = arg; return 0;
  case ARGP_KEY_ARG:
    if (a->file) cmd_usage_error(state, "asm takes one file, got '%s' too", arg);
    a->file = arg;
    return 0;
  case ARGP_KEY_END:
    if (!a->file) cmd_usage_error(state, "asm takes a file");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static size_t count_words(const struct tsr_program *p) {
  size_t n = 0;
  for (size_t i = 0; i < p->n; i++) {
    uint64_t words[TSR_ISA_WORDS_MAX];
    n += tsr_isa_encode(&p->inst[i], words);
  }
  return n;
}

static enum tsr_status summarize(struct cmd_ctx *ctx, const struct asm_args *a,
                                 const struct tsr_program *p) {
  struct tsr_str out = TSR_STR_INIT;
  if (ctx->json) {
    tsr_str_add(&out, "{\"file\": ");
    tsr_str_add_json(&out, a->file);
    tsr_str_addf(&out, ", \"instructions\": %zu, \"words\": %zu, \"output\": ", p->n,
                 count_words(p));
    if (a->out)
      tsr_str_add_json(&out, a->out);
    else
      tsr_str_add(&out, "null");
    tsr_str_add(&out, "}\n");
  } else {
    tsr_str_addf(&out, "%s: %zu instructions, %zu words\n", a->file, p->n, count_words(p));
  }
  enum tsr_status st = out.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p);
  tsr_str_fini(&out);
  return st;
}

CMD(asm) {
  static const struct argp argp = {
      .options = asm_options,
      .parser = parse_asm,
      .args_doc = "FILE.s",
      .doc =
          "Assembles a program's text (as `lower` and `disasm` print it); tells its size, or "
          "with -o writes the binary."};
  struct asm_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  char *text = NULL;
  size_t n;
  struct tsr_program p = {0};
  enum tsr_status st = a.out ? cmd_guard_output(ctx, a.out, &a.file, 1) : TSR_OK;
  if (!st) st = tsr_io_read(a.file, &text, &n, &ctx->err);
  if (!st) st = tsr_isa_assemble(a.file, text, n, &p, &ctx->err);
  if (!st && a.out) st = cmd_write_program(ctx, &p, a.out);
  if (!st && (ctx->json || !a.out)) st = summarize(ctx, &a, &p);
  tsr_isa_program_fini(&p);
  tsr_mem_free(text);
  return st;
}
