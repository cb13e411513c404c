"""`stator check --cluster`, `diff --cluster` and `plan --cluster` against a real API server."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apiserver import Server, attach, find_assets

from stator.install.crds import custom_resource_definitions

Json = dict[str, Any]
STATOR = Path(sys.executable).with_name("stator")
SECRET = "dG9wc2VjcmV0"  # noqa: S105 - what must not be seen


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of its own: definitions belong to a whole cluster. One field of ours is missing in them."""
    assets = find_assets()
    if assets is None:
        pytest.skip("no API server: see tests/cluster/conftest.py")
    with attach(tmp_path_factory.mktemp("check") / "cluster", assets) as made:
        items = copy.deepcopy([dict(item) for item in custom_resource_definitions()])
        (definition,) = [item for item in items if item["metadata"]["name"] == "dynamographdeployments.nvidia.com"]
        for version in definition["spec"]["versions"]:
            if version["name"] == "v1beta1":
                spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
                del spec["components"]["items"]["properties"]["sharedMemorySize"]
        apply(made, *items)
        made.wait_established()
        yield made


@pytest.fixture
def namespace(server: Server, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own."""
    name = request.node.name.replace("_", "-")[:50].strip("-")
    server.run_kubectl("create", "namespace", name)
    return name


def apply(server: Server, *items: Json) -> None:
    """As a client applies them that does not ask for strict validation."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    server.run_kubectl("apply", "--validate=false", "-f", "-", stdin=text)


def graph(namespace: str, release: str = "1.6.1", name: str = "chat", **fields: Any) -> Json:
    """A graph whose worker has more fields in its main container."""
    main = {"name": "main", "image": f"r/sglang:{release}", "command": ["python3", "-m", "dynamo.sglang"], **fields}
    front = {"name": "main", "image": "r/frontend:1.6.1"}
    parts = [
        {"name": "Frontend", "type": "frontend", "podTemplate": {"spec": {"containers": [front]}}},
        {"name": "Worker", "type": "worker", "podTemplate": {"spec": {"containers": [main]}}},
    ]
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"components": parts},
    }


def stator(server: Server, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The installed program, which reads the cluster of the kubeconfig."""
    command = [str(STATOR), arguments[0], "--kubeconfig", str(server.kubeconfig), *arguments[1:]]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def found(result: subprocess.CompletedProcess[str]) -> set[tuple[str, str]]:
    """Rule and place of each finding."""
    document = json.loads(result.stdout)
    return {
        (item["rule"], f"{item['location']['file']} {item['location']['field']}".strip())
        for item in document["findings"]
    }


def test_live_graphs_are_checked_at_their_fields(server: Server, namespace: str) -> None:
    """A finding leads to the object and the field, and makes the exit code 1."""
    apply(server, graph(namespace, "1.3.1"))
    result = stator(server, "check", "--cluster", "-n", namespace, "-o", "json")
    assert result.returncode == 1, result.stderr
    place = f"DynamoGraphDeployment/{namespace}/chat spec.components[1].podTemplate.spec.containers[0].image"
    assert ("DYN201", place) in found(result)
    assert place in stator(server, "check", "--cluster", "-n", namespace).stdout


def test_files_count_as_if_they_were_applied(server: Server, namespace: str, tmp_path: Path) -> None:
    """A file takes the place of the object it describes, and stands beside all others."""
    apply(server, graph(namespace, "1.3.1"), graph(namespace, "1.3.1", name="other"))
    (tmp_path / "graph.json").write_text(json.dumps(graph(namespace)))
    result = stator(server, "check", "--cluster", "-n", namespace, "-o", "json", str(tmp_path / "graph.json"))
    document = json.loads(result.stdout)
    assert document["summary"]["graphs"] == 2
    assert {item["object"].split("/")[2] for item in document["findings"] if item["severity"] == "error"} == {"other"}


def test_keys_are_looked_up_and_values_never_shown(server: Server, namespace: str) -> None:
    """What a variable comes from has to be there; of a Secret no more than the names of its keys is used."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}}
    apply(server, {**secret, "data": {"token": SECRET, "DYN_SYSTEM_PORT": SECRET}})
    entries = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "token"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "nokey"}}},
        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "nowhere", "key": "k"}}},
        {"name": "D", "valueFrom": {"configMapKeyRef": {"name": "nowhere", "key": "k", "optional": True}}},
    ]
    apply(server, graph(namespace, env=entries, envFrom=[{"secretRef": {"name": "s"}}]))
    for output in ("json", "text", "sarif"):
        result = stator(server, "check", "--cluster", "-n", namespace, "-o", output)
        assert "topsecret" not in result.stdout + result.stderr
        assert SECRET not in result.stdout + result.stderr
    judged = found(stator(server, "check", "--cluster", "-n", namespace, "-o", "json"))
    place = f"DynamoGraphDeployment/{namespace}/chat spec.components[1].podTemplate.spec.containers[0]"
    assert {where for rule, where in judged if rule == "DYN413"} == {f"{place}.env[1]", f"{place}.env[2]"}
    assert ("DYN402", f"{place}.envFrom[0]") in judged


def test_what_is_found_pruned_is_what_the_server_drops(server: Server, namespace: str, tmp_path: Path) -> None:
    """The definitions of the cluster are asked, and they drop exactly what was found."""
    made = graph(namespace)
    made["spec"]["components"][1]["sharedMemorySize"] = "8Gi"
    (tmp_path / "graph.json").write_text(json.dumps(made))
    judged = found(stator(server, "check", "--cluster", "-n", namespace, "-o", "json", str(tmp_path / "graph.json")))
    assert {rule for rule, _ in judged} == {"DYN601"}
    apply(server, made)
    kept = json.loads(server.run_kubectl("get", "dynamographdeployments", "chat", "-n", namespace, "-o", "json"))
    assert "sharedMemorySize" not in kept["spec"]["components"][1]
    assert set(made["spec"]["components"][1]) - {"sharedMemorySize"} <= set(kept["spec"]["components"][1])


def test_a_cluster_that_cannot_be_asked_leaves_everything_undecided(tmp_path: Path) -> None:
    """No verdict is given about a cluster nobody reached."""
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\n"
        "contexts: [{name: a, context: {cluster: a}}]\n"
        "clusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\n"
    )
    command = [str(STATOR), "check", "--cluster", "--kubeconfig", str(kubeconfig)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (3, "")
    assert "Traceback" not in result.stderr


def test_a_diff_says_what_applying_a_file_would_roll(server: Server, namespace: str, tmp_path: Path) -> None:
    """The cluster is one side, the file the other; live graphs that the file does not name are left out."""
    apply(server, graph(namespace, "1.5.1"), graph(namespace, name="other"))
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(graph(namespace, "1.6.1")))
    done = stator(server, "diff", "--cluster", str(file), "-n", namespace, "--exit-code")
    assert done.returncode == 1, done.stderr
    assert "Worker    ROLLS   1.5.1 -> 1.6.1" in done.stdout
    assert "Frontend  stays" in done.stdout
    assert "other" not in done.stdout


def test_a_diff_and_a_plan_of_what_runs_need_no_file(server: Server, namespace: str) -> None:
    """An upgrade of everything in a namespace, looked at before any manifest is edited."""
    apply(server, graph(namespace, "1.5.1"))
    upgrade = ("--cluster", "-n", namespace, "--set", "worker=1.6.1")
    assert "ROLLS   1.5.1 -> 1.6.1" in stator(server, "diff", *upgrade).stdout
    steps = json.loads(stator(server, "plan", *upgrade, "-o", "json").stdout)["steps"]
    assert [step["kind"] for step in steps] == ["workers"]
