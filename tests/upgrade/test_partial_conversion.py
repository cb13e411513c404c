"""Conversion as the API server asks for it: any part of an object, and its status too."""

from __future__ import annotations

from typing import Any

from documents import ALPHA, BETA
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stator.model.conversion import converted

Json = dict[str, Any]

QUIET = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Lists whose items are owned one by one, so that a share may have some of them, in part.
SHARED_LISTS = ("components", "containers", "initContainers", "roles", "pvcs")


def part(draw: st.DrawFn, value: Any, path: tuple[str, ...] = ()) -> Any:
    """Some of the fields of a value. What tells list items apart stays, as it does in a manager's share."""
    if isinstance(value, dict):
        fixed = {"apiVersion", "kind"} if not path else {"name"} if path[-1] == "[]" else set()
        kept = {key for key in value if key in fixed or draw(st.booleans())}
        return {key: part(draw, item, (*path, key)) for key, item in value.items() if key in kept}
    if isinstance(value, list) and path[-1] in SHARED_LISTS:
        return [part(draw, item, (*path, "[]")) for item in value if draw(st.booleans())]
    return value


@st.composite
def parts(draw: st.DrawFn, documents: st.SearchStrategy[Json]) -> Json:
    """A share of a document."""
    return part(draw, draw(documents))  # type: ignore[no-any-return]


def without_empty_metadata(document: Json) -> Json:
    """No annotations and an empty map of them are the same to the API server, and so is no metadata."""
    metadata = {key: item for key, item in document.get("metadata", {}).items() if key != "annotations" or item}
    return {**document, "metadata": metadata}


@QUIET
@given(document=parts(ALPHA))
def test_any_part_of_a_v1alpha1_object_survives_the_way_there_and_back(document: Json) -> None:
    """The API server converts each manager's share of an object alone; none of it may be lost or refused."""
    back = converted(converted(document, "v1beta1"), "v1alpha1")
    assert without_empty_metadata(back) == without_empty_metadata(document)


@QUIET
@given(document=parts(BETA))
def test_any_part_of_a_v1beta1_object_survives_the_way_there_and_back(document: Json) -> None:
    """As for v1alpha1, the other way round."""
    back = converted(converted(document, "v1alpha1"), "v1beta1")
    assert without_empty_metadata(back) == without_empty_metadata(document)


REPLICAS = st.fixed_dictionaries(
    {},
    optional={
        "componentKind": st.just("Deployment"),
        "componentNames": st.lists(st.sampled_from(["a", "b"]), max_size=2),
        "componentName": st.sampled_from(["a", "c"]),
        "replicas": st.integers(0, 3),
        "findings": st.just([{"rule": "DYN101", "severity": "warning", "message": "m"}]),
    },
)
CONDITIONS = st.just([{"type": "Ready", "status": "True"}])
ALPHA_STATUS = st.one_of(
    st.builds(
        lambda status: ("DynamoGraphDeployment", status),
        st.fixed_dictionaries(
            {},
            optional={
                "state": st.just("pending"),
                "conditions": CONDITIONS,
                "services": st.dictionaries(st.sampled_from(["A", "b"]), REPLICAS),
                "rollingUpdate": st.fixed_dictionaries({}, optional={"updatedServices": st.just(["A"])}),
            },
        ),
    ),
    st.builds(
        lambda status: ("DynamoComponentDeployment", status),
        st.fixed_dictionaries(
            {},
            optional={"conditions": CONDITIONS, "service": REPLICAS, "podSelector": st.just({"app": "a"})},
        ),
    ),
)


@given(kind_and_status=ALPHA_STATUS)
def test_a_v1alpha1_status_survives_the_way_there_and_back(kind_and_status: tuple[str, Json]) -> None:
    """Also what v1beta1 cannot say: a `componentName` that is not the first name, and `podSelector`."""
    kind, status = kind_and_status
    document = {"apiVersion": "nvidia.com/v1alpha1", "kind": kind, "metadata": {"name": "g"}, "status": status}
    back = converted(converted(document, "v1beta1"), "v1alpha1")
    first_names = {id(part): part["componentNames"][0] for part in _parts(status) if part.get("componentNames")}
    for old, new in zip(_parts(status), _parts(back["status"]), strict=True):
        assert new == old or new == {**old, "componentName": first_names[id(old)]}
    assert {**back, "status": _without_parts(back["status"])} == {**document, "status": _without_parts(status)}


def _parts(status: Json) -> list[Json]:
    return [*status.get("services", {}).values(), *([status["service"]] if "service" in status else [])]


def _without_parts(status: Json) -> Json:
    return {key: item for key, item in status.items() if key not in {"services", "service"}}


def test_what_the_operator_reports_is_read_in_v1alpha1_by_its_names() -> None:
    """A client of v1alpha1 sees services, updatedServices and a componentName."""
    status = {
        "components": {"Worker": {"componentKind": "Deployment", "componentNames": ["g-worker-1"], "replicas": 1}},
        "rollingUpdate": {"phase": "InProgress", "updatedComponents": ["Worker"]},
    }
    document = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "status": status}
    old = converted(document, "v1alpha1")["status"]
    assert old["services"]["Worker"]["componentName"] == "g-worker-1"
    assert old["rollingUpdate"] == {"phase": "InProgress", "updatedServices": ["Worker"]}


def test_a_scaling_adapter_names_its_target_by_version() -> None:
    """`serviceName` and `componentName` are the same field."""
    reference = {"name": "g", "serviceName": "Worker"}
    document = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeploymentScalingAdapter",
        "spec": {"replicas": 2, "dgdRef": reference},
    }
    new = converted(document, "v1beta1")
    assert new["spec"]["dgdRef"] == {"name": "g", "componentName": "Worker"}
    assert converted(new, "v1alpha1") == document
