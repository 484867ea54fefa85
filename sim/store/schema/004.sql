-- Schema 4: what stays on the chip.

-- Bytes in whole bursts that DMA engines moved, wherever they came from and went: what is not
-- DRAM's was a last-level buffer's, or stayed in scratchpads.  NULL in runs of older programs.
ALTER TABLE layer ADD COLUMN dma_bytes INTEGER;
ALTER TABLE run ADD COLUMN dma_bytes INTEGER;

DROP VIEW v_runs;
CREATE VIEW v_runs AS
-- One row a run.  `run` is its number; a name means its newest run.
-- cycles: core clock, = sum over layers - overlap_cycles.  utilization,
-- tensor_active: shares 0..1.  created_utc and wall_s are the only figures that
-- differ between two runs of the same inputs.  A seed of 2^63 or more shows as
-- seed - 2^64.  dram_bytes_per_s: Inf where the bandwidth is unlimited.  dma_bytes: what
-- DMA engines moved; it is DRAM's, or stayed on the chip.
SELECT run_id AS run, name, arch, workload, policy, model, status,
  cycles, time_s, overlap_cycles, macs, executed_macs, utilization, tensor_active,
  dram_read_bytes, dram_write_bytes, sram_read_bytes, sram_write_bytes,
  energy_pj, avg_power_mw, peak_power_mw, inferences_per_s, tokens_per_s,
  events, fast_forwarded, wall_s,
  (SELECT count(*) FROM layer l WHERE l.run_id = r.run_id) AS layers,
  clock_hz, peak_macs_per_cycle, dram_bytes_per_s, dma_bytes,
  version, seed, numerics, trace, created_utc
FROM run r;

DROP VIEW v_layers;
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
  peak_macs_per_cycle, compulsory_bytes, dma_bytes, transfers, tile_active_cycles
FROM layer l;
