/* Who runs where: several workloads on cores of their own, and within one the layers that
 * do not wait for each other side by side. */
#include <inttypes.h>
#include <string.h>

#include "sim/base/log.h"
#include "sim/run/run_int.h"
#include "sim/run/steps.h"

static const char between[] = " + ";

/* `NAME@FIRST-LAST`: moves behind the name; false: no cores are named. */
static bool split_cores(const char *text, size_t n, size_t *name, uint64_t *first,
                        uint64_t *last) {
  size_t at = n;
  while (at > 0 && text[at - 1] != '@') at--;
  *name = n;
  if (at == 0) return false;
  uint64_t v[2] = {0, 0};
  size_t part = 0, digits = 0;
  for (size_t i = at; i < n; i++) {
    if (text[i] == '-' && digits && part == 0) {
      part = 1;
      digits = 0;
    } else if (text[i] >= '0' && text[i] <= '9' && digits < 6) {
      v[part] = v[part] * 10 + (uint64_t)(text[i] - '0');
      digits++;
    } else {
      return false;
    }
  }
  if (!digits) return false;
  *first = v[0];
  *last = part ? v[1] : v[0];
  *name = at - 1;
  return true;
}

static enum tsr_status check_cores(const struct tsr_run_plan *p, uint64_t first, uint64_t last,
                                   const char *text, size_t n, struct tsr_err *err) {
  if (first <= last && last < p->machine->cores) {
    for (size_t t = 0; t < p->n_tenants; t++) {
      const struct tsr_run_tenant *o = &p->tenants[t];
      if (first < o->first_core + o->n_cores && o->first_core <= last)
        return tsr_err_set(err, TSR_INPUT, "workloads '%s' and '%.*s' both ask for core %u",
                           o->source, (int)n, text,
                           (unsigned)tsr_max_u64(first, o->first_core));
    }
    return TSR_OK;
  }
  return tsr_err_set(err, TSR_INPUT,
                     "workload '%.*s': expected cores FIRST-LAST of 0 to %" PRIu64
                     ", got %" PRIu64 "-%" PRIu64,
                     (int)n, text, p->machine->cores - 1, first, last);
}

static enum tsr_status read_graph(const struct tsr_run_options *o, const struct tsr_run_plan *p,
                                  struct tsr_run_tenant *t, const char *text, bool alone,
                                  struct tsr_err *err) {
  if (o->graph && !alone)
    return tsr_err_set(err, TSR_USAGE, "expected one workload with a graph in memory");
  if (o->graph) {
    t->graph = o->graph;
    return TSR_OK;
  }
  static const char ending[] = ".onnx";
  bool model = tsr_str_ends(t->source, ending);
  bool models_own = model || !strstr(o->workload, ending); /* else they are of another one */
  const struct tsr_workload_options how = {.batch = o->batch,
                                           .text = text,
                                           .given = p->given,
                                           .n_given = p->n_given,
                                           .made = p->made,
                                           .n_made = p->n_made,
                                           .dims = o->dims,
                                           .n_dims = models_own ? o->n_dims : 0,
                                           .skip_unsupported =
                                               models_own && o->skip_unsupported};
  if (!o->dataset && !o->decode) return tsr_workload_read(t->source, &how, &t->graph, err);
  if (!model || !alone)
    return tsr_err_set(err, TSR_USAGE,
                       "--dataset and --decode run one ONNX model; got workload '%s'%s",
                       t->source, alone ? "" : " beside others");
  if (o->numerics != TSR_NUMERICS_FULL && o->dataset)
    return tsr_err_set(err, TSR_USAGE,
                       "--dataset asks for values; expected --numerics full with it");
  return tsri_steps_read(o, &how, t->source, text, &t->steps, &t->graph, err);
}

/* Says what --skip-unsupported leaves out: a run of less is no run of the model. */
static void note_skipped(const struct tsr_graph *g) {
  const struct tsr_net *net = g->bindings && g->n_nets ? g->nets[0] : NULL;
  const struct tsr_net_node *first = NULL;
  for (size_t i = 0; net && i < net->n_nodes && !first; i++)
    if (net->nodes[i].skipped) first = &net->nodes[i];
  if (first)
    tsr_log_note("model '%s' without %zu of its %zu nodes, which have no kernel: the first is "
                 "'%s' (%s); what they would make is drawn",
                 net->name, net->n_skipped, net->n_nodes, first->name, first->op_name);
}

static enum tsr_status read_one(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                const char *text, size_t n, bool alone, struct tsr_err *err) {
  size_t name;
  uint64_t first = 0, last = p->machine->cores - 1;
  bool cores = split_cores(text, n, &name, &first, &last);
  if (!cores && !alone)
    return tsr_err_set(err, TSR_INPUT,
                       "workload '%.*s' of several: expected its cores, as in '%.*s@0-%" PRIu64
                       "'",
                       (int)n, text, (int)n, text, (p->machine->cores - 1) / 2);
  if (p->n_tenants == TSR_RUN_TENANTS_MAX)
    return tsr_err_set(err, TSR_INPUT, "expected at most %d workloads", TSR_RUN_TENANTS_MAX);
  enum tsr_status st = check_cores(p, first, last, text, n, err);
  if (st) return st;
  struct tsr_run_tenant *t = &p->tenants[p->n_tenants];
  t->first_core = (uint32_t)first;
  t->n_cores = (uint32_t)(last - first + 1);
  t->source = tsr_arena_printf(p->arena, "%.*s", (int)name, text);
  if (!t->source) return tsr_err_nomem(err);
  const char *source = NULL;
  if (o->workload_text && (st = tsri_tenant_text(o, p, p->n_tenants, &source, err))) return st;
  st = read_graph(o, p, t, source, alone, err);
  if (st) return st;
  p->n_tenants++; /* from here on the plan destroys it */
  note_skipped(t->graph);
  return tsri_name_operands(o, alone, t->graph, err);
}

enum tsr_status tsri_tenants_read(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                  struct tsr_err *err) {
  const char *at = o->workload, *next;
  bool alone = !strstr(at, between);
  enum tsr_status st = TSR_OK;
  for (; !st && at; at = next) {
    const char *end = strstr(at, between);
    next = end ? end + strlen(between) : NULL;
    st = read_one(o, p, at, end ? (size_t)(end - at) : strlen(at), alone, err);
  }
  if (st) return st;
  struct tsr_str name = TSR_STR_INIT;
  for (size_t t = 0; t < p->n_tenants; t++)
    tsr_str_addf(&name, "%s%s", t ? between : "", p->tenants[t].graph->name);
  p->name = name.failed ? NULL : tsr_arena_strdup(p->arena, name.p);
  tsr_str_fini(&name);
  return p->name ? TSR_OK : tsr_err_nomem(err);
}

/* ---- texts of several workloads as one ---- */

/* Stored as `# workload <bytes> <source>` and the text, one after the other. */
static const char header[] = "# workload ";

enum tsr_status tsri_tenants_text(const struct tsr_run_plan *p, struct tsr_arena *arena,
                                  const char **out, struct tsr_err *err) {
  if (p->n_tenants == 1) {
    *out = p->tenants[0].graph->text;
    return TSR_OK;
  }
  struct tsr_str s = TSR_STR_INIT;
  for (size_t t = 0; t < p->n_tenants; t++)
    tsr_str_addf(&s, "%s%zu %s\n%s\n", header, strlen(p->tenants[t].graph->text),
                 p->tenants[t].source, p->tenants[t].graph->text);
  *out = s.failed ? NULL : tsr_arena_strdup(arena, s.p);
  tsr_str_fini(&s);
  return *out ? TSR_OK : tsr_err_nomem(err);
}

enum tsr_status tsri_tenant_text(const struct tsr_run_options *o, struct tsr_run_plan *p,
                                 size_t index, const char **out, struct tsr_err *err) {
  const char *at = o->workload_text;
  if (strncmp(at, header, strlen(header)) != 0 || !strstr(o->workload, between)) {
    *out = at;
    return TSR_OK;
  }
  for (size_t t = 0; *at; t++) {
    uint64_t bytes = 0;
    const char *c = at + strlen(header), *line = strchr(at, '\n');
    if (strncmp(at, header, strlen(header)) != 0 || !line) break;
    while (*c >= '0' && *c <= '9' && bytes < UINT32_MAX)
      bytes = bytes * 10 + (uint64_t)(*c++ - '0');
    if (strlen(line + 1) < bytes) break;
    if (t == index) {
      *out = tsr_arena_printf(p->arena, "%.*s", (int)bytes, line + 1);
      return *out ? TSR_OK : tsr_err_nomem(err);
    }
    at = line + 1 + bytes;
    if (*at == '\n') at++;
  }
  return tsr_err_set(err, TSR_INPUT, "the stored text of workload %zu is damaged", index);
}

/* ---- side by side ---- */

/* How many layers of a tenant lie before each on the longest path. */
static void find_depths(const struct tsr_run_tenant *t, size_t *depth) {
  for (size_t i = 0; i < t->graph->n_ops; i++) {
    const struct tsr_op *op = &t->graph->ops[i];
    depth[i] = 0;
    for (size_t a = 0; a < op->n_after; a++)
      if (depth[op->after[a]] + 1 > depth[i]) depth[i] = depth[op->after[a]] + 1;
  }
}

/* Layers of one depth wait for none of each other: they share the cores, each its share
 * of the work; more of them than cores have one each, in turn. */
static void share(struct tsr_run_plan *p, const struct tsr_run_tenant *t, const size_t *depth,
                  size_t at) {
  struct tsr_run_layer_plan *l = &p->layers[t->first_layer];
  size_t n = t->graph->n_ops, peers = 0;
  double all = 0, before = 0;
  TSR_CHECK(t->n_cores);
  for (size_t i = 0; i < n; i++) {
    uint64_t macs = 0;
    if (depth[i] != depth[at]) continue;
    (void)tsr_op_macs(l[i].op, &macs);
    all += (double)macs + 1;
    peers++;
  }
  bool apart = peers > 1 && peers <= t->n_cores, crowd = peers > t->n_cores;
  uint32_t next = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t macs = 0;
    if (depth[i] != depth[at]) continue;
    (void)tsr_op_macs(l[i].op, &macs);
    before += (double)macs + 1;
    uint32_t end = (uint32_t)((double)t->n_cores * before / all), left = (uint32_t)--peers;
    if (end <= next) end = next + 1;
    if (apart && end > t->n_cores - left) end = t->n_cores - left;
    if (crowd) { /* one core each */
      next %= t->n_cores;
      end = next + 1;
    }
    l[i].first_core = t->first_core + (apart || crowd ? next : 0);
    l[i].max_cores = apart || crowd ? end - next : t->n_cores;
    next = end;
  }
}

enum tsr_status tsri_cores_assign(struct tsr_run_plan *p, struct tsr_err *err) {
  for (size_t t = 0; t < p->n_tenants; t++) {
    const struct tsr_run_tenant *x = &p->tenants[t];
    size_t n = x->graph->n_ops;
    size_t *depth = tsr_mem_array(n + 1, sizeof *depth);
    bool *seen = tsr_mem_array(n + 1, sizeof *seen);
    if (depth && seen) {
      find_depths(x, depth);
      for (size_t i = 0; i < n; i++) {
        if (!seen[depth[i]]) share(p, x, depth, i);
        seen[depth[i]] = true;
      }
    }
    bool ok = depth && seen;
    tsr_mem_free(depth);
    tsr_mem_free(seen);
    if (!ok) return tsr_err_nomem(err);
  }
  return TSR_OK;
}
