"""Text to documents and problems with their places."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.errors import Problem
from stator.model.parse import parse


def values(text: str | bytes) -> list[object]:
    """The values of a text without problems."""
    documents, problems = parse("f.yaml", text.encode() if isinstance(text, str) else text)
    assert problems == []
    return [document.value for document in documents]


def only_problem(text: str | bytes) -> Problem:
    """The one problem of a text."""
    _, problems = parse("f.yaml", text.encode() if isinstance(text, str) else text)
    assert len(problems) == 1
    return problems[0]


def test_every_document_of_a_stream_is_read() -> None:
    """Separators, comments, directives and empty documents in between do not matter."""
    assert values("---\n---\n# x\n---\na: 1\n...\n---\n\n---\nb: 2\n") == [{"a": 1}, {"b": 2}]


def test_a_byte_order_mark_is_accepted() -> None:
    """Files written on Windows start with one."""
    assert values(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n") == [{"a": 1, "b": 2}]


def test_json_is_read_as_json() -> None:
    """Tabs, escaped slashes and characters written as two escapes are JSON's own."""
    text = '{\n\t"a":\t"\\/\\ud83d\\ude00",\n\t"b": [1, 1e3, true, null]\n}'
    assert values(text) == [json.loads(text)]


def test_items_of_a_list_are_documents_with_their_own_lines() -> None:
    """What `kubectl get -o yaml` prints loads like the separate objects."""
    documents, _ = parse("f", b"apiVersion: v1\nkind: List\nitems:\n- kind: A\n  x: 1\n- kind: B\n  x: 2\n")
    assert [document.value for document in documents] == [{"kind": "A", "x": 1}, {"kind": "B", "x": 2}]
    assert [document.locate(("x",)).line for document in documents] == [5, 7]


def test_merge_keys_take_over_entries_and_their_places() -> None:
    """A mapping's own entries win over merged ones, earlier merged ones over later; all lead to where they stand."""
    text = b"a: &a {p: 1, q: 2}\nb: &b {q: 3, r: 4}\nc:\n  <<: [*a, *b]\n  p: 5\n"
    documents, problems = parse("f", text)
    assert problems == []
    assert documents[0].value["c"] == {"p": 5, "q": 2, "r": 4}
    assert [documents[0].locate(("c", key)).line for key in ("p", "q", "r")] == [5, 1, 2]


def test_a_place_is_that_of_the_key_or_of_the_nearest_parent() -> None:
    """Errors about absent fields point at the object that lacks them."""
    (document,), _ = parse("f", b"a:\n  b:\n  - c: 1\n  - c: 2\n")
    assert str(document.locate(("a", "b", 1, "c"))) == "f:4"
    assert str(document.locate(("a", "b", 1, "d", "e"))) == "f:4"
    assert str(document.locate(("a", "b", 7))) == "f:2"
    assert str(document.locate(())) == "f:1"


@pytest.mark.parametrize(
    ("text", "line", "what", "remedy"),
    [
        (b"a: 1\nb: x\0y\n", 2, "U+0000", "remove"),
        ("ü: 1\nb: x\x01y\n".encode(), 2, "U+0001", "remove"),
        (b"a: 1\nb: \xff\n", 2, "UTF-8", "UTF-8"),
        (b"a:\n\tb: 1\n", 2, "token", "spaces"),
        (b"a: b: c\n", 1, "mapping values", "indentation"),
        (b"a: 1\nb: *x\n", 2, "alias", "indentation"),
        (b"a: 1\nb: 2\na: 3\n", 3, "`a` stands here and in line 1", "keep one"),
        (b"x:\n  a: 1\n  a: 1\n", 3, "in line 2", "keep one"),
        (b"a: 1\non: 2\n", 2, "`on` reads as `true`", "quotes"),
        (b"a: 1\n0777: 2\n", 2, "`0777` reads as `511`", "quotes"),
        (b"a: 1\n~: 2\n", 2, "`~` reads as `null`", "quotes"),
        (b"a: 1\n? [b]\n: 2\n", 2, "list or a mapping", "text"),
        (b"a: .inf\n", 1, "JSON", "quotes"),
        (b"a: !!int x\n", 1, "!!int", "quotes"),
        (b"a: 1\nb: !vault |\n  x\n", 2, "`!vault`", "without the tag"),
        (b"a: 1\nb: !reference [x, y]\n", 2, "`!reference`", "without the tag"),
        (b"a: !!python/object:os.system x\n", 1, "`!!python/object:os.system`", "without the tag"),
        (b"a: 1\nb:\n  <<: 3\n", 3, "merges", "anchored"),
        (b"a: &a {b: *a}\n", 1, "contains itself", "flat"),
        (b"a: &a\n  <<: *a\n", 1, "contains itself", "flat"),
        (b"a: " + b"[" * 500, 1, "nested", "flat"),
        (b"- " * 500 + b"x", 1, "nested", "flat"),
        (b'{"a": 1}{"b": 2}', 1, "<document start>", "---"),
        (b"a: 1\nb: {x: ${N}}\n", 2, "YAML", "substitute"),
        (b"a: 1\nb: {{ .Values.x }}\n", 2, "mapping", "substitute"),
        (b"a: 1\n{{- if .x }}\nb: 2\n{{- end }}\n", 3, "YAML", "substitute"),
    ],
)
def test_a_broken_text_is_one_problem_with_line_and_remedy(text: bytes, line: int, what: str, remedy: str) -> None:
    """What is wrong is said in words, at its line, with what to do."""
    problem = only_problem(text)
    assert problem.position is not None
    assert (problem.position.file, problem.position.line) == ("f.yaml", line)
    assert what in f"{problem.what} {problem.why}"
    assert remedy in problem.remedy


def test_aliases_cannot_blow_a_document_up() -> None:
    """Nine levels of nine aliases are refused at once instead of filling the memory."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert "aliases" in only_problem("\n".join(levels)).what


def test_a_broken_document_does_not_hide_the_others() -> None:
    """Documents after a broken one are read, and their problems are reported too, each at its line."""
    documents, problems = parse("f", b"a: [1\n---\nb: 1\n---\nc: {1\n---\nd: 1\nd: 2\n---\ne: 1\n")
    assert [document.value for document in documents if "b" in document.value or "e" in document.value] == [
        {"b": 1},
        {"e": 1},
    ]
    assert [problem.position.line for problem in problems if problem.position] == [2, 6, 8]


@pytest.mark.parametrize("broken", ["--- a: b: c\n", "--- x\1\n", "---\na: [\n", "--- {a: ]\n"])
def test_a_broken_document_is_reported_once(broken: str) -> None:
    """Wherever the error is found, going on after it does not find it again."""
    _, problems = parse("f", f"a: 1\n{broken}---\nb: 1\n{broken}".encode())
    assert len(problems) == 2


def test_a_template_elsewhere_is_not_blamed() -> None:
    """A shell variable in another document has nothing to do with a syntax error."""
    assert "substitute" not in only_problem("a: ${X}\n---\nb: [1\n").remedy
    assert "substitute" not in only_problem("a: [{b: {c: d}}\n").remedy


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("ascii_only", [True, False])
@given(value=st.dictionaries(TEXT, JSON_VALUES, min_size=1, max_size=4))
def test_any_json_object_comes_back_as_it_was(value: dict[str, object], *, ascii_only: bool) -> None:
    """JSON loads to the value it was written from, whatever its strings and keys hold."""
    assert values(json.dumps(value, ensure_ascii=ascii_only)) == [value]


@given(st.binary(max_size=80) | st.text(alphabet=" \n\t-:?{}[]&*!|>'\"%@`#,<~ab1.$\\", max_size=60).map(str.encode))
def test_any_bytes_can_be_parsed(content: bytes) -> None:
    """No content, however broken, makes parsing fail; every problem has its place."""
    _, problems = parse("f", content)
    assert all(problem.position for problem in problems)
