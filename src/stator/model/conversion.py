"""Whole documents from one API version to the other and back, without loss.

What converts is the rules' work (`alpha` up, `down` down); what does not is kept in an annotation (`preserved`).
Going there and back gives the document that was written, field by field, whatever is in it. Any part of a document may
be missing: of an object that several people apply, the API server converts each one's share alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from stator.model import alpha, beta, status
from stator.model.down import service_value
from stator.model.identity import ADAPTER_KIND, GROUP
from stator.model.preserved import mapping, merge_patch, preserved, restored, with_preserved

Json = dict[str, Any]

BETA, ALPHA = f"{GROUP}/v1beta1", f"{GROUP}/v1alpha1"
# What a service alone can say: it may be put back whatever became of the rest.
SERVICE_ONLY = ("labels", "annotations", "subComponentType", "dynamoNamespace", "ingress", "autoscaling")
# What a v1alpha1 graph alone can say.
GRAPH_ONLY = ("pvcs",)

_FIELDS = ("annotations", "labels", "backendFramework", *beta.GRAPH_OTHER)


class _Spec(NamedTuple):
    """A spec taken apart: the graph's own fields, and its services or components by component name, in order."""

    fields: Json
    parts: dict[str, Json]


def converted(value: Mapping[str, Any], version: Literal["v1beta1", "v1alpha1"]) -> Json:
    """The document in the given version of its own kind, `status` included; the same document if it is in it already.

    Knows the kinds that have two versions. What is there must be of the types its schema says.
    """
    if value["apiVersion"] == f"{GROUP}/{version}":
        return dict(value)
    up = version == "v1beta1"
    if value["kind"] == ADAPTER_KIND:
        return _adapter(value, up=up)
    result = to_beta(value) if up else to_alpha(value)
    return status.to_beta(result) if up else status.to_alpha(result)


def to_beta(value: Mapping[str, Any], *, reversible: bool = True) -> Json:
    """The v1beta1 document for a valid v1alpha1 one without nulls.

    Reversible, its annotation also keeps how things were spelled (`envs` of a service, not of its container), so that
    `to_alpha` gives the very same document; else only what v1beta1 cannot say.
    """
    if "spec" not in value:
        return {**value, "apiVersion": BETA}
    standalone = value["kind"] == "DynamoComponentDeployment"
    kept = preserved(value)
    written, keys = _services(value, kept)
    live = {name: _up(name, service, standalone=standalone) for name, service in written.parts.items()}
    patches = mapping(kept.get("components"))
    parts = {
        name: restored(component, patches.get(name), _back(component, name, standalone=standalone))
        for name, component in live.items()
    }
    rest = {key: item for key, item in kept.items() if key not in {"components", "order"}}
    said = _fields_up(written.fields)
    fields = restored(said, rest, lambda each: _fields_up(_fields_down(each)) == said)
    back = {name: merge_patch(_down(parts[name], standalone=standalone), written.parts[name]) for name in parts}
    keep = merge_patch(_fields_down(fields), written.fields)
    if not reversible:
        back = {name: {key: patch[key] for key in SERVICE_ONLY if patch.get(key)} for name, patch in back.items()}
        keep = {key: keep[key] for key in GRAPH_ONLY if key in keep}
    keep |= {"services": patches} if (patches := {name: patch for name, patch in back.items() if patch}) else {}
    if reversible and (others := {name: key for name, key in keys.items() if name != key}):
        keep["serviceKeys"] = others
    if standalone:
        spec = fields | next(iter(parts.values()))
    elif "services" in value["spec"]:
        spec = fields | {"components": [{"name": name} | part for name, part in parts.items()]}
    else:
        spec = fields
    return with_preserved({**value, "apiVersion": BETA, "spec": spec}, keep)


def to_alpha(value: Mapping[str, Any]) -> Json:
    """The v1alpha1 document for a valid v1beta1 one without nulls; its annotation keeps what v1alpha1 cannot say."""
    if "spec" not in value:
        return {**value, "apiVersion": ALPHA}
    standalone = value["kind"] == "DynamoComponentDeployment"
    kept = preserved(value)
    written = _components(value)
    patches = mapping(kept.get("services"))
    parts = {
        name: restored(
            _down(component, standalone=standalone),
            patches.get(name),
            _forth(component, name, standalone=standalone),
            only=SERVICE_ONLY,
        )
        for name, component in written.parts.items()
    }
    rest = {key: item for key, item in kept.items() if key not in {"services", "serviceKeys"}}
    live = _fields_down(written.fields)
    fields = restored(live, rest, lambda each: _fields_up(each) == _fields_up(live), only=GRAPH_ONLY)
    keep = merge_patch(_fields_up(fields), written.fields)
    back = {name: merge_patch(_up(name, parts[name], standalone=standalone), written.parts[name]) for name in parts}
    keep |= {"components": patches} if (patches := {name: patch for name, patch in back.items() if patch}) else {}
    if standalone:
        spec = fields | next(iter(parts.values()))
    elif "components" not in value["spec"]:
        spec = fields
    else:
        kept_keys = mapping(kept.get("serviceKeys"))
        keys = {name: str(kept_keys.get(name, name)) if "serviceName" in parts[name] else name for name in parts}
        spec = fields | {"services": {keys[name]: service for name, service in parts.items()}}
        if list(parts) != sorted(parts, key=keys.__getitem__):
            keep["order"] = list(parts)
    return with_preserved({**value, "apiVersion": ALPHA, "spec": spec}, keep)


def _services(value: Mapping[str, Any], kept: Mapping[str, Any]) -> tuple[_Spec, dict[str, str]]:
    """A v1alpha1 spec taken apart, and the key of each service in the document."""
    spec = value["spec"]
    if value["kind"] == "DynamoComponentDeployment":
        name = spec.get("serviceName", _own_name(value))
        service = {key: item for key, item in spec.items() if key != "backendFramework"}
        return _Spec(_only(spec, "backendFramework"), {name: service}), {}
    services = alpha.ordered_services(spec.get("services", {}), kept)
    keys = {service.get("serviceName", key): key for key, service in services}
    fields = {key: item for key, item in spec.items() if key != "services"}
    return _Spec(fields, {name: spec["services"][key] for name, key in keys.items()}), keys


def _components(value: Mapping[str, Any]) -> _Spec:
    spec = value["spec"]
    if value["kind"] == "DynamoComponentDeployment":
        component = {key: item for key, item in spec.items() if key != "backendFramework"}
        return _Spec(_only(spec, "backendFramework"), {spec.get("name", _own_name(value)): component})
    parts = {
        item["name"]: {key: field for key, field in item.items() if key != "name"}
        for item in spec.get("components", ())
    }
    return _Spec({key: item for key, item in spec.items() if key != "components"}, parts)


def _own_name(value: Mapping[str, Any]) -> str:
    return str(value.get("metadata", {}).get("name", ""))


def _adapter(value: Mapping[str, Any], *, up: bool) -> Json:
    """A scaling adapter: the versions call the part of the graph it scales by two names."""
    version, old, new = (BETA, "serviceName", "componentName") if up else (ALPHA, "componentName", "serviceName")
    result = {**value, "apiVersion": version}
    if reference := value.get("spec", {}).get("dgdRef"):
        renamed = {new if key == old else key: item for key, item in reference.items()}
        result["spec"] = {**value["spec"], "dgdRef": renamed}
    return result


def _up(name: str, service: Mapping[str, Any], *, standalone: bool) -> Json:
    """The component without the name that its place in the graph gives it."""
    component = alpha.component_value(name, service)
    if not (standalone and "serviceName" in service):
        component.pop("name")
    return component


def _down(component: Mapping[str, Any], *, standalone: bool) -> Json:
    named = {"serviceName": component["name"]} if standalone and "name" in component else {}
    return named | service_value(component)


def _back(live: Mapping[str, Any], name: str, *, standalone: bool) -> Callable[[Json], bool]:
    """Whether a component differs from the `live` one only in what no service can say."""
    return lambda component: _up(name, _down(component, standalone=standalone), standalone=standalone) == live


def _forth(component: Mapping[str, Any], name: str, *, standalone: bool) -> Callable[[Json], bool]:
    """Whether a service says of `component` all that a service can say."""
    said = _up(name, _down(component, standalone=standalone), standalone=standalone)
    return lambda service: (
        service.get("serviceName", name) == name and _up(name, service, standalone=standalone) == said
    )


def _fields_up(fields: Mapping[str, Any]) -> Json:
    return _only(fields, *_FIELDS) | ({"env": fields["envs"]} if "envs" in fields else {})


def _fields_down(fields: Mapping[str, Any]) -> Json:
    return _only(fields, *_FIELDS) | ({"envs": fields["env"]} if "env" in fields else {})


def _only(fields: Mapping[str, Any], *names: str) -> Json:
    return {name: fields[name] for name in names if name in fields}
