/* Nets from a few words, for tests that run them or write them as models.
 *
 * A text is statements between semicolons:
 *   in NAME TYPE DIM...      an input; a DIM that is a word is open
 *   whole NAME DIM...        a constant f32 of whole numbers from -3 to 3, drawn
 *   normal NAME DIM...       a constant f32 of normally distributed numbers, drawn
 *   ints NAME V...           a constant i64 of one dimension
 *   out NAME...              outputs
 *   OP IN,...  OUT,... [KEY=V]...   a node; `-` is an input left out, V: 1 an integer, 1,2 a
 *                            list (`1,` one of one), 0.5 a float
 * A failure is a failure of the test. */
#ifndef TSR_TESTS_SUPPORT_NETS_H
#define TSR_TESTS_SUPPORT_NETS_H

#include "workloads/net/net.h"

struct tsr_net *nets_read(const char *text); /* not finished */
/* The same, finished; the dimensions that are open are given. */
struct tsr_net *nets_make(const char *text, const struct tsr_net_dim *dims, size_t n_dims);
/* As an ONNX file. */
void nets_write(const char *text, const char *path);
/* An array for a value: whole numbers from -3 to 3, or normally distributed ones; integer types
 * get numbers from 0 to 3. */
struct tsr_array *nets_draw(const struct tsr_net_value *v, bool whole, uint64_t seed);

#endif
