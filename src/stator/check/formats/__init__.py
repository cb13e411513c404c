"""A report as a document, one module per format. Every writer takes the report and what fails it, and returns text.

An empty report is a valid document in each, and each says what could not be checked and where a rule is explained.
"""

from __future__ import annotations

from collections.abc import Callable

from stator.check.formats.annotations import to_github
from stator.check.formats.document import to_json, to_jsonl
from stator.check.formats.junit import to_junit
from stator.check.formats.lines import to_concise, to_text
from stator.check.formats.markdown import to_markdown
from stator.check.formats.sarif import to_sarif
from stator.check.report import FailOn, Report

FORMATS: dict[str, Callable[[Report, FailOn], str]] = {
    "text": to_text,
    "concise": to_concise,
    "json": to_json,
    "jsonl": to_jsonl,
    "sarif": to_sarif,
    "junit": to_junit,
    "github": to_github,
    "markdown": to_markdown,
}

__all__ = ["FORMATS"]
