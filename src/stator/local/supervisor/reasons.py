"""Why a pod is not Ready: one reason from a closed list, and a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from stator.local.plan import PodPlan
from stator.local.state import ContainerStatus, Reason

# How the runtimes (1.4 to 1.6) log that their own health check was rejected, or not answered.
_CANARY = re.compile(r"Health check (?:error response from|timeout for) .*")

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LONGEST = 300

_EMBEDDING_RULE = "DYN101"


class Verdict(msgspec.Struct, frozen=True):
    """`reason` is empty for a pod that is Ready. `rule` is a compatibility rule that explains it."""

    reason: Reason
    message: str = ""
    rule: str = ""


def canary_essence(line: bytes) -> str:
    """What became of the runtime's own health check, if `line` of its log is about a failed one; else empty.

    Time, level and colours of the log are left out.
    """
    if b"Health check " not in line:
        return ""
    found = _CANARY.search(_COLOUR.sub("", line.decode("utf-8", "replace")))
    return " ".join(found[0].replace("\\n", " ").split())[:_LONGEST] if found else ""


def explain(
    pod: PodPlan, init: Sequence[ContainerStatus], running: Sequence[ContainerStatus], *, stopping: bool
) -> Verdict:
    """The most specific reason that applies, of the first container that has it."""
    if stopping:
        ended = all(container.state == "Terminated" for container in running)
        return Verdict("Stopped" if ended else "Terminating")
    waiting = next((container for container in init if not container.ready), None)
    if waiting is not None:
        return _not_ready(pod, waiting) if waiting.reason else Verdict("Init", f"init container {waiting.name} runs")
    for container in running:
        if not container.ready and (container.reason or container.canary or container.probe_failure):
            return _not_ready(pod, container)
    if all(container.ready for container in running):
        return Verdict("")
    return Verdict("Starting")


def _not_ready(pod: PodPlan, container: ContainerStatus) -> Verdict:
    if container.reason == "RuntimeMissing":
        return Verdict("RuntimeMissing", container.message)
    cause = _cause(pod, container)
    if container.reason != "CrashLoopBackOff":
        return cause
    ended = f"{container.message}; the last run ended {_ending(container)}"
    # A container that a probe had restarted is one with a cause; the exit code alone would not tell it.
    return Verdict("CrashLoopBackOff", f"{ended}; {cause.message}" if cause.message else ended, cause.rule)


def _cause(pod: PodPlan, container: ContainerStatus) -> Verdict:
    """What is wrong with a run, as far as the runtime or a probe has said it."""
    if container.canary:
        embedding = pod.backend == "sglang" and "EmbeddingRequest" in container.canary
        rule = pod.canary_rule or (_EMBEDDING_RULE if embedding else "")
        return Verdict("Canary", f"the runtime's own health check fails: {container.canary}", rule)
    if failure := container.probe_failure:
        detail = f" ({failure.detail})" if failure.detail else ""
        return Verdict("Probe", f"{failure.probe.capitalize()} probe failed: {failure.message}{detail}")
    return Verdict("Starting")


def _ending(container: ContainerStatus) -> str:
    code = container.exit_code or 0
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"
