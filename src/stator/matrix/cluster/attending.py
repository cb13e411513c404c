"""A cell that has its namespace: what is applied, what is waited for, and what the graph is asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, NoReturn, Protocol

import msgspec

from stator.errors import ExitCode, Problem, StatorError
from stator.kube import proxy
from stator.kube.errors import ApiError
from stator.kube.resources import POD, Kinds
from stator.local.supervisor.reasons import canary_essence
from stator.matrix.canary import Contract, judge
from stator.matrix.cells import Cell
from stator.matrix.checks import Promise
from stator.matrix.cluster import objects
from stator.matrix.cluster.connection import Connection
from stator.matrix.cluster.observing import PodView, Timelines, view
from stator.matrix.cluster.settling import Settlement, repairs_in_force, settle
from stator.matrix.exchange import LONGEST_BODY, Exchange, Request
from stator.matrix.results import CellResult
from stator.matrix.running.asking import REQUEST_TIMEOUT, Worker, ask_all, observed
from stator.matrix.scenarios import Scenario, graph_of, repaired
from stator.model import MAIN
from stator.operator import kinds
from stator.render import RenderOptions, render_graph
from stator.render.names import COMPONENT

Json = dict[str, Any]


_POLL = 0.5
_FRONTEND = "frontend"
# A worker that is asked for its log twice a second would be busy with that.
_LOG_PAUSE = 3.0
_LOG_LINES = 400
_KINDS = Kinds(*kinds.OWN)


class NoOperatorError(StatorError):
    """Nobody looks at graphs in this cluster: no cell can be run."""

    exit_code = ExitCode.UNDECIDED


class Site(Protocol):
    """What all cells of a run share; `check` raises if the run is being ended."""

    connection: Connection
    options: RenderOptions
    timeout: float

    def check(self) -> None:
        """Raise InterruptedRunError then."""


class Attended:
    """One cell in its namespace `name`."""

    def __init__(self, scenario: Scenario, cell: Cell, name: str, site: Site, say: Callable[[str], None]) -> None:
        self.scenario, self.cell, self.name, self.site, self.say = scenario, cell, name, site, say
        self.graph = graph_of(scenario, cell)
        self.types = {part.name: part.type for part in self.graph.components}
        pair = cell.pair
        self.versions = {
            part: str(pair.frontend if kind == _FRONTEND else pair.worker) for part, kind in self.types.items()
        }
        self.timelines = Timelines(self.versions)
        self.began = time.monotonic()
        self.rejections: dict[str, str] = {}
        self.looked_at = -_LOG_PAUSE
        self.live: Json = {}
        self.pods: list[Json] = []
        self.views: list[PodView] = []

    def result(self) -> CellResult:
        """Apply, watch, ask."""
        self._apply()
        settlement = self._settled()
        ready_after = round(time.monotonic() - self.began, 2) if settlement.state == "ready" else None
        if settlement.state == "no operator":
            self._no_operator(settlement.why)
        if (why := self._other_setting(final=True)) or settlement.state == "not run":
            return self._result(CellResult(cell=self.cell, outcome="no evidence", why=why or settlement.why))
        before = self.views
        state = settlement.state
        assert state in {"ready", "canary", "failed"}  # noqa: S101 (the others are dealt with above)
        answers = ask_all(state, settlement.why, self.scenario, self._ask, Promise, self.say)
        self._look()
        return self._result(
            CellResult(
                cell=self.cell,
                outcome=answers.outcome,
                why=answers.why,
                checks=answers.checks,
                contracts=self._contracts(before, served=answers.served),
                ready_after=ready_after,
            )
        )

    def _result(self, result: CellResult) -> CellResult:
        """The result with what was seen of the pods."""
        images = {
            f"{_component(pod)}/{item['name']}": f"{item.get('image', '')} {item.get('imageID', '')}".strip()
            for pod in self.pods
            for item in (pod.get("status") or {}).get("containerStatuses") or ()
        }
        return msgspec.structs.replace(result, pods=self.timelines.told(), runtimes=images)

    def _apply(self) -> None:
        """The graph and what it refers to. Raises ApiError if the server, or admission, refuses one of them."""
        self.say("applying")
        client = self.site.connection.client
        for value in (*objects.beside(self.scenario, self.name), objects.graph(self.scenario, self.cell, self.name)):
            self.site.connection.run(
                client.apply(_KINDS.of(value), value, manager=objects.MANAGER), check=self.site.check
            )
        self.began = time.monotonic()

    def _settled(self) -> Settlement:
        """Wait until the start is decided."""
        self.say("waiting for Ready")
        while True:
            waited = self._look()
            if why := self._other_setting(final=False):
                return Settlement("not run", why)
            settlement = settle(self.live, self.views, waited=waited, timeout=self.site.timeout)
            if settlement.state:
                return settlement
            self.site.check()
            time.sleep(_POLL)

    def _look(self) -> float:
        """See what there is now; seconds since the graph was applied."""
        self.live, self.pods = self.site.connection.run(self._seen(), check=self.site.check)
        waited = time.monotonic() - self.began
        views = [view(pod, self.rejections.get(pod["metadata"]["name"], "")) for pod in self.pods]
        self.views = self.timelines.saw(views, waited)
        return waited

    async def _seen(self) -> tuple[Json, list[Json]]:
        client = self.site.connection.client
        live = await client.get(kinds.GRAPH, self.graph.name, self.name)
        pods = (await client.list(POD, self.name)).items
        now = time.monotonic()
        if now - self.looked_at >= _LOG_PAUSE:
            self.looked_at = now
            for pod in pods:
                if self.types.get(_component(pod), _FRONTEND) != _FRONTEND and view(pod).reason == "Probe":
                    await self._read_rejection(pod["metadata"]["name"])
        return live, pods

    async def _read_rejection(self, pod: str) -> None:
        """What the runtime's log says last of its own health check. Without logs nothing is known of it."""
        try:
            text = await self.site.connection.client.logs(pod, self.name, MAIN, lines=_LOG_LINES)
        except ApiError:
            return
        essences = [essence for line in text.splitlines() if (essence := canary_essence(line.encode()))]
        if essences:
            self.rejections[pod] = essences[-1]

    def _other_setting(self, *, final: bool) -> str:
        """Why the operator that runs is not the one this cell is about; repairs show in its status once pods run."""
        force = repairs_in_force(self.live) if self.live else None
        if force and not self.cell.variant.repairs:
            return f"the operator repairs {', '.join(sorted(force))}; this cell needs one that runs with --no-repairs"
        if not final or force is None or not self.cell.variant.repairs:
            return ""
        needed = set(repaired(self.scenario, self.cell, self.site.options)) - force
        return (
            f"the operator did not repair {', '.join(sorted(needed))}; this cell needs one that runs with repairs"
            if needed
            else ""
        )

    def _no_operator(self, why: str) -> NoReturn:
        raise NoOperatorError(
            Problem(
                what="no operator looks at graphs in this cluster",
                why=f"{kinds.GRAPH.kind} {self.name}/{self.graph.name} was applied, and {why}",
                remedy="see that one runs and is not bound to a namespace: kubectl -n stator-system get pods",
            )
        )

    @cached_property
    def _frontend(self) -> tuple[str, str]:
        """The frontend's Service and its port, as the API server's proxy names them."""
        manifest = render_graph(self.graph, self.site.options)
        service = next(part.service for part in manifest.components if part.type == _FRONTEND and part.service)
        port = service["spec"]["ports"][0]
        return service["metadata"]["name"], str(port.get("name") or port["port"])

    def _ask(self, request: Request) -> Exchange:
        """Send a request to the frontend through the API server."""
        answer = self.site.connection.run(
            proxy.ask(
                self.site.connection.client,
                request.method,
                proxy.service_path(self.name, *self._frontend, request.path),
                request.body.encode(),
                timeout=REQUEST_TIMEOUT,
                longest=LONGEST_BODY,
            ),
            check=self.site.check,
        )
        return Exchange(
            request=request,
            status=answer.status,
            content_type=answer.content_type,
            body=answer.body.decode("utf-8", "replace"),
            error=answer.error,
            seconds=answer.seconds,
            first=answer.first,
        )

    def _contracts(self, views: list[PodView], *, served: bool | None) -> tuple[Contract, ...]:
        seen = {each.name: each for each in views}
        return tuple(
            judge(
                observed(
                    self._worker(pod),
                    self.scenario.kind,
                    ready=seen[pod["metadata"]["name"]].ready,
                    rejection=seen[pod["metadata"]["name"]].rejection,
                    served=served,
                )
            )
            for pod in self.pods
            if self.types.get(_component(pod), _FRONTEND) != _FRONTEND and pod["metadata"]["name"] in seen
        )

    def _worker(self, pod: Json) -> Worker:
        containers = pod["spec"]["containers"]
        main = next((item for item in containers if item["name"] == MAIN), containers[0])
        component = _component(pod)
        return Worker(
            pod=pod["metadata"]["name"],
            component=component,
            type=self.types[component],
            version=self.versions[component],
            argv=[*(main.get("command") or ()), *(main.get("args") or ())],
            env={item["name"]: item["value"] for item in main.get("env") or () if "value" in item},
        )


def _component(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(COMPONENT, ""))
