"""The one door to the frameworks: what a worker's framework changes in one of its pods."""

from __future__ import annotations

from collections.abc import Sequence

from stator.errors import Problem
from stator.render.backends import cache, sglang, trtllm, vllm
from stator.render.backends.injection import Argv, NoPlaceError, runs_of
from stator.render.backends.setters import without_probes
from stator.render.changes import Changes, Json, together
from stator.render.context import Context
from stator.render.environment import Entry
from stator.render.manifest import NotRendered
from stator.render.probes import PROBES


def engine_changes(context: Context, body: Json, env: Sequence[Entry], problems: list[Problem]) -> Changes:
    """The framework's changes to a merged main container; none for components that run no framework."""
    argv = Argv(tuple(body.get("command") or ()), tuple(body.get("args") or ()))
    try:
        match context.backend:
            case "sglang":
                made = sglang.changes(context, body, argv)
            case "vllm":
                made = vllm.changes(context, body, argv)
            case "trtllm":
                made = trtllm.changes(context, body, argv, env)
            case _:
                made = _none(context)
    except NoPlaceError as error:
        # Whatever brings the nodes together instead, only the leader serves: a probed worker would be restarted.
        unprobed = without_probes(context, body, PROBES, f"{context.backend} multinode, {context.role.name}")
        made = Changes(missing=(_unplaced(context, str(error)),))
        made = together(made, unprobed) if context.role.is_worker else made
    return together(made, _other_runs(context, made), cache.changes(context, body, problems))


def _other_runs(context: Context, made: Changes) -> Changes:
    """Say that the first run of the framework got the flags, where a script holds more than one."""
    runs = runs_of(context.command_line, context.backend)
    flagged = any(item.subject == "flag" and item.name.startswith("--") for item in made.provenance)
    if len(runs) < 2 or not flagged:  # noqa: PLR2004 (two runs are the first that differ)
        return Changes()
    why = f"the flags for {context.role.nodes} nodes go to the first of {len(runs)} runs of `-m {runs[0].module}` only"
    return Changes(missing=(_not_rendered(context, why),))


def _none(context: Context) -> Changes:
    if context.role.nodes == 1:
        return Changes()
    return Changes(missing=(_unplaced(context, "no framework is seen in the command line"),))


def _unplaced(context: Context, why: str) -> NotRendered:
    return _not_rendered(
        context,
        f"nothing is added for {context.role.nodes} nodes: {why}; the command has to find the other nodes by itself",
    )


def _not_rendered(context: Context, why: str) -> NotRendered:
    """A note at the words of the command line."""
    field = "args" if context.component.main.get("args") else "command"
    return NotRendered((*context.component.main_path, field), context.at_container(field), why)
