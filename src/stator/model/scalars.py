"""Plain YAML scalars to JSON values, the way kubectl reads them.

kubectl converts YAML to JSON with sigs.k8s.io/yaml (a fork of go-yaml v2), which is YAML 1.1 with exceptions: `y`,
`on` and `yes` are booleans, `0777` and `0o777` are octal, sexagesimal numbers and timestamps stay strings. A whole
number written as a float (`1.0`, `1e3`) is an integer once it is JSON. Unlike kubectl, an integer beyond 64 bits keeps
all of its digits.
"""

from __future__ import annotations

import base64
import binascii
import math
import re

JsonScalar = str | int | float | bool | None

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_NULL = ("", "~", "null", "Null", "NULL")
_NAMED: dict[str, bool | None] = {
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys(_NULL, None),
}
_NOT_JSON = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGER = re.compile(r"([-+]?)(?:0[oO]?([0-7]+)|(0[xX][0-9a-fA-F]+|0[bB][01]+|[1-9][0-9]*|0))", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NUMBER_START = frozenset("0123456789+-.")
# Go prints a float below this without an exponent, so JSON readers see an integer.
_PRINTED_WITHOUT_EXPONENT = 1e21
_MAX_INTEGER_DIGITS = 4000

_TAGS = "tag:yaml.org,2002:"
PLAIN = ""  # the tag of an unquoted scalar without one
STRING_TAG = _TAGS + "str"
_TYPES: dict[str, tuple[type, ...]] = {
    _TAGS + "bool": (bool,),
    _TAGS + "int": (int,),
    _TAGS + "float": (int, float),
    _TAGS + "null": (type(None),),
}


class ScalarError(ValueError):
    """The scalar has no JSON value."""


def plain(text: str) -> JsonScalar:
    """The value of an unquoted, untagged scalar.

    Raises ScalarError for infinity and not-a-number, which JSON cannot say.
    """
    if text in _NAMED:
        return _NAMED[text]
    if text[0] not in _NUMBER_START:
        return text
    if _NOT_JSON.fullmatch(text):
        raise ScalarError(f"`{text}` is not a number that JSON can hold")
    return _number(text)


def tagged(tag: str, text: str) -> JsonScalar:
    """The value of a scalar with an explicit tag; one of YAML's own that says nothing here leaves the text as it is.

    Raises ScalarError if the text is not of the tag's type.
    """
    if tag == _TAGS + "binary":
        try:
            return base64.b64decode(text, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise ScalarError("the `!!binary` value is not base64 of UTF-8 text") from None
    if tag not in _TYPES:
        return text
    value = plain(text)
    if not isinstance(value, _TYPES[tag]) or (isinstance(value, bool) and bool not in _TYPES[tag]):
        raise ScalarError(f"the value is not a `!!{tag.removeprefix(_TAGS)}`")
    return value


def _number(text: str) -> JsonScalar:
    digits = text.replace("_", "") if text[0] != "_" else text
    if integer := _INTEGER.fullmatch(digits):
        sign, octal, other = integer.groups()
        if len(digits) > _MAX_INTEGER_DIGITS:
            raise ScalarError("the number has too many digits")
        magnitude = int(octal, 8) if octal else int(other, 0)
        return -magnitude if sign == "-" else magnitude
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        if math.isinf(number):
            return text
        return int(number) if number.is_integer() and abs(number) < _PRINTED_WITHOUT_EXPONENT else number
    return text
