"""What a rule has to say: findings for people, repairs for the renderer."""

from __future__ import annotations

from typing import Literal

import msgspec

from stator.compat.edits import Edit
from stator.errors import Position

Severity = Literal["error", "warning", "info"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of one rule about one component.

    `rule` is the id (`DYN101`), `object` is `Kind/namespace/name`, `versions` maps a role (`runtime`, `operator`)
    to the version text the statement is about. `repair` says what was changed because of it, if anything was.
    `edit` would mend the manifest at `location`; a `safe` one changes nothing that works today. With `undecided` the
    rules could not see what they judge.
    """

    rule: str
    severity: Severity
    message: str
    object: str
    component: str = ""
    location: Position | None = None
    versions: dict[str, str] = {}
    remedy: str = ""
    fix: str = ""
    repair: str = ""
    edit: Edit | None = None
    safe: bool = False
    undecided: bool = False


class AddEnv(msgspec.Struct, frozen=True, kw_only=True, tag="add-env"):
    """Append a literal environment entry to the main container: it wins over every `envFrom` source."""

    rule: str
    name: str
    value: str


class AddEnvLowest(msgspec.Struct, frozen=True, kw_only=True, tag="add-env-lowest"):
    """Offer an environment value at the lowest precedence.

    Rendered as a ConfigMap owned by the component and placed first in `envFrom`, so that every later source and
    every `env` entry of the user wins (Kubernetes documentation, EnvFromSource: the last source takes precedence).
    """

    rule: str
    name: str
    value: str


Repair = AddEnv | AddEnvLowest


class Verdict(msgspec.Struct, frozen=True):
    """All that the rules have to say about one container."""

    findings: tuple[Finding, ...] = ()
    repairs: tuple[Repair, ...] = ()
