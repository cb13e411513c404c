"""Webhooks called by a real API server, and what a user of kubectl sees of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apiserver import Server, attach, find_assets
from installed import OPERATOR, Running, running

from stator.operator.webhooks.validation import Policy

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
IMAGE = "nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.6.1"
POLICY = Policy(trusted=frozenset({OPERATOR}))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server that only these tests use."""
    assets = find_assets()
    if assets is None:
        pytest.fail("no API server: hack/kubernetes/build failed", pytrace=False)
    with attach(tmp_path_factory.mktemp("webhooks"), assets) as server:
        yield server


@pytest.fixture(scope="module")
def served(cluster: Server) -> Iterator[Running]:
    """Webhooks that the API server uses."""
    with running(cluster, POLICY) as found:
        yield found


@pytest.fixture(autouse=True)
def usual_policy(served: Running) -> Iterator[None]:
    """Each test starts with the policy of an installation without options."""
    served.policy = POLICY
    yield
    served.policy = POLICY


class Kubectl:
    """kubectl in a namespace; what it printed is kept, whether it succeeded or not."""

    def __init__(self, server: Server, namespace: str) -> None:
        self._command = [server.kubectl, "--kubeconfig", str(server.kubeconfig), "-n", namespace]

    def __call__(self, *arguments: str, stdin: Json | str | None = None) -> subprocess.CompletedProcess[str]:
        """Run it with an object or a text as standard input."""
        text = stdin if isinstance(stdin, str | None) else json.dumps(stdin)
        return subprocess.run(
            [*self._command, *arguments], input=text, capture_output=True, text=True, timeout=60, check=False
        )

    def get(self, *arguments: str) -> Any:
        """An object as JSON."""
        done = self("get", *arguments, "-o", "json")
        assert not done.returncode, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def kubectl(cluster: Server, namespace: str) -> Kubectl:
    """A kubectl that works in the test's namespace."""
    return Kubectl(cluster, namespace)


def graph(name: str = "chat", **spec: Any) -> Json:
    """A v1beta1 graph of a frontend and a worker."""

    def component(name: str, kind: str, **more: Any) -> Json:
        container: Json = {"name": "main", "image": IMAGE}
        if kind == "worker":
            container |= {"command": ["python3"], "args": ["-m", "dynamo.sglang", "--model-path", "m"]}
        return {"name": name, "type": kind, "podTemplate": {"spec": {"containers": [container]}}, **more}

    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name},
        "spec": {"components": [component("Frontend", "frontend"), component("Worker", "worker")], **spec},
    }


def old_graph(name: str = "old", **service: Any) -> Json:
    """A v1alpha1 graph of one worker."""
    main = {"image": IMAGE, "command": ["python3"], "args": ["-m", "dynamo.sglang", "--model-path", "m"]}
    worker = {"componentType": "worker", "extraPodSpec": {"mainContainer": main}, **service}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name},
        "spec": {"services": {"Worker": worker}},
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_admitted(kubectl: Kubectl, example: Path) -> None:
    """Whoever starts with an example does not start with an error."""
    done = kubectl("apply", "-f", str(example))
    assert not done.returncode, done.stderr


def test_defaults_are_stored(kubectl: Kubectl) -> None:
    """A client that takes missing replicas for none reads 1, and the release that made the graph is recorded."""
    kubectl("apply", "-f", "-", stdin=graph())
    stored = kubectl.get("dgd", "chat")
    assert [component["replicas"] for component in stored["spec"]["components"]] == [1, 1]
    assert stored["metadata"]["annotations"]["nvidia.com/dynamo-operator-origin-version"] == "1.6.1"


def test_every_problem_is_said_at_once_at_its_field(kubectl: Kubectl) -> None:
    """The user sees all that is wrong, with paths of the submitted version."""
    wrong = graph()
    wrong["spec"]["components"][0]["podTemplate"]["spec"]["containers"][0].pop("image")
    wrong["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]["image"] = "runtime:latest"
    done = kubectl("apply", "-f", "-", stdin=wrong)
    assert done.returncode
    assert "spec.components[0].podTemplate.spec.containers[0].image" in done.stderr
    kubectl_old = kubectl("apply", "-f", "-", stdin=old_graph(extraPodSpec={"mainContainer": {"args": ["x"]}}))
    assert "spec.services.Worker.extraPodSpec.mainContainer.image" in kubectl_old.stderr
