"""Which of Grove's objects is a component: a PodClique of its own, or a PodCliqueScalingGroup of several.

Grove makes them of the PodCliqueSet, for its one replica under the name `<set>-0-<clique or group>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

Json = dict[str, Any]

CLIQUE: Literal["PodClique"] = "PodClique"
GROUP: Literal["PodCliqueScalingGroup"] = "PodCliqueScalingGroup"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A component on Grove: the object that scales it, the replicas it is to have, and the object if it exists."""

    component: str
    kind: Literal["PodClique", "PodCliqueScalingGroup"]
    name: str
    desired: int
    live: Json | None = None

    @property
    def status(self) -> Json:
        """The live object's status."""
        return (self.live or {}).get("status") or {}

    def count(self, field: str) -> int:
        """A number of the status."""
        return int(self.status.get(field) or 0)

    def counts(self) -> dict[str, int]:
        """The replicas by state, as a component's status has them."""
        serving = "readyReplicas" if self.kind == CLIQUE else "availableReplicas"
        fields = ("replicas", "updatedReplicas", serving, "scheduledReplicas")
        return {field: self.count(field) for field in fields}


def parts_of(wanted: Json, components: Sequence[str], cliques: Sequence[Json]) -> Mapping[str, Part]:
    """The parts of a rendered PodCliqueSet by component; `cliques` are the live objects."""
    template, name = wanted["spec"]["template"], wanted["metadata"]["name"]
    live = {(item["kind"], item["metadata"]["name"]): item for item in cliques}
    groups = {item["name"]: item["replicas"] for item in template.get("podCliqueScalingGroups") or ()}
    single = {item["name"]: item["spec"]["replicas"] for item in template["cliques"]}
    parts = {}
    for component in components:
        short = component.lower()
        kind = GROUP if short in groups else CLIQUE
        full = f"{name}-0-{short}"
        desired = groups[short] if short in groups else single[short]
        parts[component] = Part(component=component, kind=kind, name=full, desired=desired, live=live.get((kind, full)))
    return parts
