"""Where a pod stands among the nodes of its engine, under names that hold on every provider.

`DYNAMO_RANK` and `DYNAMO_LEADER_ADDRESS` let a command of the user's own find its nodes without the variables of
LeaderWorkerSet or Grove. Operators own them from 1.6.0 on, for graphs made since; Grove counts the pods of a scaling
group from v0.1.0-alpha.14 on.
"""

from __future__ import annotations

from stator.render.backends.setters import literal
from stator.render.changes import Changes
from stator.render.context import Context
from stator.render.origin import made_since
from stator.versions import Version

_SINCE = Version(1, 6, 0)
_DETAIL = "multinode alias"
_GROUP_INDEX = "$(GROVE_PCSG_POD_INDEX)"


def alias_changes(context: Context) -> Changes:
    """The two variables of a pod of several nodes' engine; they win over the user's."""
    role = context.role
    if role.nodes == 1 or not made_since(context, _SINCE):
        return Changes()
    rank = _GROUP_INDEX if context.provider == "grove" else "$(LWS_WORKER_INDEX)"
    return Changes(
        env=(
            literal("DYNAMO_RANK", rank, _DETAIL),
            literal("DYNAMO_LEADER_ADDRESS", role.leader, _DETAIL),
        )
    )
