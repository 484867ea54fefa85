/* Tensors of a convolution: the scratchpad holds the input patch that a tile of
 * outputs touches; the array's feeder does im2col.  Padding is what lies outside
 * the input.  Channels of a tile's groups are neighbours. */
#include "kernels/lower/lower_int.h"

static struct tsri_dim plain(uint64_t size, uint64_t extent, enum tsr_isa_axis x) {
  return (struct tsri_dim){
      .size = size, .extent = extent, .step = 1, .follow = {{x, 1}}, .n_follow = 1};
}

static struct tsri_dim input(const struct tsr_shape *s, const struct tsr_mapping *m,
                             bool height) {
  struct tsri_dim d = {.size = height ? s->in_h : s->in_w,
                       .start = -(int64_t)(height ? s->pad_t : s->pad_l),
                       .halo = true,
                       .n_follow = 2};
  tsr_mapping_input_span(s, m, height, &d.extent, &d.step);
  d.follow[0] = height ? (struct tsri_follow){TSR_AXIS_OH, (int64_t)s->stride_h}
                       : (struct tsri_follow){TSR_AXIS_OW, (int64_t)s->stride_w};
  d.follow[1] = height ? (struct tsri_follow){TSR_AXIS_KH, (int64_t)s->dil_h}
                       : (struct tsri_follow){TSR_AXIS_KW, (int64_t)s->dil_w};
  return d;
}

/* Groups side by side: coordinate g * each + x. */
static struct tsri_dim grouped(const struct tsr_shape *s, const struct tsr_mapping *m,
                               enum tsr_isa_axis x) {
  uint64_t each = s->size[x];
  return (struct tsri_dim){.size = s->size[TSR_AXIS_G] * each,
                           .extent = m->tile[TSR_AXIS_G] * m->tile[x],
                           .step = 1,
                           .follow = {{TSR_AXIS_G, (int64_t)each}, {x, 1}},
                           .n_follow = 2};
}

void tsri_describe_conv(const struct tsr_shape *s, const struct tsr_mapping *m,
                        struct tsri_tensor t[3]) {
  const uint64_t *z = s->size, *tile = m->tile;
  struct tsri_dim taps = {.size = z[TSR_AXIS_KH] * z[TSR_AXIS_KW],
                          .extent = tile[TSR_AXIS_KH] * tile[TSR_AXIS_KW],
                          .step = 1,
                          .follow = {{TSR_AXIS_KH, (int64_t)z[TSR_AXIS_KW]}, {TSR_AXIS_KW, 1}},
                          .n_follow = 2};
  struct tsri_dim b = plain(z[TSR_AXIS_B], tile[TSR_AXIS_B], TSR_AXIS_B);
  t[0] = (struct tsri_tensor){
      .elem_bytes = s->a_bytes,
      .rank = 4,
      .dim = {b, input(s, m, true), input(s, m, false), grouped(s, m, TSR_AXIS_C)}};
  t[1] = (struct tsri_tensor){.elem_bytes = s->b_bytes,
                              .rank = 4,
                              .dim = {plain(z[TSR_AXIS_G], tile[TSR_AXIS_G], TSR_AXIS_G), taps,
                                      plain(z[TSR_AXIS_C], tile[TSR_AXIS_C], TSR_AXIS_C),
                                      plain(z[TSR_AXIS_N], tile[TSR_AXIS_N], TSR_AXIS_N)}};
  t[2] = (struct tsri_tensor){.elem_bytes = s->out_bytes,
                              .rank = 4,
                              .dim = {b, plain(z[TSR_AXIS_OH], tile[TSR_AXIS_OH], TSR_AXIS_OH),
                                      plain(z[TSR_AXIS_OW], tile[TSR_AXIS_OW], TSR_AXIS_OW),
                                      grouped(s, m, TSR_AXIS_N)}};
}
