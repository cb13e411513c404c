"""What a pass has read is fingerprinted: as long as nothing of it is different, another pass would plan the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stator.kube.resources import DEPLOYMENT, POD, SECRET, Key, Kind
from stator.operator import kinds
from stator.operator.caches import Caches, noted
from stator.render import names

KEY = Key("team", "chat-worker")


def live(name: str, *, owner: str = "", version: str = "1", **fields: Any) -> dict[str, Any]:
    """An object of the namespace as a server returns it."""
    metadata = {"namespace": "team", "name": name, "uid": f"uid-{name}", "resourceVersion": version}
    owners = {"ownerReferences": [{"uid": owner, "controller": True, "kind": "K", "name": "n"}]} if owner else {}
    return {"metadata": {**metadata, **owners, **fields.pop("metadata", {})}, **fields}


def caches() -> Caches:
    """Caches that nobody fills but the test."""
    return Caches(None, (kinds.GRAPH, DEPLOYMENT, POD), pull_secrets=("pull",))  # type: ignore[arg-type]


def put(of: Caches, kind: Kind, value: dict[str, Any]) -> None:
    """An object comes, or is different."""
    (of.pull_secrets["pull"] if kind == SECRET else of.informers[kind]).store.put({"kind": kind.kind, **value})


POD_OF_IT = live("pod", metadata={"labels": {names.SELECTOR: "chat-worker"}})
PULL = live("pull", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": "eyJhdXRocyI6eyJhLmIiOnt9fX0="})


@pytest.mark.parametrize(
    ("read", "kind", "change"),
    [
        (lambda of: of.get(kinds.GRAPH, KEY), kinds.GRAPH, live("chat-worker", spec={"a": 1})),
        (lambda of: of.child(DEPLOYMENT, KEY), DEPLOYMENT, live("chat-worker")),
        (lambda of: of.owned("u", (DEPLOYMENT, POD)), DEPLOYMENT, live("any", owner="u")),
        (lambda of: of.whole(kinds.GRAPH, "u"), kinds.GRAPH, live("any", owner="u")),
        (lambda of: of.has_pods(KEY), POD, POD_OF_IT),
        (lambda of: of.registries("team"), SECRET, PULL),
    ],
    ids=["object", "child", "owned", "whole", "pods", "registries"],
)
def test_every_question_notices_when_its_answer_is_another(
    read: Callable[[Caches], Any], kind: Kind, change: dict[str, Any]
) -> None:
    """An object that comes is seen, and one that goes; one of another name, owner or namespace is none of it."""
    of = caches()
    with noted() as reads:
        before = read(of)
    first = of.fingerprint(reads)
    for other in (kinds.GRAPH, DEPLOYMENT, POD):
        put(of, other, live("someone", owner="else"))
    assert of.fingerprint(reads) == first
    put(of, kind, change)
    assert read(of) != before
    assert of.fingerprint(reads) != first
    store = (of.pull_secrets["pull"] if kind == SECRET else of.informers[kind]).store
    store.remove(Key("team", change["metadata"]["name"]))
    assert of.fingerprint(reads) == first


def test_a_status_that_is_different_is_noticed_and_a_mere_version_is_not() -> None:
    """A write that changes nothing that is looked at brings no new plan."""
    of = caches()
    put(of, kinds.GRAPH, live("chat-worker", spec={"a": 1}))
    with noted() as reads:
        of.get(kinds.GRAPH, KEY)
    first = of.fingerprint(reads)
    put(of, kinds.GRAPH, live("chat-worker", spec={"a": 1}, version="2"))
    assert of.fingerprint(reads) == first
    put(of, kinds.GRAPH, live("chat-worker", spec={"a": 1}, status={"state": "pending"}, version="3"))
    assert of.fingerprint(reads) != first


def test_an_object_made_anew_under_its_name_is_another() -> None:
    """The same content with another uid has no children yet."""
    of = caches()
    put(of, DEPLOYMENT, live("chat-worker"))
    with noted() as reads:
        of.child(DEPLOYMENT, KEY)
    first = of.fingerprint(reads)
    put(of, DEPLOYMENT, live("chat-worker", metadata={"uid": "another"}, version="2"))
    assert of.fingerprint(reads) != first
