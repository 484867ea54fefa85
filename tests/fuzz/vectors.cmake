tsr_fuzz(vectors DEPS tsr_check)
