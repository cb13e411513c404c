"""What the graph reconciler looks at: the graph, the components that were made of it, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec

from stator.operator.components.observed import Child
from stator.operator.components.status import Trouble, TroubleReason
from stator.operator.conditions import find
from stator.operator.ownership import controller_of
from stator.render import names

Json = dict[str, Any]


class Made(msgspec.Struct, frozen=True):
    """A DynamoComponentDeployment as the server has it (v1beta1)."""

    value: Json

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.value["metadata"]["name"])

    @property
    def uid(self) -> str:
        """Its uid."""
        return str(self.value["metadata"]["uid"])

    @property
    def component(self) -> str:
        """The component of the graph that it is."""
        return str(self.value["spec"].get("name") or self.labels.get(names.COMPONENT, ""))

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.value["metadata"].get("labels") or {}

    @property
    def generation(self) -> str:
        """The worker generation; `""` for what is no worker, and for workers that were made before there were any."""
        return self.labels.get(names.WORKER_HASH, "")

    @property
    def is_worker(self) -> bool:
        """Whether it belongs to a generation."""
        return self.value["spec"].get("type") in names.WORKER_TYPES

    @property
    def age(self) -> tuple[str, str]:
        """Sorts older ones first, equally old ones by name."""
        return str(self.value["metadata"].get("creationTimestamp", "")), self.name

    @property
    def deleting(self) -> bool:
        """Whether it is on its way out."""
        return "deletionTimestamp" in self.value["metadata"]

    @property
    def wanted(self) -> int:
        """The replicas that it is to have; the API's default is 1."""
        replicas = self.value["spec"].get("replicas")
        return 1 if replicas is None else int(replicas)

    @property
    def status(self) -> Json:
        """Its `status.component`: what exists."""
        return (self.value.get("status") or {}).get("component") or {}

    @property
    def is_seen(self) -> bool:
        """Whether its status is of its newest generation; an older one speaks of pods that may be gone."""
        seen = int((self.value.get("status") or {}).get("observedGeneration") or 0)
        return seen >= int(self.value["metadata"].get("generation", 0))

    @property
    def exist(self) -> int:
        """The replicas that exist."""
        return int(self.status.get("replicas") or 0)

    @property
    def available(self) -> int:
        """The replicas that serve; kinds that do not count those count the Ready ones."""
        return int(self.status.get("availableReplicas", self.status.get("readyReplicas")) or 0)

    @property
    def is_ready(self) -> bool:
        """Whether it says of its newest generation that it is Available."""
        return self.is_seen and not self.deleting and self.condition.get("status") == "True"

    @property
    def condition(self) -> Json:
        """Its condition Available, empty before it has one."""
        return find((self.value.get("status") or {}).get("conditions") or (), "Available")

    @property
    def trouble(self) -> Trouble | None:
        """What somebody has to do something about, as it says of its newest generation."""
        found = self.condition
        if not self.is_seen or found.get("reason") not in get_args(TroubleReason):
            return None
        return Trouble(found["reason"], found.get("message", ""))

    @property
    def is_held(self) -> bool:
        """Whether it has more pods than it is to have, and they will not get fewer by themselves.

        It says that it is Ready (the count of its workload is somebody else's), or that somebody has to do something.
        """
        return self.is_seen and self.exist > self.wanted and (self.is_ready or self.trouble is not None)

    @property
    def restart(self) -> str:
        """The restart id that its pods are to carry."""
        spec = self.value["spec"]
        templates = (spec.get("podTemplate"), *(role.get("podTemplate") for role in spec.get("roles") or ()))
        for template in templates:
            annotations = ((template or {}).get("metadata") or {}).get("annotations") or {}
            if found := annotations.get(names.RESTART):
                return str(found)
        return ""

    def scaled(self, replicas: int, owner: Json) -> Json:
        """The same, to be applied with another number of replicas."""
        metadata = self.value["metadata"]
        kept = {key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata}
        return {
            "apiVersion": self.value["apiVersion"],
            "kind": self.value["kind"],
            "metadata": {**kept, "ownerReferences": [owner]},
            "spec": {**self.value["spec"], "replicas": replicas},
        }


class CliqueSet(msgspec.Struct, frozen=True, kw_only=True):
    """The PodCliqueSet of a graph: as the server has it, and the fields of it that this operator applied."""

    live: Json
    applied: Json


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """One graph: the DynamoGraphDeployment as the server has it (v1beta1), and what exists of it.

    `components` are the DynamoComponentDeployments that it controls, whole. `children` are all other objects that it
    controls, `elsewhere` finds what else stands under a kind and a name. `clique_set` is the PodCliqueSet that it
    controls, `cliques` are the PodCliques and PodCliqueScalingGroups of that one, whole. `running` names the components
    of which pods are still there, also such as are ending.
    """

    graph: Json
    components: tuple[Made, ...] = ()
    children: tuple[Child, ...] = ()
    clique_set: CliqueSet | None = None
    cliques: tuple[Json, ...] = ()
    running: frozenset[str] = frozenset()
    elsewhere: Callable[[str, str], Child | None] = lambda _kind, _name: None
    pull_secrets: Mapping[str, tuple[str, ...]] = {}

    @property
    def uid(self) -> str:
        """The graph's."""
        return str(self.graph["metadata"]["uid"])

    @property
    def generation(self) -> int:
        """The graph's `metadata.generation`."""
        return int(self.graph["metadata"].get("generation", 0))

    @property
    def annotations(self) -> Mapping[str, str]:
        """The graph's."""
        return self.graph["metadata"].get("annotations") or {}

    @property
    def status(self) -> Json:
        """The graph's status before this pass."""
        return self.graph.get("status") or {}

    def child(self, kind: str, name: str) -> Child | None:
        """What exists of that kind and name, whoever it belongs to."""
        own = next((found for found in self.children if (found.kind, found.name) == (kind, name)), None)
        return own or self.elsewhere(kind, name)

    @property
    def started(self) -> frozenset[str]:
        """The names of the components that have pods, or are to have some."""
        started = {made.component for made in self.own_components if made.wanted or made.exist}
        if self.clique_set is not None:
            prefix = f"{self.clique_set.live['metadata']['name']}-0-"
            running = {item["metadata"]["name"] for item in self.cliques if (item.get("spec") or {}).get("replicas")}
            names_of = (str(component["name"]) for component in self.graph["spec"]["components"])
            started |= {name for name in names_of if f"{prefix}{name.lower()}" in running}
        return frozenset(started)

    @property
    def own_components(self) -> tuple[Made, ...]:
        """The components that it controls, oldest first."""
        own = (made for made in self.components if controller_of(made.value).get("uid") == self.uid)
        return tuple(sorted(own, key=lambda made: made.age))
