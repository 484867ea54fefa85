/* Options that argp would refuse, refused in our own words before it sees them. */
#include <ctype.h>
#include <getopt.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/cmd/cmd.h"

enum { LONGS_MAX = 40, KEY_HELP = 1 << 20 };

struct scan {
  const struct argp_option *rows[LONGS_MAX];
  struct option longs[LONGS_MAX + 1];
  char shorts[2 * LONGS_MAX + 4]; /* `:` first: a missing value is told apart */
  size_t n, n_shorts;
};

static void add_short(struct scan *s, int key, bool value) {
  if (key >= 128 || !isprint(key)) return;
  s->shorts[s->n_shorts++] = (char)key;
  if (value) s->shorts[s->n_shorts++] = ':';
}

static void add(struct scan *s, const struct argp_option *o) {
  for (; o && (o->name || o->key); o++) {
    if (s->n == LONGS_MAX) return;
    add_short(s, o->key, o->arg != NULL);
    s->rows[s->n] = o;
    s->longs[s->n++] = (struct option){o->name ? o->name : "h",
                                       o->arg ? required_argument : no_argument, NULL, o->key};
  }
}

static const struct argp_option *by_key(const struct scan *s, int key) {
  for (size_t i = 0; i < s->n; i++)
    if (s->rows[i]->key == key) return s->rows[i];
  return NULL;
}

static void unknown(const struct scan *s, const struct argp_state *state, const char *word) {
  const char *names[LONGS_MAX];
  for (size_t i = 0; i < s->n; i++) names[i] = s->longs[i].name;
  char *bare = tsr_mem_strndup(word + 2, strcspn(word + 2, "="));
  const char *near = bare ? tsr_err_nearest(bare, names, s->n) : NULL;
  tsr_mem_free(bare);
  if (near) cmd_usage_error(state, "unknown option '%s'; did you mean '--%s'?", word, near);
  cmd_usage_error(state, "unknown option '%s'", word);
}

static void refuse(const struct scan *s, const struct argp_state *state, int got,
                   const char *word) {
  const struct argp_option *o = by_key(s, optopt);
  bool is_long = !strncmp(word, "--", 2);
  if (got == ':' && o)
    cmd_usage_error(state, "--%s lacks its value, %s", o->name, o->arg);
  else if (is_long && o)
    cmd_usage_error(state, "--%s takes no value, got '%s'", o->name, word);
  else if (is_long)
    unknown(s, state, word);
  else
    cmd_usage_error(state, "unknown option '-%c'", optopt);
}

void cmd_scan_options(const struct argp_option *own, const struct argp_option *common, int argc,
                      char **argv) {
  struct scan s = {.shorts = ":", .n_shorts = 1};
  static const struct argp_option help[] = {
      {"help", KEY_HELP, NULL, 0, NULL, 0}, {"usage", KEY_HELP, NULL, 0, NULL, 0}, {0}};
  const struct argp_state state = {.argv = argv};
  add(&s, own);
  add(&s, common);
  add(&s, help);
  /* getopt moves arguments behind options; argp shall see them as they were. */
  char **copy = tsr_mem_array((size_t)argc + 1, sizeof *copy);
  if (!copy) return; /* argp has words of its own */
  memcpy(copy, argv, (size_t)argc * sizeof *copy);
  opterr = 0;
  optind = 0; /* anew */
  for (int got; (got = getopt_long(argc, copy, s.shorts, s.longs, NULL)) != -1;) {
    const char *word = copy[optind - 1];
    if (got == KEY_HELP || got == 'h' || !strcmp(word, "-?")) break;
    if (got == '?' || got == ':') refuse(&s, &state, got, word);
    optopt = 0;
  }
  tsr_mem_free(copy);
}
