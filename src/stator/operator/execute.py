"""Carries out what reconcilers plan: the one place where the operator writes.

A pass observes, plans, and applies what differs. What a write was answered with is taken into the caches at once, and
the pass observes and plans again: so a status is never computed from what was there before a write. Only a pass that
has nothing left to apply writes the status, if it differs, and tells the events of that change.

What a pass that had nothing to do has read is remembered with its fingerprint. As long as that is the same, the next
pass ends at once: planning is a pure function of what is read.

What the API server refuses, and a person has to settle, becomes a condition (`_REFUSALS`). Everything else that goes
wrong leaves the status alone, and the pass is repeated after a growing delay.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import uuid4

import msgspec

from stator.errors import StatorError
from stator.kube.apply import Applier, OwnershipConflictError
from stator.kube.client import Client
from stator.kube.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    FieldConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    TooLargeError,
)
from stator.kube.ownership import digest
from stator.kube.resources import SECRET, Key, Kind, key_of
from stator.kube.store import Entry, Store
from stator.operator.caches import BY_LABEL, Caches, Read, noted, of_object
from stator.operator.completed import completed
from stator.operator.components.status import Trouble, TroubleReason
from stator.operator.kinds import KINDS, named
from stator.operator.log import bound, logger
from stator.operator.metrics import Judgement, Metrics, Result
from stator.operator.options import FIELD_MANAGER
from stator.operator.plan import Deletion, Event, Json, Keys, Patch, Plan
from stator.operator.ssh_keys import key_pair
from stator.render.objects.mpi_keys import mpi_key_secret

# What is written differs from what was read after one round; after three it differs because somebody writes too.
_ROUNDS = 4
_UNSETTLED = 5.0
_STATUSES = 50_000
# How long the first status of an object may wait for what is being made beneath it, in seconds.
_EARLY = 3.0


class _Refusal(NamedTuple):
    """How an exception of a write is told, and in how many seconds it is tried again without any change."""

    error: type[StatorError]
    reason: TroubleReason
    requeue: float


_REFUSALS = (
    _Refusal(OwnershipConflictError, "OwnershipConflict", 60.0),
    _Refusal(FieldConflictError, "FieldConflict", 60.0),
    _Refusal(InvalidError, "Refused", 300.0),
    _Refusal(BadRequestError, "Refused", 300.0),
    _Refusal(TooLargeError, "Refused", 300.0),
    _Refusal(ForbiddenError, "Forbidden", 60.0),
    _Refusal(NotFoundError, "NotInstalled", 60.0),
)

_REFUSED = tuple(refusal.error for refusal in _REFUSALS)

Observed = TypeVar("Observed")


class Reconciler(Protocol[Observed]):
    """One kind's reconciler and how it observes. Only `observe` may ask the API server."""

    @property
    def kind(self) -> Kind:
        """The kind of the reconciled objects."""

    async def observe(self, key: Key) -> Observed | None:
        """What there is; None if the object is gone."""

    def subject(self, observed: Observed) -> Json:
        """The reconciled object."""

    def plan(self, observed: Observed, now: datetime) -> Plan:
        """One pass."""

    def failed(self, observed: Observed, trouble: Trouble, now: datetime) -> Plan:
        """What to say of a pass that could not do its work."""


class Recorder(Protocol):
    """Where events go."""

    async def record(self, subject: Json, event: Event) -> None:
        """Tell one event about an object. Must not raise."""


class Writes(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that carrying out a plan takes."""

    client: Client
    applier: Applier
    caches: Caches
    recorder: Recorder
    metrics: Metrics
    now: Callable[[], datetime]


class Driver(Generic[Observed]):
    """The passes over the objects of one kind: `await driver(key)`, the seconds until the next look or None."""

    def __init__(self, reconciler: Reconciler[Observed], writes: Writes) -> None:
        self._reconciler = reconciler
        self._writes = writes
        self._statuses: OrderedDict[Key, tuple[str, bytes, bytes]] = OrderedDict()
        self._settled: dict[Key, _Read] = {}
        self._early: dict[Key, float] = {}
        self._log = logger(__name__)

    async def __call__(self, key: Key) -> float | None:
        """One pass. Raises what is to be repeated."""
        kind = self._reconciler.kind.kind
        clock = asyncio.get_running_loop().time
        start, result = clock(), _Outcome()
        if self._is_settled(key):
            self._writes.metrics.reconciled(kind, result.value, clock() - start)
            return None
        with bound(kind=kind, object=str(key), reconcile=uuid4().hex[:8]):
            try:
                again = await self._pass(key, result)
            except ApiError:
                result.value = "retried"
                raise
            except BaseException:
                result.value = "failed"
                raise
            finally:
                self._writes.metrics.reconciled(kind, result.value, clock() - start)
        return again

    async def _pass(self, key: Key, result: _Outcome) -> float | None:
        deleted: set[str] = set()
        for _ in range(_ROUNDS):
            look = await self._look(key)
            if look is None:
                self._forget(key)
                return None
            observed, plan = look.observed, look.plan
            refused, changed = await self._carry_out(plan, deleted, result)
            if refused:
                return await self._refused(observed, refused, result)
            if early := self._too_early(key, plan):
                return early
            if not changed:
                return await self._end(key, look, result)
        # Somebody else writes the same objects: let others have their turn before the next attempt.
        self._log.warning("does not settle", rounds=_ROUNDS)
        return _UNSETTLED

    async def _carry_out(self, plan: Plan, deleted: set[str], result: _Outcome) -> tuple[list[StatorError], bool]:
        """Write all but the status; what was refused, and whether anything was applied. `deleted` are uids."""
        refused, changed = await self._apply(plan)
        for patch in plan.patch:
            await self._patch(patch)
            result.changed()
        for deletion in plan.delete:
            if deletion.uid not in deleted:
                deleted.add(deletion.uid)
                await self._delete(deletion)
                result.changed()
        if changed:
            result.changed()
        return refused, changed

    async def _end(self, key: Key, look: _Look[Observed], result: _Outcome) -> float | None:
        """There is nothing left to apply: say so."""
        if await self._say(look.observed, look.plan, result):
            self._settle_said(key, look)
        elif result.value == "unchanged":
            self._settle(key, look.plan, look.read)
        return look.plan.requeue_after

    async def _look(self, key: Key) -> _Look[Observed] | None:
        """What there is, and what is to be done about it; None if the object is gone."""
        with noted() as reads:
            observed = await self._reconciler.observe(key)
            if observed is None:
                return None
            plan = self._reconciler.plan(observed, self._writes.now())
        own = of_object(self._reconciler.kind, key)
        return _Look(observed, plan, self._read(key, tuple(read for read in dict.fromkeys(reads) if read != own)))

    def _read(self, key: Key, reads: tuple[Read, ...]) -> _Read:
        """What is to be read of this object, and these reads besides, as it is now."""
        fingerprint = self._writes.caches.fingerprint
        return _Read(fingerprint((of_object(self._reconciler.kind, key),)), fingerprint(reads), reads)

    def _is_settled(self, key: Key) -> bool:
        settled = self._settled.get(key)
        return settled is not None and self._read(key, settled.reads) == settled

    def _settle(self, key: Key, plan: Plan, read: _Read) -> None:
        """There was nothing to do, and will not be until something that was read is different.

        A plan that wants to be looked at again, or that depends on what is not in the caches, is not over.
        """
        if plan.requeue_after is None and not plan.keys:
            self._settled[key] = read

    def _settle_said(self, key: Key, look: _Look[Observed]) -> None:
        """There is nothing to do either if nothing is different but the status, and that is as it was planned.

        A plan that its own status changes is made anew, in the pass that the write brings.
        """
        plan = look.plan
        live = self._writes.caches.get(self._reconciler.kind, key)
        if plan.status is None or plan.feeds_back or plan.patch or plan.delete or live is None:
            return
        read = self._read(key, look.read.reads)
        is_all = read.besides == look.read.besides and _unsaid(live) == _unsaid(self._reconciler.subject(look.observed))
        if is_all and not self._differs(live, plan.status):
            self._settle(key, plan, read)

    def _too_early(self, key: Key, plan: Plan) -> float:
        """Seconds for which the first status waits, so that it is written once and not for every child that is made."""
        if not plan.early:
            self._early.pop(key, None)
            return 0.0
        now = asyncio.get_running_loop().time()
        left = self._early.setdefault(key, now) + _EARLY - now
        return left if left > 0 else 0.0

    async def _apply(self, plan: Plan) -> tuple[list[StatorError], bool]:
        """Apply what differs. What is refused does not hold up the rest, except for the records."""
        refused: list[StatorError] = []
        changed = False
        if plan.records is not None:
            try:
                changed = await self._put(plan.records)
            except _REFUSED as error:
                return [error], False
        for keys in plan.keys:
            try:
                await self._make(keys)
            except _REFUSED as error:
                refused.append(error)
        for item in plan.apply:
            try:
                changed = await self._put(item) or changed
            except _REFUSED as error:
                refused.append(error)
        return refused, changed

    async def _put(self, item: Json) -> bool:
        """Apply one object if it differs; whether that changed it."""
        kind, key = KINDS.of(item), key_of(item)
        applied = await self._writes.applier.apply(completed(item), await self._entry(kind, key))
        if applied.action not in ("created", "changed"):
            return False
        self._log.info(applied.action, target=f"{kind.kind}/{key.name}")
        return True

    async def _make(self, keys: Keys) -> None:
        """Make the Secret if it is not there. It is asked for by name and its content is not looked at."""
        try:
            await self._writes.client.get(SECRET, keys.name, keys.namespace)
        except NotFoundError:
            private, public = key_pair()
            secret = mpi_key_secret(keys.namespace, keys.name, private=private, public=public)
            try:
                await self._writes.client.create(SECRET, secret)
            except AlreadyExistsError:
                return
            self._log.info("created", target=f"Secret/{keys.name}")

    async def _entry(self, kind: Kind, key: Key) -> Entry | None:
        """What the cache has of an object; where it does not follow all of them, the server is asked."""
        informer = self._writes.caches.informers.get(kind)
        found = informer.store.entry(key) if informer else None
        if found is not None or (informer and kind not in BY_LABEL):
            return found
        try:
            live = await self._writes.client.get(kind, key.name, key.namespace)
        except NotFoundError:
            return None
        return Store(manager=FIELD_MANAGER).put(live).after

    async def _patch(self, patch: Patch) -> None:
        kind = named(patch.kind)
        operations = list(patch.operations)
        live = await self._writes.client.patch(kind, patch.name, patch.namespace, operations, patch_type="json")
        self._saw(kind, live)
        self._log.info("patched", target=f"{kind.kind}/{patch.name}")

    async def _delete(self, deletion: Deletion) -> None:
        """Delete it unless it is gone. A conflict is repeated: the next look knows whose the name is by then."""
        kind = named(deletion.kind)
        try:
            await self._writes.client.delete(
                kind, deletion.name, deletion.namespace, uid=deletion.uid, propagation=deletion.propagation
            )
        except NotFoundError:
            return
        self._log.info("deleted", target=f"{kind.kind}/{deletion.name}")

    async def _refused(self, observed: Observed, errors: list[StatorError], result: _Outcome) -> float | None:
        """Say what was refused; the delay is the shortest of theirs."""
        errors = [error for error in errors if not _is_terminating(error)]
        if not errors:
            return None  # the namespace is being deleted, and this object with it
        refusals = [next(row for row in _REFUSALS if isinstance(error, row.error)) for error in errors]
        message = "; ".join(dict.fromkeys(_told(error) for error in errors))
        trouble = Trouble(refusals[0].reason, message)
        self._log.warning("refused", reason=trouble.reason, message=message)
        await self._say(observed, self._reconciler.failed(observed, trouble, self._writes.now()), result)
        result.value = "refused"
        return min(refusal.requeue for refusal in refusals)

    async def _say(self, observed: Observed, plan: Plan, result: _Outcome) -> bool:
        """Write the status if it differs, then tell what is new. Whether it was written."""
        if plan.status is None:
            return False
        subject = self._reconciler.subject(observed)
        key = key_of(subject)
        self._writes.metrics.judged((self._reconciler.kind.kind, key), judgement(plan.status))
        if not self._differs(subject, plan.status):
            return False
        metadata = subject["metadata"]
        value = {
            "apiVersion": self._reconciler.kind.api_version,
            "kind": self._reconciler.kind.kind,
            "metadata": {"name": key.name, "namespace": key.namespace, "uid": metadata["uid"]},
            "status": plan.status,
        }
        try:
            # The status is this operator's alone: what somebody else put there is not carried.
            live = await self._writes.client.apply(
                self._reconciler.kind, value, manager=FIELD_MANAGER, force=True, subresource="status"
            )
        except NotFoundError:
            return False
        self._note(key, metadata["uid"], digest(plan.status), digest(live.get("status") or {}))
        self._saw(self._reconciler.kind, live)
        result.changed()
        for event in plan.events:
            await self._writes.recorder.record(subject, event)
        return True

    def _note(self, key: Key, uid: str, wanted: bytes, there: bytes) -> None:
        """Remember what the server made of a status, if it is not what was sent."""
        self._statuses.pop(key, None)
        if wanted != there:
            self._statuses[key] = (uid, wanted, there)
            if len(self._statuses) > _STATUSES:
                self._statuses.popitem(last=False)

    def _differs(self, subject: Json, status: Json) -> bool:
        """Whether the status has to be written: the server may have kept it in another form than it was sent in."""
        wanted, there = digest(status), digest(subject.get("status") or {})
        return wanted != there and self._statuses.get(key_of(subject)) != (subject["metadata"]["uid"], wanted, there)

    def _saw(self, kind: Kind, live: Json) -> None:
        """Take an answer into the cache."""
        if informer := self._writes.caches.informers.get(kind):
            informer.saw(live)

    def _forget(self, key: Key) -> None:
        self._statuses.pop(key, None)
        self._settled.pop(key, None)
        self._early.pop(key, None)
        self._writes.metrics.judged((self._reconciler.kind.kind, key), None)


class _Read(NamedTuple):
    """What a pass has read of the caches: the fingerprints of its object and of all `reads` besides."""

    own: int
    besides: int
    reads: tuple[Read, ...]


class _Look(NamedTuple, Generic[Observed]):
    """One observation, and the plan that follows from it."""

    observed: Observed
    plan: Plan
    read: _Read


class _Outcome:
    """What came of a pass so far."""

    def __init__(self) -> None:
        self.value: Result = "unchanged"

    def changed(self) -> None:
        self.value = "changed"


def judgement(status: Json) -> Judgement:
    """What the rules say in a status: of a component, or of a graph whose components have no status of their own."""
    parts: list[Any] = [status.get("component") or {}]
    parts += [
        part for part in (status.get("components") or {}).values() if "PodClique" in part.get("componentKind", "")
    ]
    return Judgement(
        findings=frozenset((item["rule"], item["severity"]) for part in parts for item in part.get("findings") or ()),
        repairs=frozenset(rule for part in parts for rule in part.get("repairs") or ()),
    )


def _unsaid(live: Json) -> Json:
    """The object without what a write of its status changes."""
    metadata = {key: value for key, value in live["metadata"].items() if key != "resourceVersion"}
    return {**live, "metadata": metadata, "status": None}


def _is_terminating(error: StatorError) -> bool:
    causes = error.details.get("causes") or () if isinstance(error, ForbiddenError) else ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def _told(error: StatorError) -> str:
    """The error as a condition's message has it: what, and who or which field."""
    if isinstance(error, FieldConflictError):
        owners = ", ".join(f"{item.field} is set by {item.manager}" for item in error.conflicts)
        return f"{error.request.subject}: {owners or error.message}"
    [problem] = error.problems
    return ": ".join(part for part in (problem.what, problem.why) if part)
