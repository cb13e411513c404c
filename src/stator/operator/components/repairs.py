"""Which repairs are in force: those that stand in the pod templates that run, not those that would be rendered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from stator.model import MAIN
from stator.render import Provenance, RenderedComponent
from stator.render.container import source_name

Json = dict[str, Any]

_RULE = re.compile(r".*-(dyn\d{3})")


def in_force(rendered: RenderedComponent, templates: Mapping[str, Json]) -> tuple[str, ...]:
    """The ids of the rules whose repairs the templates carry, in rule order.

    A repair of a rule that this build does not know any more is found by its ConfigMap.
    """
    entries: dict[str, bool] = {}
    for item in rendered.provenance:
        if item.setter.layer == "repair":
            entries[item.setter.detail] = entries.get(item.setter.detail, True) and _has(item, templates)
    found = {rule for rule, there in entries.items() if there}
    found |= {match[1].upper() for name in config_maps(templates) if (match := _RULE.fullmatch(name))}
    return tuple(sorted(found))


def config_maps(templates: Mapping[str, Json]) -> set[str]:
    """Names of the ConfigMaps that the main containers take their environment from."""
    return {
        source["configMapRef"]["name"]
        for template in templates.values()
        for source in _main(template).get("envFrom") or ()
        if "name" in (source.get("configMapRef") or {})
    }


def is_repair(config_map: str) -> bool:
    """Whether a ConfigMap's name is that of a repair."""
    return bool(_RULE.fullmatch(config_map))


def _has(item: Provenance, templates: Mapping[str, Json]) -> bool:
    """Whether what a repair set is in the container that provenance names (`main`, or `<role>/main`)."""
    role, _, _ = item.container.rpartition("/")
    return all(
        any(_is(item, entry) for entry in _entries(item, _main(template)))
        for name, template in templates.items()
        if role in ("", name)
    )


def _entries(item: Provenance, main: Json) -> Iterator[Json]:
    yield from main.get("env" if item.subject == "env" else "envFrom") or ()


def _is(item: Provenance, entry: Json) -> bool:
    if item.subject == "env":
        return entry.get("name") == item.name and entry.get("value") == item.setter.value
    return source_name(entry) == item.name


def _main(template: Json) -> Json:
    containers = (template.get("spec") or {}).get("containers") or ()
    return next((item for item in containers if item.get("name") == MAIN), {})
