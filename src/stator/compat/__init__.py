"""The compatibility rules: data files, named predicates, and what they find and repair."""

from stator.compat.facts import ContainerFacts
from stator.compat.findings import AddEnv, AddEnvLowest, Finding, Repair, Severity, Verdict

__all__ = ["AddEnv", "AddEnvLowest", "ContainerFacts", "Finding", "Repair", "Severity", "Verdict"]
