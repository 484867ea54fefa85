/* The tables of every component. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#include "models/presets.h"
#include "sim/base/mem.h"
#include "sim/base/str.h"

static void kinds_are_unique_and_found_by_name(void **state) {
  (void)state;
  assert_true(tsr_models_count() > 0);
  for (size_t i = 0; i < tsr_models_count(); i++) {
    const struct tsr_component *c = tsr_models_at(i);
    assert_ptr_equal(tsr_models_find(c->kind), c);
    for (size_t j = 0; j < i; j++) assert_string_not_equal(tsr_models_at(j)->kind, c->kind);
  }
  assert_null(tsr_models_find("dram"));
  assert_null(tsr_models_find(""));
}

static void a_component_fills_one_role_whole(void **state) {
  (void)state;
  for (size_t i = 0; i < tsr_models_count(); i++) {
    const struct tsr_component *c = tsr_models_at(i);
    assert_int_equal(c->abi, TSR_MODEL_ABI);
    assert_true(c->doc && *c->doc && c->init && c->params);
    assert_true(c->state_size > 0 && c->params_size > 0);
    assert_int_equal(!!c->memory + !!c->buffer + !!c->unit, 1);
    const struct tsr_memory_ops *m = c->memory;
    if (m)
      assert_true(m->serve && m->free_fs && m->pipe_fs && m->bandwidth && m->capacity &&
                  m->channels && m->latency_fs && !m->resources == !m->resource);
    const struct tsr_buffer_ops *b = c->buffer;
    if (b) assert_true(b->dma && b->tile && b->slot_bytes && b->slots && b->bytes_per_cycle);
    if (b) assert_int_equal(!b->banks, !b->bank_conflicts);
    if (c->unit) assert_true(c->unit->start && c->unit->end && c->unit->estimate);
  }
}

static size_t field_size(const struct tsr_param *p) {
  static const size_t sizes[] = {
      [TSR_PARAM_QUANTITY] = sizeof(uint64_t), [TSR_PARAM_ENUM] = sizeof(int),
      [TSR_PARAM_BOOL] = sizeof(bool),         [TSR_PARAM_NAME] = TSR_PARAM_NAME_MAX,
      [TSR_PARAM_REAL] = sizeof(double),       [TSR_PARAM_TEXT] = TSR_PARAM_TEXT_MAX};
  return sizes[p->type];
}

/* `exact`, or a fraction of 1. */
static bool is_uncertainty(const char *text) {
  if (!strcmp(text, "exact")) return true;
  char *end;
  double v = strtod(text, &end);
  return end != text && !*end && v > 0 && v < 1;
}

static void check_default(const struct tsr_component *c, const struct tsr_param *p) {
  unsigned char *mem = tsr_mem_alloc(c->params_size);
  tsr_param_defaults(c->params, mem); /* aborts where one does not parse */
  if (p->type == TSR_PARAM_QUANTITY) {
    uint64_t v;
    memcpy(&v, mem + p->offset, sizeof v);
    if (v == TSR_UNLIMITED)
      assert_true(p->unlimited);
    else
      assert_in_range(v, p->low, p->high);
  }
  tsr_mem_free(mem);
}

static void parameter_rows_are_sane(void **state) {
  (void)state;
  for (size_t i = 0; i < tsr_models_count(); i++) {
    const struct tsr_component *c = tsr_models_at(i);
    for (const struct tsr_param *p = c->params; p->key; p++) {
      assert_true(*p->key && p->doc && *p->doc && p->src && p->uncertainty);
      assert_true(is_uncertainty(p->uncertainty));
      assert_int_equal(strncmp(p->src, "SRC:", 4), 0);
      assert_true(p->offset + field_size(p) <= c->params_size);
      if (p->type == TSR_PARAM_QUANTITY) assert_true(p->low <= p->high);
      if (p->type == TSR_PARAM_ENUM) assert_true(p->names && p->names[0]);
      if (p->def) check_default(c, p);
      for (const struct tsr_param *o = c->params; o < p; o++) {
        assert_string_not_equal(o->key, p->key);
        bool apart =
            o->offset + field_size(o) <= p->offset || p->offset + field_size(p) <= o->offset;
        assert_true(apart);
      }
    }
  }
}

/* Whether the table of sources has a row with this key. */
static bool is_source(const char *key) {
  size_t n = strlen(key);
  for (const char *line = tsr_sources_text(); line; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (!strncmp(line, key, n) && line[n] == '\t') return true;
  }
  return false;
}

static void parameter_sources_are_known(void **state) {
  (void)state;
  for (size_t i = 0; i < tsr_models_count(); i++)
    for (const struct tsr_param *p = tsr_models_at(i)->params; p->key; p++)
      if (strcmp(p->src, "SRC:assumed") && !is_source(p->src + 4))
        fail_msg("%s: %s has no row", p->key, p->src);
  assert_true(is_source("scalesim")); /* the look-up finds what is there, and only that */
  assert_false(is_source("scalesi") || is_source("nowhere"));
}

/* A counter carries its unit, or counts things and its name says which. */
static void counters_name_their_unit(void **state) {
  (void)state;
  static const char *const suffixes[] = {"_cycles", "_fs", "_bytes",
                                         "_elems",  "_pj", "_clocks"};
  static const char *const things[] = {
      "folds",         "slots",     "slots_used", "macs",      "bursts",         "hits",
      "misses",        "merges",    "ops",        "elements",  "transfers",      "writebacks",
      "passes",        "activates", "precharges", "refreshes", "bank_refreshes", "row_hits",
      "row_conflicts", "forwards",  "turnarounds"};
  for (size_t i = 0; i < tsr_models_count(); i++) {
    const struct tsr_component *c = tsr_models_at(i);
    for (const struct tsr_counter *k = c->counters; k && k->name; k++) {
      assert_true(*k->name && k->doc && *k->doc);
      bool good = false;
      for (size_t s = 0; s < LEN(suffixes); s++)
        good = good || tsr_str_ends(k->name, suffixes[s]);
      for (size_t s = 0; s < LEN(things); s++) good = good || !strcmp(k->name, things[s]);
      if (!good) fail_msg("%s: counter %s has no unit", c->kind, k->name);
      for (const struct tsr_counter *o = c->counters; o < k; o++)
        assert_string_not_equal(o->name, k->name);
    }
  }
}

/* Whether a kind begins with one of the prefixes, up to its end or a dot. */
static bool fits(const char *prefixes, const char *kind) {
  for (const char *p = prefixes; *p;) {
    size_t len = strcspn(p, "|");
    if (len && !strncmp(kind, p, len) && (!kind[len] || kind[len] == '.')) return true;
    p += len + (p[len] == '|');
  }
  return false;
}

static void ports_resolve_to_kinds(void **state) {
  (void)state;
  for (size_t i = 0; i < tsr_models_count(); i++) {
    const struct tsr_component *c = tsr_models_at(i);
    size_t n = 0;
    for (const struct tsr_port *p = c->ports; p && p->name; p++, n++) {
      bool found = false;
      for (size_t j = 0; j < tsr_models_count(); j++)
        found = found || fits(p->kind, tsr_models_at(j)->kind);
      if (!found) fail_msg("%s: no component fits port %s", c->kind, p->name);
      for (const struct tsr_port *o = c->ports; o < p; o++)
        assert_string_not_equal(o->name, p->name);
    }
    assert_true(n <= TSR_PORTS_MAX);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds_are_unique_and_found_by_name),
      cmocka_unit_test(a_component_fills_one_role_whole),
      cmocka_unit_test(parameter_rows_are_sane),
      cmocka_unit_test(parameter_sources_are_known),
      cmocka_unit_test(counters_name_their_unit),
      cmocka_unit_test(ports_resolve_to_kinds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
