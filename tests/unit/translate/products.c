/* Products: matrices, convolutions, integers, recurrent layers, and what becomes epilogues. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness.h"
#include "workloads/translate/translate.h"

/* Weights and their product with x. */
#define MM(x, w) "x = f32" x "; w := f32" w "; y = MatMul(x,w)"
#define MM2(a, b) "a = f32" a "; b = f32" b "; y = MatMul(a,b)"
#define CONV(x, w) "x = f32" x "; w := f32" w "; y = Conv(x,w)"
#define CONVB(x, w, b) "x = f32" x "; w := f32" w "; b := f32" b "; y = Conv(x,w,b)"
#define CONVT(x, w) "x = f32" x "; w := f32" w "; y = ConvTranspose(x,w)"
#define EIN(eq, a, b) "a = f32" a "; b = f32" b "; y = Einsum(a,b) equation='" eq "'"

static const struct net_case cases[] = {
    /* MatMul */
    {.text = MM("[5,7]", "[7,3]"), .ops = "linear"},
    {.text = MM("[2,3,5,7]", "[7,3]"), .ops = "linear"},
    {.text = MM("[7]", "[7,3]"), .ops = "linear"},
    {.text = MM("[2,5,7]", "[7]"), .ops = "linear"},
    {.text = MM("[7]", "[7]"), .ops = "linear"},
    {.text = MM("[4,5,7]", "[1,7,3]"), .ops = "linear"},
    {.text = MM("[4,5,7]", "[4,7,3]"), .ops = "bmm"},
    {.text = MM("[7]", "[4,7,3]"), .ops = "bmm"},
    {.text = MM2("[5,7]", "[7,3]"), .ops = "bmm"},
    {.text = MM2("[2,4,5,7]", "[2,4,7,3]"), .ops = "bmm"},
    {.text = MM2("[2,1,5,7]", "[4,7,3]"), .ops = "bmm"},
    {.text = MM2("[5,7]", "[3,2,7,3]"), .ops = "bmm"},
    {.text = MM2("[2,4,5,7]", "[7]"), .ops = "bmm"},
    {.text = MM2("[6,5,7]", "[7,2]"), .ops = "bmm"},
    {.text = "a = f32[2,4,5,7]; b = f32[2,4,7,6]; c = f32[2,4,6,3]; q := f32[] : 2.5; "
             "m = f32[2,1,5,6]; s = MatMul(a,b); d = Div(s,q); e = Add(d,m); p = Softmax(e); "
             "y = MatMul(p,c)",
     .ops = "attn_qk.affine+add+softmax+attn_pv"},
    {.text = "a = f32[5,7]; b = f32[7,6]; s = MatMul(a,b); p = Softmax(s); y = Relu(s)",
     .ops = "bmm+softmax+relu"},

    /* Gemm */
    {.text = "a = f32[5,7]; b := f32[7,3]; y = Gemm(a,b)", .ops = "linear"},
    {.text = "a = f32[7,5]; b := f32[3,7]; c := f32[3]; y = Gemm(a,b,c) transA=1 transB=1",
     .ops = "linear.bias"},
    {.text = "a = f32[5,7]; b := f32[7,3]; c := f32[1,3]; y = Gemm(a,b,c) alpha=0.5 beta=-2.0",
     .ops = "linear.bias"},
    {.text = "a = f32[5,7]; b := f32[7,3]; c := f32[]; y = Gemm(a,b,c)", .ops = "linear.bias"},
    {.text = "a = f32[5,7]; b := f32[7,3]; c := f32[5,1]; y = Gemm(a,b,c)",
     .ops = "linear+add"},
    {.text = "a = f32[5,7]; b := f32[7,3]; c = f32[3]; y = Gemm(a,b,c)", .ops = "linear+add"},
    {.text = "a = f32[5,7]; b = f32[7,3]; c = f32[5,3]; y = Gemm(a,b,c) alpha=0.5 beta=3.0",
     .ops = "mul+bmm.affine.add"},
    {.text = "a = f32[5,7]; b = f32[7,3]; c := f32[3]; y = Gemm(a,b,c) alpha=0.5",
     .ops = "bmm.affine.bias"},
    {.text = "a = f32[5,7]; b := f32[7,3]; c := f32[3]; y = Gemm(a,b,c) beta=0.0",
     .ops = "linear"},

    /* Einsum */
    {.text = EIN("ij,jk->ik", "[3,5]", "[5,4]"), .ops = "bmm"},
    {.text = EIN("ij,jk->ki", "[3,5]", "[5,4]"), .ops = "bmm"},
    {.text = EIN("bhid,bhjd->bhij", "[2,3,4,5]", "[2,3,6,5]"), .ops = "bmm"},
    {.text = EIN("bid,jbd->ijb", "[2,4,5]", "[6,2,5]"), .ops = "bmm"},
    {.text = EIN("ijk,kl->il", "[2,4,5]", "[5,3]"), .ops = "rowsum+bmm"},
    {.text = EIN("ij,ij->ij", "[3,5]", "[3,5]"), .ops = "mul"},
    {.text = EIN("i,j->ij", "[3]", "[5]"), .ops = "bmm"},
    {.text = EIN("ij,ij->", "[3,5]", "[3,5]"), .ops = "bmm"},
    {.text = EIN("ii,ij->j", "[4,4]", "[4,3]"), .ops = "bmm"},
    {.text = EIN("...ij,...jk->...ik", "[2,3,5]", "[2,5,4]"), .ops = "bmm"},
    {.text = "w := f32[5,4]; x = f32[3,5]; y = Einsum(w,x) equation='jk,ij->ik'",
     .ops = "linear"},
    {.text = "x = f32[3,4,5]; y = Einsum(x) equation='ijk->kij'", .ops = "copy"},
    {.text = "x = f32[4,4]; y = Einsum(x) equation='ii->i'", .ops = "copy"},
    {.text = "x = f32[4,5]; y = Einsum(x) equation='ij->j'", .ops = "rowsum"},
    {.text = "x = f32[4,4]; y = Einsum(x) equation='ii->'", .ops = "rowsum"},
    {.text =
         "a = f32[3,4]; b = f32[4,5]; c = f32[5,2]; y = Einsum(a,b,c) equation='ij,jk,kl->il'",
     .ops = "bmm+bmm"},
    {.text = "a = f32[3,4]; b = f32[3,4]; c = f32[3]; y = Einsum(a,b,c) equation='ij,ij,i->j'",
     .ops = "mul+bmm"},

    /* Conv */
    {.text = CONV("[2,3,9,8]", "[5,3,3,2]"), .ops = "conv"},
    {.text = CONVB("[2,3,9,8]", "[5,3,3,2]", "[5]") " strides=[2,1] pads=[1,0,2,1]",
     .ops = "conv.bias"},
    {.text = CONVB("[2,4,9,8]", "[6,2,3,3]", "[6]") " group=2 dilations=[2,1] pads=[1,1,1,1]",
     .ops = "conv.bias"},
    {.text = CONVB("[2,4,7,8]", "[4,1,3,3]", "[4]") " group=4 pads=[1,1,1,1]",
     .ops = "dwconv.bias"},
    {.text = CONV("[2,4,7,8]", "[8,1,3,3]") " group=4", .ops = "conv"},
    {.text = CONV("[1,3,7,8]", "[5,3,3,3]") " auto_pad=SAME_UPPER strides=[2,2]",
     .ops = "conv"},
    {.text = CONVB("[2,3,9]", "[5,3,3]", "[5]") " pads=[2,1] strides=[2]", .ops = "conv.bias"},
    {.text = CONV("[2,4,9]", "[4,1,3]") " group=4", .ops = "dwconv"},
    {.text = CONVB("[2,2,4,5,6]", "[3,2,2,3,2]", "[3]") " pads=[1,0,1,0,1,0] strides=[1,2,1]",
     .ops = "copy+conv.bias"},
    {.text = CONV("[1,4,4,5,3]", "[6,2,2,2,2]") " group=2 dilations=[1,2,1]", .ops = NULL},
    {.text = "x = f32[1,2,5,5]; w = f32[3,2,2,2]; y = Conv(x,w)", .ops = "conv"},

    /* ConvTranspose */
    {.text = CONVT("[2,3,4,5]", "[3,2,3,3]"), .ops = "conv"},
    {.text = CONVT("[2,3,4,5]", "[3,2,3,2]") " strides=[2,3] pads=[1,0,0,1]",
     .ops = "copy+conv"},
    {.text = CONVT("[1,4,4,5]", "[4,3,2,3]") " group=2 strides=[2,2] output_padding=[1,1]",
     .ops = "copy+conv"},
    {.text = CONVT("[1,4,4,5]", "[4,1,3,3]") " group=4 strides=[2,1] dilations=[2,1]",
     .ops = "copy+dwconv"},
    {.text = CONVT("[1,2,4,5]", "[2,3,1,2]") " pads=[1,1,1,2]"},
    {.text = CONVT("[1,2,4]", "[2,3,3]") " strides=[2]", .ops = "copy+conv"},
    {.text = CONVT("[1,2,3,2,4]", "[2,3,2,2,3]") " strides=[2,1,2]", .ops = "copy+copy+conv"},
    {.text = "x = f32[1,3,4,4]; w := f32[3,2,2,2]; b := f32[2]; y = ConvTranspose(x,w,b) "
             "strides=[2,2] auto_pad=SAME_UPPER",
     .ops = "copy+conv.bias"},

    /* integers */
    {.text = "a = u8[4,6]; b := i8[6,3]; y = MatMulInteger(a,b)", .ops = "linear"},
    {.text = "a = u8[4,6]; b := i8[6,3]; za := u8[] : 3; y = MatMulInteger(a,b,za)",
     .ops = "linear+sub"},
    {.text = "a = u8[2,4,6]; b := i8[6,3]; za := u8[] : 3; zb := i8[] : -2; "
             "y = MatMulInteger(a,b,za,zb)",
     .ops = "linear+sub+rowsum+mul+sub"},
    {.text = "a = u8[4,6]; b := i8[6,3]; za := u8[] : 3; zb := i8[3] : 1 -2 3; "
             "y = MatMulInteger(a,b,za,zb)"},
    {.text = "a = u8[4,6]; b := i8[6,3]; za := u8[4] : 3 0 1 2; y = MatMulInteger(a,b,za)"},
    {.text = "a = i8[2,4,6]; b = i8[2,6,3]; za := i8[] : 3; zb := i8[] : -2; "
             "y = MatMulInteger(a,b,za,zb)"},
    {.text = "a = u8[4,6]; b := i8[6,3]; za = u8[]; y = MatMulInteger(a,b,za)",
     .ops = "linear+mul+sub"},
    {.text = "a = u8[6]; b := i8[6,3]; za := u8[] : 3; zb := i8[] : 1; y = "
             "MatMulInteger(a,b,za,zb)"},
    {.text = "a = u8[4,6]; b := i8[6]; za := u8[] : 3; zb := i8[] : 1; y = "
             "MatMulInteger(a,b,za,zb)"},
    {.text = "x = u8[2,3,6,5]; w := i8[4,3,3,2]; y = ConvInteger(x,w) pads=[1,1,1,1]",
     .ops = "conv"},
    {.text = "x = u8[2,3,6,5]; w := i8[4,3,3,2]; z := u8[] : 5; y = ConvInteger(x,w,z) "
             "pads=[1,0,1,1]",
     .ops = "copy+conv+sub"},
    {.text = "x = u8[2,4,6,5]; w := i8[6,2,3,2]; z := u8[] : 5; v := i8[6] : 1 2 0 -1 -2 3; "
             "y = ConvInteger(x,w,z,v) pads=[1,0,1,1] group=2"},
    {.text = "x = u8[2,3,6,5]; w := i8[4,3,3,2]; z = u8[]; v := i8[] : 3; "
             "y = ConvInteger(x,w,z,v) pads=[1,0,1,1] strides=[2,1]"},
    {.text = "a = u8[4,6]; as := f32[] : 0.5; az := u8[] : 3; b := i8[6,3]; bs := f32[3] : "
             "0.25 0.5 1; "
             "bz := i8[] : 0; ys := f32[] : 2; yz := u8[] : 7; "
             "y = QLinearMatMul(a,as,az,b,bs,bz,ys,yz)",
     .ops = "linear.bias.quantise"},
    {.text = "a = u8[4,6]; as := f32[4] : 0.5 1 2 0.25; az := u8[] : 3; b := i8[6,3]; "
             "bs := f32[] : 0.5; bz := i8[] : 1; ys := f32[] : 2; yz := i8[] : -7; "
             "y = QLinearMatMul(a,as,az,b,bs,bz,ys,yz)"},
    {.text = "x = u8[2,3,6,5]; xs := f32[] : 0.5; xz := u8[] : 3; w := i8[4,3,3,2]; "
             "ws := f32[4] : 0.25 0.5 1 2; wz := i8[] : 0; ys := f32[] : 4; yz := u8[] : 100; "
             "b := i32[4]; y = QLinearConv(x,xs,xz,w,ws,wz,ys,yz,b) pads=[1,1,1,1]",
     .ops = "copy+conv.bias.bias.quantise"},
    {.text = "x = u8[2,4,6,5]; xs := f32[] : 0.5; xz := u8[] : 0; w := i8[4,1,3,2]; "
             "ws := f32[] : 0.25; wz := i8[] : 0; ys := f32[] : 1; yz := u8[] : 100; "
             "y = QLinearConv(x,xs,xz,w,ws,wz,ys,yz) group=4",
     .ops = "dwconv.quantise"},

    /* quantisation */
    {.text = "x = f32[3,7]; s := f32[] : 0.25; z := u8[] : 5; y = QuantizeLinear(x,s,z)",
     .ops = "quantise"},
    {.text = "x = f32[3,7]; s := f32[] : 0.25; y = QuantizeLinear(x,s)", .ops = "quantise"},
    {.text = "x = f32[2,3,7]; s := f32[3] : 0.25 0.5 1; z := i8[3] : 5 5 5; "
             "y = QuantizeLinear(x,s,z) axis=1",
     .ops = "quantise"},
    {.text = "x = f32[2,3,7]; s := f32[3] : 0.25 0.5 1; z := i8[3] : 5 -6 120; "
             "y = QuantizeLinear(x,s,z) axis=1",
     .ops = "quantise+add+clip+copy"},
    {.text = "x = f32[4,3]; s := f32[3] : 0.25 0.5 1; y = QuantizeLinear(x,s) axis=-1"},
    {.text = "x = f32[4,6]; s := f32[4,2] 0.5~1; y = QuantizeLinear(x,s) axis=1 block_size=3"},
    {.text = "x = f32[4,7]; s := f32[4,3] 0.5~1; y = QuantizeLinear(x,s) axis=1 block_size=3"},
    {.text = "x = u8[2,3,7]; s := f32[3] : 0.25 0.5 1; z := u8[3] : 1 1 1; "
             "y = DequantizeLinear(x,s,z)",
     .ops = "dequantise"},
    {.text = "x = u8[2,3,7]; s := f32[3] : 0.25 0.5 1; z := u8[3] : 1 2 3; "
             "y = DequantizeLinear(x,s,z)",
     .ops = "sub+dequantise"},
    {.text = "x = i8[5]; s := f32[] : 0.125; y = DequantizeLinear(x,s)", .ops = "dequantise"},
    {.text = "x = f32[5,6]; y, s, z = DynamicQuantizeLinear(x)", .tolerance = 1e-6},
    {.text = "x = f32[5] : 0 0 0 0 0; y, s, z = DynamicQuantizeLinear(x)"},
    {.text = "x = f32[5,6]; w := i8[6,3]; q, s, z = DynamicQuantizeLinear(x); "
             "y = MatMulInteger(q,w,z)",
     .tolerance = 1e-6},

    /* Q/DQ */
    {.text = "x = u8[4,6]; s := f32[] : 0.5; z := u8[] : 3; w := i8[6,3]; v := f32[3] : 0.25 "
             "0.5 1; "
             "a = DequantizeLinear(x,s,z); b = DequantizeLinear(w,v) axis=1; y = MatMul(a,b)",
     .ops = "linear.bias.dequantise"},
    {.text = "x = u8[4,6]; s := f32[] : 0.5; z := u8[] : 3; w := i8[3,6]; v := f32[3] : 0.25 "
             "0.5 1; "
             "c := f32[3]; a = DequantizeLinear(x,s,z); b = DequantizeLinear(w,v) axis=0; "
             "m = Gemm(a,b,c) transB=1; r = Relu(m); t := f32[] : 0.125; o := u8[] : 9; "
             "y = QuantizeLinear(r,t,o)",
     .ops = "linear.bias.dequantise.bias.relu.quantise"},
    {.text =
         "x = f32[4,6]; s := f32[] : 0.5; z := u8[] : 3; w := i8[3,6]; v := f32[] : 0.25; "
         "q = QuantizeLinear(x,s,z); a = DequantizeLinear(q,s,z); b = DequantizeLinear(w,v); "
         "t = Transpose(b); y = MatMul(a,t)",
     .ops = "quantise+linear.bias.dequantise"},
    {.text =
         "x = u8[2,3,6,5]; s := f32[] : 0.5; z := u8[] : 3; w := i8[4,3,3,2]; "
         "v := f32[4] : 0.25 0.5 1 2; c := f32[4]; a = DequantizeLinear(x,s,z); "
         "b = DequantizeLinear(w,v) axis=0; m = Conv(a,b,c) pads=[1,1,1,1]; t := f32[] : 0.5; "
         "o := u8[] : 9; y = QuantizeLinear(m,t,o)",
     .ops = "copy+conv.bias.dequantise.bias.quantise"},
    {.text = "x = u8[2,4,6,5]; s := f32[] : 0.5; w := i8[4,1,3,3]; v := f32[4] : 0.25 0.5 1 2; "
             "a = DequantizeLinear(x,s); b = DequantizeLinear(w,v) axis=0; "
             "m = Conv(a,b) pads=[1,1,1,1] group=4; y = Relu(m)",
     .ops = "dwconv.dequantise.relu"},
    {.text = "x = u8[2,4,6]; u = u8[2,6,5]; s := f32[] : 0.5; z := u8[] : 3; "
             "a = DequantizeLinear(x,s,z); b = DequantizeLinear(u,s,z); y = MatMul(a,b)"},
    {.text =
         "x = u8[4,6]; s := f32[] : 0.5; w := i8[6,3]; v := f32[] : 0.25; "
         "a = DequantizeLinear(x,s); b = DequantizeLinear(w,v); y = MatMul(a,b); z = Relu(a)",
     .ops = "dequantise+linear.dequantise+relu"},

    /* epilogues */
    {.text = MM("[5,7]", "[7,3]") "; b := f32[3]; z = Add(y,b); u = Relu(z)",
     .ops = "linear.bias.relu"},
    {.text = MM("[5,7]", "[7,3]") "; b := f32[3]; z = Add(b,y)", .ops = "linear.bias"},
    {.text = MM("[5,7]", "[7,3]") "; b := f32[3]; z = Sub(y,b)", .ops = "linear.bias"},
    {.text = MM("[5,7]", "[7,3]") "; b := f32[3]; z = Mul(y,b)", .ops = "linear.bias"},
    {.text = MM("[5,7]", "[7,3]") "; b := f32[5,1]; z = Add(y,b)", .ops = "linear+add"},
    {.text = MM("[5,7]", "[7,3]") "; b := f32[3]; r = Relu(y); z = Mul(r,b)",
     .ops = "linear.relu.batchnorm"},
    {.text = MM("[5,7]", "[7,3]") "; r = f32[5,3]; z = Add(y,r)", .ops = "linear+add"},
    {.text = "r = f32[5,3]; s = Relu(r); " MM("[5,7]", "[7,3]") "; z = Add(y,s); u = Gelu(z)",
     .ops = "relu+linear.add.gelu"},
    {.text = "r = f32[5,3]; s = Relu(r); " MM("[5,7]", "[7,3]") "; z = Sub(s,y)",
     .ops = "relu+linear+sub"},
    {.text = "x = f32[5,7]; w := f32[7,3]; v := f32[7,3]; a = MatMul(x,w); b = MatMul(x,v); "
             "y = Add(a,b)",
     .ops = "linear+linear.add"},
    {.text = MM("[5,7]", "[7,3]") "; u = Relu(y); v = Sigmoid(y)",
     .ops = "linear+relu+sigmoid"},
    {.text = MM("[5,7]", "[7,3]") "; u = Sigmoid(y); v = Mul(y,u)", .ops = "linear.silu"},
    {.text = MM("[5,7]", "[7,3]") "; l := f32[] : 0; h := f32[] : 6; v = Clip(y,l,h)",
     .ops = "linear.clip"},
    {.text = MM("[5,7]", "[7,3]") "; l := f32[] : 0.5; v = Max(y,l)", .ops = "linear.clip"},
    {.text = MM("[5,7]", "[7,3]") "; l := f32[] : 0.5; v = Div(y,l); s = Softmax(v)",
     .ops = "linear+softmax"},
    {.text = MM("[2,3,5,8]", "[8,6]") "; b := f32[6]; z = Add(y,b); s = Tanh(z)",
     .ops = "linear.bias.tanh"},
    {.text = CONV("[2,3,6,5]", "[4,3,3,2]") "; b := f32[4,1,1]; z = Add(y,b); s = HardSwish(z)",
     .ops = "conv.bias.hardswish"},
    {.text = CONVB("[2,3,6,5]", "[4,3,3,2]",
                   "[4]") "; s := f32[4]; h := f32[4]; m := f32[4]; "
                          "v := f32[4] 0.5~2; "
                          "z = BatchNormalization(y,s,h,m,v); u = Relu(z)",
     .ops = "conv.bias.relu"},
    {.text =
         CONV("[1,4,6,5]", "[6,2,3,2]") " group=2; s := f32[6]; b := f32[6]; m := f32[6]; "
                                        "v := f32[6] 0.5~2; z = BatchNormalization(y,s,b,m,v)",
     .ops = "conv.bias"},
    {.text = CONV("[1,4,6,5]", "[4,1,3,2]") " group=4; t = Relu(y); s := f32[4]; b := f32[4]; "
                                            "m := f32[4]; v := f32[4] 0.5~2; "
                                            "z = BatchNormalization(t,s,b,m,v)",
     .ops = "dwconv.relu.batchnorm"},
    {.text = "x = f32[1,3,6,5]; w := f32[3,3,3,3]; q = Relu(x); c = Conv(q,w) pads=[1,1,1,1]; "
             "y = Add(c,q)",
     .ops = "relu+conv.add"},
    {.text = CONV("[2,3,6,5]", "[4,3,3,2]") "; s = f32[2,4,1,1]; z = Mul(y,s)",
     .ops = "conv+mul"},
    {.text = CONV("[2,3,6,5]", "[4,3,3,2]") "; p := f32[4,1,1]; z = PRelu(y,p)",
     .ops = "conv.prelu"},
    {.text = CONV("[2,3,6]", "[4,3,3]") "; b := f32[4,1]; z = Add(y,b)", .ops = "conv.bias"},
    {.text = CONV("[1,2,3,4,5]", "[4,2,2,2,2]") "; b := f32[4,1,1,1]; z = Add(y,b)",
     .ops = NULL},
    {.text = "a = f32[2,4,5,7]; b = f32[2,4,7,6]; m = MatMul(a,b); q := f32[6]; y = Add(m,q)",
     .ops = "bmm.bias"},
    {.text =
         "a = f32[2,4,5,7]; b = f32[2,4,7,6]; m = MatMul(a,b); q := f32[4,1,1]; y = Mul(m,q)"},
    {.text = MM("[2,6,8]", "[8,12]") "; s := i64[3] : 2 24 3; r = Reshape(y,s); t = Relu(r)",
     .ops = "linear.relu"},
    {.text =
         MM("[5,7]", "[7,3]") "; a = Abs(y); b = Neg(a); c = Exp(b); d = Sqrt(c); e = Tanh(d); "
                              "f = Sigmoid(e); g = Erf(f); h = Floor(g); i = Relu(h)",
     .ops = "linear.abs.neg.exp.sqrt.tanh.sigmoid.erf.floor+relu"},

    /* recurrent layers */
    {.text = "x = f32[3,2,4]; w := f32[1,5,4]; r := f32[1,5,5]; y, h = RNN(x,w,r)",
     .ops = "linear+linear.add.tanh+linear.add.tanh+linear.add.tanh+concat"},
    {.text = "x = f32[3,2,4]; w := f32[1,5,4]; r := f32[1,5,5]; b := f32[1,10]; "
             "y, h = RNN(x,w,r,b) direction=reverse activations=[Relu]"},
    {.text =
         "x = f32[3,2,4]; w := f32[2,5,4]; r := f32[2,5,5]; b := f32[2,10]; q = f32[2,2,5]; "
         "y, h = RNN(x,w,r,b,_,q) direction=bidirectional clip=0.75 "
         "activations=[LeakyRelu,ScaledTanh] activation_alpha=[0.5,1.5] "
         "activation_beta=[0.75]"},
    {.text =
         "x = f32[3,2,4]; w := f32[2,5,4]; r := f32[2,5,5]; "
         "y, h = RNN(x,w,r) direction=bidirectional activations=[HardSigmoid,ThresholdedRelu] "
         "activation_alpha=[0.3,0.25]"},
    {.text = "x = f32[2,2,4]; w := f32[2,5,4]; r := f32[2,5,5]; "
             "y = RNN(x,w,r) direction=bidirectional activations=[Affine,Elu] "
             "activation_alpha=[0.3,0.25] activation_beta=[0.1]"},
    {.text = "x = f32[2,2,4]; w := f32[2,5,4]; r := f32[2,5,5]; "
             "_, h = RNN(x,w,r) direction=bidirectional activations=[Softsign,Softplus]"},
    {.text = "x = f32[3,2,4]; w := f32[1,20,4]; r := f32[1,20,5]; b := f32[1,40]; "
             "y, h, c = LSTM(x,w,r,b)"},
    {.text = "x = f32[3,2,4]; w := f32[2,20,4]; r := f32[2,20,5]; b := f32[2,40]; "
             "l := i32[2] : 3 1; q = f32[2,2,5]; k = f32[2,2,5]; p := f32[2,15]; "
             "y, h, c = LSTM(x,w,r,b,l,q,k,p) direction=bidirectional"},
    {.text = "x = f32[4,2,3]; w := f32[1,8,3]; r := f32[1,8,2]; l = i32[2] 1~5; "
             "y, h, c = LSTM(x,w,r,_,l) direction=reverse"},
    {.text = "x = f32[4,2,3]; w := f32[1,8,3]; r := f32[1,8,2]; l := i32[2] : 2 0; "
             "y, h, c = LSTM(x,w,r,_,l)"},
    {.text =
         "x = f32[4,2,3]; w := f32[1,8,3]; r := f32[1,8,2]; l := i32[2] : 0 0; q = f32[1,2,2]; "
         "y, h, c = LSTM(x,w,r,_,l,q)"},
    {.text = "x = f32[2,4,3]; w := f32[1,8,3]; r := f32[1,8,2]; q = f32[2,1,2]; "
             "y, h, c = LSTM(x,w,r,_,_,q) layout=1 input_forget=1"},
    {.text = "x = f32[2,2,3]; w := f32[1,8,3]; r := f32[1,8,2]; p := f32[1,6]; "
             "y, h, c = LSTM(x,w,r,_,_,_,_,p) input_forget=1 clip=0.5"},
    {.text = "x = f32[3,2,4]; w := f32[1,15,4]; r := f32[1,15,5]; b := f32[1,30]; y, h = "
             "GRU(x,w,r,b)"},
    {.text = "x = f32[3,2,4]; w := f32[1,15,4]; r := f32[1,15,5]; b := f32[1,30]; "
             "y, h = GRU(x,w,r,b) linear_before_reset=1"},
    {.text = "x = f32[2,3,4]; w := f32[2,15,4]; r := f32[2,15,5]; b = f32[2,30]; l := i32[2] : "
             "2 3; "
             "q = f32[2,2,5]; y, h = GRU(x,w,r,b,l,q) direction=bidirectional layout=1"},
    {.text =
         "x = f32[70,1,2]; w := f32[1,2,2]; r := f32[1,2,2]; y = RNN(x,w,r) direction=reverse"},
    {.text = "x = f32[1,2,4]; w := f32[1,15,4]; r := f32[1,15,5]; y, h = GRU(x,w,r)"},
    {.text =
         "x = f32[3,2,4]; w := f32[1,5,4]; r := f32[1,5,5]; y, h = RNN(x,w,r); z = Relu(y)"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static void equals_the_reference(void **state) {
  net_case_holds(*state);
}

static void survives_without_memory(void **state) {
  (void)state;
  for (size_t i = 0; i < CASES; i += 7) net_case_survives(&cases[i]);
}

/* Every row is a test of its own, by its text. */
int main(void) {
  static struct CMUnitTest tests[CASES + 1];
  for (size_t i = 0; i < CASES; i++)
    tests[i] = (struct CMUnitTest){cases[i].text, equals_the_reference, NULL, NULL,
                                   (void *)(uintptr_t)&cases[i]};
  tests[CASES] = (struct CMUnitTest)cmocka_unit_test(survives_without_memory);
  return cmocka_run_group_tests_name("translate_products", tests, NULL, NULL);
}
