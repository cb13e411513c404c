"""One graph: DynamoGraphDeployment and what exists of it -> what to apply, to delete, and to say."""

from __future__ import annotations

from datetime import datetime

import msgspec

from stator.errors import InvalidInputError
from stator.operator.checkpoints import awaited
from stator.operator.components.status import Trouble
from stator.operator.graphs.cliques import plan_cliques
from stator.operator.graphs.components import plan_components
from stator.operator.graphs.observed import Json, Observed
from stator.operator.graphs.provider import CLIQUE_SET, chosen, contradicted, recorded
from stator.operator.graphs.records import GENERATIONS, annotated
from stator.operator.graphs.status import events_of, failed_status
from stator.operator.options import OperatorOptions
from stator.operator.plan import Plan
from stator.operator.problems import in_one_line
from stator.operator.rendered import load, render

# What nobody tells of: a kind that is installed, a name that somebody gives up.
_LOOK_AGAIN = 60.0
_UNTOLD = ("NotInstalled", "OwnershipConflict")


def reconcile(observed: Observed, options: OperatorOptions, now: datetime) -> Plan:
    """Plan one pass. A graph that is being deleted is left to the garbage collector: nothing is made anew.

    A graph without a record of its provider is planned as what it is when its records are written, before all else.
    """
    if "deletionTimestamp" in observed.graph["metadata"]:
        return Plan()
    before = observed.annotations
    if not recorded(observed) and not isinstance(choice := chosen(observed, options), Trouble):
        observed = _with(observed, annotated(observed, options, provider=choice, generation=""))
    provider = "grove" if CLIQUE_SET in options.installed else "component"
    given = msgspec.structs.replace(options.render, provider=provider, pull_secrets=observed.pull_secrets)
    try:
        graph = load(observed.graph, without=GENERATIONS)
        given = msgspec.structs.replace(given, waiting_for_checkpoint=awaited(graph, observed.started))
        manifest = render(graph, given)
    except InvalidInputError as error:
        return failed(observed, Trouble("InvalidSpec", in_one_line(error)), now)
    if not recorded(observed) and isinstance(choice, Trouble):
        return failed(observed, choice, now)
    if trouble := contradicted(observed, manifest.provider):
        return failed(observed, trouble, now)
    options = msgspec.structs.replace(options, render=given)
    planned = plan_cliques if manifest.provider == "grove" else plan_components
    plan, generation = planned(observed, graph, manifest, options, now)
    own = annotated(observed, options, provider=manifest.provider, generation=generation)
    waits = any(item["reason"] in _UNTOLD for item in (plan.status or {})["conditions"])
    return msgspec.structs.replace(
        plan,
        records=None if own["metadata"]["annotations"].items() <= before.items() else own,
        requeue_after=_LOOK_AGAIN if waits else None,
    )


def failed(observed: Observed, trouble: Trouble, now: datetime) -> Plan:
    """The plan of a pass that could not do its work: it says so, and touches nothing."""
    if "deletionTimestamp" in observed.graph["metadata"]:
        return Plan()
    status = failed_status(observed, trouble, now)
    return Plan(status=status, events=events_of(observed, status))


def _with(observed: Observed, records: Json) -> Observed:
    """The same as it is with these records."""
    metadata = observed.graph["metadata"]
    annotations = {**observed.annotations, **records["metadata"]["annotations"]}
    graph = {**observed.graph, "metadata": {**metadata, "annotations": annotations}}
    return msgspec.structs.replace(observed, graph=graph)
