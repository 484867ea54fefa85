/* What a matrix unit may be (models/arith/mma_spec.h). */
#include "models/arith/mma_int.h"
#include "models/arith/mma_spec.h"

static bool contains(const struct tsr_format *outer, const struct tsr_format *inner) {
  if (outer->is_int != inner->is_int || outer->codec || inner->codec) return false;
  if (outer->is_int)
    return outer->bits >= inner->bits && outer->is_unsigned == inner->is_unsigned;
  int lo = tsri_emin(inner) - inner->man_bits,
      hi = (int)tsri_mask(inner->exp_bits) - inner->bias;
  return outer->man_bits >= inner->man_bits && tsri_emin(outer) - outer->man_bits <= lo &&
         (int)tsri_mask(outer->exp_bits) - outer->bias >= hi &&
         (outer->has_inf || !inner->has_inf) && (outer->has_nan || !inner->has_nan);
}

static bool fuses(const struct tsr_mma *u) {
  return u->kind == TSR_MMA_FUSED || u->kind == TSR_MMA_TWO_STAGE || u->kind == TSR_MMA_GROUPED;
}

static const char *bad_int(const struct tsr_mma *u) {
  if (!u->a->is_int || !u->b->is_int || !u->acc->is_int)
    return "an integer unit has integer formats only";
  if (u->a->bias || u->b->bias || u->acc->bias) return "an integer unit takes no fixed point";
  if (u->a->bits > 32 || u->b->bits > 32) return "integer operands have at most 32 bits";
  if (u->acc->bits < 16) return "an integer accumulator has 16 to 64 bits";
  if (u->inner && !u->chunk && !u->promote)
    return "inner of an integer unit needs chunk or promote";
  if (u->scale || u->via || u->join || u->flush)
    return "scale, via, join and flush are for floats";
  return NULL;
}

static const char *bad_float(const struct tsr_mma *u) {
  if (u->acc->is_int || u->acc->codec || !u->acc->has_nan)
    return "the accumulator is a float format with NaN";
  if (u->a->bits > 64 || u->a->is_int != u->b->is_int) return "a and b are of one kind";
  if (u->int_mode) return "sat is for integer units";
  if (u->via && (u->via->is_int || u->via->codec)) return "via is a float format";
  if (u->c && !contains(u->acc, u->c)) return "c is contained in acc";
  return NULL;
}

/* What a term may have (struct tsri_term), and an operand with its scale. */
enum { TERM_BITS = 120, SCALED_BITS = 64 };

static const struct tsr_format *taken(const struct tsr_mma *u, const struct tsr_format *f) {
  return u->via ? u->via : f;
}

static int log2_up(int v) {
  int n = 0;
  while (1 << n < v) n++;
  return n;
}

/* Bits of the largest significand that decoding gives. */
static int sig_bits(const struct tsr_format *f) {
  if (f->is_int) return f->bits;
  if (!f->codec || !f->codec->values) return f->man_bits + 1;
  uint64_t all = 0;
  for (size_t i = 0; i < f->codec->n; i++) {
    int64_t v = f->codec->values[i];
    all |= v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  }
  return all ? 64 - __builtin_clzll(all) : 0;
}

/* A product with its scales, and the exact sum of all of them, have bounds. */
static const char *bad_width(const struct tsr_mma *u) {
  int a = sig_bits(taken(u, u->a)), b = sig_bits(taken(u, u->b)), lsb, bits;
  int scale = u->scale ? sig_bits(u->scale) : 0;
  if (a + b + 2 * scale > TERM_BITS)
    return "a product and its scales have at most 120 significant bits";
  if (u->scale && (a > b ? a : b) + scale > SCALED_BITS)
    return "an operand and its scale have at most 64 significant bits";
  if (u->kind != TSR_MMA_EXACT) return NULL;
  tsri_exact_range(u, &lsb, &bits);
  return bits > TSRI_WIDE_BITS ? "an exact sum spans at most 5120 bits" : NULL;
}

/* A group's sum is exact in 128 bits: products from the smallest to the largest. */
static const char *bad_group(const struct tsr_mma *u) {
  int a, b, a_max, b_max, scale = u->scale ? sig_bits(u->scale) : 0;
  const struct tsr_format *fa = taken(u, u->a), *fb = taken(u, u->b);
  tsri_format_range(fa, &a, &a_max);
  tsri_format_range(fb, &b, &b_max);
  if (u->group_len < 1 || u->group_len > TSR_MMA_LEN_MAX) return "group is from 1 to 256";
  if (u->fused_len % u->group_len) return "L is a multiple of group";
  if (u->scale && u->scale_block % u->group_len) return "block is a multiple of group";
  if (a_max + b_max - a - b > 100) return "formats of a grouped unit span at most 100 bits";
  if (a_max + b_max - a - b + log2_up(u->group_len) + 2 * scale > TERM_BITS)
    return "the sum of a group and its scales have at most 120 significant bits";
  /* A step adds in units of 2^-F of its scales, in 127 bits; those are below 4. */
  if (a_max + b_max + log2_up(u->fused_len) + 2 + u->align_bits > 126)
    return "a step of a grouped unit has at most 126 bits above its last place";
  return NULL;
}

static const char *bad_step(const struct tsr_mma *u) {
  bool any_len = u->kind == TSR_MMA_TREE || u->kind == TSR_MMA_EXACT;
  if (u->fused_len < 0 || u->fused_len > TSR_MMA_LEN_MAX) return "L is from 0 to 256";
  if (fuses(u) && u->fused_len == 0) return "L of this kind is at least 1";
  if (!any_len && !fuses(u) && u->fused_len > 1) return "this kind adds one product at a time";
  if (u->align_bits < 0 || u->align_bits > TSR_MMA_BITS_MAX) return "F is from 0 to 64";
  if (u->kind == TSR_MMA_TWO_STAGE && (u->align2_bits < u->align_bits || u->align2_bits > 64))
    return "F2 is from F to 64";
  if (u->kind == TSR_MMA_GROUPED) {
    const char *why = bad_group(u);
    if (why) return why;
  }
  if (u->round == TSR_ROUND_SR || u->align_round == TSR_ROUND_SR ||
      u->outer_round == TSR_ROUND_SR)
    return "a unit rounds in a mode without random bits";
  if (u->norm_every > 1 || u->norm_every < 0) {
    if (u->kind != TSR_MMA_FUSED && u->kind != TSR_MMA_GROUPED)
      return "norm is for fused units";
    if (u->join || u->order == TSR_MMA_ORDER_TREE) return "norm needs a chain that C joins";
  }
  if (u->parity && (u->kind != TSR_MMA_TWO_STAGE || u->fused_len % 2))
    return "parity is for two-stage units of even L";
  if (u->join && u->kind != TSR_MMA_FUSED) return "join is for fused units";
  return NULL;
}

static const char *bad_around(const struct tsr_mma *u) {
  bool strided = u->order == TSR_MMA_ORDER_STRIDED;
  if (strided && (u->order_width < 1 || u->order_period < u->order_width))
    return "a stride is at least its width, which is at least 1";
  if (u->chunk < 0 || u->promote < 0) return "chunk and promote are not negative";
  if (u->promote && u->chunk && u->promote % u->chunk) return "promote is a multiple of chunk";
  if (u->scale && u->scale_block < 1) return "scale needs block";
  if (u->scale_block && !u->scale) return "block needs scale";
  if (u->scale && u->scale->is_int) return "scale is a float format";
  if (u->sparse_m && (u->sparse_n < 1 || u->sparse_n >= u->sparse_m || u->sparse_m > 32))
    return "sparse is N:M with 0 < N < M <= 32";
  if (u->sparse_logical && !u->sparse_m) return "len=logical needs sparse";
  if (u->sparse_m && u->kind == TSR_MMA_GROUPED && u->group_len % u->sparse_m)
    return "group is a multiple of M of a sparse unit";
  if (u->inner && !contains(u->acc, u->inner) &&
      (u->acc->is_int || !contains(u->inner, u->acc)))
    return "one of inner and acc is contained in the other";
  if (u->part && (u->part->is_int != u->acc->is_int || u->part->codec))
    return "part is of the kind of acc";
  return NULL;
}

const char *tsr_mma_invalid(const struct tsr_mma *u) {
  const char *why = u->kind == TSR_MMA_INT ? bad_int(u) : bad_float(u);
  if (!why) why = bad_step(u);
  if (!why) why = bad_around(u);
  return why || u->kind == TSR_MMA_INT ? why : bad_width(u);
}
