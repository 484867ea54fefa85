/* What the files of this folder share: the scanner of comma separated text and
 * the builder that every reader fills.
 *
 * Ownership: fields point into the source text, or into the graph's arena when
 * a quoted field held doubled quotes.  Errors are reported where they are found
 * and counted in the builder, so that one reading reports many. */
#ifndef TSR_WORKLOADS_WORKLOADS_INT_H
#define TSR_WORKLOADS_WORKLOADS_INT_H

#include "sim/base/str.h"
#include "workloads/graph.h"

/* One field of a row, quotes taken off. */
struct tsri_field {
  const char *p;
  size_t n;
  struct tsr_pos pos; /* of the field as it stands in the text */
};

struct tsri_row {
  struct tsri_field *f; /* owned (tsri_row_fini) */
  size_t n, cap;
  struct tsr_pos end; /* just behind the last field */
};
void tsri_row_fini(struct tsri_row *r);
/* Every field empty (a blank line, or commas alone). */
bool tsri_row_blank(const struct tsri_row *r);

/* Names of the operators read so far: an open-addressing table of indices. */
struct tsri_names {
  size_t *slot;  /* index + 1, 0 = free */
  size_t cap, n; /* cap is a power of two */
};

/* A graph under construction. */
struct tsri_build {
  struct tsr_graph *g;
  const struct tsr_src *src; /* in the arena of g */
  struct tsr_err *err;
  enum tsr_status status; /* of the first error */
  size_t errors;
  struct tsr_op *ops;
  size_t n, cap;
  struct tsri_names names;
  size_t at, line_start; /* the scanner's place in src->text */
  uint32_t line;
};

/* Starts a graph; `text` is copied.  A byte order mark is left out of src. */
enum tsr_status tsri_build_init(struct tsri_build *b, const char *path, const char *name,
                                const char *text, size_t len, struct tsr_err *err);
/* Hands over the graph when there was no error; frees everything otherwise. */
enum tsr_status tsri_build_finish(struct tsri_build *b, struct tsr_graph **out);
/* Remembers the status of an error just reported; returns it. */
enum tsr_status tsri_note(struct tsri_build *b, enum tsr_status s);
enum tsr_status tsri_nomem(struct tsri_build *b);
/* No further rows need reading: out of memory, or as many errors as are kept. */
bool tsri_build_full(const struct tsri_build *b);
/* Adds an operator whose name is not yet taken; formats, sparsity and `after`
 * may be left NULL (defaults, no dependency). */
enum tsr_status tsri_build_add(struct tsri_build *b, const struct tsr_op *op);
/* Index of the operator of this name, or SIZE_MAX. */
size_t tsri_build_find(const struct tsri_build *b, const char *name, size_t n);
/* A dependency on the operator before the one to be added (none for the first). */
enum tsr_status tsri_build_chain(struct tsri_build *b, struct tsr_op *op);

/* The next row that is not a blank line: RFC 4180 with positions.  false at the
 * end of the text or after an error of the text itself (then b->status is set). */
bool tsri_scan_row(struct tsri_build *b, struct tsri_row *row);
/* The text is UTF-8 without control characters but tab, CR and LF. */
enum tsr_status tsri_scan_check(struct tsri_build *b);

/* A copy in the arena; NULL when out of memory. */
char *tsri_field_text(struct tsri_build *b, const struct tsri_field *f);
bool tsri_field_is(const struct tsri_field *f, const char *word);
/* Without blanks at both ends; the position moves along. */
struct tsri_field tsri_field_trim(struct tsri_field f);
/* n bytes of f from `from` on; so is its position, where f stood without quotes. */
struct tsri_field tsri_field_part(const struct tsri_field *f, size_t from, size_t n);
/* Only decimal digits, at least one. */
bool tsri_field_digits(const struct tsri_field *f);
/* Bytes of f that a message shows: at most 60, cut between characters. */
int tsri_field_shown(const struct tsri_field *f);
/* Decimal digits only, `low` (0 or 1) or more.  false: reported at the field. */
bool tsri_field_u64(struct tsri_build *b, const struct tsri_field *f, const char *what,
                    uint64_t low, uint64_t *out);

/* The product of four, false on overflow; *out unchanged then. */
bool tsri_elems_product(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *out);

/* What the geometry of a convolution makes of m, n, k, count.  false: impossible, and
 * *why says what was expected; *out unchanged. */
struct tsri_shape {
  uint64_t out_h, out_w, m, n, k, count;
};
bool tsri_conv_shape(const struct tsr_conv *c, struct tsri_shape *out, const char **why);
/* Likewise of any kind with geometry. */
bool tsri_op_shape(enum tsr_op_kind kind, const struct tsr_conv *c, struct tsri_shape *out,
                   const char **why);
/* The attributes and sizes of an operator fit its kind; else which field breaks which rule
 * (static). */
bool tsri_attr_check(const struct tsr_op *op, const char **field, const char **rule);

/* An ONNX model: see model.c. */
enum tsr_status tsri_model_read(const char *path, const struct tsr_workload_options *o,
                                struct tsr_graph **out, struct tsr_err *err);

/* The readers: fill b from b->src. */
void tsri_csv_read(struct tsri_build *b, struct tsri_row *header);
/* First row of the text, header or not. */
void tsri_scalesim_read(struct tsri_build *b, struct tsri_row *first);
void tsri_gemm_read(struct tsri_build *b);
void tsri_op_read(struct tsri_build *b);
/* Recognises the kind of a comma separated text by its columns and reads it. */
void tsri_text_read(struct tsri_build *b);
bool tsri_csv_is_header(const struct tsri_row *row);
bool tsri_scalesim_is_first(const struct tsri_row *row);

#endif
