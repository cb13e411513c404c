"""Graphs: DynamoGraphDeployment -> its components or a PodCliqueSet, what they share, rollouts and status."""

from stator.operator.graphs.adapters import ObservedAdapter, reconcile_adapter
from stator.operator.graphs.observed import CliqueSet, Made, Observed
from stator.operator.graphs.reconcile import failed, reconcile

__all__ = ["CliqueSet", "Made", "Observed", "ObservedAdapter", "failed", "reconcile", "reconcile_adapter"]
