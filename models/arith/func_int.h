/* Inside models/arith: the functions of the vector unit that IEEE 754 does not define.
 *
 * In double, by + - * / and sqrt, integer work on the bits and constants: the same
 * everywhere.  Relative errors are a few units of 2^-53 (the table of README.md, which
 * the tests hold), so that a result rounded to fp32 is within 0.500001 ulp.
 * NaN in, NaN out; limits at the infinities, also where a formula would give inf * 0:
 * gelu, gelu_tanh and silu of -infinity are -0.  sin and cos hold for every double: the
 * argument is reduced with as many bits of 2/pi as it needs (SRC:payne1983). */
#ifndef TSR_MODELS_ARITH_FUNC_INT_H
#define TSR_MODELS_ARITH_FUNC_INT_H

#include <stdbool.h>
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
double tsri_fn_softplus(double x);
/* e^x - 1 for x <= 0. */
double tsri_fn_expm1_below_0(double x);
double tsri_fn_sin(double x);
double tsri_fn_cos(double x);
/* Special cases of IEEE 754-2019 (pow); *exact: nothing was rounded. */
double tsri_fn_pow(double x, double y, bool *exact);

#endif
