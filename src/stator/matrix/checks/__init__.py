"""What a graph has to answer: strict, pure judgements over raw requests and responses.

A judgement returns violations in words, none if the response is right. Nothing here sends anything: `suite` is given a
function that does. A check that passes because it looked at nothing is no check, so everything asked for is required
to be there.
"""

from stator.matrix.checks.suite import CheckResult, Kind, Promise, run_suite

__all__ = ["CheckResult", "Kind", "Promise", "run_suite"]
