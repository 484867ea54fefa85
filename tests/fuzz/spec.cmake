tsr_fuzz(spec DEPS tsr_workloads tsr_spec)
