"""Field errors of v1beta1 and v1alpha1 graphs."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.errors import InvalidInputError, Problem
from stator.model import Inventory, load
from stator.model.documents import field_path

Load = Callable[..., Inventory]
Problems = Callable[..., list[Problem]]

BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  components:
  - name: w
    COMPONENT
    podTemplate: {spec: {containers: [{name: main, image: x, CONTAINER}], POD}}
  GRAPH
"""
ALPHA = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    w:
      SERVICE
      extraPodSpec: {mainContainer: {image: x, CONTAINER}, POD}
  GRAPH
"""
HEAD = BETA[: BETA.index("  - name")]
PLACES = ("COMPONENT", "SERVICE", "CONTAINER", "POD", "GRAPH")


def fill(template: str, place: str, text: str) -> str:
    """The template with `text` at one place."""
    for name in PLACES:
        template = template.replace(name, text if name == place else "")
    return template.replace(", }", "}").replace(", ]", "]")


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("COMPONENT", "replicas: two", 'replicas: must be an integer from 0 to 2147483647, found string "two"'),
        ("COMPONENT", "replicas: 2147483648", "found integer 2147483648"),
        ("COMPONENT", "replicas: -1", "replicas: must be an integer from 0 to 2147483647, found integer -1"),
        ("COMPONENT", "replicas: 1.5", "replicas: must be an integer from 0 to 2147483647, found number 1.5"),
        (
            "COMPONENT",
            "type: router",
            "type: must be one of frontend, worker, prefill, decode, planner, epp, found string",
        ),
        ("COMPONENT", "minAvailable: 0", "minAvailable: must be an integer from 1 to 2147483647"),
        ("COMPONENT", "multinode: {nodeCount: 1}", "multinode.nodeCount: must be an integer from 2 to 2147483647"),
        ("COMPONENT", "sharedMemorySize: -1Gi", "sharedMemorySize: must be a quantity such as 2 or 8Gi that is not"),
        ("COMPONENT", "sharedMemorySize: lots", "sharedMemorySize: must be a quantity"),
        ("COMPONENT", "compilationCache: {}", "compilationCache.pvcName: is required"),
        ("COMPONENT", "modelRef: {name: ''}", "modelRef.name: must be a string that is not empty"),
        ("COMPONENT", "eppConfig: {}", "eppConfig: must have exactly one of configMapRef and config, found none"),
        (
            "COMPONENT",
            "globalDynamoNamespace: 'true'",
            'globalDynamoNamespace: must be true or false, found string "true"',
        ),
        ("COMPONENT", "runtimeVersionOverride: 1.6", "runtimeVersionOverride: must be a string, found number 1.6"),
        ("COMPONENT", "roles: [{name: boss}]", "roles[0].name: must be one of leader, worker"),
        ("COMPONENT", "experimental: {failover: {numShadows: 2}}", "numShadows: must be an integer equal to 1"),
        ("COMPONENT", "providerOverride: {apiVersion: x/v1, value: {}}", "apiVersion: must be grove.io/v1alpha1"),
        ("COMPONENT", "topologyConstraint: {packDomain: A}", "packDomain: must be lowercase letters"),
        ("CONTAINER", "env: [{name: A, value: yes}]", "env[0].value: must be a string, found a boolean"),
        ("CONTAINER", "env: [{name: A, value: 1}]", "env[0].value: must be a string, found an integer"),
        ("CONTAINER", "env: [{value: a}]", "env[0].name: is required"),
        ("CONTAINER", "env: [{name: A=B, value: a}]", "env[0].name: must be a variable name"),
        ("CONTAINER", "env: [{name: A, value: a, valueFrom: {fieldRef: {fieldPath: x}}}]", "may have one of value and"),
        ("CONTAINER", "env: [{name: A, valueFrom: {}}]", "env[0].valueFrom: must have exactly one of"),
        ("CONTAINER", "envFrom: [{prefix: A}]", "envFrom[0]: must have exactly one of configMapRef and secretRef"),
        ("CONTAINER", "args: --x", "args: must be a list, found string"),
        ("CONTAINER", "args: [--port, 8000]", "args[1]: must be a string, found integer 8000"),
        ("CONTAINER", "args: [null]", "args[0]: must be a string, found null"),
        ("CONTAINER", "command: [[a]]", "command[0]: must be a string, found a list of 1"),
        ("CONTAINER", "ports: [{containerPort: 0}]", "containerPort: must be an integer from 1 to 65535"),
        ("CONTAINER", "livenessProbe: {exec: {}, httpGet: {port: 1}}", "livenessProbe: may have one of exec, grpc,"),
        ("CONTAINER", "resources: {limits: {nvidia.com/gpu: one}}", 'limits["nvidia.com/gpu"]: must be a quantity'),
        ("POD", "volumes: [{name: a}, {name: a}]", 'volumes[1].name: repeats "a" of item 0'),
        ("GRAPH", "backendFramework: tgi", "spec.backendFramework: must be one of sglang, vllm, trtllm"),
        ("GRAPH", "restart: {}", "spec.restart.id: is required"),
        ("GRAPH", "restart: {id: a, strategy: {type: Parallel, order: [w]}}", "order: must be absent with the type"),
        ("GRAPH", "labels: {a: 1}", "spec.labels.a: must be a string, found integer 1"),
        ("GRAPH", "experimental: {kvTransferPolicy: {domain: d, labelKey: l, preferredWeight: 1}}", "must be absent"),
    ],
)
def test_a_wrong_v1beta1_field_is_said_in_words_at_its_line(
    problems_of: Problems, place: str, text: str, expected: str
) -> None:
    """One wrong field is one problem: its path, what it must be, what was found, on the line where it stands."""
    document = fill(BETA, place, text)
    (found,) = problems_of(document)
    assert expected in found.what
    assert found.position is not None
    assert text.split(":", maxsplit=1)[0] in document.splitlines()[found.position.line - 1]


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        (
            "SERVICE",
            "replicas: two",
            'spec.services.w.replicas: must be an integer from 0 to 2147483647, found string "two"',
        ),
        ("SERVICE", "envs: [{name: A, value: 1}]", "spec.services.w.envs[0].value: must be a string"),
        ("SERVICE", "volumeMounts: [{name: a}]", "spec.services.w.volumeMounts[0].mountPoint: is required"),
        (
            "SERVICE",
            "sharedMemory: {disabled: true, size: 1Gi}",
            "sharedMemory.size: must be absent if disabled is true",
        ),
        ("SERVICE", "ingress: {enabled: true}", "spec.services.w.ingress.host: is required"),
        ("SERVICE", "frontendSidecar: {}", "spec.services.w.frontendSidecar.image: is required"),
        ("SERVICE", "gpuMemoryService: {mode: IntraPod}", "mode: must be one of intraPod, interPod"),
        ("SERVICE", "resources: {limits: {gpu: many}}", "resources.limits.gpu: must be a quantity"),
        ("CONTAINER", "args: [1]", "spec.services.w.extraPodSpec.mainContainer.args[0]: must be a string"),
        ("POD", "containers: [{name: main, image: z}]", '"main" is the name of the container'),
        (
            "GRAPH",
            "pvcs: [{create: true, name: a, size: 1Gi, storageClass: s}]",
            "pvcs[0].volumeAccessMode: is required",
        ),
    ],
)
def test_a_wrong_v1alpha1_field_is_said_in_the_words_of_v1alpha1(
    problems_of: Problems, place: str, text: str, expected: str
) -> None:
    """Errors speak of the fields the user wrote, not of the ones they are converted to."""
    (found,) = problems_of(fill(ALPHA, place, text))
    assert expected in found.what


def test_all_fields_are_reported_at_once(problems_of: Problems) -> None:
    """Three mistakes in one graph are three problems, in the order of their lines."""
    found = problems_of(fill(BETA, "COMPONENT", "replicas: two\n    type: x\n    minAvailable: 0"))
    assert [problem.position.line for problem in found if problem.position] == [7, 8, 9]


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("replicas: '2'", "remove the quotes"),
        ("runtimeVersionOverride: 1.6", "quotes"),
        ("replicas: ${REPLICAS}", "substitute the template first"),
    ],
)
def test_a_plain_mistake_has_a_remedy(problems_of: Problems, text: str, remedy: str) -> None:
    """Quotes too many, quotes missing and templates not substituted are recognised."""
    (found,) = problems_of(fill(BETA, "COMPONENT", text))
    assert remedy in found.remedy


@pytest.mark.parametrize("wrong", ["A", "a_b", "-a", "a" * 254])
def test_an_object_name_is_a_dns_name(problems_of: Problems, wrong: str) -> None:
    """Names that the API server refuses are refused here."""
    (found,) = problems_of(fill(BETA, "", "").replace("name: g", f"name: {wrong}"))
    assert "metadata.name: must be a lowercase RFC 1123 subdomain" in found.what


def test_a_graph_needs_a_component(problems_of: Problems) -> None:
    """A graph without components, or with more than the API takes, is refused."""
    assert (
        "spec.components: must be a list of 1 to 25 items, found an empty list"
        in problems_of(HEAD.replace("components:", "components: []"))[0].what
    )
    assert "spec.components: is required" in problems_of(HEAD)[0].what


def component(name: str, kind: str = "worker", image: str = "x") -> str:
    """A component of a v1beta1 graph."""
    container = f"{{name: main, image: '{image}'}}"
    return f"  - {{name: {name}, type: {kind}, podTemplate: {{spec: {{containers: [{container}]}}}}}}\n"


def test_component_names_differ_by_more_than_case(problems_of: Problems) -> None:
    """Objects are named after the lower-cased name, so `Worker` and `worker` cannot both be."""
    (found,) = problems_of(HEAD + component("Worker") + component("worker"))
    assert str(found).startswith('-:7: spec.components[1].name: "worker" and "Worker" are the same name')


def test_service_names_differ_by_more_than_case_and_are_names(problems_of: Problems) -> None:
    """The keys of v1alpha1 services become component names, so the same rules hold for them."""
    service = "{extraPodSpec: {mainContainer: {image: x}}}"
    head = ALPHA[: ALPHA.index("    w:")]
    found = problems_of(f"{head}    A: {service}\n    a: {service}\n    a_b: {service}\n")
    assert [problem.position.line for problem in found if problem.position] == [7, 8]
    assert "the same name" in found[0].what
    assert "the name must be letters, digits and '-'" in found[1].what


def test_one_endpoint_picker_is_enough(problems_of: Problems) -> None:
    """The API takes one component of type epp."""
    (found,) = problems_of(HEAD + component("a", "epp") + component("b", "epp"))
    assert str(found).startswith("-:7: spec.components[1].type: at most one may be epp, and item 0 is")


def test_unknown_fields_are_nobodys_business(load_text: Load) -> None:
    """Fields of a newer API, or of old samples, load and stay in the document."""
    (found,) = load_text(fill(BETA, "COMPONENT", "brandNew: {a: 1}\n    dynamoTag: x")).graphs
    assert found.origin.document.value["spec"]["components"][0]["brandNew"] == {"a": 1}


def test_nulls_count_as_absent(load_text: Load) -> None:
    """`replicas: null` is an absent field, as the API server has it."""
    (found,) = load_text(fill(BETA, "COMPONENT", "replicas: null\n    type: null")).graphs
    assert found.components[0].replicas is None
    assert found.components[0].type == ""


def test_field_paths_are_written_as_kubectl_does() -> None:
    """Indices are in brackets, keys with dots or slashes too."""
    assert field_path(("spec", "a", 0, "labels", "x.y/z")) == 'spec.a[0].labels["x.y/z"]'


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("amain:-", max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "value", "spec", "containers", "env", "image", "roles", "podTemplate", "mainContainer"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path of a JSON value below its root."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for step, item in steps for found in ((*path, step), *paths(item, (*path, step)))]


@pytest.mark.parametrize("template", [BETA, ALPHA])
@given(data=st.data())
def test_any_value_in_any_place_loads_or_is_an_error(template: str, data: st.DataObject) -> None:
    """Whatever stands in a field, the user gets an inventory or an error with places, never a crash."""
    document = load(["-"], stdin=StringIO(fill(template, "", ""))).graphs[0].origin.document
    value = json.loads(json.dumps(document.value))
    path = data.draw(st.sampled_from(paths(value)))
    parent = value
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = data.draw(ANYTHING)
    problems: tuple[Problem, ...] = ()
    try:
        load(["-"], stdin=StringIO(json.dumps(value)))
    except InvalidInputError as error:
        problems = error.problems or (Problem(what="nothing"),)
    assert all(problem.position and problem.position.line for problem in problems)
