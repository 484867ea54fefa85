/* The zoo: networks that the binary carries, as specifications or as lists of layers. */
#include <string.h>

#include "sim/base/embed.h"
#include "workloads/graph.h"

extern const struct tsr_embedded tsri_zoo_files[];

static const struct {
  const char *name, *doc;
} zoo[] = {
    {"resnet50", "ResNet-50 v1.5 (stride on the 3x3), 224x224, one image"},
    {"mobilenetv2", "MobileNetV2 1.0, 224x224, one image"},
    {"bert-base-s128", "BERT base, 128 tokens"},
    {"bert-base-s384", "BERT base, 384 tokens"},
    {"vit-b16", "ViT-B/16, 224x224, one image"},
    {"gpt2-prefill-1024", "GPT-2 124M, prefill of 1024 tokens, logits of the last"},
    {"llama2-7b-prefill-512", "Llama 2 7B, prefill of 512 tokens, logits of the last"},
    {"llama2-7b-prefill-2048", "Llama 2 7B, prefill of 2048 tokens, logits of the last"},
    {"llama2-7b-decode-2048", "Llama 2 7B, one token with 2048 in the cache"},
    {"dlrm", "DLRM (MLPerf, Criteo Terabyte), one sample, its products"},
    {"mixtral-8x7b-decode-2048", "Mixtral 8x7B, one token with 2048 in the cache"},
    {"whisper-large-v3-encode",
     "Whisper large v3, 30 s of audio, with the decoder's cross K, V"},
    {"whisper-large-v3-decode", "Whisper large v3, one token with 448 in the cache"},
    {"transformer-block", "one layer of BERT base, 128 tokens, with softmax, norms, biases"},
    {"mlp-moe", "mixture of experts, 128 tokens, 2 of 8 experts, with router and dispatch"},
    {"dlrm-full", "DLRM, one sample, with its 26 tables (at most 100000 rows each)"},
    {"cnn-block", "stem, one block and head of ResNet-18, with pooling and activations"},
};

size_t tsr_zoo_count(void) {
  return sizeof zoo / sizeof zoo[0];
}

const char *tsr_zoo_name(size_t i) {
  return i < tsr_zoo_count() ? zoo[i].name : NULL;
}

const char *tsr_zoo_doc(size_t i) {
  return i < tsr_zoo_count() ? zoo[i].doc : NULL;
}

const char *tsr_zoo_text(const char *name) {
  size_t n = strlen(name);
  for (const struct tsr_embedded *e = tsri_zoo_files; e->name; e++) {
    bool same = strncmp(e->name, name, n) == 0;
    if (same && (!strcmp(e->name + n, ".csv") || !strcmp(e->name + n, ".yaml"))) return e->text;
  }
  return NULL;
}
