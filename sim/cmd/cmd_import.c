/* import: files of other simulators as ours. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/io.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"
#include "sim/cmd/cmd.h"
#include "sim/run/run.h"
#include "workloads/exchange/import.h"

typedef enum tsr_status import_fn(const char *path, const char *text, size_t len,
                                  struct tsr_import *out, struct tsr_err *err);

/* Whose files, and which of a folder's are read. */
static const struct tool {
  const char *name, *ending, *lists; /* lists: of layers, that run as they are */
  import_fn *read;
} tools[] = {{"scalesim", ".cfg", ".csv", tsr_import_scalesim},
             {"onnxim", ".json", NULL, tsr_import_onnxim}};

struct import_args {
  const struct tool *tool;
  const char *folder;
  char **files;
  int n;
};

static error_t parse_import(int key, char *arg, struct argp_state *state) {
  struct import_args *a = ((struct cmd_input *)state->input)->own;
  static const char *const names[] = {"scalesim", "onnxim", NULL};
  switch (key) {
  case 'o': a->folder = arg; return 0;
  case ARGP_KEY_ARG:
    if (a->tool) return ARGP_ERR_UNKNOWN; /* the rest come as ARGP_KEY_ARGS */
    a->tool = &tools[cmd_choice(state, "import", names, arg)];
    return 0;
  case ARGP_KEY_ARGS:
    a->files = state->argv + state->next;
    a->n = state->argc - state->next;
    state->next = state->argc;
    return 0;
  case ARGP_KEY_END:
    if (!a->tool) cmd_usage_error(state, "import takes a tool: scalesim or onnxim");
    if (!a->n) cmd_usage_error(state, "import %s takes files or folders", a->tool->name);
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- lists of texts ---- */

struct list {
  char **p; /* owned, and each of them */
  size_t n, cap;
};

static void list_fini(struct list *l) {
  for (size_t i = 0; i < l->n; i++) tsr_mem_free(l->p[i]);
  tsr_mem_free(l->p);
}

/* Takes `text` over, NULL too: out of memory then. */
static enum tsr_status list_take(struct cmd_ctx *ctx, struct list *l, char *text) {
  void *p = l->p;
  bool good = text && tsr_mem_grow(&p, &l->cap, l->n + 1, sizeof *l->p);
  l->p = p;
  if (!good) {
    tsr_mem_free(text);
    return tsr_err_nomem(&ctx->err);
  }
  l->p[l->n++] = text;
  return TSR_OK;
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- which files ---- */

static bool is_ours(const struct tool *t, const char *path) {
  return tsr_str_ends(path, t->ending) || (t->lists && tsr_str_ends(path, t->lists));
}

static enum tsr_status add_folder(struct cmd_ctx *ctx, const struct tool *t, const char *path,
                                  struct list *out) {
  size_t first = out->n;
  DIR *d = opendir(path);
  if (!d)
    return tsr_err_set(&ctx->err, TSR_INPUT, "cannot read '%s': %s", path, strerror(errno));
  enum tsr_status st = TSR_OK;
  const char *sep = tsr_str_ends(path, "/") ? "" : "/";
  for (const struct dirent *e; !st && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.' && is_ours(t, e->d_name))
      st = list_take(ctx, out, tsr_mem_printf("%s%s%s", path, sep, e->d_name));
  closedir(d);
  if (!st && out->n == first)
    st = tsr_err_set(&ctx->err, TSR_INPUT, "folder '%s' has nothing to import; expected %s%s%s",
                     path, t->ending, t->lists ? " or " : "", t->lists ? t->lists : "");
  if (!st) qsort(out->p + first, out->n - first, sizeof *out->p, by_text);
  return st;
}

static enum tsr_status find_files(struct cmd_ctx *ctx, const struct import_args *a,
                                  struct list *out) {
  struct stat sb;
  enum tsr_status st = TSR_OK;
  for (int i = 0; i < a->n && !st; i++) {
    const char *path = a->files[i];
    bool folder = stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
    if (folder)
      st = add_folder(ctx, a->tool, path, out);
    else if (is_ours(a->tool, path))
      st = list_take(ctx, out, tsr_mem_strdup(path));
    else
      st = tsr_err_set(&ctx->err, TSR_INPUT,
                       "'%s' is no file of %s; expected %s%s%s or a folder", path,
                       a->tool->name, a->tool->ending, a->tool->lists ? ", " : "",
                       a->tool->lists ? a->tool->lists : "");
  }
  return st;
}

/* ---- one file ---- */

struct job {
  struct cmd_ctx *ctx;
  const struct import_args *a;
  struct list inputs, outputs, archs, workloads; /* the last two: as options of `run` */
  struct tsr_str text, files, keys;              /* of the answer; the last two JSON */
};

/* As a shell reads it. */
static char *quoted(const char *word) {
  bool plain = *word != '\0';
  for (const char *p = word; *p; p++)
    plain = plain && (strchr("/._-+=:@,", *p) || (*p >= '0' && *p <= '9') ||
                      (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'));
  if (plain) return tsr_mem_strdup(word);
  struct tsr_str s = TSR_STR_INIT;
  tsr_str_add(&s, "'");
  for (const char *p = word; *p; p++) {
    if (*p == '\'')
      tsr_str_add(&s, "'\\''");
    else
      tsr_str_addn(&s, p, 1);
  }
  tsr_str_add(&s, "'");
  return tsr_str_take(&s);
}

/* Adds `option path`, with its batch where that is more than one. */
static enum tsr_status add_option(struct job *j, struct list *to, const char *option,
                                  const char *path, uint64_t batch) {
  char *word = quoted(path), *text = NULL;
  if (word && batch > 1)
    text = tsr_mem_printf("%s %s --batch %" PRIu64, option, word, batch);
  else if (word)
    text = tsr_mem_printf("%s %s", option, word);
  tsr_mem_free(word);
  return list_take(j->ctx, to, text);
}

static void add_file(struct job *j, const char *from, const char *kind, const char *to) {
  tsr_str_add(&j->files, j->files.n ? ", {\"from\": " : "{\"from\": ");
  tsr_str_add_json(&j->files, from);
  tsr_str_addf(&j->files, ", \"kind\": \"%s\", \"file\": ", kind);
  if (to)
    tsr_str_add_json(&j->files, to);
  else
    tsr_str_add(&j->files, "null");
  tsr_str_add(&j->files, "}");
}

enum { KEY_WIDTH = 26 };

static void add_keys(struct job *j, const char *from, const struct tsr_import *im) {
  for (size_t i = 0; i < im->n_keys; i++) {
    const struct tsr_import_key *k = &im->keys[i];
    cmd_wrap(&j->text, KEY_WIDTH + 2, "  %-*s %s%s", KEY_WIDTH - 1, k->key,
             k->used ? "" : "not used: ", k->as);
    tsr_str_add(&j->keys, j->keys.n ? ", {\"from\": " : "{\"from\": ");
    tsr_str_add_json(&j->keys, from);
    tsr_str_add(&j->keys, ", \"key\": ");
    tsr_str_add_json(&j->keys, k->key);
    tsr_str_addf(&j->keys, ", \"used\": %s, \"%s\": ", k->used ? "true" : "false",
                 k->used ? "as" : "why");
    tsr_str_add_json(&j->keys, k->as);
    tsr_str_add(&j->keys, "}");
  }
}

/* The text is one that runs. */
static enum tsr_status check_text(struct job *j, const struct tsr_import *im,
                                  const char *path) {
  if (im->kind == TSR_IMPORT_ARCH) {
    struct tsr_run_plan p;
    const struct tsr_run_options o = {
        .arch = path, .arch_text = im->text, .workload = "gemm:1x1x1"};
    enum tsr_status st = tsr_run_plan_make(&o, &p, &j->ctx->err);
    if (!st) tsr_run_plan_fini(&p);
    return st;
  }
  struct tsr_graph *g;
  const struct tsr_workload_options o = {.text = im->text};
  enum tsr_status st = tsr_workload_read(path, &o, &g, &j->ctx->err);
  if (!st) tsr_graph_destroy(g);
  return st;
}

static enum tsr_status make_folder(struct job *j) {
  if (mkdir(j->a->folder, 0777) == 0 || errno == EEXIST) return TSR_OK;
  return tsr_err_set(&j->ctx->err, TSR_STORE, "cannot make the folder '%s': %s", j->a->folder,
                     strerror(errno));
}

static bool holds(const struct list *l, const char *text) {
  for (size_t i = 0; i < l->n; i++)
    if (!strcmp(l->p[i], text)) return true;
  return false;
}

/* Writes path, which the list takes over. */
static enum tsr_status write_text(struct job *j, const char *from, const struct tsr_import *im,
                                  char *path) {
  struct cmd_ctx *ctx = j->ctx;
  bool again = path && holds(&j->outputs, path);
  enum tsr_status st = list_take(ctx, &j->outputs, path);
  if (st) return st;
  if (again)
    return tsr_err_set(&ctx->err, TSR_INPUT,
                       "'%s' would be written twice; expected another name in '%s'", path,
                       from);
  st = check_text(j, im, path);
  if (!st) st = make_folder(j);
  if (!st) st = cmd_guard_output(ctx, path, (const char *const *)j->inputs.p, j->inputs.n);
  if (!st) st = tsr_io_write(path, im->text, strlen(im->text), &ctx->err);
  if (st) return st;
  bool arch = im->kind == TSR_IMPORT_ARCH;
  add_file(j, from, arch ? "architecture" : "workload", path);
  tsr_str_addf(&j->text, "%s: from %s\n", path, from);
  return arch ? add_option(j, &j->archs, "--arch", path, 1)
              : add_option(j, &j->workloads, "--workload", path, 1);
}

/* Models of a list: those that are built in by their names, others as their ONNX files. */
static enum tsr_status take_runs(struct job *j, const char *from, const struct tsr_import *im) {
  enum tsr_status st = TSR_OK;
  tsr_str_addf(&j->text, "%s: %zu model%s\n", from, im->n_runs, im->n_runs == 1 ? "" : "s");
  for (size_t i = 0; i < im->n_runs && !st; i++) {
    const struct tsr_import_run *r = &im->runs[i];
    bool here = tsr_zoo_text(r->model) != NULL;
    char *path = tsr_mem_printf(here ? "%s" : "./%s.onnx", r->model);
    if (!path) return tsr_err_nomem(&j->ctx->err);
    add_file(j, from, here ? "built-in" : "onnx", path);
    st = add_option(j, &j->workloads, "--workload", path, r->batch);
    tsr_mem_free(path);
  }
  return st;
}

static enum tsr_status take_import(struct job *j, const char *from,
                                   const struct tsr_import *im) {
  enum tsr_status st =
      im->text ? write_text(j, from, im, tsr_mem_printf("%s/%s.yaml", j->a->folder, im->name))
               : take_runs(j, from, im);
  if (!st) add_keys(j, from, im);
  return st;
}

/* A list of layers is read as it stands. */
static enum tsr_status take_layers(struct job *j, const char *path) {
  struct tsr_graph *g;
  enum tsr_status st = tsr_workload_read(path, NULL, &g, &j->ctx->err);
  if (st) return st;
  tsr_str_addf(&j->text, "%s: %zu layer%s, runs as it is\n", path, g->n_ops,
               g->n_ops == 1 ? "" : "s");
  add_file(j, path, "workload", path);
  tsr_graph_destroy(g);
  return add_option(j, &j->workloads, "--workload", path, 1);
}

static enum tsr_status take_file(struct job *j, const char *path) {
  char *text;
  size_t n;
  struct tsr_import im;
  const struct tool *t = j->a->tool;
  if (t->lists && tsr_str_ends(path, t->lists)) return take_layers(j, path);
  enum tsr_status st = tsr_io_read(path, &text, &n, &j->ctx->err);
  if (st) return st;
  st = t->read(path, text, n, &im, &j->ctx->err);
  tsr_mem_free(text);
  if (st) return st;
  st = take_import(j, path, &im);
  tsr_import_fini(&im);
  return st;
}

/* ---- the answer ---- */

/* Every architecture with every workload; what is missing is one that is built in. */
static void add_lines(const struct job *j, struct tsr_str *s, bool json) {
  size_t archs = j->archs.n ? j->archs.n : 1, workloads = j->workloads.n ? j->workloads.n : 1;
  for (size_t a = 0; a < archs; a++)
    for (size_t w = 0; w < workloads; w++) {
      const char *arch = j->archs.n ? j->archs.p[a] : "--arch systolic-128";
      const char *workload = j->workloads.n ? j->workloads.p[w] : "--workload resnet50";
      char *line = tsr_mem_printf("tessera run %s %s", arch, workload);
      if (!line) {
        s->failed = true;
      } else if (json) {
        tsr_str_add(s, a || w ? ", " : "");
        tsr_str_add_json(s, line);
      } else {
        tsr_str_addf(s, "%s\n", line);
      }
      tsr_mem_free(line);
    }
}

static enum tsr_status tell(struct job *j) {
  struct tsr_str s = TSR_STR_INIT;
  if (j->ctx->json) {
    tsr_str_addf(&s, "{\"tool\": \"%s\", \"files\": [%s], \"keys\": [%s], \"runs\": [",
                 j->a->tool->name, j->files.n ? j->files.p : "", j->keys.n ? j->keys.p : "");
    add_lines(j, &s, true);
    tsr_str_add(&s, "]}\n");
  } else {
    tsr_str_add(&s, j->text.p ? j->text.p : "");
    add_lines(j, &s, false);
  }
  bool failed = s.failed || j->text.failed || j->files.failed || j->keys.failed;
  enum tsr_status st = failed ? tsr_err_nomem(&j->ctx->err) : cmd_print(j->ctx, s.p);
  tsr_str_fini(&s);
  return st;
}

static void job_fini(struct job *j) {
  list_fini(&j->inputs);
  list_fini(&j->outputs);
  list_fini(&j->archs);
  list_fini(&j->workloads);
  tsr_str_fini(&j->text);
  tsr_str_fini(&j->files);
  tsr_str_fini(&j->keys);
}

CMD(import) {
  static const struct argp_option options[] = {
      {"output", 'o', "DIR", 0, "where to write (default: here); made where it is missing", 0},
      {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse_import,
      .args_doc = "scalesim|onnxim FILE...",
      .doc =
          "Makes files of other simulators ours: SCALE-Sim's .cfg and ONNXim's core "
          "configuration an architecture, ONNXim's language model a specification; tells what "
          "became of every key, and how to run it. SCALE-Sim's topologies (.csv) run as they "
          "are. A folder stands for all files of the tool in it."};
  struct import_args a = {.folder = "."};
  cmd_parse(ctx, &argp, argc, argv, &a);
  struct job j = {.ctx = ctx, .a = &a};
  enum tsr_status st = find_files(ctx, &a, &j.inputs);
  for (size_t i = 0; i < j.inputs.n && !st; i++) st = take_file(&j, j.inputs.p[i]);
  if (!st) st = tell(&j);
  job_fini(&j);
  return st;
}
