/* asm: the text of programs as binary. */
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

struct size {
  size_t programs, instructions, words;
};

/* Of the different programs, each once. */
static struct size measure(const struct tsr_program_set *s) {
  struct size n = {0};
  for (size_t i = 0; i < s->n; i++) {
    const struct tsr_program *p = &s->program[i];
    if (p->borrowed) continue;
    n.programs++;
    n.instructions += p->n;
    for (size_t j = 0; j < p->n; j++) {
      uint64_t words[TSR_ISA_WORDS_MAX];
      n.words += tsr_isa_encode(&p->inst[j], words);
    }
  }
  return n;
}

static enum tsr_status summarize(struct cmd_ctx *ctx, const struct asm_args *a,
                                 const struct tsr_program_set *s) {
  struct tsr_str out = TSR_STR_INIT;
  const struct size n = measure(s);
  if (ctx->json) {
    tsr_str_add(&out, "{\"file\": ");
    tsr_str_add_json(&out, a->file);
    tsr_str_addf(&out,
                 ", \"cores\": %zu, \"programs\": %zu, \"instructions\": %zu, "
                 "\"words\": %zu, \"output\": ",
                 s->n, n.programs, n.instructions, n.words);
    if (a->out)
      tsr_str_add_json(&out, a->out);
    else
      tsr_str_add(&out, "null");
    tsr_str_add(&out, "}\n");
  } else {
    tsr_str_addf(&out, "%s: ", a->file);
    if (s->n > 1) tsr_str_addf(&out, "%zu cores, %zu programs, ", s->n, n.programs);
    tsr_str_addf(&out, "%zu instructions, %zu words\n", n.instructions, n.words);
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
          "Assembles the text of a program, or of one for each core (as `lower` and `disasm` "
          "print it); tells its size, or with -o writes the binary."};
  struct asm_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  char *text = NULL;
  size_t n;
  struct tsr_program_set s = {0};
  enum tsr_status st = a.out ? cmd_guard_output(ctx, a.out, &a.file, 1) : TSR_OK;
  if (!st) st = tsr_io_read(a.file, &text, &n, &ctx->err);
  if (!st) st = tsr_isa_set_assemble(a.file, text, n, &s, &ctx->err);
  if (!st && a.out) st = cmd_write_set(ctx, &s, a.out);
  if (!st && (ctx->json || !a.out)) st = summarize(ctx, &a, &s);
  tsr_isa_set_fini(&s);
  tsr_mem_free(text);
  return st;
}
