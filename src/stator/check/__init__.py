"""Rules over files: what a graph as it is, or its upgrade, will run into; reports for people and for machines."""

from stator.check.ignores import Ignore
from stator.check.reading import Reading, read
from stator.check.report import Ignored, Report
from stator.check.run import CheckOptions, check

__all__ = ["CheckOptions", "Ignore", "Ignored", "Reading", "Report", "check", "read"]
