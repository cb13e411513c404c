"""A report as a document, one module per format. Every writer takes the report and what fails it, and returns text.

A writer is imported when it is asked for: a check of one file is over before some of their libraries are loaded.

An empty report is a valid document in each, and each says what could not be checked and where a rule is explained.
"""

from __future__ import annotations

from importlib import import_module

from stator.check.report import FailOn, Report

# format -> (module, function)
_WRITERS = {
    "text": ("lines", "to_text"),
    "concise": ("lines", "to_concise"),
    "json": ("document", "to_json"),
    "jsonl": ("document", "to_jsonl"),
    "sarif": ("sarif", "to_sarif"),
    "junit": ("junit", "to_junit"),
    "github": ("annotations", "to_github"),
    "markdown": ("markdown", "to_markdown"),
}
FORMATS = tuple(_WRITERS)


def write(name: str, report: Report, fail_on: FailOn) -> str:
    """The report in one of FORMATS."""
    module, function = _WRITERS[name]
    text = getattr(import_module(f"{__name__}.{module}"), function)(report, fail_on)
    assert isinstance(text, str)  # noqa: S101 - the table above is ours
    return text


__all__ = ["FORMATS", "write"]
