#include <math.h> /* isfinite only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/config/config_int.h"

static void *field(const struct tsr_param *row, void *dst) {
  return (char *)dst + row->offset;
}

static const char *set_quantity(const struct tsr_param *row, const char *text, bool quoted,
                                void *dst) {
  static const char *const wrong[] = {
      [TSR_QUANTITY_NOT_A_NUMBER] = "is no number",
      [TSR_QUANTITY_WRONG_UNIT] = "has no unit or a wrong one",
      [TSR_QUANTITY_NOT_WHOLE] = "is no whole number of its base unit",
      [TSR_QUANTITY_TOO_LARGE] = "is too large",
      [TSR_QUANTITY_NEGATIVE] = "is negative",
  };
  uint64_t v;
  if (quoted && row->unit == TSR_UNIT_COUNT) return "is a quoted text";
  enum tsr_quantity_result q = tsr_quantity_parse(text, strlen(text), row->unit, &v);
  if (q == TSR_QUANTITY_WRONG_UNIT && row->unit == TSR_UNIT_COUNT) return "takes no unit";
  if (q != TSR_QUANTITY_OK) return wrong[q];
  if (v == TSR_UNLIMITED && !row->unlimited) return "cannot be unlimited";
  if (v != TSR_UNLIMITED && (v < row->low || v > row->high)) return "is out of range";
  memcpy(field(row, dst), &v, sizeof v);
  return NULL;
}

static const char *set_enum(const struct tsr_param *row, const char *text, bool quoted,
                            void *dst) {
  (void)quoted;
  for (int i = 0; row->names[i]; i++) {
    if (strcmp(row->names[i], text) != 0) continue;
    memcpy(field(row, dst), &i, sizeof i);
    return NULL;
  }
  return "has an unknown value";
}

static const char *set_bool(const struct tsr_param *row, const char *text, bool quoted,
                            void *dst) {
  bool v = strcmp(text, "true") == 0;
  if (quoted || (!v && strcmp(text, "false") != 0)) return "is neither true nor false";
  memcpy(field(row, dst), &v, sizeof v);
  return NULL;
}

static const char name_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-_.";

static const char text_marks[] = ":=,;";

/* The whole field is written: structs are compared and hashed. */
static void store_text(const struct tsr_param *row, const char *text, size_t size, void *dst) {
  char *to = field(row, dst);
  memset(to, 0, size);
  memcpy(to, text, strlen(text));
}

static const char *set_name(const struct tsr_param *row, const char *text, bool quoted,
                            void *dst) {
  (void)quoted;
  if (strlen(text) >= TSR_PARAM_NAME_MAX) return "is too long";
  if (text[strspn(text, name_chars)]) return "holds a character that names do not have";
  store_text(row, text, TSR_PARAM_NAME_MAX, dst);
  return NULL;
}

static const char *set_text(const struct tsr_param *row, const char *text, bool quoted,
                            void *dst) {
  (void)quoted;
  if (strlen(text) >= TSR_PARAM_TEXT_MAX) return "is too long";
  for (const char *p = text; *p; p++)
    if (!strchr(name_chars, *p) && !strchr(text_marks, *p))
      return "holds a character that such texts do not have";
  store_text(row, text, TSR_PARAM_TEXT_MAX, dst);
  return NULL;
}

static const char *skip_digits(const char *p) {
  return p + strspn(p, "0123456789");
}

/* -12, 0.5, 1e-9: strtod alone would take hexadecimal, inf and blanks too. */
static bool is_decimal(const char *p) {
  const char *end = skip_digits(p += *p == '-');
  if (end == p) return false;
  if (*end == '.') {
    p = end + 1;
    end = skip_digits(p);
    if (end == p) return false;
  }
  if (*end == 'e' || *end == 'E') {
    p = end + 1;
    p += *p == '-' || *p == '+';
    end = skip_digits(p);
    if (end == p) return false;
  }
  return !*end;
}

static const char *set_real(const struct tsr_param *row, const char *text, bool quoted,
                            void *dst) {
  if (quoted) return "is a quoted text";
  if (!is_decimal(text)) return "is no number";
  double v = strtod(text, NULL);
  if (!isfinite(v) || v < row->rlow || v > row->rhigh) return "is out of range";
  memcpy(field(row, dst), &v, sizeof v);
  return NULL;
}

static void rule_quantity(const struct tsr_param *row, struct tsr_str *out) {
  char low[48], high[48];
  tsr_str_addf(out, "%s", tsr_unit_example(row->unit));
  tsr_quantity_print(row->low, row->unit, low);
  tsr_quantity_print(row->high, row->unit, high);
  if (row->high >= TSR_UNLIMITED - 1)
    tsr_str_addf(out, ", at least %s", low);
  else
    tsr_str_addf(out, ", from %s to %s", low, high);
  if (row->unlimited) tsr_str_add(out, ", or unlimited");
}

static void rule_enum(const struct tsr_param *row, struct tsr_str *out) {
  for (int i = 0; row->names[i]; i++)
    tsr_str_addf(out, "%s%s", i ? ", " : "one of ", row->names[i]);
}

static void rule_bool(const struct tsr_param *row, struct tsr_str *out) {
  (void)row;
  tsr_str_add(out, "true or false");
}

static void rule_name(const struct tsr_param *row, struct tsr_str *out) {
  (void)row;
  tsr_str_addf(out, "at most %d letters, digits, '-', '_' and '.'", TSR_PARAM_NAME_MAX - 1);
}

static void rule_text(const struct tsr_param *row, struct tsr_str *out) {
  (void)row;
  tsr_str_addf(out, "at most %d letters, digits, '-', '_', '.', ':', '=', ',' and ';'",
               TSR_PARAM_TEXT_MAX - 1);
}

/* The fewest digits that read back as the same number. */
static void print_real(double v, struct tsr_str *out) {
  char buf[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(buf, sizeof buf, "%.*g", digits, v);
    if (strtod(buf, NULL) == v) break;
  }
  tsr_str_add(out, buf);
}

static void rule_real(const struct tsr_param *row, struct tsr_str *out) {
  tsr_str_add(out, "a number from ");
  print_real(row->rlow, out);
  tsr_str_add(out, " to ");
  print_real(row->rhigh, out);
}

static const struct {
  const char *(*set)(const struct tsr_param *, const char *, bool, void *);
  void (*rule)(const struct tsr_param *, struct tsr_str *);
} types[] = {
    [TSR_PARAM_QUANTITY] = {set_quantity, rule_quantity},
    [TSR_PARAM_ENUM] = {set_enum, rule_enum},
    [TSR_PARAM_BOOL] = {set_bool, rule_bool},
    [TSR_PARAM_NAME] = {set_name, rule_name},
    [TSR_PARAM_REAL] = {set_real, rule_real},
    [TSR_PARAM_TEXT] = {set_text, rule_text},
};

const char *tsri_value_set(const struct tsr_param *row, const char *text, bool quoted,
                           void *dst) {
  return types[row->type].set(row, text, quoted, dst);
}

void tsri_value_rule(const struct tsr_param *row, struct tsr_str *out) {
  types[row->type].rule(row, out);
}

void tsr_param_print(const struct tsr_param *row, const void *src, struct tsr_str *out) {
  const char *p = (const char *)src + row->offset;
  union {
    uint64_t u;
    int i;
    bool b;
    double d;
  } v;
  char buf[48];
  switch (row->type) {
  case TSR_PARAM_QUANTITY:
    memcpy(&v.u, p, sizeof v.u);
    tsr_str_add(out, tsr_quantity_print(v.u, row->unit, buf));
    break;
  case TSR_PARAM_ENUM:
    memcpy(&v.i, p, sizeof v.i);
    tsr_str_add(out, row->names[v.i]);
    break;
  case TSR_PARAM_BOOL:
    memcpy(&v.b, p, sizeof v.b);
    tsr_str_add(out, v.b ? "true" : "false");
    break;
  case TSR_PARAM_NAME:
  case TSR_PARAM_TEXT: tsr_str_add(out, *p ? p : "\"\""); break;
  case TSR_PARAM_REAL:
    memcpy(&v.d, p, sizeof v.d);
    print_real(v.d, out);
    break;
  }
}
