#include "kernels/mapping/file.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "kernels/mapping/mapping_int.h"
#include "sim/config/tree.h"

struct tsr_mapping_file {
  struct tsr_arena *arena;
  const char *text;
  struct tsr_residency residency;
  size_t workload; /* whose layers are asked about */
  const struct tsr_node *layers;
  bool *used;    /* by entry */
  bool *avoided; /* a pattern that fits an attention by its name alone */
};

/* ---- words ---- */

static const char *axis_name(bool conv, int x) {
  static const char *const matmul[TSR_AXIS_COUNT] = {
      [TSR_AXIS_G] = "g", [TSR_AXIS_OW] = "m", [TSR_AXIS_N] = "n", [TSR_AXIS_C] = "k"};
  return conv ? tsr_isa_axis_names[x] : matmul[x];
}

static enum tsr_status wrong(struct tsr_err *err, const struct tsr_node *n, const char *what,
                             const char *expected) {
  (void)tsr_err_at(err, TSR_INPUT, &n->pos, "%s; expected %s%s%s", what, expected,
                   n->text && *n->text ? ", got " : "", n->text ? n->text : "");
  return TSR_INPUT;
}

static enum tsr_status read_axis(const struct tsr_node *n, bool conv, int *out,
                                 struct tsr_err *err) {
  for (int x = 0; n->text && x < TSR_AXIS_COUNT; x++)
    if (axis_name(conv, x) && !strcmp(n->text, axis_name(conv, x))) {
      *out = x;
      return TSR_OK;
    }
  return wrong(err, n, "unknown axis",
               conv ? "g, b, oh, ow, n, kh, kw or c of a convolution"
                    : "g, m, n or k of a matmul");
}

static enum tsr_status read_count(const struct tsr_node *n, uint64_t *out,
                                  struct tsr_err *err) {
  if (n->text && !n->quoted &&
      tsr_quantity_parse(n->text, strlen(n->text), TSR_UNIT_COUNT, out) == TSR_QUANTITY_OK &&
      *out > 0)
    return TSR_OK;
  return wrong(err, n, "no count", "a whole number below 2^64 - 1 and above 0");
}

static enum tsr_status check_kind(const struct tsr_node *n, enum tsr_node_kind kind,
                                  const char *what, struct tsr_err *err) {
  static const char *const names[] = {[TSR_NODE_SCALAR] = "a word or number",
                                      [TSR_NODE_SEQ] = "a list",
                                      [TSR_NODE_MAP] = "a mapping"};
  return n->kind == kind ? TSR_OK : wrong(err, n, what, names[kind]);
}

static enum tsr_status check_keys(const struct tsr_node *map, const char *const *known,
                                  struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < map->n; i++) {
    const struct tsr_entry *e = &map->entries[i];
    size_t n = 0;
    while (known[n] && strcmp(known[n], e->key) != 0) n++;
    if (known[n]) continue;
    enum tsr_status bad = tsr_err_at(err, TSR_INPUT, &e->key_pos, "unknown key '%s'", e->key);
    const char *near = tsr_err_nearest(e->key, known, n);
    if (near) tsr_err_hint(err, "did you mean '%s'?", near);
    if (!st) st = bad;
  }
  return st;
}

/* ---- reading ---- */

static enum tsr_status read_keep(struct tsr_mapping_file *f, const struct tsr_node *n,
                                 struct tsr_err *err) {
  if (n->text && !n->quoted &&
      tsr_quantity_parse(n->text, strlen(n->text), TSR_UNIT_BYTES, &f->residency.keep_bytes) ==
          TSR_QUANTITY_OK)
    return TSR_OK;
  return wrong(err, n, "what is kept", "bytes of scratchpad a, as in 2MiB");
}

/* Of a list of tensors, as a set. */
static enum tsr_status read_bypass(const struct tsr_node *n, unsigned *out,
                                   struct tsr_err *err) {
  enum tsr_status st = check_kind(n, TSR_NODE_SEQ, "bypass", err);
  for (size_t i = 0; !st && i < n->n; i++) {
    const struct tsr_node *v = n->items[i];
    const char *at = v->text && strlen(v->text) == 1 ? strchr("abc", *v->text) : NULL;
    if (!at) return wrong(err, v, "what bypasses the chip's buffers", "a, b or c");
    *out |= 1u << (*v->text - 'a');
  }
  return st;
}

enum { TSR_PLACE_MAX = 1 << 30 };
/* How weights lie in memory. */
static enum tsr_status read_place(const struct tsr_node *n, struct tsr_placement *out,
                                  struct tsr_err *err) {
  static const char *const keys[] = {"align", "skew", "pad", "layout", NULL};
  enum tsr_status st = check_kind(n, TSR_NODE_MAP, "place", err);
  if (!st) st = check_keys(n, keys, err);
  uint64_t *const size[] = {&out->align_bytes, &out->skew_bytes, &out->pad_bytes};
  for (int i = 0; !st && i < 3; i++) {
    const struct tsr_node *v = tsr_config_tree_get(n, keys[i]);
    if (v && (!v->text || v->quoted || *v->text == 'u' ||
              tsr_quantity_parse(v->text, strlen(v->text), TSR_UNIT_BYTES, size[i]) !=
                  TSR_QUANTITY_OK ||
              *size[i] > TSR_PLACE_MAX))
      st = wrong(err, v, keys[i], "bytes, at most 1GiB");
  }
  if (!st && out->align_bytes & (out->align_bytes - 1))
    st = wrong(err, tsr_config_tree_get(n, "align"), "align", "a power of two");
  const struct tsr_node *v = st ? NULL : tsr_config_tree_get(n, "layout");
  out->tiled = v && v->text && !strcmp(v->text, "tiled");
  if (v && !out->tiled && (!v->text || strcmp(v->text, "row") != 0))
    st = wrong(err, v, "layout of weights", "row or tiled");
  return st;
}

static enum tsr_status read_index(const struct tsr_node *n, uint64_t *out,
                                  struct tsr_err *err) {
  if (n->text && !n->quoted &&
      tsr_quantity_parse(n->text, strlen(n->text), TSR_UNIT_COUNT, out) == TSR_QUANTITY_OK)
    return TSR_OK;
  return wrong(err, n, "workload", "its number, 0 for the first");
}

/* An entry without loops leaves the mapping as it is: it says what bypasses, or where weights
 * lie. */
static enum tsr_status check_short(const struct tsr_node *e, struct tsr_err *err) {
  size_t about =
      (tsr_config_tree_get(e, "bypass") != NULL) + (tsr_config_tree_get(e, "place") != NULL);
  if (about && e->n == 1 + about + (tsr_config_tree_get(e, "workload") != NULL)) return TSR_OK;
  return wrong(err, e, "no loops",
               "loops: a list of {axis, tile}, [] for none, or bypass or place alone");
}

static enum tsr_status check_head(struct tsr_mapping_file *f, const struct tsr_node *root,
                                  struct tsr_err *err) {
  static const char *const keys[] = {"version", "keep", "bypass", "layers", NULL};
  static const char *const entry[] = {"layer",  "workload", "dataflow", "cores", "chunk",
                                      "loops",  "buffers",  "spatial",  "k_cut", "resident",
                                      "bypass", "levels",   "place",    NULL};
  enum tsr_status st = check_keys(root, keys, err);
  const struct tsr_node *version = tsr_config_tree_get(root, "version");
  if (!st && (!version || !version->text || strcmp(version->text, "1") != 0))
    st = wrong(err, version ? version : root, "version of a mapping file", "version: 1");
  const struct tsr_node *kept = st ? NULL : tsr_config_tree_get(root, "keep");
  if (kept) st = read_keep(f, kept, err);
  const struct tsr_node *past = st ? NULL : tsr_config_tree_get(root, "bypass");
  f->residency.weights_bypass = past && past->text && !strcmp(past->text, "weights");
  if (past && !f->residency.weights_bypass)
    st = wrong(err, past, "what bypasses the last-level buffer in all layers",
               "the word weights (of one layer: a list in its entry)");
  f->layers = tsr_config_tree_get(root, "layers");
  static const struct tsr_node none = {.kind = TSR_NODE_SEQ};
  if (!f->layers && (kept || past)) f->layers = &none;
  if (!st && !f->layers)
    st = wrong(err, root, "no layers", "layers: with an entry for some, keep or bypass");
  if (!st) st = check_kind(f->layers, TSR_NODE_SEQ, "layers", err);
  for (size_t i = 0; !st && i < f->layers->n; i++) {
    const struct tsr_node *e = f->layers->items[i];
    st = check_kind(e, TSR_NODE_MAP, "entry", err);
    if (!st) st = check_keys(e, entry, err);
    const struct tsr_node *name = st ? NULL : tsr_config_tree_get(e, "layer");
    if (!st && (!name || !name->text))
      st = wrong(err, name ? name : e, "no layer", "layer: a name, or a pattern with * and ?");
    const struct tsr_node *whose = st ? NULL : tsr_config_tree_get(e, "workload");
    uint64_t number;
    if (whose) st = read_index(whose, &number, err);
    const struct tsr_node *set = st ? NULL : tsr_config_tree_get(e, "bypass");
    unsigned any = 0;
    if (set) st = read_bypass(set, &any, err);
    const struct tsr_node *place = st ? NULL : tsr_config_tree_get(e, "place");
    struct tsr_placement how = {0};
    if (place) st = read_place(place, &how, err);
    if (!st && !tsr_config_tree_get(e, "loops")) st = check_short(e, err);
  }
  return st;
}

enum tsr_status tsr_mapping_file_read(const char *path, const char *text,
                                      struct tsr_mapping_file **out, struct tsr_err *err) {
  struct tsr_arena *arena = tsr_arena_create();
  struct tsr_mapping_file *f = arena ? tsr_arena_array(arena, 1, sizeof *f) : NULL;
  struct tsr_node *root = NULL;
  if (!f) {
    tsr_arena_destroy(arena);
    return tsr_err_nomem(err);
  }
  *f = (struct tsr_mapping_file){.arena = arena, .text = text};
  enum tsr_status st = text ? tsr_config_tree_parse(arena, path, text, strlen(text), &root, err)
                            : tsr_config_tree_read(arena, path, &root, &f->text, err);
  if (!st) st = check_kind(root, TSR_NODE_MAP, "mapping file", err);
  if (!st) st = check_head(f, root, err);
  if (!st) {
    f->text = tsr_arena_strdup(arena, f->text);
    f->used = tsr_arena_array(arena, f->layers->n + 1, sizeof *f->used);
    f->avoided = tsr_arena_array(arena, f->layers->n + 1, sizeof *f->avoided);
    if (!f->text || !f->used || !f->avoided) st = tsr_err_nomem(err);
  }
  if (st) {
    tsr_arena_destroy(arena);
    return st;
  }
  *out = f;
  return TSR_OK;
}

void tsr_mapping_file_destroy(struct tsr_mapping_file *f) {
  if (f) tsr_arena_destroy(f->arena);
}

const char *tsr_mapping_file_text(const struct tsr_mapping_file *f) {
  return f->text;
}

void tsr_mapping_file_workload(struct tsr_mapping_file *f, size_t workload) {
  f->workload = workload;
}

struct tsr_residency tsr_mapping_file_residency(const struct tsr_mapping_file *f) {
  return f->residency;
}

/* The first entry of a layer, NULL: there is none; exact: by its name, not a pattern. */
static const struct tsr_node *entry_of(const struct tsr_mapping_file *f, const char *layer,
                                       size_t *index, bool *exact) {
  for (*index = 0; *index < f->layers->n; ++*index) {
    const struct tsr_node *n = f->layers->items[*index];
    const char *name = tsr_config_tree_get(n, "layer")->text;
    const struct tsr_node *whose = tsr_config_tree_get(n, "workload");
    uint64_t workload = 0;
    if (whose && (read_index(whose, &workload, NULL) || workload != f->workload)) continue;
    *exact = !strcmp(name, layer);
    if (*exact || fnmatch(name, layer, 0) == 0) return n;
  }
  return NULL;
}

unsigned tsr_mapping_file_bypass(const struct tsr_mapping_file *f, const char *layer) {
  size_t index;
  bool exact;
  unsigned set = 0;
  const struct tsr_node *n = entry_of(f, layer, &index, &exact);
  const struct tsr_node *list = n ? tsr_config_tree_get(n, "bypass") : NULL;
  if (list) (void)read_bypass(list, &set, NULL); /* it was read before */
  return set;
}

struct tsr_placement tsr_mapping_file_place(const struct tsr_mapping_file *f, const char *layer,
                                            const struct tsr_pos **pos) {
  size_t index;
  bool exact;
  struct tsr_placement p = {0};
  const struct tsr_node *n = entry_of(f, layer, &index, &exact);
  const struct tsr_node *place = n ? tsr_config_tree_get(n, "place") : NULL;
  if (place) (void)read_place(place, &p, NULL); /* it was read before */
  *pos = place && exact ? &place->pos : NULL;
  return p;
}

/* ---- an entry against operator and machine ---- */

struct entry {
  const struct tsr_node *node;
  const struct tsr_shape *s; /* the layer's, and of a core's part */
  struct tsr_shape part;
  struct tsr_target t; /* with the buffers that it takes */
  bool pattern; /* it may be that of many layers: a tile of more than an axis is all of it */
  struct tsr_split *split;
  struct tsr_mapping *m;
  struct tsr_err *err;
};

static enum tsr_status read_dataflow(const struct entry *e) {
  const struct tsr_node *n = tsr_config_tree_get(e->node, "dataflow");
  const char *have = tsr_flow_names[e->t.flow];
  if (!n || (n->text && !strcmp(n->text, have))) return TSR_OK;
  return tsr_err_at(e->err, TSR_INPUT, &n->pos,
                    "the machine's tile is %s; expected that, or another tile.dataflow, got %s",
                    have, n->text ? n->text : "no word");
}

/* Elements of one part, where the entry says how many; they come to as many parts. */
static enum tsr_status read_chunk(const struct entry *e, int axis, uint64_t *chunk,
                                  uint64_t parts) {
  const struct tsr_node *all = tsr_config_tree_get(e->node, "chunk");
  const struct tsr_node *n = all ? tsr_config_tree_get(all, axis_name(e->s->conv, axis)) : NULL;
  if (!n) return TSR_OK;
  enum tsr_status st = read_count(n, chunk, e->err);
  if (!st && tsr_ceil_div(e->s->size[axis], *chunk) != parts)
    st = tsr_err_at(e->err, TSR_INPUT, &n->pos,
                    "%" PRIu64 " elements of axis %s in chunks of %" PRIu64 " are %" PRIu64
                    " parts; expected the %" PRIu64 " of cores",
                    e->s->size[axis], axis_name(e->s->conv, axis), *chunk,
                    tsr_ceil_div(e->s->size[axis], *chunk), parts);
  return st;
}

/* Chunks are of axes that cores divide. */
static enum tsr_status check_chunks(const struct entry *e) {
  const struct tsr_node *chunk = tsr_config_tree_get(e->node, "chunk"),
                        *cores = tsr_config_tree_get(e->node, "cores");
  enum tsr_status st = chunk ? check_kind(chunk, TSR_NODE_MAP, "chunk", e->err) : TSR_OK;
  for (size_t i = 0; !st && chunk && i < chunk->n; i++) {
    const struct tsr_entry *c = &chunk->entries[i];
    if (cores && tsr_config_tree_get(cores, c->key)) continue;
    st = tsr_err_at(e->err, TSR_INPUT, &c->key_pos,
                    "a chunk of '%s'; expected an axis that the key cores divides", c->key);
  }
  return st;
}

static enum tsr_status read_cores(const struct entry *e, uint64_t cores) {
  const struct tsr_node *n = tsr_config_tree_get(e->node, "cores");
  if (!n) return check_chunks(e);
  enum tsr_status st = check_kind(n, TSR_NODE_MAP, "cores", e->err);
  struct tsr_split x = {.axis = {TSR_AXIS_G, TSR_AXIS_G},
                        .chunk = {e->s->size[TSR_AXIS_G], e->s->size[TSR_AXIS_G]},
                        .parts = {1, 1}};
  if (!st) st = check_chunks(e);
  if (!st && n->n > 2) st = wrong(e->err, n, "too many axes", "at most two that cores divide");
  for (size_t i = 0; !st && i < n->n; i++) {
    const struct tsr_entry *c = &n->entries[i];
    const struct tsr_node key = {.kind = TSR_NODE_SCALAR, .pos = c->key_pos, .text = c->key};
    int axis = 0;
    uint64_t parts = 1;
    st = read_axis(&key, e->s->conv, &axis, e->err);
    if (!st) st = read_count(c->value, &parts, e->err);
    if (st) return st;
    if (parts > e->s->size[axis] || (n->n > 1 && tsr_axis_is_k(axis)))
      return wrong(
          e->err, c->value, "parts of an axis",
          "at most as many as it has elements; cores that divide k divide nothing else");
    x.axis[i] = (enum tsr_isa_axis)axis;
    x.parts[i] = tsr_split_divide(e->s, &e->t, (enum tsr_isa_axis)axis, parts, &x.chunk[i]);
    st = read_chunk(e, axis, &x.chunk[i], parts);
    if (st) return st;
    x.parts[i] = tsr_ceil_div(e->s->size[axis], x.chunk[i]);
  }
  if (st) return st;
  if (n->n < 2) { /* one axis, twice */
    x.axis[1] = x.axis[0];
    x.chunk[1] = e->s->size[x.axis[1]];
  }
  if (tsr_split_cores(&x) > cores)
    return tsr_err_at(e->err, TSR_INPUT, &n->pos,
                      "parts for %" PRIu64 " cores; expected at most %" PRIu64
                      ", those that the layer may use",
                      tsr_split_cores(&x), cores);
  *e->split = x;
  return TSR_OK;
}

static enum tsr_status read_loop(const struct entry *e, const struct tsr_node *l,
                                 enum tsr_isa_axis *order, int *n) {
  static const char *const keys[] = {"axis", "tile", NULL};
  int axis = 0;
  uint64_t tile = 0;
  enum tsr_status st = check_kind(l, TSR_NODE_MAP, "loop", e->err);
  if (!st) st = check_keys(l, keys, e->err);
  const struct tsr_node *a = st ? NULL : tsr_config_tree_get(l, "axis"),
                        *t = st ? NULL : tsr_config_tree_get(l, "tile");
  if (!st && (!a || !t)) st = wrong(e->err, l, "half a loop", "{axis: …, tile: …}");
  if (!st) st = read_axis(a, e->s->conv, &axis, e->err);
  if (!st) st = read_count(t, &tile, e->err);
  if (st) return st;
  for (int i = 0; i < *n; i++)
    if (order[i] == (enum tsr_isa_axis)axis)
      return wrong(e->err, a, "a second loop over an axis", "each axis once");
  if (tile > e->part.size[axis] && e->pattern) tile = e->part.size[axis];
  if (tile > e->part.size[axis])
    return tsr_err_at(e->err, TSR_INPUT, &t->pos,
                      "tile of axis %s; expected at most its %" PRIu64
                      " elements%s, got %" PRIu64,
                      axis_name(e->s->conv, axis), e->part.size[axis],
                      tsr_split_cores(e->split) > 1 ? " of a core" : "", tile);
  e->m->tile[axis] = tile;
  order[(*n)++] = (enum tsr_isa_axis)axis;
  return TSR_OK;
}

static enum tsr_status read_loops(const struct entry *e) {
  const struct tsr_node *n = tsr_config_tree_get(e->node, "loops");
  enum tsr_isa_axis order[TSR_AXIS_COUNT];
  int listed = 0;
  memcpy(e->m->tile, e->part.size, sizeof e->m->tile);
  enum tsr_status st = check_kind(n, TSR_NODE_SEQ, "loops", e->err);
  for (size_t i = 0; !st && i < n->n; i++) st = read_loop(e, n->items[i], order, &listed);
  if (st) return st;
  for (int x = 0; x < TSR_AXIS_COUNT; x++) { /* the others have one trip */
    int i = 0;
    while (i < listed && order[i] != (enum tsr_isa_axis)x) i++;
    if (i == listed) order[listed++] = (enum tsr_isa_axis)x;
  }
  tsr_mapping_loops(&e->part, order, e->m);
  tsr_mapping_finish(&e->part, &e->t, e->m);
  return TSR_OK;
}

static enum tsr_status read_buffers(struct entry *e) {
  static const char *const keys[] = {"a", "b", "c", NULL};
  enum { MOST = 16 };
  const struct tsr_node *n = tsr_config_tree_get(e->node, "buffers");
  if (!n) return TSR_OK;
  enum tsr_status st = check_kind(n, TSR_NODE_MAP, "buffers", e->err);
  if (!st) st = check_keys(n, keys, e->err);
  for (int b = 0; !st && b < 3; b++) {
    const struct tsr_node *v = tsr_config_tree_get(n, keys[b]);
    if (!v) continue;
    st = read_count(v, &e->m->slots[b], e->err);
    if (!st && e->m->slots[b] > MOST) st = wrong(e->err, v, "buffers", "at most 16");
    if (!st && b == 2 && (e->t.promote || e->t.epilogue) &&
        e->m->slots[b] != TSR_PROMOTED_SLOTS)
      st = wrong(e->err, v, "buffers of sums that wait for the vector unit", "2");
    if (e->m->slots[b] == e->t.slots[b]) e->m->slots[b] = 0;
  }
  tsr_mapping_target(e->m, &e->t);
  return st;
}

/* The loop to blame: one inside k that moves results, or one of k out of order, else the
 * innermost of k, else all. */
static const struct tsr_pos *culprit(const struct entry *e, enum tsr_mapping_fault f) {
  const struct tsr_node *loops = tsr_config_tree_get(e->node, "loops"), *worst = loops;
  int k = -1;
  for (size_t i = 0; i < loops->n; i++) {
    const struct tsr_node *a = tsr_config_tree_get(loops->items[i], "axis");
    int axis = 0;
    if (!a || read_axis(a, e->s->conv, &axis, NULL)) continue;
    bool moves = f == TSR_MAPPING_SUMS && k >= 0 && !tsr_axis_is_k(axis);
    bool before = f == TSR_MAPPING_K && tsr_axis_is_k(axis) && axis < k;
    if (moves || before) return &a->pos;
    if (!tsr_axis_is_k(axis)) continue;
    k = axis;
    if (f == TSR_MAPPING_K || f == TSR_MAPPING_PROMOTED) worst = a;
  }
  return &worst->pos;
}

static enum tsr_status check_sound(const struct entry *e) {
  static const char *const why[] = {
      [TSR_MAPPING_SUMS] = "a loop that moves results inside a loop of k; expected loops of k "
                           "innermost: sums stay where they are until they are complete",
      [TSR_MAPPING_K] =
          "loops or tile of k; expected kh, kw, c in this order and a tile that is a "
          "run of k: whole axes inside the one that is cut, single steps outside",
      [TSR_MAPPING_PROMOTED] =
          "tile of k; expected the one that tile.promote or tile.group gives",
      [TSR_MAPPING_RULES] = "a tile that the program has no form for; expected one group in a "
                            "tile unless all of k "
                            "and n are, channels that divide those of a group, and under os, "
                            "where k is cut, one fold"};
  uint64_t bytes[3];
  const struct tsr_node *n = tsr_config_tree_get(e->node, "loops");
  enum tsr_mapping_fault f = tsr_mapping_check(&e->part, &e->t, e->m, bytes);
  if (f == TSR_MAPPING_SOUND) return TSR_OK;
  if (f != TSR_MAPPING_ROOM) return tsr_err_at(e->err, TSR_INPUT, culprit(e, f), "%s", why[f]);
  int b = 0;
  char need[48], have[48];
  while (bytes[b] <= e->t.slot_bytes[b]) b++;
  return tsr_err_at(
      e->err, TSR_INPUT, &n->pos,
      "a tile takes %s of scratchpad %c; expected at most %s, one of its %" PRIu64 " buffers",
      tsr_quantity_print(bytes[b], TSR_UNIT_BYTES, need), "abc"[b],
      tsr_quantity_print(e->t.slot_bytes[b], TSR_UNIT_BYTES, have), e -> t.slots[b]);
}

/* ---- what follows from a mapping ---- */

/* Whether an operand is loaded once: no loop that it does not follow stands around its
 * transfers. */
static bool is_resident(const struct tsr_mapping *m, int tensor) {
  uint32_t level = tsr_mapping_level(m, tensor);
  for (uint32_t i = 0; i < level; i++)
    if (!tsr_mapping_follows(tensor, m->loop[i].axis)) return false;
  return true;
}

static enum tsr_status check_spatial(const struct entry *e) {
  static const char *const keys[] = {"rows", "cols", NULL};
  const struct tsr_node *n = tsr_config_tree_get(e->node, "spatial");
  const enum tsr_isa_axis have[] = {e->m->spatial_rows, e->m->spatial_cols};
  if (!n) return TSR_OK;
  enum tsr_status st = check_kind(n, TSR_NODE_MAP, "spatial", e->err);
  if (!st) st = check_keys(n, keys, e->err);
  for (int i = 0; !st && i < 2; i++) {
    const struct tsr_node *v = tsr_config_tree_get(n, keys[i]);
    int axis = 0;
    if (!v) continue;
    st = read_axis(v, e->s->conv, &axis, e->err);
    if (!st && axis != (int)have[i])
      st = tsr_err_at(e->err, TSR_INPUT, &v->pos,
                      "%s of the array under %s; expected %s, got %s", keys[i],
                      tsr_flow_names[e->m->flow], axis_name(e->s->conv, (int)have[i]), v->text);
  }
  return st;
}

static const char *level_name(const struct tsr_target *t, int tensor) {
  static const char *const names[] = {"dram", "llb", "sram"};
  return names[tsr_mapping_home(t, tensor)];
}

/* Where tensors come from and go to, as the plan has it. */
static enum tsr_status check_levels(const struct entry *e) {
  static const char *const keys[] = {"a", "b", "c", NULL};
  const struct tsr_node *n = tsr_config_tree_get(e->node, "levels");
  if (!n) return TSR_OK;
  enum tsr_status st = check_kind(n, TSR_NODE_MAP, "levels", e->err);
  if (!st) st = check_keys(n, keys, e->err);
  for (int i = 0; !st && i < 3; i++) {
    const struct tsr_node *v = tsr_config_tree_get(n, keys[i]);
    const char *have = level_name(&e->t, i);
    if (v && (!v->text || strcmp(v->text, have) != 0))
      st = tsr_err_at(e->err, TSR_INPUT, &v->pos,
                      "level of %s; expected %s (sram where `keep` has room from producer to "
                      "consumers, llb where there is one that `bypass` does not name), got %s",
                      keys[i], have, v->text ? v->text : "no word");
  }
  return st;
}

static enum tsr_status check_rest(const struct entry *e) {
  const struct tsr_node *cut = tsr_config_tree_get(e->node, "k_cut"),
                        *resident = tsr_config_tree_get(e->node, "resident");
  enum tsr_status st = check_spatial(e);
  if (!st) st = check_levels(e);
  uint64_t k = 0;
  if (!st && cut) st = read_count(cut, &k, e->err);
  if (!st && cut && k != e->m->k_cut)
    st = tsr_err_at(e->err, TSR_INPUT, &cut->pos,
                    "k after which sums leave the array; expected %" PRIu64
                    " (0: leave the key out), got %" PRIu64,
                    e->m->k_cut, k);
  if (!st && resident) st = check_kind(resident, TSR_NODE_SEQ, "resident", e->err);
  for (size_t i = 0; !st && resident && i < resident->n; i++) {
    const struct tsr_node *v = resident->items[i];
    int tensor = v->text && !strcmp(v->text, "b");
    if (!v->text || (!tensor && strcmp(v->text, "a") != 0))
      st = wrong(e->err, v, "resident operand", "a or b");
    else if (!is_resident(e->m, tensor))
      st = wrong(e->err, v, "an operand that a loop around its own loads again",
                 "only those that stay");
  }
  return st;
}

enum tsr_status tsr_mapping_file_find(struct tsr_mapping_file *f, const char *layer,
                                      const struct tsr_shape *s, const struct tsr_target *t,
                                      uint64_t cores, struct tsr_split *split,
                                      struct tsr_mapping *out, bool *found,
                                      struct tsr_err *err) {
  size_t index;
  bool exact;
  const struct tsr_node *n = entry_of(f, layer, &index, &exact);
  *found = false;
  if (!n) return TSR_OK;
  f->used[index] = true;
  if (!tsr_config_tree_get(n, "loops")) return TSR_OK;
  *found = true;
  const char *name = tsr_config_tree_get(n, "layer")->text;
  struct entry e = {.node = n,
                    .s = s,
                    .t = *t,
                    .pattern = !exact && strpbrk(name, "*?[") != NULL,
                    .split = split,
                    .m = out,
                    .err = err};
  *out = (struct tsr_mapping){0};
  enum tsr_status st = read_dataflow(&e);
  if (!st) st = read_cores(&e, cores);
  e.part = tsr_split_largest(split, s);
  if (!st) st = read_buffers(&e);
  if (!st) st = read_loops(&e);
  if (!st) st = check_sound(&e);
  if (!st) st = check_rest(&e);
  if (st) tsr_err_hint(err, "the entry is that of layer '%s'", layer);
  return st;
}

/* ---- attention ---- */

/* Whether an entry says no more than tiles of queries and keys. */
static bool is_attention(const struct tsr_node *n) {
  static const char *const keys[] = {"layer", "workload", "loops", "resident", "bypass"};
  const struct tsr_node *loops = tsr_config_tree_get(n, "loops");
  for (size_t i = 0; i < n->n; i++) {
    size_t k = 0;
    while (k < sizeof keys / sizeof *keys && strcmp(keys[k], n->entries[i].key) != 0) k++;
    if (k == sizeof keys / sizeof *keys) return false;
  }
  for (size_t i = 0; loops && loops->kind == TSR_NODE_SEQ && i < loops->n; i++) {
    const struct tsr_node *a = loops->items[i]->kind == TSR_NODE_MAP
                                   ? tsr_config_tree_get(loops->items[i], "axis")
                                   : NULL;
    if (a && a->text && (!strcmp(a->text, "k") || !strcmp(a->text, "g"))) return false;
  }
  return true;
}

static enum tsr_status read_tiles(const struct tsr_node *loops, const uint64_t size[2],
                                  bool pattern, struct tsr_attention_tiles *out,
                                  struct tsr_err *err) {
  static const char *const keys[] = {"axis", "tile", NULL}, *const axes[] = {"m", "n"};
  uint64_t tile[2] = {size[0], size[1]};
  int next = 0;
  enum tsr_status st = check_kind(loops, TSR_NODE_SEQ, "loops", err);
  for (size_t i = 0; !st && i < loops->n; i++) {
    const struct tsr_node *l = loops->items[i];
    st = check_kind(l, TSR_NODE_MAP, "loop", err);
    if (!st) st = check_keys(l, keys, err);
    const struct tsr_node *a = st ? NULL : tsr_config_tree_get(l, "axis"),
                          *t = st ? NULL : tsr_config_tree_get(l, "tile");
    if (!st && (!a || !t)) st = wrong(err, l, "half a loop", "{axis: …, tile: …}");
    while (!st && next < 2 && (!a->text || strcmp(a->text, axes[next]) != 0)) next++;
    if (!st && next == 2)
      st = wrong(err, a, "axis of an attention", "m (queries), then n (keys)");
    uint64_t v = 0;
    if (!st) st = read_count(t, &v, err);
    if (!st && v > size[next] && !pattern)
      st =
          tsr_err_at(err, TSR_INPUT, &t->pos,
                     "tile of axis %s; expected at most its %" PRIu64 " elements, got %" PRIu64,
                     axes[next], size[next], v);
    if (!st) tile[next] = tsr_min_u64(v, size[next]);
    next++;
  }
  if (!st) *out = (struct tsr_attention_tiles){tile[0], tile[1], false};
  return st;
}

enum tsr_status tsr_mapping_file_attention(struct tsr_mapping_file *f, const char *layer,
                                           const uint64_t size[2],
                                           struct tsr_attention_tiles *out, bool *found,
                                           const struct tsr_pos **pos, struct tsr_err *err) {
  size_t index;
  bool exact;
  const struct tsr_node *n = entry_of(f, layer, &index, &exact);
  *found = false;
  if (!n) return TSR_OK;
  if (!exact && !is_attention(n)) {
    f->avoided[index] = true;
    return TSR_OK;
  }
  f->used[index] = true;
  const struct tsr_node *loops = tsr_config_tree_get(n, "loops"),
                        *resident = tsr_config_tree_get(n, "resident");
  if (!loops) return TSR_OK;
  if (!is_attention(n))
    return wrong(err, n, "an attention's entry",
                 "layer, loops over m and n, resident, bypass alone");
  *found = true;
  *pos = &loops->pos;
  enum tsr_status st = read_tiles(loops, size, !exact, out, err);
  if (!st && resident) st = check_kind(resident, TSR_NODE_SEQ, "resident", err);
  for (size_t i = 0; !st && resident && i < resident->n; i++) {
    const struct tsr_node *v = resident->items[i];
    if (!v->text || strcmp(v->text, "b") != 0)
      st = wrong(err, v, "resident operand", "b: keys and values");
    out->resident = true;
  }
  if (st) tsr_err_hint(err, "the entry is that of layer '%s'", layer);
  return st;
}

enum tsr_status tsr_mapping_file_used(const struct tsr_mapping_file *f, struct tsr_err *err) {
  enum tsr_status st = TSR_OK;
  for (size_t i = 0; i < f->layers->n; i++) {
    if (f->used[i]) continue;
    const struct tsr_node *n = tsr_config_tree_get(f->layers->items[i], "layer");
    st = tsr_err_at(
        err, TSR_INPUT, &n->pos,
        f->avoided[i] ? "'%s' fits attention alone, whose entries are layer, loops over m and "
                        "n, resident, bypass and workload; expected no other key or axis"
                      : "no matmul, convolution or attention fits '%s', or an entry above fits "
                        "all that do",
        n->text);
  }
  return st;
}

/* ---- writing ---- */

void tsr_mapping_write_head(const struct tsr_residency *r, bool layers, struct tsr_str *out) {
  tsr_str_add(out, "version: 1\n");
  if (r->keep_bytes) tsr_str_addf(out, "keep: %" PRIu64 "B\n", r->keep_bytes);
  if (r->weights_bypass) tsr_str_add(out, "bypass: weights\n");
  tsr_str_add(out, layers ? "layers:\n" : "layers: []\n");
}

static void write_set(const char *key, unsigned set, struct tsr_str *out) {
  tsr_str_addf(out, "    %s: [", key);
  for (int i = 0, n = 0; i < 3; i++)
    if (set & 1u << i) tsr_str_addf(out, "%s%c", n++ ? ", " : "", "abc"[i]);
  tsr_str_add(out, "]\n");
}
static void write_place(const struct tsr_placement *p, struct tsr_str *out) {
  if (!p->align_bytes && !p->skew_bytes && !p->pad_bytes && !p->tiled) return;
  tsr_str_addf(out, "    place: {layout: %s", p->tiled ? "tiled" : "row");
  if (p->align_bytes) tsr_str_addf(out, ", align: %" PRIu64 "B", p->align_bytes);
  if (p->skew_bytes) tsr_str_addf(out, ", skew: %" PRIu64 "B", p->skew_bytes);
  if (p->pad_bytes) tsr_str_addf(out, ", pad: %" PRIu64 "B", p->pad_bytes);
  tsr_str_add(out, "}\n");
}

/* As a pattern of this name alone. */
static void write_name(const char *layer, struct tsr_str *out) {
  struct tsr_str pattern = TSR_STR_INIT;
  for (const char *c = layer; *c; c++)
    tsr_str_addf(&pattern, "%s%c", strchr("*?[\\", *c) ? "\\" : "", *c);
  tsr_str_add_json(out, pattern.p ? pattern.p : "");
  out->failed = out->failed || pattern.failed;
  tsr_str_fini(&pattern);
}

void tsr_mapping_write(const char *layer, const struct tsr_shape *s,
                       const struct tsr_mapping *m, const struct tsr_split *split,
                       const struct tsr_target *t, struct tsr_str *out) {
  struct tsr_target own = *t;
  tsr_mapping_target(m, &own);
  bool a = is_resident(m, 0), b = is_resident(m, 1);
  tsr_str_add(out, "  - layer: ");
  write_name(layer, out);
  tsr_str_addf(out, "\n    dataflow: %s\n", tsr_flow_names[m->flow]);
  if (tsr_split_cores(split) > 1) {
    tsr_str_add(out, "    cores: {");
    for (int i = 0, n = 0; i < 2; i++)
      if (split->parts[i] > 1)
        tsr_str_addf(out, "%s%s: %" PRIu64, n++ ? ", " : "",
                     axis_name(s->conv, (int)split->axis[i]), split->parts[i]);
    tsr_str_add(out, "}\n    chunk: {");
    for (int i = 0, n = 0; i < 2; i++)
      if (split->parts[i] > 1)
        tsr_str_addf(out, "%s%s: %" PRIu64, n++ ? ", " : "",
                     axis_name(s->conv, (int)split->axis[i]), split->chunk[i]);
    tsr_str_add(out, "}\n");
  }
  tsr_str_add(out, m->n_loops ? "    loops:\n" : "    loops: []\n");
  for (uint32_t i = 0; i < m->n_loops; i++)
    tsr_str_addf(out, "      - {axis: %s, tile: %" PRIu64 "}  # %" PRIu64 " trips\n",
                 axis_name(s->conv, (int)m->loop[i].axis), m->loop[i].tile, m->loop[i].trips);
  uint64_t c = m->promoted || t->epilogue ? TSR_PROMOTED_SLOTS : own.slots[2];
  tsr_str_addf(out, "    buffers: {a: %" PRIu64 ", b: %" PRIu64 ", c: %" PRIu64 "}\n",
               own.slots[0], own.slots[1], c);
  tsr_str_addf(out, "    spatial: {rows: %s, cols: %s}\n",
               axis_name(s->conv, (int)m->spatial_rows),
               axis_name(s->conv, (int)m->spatial_cols));
  if (m->k_cut) tsr_str_addf(out, "    k_cut: %" PRIu64 "\n", m->k_cut);
  if (a || b) write_set("resident", (unsigned)a | (unsigned)b << 1, out);
  if (t->bypass) write_set("bypass", t->bypass, out);
  write_place(&t->place, out);
  if (t->near[0] || t->near[1] || t->near[2] || t->llb_bytes)
    tsr_str_addf(out, "    levels: {a: %s, b: %s, c: %s}\n", level_name(t, 0), level_name(t, 1),
                 level_name(t, 2));
}

void tsr_mapping_write_workload(size_t workload, struct tsr_str *out) {
  tsr_str_addf(out, "    workload: %zu\n", workload);
}

void tsr_mapping_write_attention(const char *layer, const struct tsr_attention_tiles *t,
                                 struct tsr_str *out) {
  tsr_str_add(out, "  - layer: ");
  write_name(layer, out);
  tsr_str_addf(out,
               "\n    loops:\n      - {axis: m, tile: %" PRIu64 "}\n      - {axis: n, tile: "
               "%" PRIu64 "}\n",
               t->m, t->n);
  if (t->resident) write_set("resident", 1u << 1, out);
}
