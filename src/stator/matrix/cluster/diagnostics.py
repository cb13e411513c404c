"""What is kept of a cell before its namespace goes: its objects, events and logs, without a Secret's values.

objects.json         graph, components, workloads, pods, services and ConfigMaps, as the server has them
events.txt           what happened, oldest first
logs/<pod>.<container>.log      the last lines; `.previous.log` of the run before a restart
unread.txt           what could not be read and why, if anything
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from stator.kube.client import Client
from stator.kube.errors import ApiError
from stator.kube.resources import CONFIG_MAP, DEPLOYMENT, EVENT, POD, REPLICA_SET, SERVICE
from stator.local.supervisor.concealing import Concealer
from stator.matrix.results import LogTail
from stator.operator import kinds

Json = dict[str, Any]

LINES = 2000
_TAIL = 40
_KINDS = (kinds.GRAPH, kinds.COMPONENT, DEPLOYMENT, REPLICA_SET, POD, SERVICE, CONFIG_MAP)


class Kept(msgspec.Struct, frozen=True):
    """The ends of all logs, for the report, and what could not be read."""

    logs: tuple[LogTail, ...]
    unread: tuple[str, ...]


async def keep(client: Client, namespace: str, directory: Path, concealer: Concealer) -> Kept:
    """Write everything there is of a namespace into `directory`, anew. Raises OSError if the disk refuses."""
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "logs").mkdir(parents=True, mode=0o700)
    objects: list[Json] = []
    unread: list[str] = []
    for kind in _KINDS:
        try:
            listed = (await client.list(kind, namespace)).items
        except ApiError as error:
            unread.append(f"{kind.plural}: {error.message}")
            continue
        objects += [{"apiVersion": kind.api_version, "kind": kind.kind, **_without_fields(item)} for item in listed]
    (directory / "objects.json").write_bytes(msgspec.json.format(msgspec.json.encode(objects), indent=1))
    try:
        events = [_line(item) for item in sorted((await client.list(EVENT, namespace)).items, key=_moment)]
    except ApiError as error:
        unread.append(f"events: {error.message}")
    else:
        (directory / "events.txt").write_text(concealer.text("".join(events)), encoding="utf-8")
    tails = []
    for pod in (item for item in objects if item["kind"] == POD.kind):
        for container, previous in _runs(pod):
            name = f"{pod['metadata']['name']}.{container}{'.previous' if previous else ''}"
            try:
                text = await client.logs(pod["metadata"]["name"], namespace, container, lines=LINES, previous=previous)
            except ApiError as error:
                unread.append(f"log of {name}: {error.message}")
                continue
            lines = [concealer.line(line.encode()).decode("utf-8", "replace") for line in text.splitlines()]
            (directory / "logs" / f"{name}.log").write_text("\n".join([*lines, ""]), encoding="utf-8")
            shown = f"{container} (the run before)" if previous else container
            tails.append(LogTail(pod=pod["metadata"]["name"], container=shown, lines=tuple(lines[-_TAIL:])))
    if unread:
        (directory / "unread.txt").write_text("".join(f"{line}\n" for line in unread), encoding="utf-8")
    return Kept(tuple(tails), tuple(unread))


def _without_fields(value: Json) -> Json:
    """An object without who manages which field: three times as long as the rest, and read by nobody."""
    metadata = {key: item for key, item in value["metadata"].items() if key != "managedFields"}
    return {**value, "metadata": metadata}


def _runs(pod: Json) -> Iterator[tuple[str, bool]]:
    """Each container that has run, and whether a run before it is meant."""
    status = pod.get("status") or {}
    for item in (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())):
        if set(item.get("state") or {}) & {"running", "terminated"}:
            yield item["name"], False
        if (item.get("lastState") or {}).get("terminated"):
            yield item["name"], True


def _moment(event: Json) -> str:
    series = event.get("series") or {}
    return str(series.get("lastObservedTime") or event.get("eventTime") or event.get("deprecatedLastTimestamp") or "")


def _line(event: Json) -> str:
    about = event.get("regarding") or {}
    times = int((event.get("series") or {}).get("count") or event.get("deprecatedCount") or 1)
    repeated = f" ({times} times)" if times > 1 else ""
    note = " ".join(str(event.get("note") or "").split())
    return (
        f"{_moment(event)}  {event.get('type', '')}  {event.get('reason', '')}  "
        f"{about.get('kind', '')}/{about.get('name', '')}: {note}{repeated}\n"
    )
