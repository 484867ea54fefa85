/* ONNXim's JSON: a core configuration, a language model, or a list of models. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "workloads/exchange/import_int.h"
#include "workloads/exchange/json_int.h"

enum use { USE_SIZE, USE_WORD, USE_NONE };

struct row {
  const char *key;
  enum use use;
  bool needed;
  const char *as; /* our key, or the reason */
  size_t place;   /* in the struct of the file */
};

/* ---- the core configuration ---- */

struct core {
  uint64_t num_cores, core_freq, width, height, spad_kb, accum_kb, vector_bits, precision;
  uint64_t dram_freq, dram_channels, dram_req, dram_latency, dram_gb, icnt_freq, icnt_latency;
  const char *core_type, *dram_type, *icnt_type;
};

#define CORE(key, needed, as, field) \
  { key, USE_SIZE, needed, as, offsetof(struct core, field) }
#define WORD(key, as, field) \
  { key, USE_WORD, true, as, offsetof(struct core, field) }
#define NONE(key, reason) \
  { key, USE_NONE, false, reason, 0 }
#define LATENCY(key) NONE(key, "an operation's pipeline is one here; see vector.latency")
/* SRC:onnxim, Common.cc and SimulationConfig.h. */
static const struct row core_rows[] = {
    CORE("num_cores", true, "cores", num_cores),
    WORD("core_type", "tile.dataflow", core_type),
    CORE("core_freq", true, "clock", core_freq),
    CORE("core_width", true, "tile.cols", width),
    CORE("core_height", true, "tile.rows", height),
    CORE("spad_size", true, "sram.a.size, sram.b.size", spad_kb),
    CORE("accum_spad_size", true, "sram.c.size, as far as two results of the array", accum_kb),
    CORE("vector_process_bit", true, "vector.lanes", vector_bits),
    CORE("precision", true, "tile.formats", precision),
    WORD("dram_type", "dram.model", dram_type),
    CORE("dram_freq", true, "dram.bandwidth, dram.latency", dram_freq),
    CORE("dram_channels", true, "dram.channels", dram_channels),
    CORE("dram_req_size", false, "dma.burst, dram.bandwidth", dram_req),
    CORE("dram_latency", false, "dram.latency", dram_latency),
    CORE("dram_size", false, "dram.capacity", dram_gb),
    WORD("icnt_type", "noc.kind, where there is more than one core", icnt_type),
    CORE("icnt_freq", true, "dram.latency, noc.hop", icnt_freq),
    CORE("icnt_latency", false, "dram.latency, noc.hop", icnt_latency),
    NONE("sram_width", "its scratchpads have no ports that could be too slow"),
    LATENCY("add_latency"),
    LATENCY("mul_latency"),
    LATENCY("mac_latency"),
    LATENCY("div_latency"),
    LATENCY("exp_latency"),
    LATENCY("gelu_latency"),
    LATENCY("add_tree_latency"),
    LATENCY("scalar_sqrt_latency"),
    LATENCY("scalar_add_latency"),
    LATENCY("scalar_mul_latency"),
    NONE("core_print_interval", "how often it prints"),
    NONE("dram_print_interval", "how often it prints"),
    NONE("icnt_print_interval", "how often it prints"),
    NONE("dram_config_path",
         "a file of Ramulator; `tessera presets dram` has memories by name"),
    NONE("icnt_config_path", "a file of BookSim; see noc.kind"),
    NONE("layout", "activations are NHWC here"),
    NONE("scheduler", "layers are divided among cores by the run; see split"),
    NONE("partition", "which cores a workload takes is said with it: --workload W@0-1"),
    {0}};

struct reader {
  struct tsri_json j;
  struct tsr_import *im;
};

static bool nomem(struct reader *r) {
  return tsri_json_nomem(&r->j);
}

/* The row of a key, or NULL: a warning, and the key is listed. */
static const struct row *row_of(struct reader *r, const struct tsri_way *up, const char *key,
                                const struct row *rows, bool *good) {
  const struct row *row = rows;
  const char *names[64];
  size_t n = 0;
  while (row->key && strcmp(row->key, key) != 0) row++;
  if (row->key) {
    *good = tsri_import_key(r->im, key, row->use != USE_NONE, row->as);
    return row;
  }
  for (row = rows; row->key; row++) names[n++] = row->key;
  const struct tsri_way way = {up, key, 0};
  struct tsr_pos pos = tsri_json_pos(&r->j, &way, true);
  tsr_err_warn(r->j.err, &pos, "key '%s' is not known; it is not used", key);
  const char *near = strlen(key) < 64 ? tsr_err_nearest(key, names, n) : NULL;
  if (near) tsr_err_hint(r->j.err, "did you mean '%s'?", near);
  *good = tsri_import_key(r->im, key, false, "no key that is known");
  return NULL;
}

/* Sizes and words of the object, into `to`. */
static bool read_rows(struct reader *r, const struct tsri_way *way, json_t *o,
                      const struct row *rows, void *to) {
  const char *key;
  json_t *value;
  bool good = true;
  json_object_foreach(o, key, value) {
    (void)row_of(r, way, key, rows, &good);
    if (!good) return nomem(r);
  }
  for (const struct row *row = rows; row->key && good; row++) {
    void *place = (char *)to + row->place;
    uint64_t v;
    const char *word = NULL;
    memcpy(&v, place, sizeof v); /* what it is when it is left out */
    if (row->use == USE_SIZE) {
      good = tsri_json_u64(&r->j, way, o, row->key, 1, row->needed, &v);
      if (good && v > UINT32_MAX) {
        const struct tsri_way at = {way, row->key, 0};
        good = tsri_json_bad(&r->j, &at, "%s; expected less than 2^32", row->key);
      }
      if (good) memcpy(place, &v, sizeof v);
    } else if (row->use == USE_WORD) {
      good = tsri_json_word(&r->j, way, o, row->key, row->needed, &word);
      if (good && word) memcpy(place, &word, sizeof word);
    }
  }
  return good;
}

struct choice {
  const char *theirs, *ours;
};

/* Ours for a word of theirs; NULL: reported. */
static const char *choose(struct reader *r, const char *key, const char *word,
                          const struct choice *list, size_t n) {
  const struct tsri_way way = {NULL, key, 0};
  struct tsr_str all = TSR_STR_INIT;
  for (size_t i = 0; i < n; i++) {
    if (strcmp(list[i].theirs, word) == 0) {
      tsr_str_fini(&all);
      return list[i].ours;
    }
    tsr_str_addf(&all, "%s%s", i ? ", " : "", list[i].theirs);
  }
  tsri_json_bad(&r->j, &way, "%s; expected one of %s, got '%s'", key, all.p ? all.p : "others",
                word);
  tsr_str_fini(&all);
  return NULL;
}
#define CHOOSE(r, key, word, list) choose(r, key, word, list, sizeof list / sizeof list[0])

/* What the machine needs beside the file's own numbers. */
struct made {
  const char *flow, *noc, *memory;
  const char *format, *acc;
  uint64_t bandwidth_mb, latency_ps, hop_ps, c_bytes;
};

static const uint64_t mhz_ps = 1000000; /* a cycle at f MHz is this / f picoseconds */

static bool make(struct reader *r, const struct core *c, struct made *m) {
  static const struct choice flows[] = {{"systolic_ws", "ws"}, {"systolic_os", "os"}},
                             memories[] = {{"simple", "simple"},
                                           {"ramulator", "ramulator"},
                                           {"ramulator2", "ramulator"}},
                             nets[] = {{"simple", "crossbar"}, {"booksim2", "crossbar"}};
  static const struct {
    uint64_t bytes;
    const char *format, *acc;
  } formats[] = {{1, "int8", "int32"}, {2, "fp16", "fp32"}, {4, "fp32", "fp32"}};
  const struct tsri_way at_precision = {NULL, "precision", 0};
  m->flow = CHOOSE(r, "core_type", c->core_type, flows);
  if (!m->flow) return false;
  m->memory = CHOOSE(r, "dram_type", c->dram_type, memories);
  if (!m->memory) return false;
  m->noc = CHOOSE(r, "icnt_type", c->icnt_type, nets);
  if (!m->noc) return false;
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
    if (formats[i].bytes == c->precision) {
      m->format = formats[i].format;
      m->acc = formats[i].acc;
    }
  if (!m->format)
    return tsri_json_bad(&r->j, &at_precision,
                         "precision; expected 1, 2 or 4 bytes, got %" PRIu64, c->precision);
  return true;
}

/* A request a cycle from each channel, at the slower of the memory's clock and that of the
 * cores behind the interconnect.  false: above 64 bits. */
static bool make_rates(const struct core *c, struct made *m) {
  uint64_t line, memory, cores, result;
  if (!tsr_mul_u64(c->dram_channels, c->dram_req, &line) ||
      !tsr_mul_u64(line, c->dram_freq, &memory) || !tsr_mul_u64(line, c->core_freq, &cores) ||
      !tsr_mul_u64(cores, c->num_cores, &cores) || !tsr_mul_u64(c->width, c->height, &result) ||
      !tsr_mul_u64(result, 8, &result))
    return false;
  m->bandwidth_mb = tsr_min_u64(memory, cores); /* bytes * MHz */
  m->hop_ps = tsr_ceil_div(c->icnt_latency * mhz_ps, c->icnt_freq);
  m->latency_ps = tsr_ceil_div(c->dram_latency * mhz_ps, c->dram_freq) + 2 * m->hop_ps;
  /* SRC:onnxim, GemmWS.cc: the accumulators take results of the size of the array, two of
   * them, 4 bytes an element, though there may be more room. */
  m->c_bytes = tsr_min_u64(result, c->accum_kb * 1024);
  return true;
}

static void write_core(struct tsr_str *s, const struct core *c, const struct made *m,
                       const char *name) {
  tsr_str_addf(s,
               "# Made of a core configuration of ONNXim.\n"
               "version: 1\nname: %s\nclock: %" PRIu64 "MHz   # core_freq\n"
               "cores: %" PRIu64 "   # num_cores\n"
               "tile:\n  kind: systolic\n  rows: %" PRIu64 "   # core_height\n"
               "  cols: %" PRIu64 "   # core_width\n  dataflow: %s   # core_type\n",
               name, c->core_freq, c->num_cores, c->height, c->width, m->flow);
  if (strcmp(m->flow, "ws") == 0) tsr_str_add(s, "  weight_preload: true\n  rule: onnxim\n");
  tsr_str_addf(
      s,
      "  formats: {a: %s, b: %s, acc: %s, out: %s}   # precision\n  rates: {%s: 1}\n"
      "vector:\n  lanes: %" PRIu64 "   # vector_process_bit, lanes of 4 bytes\nsram:\n",
      m->format, m->format, m->acc, m->format, m->format, tsr_max_u64(c->vector_bits / 32, 1));
  for (int i = 0; i < 2; i++)
    tsr_str_addf(s,
                 "  %c: {size: %" PRIu64
                 "B, width: unlimited, ports: 1r1w, buffers: 2}   # half "
                 "of spad_size\n",
                 "ab"[i], c -> spad_kb * 512);
  tsr_str_addf(s,
               "  c: {size: %" PRIu64 "B, width: unlimited, ports: 1r1w, buffers: 2}   # two "
               "results of the array\n"
               "dma:\n  outstanding: 1024\n  burst: %" PRIu64 "B   # dram_req_size\n",
               m->c_bytes, c->dram_req);
  if (c->num_cores > 1)
    tsr_str_addf(s,
                 "noc:\n  kind: %s   # icnt_type\n  bandwidth: %" PRIu64
                 "MB/s   # a request a cycle of core_freq from each channel\n  hop: %" PRIu64
                 "ps   # icnt_latency / icnt_freq\n",
                 m->noc, c->dram_req * c->core_freq * c->dram_channels, m->hop_ps);
  tsr_str_addf(s,
               "dram:\n  model: simple   # dram_type %s\n  channels: %" PRIu64
               "   # dram_channels\n"
               "  bandwidth: %" PRIu64 "MB/s   # channels * request size * the slower clock\n"
               "  latency: %" PRIu64 "ps   # dram_latency, and the interconnect both ways\n",
               c->dram_type, c->dram_channels, m->bandwidth_mb, m->latency_ps);
  if (c->dram_gb)
    tsr_str_addf(s, "  capacity: %" PRIu64 "GiB   # dram_size\n", c->dram_gb);
  else
    tsr_str_add(s, "  capacity: unlimited\n");
}

static bool read_core(struct reader *r) {
  /* SRC:onnxim, SimulationConfig.h: what is left out. */
  struct core c = {.dram_req = 32, .dram_latency = 1, .icnt_latency = 1};
  struct made m = {0};
  struct tsr_str yaml = TSR_STR_INIT;
  if (!read_rows(r, NULL, r->j.root, core_rows, &c) || !make(r, &c, &m)) return false;
  if (!make_rates(&c, &m))
    return tsri_json_bad(&r->j, NULL, "numbers of the configuration are too large");
  if (strcmp(m.memory, "ramulator") == 0)
    tsr_err_warn(r->j.err, NULL,
                 "dram_type %s: the memory becomes one of bandwidth and latency; --set "
                 "dram.model=banks and dram.preset give one with banks",
                 c.dram_type);
  if (!tsri_import_name(r->im, NULL, r->j.src.path)) return nomem(r);
  write_core(&yaml, &c, &m, r->im->name);
  bool good = tsri_import_text(r->im, &yaml);
  tsr_str_fini(&yaml);
  return good ? true : nomem(r);
}

/* ---- a language model ---- */

struct language {
  uint64_t heads, kv_heads, vocab, layers, hidden, ffn, sequence;
  const char *activation, *ffn_type;
};
#define LANG(key, needed, as, field) \
  { key, USE_SIZE, needed, as, offsetof(struct language, field) }
static const struct row language_rows[] = {
    LANG("num_attention_heads", true, "heads", heads),
    LANG("num_kv_heads", false, "kv_heads", kv_heads),
    LANG("vocab_size", true, "vocab", vocab),
    LANG("num_hidden_layers", true, "layers", layers),
    LANG("hidden_size", true, "hidden", hidden),
    LANG("intermediate_size", true, "ffn", ffn),
    LANG("max_seq_length", true, "sequence: a prompt of the greatest length", sequence),
    {"activation_function", USE_WORD, true, "activation",
     offsetof(struct language, activation)},
    {"ffn_type", USE_WORD, false, "ffn_kind, norm", offsetof(struct language, ffn_type)},
    {0}};

static bool read_language(struct reader *r) {
  static const struct choice activations[] = {{"relu", "relu"},
                                              {"gelu", "gelu"},
                                              {"swish", "silu"},
                                              {"silu", "silu"}},
                             kinds[] = {{"default", "plain"}, {"llama", "gated"}};
  struct language l = {.ffn_type = "default"};
  struct tsr_str yaml = TSR_STR_INIT;
  if (!read_rows(r, NULL, r->j.root, language_rows, &l)) return false;
  const char *activation = CHOOSE(r, "activation_function", l.activation, activations);
  const char *kind = activation ? CHOOSE(r, "ffn_type", l.ffn_type, kinds) : NULL;
  if (!kind) return false;
  bool gated = strcmp(kind, "gated") == 0;
  if (!tsri_import_name(r->im, NULL, r->j.src.path)) return nomem(r);
  tsr_str_addf(&yaml,
               "# Made of a language model of ONNXim.\n"
               "version: 1\nkind: decoder\nname: %s\n"
               "layers: %" PRIu64 "   # num_hidden_layers\n"
               "hidden: %" PRIu64 "   # hidden_size\n"
               "heads: %" PRIu64 "   # num_attention_heads\n"
               "kv_heads: %" PRIu64 "   # num_kv_heads\n"
               "ffn: %" PRIu64 "   # intermediate_size\n"
               "ffn_kind: %s   # ffn_type\nactivation: %s   # activation_function\n"
               "norm: %s   # ffn_type\nvocab: %" PRIu64 "   # vocab_size\n"
               "sequence: %" PRIu64 "   # max_seq_length; its lengths are in a trace\n",
               r->im->name, l.layers, l.hidden, l.heads, l.kv_heads ? l.kv_heads : l.heads,
               l.ffn, kind, activation, gated ? "rmsnorm" : "layernorm", l.vocab, l.sequence);
  bool good = tsri_import_text(r->im, &yaml);
  tsr_str_fini(&yaml);
  return good ? true : nomem(r);
}

/* ---- a list of models ---- */

struct model {
  const char *name;
  uint64_t batch;
};
#define INSIDE "the model's file says it; see --dim"
static const struct row model_rows[] = {
    {"name", USE_WORD, true, "--workload", offsetof(struct model, name)},
    {"batch_size", USE_SIZE, false, "--batch", offsetof(struct model, batch)},
    NONE("nr_atten", "how many blocks its file has"),
    NONE("seq_len", INSIDE),
    NONE("past_seq_len", INSIDE),
    NONE("total_seq_len", INSIDE),
    NONE("input_name", INSIDE),
    NONE("input_shape", INSIDE),
    NONE("request_time", "all workloads of a run begin at once"),
    NONE("partition_id", "which cores a workload takes is said with it: --workload W@0-1"),
    NONE("trace_file", "a trace of requests; a run is one inference or a batch"),
    NONE("scheduler", "layers are divided among cores by the run; see split"),
    {0}};

static bool read_list(struct reader *r) {
  static const char *const keys[] = {"models"};
  json_t *models = json_object_get(r->j.root, "models");
  const struct tsri_way way = {NULL, "models", 0};
  if (!tsri_json_keys(&r->j, NULL, r->j.root, keys, 1)) return false;
  if (!json_is_array(models) || json_array_size(models) == 0)
    return tsri_json_bad(&r->j, &way, "models; expected an array of one model or more");
  for (size_t i = 0; i < json_array_size(models); i++) {
    const struct tsri_way at = {&way, NULL, i};
    json_t *o = json_array_get(models, i);
    struct model m = {.batch = 1};
    if (!json_is_object(o))
      return tsri_json_bad(&r->j, &at, "model; expected an object, got %s", tsri_json_sort(o));
    if (!read_rows(r, &at, o, model_rows, &m)) return false;
    if (!tsri_import_run(r->im, m.name, m.batch)) return nomem(r);
  }
  return tsri_import_name(r->im, NULL, r->j.src.path) ? true : nomem(r);
}

/* ---- which of them ---- */

static bool read_any(struct reader *r) {
  static const struct {
    const char *key;
    enum tsr_import_kind kind;
    bool (*read)(struct reader *r);
  } kinds[] = {{"models", TSR_IMPORT_LIST, read_list},
               {"num_attention_heads", TSR_IMPORT_SPEC, read_language},
               {"hidden_size", TSR_IMPORT_SPEC, read_language},
               {"core_type", TSR_IMPORT_ARCH, read_core},
               {"num_cores", TSR_IMPORT_ARCH, read_core}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (json_object_get(r->j.root, kinds[i].key)) {
      r->im->kind = kinds[i].kind;
      return kinds[i].read(r);
    }
  return tsri_json_bad(
      &r->j, NULL,
      "no file of ONNXim; expected a core configuration (core_type), a language "
      "model (num_attention_heads) or a list of models (models)");
}

enum tsr_status tsr_import_onnxim(const char *path, const char *text, size_t len,
                                  struct tsr_import *out, struct tsr_err *err) {
  struct tsr_import im;
  if (!tsri_import_init(&im, TSR_IMPORT_ARCH)) return tsr_err_nomem(err);
  struct reader r = {.im = &im};
  enum tsr_status st = tsri_json_read(&r.j, path, text, len, err);
  if (!st && !read_any(&r)) st = r.j.status;
  tsri_json_fini(&r.j);
  if (st)
    tsr_import_fini(&im);
  else
    *out = im;
  return st;
}
