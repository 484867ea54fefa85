-- Schema 3: workloads on cores of their own, and what cores share.

-- A workload of a run and the cores that it had; a run of one workload has one row.
CREATE TABLE run_tenant(
  run_id INTEGER NOT NULL REFERENCES run,
  tenant INTEGER NOT NULL,
  workload TEXT NOT NULL,
  first_core INTEGER NOT NULL,
  cores INTEGER NOT NULL,
  PRIMARY KEY (run_id, tenant)
) STRICT, WITHOUT ROWID;

-- Whose layer it is and where it ran; NULL in runs of older programs.
ALTER TABLE layer ADD COLUMN tenant INTEGER;
ALTER TABLE layer ADD COLUMN first_core INTEGER;
ALTER TABLE layer ADD COLUMN cores INTEGER;

-- A link, slice, channel or bank over the whole run; those never used are not stored.
CREATE TABLE run_resource(
  run_id INTEGER NOT NULL REFERENCES run,
  instance TEXT NOT NULL,
  resource TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  busy_cycles INTEGER NOT NULL,
  wait_cycles INTEGER NOT NULL,
  PRIMARY KEY (run_id, instance, resource)
) STRICT, WITHOUT ROWID;

CREATE VIEW v_tenants AS
-- One row a workload of a run: its cores, when its last layer ended, and the cycles in
-- which it was stalled (of the pacing units).
SELECT t.run_id AS run, t.tenant, t.workload, t.first_core, t.cores,
  max(l.start_cycles + l.cycles) AS end_cycles, sum(l.cycles) AS layer_cycles,
  sum(l.stall_cycles) AS stall_cycles, sum(l.dram_read_bytes) AS dram_read_bytes,
  sum(l.dram_write_bytes) AS dram_write_bytes
FROM run_tenant t JOIN layer l USING (run_id, tenant)
GROUP BY t.run_id, t.tenant;

CREATE VIEW v_resources AS
-- One row a link (`noc`), slice (`llb`), channel (`dram`) or bank (a scratchpad): bytes that
-- passed, cycles at work, cycles that requests waited for it, summed over the requests.
SELECT run_id AS run, instance, resource, bytes, busy_cycles, wait_cycles
FROM run_resource;

CREATE VIEW v_contention AS
-- A workload beside others (run) against the same workload alone on the same cores of the
-- same machine (alone_run, the newest).  cause: the stall that grew most, by added_cycles.
SELECT t.run, t.tenant, t.workload, t.first_core, t.cores, a.run AS alone_run,
  a.end_cycles AS alone_cycles, t.end_cycles AS together_cycles,
  CAST(t.end_cycles AS REAL) / a.end_cycles AS slowdown, g.cause, g.added_cycles
FROM v_tenants t
JOIN v_tenants a ON a.run = (
  SELECT max(b.run) FROM v_tenants b
  WHERE b.workload = t.workload AND b.first_core = t.first_core AND b.cores = t.cores
    AND (SELECT count(*) FROM run_tenant x WHERE x.run_id = b.run) = 1
    AND (SELECT text_id FROM run_input i WHERE i.run_id = b.run AND i.role = 'arch')
      = (SELECT text_id FROM run_input i WHERE i.run_id = t.run AND i.role = 'arch'))
LEFT JOIN (
  SELECT run, tenant, alone, cause, added_cycles,
    row_number() OVER (PARTITION BY run, tenant, alone ORDER BY added_cycles DESC, cause) AS nth
  FROM (
    SELECT x.run_id AS run, x.tenant, y.run_id AS alone, c.cause,
      (SELECT coalesce(sum(s.cycles), 0) FROM layer_stall s JOIN layer l USING (run_id, layer)
        WHERE s.run_id = x.run_id AND l.tenant = x.tenant AND s.cause = c.cause)
      - (SELECT coalesce(sum(s.cycles), 0) FROM layer_stall s
        WHERE s.run_id = y.run_id AND s.cause = c.cause) AS added_cycles
    FROM run_tenant x JOIN run_tenant y ON y.workload = x.workload
      AND y.first_core = x.first_core AND y.cores = x.cores AND y.run_id <> x.run_id
    JOIN (SELECT DISTINCT cause FROM layer_stall) c)) g
  ON g.run = t.run AND g.tenant = t.tenant AND g.alone = a.run AND g.nth = 1
WHERE (SELECT count(*) FROM run_tenant x WHERE x.run_id = t.run) > 1;
