tsr_fuzz(dram DEPS tsr_models)
