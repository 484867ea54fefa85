/* A channel's controller: requests in, commands out, from event to event.
 *
 * tsri_channel_accept puts a request in at clock t; it may be served from t + 1 on.
 * tsri_channel_run gives commands, in order of time, that begin before a clock; who wants to
 * put in more first runs the channel up to where it does.  A read's data are complete, and a
 * write is taken, when `done` says; it is told once the command is given, which may be ahead
 * of time.
 *
 * Units: clocks of the DRAM. */
#ifndef TSR_MODELS_DRAM_CHANNEL_H
#define TSR_MODELS_DRAM_CHANNEL_H

#include "models/dram/addr.h"
#include "models/dram/device.h"

/* What a channel has done; all sums. */
struct tsri_channel_sums {
  uint64_t reads, writes;           /* taken in */
  uint64_t read_cmds, write_cmds;   /* on the data bus */
  uint64_t acts, pres, refs, refbs; /* commands; a precharge of all banks is one */
  uint64_t hits, conflicts;         /* requests that found their row open; another one */
  uint64_t forwards, merges;        /* reads answered by a write that waits, by another read */
  uint64_t turnarounds;             /* of the data bus from one direction to the other */
  uint64_t latency_clocks;          /* sum over reads: taken in to last data */
  uint64_t queue_clocks;            /* sum over requests: taken in to command */
  /* clocks in which a data bus stood idle, by what the request that came next waited for: its
   * row or bank, a refresh, the bus's direction; it had not come */
  uint64_t bank_clocks, refresh_clocks, turn_clocks, away_clocks;
};

/* Transactions on the data buses by time: TSRI_BINS of equal length, which doubles when time
 * goes past the last. */
enum { TSRI_BINS = 64 };
struct tsri_timeline {
  uint64_t clocks; /* of a bin */
  uint64_t transactions[TSRI_BINS];
};

struct tsri_slot { /* a request */
  uint64_t addr, arrive, seq, tag;
  uint32_t bank, row;
  int32_t prev, next;   /* in its list */
  int32_t older, newer; /* of its unit and direction */
  int32_t same;         /* merged into it */
  bool write, seen;     /* seen: its row was looked at */
};
struct tsri_list {
  int32_t head, tail;
  uint32_t n;
};
struct tsri_bank {
  struct tsri_list list[2]; /* reads and writes; with bank queues all of them in the first */
  uint32_t hits[2];         /* of a list, those to the open row */
  int32_t active;           /* had the row opened and has not been served; -1: none */
  uint32_t served;          /* since the row was opened */
  uint8_t close_bias;       /* adaptive pages: 2 and more, close */
  uint32_t last_row;
};
/* Of each bank the oldest request of a kind, and who has one.  Hits are by direction, misses
 * by list. */
struct tsri_oldest {
  uint64_t *mask; /* banks, a bit each */
  uint64_t *seq;
  int32_t *slot;
};
struct tsri_unit_state {
  uint64_t next_ref; /* clock of the next that falls due */
  uint32_t due;
  uint32_t next_bank; /* whose refresh is next */
  uint32_t waiting;   /* requests for the unit */
  bool refreshing;    /* its banks are kept for it */
  struct tsri_age {
    int32_t oldest, newest;
  } age[2];                  /* its requests in banks' lists, by direction */
  uint64_t ref_from, ref_to; /* the last one: since when it held requests, until when, … */
  uint32_t ref_bank;         /* … and of which bank, UINT32_MAX: of all */
  uint64_t col_at;           /* the last column command, 1 + its clock */
  bool col_write;
};

enum tsri_kind { TSRI_NOTHING, TSRI_REQUEST, TSRI_REFRESH, TSRI_SECOND };
struct tsri_choice {   /* a command that may be next */
  enum tsri_kind kind; /* TSRI_SECOND: the second part of an activate */
  enum tsri_cmd cmd;
  uint64_t at;
  uint32_t tier;  /* of one clock: the lowest goes first, … */
  uint64_t order; /* … then the lowest of this */
  uint32_t bank;  /* or the first of the unit, … */
  bool all;       /* … where the command is to all of it */
  int32_t slot;
};

enum { TSRI_COLUMNS, TSRI_ACTS, TSRI_PRES, TSRI_CLASSES };

struct tsri_channel {
  const struct tsr_dram_config *c;
  struct tsri_device dev;
  void (*done)(void *arg, uint64_t tag, uint64_t clock);
  void *arg;
  struct tsri_channel_sums *sums; /* borrowed; several channels may have one */
  struct tsri_timeline *timeline; /* borrowed, likewise; NULL: nobody asks */
  /* Told of every command; of one to all of a unit the first bank.  NULL: nobody asks. */
  void (*watch)(void *arg, enum tsri_cmd cmd, uint32_t bank, uint32_t row, uint64_t clock);
  struct tsri_slot *slot; /* owned */
  uint32_t n_slots;
  int32_t free;
  struct tsri_list queue[2]; /* with bank queues: who waits for a place there */
  uint32_t held[2];          /* reads, writes that count against the channel's room */
  uint64_t reading;          /* reads without their command */
  struct tsri_bank *bank;    /* owned */
  struct tsri_oldest hit[2], miss[2], active; /* owned */
  uint64_t *shut;                             /* banks without an open row, a bit each; owned */
  uint64_t *kept; /* those kept for a refresh, or with half of their activate; owned */
  uint32_t mask_words;
  uint32_t queued; /* requests in banks' lists */
  uint32_t n_active;
  struct tsri_unit_state *unit; /* owned */
  uint32_t *ref_queue;          /* units that are due, oldest first; owned */
  uint32_t ref_n;
  uint64_t seq;
  uint64_t col_from, row_from; /* first clock of the next command of a kind */
  bool writing;
  bool flush; /* nothing more comes: writes go when there is nothing else to do */
  uint32_t draining;
  uint32_t rotate;  /* the bank that was served last */
  uint64_t feed_at; /* clock of the next move into a bank queue */
  int32_t act2;     /* request whose activate has its second part to come; -1: none */
  uint64_t act2_by;
  uint64_t wck_until;
  uint64_t pair_at; /* half clocks: the edge at which a precharge must not pair … */
  uint32_t pair_unit, pair_bank; /* … with what went there */
  struct tsri_table {            /* who waits, by address; owned */
    uint64_t *key;
    int32_t *slot;
    uint32_t mask;
  } at[2];
  uint64_t second_at; /* one_command: the clock whose second bus is still free, 0: none */
  bool second_column;
  uint64_t freed_at; /* when a place became free last */
  uint64_t due_at;   /* when the next refresh falls due */
  uint32_t row_tier; /* of two buses a clock's column command goes first: by this much */
  bool chosen;       /* the next command, if none comes in … */
  struct tsri_choice next;
  /* … and of those for requests the best of a class, where it is known */
  struct tsri_choice best[TSRI_CLASSES];
  bool known[TSRI_CLASSES];
  uint8_t shares[TSRI_CMDS]; /* classes of which a command moves more than its own bank */
};

enum tsr_status tsri_channel_init(struct tsri_channel *ch, const struct tsr_dram_config *c,
                                  struct tsri_channel_sums *sums, struct tsr_err *err);
void tsri_channel_fini(struct tsri_channel *ch);

/* Whether there is room for one more. */
static inline bool tsri_channel_room(const struct tsri_channel *ch, bool write) {
  return ch->free >= 0 && ch->held[write] < (write ? ch->c->p.writes : ch->c->p.reads);
}
/* Takes in a request; there must be room. */
void tsri_channel_accept(struct tsri_channel *ch, uint64_t t, struct tsri_place_of at,
                         uint64_t addr, bool write, uint64_t tag);
enum tsri_until {
  TSRI_UNTIL_LIMIT,
  TSRI_UNTIL_READ_ROOM,  /* or until there is room for a read … */
  TSRI_UNTIL_WRITE_ROOM, /* … for a write */
  TSRI_UNTIL_ROOM,       /* … for one of them */
  TSRI_UNTIL_READS_DONE, /* or until no read waits */
  TSRI_UNTIL_IDLE        /* or until nothing does */
};
/* Gives commands that begin before `limit`, or only until something is so; returns the clock
 * at which it became so, or `limit`. */
uint64_t tsri_channel_run(struct tsri_channel *ch, uint64_t limit, enum tsri_until until);
/* Nothing more comes: all that waits goes.  The clock of the last datum written, 0: none was.
 */
uint64_t tsri_channel_write_out(struct tsri_channel *ch);
/* Whether no request waits in it. */
bool tsri_channel_idle(const struct tsri_channel *ch);

#endif
