-- Schema 2: what arithmetic did in more detail, and error studies of matrix units.

-- Componentwise error |s' - s| / (|a|^T |b|), its a-priori bound, and what units
-- count while they add (with the number of opportunities beside each count).
ALTER TABLE numeric ADD COLUMN max_comp REAL;
ALTER TABLE numeric ADD COLUMN mean_comp REAL;
ALTER TABLE numeric ADD COLUMN bound REAL;
ALTER TABLE numeric ADD COLUMN terms INTEGER;
ALTER TABLE numeric ADD COLUMN truncated_terms INTEGER;
ALTER TABLE numeric ADD COLUMN acc_steps INTEGER;
ALTER TABLE numeric ADD COLUMN absorbed_acc INTEGER;
ALTER TABLE numeric ADD COLUMN cancelled_steps INTEGER;
ALTER TABLE numeric ADD COLUMN cancel_bits INTEGER;
ALTER TABLE numeric ADD COLUMN cancel_max INTEGER;

-- Bin b counts errors of [lo, hi) ulp; only bins with a count are stored.
CREATE TABLE numeric_hist(
  run_id INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  bin INTEGER NOT NULL,
  lo REAL NOT NULL,
  hi REAL NOT NULL,
  count INTEGER NOT NULL CHECK (count > 0),
  PRIMARY KEY (run_id, layer, seq, bin),
  FOREIGN KEY (run_id, layer, seq) REFERENCES numeric
) STRICT, WITHOUT ROWID;

CREATE TABLE mma_eval(
  eval_id INTEGER PRIMARY KEY,
  created_utc TEXT NOT NULL,
  version TEXT NOT NULL,
  seed INTEGER NOT NULL,
  m INTEGER NOT NULL,
  n INTEGER NOT NULL
) STRICT;

CREATE TABLE mma_eval_point(
  eval_id INTEGER NOT NULL REFERENCES mma_eval,
  seq INTEGER NOT NULL,
  unit TEXT NOT NULL,
  format_a TEXT NOT NULL,
  format_b TEXT NOT NULL,
  format_acc TEXT NOT NULL,
  dist TEXT NOT NULL,
  k INTEGER NOT NULL,
  checked_elems INTEGER,
  max_ulp REAL,
  mean_ulp REAL,
  norm_err REAL,
  sqnr_db REAL,
  bias REAL,
  max_comp REAL,
  mean_comp REAL,
  bound REAL,
  overflow INTEGER,
  underflow INTEGER,
  saturated INTEGER,
  subnormal_in INTEGER,
  nan INTEGER,
  terms INTEGER,
  swamped_terms INTEGER,
  truncated_terms INTEGER,
  acc_steps INTEGER,
  absorbed_acc INTEGER,
  cancelled_steps INTEGER,
  cancel_bits INTEGER,
  cancel_max INTEGER,
  quantisation_err REAL,
  unquantised_err REAL,
  PRIMARY KEY (eval_id, seq)
) STRICT, WITHOUT ROWID;

-- kind: `ulp`, the error of a result; `cancellation`, log2(|a|^T |b| / |s|) of a
-- result: how many leading bits its terms lost against each other.
CREATE TABLE mma_eval_hist(
  eval_id INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  bin INTEGER NOT NULL,
  lo REAL NOT NULL,
  hi REAL NOT NULL,
  count INTEGER NOT NULL CHECK (count > 0),
  PRIMARY KEY (eval_id, seq, kind, bin),
  FOREIGN KEY (eval_id, seq) REFERENCES mma_eval_point
) STRICT, WITHOUT ROWID;

DROP VIEW v_numeric;
CREATE VIEW v_numeric AS
-- Error figures against the exact result of the same operands, per tensor and
-- range of K [k_from, k_to).  seq 0 is the layer's whole result.  Tensors: `out`
-- the outputs; `acc` the accumulators (at k_to, in ulp of their own format);
-- `range` what the accumulator lost between k_from and k_to; and the error of the
-- outputs in parts: `quantisation` of the operands, `accumulation`, `rounding` to
-- the output, `unquantised` all of it against the operands before quantisation.
-- ULPs are of the output format where nothing else is said; norm_err = |S' - S| /
-- |S| (Frobenius); sqnr_db is Inf where there is no error; max_comp, mean_comp:
-- |s' - s| / (|a|^T |b|), bound: its a-priori bound.  Counts are out of
-- checked_elems; swamped and truncated terms out of terms, absorbed_acc out of
-- acc_steps, cancel_bits over cancelled_steps.
SELECT x.run_id AS run, x.layer, l.name, x.seq, x.tensor, x.k_from, x.k_to,
  x.checked_elems, x.max_ulp, x.mean_ulp, x.norm_err, x.sqnr_db, x.bias,
  x.overflow, x.underflow, x.saturated, x.subnormal_in, x.nan, x.swamped_terms,
  x.max_comp, x.mean_comp, x.bound, x.terms, x.truncated_terms, x.acc_steps,
  x.absorbed_acc, x.cancelled_steps, x.cancel_bits, x.cancel_max
FROM numeric x JOIN layer l USING (run_id, layer);

CREATE VIEW v_numeric_hist AS
-- How large the errors of v_numeric are: `count` of them lie in [lo, hi) ulp.  bin
-- 0: no error at all; each further bin is twice as wide as the one before.
SELECT h.run_id AS run, h.layer, l.name, h.seq, x.tensor, x.k_from, x.k_to,
  h.bin, h.lo, h.hi, h.count
FROM numeric_hist h JOIN numeric x USING (run_id, layer, seq)
  JOIN layer l USING (run_id, layer);

CREATE VIEW v_mma_eval AS
-- Error studies of matrix units (`mma eval`): m x n results of each unit,
-- distribution and K, accumulated from C = 0, against the exact result of the same
-- quantised operands.  Columns as in v_numeric, ULPs of the accumulator's format.
-- quantisation_err: norm-wise error of the exact result that the operands' formats
-- make; unquantised_err: of the unit's results against unquantised operands.
SELECT p.eval_id AS eval, p.seq, p.unit, p.format_a, p.format_b, p.format_acc, p.dist,
  e.m, e.n, p.k, p.checked_elems, p.max_ulp, p.mean_ulp, p.norm_err, p.sqnr_db, p.bias,
  p.max_comp, p.mean_comp, p.bound, p.overflow, p.underflow, p.saturated,
  p.subnormal_in, p.nan, p.terms, p.swamped_terms, p.truncated_terms, p.acc_steps,
  p.absorbed_acc, p.cancelled_steps, p.cancel_bits, p.cancel_max,
  p.quantisation_err, p.unquantised_err, e.seed, e.version, e.created_utc
FROM mma_eval_point p JOIN mma_eval e USING (eval_id);

CREATE VIEW v_mma_eval_hist AS
-- `count` results of a study's point lie in [lo, hi): kind `ulp`, error in ulp (bin
-- 0: none); kind `cancellation`, log2(|a|^T |b| / |s|) in bits.
SELECT h.eval_id AS eval, h.seq, p.unit, p.dist, p.k, h.kind, h.bin, h.lo, h.hi, h.count
FROM mma_eval_hist h JOIN mma_eval_point p USING (eval_id, seq);
