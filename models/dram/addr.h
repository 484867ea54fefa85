/* Where an address lies: a list of bit fields, lowest first, and exclusive ors over them.
 *
 *   map   `co:2,ch,pc,bg,ba,co,ro`: above the transaction's bytes the lowest two bits are
 *         column bits, then come the channel, the pseudo-channel, …; a field without a
 *         number takes all bits that it has not got yet.  Fields: ch channel, ra rank or pc
 *         pseudo-channel, si stack id, bg bank group, ba bank, co column, ro row.  A field of
 *         one has no bits and may be left out.
 *   hash  `bg=co.0,ba=ro.2`: onto the bank group is xored the column, onto the bank the row
 *         without its lowest two bits, each as wide as what it is xored onto.  All take the
 *         values of `map`, as they are before any of it.
 * Bits above the row's are not looked at.  SRC:frailong1985 */
#ifndef TSR_MODELS_DRAM_ADDR_H
#define TSR_MODELS_DRAM_ADDR_H

#include "models/dram/dram.h"

enum tsri_field {
  TSRI_CH,
  TSRI_UNIT,
  TSRI_SID,
  TSRI_BG,
  TSRI_BA,
  TSRI_CO,
  TSRI_RO,
  TSRI_FIELDS
};
enum { TSRI_PARTS_MAX = 24, TSRI_BYTES = 8 };

struct tsri_addr_map {
  uint32_t shift; /* of a transaction's bytes */
  uint32_t width[TSRI_FIELDS];
  uint32_t n;
  struct {
    uint8_t field, from, to; /* address bit above the transaction; bit of the field */
    uint64_t mask;
  } part[TSRI_PARTS_MAX];
  uint32_t n_hash;
  struct {
    uint8_t onto, of, shift;
    uint64_t mask;
  } hash[TSRI_PARTS_MAX];
  uint32_t sids, groups, banks; /* to number a bank */
  /* The place is linear in the address's bits: that of a sum (exclusive or) is the sum. */
  uint32_t bytes; /* that count */
  struct {
    uint64_t channel_bank, row_column;
  } of_byte[TSRI_BYTES][256]; /* of the address above the transaction */
};

struct tsri_place_of {
  uint32_t channel, bank; /* bank: of the channel, units first */
  uint32_t row, column;
};

enum tsr_status tsri_addr_init(struct tsri_addr_map *m, const struct tsr_dram_config *c,
                               struct tsr_err *err);
struct tsri_place_of tsri_addr_place(const struct tsri_addr_map *m, uint64_t addr);

#endif
