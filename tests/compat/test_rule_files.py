"""The rule files themselves."""

from __future__ import annotations

from importlib import resources
from string import Template

import msgspec
import pytest
import yaml

from stator.compat import Rule, rules
from stator.compat.predicates import (
    CONTAINER_PREDICATES,
    FLEET_PREDICATES,
    GRAPH_PREDICATES,
    MOVE_PREDICATES,
    PLATFORM_PREDICATES,
)
from stator.compat.rule import read_rule

PREDICATES = {
    "container": CONTAINER_PREDICATES,
    "graph": GRAPH_PREDICATES,
    "fleet": FLEET_PREDICATES,
    "move": MOVE_PREDICATES,
    "platform": PLATFORM_PREDICATES,
}
FOLDER = resources.files("stator.compat").joinpath("rules")
each_rule = pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)


def test_every_rule_file_is_a_rule_of_its_own_name() -> None:
    """The file name is the id and the kebab name, and no id is given twice."""
    files = sorted(file.name for file in FOLDER.iterdir() if file.name.endswith(".yaml"))
    assert files == [f"{rule.id}-{rule.name}.yaml" for rule in rules()]
    assert len({rule.id for rule in rules()}) == len(files)


@each_rule
def test_every_rule_is_decided_explained_and_known_to_be_true(rule: Rule) -> None:
    """A rule without a predicate, references, evidence or a page is not finished."""
    assert rule.predicate in PREDICATES[rule.scope]
    assert rule.references
    assert rule.evidence
    assert rule.page.strip()


@each_rule
def test_a_rule_that_is_only_reported_is_no_error(rule: Rule) -> None:
    """What nobody measured and nobody documented may be wrong, so it does not fail anyone's build."""
    assert rule.severity != "error" or any(evidence.grade != "reported" for evidence in rule.evidence)


@each_rule
def test_every_rule_it_yields_to_exists_and_comes_first(rule: Rule) -> None:
    """Rules are asked in order, so a rule can only yield to an earlier one."""
    assert all(other in {known.id for known in rules()} and other < rule.id for other in rule.yields_to)


@each_rule
def test_every_outcome_can_be_said(rule: Rule) -> None:
    """Each outcome has a remedy, and is a sentence fragment that reports can continue."""
    for key, words in rule.outcomes.items():
        names = {name for text in (words.message, words.remedy, words.fix, words.repair) for name in _names(text)}
        said = words.filled(**dict.fromkeys(names, "x"))
        assert said.remedy, key
        assert not said.message.endswith("."), key
        assert "$" not in said.message + said.remedy + said.repair, key


def _names(text: str) -> list[str]:
    return Template(text).get_identifiers()


def test_a_rule_file_with_a_misspelt_key_is_refused() -> None:
    """A key nobody reads is a mistake of the author, not an extension."""
    text = next(file for file in FOLDER.iterdir() if file.name.startswith("DYN101")).read_text()
    assert read_rule(yaml.safe_load(text)).id == "DYN101"
    with pytest.raises(msgspec.ValidationError, match="severty"):
        read_rule(yaml.safe_load(text.replace("severity:", "severty:", 1)))
