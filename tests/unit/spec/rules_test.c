/* Values, keys that do not go together, sizes without bound: where the first message points and
 * what it says. */
#include <stdlib.h>

#include "tests/unit/spec/spec_test.h"

#define BASE "version: 1\nkind: decoder\nlayers: 2\nhidden: 64\nheads: 4\nffn: 128\n"
#define PRE BASE "sequence: 8\n"
#define ENC "version: 1\nkind: encoder\nlayers: 2\nhidden: 64\nheads: 4\nffn: 128\n"
#define BOTH                                                                                 \
  "version: 1\nkind: encoder_decoder\nlayers: 2\nhidden: 64\nheads: 4\nffn: 128\nsequence: " \
  "8\n"
#define DLRM "version: 1\nkind: dlrm\n"

static const struct bad {
  const char *text;
  enum tsr_status status;
  unsigned line, col;
  const char *says;
} bads[] = {
    /* what the tables of parameters see */
    {"", TSR_INPUT, 1, 1, "'version' is missing"},
    {"version: 2\n", TSR_INPUT, 1, 10, "'version' is out of range"},
    {"version: 1\nkind: decoder\nlayer: 2\n", TSR_USAGE, 3, 1, "unknown key 'layer'"},
    {PRE "kind2: x\n", TSR_USAGE, 8, 1, "unknown key"},
    {PRE "tables: [1]\n", TSR_USAGE, 8, 1, "unknown key 'tables'"},
    {"version: 1\nkind: coder\n", TSR_INPUT, 2, 7, "'kind' has an unknown value"},
    {BASE "sequence: 0\n", TSR_INPUT, 7, 11, "'sequence' is out of range"},
    {BASE "sequence: 99999999999\n", TSR_INPUT, 7, 11, "'sequence' is out of range"},
    {BASE "sequence: [8]\n", TSR_INPUT, 7, 11, "'sequence' is a list"},
    {BASE "sequence: 8KiB\n", TSR_INPUT, 7, 11, "'sequence' takes no unit"},
    {PRE "eps: 1\n", TSR_INPUT, 8, 6, "'eps' is out of range"},
    {PRE "embedding: yes\n", TSR_INPUT, 8, 12, "'embedding' is neither true nor false"},
    {PRE "name: a b\n", TSR_INPUT, 8, 7, "'name' holds a character"},
    {PRE "sequence: 9\n", TSR_INPUT, 8, 1, "sequence"},
    {PRE "encoder: 5\n", TSR_INPUT, 8, 10, "'encoder' is no mapping"},
    {"- 1\n", TSR_INPUT, 1, 1, ""},
    /* keys that do not go together */
    {BASE, TSR_INPUT, 1, 1, "'sequence' is missing"},
    {BASE "phase: decode\n", TSR_INPUT, 1, 1, "'context' is missing"},
    {PRE "context: 7\n", TSR_INPUT, 8, 10, "'context' is shorter"},
    {PRE "phase: encode\n", TSR_INPUT, 8, 8, "'phase' is encode"},
    {ENC "sequence: 8\nphase: decode\n", TSR_INPUT, 8, 8, "'phase' is decode"},
    {ENC "sequence: 8\ncontext: 9\n", TSR_INPUT, 8, 10, "'context' does not go with"},
    {PRE "pooler: true\n", TSR_INPUT, 8, 9, "'pooler' does not go with kind decoder"},
    {PRE "image: {size: 4}\n", TSR_INPUT, 8, 15, "'image.size' does not go with"},
    {PRE "encoder: {layers: 4}\n", TSR_INPUT, 8, 19, "'encoder.layers' does not go with"},
    {PRE "kv_heads: 3\n", TSR_INPUT, 8, 11, "'kv_heads' does not divide heads"},
    {"version: 1\nkind: decoder\nlayers: 2\nhidden: 64\nheads: 5\nffn: 128\nsequence: 8\n",
     TSR_INPUT, 5, 8, "'heads' does not divide hidden"},
    {PRE "experts: 8\n", TSR_INPUT, 8, 10, "'experts' stands alone"},
    {PRE "top_k: 2\n", TSR_INPUT, 8, 8, "'top_k' stands alone"},
    {PRE "experts: 8\ntop_k: 9\n", TSR_INPUT, 9, 8, "'top_k' is more than experts"},
    {PRE "routing: balanced\n", TSR_INPUT, 8, 10, "'routing' stands alone"},
    {PRE "embedding: false\n", TSR_INPUT, 8, 12, "'embedding' stands alone"},
    {PRE "logits: all\n", TSR_INPUT, 8, 9, "'logits' has no words"},
    {PRE "qkv: fused\npositions: rope\n", TSR_INPUT, 8, 6, "rope turns queries and keys"},
    {PRE "ffn_kind: gated_fused\n", TSR_INPUT, 8, 11, "'ffn_kind' is gated_fused"},
    {PRE "head_dim: 5\npositions: rope\n", TSR_INPUT, 1, 1, "an even number"},
    {ENC "image: {size: 4, patch: 5}\n", TSR_INPUT, 7, 25, "'image.patch' is larger"},
    {ENC "image: {size: 32}\naudio: {frames: 9}\n", TSR_INPUT, 8, 8, "'audio' stands beside"},
    {ENC "image: {patch: 4}\n", TSR_INPUT, 7, 16, "'image.patch' stands alone"},
    {ENC "image: {size: 32}\nsequence: 4\n", TSR_INPUT, 8, 11, "expected 5 tokens"},
    {BOTH, TSR_INPUT, 1, 1, "'encoder.sequence' is missing"},
    {BOTH "audio: {frames: 9}\nphase: encode\n", TSR_INPUT, 7, 11,
     "'sequence' is of the decoder"},
    {BOTH "audio: {frames: 9}\nencoder: {sequence: 9}\n", TSR_INPUT, 9, 21,
     "expected 5 tokens"},
    /* DLRM */
    {DLRM "hidden: 4\n", TSR_USAGE, 3, 1, "unknown key 'hidden'"},
    {DLRM, TSR_INPUT, 1, 1, "'tables' is missing"},
    {DLRM "tables: [4]\n", TSR_INPUT, 1, 1, "'bottom' is missing"},
    {DLRM "tables: [4]\nbottom: [4, 4]\n", TSR_INPUT, 1, 1, "'top' is missing"},
    {DLRM "tables: [4]\nbottom: [4]\n", TSR_INPUT, 4, 9, "'bottom' is no list of 2 to"},
    {DLRM "tables: [4]\nbottom: [4, 0]\n", TSR_INPUT, 4, 13, "'bottom' holds no width"},
    {DLRM "tables: [4]\nbottom: [4, x]\n", TSR_INPUT, 4, 13, "'bottom' holds no width"},
    {DLRM "tables: [4, [4]]\n", TSR_INPUT, 3, 13, "'tables' holds no size of a table"},
    {DLRM "tables: {a: 4}\n", TSR_INPUT, 3, 9, "'tables' is no list"},
    {DLRM "tables: 4\n", TSR_INPUT, 3, 9, "expected 'rows' beside a number"},
    {DLRM "tables: [4]\nrows: 4\n", TSR_INPUT, 4, 7, "expected 'rows' beside a number"},
    {DLRM "tables: 10001\nrows: 4\n", TSR_INPUT, 3, 9, "'tables' holds no"},
    /* absurd sizes */
    {BASE "sequence: 4294967295\n", TSR_INPUT, 1, 1, ""},
    {PRE "batch: 4294967295\nvocab: 4294967295\n", TSR_INPUT, 1, 1, "too large"},
    {"version: 1\nkind: decoder\nlayers: 200000\nhidden: 64\nheads: 4\nffn: 128\nsequence: 8\n",
     TSR_INPUT, 1, 1, "too many operators"},
    {PRE "experts: 65536\ntop_k: 65536\nffn_kind: gated\n", TSR_INPUT, 1, 1,
     "too many operators"},
};

static void bad_texts_say_where_and_what(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
    struct tsr_graph *g = NULL;
    struct tsr_err err = TSR_ERR_INIT;
    char start[64];
    enum tsr_status st =
        tsr_spec_read("t.yaml", bads[i].text, strlen(bads[i].text), 0, &g, &err);
    (void)snprintf(start, sizeof start, "t.yaml:%u:%u: error: ", bads[i].line, bads[i].col);
    if (st != bads[i].status || g || !err.n || strncmp(err.msg[0], start, strlen(start)) != 0 ||
        !strstr(err.msg[0], bads[i].says))
      fail_msg("%s\nexpected %d, %s… %s…, got %d, %s", bads[i].text, (int)bads[i].status, start,
               bads[i].says, (int)st, err.n ? err.msg[0] : "no message");
    tsr_err_fini(&err);
    assert_int_equal(tsr_spec_read("t.yaml", bads[i].text, strlen(bads[i].text), 0, &g, NULL),
                     st);
  }
}

static void unknown_keys_have_a_hint(void **state) {
  (void)state;
  static const char text[] = PRE "contxt: 9\n";
  struct tsr_graph *g = NULL;
  struct tsr_err err = TSR_ERR_INIT;
  assert_int_equal(tsr_spec_read("t.yaml", text, strlen(text), 0, &g, &err), TSR_USAGE);
  assert_non_null(strstr(err.msg[0], "did you mean 'context'?"));
  tsr_err_fini(&err);
}

static void a_batch_beyond_all_is_refused(void **state) {
  (void)state;
  struct tsr_graph *g = NULL;
  static const char text[] = PRE "batch: 2\n", moe[] = PRE "experts: 8\ntop_k: 2\n";
  assert_int_equal(tsr_spec_read("t.yaml", text, strlen(text), UINT64_MAX, &g, NULL),
                   TSR_INPUT);
  assert_int_equal(tsr_spec_read("t.yaml", moe, strlen(moe), UINT64_MAX, &g, NULL), TSR_INPUT);
  assert_int_equal(tsr_spec_read("t.yaml", moe, strlen(moe), UINT64_MAX / 16, &g, NULL),
                   TSR_INPUT);
  assert_null(g);
}

/* The nth allocation fails: no graph, no leak, the status says so. */
static void without_memory_nothing_is_made(void **state) {
  (void)state;
  static const char *const texts[] = {
      BASE "sequence: 2\nvocab: 9\nexperts: 2\ntop_k: 1\nepilogue: separate\nbias: all\n",
      BOTH "audio: {frames: 9}\nname: x\n", DLRM "tables: [4, 5]\nbottom: [3, 4]\ntop: [1]\n"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    for (uint64_t nth = 1;; nth++) {
      struct tsr_graph *g = NULL;
      struct tsr_err err = TSR_ERR_INIT;
      tsr_mem_fail_at(nth, false);
      enum tsr_status st = tsr_spec_read("t.yaml", texts[i], strlen(texts[i]), 0, &g, &err);
      tsr_mem_fail_at(0, false);
      tsr_err_fini(&err);
      if (st == TSR_OK) {
        assert_non_null(g);
        tsr_graph_destroy(g);
        assert_true(nth > 20);
        break;
      }
      assert_int_equal(st, TSR_NOMEM);
      assert_null(g);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bad_texts_say_where_and_what),
                                     cmocka_unit_test(unknown_keys_have_a_hint),
                                     cmocka_unit_test(a_batch_beyond_all_is_refused),
                                     cmocka_unit_test(without_memory_nothing_is_made)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
