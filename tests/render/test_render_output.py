"""Text that every YAML reader takes for the same objects."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stator.render.output import to_json, to_yaml

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "value",
    [
        *("n", "Y", "on", "No", "true", "null", "~", "", "<<", "="),
        *("1", "-1", "1.5", "1e3", "12e4567", "0x1f", "0o17", "1_000", ".inf", "2001-01-01", "12:30:45"),
        *("- a", "a: b", "a #b", "{a}", "&a", "*a", "!a", "@a", "%a", "'", '"'),
    ],
)
def test_what_some_reader_resolves_is_quoted(value: str) -> None:
    """Go's YAML, Python's and JSON's idea of plain scalars differ; a string is never at their mercy."""
    [text] = [line for line in to_yaml([{"value": value}]).splitlines() if line.startswith("value:")]
    assert text.removeprefix("value: ")[0] in {"'", '"'}


@pytest.mark.parametrize("value", ["kubernetes", "-m", "--model-path", "8Gi", "25%", "reg/x:1.5.0", "HF_TOKEN"])
def test_what_nobody_mistakes_is_plain(value: str) -> None:
    """Words, flags, quantities and images stay readable."""
    assert f"value: {value}\n" in to_yaml([{"value": value}])


def test_several_lines_are_a_literal_block() -> None:
    """A script reads as one."""
    assert to_yaml([{"args": ["set -e\nrun\n"]}]) == "---\nargs:\n- |\n  set -e\n  run\n"


def test_equal_parts_are_written_out() -> None:
    """There are no anchors, which kubectl resolves and people do not."""
    shared = {"a": "b"}
    assert to_yaml([{"v": shared, "w": shared}]) == "---\nv:\n  a: b\nw:\n  a: b\n"


def test_what_identifies_a_thing_comes_first() -> None:
    """Then keys are sorted."""
    text = to_yaml([{"spec": {"a": 1, "name": "x"}, "kind": "K", "apiVersion": "v1", "metadata": {}}])
    assert text == "---\napiVersion: v1\nkind: K\nmetadata: {}\nspec:\n  name: x\n  a: 1\n"


def test_no_objects_are_a_valid_document() -> None:
    """An empty YAML stream, and an empty List."""
    assert to_yaml([]) == ""
    assert json.loads(to_json([])) == {"apiVersion": "v1", "kind": "List", "items": []}


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=3))
def test_what_is_written_reads_back(value: dict[str, object]) -> None:
    """YAML and JSON give back exactly the value."""
    assert yaml.safe_load(to_yaml([value])) == value
    assert json.loads(to_json([value]))["items"] == [value]
