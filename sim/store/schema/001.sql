-- Schema 1 of the store.  Tables are private; the views v_* are the interface.
-- Comments inside CREATE VIEW stay with the view: `.schema v_layers` shows them.
-- Units are in the names.  NULL means that nothing computed the figure.

-- Numbers 0..1023: joined up to four times they unroll periodic segments.
CREATE TABLE iota(i INTEGER PRIMARY KEY) STRICT;
INSERT INTO iota WITH RECURSIVE c(i) AS (
  SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 1023) SELECT i FROM c;

-- Input texts, each stored once.  The hash (FNV-1a, 64 bits, 16 hex digits)
-- finds candidates; equality of the bodies decides.
CREATE TABLE text(
  text_id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL CHECK (length(hash) = 16),
  body TEXT NOT NULL
) STRICT;
CREATE INDEX text_by_hash ON text(hash);

CREATE TABLE run(
  run_id INTEGER PRIMARY KEY,
  created_utc TEXT NOT NULL,
  name TEXT,
  arch TEXT NOT NULL,
  workload TEXT NOT NULL,
  policy TEXT,
  model TEXT NOT NULL,
  status TEXT NOT NULL,
  version TEXT NOT NULL,
  seed INTEGER NOT NULL,
  numerics TEXT,
  trace TEXT,
  clock_hz REAL,
  peak_macs_per_cycle REAL,
  dram_bytes_per_s REAL,
  cycles INTEGER,
  time_s REAL,
  overlap_cycles INTEGER,
  macs INTEGER,
  executed_macs INTEGER,
  utilization REAL,
  tensor_active REAL,
  dram_read_bytes INTEGER,
  dram_write_bytes INTEGER,
  sram_read_bytes INTEGER,
  sram_write_bytes INTEGER,
  energy_pj REAL,
  avg_power_mw REAL,
  peak_power_mw REAL,
  inferences_per_s REAL,
  tokens_per_s REAL,
  events INTEGER,
  fast_forwarded INTEGER,
  wall_s REAL
) STRICT;
CREATE INDEX run_by_name ON run(name, run_id) WHERE name IS NOT NULL;

CREATE TABLE run_input(
  run_id INTEGER NOT NULL REFERENCES run,
  seq INTEGER NOT NULL,
  role TEXT NOT NULL,
  name TEXT,
  text_id INTEGER NOT NULL REFERENCES text,
  PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_input_by_text ON run_input(text_id);

CREATE TABLE layer(
  run_id INTEGER NOT NULL REFERENCES run,
  layer INTEGER NOT NULL,
  name TEXT NOT NULL,
  op TEXT NOT NULL,
  m INTEGER,
  n INTEGER,
  k INTEGER,
  count INTEGER,
  kernel TEXT,
  mapping TEXT,
  format_a TEXT,
  format_b TEXT,
  format_acc TEXT,
  format_out TEXT,
  sparse TEXT,
  requested_kernel TEXT,
  fallback_reason TEXT,
  folds INTEGER,
  start_cycles INTEGER,
  cycles INTEGER,
  time_s REAL,
  compute_cycles INTEGER,
  stall_cycles INTEGER,
  utilization REAL,
  mapping_efficiency REAL,
  macs INTEGER,
  executed_macs INTEGER,
  peak_macs_per_cycle REAL,
  dram_read_bytes INTEGER,
  dram_write_bytes INTEGER,
  sram_read_bytes INTEGER,
  sram_write_bytes INTEGER,
  compulsory_bytes INTEGER,
  transfers INTEGER,
  tile_active_cycles INTEGER,
  energy_pj REAL,
  PRIMARY KEY (run_id, layer)
) STRICT, WITHOUT ROWID;

CREATE TABLE layer_stall(
  run_id INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  cause TEXT NOT NULL,
  cycles INTEGER NOT NULL CHECK (cycles > 0),
  PRIMARY KEY (run_id, layer, cause),
  FOREIGN KEY (run_id, layer) REFERENCES layer
) STRICT, WITHOUT ROWID;

CREATE TABLE layer_unit(
  run_id INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  unit TEXT NOT NULL,
  state TEXT NOT NULL,
  cycles INTEGER NOT NULL,
  PRIMARY KEY (run_id, layer, unit, state),
  FOREIGN KEY (run_id, layer) REFERENCES layer
) STRICT, WITHOUT ROWID;

CREATE TABLE segment(
  run_id INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  unit TEXT NOT NULL,
  state TEXT NOT NULL,
  start_cycles INTEGER NOT NULL,
  duration_cycles INTEGER NOT NULL,
  period_cycles INTEGER NOT NULL,
  repeats INTEGER NOT NULL CHECK (repeats BETWEEN 1 AND 1 << 40),
  PRIMARY KEY (run_id, layer, seq),
  FOREIGN KEY (run_id, layer) REFERENCES layer
) STRICT, WITHOUT ROWID;

CREATE TABLE numeric(
  run_id INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  tensor TEXT NOT NULL,
  k_from INTEGER,
  k_to INTEGER,
  checked_elems INTEGER,
  max_ulp REAL,
  mean_ulp REAL,
  norm_err REAL,
  sqnr_db REAL,
  bias REAL,
  overflow INTEGER,
  underflow INTEGER,
  saturated INTEGER,
  subnormal_in INTEGER,
  nan INTEGER,
  swamped_terms INTEGER,
  PRIMARY KEY (run_id, layer, seq),
  FOREIGN KEY (run_id, layer) REFERENCES layer
) STRICT, WITHOUT ROWID;

CREATE VIEW v_runs AS
-- One row a run.  `run` is its number; a name means its newest run.
-- cycles: core clock, = sum over layers - overlap_cycles.  utilization,
-- tensor_active: shares 0..1.  created_utc and wall_s are the only figures that
-- differ between two runs of the same inputs.  A seed of 2^63 or more shows as
-- seed - 2^64.  dram_bytes_per_s: Inf where the bandwidth is unlimited.
SELECT run_id AS run, name, arch, workload, policy, model, status,
  cycles, time_s, overlap_cycles, macs, executed_macs, utilization, tensor_active,
  dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes,
  energy_pj, avg_power_mw, peak_power_mw, inferences_per_s, tokens_per_s,
  events, fast_forwarded, wall_s,
  (SELECT count(*) FROM layer l WHERE l.run_id = r.run_id) AS layers,
  clock_hz, peak_macs_per_cycle, dram_bytes_per_s,
  version, seed, numerics, trace, created_utc
FROM run r;

CREATE VIEW v_inputs AS
-- What a run was asked: role (arch, workload, policy, mapping, program,
-- options), the name the user gave, the full text and its FNV-1a hash (hex).
SELECT i.run_id AS run, i.seq, i.role, i.name, t.hash, t.body AS text
FROM run_input i JOIN text t USING (text_id);

CREATE VIEW v_layers AS
-- One row an operator instance.  `layer` = "index": its place in the run.
-- cycles = end - start = compute_cycles + stall_cycles; stalls: a JSON object
-- {cause: cycles} of the causes present, their sum is stall_cycles (a row each
-- in v_stalls).  count: identical matmuls inside; figures cover all of them.
-- macs: logical; executed_macs: multiplied usefully.  utilization =
-- executed_macs / (cycles * peak_macs_per_cycle); mapping_efficiency: share of
-- array slots that hold work.  numeric: a JSON object, reals to 15 digits, of
-- the layer's whole result, or NULL; v_numeric has every row in full.
SELECT run_id AS run, layer, layer AS "index", name, op, m, n, k, count,
  kernel, mapping, format_a, format_b, format_acc, format_out, sparse,
  requested_kernel, fallback_reason, folds, start_cycles, cycles, time_s,
  compute_cycles, stall_cycles,
  (SELECT json_group_object(s.cause, s.cycles) FROM layer_stall s
    WHERE s.run_id = l.run_id AND s.layer = l.layer) AS stalls,
  utilization, mapping_efficiency, macs, executed_macs,
  dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes, energy_pj,
  (SELECT json_object('checked_elems', checked_elems,
      'max_ulp', CASE WHEN abs(max_ulp) < 9e999 THEN max_ulp END,
      'mean_ulp', CASE WHEN abs(mean_ulp) < 9e999 THEN mean_ulp END,
      'norm_err', CASE WHEN abs(norm_err) < 9e999 THEN norm_err END,
      'sqnr_db', CASE WHEN abs(sqnr_db) < 9e999 THEN sqnr_db END,
      'bias', CASE WHEN abs(bias) < 9e999 THEN bias END,
      'overflow', overflow, 'underflow', underflow, 'saturated', saturated,
      'subnormal_in', subnormal_in, 'nan', nan, 'swamped_terms', swamped_terms)
    FROM numeric x WHERE x.run_id = l.run_id AND x.layer = l.layer AND x.seq = 0)
    AS numeric,
  peak_macs_per_cycle, compulsory_bytes, transfers, tile_active_cycles
FROM layer l;

CREATE VIEW v_stalls AS
-- Where a layer waited: one row a cause present; share: of the layer's cycles.
SELECT s.run_id AS run, s.layer, l.name, s.cause, s.cycles,
  CAST(s.cycles AS REAL) / l.cycles AS share
FROM layer_stall s JOIN layer l USING (run_id, layer);

CREATE VIEW v_units AS
-- Where the cycles of each unit went in each layer: state is busy, fill, drain,
-- idle or the cause of a stall.  Over the states they sum to the layer's cycles.
SELECT run_id AS run, layer, unit, state, cycles FROM layer_unit;

CREATE VIEW v_occupancy AS
-- A unit's timeline: it is in `state` in the core cycles [start_cycles,
-- end_cycles).  Stored as periodic segments and unrolled here (the repeat's
-- number is d, c, b, a in base 1024); name a run, and a layer where you can.
SELECT s.run_id AS run, s.unit, s.layer, s.state,
  s.start_cycles + s.period_cycles * ((d.i << 30) + (c.i << 20) + (b.i << 10) + a.i)
    AS start_cycles,
  s.start_cycles + s.period_cycles * ((d.i << 30) + (c.i << 20) + (b.i << 10) + a.i)
    + s.duration_cycles AS end_cycles
FROM segment s
  CROSS JOIN iota d ON d.i <= ((s.repeats - 1) >> 30)
  CROSS JOIN iota c ON c.i <= ((s.repeats - 1 - (d.i << 30)) >> 20)
  CROSS JOIN iota b ON b.i <= ((s.repeats - 1 - (d.i << 30) - (c.i << 20)) >> 10)
  CROSS JOIN iota a ON a.i <= s.repeats - 1 - (d.i << 30) - (c.i << 20) - (b.i << 10);

CREATE VIEW v_kernels AS
-- The kernel of each layer: chosen; requested by the policy (NULL: any); reason
-- why the request was not met (NULL: it was); fallback: 1 when it was not.
SELECT run_id AS run, layer, name, op, kernel AS chosen,
  requested_kernel AS requested, fallback_reason AS reason,
  requested_kernel IS NOT NULL AND requested_kernel IS NOT kernel AS fallback,
  mapping, format_a, format_b, format_acc, format_out, sparse, cycles, macs
FROM layer;

CREATE VIEW v_numeric AS
-- Error figures against the exact result of the same operands, per tensor and
-- range of K [k_from, k_to).  seq 0 is the layer's whole result.  ULPs are of
-- the output format; norm_err = |S' - S| / |S| (Frobenius); sqnr_db is Inf where
-- there is no error; counts are out of checked_elems, swamped_terms out of terms.
SELECT x.run_id AS run, x.layer, l.name, x.seq, x.tensor, x.k_from, x.k_to,
  x.checked_elems, x.max_ulp, x.mean_ulp, x.norm_err, x.sqnr_db, x.bias,
  x.overflow, x.underflow, x.saturated, x.subnormal_in, x.nan, x.swamped_terms
FROM numeric x JOIN layer l USING (run_id, layer);

CREATE VIEW v_roofline AS
-- One row a layer.  Operations are useful ones, 2 per executed MAC.
-- ops_per_byte: per DRAM byte moved (NULL: none moved); compulsory_ops_per_byte:
-- were each operand and the result moved once.  attained_ops_per_s: over the
-- layer's time.  roof_ops_per_s: peak of the formats executed on the tiles
-- assigned.  dram_bytes_per_s: peak bandwidth, Inf where unlimited.
-- bound_ops_per_s: min(roof, ops_per_byte * bandwidth).
WITH p AS (
  SELECT l.run_id, l.layer, l.name, l.op, l.format_a, l.cycles, l.time_s,
    2 * l.executed_macs AS ops, l.dram_read_bytes + l.dram_write_bytes AS dram_bytes,
    l.compulsory_bytes, 2 * l.peak_macs_per_cycle * r.clock_hz AS roof,
    r.dram_bytes_per_s AS bandwidth
  FROM layer l JOIN run r USING (run_id))
SELECT run_id AS run, layer, name, op, format_a, cycles, time_s, ops, dram_bytes,
  CAST(ops AS REAL) / nullif(dram_bytes, 0) AS ops_per_byte,
  CAST(ops AS REAL) / nullif(compulsory_bytes, 0) AS compulsory_ops_per_byte,
  ops / nullif(time_s, 0) AS attained_ops_per_s,
  roof AS roof_ops_per_s, bandwidth AS dram_bytes_per_s,
  min(roof, coalesce(CAST(ops AS REAL) / nullif(dram_bytes, 0) * bandwidth, roof))
    AS bound_ops_per_s
FROM p;
