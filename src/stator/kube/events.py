"""Events about objects, as `kubectl describe` shows them: one for a change, a count for what repeats.

The same thing said again about the same object within `SERIES_SECONDS` raises the count of the event that is there
(`events.k8s.io/v1`, "series"); after that it is a new event. An object that never stops changing uses up its share:
`BURST` events, then one every `REFILL_SECONDS`, the numbers of client-go.

An event is a courtesy. One that cannot be written is logged and forgotten; it never fails what it tells about.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import OrderedDict
from collections.abc import Callable
from random import Random
from typing import Literal, Protocol

import structlog
from msgspec import Struct

from stator.kube.client import Client
from stator.kube.errors import ApiError, NotFoundError
from stator.kube.lease import own_identity
from stator.kube.reasons import logged
from stator.kube.resources import EVENT, Json, Key

log = structlog.get_logger(__name__)

SERIES_SECONDS = 360.0
BURST = 25
REFILL_SECONDS = 300.0
REMEMBERED = 4096
# Limits of the server (validation of events.k8s.io/v1).
_LONGEST_NOTE = 1024
_LONGEST_WORD = 128
_LONGEST_NAME = 236


class Occurrence(Protocol):
    """What happened. `reason` is one word that programs read, `message` a sentence for people."""

    @property
    def type(self) -> Literal["Normal", "Warning"]:
        """Whether somebody should look."""

    @property
    def reason(self) -> str:
        """CamelCase."""

    @property
    def message(self) -> str:
        """Any length: what is too long is cut."""


class _Said(Struct):
    key: Key
    count: int
    at: float


class _Share(Struct):
    tokens: float
    at: float


class Recorder:
    """Tells events in the name of one controller, such as `stator.dev/operator`."""

    def __init__(
        self,
        client: Client,
        controller: str,
        *,
        instance: str = "",
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
        random: Random | None = None,
    ) -> None:
        self._client = client
        self._controller = controller
        self._instance = (instance or own_identity())[:_LONGEST_WORD]
        self._now = now
        self._random = random or Random()  # noqa: S311 # names events apart, guards nothing
        self._said: OrderedDict[tuple[str, str, str, str], _Said] = OrderedDict()
        self._shares: OrderedDict[str, _Share] = OrderedDict()

    async def record(self, subject: Json, event: Occurrence, *, action: str = "Reconcile") -> None:
        """Tell one event about an object (with `apiVersion` and `kind`). Raises nothing of the API."""
        uid = str(subject["metadata"].get("uid", ""))
        same = (uid, event.type, event.reason, event.message)
        clock = asyncio.get_running_loop().time()
        if not self._may(uid, clock):
            log.debug("event left out", reason=event.reason, message=event.message)
            return
        try:
            before = self._said.get(same)
            if before and clock - before.at < SERIES_SECONDS and await self._repeat(before, clock):
                return
            key = await self._create(subject, event, action)
        except ApiError as error:
            log.warning("event not written", about=event.reason, **logged(error))
            return
        self._said[same] = _Said(key, 1, clock)
        self._said.move_to_end(same)
        if len(self._said) > REMEMBERED:
            self._said.popitem(last=False)

    def _may(self, uid: str, clock: float) -> bool:
        """Take one event of an object's share."""
        share = self._shares.pop(uid, None) or _Share(float(BURST), clock)
        share.tokens = min(share.tokens + (clock - share.at) / REFILL_SECONDS, float(BURST))
        share.at = clock
        self._shares[uid] = share
        if len(self._shares) > REMEMBERED:
            self._shares.popitem(last=False)
        if share.tokens < 1.0:
            return False
        share.tokens -= 1.0
        return True

    async def _repeat(self, before: _Said, clock: float) -> bool:
        """Count once more in the event that is there; False if it is not there any more."""
        series = {"count": before.count + 1, "lastObservedTime": self._time()}
        try:
            await self._client.patch(EVENT, before.key.name, before.key.namespace, {"series": series})
        except NotFoundError:
            return False  # events live for an hour, and people delete them
        before.count += 1
        before.at = clock
        return True

    async def _create(self, subject: Json, event: Occurrence, action: str) -> Key:
        metadata = subject["metadata"]
        name = f"{metadata['name'][:_LONGEST_NAME]}.{self._random.getrandbits(64):016x}"
        key = Key(metadata.get("namespace") or "default", name)
        regarding = {
            "apiVersion": subject["apiVersion"],
            "kind": subject["kind"],
            **{each: metadata[each] for each in ("name", "namespace", "uid", "resourceVersion") if each in metadata},
        }
        value = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.kind,
            "metadata": {"namespace": key.namespace, "name": key.name},
            "eventTime": self._time(),
            "type": event.type,
            "reason": event.reason[:_LONGEST_WORD],
            "note": _cut(event.message),
            "action": action,
            "regarding": regarding,
            "reportingController": self._controller,
            "reportingInstance": self._instance,
        }
        await self._client.create(EVENT, value)
        return key

    def _time(self) -> str:
        return self._now().astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(text: str) -> str:
    """The text in at most as many bytes as the server takes."""
    encoded = text.encode()
    if len(encoded) <= _LONGEST_NOTE:
        return text
    return encoded[: _LONGEST_NOTE - 3].decode(errors="ignore") + "…"
