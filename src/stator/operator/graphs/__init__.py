"""Graphs: DynamoGraphDeployment -> its components or a PodCliqueSet, what they share, rollouts and status."""
