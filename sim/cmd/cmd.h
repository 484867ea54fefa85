/* The command line: the only code that prints, exits, reads argv or env.
 *
 * A command is a row of the table in main.c; its options are an argp table of its
 * own file, below the common ones (--json, --quiet, --db) of opts.c.
 * Results go to stdout, diagnostics and progress to stderr. */
#ifndef TSR_SIM_CMD_CMD_H
#define TSR_SIM_CMD_CMD_H

#include <argp.h>
#include <stdbool.h>

#include "sim/base/err.h"
#include "sim/base/str.h"
#include "sim/store/store.h"

struct cmd_ctx {
  bool json, quiet;
  const char *db;
  struct tsr_err err;
};

struct cmd {
  const char *name;
  const char *summary; /* one line */
  /* argv[0] is `tessera NAME`; returns a status whose messages are in ctx->err. */
  enum tsr_status (*run)(struct cmd_ctx *ctx, int argc, char **argv);
};

extern const struct cmd cmd_table[]; /* ends with name NULL */

/* Parses with the common options; on a usage error argp prints and exits 2. */
void cmd_parse(struct cmd_ctx *ctx, const struct argp *argp, int argc, char **argv,
               void *input);
/* Before argp: unknown options, values that are missing or too many; exit 2 then. */
void cmd_scan_options(const struct argp_option *own, const struct argp_option *common, int argc,
                      char **argv);
/* Inside a parser: a usage error in our own words, exit 2. */
void cmd_usage_error(const struct argp_state *state, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* A decimal number of an option, or a usage error. */
uint64_t cmd_number(const struct argp_state *state, const char *option, const char *text);
/* The index of `word` in a NULL-terminated list, or a usage error. */
int cmd_choice(const struct argp_state *state, const char *option, const char *const *names,
               const char *word);

/* Adds lines, broken at blanks before column 100; what follows stands `indent` columns
 * from the left. */
void cmd_wrap_text(struct tsr_str *out, size_t indent, const char *text);
/* One line, without its end. */
void cmd_wrap(struct tsr_str *out, size_t indent, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints text to stdout; a full disk or a closed pipe is TSR_STORE. */
enum tsr_status cmd_print(struct cmd_ctx *ctx, const char *text);
/* At exit: what argp itself printed (--help) must have been written, else exit 5. */
void cmd_check_stdout(void);
enum tsr_status cmd_open(struct cmd_ctx *ctx, enum tsr_store_mode mode, struct tsr_store **out);
/* Closes and keeps the first status. */
enum tsr_status cmd_close(struct cmd_ctx *ctx, struct tsr_store *s, enum tsr_status st);

/* Refuses (TSR_USAGE) to write `path` over a file that the command reads, or over any
 * store, and (TSR_STORE) where no file can be made.  inputs: n paths, NULL entries are skipped.
 */
enum tsr_status cmd_guard_output(struct cmd_ctx *ctx, const char *path,
                                 const char *const *inputs, size_t n);

struct tsr_program;
struct tsr_program_set;
/* Saves a container of programs. */
enum tsr_status cmd_write_set(struct cmd_ctx *ctx, const struct tsr_program_set *set,
                              const char *path);

/* argp's input: a command's own, behind the common part. */
struct cmd_input {
  struct cmd_ctx *ctx;
  void *own;
};

extern const char *const cmd_version;

#define CMD(name) enum tsr_status cmd_##name(struct cmd_ctx *ctx, int argc, char **argv)
CMD(run);
CMD(rerun);
CMD(show);
CMD(check);
CMD(config);
CMD(presets);
CMD(models);
CMD(roofline);
CMD(map);
CMD(lower);
CMD(asm);
CMD(disasm);
CMD(mma);
CMD(dram);
CMD(import);
CMD(db);
CMD(help);

#endif
