"""The compatibility rules: data files, named predicates, and what they find and repair."""

from stator.compat.evaluate import evaluate, evaluate_fleet, evaluate_graph, evaluate_move
from stator.compat.facts import ContainerFacts, FleetFacts, GraphFacts, GraphNames, MoveFacts
from stator.compat.findings import AddEnv, AddEnvLowest, Finding, Repair, Severity, Verdict
from stator.compat.rule import Evidence, Rule, Wording, rules

__all__ = [
    "AddEnv",
    "AddEnvLowest",
    "ContainerFacts",
    "Evidence",
    "Finding",
    "FleetFacts",
    "GraphFacts",
    "GraphNames",
    "MoveFacts",
    "Repair",
    "Rule",
    "Severity",
    "Verdict",
    "Wording",
    "evaluate",
    "evaluate_fleet",
    "evaluate_graph",
    "evaluate_move",
    "rules",
]
