/* db: the store itself. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"

static const char *const actions[] = {"info", "check", NULL};
enum { ACTION_NONE = -1, ACTION_INFO, ACTION_CHECK };

struct db_args { int action; };

static error_t parse_db(int key, char *arg, struct argp_state *state) {
  struct db_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case ARGP_KEY_ARG:
    if (a->action != ACTION_NONE) cmd_usage_error(state, "unexpected argument '%s'", arg);
    a->action = cmd_choice(state, "db", actions, arg);
    return 0;
  case ARGP_KEY_END:
    if (a->action == ACTION_NONE) cmd_usage_error(state, "db takes an action: info or check");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static enum tsr_status info(struct cmd_ctx *ctx, struct tsr_store *s) {
  struct tsr_store_info i;
  enum tsr_status st = tsr_store_info(s, &i, &ctx->err);
  if (st) return st;
  struct tsr_str out = TSR_STR_INIT;
  if (ctx->json) {
    tsr_str_add(&out, "{\"path\": ");
    tsr_str_add_json(&out, ctx->db);
    tsr_str_addf(&out,
                 ", \"schema_version\": %" PRIu64 ", \"runs\": %" PRIu64 ", \"pages\": %" PRIu64
                 ", \"page_bytes\": %" PRIu64 ", \"sqlite_version\": \"%s\"}\n",
                 i.schema_version, i.runs, i.pages, i.page_bytes, i.sqlite_version);
  } else {
    tsr_str_addf(&out,
                 "%s: schema %" PRIu64 ", %" PRIu64 " runs, %" PRIu64 " pages of %" PRIu64
                 " B, SQLite %s\n",
                 ctx->db, i.schema_version, i.runs, i.pages, i.page_bytes, i.sqlite_version);
  }
  st = out.failed ? tsr_err_nomem(&ctx->err) : cmd_print(ctx, out.p);
  tsr_str_fini(&out);
  return st;
}

CMD(db) {
  static const struct argp argp = {
      .parser = parse_db,
      .args_doc = "info|check",
      .doc = "info: schema, runs, size. check: integrity, and that the sums of every run hold."};
  struct db_args a = {.action = ACTION_NONE};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct tsr_store *s = NULL;
  enum tsr_status st = cmd_open(ctx, TSR_STORE_READ, &s);
  if (!st && a.action == ACTION_INFO) st = info(ctx, s);
  if (!st && a.action == ACTION_CHECK) {
    st = tsr_store_check(s, &ctx->err);
    if (!st) st = cmd_print(ctx, ctx->json ? "{\"ok\": true}\n" : "ok\n");
  }
  return cmd_close(ctx, s, st);
}
