tsr_fuzz(safetensors DEPS tsr_tensor)
