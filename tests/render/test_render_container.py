"""How a user's container and pod template are laid over the type's defaults."""

from __future__ import annotations

from typing import Any

import pytest
from rendered import graph_of, main_of, provenance_of, render, worker

from stator.errors import InvalidInputError
from stator.model import read_command_line
from stator.render import render_graph
from stator.render.output import to_yaml

SHARED_MEMORY = "/dev/shm"  # noqa: S108 - the mount point of POSIX shared memory, not a temporary file


def pod(text: str) -> dict[str, Any]:
    """The rendered pod spec of the one component."""
    return render(text).components[0].workload["spec"]["template"]["spec"]  # type: ignore[no-any-return]


def problems(text: str) -> list[tuple[str, str]]:
    """Position and text of all problems of a graph."""
    with pytest.raises(InvalidInputError) as caught:
        render(text)
    return [(str(problem.position), problem.what) for problem in caught.value.problems]


def test_a_users_list_replaces_the_default_list() -> None:
    """Ports and arguments are the user's alone; nothing is appended to them."""
    main = main_of(render(worker("ports: [{name: web, containerPort: 80}]\nargs: [--x]")))
    assert main["ports"] == [{"name": "web", "containerPort": 80}]
    assert main["args"] == ["--x"]


def test_an_empty_list_or_null_leaves_the_default() -> None:
    """Empty values say nothing, as they do after a round trip through the API."""
    main = main_of(render(worker("ports: []\nreadinessProbe: null")))
    assert [port["name"] for port in main["ports"]] == ["system", "nixl"]
    assert main["readinessProbe"]["httpGet"] == {"path": "/health", "port": "system"}


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("[python3, -m, dynamo.frontend, --router-mode, kv]", None),
        ("[/usr/bin/python3.12]", ["-m", "dynamo.frontend"]),
        ("[/entry.sh]", ["-m", "dynamo.frontend"]),
        ("[python3, -m, debugpy, --listen, '5678']", ["-m", "dynamo.frontend"]),
    ],
)
def test_a_command_that_is_whole_gets_no_default_args(command: str, args: list[str] | None) -> None:
    """A frontend's module is started once: after a command that names it, the default args would end it."""
    text = worker().replace("command: [python3, -m, dynamo.sglang]", f"command: {command}")
    manifest = render(text.replace("type: worker", "type: frontend"))
    main = main_of(manifest)
    assert main.get("args") == args
    assert manifest.components[0].facts.command_line == read_command_line(main["command"], args or ())


def test_a_users_probe_replaces_the_default_as_a_whole() -> None:
    """No handler and no timing of the default is left beside the user's, and the other probes stay."""
    manifest = render(worker("livenessProbe: {exec: {command: [check]}}"))
    main = main_of(manifest)
    assert main["livenessProbe"] == {"exec": {"command": ["check"]}}
    assert main["readinessProbe"]["periodSeconds"] == 10
    history = provenance_of(manifest, "livenessProbe")
    assert (history.setter.layer, history.setter.value, str(history.setter.position)) == (
        "component",
        "exec",
        "-:14",
    )
    assert [setter.value for setter in history.replaced] == ["GET /live port system, period 5, timeout 4, failures 3"]


def test_a_probe_without_a_handler_is_a_problem_at_its_line() -> None:
    """Timings alone do not merge into the default; the API server would refuse such a probe."""
    assert problems(worker("livenessProbe: {failureThreshold: 10}")) == [
        ("-:14", "component Worker: livenessProbe has no handler")
    ]


def test_unknown_fields_survive() -> None:
    """A field nobody here knows is still in the container and in the pod."""
    text = worker("someNewField: {a: [1]}") + "        anotherNewField: 2\n"
    assert main_of(render(text))["someNewField"] == {"a": [1]}
    assert pod(text)["anotherNewField"] == 2


def test_rendering_leaves_the_graph_untouched() -> None:
    """Changing what was rendered changes nothing in a second rendering."""
    graph = graph_of(
        worker("env: [{name: A, value: a}]\nenvFrom: [{secretRef: {name: s}}]\nports: [{containerPort: 1}]")
    )
    first = render_graph(graph)
    before = to_yaml(first.objects)
    _spoil(list(first.objects))
    assert to_yaml(render_graph(graph).objects) == before


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _spoil(item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            _spoil(item)
        value.clear()


@pytest.mark.parametrize(
    ("context", "expected"),
    [("", {"fsGroup": 1000}), ("securityContext: null", {"fsGroup": 1000}), ("securityContext: {}", {})],
)
def test_the_default_group_yields_to_any_security_context(context: str, expected: dict[str, int]) -> None:
    """Even an empty securityContext keeps the default group out."""
    assert pod(worker() + f"        {context}\n")["securityContext"] == expected


def test_shared_memory_stands_in_for_the_users_own() -> None:
    """A volume or mount at /dev/shm gives way to sharedMemorySize, and the manifest says so."""
    text = (
        worker("volumeMounts: [{name: shm, mountPath: /dev/shm/}, {name: data, mountPath: /data}]")
        + "        volumes: [{name: shm, emptyDir: {}}, {name: data, emptyDir: {}}]\n"
    )
    manifest = render(text)
    spec = manifest.components[0].workload["spec"]["template"]["spec"]
    assert main_of(manifest)["volumeMounts"] == [
        {"name": "data", "mountPath": "/data"},
        {"name": "shared-memory", "mountPath": SHARED_MEMORY},
    ]
    assert [volume["name"] for volume in spec["volumes"]] == ["data", "shared-memory", "shm"]
    assert [str(note.position) for note in manifest.not_rendered] == ["-:15"]


@pytest.mark.parametrize("size", ["0", "0Gi", "0.0"])
def test_a_shared_memory_size_of_zero_means_none(size: str) -> None:
    """No volume, no mount, and a user's own stays."""
    main = main_of(
        render(worker("volumeMounts: [{name: shm, mountPath: /dev/shm}]", component=f'sharedMemorySize: "{size}"'))
    )
    assert main["volumeMounts"] == [{"name": "shm", "mountPath": SHARED_MEMORY}]


def test_a_mount_without_a_volume_is_a_claim() -> None:
    """A claim mounted twice is one volume, in the order of the mounts."""
    spec = pod(
        worker(
            "volumeMounts: [{name: b, mountPath: /1, subPath: x}, {name: b, mountPath: /2}, {name: a, mountPath: /3}]"
        )
        + "        volumes: [{name: z, emptyDir: {}}, {name: a, emptyDir: {}}]\n"
    )
    assert spec["volumes"] == [
        {"name": "b", "persistentVolumeClaim": {"claimName": "b"}},
        {"name": "a", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
        {"name": "z", "emptyDir": {}},
    ]


def test_the_default_volume_of_an_endpoint_picker_survives_the_users_volumes() -> None:
    """Its cache mount keeps its volume instead of becoming a claim that nobody made."""
    text = (
        worker(image="reg/epp:1.6.0").replace("type: worker", "type: epp")
        + "        volumes: [{name: v, emptyDir: {}}]\n"
    )
    assert pod(text)["volumes"][0] == {"name": "hf-cache", "emptyDir": {}}


@pytest.mark.parametrize(
    ("kind", "given", "account"),
    [
        ("worker", "", "g-k8s-service-discovery"),
        ("worker", "serviceAccountName: mine", "mine"),
        ("planner", "serviceAccountName: mine", "planner-serviceaccount"),
        ("epp", "", "epp-serviceaccount"),
        ("epp", "serviceAccountName: mine", "mine"),
        ("", "", "g-k8s-service-discovery"),
    ],
)
def test_service_accounts(kind: str, given: str, account: str) -> None:
    """A user's account wins, except for a planner, which needs the one that may scale the graph."""
    text = worker().replace("type: worker", f"type: {kind}" if kind else "") + f"        {given}\n"
    assert pod(text)["serviceAccountName"] == account


def test_the_deprecated_service_account_field_counts() -> None:
    """`serviceAccount` is the same field by its old name: no other account is put beside it."""
    spec = pod(worker() + "        serviceAccount: mine\n")
    assert (spec["serviceAccount"], spec.get("serviceAccountName")) == ("mine", None)
