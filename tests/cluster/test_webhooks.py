"""Webhooks called by a real API server, and what a user of kubectl sees of them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from apiserver import Server
from installed import OPERATOR, Running, own_server, running

from stator.operator.webhooks.validation import Policy

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
IMAGE = "nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.6.1"
# kubectl takes no version of a short name.
OLD, NEW = (f"dynamographdeployments.{version}.nvidia.com" for version in ("v1alpha1", "v1beta1"))
POLICY = Policy(trusted=frozenset({OPERATOR}))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server that only these tests use."""
    with own_server(tmp_path_factory.mktemp("webhooks")) as server:
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


def eventually(check: Callable[[], bool]) -> None:
    """Wait for what the API server does on its own time: it takes over configurations from a watch."""
    end = time.monotonic() + 30
    while not check():
        assert time.monotonic() < end, "did not happen"
        time.sleep(0.1)


@contextmanager
def unguarded(kubectl: Kubectl) -> Iterator[None]:
    """While nothing checks creations: how objects of older rules, and of clusters without webhooks, came to be."""
    probe = graph("probe", components=[{"name": "NoImage"}])

    def admits() -> bool:
        return not kubectl("apply", "--dry-run=server", "-f", "-", stdin=probe).returncode

    def operations(*wanted: str) -> None:
        patch = [{"op": "replace", "path": "/webhooks/0/rules/0/operations", "value": list(wanted)}]
        kubectl("patch", "validatingwebhookconfiguration", "stator", "--type=json", "-p", json.dumps(patch))

    operations("UPDATE")
    eventually(admits)
    try:
        yield
    finally:
        operations("CREATE", "UPDATE")
        eventually(lambda: not admits())


def test_an_object_of_older_rules_can_still_be_labelled_and_mended(kubectl: Kubectl) -> None:
    """What was wrong before refuses no change that does not touch it; what becomes wrong is refused."""
    wrong = graph()
    wrong["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]["image"] = "runtime:latest"
    with unguarded(kubectl):
        assert not kubectl("apply", "-f", "-", stdin=wrong).returncode
    labelled = kubectl("label", "dgd", "chat", "team=a")
    assert not labelled.returncode, labelled.stderr
    scaled = {"spec": {"env": [{"name": "A", "value": "1"}]}}
    other = kubectl("patch", "dgd", "chat", "--type=merge", "-p", json.dumps(scaled))
    assert not other.returncode, other.stderr
    worse = kubectl(
        "patch", "dgd", "chat", "--type=merge", "-p", '{"spec":{"topologyConstraint":{"packDomain":"rack"}}}'
    )
    assert worse.returncode
    mended = kubectl("apply", "-f", "-", stdin=graph())
    assert not mended.returncode, mended.stderr


def test_what_cannot_change_is_said_for_each_field(kubectl: Kubectl) -> None:
    """The set of components is frozen, and so is the backend; both are named in one answer."""
    kubectl("apply", "-f", "-", stdin=graph(backendFramework="sglang"))
    changed = graph(backendFramework="vllm")
    changed["spec"]["components"][1]["name"] = "Other"
    done = kubectl("apply", "-f", "-", stdin=changed)
    assert "spec.backendFramework" in done.stderr
    assert "Other" in done.stderr


def test_compatibility_findings_are_warnings(kubectl: Kubectl) -> None:
    """Who applies a worker that needs a repair, or breaks, reads the rule's id and where to read more."""
    embedding = graph()
    main = embedding["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]
    main |= {"image": IMAGE.replace("1.6.1", "1.2.1")}
    done = kubectl("apply", "-f", "-", stdin=embedding)
    assert not done.returncode, done.stderr
    assert "Warning: DYN201" in done.stderr
    assert "stator explain DYN201" in done.stderr


@pytest.mark.parametrize("reject", ["DYN201", "error"])
def test_findings_refuse_where_an_installation_asks_so(served: Running, kubectl: Kubectl, reject: str) -> None:
    """By rule or by severity; a graph that is stored with the finding may still be changed."""
    skewed = graph()
    skewed["spec"]["components"][1]["podTemplate"]["spec"]["containers"][0]["image"] = IMAGE.replace("1.6.1", "1.2.1")
    assert not kubectl("apply", "-f", "-", stdin=skewed).returncode
    served.policy = msgspec.structs.replace(POLICY, reject=frozenset({reject}))
    fresh = {**skewed, "metadata": {"name": "fresh"}}
    refused = kubectl("apply", "-f", "-", stdin=fresh)
    assert refused.returncode
    assert "DYN201" in refused.stderr
    skewed["spec"]["env"] = [{"name": "A", "value": "1"}]
    changed = kubectl("apply", "-f", "-", stdin=skewed)
    assert not changed.returncode, changed.stderr


def test_deprecated_forms_are_warned_about_once(kubectl: Kubectl) -> None:
    """The version, and fields that no operator acts on."""
    done = kubectl("create", "-f", "-", stdin=old_graph(dynamoNamespace="x", autoscaling={"enabled": True}))
    assert not done.returncode, done.stderr
    version = "nvidia.com/v1alpha1 DynamoGraphDeployment is deprecated; use nvidia.com/v1beta1 DynamoGraphDeployment"
    assert done.stderr.count(version) == 1
    assert "spec.services.Worker.dynamoNamespace is deprecated and ignored" in done.stderr


def test_a_v1alpha1_graph_is_read_back_as_it_was_written(kubectl: Kubectl) -> None:
    """Storage is v1beta1; what only v1alpha1 can say comes back all the same."""
    written = old_graph(
        subComponentType="prefill",
        envs=[{"name": "A", "value": "1"}],
        envFromSecret="token",
        labels={"team": "a"},
        sharedMemory={"size": "1Gi"},
        resources={"limits": {"gpu": "1"}},
        ingress={"enabled": True, "host": "h"},
    )
    done = kubectl("apply", "-f", "-", stdin=written)
    assert not done.returncode, done.stderr
    new = kubectl.get(NEW, "old")["spec"]["components"][0]
    assert new["type"] == "prefill"
    assert new["podTemplate"]["spec"]["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "1"}}
    old = kubectl.get(OLD, "old")
    expected = written["spec"]["services"]["Worker"] | {"replicas": 1}
    assert old["spec"]["services"]["Worker"] == expected
    assert "nvidia.com/dgd-spec" not in old["metadata"]["annotations"]


def test_a_v1beta1_graph_can_be_edited_in_v1alpha1(kubectl: Kubectl) -> None:
    """An edit through the old version keeps the order of components and what v1alpha1 cannot say."""
    kubectl("apply", "-f", "-", stdin=graph())
    before = kubectl.get(NEW, "chat")
    patch = {"spec": {"services": {"Worker": {"replicas": 3}}}}
    done = kubectl("patch", OLD, "chat", "--type=merge", "-p", json.dumps(patch))
    assert not done.returncode, done.stderr
    after = kubectl.get(NEW, "chat")
    before["spec"]["components"][1]["replicas"] = 3
    assert after["spec"] == before["spec"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_two_managers_can_apply_the_same_graph_in_two_versions(kubectl: Kubectl) -> None:
    """Server-side apply converts each manager's share alone, and takes away only what its own manager gives up."""
    base = kubectl("apply", "--server-side", "--field-manager=base", "-f", "-", stdin=graph())
    assert not base.returncode, base.stderr

    def share(**service: Any) -> Json:
        services = {"Worker": service} if service else {}
        return {**old_graph("chat"), "spec": {"services": services}}

    old = kubectl("apply", "--server-side", "--field-manager=old", "-f", "-", stdin=share(minAvailable=1, envs=[]))
    assert not old.returncode, old.stderr
    component = kubectl.get("dgd", "chat")["spec"]["components"][1]
    assert component["minAvailable"] == 1
    managers = kubectl.get("dgd", "chat", "--show-managed-fields")["metadata"]["managedFields"]
    assert {(each["manager"], each["apiVersion"]) for each in managers} >= {
        ("base", "nvidia.com/v1beta1"),
        ("old", "nvidia.com/v1alpha1"),
    }
    again = kubectl("apply", "--server-side", "--field-manager=base", "-f", "-", stdin=graph())
    assert not again.returncode, again.stderr
    assert kubectl.get("dgd", "chat")["spec"]["components"][1]["minAvailable"] == 1


def test_status_is_shown_in_either_version(kubectl: Kubectl) -> None:
    """What the operator reports of components, a v1alpha1 client reads of services; our own fields are not pruned."""
    kubectl("apply", "-f", "-", stdin=graph())
    part = {
        "componentKind": "Deployment",
        "componentNames": ["chat-worker"],
        "replicas": 1,
        "updatedReplicas": 1,
        "version": "1.6.1",
        "versionSource": "tag",
        "findings": [{"rule": "DYN201", "severity": "warning", "message": "m"}],
        "repairs": ["DYN101"],
    }
    status = {"status": {"state": "pending", "components": {"Worker": part}}}
    done = kubectl("patch", "dgd", "chat", "--subresource=status", "--type=merge", "-p", json.dumps(status))
    assert not done.returncode, done.stderr
    assert kubectl.get("dgd", "chat")["status"] == status["status"]
    old = kubectl.get(OLD, "chat")["status"]
    assert old["services"]["Worker"] == {**part, "componentName": "chat-worker"}


def test_a_scaling_adapter_scales_in_either_version(kubectl: Kubectl) -> None:
    """`kubectl scale` works on it, and each version names the target by its own word."""
    adapter = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeploymentScalingAdapter",
        "metadata": {"name": "chat-worker"},
        "spec": {"replicas": 1, "dgdRef": {"name": "chat", "serviceName": "Worker"}},
    }
    done = kubectl("apply", "-f", "-", stdin=adapter)
    assert not done.returncode, done.stderr
    scaled = kubectl("scale", "dgdsa/chat-worker", "--replicas=4")
    assert not scaled.returncode, scaled.stderr
    spec = kubectl.get("dynamographdeploymentscalingadapters.v1beta1.nvidia.com", "chat-worker")["spec"]
    assert spec == {"replicas": 4, "dgdRef": {"name": "chat", "componentName": "Worker"}}


def test_replicas_that_an_adapter_owns_are_the_operators_to_change(kubectl: Kubectl) -> None:
    """A person is told to scale the adapter; the operator's own account is let through."""
    owned = graph()
    owned["spec"]["components"][1]["scalingAdapter"] = {}
    kubectl("apply", "-f", "-", stdin=owned)
    patch = json.dumps([{"op": "replace", "path": "/spec/components/1/replicas", "value": 5}])
    person = kubectl("patch", "dgd", "chat", "--type=json", "-p", patch)
    assert "chat-worker" in person.stderr
    operator = kubectl("patch", "dgd", "chat", "--type=json", "-p", patch, "--as", OPERATOR)
    assert not operator.returncode, operator.stderr


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"modelName": "a", "baseModelName": "b", "modelType": "lora"}, "source"),
        (
            {"modelName": "a", "baseModelName": "b", "modelType": "lora", "source": {"uri": "http://x"}},
            "spec.source.uri",
        ),
    ],
)
def test_a_model_that_cannot_be_loaded_is_refused(kubectl: Kubectl, spec: Json, said: str) -> None:
    """A lora needs a source that can be fetched."""
    model = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": "m"}, "spec": spec}
    done = kubectl("apply", "-f", "-", stdin=model)
    assert done.returncode
    assert said in done.stderr


def test_while_no_operator_runs_everything_but_new_specs_works(served: Running, kubectl: Kubectl) -> None:
    """Reading, labels, status, scale, finalizers and deletion ask no webhook; a new spec is refused, and says why."""
    kubectl("apply", "-f", "-", stdin=graph())
    kubectl("patch", "dgd", "chat", "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/hold"]}}')
    with served.down():
        works = [
            kubectl("get", "dgd", "chat"),
            kubectl("label", "dgd", "chat", "a=b"),
            kubectl(
                "patch", "dgd", "chat", "--subresource=status", "--type=merge", "-p", '{"status":{"state":"failed"}}'
            ),
        ]
        refused = kubectl("patch", "dgd", "chat", "--type=merge", "-p", '{"spec":{"env":[{"name":"A"}]}}')
        works += [
            kubectl("delete", "dgd", "chat", "--wait=false"),
            kubectl("patch", "dgd", "chat", "--type=merge", "-p", '{"metadata":{"finalizers":null}}'),
        ]
        gone = kubectl("get", "dgd", "chat")
    assert [done.stderr for done in works if done.returncode] == []
    assert "failed calling webhook" in refused.stderr
    assert "NotFound" in gone.stderr
