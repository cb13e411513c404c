"""What an installation consists of: custom resource definitions, rights, the operator's workload and its webhooks."""
