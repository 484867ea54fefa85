/* SCALE-Sim topologies: convolutions and M,N,K lists, as they are found.
 *
 * Columns stand by place; a header, where there is one, is checked against the
 * places and names what follows them.  A name, a trailing comma or a blank never
 * changes what a row means.  Output sizes are SCALE-Sim's own,
 * ceil((H - F + s) / s) per axis (SRC:scalesim-topology): where the stride does
 * not divide, the last window reaches over the edge, which stands in the graph as
 * that much zero padding behind. */
#include <string.h>

#include "workloads/workloads_int.h"

enum { WORDS = 4, MOST_SLOTS = 8, WORD_MAX = 32 };

/* Accepted headings, letters and digits only, in lower case.  The second column
 * of one published file is headed `IFMAP Width` twice, hence its place in slot 1. */
struct slot {
  const char *what;
  const char *words[WORDS];
};

enum { H = 1, W, FH, FW, C, F, S, CONV_SLOTS };
static const struct slot conv_slots[CONV_SLOTS] = {
    {"Layer name", {0}},
    {"IFMAP Height", {"ifmapheight", "ifmaph", "ifmapwidth"}},
    {"IFMAP Width", {"ifmapwidth", "ifmapw"}},
    {"Filter Height", {"filterheight", "filterh"}},
    {"Filter Width", {"filterwidth", "filterw"}},
    {"Channels", {"channels", "channel", "numchannels"}},
    {"Num Filter", {"numfilter", "numfilters", "filters"}},
    {"Strides", {"strides", "stride", "strideheight", "strideh"}},
};

enum { M = 1, N, K, MNK_SLOTS };
static const struct slot mnk_slots[MNK_SLOTS] = {
    {"Layer", {0}}, {"M", {"m"}}, {"N", {"n"}}, {"K", {"k"}}};

/* Columns behind the fixed ones. */
enum extra { EXTRA_UNNAMED, EXTRA_OTHER, EXTRA_SPARSITY, EXTRA_BATCH, EXTRA_STRIDE_W };
static const struct {
  const char *word;
  enum extra extra;
} extra_words[] = {
    {"", EXTRA_UNNAMED},
    {"sparsity", EXTRA_SPARSITY},
    {"sparsityratio", EXTRA_SPARSITY},
    {"batch", EXTRA_BATCH},
    {"batchsize", EXTRA_BATCH},
    {"stridewidth", EXTRA_STRIDE_W},
    {"stridew", EXTRA_STRIDE_W},
};

struct reader {
  struct tsri_build *b;
  const struct slot *slots;
  size_t n_slots;
  bool conv;
  enum extra *extra; /* owned: kind of the columns behind the slots */
  size_t n_extra, cap_extra;
  uint64_t *uses; /* owned: rows under the name of each operator */
  size_t cap_uses;
  bool warned_stride, warned_name, warned_label;
  struct tsri_row row;
};

static void normalise(const struct tsri_field *f, char *word) {
  size_t n = 0;
  for (size_t i = 0; i < f->n && n + 1 < WORD_MAX; i++) {
    char c = f->p[i];
    if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) word[n++] = c;
  }
  word[n] = '\0';
}

static bool slot_matches(const struct slot *s, const char *word) {
  for (size_t i = 0; i < WORDS && s->words[i]; i++)
    if (strcmp(s->words[i], word) == 0) return true;
  return false;
}

/* How many of the headings 1.. are a known one of these slots, in any order. */
static size_t headings(const struct tsri_row *row, const struct slot *slots, size_t n) {
  size_t found = 0;
  for (size_t i = 1; i < row->n; i++) {
    char word[WORD_MAX];
    normalise(&row->f[i], word);
    for (size_t s = 1; s < n; s++)
      if (slot_matches(&slots[s], word)) {
        found++;
        break;
      }
  }
  return found;
}

/* Fields 1.. that are numbers, up to the first that is none. */
static size_t numbers(const struct tsri_row *row) {
  size_t n = 0;
  for (; n + 1 < row->n; n++) {
    struct tsri_field f = tsri_field_trim(row->f[n + 1]);
    if (!tsri_field_digits(&f)) break;
  }
  return n;
}

enum { MNK_NUMBERS = 3, CONV_NUMBERS_MIN = 6 };

bool tsri_scalesim_is_first(const struct tsri_row *row) {
  return headings(row, conv_slots, CONV_SLOTS) >= 2 ||
         headings(row, mnk_slots, MNK_SLOTS) >= 2 || numbers(row) == MNK_NUMBERS ||
         numbers(row) >= CONV_NUMBERS_MIN;
}

static void take_slots(struct reader *r, bool conv) {
  r->conv = conv;
  r->slots = conv ? conv_slots : mnk_slots;
  r->n_slots = conv ? CONV_SLOTS : MNK_SLOTS;
}

static bool extra_add(struct reader *r, enum extra e) {
  void *p = r->extra;
  if (!tsr_mem_grow(&p, &r->cap_extra, r->n_extra + 1, sizeof *r->extra)) {
    tsri_nomem(r->b);
    return false;
  }
  r->extra = p;
  r->extra[r->n_extra++] = e;
  return true;
}

static void heading_wrong(struct reader *r, const struct tsri_field *f, const char *expected) {
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                             "column out of place; expected '%s', got '%.*s'", expected,
                             tsri_field_shown(f), f->p));
}

static void extra_heading(struct reader *r, const struct tsri_field *f) {
  char word[WORD_MAX];
  normalise(f, word);
  enum extra e = EXTRA_OTHER;
  for (size_t i = 0; i < sizeof extra_words / sizeof extra_words[0]; i++)
    if (strcmp(extra_words[i].word, word) == 0) e = extra_words[i].extra;
  bool twice = e == EXTRA_STRIDE_W && !r->conv;
  for (size_t i = 0; i < r->n_extra; i++) twice |= e > EXTRA_OTHER && r->extra[i] == e;
  if (twice) heading_wrong(r, f, "Sparsity or Batch, each once");
  extra_add(r, e);
}

static void read_header(struct reader *r) {
  size_t conv = headings(&r->row, conv_slots, CONV_SLOTS);
  take_slots(r, conv >= 2);
  for (size_t i = 1; i < r->n_slots; i++) {
    char word[WORD_MAX] = "";
    if (i < r->row.n) normalise(&r->row.f[i], word);
    if (slot_matches(&r->slots[i], word)) continue;
    struct tsri_field end = {"", 0, r->row.end};
    heading_wrong(r, i < r->row.n ? &r->row.f[i] : &end, r->slots[i].what);
    return;
  }
  for (size_t i = r->n_slots; i < r->row.n && !tsri_build_full(r->b); i++) {
    struct tsri_field f = tsri_field_trim(r->row.f[i]);
    extra_heading(r, &f);
  }
}

/* `N:M` with 1 <= N <= M. */
static bool is_ratio(const struct tsri_field *f) {
  const char *colon = memchr(f->p, ':', f->n);
  if (!colon) return false;
  struct tsri_field a = {f->p, (size_t)(colon - f->p), f->pos};
  struct tsri_field c = {colon + 1, f->n - a.n - 1, f->pos};
  bool plain = tsri_field_digits(&a) && tsri_field_digits(&c) && a.p[0] != '0' && c.p[0] != '0';
  /* Without leading zeros the longer number is the larger one. */
  return plain && (a.n < c.n || (a.n == c.n && memcmp(a.p, c.p, a.n) <= 0));
}

static void take_sparsity(struct reader *r, const struct tsri_field *f, struct tsr_op *op) {
  if (is_ratio(f)) {
    op->sparsity = tsri_field_text(r->b, f);
    if (!op->sparsity) tsri_nomem(r->b);
    return;
  }
  tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                             "not a sparsity; expected N:M with N from 1 to M such as 2:4, got "
                             "'%.*s'",
                             tsri_field_shown(f), f->p));
}

/* A value in a column that the header does not name, or names unknown to us. */
static void take_other(struct reader *r, const struct tsri_field *f, bool named,
                       struct tsr_op *op) {
  if (!named && is_ratio(f)) {
    take_sparsity(r, f, op);
  } else if (f->p[0] >= '0' && f->p[0] <= '9') {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f->pos,
                               "value in a column without a known name; expected Sparsity, "
                               "Batch or Stride Width in the header, got '%.*s'",
                               tsri_field_shown(f), f->p));
  } else if (!r->warned_label) {
    r->warned_label = true;
    tsr_err_warn(r->b->err, &f->pos, "text behind the sizes is not used: '%.*s'",
                 tsri_field_shown(f), f->p);
  }
}

/* Values behind the fixed columns; false: the rest of the row is a comment. */
static bool take_extra(struct reader *r, size_t i, struct tsr_op *op, uint64_t *batch,
                       uint64_t *stride_w) {
  struct tsri_field f = tsri_field_trim(r->row.f[i]);
  size_t at = i - r->n_slots;
  enum extra e = at < r->n_extra ? r->extra[at] : EXTRA_UNNAMED;
  if (f.n == 0) return true;
  if (f.p[0] == '#') return false;
  switch (e) {
  case EXTRA_SPARSITY: take_sparsity(r, &f, op); break;
  case EXTRA_BATCH: tsri_field_u64(r->b, &f, "Batch", 1, batch); break;
  case EXTRA_STRIDE_W: tsri_field_u64(r->b, &f, "Stride Width", 1, stride_w); break;
  case EXTRA_UNNAMED:
  case EXTRA_OTHER: take_other(r, &f, e == EXTRA_OTHER, op); break;
  }
  return true;
}

static void warn_stride(struct reader *r, const struct tsri_field *f) {
  if (r->warned_stride) return;
  r->warned_stride = true;
  tsr_err_warn(r->b->err, &f->pos,
               "the stride does not divide the input here: the output is rounded up as in "
               "SCALE-Sim, the last window reaching over the edge (said once a file)");
}

/* One axis: the output rounded up, and what the last window lacks as padding. */
static bool axis(struct reader *r, size_t in_slot, size_t kernel_slot, uint64_t in,
                 uint64_t kernel, uint64_t stride, uint64_t *out, uint64_t *pad) {
  if (kernel > in) {
    const struct tsri_field f = tsri_field_trim(r->row.f[kernel_slot]);
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &f.pos,
                               "%s larger than %s; expected at most %llu, got '%llu'",
                               conv_slots[kernel_slot].what, conv_slots[in_slot].what,
                               (unsigned long long)in, (unsigned long long)kernel));
    return false;
  }
  TSR_CHECK(stride > 0); /* sizes were read as 1 or more */
  /* ceil((in - kernel + stride) / stride) without the sum that may wrap */
  *out = tsr_ceil_div(in - kernel, stride) + 1;
  uint64_t over = (in - kernel) % stride;
  *pad = over ? stride - over : 0;
  if (over) {
    const struct tsri_field f = tsri_field_trim(r->row.f[S]);
    warn_stride(r, &f);
  }
  return true;
}

static void fill_conv(struct reader *r, const uint64_t *v, uint64_t batch, uint64_t stride_w,
                      struct tsr_op *op) {
  struct tsr_conv *c = &op->conv;
  op->kind = TSR_OP_CONV;
  op->has_conv = true;
  *c = (struct tsr_conv){.batch = batch,
                         .in_c = v[C],
                         .in_h = v[H],
                         .in_w = v[W],
                         .out_c = v[F],
                         .k_h = v[FH],
                         .k_w = v[FW],
                         .stride_h = v[S],
                         .stride_w = stride_w,
                         .dil_h = 1,
                         .dil_w = 1,
                         .groups = 1};
  bool good = axis(r, H, FH, c->in_h, c->k_h, c->stride_h, &c->out_h, &c->pad_b);
  good &= axis(r, W, FW, c->in_w, c->k_w, c->stride_w, &c->out_w, &c->pad_r);
  struct tsri_shape s;
  const char *why = NULL;
  if (good && !tsri_conv_shape(c, &s, &why)) {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &op->pos,
                               "impossible convolution; expected %s", why));
    good = false;
  }
  if (!good) return;
  op->m = s.m;
  op->n = s.n;
  op->k = s.k;
  op->count = s.count;
}

static bool uses_reserve(struct reader *r) {
  void *p = r->uses;
  bool good = tsr_mem_grow(&p, &r->cap_uses, r->b->n + 1, sizeof *r->uses);
  r->uses = p;
  if (!good) tsri_nomem(r->b);
  return good;
}

/* The name of the row; these files repeat names, so the second and later ones
 * get their number: `conv`, `conv#2`. */
static bool take_name(struct reader *r, struct tsr_op *op) {
  struct tsri_field f = tsri_field_trim(r->row.f[0]);
  struct tsri_build *b = r->b;
  op->pos = f.pos;
  if (f.n == 0 || memchr(f.p, '\n', f.n) || memchr(f.p, '\t', f.n)) {
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &f.pos,
                            "layer without a usable name; expected a name on one line"));
    return false;
  }
  if (!uses_reserve(r)) return false;
  op->name = tsri_field_text(b, &f);
  size_t first = op->name ? tsri_build_find(b, f.p, f.n) : SIZE_MAX;
  while (op->name && tsri_build_find(b, op->name, strlen(op->name)) != SIZE_MAX) {
    op->name = tsr_arena_printf(b->g->arena, "%.*s#%llu", (int)f.n, f.p,
                                (unsigned long long)(r->uses[first] += 1) + 1);
    if (!r->warned_name)
      tsr_err_warn(b->err, &f.pos,
                   "a layer name again: this and later ones get a number, as in '%s'",
                   op->name ? op->name : "");
    r->warned_name = true;
  }
  if (!op->name) tsri_nomem(b);
  return op->name != NULL;
}

/* The fixed numbers of the row into v[1..]; false: reported. */
static bool take_sizes(struct reader *r, uint64_t *v) {
  if (r->row.n < r->n_slots) {
    tsri_note(r->b, tsr_err_at(r->b->err, TSR_INPUT, &r->row.end,
                               "too few fields; expected a name and %zu numbers up to %s, got "
                               "%zu fields",
                               r->n_slots - 1, r->slots[r->n_slots - 1].what, r->row.n));
    return false;
  }
  bool good = true;
  for (size_t i = 1; i < r->n_slots; i++) {
    struct tsri_field f = tsri_field_trim(r->row.f[i]);
    good &= tsri_field_u64(r->b, &f, r->slots[i].what, 1, &v[i]);
  }
  return good;
}

static void read_row(struct reader *r) {
  struct tsri_build *b = r->b;
  if (tsri_row_blank(&r->row)) return;
  struct tsr_op op;
  memset(&op, 0, sizeof op);
  uint64_t v[MOST_SLOTS] = {0}, batch = 1, stride_w = 0;
  size_t before = b->errors;
  if (!take_sizes(r, v) || !take_name(r, &op)) return;
  for (size_t i = r->n_slots; i < r->row.n; i++)
    if (!take_extra(r, i, &op, &batch, &stride_w)) break;
  if (b->errors != before) return;
  if (r->conv) {
    fill_conv(r, v, batch, stride_w ? stride_w : v[S], &op);
  } else {
    op.kind = TSR_OP_GEMM;
    op.m = v[M];
    op.n = v[N];
    op.k = v[K];
    op.count = batch;
  }
  if (b->errors == before && tsri_build_chain(b, &op) == TSR_OK) tsri_build_add(b, &op);
}

void tsri_scalesim_read(struct tsri_build *b, struct tsri_row *first) {
  struct reader r = {.b = b, .row = *first};
  struct tsr_pos end = first->end;
  bool header = headings(first, conv_slots, CONV_SLOTS) >= 2 ||
                headings(first, mnk_slots, MNK_SLOTS) >= 2;
  if (header) {
    read_header(&r);
  } else {
    take_slots(&r, numbers(first) >= CONV_NUMBERS_MIN);
    read_row(&r);
  }
  bool readable = b->status == TSR_OK || !header;
  while (readable && !tsri_build_full(b) && tsri_scan_row(b, &r.row)) read_row(&r);
  if (b->status == TSR_OK && b->n == 0)
    tsri_note(b, tsr_err_at(b->err, TSR_INPUT, &end,
                            "no layer below the header; expected one row a layer"));
  tsr_mem_free(r.extra);
  tsr_mem_free(r.uses);
  *first = r.row; /* the caller frees what grew */
}
