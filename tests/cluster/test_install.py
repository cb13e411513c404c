"""What `stator install` prints, in a real API server: it applies, describes itself, and gives no right too many."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from apiserver import Server, free_ports
from cryptography import x509
from foreign import FOREIGN
from foreign import definition as foreign_definition
from installed import configurations, own_server
from kubelet import Kubelet

from stator.install.installation import installation
from stator.install.settings import Settings
from stator.kube.client import Client
from stator.kube.connection import connect
from stator.kube.resources import CUSTOM_RESOURCE_DEFINITION, SECRET, VALIDATING_WEBHOOK_CONFIGURATION
from stator.operator import names
from stator.operator.certificates import LIFETIME, OVERLAP, RENEWED_BEFORE
from stator.operator.webhooks.trust import Trust, server_context
from stator.render.output import to_yaml

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "render" / "golden"
SETTINGS = Settings()
# Kinds that graphs are rendered to and that other projects bring: group, version, kind, plural.


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An API server that only these tests use, with an installation in it."""
    with own_server(tmp_path_factory.mktemp("install")) as server:
        apply(server, to_yaml(installation(SETTINGS)))
        # No operator runs here, so nobody would answer for a graph.
        server.run_kubectl("delete", "validatingwebhookconfiguration", names.NAME)
        server.wait_established()
        yield server


def apply(server: Server, text: str, *options: str) -> str:
    """`kubectl apply` of manifests."""
    return server.run_kubectl("apply", *options, "-f", "-", stdin=text)


def refusal(server: Server, namespace: str, value: Json) -> str:
    """What kubectl says when it applies an object, `""` if the object is taken."""
    done = subprocess.run(
        [server.kubectl, "--kubeconfig", str(server.kubeconfig), "-n", namespace, "apply", "-f", "-"],
        input=json.dumps(value),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stderr if done.returncode else ""


def test_it_can_be_applied_again_and_in_either_way(cluster: Server) -> None:
    """An upgrade is the same command; client-side and server-side apply both take the largest definition."""
    text = to_yaml(installation(Settings(webhooks=False)))
    apply(cluster, text)
    # kubectl calls every budget configured: the selector of one is replaced, not merged.
    again = [line for line in apply(cluster, text).splitlines() if not line.startswith("poddisruptionbudget")]
    assert {line.rpartition(" ")[2] for line in again} == {"unchanged"}
    apply(cluster, text, "--server-side", "--force-conflicts")
    text = to_yaml(item for item in installation(SETTINGS) if item["kind"] != "ValidatingWebhookConfiguration")
    apply(cluster, text, "--server-side", "--force-conflicts")


def test_fields_are_explained(cluster: Server, tmp_path: Path) -> None:
    """`kubectl explain` says what a field is for, also inside a pod template and in the old version."""
    for field, version, said in [
        ("dynamographdeployments.spec.components.multinode.nodeCount", "v1beta1", "Nodes of one replica"),
        ("dynamographdeployments.spec.components.podTemplate", "v1beta1", 'Its container "main"'),
        ("dynamographdeployments.spec.services.envFromSecret", "v1alpha1", "Secret whose keys"),
        ("dynamographdeployments.status.components.repairs", "v1beta1", "repair is in force"),
        ("dynamomodels.spec.source.uri", "v1alpha1", "s3://"),
    ]:
        options = (f"--api-version=nvidia.com/{version}", f"--cache-dir={tmp_path}")
        assert said in cluster.run_kubectl("explain", field, *options)


def test_no_definition_breaks_a_rule_of_structural_schemas(cluster: Server) -> None:
    """An API server reports such a definition in a condition, and then prunes and defaults nothing."""
    for definition in json.loads(cluster.run_kubectl("get", "crd", "-o", "json"))["items"]:
        conditions = {item["type"]: item["status"] for item in definition["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}


@pytest.mark.parametrize(
    ("short", "columns"),
    [
        ("dgd", ["NAME", "READY", "BACKEND", "AGE"]),
        ("dcd", ["NAME", "AVAILABLE", "BACKEND", "AGE"]),
        ("dgdsa", ["NAME", "DGD", "COMPONENT", "REPLICAS", "AGE"]),
        ("dm", ["NAME", "BASEMODEL", "TYPE", "READY", "TOTAL", "AGE"]),
        ("dwm", ["NAME", "AGE"]),
    ],
)
def test_kubectl_get_has_the_columns_people_know(
    cluster: Server, namespace: str, short: str, columns: list[str]
) -> None:
    """By short name, as on a cluster of the upstream operator."""
    specs = {
        "dgd": {"components": [{"name": "a"}]},
        "dcd": {"name": "a"},
        "dgdsa": {"replicas": 1, "dgdRef": {"name": "g", "componentName": "a"}},
        "dm": {"modelName": "m", "baseModelName": "b"},
        "dwm": {"data": {"any": {"field": 1}}},
    }
    kinds = {crd["spec"]["names"]["shortNames"][0]: crd["spec"]["names"]["kind"] for crd in definitions()}
    version = "v1alpha1" if short in ("dm", "dwm") else "v1beta1"
    value = {
        "apiVersion": f"nvidia.com/{version}",
        "kind": kinds[short],
        "metadata": {"name": "x"},
        "spec": specs[short],
    }
    assert refusal(cluster, namespace, value) == ""
    assert cluster.run_kubectl("get", short, "-n", namespace).splitlines()[0].split() == columns


def definitions() -> list[Json]:
    """The definitions of an installation."""
    return [item for item in installation(SETTINGS) if item["kind"] == "CustomResourceDefinition"]


def beta(*components: Json, **spec: Any) -> Json:
    """A v1beta1 graph."""
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g"},
        "spec": {"components": list(components), **spec},
    }


MAIN = {"name": "main", "image": "i"}
REFUSED = [
    (beta(), "spec.components"),
    (beta({"name": "a"}, {"name": "a"}), "spec.components[1]"),
    (beta({"name": "a"}, {"name": "A"}), "more than case"),
    (beta({"name": "a_b"}), "spec.components[0].name"),
    (beta(*({"name": f"c{index}"} for index in range(26))), "25"),
    (beta({"name": "a", "type": "epp"}, {"name": "b", "type": "epp"}), "at most one may be epp"),
    (beta({"name": "a", "type": "other"}), "spec.components[0].type"),
    (beta({"name": "a", "replicas": -1}), "spec.components[0].replicas"),
    (beta({"name": "a", "sharedMemorySize": "much"}), "spec.components[0].sharedMemorySize"),
    (beta({"name": "a", "multinode": {"nodeCount": 1}}), "nodeCount"),
    (beta({"name": "a", "eppConfig": {}}), "exactly one of configMapRef, config"),
    (beta({"name": "a", "roles": [{"name": "third"}]}), "spec.components[0].roles[0].name"),
    (beta({"name": "a"}, restart={"strategy": {}}), "spec.restart.id"),
    (
        beta({"name": "a"}, restart={"id": "1", "strategy": {"type": "Parallel", "order": ["a"]}}),
        "order must be absent if type is Parallel",
    ),
    (beta({"name": "a"}, backendFramework="other"), "spec.backendFramework"),
    (
        beta({"name": "a", "podTemplate": {"spec": {"containers": [MAIN, MAIN]}}}),
        "spec.components[0].podTemplate.spec.containers[1]",
    ),
    (
        beta({"name": "a", "podTemplate": {"spec": {"containers": [{**MAIN, "env": "A=1"}]}}}),
        "spec.components[0].podTemplate.spec.containers[0].env",
    ),
]


@pytest.mark.parametrize(("value", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_the_schema_alone_refuses(cluster: Server, namespace: str, value: Json, said: str) -> None:
    """Without any webhook, what a schema can say is refused with the path of the field."""
    assert said in refusal(cluster, namespace, value)


def test_every_golden_graph_fits_the_schema(cluster: Server, namespace: str) -> None:
    """What the renderer renders, an API server stores; v1alpha1 needs the webhook and is left out here."""
    for path in sorted(GOLDEN.glob("*/graph.yaml")):
        for value in yaml.safe_load_all(path.read_text()):
            if value["apiVersion"] != "nvidia.com/v1beta1":
                continue
            value["metadata"].pop("namespace", None)
            assert refusal(cluster, namespace, value) == "", path


def test_unknown_fields_live_in_pods_and_nowhere_else(cluster: Server, namespace: str) -> None:
    """A field that Kubernetes gains tomorrow survives in a pod template; a misspelt field of ours is dropped."""
    pod = {"containers": [{**MAIN, "tomorrow": {"a": None, "b": 1}}], "nodeSelector": {"a": "b"}, "newer": [1]}
    value = beta({"name": "a", "podTemplate": {"spec": pod}, "replica": 3})
    apply(cluster, json.dumps(value), "-n", namespace, "--validate=false")
    [stored] = json.loads(cluster.run_kubectl("get", "dgd", "g", "-n", namespace, "-o", "json"))["spec"]["components"]
    assert stored["podTemplate"]["spec"]["newer"] == [1]
    assert stored["podTemplate"]["spec"]["containers"][0]["tomorrow"]["b"] == 1
    assert "replica" not in stored
    assert stored["replicas"] == 1


def test_nulls_are_as_good_as_absent(cluster: Server, namespace: str) -> None:
    """Generated manifests are full of them."""
    value = beta({"name": "a", "type": None, "replicas": None, "podTemplate": {"spec": {"containers": None}}})
    assert refusal(cluster, namespace, value) == ""


def test_a_component_keeps_its_type(cluster: Server, namespace: str) -> None:
    """Once it is set; a component without one may still get one."""
    assert refusal(cluster, namespace, beta({"name": "a"})) == ""
    assert refusal(cluster, namespace, beta({"name": "a", "type": "worker"})) == ""
    assert "type cannot be changed" in refusal(cluster, namespace, beta({"name": "a", "type": "frontend"}))


# --- rights


@pytest.fixture(scope="module")
def operator(cluster: Server) -> Server:
    """The server as the operator's account sees it."""
    return Server(cluster.url, cluster.kubeconfig_of(SETTINGS.namespace, "stator"), cluster.kubectl)


@pytest.fixture
def foreign(cluster: Server) -> Iterator[None]:
    """While the definitions of other projects are installed, as far as rights need them."""
    text = to_yaml(foreign_definition(kind) for kind in FOREIGN)
    apply(cluster, text)
    cluster.wait_established()
    yield
    cluster.run_kubectl("delete", "-f", "-", stdin=text)


def may(server: Server, verb: str, resource: str, *options: str) -> bool:
    """What the API server says about the account's own rights."""
    said = server.run_kubectl("auth", "can-i", verb, resource, *options, check=False)
    return said.strip().splitlines()[0] == "yes"


@pytest.mark.usefixtures("foreign")
def test_the_operator_can_apply_all_that_is_rendered(operator: Server, namespace: str) -> None:
    """Every object of every golden rendering, Roles with rights for pods included, with the account's own token."""
    for path in sorted(GOLDEN.glob("*/expected.yaml")):
        objects = [item for item in yaml.safe_load_all(path.read_text()) if item]
        for item in objects:
            item["metadata"]["namespace"] = namespace
            for subject in item.get("subjects", ()):
                subject["namespace"] = namespace
        operator.run_kubectl(
            *("apply", "--server-side", "--field-manager=stator", "--force-conflicts", "-f", "-"),
            stdin=to_yaml(objects),
        )


@pytest.mark.usefixtures("foreign")
def test_the_operator_can_report_and_clean_up(operator: Server, cluster: Server, namespace: str) -> None:
    """Status of graphs and components, replicas of graphs, and deletion of what it made."""
    apply(cluster, json.dumps(beta({"name": "a"})), "-n", namespace)
    patch = ("--type=merge", "-n", namespace, "-p")
    for kind in ("dgd", "dcd", "dgdsa"):
        assert may(operator, "patch", kind, "--subresource=status", "-n", namespace), kind
    operator.run_kubectl("patch", "dgd", "g", *patch, '{"metadata":{"annotations":{"a":"b"}}}')
    for kind in ("dcd", "dgdsa", "deployments.apps", "services", "configmaps", "leaderworkersets", "podcliquesets"):
        assert may(operator, "delete", kind, "-n", namespace), kind
    for kind in ("pods", "endpointslices", "persistentvolumeclaims", "roles", "dynamoworkermetadatas"):
        assert may(operator, "watch", kind, "-A"), kind
    assert may(operator, "create", "events.events.k8s.io", "-n", namespace)


@pytest.mark.parametrize(
    ("verb", "resource", "options"),
    [
        ("get", "secrets", ("-n", "default")),
        ("list", "secrets", ("-A",)),
        ("update", "secrets/mpi-run-ssh-secret", ("-n", "default")),
        ("delete", "secrets/mpi-run-ssh-secret", ("-n", "default")),
        ("get", "secrets/regcred", ("-n", "default")),
        ("list", "secrets", ("-n", "stator-system")),
        ("get", "secrets/other", ("-n", "stator-system")),
        ("delete", "dgd", ("-n", "default")),
        ("create", "dgd", ("-n", "default")),
        ("create", "pods", ("-n", "default")),
        ("create", "pods", ("--subresource=exec", "-n", "default")),
        ("get", "pods", ("--subresource=log", "-n", "default")),
        ("delete", "persistentvolumeclaims", ("-n", "default")),
        ("get", "nodes", ()),
        ("list", "namespaces", ()),
        ("create", "clusterroles", ()),
        ("escalate", "roles", ("-n", "default")),
        ("bind", "clusterroles/cluster-admin", ()),
        ("impersonate", "users", ()),
        ("create", "crd", ()),
        ("delete", "crd", ()),
        ("patch", "crd/leaderworkersets.leaderworkerset.x-k8s.io", ()),
        ("patch", "validatingwebhookconfigurations/other", ()),
        ("update", "leases/other", ("-n", "stator-system")),
        ("create", "leases", ("-n", "default")),
        ("patch", "deployments.apps", ("--subresource=scale", "-n", "default")),
        ("*", "*", ("-A",)),
    ],
)
def test_the_operator_has_no_right_too_many(
    operator: Server, verb: str, resource: str, options: tuple[str, ...]
) -> None:
    """Neither people's secrets, nor their graphs and data, nor anything with which to gain more rights."""
    assert not may(operator, verb, resource, *options)


def test_the_operator_can_give_no_more_than_it_has(operator: Server, namespace: str) -> None:
    """A Role with other rights is refused by the API server, whoever wrote it into a graph."""
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
    }
    assert "attempting to grant RBAC permissions not currently held" in refusal(operator, namespace, role)


def test_the_operator_binds_planners_and_pickers_to_their_roles_only(operator: Server, namespace: str) -> None:
    """Their ClusterRoles are part of the installation; no other can be bound."""

    def binding(role: str) -> Json:
        return {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": role},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": namespace}],
        }

    assert refusal(operator, namespace, binding("stator-planner")) == ""
    assert refusal(operator, namespace, binding("stator-epp")) == ""
    assert "forbidden" in refusal(operator, namespace, binding("cluster-admin"))


def test_an_operator_of_one_namespace_sees_no_other(cluster: Server, namespace: str) -> None:
    """And reads nothing outside of it but the definitions by name."""
    settings = Settings(namespace=namespace, namespaced=True)
    objects = [item for item in installation(settings) if item["kind"] != "CustomResourceDefinition"]
    assert not [item for item in objects if "Webhook" in item["kind"]]
    apply(cluster, to_yaml(objects))
    account = Server(cluster.url, cluster.kubeconfig_of(namespace, "stator"), cluster.kubectl)
    assert may(account, "list", "dgd", "-n", namespace)
    assert may(account, "create", "leases", "-n", namespace)
    assert may(account, "get", "crd/dynamographdeployments.nvidia.com")
    for verb, resource, options in [
        ("list", "dgd", ("-A",)),
        ("list", "dgd", ("-n", "default")),
        ("list", "crd", ()),
        ("patch", "crd/dynamographdeployments.nvidia.com", ()),
        ("get", "secrets", ("-n", namespace)),
        ("bind", "clusterroles/stator-planner", ()),
    ]:
        assert not may(account, verb, resource, *options), (verb, resource)
    planner = Server(cluster.url, cluster.kubeconfig_of(namespace, "planner-serviceaccount"), cluster.kubectl)
    assert may(planner, "patch", "dgdsa/x", "--subresource=scale", "-n", namespace)
    assert not may(planner, "create", "pods", "-n", namespace)


def test_the_operators_pods_fit_the_strictest_standard(cluster: Server) -> None:
    """The API server enforces the Pod Security Standard "Restricted" in the namespace, and takes the pod."""
    [deployment] = [item for item in installation(SETTINGS) if item["kind"] == "Deployment"]
    template = deployment["spec"]["template"]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", **template["metadata"]},
        "spec": template["spec"],
    }
    cluster.run_kubectl("create", "--dry-run=server", "-n", SETTINGS.namespace, "-f", "-", stdin=json.dumps(pod))
    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    assert "restricted" in refusal(cluster, SETTINGS.namespace, pod)


# --- certificates


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        """The time it shows."""
        return self.now


async def test_certificates_move_on_in_the_cluster_without_a_gap(cluster: Server) -> None:
    """Two replicas look after one Secret; what either serves is always trusted by what the API server was told."""
    apply(cluster, to_yaml(installation(SETTINGS)))
    clock = Clock()
    account = cluster.kubeconfig_of(SETTINGS.namespace, "stator")
    hosts = names.webhook_hosts(SETTINGS.namespace)
    try:
        async with connect(account) as client:
            contexts = [server_context() for _ in range(2)]
            replicas = [
                Trust(client, context, namespace=SETTINGS.namespace, hosts=hosts, clock=clock) for context in contexts
            ]
            assert replicas[0].why_not_ready
            served = set()
            for step in (timedelta(), LIFETIME - RENEWED_BEFORE, OVERLAP / 2, OVERLAP, LIFETIME * 2):
                clock.now += step
                await asyncio.gather(*(replica.refresh() for replica in replicas))
                # Who was late takes over what the other one has written.
                await asyncio.gather(*(replica.refresh() for replica in replicas))
                assert [replica.why_not_ready for replica in replicas] == ["", ""]
                secret = await client.get(SECRET, names.CERTIFICATES, SETTINGS.namespace)
                served.add(secret["data"]["tls.crt"])
                configuration = await client.get(VALIDATING_WEBHOOK_CONFIGURATION, names.NAME)
                definition = await client.get(CUSTOM_RESOURCE_DEFINITION, names.CONVERTED[0])
                bundles = {
                    configuration["webhooks"][0]["clientConfig"]["caBundle"],
                    definition["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"],
                }
                assert bundles == {secret["data"]["ca.crt"]}
                assert accepts(secret["data"], clock.now, hosts[0])
            assert len(served) == 3
            await replicas[0].refresh()
            again = await client.get(SECRET, names.CERTIFICATES, SETTINGS.namespace)
            assert again["metadata"]["resourceVersion"] == secret["metadata"]["resourceVersion"]
            kept = apply(cluster, to_yaml(installation(SETTINGS)))
            assert "validatingwebhookconfiguration.admissionregistration.k8s.io/stator unchanged" in kept
            bundle = (await client.get(VALIDATING_WEBHOOK_CONFIGURATION, names.NAME))["webhooks"][0]["clientConfig"]
            assert bundle["caBundle"] in bundles
    finally:
        cluster.run_kubectl("delete", "validatingwebhookconfiguration", names.NAME)


def accepts(data: dict[str, str], now: datetime, host: str) -> bool:
    """Whether a client that trusts the authorities accepts the serving certificate."""
    values = {key: base64.b64decode(text) for key, text in data.items()}
    ssl.create_default_context(cadata=values["ca.crt"].decode())
    store = x509.verification.Store(x509.load_pem_x509_certificates(values["ca.crt"]))
    verifier = x509.verification.PolicyBuilder().store(store).time(now).build_server_verifier(x509.DNSName(host))
    return bool(verifier.verify(x509.load_pem_x509_certificate(values["tls.crt"]), []))


async def test_a_missing_part_of_the_installation_is_named(cluster: Server) -> None:
    """Not Ready, and why: the user applied half of it."""
    account = cluster.kubeconfig_of(SETTINGS.namespace, "stator")
    hosts = names.webhook_hosts(SETTINGS.namespace)
    async with connect(account) as client:
        trust = Trust(client, server_context(), namespace=SETTINGS.namespace, hosts=hosts, clock=Clock())
        await trust.refresh()
    assert trust.why_not_ready == (
        "ValidatingWebhookConfiguration stator is not installed; apply the output of stator install"
    )


def test_kubectl_builds_the_kustomize_base(cluster: Server) -> None:
    """`kubectl apply -k deploy/kustomize` is the same as `stator install | kubectl apply -f -`."""
    built = cluster.run_kubectl("kustomize", str(ROOT / "deploy" / "kustomize"))

    def by_name(objects: Any) -> Json:
        return {(item["kind"], item["metadata"]["name"]): item for item in objects}

    assert by_name(yaml.load_all(built, Loader=yaml.CSafeLoader)) == by_name(
        yaml.load_all(to_yaml(installation(SETTINGS)), Loader=yaml.CSafeLoader)
    )


# --- everything together


@contextmanager
def operator_process(server: Server, log: Path) -> Iterator[int]:
    """`stator operator run` as the Deployment starts it, with the account's token; the port of its webhooks."""
    [deployment] = [item for item in installation(SETTINGS) if item["kind"] == "Deployment"]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    webhook_port, metrics_port = free_ports(2)
    account = server.kubeconfig_of(SETTINGS.namespace, "stator")
    here = [
        f"--kubeconfig={account}",
        f"--own-namespace={SETTINGS.namespace}",
        "--webhook-hosts=127.0.0.1",
        f"--webhook-port={webhook_port}",
        f"--metrics-port={metrics_port}",
    ]
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-m", "stator", *arguments, *here], stdout=output, stderr=output)
        try:
            yield webhook_port
        finally:
            process.terminate()
            process.wait(30)


async def test_an_installation_makes_every_example_ready(
    cluster: Server, client: Client, namespace: str, tmp_path: Path
) -> None:
    """Started as the Deployment would, with no right but the account's, it makes graphs of both versions Ready."""
    log = tmp_path / "operator.log"
    with operator_process(cluster, log) as port:
        apply(cluster, to_yaml(configurations(port)))
        try:
            async with Kubelet(client, namespace):
                for example in sorted((ROOT / "examples").glob("*.yaml")):
                    await asyncio.to_thread(_applied, cluster, namespace, example)
                    options = ("dgd", "--all", "-n", namespace)
                    waited = ("wait", "--for=condition=Ready", "--timeout=90s", *options)
                    await asyncio.to_thread(cluster.run_kubectl, *waited)
                    await asyncio.to_thread(cluster.run_kubectl, "delete", *options)
        finally:
            for kind in ("validatingwebhookconfiguration", "mutatingwebhookconfiguration"):
                cluster.run_kubectl("delete", kind, names.NAME)
    text = log.read_text()
    assert "forbidden" not in text.lower()
    assert "definitions differ" not in text
    assert "Traceback" not in text


def _applied(server: Server, namespace: str, example: Path) -> None:
    """Apply as soon as the API server trusts the operator that has just started."""
    end = time.monotonic() + 60
    while said := refusal_of_file(server, namespace, example):
        assert time.monotonic() < end, said
        assert "failed calling webhook" in said or "conversion webhook" in said, said
        time.sleep(0.5)


def refusal_of_file(server: Server, namespace: str, file: Path) -> str:
    """What kubectl says when it applies a file, `""` if it is taken."""
    done = subprocess.run(
        [server.kubectl, "--kubeconfig", str(server.kubeconfig), "-n", namespace, "apply", "-f", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stderr if done.returncode else ""
