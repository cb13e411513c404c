"""The verdict on an object that is about to be stored.

`stator.admission` says what is refused; the compatibility rules say what deserves a warning. A component that its
graph owns was judged as part of the graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from stator.admission import Installed, review
from stator.errors import InvalidInputError, Problem
from stator.model import Graph, load_objects
from stator.model.identity import GRAPH_KINDS
from stator.operator.webhooks.findings import Judgement, judge
from stator.operator.webhooks.reviews import AdmissionRequest, Verdict, field_of, text_of
from stator.render import RenderOptions

Json = dict[str, Any]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict depends on besides the object.

    `trusted` are the operator's own user names; `reject` are rule ids and severities of findings that refuse.
    """

    render: RenderOptions = RenderOptions()
    installed: Installed = Installed()
    trusted: frozenset[str] = frozenset()
    reject: frozenset[str] = frozenset()

    @property
    def options(self) -> RenderOptions:
        """How the operator would render here: on Grove where the cluster has it."""
        return msgspec.structs.replace(self.render, provider="grove") if self.installed.grove else self.render


def validate(request: AdmissionRequest, policy: Policy) -> Verdict:
    """The verdict on a creation or an update, with every problem in the version that was submitted."""
    new, old = request.object, request.old_object
    if new is None or _is_leaving(new):
        return Verdict()
    result = review(
        new,
        old,
        installed=policy.installed,
        options=policy.render,
        user=request.user_info.username,
        trusted=policy.trusted,
    )
    # The API server warns about a deprecated version by itself.
    warnings = tuple(_warning(problem) for problem in result.warnings if field_of(problem) != "apiVersion")
    judged = Judgement()
    if not (result.problems or _is_owned(new)) and (graph := _graph(new)) is not None:
        before = _graph(old) if old is not None else None
        judged = judge(graph, before, options=policy.options, reject=policy.reject)
    return Verdict((*result.problems, *judged.problems), (*warnings, *judged.warnings))


def _is_leaving(value: Mapping[str, Any]) -> bool:
    """Whether the object is being deleted: nothing may stand in the way of its finalizers."""
    return bool((value.get("metadata") or {}).get("deletionTimestamp"))


def _is_owned(value: Mapping[str, Any]) -> bool:
    owners = (value.get("metadata") or {}).get("ownerReferences") or ()
    return any(owner.get("controller") and owner.get("kind") in GRAPH_KINDS for owner in owners)


def _graph(value: Mapping[str, Any]) -> Graph | None:
    if value.get("kind") not in GRAPH_KINDS:
        return None
    try:
        return load_objects([value]).graphs[0]
    except InvalidInputError:
        return None


def _warning(problem: Problem) -> str:
    field = field_of(problem)
    text = text_of(problem)
    return text if not field or field in text else f"{field}: {text}"
