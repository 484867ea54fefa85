tsr_fuzz(onnx DEPS tsr_onnx)
