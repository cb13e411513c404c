"""Who runs a graph's pods, decided once: the choice is recorded on the graph before anything is made.

A graph that lost its record, or that an older operator made, stays with whoever has its pods. Otherwise Grove is
taken where the cluster has it, unless the graph declines.
"""

from __future__ import annotations

from stator.operator.components.status import Trouble
from stator.operator.graphs.observed import Observed
from stator.operator.options import OperatorOptions
from stator.render import Provider
from stator.render.provider import DECLINES_GROVE, RECORDED

CLIQUE_SET = "PodCliqueSet"


def recorded(observed: Observed) -> bool:
    """Whether the choice is on record. One that is not known is a problem of rendering."""
    return RECORDED in observed.annotations


def contradicted(observed: Observed, provider: Provider) -> Trouble | None:
    """What stands against the record: the pods are run by another provider, and would be run twice."""
    other = bool(observed.own_components) if provider == "grove" else _has_set(observed)
    if not other:
        return None
    runs = "its components run" if provider == "grove" else "a PodCliqueSet runs"
    message = f"{RECORDED} says {provider}, but {runs} the graph's pods: set the annotation back, or delete those first"
    return Trouble("AmbiguousProvider", message)


def chosen(observed: Observed, options: OperatorOptions) -> Provider | Trouble:
    """The choice to record for a graph that has none, or why there is none."""
    has_components, has_set = bool(observed.own_components), _has_set(observed)
    if has_components and has_set:
        message = (
            "the graph has components as well as a PodCliqueSet, and no record of who runs its pods: delete those that "
            f'are not to serve, or set the annotation {RECORDED} to "component" or "grove"'
        )
        return Trouble("AmbiguousProvider", message)
    if has_components:
        return "component"
    if has_set:
        return "grove"
    declined = observed.annotations.get(DECLINES_GROVE, "").lower() == "false"
    return "grove" if CLIQUE_SET in options.installed and not declined else "component"


def _has_set(observed: Observed) -> bool:
    return any(child.kind == CLIQUE_SET and child.controller == observed.uid for child in observed.children)
