"""Leader election over a Lease: of all replicas of a program at most one works.

The protocol is that of client-go's `leaderelection`, so replicas of other languages could take part. Whether a holder
is gone is judged by how long its record has not changed, on our own monotonic clock: no clock of another machine is
believed, and a wall clock that steps changes nothing. The holder stops working when it could not renew for
`renew_within` seconds; another takes over `duration` seconds after the last renewal. The time between the two is for
work to stop in.

What is written carries the version that was read, so two replicas that try at once cannot both succeed.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import socket
import uuid
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import structlog
from msgspec import Struct

from stator.errors import ExitCode, Position, Problem, StatorError
from stator.kube.client import Client
from stator.kube.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from stator.kube.reasons import logged
from stator.kube.resources import LEASE, Json, Key

log = structlog.get_logger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]


class Terms(Struct, frozen=True, kw_only=True):
    """Seconds: how long a renewal is good for, how long renewing may fail, and between attempts (with jitter)."""

    duration: int = 15
    renew_within: float = 10.0
    retry: float = 2.0


class LeaseLostError(StatorError):
    """This replica leads no more, and its work has been stopped. A restart makes it wait for its turn."""

    exit_code = ExitCode.UNDECIDED


class Election:
    """`await Election(client, key).run(work)`: `work` runs while this replica leads.

    `now` gives the times that are written for people to read; `on_leader` hears of every new leader, `""` for none.
    """

    def __init__(
        self,
        client: Client,
        key: Key,
        *,
        identity: str = "",
        terms: Terms = Terms(),  # noqa: B008 # frozen
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
        random: Random | None = None,
        on_leader: Callable[[str], None] | None = None,
    ) -> None:
        self.key = key
        self.identity = identity or own_identity()
        self.leader = ""
        self._client = client
        self._terms = terms
        self._now = now
        self._random = random or Random()  # noqa: S311 # spreads attempts, guards nothing
        self._on_leader = on_leader
        self._lease: Json | None = None  # as we wrote it last
        self._seen: tuple[str, str] = ("", "")  # uid and version of the record we saw last, and since when
        self._seen_at = 0.0
        self._renewed_at = 0.0

    @property
    def is_leader(self) -> bool:
        """Whether this replica leads."""
        return self.leader == self.identity

    async def run(self, work: Work) -> None:
        """Wait to lead, then work until the work ends; give the lease back then, or when cancelled.

        Raises `LeaseLostError` after the work was stopped because the lease could not be kept, and what work raises.
        """
        await self._acquire()
        working = asyncio.create_task(work(), name="leading")
        renewing = asyncio.create_task(self._renew(), name="renewing the lease")
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            try:
                await self._stop(working, renewing)
            finally:
                lost = renewing.done()
                renewing.cancel()
                outcome, _ = await asyncio.gather(renewing, working, return_exceptions=True)
                if not lost:
                    await self._release()
                    self._follow("")
        if isinstance(outcome, Exception):
            raise outcome
        await working

    async def _stop(self, working: asyncio.Task[None], renewing: asyncio.Task[None]) -> None:
        """End the work: in its own time while the lease is renewed, before another takes over when it is not."""
        working.cancel()
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({working}, timeout=self._terms.duration - self._terms.renew_within)
        finally:
            working.cancel()  # for the second time, if it still runs: there is no grace left
            await asyncio.wait({working})

    async def _acquire(self) -> None:
        taken = await self._attempt()
        while not taken:
            await asyncio.sleep(self._terms.retry * (1.0 + 1.2 * self._random.random()))
            taken = await self._attempt()
        log.info("leading", lease=str(self.key), identity=self.identity)

    async def _renew(self) -> None:
        """Never returns. Raises `LeaseLostError`."""
        try:
            while True:
                await asyncio.sleep(self._terms.retry)
                async with asyncio.timeout_at(self._renewed_at + self._terms.renew_within):
                    while not await self._attempt():
                        if not self.is_leader:
                            raise self._lost(f"{self.leader} has taken it")
                        await asyncio.sleep(self._terms.retry)
        except TimeoutError:
            raise self._lost(f"it could not be renewed for {self._terms.renew_within:g} seconds") from None

    def _lost(self, why: str) -> LeaseLostError:
        if self.is_leader:
            self._follow("")
        subject = f"Lease/{self.key}"
        log.error("lease lost", lease=str(self.key), identity=self.identity, leader=self.leader, reason=why)
        remedy = "nothing: another replica works, and this one waits for its turn after a restart"
        return LeaseLostError(
            Problem(what="lost the lease of the leader", position=Position(subject), why=why, remedy=remedy)
        )

    async def _attempt(self) -> bool:
        """Take or renew the lease. False if another holds it, or the server did not do it in time."""
        started = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self._terms.renew_within / 2):
                taken = await self._take()
        except (ConflictError, AlreadyExistsError):
            self._lease = None  # another was faster, or somebody edited it: read it next time
            return False
        except (ApiError, TimeoutError) as error:
            log.warning("lease not reached", lease=str(self.key), **logged(error))
            return False
        if taken:
            self._renewed_at = started
        return taken

    async def _take(self) -> bool:
        current = self._lease
        if current is None:
            try:
                current = await self._client.get(LEASE, self.key.name, self.key.namespace)
            except NotFoundError:
                metadata = {"namespace": self.key.namespace, "name": self.key.name}
                value = {"apiVersion": LEASE.api_version, "kind": LEASE.kind, "metadata": metadata}
                self._wrote(await self._client.create(LEASE, {**value, "spec": self._record({})}))
                return True
            if self._is_held(current):
                return False
        self._lease = None  # whether it is written is unknown until the answer is there
        self._wrote(await self._client.replace(LEASE, {**current, "spec": self._record(current.get("spec") or {})}))
        return True

    def _is_held(self, lease: Json) -> bool:
        """Whether another replica holds it, and has renewed it lately."""
        metadata, spec = lease["metadata"], lease.get("spec") or {}
        version = (str(metadata["uid"]), str(metadata["resourceVersion"]))
        now = asyncio.get_running_loop().time()
        if version != self._seen:
            self._seen, self._seen_at = version, now
        holder = spec.get("holderIdentity") or ""
        good_for = float(spec.get("leaseDurationSeconds") or self._terms.duration)
        held = bool(holder) and holder != self.identity and now < self._seen_at + good_for
        if held:
            self._follow(holder)
        return held

    def _record(self, before: Json) -> Json:
        """The `spec` that says we lead."""
        now = _micro_time(self._now())
        ours = before.get("holderIdentity") == self.identity
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._terms.duration,
            "acquireTime": before["acquireTime"] if ours and "acquireTime" in before else now,
            "renewTime": now,
            "leaseTransitions": int(before.get("leaseTransitions") or 0) + (0 if ours or not before else 1),
        }

    def _wrote(self, lease: Json) -> None:
        self._lease = lease
        self._follow(self.identity)

    async def _release(self) -> None:
        """Let the next replica lead at once. When that fails it waits until the lease runs out."""
        if self._lease is None:
            return
        spec = {**self._lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        try:
            async with asyncio.timeout(self._terms.renew_within / 2):
                await self._client.replace(LEASE, {**self._lease, "spec": spec})
        except (ApiError, TimeoutError) as error:
            log.warning("lease not released", lease=str(self.key), **logged(error))
        else:
            log.info("lease released", lease=str(self.key), identity=self.identity)
        self._lease = None

    def _follow(self, leader: str) -> None:
        if leader == self.leader:
            return
        self.leader = leader
        if leader and leader != self.identity:
            log.info("waiting for the leader", lease=str(self.key), identity=self.identity, leader=leader)
        if self._on_leader:
            self._on_leader(leader)


def own_identity() -> str:
    """A name no other process has: the host's (in a pod the pod's), and one for this process."""
    return f"{os.environ.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4()}"


def _micro_time(when: dt.datetime) -> str:
    return when.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
