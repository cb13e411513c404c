"""Which JSON value an unquoted YAML scalar is, as kubectl 1.32 prints it (`kubectl label --local -o json`)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.model.scalars import JsonScalar, ScalarError, plain, tagged

TAG = "tag:yaml.org,2002:"

DECISIONS: list[tuple[str, JsonScalar]] = [
    # YAML 1.1 booleans, in three spellings each
    *[(text, True) for text in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")],
    *[(text, False) for text in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")],
    *[(text, text) for text in ("oN", "yEs", "tRUE", "ye")],
    # nulls
    *[(text, None) for text in ("", "~", "null", "Null", "NULL")],
    # integers in every base; underscores are dropped
    ("0", 0),
    ("+1", 1),
    ("-0", 0),
    ("0777", 511),
    ("0o777", 511),
    ("0O17", 15),
    ("0x1F", 31),
    ("+0x1F", 31),
    ("0x_1F", 31),
    ("0b11", 3),
    ("0B11", 3),
    ("-0b11", -3),
    ("1_000", 1000),
    ("1__0", 10),
    ("1_", 1),
    ("18446744073709551615", 18446744073709551615),
    # no octal digit, no octal number
    ("089", 89),
    ("0o8", "0o8"),
    ("0x", "0x"),
    ("_1", "_1"),
    # a whole float is an integer in JSON
    ("1.0", 1),
    ("1.", 1),
    ("1e3", 1000),
    ("12e03", 12000),
    (".1e2", 10),
    (".5", 0.5),
    ("1_0.5", 10.5),
    (".5_0", 0.5),
    ("0.1e400", "0.1e400"),
    # what YAML 1.1 reads as something else and kubectl as text
    ("190:20:30", "190:20:30"),
    ("2001-12-14", "2001-12-14"),
    ("2001-12-14T21:59:43Z", "2001-12-14T21:59:43Z"),
    ("2001-1-2", "2001-1-2"),
    ("=", "="),
    ("1e", "1e"),
    (".e", ".e"),
    (".5e", ".5e"),
    ("1.6.1", "1.6.1"),
    ("8Gi", "8Gi"),
    ("-", "-"),
]


@pytest.mark.parametrize(("text", "value"), DECISIONS)
def test_an_unquoted_scalar_is_what_kubectl_makes_of_it(text: str, value: JsonScalar) -> None:
    """A file means here what it means to `kubectl apply`."""
    assert plain(text) == value
    assert type(plain(text)) is type(value)


@pytest.mark.parametrize("text", [".inf", "-.INF", "+.Inf", ".nan", ".NaN"])
def test_what_json_cannot_hold_is_refused(text: str) -> None:
    """Infinity and not-a-number fail in kubectl too."""
    with pytest.raises(ScalarError, match="JSON"):
        plain(text)


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [
        (TAG + "str", "12", "12"),
        (TAG + "int", "12", 12),
        (TAG + "bool", "yes", True),
        (TAG + "null", "", None),
        (TAG + "float", "3", 3),
        (TAG + "binary", "aGVsbG8=", "hello"),
        (TAG + "timestamp", "2020-01-01", "2020-01-01"),
    ],
)
def test_an_explicit_tag_decides(tag: str, text: str, value: JsonScalar) -> None:
    """A tag of YAML's own forces the type, or leaves the text as it is."""
    assert tagged(tag, text) == value


@pytest.mark.parametrize(("tag", "text"), [("int", "x"), ("int", "true"), ("bool", "1"), ("binary", "@@")])
def test_a_text_that_is_not_of_its_tag_is_refused(tag: str, text: str) -> None:
    """A tag that lies is an error, not a guess."""
    with pytest.raises(ScalarError, match=tag):
        tagged(TAG + tag, text)


@given(st.integers())
def test_every_integer_keeps_all_of_its_digits(number: int) -> None:
    """An instance id above 2**63 is not rounded."""
    assert plain(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_keeps_its_value(number: float) -> None:
    """Python's spelling of a float is read back as the same number."""
    assert plain(repr(number)) == number


@given(st.text())
def test_any_text_has_a_value_or_is_refused(text: str) -> None:
    """No scalar makes reading fail in another way, and no value is one that JSON cannot hold."""
    try:
        value = plain(text)
    except ScalarError:
        return
    assert not isinstance(value, float) or math.isfinite(value)
