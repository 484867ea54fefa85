/* Shared by the files of analysis/query. */
#ifndef TSR_ANALYSIS_QUERY_QUERY_INT_H
#define TSR_ANALYSIS_QUERY_QUERY_INT_H

#include "analysis/query/query.h"
#include "sim/base/str.h"

/* A column as a JSON value: the column `stalls` is JSON already. */
void tsri_json_value(struct tsr_str *s, const struct tsr_query *q, int i);
/* Columns from..to-1 as `"name": value, …`. */
void tsri_json_members(struct tsr_str *s, const struct tsr_query *q, int from, int to);
/* A double in the fewest digits that read back as the same one. */
void tsri_real(struct tsr_str *s, double v);

/* {"run_id": …, "layers": [...]}. */
enum tsr_status tsri_layers_json(struct tsr_store *s, uint64_t run_id, char **out,
                                 struct tsr_err *err);
/* The builder's text to the caller, or TSR_NOMEM. */
enum tsr_status tsri_take(struct tsr_str *s, char **out, struct tsr_err *err);
enum tsr_status tsri_no_run(uint64_t run_id, struct tsr_err *err);

/* A column of a text table. */
enum tsri_cell {
  TSRI_NAME /* left; shortened first */,
  TSRI_NOTE /* left; shortened when the names cannot give more */,
  TSRI_LEFT,
  TSRI_RIGHT,
  TSRI_F1, /* a small share is `<0.1`, not 0.0 */
  TSRI_F2,
  TSRI_G3,
  TSRI_G6,
  TSRI_TIME, /* seconds, shown with a prefix */
  TSRI_BYTES
};
struct tsri_heading {
  const char *text; /* with the unit */
  enum tsri_cell cell;
  bool optional; /* left out where no row has anything but nothing or 0 in it */
};
/* Lays out all rows of q (one column a heading) under the headings. */
enum tsr_status tsri_table_text(struct tsr_query *q, const struct tsri_heading *h,
                                struct tsr_str *s, struct tsr_err *err);
/* All rows of q as CSV under the names of its columns. */
enum tsr_status tsri_table_csv(struct tsr_query *q, struct tsr_str *s, struct tsr_err *err);

#endif
