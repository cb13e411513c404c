"""Containers to evaluate, written as a user thinks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stator.compat import ContainerFacts, Verdict, rules
from stator.compat import evaluate as evaluate_rules
from stator.errors import Position
from stator.model.commandline import CommandLine, Invocation
from stator.versions import resolve

RULE = next(rule for rule in rules() if rule.id == "DYN101")


def evaluate(facts: ContainerFacts, *, repair: bool = True) -> Verdict:
    """What DYN101 alone has to say."""
    return evaluate_rules(facts, rules=(RULE,), repair=repair)


def _entries(env: Mapping[str, str | Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"name": name, "value": value} if isinstance(value, str) else {"name": name, "valueFrom": value}
        for name, value in env.items()
    )


def make_container(
    *argv: str,
    image: str = "registry.example/sglang-runtime:1.5.0",
    env: Mapping[str, str | Mapping[str, Any]] | None = None,
    env_from: Sequence[Mapping[str, Any]] = (),
    module: str = "dynamo.sglang",
    opaque: str = "",
    in_shell: bool = False,
    **fields: Any,
) -> ContainerFacts:
    """A worker container with the checks its operator renders (on), overridden by `env`."""
    given: dict[str, Any] = {
        "object": "DynamoGraphDeployment/prod/search",
        "component": "Embed",
        "component_type": "worker",
        "backend": "sglang",
        "version": resolve(None, image),
        "env": _entries({"DYN_HEALTH_CHECK_ENABLED": "true"} | dict(env or {})),
        "env_from": tuple(env_from),
        "command_line": CommandLine(
            invocations=(Invocation(module=module, argv=argv, in_shell=in_shell),) if module else (), opaque=opaque
        ),
        "locate": lambda *path: Position("graph.yaml", sum(len(str(step)) for step in path) or 1),
    }
    return ContainerFacts(**given | fields)
