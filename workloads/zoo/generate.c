/* The hyper-parameters of the zoo's convolutional networks, and the rows that follow. */
#include "workloads/zoo/generate.h"

#include <string.h>

#include "sim/base/status.h"
#include "workloads/zoo/blocks.h"

/* Where the rows of one network go. */
struct sheet {
  struct tsr_str *out;
  const char *model;
};

static void header(struct sheet *s) {
  tsr_str_add(s->out, "model,layer,op,M,N,K,count,notes,batch,in_c,in_h,in_w,out_c,k_h,k_w,"
                      "stride_h,stride_w,pad_t,pad_l,pad_b,pad_r,dil_h,dil_w,groups,after\n");
}

/* On one row, behind the row before. */
static void matmul(struct sheet *s, const char *layer, unsigned n, unsigned k) {
  tsr_str_addf(s->out, "%s,%s,linear,1,%u,%u,1,,,,,,,,,,,,,,,,,,\n", s->model, layer, n, k);
}

/* A square convolution with the same padding on all sides; its output size.  `after`: empty for
 * the row before, `-` for the network's input. */
struct conv {
  unsigned in_c, in, out_c, kernel, stride, pad, groups;
};

static unsigned conv(struct sheet *s, const char *layer, struct conv c, const char *after) {
  unsigned out = (c.in + 2 * c.pad - c.kernel) / c.stride + 1;
  tsr_str_addf(s->out, "%s,%s,%s,%u,%u,%u,%u,,", s->model, layer,
               c.groups > 1 ? "dwconv" : "conv", out * out, c.out_c / c.groups,
               c.kernel * c.kernel * (c.in_c / c.groups), c.groups);
  tsr_str_addf(s->out, "1,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,1,1,%u,%s\n", c.in_c, c.in, c.in,
               c.out_c, c.kernel, c.kernel, c.stride, c.stride, c.pad, c.pad, c.pad, c.pad,
               c.groups, after);
  return out;
}

/* Names are formed from the tables here, so none is longer. */
enum { NAME = 64 };
struct name {
  char s[NAME];
};

static void part(char *to, size_t *n, const char *text) {
  TSR_CHECK(*n + strlen(text) < NAME);
  while (*text) to[(*n)++] = *text++;
  to[*n] = '\0';
}

/* Joins `a`, a number and `b`: layers. 3 .qkv */
static struct name name_of(const char *a, unsigned i, const char *b) {
  struct name r;
  char digits[12];
  size_t n = 0, d = sizeof digits;
  digits[--d] = '\0';
  do digits[--d] = (char)('0' + i % 10);
  while (i /= 10);
  part(r.s, &n, a);
  part(r.s, &n, digits + d);
  part(r.s, &n, b);
  return r;
}

/* Two names with a blank between. */
static struct name both(const char *a, const char *b) {
  struct name r;
  size_t n = 0;
  part(r.s, &n, a);
  if (*b) part(r.s, &n, " ");
  part(r.s, &n, b);
  return r;
}

/* ResNet-50: blocks per stage, width, and the stride on the 3x3 as in v1.5
 * (SRC:he2015, SRC:torchvision-resnet). */
static const struct {
  unsigned blocks, width;
} resnet50_stages[] = {{3, 64}, {4, 128}, {6, 256}, {3, 512}};
enum { RESNET_EXPANSION = 4, RESNET_CLASSES = 1000 };

/* One bottleneck; the sum with its input (or with the projection) is part of
 * conv3, which therefore waits for both. Returns the output size. */
static unsigned bottleneck(struct sheet *s, const char *block, unsigned width, unsigned in_c,
                           unsigned in, unsigned stride, struct name *input) {
  struct name c1 = both(block, ""), c2 = c1, c3 = c1, down = c1;
  size_t n = strlen(block);
  size_t at[4] = {n, n, n, n};
  part(c1.s, &at[0], ".conv1");
  part(c2.s, &at[1], ".conv2");
  part(c3.s, &at[2], ".conv3");
  part(down.s, &at[3], ".downsample");
  bool project = in_c != width * RESNET_EXPANSION;
  conv(s, c1.s, (struct conv){in_c, in, width, 1, 1, 0, 1}, input->s);
  unsigned out = conv(s, c2.s, (struct conv){width, in, width, 3, stride, 1, 1}, "");
  if (project)
    conv(s, down.s, (struct conv){in_c, in, width * RESNET_EXPANSION, 1, stride, 0, 1},
         input->s);
  struct name after = both(c2.s, project ? down.s : input->s);
  conv(s, c3.s, (struct conv){width, out, width * RESNET_EXPANSION, 1, 1, 0, 1}, after.s);
  *input = c3;
  return out;
}

static void resnet50(struct sheet *s) {
  header(s);
  conv(s, "conv1", (struct conv){3, 224, 64, 7, 2, 3, 1}, "-");
  struct name input = both("conv1", "");
  unsigned in_c = 64, size = 56; /* behind the 3x3 pooling of stride 2 */
  for (unsigned stage = 0; stage < 4; stage++)
    for (unsigned i = 0; i < resnet50_stages[stage].blocks; i++) {
      struct name layer = name_of("layer", stage + 1, ".");
      struct name block = name_of(layer.s, i, "");
      unsigned width = resnet50_stages[stage].width;
      size = bottleneck(s, block.s, width, in_c, size, i == 0 && stage > 0 ? 2 : 1, &input);
      in_c = width * RESNET_EXPANSION;
    }
  matmul(s, "fc", RESNET_CLASSES, in_c);
}

/* MobileNetV2 1.0: expansion, channels, repeats, stride of the first
 * (SRC:torchvision-mobilenetv2). */
static const struct {
  unsigned t, c, n, s;
} mobilenetv2_rows[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                        {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
enum { MOBILENET_FIRST = 32, MOBILENET_LAST = 1280, MOBILENET_CLASSES = 1000 };

/* One inverted residual; the sum with its input is part of `project`. */
static unsigned inverted(struct sheet *s, unsigned i, unsigned t, unsigned in_c, unsigned out_c,
                         unsigned in, unsigned stride, struct name *input) {
  struct name expand = name_of("features.", i, ".expand");
  struct name dw = name_of("features.", i, ".dw");
  struct name project = name_of("features.", i, ".project");
  unsigned wide = in_c * t;
  if (t > 1) conv(s, expand.s, (struct conv){in_c, in, wide, 1, 1, 0, 1}, "");
  unsigned out = conv(s, dw.s, (struct conv){wide, in, wide, 3, stride, 1, wide}, "");
  bool residual = stride == 1 && in_c == out_c;
  struct name after = both(dw.s, input->s);
  conv(s, project.s, (struct conv){wide, out, out_c, 1, 1, 0, 1}, residual ? after.s : "");
  *input = project;
  return out;
}

static void mobilenetv2(struct sheet *s) {
  header(s);
  unsigned size =
      conv(s, "features.0", (struct conv){3, 224, MOBILENET_FIRST, 3, 2, 1, 1}, "-");
  struct name input = both("features.0", "");
  unsigned in_c = MOBILENET_FIRST, at = 1;
  for (size_t r = 0; r < sizeof mobilenetv2_rows / sizeof mobilenetv2_rows[0]; r++)
    for (unsigned i = 0; i < mobilenetv2_rows[r].n; i++) {
      unsigned stride = i == 0 ? mobilenetv2_rows[r].s : 1;
      size = inverted(s, at++, mobilenetv2_rows[r].t, in_c, mobilenetv2_rows[r].c, size, stride,
                      &input);
      in_c = mobilenetv2_rows[r].c;
    }
  struct name last = name_of("features.", at, "");
  conv(s, last.s, (struct conv){in_c, size, MOBILENET_LAST, 1, 1, 0, 1}, "");
  matmul(s, "classifier", MOBILENET_CLASSES, MOBILENET_LAST);
}

enum { NETS = 2 };
static const struct {
  const char *name;
  void (*make)(struct sheet *s);
} nets[NETS] = {{"resnet50", resnet50}, {"mobilenetv2", mobilenetv2}};

size_t tsri_zoo_make_count(void) {
  return NETS + tsri_zoo_block_count();
}

const char *tsri_zoo_make_name(size_t i) {
  return i < NETS ? nets[i].name : tsri_zoo_block_name(i - NETS);
}

void tsri_zoo_make_text(size_t i, struct tsr_str *out) {
  struct sheet s = {out, tsri_zoo_make_name(i)};
  if (i >= NETS)
    tsri_zoo_block_text(i - NETS, out);
  else
    nets[i].make(&s);
}
