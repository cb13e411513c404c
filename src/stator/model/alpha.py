"""v1alpha1 documents to graphs: services become components, and each moved value keeps its way back.

The rules are those of the upstream conversion webhook ("up", spoke to hub): dedicated fields of a service build the
container `main`, `extraPodSpec.mainContainer` is laid over it, the rest of `extraPodSpec` is the pod. Values that
v1beta1 cannot hold are kept in `AlphaOnly` if rendering honours them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stator.model import beta
from stator.model.documents import Document, Path
from stator.model.down import PROMOTED, SAME_NAME, service_value
from stator.model.preserved import mapping, preserved, restored
from stator.model.resources import FRONTEND_SIDECAR, MAIN, AlphaOnly, Component, Graph

_GPU = "nvidia.com/gpu"
_CONTAINERS: Path = ("podTemplate", "spec", "containers")
_MAIN: Path = (*_CONTAINERS, 0)


def graph(document: Document, value: Mapping[str, Any], namespace: str) -> Graph:
    """The graph a valid v1alpha1 DynamoGraphDeployment or DynamoComponentDeployment describes.

    `value` is the document's value without nulls. Components come sorted by the services' keys, as upstream's.
    """
    metadata, spec = value["metadata"], value["spec"]
    moved: dict[Path, Path] = {}
    standalone = value["kind"] == "DynamoComponentDeployment"
    if standalone:
        name = spec.get("serviceName", metadata["name"])
        service = _Service(name, spec, ("spec",), ("spec",), moved)
        components: tuple[Component, ...] = (service.component(mapping(preserved(value).get("components"))),)
    else:
        kept = preserved(value)
        components = tuple(
            _Service(
                service.get("serviceName", key),
                service,
                ("spec", "components", index),
                ("spec", "services", key),
                moved,
            ).component(mapping(kept.get("components")))
            for index, (key, service) in enumerate(ordered_services(spec["services"], kept))
        )
        moved["spec", "components"] = ("spec", "services")
        moved["spec", "env"] = ("spec", "envs")
    other = {} if standalone else {name: spec[name] for name in (*beta.GRAPH_OTHER, "pvcs") if name in spec}
    envs = spec.get("envs", ())
    return beta.with_metadata(document, value, namespace, components, env=envs, other=other, moved=moved)


def component_value(name: str, service: Mapping[str, Any]) -> dict[str, Any]:
    """The component a service describes, as a plain value of the v1beta1 shape."""
    return _Service(name, service, (), (), {}).value()


def ordered_services(services: Mapping[str, Any], kept: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The services by key, in the order of their components: the one that was kept, else by key."""
    items = sorted(services.items())
    names = [service.get("serviceName", key) for key, service in items]
    order = kept.get("order")
    if not isinstance(order, list) or sorted(map(str, order)) != sorted(names):
        return items
    return [items[names.index(name)] for name in order]


class _Service:
    """One service on its way to a component.

    `path` is the component's path in the v1beta1 shape, `source` the service's in the document. What builds a part
    also notes in `moved` where that part came from.
    """

    def __init__(
        self, name: str, service: Mapping[str, Any], path: Path, source: Path, moved: dict[Path, Path]
    ) -> None:
        self.name = name
        self.service = service
        self.path = path
        self.source = source
        self.moved = moved
        self.pod: Mapping[str, Any] = service.get("extraPodSpec", {})
        self.overlay: Mapping[str, Any] = self.pod.get("mainContainer", {})

    def move(self, to: Path, source: Path) -> None:
        """Note that the value at `to` (below the component) came from `source` (below the service)."""
        self.moved[(*self.path, *to)] = (*self.source, *source)

    def component(self, kept: Mapping[str, Any]) -> Component:
        """The component; `kept` are patches by component name, for what only v1beta1 can say."""
        service = self.service
        live = self.value()
        patch = kept.get(self.name)
        value = restored(live, patch, lambda each: component_value(self.name, service_value(each)) == live)
        _, sub_kind = self.type()
        alpha = AlphaOnly(
            labels=service.get("labels", {}),
            annotations=service.get("annotations", {}),
            sub_component_type=sub_kind,
            dynamo_namespace=service.get("dynamoNamespace", ""),
            ingress=service.get("ingress"),
        )
        return beta.component({**value, "name": self.name}, self.path, alpha)

    def value(self) -> dict[str, Any]:
        """The component. Dead and deprecated fields are dropped, as upstream's conversion drops or ignores them."""
        service = self.service
        self.moved[self.path] = self.source
        self.move(("name",), ("serviceName",) if "serviceName" in service else ())
        kind, _ = self.type()
        value: dict[str, Any] = {"name": self.name} | ({"type": kind} if kind else {})
        value |= {name: service[name] for name in SAME_NAME if name in service}
        value |= self.shared_memory() | self.features() | self.experimental()
        if template := self.pod_template():
            value["podTemplate"] = template
        return value

    def type(self) -> tuple[str, str]:
        """The type, and the sub-type if it did not become the type."""
        kind, sub_kind = self.service.get("componentType", ""), self.service.get("subComponentType", "")
        if kind == "worker" and sub_kind in PROMOTED:
            self.move(("type",), ("subComponentType",))
            return sub_kind, ""
        self.move(("type",), ("componentType",))
        return kind, sub_kind

    def shared_memory(self) -> dict[str, Any]:
        """`disabled` is a size of nothing."""
        memory = self.service.get("sharedMemory", {})
        field = "disabled" if memory.get("disabled") else "size"
        if not memory.get(field):
            return {}
        self.move(("sharedMemorySize",), ("sharedMemory", field))
        return {"sharedMemorySize": "0" if field == "disabled" else str(memory[field])}

    def features(self) -> dict[str, Any]:
        """Switches and objects that v1beta1 says by presence or by name."""
        value: dict[str, Any] = {}
        if self.service.get("scalingAdapter", {}).get("enabled"):
            value["scalingAdapter"] = {}
        if "frontendSidecar" in self.service:
            value["frontendSidecar"] = FRONTEND_SIDECAR
        if (index := self.cache_mount()) is not None:
            mount = self.service["volumeMounts"][index]
            self.move(("compilationCache",), ("volumeMounts", index))
            self.move(("compilationCache", "pvcName"), ("volumeMounts", index, "name"))
            self.move(("compilationCache", "mountPath"), ("volumeMounts", index, "mountPoint"))
            named = {"name": "pvcName", "mountPoint": "mountPath"}
            value["compilationCache"] = {there: mount[here] for here, there in named.items() if mount.get(here)}
        return value

    def experimental(self) -> dict[str, Any]:
        """What v1beta1 keeps under `experimental`; a feature that is switched off is one that is absent."""
        value: dict[str, Any] = {}
        for name in ("gpuMemoryService", "failover"):
            feature = dict(self.service.get(name, {}))
            if feature.pop("enabled", False):
                self.move(("experimental", name), (name,))
                mode = feature.get("mode", "intraPod")
                value[name] = feature | {"mode": mode[0].upper() + mode[1:]}
        if "checkpoint" in self.service:
            self.move(("experimental", "checkpoint"), ("checkpoint",))
            value["checkpoint"] = self.service["checkpoint"]
        return {"experimental": value} if value else {}

    def cache_mount(self) -> int | None:
        """Index of the volume mount that is the compilation cache: the first that says so."""
        mounts = self.service.get("volumeMounts", ())
        return next((index for index, mount in enumerate(mounts) if mount.get("useAsCompilationCache")), None)

    def pod_template(self) -> dict[str, Any]:
        """The pod template: `main` first, then the sidecars of `extraPodSpec`, then the inline frontend sidecar."""
        template: dict[str, Any] = {}
        if metadata := self.service.get("extraPodMetadata"):
            self.move(("podTemplate", "metadata"), ("extraPodMetadata",))
            template["metadata"] = metadata
        spec = {name: value for name, value in self.pod.items() if name not in ("mainContainer", "containers")}
        self.move(("podTemplate", "spec"), ("extraPodSpec",))
        containers = [main] if (main := self.main()) else []
        for index, container in enumerate(self.pod.get("containers", ())):
            self.move((*_CONTAINERS, len(containers)), ("extraPodSpec", "containers", index))
            containers.append(container)
        if (sidecar := self.service.get("frontendSidecar")) is not None:
            containers.append(self.frontend_sidecar(sidecar, (*_CONTAINERS, len(containers))))
        if containers:
            spec["containers"] = containers
        return template | ({"spec": spec} if spec else {})

    def main(self) -> dict[str, Any]:
        """The container `main`: the service's dedicated fields with `mainContainer` laid over them."""
        overlay = {name: value for name, value in self.overlay.items() if value not in ("", [], {})}
        parts = {
            "env": self.env(),
            "envFrom": overlay.get("envFrom") or self.env_from(),
            "resources": self.resources(),
            "volumeMounts": self.volume_mounts(),
            **{probe: overlay.get(probe) or self.probe(probe) for probe in ("livenessProbe", "readinessProbe")},
        }
        content = overlay | {name: value for name, value in parts.items() if value}
        self.moved.setdefault((*self.path, *_MAIN), (*self.source, "extraPodSpec", "mainContainer"))
        return {"name": MAIN, **{name: value for name, value in content.items() if name != "name"}} if content else {}

    def env(self) -> list[Mapping[str, Any]]:
        """The service's `envs`, with those of `mainContainer` in the place of the same name or at the end."""
        entries: dict[str, tuple[Mapping[str, Any], Path]] = {}
        for index, entry in enumerate(self.service.get("envs", ())):
            entries[entry["name"]] = entry, ("envs", index)
        for index, entry in enumerate(self.overlay.get("env", ())):
            entries[entry["name"]] = entry, ("extraPodSpec", "mainContainer", "env", index)
        if "env" not in self.overlay:
            self.move((*_MAIN, "env"), ("envs",))
        return self.placed("env", list(entries.values()))

    def env_from(self) -> list[Mapping[str, Any]]:
        """`envFromSecret` as a source; used unless `mainContainer` has sources of its own."""
        if not (name := self.service.get("envFromSecret")):
            return []
        self.move((*_MAIN, "envFrom"), ("envFromSecret",))
        return [{"secretRef": {"name": name}}]

    def probe(self, name: str) -> Mapping[str, Any]:
        """The service's own probe; `mainContainer`'s replaces it whole, since a probe has one handler."""
        probe: Mapping[str, Any] = self.service.get(name, {})
        if probe:
            self.move((*_MAIN, name), (name,))
        return probe

    def volume_mounts(self) -> list[Mapping[str, Any]]:
        """`mainContainer`'s mounts, then the service's without the compilation cache."""
        mounts: list[tuple[Mapping[str, Any], Path]] = [
            (mount, ("extraPodSpec", "mainContainer", "volumeMounts", index))
            for index, mount in enumerate(self.overlay.get("volumeMounts", ()))
        ]
        mounts += [
            ({"name": mount["name"], "mountPath": mount["mountPoint"]}, ("volumeMounts", index))
            for index, mount in enumerate(self.service.get("volumeMounts", ()))
            if index != self.cache_mount() and mount.get("mountPoint")
        ]
        return self.placed("volumeMounts", mounts)

    def placed(self, field: str, items: Sequence[tuple[Mapping[str, Any], Path]]) -> list[Mapping[str, Any]]:
        """The items of a list of `main`, each with its way back noted."""
        for index, (_, source) in enumerate(items):
            self.move((*_MAIN, field, index), source)
        return [item for item, _ in items]

    def resources(self) -> dict[str, Any]:
        """Core resource requirements; `mainContainer`'s entries win one by one."""
        own, overlay = self.service.get("resources", {}), self.overlay.get("resources", {})
        if not overlay:
            self.move((*_MAIN, "resources"), ("resources",))
        merged: dict[str, Any] = {}
        for section in ("requests", "limits"):
            item, over = own.get(section, {}), overlay.get(section, {})
            quantities = _quantities(item)
            for name, (_, source) in quantities.items():
                if name not in over:
                    self.move((*_MAIN, "resources", section, name), ("resources", section, *source))
            if content := {name: quantity for name, (quantity, _) in quantities.items()} | over:
                merged[section] = content
        if claims := overlay.get("claims") or own.get("claims"):
            merged["claims"] = claims
        return merged

    def frontend_sidecar(self, sidecar: Mapping[str, Any], to: Path) -> dict[str, Any]:
        """The container that the inline sidecar stands for."""
        self.move(to, ("frontendSidecar",))
        container = {"name": FRONTEND_SIDECAR} | {
            field: sidecar[field] for field in ("image", "args") if field in sidecar
        }
        if "envs" in sidecar:
            self.move((*to, "env"), ("frontendSidecar", "envs"))
            container["env"] = sidecar["envs"]
        if sidecar.get("envFromSecret"):
            self.move((*to, "envFrom"), ("frontendSidecar", "envFromSecret"))
            container["envFrom"] = [{"secretRef": {"name": sidecar["envFromSecret"]}}]
        return container


def _quantities(item: Mapping[str, Any]) -> dict[str, tuple[str, Path]]:
    """Core names of a resource item, each with its quantity (as text, however it was written) and its path there."""
    found: dict[str, tuple[str, Path]] = {
        name: (str(quantity), ("custom", name)) for name, quantity in item.get("custom", {}).items()
    }
    for field, name in (("cpu", "cpu"), ("memory", "memory"), ("gpu", item.get("gpuType") or _GPU)):
        if item.get(field) not in (None, ""):
            found[name] = str(item[field]), (field,)
    return found
