/* Request streams: scenarios by a rule, and their hash.
 *
 * A scenario is a text `pattern;requests;key=value key=value …`:
 *   seq      base w                      one after the other
 *   stride   S base w                    S bytes apart, wrapped
 *   rand     seed range wpct             over `range` bytes, writes where a byte of the
 * generator, modulo 100, is below wpct (30: 35 % of them) nstream  K C D wmask base K streams D
 * bytes apart, C transactions in turn; a stream is written where wmask has its bit tile2d   R W
 * P base w                tiles of R rows of W bytes of a matrix of pitch P pingpong S wmask
 * base                two streams S bytes apart in turn gemm     M N K tm tn tk e ec bA bB bC
 * reads of tiles of A and B, writes of C and for all of them `load` (of the peak rate at which
 * they come; else as fast as they are taken).  Addresses are reduced modulo 1 GiB.  Numbers are
 * decimal or 0x….  The rule is that of the recorded runs that tests/golden/dram compares with.
 *
 * Units: bytes, transactions of tx_bytes.  Ownership: a stream is its creator's. */
#ifndef TSR_MODELS_DRAM_SCENARIO_H
#define TSR_MODELS_DRAM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/err.h"

struct tsr_dram_stream {
  uint64_t *addr; /* owned; addr << 1 | write */
  size_t n, cap;
  uint64_t *at; /* owned; not before this clock; NULL: as soon as it is taken */
  size_t cap_at;
  double load; /* of the peak; 0: as fast as they are taken */
};

/* The requests of a scenario; `requests` of them if that is not 0, else as many as it says.
 * TSR_INPUT with what is wrong. */
enum tsr_status tsr_dram_scenario(const char *text, uint64_t tx_bytes, uint64_t requests,
                                  struct tsr_dram_stream *out, struct tsr_err *err);
/* Reads a file of `cycle-or-* R|W hex-address` lines. */
enum tsr_status tsr_dram_trace_read(const char *path, struct tsr_dram_stream *out,
                                    struct tsr_err *err);
/* The same of a text in memory; `path` is named in messages. */
enum tsr_status tsr_dram_trace_parse(const char *path, const char *text, size_t len,
                                     struct tsr_dram_stream *out, struct tsr_err *err);
/* The scenario `id` of a file of lines `id;set;pattern;requests;keys`, as text (to be freed).
 */
enum tsr_status tsr_dram_scenario_find(const char *path, const char *id, char **out,
                                       struct tsr_err *err);
void tsr_dram_stream_fini(struct tsr_dram_stream *s);
/* FNV-1a over the requests, 8 bytes each, lowest first.  SRC:fnv */
uint64_t tsr_dram_stream_hash(const struct tsr_dram_stream *s);

#endif
