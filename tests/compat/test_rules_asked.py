"""Which rules are asked about a container: leaving out those that cannot have anything to say changes no verdict."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from dyn101_containers import make_container
from hypothesis import given
from hypothesis import strategies as st

from stator.compat import Rule, evaluate, rules, sglang
from stator.compat.predicates import CONTAINER_PREDICATES

NAMING = [rule for rule in rules() if rule.scope == "container" and rule.names]
WORDS = st.sampled_from(["--use-sglang-tokenizer", "--no-use-sglang-tokenizer", "--use-s", "--u", "--", "-use", "x"])


@pytest.mark.parametrize("rule", NAMING, ids=lambda rule: rule.id)
def test_a_rule_about_names_is_silent_where_none_of_them_is_given(rule: Rule) -> None:
    """Whatever the module and wherever an environment may come from, its predicate answers nothing."""
    for module in rule.looks_for.get("modules", ["dynamo.sglang", "dynamo.frontend"]):
        facts = make_container("--model-path", "m", "x", module=module, env_from=[{"secretRef": {"name": "s"}}])
        bare = msgspec.structs.replace(facts, env=({"name": "A", "value": ""},))
        assert not list(CONTAINER_PREDICATES[rule.predicate](bare, rule))


def test_an_option_is_given_in_every_spelling_that_rules_know() -> None:
    """With its value attached or behind it, and in any of a script's runs."""
    facts = make_container("--connector=none", "--other", "-x", "word", env={"VAR": "1"})
    assert facts.given == {"--connector", "--other", "-x", "VAR", "DYN_HEALTH_CHECK_ENABLED"}


def test_a_rule_about_modules_is_not_asked_about_others() -> None:
    """The flag that vLLM refuses is nobody else's business; with vLLM it is."""
    [rule] = [rule for rule in rules() if rule.id == "DYN304"]
    said = [
        evaluate(make_container("--connector", "x", module=f"dynamo.{name}"), rules=[rule])
        for name in ("sglang", "vllm")
    ]
    assert [len(verdict.findings) for verdict in said] == [0, 1]


@given(argv=st.lists(WORDS, max_size=3), variable=st.sampled_from([None, "true", "false"]))
def test_a_switch_that_is_on_was_asked_for(argv: list[str], variable: str | None) -> None:
    """Abbreviated, negated or by variable: what is on without being parsed for would be overlooked."""
    env: dict[str, Any] = {"DYN_SGL_USE_TOKENIZER": variable} if variable else {}
    facts = make_container(*argv, env=env)
    on = [sglang.switch(facts, worker, sglang.TEXT).on for worker in sglang.workers(facts)]
    assert sglang.may_be_on(facts, sglang.TEXT) or not any(on)
