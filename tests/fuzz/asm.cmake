tsr_fuzz(asm DEPS tsr_isa)
