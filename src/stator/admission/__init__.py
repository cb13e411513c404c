"""Admission: which graphs and changes are refused, and why. Pure; what a cluster has is an argument."""

from stator.admission.admit import file_problems, problems, update_problems
from stator.admission.review import Review, review
from stator.admission.subject import Installed
from stator.admission.warnings import warnings

__all__ = [
    "Installed",
    "Review",
    "file_problems",
    "problems",
    "review",
    "update_problems",
    "warnings",
]
