/* `gemm:MxNxK[,MxNxK…]`: matmuls without a file, named gemm0, gemm1, … */
#include <string.h>

#include "workloads/workloads_int.h"

enum { SIZES = 3 };
static const char *const size_names[SIZES] = {"M", "N", "K"};

/* The text up to the next of the two stops; *at moves onto it. */
static struct tsri_field take(const struct tsri_build *b, size_t *at, char stop, char stop2) {
  const char *s = b->src->text;
  size_t from = *at;
  while (*at < b->src->len && s[*at] != stop && s[*at] != stop2) ++*at;
  struct tsri_field f = {
      s + from, *at - from, {b->src, 1, (uint32_t)(from + 1), (uint32_t)(*at - from)}};
  return f;
}

static bool item_sizes(struct tsri_build *b, const struct tsri_field *item, uint64_t *size) {
  size_t at = (size_t)(item->p - b->src->text), end = at + item->n, n = 0;
  bool good = true;
  for (;; at++) {
    struct tsri_field f = take(b, &at, 'x', ',');
    if (n < SIZES && f.n > 0) good &= tsri_field_u64(b, &f, size_names[n], 1, &size[n]);
    if (n < SIZES && f.n == 0) break;
    n++;
    if (at >= end) break;
  }
  if (n == SIZES || !good) return good;
  tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &item->pos,
                          "matmul without three sizes; expected MxNxK such as 128x256x512, got "
                          "'%.*s'",
                          tsri_field_shown(item), item->p));
  return false;
}

static void add_item(struct tsri_build *b, const struct tsri_field *item) {
  struct tsr_op op;
  memset(&op, 0, sizeof op);
  uint64_t size[SIZES];
  if (!item_sizes(b, item, size)) return;
  op.kind = TSR_OP_GEMM;
  op.m = size[0];
  op.n = size[1];
  op.k = size[2];
  op.count = 1;
  op.pos = item->pos;
  op.name = tsr_arena_printf(b->g->arena, "gemm%zu", b->n);
  if (!op.name) {
    tsri_nomem(b);
    return;
  }
  if (tsri_build_chain(b, &op) == TSR_OK) tsri_build_add(b, &op);
}

void tsri_gemm_read(struct tsri_build *b) {
  for (size_t at = strlen("gemm:"); !tsri_build_full(b); at++) {
    struct tsri_field item = take(b, &at, ',', ',');
    add_item(b, &item);
    if (at >= b->src->len) break;
  }
}
