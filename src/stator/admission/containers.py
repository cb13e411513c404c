"""What a component's containers ask for: a known runtime, countable resources, a power limit, elastic experts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from stator.admission.multinode import POWER_LIMIT
from stator.admission.subject import Breach, Json, Subject, containers, main_of, templates
from stator.model import MAIN, Component, Path
from stator.model.quantities import quantity
from stator.render import names
from stator.render.images import is_reference
from stator.versions import resolve

PRODUCT = "nvidia.com/gpu.product"
# Watts that a product's boards take, by what their node label says (NVIDIA-H100-80GB-HBM3).
_WATTS: tuple[tuple[re.Pattern[str], int, int], ...] = (
    (re.compile(r"\bH[12]00\b"), 200, 700),
    (re.compile(r"\bB200\b"), 200, 1000),
    (re.compile(r"\bA100-SXM"), 100, 400),
    (re.compile(r"\bL40S\b"), 100, 350),
    (re.compile(r"\bL4\b"), 40, 72),
)
_RAY_FLAGS = ("--data-parallel-backend", "-dpb", "--distributed-executor-backend")
_ELASTIC_FLAG = "--enable-elastic-ep"


def runtime_version(subject: Subject) -> Iterator[Breach]:
    """The runtime's release is known, from the image's tag or an override (ai-dynamo/dynamo#10494).

    Asked when an object is made or its image changes. A DynamoComponentDeployment is let be, unless it is an endpoint
    picker. In files the rule DYN212 says it.
    """
    graph = subject.graph
    if subject.occasion == "file":
        return
    for component in graph.components:
        if graph.kind == "DynamoComponentDeployment" and component.type != "epp":
            continue
        image = (component.beside or main_of(component)).get("image")
        if component.runtime_version_override or not image:
            continue
        found = resolve(None, image)
        if found.core is None:
            yield Breach(
                rule="runtime-version",
                path=(*component.path, "runtimeVersionOverride"),
                what=f"component {component.name}: runtimeVersionOverride is required",
                why=found.why,
                remedy="set it to the runtime's release, such as 1.6.1, or use an image tag X.Y.Z",
                given=image,
            )


def image_reference(subject: Subject) -> Iterator[Breach]:
    """An image is a reference: an API server takes any text, and a node waits for it for ever (`InvalidImageName`)."""
    for component in subject.graph.components:
        for path, template in templates(component):
            for where, container in containers(path, template):
                image = container.get("image")
                if image and not is_reference(str(image)):
                    yield Breach(
                        rule="image-reference",
                        path=(*where, "image"),
                        what=f'component {component.name}: "{image}" is no image reference',
                        remedy="write it as [REGISTRY/]NAME[:TAG][@DIGEST], the name in lower case",
                    )


def resources(subject: Subject) -> Iterator[Breach]:
    """Amounts that no node has: below zero, parts of a device, a request above its limit."""
    for component in subject.graph.components:
        for path, template in templates(component):
            for where, container in containers(path, template):
                yield from _resources(component, where, container)


def _resources(component: Component, path: Path, container: Json) -> Iterator[Breach]:
    given = container.get("resources") or {}
    amounts: dict[tuple[str, str], Decimal] = {}
    about = f'component {component.name}, container "{container.get("name", "")}":'
    for kind in ("requests", "limits"):
        for name, text in (given.get(kind) or {}).items():
            where = (*path, "resources", kind, name)
            try:
                amount = amounts[kind, name] = quantity(str(text))
            except ValueError:
                yield _impossible(where, f"{about} {kind} of {name} is {text}, which is beyond counting")
                continue
            if amount < 0:
                yield _impossible(where, f"{about} {kind} of {name} is {text}, which is below zero")
            elif "/" in name and amount != amount.to_integral_value():
                yield _impossible(where, f"{about} {kind} of {name} is {text}, and devices are whole")
    for (kind, name), amount in amounts.items():
        # Of devices both are equal, which is rendering's to say.
        if kind == "requests" and "/" not in name and amount > amounts.get(("limits", name), amount):
            what = f"{about} requests {given[kind][name]} {name} and limits it to {given['limits'][name]}"
            yield _impossible((*path, "resources", kind, name), what)


def _impossible(path: Path, what: str) -> Breach:
    return Breach(rule="resources", path=path, what=what, remedy="write an amount that a node can give")


def power_limit(subject: Subject) -> Iterator[Breach]:
    """A limit on the power of each GPU: whole watts within the range of the product the pods are bound to."""
    for component in subject.graph.components:
        annotations = (component.pod_template.get("metadata") or {}).get("annotations") or {}
        if (text := annotations.get(POWER_LIMIT)) is not None:
            yield from _power_limit(component, text)


def _power_limit(component: Component, text: str) -> Iterator[Breach]:
    own = (*component.path, "podTemplate")
    annotation = (*own, "metadata", "annotations", POWER_LIMIT)
    about = f"component {component.name}: the power limit"
    spec = component.pod_spec

    def breach(what: str, path: Path, remedy: str, given: Any = None) -> Breach:
        return Breach(rule="power-limit", path=path, what=f"{about} {what}", remedy=remedy, given=given)

    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", text):
        yield breach(f'"{text}" is no whole number of watts above zero', annotation, 'write it as "400"')
        return
    product = (spec.get("nodeSelector") or {}).get(PRODUCT)
    if not product:
        remedy = "bind the pods to one product, such as NVIDIA-H100-80GB-HBM3"
        yield breach(f"needs a nodeSelector {PRODUCT}", (*own, "spec", "nodeSelector"), remedy)
    elif (watts := _range(product)) and not watts[0] <= int(text) <= watts[1]:
        yield breach(
            f"of {text} W is not within {watts[0]} to {watts[1]} W, those of {product}", annotation, "change it"
        )
    if spec.get("nodeName"):
        yield breach("does not go with nodeName", (*own, "spec", "nodeName"), "select nodes by their labels")
    if spec.get("resourceClaims"):
        yield breach("does not go with resource claims", (*own, "spec", "resourceClaims"), "ask for nvidia.com/gpu")


def unknown_product(component: Component) -> str:
    """The product of a power-limited component whose range is not known here, else `""`."""
    annotations = (component.pod_template.get("metadata") or {}).get("annotations") or {}
    product = (component.pod_spec.get("nodeSelector") or {}).get(PRODUCT) or ""
    return product if POWER_LIMIT in annotations and product and _range(product) is None else ""


def _range(product: str) -> tuple[int, int] | None:
    return next(((low, high) for pattern, low, high in _WATTS if pattern.search(product)), None)


def elastic_experts(subject: Subject) -> Iterator[Breach]:
    """Elastic expert parallelism of vLLM over Ray: one replica that grows by itself, started by an own command."""
    for component in subject.graph.components:
        main = main_of(component)
        words = [word for text in (*(main.get("command") or ()), *(main.get("args") or ())) for word in text.split()]
        if _ELASTIC_FLAG not in words or not _by_ray(subject, component, words):
            continue
        about = f"component {component.name}: {_ELASTIC_FLAG} with Ray"
        if not main.get("command"):
            yield Breach(
                rule="elastic-experts",
                path=(*_main_path(component), "command"),
                what=f"{about} needs a command",
                why="the image's own would start more than one engine",
                remedy="write the whole command",
            )
        if (component.replicas or 0) > 1:
            yield Breach(
                rule="elastic-experts",
                path=(*component.path, "replicas"),
                what=f"{about} runs as one replica, not {component.replicas}",
                why="the one engine grows and shrinks by itself",
                remedy="set replicas to 1",
            )


def _by_ray(subject: Subject, component: Component, words: list[str]) -> bool:
    chosen = {
        words[index + 1] if index + 1 < len(words) else "" for index, word in enumerate(words) if word in _RAY_FLAGS
    }
    chosen |= {word.partition("=")[2] for word in words if word.partition("=")[0] in _RAY_FLAGS}
    annotations: Mapping[str, str] = {**subject.graph.annotations, **component.alpha.annotations}
    return "ray" in chosen or annotations.get(names.VLLM_EXECUTOR, "").lower() == "ray"


def _main_path(component: Component) -> Path:
    for path, template in templates(component):
        for where, container in containers(path, template):
            if container.get("name") == MAIN:
                return where
    return component.path
