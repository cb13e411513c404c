"""Components: DynamoComponentDeployment -> Deployment or LeaderWorkerSet, Service, and what else it needs."""

from stator.operator.components.observed import Child, Observed, child_of
from stator.operator.components.reconcile import failed, reconcile
from stator.operator.components.status import Trouble

__all__ = ["Child", "Observed", "Trouble", "child_of", "failed", "reconcile"]
