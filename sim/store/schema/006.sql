-- Schema 6: what a network's answers are worth, and which step of a loop a layer belongs to.

-- The pass through the network: 0, or which of a decode loop's steps or a data set's batches.
ALTER TABLE layer ADD COLUMN step INTEGER;

-- Figures of the whole network's results.
CREATE TABLE run_quality(
  run_id INTEGER NOT NULL REFERENCES run,
  seq INTEGER NOT NULL,
  metric TEXT NOT NULL,
  tensor TEXT,
  value REAL,
  n INTEGER NOT NULL,
  limit_value REAL,
  met INTEGER CHECK (met IN (0, 1)),
  PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_quality AS
-- Figures of a network's results over n samples, tokens or elements.  Against the reference in
-- double precision: `norm_err`, `max_abs_err` (of an output), `top1`, `top1_reference`, `agreement`
-- (share of samples), `kl` (nats a token, mean), `kl_max`, `flip_rate` (share of tokens whose most
-- probable follower is another one), `bits_per_token`, `bits_per_token_reference`.  Against a
-- file: `expect_ulp`, the worst ulp of an output; limit_value what was allowed, met whether it was.
SELECT run_id AS run, seq, metric, tensor, value, n, limit_value, met FROM run_quality;

CREATE VIEW v_numeric_step AS
-- Over- and underflow of each tensor at each step of a network that runs several times (a decode
-- loop's prefill is step 0): opportunities are the elements looked at.
SELECT x.run_id AS run, l.step, x.layer, l.name, x.tensor, x.checked_elems AS opportunities,
  x.overflow, x.underflow
FROM numeric x JOIN layer l USING (run_id, layer)
WHERE l.step IS NOT NULL AND x.tensor IN ('out', 'network') AND x.seq >= 0;
