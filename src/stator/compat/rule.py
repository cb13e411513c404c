"""A rule as data: what it is about, what it says, what it repairs with, and how it is known to be true.

The files are `rules/<id>-<name>.yaml`, packaged as `rules.json` by `tools/packaged.py`. Words live there, decisions in
`predicates/`: a predicate names one of the rule's outcomes and fills its placeholders.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal

import msgspec

from stator.compat.findings import Severity
from stator.versions import Version, VersionRange

Scope = Literal["container", "graph", "fleet", "move", "platform"]
NOWHERE = VersionRange.parse("<0.0.0")
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "error")
_PACKAGED = Path(__file__).with_name("rules.json")


class Wording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a rule says in one outcome. All texts but `severity` may hold `$placeholders`.

    `severity` is that of a certain outcome nobody repairs. `fix` is the piece of manifest that mends it, `repair`
    says what a repair changes and is there for exactly the outcomes that have one. `safe` says that an edit of this
    outcome changes nothing that works today: what is there is refused, keeps the container from starting, or has no
    effect before and after. `undecided` says that the rules could not see what they judge.
    """

    severity: Severity
    message: str
    remedy: str = ""
    fix: str = ""
    repair: str = ""
    safe: bool = False
    undecided: bool = False

    def filled(self, **values: str) -> Wording:
        """The same texts with every placeholder filled. Raises KeyError for one that has no value."""
        fill = {
            name: Template(getattr(self, name)).substitute(values) for name in ("message", "remedy", "fix", "repair")
        }
        return msgspec.structs.replace(self, **fill)


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a rule is known to be true: which releases, how (a command of this repository, or `read`), what was seen.

    `measured`: seen on published releases; `documented`: a contract somebody published; `reported`: told by people
    upstream and not seen here. A rule that is only reported says nothing at severity error.
    """

    releases: str
    how: str
    seen: str
    date: date
    grade: Literal["measured", "documented", "reported"] = "measured"


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One compatibility rule. The id is never given to another rule.

    `scope` is what the predicate looks at: a container, a graph, the fleet of all graphs, a move from one release to
    another, or the platform. `affected` is the range of runtime releases; `backends` and `roles` (component types) the
    containers that are looked at; empty means all. `looks_for` are the names and values the predicate compares with:
    a container is only asked about if it runs one of the `modules` there, and has one of the `flags` and `variables`.
    `yields_to` are rules that say more about the same place: where one of them has a finding, this one has none.
    `payloads` are the texts a repair sets; `tried` are the releases on which a repair that must fit several modes was
    run in each of them. `page` is the body of the rule's page in Markdown.
    """

    id: str
    name: str
    title: str
    status: Literal["stable", "preview", "retired"]
    since: str
    predicate: str
    outcomes: dict[str, Wording]
    scope: Scope = "container"
    affected: VersionRange = VersionRange(())
    backends: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    looks_for: dict[str, Any] = {}
    yields_to: tuple[str, ...] = ()
    payloads: dict[str, str] = {}
    tried: VersionRange = NOWHERE
    references: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    page: str = ""

    def covers(self, backend: str, role: str, release: Version | None) -> bool:
        """Whether a container is this rule's business; an unknown release may be."""
        named = (not self.backends or backend in self.backends) and (not self.roles or role in self.roles)
        return named and (release is None or release in self.affected)

    def looks_at(self, modules: Collection[str]) -> bool:
        """Whether a container that runs these modules is looked at; a rule without `modules` looks at all."""
        wanted = self.looks_for.get("modules")
        return wanted is None or any(module in wanted for module in modules)

    @property
    def names(self) -> frozenset[str]:
        """The options and variables it `looks_for`, of which a container must have one; empty if it looks at all."""
        return frozenset((*self.looks_for.get("flags", ()), *self.looks_for.get("variables", ())))

    @property
    def severity(self) -> Severity:
        """The highest severity any of its outcomes can have."""
        return max((words.severity for words in self.outcomes.values()), key=SEVERITIES.index)

    @property
    def page_path(self) -> str:
        """The rule's page, from the root of this repository; `stator explain` prints it too."""
        return f"docs/rules/{self.id}.md"


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, by id. Read once per process: the file is part of the package."""
    documents = msgspec.json.decode(_PACKAGED.read_bytes(), type=dict[str, dict[str, Any]])
    return tuple(sorted(map(read_rule, documents.values()), key=lambda rule: rule.id))


def read_rule(document: dict[str, Any]) -> Rule:
    """One rule from its file's content. Raises msgspec.ValidationError or InvalidVersionError: a programming error."""
    ranges = {name: VersionRange.parse(document[name]) for name in ("affected", "tried") if name in document}
    return msgspec.convert(document | ranges, Rule, from_attributes=True)
