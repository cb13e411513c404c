"""The reconcilers as the driver runs them: what each observes in the caches, and the pure functions that plan."""

from __future__ import annotations

from datetime import datetime

from stator.kube.resources import Key
from stator.operator import components, kinds
from stator.operator.caches import Caches
from stator.operator.components import Trouble
from stator.operator.options import OperatorOptions
from stator.operator.plan import Json, Plan


class Components:
    """DynamoComponentDeployments."""

    kind = kinds.COMPONENT

    def __init__(self, caches: Caches, options: OperatorOptions) -> None:
        """Reconcile with these options."""
        self._caches = caches
        self._options = options

    async def observe(self, key: Key) -> components.Observed | None:
        """The component and what exists for it, or stands in its place."""
        component = self._caches.get(self.kind, key)
        if component is None:
            return None
        owned = self._caches.owned(component["metadata"]["uid"], MADE_OF_COMPONENTS)
        return components.Observed(
            component=component,
            children=owned,
            elsewhere=lambda kind, name: self._caches.child(kinds.named(kind), Key(key.namespace, name)),
        )

    def subject(self, observed: components.Observed) -> Json:
        """The component."""
        return observed.component

    def plan(self, observed: components.Observed, now: datetime) -> Plan:
        """One pass."""
        return components.reconcile(observed, self._options, now)

    def failed(self, observed: components.Observed, trouble: Trouble, now: datetime) -> Plan:
        """Say what was refused."""
        return components.failed(observed, trouble, now)


MADE_OF_COMPONENTS = (*kinds.MADE, kinds.LEADER_WORKER_SET, kinds.VIRTUAL_SERVICE)
