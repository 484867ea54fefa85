/* Matrix units as texts (models/arith/mma_spec.h). */
#include "models/arith/mma_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/arith/mma_int.h"
#include "sim/base/str.h"

/* One table of keys drives reading and printing. */
enum field_type { FORMAT, NUMBER, ROUND, WORD, FLAG, ORDER, SPARSE, NORM };

struct field {
  const char *key;
  enum field_type type;
  size_t at;         /* offset in struct tsr_mma */
  int low, high;     /* NUMBER */
  const char *words; /* WORD, FLAG: values 0, 1, … separated by blanks */
};

#define AT(member) offsetof(struct tsr_mma, member)
static const struct field fields[] = {
    {"a", FORMAT, AT(a), 0, 0, NULL},
    {"b", FORMAT, AT(b), 0, 0, NULL},
    {"acc", FORMAT, AT(acc), 0, 0, NULL},
    {"L", NUMBER, AT(fused_len), 0, TSR_MMA_LEN_MAX, NULL},
    {"F", NUMBER, AT(align_bits), 0, TSR_MMA_BITS_MAX, NULL},
    {"F2", NUMBER, AT(align2_bits), 0, TSR_MMA_BITS_MAX, NULL},
    {"ez", NUMBER, AT(zero_exp), -8192, 8192, NULL},
    {"round", ROUND, AT(round), 0, 0, NULL},
    {"align", ROUND, AT(align_round), 0, 0, NULL},
    {"join", WORD, AT(join), 0, 0, "sum after"},
    {"overflow", FLAG, AT(overflow_inf), 0, 0, "ieee inf"},
    {"nan", WORD, AT(nan), 0, 0, "quiet ones"},
    {"flush", FLAG, AT(flush), 0, 0, "no yes"},
    {"parity", FLAG, AT(parity), 0, 0, "no yes"},
    {"sat", WORD, AT(int_mode), 0, 0, "wrap satend satstep pair16"},
    {"group", NUMBER, AT(group_len), 1, TSR_MMA_LEN_MAX, NULL},
    {"inner", FORMAT, AT(inner), 0, 0, NULL},
    {"norm", NORM, AT(norm_every), 0, 0, NULL},
    {"via", FORMAT, AT(via), 0, 0, NULL},
    {"via-round", ROUND, AT(via_round), 0, 0, NULL},
    {"c", FORMAT, AT(c), 0, 0, NULL},
    {"instr-k", NUMBER, AT(instr_k), 0, 1 << 20, NULL},
    {"scale", FORMAT, AT(scale), 0, 0, NULL},
    {"block", NUMBER, AT(scale_block), 1, 1 << 20, NULL},
    {"order", ORDER, AT(order), 0, 0, NULL},
    {"chunk", NUMBER, AT(chunk), 0, 1 << 30, NULL},
    {"promote", NUMBER, AT(promote), 0, 1 << 30, NULL},
    {"outer-round", ROUND, AT(outer_round), 0, 0, NULL},
    {"sparse", SPARSE, AT(sparse_n), 0, 0, NULL},
    {"len", FLAG, AT(sparse_logical), 0, 0, "physical logical"},
    {"part", FORMAT, AT(part), 0, 0, NULL},
    {"part-round", ROUND, AT(part_round), 0, 0, NULL},
    {"part-order", WORD, AT(part_order), 0, 0, "asc chain tree"},
};
enum { FIELDS = sizeof fields / sizeof fields[0] };

/* Kinds, and where their texts start from. */
static const struct {
  const char *word;
  enum tsr_mma_kind kind;
  int len, bits, bits2, group;
  enum tsr_round round;
} bases[] = {
    {"fma", TSR_MMA_SEQ_FMA, 0, 0, 0, 0, TSR_ROUND_RNE},
    {"muladd", TSR_MMA_SEQ_MULADD, 0, 0, 0, 0, TSR_ROUND_RNE},
    {"tree", TSR_MMA_TREE, 0, 0, 0, 0, TSR_ROUND_RNE},
    {"exact", TSR_MMA_EXACT, 0, 0, 0, 0, TSR_ROUND_RNE},
    {"int", TSR_MMA_INT, 0, 0, 0, 0, TSR_ROUND_RNE},
    {"fused", TSR_MMA_FUSED, 16, 25, 0, 0, TSR_ROUND_RZ},
    {"grouped", TSR_MMA_GROUPED, 64, 35, 0, 16, TSR_ROUND_RZ},
    {"two-stage", TSR_MMA_TWO_STAGE, 8, 24, 31, 0, TSR_ROUND_RNE},
};
enum { BASES = sizeof bases / sizeof bases[0] };

struct reader {
  struct tsr_mma_spec *out;
  size_t formats; /* of out->formats in use */
  bool set[FIELDS];
  struct tsr_err *err;
};

static enum tsr_status bad_value(struct reader *rd, const char *key, const char *rule,
                                 const char *value) {
  return tsr_err_set(rd->err, TSR_USAGE,
                     "bad value for '%s' of a matrix unit; expected %s, got '%s'", key, rule,
                     value);
}

static bool read_int(const char *text, int *out) {
  bool neg = *text == '-';
  const char *p = text + neg;
  int64_t v = 0;
  if (!*p) return false;
  for (; *p; p++) {
    if (*p < '0' || *p > '9' || v > INT32_MAX) return false;
    v = v * 10 + (*p - '0');
  }
  if (v > INT32_MAX) return false;
  *out = (int)(neg ? -v : v);
  return true;
}

/* `int24`, `uint12`: integers of any width. */
static bool int_format(const char *name, struct tsr_format *f) {
  bool is_unsigned = name[0] == 'u';
  int bits;
  if (strncmp(name + is_unsigned, "int", 3) != 0 || !read_int(name + is_unsigned + 3, &bits) ||
      bits < 2 || bits > 64)
    return false;
  *f = (struct tsr_format){.name = name,
                           .is_int = true,
                           .is_unsigned = is_unsigned,
                           .bits = (uint8_t)bits,
                           .man_bits = (uint8_t)(bits - !is_unsigned),
                           .doc = "integer",
                           .src = "c17"};
  return true;
}

static enum tsr_status read_format(struct reader *rd, const char *key, const char *value,
                                   const struct tsr_format **out) {
  *out = tsr_format_find(value);
  if (*out) return TSR_OK;
  struct tsr_mma_spec *s = rd->out;
  if (rd->formats == TSR_MMA_SPEC_FORMATS || strlen(value) >= sizeof s->names[0])
    return bad_value(rd, key, "the name of a number format", value);
  char *name = s->names[rd->formats];
  struct tsr_format *f = &s->formats[rd->formats];
  memcpy(name, value, strlen(value) + 1);
  if (!int_format(name, f)) {
    enum tsr_status st = tsr_format_parse(name, f, rd->err);
    if (st) return st;
  }
  rd->formats++;
  *out = f;
  return TSR_OK;
}

/* The place of `value` among blank-separated words; -1: none. */
static int word_index(const char *words, const char *value) {
  size_t n = strlen(value);
  for (int i = 0; *words; i++) {
    size_t len = strcspn(words, " ");
    if (len == n && memcmp(words, value, n) == 0) return i;
    words += len + (words[len] == ' ');
  }
  return -1;
}

static void word_at(const char *words, int i, char *out, size_t size) {
  for (; i > 0; i--) words += strcspn(words, " ") + 1;
  snprintf(out, size, "%.*s", (int)strcspn(words, " "), words);
}

static const char round_words[] = "rne rz rna ru rd odd";

static enum tsr_status read_order(struct reader *rd, const char *value) {
  struct tsr_mma *u = &rd->out->unit;
  char part[2][16] = {"", "1"};
  if (strcmp(value, "asc") == 0 || strcmp(value, "tree") == 0) {
    u->order = value[0] == 'a' ? TSR_MMA_ORDER_ASC : TSR_MMA_ORDER_TREE;
    return TSR_OK;
  }
  const char *p = strncmp(value, "strided:", 8) == 0 ? value + 8 : "";
  for (int i = 0; i < 2 && *p; i++) {
    snprintf(part[i], sizeof part[i], "%.*s", (int)strcspn(p, ":"), p);
    p += strcspn(p, ":");
    p += *p == ':';
  }
  int period, width;
  if (*p || !read_int(part[0], &period) || !read_int(part[1], &width) || width < 1 ||
      period < width || period > 1 << 20)
    return bad_value(rd, "order", "asc, tree, strided:S or strided:S:W", value);
  u->order = TSR_MMA_ORDER_STRIDED;
  u->order_period = period;
  u->order_width = width;
  return TSR_OK;
}

static enum tsr_status read_sparse(struct reader *rd, const char *value) {
  char n_text[16];
  int n, m;
  size_t len = strcspn(value, ":");
  snprintf(n_text, sizeof n_text, "%.*s", (int)len, value);
  if (!value[len] || !read_int(n_text, &n) || !read_int(value + len + 1, &m) || n < 1 ||
      m <= n || m > 32)
    return bad_value(rd, "sparse", "N:M with 0 < N < M <= 32", value);
  rd->out->unit.sparse_n = n;
  rd->out->unit.sparse_m = m;
  return TSR_OK;
}

static enum tsr_status read_norm(struct reader *rd, const char *value) {
  int n = strcmp(value, "step") == 0 ? 1 : -1;
  if (n < 0 && strcmp(value, "end") != 0 && (!read_int(value, &n) || n < 1))
    return bad_value(rd, "norm", "step, end or a number of steps", value);
  rd->out->unit.norm_every = n;
  return TSR_OK;
}

static enum tsr_status read_number(struct reader *rd, const struct field *f, const char *value,
                                   int *out) {
  char rule[64];
  if (read_int(value, out) && *out >= f->low && *out <= f->high) return TSR_OK;
  snprintf(rule, sizeof rule, "a number from %d to %d", f->low, f->high);
  return bad_value(rd, f->key, rule, value);
}

static enum tsr_status read_word(struct reader *rd, const struct field *f, const char *words,
                                 const char *value, void *to) {
  int i = word_index(words, value);
  char rule[96];
  snprintf(rule, sizeof rule, "one of: %s", words);
  if (i < 0) return bad_value(rd, f->key, rule, value);
  if (f->type == FLAG) {
    *(bool *)to = i != 0;
  } else {
    *(unsigned *)to = (unsigned)i; /* every enumeration of the table */
  }
  return TSR_OK;
}

static enum tsr_status read_field(struct reader *rd, const struct field *f, const char *value) {
  void *to = (char *)&rd->out->unit + f->at;
  switch (f->type) {
  case FORMAT: return read_format(rd, f->key, value, to);
  case NUMBER: return read_number(rd, f, value, to);
  case ROUND: return read_word(rd, f, round_words, value, to);
  case WORD:
  case FLAG: return read_word(rd, f, f->words, value, to);
  case ORDER: return read_order(rd, value);
  case SPARSE: return read_sparse(rd, value);
  case NORM: return read_norm(rd, value);
  }
  return TSR_OK;
}

static const struct field *find_field(const char *key, const char *value) {
  /* Where C joins may be said as `c=after`: no format has such a name. */
  if (strcmp(key, "c") == 0 && word_index("sum join after", value) >= 0) key = "join";
  for (int i = 0; i < FIELDS; i++)
    if (strcmp(fields[i].key, key) == 0) return &fields[i];
  return NULL;
}

static enum tsr_status read_pair(struct reader *rd, char *pair) {
  char *value = strchr(pair, '=');
  if (!value)
    return tsr_err_set(rd->err, TSR_USAGE,
                       "bad matrix unit; expected key=value after the colon, got '%s'", pair);
  *value++ = 0;
  const struct field *f = find_field(pair, value);
  if (!f) {
    const char *names[FIELDS];
    for (int i = 0; i < FIELDS; i++) names[i] = fields[i].key;
    enum tsr_status st =
        tsr_err_set(rd->err, TSR_USAGE, "unknown key '%s' of a matrix unit", pair);
    const char *near = tsr_err_nearest(pair, names, FIELDS);
    if (near) tsr_err_hint(rd->err, "did you mean '%s'?", near);
    return st;
  }
  if (rd->set[f - fields])
    return tsr_err_set(rd->err, TSR_USAGE, "key '%s' of a matrix unit twice", f->key);
  rd->set[f - fields] = true;
  if (f->at == AT(join) && strcmp(value, "join") == 0) return TSR_OK; /* c=join: the sum */
  return read_field(rd, f, value);
}

static bool is_set(const struct reader *rd, size_t at) {
  for (int i = 0; i < FIELDS; i++)
    if (fields[i].at == at) return rd->set[i];
  return false;
}

static void start_from(struct tsr_mma *u, int base) {
  *u = (struct tsr_mma){.kind = bases[base].kind,
                        .fused_len = bases[base].len,
                        .align_bits = bases[base].bits,
                        .align2_bits = bases[base].bits2,
                        .group_len = bases[base].group,
                        .round = bases[base].round,
                        .align_round = TSR_ROUND_RZ,
                        .doc = "described by a text",
                        .src = "assumed"};
  u->overflow_inf = u->round == TSR_ROUND_RZ;
}

static enum tsr_status read_base(struct reader *rd, const char *word, bool *is_kind) {
  struct tsr_mma *u = &rd->out->unit;
  const struct tsr_mma *row = tsr_mma_find(word);
  *is_kind = !row;
  if (row) {
    *u = *row;
    return TSR_OK;
  }
  for (int i = 0; i < BASES; i++) {
    if (strcmp(bases[i].word, word) != 0) continue;
    start_from(u, i);
    return TSR_OK;
  }
  enum tsr_status st = tsr_err_set(rd->err, TSR_USAGE, "unknown matrix unit '%s'", word);
  const char *names[BASES + 512];
  size_t n = 0;
  for (; n < BASES; n++) names[n] = bases[n].word;
  for (size_t i = 0; i < tsr_mma_count() && n < BASES + 512; i++)
    names[n++] = tsr_mma_at(i)->name;
  const char *near = tsr_err_nearest(word, names, n);
  if (near) tsr_err_hint(rd->err, "did you mean '%s'?", near);
  return st;
}

/* What a kind's text leaves open. */
static void fill_in(struct reader *rd, const struct tsr_format *a, const struct tsr_format *b,
                    const struct tsr_format *acc) {
  struct tsr_mma *u = &rd->out->unit;
  if (!u->a) u->a = a;
  if (!u->b) u->b = b ? b : u->a;
  if (!u->acc) u->acc = acc;
  if (!u->acc) u->acc = tsr_format_find(u->kind == TSR_MMA_INT ? "int32" : "fp32");
  if (!is_set(rd, AT(zero_exp))) u->zero_exp = -108 - u->align_bits;
  if (!is_set(rd, AT(overflow_inf)) && u->round != TSR_ROUND_RZ) u->overflow_inf = false;
  if (!is_set(rd, AT(outer_round))) u->outer_round = u->round;
}

static enum tsr_status read_unit(struct reader *rd, char *text, const struct tsr_format *a,
                                 const struct tsr_format *b, const struct tsr_format *acc) {
  char *pair = strchr(text, ':');
  bool is_kind;
  if (pair) *pair++ = 0;
  enum tsr_status st = read_base(rd, text, &is_kind);
  while (!st && pair) {
    char *next = strchr(pair, ',');
    if (next) *next++ = 0;
    st = read_pair(rd, pair);
    pair = next;
  }
  if (st) return st;
  if (is_kind) fill_in(rd, a, b, acc);
  rd->out->unit.name = rd->out->name;
  if (!rd->out->unit.a)
    return tsr_err_set(rd->err, TSR_USAGE,
                       "matrix unit '%s' without operand formats; expected a=", rd->out->name);
  const char *why = tsr_mma_invalid(&rd->out->unit);
  if (why) return tsr_err_set(rd->err, TSR_USAGE, "matrix unit '%s': %s", rd->out->name, why);
  return TSR_OK;
}

/* Points what lies inside `from` into `to`. */
static void move_inside(struct tsr_mma_spec *to, const struct tsr_mma_spec *from) {
  *to = *from;
  to->unit.name = to->name;
  for (int i = 0; i < TSR_MMA_SPEC_FORMATS; i++) to->formats[i].name = to->names[i];
  for (int i = 0; i < FIELDS; i++) {
    if (fields[i].type != FORMAT) continue;
    const struct tsr_format **f = (void *)((char *)&to->unit + fields[i].at);
    for (int j = 0; j < TSR_MMA_SPEC_FORMATS; j++)
      if (*f == &from->formats[j]) *f = &to->formats[j];
  }
}

enum tsr_status tsr_mma_parse(const char *text, const struct tsr_format *a,
                              const struct tsr_format *b, const struct tsr_format *acc,
                              struct tsr_mma_spec *out, struct tsr_err *err) {
  char copy[TSR_MMA_TEXT_MAX];
  struct tsr_mma_spec spec = {0};
  if (strlen(text) >= sizeof copy)
    return tsr_err_set(err, TSR_USAGE, "matrix unit of more than %d characters",
                       TSR_MMA_TEXT_MAX - 1);
  memcpy(copy, text, strlen(text) + 1);
  memcpy(spec.name, text, strlen(text) + 1);
  struct reader rd = {&spec, 0, {false}, err};
  enum tsr_status st = read_unit(&rd, copy, a, b, acc);
  if (!st) move_inside(out, &spec);
  return st;
}

static bool fits(const struct tsr_mma *u, const struct tsr_format *a,
                 const struct tsr_format *b, const struct tsr_format *acc) {
  return u->a == a && u->b == b && (!acc || u->acc == acc);
}

/* A plain chain over these formats, where the default has another accumulator. */
static const struct tsr_mma *sequential(const struct tsr_format *a, const struct tsr_format *b,
                                        const struct tsr_format *acc) {
  for (size_t i = 0; i < tsr_mma_count(); i++) {
    const struct tsr_mma *u = tsr_mma_at(i);
    bool plain = (u->kind == TSR_MMA_SEQ_FMA && tsr_mma_is_plain(u)) ||
                 (u->kind == TSR_MMA_INT && u->int_mode == TSR_MMA_INT_WRAP);
    if (plain && fits(u, a, b, acc)) return u;
  }
  return NULL;
}

enum tsr_status tsr_mma_resolve(const char *text, const struct tsr_format *a,
                                const struct tsr_format *b, const struct tsr_format *acc,
                                struct tsr_mma_spec *store, const struct tsr_mma **unit,
                                struct tsr_err *err) {
  const struct tsr_mma *found = NULL, *u = NULL;
  char one[TSR_MMA_TEXT_MAX];
  if (!*text) found = tsr_mma_default(a, b);
  if (!*text && !(found && fits(found, a, b, acc))) found = sequential(a, b, acc);
  for (const char *p = text; *p && !found;) {
    size_t n = strcspn(p, ";");
    if (n >= sizeof one)
      return tsr_err_set(err, TSR_USAGE, "matrix unit of more than %d characters",
                         TSR_MMA_TEXT_MAX - 1);
    memcpy(one, p, n);
    one[n] = 0;
    p += n + (p[n] == ';');
    u = tsr_mma_find(one);
    if (!u) {
      enum tsr_status st = tsr_mma_parse(one, a, b, acc, store, err);
      if (st) return st;
      u = &store->unit;
    }
    if (fits(u, a, b, acc)) found = u;
  }
  if (!found && u && !strchr(text, ';'))
    return tsr_err_set(
        err, TSR_INPUT,
        "matrix unit '%s' multiplies %s by %s into %s; expected %s by %s into %s", u->name,
        u->a->name, u->b->name, u->acc->name, a->name, b->name, acc ? acc->name : "anything");
  if (!found && !*text && acc && !a->is_int && !b->is_int && !acc->is_int) {
    enum tsr_status st = tsr_mma_parse("fma", a, b, acc, store, err);
    if (st) return st;
    found = &store->unit;
  }
  if (!found) {
    enum tsr_status st =
        tsr_err_set(err, TSR_INPUT, "no matrix unit%s%s multiplies %s by %s into %s",
                    *text ? " of " : "", text, a->name, b->name, acc ? acc->name : "anything");
    tsr_err_hint(err, "set tile.formats.acc (int32 for integers, fp32 for floats) or tile.mma");
    return st;
  }
  *unit = found;
  return TSR_OK;
}

static void print_value(const struct field *f, const struct tsr_mma *u, char *out,
                        size_t size) {
  const void *from = (const char *)u + f->at;
  switch (f->type) {
  case FORMAT:
    snprintf(out, size, "%s", (*(const struct tsr_format *const *)from)->name);
    break;
  case NUMBER: snprintf(out, size, "%d", *(const int *)from); break;
  case ROUND: word_at(round_words, (int)*(const unsigned *)from, out, size); break;
  case WORD: word_at(f->words, (int)*(const unsigned *)from, out, size); break;
  case FLAG: word_at(f->words, *(const bool *)from, out, size); break;
  case NORM:
    snprintf(out, size, "%d", u->norm_every);
    if (u->norm_every <= 1) snprintf(out, size, u->norm_every < 0 ? "end" : "step");
    break;
  case SPARSE: snprintf(out, size, "%d:%d", u->sparse_n, u->sparse_m); break;
  case ORDER:
    snprintf(out, size, "%s", u->order == TSR_MMA_ORDER_TREE ? "tree" : "asc");
    if (u->order == TSR_MMA_ORDER_STRIDED)
      snprintf(out, size, "strided:%d:%d", u->order_period, u->order_width);
    break;
  }
}

/* Said by the base alone, or by nothing at all? */
static bool is_default(const struct field *f, const struct tsr_mma *u,
                       const struct tsr_mma *base) {
  const char *x = (const char *)u + f->at, *y = (const char *)base + f->at;
  switch (f->type) {
  case FORMAT: return *(const struct tsr_format *const *)(const void *)x == NULL;
  case FLAG: return *(const bool *)x == *(const bool *)y;
  case SPARSE: return u->sparse_m == 0;
  case ORDER: return u->order == TSR_MMA_ORDER_ASC;
  case NORM: return u->norm_every == 0 || u->norm_every == 1;
  case NUMBER:
  case ROUND:
  case WORD: return *(const int *)(const void *)x == *(const int *)(const void *)y;
  }
  return true;
}

char *tsr_mma_print(const struct tsr_mma *u, char *buf, size_t size) {
  struct tsr_mma base;
  int b = 0;
  while (bases[b].kind != u->kind) b++;
  start_from(&base, b);
  base.zero_exp = -108 - u->align_bits;
  base.outer_round = u->round;
  if (u->round != TSR_ROUND_RZ) base.overflow_inf = false;
  int n = snprintf(buf, size, "%s", bases[b].word);
  char sep = ':';
  for (int i = 0; i < FIELDS; i++) {
    char value[64];
    if (is_default(&fields[i], u, &base)) continue;
    print_value(&fields[i], u, value, sizeof value);
    if (n >= 0 && (size_t)n < size)
      n += snprintf(buf + n, size - (size_t)n, "%c%s=%s", sep, fields[i].key, value);
    sep = ',';
  }
  return buf;
}
