/* Layout that costs nothing, and what products give to their neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness.h"

/* Scores and their mix over three heads of four, from one projection each. */
#define Q "x = f32[5,12]; wq := f32[12,12]; q = MatMul(x,wq); "
#define HEADS(to, of) "s" to " := i64[3] : 5 3 4; r" to " = Reshape(" of ",s" to "); "
#define SPLIT(to, of, perm) HEADS(to, of) to " = Transpose(r" to ") perm=" perm "; "
#define KV "wk := f32[12,12]; wv := f32[12,12]; k = MatMul(x,wk); v = MatMul(x,wv); "
#define ATTENTION             \
  SPLIT("qh", "q", "[1,0,2]") \
  SPLIT("kh", "k", "[1,2,0]") SPLIT("vh", "v", "[1,0,2]") "z = MatMul(qh,kh); "
#define MERGE                                                                                 \
  "y = MatMul(p,vh); t = Transpose(y) perm=[1,0,2]; so := i64[2] : 5 12; o = Reshape(t,so); " \
  "wo := f32[12,7]; e = MatMul(o,wo)"

#define HARD "x = f32[3,5] -5~5; t := f32[] : 3; l := f32[] : 0; h := f32[] : 6; a = Add(x,t); "

#define RMS(square)                                                           \
  "x = f32[2,4,5]; z = Neg(x); a := i64[1] : -1; p := f32[] : 2; q = " square \
  "; v = ReduceMean(q,a); eps := f32[] : 0.01; s = Add(v,eps); r = Sqrt(s); "

static const struct net_case cases[] = {
    /* heads */
    {.text = Q KV ATTENTION "p = Softmax(z); " MERGE,
     .ops = "linear+linear+linear+attn_qk+softmax+attn_pv+linear"},
    {.text = Q KV ATTENTION "c := f32[] : 2; d = Div(z,c); p = Softmax(d); " MERGE,
     .ops = "linear+linear+linear+attn_qk+softmax+attn_pv+linear"},
    {.text = Q KV ATTENTION "m := f32[3,5,5]; d = Add(z,m); p = Softmax(d); " MERGE,
     .ops = "linear+linear+linear+attn_qk+add+softmax+attn_pv+linear"},
    {.text = Q "b := f32[12]; qb = Add(q,b); " KV SPLIT("qr", "qb", "[1,0,2]")
         SPLIT("kh", "k", "[1,2,0]") SPLIT(
             "vh", "v", "[1,0,2]") "c := f32[] : 0.3; "
                                   "qh = Mul(qr,c); z = MatMul(qh,kh); p = Softmax(z); " MERGE,
     .ops = "linear.bias+linear+linear+attn_qk+softmax+attn_pv+linear"},

    {.text = "x = f32[2,5,8]; wq := f32[8,8]; wk := f32[8,4]; q = MatMul(x,wq); "
             "k = MatMul(x,wk); sq := i64[4] : 0 5 4 2; rq = Reshape(q,sq); "
             "qh = Transpose(rq) perm=[0,2,1,3]; sk := i64[4] : 0 5 2 2; rk = Reshape(k,sk); "
             "tk = Transpose(rk) perm=[0,2,1,3]; a := i64[1] : 2; u = Unsqueeze(tk,a); "
             "n := i64[5] : 1 2 2 5 2; e = Expand(u,n); se := i64[4] : 0 4 5 2; "
             "kh = Reshape(e,se); kt = Transpose(kh) perm=[0,1,3,2]; z = MatMul(qh,kt); "
             "p = Softmax(z); y = MatMul(p,kh); t = Transpose(y) perm=[0,2,1,3]; "
             "so := i64[3] : 0 5 8; o = Reshape(t,so); wo := f32[8,3]; r = MatMul(o,wo)",
     .ops = "linear+linear+attn_qk+softmax+attn_pv+linear"},

    /* other operands of products */
    {.text = "a = f32[5,7]; b = f32[3,7]; t = Transpose(b); y = MatMul(a,t)", .ops = "bmm"},
    {.text = "a = f32[7,5]; t = Transpose(a); y = MatMul(t,a)", .ops = "bmm"},
    {.text = "a = f32[5,7]; t = Transpose(a); y = MatMul(a,t)", .ops = "bmm"},
    {.text = "a = f32[6,5]; b = f32[5,6]; t = Transpose(a); s := i64[2] : 6 5; "
             "r = Reshape(t,s); y = MatMul(r,b)",
     .ops = "transpose+bmm"},
    {.text = "a = f32[4,6]; b = f32[8,5]; t = Transpose(a); s := i64[2] : 3 8; "
             "r = Reshape(t,s); y = MatMul(r,b)",
     .ops = "bmm"},
    {.text = "a = f32[2,3,4]; b = f32[8,5]; t = Transpose(a) perm=[1,0,2]; s := i64[2] : 3 8; "
             "r = Reshape(t,s); y = MatMul(r,b)",
     .ops = "bmm"},
    {.text = "a = f32[2,3,4]; b = f32[6,5]; t = Transpose(a) perm=[2,1,0]; "
             "s := i64[2] : 4 6; r = Reshape(t,s); y = MatMul(r,b)",
     .ops = "bmm"},
    {.text = "a = f32[4,6]; b = f32[4,5]; t = Transpose(a); s := i64[2] : 6 4; "
             "r = Reshape(t,s); f := i64[1] : 2; g := i64[1] : 5; z := i64[1] : 0; "
             "h = Slice(r,f,g,z); y = MatMul(h,b)",
     .ops = "bmm"},
    {.text = "a = f32[3,9,4]; w := f32[4,5]; p, q, r = Split(a) axis=1 num_outputs=3; "
             "y = MatMul(q,w); z = MatMul(p,w); u = MatMul(r,w)",
     .ops = "linear+linear+linear"},
    {.text = "a = f32[7,4]; w := f32[4,5]; i := i64[1] : -1; l = Gather(a,i); y = MatMul(l,w)",
     .ops = "linear"},
    {.text = "a = f32[9,4]; w := f32[4,5]; i := i64[3] : 7 4 1; l = Gather(a,i); "
             "y = MatMul(l,w)",
     .ops = "linear"},
    {.text = "a = f32[9,4]; w := f32[4,5]; i := i64[3] : 7 4 2; l = Gather(a,i); "
             "y = MatMul(l,w)",
     .ops = "copy+linear"},
    {.text = "a = f32[2,1,3,4]; b = f32[2,5,4,6]; s := i64[4] : 2 5 3 4; e = Expand(a,s); "
             "y = MatMul(e,b)",
     .ops = "bmm"},
    {.text = "a = f32[2,5,4]; t = Transpose(a) "
             "perm=[0,2,1]; u = Transpose(t) perm=[1,0,2]; b = f32[5,3]; y = MatMul(u,b)",
     .ops = "bmm"},
    {.text = "x = f32[1,4,4,3]; w := f32[2,3,3,3]; t = Transpose(x) perm=[0,3,1,2]; "
             "y = Conv(t,w) pads=[1,1,1,1]",
     .ops = "conv"},

    /* what has another reader, or another format, stays */
    {.text = "a = f32[5,7]; b = f32[5,3]; t = Transpose(a); y = MatMul(t,b); z = Neg(t)",
     .ops = "transpose+bmm+neg"},
    {.text = "x = f32[1,2,3,3]; w := f32[2,2,3,3]; p := i64[8] : 0 0 1 1 0 0 1 1; "
             "t = Pad(x,p); y = Conv(t,w)",
     .ops = "copy+conv"},
    {.text = "x = f32[1,2,5,5,5]; w := f32[2,2,3,3,3]; y = Conv(x,w)", .ops = "copy+conv"},

    /* on each element, behind a copy */
    {.text = "x = f32[4,6]; w := f32[6,5]; y = MatMul(x,w); t = Transpose(y); r = Relu(t)",
     .ops = "linear.relu+transpose"},
    {.text = "x = f32[4,6]; w := f32[6,5]; y = MatMul(x,w); t = Transpose(y); r = Relu(t); "
             "s = Tanh(r); b = f32[4,3]; z = MatMul(s,b)",
     .ops = "linear.relu.tanh+bmm"},
    {.text = "x = f32[4,6]; w := f32[6,5]; y = MatMul(x,w); t = Transpose(y); r = Relu(t); "
             "s = Neg(y)",
     .ops = "linear+transpose+relu+neg"},

    /* numbers */
    {.text = "x = f32[4,6]; w := f32[6,5]; b := f32[5]; y = MatMul(x,w); a = Add(y,b); "
             "c := f32[] : 0.5; m = Mul(a,c); r = Relu(m)",
     .ops = "linear.bias.relu"},
    {.text = "a = f32[4,6]; b = f32[6,5]; c := f32[] : 0.5; y = MatMul(a,b); m = Mul(y,c)",
     .ops = "bmm.affine"},
    {.text = "x = f32[4,6]; w := f32[6,4]; c := f32[] : 0.5; y = MatMul(x,w); "
             "t = Transpose(y); z = MatMul(y,t); m = Mul(z,c)",
     .ops = "linear+bmm.affine"},
    {.text = "x = f32[4,6]; w := f32[6,5]; b = f32[5,3]; c := f32[] : 0.5; y = MatMul(x,w); "
             "z = MatMul(y,b); m = Mul(z,c); n = Neg(y)",
     .ops = "linear+bmm.affine+neg"},
    {.text = "x = f32[4,6]; w := f32[6,5]; b = f32[5,3]; c := f32[] : 0.5; y = MatMul(x,w); "
             "r = Relu(y); z = MatMul(r,b); m = Mul(z,c)",
     .ops = "linear.relu+bmm.affine"},

    /* norms without a mean */
    {.text = RMS("Pow(x,p)") "i = Reciprocal(r); n = Mul(x,i); g := f32[5]; y = Mul(g,n)",
     .ops = "neg+rmsnorm"},
    {.text = RMS("Mul(x,x)") "n = Div(x,r); g := f32[5]; y = Mul(n,g)", .ops = "neg+rmsnorm"},
    {.text = RMS("Mul(x,x)") "o := f32[] : 1; i = Div(o,r); n = Mul(i,x); g = f32[5]; "
                             "y = Mul(n,g)",
     .ops = "neg+rmsnorm"},
    {.text = RMS("Pow(x,p)") "i = Reciprocal(r); n = Mul(x,i); g := f32[4,1]; y = Mul(g,n)"},
    {.text = RMS("Pow(x,p)") "i = Reciprocal(r); n = Mul(x,i); g := f32[5]; y = Mul(g,n); "
                             "u = Neg(r)"},
    {.text = RMS("Pow(z,p)") "n = Div(x,r); g := f32[5]; y = Mul(n,g)"},

    /* hardswish */
    {.text = HARD "c = Clip(a,l,h); m = Mul(x,c); y = Div(m,h)", .ops = "hardswish"},
    {.text = HARD "c = Clip(a,l,h); m = Mul(c,x); f := f32[1] : 0.16666666666666666; "
                  "y = Mul(f,m)",
     .ops = "hardswish"},
    {.text = HARD "c = Clip(a,l,h); d = Div(c,h); y = Mul(d,x)", .ops = "hardswish"},
    {.text = "x = f32[3,5] -5~5; t := f32[] : 3; h := f32[] : 6; a = Add(t,x); "
             "c = Clip(a) min=0.0 max=6.0; m = Mul(x,c); y = Div(m,h)",
     .opset = 6,
     .ops = "hardswish"},
    {.text = HARD "c = Clip(a,l,t); m = Mul(x,c); y = Div(m,h)"},
    {.text = HARD "c = Clip(a,_,h); m = Mul(x,c); y = Div(m,h)"},
    {.text = HARD "c = Clip(a,l,h); m = Mul(x,c); y = Div(m,t)"},
    {.text = HARD "c = Clip(a,l,h); m = Mul(a,c); y = Div(m,h)"},
    {.text = HARD "c = Clip(a,l,h); m = Mul(x,c); y = Div(h,m)"},
    {.text = HARD "c = Clip(a,l,h); m = Mul(x,c); y = Div(m,h); z = Neg(c)"},

    /* side by side */
    {.text = "a = f32[1,3]; b = f32[1,4]; y = Concat(a,b) axis=1", .ops = "concat"},
    {.text = "a = f32[2,3,4,5]; b = f32[2,1,4,5]; y = Concat(a,b) axis=1", .ops = "concat"},
    {.text = "a = f32[2,3,4]; b = f32[2,1,4]; y = Concat(a,b) axis=1", .ops = "concat"},
    {.text = "a = f32[2,3,4]; b = f32[1,3,4]; y = Concat(a,b) axis=0", .ops = "copy+copy"},
};

static void holds(void **state) {
  net_case_holds(*state);
}
static void survives(void **state) {
  net_case_survives(*state);
}

enum { CASES = sizeof cases / sizeof cases[0] };

int main(void) {
  struct CMUnitTest tests[CASES + 1];
  for (size_t i = 0; i < CASES; i++)
    tests[i] =
        (struct CMUnitTest){cases[i].text, holds, NULL, NULL, (void *)(uintptr_t)&cases[i]};
  tests[CASES] =
      (struct CMUnitTest){"without memory", survives, NULL, NULL, (void *)(uintptr_t)&cases[3]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
