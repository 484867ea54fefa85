tsr_fuzz(npy DEPS tsr_tensor)
