/* Small networks as an exporter writes them, for tests that have the same ones in other forms.
 *
 * Nodes that compute have the names of the operators in lists and specifications; those that
 * only lay out have none.  Weights are drawn, the same ones each time.  A failure is a failure
 * of the test. */
#ifndef TSR_TESTS_SUPPORT_MODELS_H
#define TSR_TESTS_SUPPORT_MODELS_H

/* Words, two layers of RMS norm, grouped-query attention and a gated feed-forward part, logits
 * of the last of 32 tokens.  64 wide, 4 heads on 2 of keys, 96 in between, 100 words;
 * the dimension `batch` is open. */
void models_decoder(const char *path);
/* One layer with layer norms behind each half, biases and gelu, and a pooler: 24 tokens, 32
 * wide, 4 heads, 64 in between, 50 words. */
void models_encoder(const char *path);
/* An image of 3 x 16 x 16: convolutions with bias and relu, a depthwise one, a residual,
 * poolings, ten classes. */
void models_cnn(const char *path);
/* Dense features, three tables, the products of all pairs, a top that ends in a sigmoid. */
void models_dlrm(const char *path);

#endif
