tsr_fuzz(graph_json DEPS tsr_exchange)
