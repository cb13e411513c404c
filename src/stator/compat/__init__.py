"""The compatibility rules: data files, named predicates, and what they find and repair."""

from stator.compat.evaluate import evaluate, evaluate_fleet, evaluate_graph, evaluate_move, evaluate_platform
from stator.compat.facts import ContainerFacts, FleetFacts, GraphFacts, GraphNames, MoveFacts
from stator.compat.findings import AddEnv, AddEnvLowest, Finding, Repair, Severity, Verdict
from stator.compat.platform import Definition, Platform, PlatformFacts, definition
from stator.compat.rule import Evidence, Rule, Wording, rules

__all__ = [
    "AddEnv",
    "AddEnvLowest",
    "ContainerFacts",
    "Definition",
    "Evidence",
    "Finding",
    "FleetFacts",
    "GraphFacts",
    "GraphNames",
    "MoveFacts",
    "Platform",
    "PlatformFacts",
    "Repair",
    "Rule",
    "Severity",
    "Verdict",
    "Wording",
    "definition",
    "evaluate",
    "evaluate_fleet",
    "evaluate_graph",
    "evaluate_move",
    "evaluate_platform",
    "rules",
]
