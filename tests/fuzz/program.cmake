tsr_fuzz(program DEPS tsr_isa)
