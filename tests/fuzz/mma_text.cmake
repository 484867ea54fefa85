tsr_fuzz(mma_text DEPS tsr_arith)
