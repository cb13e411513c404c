"""The life of one container: start, watch, restart with back-off, end.

The main process leads a session of its own. Termination signals it alone, so that it can end its children in its own
order (SGLang does); whatever of the session is left when it has ended is killed, as with a container's first process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path

import msgspec

from stator.local import processes
from stator.local.kubelet import probing
from stator.local.kubelet.backoff import Backoff, next_restart
from stator.local.plan import ContainerPlan, ProbeKind, reveal
from stator.local.settings import Settings
from stator.local.state import ContainerStatus, ProbeFailure
from stator.local.supervisor.concealing import Concealer
from stator.local.supervisor.logs import OutputPump, RotatingLog
from stator.local.supervisor.prober import Outcome, beginning, check
from stator.local.supervisor.reasons import canary_essence

# How long to wait for the rest of a dead container's output: nobody can be writing any more.
_LAST_OUTPUT = 1.0


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What every container of a graph is given. `changed` is called after each change of a status."""

    marker: str
    directory: Path
    settings: Settings
    changed: Callable[[], None]
    concealer: Concealer


class _End(Enum):
    EXITED = "exited"
    FAILED_PROBE = "failed probe"
    STOPPED = "stopped"


def _reason(error: OSError | ValueError) -> str:
    """Why a process could not be started, in the system's words."""
    return ((error.strerror if isinstance(error, OSError) else "") or str(error)).lower()


class ContainerRunner:
    """Runs one container. `status` is always current."""

    def __init__(self, plan: ContainerPlan, log_name: str, grace: float, surroundings: Surroundings) -> None:
        self.plan = plan
        self.status = ContainerStatus(name=plan.name, image=plan.image, runtime=plan.runtime, log=log_name)
        self._grace = grace
        self._surroundings = surroundings
        self._stop = asyncio.Event()
        # `env=` replaces the supervisor's own environment: a container gets what was planned, and the marker.
        self._env = {name: reveal(value) for name, value in plan.env.items()}
        self._env[processes.MARKER] = surroundings.marker

    def stop(self) -> None:
        """Ask the container to end; `run` returns when it has."""
        self._stop.set()

    async def run(self, *, to_completion: bool = False) -> None:
        """Run until stopped, restarting whenever it ends; an init container only until it succeeds."""
        backoff = Backoff()
        while not self._stop.is_set():
            began = time.monotonic()
            end = await self._run_once()
            if end is _End.STOPPED or (to_completion and end is _End.EXITED and self.status.exit_code == 0):
                break
            delay, backoff = next_restart(backoff, ran=time.monotonic() - began, settings=self._surroundings.settings)
            await self._wait_to_restart(delay)
        completed = to_completion and self.status.exit_code == 0
        self._update(state="Terminated", reason="", message="", process=None, ready=completed)

    async def _wait_to_restart(self, delay: float) -> None:
        ran = self.status.reason != "RuntimeMissing"
        if ran:
            message = f"back-off {delay:g}s restarting failed container={self.plan.name}" if delay else ""
            self._update(state="Waiting", reason="CrashLoopBackOff" if delay else "", message=message)
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._stop.wait()
        # What could not even be started is tried again, but that is no restart.
        if ran and not self._stop.is_set():
            self._update(restarts=self.status.restarts + 1)

    async def _run_once(self) -> _End:
        """One run, from start to the last process of the session."""
        log = RotatingLog(self._surroundings.directory / self.status.log, self._surroundings.settings)
        try:
            started = await self._start(log)
            if started is None:
                return _End.EXITED
            process, pump = started
            try:
                return await self._until_end(process)
            finally:
                await self._finish(process, pump)
        finally:
            log.close()

    async def _start(self, log: RotatingLog) -> tuple[asyncio.subprocess.Process, OutputPump] | None:
        read_end, write_end = os.pipe()
        loop = asyncio.get_running_loop()
        _, pump = await loop.connect_read_pipe(
            lambda: OutputPump(log, self._on_line, self._surroundings.concealer.for_logs), os.fdopen(read_end, "rb", 0)
        )
        try:
            process = await asyncio.create_subprocess_exec(
                *(reveal(text) for text in self.plan.argv),
                cwd=self.plan.directory,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            program = self._surroundings.concealer.text(reveal(self.plan.argv[0]))
            message = f'exec: "{program}": {_reason(error)}'
            self._update(state="Waiting", reason="RuntimeMissing", message=message, ready=False)
            return None
        finally:
            os.close(write_end)
        self._update(
            state="Running",
            reason="",
            message="",
            process=processes.identify(process.pid),
            started_at=time.time(),
            ready=False,
            probe_failure=None,
            canary="",
        )
        return process, pump

    async def _until_end(self, process: asyncio.subprocess.Process) -> _End:
        """Wait for the first of: the process ends, a probe says it must, somebody asks for it."""
        exited = asyncio.create_task(process.wait())
        stopped = asyncio.create_task(self._stop.wait())
        probed = asyncio.create_task(self._probe())
        try:
            await asyncio.wait({exited, stopped, probed}, return_when=asyncio.FIRST_COMPLETED)
            if exited.done():
                # It ended by itself: what probes said of it is not the reason.
                self._update(probe_failure=None)
                return _End.EXITED
            if stopped.done():
                probed.cancel()
                await self._terminate(process, self._grace)
                return _End.STOPPED
            await self._restart_for(probed.result(), process)
            return _End.FAILED_PROBE
        finally:
            for task in (exited, stopped, probed):
                task.cancel()

    async def _restart_for(self, kind: ProbeKind, process: asyncio.subprocess.Process) -> None:
        self._update(ready=False, message=f"Container {self.plan.name} failed {kind} probe, will be restarted")
        probe = self.plan.startup if kind == "startup" else self.plan.liveness
        grace = self._grace if probe is None or probe.grace is None else probe.grace
        await self._terminate(process, grace)

    async def _terminate(self, process: asyncio.subprocess.Process, grace: float) -> None:
        self._update(ready=False)
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _finish(self, process: asyncio.subprocess.Process, pump: OutputPump) -> None:
        """Nothing of the session outlives its main process; then the rest of its output is read."""
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        for left in processes.session_members(process.pid):
            processes.send(left, signal.SIGKILL)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_OUTPUT):
                await pump.ended.wait()
        pump.close()
        self._update(state="Terminated", process=None, ready=False, exit_code=process.returncode)

    async def _probe(self) -> ProbeKind:
        """Keep `ready` current; return the probe because of which the container must be restarted."""
        clock = asyncio.get_running_loop().time
        probes = probing.begin(self.plan, clock(), early=self._surroundings.settings.early_probe)
        running: dict[ProbeKind, asyncio.Task[Outcome]] = {}
        asked: dict[ProbeKind, float] = {}
        try:
            while probes.failed is None:
                self._note_readiness(probes.ready)
                for kind in probes.due(clock()):
                    if kind not in running:
                        asked[kind] = clock()
                        running[kind] = asyncio.create_task(self._check(kind))
                await self._next_event(probes.next_due(running) - clock(), running)
                for kind in [kind for kind, task in running.items() if task.done()]:
                    outcome = running.pop(kind).result()
                    self._note_outcome(kind, outcome)
                    probes = probing.record(probes, kind, success=not outcome.failure, now=clock(), asked=asked[kind])
            return probes.failed
        finally:
            for task in running.values():
                task.cancel()

    @staticmethod
    async def _next_event(pause: float, running: dict[ProbeKind, asyncio.Task[Outcome]]) -> None:
        """Wait for an outcome, or until the next probe is due; for ever if there is neither."""
        timeout = max(pause, 0) if pause != float("inf") else None
        if running:
            await asyncio.wait(running.values(), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        elif timeout is None:
            await asyncio.Event().wait()
        else:
            await asyncio.sleep(timeout)

    async def _check(self, kind: ProbeKind) -> Outcome:
        probe = {"startup": self.plan.startup, "liveness": self.plan.liveness, "readiness": self.plan.readiness}[kind]
        return await check(probe, self._env, self.plan.directory) if probe else Outcome()

    def _note_readiness(self, ready: bool) -> None:  # noqa: FBT001 - the whole message is this one fact
        if ready != self.status.ready:
            canary = "" if ready else self.status.canary
            failure = None if ready else self.status.probe_failure
            self._update(ready=ready, canary=canary, probe_failure=failure)

    def _note_outcome(self, kind: ProbeKind, outcome: Outcome) -> None:
        if outcome.failure:
            conceal = self._surroundings.concealer.text
            self._update(probe_failure=ProbeFailure(kind, conceal(outcome.failure), beginning(conceal(outcome.detail))))
        elif self.status.probe_failure and self.status.probe_failure.probe == kind:
            self._update(probe_failure=None)

    def _on_line(self, line: bytes) -> None:
        if self.status.ready:
            return
        shown = self._surroundings.concealer.text(line.decode("utf-8", "replace"))
        if essence := canary_essence(shown.encode()):
            self._update(canary=essence)

    def _update(self, **changes: object) -> None:
        status = msgspec.structs.replace(self.status, **changes)
        if status != self.status:
            self.status = status
            self._surroundings.changed()
