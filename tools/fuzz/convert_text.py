"""Coverage-guided fuzzing: no graph loses anything on its way to the other API version and back.

Run like `check_text.py`. A refusal is fine, unless a graph "would not stay the same": the proof found a loss then.
"""

from __future__ import annotations

import sys
from typing import Any

import atheris
from corpus import fill

with atheris.instrument_imports(include=["stator"]):
    from stator.errors import StatorError
    from stator.model.identity import GRAPH_KINDS
    from stator.model.load import without_nulls
    from stator.model.parse import parse
    from stator.upgrade.convert import Target, convert

VERSIONS: tuple[Target, ...] = ("v1beta1", "v1alpha1")


def values(text: bytes) -> list[Any]:
    """The documents as an API server would take them."""
    return [without_nulls(document.value) for document in parse("-", text)[0]]


def one(data: bytes) -> None:
    """There and back, from each version."""
    for there, back in (VERSIONS, VERSIONS[::-1]):
        try:
            new = convert("-", data, there, namespace=None, reversible=True).text.encode()
        except StatorError as error:
            if "would not stay the same" in str(error):
                raise
            continue
        before = values(data)
        versions = {item["apiVersion"] for item in before if item["kind"] in GRAPH_KINDS}
        if versions == {f"nvidia.com/{back}"}:
            again = convert("-", new, back, namespace=None, reversible=True).text.encode()
            if values(again) != before:
                raise ValueError(f"lost on the way: {again!r}")


if __name__ == "__main__":
    fill(sys.argv[1:])
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
