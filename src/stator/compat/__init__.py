"""The compatibility rules: data files, named predicates, and what they find and repair."""

from stator.compat.evaluate import evaluate
from stator.compat.facts import ContainerFacts
from stator.compat.findings import AddEnv, AddEnvLowest, Finding, Repair, Severity, Verdict
from stator.compat.rule import Evidence, Rule, Wording, rules

__all__ = [
    "AddEnv",
    "AddEnvLowest",
    "ContainerFacts",
    "Evidence",
    "Finding",
    "Repair",
    "Rule",
    "Severity",
    "Verdict",
    "Wording",
    "evaluate",
    "rules",
]
