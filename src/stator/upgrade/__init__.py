"""What an upgrade does: the difference between two renderings, and the steps that lead from one to the other."""

from stator.upgrade.change import Change, ComponentChange, GraphChange, ObjectChange, Side, Verdict
from stator.upgrade.compare import compare, compare_all

__all__ = [
    "Change",
    "ComponentChange",
    "GraphChange",
    "ObjectChange",
    "Side",
    "Verdict",
    "compare",
    "compare_all",
]
