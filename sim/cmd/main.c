/* The table of commands, signals, progress, exit codes. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"

const char *const cmd_version = TSR_VERSION;

const struct cmd cmd_table[] = {
    {"run", "simulate a workload; a run in the store", cmd_run},
    {"rerun", "run a stored run's inputs again; the same figures, or exit 1", cmd_rerun},
    {"show", "tables from the store", cmd_show},
    {"roofline", "draw runs as a roofline", cmd_roofline},
    {"check", "validate architectures, workloads and programs", cmd_check},
    {"config", "an architecture's effective values and where they come from", cmd_config},
    {"presets", "what is built in by name", cmd_presets},
    {"models", "components, formats, instructions, assumed numbers", cmd_models},
    {"map", "search mappings; write them", cmd_map},
    {"lower", "a workload's programs, as text or binary", cmd_lower},
    {"asm", "a program's text as binary", cmd_asm},
    {"disasm", "a binary program as text", cmd_disasm},
    {"dram", "a request stream through the DRAM model alone", cmd_dram},
    {"mma", "matrix units: list, replay vectors, error studies", cmd_mma},
    {"import", "files of other simulators as ours", cmd_import},
    {"db", "the store itself: info, check, migrate", cmd_db},
    {"help", "this list", cmd_help},
    {NULL, NULL, NULL}};

static void on_signal(int sig) {
  if (tsr_interrupted) { /* the second time: at once */
    signal(sig, SIG_DFL);
    raise(sig);
  }
  tsr_interrupted = 1;
}

/* On a terminal, at most ten times a second. */
static void on_progress(void *arg, const char *what, uint64_t done, uint64_t total) {
  static struct timespec last; /* display only */
  struct timespec now;
  (void)arg;
  if (total == 0) {
    fprintf(stderr, "\r\033[K");
    fflush(stderr);
    return;
  }
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t ms = (now.tv_sec - last.tv_sec) * 1000 + (now.tv_nsec - last.tv_nsec) / 1000000;
  if (ms < 100) return;
  last = now;
  fprintf(stderr, "\r%s %" PRIu64 "/%" PRIu64 "\033[K", what, done, total);
  fflush(stderr);
}

static void on_note(void *arg, const char *line) {
  (void)arg;
  fprintf(stderr, "note: %s\n", line);
}

static void print_errors(const struct cmd_ctx *ctx) {
  char *text = tsr_err_text(&ctx->err);
  if (text) fputs(text, stderr);
  tsr_mem_free(text);
  if (ctx->err.total > ctx->err.n)
    fprintf(stderr, "… %zu more errors\n", ctx->err.total - ctx->err.n);
}

static const struct cmd *find(const char *name) {
  for (const struct cmd *c = cmd_table; c->name; c++)
    if (!strcmp(c->name, name)) return c;
  return NULL;
}

static int unknown(const char *name) {
  const char *names[32];
  size_t n = 0;
  for (; cmd_table[n].name && n < 32; n++) names[n] = cmd_table[n].name;
  const char *near = tsr_err_nearest(name, names, n);
  fprintf(stderr, "error: unknown command '%s'\n", name);
  if (near)
    fprintf(stderr, "hint: did you mean '%s'?\n", near);
  else
    fprintf(stderr, "hint: `tessera help` lists the commands\n");
  return tsr_status_exit(TSR_USAGE);
}

struct help_args {
  const struct cmd *command;
};

static error_t parse_help(int key, char *arg, struct argp_state *state) {
  struct help_args *a = ((struct cmd_input *)state->input)->own;
  if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
  if (a->command) cmd_usage_error(state, "help takes one command, got '%s' too", arg);
  a->command = find(arg);
  if (!a->command) exit(unknown(arg));
  return 0;
}

static void list_text(struct tsr_str *s) {
  tsr_str_add(s, "usage: tessera COMMAND [options]\n\n");
  for (const struct cmd *c = cmd_table; c->name; c++)
    tsr_str_addf(s, "  %-9s %s\n", c->name, c->summary);
  tsr_str_add(s, "\nTo begin:\n"
                 "  tessera run --arch systolic-128 --workload resnet50\n"
                 "  tessera roofline last -o roofline.svg\n"
                 "`tessera COMMAND --help` tells a command's options.\n");
}

static void list_json(struct tsr_str *s) {
  tsr_str_add(s, "{\"commands\": [");
  for (const struct cmd *c = cmd_table; c->name; c++) {
    tsr_str_addf(s, "%s{\"name\": \"%s\", \"summary\": ", c == cmd_table ? "" : ", ", c->name);
    tsr_str_add_json(s, c->summary);
    tsr_str_add(s, "}");
  }
  tsr_str_add(s, "]}\n");
}

/* argv[0] as argp shows it. */
static enum tsr_status run_command(struct cmd_ctx *ctx, const struct cmd *c, int argc,
                                   char **argv) {
  static char title[32];
  snprintf(title, sizeof title, "tessera %s", c->name);
  argv[0] = title;
  return c->run(ctx, argc, argv);
}

CMD(help) {
  static const struct argp argp = {.parser = parse_help,
                                   .args_doc = "[COMMAND]",
                                   .doc = "Lists the commands, or tells a command's options."};
  struct help_args a = {0};
  cmd_parse(ctx, &argp, argc, argv, &a);
  if (a.command) {
    char option[] = "--help";
    char *args[] = {NULL, option, NULL};
    return run_command(ctx, a.command, 2, args);
  }
  struct tsr_str s = TSR_STR_INIT;
  (ctx->json ? list_json : list_text)(&s);
  enum tsr_status st = s.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, s.p);
  tsr_str_fini(&s);
  return st;
}

int main(int argc, char **argv) {
  struct cmd_ctx ctx = {0};
  tsr_err_init(&ctx.err);
  argp_err_exit_status = tsr_status_exit(TSR_USAGE);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);    /* a file size limit is a failed write */
  unsetenv("POSIXLY_CORRECT"); /* options may follow arguments */
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  ctx.db = getenv("TESSERA_DB");
  if (!ctx.db || !*ctx.db) ctx.db = "tessera.db";
  atexit(cmd_check_stdout);
  const char *name = argc > 1 ? argv[1] : "help";
  if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
    printf("tessera %s\n", cmd_version);
    return 0;
  }
  bool bare = argc < 2 || !strcmp(name, "--help") || !strcmp(name, "-h");
  const struct cmd *c = find(bare ? "help" : name);
  if (!c) return unknown(name);
  tsr_log_sink(on_note, NULL);
  if (isatty(STDERR_FILENO)) tsr_progress_sink(on_progress, NULL);
  char *alone[] = {NULL, NULL};
  enum tsr_status st =
      argc < 2 ? run_command(&ctx, c, 1, alone) : run_command(&ctx, c, argc - 1, argv + 1);
  if (st || !ctx.quiet) print_errors(&ctx);
  tsr_err_fini(&ctx.err);
  return tsr_status_exit(st);
}
