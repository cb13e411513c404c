"""Which half of a disaggregated engine a worker is.

Older manifests call both halves `worker` and tell them apart by the sub-type of v1alpha1 or on the command line, so the
component's type alone does not say it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from stator.compat.environment import setting
from stator.compat.facts import ContainerFacts, GraphFacts
from stator.compat.given import given

Role = Literal["prefill", "decode", ""]

WORKERS = ("worker", "prefill", "decode")
_MODULES = ("dynamo.sglang", "dynamo.vllm", "dynamo.trtllm", "dynamo.mocker")
_SWITCHES: dict[str, Role] = {"--is-prefill-worker": "prefill", "--is-decode-worker": "decode"}
_VARIABLES = ("DYN_VLLM_DISAGGREGATION_MODE", "DYN_TRTLLM_DISAGGREGATION_MODE")


def role(facts: GraphFacts, container: ContainerFacts) -> Role:
    """The worker's half, empty if it serves both or does not say."""
    said = [*_said(container), facts.component(container).alpha.sub_component_type, container.component_type]
    return next((_role(text) for text in said if _role(text)), "")


def workers(facts: GraphFacts, wanted: Role) -> tuple[ContainerFacts, ...]:
    """The workers that are this half."""
    return tuple(container for container in facts.of_type(*WORKERS) if role(facts, container) == wanted)


def _said(container: ContainerFacts) -> Iterator[str]:
    """What the process itself is told; the last word on the command line counts."""
    modes = [use.value for use in given(container, _MODULES, ("--disaggregation-mode",))]
    yield (modes[-1] or "") if modes else ""
    for use in given(container, _MODULES, tuple(_SWITCHES)):
        yield _SWITCHES[use.flag]
    for name in _VARIABLES:
        yield setting(container, name).text or ""


def _role(text: str) -> Role:
    """The half a word names, empty for any other word."""
    return "prefill" if text == "prefill" else "decode" if text == "decode" else ""
