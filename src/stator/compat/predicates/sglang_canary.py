"""DYN101: SGLang embedding workers that answer no health check (ai-dynamo/dynamo#15159).

Which payload a worker gets, and at which precedence, is decided on what the manifest shows and never by reading a
ConfigMap or Secret: those change without the worker being rendered again. A user's own payload is never replaced.
"""

from __future__ import annotations

import json

import msgspec

from stator.compat import sglang
from stator.compat.arguments import Arguments
from stator.compat.edits import SetEnv
from stator.compat.environment import Setting, setting
from stator.compat.facts import ContainerFacts
from stator.compat.findings import AddEnv, AddEnvLowest, Repair
from stator.compat.outcome import Certainty, Outcome, least
from stator.compat.rule import Rule
from stator.versions import Version

PAYLOAD = "DYN_HEALTH_CHECK_PAYLOAD"
PAYLOAD_FLAG = "health-check-payload"
CHECKS = "DYN_HEALTH_CHECK_ENABLED"
# Without these an embedding request is rejected; other keys are ignored.
_NEEDED = ("model", "input")
_TRUE = frozenset({"true", "1", "yes", "on"})


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    """One container as DYN101 sees it. `hidden` says why there may be more arguments than can be read."""

    facts: ContainerFacts
    rule: Rule
    workers: tuple[Arguments, ...]
    mode: sglang.Switch
    checks: Setting
    payload: Setting
    hidden: str

    @property
    def checks_off(self) -> bool:
        """Whether active checks are literally off: `false` or nothing, spaces trimmed, as the runtime reads it.

        Any other literal but `true` ends the worker at start. It counts as on: the payload is right once the text is.
        """
        return self.checks.origin == "absent" or (
            self.checks.text is not None and self.checks.text.strip() in {"", "false"}
        )

    @property
    def configured(self) -> bool:
        """Whether the container has a payload entry of its own, literal or by reference."""
        return self.payload.origin in {"literal", "value-from"}

    @property
    def sure(self) -> Certainty:
        """How sure it is that this is an embedding worker with active checks."""
        mode: Certainty = "certain" if self.mode.on else "remote" if self.mode.origin == "env-from" else "possible"
        return least(mode, "possible" if self.checks.origin in {"value-from", "env-from"} else "certain")


def embedding_canary(facts: ContainerFacts, rule: Rule) -> tuple[Outcome, ...]:
    """The decision of DYN101 for one container of an affected or an unknown release."""
    workers = sglang.workers(facts)
    if not workers:
        return ()
    case = _Case(
        facts=facts,
        rule=rule,
        workers=workers,
        mode=_mode(facts, workers),
        checks=setting(facts, CHECKS),
        payload=setting(facts, PAYLOAD),
        hidden=next(filter(None, (sglang.hidden(facts, worker) for worker in workers)), ""),
    )
    if facts.version.core is None:
        return _unresolved(case)
    if case.checks_off or (case.mode.on is False and not case.hidden):
        return ()
    return _configured(case) if case.configured else _unconfigured(case, facts.version.core)


def _mode(facts: ContainerFacts, workers: tuple[Arguments, ...]) -> sglang.Switch:
    """The one mode of all workers of the container; workers that differ share one environment, so it is unknown."""
    modes = [sglang.embedding(facts, worker) for worker in workers]
    same = len({mode.on for mode in modes}) == 1
    return modes[0] if same else sglang.Switch(on=None, origin="argument", where=("args",))


def _unresolved(case: _Case) -> tuple[Outcome, ...]:
    """Without a release nothing is repaired; it is said where an affected release would matter."""
    if case.configured or case.mode.on is False or (case.mode.on is None and case.checks_off):
        return ()
    sure = least("remote" if case.checks_off else "possible", case.sure)
    values = {"why": case.facts.version.why, "affected": str(case.rule.affected)}
    return (Outcome(key="unresolved", certainty=sure, where=case.mode.where, values=values),)


def _configured(case: _Case) -> tuple[Outcome, ...]:
    """A payload of the user's own is left alone, also one that does not work: that is said, not mended.

    It is not said where nothing points to an embedding worker: a chat worker's payload has other keys.
    """
    flaw = "" if case.payload.text is None else _flaw(case.payload.text)
    if not flaw or case.sure == "remote" or (case.hidden and not case.mode.on):
        return ()
    return (Outcome(key="payload-unusable", certainty=case.sure, where=("env", PAYLOAD), values={"flaw": flaw}),)


def _unconfigured(case: _Case, release: Version) -> tuple[Outcome, ...]:
    if case.hidden and not case.mode.on:
        return (Outcome(key="hidden", certainty="remote", where=("args",), values={"why": case.hidden}),)
    given = tuple(value for worker in case.workers for value in worker.values.get(PAYLOAD_FLAG, ()))
    if given:
        outcome = _flag(case, given)
    elif case.mode.on:
        # A command line that cannot be read to its end may still negate the switch: then the payload must fit both.
        outcome = _repaired(case, "embedding", case.rule.payloads["either" if case.hidden else "embedding"])
    else:
        outcome = _unknown_mode(case, release)
    return (outcome, *_not_boolean(case))


def _flag(case: _Case, given: tuple[str, ...]) -> Outcome:
    """The user's payload in the place where these workers do not read it."""
    why = _not_carried(case, given)
    if why:
        return Outcome(key="flag-not-carried", certainty=case.sure, where=("args",), values={"why": why})
    return _repaired(case, "flag-carried", given[0])


def _not_carried(case: _Case, given: tuple[str, ...]) -> str:
    """Why the flag's text cannot stand in the variable's place, or an empty text."""
    text = given[0]
    in_shell = any(run.in_shell for run in case.facts.command_line.invocations)
    if case.mode.on is None:
        return "whether this is an embedding worker is only known at container start"
    if len(set(given)) > 1:
        return "it is given more than once with different values"
    if "$" in text or (in_shell and "`" in text):
        return "its value is only known at container start"
    return "it names a file" if text.startswith("@") else _flaw(text)


def _flaw(text: str) -> str:
    """What is wrong with a payload for an embedding worker, or an empty text. A file's content is not judged.

    The runtime falls back to its own request for an empty text, `{}`, a file it cannot open, and anything but a JSON
    object.
    """
    if text.startswith("@"):
        return "" if text[1:] and text[1:] == text[1:].strip() else "no file has that name"
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return "it is not JSON"
    if not isinstance(value, dict):
        return "it is not a JSON object"
    if not value:
        return "it is empty"
    missing = [f'"{key}"' for key in _NEEDED if key not in value]
    return f"it has no {' and no '.join(missing)}" if missing else ""


def _unknown_mode(case: _Case, release: Version) -> Outcome:
    """A worker whose mode is only known at start gets what both handlers accept, where that was seen to work."""
    why = next(filter(None, (sglang.special(case.facts, worker) for worker in case.workers)), "")
    if not why and release not in case.rule.tried:
        why = f"the payload for both modes was not tried with runtime {release}"
    if why:
        return Outcome(key="mode-unknown-left", certainty=case.sure, where=case.mode.where, values={"why": why})
    return _repaired(case, "mode-unknown", case.rule.payloads["either"])


def _repaired(case: _Case, key: str, text: str) -> Outcome:
    """An outcome that gives the worker `text`: below the `envFrom` sources, if one of them may hold a payload."""
    lowest = case.payload.origin == "env-from"
    repair: Repair = (AddEnvLowest if lowest else AddEnv)(rule=case.rule.id, name=PAYLOAD, value=text)
    return Outcome(
        key=f"{key}-env-from" if lowest else key,
        certainty=least(case.sure, "possible" if lowest else "certain"),
        where=case.mode.where,
        values={"payload": text},
        repairs=(repair,),
    )


def _not_boolean(case: _Case) -> tuple[Outcome, ...]:
    """A spelling of true that ends the worker is said too: the payload alone would not make it Ready."""
    if not case.mode.on or case.checks.text is None or case.checks.text.strip() == "true":
        return ()
    edit = SetEnv(name=CHECKS, value="true") if case.checks.text.strip().lower() in _TRUE else None
    return (Outcome(key="checks-not-boolean", where=("env", CHECKS), edit=edit),)
