/* A YAML document as a tree with positions.
 *
 * Plain YAML: one document, mappings with scalar keys, sequences, scalars.
 * Anchors, aliases, tags and multiple documents are refused with their
 * position; so are duplicate keys, nesting deeper than 64, more than 10^6 values
 * (keys count), text that is not UTF-8, control characters, and any line end but
 * LF and CR LF.  A byte order mark at the start is dropped, as if not there.  Parsed by
 * libyaml, here only.
 *
 * Ownership: the tree lives in the arena given; texts of sources are copied
 * into it.  Nodes are read-only for callers. */
#ifndef TSR_SIM_CONFIG_TREE_H
#define TSR_SIM_CONFIG_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/err.h"
#include "sim/base/mem.h"

enum tsr_node_kind { TSR_NODE_SCALAR, TSR_NODE_SEQ, TSR_NODE_MAP };

struct tsr_node;

struct tsr_entry { /* one `key: value` of a mapping, in file order */
  const char *key;
  struct tsr_pos key_pos;
  struct tsr_node *value;
};

struct tsr_node {
  enum tsr_node_kind kind;
  struct tsr_pos pos;        /* of the value's first character; width = its length on
                                that line, 1 for a map or sequence */
  const char *text;          /* scalar: its text, NUL-terminated; else NULL */
  bool quoted;               /* scalar: was quoted or a block text (so never
                                null/bool/number); null is unquoted "" */
  size_t n;                  /* entries or items */
  struct tsr_entry *entries; /* map */
  struct tsr_node **items;   /* sequence */
};

/* Parses `text` (named `path` in messages).  An empty document is an empty map.
 * TSR_INPUT with positions on errors; *out unchanged then. */
enum tsr_status tsr_config_tree_parse(struct tsr_arena *a, const char *path, const char *text,
                                      size_t len, struct tsr_node **out, struct tsr_err *err);
/* Reads and parses a file (TSR_INPUT too when it cannot be read). `text_out` (may be NULL): the
 * arena's copy. */
enum tsr_status tsr_config_tree_read(struct tsr_arena *a, const char *path,
                                     struct tsr_node **out, const char **text_out,
                                     struct tsr_err *err);
/* The value at dotted path `sram.a.size`, or NULL. */
struct tsr_node *tsr_config_tree_get(const struct tsr_node *root, const char *path);
/* Applies `K=V` (dotted K; V parsed as YAML, so lists and maps are allowed):
 * replaces or adds the value; its position is in a source named `--set`, whose
 * text is the whole assignment.  TSR_USAGE when `=` or K is missing or a parent
 * is no mapping (a null parent becomes one), TSR_INPUT when V is no YAML.  `K=`
 * gives a null.  The tree is unchanged on failure. */
enum tsr_status tsr_config_tree_set(struct tsr_arena *a, struct tsr_node *root,
                                    const char *assignment, struct tsr_err *err);
/* Where a value came from: `path:line` or `--set` (arena); NULL: out of memory. */
const char *tsr_config_origin(struct tsr_arena *a, const struct tsr_node *n);

#endif
