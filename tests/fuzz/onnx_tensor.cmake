tsr_fuzz(onnx_tensor DEPS tsr_onnx)
