"""What a store keeps of objects, short and long ones, and how it finds them again."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stator.kube.resources import Key
from stator.kube.store import OWNER, Store

OWNERS = ("u-1", "u-2")


def child(name: str, owners: set[str], size: int) -> dict[str, Any]:
    """An object with owners, and as much text as is asked for."""
    references = [{"uid": uid} for uid in sorted(owners)]
    return {
        "metadata": {"namespace": "ns", "name": name, "uid": f"u-{name}", "ownerReferences": references},
        "data": {"text": "x" * size},
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.none() | st.tuples(st.sets(st.sampled_from(OWNERS)), st.sampled_from([1, 5000])),
        ),
        max_size=20,
    )
)
def test_what_is_found_by_owner_is_what_was_put_last(steps: list[tuple[str, tuple[set[str], int] | None]]) -> None:
    """However objects come, change owners and go, an owner has exactly those that name it now, unabridged."""
    store, wanted = Store(), dict[str, tuple[set[str], int]]()
    for name, now in steps:
        if now is None:
            store.remove(Key("ns", name))
            wanted.pop(name, None)
        else:
            store.put(child(name, *now))
            wanted[name] = now
    for owner in OWNERS:
        found = {value["metadata"]["name"]: len(value["data"]["text"]) for value in store.find(OWNER, owner)}
        assert found == {name: size for name, (owners, size) in wanted.items() if owner in owners}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.integers(1, 2)), min_size=1, max_size=20))
def test_a_change_matters_exactly_if_it_shows(steps: list[tuple[str, int, int]]) -> None:
    """Reconcilers are told of a new projection, and of nothing else: not of a version, nor of what is left out."""
    store = Store(project=lambda live, _: {"metadata": live["metadata"], "text": live["text"]})
    known: dict[str, int] = {}
    for version, (name, text, secret) in enumerate(steps):
        metadata = {"namespace": "ns", "name": name, "uid": f"u-{name}", "resourceVersion": str(version)}
        change = store.put({"metadata": metadata, "text": f"{text}-" * 300, "left out": secret})
        assert change.matters == (known.get(name) != text)
        assert store.get(Key("ns", name)) == {"metadata": metadata, "text": f"{text}-" * 300}
        known[name] = text


def test_what_one_reader_changes_no_other_reads() -> None:
    """Every reader has an object of its own, and so has whoever put it."""
    store, put = Store(), child("a", {"u-1"}, 10)
    store.put(put)
    put["data"]["text"] = "changed by who put it"
    for _ in range(2):
        [value] = store.find(OWNER, "u-1")
        assert value["data"] == {"text": "x" * 10}
        value["data"]["text"] = "changed by who read it"
