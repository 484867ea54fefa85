/* The keys of a specification, their defaults and what goes together. */
#include <string.h>

#include "workloads/spec/spec_int.h"

static const char *const kind_names[] = {"decoder", "encoder", "encoder_decoder", "dlrm", NULL},
                         *const operators_names[] = {"products", "all", NULL},
                         *const epilogue_names[] = {"fused", "separate", NULL},
                         *const phase_names[] = {"prefill", "decode", "encode", NULL},
                         *const qkv_names[] = {"split", "fused", NULL},
                         *const attention_names[] = {"matmuls", "fused", NULL},
                         *const ffn_names[] = {"plain", "gated", "gated_fused", NULL},
                         *const norm_names[] = {"none", "layernorm", "rmsnorm", NULL},
                         *const norm_at_names[] = {"before", "after", NULL},
                         *const activation_names[] = {"none",      "relu", "gelu",
                                                      "gelu_tanh", "silu", NULL},
                         *const positions_names[] = {"none", "rope", "learned", NULL},
                         *const bias_names[] = {"none", "qkv", "all", NULL},
                         *const logits_names[] = {"none", "last", "all", NULL},
                         *const routing_names[] = {"balanced", NULL},
                         *const interaction_names[] = {"dot", "concat", NULL};

/* Ranges keep sums of two or three of them, and products of two, below 2^64. */
#define MOST_WIDTH (1u << 24)
#define MOST_HEADS (1u << 16)
#define MOST_ROWS UINT32_MAX

#define AT(field) offsetof(struct tsri_spec, field)
#define COUNT(k, field, least, most, d, text)                                           \
  {                                                                                     \
    .key = k, .type = TSR_PARAM_QUANTITY, .unit = TSR_UNIT_COUNT, .low = (least),       \
    .high = (most), .def = d, .offset = AT(field), .uncertainty = "exact", .doc = text, \
    .src = "SRC:assumed"                                                                \
  }
#define CHOICE(k, field, list, d, text)                                             \
  {                                                                                 \
    .key = k, .type = TSR_PARAM_ENUM, .names = list, .def = d, .offset = AT(field), \
    .uncertainty = "exact", .doc = text, .src = "SRC:assumed"                       \
  }
#define SWITCH(k, field, d, text)                                                            \
  {                                                                                          \
    .key = k, .type = TSR_PARAM_BOOL, .def = d, .offset = AT(field), .uncertainty = "exact", \
    .doc = text, .src = "SRC:assumed"                                                        \
  }

#define COMMON                                                                          \
  COUNT("version", version, 1, 1, NULL, "of this format"),                              \
      {.key = "name",                                                                   \
       .type = TSR_PARAM_NAME,                                                          \
       .def = "",                                                                       \
       .offset = AT(name),                                                              \
       .uncertainty = "exact",                                                          \
       .doc = "of the graph",                                                           \
       .src = "SRC:assumed"},                                                           \
      CHOICE("kind", kind, kind_names, NULL, "what is built"),                          \
      CHOICE("operators", operators, operators_names, "all", "products alone, or all"), \
      CHOICE("epilogue", epilogue, epilogue_names, "fused",                             \
             "biases, activations, residuals within products, or on their own"),        \
      COUNT("batch", batch, 1, MOST_ROWS, "1", "inferences at once")

/* A default that the reader replaces where the key is absent is marked `computed`. */
static const struct tsr_param transformer_keys[] = {
    COMMON,
    COUNT("layers", layers, 1, TSR_SPEC_OPS_MAX, NULL, "layers of the (de)coder"),
    COUNT("hidden", hidden, 1, MOST_WIDTH, NULL, "width of the residual stream"),
    COUNT("heads", heads, 1, MOST_HEADS, NULL, "query heads"),
    COUNT("kv_heads", kv_heads, 1, MOST_HEADS, "1", "computed: heads"),
    COUNT("head_dim", head_dim, 1, MOST_WIDTH, "1", "computed: hidden / heads"),
    COUNT("ffn", ffn, 1, MOST_WIDTH, NULL, "width of the feed-forward part"),
    CHOICE("ffn_kind", ffn_kind, ffn_names, "plain", "two matrices, or a gated pair and one"),
    COUNT("experts", experts, 1, MOST_HEADS, "1", "computed: no mixture"),
    COUNT("top_k", top_k, 1, MOST_HEADS, "1", "experts of a token"),
    CHOICE("routing", routing, routing_names, "balanced", "rows that each expert gets"),
    COUNT("vocab", vocab, 1, MOST_ROWS, "1", "computed: no words"),
    COUNT("sequence", sequence, 1, MOST_ROWS, "1", "tokens computed; 1 in decode"),
    COUNT("context", context, 1, MOST_ROWS, "1", "computed: sequence"),
    CHOICE("phase", phase, phase_names, "prefill", "which part of inference"),
    CHOICE("qkv", qkv, qkv_names, "split", "queries, keys, values in one product or three"),
    CHOICE("attention", attention, attention_names, "matmuls", "two products, or one operator"),
    CHOICE("norm", norm, norm_names, "layernorm", "normalisation"),
    CHOICE("norm_at", norm_at, norm_at_names, "before", "of each half of a layer"),
    {.key = "eps",
     .type = TSR_PARAM_REAL,
     .rlow = 0,
     .rhigh = 0.5,
     .def = "1e-5",
     .offset = AT(eps),
     .uncertainty = "exact",
     .doc = "computed: 1e-6 of rmsnorm",
     .src = "SRC:assumed"},
    CHOICE("activation", activation, activation_names, "gelu", "computed: silu when gated"),
    CHOICE("positions", positions, positions_names, "none", "of tokens"),
    CHOICE("bias", bias, bias_names, "none", "which products have one"),
    SWITCH("embedding", embedding, "true", "the look-up of words"),
    CHOICE("logits", logits, logits_names, "none", "computed: last in a decoder with words"),
    SWITCH("pooler", pooler, "false", "hidden x hidden on one token of each inference"),
    COUNT("classes", classes, 1, MOST_WIDTH, "1", "computed: no classifier"),
    COUNT("encoder.layers", enc_layers, 1, TSR_SPEC_OPS_MAX, "1", "computed: layers"),
    COUNT("encoder.heads", enc_heads, 1, MOST_HEADS, "1", "computed: heads"),
    COUNT("encoder.ffn", enc_ffn, 1, MOST_WIDTH, "1", "computed: ffn"),
    COUNT("encoder.sequence", enc_sequence, 1, MOST_ROWS, "1", "tokens of the encoder"),
    COUNT("image.size", image, 1, MOST_HEADS, "1", "pixels of a side"),
    COUNT("image.patch", patch, 1, MOST_HEADS, "16", "pixels of a patch's side"),
    COUNT("image.channels", channels, 1, MOST_HEADS, "3", "of a pixel"),
    SWITCH("image.class_token", class_token, "true", "one token more"),
    COUNT("audio.mels", mels, 1, MOST_HEADS, "80", "channels of a frame"),
    COUNT("audio.frames", frames, 1, MOST_WIDTH, "1", "frames; two make a token"),
    {0}};

static const struct tsr_param dlrm_keys[] = {
    COMMON,
    COUNT("rows", rows, 1, MOST_ROWS, "1", "of each table, where tables is a number"),
    COUNT("max_rows", max_rows, 1, MOST_ROWS, "4294967295", "of a table"),
    COUNT("lookups", lookups, 1, MOST_HEADS, "1", "rows of a table summed"),
    CHOICE("interaction", interaction, interaction_names, "dot", "of the features"),
    {0}};

static const char *const dlrm_lists[] = {"tables", "bottom", "top", NULL};

static size_t row_of(const struct tsri_spec *s, const char *key) {
  size_t i = 0;
  while (s->table[i].key && !tsr_str_eq(s->table[i].key, key)) i++;
  TSR_CHECK(s->table[i].key != NULL);
  return i;
}

bool tsri_spec_has(const struct tsri_spec *s, const char *key) {
  return s->seen[row_of(s, key)];
}

const struct tsr_pos *tsri_spec_pos(const struct tsri_spec *s, const char *key) {
  const struct tsr_node *n = tsr_config_tree_get(s->root, key);
  return n ? &n->pos : &s->root->pos;
}

/* Computed defaults. */
static void fill(struct tsri_spec *s) {
  const struct {
    const char *key;
    uint64_t *to, value;
  } rows[] = {{"kv_heads", &s->kv_heads, s->heads},
              {"experts", &s->experts, 0},
              {"vocab", &s->vocab, 0},
              {"classes", &s->classes, 0},
              {"encoder.layers", &s->enc_layers, s->layers},
              {"encoder.heads", &s->enc_heads, s->heads},
              {"encoder.ffn", &s->enc_ffn, s->ffn},
              {"image.size", &s->image, 0},
              {"audio.frames", &s->frames, 0}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (!tsri_spec_has(s, rows[i].key)) *rows[i].to = rows[i].value;
  s->enc_kv_heads = tsri_spec_has(s, "kv_heads") ? s->kv_heads : s->enc_heads;
  if (!tsri_spec_has(s, "eps")) s->eps = s->norm == TSRI_RMSNORM ? 1e-6 : 1e-5;
  if (!tsri_spec_has(s, "activation") && s->ffn_kind != TSRI_PLAIN) s->activation = TSRI_SILU;
  if (!tsri_spec_has(s, "logits") && s->vocab && s->kind != TSRI_ENCODER &&
      s->phase != TSRI_ENCODE)
    s->logits = TSRI_LAST;
}

/* Tokens that the front end makes, 0 without one. */
static uint64_t front_tokens(const struct tsri_spec *s) {
  if (s->image) return (s->image / s->patch) * (s->image / s->patch) + s->class_token;
  return s->frames ? (s->frames - 1) / 2 + 1 : 0;
}

static enum tsr_status sequences(struct tsri_spec *s, struct tsr_err *err) {
  bool both = s->kind == TSRI_ENCODER_DECODER, front = s->image || s->frames;
  uint64_t made = front_tokens(s);
  const char *of_encoder = both ? "encoder.sequence" : "sequence";
  if (front && s->kind != TSRI_DECODER && !tsri_spec_has(s, of_encoder))
    *(both ? &s->enc_sequence : &s->sequence) = made;
  else if (front && s->kind != TSRI_DECODER && (both ? s->enc_sequence : s->sequence) != made)
    return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, of_encoder),
                      "'%s' is not what the image or audio makes; expected %llu tokens",
                      of_encoder, (unsigned long long)made);
  else if (both && !front && !tsri_spec_has(s, of_encoder))
    return tsr_err_at(err, TSR_INPUT, &s->root->pos,
                      "'encoder.sequence' is missing; expected it where no audio or image "
                      "gives the tokens");
  bool needs = s->phase == TSRI_PREFILL && !(s->kind == TSRI_ENCODER && front);
  if (needs && !tsri_spec_has(s, "sequence"))
    return tsr_err_at(err, TSR_INPUT, &s->root->pos,
                      "'sequence' is missing; expected the tokens that are computed");
  if (!tsri_spec_has(s, "context")) {
    if (s->phase == TSRI_DECODE)
      return tsr_err_at(err, TSR_INPUT, &s->root->pos,
                        "'context' is missing; expected the tokens attended to in decode");
    s->context = s->sequence;
  }
  if (s->context < s->sequence)
    return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, "context"),
                      "'context' is shorter than the tokens computed; expected at least %llu",
                      (unsigned long long)s->sequence);
  return TSR_OK;
}

/* A key stands only in specifications of some kinds. */
static const struct {
  const char *key;
  unsigned kinds; /* bits by enum tsri_kind */
} only[] = {
    {"context", 1u << TSRI_DECODER | 1u << TSRI_ENCODER_DECODER},
    {"pooler", 1u << TSRI_ENCODER},
    {"classes", 1u << TSRI_ENCODER},
    {"encoder.layers", 1u << TSRI_ENCODER_DECODER},
    {"encoder.heads", 1u << TSRI_ENCODER_DECODER},
    {"encoder.ffn", 1u << TSRI_ENCODER_DECODER},
    {"encoder.sequence", 1u << TSRI_ENCODER_DECODER},
    {"image.size", 1u << TSRI_ENCODER | 1u << TSRI_ENCODER_DECODER},
    {"image.patch", 1u << TSRI_ENCODER | 1u << TSRI_ENCODER_DECODER},
    {"image.channels", 1u << TSRI_ENCODER | 1u << TSRI_ENCODER_DECODER},
    {"image.class_token", 1u << TSRI_ENCODER | 1u << TSRI_ENCODER_DECODER},
    {"audio.mels", 1u << TSRI_ENCODER | 1u << TSRI_ENCODER_DECODER},
    {"audio.frames", 1u << TSRI_ENCODER | 1u << TSRI_ENCODER_DECODER},
};

/* A key means something only beside another. */
static const struct {
  const char *key, *needs;
} pairs[] = {{"top_k", "experts"},
             {"experts", "top_k"},
             {"routing", "experts"},
             {"image.patch", "image.size"},
             {"image.channels", "image.size"},
             {"image.class_token", "image.size"},
             {"audio.mels", "audio.frames"},
             {"embedding", "vocab"}};

static enum tsr_status keys_fit(const struct tsri_spec *s, struct tsr_err *err) {
  for (size_t i = 0; i < sizeof only / sizeof only[0]; i++)
    if (tsri_spec_has(s, only[i].key) && !(only[i].kinds >> s->kind & 1))
      return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, only[i].key),
                        "'%s' does not go with kind %s; expected it left out", only[i].key,
                        kind_names[s->kind]);
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
    if (tsri_spec_has(s, pairs[i].key) && !tsri_spec_has(s, pairs[i].needs))
      return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, pairs[i].key),
                        "'%s' stands alone; expected '%s' with it", pairs[i].key,
                        pairs[i].needs);
  return TSR_OK;
}

static enum tsr_status head_sizes(struct tsri_spec *s, struct tsr_err *err) {
  bool given = tsri_spec_has(s, "head_dim");
  if (!given && s->hidden % s->heads)
    return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, "heads"),
                      "'heads' does not divide hidden; expected head_dim with it, got '%llu'",
                      (unsigned long long)s->heads);
  if (!given) s->head_dim = s->hidden / s->heads;
  if (s->heads % s->kv_heads || s->enc_heads % s->enc_kv_heads)
    return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, "kv_heads"),
                      "'kv_heads' does not divide heads; expected it to, got '%llu'",
                      (unsigned long long)s->kv_heads);
  return TSR_OK;
}

struct rule {
  bool broken;
  const char *key, *says;
};

static enum tsr_status first_broken(const struct tsri_spec *s, const struct rule *r, size_t n,
                                    struct tsr_err *err) {
  for (size_t i = 0; i < n; i++)
    if (r[i].broken)
      return tsr_err_at(err, TSR_INPUT, tsri_spec_pos(s, r[i].key), "'%s' %s", r[i].key,
                        r[i].says);
  return TSR_OK;
}

static enum tsr_status values_fit(const struct tsri_spec *s, struct tsr_err *err) {
  bool all = s->operators == TSRI_ALL, both = s->kind == TSRI_ENCODER_DECODER;
  const struct rule rules[] = {
      {s->phase == TSRI_ENCODE && !both, "phase",
       "is encode; expected that only of kind encoder_decoder"},
      {s->phase == TSRI_DECODE && s->kind == TSRI_ENCODER, "phase",
       "is decode; expected prefill of kind encoder"},
      {s->phase == TSRI_ENCODE && (tsri_spec_has(s, "sequence") || tsri_spec_has(s, "context")),
       tsri_spec_has(s, "sequence") ? "sequence" : "context",
       "is of the decoder; expected it left out in phase encode"},
      {s->experts && s->top_k > s->experts, "top_k",
       "is more than experts; expected at most so"},
      {s->image && s->frames, "audio", "stands beside an image; expected one of the two"},
      {s->image && s->patch > s->image, "image.patch",
       "is larger than the image; expected at most its size"},
      {s->logits != TSRI_NO_LOGITS && !s->vocab, "logits",
       "has no words; expected vocab with it"},
      {s->logits != TSRI_NO_LOGITS && s->phase == TSRI_ENCODE, "logits",
       "is of the decoder; expected none in phase encode"},
      {all && s->qkv == TSRI_QKV_FUSED && s->positions == TSRI_ROPE, "qkv",
       "is fused, but rope turns queries and keys alone; expected split"},
      {all && s->ffn_kind == TSRI_GATED_FUSED, "ffn_kind",
       "is gated_fused, whose halves meet element by element; expected gated, or operators: "
       "products"},
  };
  return first_broken(s, rules, sizeof rules / sizeof rules[0], err);
}

static enum tsr_status transformer_rules(struct tsri_spec *s, struct tsr_err *err) {
  fill(s);
  enum tsr_status st = keys_fit(s, err);
  if (!st) st = values_fit(s, err);
  if (!st) st = head_sizes(s, err);
  return st ? st : sequences(s, err);
}

static bool says_dlrm(const struct tsr_node *root) {
  const struct tsr_node *kind = tsr_config_tree_get(root, "kind");
  return kind && kind->kind == TSR_NODE_SCALAR && tsr_str_eq(kind->text, "dlrm");
}

enum tsr_status tsri_spec_keys(struct tsr_arena *a, const struct tsr_node *root,
                               struct tsri_spec *s, struct tsr_err *err) {
  bool dlrm = says_dlrm(root);
  s->root = root;
  s->table = dlrm ? dlrm_keys : transformer_keys;
  s->seen = tsr_arena_array(a, tsr_param_count(s->table), sizeof *s->seen);
  if (!s->seen) return tsr_err_nomem(err);
  tsr_param_defaults(s->table, s);
  enum tsr_status st =
      tsr_param_read(s->table, "", root, dlrm ? dlrm_lists : NULL, s, s->seen, err);
  if (st) return st;
  return dlrm ? tsri_spec_lists(a, s, err) : transformer_rules(s, err);
}
