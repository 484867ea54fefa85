/* Mappings as YAML, read and written.
 *
 *   version: 1
 *   keep: 2MiB                      # optional: of scratchpad a, for results that stay there
 *                                   # until their last reader is through
 *   bypass: weights                 # optional: they take no place in a last-level buffer
 *   layers:                         # optional beside keep or bypass
 *     - layer: "layers.*.ffn1"      # names, `*` any, `?` one; the first entry that fits
 *       workload: 1                 # optional: of several, the second alone
 *       dataflow: ws                # of the machine's tile
 *       cores: {n: 4}               # optional: what cores divide, into how many parts
 *       chunk: {n: 512}             # of so many elements; else even ones that fill the array
 *       loops:                      # over memory, outer to inner: tiles of elements
 *         - {axis: n, tile: 512}
 *         - {axis: m, tile: 256}
 *         - {axis: k, tile: 128}
 *       buffers: {a: 2, b: 3, c: 2} # optional: how many of each scratchpad take turns
 *       spatial: {rows: k, cols: n} # optional, as is what follows: held against what comes
 *       k_cut: 128                  # of dataflow and loops: sums leave the array; operands
 *       resident: [b]               # that are loaded once
 *       bypass: [b]                 # not held in a last-level buffer; c: not kept, either
 *       place: {layout: tiled, align: 1MiB, skew: 8KiB, pad: 64B}  # of weights, see below
 *       levels: {a: sram, c: dram}  # where they come from and go to: held against what comes
 *
 * place: how weights lie in memory: from `skew` behind a multiple of `align` (4KiB) on, `pad`
 * behind each row; layout: row (row by row) or tiled (of a matmul: a tile of n after the other,
 * each row by row; the tile divides n).  Under a pattern, layers without weights are left as
 * they are, and those whose weights cannot be tiled lie row by row.
 *
 * With keep, chains of layers whose intermediates do not fit are cut into parts, layers of
 * their own: NAME.part0, NAME.part1, …; entries are of those (`NAME.part*`).
 *
 * An attention has loops over m (queries) and n (keys), in this order, and resident: [b] where
 * keys and values of a head stay.
 *
 * Axes of a matmul are g (its count), m, n, k; of a convolution g (groups), b, oh, ow, n, kh,
 * kw, c.  An axis without a loop lies in a tile whole.
 *
 * Errors: TSR_INPUT with file, line and column: what is unknown, twice or missing, a tile
 * larger than its axis (under a pattern it is the whole axis), a mapping that the operator or
 * the machine does not allow, an entry that fits no layer.  Ownership: the file is the caller's
 * (tsr_mapping_file_destroy). */
#ifndef TSR_KERNELS_MAPPING_FILE_H
#define TSR_KERNELS_MAPPING_FILE_H

#include "kernels/mapping/mapping.h"

struct tsr_mapping_file;

/* `text` (may be NULL): use it instead of reading the file. */
enum tsr_status tsr_mapping_file_read(const char *path, const char *text,
                                      struct tsr_mapping_file **out, struct tsr_err *err);
void tsr_mapping_file_destroy(struct tsr_mapping_file *f);
/* As it was read. */
const char *tsr_mapping_file_text(const struct tsr_mapping_file *f);

/* The mapping of a layer by its name; *found false: no entry fits.  *split is kept where the
 * entry says nothing of cores. */
enum tsr_status tsr_mapping_file_find(struct tsr_mapping_file *f, const char *layer,
                                      const struct tsr_shape *s, const struct tsr_target *t,
                                      uint64_t cores, struct tsr_split *split,
                                      struct tsr_mapping *out, bool *found,
                                      struct tsr_err *err);
/* What stays on the chip between layers. */
struct tsr_residency {
  uint64_t keep_bytes; /* of scratchpad a, for results */
  bool weights_bypass; /* the last-level buffer, in all layers */
};
/* What follows is about layers of this workload (the first, to begin with): entries of others
 * do not fit. */
void tsr_mapping_file_workload(struct tsr_mapping_file *f, size_t workload);
struct tsr_residency tsr_mapping_file_residency(const struct tsr_mapping_file *f);
/* Of a layer's tensors, by bit, those that bypass the chip's buffers. */
unsigned tsr_mapping_file_bypass(const struct tsr_mapping_file *f, const char *layer);
/* How a layer's weights lie; all zero where its entry says nothing.  *pos: where it does, NULL:
 * nowhere, or under a pattern: what does not suit the layer is left then. */
struct tsr_placement tsr_mapping_file_place(const struct tsr_mapping_file *f, const char *layer,
                                            const struct tsr_pos **pos);
/* Tiles of an attention: m queries and n keys, in loops in this order, and whether keys and
 * values of a head stay in scratchpad b (resident: [b]).  size: of both axes; *found false: no
 * entry fits; a pattern's that is a matmul's does not.  *pos: of the loops, for what does not
 * fit.
 */
struct tsr_attention_tiles {
  uint64_t m, n;
  bool resident;
};
enum tsr_status tsr_mapping_file_attention(struct tsr_mapping_file *f, const char *layer,
                                           const uint64_t size[2],
                                           struct tsr_attention_tiles *out, bool *found,
                                           const struct tsr_pos **pos, struct tsr_err *err);
/* Behind an entry: whose it is. */
void tsr_mapping_write_workload(size_t workload, struct tsr_str *out);
void tsr_mapping_write_attention(const char *layer, const struct tsr_attention_tiles *t,
                                 struct tsr_str *out);
/* Every entry was found by some layer. */
enum tsr_status tsr_mapping_file_used(const struct tsr_mapping_file *f, struct tsr_err *err);

/* The head of a file (of no entry: layers false), and an entry. */
void tsr_mapping_write_head(const struct tsr_residency *r, bool layers, struct tsr_str *out);
void tsr_mapping_write(const char *layer, const struct tsr_shape *s,
                       const struct tsr_mapping *m, const struct tsr_split *split,
                       const struct tsr_target *t, struct tsr_str *out);

#endif
