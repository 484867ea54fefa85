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
    {"lower", "a workload's programs, as text or binary", cmd_lower},
    {"disasm", "a binary program as text", cmd_disasm},
    {"db", "the store itself: info, check", cmd_db},
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

CMD(help) {
  (void)argc;
  (void)argv;
  struct tsr_str s = TSR_STR_INIT;
  tsr_str_add(&s, "usage: tessera COMMAND [options]\n\n");
  for (const struct cmd *c = cmd_table; c->name; c++)
    tsr_str_addf(&s, "  %-9s %s\n", c->name, c->summary);
  tsr_str_add(&s, "\nTo begin:\n"
                  "  tessera run --arch systolic-128 --workload resnet50\n"
                  "  tessera roofline last -o roofline.svg\n"
                  "`tessera COMMAND --help` tells a command's options.\n");
  enum tsr_status st = s.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, s.p);
  tsr_str_fini(&s);
  return st;
}

int main(int argc, char **argv) {
  struct cmd_ctx ctx = {0};
  tsr_err_init(&ctx.err);
  argp_err_exit_status = tsr_status_exit(TSR_USAGE);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  ctx.db = getenv("TESSERA_DB");
  if (!ctx.db || !*ctx.db) ctx.db = "tessera.db";
  const char *name = argc > 1 ? argv[1] : "help";
  if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
    printf("tessera %s\n", cmd_version);
    return 0;
  }
  if (!strcmp(name, "--help") || !strcmp(name, "-h")) name = "help";
  const struct cmd *c = find(name);
  if (!c) return unknown(name);
  static char title[32]; /* argv[0] as argp shows it */
  snprintf(title, sizeof title, "tessera %s", c->name);
  if (argc > 1) argv[1] = title;
  if (isatty(STDERR_FILENO)) tsr_progress_sink(on_progress, NULL);
  char *alone[] = {title, NULL};
  enum tsr_status st = argc > 1 ? c->run(&ctx, argc - 1, argv + 1) : c->run(&ctx, 1, alone);
  if (st || !ctx.quiet) print_errors(&ctx);
  tsr_err_fini(&ctx.err);
  return tsr_status_exit(st);
}
