"""Provenance for people and for programs: who set each env entry, envFrom source, flag and probe.

Values are shown as they are written in the manifest. References name their source, never its content; a literal
whose name sounds like a credential, and the user part of a URL, are masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from stator.render.manifest import Manifest, NotRendered, Provenance, RenderedComponent, Setter

SCHEMA_VERSION = 1

_MASK = "***"
_CREDENTIAL = re.compile(
    # MAX_TOKENS and TOKENIZER are about text, not about access.
    r"TOKEN(?!IZ|S(?:$|_))|SECRET|PASSW|CREDENTIAL|API_?KEY|(?:^|_)KEY(?:$|_)|(?:^|_)AUTH(?:$|_)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"(?:secretKeyRef|configMapKeyRef|fieldRef|resourceFieldRef|fileKeyRef) ")
_USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
_SUBJECTS = {"env": "env", "env-from": "envFrom", "flag": "flag", "probe": "probe", "pull-secret": "pull secret"}


def explain_text(manifests: Iterable[Manifest]) -> str:
    """One table per component, columns: what, name, value, who set it and where, and what that replaced."""
    lines: list[str] = []
    for manifest in manifests:
        for component in manifest.components:
            lines += _table(manifest, component)
    return "\n".join(lines) + "\n" if lines else ""


def explain_json(manifests: Iterable[Manifest]) -> str:
    """The same as a JSON document, indented by two, with a newline at the end."""
    text = msgspec.json.encode({"schema_version": SCHEMA_VERSION, "graphs": [explain(item) for item in manifests]})
    return msgspec.json.format(text, indent=2).decode() + "\n"


def explain(manifest: Manifest) -> dict[str, Any]:
    """One graph's provenance as plain JSON values."""
    return {
        "graph": manifest.graph,
        "components": [
            {
                "name": component.name,
                "type": component.type,
                "backend": component.backend,
                "version": str(component.version),
                "repairs": list(component.repairs),
                "provenance": [
                    {
                        "container": item.container,
                        "subject": item.subject,
                        "name": item.name,
                        **_setter(item, item.setter),
                        "replaced": [_setter(item, setter) for setter in item.replaced],
                    }
                    for item in component.provenance
                ],
            }
            for component in manifest.components
        ],
        "not_rendered": [_not_rendered(item) for item in manifest.not_rendered],
    }


def masked(item: Provenance, setter: Setter) -> str:
    """A setter's value as it may be shown."""
    return masked_value(item.name, setter.value) if item.subject == "env" else _USER_INFO.sub(f"{_MASK}@", setter.value)


def masked_value(name: str, value: str) -> str:
    """The value of something called `name` (a variable, an option) as it may be shown."""
    if _CREDENTIAL.search(name) and value and not _REFERENCE.match(value):
        return _MASK
    return _USER_INFO.sub(f"{_MASK}@", value)


def _setter(item: Provenance, setter: Setter) -> dict[str, Any]:
    return {
        "layer": setter.layer,
        "detail": setter.detail,
        "value": masked(item, setter),
        "position": str(setter.position) if setter.position else None,
    }


def _not_rendered(item: NotRendered) -> dict[str, Any]:
    return {"path": item.field, "position": str(item.position) if item.position else None, "why": item.why}


def _table(manifest: Manifest, component: RenderedComponent) -> list[str]:
    version = f"runtime {component.version}"
    rows = [_row(item) for item in component.provenance]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(len(rows[0]))] if rows else []
    head = f"{manifest.graph} {component.name} ({component.type or 'no type'}, {component.backend}, {version})"
    body = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [head, *(f"  {line}" for line in body), ""]


def _row(item: Provenance) -> tuple[str, ...]:
    replaced = "; ".join(f"{masked(item, setter)!r} {who(setter)}" for setter in item.replaced)
    return (
        item.container,
        _SUBJECTS[item.subject],
        item.name,
        masked(item, item.setter),
        who(item.setter),
        f"replaced {replaced}" if replaced else "",
    )


def who(setter: Setter) -> str:
    """`type-default: worker default at graph.yaml:7`: a setter in words."""
    words = f"{setter.layer}: {setter.detail}" if setter.detail else setter.layer
    return f"{words} at {setter.position}" if setter.position else words
