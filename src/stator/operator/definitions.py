"""Whether the custom resource definitions of a cluster are the ones this operator was made for.

A definition that another release brought lacks fields, and an API server drops what a definition lacks without a word:
what a user sets does nothing, and nobody sees why. Upgrades of a chart leave definitions behind, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stator.errors import Problem
from stator.kube.client import Client
from stator.kube.errors import ApiError, NotFoundError
from stator.kube.resources import CUSTOM_RESOURCE_DEFINITION

Json = dict[str, Any]

REMEDY = "run: stator install --part definitions | kubectl apply --server-side -f -"
_SHOWN = 8


async def outdated(client: Client, wanted: Sequence[Json]) -> tuple[Problem, ...]:
    """What the cluster's definitions lack of the wanted ones, one problem each; empty if they lack nothing.

    What cannot be read is said too, and then the remedy is what the refusal asks for, not other definitions.
    """
    problems = []
    for definition in wanted:
        name = definition["metadata"]["name"]
        try:
            live = await client.get(CUSTOM_RESOURCE_DEFINITION, name)
        except NotFoundError:
            problems.append(Problem(what=f"the definition {name} is missing", remedy=REMEDY))
        except ApiError as error:
            problems.append(
                Problem(what=f"the definition {name} cannot be compared: {error.message}", remedy=error.remedy)
            )
        else:
            if missing := missing_fields(live, definition):
                more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
                lacks = f"the definition {name} lacks {', '.join(missing[:_SHOWN])}{more}"
                problems.append(Problem(what=lacks, remedy=REMEDY))
    return tuple(problems)


def missing_fields(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> tuple[str, ...]:
    """The fields of the wanted definition that the live one would drop, as `VERSION PATH`, without those below them."""
    there = {version["name"]: version for version in live["spec"]["versions"]}
    missing: list[str] = []
    for version in wanted["spec"]["versions"]:
        name = version["name"]
        if name not in there:
            missing.append(name)
            continue
        has, wants = (item["schema"]["openAPIV3Schema"] for item in (there[name], version))
        missing += (f"{name} {path}" for path in _missing(has, wants, ""))
    return tuple(missing)


def _missing(live: Mapping[str, Any], wanted: Mapping[str, Any], path: str) -> Iterator[str]:
    if live.get("x-kubernetes-preserve-unknown-fields"):
        return
    for field, schema in (wanted.get("properties") or {}).items():
        place = f"{path}.{field}".removeprefix(".")
        found = (live.get("properties") or {}).get(field)
        if found is None:
            yield place
        else:
            yield from _missing(found, schema, place)
    for keyword in ("items", "additionalProperties"):
        inner, outer = wanted.get(keyword), live.get(keyword)
        if isinstance(inner, Mapping) and isinstance(outer, Mapping):
            yield from _missing(outer, inner, f"{path}[]")
