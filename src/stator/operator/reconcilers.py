"""The reconcilers as the driver runs them: what each observes in the caches, and the pure functions that plan."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from stator.kube.resources import Key, Kind
from stator.operator import components, graphs, kinds
from stator.operator.caches import Caches
from stator.operator.components import Child, Trouble
from stator.operator.graphs import CliqueSet, Made, ObservedAdapter
from stator.operator.options import OperatorOptions
from stator.operator.ownership import controller_of
from stator.operator.plan import Json, Plan


class Graphs:
    """DynamoGraphDeployments."""

    kind: Final = kinds.GRAPH

    def __init__(self, caches: Caches, options: OperatorOptions) -> None:
        """Reconcile with these options."""
        self._caches = caches
        self._options = options

    async def observe(self, key: Key) -> graphs.Observed | None:
        """The graph, its components, and everything else that it controls."""
        graph = self._caches.get(self.kind, key)
        if graph is None:
            return None
        uid = graph["metadata"]["uid"]
        made = tuple(Made(value) for value in self._caches.whole(kinds.COMPONENT, uid))
        found = self._clique_set(uid)
        return graphs.Observed(
            graph=graph,
            components=made,
            children=self._caches.owned(uid, kinds.OF_GRAPHS),
            clique_set=found,
            cliques=self._cliques(found) if found else (),
            running=frozenset(item.name for item in made if self._caches.has_pods(Key(key.namespace, item.name))),
            elsewhere=_elsewhere(self._caches, key.namespace),
            pull_secrets=self._caches.registries(key.namespace),
        )

    def subject(self, observed: graphs.Observed) -> Json:
        """The graph."""
        return observed.graph

    def plan(self, observed: graphs.Observed, now: datetime) -> Plan:
        """One pass."""
        return graphs.reconcile(observed, self._options, now)

    def failed(self, observed: graphs.Observed, trouble: Trouble, now: datetime) -> Plan:
        """Say what was refused."""
        return graphs.failed(observed, trouble, now)

    def _clique_set(self, uid: str) -> CliqueSet | None:
        for value in self._caches.whole(kinds.POD_CLIQUE_SET, uid):
            if controller_of(value).get("uid") == uid:
                return CliqueSet(applied=value.pop("applied"), live=value)
        return None

    def _cliques(self, found: CliqueSet) -> tuple[Json, ...]:
        """The cliques of the set, those in scaling groups too."""
        uid = found.live["metadata"]["uid"]
        groups = self._caches.whole(kinds.SCALING_GROUP, uid)
        owners = (uid, *(group["metadata"]["uid"] for group in groups))
        return (*groups, *(clique for owner in owners for clique in self._caches.whole(kinds.POD_CLIQUE, owner)))


class Components:
    """DynamoComponentDeployments."""

    kind: Final = kinds.COMPONENT

    def __init__(self, caches: Caches, options: OperatorOptions) -> None:
        """Reconcile with these options."""
        self._caches = caches
        self._options = options

    async def observe(self, key: Key) -> components.Observed | None:
        """The component and everything that it controls."""
        component = self._caches.get(self.kind, key)
        if component is None:
            return None
        return components.Observed(
            component=component,
            children=self._caches.owned(component["metadata"]["uid"], kinds.OF_COMPONENTS),
            elsewhere=_elsewhere(self._caches, key.namespace),
            pull_secrets=self._caches.registries(key.namespace),
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


class Adapters:
    """DynamoGraphDeploymentScalingAdapters."""

    kind: Final = kinds.ADAPTER

    def __init__(self, caches: Caches) -> None:
        """Adapters depend on no options."""
        self._caches = caches

    async def observe(self, key: Key) -> ObservedAdapter | None:
        """The adapter and the graph that it names."""
        adapter = self._caches.get(self.kind, key)
        if adapter is None:
            return None
        graph = self._caches.get(kinds.GRAPH, Key(key.namespace, adapter["spec"]["dgdRef"]["name"]))
        return ObservedAdapter(adapter=adapter, graph=graph)

    def subject(self, observed: ObservedAdapter) -> Json:
        """The adapter."""
        return observed.adapter

    def plan(self, observed: ObservedAdapter, now: datetime) -> Plan:
        """One pass."""
        return graphs.reconcile_adapter(observed, now)

    def failed(self, observed: ObservedAdapter, trouble: Trouble, now: datetime) -> Plan:
        """An adapter has no conditions: what was refused is in the log, and its graph says it if it is the graph's."""
        del observed, trouble, now
        return Plan()


def _elsewhere(caches: Caches, namespace: str) -> Callable[[str, str], Child | None]:
    def find(kind: str, name: str) -> Child | None:
        wanted: Kind = kinds.named(kind)
        return caches.child(wanted, Key(namespace if wanted.namespaced else "", name))

    return find
