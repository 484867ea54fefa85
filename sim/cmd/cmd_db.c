/* db: the store itself. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"

static const char *const actions[] = {"info", "check", "migrate", NULL};
enum { ACTION_NONE = -1, ACTION_INFO, ACTION_CHECK, ACTION_MIGRATE };

struct db_args {
  int action;
};

static error_t parse_db(int key, char *arg, struct argp_state *state) {
  struct db_args *a = ((struct cmd_input *)state->input)->own;
  switch (key) {
  case ARGP_KEY_ARG:
    if (a->action != ACTION_NONE) cmd_usage_error(state, "unexpected argument '%s'", arg);
    a->action = cmd_choice(state, "db", actions, arg);
    return 0;
  case ARGP_KEY_END:
    if (a->action == ACTION_NONE)
      cmd_usage_error(state, "db takes an action: info, check or migrate");
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

/* Opening for writing has brought it forward; a store that is not there is not made. */
static enum tsr_status migrate(struct cmd_ctx *ctx) {
  struct tsr_store *s = NULL;
  struct tsr_store_info i;
  char *text = NULL;
  enum tsr_status st = TSR_OK;
  if (access(ctx->db, F_OK) != 0) {
    st = tsr_err_set(&ctx->err, TSR_STORE, "there is no store '%s'", ctx->db);
    tsr_err_hint(&ctx->err, "`tessera run` writes a run into it; name another with --db");
    return st;
  }
  st = cmd_open(ctx, TSR_STORE_WRITE, &s);
  if (!st) st = tsr_store_info(s, &i, &ctx->err);
  if (!st) {
    text = ctx->json ? tsr_mem_printf("{\"schema_version\": %" PRIu64 "}\n", i.schema_version)
                     : tsr_mem_printf("%s: schema %" PRIu64 "\n", ctx->db, i.schema_version);
    st = text ? cmd_print(ctx, text) : tsr_err_nomem(&ctx->err);
  }
  tsr_mem_free(text);
  return cmd_close(ctx, s, st);
}

CMD(db) {
  static const struct argp argp = {
      .parser = parse_db,
      .args_doc = "info|check|migrate",
      .doc = "info: schema, runs, size. check: integrity, and that the sums of every run hold. "
             "migrate: brings an older store to this program's schema."};
  struct db_args a = {.action = ACTION_NONE};
  cmd_parse(ctx, &argp, argc, argv, &a);
  if (a.action == ACTION_MIGRATE) return migrate(ctx);
  struct tsr_store *s = NULL;
  enum tsr_status st = cmd_open(ctx, TSR_STORE_READ, &s);
  if (!st && a.action == ACTION_INFO) st = info(ctx, s);
  if (!st && a.action == ACTION_CHECK) {
    st = tsr_store_check(s, &ctx->err);
    if (!st) st = cmd_print(ctx, ctx->json ? "{\"ok\": true}\n" : "ok\n");
  }
  return cmd_close(ctx, s, st);
}
