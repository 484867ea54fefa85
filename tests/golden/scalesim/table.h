/* Tables of cycle counts: matmuls on arrays, read from CSV files by the names of
 * their columns (M, N, K, R, C, dataflow and formula_cycles or
 * scalesim_total_cycles; other columns are passed over). */
#ifndef TSR_TESTS_GOLDEN_SCALESIM_TABLE_H
#define TSR_TESTS_GOLDEN_SCALESIM_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct golden_row {
  uint64_t rows, cols; /* of the array */
  char flow[4];
  uint64_t m, n, k;
  uint64_t last_cycle; /* the figure: cycles - 1 */
};
struct golden_table {
  struct golden_row *row; /* owned */
  size_t n, cap;
  size_t read; /* rows before equal ones were dropped */
};

/* Appends a file's rows; fails the test where it is none of these tables. */
void golden_table_read(struct golden_table *t, const char *path);
/* Appends every file of a folder whose name starts with `prefix` and ends in .csv;
 * returns the number of files. */
size_t golden_table_read_folder(struct golden_table *t, const char *folder, const char *prefix);
/* Sorts by machine and drops rows said twice; rows that contradict fail the test. */
void golden_table_sort(struct golden_table *t);
void golden_table_fini(struct golden_table *t);

#endif
