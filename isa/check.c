/* Whether a program is sound: what every engine relies on, each rule once. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "isa/isa_int.h"

__attribute__((format(printf, 3, 4))) static bool bad(struct tsri_flaw *flaw, size_t at,
                                                      const char *fmt, ...) {
  *flaw = (struct tsri_flaw){.at = at, .cause = at};
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(flaw->what, sizeof flaw->what, fmt, ap);
  va_end(ap);
  return false;
}

static int64_t get(const struct tsr_inst *in, const char *name) {
  const struct tsri_field *f = tsri_rows[in->op].field;
  int j = 0;
  while (f[j].name && strcmp(f[j].name, name) != 0) j++;
  TSR_CHECK(f[j].name);
  return in->f[j];
}

/* ---- operands ---- */

/* Of every operand of this name. */
static const struct limit {
  const char *name;
  uint64_t low, high;
  const char *what;
} limits[] = {
    {"i", 0, TSR_ISA_DIMS - 1, "a tensor has dimensions 0 to 3"},
    {"elem", 1, UINT64_MAX, "an element has at least 1 byte"},
    {"size", 1, UINT64_MAX, "a size is at least 1"},
    {"extent", 1, UINT64_MAX, "an extent is at least 1"},
    {"step", 1, UINT64_MAX, "a step is at least 1"},
    {"tile", 1, UINT64_MAX, "a tile is at least 1"},
    {"wrap", 1, UINT64_MAX, "moves wrap within at least 1 byte"},
    {"trips", 1, UINT64_MAX, "a loop runs at least once"},
    {"n", 1, UINT64_MAX, "a wait takes at least 1"},
    {"rate", 1, UINT64_MAX, "the rate is at least 1"},
};

static bool within_limits(const struct tsr_inst *in, size_t at, struct tsri_flaw *flaw) {
  const struct tsri_field *f = tsri_rows[in->op].field;
  for (int j = 0; f[j].name; j++) {
    if (f[j].kind != TSRI_U) continue;
    uint64_t v = (uint64_t)in->f[j];
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++)
      if (!strcmp(f[j].name, limits[l].name) && (v < limits[l].low || v > limits[l].high))
        return bad(flaw, at, "%s", limits[l].what);
  }
  return true;
}

static bool names_sound(const struct tsr_program *p, struct tsri_flaw *flaw) {
  for (size_t i = 0; i < p->n_names; i++) {
    if (!tsri_name_valid(p->name[i], strlen(p->name[i])))
      return bad(flaw, 0, "name %zu is not 1 to %d printable ASCII characters without a quote",
                 i, (int)TSR_ISA_NAME_MAX);
    if (tsri_name_find(p, p->name[i]) != i) return bad(flaw, 0, "name %zu is there twice", i);
  }
  return true;
}

/* Names count in the order of their first use, so that a text has nothing to add. */
bool tsri_operands_sound(const struct tsr_program *p, struct tsri_flaw *flaw) {
  size_t used = 0;
  if (!names_sound(p, flaw)) return false;
  for (size_t i = 0; i < p->n; i++) {
    const struct tsr_inst *in = &p->inst[i];
    if (!tsri_operands_fit(in)) return bad(flaw, i, "an operand is outside its range");
    if (in->op != TSR_ISA_FORMAT) continue;
    size_t name = (size_t)get(in, "name");
    if (name >= p->n_names)
      return bad(flaw, i, "there is no name %zu; the program has %zu", name, p->n_names);
    if (name > used) return bad(flaw, i, "name %zu is used before name %zu", name, used);
    if (name == used) used++;
  }
  return used == p->n_names ? true : bad(flaw, p->n, "name %zu is not used", used);
}

/* ---- loops ---- */

struct loops {
  int64_t stack[TSR_ISA_LOOPS];
  size_t opened[TSR_ISA_LOOPS];
  unsigned depth;
  uint32_t open, seen; /* sets */
};

static bool open_loop(struct loops *o, const struct tsr_inst *in, size_t at,
                      struct tsri_flaw *flaw) {
  int64_t l = get(in, "l");
  if (l == TSR_ISA_NO_LOOP || o->open & 1u << l)
    return bad(flaw, at, "this loop register is open already or is none");
  o->open |= 1u << l;
  o->opened[o->depth] = at;
  o->stack[o->depth++] = l;
  return true;
}

static bool close_loop(struct loops *o, const struct tsr_inst *in, size_t at,
                       struct tsri_flaw *flaw) {
  if (o->depth == 0 || o->stack[o->depth - 1] != get(in, "l"))
    return bad(flaw, at, "this loop is not the innermost open one");
  o->open &= ~(1u << o->stack[--o->depth]);
  return true;
}

/* An operand that follows a loop: it is one of the program's, and an axis may have none. */
static bool follows_loop(const struct loops *o, const struct tsr_inst *in, int64_t l, size_t at,
                         struct tsri_flaw *flaw) {
  if (l == TSR_ISA_NO_LOOP)
    return in->op == TSR_ISA_AXIS ||
           bad(flaw, at, "it follows no loop, so that it never moves");
  return o->seen & 1u << l || bad(flaw, at, "the program has no loop l%d", (int)l);
}

/* ---- what is described ---- */

struct tensor {
  bool there;
  uint32_t dims, boxes;        /* sets of dimensions */
  uint64_t first_end;          /* behind the first element */
  uint64_t span[TSR_ISA_DIMS]; /* from the first element to the last, in bytes */
};

struct scope {
  struct tensor tensor[TSR_ISA_TENSORS];
  uint32_t places, formats; /* sets */
  struct loops loops;
};

static bool describe_tensor(struct scope *s, const struct tsr_inst *in, size_t at,
                            struct tsri_flaw *flaw) {
  struct tensor *t = &s->tensor[get(in, "t")];
  *t = (struct tensor){.there = true};
  return tsr_add_u64((uint64_t)get(in, "base"), (uint64_t)get(in, "elem"), &t->first_end) ||
         bad(flaw, at, "the tensor ends beyond 2^64 bytes");
}

static bool describe_dim(struct scope *s, const struct tsr_inst *in, size_t at,
                         struct tsri_flaw *flaw) {
  struct tensor *t = &s->tensor[get(in, "t")];
  int64_t d = get(in, "i");
  t->dims |= 1u << d;
  uint64_t end = t->first_end;
  bool fits =
      tsr_mul_u64((uint64_t)get(in, "size") - 1, (uint64_t)get(in, "stride"), &t->span[d]);
  for (int i = 0; i < TSR_ISA_DIMS; i++) fits = fits && tsr_add_u64(end, t->span[i], &end);
  return fits || bad(flaw, at, "the tensor ends beyond 2^64 bytes");
}

static bool describe_box(struct scope *s, const struct tsr_inst *in, size_t at,
                         struct tsri_flaw *flaw) {
  uint64_t reach;
  s->tensor[get(in, "t")].boxes |= 1u << get(in, "i");
  return tsr_mul_u64((uint64_t)get(in, "extent") - 1, (uint64_t)get(in, "step"), &reach) ||
         bad(flaw, at, "the box reaches beyond 2^64 elements");
}

static bool describe_place(struct scope *s, const struct tsr_inst *in, size_t at,
                           struct tsri_flaw *flaw) {
  uint64_t end;
  s->places |= 1u << get(in, "p");
  return tsr_add_u64((uint64_t)get(in, "base"), (uint64_t)get(in, "wrap"), &end) ||
         bad(flaw, at, "the place ends beyond 2^64 bytes");
}

static bool describe(struct scope *s, const struct tsr_inst *in, size_t at,
                     struct tsri_flaw *flaw) {
  switch (in->op) {
  case TSR_ISA_FORMAT: s->formats |= 1u << get(in, "f"); return true;
  case TSR_ISA_TENSOR: return describe_tensor(s, in, at, flaw);
  case TSR_ISA_DIM: return describe_dim(s, in, at, flaw);
  case TSR_ISA_BOX: return describe_box(s, in, at, flaw);
  case TSR_ISA_PLACE: return describe_place(s, in, at, flaw);
  case TSR_ISA_LOOP: return open_loop(&s->loops, in, at, flaw);
  case TSR_ISA_END: return close_loop(&s->loops, in, at, flaw);
  default: return true;
  }
}

/* ---- what is used ---- */

/* Whether the instruction describes the register of its operand j. */
static bool describes(const struct tsr_inst *in, int j) {
  return j == 0 && (in->op == TSR_ISA_FORMAT || in->op == TSR_ISA_TENSOR ||
                    in->op == TSR_ISA_PLACE || in->op == TSR_ISA_LOOP || in->op == TSR_ISA_END);
}

/* Whether the operand takes part in what the instruction does. */
static bool takes_part(const struct tsr_inst *in, const char *name) {
  if (in->op == TSR_ISA_MM && !strcmp(name, "pm")) return get(in, "sparse") != TSR_DENSE;
  if (in->op == TSR_ISA_VEC && !strcmp(name, "pb")) return tsri_vec_reads_b(get(in, "op"));
  return true;
}

/* A tensor that dim to feed go on describing, in dimension i, or that is moved whole. */
static bool tensor_sound(const struct scope *s, const struct tsr_inst *in, int64_t number,
                         size_t at, struct tsri_flaw *flaw) {
  const struct tensor *t = &s->tensor[number];
  if (!t->there) return bad(flaw, at, "tensor t%d is not described above", (int)number);
  if (in->op == TSR_ISA_DIM) return true;
  if (in->op == TSR_ISA_BOX || in->op == TSR_ISA_START || in->op == TSR_ISA_WALK ||
      in->op == TSR_ISA_FEED)
    return t->dims >> get(in, "i") & 1 ||
           bad(flaw, at, "dimension %d of t%d is not described above", (int)get(in, "i"),
               (int)number);
  if (t->dims == 0) return bad(flaw, at, "tensor t%d has no dimension", (int)number);
  for (int i = 0; t->dims >> i; i++)
    if (!(t->dims & t->boxes & 1u << i))
      return bad(flaw, at, "dimension %d of t%d has no size or no box", i, (int)number);
  return true;
}

static bool use(const struct scope *s, const struct tsr_inst *in, const struct tsri_field *f,
                int64_t v, size_t at, struct tsri_flaw *flaw) {
  uint32_t missing;
  switch (f->kind) {
  case TSRI_T: return tensor_sound(s, in, v, at, flaw);
  case TSRI_A:
    return s->places >> v & 1 || bad(flaw, at, "place p%d is not described above", (int)v);
  case TSRI_Q:
    return s->formats >> v & 1 || bad(flaw, at, "format f%d is not described above", (int)v);
  case TSRI_L: return follows_loop(&s->loops, in, v, at, flaw);
  case TSRI_K:
    missing = (uint32_t)v & ~s->loops.open;
    return !missing || bad(flaw, at, "'%s' has loop l%d, which is not open here", f->name,
                           __builtin_ctz(missing));
  default: return true;
  }
}

/* Rows, columns and the window of a vector instruction share no axis, and a window is
 * reduced. */
static bool vector_sound(const struct tsr_inst *in, size_t at, struct tsri_flaw *flaw) {
  bool window = in->op == TSR_ISA_WINDOW;
  if (in->op != TSR_ISA_VEC && !window) return true;
  int64_t rows = get(in, "rows"), cols = get(in, "cols"), win = window ? get(in, "win") : 0;
  int64_t twice = (rows & cols) | (rows & win) | (cols & win);
  if (twice)
    return bad(flaw, at, "axis %s stands in two of its sets",
               tsr_isa_axis_names[__builtin_ctz((unsigned)twice)]);
  if (window != (tsri_vec_kind(get(in, "op")) == TSRI_VEC_WINDOW))
    return bad(flaw, at,
               window ? "a window takes an operation of windows"
                      : "an operation of windows takes a window");
  if (!window && get(in, "over") && tsri_vec_kind(get(in, "op")) != TSRI_VEC_REDUCE &&
      tsri_vec_kind(get(in, "op")) != TSRI_VEC_BINARY)
    return bad(flaw, at, "only a reduction or an operation of two goes on over loops");
  return true;
}

static bool instruction_sound(struct scope *s, const struct tsr_inst *in, size_t at,
                              struct tsri_flaw *flaw) {
  const struct tsri_field *f = tsri_rows[in->op].field;
  if (!within_limits(in, at, flaw) || !vector_sound(in, at, flaw)) return false;
  for (int j = 0; f[j].name; j++)
    if (!describes(in, j) && takes_part(in, f[j].name) &&
        !use(s, in, &f[j], in->f[j], at, flaw))
      return false;
  return describe(s, in, at, flaw);
}

/* ---- the whole ---- */

bool tsri_program_sound(const struct tsr_program *p, struct tsri_flaw *flaw) {
  struct scope s = {0};
  if (p->n == 0 || p->inst[p->n - 1].op != TSR_ISA_HALT)
    return bad(flaw, p->n, "a program ends with halt");
  if (!tsri_operands_sound(p, flaw)) return false;
  for (size_t i = 0; i < p->n; i++) {
    const struct tsr_inst *in = &p->inst[i];
    if (in->op == TSR_ISA_LOOP) s.loops.seen |= 1u << get(in, "l");
    if (in->op == TSR_ISA_HALT && i + 1 != p->n) return bad(flaw, i, "halt before the end");
  }
  for (size_t i = 0; i < p->n; i++)
    if (!instruction_sound(&s, &p->inst[i], i, flaw)) return false;
  if (s.loops.depth == 0) return true;
  bad(flaw, p->n, "a loop is not closed");
  flaw->cause = s.loops.opened[s.loops.depth - 1];
  return false;
}

enum tsr_status tsr_isa_check(const struct tsr_program *p, struct tsr_err *err) {
  struct tsri_flaw flaw;
  if (tsri_program_sound(p, &flaw)) return TSR_OK;
  const char *what = flaw.at < p->n && p->inst[flaw.at].op < TSR_ISA_OP_COUNT
                         ? tsri_rows[p->inst[flaw.at].op].mnemonic
                         : "end";
  return tsr_err_set(err, TSR_INPUT, "instruction %zu (%s): %s", flaw.at, what, flaw.what);
}
