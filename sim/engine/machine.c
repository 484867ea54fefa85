/* Reading the short form and expanding it.
 *
 * A section of the file (`tile`, `sram.a`, …) is described by the parameter rows of
 * its component and those of the machine itself; both are laid behind one another
 * in one table with one structure, so that an unknown key is unknown to both. */
#include "sim/engine/machine.h"

#include <string.h>

#include "models/presets.h"

/* ---- the machine's own rows ---- */

struct root {
  uint64_t version, clock, cores;
  char name[TSR_PARAM_NAME_MAX];
};
struct tile_own {
  int kind;
  uint64_t count;
  char a[TSR_PARAM_TEXT_MAX], b[TSR_PARAM_TEXT_MAX], acc[TSR_PARAM_TEXT_MAX],
      out[TSR_PARAM_TEXT_MAX], mma[TSR_PARAM_TEXT_MAX];
  uint64_t rate[17], other;
};
struct dram_own {
  int model;
};
struct limits {
  uint64_t max_events, max_cycles;
};

static const char *const rate_formats[] = {
    "fp64",     "fp32",         "tf32",         "fp16",     "bf16",     "fp8_e4m3",
    "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1",
    "nf4",      "int16",        "int8",         "uint8",    "int4"};
static const char *const tile_kinds[] = {"systolic", NULL};
static const char *const dram_models[] = {"simple", NULL};

#define COUNT_ROW(k, s, f, lo, hi, d, text)                                              \
  {                                                                                      \
    .key = k, .type = TSR_PARAM_QUANTITY, .unit = TSR_UNIT_COUNT, .low = lo, .high = hi, \
    .def = d, .offset = offsetof(struct s, f), .uncertainty = "exact", .doc = text,      \
    .src = "SRC:assumed"                                                                 \
  }
#define NAME_ROW(k, s, f, d, text)                                               \
  {                                                                              \
    .key = k, .type = TSR_PARAM_NAME, .def = d, .offset = offsetof(struct s, f), \
    .uncertainty = "exact", .doc = text, .src = "SRC:assumed"                    \
  }
#define TEXT_ROW(k, s, f, d, text)                                               \
  {                                                                              \
    .key = k, .type = TSR_PARAM_TEXT, .def = d, .offset = offsetof(struct s, f), \
    .uncertainty = "exact", .doc = text, .src = "SRC:assumed"                    \
  }
#define RATE_ROW(k, i)                                 \
  COUNT_ROW("rates." k, tile_own, rate[i], 0, 16, "0", \
            "products of " k " per array element and cycle; 0: not executed")

static const struct tsr_param root_rows[] = {
    COUNT_ROW("version", root, version, 1, 1, "1", "of this file's form"),
    NAME_ROW("name", root, name, "", "shown in tables"),
    {.key = "clock",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_HZ,
     .low = 1000,
     .high = 100000000000u,
     .offset = offsetof(struct root, clock),
     .uncertainty = "exact",
     .doc = "core clock, nominal",
     .src = "SRC:assumed"},
    COUNT_ROW("cores", root, cores, 1, 1, "1", "cores"),
    {.key = NULL}};
static const struct tsr_param tile_rows[] = {
    {.key = "kind",
     .type = TSR_PARAM_ENUM,
     .names = tile_kinds,
     .def = "systolic",
     .offset = offsetof(struct tile_own, kind),
     .uncertainty = "exact",
     .doc = "kind of tile",
     .src = "SRC:assumed"},
    COUNT_ROW("count", tile_own, count, 1, 1, "1", "tiles of a core"),
    TEXT_ROW("formats.a", tile_own, a, "fp16", "format of activations"),
    TEXT_ROW("formats.b", tile_own, b, "fp16", "format of weights"),
    TEXT_ROW("formats.acc", tile_own, acc, "fp32", "format of the accumulator"),
    TEXT_ROW("formats.out", tile_own, out, "fp16", "format of results in memory"),
    {.key = "mma",
     .type = TSR_PARAM_TEXT,
     .def = "",
     .offset = offsetof(struct tile_own, mma),
     .uncertainty = "exact",
     .doc = "matrix units that compute values, by name or parameters; empty: by the formats",
     .src = "SRC:assumed"},
    RATE_ROW("fp64", 0),
    RATE_ROW("fp32", 1),
    RATE_ROW("tf32", 2),
    RATE_ROW("fp16", 3),
    RATE_ROW("bf16", 4),
    RATE_ROW("fp8_e4m3", 5),
    RATE_ROW("fp8_e5m2", 6),
    RATE_ROW("fp8_e4m3fnuz", 7),
    RATE_ROW("fp8_e5m2fnuz", 8),
    RATE_ROW("fp6_e3m2", 9),
    RATE_ROW("fp6_e2m3", 10),
    RATE_ROW("fp4_e2m1", 11),
    RATE_ROW("nf4", 12),
    RATE_ROW("int16", 13),
    RATE_ROW("int8", 14),
    RATE_ROW("uint8", 15),
    RATE_ROW("int4", 16),
    COUNT_ROW("rates.other", tile_own, other, 0, 16, "0",
              "the same for formats by description, such as e5m3; 0: not executed"),
    {.key = NULL}};
static const struct tsr_param dram_rows[] = {{.key = "model",
                                              .type = TSR_PARAM_ENUM,
                                              .names = dram_models,
                                              .def = "simple",
                                              .offset = offsetof(struct dram_own, model),
                                              .uncertainty = "exact",
                                              .doc = "how DRAM is modelled",
                                              .src = "SRC:assumed"},
                                             {.key = NULL}};
static const struct tsr_param limit_rows[] = {
    {.key = "max_events",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = UINT64_MAX - 1,
     .unlimited = true,
     .def = "1000000000",
     .offset = offsetof(struct limits, max_events),
     .uncertainty = "exact",
     .doc = "a run whose estimate passes this is refused",
     .src = "SRC:assumed"},
    {.key = "max_cycles",
     .type = TSR_PARAM_QUANTITY,
     .unit = TSR_UNIT_COUNT,
     .low = 1,
     .high = UINT64_MAX - 1,
     .unlimited = true,
     .def = "unlimited",
     .offset = offsetof(struct limits, max_cycles),
     .uncertainty = "exact",
     .doc = "a run that passes this cycle is stopped",
     .src = "SRC:assumed"},
    {.key = NULL}};

/* ---- sections ---- */

struct section {
  const char *path;            /* "" for the root */
  const char *component;       /* kind, NULL: the machine's rows only */
  const struct tsr_param *own; /* the machine's rows, may be NULL */
};
enum { SEC_ROOT, SEC_TILE, SEC_A, SEC_B, SEC_C, SEC_DMA, SEC_DRAM, SEC_SIM, SEC_COUNT };
static const struct section sections[SEC_COUNT] = {
    [SEC_ROOT] = {"", NULL, root_rows},
    [SEC_TILE] = {"tile", "tile.systolic", tile_rows},
    [SEC_A] = {"sram.a", "sram", NULL},
    [SEC_B] = {"sram.b", "sram", NULL},
    [SEC_C] = {"sram.c", "sram", NULL},
    [SEC_DMA] = {"dma", "dma.load", NULL},
    [SEC_DRAM] = {"dram", "dram.simple", dram_rows},
    [SEC_SIM] = {"sim", NULL, limit_rows},
};
static const char *const root_ignores[] = {"tile", "sram", "dma", "dram", "sim", NULL};

struct table { /* the rows of a section and the memory they describe */
  const struct tsr_param *rows;
  char *memory;      /* the component's parameters first */
  size_t own_offset; /* of the machine's own structure */
};

enum { OWN_BYTES = sizeof(struct tile_own) };

static enum tsr_status make_table(struct tsr_arena *a, const struct section *s,
                                  struct table *out) {
  const struct tsr_component *c = s->component ? tsr_models_find(s->component) : NULL;
  size_t n_c = c ? tsr_param_count(c->params) : 0, n_o = s->own ? tsr_param_count(s->own) : 0;
  struct tsr_param *rows = tsr_arena_array(a, n_c + n_o + 1, sizeof *rows);
  size_t offset = c ? (c->params_size + 15) / 16 * 16 : 0;
  out->memory = tsr_arena_alloc(a, offset + OWN_BYTES);
  if (!rows || !out->memory) return TSR_NOMEM;
  for (size_t i = 0; i < n_o; i++) {
    rows[i] = s->own[i];
    rows[i].offset += offset;
  }
  for (size_t i = 0; i < n_c; i++) rows[n_o + i] = c->params[i];
  out->rows = rows;
  out->own_offset = offset;
  return TSR_OK;
}

static const char *full_key(struct tsr_arena *a, const struct section *s, const char *key) {
  return tsr_arena_printf(a, "%s%s%s", s->path, *s->path ? "." : "", key);
}

void tsr_machine_keys(tsr_machine_key_fn *fn, void *arg) {
  struct tsr_arena *a = tsr_arena_create();
  for (int i = 0; a && i < SEC_COUNT; i++) {
    struct table t;
    if (make_table(a, &sections[i], &t)) break;
    for (const struct tsr_param *row = t.rows; row->key; row++) {
      const char *key = full_key(a, &sections[i], row->key);
      if (key) fn(arg, key, row);
    }
  }
  tsr_arena_destroy(a);
}

/* ---- reading ---- */

struct reading {
  struct tsr_machine *m;
  struct tsr_node *root;
  bool preset;
  struct table table[SEC_COUNT];
  struct tsr_err *err;
};

/* `sram` holds nothing but a, b, c. */
static void check_sram_keys(const struct reading *r, enum tsr_status *st) {
  static const char *const names[] = {"a", "b", "c"};
  const struct tsr_node *sram = tsr_config_tree_get(r->root, "sram");
  if (!sram) return;
  if (sram->kind != TSR_NODE_MAP) {
    enum tsr_status bad = tsr_err_at(r->err, TSR_INPUT, &sram->pos,
                                     "'sram' is no mapping; expected the keys a, b, c");
    if (!*st) *st = bad;
    return;
  }
  for (size_t i = 0; i < sram->n; i++) {
    const struct tsr_entry *e = &sram->entries[i];
    if (!strcmp(e->key, "a") || !strcmp(e->key, "b") || !strcmp(e->key, "c")) continue;
    enum tsr_status bad = tsr_err_at(r->err, TSR_USAGE, &e->key_pos,
                                     "unknown key 'sram.%s'; expected a, b or c", e->key);
    if (!*st) *st = bad;
    const char *near = tsr_err_nearest(e->key, names, 3);
    if (near) tsr_err_hint(r->err, "did you mean 'sram.%s'?", near);
  }
}

static enum tsr_status read_sections(struct reading *r) {
  enum tsr_status first = TSR_OK;
  for (int i = 0; i < SEC_COUNT; i++) {
    const struct section *s = &sections[i];
    enum tsr_status st = make_table(r->m->arena, s, &r->table[i]);
    if (st) return tsr_err_nomem(r->err);
    struct table *t = &r->table[i];
    const struct tsr_node *map = *s->path ? tsr_config_tree_get(r->root, s->path) : r->root;
    const char *prefix = *s->path ? full_key(r->m->arena, s, "") : "";
    if (!prefix) return tsr_err_nomem(r->err);
    tsr_param_defaults(t->rows, t->memory);
    st = tsr_param_read(t->rows, prefix, map, i == SEC_ROOT ? root_ignores : NULL, t->memory,
                        NULL, r->err);
    if (!first) first = st;
  }
  check_sram_keys(r, &first);
  return first;
}

static enum tsr_status record_values(struct reading *r) {
  struct tsr_machine *m = r->m;
  size_t n = 0, at = 0;
  for (int i = 0; i < SEC_COUNT; i++) n += tsr_param_count(r->table[i].rows);
  m->values = tsr_arena_array(m->arena, n, sizeof *m->values);
  if (!m->values) return tsr_err_nomem(r->err);
  for (int i = 0; i < SEC_COUNT; i++) {
    for (const struct tsr_param *row = r->table[i].rows; row->key; row++) {
      struct tsr_machine_value *v = &m->values[at++];
      struct tsr_str text = TSR_STR_INIT;
      tsr_param_print(row, r->table[i].memory, &text);
      v->key = full_key(m->arena, &sections[i], row->key);
      v->text = tsr_arena_strdup(m->arena, text.p ? text.p : "");
      tsr_str_fini(&text);
      if (!v->key || !v->text) return tsr_err_nomem(r->err);
      const struct tsr_node *node = tsr_config_tree_get(r->root, v->key);
      v->origin = node ? tsr_config_origin(m->arena, node) : "default";
      if (!v->origin) return tsr_err_nomem(r->err);
    }
  }
  m->n_values = at;
  return TSR_OK;
}

/* Length of the common leading parts of two dotted keys' folders. */
static size_t shared_depth(const char *a, const char *b) {
  size_t depth = 0, i = 0;
  for (; a[i] && a[i] == b[i]; i++)
    if (a[i] == '.') depth++;
  return depth;
}

/* Whether a value must be quoted to be read back as the same text; an empty one comes
 * in quotes. */
static bool needs_quotes(const char *text) {
  if (*text == '"') return false;
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  return strspn(text, plain) != strlen(text) || !*text || *text == '-' || *text == '.';
}

/* The effective values as nested YAML; keys of one section stand together. */
static enum tsr_status record_text(struct tsr_machine *m, struct tsr_err *err) {
  struct tsr_str out = TSR_STR_INIT;
  const char *before = "";
  for (size_t i = 0; i < m->n_values; i++) {
    const char *key = m->values[i].key, *part = key;
    size_t skip = shared_depth(before, key), depth = 0;
    for (const char *dot; (dot = strchr(part, '.')); part = dot + 1, depth++)
      if (depth >= skip)
        tsr_str_addf(&out, "%*s%.*s:\n", (int)(2 * depth), "", (int)(dot - part), part);
    const char *quote = needs_quotes(m->values[i].text) ? "\"" : "";
    tsr_str_addf(&out, "%*s%s: %s%s%s\n", (int)(2 * depth), "", part, quote, m->values[i].text,
                 quote);
    before = key;
  }
  m->text = out.failed ? NULL : tsr_arena_strdup(m->arena, out.p);
  tsr_str_fini(&out);
  return m->text ? TSR_OK : tsr_err_nomem(err);
}

/* ---- expanding ---- */

struct slot_row {
  const char *name, *kind;
  int section;
  int peer[TSR_PORTS_MAX];
};
static const struct slot_row slot_rows[TSR_SLOT_COUNT] = {
    [TSR_SLOT_DRAM] = {"dram", "dram.simple", SEC_DRAM, {-1, -1, -1, -1, -1}},
    [TSR_SLOT_SRAM_A] = {"core0.sram.a", "sram", SEC_A, {-1, -1, -1, -1, -1}},
    [TSR_SLOT_SRAM_B] = {"core0.sram.b", "sram", SEC_B, {-1, -1, -1, -1, -1}},
    [TSR_SLOT_SRAM_C] = {"core0.sram.c", "sram", SEC_C, {-1, -1, -1, -1, -1}},
    [TSR_SLOT_LOAD] = {"core0.dma.load",
                       "dma.load",
                       SEC_DMA,
                       {TSR_SLOT_DRAM, TSR_SLOT_STORE, TSR_SLOT_SRAM_A, TSR_SLOT_SRAM_B, -1}},
    [TSR_SLOT_STORE] = {"core0.dma.store",
                        "dma.store",
                        SEC_DMA,
                        {TSR_SLOT_DRAM, TSR_SLOT_LOAD, TSR_SLOT_SRAM_C, -1, -1}},
    [TSR_SLOT_TILE] = {"core0.tile0",
                       "tile.systolic",
                       SEC_TILE,
                       {TSR_SLOT_SRAM_A, TSR_SLOT_SRAM_B, TSR_SLOT_SRAM_C, -1, -1}},
};

static void expand(struct reading *r) {
  struct tsr_machine *m = r->m;
  for (int i = 0; i < TSR_SLOT_COUNT; i++) {
    const struct slot_row *row = &slot_rows[i];
    struct tsr_machine_instance *x = &m->slot[i];
    x->name = row->name;
    x->ops = tsr_models_find(row->kind);
    TSR_CHECK(x->ops);
    x->params = r->table[row->section].memory;
    memcpy(x->peer, row->peer, sizeof x->peer);
  }
  const struct table *t = r->table;
  const struct root *root = (const void *)(t[SEC_ROOT].memory + t[SEC_ROOT].own_offset);
  const struct limits *lim = (const void *)(t[SEC_SIM].memory + t[SEC_SIM].own_offset);
  const struct tile_own *tile = (const void *)(t[SEC_TILE].memory + t[SEC_TILE].own_offset);
  m->clock_hz = root->clock;
  m->max_events = lim->max_events;
  m->max_cycles = lim->max_cycles;
  memcpy(m->format_a, tile->a, sizeof m->format_a);
  memcpy(m->format_b, tile->b, sizeof m->format_b);
  memcpy(m->format_acc, tile->acc, sizeof m->format_acc);
  memcpy(m->format_out, tile->out, sizeof m->format_out);
  memcpy(m->mma, tile->mma, sizeof m->mma);
  for (size_t i = 0; i < sizeof rate_formats / sizeof rate_formats[0]; i++) {
    m->rates[i].format = rate_formats[i];
    m->rates[i].rate = tile->rate[i];
  }
  m->n_rates = sizeof rate_formats / sizeof rate_formats[0];
  m->rate_other = tile->other;
}

static enum tsr_status find_text(const char *what, const char *text, struct reading *r) {
  bool bare = !strchr(what, '/') && !tsr_str_ends(what, ".yaml") && !tsr_str_ends(what, ".yml");
  const char *path = what;
  if (!text && bare) {
    text = tsr_preset_text("arch", what);
    if (!text) {
      enum tsr_status st =
          tsr_err_set(r->err, TSR_USAGE, "unknown architecture preset '%s'", what);
      tsr_preset_hint("arch", what, r->err);
      return st;
    }
    path = tsr_arena_printf(r->m->arena, "preset:%s", what);
    if (!path) return tsr_err_nomem(r->err);
  }
  if (text)
    return tsr_config_tree_parse(r->m->arena, path, text, strlen(text), &r->root, r->err);
  return tsr_config_tree_read(r->m->arena, what, &r->root, NULL, r->err);
}

static enum tsr_status read_machine(struct reading *r, const char *what, const char *text,
                                    const char *const *sets, size_t n_sets) {
  enum tsr_status st = find_text(what, text, r);
  TSR_CHECK(st || r->root);
  if (!st && r->root->kind != TSR_NODE_MAP)
    st = tsr_err_at(r->err, TSR_INPUT, &r->root->pos,
                    "an architecture is a mapping; expected keys such as 'clock: 1GHz'");
  for (size_t i = 0; !st && i < n_sets; i++)
    st = tsr_config_tree_set(r->m->arena, r->root, sets[i], r->err);
  if (!st) st = read_sections(r);
  if (!st) st = record_values(r);
  if (!st) st = record_text(r->m, r->err);
  if (st) return st;
  expand(r);
  const struct root *root =
      (const void *)(r->table[SEC_ROOT].memory + r->table[SEC_ROOT].own_offset);
  r->m->name = tsr_arena_strdup(r->m->arena, *root->name ? root->name : what);
  return r->m->name ? TSR_OK : tsr_err_nomem(r->err);
}

enum tsr_status tsr_machine_read(const char *what, const char *text, const char *const *sets,
                                 size_t n_sets, struct tsr_machine **out, struct tsr_err *err) {
  struct tsr_arena *a = tsr_arena_create();
  struct tsr_machine *m = a ? tsr_arena_alloc(a, sizeof *m) : NULL;
  if (!m) {
    tsr_arena_destroy(a);
    return tsr_err_nomem(err);
  }
  m->arena = a;
  struct reading r = {.m = m, .err = err};
  enum tsr_status st = read_machine(&r, what, text, sets, n_sets);
  if (st) {
    tsr_arena_destroy(a);
    return st;
  }
  *out = m;
  return TSR_OK;
}

void tsr_machine_destroy(struct tsr_machine *m) {
  if (m) tsr_arena_destroy(m->arena);
}

uint64_t tsr_machine_rate(const struct tsr_machine *m, const char *format) {
  for (size_t i = 0; i < m->n_rates; i++)
    if (!strcmp(m->rates[i].format, format)) return m->rates[i].rate;
  return m->rate_other;
}

void tsr_machine_print(const struct tsr_machine *m, struct tsr_str *out) {
  for (size_t i = 0; i < m->n_values; i++) {
    const struct tsr_machine_value *v = &m->values[i];
    tsr_str_addf(out, "%-22s %-16s # %s\n", v->key, *v->text ? v->text : "\"\"", v->origin);
  }
  tsr_str_add(out, "\ninstances:\n");
  for (int i = 0; i < TSR_SLOT_COUNT; i++)
    tsr_str_addf(out, "  %-16s %s\n", m->slot[i].name, m->slot[i].ops->kind);
  tsr_str_add(out, "links:\n");
  for (int i = 0; i < TSR_SLOT_COUNT; i++) {
    const struct tsr_machine_instance *x = &m->slot[i];
    for (int p = 0; x->ops->ports && x->ops->ports[p].name; p++)
      if (x->peer[p] >= 0)
        tsr_str_addf(out, "  %s.%s -> %s\n", x->name, x->ops->ports[p].name,
                     m->slot[x->peer[p]].name);
  }
}
