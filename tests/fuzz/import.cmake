tsr_fuzz(import DEPS tsr_exchange)
