/* SCALE-Sim's configuration: sections of `Key : value` lines, to an architecture. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "workloads/exchange/import_int.h"

enum use { USE_SIZE, USE_NAME, USE_FLOW, USE_MODE, USE_BANDWIDTH, USE_NONE };

/* What a file says. */
struct config {
  uint64_t rows, cols, ifmap_kb, filter_kb, ofmap_kb, bandwidth;
  char name[64];
  const char *flow; /* static */
  bool user;        /* bandwidth is given, not calculated */
};

#define PLACE(field) offsetof(struct config, field)
/* SRC:scalesim, the keys of its configuration; names are compared without case, as there. */
static const struct row {
  const char *section, *key;
  enum use use;
  bool needed;
  const char *as; /* our key, or the reason */
  size_t place;
} rows[] = {
    {"general", "run_name", USE_NAME, false, "name", 0},
    {"architecture_presets", "ArrayHeight", USE_SIZE, true, "tile.rows", PLACE(rows)},
    {"architecture_presets", "ArrayWidth", USE_SIZE, true, "tile.cols", PLACE(cols)},
    {"architecture_presets", "IfmapSramSzkB", USE_SIZE, true, "sram.a.size", PLACE(ifmap_kb)},
    {"architecture_presets", "FilterSramSzkB", USE_SIZE, true, "sram.b.size", PLACE(filter_kb)},
    {"architecture_presets", "OfmapSramSzkB", USE_SIZE, true, "sram.c.size", PLACE(ofmap_kb)},
    {"architecture_presets", "Dataflow", USE_FLOW, true, "tile.dataflow", 0},
    {"architecture_presets", "Bandwidth", USE_BANDWIDTH, false, "dram.bandwidth",
     PLACE(bandwidth)},
    {"run_presets", "InterfaceBandwidth", USE_MODE, true, "dram.bandwidth", 0},
    {"architecture_presets", "IfmapOffset", USE_NONE, false,
     "addresses of operands are given out by the run", 0},
    {"architecture_presets", "FilterOffset", USE_NONE, false,
     "addresses of operands are given out by the run", 0},
    {"architecture_presets", "OfmapOffset", USE_NONE, false,
     "addresses of operands are given out by the run", 0},
    {"architecture_presets", "MemoryBanks", USE_NONE, false,
     "the memory has no banks in its timing without Ramulator; see dram.model", 0},
    {"architecture_presets", "ReadRequestBuffer", USE_NONE, false,
     "a queue of its Ramulator path; see dma.outstanding", 0},
    {"architecture_presets", "WriteRequestBuffer", USE_NONE, false,
     "a queue of its Ramulator path; see dma.outstanding", 0},
    {"layout", "IfmapCustomLayout", USE_NONE, false, "see sram.a.layout", 0},
    {"layout", "IfmapSRAMBankBandwidth", USE_NONE, false,
     "used with a layout file alone; see sram.a.width", 0},
    {"layout", "IfmapSRAMBankNum", USE_NONE, false,
     "used with a layout file alone; see sram.a.banks", 0},
    {"layout", "IfmapSRAMBankPort", USE_NONE, false,
     "used with a layout file alone; see sram.a.ports", 0},
    {"layout", "FilterCustomLayout", USE_NONE, false, "see sram.b.layout", 0},
    {"layout", "FilterSRAMBankBandwidth", USE_NONE, false,
     "used with a layout file alone; see sram.b.width", 0},
    {"layout", "FilterSRAMBankNum", USE_NONE, false,
     "used with a layout file alone; see sram.b.banks", 0},
    {"layout", "FilterSRAMBankPort", USE_NONE, false,
     "used with a layout file alone; see sram.b.ports", 0},
    {"sparsity", "SparsitySupport", USE_NONE, false,
     "sparsity is read from the topology, layer by layer", 0},
    {"sparsity", "SparseRep", USE_NONE, false, "a format of its reports", 0},
    {"sparsity", "OptimizedMapping", USE_NONE, false,
     "sparsity is read from the topology, layer by layer", 0},
    {"sparsity", "BlockSize", USE_NONE, false,
     "sparsity is read from the topology, layer by layer", 0},
    {"sparsity", "RandomNumberGeneratorSeed", USE_NONE, false,
     "of its random sparsity; see --seed", 0},
    {"run_presets", "UseRamulatorTrace", USE_NONE, false,
     "latencies of a recorded run; dram.model banks has a memory's own timing", 0},
    {"run_presets", "TimeLinearModel", USE_NONE, false,
     "a fit of cycles to microseconds of one chip; see clock", 0},
    {"network_presets", "TopologyCsvLoc", USE_NONE, false,
     "a topology is a file of its own here; see --workload", 0},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

struct reader {
  struct tsr_src src;
  struct tsr_err *err;
  struct tsr_import *im;
  enum tsr_status status;
  size_t at; /* of the line after the one at hand */
  uint32_t line;
  char section[64];
  uint32_t seen[ROWS]; /* line, 0: not yet */
  struct config c;
};

struct span {
  size_t at, n;
  const char *p;
};

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span s) {
  while (s.n && is_blank(s.p[0])) s = (struct span){s.at + 1, s.n - 1, s.p + 1};
  while (s.n && is_blank(s.p[s.n - 1])) s.n--;
  return s;
}

/* n bytes of a line from `from` on. */
static struct span part(struct span s, size_t from, size_t n) {
  return trim((struct span){s.at + from, n, s.p + from});
}

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(const struct span *s, const char *word) {
  size_t i = 0;
  for (; i < s->n && word[i]; i++)
    if (lower(s->p[i]) != lower(word[i])) return false;
  return i == s->n && word[i] == '\0';
}

static int shown(const struct span *s) {
  return (int)tsr_min_u64(s->n, 40);
}

static void wrong(struct reader *r, const struct span *s, const char *what,
                  const char *expected) {
  struct tsr_pos pos = {&r->src, r->line, (uint32_t)s->at + 1, (uint32_t)(s->n ? s->n : 1)};
  enum tsr_status st = tsr_err_at(r->err, TSR_INPUT, &pos, "%s; expected %s, got '%.*s'", what,
                                  expected, shown(s), s->p);
  if (!r->status) r->status = st;
}

static void read_size(struct reader *r, const struct row *row, const struct span *v) {
  uint64_t n = 0;
  size_t i = 0;
  for (; i < v->n && v->p[i] >= '0' && v->p[i] <= '9' && n <= UINT32_MAX; i++)
    n = 10 * n + (uint64_t)(v->p[i] - '0');
  if (i < v->n || n == 0 || n > UINT32_MAX) {
    wrong(r, v, row->key, "a whole number from 1 to 2^32 - 1");
    return;
  }
  memcpy((char *)&r->c + row->place, &n, sizeof n);
}

/* A list of numbers, of which SCALE-Sim takes the first for all its interfaces. */
static void read_bandwidth(struct reader *r, const struct row *row, struct span v) {
  const char *comma = v.n ? memchr(v.p, ',', v.n) : NULL;
  struct span first = comma ? part(v, 0, (size_t)(comma - v.p)) : v;
  read_size(r, row, &first);
}

static void read_word(struct reader *r, const struct row *row, const struct span *v) {
  static const char *const flows[] = {"os", "ws", "is"};
  if (row->use == USE_NAME) {
    size_t n = tsr_min_u64(v->n, sizeof r->c.name - 1);
    memcpy(r->c.name, v->p, n);
    r->c.name[n] = '\0';
    if (memchr(r->c.name, '\0', n)) wrong(r, v, row->key, "a name without NUL bytes");
    return;
  }
  if (row->use == USE_MODE) {
    r->c.user = same(v, "USER");
    if (!r->c.user && !same(v, "CALC")) wrong(r, v, row->key, "CALC or USER");
    return;
  }
  for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++)
    if (same(v, flows[i])) r->c.flow = flows[i];
  if (!r->c.flow) wrong(r, v, row->key, "os, ws or is");
}

static void read_known(struct reader *r, size_t i, const struct span *key, struct span value) {
  const struct row *row = &rows[i];
  if (r->seen[i]) {
    wrong(r, key, "key twice in its section", "each key once");
    return;
  }
  r->seen[i] = r->line;
  switch (row->use) {
  case USE_SIZE: read_size(r, row, &value); break;
  case USE_BANDWIDTH: read_bandwidth(r, row, value); break;
  case USE_NONE: break;
  case USE_NAME:
  case USE_FLOW:
  case USE_MODE: read_word(r, row, &value); break;
  }
  if (row->use == USE_BANDWIDTH) return; /* used or not: known at the end */
  if (!tsri_import_key(r->im, row->key, row->use != USE_NONE, row->as))
    r->status = tsr_err_nomem(r->err);
}

static void read_unknown(struct reader *r, const struct span *key) {
  struct tsr_pos pos = {&r->src, r->line, (uint32_t)key->at + 1, (uint32_t)key->n};
  char *name = tsr_mem_strndup(key->p, key->n);
  const char *names[ROWS];
  for (size_t i = 0; i < ROWS; i++) names[i] = rows[i].key;
  if (!name || !tsri_import_key(r->im, name, false, "no key that is known in its section")) {
    r->status = tsr_err_nomem(r->err);
  } else {
    tsr_err_warn(r->err, &pos, "key '%.*s' is not known in section [%s]; it is not used",
                 shown(key), name, r->section);
    const char *near = key->n < sizeof r->section ? tsr_err_nearest(name, names, ROWS) : NULL;
    if (near) tsr_err_hint(r->err, "did you mean '%s'?", near);
  }
  tsr_mem_free(name);
}

static void read_pair(struct reader *r, struct span line) {
  size_t sep = 0;
  while (sep < line.n && line.p[sep] != ':' && line.p[sep] != '=') sep++;
  struct span key = part(line, 0, sep);
  if (sep == line.n || key.n == 0) {
    wrong(r, &line, "malformed line", "[section], 'Key : value' or a comment behind #");
    return;
  }
  if (!r->section[0]) {
    wrong(r, &key, "key before the first section", "a section such as [general] above it");
    return;
  }
  const struct span in = {0, strlen(r->section), r->section};
  for (size_t i = 0; i < ROWS; i++)
    if (same(&in, rows[i].section) && same(&key, rows[i].key)) {
      read_known(r, i, &key, part(line, sep + 1, line.n - sep - 1));
      return;
    }
  read_unknown(r, &key);
}

static void read_section(struct reader *r, struct span line) {
  if (line.n < 3 || line.p[line.n - 1] != ']' || line.n - 2 >= sizeof r->section) {
    wrong(r, &line, "malformed section", "a name in brackets such as [general]");
    return;
  }
  memcpy(r->section, line.p + 1, line.n - 2);
  r->section[line.n - 2] = '\0';
}

static bool next_line(struct reader *r, struct span *out) {
  if (r->at >= r->src.len) return false;
  const char *p = r->src.text + r->at, *end = memchr(p, '\n', r->src.len - r->at);
  size_t n = end ? (size_t)(end - p) : r->src.len - r->at;
  r->at += n + 1;
  r->line++;
  *out = trim((struct span){0, n, p});
  return true;
}

static void check_needed(struct reader *r) {
  bool user = r->c.user;
  for (size_t i = 0; i < ROWS; i++) {
    bool needed = rows[i].needed || (rows[i].use == USE_BANDWIDTH && user);
    if (!needed || r->seen[i] || r->status) continue;
    struct tsr_pos pos = {&r->src, r->line ? r->line : 1, 1, 1};
    r->status = tsr_err_at(
        r->err, TSR_INPUT, &pos, "key '%s' is missing; expected it in section [%s]%s",
        rows[i].key, rows[i].section, rows[i].needed ? "" : ", for InterfaceBandwidth is USER");
  }
}

/* ---- the architecture ---- */

/* Each of three interfaces (ifmap, filter, ofmap) has the bandwidth. */
enum { INTERFACES = 3 };

static void add_sram(struct tsr_str *s, const char *name, uint64_t kb, const char *from) {
  tsr_str_addf(
      s, "  %s: {size: %" PRIu64 "KiB, width: unlimited, ports: 1r1w, buffers: 2}   # %s\n",
      name, kb, from);
}

static void write_yaml(struct tsr_str *s, const struct config *c, const char *name) {
  tsr_str_addf(
      s,
      "# Made of a configuration of SCALE-Sim: its words are bytes, its array takes no\n"
      "# weights while it works, its scratchpads feed every port, no cycle has a time.\n"
      "version: 1\nname: %s\nclock: 1GHz\ncores: 1\n"
      "tile:\n  kind: systolic\n"
      "  rows: %" PRIu64 "   # ArrayHeight\n  cols: %" PRIu64 "   # ArrayWidth\n"
      "  dataflow: %s   # Dataflow\n  weight_preload: false\n"
      "  formats: {a: int8, b: int8, acc: int32, out: int8}\n  rates: {int8: 1}\n"
      "sram:\n",
      name, c->rows, c->cols, c->flow);
  add_sram(s, "a", c->ifmap_kb, "IfmapSramSzkB, both buffers");
  add_sram(s, "b", c->filter_kb, "FilterSramSzkB, both buffers");
  add_sram(s, "c", c->ofmap_kb, "OfmapSramSzkB, both buffers");
  tsr_str_add(s, "dma:\n  outstanding: 1024\n  burst: 64B\ndram:\n  model: simple\n"
                 "  channels: 1\n");
  if (c->user)
    tsr_str_addf(s, "  bandwidth: %" PRIu64 "GB/s   # Bandwidth, of three interfaces\n",
                 c->bandwidth * INTERFACES);
  else
    tsr_str_add(s, "  bandwidth: unlimited   # InterfaceBandwidth CALC: never too slow\n");
  tsr_str_add(s, "  latency: 0ns\n  capacity: unlimited\n");
}

static void read_lines(struct reader *r) {
  struct span line;
  while (next_line(r, &line) && r->status != TSR_NOMEM) {
    if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';') continue;
    if (line.p[0] == '[')
      read_section(r, line);
    else
      read_pair(r, line);
  }
}

static size_t row_of(enum use use) {
  size_t i = 0;
  while (rows[i].use != use) i++;
  return i;
}

static void finish(struct reader *r) {
  struct tsr_str yaml = TSR_STR_INIT;
  bool good = true;
  if (r->seen[row_of(USE_BANDWIDTH)])
    good = tsri_import_key(r->im, "Bandwidth", r->c.user,
                           r->c.user ? "dram.bandwidth" : "InterfaceBandwidth is CALC");
  good = good && tsri_import_name(r->im, r->c.name, r->src.path);
  if (good) write_yaml(&yaml, &r->c, r->im->name);
  if (!good || !tsri_import_text(r->im, &yaml)) r->status = tsr_err_nomem(r->err);
  tsr_str_fini(&yaml);
}

enum tsr_status tsr_import_scalesim(const char *path, const char *text, size_t len,
                                    struct tsr_import *out, struct tsr_err *err) {
  struct tsr_import im;
  size_t skip = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  struct reader r = {.src = {path, text + skip, len - skip}, .err = err, .im = &im};
  if (!tsri_import_init(&im, TSR_IMPORT_ARCH)) return tsr_err_nomem(err);
  read_lines(&r);
  check_needed(&r);
  if (!r.status) finish(&r);
  if (r.status)
    tsr_import_fini(&im);
  else
    *out = im;
  return r.status;
}
