-- Schema 5: what memories counted, and when they moved bytes.

-- Counters of a memory over the whole run, by the names of its model.
CREATE TABLE run_counter(
  run_id INTEGER NOT NULL REFERENCES run,
  instance TEXT NOT NULL,
  counter TEXT NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (run_id, instance, counter)
) STRICT, WITHOUT ROWID;

-- Bytes that a memory moved in stretches of equal length, from its first cycle on; stretches
-- without any are not stored.
CREATE TABLE run_moved(
  run_id INTEGER NOT NULL REFERENCES run,
  instance TEXT NOT NULL,
  start_cycles INTEGER NOT NULL,
  cycles INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  PRIMARY KEY (run_id, instance, start_cycles)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_counters AS
-- One row a counter of a memory (`dram`, `llb`, `noc`) over a run; `tessera models` has what each
-- counts.
SELECT run_id AS run, instance, counter, value FROM run_counter;

CREATE VIEW v_bandwidth AS
-- Bandwidth of a memory over time: bytes that its data buses moved in [start_cycles,
-- start_cycles + cycles).  Writes that still wait at the end, and reads answered from such, are
-- in the counters alone.
SELECT m.run_id AS run, m.instance, m.start_cycles, m.cycles, m.bytes,
  m.bytes * r.clock_hz / m.cycles AS bytes_per_s,
  m.bytes * r.clock_hz / m.cycles / r.dram_bytes_per_s AS share
FROM run_moved m JOIN run r USING (run_id);
