"""The skew windows: which pairs of releases may run together, in whose words, and how far apart they are.

Four windows that are easy to take for one (ai-dynamo/dynamo#9020 and #13886, the published compatibility page):

* operator and runtime: the operator's minor line and the two before it;
* frontend and worker: two minor lines apart, either one older;
* prefill and decode: the same version;
* platform upgrades: to the same or the next minor line, one at a time, and back the same way.

Every window lies within one major line. Holes inside a window are rules, not windows.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from stator.versions.version import Version

State = Literal["inside", "forward", "outside", "unknown"]
Age = Literal["same", "older", "newer", "unknown"]

# Minor lines a frontend and a worker, or an operator and an older runtime, may be apart.
SPAN = 2


class Skew(msgspec.Struct, frozen=True):
    """How the second of two releases stands to the first.

    `state` is `forward` only for a runtime one minor line newer than its operator: outside the supported window, but
    a case new runtimes are made to survive (#9020). `age` is the age of the second compared with the first.
    `words` is a clause for people, without a full stop.
    """

    state: State
    age: Age
    words: str


def operator_runtime(operator: Version | None, runtime: Version | None) -> Skew:
    """Whether an operator serves a runtime: minor lines N, N-1 and N-2; N+1 is `forward`, any newer is outside."""
    if operator is None or runtime is None:
        return _unknown("operator", operator, "runtime", runtime)
    apart = runtime.minor - operator.minor
    state: State = "outside"
    if runtime.major == operator.major:
        state = "inside" if -SPAN <= apart <= 0 else "forward" if apart == 1 else "outside"
    rule = f"an operator serves its own line and the {SPAN} before"
    return _skew(state, ("operator", operator), ("runtime", runtime), rule)


def frontend_worker(frontend: Version | None, worker: Version | None) -> Skew:
    """Whether a frontend and a worker understand each other: at most two minor lines apart, either one older."""
    if frontend is None or worker is None:
        return _unknown("frontend", frontend, "worker", worker)
    near = frontend.major == worker.major and abs(frontend.minor - worker.minor) <= SPAN
    rule = f"a frontend and a worker may be {SPAN} minor lines apart"
    return _skew("inside" if near else "outside", ("frontend", frontend), ("worker", worker), rule)


def prefill_decode(prefill: Version | None, decode: Version | None) -> Skew:
    """Whether a prefill and a decode worker may exchange KV blocks: only at the same version."""
    if prefill is None or decode is None:
        return _unknown("prefill", prefill, "decode", decode)
    state: State = "inside" if prefill == decode else "outside"
    return _skew(state, ("prefill", prefill), ("decode", decode), "prefill and decode must be the same version")


def platform_upgrade(current: Version | None, target: Version | None) -> Skew:
    """Whether the platform may go from one release to another in one step, up or down."""
    if current is None or target is None:
        return _unknown("current", current, "target", target)
    near = current.major == target.major and abs(current.minor - target.minor) <= 1
    rule = "the platform moves by one minor line at a time"
    return _skew("inside" if near else "outside", ("current", current), ("target", target), rule)


def _skew(state: State, first: tuple[str, Version], second: tuple[str, Version], rule: str) -> Skew:
    (first_role, one), (second_role, two) = first, second
    age: Age = "same" if one == two else "older" if two < one else "newer"
    how = "the same version as" if age == "same" else f"{_distance(one, two)}{age} than"
    return Skew(state, age, f"{second_role} {two} is {how} {first_role} {one}; {rule}")


def _distance(one: Version, two: Version) -> str:
    if one.major != two.major:
        return "a major line "
    apart = abs(one.minor - two.minor)
    return f"{apart} minor line{'s' if apart > 1 else ''} " if apart else ""


def _unknown(first_role: str, first: Version | None, second_role: str, second: Version | None) -> Skew:
    missing = [role for role, version in ((first_role, first), (second_role, second)) if version is None]
    verb = "are" if len(missing) > 1 else "is"
    return Skew("unknown", "unknown", f"the version of {' and '.join(missing)} {verb} not known")
