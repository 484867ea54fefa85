tsr_fuzz(csv DEPS tsr_workloads)
