/* Equations of Einsum: `bij,bjk->bik`, `...ij,...jk`, `ii->i` (SRC:onnx_operators, Einsum). */
#include <string.h>

#include "workloads/net/net_int.h"

#define FAIL(c, ...) tsri_fail((c)->net, (c)->node, (c)->err, __VA_ARGS__)
enum { LETTERS = 128, NO_LABEL = -1 };

struct parse {
  const struct tsri_infer *c;
  const char *equation;
  struct tsr_net_einsum e;
  int letter[LETTERS];    /* label of a letter */
  int dots[TSR_RANK_MAX]; /* label of a dimension of the ellipsis, counted from the last */
  unsigned n_dots;        /* the longest */
  unsigned uses[LETTERS]; /* of a letter in all inputs */
};

static enum tsr_status bad(const struct parse *p, const char *why) {
  return FAIL(p->c, "the equation '%s' %s", p->equation, why);
}

static bool is_letter(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* What a term says: letters, with 0 at the place of the ellipsis. */
struct term {
  unsigned n, n_letters;
  char at[TSR_RANK_MAX + 1];
  bool dots;
};

/* Reads a term at *p, up to `,`, `-` or the end. */
static enum tsr_status read_term(const struct parse *x, const char **p, struct term *t) {
  *t = (struct term){0};
  const char *s = *p;
  for (; *s && *s != ',' && *s != '-'; s++) {
    if (*s == ' ') continue;
    bool dots = strncmp(s, "...", 3) == 0;
    if (!dots && !is_letter(*s)) return bad(x, "holds something else than labels");
    if (dots && t->dots) return bad(x, "has two ellipses in a term");
    if (t->n_letters + !dots > TSR_RANK_MAX) return bad(x, "has a term of more than 8 labels");
    t->at[t->n++] = dots ? '\0' : *s;
    t->n_letters += !dots;
    t->dots |= dots;
    s += dots ? 2 : 0;
  }
  *p = s;
  return TSR_OK;
}

/* A dimension of `size` under the label at *id, made where there is none. 1 meets any size. */
static enum tsr_status meet(struct parse *p, int *id, uint64_t size, unsigned *label) {
  if (*id == NO_LABEL) {
    if (p->e.n_labels == TSR_EINSUM_LABELS) return bad(p, "has too many labels");
    *id = (int)p->e.n_labels++;
    p->e.size[*id] = size;
  }
  uint64_t *have = &p->e.size[*id];
  if (*have != size && *have != 1 && size != 1)
    return FAIL(p->c, "the equation '%s' gives one label two sizes; expected %llu, got '%llu'",
                p->equation, (unsigned long long)*have, (unsigned long long)size);
  if (*have == 1) *have = size;
  *label = (unsigned)*id;
  return TSR_OK;
}

static enum tsr_status read_input(struct parse *p, size_t i, const struct term *t) {
  const struct tsr_net_value *v = p->c->in[i];
  if (v->rank < t->n_letters || (!t->dots && v->rank != t->n_letters))
    return FAIL(p->c,
                "input %zu ('%s') does not fit the equation '%s'; expected %u dimensions%s, "
                "got '%u'",
                i, v->name, p->equation, t->n_letters, t->dots ? " or more" : "", v->rank);
  unsigned n_dots = v->rank - t->n_letters, d = 0;
  if (n_dots > p->n_dots) p->n_dots = n_dots;
  enum tsr_status s = TSR_OK;
  for (unsigned k = 0; k < t->n; k++) {
    if (t->at[k]) {
      p->uses[(unsigned char)t->at[k]]++;
      s = meet(p, &p->letter[(unsigned char)t->at[k]], v->dim[d], &p->e.in[i][d]);
      d++;
    }
    for (unsigned r = n_dots; !t->at[k] && !s && r-- > 0; d++)
      s = meet(p, &p->dots[r], v->dim[d], &p->e.in[i][d]);
    if (s) return s;
  }
  p->e.n_in[i] = v->rank;
  return TSR_OK;
}

static enum tsr_status add_out(struct parse *p, int label) {
  if (p->e.n_out == TSR_RANK_MAX) return bad(p, "has a result of more than 8 dimensions");
  for (unsigned k = 0; k < p->e.n_out; k++)
    if (p->e.out[k] == (unsigned)label) return bad(p, "repeats a label in its result");
  p->e.out[p->e.n_out++] = (unsigned)label;
  return TSR_OK;
}

static enum tsr_status add_dots(struct parse *p) {
  enum tsr_status s = TSR_OK;
  for (unsigned r = p->n_dots; !s && r-- > 0;) s = add_out(p, p->dots[r]);
  return s;
}

static enum tsr_status explicit_out(struct parse *p, const char *at) {
  struct term t;
  enum tsr_status s = read_term(p, &at, &t);
  if (!s && *at) s = bad(p, "has more behind its result");
  for (unsigned k = 0; !s && k < t.n; k++) {
    if (!t.at[k]) {
      s = add_dots(p);
    } else if (p->letter[(unsigned char)t.at[k]] == NO_LABEL) {
      s = bad(p, "has a label in its result that no input has");
    } else {
      s = add_out(p, p->letter[(unsigned char)t.at[k]]);
    }
  }
  return s;
}

/* The ellipsis, then what occurs once, by alphabet. */
static enum tsr_status implicit_out(struct parse *p) {
  enum tsr_status s = add_dots(p);
  for (unsigned ch = 0; !s && ch < LETTERS; ch++)
    if (p->uses[ch] == 1) s = add_out(p, p->letter[ch]);
  return s;
}

static enum tsr_status read_inputs(struct parse *p, const char **at) {
  for (size_t i = 0;; i++) {
    struct term t;
    enum tsr_status s = read_term(p, at, &t);
    if (s) return s;
    if (i >= p->c->node->n_in) return bad(p, "has more terms than there are inputs");
    if ((s = read_input(p, i, &t))) return s;
    if (**at == ',') {
      (*at)++;
      continue;
    }
    return i + 1 == p->c->node->n_in ? TSR_OK : bad(p, "has fewer terms than there are inputs");
  }
}

enum tsr_status tsri_einsum(const struct tsri_infer *c, struct tsr_net_einsum *out) {
  struct parse p = {.c = c, .equation = tsr_net_attr_text(c->node, "equation", NULL)};
  if (!p.equation) return FAIL(c, "attribute 'equation' is missing");
  if (c->node->n_in > TSR_EINSUM_INPUTS) return FAIL(c, "has more than 8 inputs");
  for (unsigned k = 0; k < LETTERS; k++) p.letter[k] = NO_LABEL;
  for (unsigned k = 0; k < TSR_RANK_MAX; k++) p.dots[k] = NO_LABEL;
  const char *at = p.equation;
  enum tsr_status s = read_inputs(&p, &at);
  if (s) return s;
  if (*at == '\0') {
    s = implicit_out(&p);
  } else if (strncmp(at, "->", 2) == 0) {
    s = explicit_out(&p, at + 2);
  } else {
    s = bad(&p, "has a '-' that is no '->'");
  }
  if (!s) *out = p.e;
  return s;
}
