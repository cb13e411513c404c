"""What one API version cannot say, kept in an annotation on the way to the other, and put back on the way home.

Upstream keeps it as sparse JSON under the same annotations. Here it is a merge patch (RFC 7386) from what the way
back alone gives to what was written, by component name:

    v1beta1 document    {"services":   {NAME: patch}, FIELD: patch, "serviceKeys": {NAME: KEY}}
    v1alpha1 document   {"components": {NAME: patch}, FIELD: patch, "order": [NAME, ...]}

Fields that are in the document beat kept ones: a patch counts
only while the document still converts to what it is with the patch applied.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from stator.errors import Problem
from stator.model.documents import Document

Json = dict[str, Any]

ANNOTATIONS = {
    "DynamoGraphDeployment": "nvidia.com/dgd-spec",
    "DynamoComponentDeployment": "nvidia.com/dcd-spec",
}
STATUS_ANNOTATIONS = {
    "DynamoGraphDeployment": "nvidia.com/dgd-status",
    "DynamoComponentDeployment": "nvidia.com/dcd-status",
}

# On a component that a graph has made: the graph's KV transfer policy as JSON, which no component's spec can say.
TRANSFER_POLICY = "stator.dev/kv-transfer-policy"


def preserved(value: Mapping[str, Any], annotations: Mapping[str, str] = ANNOTATIONS) -> Mapping[str, Any]:
    """What a document's annotation keeps; nothing if there is none, or none that can be read."""
    return _read(value, annotations[value["kind"]])


def transfer_policy(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """The KV transfer policy of a component's graph; nothing if there is none, or none that can be read."""
    policy = _read(value, TRANSFER_POLICY)
    return policy if all(isinstance(policy.get(field), str) for field in ("domain", "labelKey")) else {}


def _read(value: Mapping[str, Any], annotation: str) -> Mapping[str, Any]:
    text = (mapping(value.get("metadata")).get("annotations") or {}).get(annotation)
    try:
        kept = json.loads(text) if text else {}
    except ValueError:
        return {}
    return mapping(kept)


def preserved_problems(document: Document, value: Mapping[str, Any]) -> list[Problem]:
    """Why the annotation cannot be read, if it is there and cannot."""
    name = ANNOTATIONS.get(value["kind"], "")
    text = (value["metadata"].get("annotations") or {}).get(name)
    if text is None:
        return []
    try:
        readable = isinstance(json.loads(text), dict)
    except ValueError:
        readable = False
    if readable:
        return []
    return [
        Problem(
            what=f"annotation {name} is no JSON object",
            position=document.locate(("metadata", "annotations", name)),
            why="conversion keeps there what the other API version cannot say",
            remedy="restore the annotation, or remove it and set the fields it kept anew",
        )
    ]


def with_preserved(
    value: Mapping[str, Any], kept: Mapping[str, Any], annotations_by_kind: Mapping[str, str] = ANNOTATIONS
) -> Json:
    """The document with its annotation replaced by one for `kept`, or removed if there is nothing to keep.

    No annotations and an empty map of them are the same to the API server.
    """
    name = annotations_by_kind[value["kind"]]
    before = mapping(value.get("metadata"))
    annotations = {key: text for key, text in (before.get("annotations") or {}).items() if key != name}
    if kept:
        annotations[name] = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    metadata = {key: item for key, item in before.items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    if not (metadata or "metadata" in value):
        return dict(value)
    return {**value, "metadata": metadata}


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one: kept data of another shape does not count."""
    return value if isinstance(value, Mapping) else {}


def merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Json:
    """The patch that makes `after` of `before`; a null removes a field. Neither holds nulls itself."""
    patch: Json = {key: None for key in before if key not in after}
    for key, new in after.items():
        old = before.get(key)
        if key in before and isinstance(old, Mapping) and isinstance(new, Mapping):
            if inner := merge_patch(old, new):
                patch[key] = inner
        elif key not in before or old != new or type(old) is not type(new):
            patch[key] = new
    return patch


def patched(value: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    """The value with a merge patch applied."""
    result = {key: item for key, item in value.items() if not (key in patch and patch[key] is None)}
    for key, new in patch.items():
        if isinstance(new, Mapping):
            old = result.get(key)
            # A field that is new comes as it was kept: there is nothing in it to remove.
            result[key] = patched(old, new) if isinstance(old, Mapping) else new
        elif new is not None:
            result[key] = new
    return result


def restored(live: Mapping[str, Any], patch: Any, counts: Callable[[Json], bool], only: tuple[str, ...] = ()) -> Json:
    """`live` with its patch, if that `counts`; else with the fields of `only` that the patch has, if those do."""
    patch = mapping(patch)
    candidates = (patch, {key: item for key, item in patch.items() if key in only and key not in live})
    return next(
        (candidate for each in candidates if each and counts(candidate := patched(live, each))),
        dict(live),
    )
