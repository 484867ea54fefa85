/* Reading the short form and expanding it.
 *
 * A section of the file (`tile`, `sram.a`, …) is described by the parameter rows of
 * its component and those of the machine itself; both are laid behind one another
 * in one table with one structure, so that an unknown key is unknown to both. */
#include "sim/engine/machine.h"

#include <stdio.h>
#include <string.h>

#include "models/presets.h"
#include "sim/engine/machine_int.h"

/* ---- the machine's own rows ---- */

struct root {
  uint64_t version, clock, cores;
  int split, attention, epilogue;
  char name[TSR_PARAM_NAME_MAX];
};
struct tile_own {
  int kind;
  uint64_t count;
  char a[TSR_PARAM_TEXT_MAX], b[TSR_PARAM_TEXT_MAX], acc[TSR_PARAM_TEXT_MAX],
      out[TSR_PARAM_TEXT_MAX], mma[TSR_PARAM_TEXT_MAX];
  char rules[TSR_PARAM_TEXT_MAX];
  char scale[TSR_PARAM_TEXT_MAX];
  uint64_t rate[17], other, promote, group;
  bool dequant;
  double outliers;
  char outlier[TSR_PARAM_TEXT_MAX];
};
struct sram_own {
  bool unified;
};
struct noc_own {
  int kind;
  bool multicast;
};
struct dram_own {
  int model;
};
struct limits {
  uint64_t max_events, max_cycles;
  bool fast_forward;
};

static const char *const rate_formats[] = {
    "fp64",     "fp32",         "tf32",         "fp16",     "bf16",     "fp8_e4m3",
    "fp8_e5m2", "fp8_e4m3fnuz", "fp8_e5m2fnuz", "fp6_e3m2", "fp6_e2m3", "fp4_e2m1",
    "nf4",      "int16",        "int8",         "uint8",    "int4"};
static const char *const tile_kinds[] = {"systolic", "dot", NULL};
static const char *const noc_kinds[] = {"none", "crossbar", "mesh", NULL};
static const char *const dram_models[] = {"simple", "banks", NULL};

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
    COUNT_ROW("cores", root, cores, 1, TSR_MACHINE_CORES_MAX, "1", "cores"),
    {.key = "split",
     .type = TSR_PARAM_ENUM,
     .names = tsr_split_names,
     .def = "auto",
     .offset = offsetof(struct root, split),
     .uncertainty = "exact",
     .doc = "what a layer's cores divide among them",
     .src = "SRC:assumed"},
    {.key = "epilogue",
     .type = TSR_PARAM_ENUM,
     .names = tsr_epilogue_names,
     .def = "fused",
     .offset = offsetof(struct root, epilogue),
     .uncertainty = "exact",
     .doc = "where the steps behind a product happen: on results before they are stored, or in "
            "a pass of their own over sums in memory",
     .src = "SRC:assumed"},
    {.key = "attention",
     .type = TSR_PARAM_ENUM,
     .names = tsr_attention_names,
     .def = "tiled",
     .offset = offsetof(struct root, attention),
     .uncertainty = "exact",
     .doc = "how an attention is done: scores stay on the chip, or go to memory and back",
     .src = "SRC:dao2022"},
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
    COUNT_ROW("count", tile_own, count, 1, TSR_MACHINE_TILES_MAX, "1",
              "tiles of a core, which share its scratchpads and each multiplication"),
    TEXT_ROW("formats.a", tile_own, a, "fp16", "format of activations"),
    TEXT_ROW("formats.b", tile_own, b, "fp16", "format of weights"),
    TEXT_ROW("formats.acc", tile_own, acc, "fp32", "format of the accumulator"),
    TEXT_ROW("formats.out", tile_own, out, "fp16", "format of results in memory"),
    TEXT_ROW("formats.scale", tile_own, scale, "fp16", "format of the weights' scales"),
    TEXT_ROW("formats.outlier", tile_own, outlier, "fp16",
             "format in which outliers of activations are multiplied"),
    COUNT_ROW("promote", tile_own, promote, 0, 1u << 30, "0",
              "products along k after which the vector unit adds the tile's sum to one in "
              "fp32; 0: never"),
    {.key = "dequant",
     .type = TSR_PARAM_BOOL,
     .def = "false",
     .offset = offsetof(struct tile_own, dequant),
     .uncertainty = "exact",
     .doc =
         "the vector unit converts weights to the format of activations as they come in, and "
         "the tile multiplies those",
     .src = "SRC:assumed"},
    COUNT_ROW(
        "group", tile_own, group, 0, 1u << 30, "0",
        "products along k that share a scale of the weights, one for each column: the "
        "vector unit multiplies their sum by it and adds that to one in fp32; 0: no scales"),
    {.key = "outliers",
     .type = TSR_PARAM_REAL,
     .rlow = 0,
     .rhigh = 0.5,
     .def = "0",
     .offset = offsetof(struct tile_own, outliers),
     .uncertainty = "exact",
     .doc = "part of the columns of k that are outliers of narrower activations: gathered, and "
            "multiplied in tile.formats.outlier; 0: none",
     .src = "SRC:dettmers2022"},
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
    TEXT_ROW("rates.rules", tile_own, rules, "",
             "rates that depend on more, first match first: A.B[.ACC[.OUT]][.sparse]=RATE,..., "
             "sparse for 2:4 weights, a part `any` fits all"),
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
static const struct tsr_param sram_rows[] = {
    {.key = "unified",
     .type = TSR_PARAM_BOOL,
     .def = "false",
     .offset = offsetof(struct sram_own, unified),
     .uncertainty = "exact",
     .doc = "a, b and c are parts, of their sizes, of one memory with the ports and banks of a",
     .src = "SRC:assumed"},
    {.key = NULL}};
static const struct tsr_param noc_rows[] = {{.key = "kind",
                                             .type = TSR_PARAM_ENUM,
                                             .names = noc_kinds,
                                             .def = "none",
                                             .offset = offsetof(struct noc_own, kind),
                                             .uncertainty = "exact",
                                             .doc = "interconnect between cores and memory",
                                             .src = "SRC:assumed"},
                                            {.key = "multicast",
                                             .type = TSR_PARAM_BOOL,
                                             .def = "true",
                                             .offset = offsetof(struct noc_own, multicast),
                                             .uncertainty = "exact",
                                             .doc =
                                                 "what all cores of a layer need comes from "
                                                 "memory once, where there is an interconnect",
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
    {.key = "fast_forward",
     .type = TSR_PARAM_BOOL,
     .def = "true",
     .offset = offsetof(struct limits, fast_forward),
     .uncertainty = "exact",
     .doc = "account at once for loops that repeat themselves and for equal layers; the same "
            "figures, sooner",
     .src = "SRC:assumed"},
    {.key = NULL}};

/* ---- sections ---- */

/* A section's component may depend on one of the machine's own keys. */
struct variant {
  const char *value, *component; /* component NULL: none */
};
enum { VARIANTS_MAX = 3 };
struct section {
  const char *path;     /* "" for the root */
  const char *selector; /* key below path that selects the variant, NULL: the first */
  struct variant variant[VARIANTS_MAX];
  const struct tsr_param *own; /* the machine's rows, may be NULL */
};
enum {
  SEC_ROOT,
  SEC_TILE,
  SEC_VECTOR,
  SEC_SRAM,
  SEC_A,
  SEC_B,
  SEC_C,
  SEC_DMA,
  SEC_NOC,
  SEC_LLB,
  SEC_DRAM,
  SEC_SIM,
  SEC_COUNT
};
static const struct section sections[SEC_COUNT] = {
    [SEC_ROOT] = {"", NULL, {{NULL, NULL}}, root_rows},
    [SEC_TILE] = {"tile",
                  "kind",
                  {{"systolic", "tile.systolic"}, {"dot", "tile.dot"}},
                  tile_rows},
    [SEC_VECTOR] = {"vector", NULL, {{"", "vector"}}, NULL},
    [SEC_SRAM] = {"sram", NULL, {{NULL, NULL}}, sram_rows},
    [SEC_A] = {"sram.a", NULL, {{"", "sram"}}, NULL},
    [SEC_B] = {"sram.b", NULL, {{"", "sram"}}, NULL},
    [SEC_C] = {"sram.c", NULL, {{"", "sram"}}, NULL},
    [SEC_DMA] = {"dma", NULL, {{"", "dma.load"}}, NULL},
    [SEC_NOC] = {"noc",
                 "kind",
                 {{"none", NULL}, {"crossbar", "noc.crossbar"}, {"mesh", "noc.mesh"}},
                 noc_rows},
    [SEC_LLB] = {"llb", NULL, {{"", "llb"}}, NULL},
    [SEC_DRAM] = {"dram",
                  "model",
                  {{"simple", "dram.simple"}, {"banks", "dram.banks"}},
                  dram_rows},
    [SEC_SIM] = {"sim", NULL, {{NULL, NULL}}, limit_rows},
};
static const char *const root_ignores[] = {"tile", "vector", "sram", "dma", "noc",
                                           "llb",  "dram",   "sim",  NULL};
static const char *const sram_ignores[] = {"a", "b", "c", NULL};

struct table { /* the rows of a section and the memory they describe */
  const struct tsr_param *rows;
  char *memory;                    /* the component's parameters first */
  size_t own_offset;               /* of the machine's own structure */
  const struct tsr_component *ops; /* NULL: none */
  bool derived;                    /* what the file does not give follows from what it does */
};

enum { OWN_BYTES = sizeof(struct tile_own) };

static const struct tsr_component *component_of(const struct variant *v) {
  return v->component ? tsr_models_find(v->component) : NULL;
}

static enum tsr_status make_table(struct tsr_arena *a, const struct section *s,
                                  const struct variant *v, struct table *out) {
  const struct tsr_component *c = component_of(v);
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
  out->ops = c;
  return TSR_OK;
}

static const char *full_key(struct tsr_arena *a, const struct section *s, const char *key) {
  return tsr_arena_printf(a, "%s%s%s", s->path, *s->path ? "." : "", key);
}

void tsr_machine_keys(tsr_machine_key_fn *fn, void *arg) {
  struct tsr_arena *a = tsr_arena_create();
  for (int i = 0; a && i < SEC_COUNT; i++) {
    const struct section *s = &sections[i];
    for (int v = 0; v < VARIANTS_MAX && (v == 0 || s->variant[v].value); v++) {
      struct table t;
      if (make_table(a, s, &s->variant[v], &t)) break;
      /* The machine's own rows come first, and once. */
      size_t own = s->own && v > 0 ? tsr_param_count(s->own) : 0;
      for (const struct tsr_param *row = t.rows + own; row->key; row++) {
        const char *key = full_key(a, s, row->key);
        if (key) fn(arg, key, row);
      }
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

/* The variant that the file selects; a value that is none of them is told when the key
 * itself is read. */
static const struct variant *variant_of(const struct reading *r, const struct section *s,
                                        bool *by_set) {
  const struct tsr_node *map = *s->path ? tsr_config_tree_get(r->root, s->path) : NULL;
  const struct tsr_node *n = s->selector && map && map->kind == TSR_NODE_MAP
                                 ? tsr_config_tree_get(map, s->selector)
                                 : NULL;
  *by_set = n && n->pos.src && !strcmp(n->pos.src->path, "--set");
  for (int v = 0; n && n->kind == TSR_NODE_SCALAR && v < VARIANTS_MAX; v++)
    if (s->variant[v].value && !strcmp(s->variant[v].value, n->text)) return &s->variant[v];
  return &s->variant[0];
}

static bool has_key(const struct tsr_param *rows, const char *key) {
  size_t n = strlen(key);
  for (; rows && rows->key; rows++)
    if (!strncmp(rows->key, key, n) && (!rows->key[n] || rows->key[n] == '.')) return true;
  return false;
}

/* Where an assignment chose another variant than the file was written for, the file's keys
 * of that other one are not read. */
static enum tsr_status foreign_keys(struct reading *r, const struct section *s,
                                    const struct tsr_node *map, const struct table *t,
                                    const char *const **out) {
  size_t n = 0;
  const char **list = tsr_arena_array(r->m->arena, (map ? map->n : 0) + 1, sizeof *list);
  if (!list) return tsr_err_nomem(r->err);
  for (size_t i = 0; map && map->kind == TSR_NODE_MAP && i < map->n; i++) {
    const struct tsr_entry *e = &map->entries[i];
    bool set = e->key_pos.src && !strcmp(e->key_pos.src->path, "--set");
    if (set || has_key(t->rows, e->key)) continue;
    for (int v = 0; v < VARIANTS_MAX; v++) {
      const struct tsr_component *c = component_of(&s->variant[v]);
      if (!c || !has_key(c->params, e->key)) continue;
      list[n++] = e->key;
      break;
    }
  }
  *out = list;
  return TSR_OK;
}

/* Parameters that follow from others, which are read for it ahead of all; what is wrong with
 * them is told when all are read. */
static enum tsr_status derive(struct reading *r, const struct section *s, struct table *t,
                              const struct tsr_node *map, const char *const *ignores) {
  bool *given = tsr_arena_array(r->m->arena, tsr_param_count(t->rows) + 1, sizeof *given);
  if (!given) return tsr_err_nomem(r->err);
  (void)tsr_param_read(t->rows, "", map, ignores, t->memory, given, NULL);
  size_t own = s->own ? tsr_param_count(s->own) : 0; /* these stand first */
  const char *key = t->ops->derive(t->memory, given + own);
  if (!key) {
    t->derived = true;
    return TSR_OK;
  }
  const char *path = full_key(r->m->arena, s, key);
  const struct tsr_node *n = path ? tsr_config_tree_get(r->root, path) : NULL;
  if (!n) return tsr_err_nomem(r->err);
  enum tsr_status st =
      tsr_err_at(r->err, TSR_USAGE, &n->pos, "'%s' names no preset, got '%s'", path, n->text);
  tsr_err_hint(r->err, "`tessera presets %s` lists them", s->path);
  return st;
}

static enum tsr_status read_sections(struct reading *r) {
  enum tsr_status first = TSR_OK;
  for (int i = 0; i < SEC_COUNT; i++) {
    const struct section *s = &sections[i];
    bool by_set;
    enum tsr_status st = make_table(r->m->arena, s, variant_of(r, s, &by_set), &r->table[i]);
    if (st) return tsr_err_nomem(r->err);
    struct table *t = &r->table[i];
    const struct tsr_node *map = *s->path ? tsr_config_tree_get(r->root, s->path) : r->root;
    const char *prefix = *s->path ? full_key(r->m->arena, s, "") : "";
    if (!prefix) return tsr_err_nomem(r->err);
    const char *const *ignores = i == SEC_ROOT   ? root_ignores
                                 : i == SEC_SRAM ? sram_ignores
                                                 : NULL;
    if (by_set) st = foreign_keys(r, s, map, t, &ignores);
    if (st) return st;
    tsr_param_defaults(t->rows, t->memory);
    if (t->ops && t->ops->derive) st = derive(r, s, t, map, ignores);
    if (!st) st = tsr_param_read(t->rows, prefix, map, ignores, t->memory, NULL, r->err);
    if (!first) first = st;
  }
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
      v->origin = node                  ? tsr_config_origin(m->arena, node)
                  : r->table[i].derived ? "preset"
                                        : "default";
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
  m->hash = TSR_FNV_INIT;
  for (size_t i = 0; i < m->n_values; i++) {
    const char *key = m->values[i].key, *part = key;
    size_t skip = shared_depth(before, key), depth = 0;
    for (const char *dot; (dot = strchr(part, '.')); part = dot + 1, depth++)
      if (depth >= skip)
        tsr_str_addf(&out, "%*s%.*s:\n", (int)(2 * depth), "", (int)(dot - part), part);
    const char *quote = needs_quotes(m->values[i].text) ? "\"" : "";
    size_t from = out.n;
    tsr_str_addf(&out, "%*s%s: %s%s%s\n", (int)(2 * depth), "", part, quote, m->values[i].text,
                 quote);
    if (strncmp(key, "sim.", 4) != 0 && !out.failed)
      m->hash = tsr_fnv1a(m->hash, out.p + from, out.n - from);
    before = key;
  }
  m->text = out.failed ? NULL : tsr_arena_strdup(m->arena, out.p);
  tsr_str_fini(&out);
  return m->text ? TSR_OK : tsr_err_nomem(err);
}

/* ---- expanding ---- */

/* A core's pieces: the slots between DRAM and the next core's, in this order. */
struct piece_row {
  const char *name, *kind; /* kind NULL: the section's component */
  int section;
  int peer[TSR_PORTS_MAX]; /* slots as of core 0, MEMORY, or NONE */
};
enum { NONE = -1, MEMORY = -2 }; /* MEMORY: the first of the chain before the DRAM */
#define NO_PEERS \
  { NONE, NONE, NONE, NONE, NONE }
static const struct piece_row pieces[TSR_SLOT_COUNT] = {
    [TSR_SLOT_SRAM_A] = {"sram.a", NULL, SEC_A, NO_PEERS},
    [TSR_SLOT_SRAM_B] = {"sram.b", NULL, SEC_B, NO_PEERS},
    [TSR_SLOT_SRAM_C] = {"sram.c", NULL, SEC_C, NO_PEERS},
    [TSR_SLOT_LOAD] = {"dma.load",
                       "dma.load",
                       SEC_DMA,
                       {MEMORY, TSR_SLOT_DRAM, TSR_SLOT_SRAM_A, TSR_SLOT_SRAM_B,
                        TSR_SLOT_SRAM_C}},
    [TSR_SLOT_STORE] = {"dma.store",
                        "dma.store",
                        SEC_DMA,
                        {MEMORY, TSR_SLOT_DRAM, TSR_SLOT_SRAM_A, TSR_SLOT_SRAM_B,
                         TSR_SLOT_SRAM_C}},
    [TSR_SLOT_VECTOR] = {"vector",
                         NULL,
                         SEC_VECTOR,
                         {TSR_SLOT_SRAM_A, TSR_SLOT_SRAM_B, TSR_SLOT_SRAM_C, NONE, NONE}},
    [TSR_SLOT_TILE] = {"tile",
                       NULL,
                       SEC_TILE,
                       {TSR_SLOT_SRAM_A, TSR_SLOT_SRAM_B, TSR_SLOT_SRAM_C, NONE, NONE}},
};

int tsr_machine_slot(const struct tsr_machine *m, uint64_t core, int piece) {
  int stride = TSR_SLOT_TILE - 1 + (int)m->tiles;
  return piece == TSR_SLOT_DRAM ? TSR_SLOT_DRAM : piece + (int)core * stride;
}

static enum tsr_status add(struct reading *r, int slot, const char *name,
                           const struct tsr_component *ops, int section) {
  struct tsr_machine_instance *x = &r->m->slot[slot];
  *x = (struct tsr_machine_instance){
      .name = name, .ops = ops, .params = r->table[section].memory, .core = -1};
  for (int p = 0; p < TSR_PORTS_MAX; p++) x->peer[p] = NONE;
  return name ? TSR_OK : tsr_err_nomem(r->err);
}

static enum tsr_status add_piece(struct reading *r, uint64_t core, int piece, uint64_t tile) {
  struct tsr_machine *m = r->m;
  const struct piece_row *row = &pieces[piece];
  int slot = tsr_machine_slot(m, core, piece) + (int)tile;
  const struct tsr_component *ops =
      row->kind ? tsr_models_find(row->kind) : r->table[row->section].ops;
  char number[24] = "";
  if (piece == TSR_SLOT_TILE) (void)snprintf(number, sizeof number, "%d", (int)tile);
  enum tsr_status st = add(
      r, slot,
      tsr_arena_printf(m->arena, "core%llu.%s%s", (unsigned long long)core, row->name, number),
      ops, row->section);
  struct tsr_machine_instance *x = &m->slot[slot];
  x->core = (int)core;
  for (int p = 0; p < TSR_PORTS_MAX; p++) {
    int to = row->peer[p];
    if (m->unified && (to == TSR_SLOT_SRAM_B || to == TSR_SLOT_SRAM_C)) to = TSR_SLOT_SRAM_A;
    x->peer[p] = to == MEMORY ? m->memory : to == NONE ? NONE : tsr_machine_slot(m, core, to);
  }
  return st;
}

/* DRAM, the cores, then what stands between them and the DRAM. */
static enum tsr_status add_instances(struct reading *r) {
  struct tsr_machine *m = r->m;
  int end = tsr_machine_slot(m, m->cores, TSR_SLOT_SRAM_A);
  const struct tsr_component *noc = r->table[SEC_NOC].ops, *llb = r->table[SEC_LLB].ops;
  if (llb && !llb->memory->capacity(r->table[SEC_LLB].memory)) llb = NULL;
  m->n_slots = (size_t)end + (noc != NULL) + (llb != NULL);
  m->slot = tsr_arena_array(m->arena, m->n_slots, sizeof *m->slot);
  if (!m->slot) return tsr_err_nomem(r->err);
  enum tsr_status st = add(r, TSR_SLOT_DRAM, "dram", r->table[SEC_DRAM].ops, SEC_DRAM);
  m->memory = TSR_SLOT_DRAM;
  m->llb = m->noc = NONE;
  if (!st && llb) {
    st = add(r, m->llb = end++, "llb", llb, SEC_LLB);
    m->slot[m->llb].peer[0] = m->memory;
    m->memory = m->llb;
  }
  if (!st && noc) {
    st = add(r, m->noc = end++, "noc", noc, SEC_NOC);
    m->slot[m->noc].peer[0] = m->memory;
    m->memory = m->noc;
  }
  for (uint64_t c = 0; !st && c < m->cores; c++)
    for (int piece = TSR_SLOT_SRAM_A; !st && piece < TSR_SLOT_COUNT; piece++)
      for (uint64_t t = 0; !st && t < (piece == TSR_SLOT_TILE ? m->tiles : 1); t++)
        st = add_piece(r, c, piece, t);
  return st;
}

static const void *own_of(const struct reading *r, int section) {
  return r->table[section].memory + r->table[section].own_offset;
}

static enum tsr_status expand(struct reading *r) {
  struct tsr_machine *m = r->m;
  const struct root *root = own_of(r, SEC_ROOT);
  const struct limits *lim = own_of(r, SEC_SIM);
  const struct tile_own *tile = own_of(r, SEC_TILE);
  m->clock_hz = root->clock;
  m->cores = root->cores;
  m->split = (enum tsr_split_kind)root->split;
  m->attention = (enum tsr_attention)root->attention;
  m->epilogue = (enum tsr_epilogue)root->epilogue;
  m->tiles = tile->count;
  m->max_events = lim->max_events;
  m->max_cycles = lim->max_cycles;
  m->fast_forward = lim->fast_forward;
  m->promote = tile->promote;
  m->group = tile->group;
  m->dequant = tile->dequant;
  m->outliers = tile->outliers;
  memcpy(m->format_outlier, tile->outlier, sizeof m->format_outlier);
  memcpy(m->format_scale, tile->scale, sizeof m->format_scale);
  const struct noc_own *noc = own_of(r, SEC_NOC);
  m->multicast = noc->kind && noc->multicast;
  m->unified = ((const struct sram_own *)own_of(r, SEC_SRAM))->unified;
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
  enum tsr_status st =
      tsri_rates_read(m, tile->rules, tsr_config_tree_get(r->root, "tile.rates.rules"), r->err);
  return st ? st : add_instances(r);
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
  if (!st) st = expand(r);
  if (st) return st;
  const struct root *root = own_of(r, SEC_ROOT);
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

void tsr_machine_print(const struct tsr_machine *m, struct tsr_str *out) {
  for (size_t i = 0; i < m->n_values; i++) {
    const struct tsr_machine_value *v = &m->values[i];
    tsr_str_addf(out, "%-22s %-16s # %s\n", v->key, *v->text ? v->text : "\"\"", v->origin);
  }
  tsr_str_add(out, "\ninstances:\n");
  for (size_t i = 0; i < m->n_slots; i++)
    tsr_str_addf(out, "  %-16s %s\n", m->slot[i].name, m->slot[i].ops->kind);
  tsr_str_add(out, "links:\n");
  for (size_t i = 0; i < m->n_slots; i++) {
    const struct tsr_machine_instance *x = &m->slot[i];
    for (int p = 0; x->ops->ports && x->ops->ports[p].name; p++)
      if (x->peer[p] >= 0)
        tsr_str_addf(out, "  %s.%s -> %s\n", x->name, x->ops->ports[p].name,
                     m->slot[x->peer[p]].name);
  }
}
