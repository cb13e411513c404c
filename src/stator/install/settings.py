"""What a user decides about an installation, and the names that all of its parts agree on."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from stator import __version__
from stator.compat import rules
from stator.errors import InvalidInputError, Problem
from stator.operator.names import NAME, NAMESPACE
from stator.render.images import is_reference

PLANNER_ROLE: Final = "stator-planner"
PICKER_ROLE: Final = "stator-epp"
WEBHOOK_PORT: Final = 9443
METRICS_PORT: Final = 8080
SEVERITIES: Final = ("error", "warning", "info")

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_OBJECT = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[-.a-z0-9]*[a-z0-9])?")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """An installation.

    `namespaced`: the operator sees its own namespace only. Webhooks and the conversion between API versions belong to
    the whole cluster, so such an installation has none. `reject` holds rule ids and severities: a finding that fits
    refuses a graph at admission, where it would be a warning otherwise. `pull_secrets` are names of Secrets, looked for
    in the namespaces of graphs.
    """

    namespace: str = NAMESPACE
    image: str = f"localhost/stator:{__version__}"
    replicas: int = 2
    namespaced: bool = False
    webhooks: bool = True
    reject: tuple[str, ...] = ()
    pull_secrets: tuple[str, ...] = ()

    @property
    def serves_webhooks(self) -> bool:
        """Whether there are webhooks at all."""
        return self.webhooks and not self.namespaced

    @property
    def cluster_name(self) -> str:
        """The name of objects outside namespaces: one installation per namespace may have its own."""
        return f"{NAME}-{self.namespace}" if self.namespaced else NAME


def checked(settings: Settings) -> Settings:
    """The same settings; raises InvalidInputError with everything that is wrong with them."""
    problems = [*_problems(settings)]
    if problems:
        raise InvalidInputError(*problems)
    return settings


def _problems(settings: Settings) -> list[Problem]:
    problems = []
    if not _NAMESPACE.fullmatch(settings.namespace):
        why = "a namespace is lower-case letters, digits and '-', at most 63 of them (RFC 1123 label)"
        problems.append(Problem(what=f"--namespace {settings.namespace!r} is no namespace", why=why))
    if not is_reference(settings.image):
        remedy = "write it as [REGISTRY/]NAME[:TAG][@sha256:DIGEST]"
        problems.append(Problem(what=f"--image {settings.image!r} is no image reference", remedy=remedy))
    if settings.replicas < 1:
        problems.append(Problem(what=f"--replicas {settings.replicas} runs nothing", remedy="give 1 or more"))
    problems += (
        Problem(what=f"--pull-secret {name!r} is no name of a Secret", why="RFC 1123 subdomain")
        for name in settings.pull_secrets
        if not _OBJECT.fullmatch(name)
    )
    known = {rule.id for rule in rules()} | set(SEVERITIES)
    for text in settings.reject:
        if text not in known:
            what = f"--reject {text!r} is neither a rule nor a severity"
            remedy = f"give one of {', '.join(SEVERITIES)}, or a rule of `stator rules list`"
            problems.append(Problem(what=what, remedy=remedy))
    if settings.reject and not settings.serves_webhooks:
        why = "findings are refused at admission, and this installation has no webhooks"
        problems.append(Problem(what="--reject has no effect", why=why, remedy="leave it out"))
    return problems
