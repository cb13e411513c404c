"""The schemas of `stator.model` in the form an API server takes: structural OpenAPI v3, and rules in CEL.

The same data files that check a manifest on a laptop are translated here, so both refuse the same fields. References
are put in, `allOf` is merged, and what JSON Schema says by `if` or by one of our keywords becomes a list type or a
CEL rule. A pod template is Kubernetes' own: what stator reads of it is described, every other field is kept, and no
rule looks into it (Kubernetes documentation, "Extend the Kubernetes API with CustomResourceDefinitions").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from stator.model.schema import schemas

Json = dict[str, Any]

_CORE = "core.yaml"
_COPIED = (
    *("type", "format", "enum", "default", "pattern", "minLength", "maxLength", "minimum", "maximum"),
    *("minItems", "maxItems", "minProperties", "maxProperties"),
)
_KEPT = {"x-kubernetes-preserve-unknown-fields": True}


def structural(reference: str) -> Json:
    """The structural schema of a definition, named as `FILE#/NAME`."""
    file, _, name = reference.partition("#/")
    return _node(schemas()[file][name], file)


def _node(schema: Mapping[str, Any], file: str) -> Json:
    """One schema object of a file: first what it refers to, then its own words."""
    result: Json = {}
    if "$ref" in schema:
        place, _, name = schema["$ref"].partition("#/")
        place = place or file
        result = _node(schemas()[place][name], place)
    for part in schema.get("allOf", ()):
        result = _merged(result, _node(part, file))
    return _merged(result, _own(schema, file))


def _own(schema: Mapping[str, Any], file: str) -> Json:
    result: Json = {key: schema[key] for key in _COPIED if key in schema}
    if isinstance(schema.get("type"), list):
        del result["type"]
        result.pop("minimum", None)
        result["x-kubernetes-int-or-string"] = True
    elif "enum" in schema:
        result["type"] = "string"
    if description := _description(schema):
        result["description"] = description
    if "required" in schema:
        result["required"] = list(schema["required"])
    if "properties" in schema:
        result["properties"] = {key: _node(item, file) for key, item in schema["properties"].items()}
    if "additionalProperties" in schema:
        result["additionalProperties"] = _node(schema["additionalProperties"], file)
    if schema.get("type") == "array":
        result["items"] = _node(schema.get("items", {"type": "object"}), file)
        result |= _list_type(schema)
    if schema.get("type") == "object" and "additionalProperties" not in schema:
        result |= _KEPT if file == _CORE or "properties" not in schema else {}
    if file != _CORE and (rules := [*_rules(schema)]):
        result["x-kubernetes-validations"] = rules
    return result


def _description(schema: Mapping[str, Any]) -> str:
    """What `kubectl explain` shows: what a field is for, and what it may be if that is more than a type."""
    described, title = schema.get("description", ""), schema.get("title", "")
    allowed = f"{title[:1].upper()}{title[1:]}." if title else ""
    return " ".join(text for text in (described, allowed) if text)


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> Json:
    """Both schemas in one. What only the second says about a field is added; a list of names or rules is joined."""
    result = dict(one)
    for key, value in other.items():
        before = result.get(key)
        if isinstance(before, Mapping) and isinstance(value, Mapping):
            result[key] = _merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            result[key] = before + [item for item in value if item not in before]
        else:
            result[key] = value
    return result


def _list_type(schema: Mapping[str, Any]) -> Json:
    """A list whose items are told apart by a name is a map to server-side apply, so several managers may share it."""
    key = schema.get("x-unique", schema.get("x-unique-ignoring-case"))
    if key is None:
        return {}
    if not key:
        return {"x-kubernetes-list-type": "set"}
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


def _rules(schema: Mapping[str, Any]) -> Iterator[Json]:
    """What no OpenAPI keyword says, as CEL."""
    properties = schema.get("properties", {})
    for keyword, count, word in (("x-one-exactly", "== 1", "exactly"), ("x-one-at-most", "<= 1", "at most")):
        if fields := schema.get(keyword):
            present = ", ".join(_present(field, properties) for field in fields)
            message = f"must have {word} one of {', '.join(fields)}"
            yield _rule(f"[{present}].filter(set, set).size() {count}", message)
    if "x-unique-ignoring-case" in schema:
        lower = "{}.name.lowerAscii()" if schema["type"] == "array" else "{}.lowerAscii()"
        same = f"{lower.format('b')} == {lower.format('a')}"
        yield _rule(f"self.all(a, self.exists_one(b, {same}))", "names must differ by more than case")
    if "x-single" in schema:
        ((field, value),) = schema["x-single"].items()
        item = "a" if schema["type"] == "array" else "self[a]"
        matching = f"self.filter(a, has({item}.{field}) && {item}.{field} == '{value}')"
        yield _rule(f"{matching}.size() <= 1", f"at most one may be {value}")
    if names := schema.get("propertyNames"):
        yield _names_rule(names)
    for field in schema.get("x-frozen", ()):
        unchanged = f"has(self.{field}) && self.{field} == oldSelf.{field}"
        yield _rule(f"!has(oldSelf.{field}) || ({unchanged})", f"{field} cannot be changed once it is set")
    if "if" in schema:
        yield from _conditional(schema)


def _rule(expression: str, message: str) -> Json:
    return {"rule": expression, "message": message}


def _present(field: str, properties: Mapping[str, Any]) -> str:
    """Whether a field is set; an empty text counts as not set, as in the Kubernetes API."""
    schema = properties[field]
    text = schema.get("type") == "string" or "Subdomain" in schema.get("$ref", "")
    return f"has(self.{field}) && self.{field} != ''" if text else f"has(self.{field})"


def _names_rule(names: Mapping[str, Any]) -> Json:
    place, _, name = names["$ref"].partition("#/")
    schema = schemas()[place][name]
    fits = f"a.size() <= {schema['maxLength']} && a.matches('{schema['pattern']}')"
    return _rule(f"self.all(a, {fits})", f"every name must be {schema['title']}")


def _conditional(schema: Mapping[str, Any]) -> Iterator[Json]:
    """`if` one field has one value, `then` and `else` require fields or forbid them."""
    [field] = schema["if"]["required"]
    value = schema["if"]["properties"][field]["const"]
    literal = str(value).lower() if isinstance(value, bool) else f"'{value}'"
    held = f"has(self.{field}) && self.{field} == {literal}"
    for branch, guard, word in (("then", f"!({held}) || ", "if"), ("else", f"({held}) || ", "unless")):
        consequence = schema.get(branch, {})
        when = f"{word} {field} is {literal.strip(chr(39))}"
        for needed in consequence.get("required", ()):
            yield _rule(f"{guard}has(self.{needed})", f"{needed} is required {when}")
        for forbidden in consequence.get("properties", ()):
            yield _rule(f"{guard}!has(self.{forbidden})", f"{forbidden} must be absent {when}")
