"""Objects beside a graph's workloads, one module per feature that asks for them."""
