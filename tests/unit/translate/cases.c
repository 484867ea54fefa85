/* Every row of the tables of workloads/translate, in odd shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness.h"
#include "workloads/translate/translate.h"

#define UNARY(op) "x = f32[3,5,7]; y = " op "(x)"
#define BINARY(op) "a = f32[3,5,7]; b = f32[3,5,7]; y = " op "(a,b)"

#define GELU                                                                                 \
  "x = f32[3,5]; c := f32[] : 1.4142135623730951; d = Div(x,c); e = Erf(d); one := f32[] : " \
  "1; "                                                                                      \
  "o = Add(e,one); h := f32[] : 0.5; "
#define LAYER_NORM(square)                                                                \
  "x = f32[2,4,5]; a := i64[1] : -1; m = ReduceMean(x,a); d = Sub(x,m); p := f32[] : 2; " \
  "q = " square "; v = ReduceMean(q,a); eps := f32[] : 0.01; s = Add(v,eps); "            \
  "r = Sqrt(s); n = Div(d,r); "

static const struct net_case cases[] = {
    /* one operand */
    {.text = UNARY("Relu"), .ops = "relu"},
    {.text = UNARY("LeakyRelu")},
    {.text = UNARY("LeakyRelu") " alpha=0.3", .ops = "leaky_relu"},
    {.text = UNARY("Elu") " alpha=1.5"},
    {.text = UNARY("Selu")},
    {.text = UNARY("Selu") " alpha=1.25 gamma=0.5"},
    {.text = UNARY("Celu") " alpha=0.75"},
    {.text = UNARY("ThresholdedRelu") " alpha=0.5"},
    {.text = UNARY("Softplus")},
    {.text = UNARY("Softsign")},
    {.text = UNARY("Mish"), .ops = "softplus+tanh+mul"},
    {.text = UNARY("Sigmoid")},
    {.text = UNARY("HardSigmoid"), .ops = "affine+clip"},
    {.text = UNARY("HardSigmoid") " alpha=0.16666666666666666 beta=0.5", .ops = "hardsigmoid"},
    {.text = UNARY("HardSwish")},
    {.text = UNARY("Tanh")},
    {.text = UNARY("Gelu")},
    {.text = UNARY("Gelu") " approximate=tanh", .ops = "gelu_tanh"},
    {.text = UNARY("Erf")},
    {.text = UNARY("Exp")},
    {.text = "x = f32[3,5] 0.5~3; y = Log(x)"},
    {.text = "x = f32[3,5] 0.5~3; y = Sqrt(x)"},
    {.text = "x = f32[3,5] 0.5~3; y = Reciprocal(x)"},
    {.text = UNARY("Abs")},
    {.text = UNARY("Neg")},
    {.text = "x = f32[5] : -1 0 2 -0.5 7; y = Sign(x)"},
    {.text = UNARY("Floor")},
    {.text = UNARY("Ceil")},
    {.text = "x = f32[6] : 0.5 1.5 -0.5 2.5 -1.2 3.7; y = Round(x)"},
    {.text = UNARY("Sin")},
    {.text = UNARY("Cos")},
    {.text = "x = bool[4,5]; y = Not(x)", .ops = "not"},
    {.text = "x = f32[4] : 1 nan -2 0; y = IsNaN(x)"},
    {.text = "x = f32[5] : 1 inf -2 -inf 0; y = IsInf(x)"},
    {.text = "x = f32[5] : 1 inf -2 -inf 0; y = IsInf(x) detect_negative=0"},
    {.text = "x = f32[5] : 1 inf -2 -inf 0; y = IsInf(x) detect_positive=0"},
    {.text = "x = f32[5] : 1 inf -2 -inf 0; y = IsInf(x) detect_positive=0 detect_negative=0"},
    {.text = "x = f32[4,9]; l := f32[] : -0.5; h := f32[] : 0.75; y = Clip(x,l,h)",
     .ops = "clip"},
    {.text = "x = f32[4,9]; h := f32[] : 0.75; y = Clip(x,_,h)", .ops = "clip"},
    {.text = "x = f32[4,9]; l = f32[] -1~0; h = f32[] 0~1; y = Clip(x,l,h)", .ops = "max+min"},
    {.text = "x = f32[4,9]; h = f32[] 0~1; y = Clip(x,_,h)", .ops = "min"},
    {.text = "x = f32[4,9]; y = Clip(x) min=-0.5 max=0.25", .opset = 6, .ops = "clip"},
    {.text = "x = i32[4,9]; l := i32[] : -2; y = Clip(x,l)", .ops = "clip"},

    /* types */
    {.text = "x = f32[4,5]; c = Cast(x) to=6; y = Neg(c)", .ops = "fmod+sub+neg"},
    {.text = "x = f32[4,5]; c = Cast(x) to=11; y = Neg(c)", .ops = "neg"},
    {.text = "x = f32[3] : -1 0 2; y = Cast(x) to=9", .ops = "not+not"},
    {.text = "x = i64[3,4]; y = Cast(x) to=1", .ops = "copy"},
    {.text = "x = i64[3,4]; c = Cast(x) to=6; y = Neg(c)", .ops = "neg"},
    {.text = "x = bool[3,4]; y = Cast(x) to=7", .ops = "copy"},
    {.text = "x = i32[3,4]; y = Cast(x) to=9"},
    {.text = "x = i32[3,4]; l = f32[2]; y = CastLike(x,l)", .ops = "copy"},

    /* two operands, broadcast */
    {.text = BINARY("Add"), .ops = "add"},
    {.text = BINARY("Sub")},
    {.text = BINARY("Mul")},
    {.text = "a = f32[3,5]; b = f32[3,5] 0.5~2; y = Div(a,b)", .ops = "div"},
    {.text = "a = f32[3,5] 0.5~2; b = f32[3,5]; y = Pow(a,b)"},
    {.text = "a = f32[3,5] 0.5~2; b := f32[] : 2; y = Pow(a,b)"},
    {.text = "a = i32[3,7]; b = i32[3,7] 1~5; y = Div(a,b)", .ops = "fmod+sub+div"},
    {.text = "a = i32[3,7]; b := i32[7] : -3 -2 -1 1 2 3 4; y = Mod(a,b)", .ops = "mod"},
    {.text = "a = f32[3,7]; b = f32[3,7] 0.5~2; y = Mod(a,b) fmod=1", .ops = "fmod"},
    {.text = "a = f32[2,3,5,7]; b = f32[5,7]; y = Add(a,b)", .ops = "add"},
    {.text = "a = f32[2,3,5,7]; b = f32[3,1,1]; y = Add(a,b)", .ops = "add"},
    {.text = "a = f32[2,3,5,7]; b = f32[2,3,1,1]; y = Sub(a,b)", .ops = "sub"},
    {.text = "a = f32[2,3,5,7]; b = f32[2,1,5,7]; y = Sub(a,b)", .ops = "sub"},
    {.text = "a = f32[2,3,5,7]; b = f32[2,1,5,1]; y = Sub(a,b)", .ops = "copy+sub"},
    {.text = "a = f32[2,3,5,7]; b = f32[1,3,1,7]; y = Sub(a,b)", .ops = "copy+sub"},
    {.text = "a = f32[2,3,5]; b = f32[]; y = Mul(a,b)", .ops = "mul"},
    {.text = "a = f32[]; b = f32[2,3,5]; y = Mul(a,b)", .ops = "mul"},
    {.text = "a = f32[1]; b = f32[1,1]; y = Mul(a,b)", .ops = "mul"},
    {.text = "a = f32[5]; b = f32[3,5]; y = Sub(a,b)", .ops = "neg+add"},
    {.text = "a = f32[5]; b = f32[3,5] 0.5~2; y = Div(a,b)", .ops = "copy+div"},
    {.text = "a = f32[3,1]; b = f32[1,5]; y = Add(a,b)", .ops = "copy+add"},
    {.text = "a = f32[3,1]; b = f32[1,5]; y = Sub(a,b)", .ops = "copy+sub"},
    {.text = "a = f32[4,1,5]; b = f32[3,1]; y = Mul(a,b)"},
    {.text = "a := f32[3,5]; b = f32[3,5]; c = Neg(b); y = Add(a,c)", .ops = "neg+add"},
    {.text = "a = f32[3,5]; y = Mul(a,a)", .ops = "mul"},
    {.text = "x = f32[2,3,4]; s := f32[3,1]; y = PRelu(x,s)", .ops = "prelu"},
    {.text = "x = f32[2,3,4]; s = f32[1]; y = PRelu(x,s)", .ops = "prelu"},
    {.text = "x = f32[2,3,4]; s = f32[2,1,4]; y = PRelu(x,s)", .ops = "prelu"},
    {.text = "a = f32[3,5]; y = Sum(a)", .ops = "copy"},
    {.text = "a = f32[3,5]; b = f32[5]; c = f32[3,1]; y = Sum(b,a,c)", .ops = "add+add"},
    {.text = "a = f32[3,1]; b = f32[5]; y = Sum(a,b)", .ops = "copy+add"},
    {.text = "a = f32[3,5]; b = f32[5]; c = f32[3,1]; y = Mean(a,b,c)",
     .ops = "add+add+affine"},
    {.text = "a = f32[3,5]; b = f32[5]; c = f32[3,1]; y = Min(a,b,c)", .ops = "min+min"},
    {.text = "a = f32[3,5]; b = f32[5]; y = Max(b,a)", .ops = "max"},
    {.text = "a = i32[3,5]; b = i32[3,5]; y = Equal(a,b)", .ops = "equal"},
    {.text = "a = i32[3,5]; b = i32[5]; y = Less(b,a)", .ops = "greater"},
    {.text = "a = i32[3,5]; b = i32[5]; y = LessOrEqual(b,a)", .ops = "greater_equal"},
    {.text = "a = i32[3,5]; b = i32[5]; y = Greater(b,a)", .ops = "less"},
    {.text = "a = f32[3,5]; b = f32[5]; y = GreaterOrEqual(a,b)", .ops = "greater_equal"},
    {.text = "a = bool[4,6]; b = bool[4,6]; y = And(a,b)"},
    {.text = "a = bool[4,6]; b = bool[6]; y = Or(a,b)"},
    {.text = "a = bool[4,6]; b = bool[4,6]; y = Xor(a,b)"},
    {.text = "c = bool[3,5]; x = f32[3,5]; z = f32[3,5]; y = Where(c,x,z)",
     .ops = "not+keep+keep+add"},
    {.text = "c = bool[5]; x = f32[3,5]; z = f32[3,1]; y = Where(c,x,z)"},
    {.text = "c = bool[3,1]; x = f32[1,5]; z = f32[]; y = Where(c,x,z)"},
    {.text = "c = bool[3,5]; x = f32[3,5]; z := f32[] : 0; y = Where(c,x,z)", .ops = "keep"},
    {.text = "c = bool[3,5]; x := f32[] : 0; z = f32[3,5]; y = Where(c,x,z)",
     .ops = "not+keep"},
    {.text = "c = bool[3,5]; x = f32[3,5]; z := f32[] : -10000; y = Where(c,x,z)",
     .ops = "not+keep+mul+add"},
    {.text = "c = bool[3,5]; x = f32[3,5]; z := f32[] : -inf; y = Where(c,x,z)"},
    {.text = "c = bool[5]; x := f32[] : -3; z = f32[3,5]; y = Where(c,x,z)"},
    {.text = "a = f32[3,0]; b = f32[3,0]; c = Add(a,b); x = f32[2]; y = Neg(x)"},

    /* nothing runs */
    {.text = "x = f32[2,6]; s := i64[2] : 3 -1; r = Reshape(x,s); y = Neg(r)", .ops = "neg"},
    {.text = "x = f32[2,6]; n = Neg(x); s := i64[2] : 3 4; y = Reshape(n,s)", .ops = "neg"},
    {.text =
         "x = f32[2,3,4]; n = Neg(x); a = Flatten(n); b = Identity(a); y = Neg(b); z = Abs(a)",
     .ops = "neg+neg+abs"},
    {.text = "x = f32[2,1,4]; n = Neg(x); y = Squeeze(n)", .ops = "neg"},
    {.text = "x = f32[2,4]; n = Neg(x); a := i64[2] : 0 2; y = Unsqueeze(n,a)", .ops = "neg"},
    {.text = "x = f32[2,4]; n = Neg(x); y, m = Dropout(n)", .ops = "neg+copy"},
    {.text = "x = f32[2,4]; y = Identity(x); z = Neg(x)", .ops = "neg+copy"},

    /* dimensions in another order */
    {.text = "x = f32[4,6]; y = Transpose(x)", .ops = "transpose"},
    {.text = "x = f32[2,3,5]; y = Transpose(x) perm=[0,2,1]", .ops = "transpose"},
    {.text = "x = f32[2,3,5]; y = Transpose(x) perm=[1,2,0]", .ops = "transpose"},
    {.text = "x = f32[2,3,5]; y = Transpose(x) perm=[1,0,2]", .ops = "copy"},
    {.text = "x = f32[2,3,5]; y = Transpose(x)", .ops = "copy"},
    {.text = "x = f32[2,3,4,5]; y = Transpose(x) perm=[0,2,3,1]", .ops = "transpose"},
    {.text = "x = f32[2,3,4,5]; y = Transpose(x) perm=[0,2,1,3]", .ops = "copy"},
    {.text = "x = f32[2,3,4,5]; y = Transpose(x) perm=[3,1,0,2]", .ops = "copy"},
    {.text = "x = f32[2,1,3,1]; n = Neg(x); y = Transpose(n) perm=[1,0,3,2]", .ops = "neg"},
    {.text = "x = f32[2,1,3]; y = Transpose(x) perm=[2,1,0]", .ops = "transpose"},
    {.text = "x = f32[2,8,3,2]; y = DepthToSpace(x) blocksize=2", .ops = "copy"},
    {.text = "x = f32[2,8,3,2]; y = DepthToSpace(x) blocksize=2 mode=CRD", .ops = "copy"},
    {.text = "x = f32[2,3,4,6]; y = SpaceToDepth(x) blocksize=2", .ops = "copy"},

    /* parts */
    {.text = "x = f32[5,7]; s := i64[2] : 1 -3; e := i64[2] : 4 100; y = Slice(x,s,e)",
     .ops = "copy"},
    {.text = "x = f32[5,7]; s := i64[1] : -1; e := i64[1] : -100; a := i64[1] : 1; t := i64[1] "
             ": -2; "
             "y = Slice(x,s,e,a,t)"},
    {.text = "x = f32[5,7]; y = Slice(x) starts=[1] ends=[5] axes=[-1]", .opset = 9},
    {.text = "x = f32[5,7]; n = Neg(x); s := i64[1] : 0; e := i64[1] : 9; y = Slice(n,s,e)",
     .ops = "neg"},
    {.text = "x = f32[3,7]; a, b, c = Split(x) axis=1 num_outputs=3"},
    {.text = "x = f32[3,7]; s := i64[2] : 2 5; a, b = Split(x,s) axis=-1", .ops = "copy+copy"},
    {.text = "a = f32[2,3]; b = f32[2,4]; c = f32[2,1]; y = Concat(a,b,c) axis=1",
     .ops = "concat"},
    {.text = "a = f32[2,3]; b := f32[1,3]; y = Concat(a,b) axis=0; z = Neg(y)",
     .ops = "copy+copy+neg"},
    {.text = "a = f32[2,3]; n = Neg(a); y = Concat(n) axis=0", .ops = "neg"},
    {.text = "a = f32[2,3]; e = f32[0,3]; y = Concat(a,e) axis=0", .ops = "copy"},
    {.text = "x = f32[2,3]; s := i64[3] : 4 2 3; y = Expand(x,s)", .ops = "copy"},
    {.text = "x = f32[2,1]; s := i64[2] : 1 3; y = Expand(x,s)", .ops = "copy"},
    {.text = "x = f32[2,3]; n = Neg(x); s := i64[2] : 1 3; y = Expand(n,s)", .ops = "neg"},
    {.text = "x = f32[2,3,1]; r := i64[3] : 2 3 4; y = Tile(x,r)", .ops = "copy"},
    {.text = "x = f32[3,4]; p := i64[4] : 1 0 2 3; y = Pad(x,p)", .ops = "copy"},
    {.text = "x = f32[3,4]; p := i64[4] : 1 -1 0 3; v := f32[] : 2.5; y = Pad(x,p,v)"},
    {.text = "x = f32[3,4]; p := i64[4] : 2 1 1 3; y = Pad(x,p) mode=reflect"},
    {.text = "x = f32[3,4]; p := i64[4] : 2 1 1 3; y = Pad(x,p) mode=edge"},
    {.text = "x = f32[3,4]; p := i64[4] : 2 1 1 3; y = Pad(x,p) mode=wrap"},
    {.text = "x = f32[3,4]; p := i64[2] : 2 1; a := i64[1] : 1; y = Pad(x,p,_,a)"},
    {.text = "x = f32[3,4]; y = Pad(x) pads=[0,1,2,0] value=1.5", .opset = 9},
    {.text = "x = f32[3,4]; p := i64[4] : 1 0 2 3; v = f32[]; y = Pad(x,p,v)",
     .error = "known only when it runs"},
    {.text = "x = f32[2,4,5]; y = Trilu(x)", .ops = "keep"},
    {.text = "x = f32[2,4,5]; k := i64[] : 1; y = Trilu(x,k) upper=0", .ops = "keep"},

    /* several nodes that are one operator */
    {.text = "x = f32[3,5]; s = Sigmoid(x); y = Mul(x,s)", .ops = "silu"},
    {.text = "x = f32[3,5]; s = Sigmoid(x); y = Mul(s,x)", .ops = "silu"},
    {.text = "x = f32[3,5]; s = Sigmoid(x); y = Mul(s,x); z = Neg(s)",
     .ops = "sigmoid+mul+neg"},
    {.text = "x = f32[3,5]; z = f32[3,5]; s = Sigmoid(x); y = Mul(s,z)", .ops = "sigmoid+mul"},
    {.text = GELU "b = Mul(x,o); y = Mul(b,h)", .ops = "gelu"},
    {.text = GELU "b = Mul(h,x); y = Mul(b,o)", .ops = "gelu"},
    {.text = GELU "b = Mul(h,o); y = Mul(x,b)", .ops = "gelu"},
    {.text = GELU "b = Mul(h,o); y = Mul(x,b); z = Neg(b)"},
    {.text = GELU "b = Mul(h,o); y = Mul(d,b)"},
    {.text = "x = f32[3,5]; c := f32[] : 0.7071067811865476; d = Mul(c,x); e = Erf(d); "
             "one := f32[] : 1; o = Add(one,e); h := f32[1] : 0.5; b = Mul(h,o); y = Mul(b,x)",
     .ops = "gelu"},
    {.text = "x = f32[3,5]; c := f32[] : 0.7; d = Mul(c,x); e = Erf(d); one := f32[] : 1; "
             "o = Add(one,e); h := f32[1] : 0.5; b = Mul(h,o); y = Mul(b,x)"},
    {.text = LAYER_NORM("Pow(d,p)") "g := f32[5]; w = Mul(n,g); b := f32[5]; y = Add(w,b)",
     .ops = "layernorm"},
    {.text = LAYER_NORM("Mul(d,d)") "g = f32[5]; w = Mul(g,n); b := f32[5]; y = Add(b,w)",
     .ops = "layernorm"},
    {.text = LAYER_NORM("Mul(d,d)") "g := f32[5]; w = Mul(g,n); b := f32[5]; y = Add(b,w); "
                                    "z = Neg(d)"},
    {.text = LAYER_NORM("Pow(d,p)") "g := f32[4,1]; w = Mul(n,g); b := f32[5]; y = Add(w,b)"},

    /* another resolution */
    {.text = "x = f32[1,2,3,4]; s := f32[4] : 1 1 2 1.5; y = Resize(x,_,s)", .ops = "copy"},
    {.text = "x = f32[1,2,3,4]; z := i64[4] : 1 2 5 3; y = Resize(x,_,_,z) mode=linear",
     .ops = "copy+mul+copy+mul+add+copy+mul+copy+mul+add"},
    {.text = "x = f32[1,2,5]; z := i64[3] : 1 2 9; y = Resize(x,_,_,z) mode=cubic"},
    {.text = "x = f32[1,2,5]; z := i64[3] : 1 2 5; n = Neg(x); y = Resize(n,_,_,z)",
     .ops = "neg"},
    {.text = "x = f32[1,2,3,4]; r := f32[8] : 0 0 -0.2 0.1 1 1 1.4 1; z := i64[4] : 1 2 6 4; "
             "y = Resize(x,r,_,z) mode=linear "
             "coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=7.5"},
    {.text = "x = f32[1,2,3,4]; r := f32[8] : 0 0 -0.2 0.1 1 1 1.4 1; z := i64[4] : 1 2 6 4; "
             "y = Resize(x,r,_,z) mode=nearest "
             "coordinate_transformation_mode=tf_crop_and_resize extrapolation_value=7.5",
     .ops = "copy"},
    {.text = "x = f32[1,2,3,4]; s := f32[4] : 1 1 2 2; y = Upsample(x,s)",
     .opset = 9,
     .ops = "copy"},

    /* by index */
    {.text = "x = f32[5,3]; i := i64[2,2] : 0 -1 4 2; y = Gather(x,i)", .ops = "copy"},
    {.text = "x = f32[2,5,3]; i := i64[4] : 0 -1 4 2; y = Gather(x,i) axis=1", .ops = "copy"},
    {.text = "x = f32[5,3]; i := i64[] : -2; y = Gather(x,i)", .ops = "copy"},
    {.text = "x := f32[5,3]; i = i64[2,4] 0~5; y = Gather(x,i)", .ops = "embedding"},
    {.text = "x = f32[5,3]; i = i64[2,4] 0~5; y = Gather(x,i)", .ops = "gather"},
    {.text = "x = f32[5,3,2]; i = i64[] 0~5; y = Gather(x,i)", .ops = "gather"},
    {.text = "x = f32[2,3,5]; i = i64[4] 0~5; y = Gather(x,i) axis=-1", .ops = "gather_cols"},
    {.text = "x = f32[2,5,3]; i = i64[2,2] 0~5; y = Gather(x,i) axis=1",
     .ops = "copy+gather+copy"},
    {.text = "x = f32[4,3]; i := i64[2,3] : 0 -1 2 3 1 0; y = GatherElements(x,i)",
     .ops = "copy"},
    {.text = "x = f32[4,3]; i = i64[4,2] 0~3; y = GatherElements(x,i) axis=1",
     .ops = "less+affine+add+affine+add+gather"},
    {.text = "x = f32[2,4,3]; i = i64[2,2,3] 0~4; y = GatherElements(x,i) axis=1"},
    {.text = "x = f32[2,4,3]; i = i64[2,2,3] -4~4; y = GatherElements(x,i) axis=1"},
    {.text = "x = f32[4,3,2]; i = i64[7,2] -3~3; y = GatherND(x,i)"},
    {.text = "x = f32[4,3,2]; i := i64[3,2] : 0 -1 2 1 3 0; y = GatherND(x,i)", .ops = "copy"},
    {.text = "x = f32[4,3,2]; i = i64[3,2] 0~3; y = GatherND(x,i)"},
    {.text = "x = f32[4,3,2]; i = i64[5,1] 0~4; y = GatherND(x,i)", .ops = "gather"},
    {.text = "x = f32[2,3,4]; i = i64[2,5,1] 0~3; y = GatherND(x,i) batch_dims=1"},
    {.text = "x = f32[2,3,4]; i := i64[2,1] : 1 -1; y = GatherND(x,i) batch_dims=1",
     .ops = "copy"},
    {.text = "i = i64[3,2] 0~4; d := i64[] : 4; v := f32[2] : 0 1; y = OneHot(i,d,v)"},
    {.text =
         "i = i64[3,2] 0~4; d := i64[] : 4; v := f32[2] : -1 2.5; y = OneHot(i,d,v) axis=0"},
    {.text = "i = i64[3] 0~4; d := i64[] : 4; v = f32[2]; y = OneHot(i,d,v)",
     .error = "known only when it runs"},
    {.text = "x = f32[3,4]; e = EyeLike(x) k=1; y = Add(x,e)"},

    /* reductions */
    {.text = "x = f32[3,4,5]; a := i64[1] : 2; y = ReduceSum(x,a)", .ops = "rowsum"},
    {.text = "x = f32[3,4,5]; a := i64[1] : 1; y = ReduceSum(x,a) keepdims=0",
     .ops = "transpose+rowsum"},
    {.text = "x = f32[3,4,5]; a := i64[2] : 0 -1; y = ReduceMean(x,a)", .ops = "copy+rowmean"},
    {.text = "x = f32[3,4,5]; y = ReduceMax(x)", .ops = "rowmax"},
    {.text = "x = f32[3,4,5]; y = ReduceMin(x) axes=[1,2]", .opset = 13, .ops = "rowmin"},
    {.text = "x = f32[3,4,5]; a := i64[1] : 0; y = ReduceProd(x,a)",
     .ops = "transpose+rowprod"},
    {.text = "x = f32[3,4]; a := i64[1] : 1; y = ReduceL1(x,a)", .ops = "abs+rowsum"},
    {.text = "x = f32[3,4]; a := i64[1] : 1; y = ReduceL2(x,a)", .ops = "rowsumsq+sqrt"},
    {.text = "x = f32[3,4] 0.5~2; a := i64[1] : 1; y = ReduceLogSum(x,a)", .ops = "rowsum+log"},
    {.text = "x = f32[3,4,2]; a := i64[1] : 1; y = ReduceLogSumExp(x,a) keepdims=0"},
    {.text = "x = f32[3,4]; y = ReduceSumSquare(x) keepdims=0", .ops = "rowsumsq"},
    {.text = "x = f32[3,4]; n = Neg(x); y = ReduceSum(n) noop_with_empty_axes=1", .ops = "neg"},
    {.text = "x = f32[3,1,4]; a := i64[1] : 1; y = ReduceMax(x,a)", .ops = "rowmax"},
    {.text = "x = f32[3,4]; y = ArgMax(x)", .ops = "transpose+topk"},
    {.text = "x = f32[3,4]; y = ArgMax(x) axis=-1 keepdims=0", .ops = "topk"},
    {.text = "x = i32[3,9] 0~3; y = ArgMax(x) axis=1", .ops = "topk"},
    {.text = "x = i32[3,9] 0~3; y = ArgMax(x) axis=1 select_last_index=1"},
    {.text = "x = i32[3,9] 0~3; y = ArgMin(x) axis=1", .ops = "neg+topk"},
    {.text = "x = i32[3,9] 0~3; y = ArgMin(x) axis=1 select_last_index=1"},
    {.text = "x = f32[3,7]; k := i64[1] : 3; v, i = TopK(x,k)", .ops = "topk"},
    {.text = "x = f32[3,7]; k := i64[1] : 2; v, i = TopK(x,k) axis=0"},
    {.text = "x = f32[2,7,3]; k := i64[1] : 2; v, i = TopK(x,k) axis=1 largest=0"},
    {.text = "x = f32[2,7]; k := i64[1] : 2; _, i = TopK(x,k)", .ops = "topk"},
    {.text = "x = f32[2,5]; a := i64[] : 1; y = CumSum(x,a)",
     .ops = "copy+add+copy+add+copy+add"},
    {.text = "x = i64[2,8]; a := i64[] : 1; y = CumSum(x,a)"},
    {.text = "x = f32[2,1]; n = Neg(x); a := i64[] : 1; y = CumSum(n,a)", .ops = "neg"},
    {.text = "x = f32[2,1]; a := i64[] : 1; y = CumSum(x,a) exclusive=1", .ops = "copy"},
    {.text = "x = f32[2,5]; a := i64[] : 1; y = CumSum(x,a) exclusive=1 reverse=1"},
    {.text = "x = f32[2,5,3]; a := i64[] : -2; y = CumSum(x,a) reverse=1"},
    {.text = "x = f32[3,4,5]; y = Softmax(x)", .ops = "softmax"},
    {.text = "x = f32[3,4,5]; y = Softmax(x) axis=1", .ops = "transpose+softmax+transpose"},
    {.text = "x = f32[3,4,5]; y = Softmax(x)", .opset = 11, .ops = "softmax"},
    {.text = "x = f32[3,4,5]; y = LogSoftmax(x) axis=0",
     .ops = "transpose+log_softmax+transpose"},
    {.text = "x = f32[3,4,5]; y = LogSoftmax(x) axis=2", .opset = 11, .ops = "log_softmax"},
    {.text = "x = i32[4,6] 0~4; c = Cast(x) to=1; y = Hardmax(c)"},
    {.text = "x = f32[4,6,3]; y = Hardmax(x) axis=1"},
    {.text = "x = f32[4,6,3]; y = Hardmax(x)", .opset = 11},

    /* normalisations */
    {.text = "x = f32[3,4,5]; s := f32[5]; b := f32[5]; y = LayerNormalization(x,s,b)",
     .ops = "layernorm"},
    {.text = "x = f32[3,4,5]; s = f32[4,5]; y = LayerNormalization(x,s) axis=1 epsilon=0.01",
     .ops = "layernorm"},
    {.text = "x = f32[3,4,5]; s := f32[5]; y, m, i = LayerNormalization(x,s)"},
    {.text = "x = f32[3,4,5]; s := f32[1]; y = LayerNormalization(x,s) axis=-2"},
    {.text = "x = f32[3,4,5]; s := f32[5]; y = RMSNormalization(x,s)",
     .opset = 23,
     .ops = "rmsnorm"},
    {.text = "x = f32[2,3,4,5]; s := f32[3]; b := f32[3]; m := f32[3]; v := f32[3] 0.5~2; "
             "y = BatchNormalization(x,s,b,m,v)",
     .ops = "batchnorm"},
    {.text = "x = f32[7,3]; s := f32[3]; b := f32[3]; m := f32[3]; v := f32[3] 0.5~2; "
             "y = BatchNormalization(x,s,b,m,v) epsilon=0.1",
     .ops = "batchnorm"},
    {.text = "x = f32[2,3,5]; s = f32[3]; b = f32[3]; m = f32[3]; v = f32[3] 0.5~2; "
             "y = BatchNormalization(x,s,b,m,v)"},
    {.text = "x = f32[2,3,4,5]; s := f32[3]; b := f32[3]; y = InstanceNormalization(x,s,b)",
     .ops = "normalise+batchnorm"},
    {.text = "x = f32[2,6,3,5]; s := f32[6]; b := f32[6]; y = GroupNormalization(x,s,b) "
             "num_groups=2",
     .ops = "normalise+batchnorm"},
    {.text =
         "x = f32[2,6,3]; s := f32[3]; b := f32[3]; y = GroupNormalization(x,s,b) num_groups=3",
     .opset = 18},

    /* poolings */
    {.text = "x = f32[2,3,7,8]; y = MaxPool(x) kernel_shape=[3,2]", .ops = "maxpool"},
    {.text = "x = f32[2,3,7,8]; y = MaxPool(x) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]",
     .ops = "maxpool"},
    {.text =
         "x = f32[1,3,9,9]; y = MaxPool(x) kernel_shape=[2,2] dilations=[3,2] strides=[2,1]",
     .ops = "maxpool"},
    {.text = "x = f32[1,2,7,8]; y = MaxPool(x) kernel_shape=[3,3] strides=[2,2] ceil_mode=1",
     .ops = "maxpool"},
    {.text = "x = f32[1,2,9]; y = MaxPool(x) kernel_shape=[3] strides=[2] pads=[0,1]",
     .ops = "maxpool"},
    {.text = "x = f32[1,2,5,4,6]; y = MaxPool(x) kernel_shape=[2,2,3] strides=[2,1,2] "
             "pads=[0,1,1,0,0,1]",
     .ops = "copy+rowmax"},
    {.text = "x = f32[1,2,6,6]; y = MaxPool(x) kernel_shape=[3,3] auto_pad=SAME_UPPER "
             "strides=[2,2]"},
    {.text = "x = f32[1,2,6,6]; y, i = MaxPool(x) kernel_shape=[3,3]",
     .error = "returns indices"},
    {.text = "x = f32[2,3,7,8]; y = AveragePool(x) kernel_shape=[3,2]", .ops = "avgpool"},
    {.text = "x = f32[2,3,7,8]; y = AveragePool(x) kernel_shape=[3,3] pads=[1,1,1,1]",
     .ops = "avgpool+mul"},
    {.text = "x = f32[2,3,7,8]; y = AveragePool(x) kernel_shape=[3,3] pads=[1,1,1,1] "
             "count_include_pad=1",
     .ops = "avgpool"},
    {.text =
         "x = f32[1,2,6,7]; y = AveragePool(x) kernel_shape=[3,3] strides=[2,2] ceil_mode=1 "
         "pads=[1,0,0,1] count_include_pad=1"},
    {.text = "x = f32[1,2,6]; y = AveragePool(x) kernel_shape=[4] pads=[3,3]",
     .ops = "copy+rowmean+mul"},
    {.text = "x = f32[1,2,4,5,4]; y = AveragePool(x) kernel_shape=[2,2,2]",
     .ops = "copy+rowmean"},
    {.text = "x = f32[2,3,4,5]; y = GlobalAveragePool(x)", .ops = "global_avgpool"},
    {.text = "x = f32[2,3,4,5]; y = GlobalMaxPool(x)", .ops = "global_maxpool"},
    {.text = "x = f32[2,3,4]; y = GlobalMaxPool(x)", .ops = "global_maxpool"},
    {.text = "x = f32[2,3,4,2,5]; y = GlobalAveragePool(x)", .ops = "global_avgpool"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* One test a row, named after it. */
static void equals_the_reference(void **state) {
  net_case_holds(*state);
}

static void survives_without_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i++) net_case_survives(&cases[i]);
}

/* Operators of a net that have a row, and that no case above is about. */
static void every_row_has_a_case(void **state) {
  (void)state;
  static const enum tsr_net_op others[] = {
      /* products: test_products; made when a net is finished, or refused */
      TSR_NET_MATMUL,
      TSR_NET_GEMM,
      TSR_NET_EINSUM,
      TSR_NET_CONV,
      TSR_NET_CONV_TRANSPOSE,
      TSR_NET_MATMUL_INTEGER,
      TSR_NET_CONV_INTEGER,
      TSR_NET_QLINEAR_MATMUL,
      TSR_NET_QLINEAR_CONV,
      TSR_NET_LSTM,
      TSR_NET_GRU,
      TSR_NET_RNN,
      TSR_NET_QUANTIZE_LINEAR,
      TSR_NET_DEQUANTIZE_LINEAR,
      TSR_NET_DYNAMIC_QUANTIZE_LINEAR,
      TSR_NET_NON_ZERO,
      TSR_NET_SHAPE,
      TSR_NET_SIZE,
      TSR_NET_CONSTANT,
      TSR_NET_CONSTANT_OF_SHAPE,
      TSR_NET_RANGE,
  };
  bool seen[TSR_NET_OP_COUNT_] = {false};
  net_cases_ops(cases, CASES, seen);
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) seen[others[i]] = true;
  for (unsigned op = TSR_NET_UNKNOWN + 1; op < TSR_NET_OP_COUNT_; op++) {
    if (!tsr_translate_has((enum tsr_net_op)op))
      fail_msg("%s has no row", tsr_net_op_name((enum tsr_net_op)op));
    if (!seen[op]) fail_msg("%s has no case", tsr_net_op_name((enum tsr_net_op)op));
  }
}

int main(void) {
  static struct CMUnitTest tests[CASES + 2];
  for (size_t i = 0; i < CASES; i++) {
    tests[i].name = cases[i].text;
    tests[i].test_func = equals_the_reference;
    tests[i].initial_state = (void *)(uintptr_t)&cases[i];
  }
  tests[CASES] = (struct CMUnitTest)cmocka_unit_test(survives_without_memory);
  tests[CASES + 1] = (struct CMUnitTest)cmocka_unit_test(every_row_has_a_case);
  return _cmocka_run_group_tests("translate", tests, CASES + 2, NULL, NULL);
}
