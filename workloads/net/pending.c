/* Functions of families that are still being written. */
#include "workloads/net/net_int.h"

__attribute__((weak)) enum tsr_status tsri_infer_unary(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_unary(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_not(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_not(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_is_nan(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_is_nan(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_is_inf(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_is_inf(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_clip(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_clip(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_cast(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_cast(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_prelu(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_prelu(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_binary(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_binary(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_variadic(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_variadic(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_compare(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_compare(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_logic(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_logic(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_where(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_where(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_reshape(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_copy(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_flatten(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_squeeze(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_unsqueeze(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_identity(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_dropout(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_dropout(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_transpose(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_transpose(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_slice(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_slice(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_split(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_split(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_concat(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_concat(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_pad(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_pad(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_expand(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_expand(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_tile(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_tile(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_depth_to_space(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_depth_to_space(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_space_to_depth(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_space_to_depth(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_trilu(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_trilu(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_resize(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_resize(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_gather(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_gather(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_gather_elements(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_gather_elements(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_gather_nd(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_gather_nd(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_one_hot(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_one_hot(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_non_zero(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_non_zero(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_shape(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_shape(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_size(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_size(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_constant(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_constant(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_constant_of_shape(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_constant_of_shape(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_range(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_range(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_infer_eye_like(struct tsri_infer *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
__attribute__((weak)) enum tsr_status tsri_eval_eye_like(struct tsri_eval *c) {
  return tsri_fail(c->net, c->node, c->err, "is not supported yet");
}
