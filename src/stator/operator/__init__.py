"""The Kubernetes operator: pure reconcilers, and one driver that carries out what they plan."""
