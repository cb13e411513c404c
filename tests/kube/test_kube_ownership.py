"""What a field manager owns, read out of objects that several managers write."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stator.kube.ownership import digest, extract, owned_digest

Json = dict[str, Any]

NAMES = st.sampled_from(["a", "b", "app.kubernetes.io/name", "x:y", "f:z", "."])
LEAVES = st.one_of(st.text(max_size=4), st.integers(-5, 5), st.booleans(), st.lists(st.integers(0, 3), max_size=3))
# An object as two write it: each field has an owner, maps are shared, and lists have elements named by `name`.
OWNED = st.recursive(
    st.tuples(st.sampled_from("ot"), LEAVES),
    lambda inner: st.one_of(
        st.dictionaries(NAMES, inner, min_size=1, max_size=4),
        st.dictionaries(NAMES, st.dictionaries(NAMES, inner, min_size=1, max_size=3), min_size=1, max_size=3).map(
            lambda elements: ("list", elements)
        ),
    ),
    max_leaves=25,
)
OBJECTS = st.dictionaries(st.sampled_from(["spec", "data", "extra"]), OWNED, min_size=1)


def live(tree: Any) -> Any:
    """The object as the server has it."""
    match tree:
        case ("list", elements):
            return [{"key": name, **live(fields)} for name, fields in elements.items()]
        case (_, leaf):
            return leaf
    return {name: live(inner) for name, inner in tree.items()}


def part(tree: Any, owner: str) -> Any:
    """What one of the two has applied, or None."""
    match tree:
        case ("list", elements):
            found = [(name, part(fields, owner)) for name, fields in elements.items()]
            return [{"key": name, **inner} for name, inner in found if inner is not None] or None
        case (who, leaf):
            return leaf if who == owner else None
    kept = {name: inner for name, value in tree.items() if (inner := part(value, owner)) is not None}
    return kept or None


def fields(tree: Any, owner: str) -> Json | None:
    """The same as `fieldsV1`."""
    match tree:
        case ("list", elements):
            found = {_element(name): fields(inner, owner) for name, inner in elements.items()}
            return {key: {".": {}, "f:key": {}, **inner} for key, inner in found.items() if inner is not None} or None
        case (who, _):
            return {} if who == owner else None
    found = {f"f:{name}": fields(inner, owner) for name, inner in tree.items()}
    return {name: inner for name, inner in found.items() if inner is not None} or None


def _element(name: str) -> str:
    return "k:" + json.dumps({"key": name}, separators=(",", ":"))


def both(tree: Json) -> Json:
    """The live object with the entries of its two managers."""
    entries = [
        {"manager": manager, "operation": "Apply", "fieldsV1": owned}
        for manager, owner in (("ours", "o"), ("theirs", "t"))
        if (owned := fields(tree, owner)) is not None
    ]
    metadata = {"name": "n", "namespace": "s", "uid": "u", "resourceVersion": "7", "managedFields": entries}
    return {"apiVersion": "v1", "kind": "Thing", **live(tree), "metadata": metadata}


@given(OBJECTS)
def test_each_manager_gets_back_exactly_what_it_applied(tree: Json) -> None:
    """Nothing of the other's, nothing lost, in maps, named elements and whole lists alike."""
    identity = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "n", "namespace": "s"}}
    for manager, owner in (("ours", "o"), ("theirs", "t")):
        applied = part(tree, owner)
        wanted = None if applied is None else {**applied, **identity}
        assert extract(both(tree), manager) == wanted
        assert owned_digest(both(tree), manager) == (b"" if wanted is None else digest(wanted))


@given(OBJECTS, OBJECTS)
def test_what_others_write_is_no_change_of_ours(tree: Json, other: Json) -> None:
    """A second manager that comes, goes or changes its fields leaves our digest as it was."""
    alone = {name: inner for name, inner in tree.items() if part(inner, "o") is not None}
    theirs = {f"their-{name}": inner for name, inner in other.items()}
    value, changed = both(alone), both(alone)
    changed |= {name: live(inner) for name, inner in theirs.items()}
    changed["metadata"] |= {"resourceVersion": "8", "generation": 3, "labels": {"by": "others"}}
    assert owned_digest(value, "ours") == owned_digest(changed, "ours")


@given(OBJECTS)
def test_a_digest_does_not_depend_on_the_order_of_keys(tree: Json) -> None:
    """The server sorts; people do not."""

    def reversed_(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: reversed_(value[name]) for name in reversed(value)}
        return [reversed_(each) for each in value] if isinstance(value, list) else value

    assert digest(live(tree)) == digest(reversed_(live(tree)))


def test_another_operation_or_subresource_of_the_same_name_is_not_ours() -> None:
    """An update under our name, and what we apply to the status, are not what we apply to the object."""
    value = both({"spec": ("o", 1)})
    [entry] = value["metadata"]["managedFields"]
    entry["operation"] = "Update"
    assert extract(value, "ours") is None
    entry |= {"operation": "Apply", "subresource": "status"}
    assert extract(value, "ours") is None
    assert extract(value, "ours", subresource="status") is not None


def test_each_form_of_a_list_gives_back_what_is_ours() -> None:
    """Elements by one key field or several (one of them absent), members by value, elements by position."""
    web = [{"port": 80, "protocol": "TCP", "name": "a"}, {"port": 80, "name": "b"}]
    live = {
        "ports": [*web, {"port": [80]}, "odd", {"port": 1}],
        "set": ["x", 1, {"y": 2}],
        "places": [{"z": 1, "mine": 2}, 3, 4],
        "none": ["x"],
    }
    owned = {
        "f:ports": {
            ".": {},
            'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}},
            'k:{"port":80,"protocol":null}': {".": {}, "f:port": {}},
            'k:{"port":1}': {},
        },
        "f:set": {"v:1": {}, 'v:{"y":2}': {}, 'v:"gone"': {}},
        "f:places": {"i:0": {"f:mine": {}}, "i:2": {}, "i:7": {}},
        "f:none": {".": {}},
    }
    value = both({"spec": ("o", live)})
    value["metadata"]["managedFields"][0]["fieldsV1"] = {"f:spec": owned}
    extracted = extract(value, "ours")
    assert extracted
    assert extracted["spec"] == {
        "ports": [{"name": "a"}, {"port": 80}, {"port": 1}],
        "set": [1, {"y": 2}],
        "places": [{"mine": 2}, 4],
        "none": [],
    }
