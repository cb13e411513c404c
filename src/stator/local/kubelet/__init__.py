"""What the kubelet decides, as pure functions: environment, expansion, probe results, restart delays."""
