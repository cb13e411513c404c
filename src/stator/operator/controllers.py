"""Which changes lead to which passes: the controllers of all kinds, over one set of caches.

A pass is over the object that owns what changed. Whatever a status is computed from is followed here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime

import msgspec

from stator.kube.apply import Applier
from stator.kube.client import Client
from stator.kube.controller import Controller, Reconcile
from stator.kube.informer import Informer, Mapper, Sink
from stator.kube.resources import POD, SERVICE, Key, Kind
from stator.operator import kinds
from stator.operator.caches import Caches
from stator.operator.capabilities import capable
from stator.operator.execute import Driver, Recorder, Writes
from stator.operator.kinds import KINDS
from stator.operator.metrics import Metrics
from stator.operator.options import FIELD_MANAGER
from stator.operator.plan import Json
from stator.operator.reconcilers import Adapters, Components, Graphs
from stator.operator.settings import Settings
from stator.render import names

_MODEL_SERVICE = "dynamo-model-"
# Grove's label on everything of a PodCliqueSet.
_PART_OF = "app.kubernetes.io/part-of"


class Controllers(msgspec.Struct, frozen=True):
    """The controllers, and the caches they read. Every controller has the kind whose objects it passes over."""

    caches: Caches
    controllers: tuple[tuple[Kind, Controller], ...]

    async def follow(self) -> None:
        """Keep the caches up to date until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self.caches.every:
                group.create_task(informer.run(), name=f"informer {informer.kind}")

    async def work(self, resync: float) -> None:
        """Reconcile until cancelled, and look at everything again every `resync` seconds."""
        async with asyncio.TaskGroup() as group:
            for _, controller in self.controllers:
                group.create_task(controller.run(), name=f"controller {controller.name}")
            group.create_task(self._resync(resync), name="resync")

    @property
    def unsynced(self) -> tuple[Kind, ...]:
        """The kinds whose caches are not in sync yet."""
        return tuple(kind for kind, informer in self.caches.informers.items() if not informer.synced.is_set())

    async def _resync(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            for kind, controller in self.controllers:
                for key in self.caches.informers[kind].store:
                    controller.queue.add(key)


def controllers(
    client: Client,
    settings: Settings,
    found: AbstractSet[Kind],
    *,
    metrics: Metrics,
    recorder: Recorder,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Controllers:
    """Everything that follows and reconciles, for a cluster that has these kinds; nothing runs yet."""
    optional = [kind for kind in kinds.OPTIONAL if kind in found]
    options = capable(settings, found)
    followed = (*kinds.OWN, *kinds.MADE, kinds.INGRESS_CLASS, POD, *optional)
    caches = Caches(client, followed, settings.namespace, pull_secrets=settings.pull_secrets)
    applier = Applier(client, KINDS, manager=FIELD_MANAGER, informers=caches.informers)
    for kind, informer in caches.informers.items():
        informer.subscribe(_forgetting(applier, kind, informer))
    writes = Writes(
        client=client,
        applier=applier,
        caches=caches,
        recorder=recorder,
        metrics=metrics,
        now=now,
    )
    graph_driver = Driver(Graphs(caches, options), writes)
    component_driver = Driver(Components(caches, options), writes)
    adapter_driver = Driver(Adapters(caches), writes)
    made = (
        (kinds.GRAPH, _graphs(graph_driver, caches, settings.workers)),
        (kinds.COMPONENT, _components(component_driver, caches, settings.workers)),
        (kinds.ADAPTER, _adapters(adapter_driver, caches, settings.workers)),
    )
    for kind, controller in made:
        metrics.watch(kind.kind, depth=controller.queue.__len__)
    for kind in caches.informers:
        metrics.watch(kind.kind, lag=_lag(caches, kind))
    return Controllers(caches, made)


def _graphs(driver: Reconcile, caches: Caches, workers: int) -> Controller:
    controller = Controller(kinds.GRAPH.kind, driver, workers=workers)
    controller.follow(caches.informers[kinds.GRAPH])
    for kind in (kinds.COMPONENT, *kinds.OF_GRAPHS):
        if kind in caches:
            controller.follow(caches.informers[kind], owners(kinds.GRAPH))
    for kind in (kinds.POD_CLIQUE, kinds.SCALING_GROUP):
        if kind in caches:
            controller.follow(caches.informers[kind], _graph_of_clique(caches))
    controller.follow(caches.informers[POD], _graph_of_pod)
    controller.follow(caches.informers[SERVICE], _graphs_of_model(caches))
    for informer in caches.pull_secrets.values():
        controller.follow(informer, _beside(caches, kinds.GRAPH))
    return controller


def _components(driver: Reconcile, caches: Caches, workers: int) -> Controller:
    controller = Controller(kinds.COMPONENT.kind, driver, workers=workers)
    controller.follow(caches.informers[kinds.COMPONENT])
    for kind in kinds.OF_COMPONENTS:
        if kind in caches:
            controller.follow(caches.informers[kind], owners(kinds.COMPONENT))
    for informer in caches.pull_secrets.values():
        controller.follow(informer, _beside(caches, kinds.COMPONENT))
    return controller


def _adapters(driver: Reconcile, caches: Caches, workers: int) -> Controller:
    controller = Controller(kinds.ADAPTER.kind, driver, workers=workers)
    controller.follow(caches.informers[kinds.ADAPTER])
    controller.follow(caches.informers[kinds.GRAPH], _adapters_of_graph)
    return controller


def owners(kind: Kind) -> Mapper:
    """To the controller of an object, if it is of this kind."""

    def mapper(value: Json) -> Iterable[Key]:
        metadata = value["metadata"]
        return [
            Key(metadata.get("namespace", ""), reference["name"])
            for reference in metadata.get("ownerReferences") or ()
            if reference.get("controller") and reference["kind"] == kind.kind
        ]

    return mapper


def _graph_of_pod(value: Json) -> Sequence[Key]:
    metadata = value["metadata"]
    name = (metadata.get("labels") or {}).get(names.GRAPH_NAME)
    return [Key(metadata.get("namespace", ""), name)] if name else []


def _graphs_of_model(caches: Caches) -> Mapper:
    """To all graphs beside a model's Service: they share it, and the next one makes it anew when it goes."""
    beside = _beside(caches, kinds.GRAPH)

    def mapper(value: Json) -> Iterable[Key]:
        return beside(value) if value["metadata"]["name"].startswith(_MODEL_SERVICE) else []

    return mapper


def _beside(caches: Caches, kind: Kind) -> Mapper:
    """To all objects of a kind in the same namespace."""

    def mapper(value: Json) -> Iterable[Key]:
        return [key for key in caches.informers[kind].store if key.namespace == value["metadata"].get("namespace")]

    return mapper


def _adapters_of_graph(graph: Json) -> Sequence[Key]:
    metadata = graph["metadata"]
    return [
        Key(metadata["namespace"], f"{metadata['name']}-{component['name'].lower()}")
        for component in graph["spec"].get("components") or ()
        if component.get("scalingAdapter") is not None
    ]


def _graph_of_clique(caches: Caches) -> Mapper:
    """To the graph of a clique's set, which Grove names in a label of all that belongs to it."""

    def mapper(value: Json) -> Iterable[Key]:
        metadata = value["metadata"]
        name = (metadata.get("labels") or {}).get(_PART_OF)
        found = caches.get(kinds.POD_CLIQUE_SET, Key(metadata.get("namespace", ""), name)) if name else None
        return owners(kinds.GRAPH)(found) if found else []

    return mapper


def _forgetting(applier: Applier, kind: Kind, informer: Informer) -> Sink:
    """What is remembered of an object goes when it goes."""

    def sink(key: Key) -> None:
        if key not in informer.store:
            applier.forget(kind, key)

    return sink


def _lag(caches: Caches, kind: Kind) -> Callable[[], float]:
    informer = caches.informers[kind]

    def lag() -> float:
        now = asyncio.get_running_loop().time()
        return now - informer.alive_at if informer.alive_at is not None else now

    return lag
