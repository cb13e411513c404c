"""Kubernetes objects as text: byte-stable, in the order people expect, and read by kubectl as what they are.

Keys are sorted, with what identifies a thing first (`apiVersion`, `kind`, `metadata`, `name`), so neither the order
in which a graph was written nor the hash seed shows. YAML readers disagree on plain scalars: Go's resolves `n`,
`1e3` and `0o17` to something else than a string, Python's does not. So a string stands plain only where nobody can
take it for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import yaml

_FIRST = {
    key: rank
    for rank, key in enumerate(
        [
            *("apiVersion", "kind", "metadata", "name", "namespace", "image", "command", "args"),
            *("httpGet", "tcpSocket", "grpc", "exec"),
        ]
    )
}
_PLAIN = re.compile(r"-{0,2}[A-Za-z/][-A-Za-z0-9_./]*(?:[:=,@+ ][-A-Za-z0-9_./]+)*|[0-9]+(?:%|[KMGT]i)")
# YAML 1.1 and Go's resolver: booleans and null in any spelling.
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_UNLIMITED = 1 << 20


def to_yaml(objects: Iterable[Mapping[str, Any]]) -> str:
    """The objects as a stream of YAML documents; the empty string for none."""
    return yaml.dump_all(
        (_ordered(item) for item in objects),
        Dumper=_Dumper,
        default_flow_style=False,
        explicit_start=True,
        allow_unicode=True,
        sort_keys=False,
        width=_UNLIMITED,
    )


def to_json(objects: Iterable[Mapping[str, Any]]) -> str:
    """The objects as one `v1` List, indented by two, with a newline at the end."""
    items = [_ordered(item) for item in objects]
    text = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})
    return msgspec.json.format(text, indent=2).decode() + "\n"


class _Dumper(yaml.CSafeDumper):
    """The C emitter without anchors: two equal subtrees are two texts."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: _Dumper, value: str) -> yaml.Node:
    style = None
    if "\n" in value:
        style = "|"
    elif not _PLAIN.fullmatch(value) or value.lower() in _WORDS:
        style = "'" if value.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _ordered(value: Any) -> Any:
    if isinstance(value, Mapping):
        keys = sorted(value, key=lambda key: (_FIRST.get(key, len(_FIRST)), key))
        return {key: _ordered(value[key]) for key in keys}
    if isinstance(value, (list, tuple)):
        return [_ordered(item) for item in value]
    return value
