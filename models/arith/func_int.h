/* Inside models/arith: the functions of the vector unit that IEEE 754 does not define.
 *
 * In double, by + - * / and sqrt, integer work on the bits and constants: the same
 * everywhere.  Relative errors are a few units of 2^-53 (the table of README.md, which
 * the tests hold), so that a result rounded to fp32 is within 0.500001 ulp.
 * NaN in, NaN out; limits at the infinities, also where a formula would give inf * 0:
 * gelu, gelu_tanh and silu of -infinity are -0. */
#ifndef TSR_MODELS_ARITH_FUNC_INT_H
#define TSR_MODELS_ARITH_FUNC_INT_H

#include <stdint.h>

double tsri_fn_exp(double x);
double tsri_fn_log(double x);
double tsri_fn_tanh(double x);
double tsri_fn_erf(double x);
double tsri_fn_sigmoid(double x);
double tsri_fn_gelu(double x);
double tsri_fn_gelu_tanh(double x);
double tsri_fn_silu(double x);
double tsri_fn_rsqrt(double x);

#endif
