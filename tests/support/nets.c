/* Nets from a few words (tests/support/nets.h). */
#include "tests/support/nets.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/check/draw.h"
#include "sim/base/rng.h"
#include "workloads/onnx/onnx_write.h"

enum { WORDS = 24, WORD = 96, LIST = 16 };

struct words {
  char text[WORDS][WORD];
  size_t n;
};

static void ok(enum tsr_status st, struct tsr_err *err) {
  if (st) fail_msg("%s", err->n ? err->msg[0] : "no message");
}

/* One statement as words; where the next begins, NULL at the end. */
static const char *split(const char *at, struct words *w) {
  w->n = 0;
  while (*at && *at != ';') {
    size_t n = strcspn(at, " \n;");
    if (n) {
      assert_true(w->n < WORDS && n < WORD);
      memcpy(w->text[w->n], at, n);
      w->text[w->n++][n] = '\0';
    }
    at += n;
    while (*at == ' ' || *at == '\n') at++;
  }
  return *at ? at + 1 : NULL;
}

static size_t value(struct tsr_net *net, const char *name) {
  struct tsr_err err = TSR_ERR_INIT;
  size_t v = SIZE_MAX;
  if (!strcmp(name, "-")) return v;
  ok(tsr_net_value(net, name, &v, &err), &err);
  return v;
}

static void add_input(struct tsr_net *net, const struct words *w) {
  struct tsr_err err = TSR_ERR_INIT;
  size_t v = value(net, w->text[1]);
  struct tsr_net_value *x = &net->values[v];
  x->type = tsr_dtype_find(w->text[2]);
  assert_true(x->type != TSR_DTYPE_NONE);
  x->shaped = true;
  x->rank = (unsigned)w->n - 3;
  for (unsigned d = 0; d < x->rank; d++) {
    const char *text = w->text[3 + d];
    if (isdigit((unsigned char)*text))
      x->dim[d] = strtoull(text, NULL, 10);
    else
      x->dim_name[d] = tsr_arena_strdup(net->arena, text);
  }
  ok(tsr_net_input(net, v, &err), &err);
}

static void fill(struct tsr_array *a, bool whole, uint64_t seed) {
  for (uint64_t i = 0; i < a->n; i++)
    if (a->i)
      a->i[i] = (int64_t)(tsr_rng_u64(seed, 1, i) % 4);
    else
      a->f[i] = whole ? (double)(tsr_rng_u64(seed, 2, i) % 7) - 3
                      : (double)tsr_draw_normal(seed, 3, i);
}

static void add_constant(struct tsr_net *net, const struct words *w) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_array *a;
  bool ints = !strcmp(w->text[0], "ints");
  uint64_t dim[TSR_RANK_MAX] = {w->n - 2};
  for (size_t d = 2; !ints && d < w->n; d++) dim[d - 2] = strtoull(w->text[d], NULL, 10);
  ok(tsr_array_create(net->arena, ints ? TSR_DTYPE_I64 : TSR_DTYPE_F32,
                      ints ? 1 : (unsigned)w->n - 2, dim, &a, &err),
     &err);
  uint64_t seed = 0;
  for (const char *c = w->text[1]; *c; c++) seed = seed * 31 + (uint64_t)*c;
  if (!ints) fill(a, !strcmp(w->text[0], "whole"), seed);
  for (size_t i = 2; ints && i < w->n; i++) a->i[i - 2] = strtoll(w->text[i], NULL, 10);
  ok(tsr_net_constant(net, value(net, w->text[1]), a, &err), &err);
}

static size_t values_of(struct tsr_net *net, char *text, size_t *list) {
  size_t n = 0;
  for (char *at = text, *end; at; at = end) {
    end = strchr(at, ',');
    if (end) *end++ = '\0';
    assert_true(n < LIST);
    list[n++] = value(net, at);
  }
  return n;
}

static void read_attr(char *text, struct tsr_net_attr *a, int64_t *ints) {
  char *is = strchr(text, '=');
  assert_non_null(is);
  *is++ = '\0';
  *a = (struct tsr_net_attr){.name = text, .kind = TSR_ATTR_INT};
  if (strchr(is, ',')) {
    a->kind = TSR_ATTR_INTS;
    a->ints = ints;
    for (char *at = is; *at; at += *at == ',') ints[a->n++] = strtoll(at, &at, 10);
  } else if (strchr(is, '.')) {
    a->kind = TSR_ATTR_FLOAT;
    a->f = strtod(is, NULL);
  } else {
    a->i = strtoll(is, NULL, 10);
  }
}

static void add_node(struct tsr_net *net, struct words *w) {
  struct tsr_err err = TSR_ERR_INIT;
  size_t in[LIST], out[LIST];
  struct tsr_net_attr attr[WORDS];
  int64_t ints[WORDS][LIST];
  size_t n_in = values_of(net, w->text[1], in), n_out = values_of(net, w->text[2], out);
  for (size_t i = 3; i < w->n; i++) read_attr(w->text[i], &attr[i - 3], ints[i - 3]);
  ok(tsr_net_node(net, w->text[0], "", w->text[2], in, n_in, out, n_out, attr, w->n - 3, &err),
     &err);
}

struct tsr_net *nets_read(const char *text) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net;
  struct words w;
  ok(tsr_net_create("made", "made", 17, &net, &err), &err);
  for (const char *at = text; at;) {
    at = split(at, &w);
    if (!w.n) continue;
    if (!strcmp(w.text[0], "in"))
      add_input(net, &w);
    else if (!strcmp(w.text[0], "out"))
      for (size_t i = 1; i < w.n; i++)
        ok(tsr_net_output(net, value(net, w.text[i]), &err), &err);
    else if (islower((unsigned char)w.text[0][0]))
      add_constant(net, &w);
    else
      add_node(net, &w);
  }
  return net;
}

struct tsr_net *nets_make(const char *text, const struct tsr_net_dim *dims, size_t n_dims) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = nets_read(text);
  const struct tsr_net_options o = {dims, n_dims, false};
  ok(tsr_net_finish(net, &o, &err), &err);
  return net;
}

void nets_write(const char *text, const char *path) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_net *net = nets_read(text);
  unsigned char *bytes;
  size_t n;
  ok(tsr_onnx_write(net, &bytes, &n, &err), &err);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
  tsr_mem_free(bytes);
  tsr_net_destroy(net);
}

struct tsr_array *nets_draw(const struct tsr_net_value *v, bool whole, uint64_t seed) {
  struct tsr_err err = TSR_ERR_INIT;
  struct tsr_array *a;
  ok(tsr_array_create(NULL, v->type, v->rank, v->dim, &a, &err), &err);
  fill(a, whole, seed);
  return a;
}
