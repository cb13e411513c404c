"""SGLang across nodes: every rank runs the same command and is told where rank 0 is and which rank it has itself."""

from __future__ import annotations

from stator.render.backends.injection import Argv, with_flags
from stator.render.backends.setters import set_by, without_probes
from stator.render.changes import Changes, Json, together
from stator.render.context import Context
from stator.render.probes import PROBES

_PORT = 29500


def changes(context: Context, body: Json, argv: Argv) -> Changes:
    """The rank's flags; a worker rank serves nothing, so it loses its probes. Nothing on a single node.

    Raises NoPlaceError if the flags cannot be placed.
    """
    role = context.role
    if role.nodes == 1:
        return Changes()
    flags = ("--dist-init-addr", f"{role.leader}:{_PORT}", "--nnodes", str(role.nodes), "--node-rank", role.rank)
    detail = f"sglang multinode, {role.name}"
    placed = with_flags(argv, "sglang", flags, needs_shell=role.rank_needs_shell)
    flagged = Changes(
        command=placed.command,
        args=placed.args,
        provenance=tuple(
            set_by(context, detail, "flag", name, value) for name, value in zip(flags[::2], flags[1::2], strict=True)
        ),
    )
    return together(flagged, without_probes(context, body, PROBES, detail)) if role.is_worker else flagged
