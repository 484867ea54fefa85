/* The options that every command takes, and small helpers of all commands. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/io.h"
#include "sim/base/log.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/base/units.h"
#include "sim/cmd/cmd.h"

static const struct argp_option common_options[] = {
    {"json", 'j', NULL, 0, "one JSON object on standard output", -2},
    {"quiet", 'q', NULL, 0, "no progress, notes or warnings", -2},
    {"db", 'd', "PATH", 0, "the store (default tessera.db, or $TESSERA_DB)", -2},
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, -2}, /* as --help, which argp answers */
    {0}};

static error_t parse_common(int key, char *arg, struct argp_state *state) {
  struct cmd_ctx *ctx = ((struct cmd_input *)state->input)->ctx;
  switch (key) {
  case 'j': ctx->json = true; return 0;
  case 'q':
    ctx->quiet = true;
    tsr_progress_sink(NULL, NULL);
    tsr_log_sink(NULL, NULL);
    return 0;
  case 'h': argp_state_help(state, stdout, ARGP_HELP_STD_HELP); return 0;
  case 'd':
    if (!*arg) cmd_usage_error(state, "--db takes a path");
    ctx->db = arg;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp common = {.options = common_options, .parser = parse_common};

/* Children get the same input as their parent. */
static error_t parse_child(int key, char *arg, struct argp_state *state) {
  (void)arg;
  if (key != ARGP_KEY_INIT) return ARGP_ERR_UNKNOWN;
  state->child_inputs[0] = state->input;
  state->child_inputs[1] = state->input;
  return 0;
}

void cmd_parse(struct cmd_ctx *ctx, const struct argp *argp, int argc, char **argv,
               void *input) {
  struct argp own = *argp;
  own.doc = NULL;
  own.args_doc = NULL;
  const struct argp_child children[] = {
      {&own, 0, NULL, 0}, {&common, 0, "Common options:", 0}, {0}};
  const struct argp top = {.parser = parse_child,
                           .args_doc = argp->args_doc,
                           .doc = argp->doc,
                           .children = children};
  struct cmd_input in = {ctx, input};
  cmd_scan_options(own.options, common_options, argc, argv);
  if (argp_parse(&top, argc, argv, 0, NULL, &in)) exit(tsr_status_exit(TSR_USAGE));
}

void cmd_usage_error(const struct argp_state *state, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *text = tsr_mem_vprintf(fmt, ap);
  va_end(ap);
  fprintf(stderr, "error: %s\nhint: `%s --help` tells the options\n", text ? text : fmt,
          state->argv[0]);
  tsr_mem_free(text);
  exit(tsr_status_exit(TSR_USAGE));
}

uint64_t cmd_number(const struct argp_state *state, const char *option, const char *text) {
  uint64_t v = 0;
  if (!*text || tsr_quantity_parse(text, strlen(text), TSR_UNIT_COUNT, &v) != TSR_QUANTITY_OK ||
      v == TSR_UNLIMITED)
    cmd_usage_error(state, "%s takes a number, got '%s'", option, text);
  return v;
}

int cmd_choice(const struct argp_state *state, const char *option, const char *const *names,
               const char *word) {
  char *list = tsr_mem_strdup("");
  for (int i = 0; names[i]; i++) {
    if (!strcmp(names[i], word)) {
      tsr_mem_free(list);
      return i;
    }
    char *longer = tsr_mem_printf("%s%s%s", list ? list : "", i ? ", " : "", names[i]);
    tsr_mem_free(list);
    list = longer;
  }
  cmd_usage_error(state, "%s is one of %s; got '%s'", option, list ? list : "", word);
  return -1;
}

static bool stdout_lost; /* and told */

enum tsr_status cmd_print(struct cmd_ctx *ctx, const char *text) {
  if (fputs(text, stdout) >= 0 && fflush(stdout) == 0) return TSR_OK;
  stdout_lost = true;
  if (errno == EPIPE) return TSR_STORE; /* the reader has seen enough: nothing to say */
  return tsr_err_set(&ctx->err, TSR_STORE, "standard output cannot be written");
}

void cmd_check_stdout(void) {
  if (stdout_lost || (fflush(stdout) == 0 && !ferror(stdout))) return;
  fputs("error: standard output cannot be written\n", stderr);
  _exit(tsr_status_exit(TSR_STORE));
}

static bool same_file(const char *a, const char *b) {
  struct stat x, y;
  return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool is_store(const char *path) {
  static const char magic[] = "SQLite format 3";
  char head[sizeof magic] = {0};
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  size_t got = fread(head, 1, sizeof head, f);
  fclose(f);
  return got == sizeof head && !memcmp(head, magic, sizeof head);
}

enum tsr_status cmd_guard_output(struct cmd_ctx *ctx, const char *path,
                                 const char *const *inputs, size_t n) {
  static const char *const logs[] = {"-wal", "-shm", "-journal"}; /* of a store, by SQLite */
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return tsr_io_writable(path, &ctx->err);
  bool input = !strcmp(path, ctx->db) || is_store(path) || same_file(path, ctx->db);
  for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
    if (!tsr_str_ends(path, logs[i])) continue;
    char *base = tsr_mem_strndup(path, strlen(path) - strlen(logs[i]));
    input = input || (base && (is_store(base) || !strcmp(base, ctx->db)));
    tsr_mem_free(base);
  }
  for (size_t i = 0; i < n; i++) input = input || (inputs[i] && same_file(path, inputs[i]));
  if (!input) return tsr_io_writable(path, &ctx->err);
  return tsr_err_set(&ctx->err, TSR_USAGE, "-o '%s' would overwrite a store or an input", path);
}

enum tsr_status cmd_open(struct cmd_ctx *ctx, enum tsr_store_mode mode,
                         struct tsr_store **out) {
  return tsr_store_open(ctx->db, mode, out, &ctx->err);
}

enum tsr_status cmd_close(struct cmd_ctx *ctx, struct tsr_store *s, enum tsr_status st) {
  enum tsr_status closed = tsr_store_close(s, &ctx->err);
  return st ? st : closed;
}
