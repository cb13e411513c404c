"""DYN101 through rendering: the complete environment and envFrom of the container, branch by branch."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
import yaml
from rendered import main_of, provenance_of

from stator.compat import rules
from stator.model.load import load
from stator.render import Manifest, RenderOptions, render_graph

PAYLOAD = "DYN_HEALTH_CHECK_PAYLOAD"
MODE = "DYN_SGL_EMBEDDING_WORKER"
CHECKS = "DYN_HEALTH_CHECK_ENABLED"
EMBEDDING = '{"model":"health-check","input":"Test"}'
EITHER = next(rule for rule in rules() if rule.id == "DYN101").payloads["either"]
OWN = '{"model":"mine","input":"x"}'
FLAG = ("--embedding-worker",)
SECRET = {"secretRef": {"name": "token"}}
SIDECAR = {"name": "side", "image": "i", "env": [{"name": MODE, "value": "true"}], "envFrom": [SECRET]}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A worker, and what the repair adds: `appended` to its env, or `lowest` as a ConfigMap first in envFrom."""

    image: str = "reg/sglang-runtime:1.5.1"
    module: str = "dynamo.sglang"
    args: tuple[str, ...] = FLAG
    graph: tuple[dict[str, Any], ...] = ()
    env: tuple[dict[str, Any], ...] = ()
    env_from: tuple[dict[str, Any], ...] = ()
    appended: str = ""
    lowest: str = ""


def literal(name: str, value: str) -> dict[str, Any]:
    """A literal entry."""
    return {"name": name, "value": value}


def from_key(name: str) -> dict[str, Any]:
    """An entry whose value only the running pod knows."""
    return {"name": name, "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}


CASES = {
    # 1. Not SGLang, or a release outside the range, or none at all.
    "vllm": Case(module="dynamo.vllm"),
    "fixed release": Case(image="reg/sglang-runtime:1.6.0"),
    "unresolved": Case(image="reg/sglang-runtime:nightly", env=(literal(CHECKS, "true"),)),
    # 2. A payload of the user's own, in any form.
    "own payload": Case(env=(literal(PAYLOAD, OWN),)),
    "own payload on the graph": Case(graph=(literal(PAYLOAD, OWN),)),
    "own payload by reference": Case(env=(from_key(PAYLOAD),), env_from=(SECRET,)),
    "payload flag": Case(args=(*FLAG, "--health-check-payload", OWN), appended=OWN),
    "payload flag and envFrom": Case(args=(*FLAG, f"--health-check-payload={OWN}"), env_from=(SECRET,), lowest=OWN),
    # 3. Checks off.
    "checks off": Case(env=(literal(CHECKS, "false"),)),
    "checks off on the graph": Case(graph=(literal(CHECKS, "false"),), env_from=(SECRET,)),
    "checks back on": Case(graph=(literal(CHECKS, "false"),), env=(literal(CHECKS, "true"),), appended=EMBEDDING),
    "older release, checks on by hand": Case(
        image="reg/sglang-runtime:1.4.2", env=(literal(CHECKS, "true"),), appended=EMBEDDING
    ),
    "older release": Case(image="reg/sglang-runtime:1.4.2"),
    # 4. The mode, by variable and flag; the last flag wins over both.
    "chat": Case(args=()),
    "mode by variable": Case(args=(), env=(literal(MODE, "true"),), appended=EMBEDDING),
    "mode by graph variable": Case(args=(), graph=(literal(MODE, "1"),), appended=EMBEDDING),
    "mode off on the component": Case(args=(), graph=(literal(MODE, "1"),), env=(literal(MODE, "false"),)),
    "mode negated": Case(args=(*FLAG, "--no-embedding-worker"), env=(literal(MODE, "true"),)),
    # 5. No source could carry the payload.
    "embedding": Case(appended=EMBEDDING),
    "embedding, 1.5.0": Case(image="reg/sglang-runtime:1.5.0", appended=EMBEDDING),
    "foreign prefix": Case(env_from=({"prefix": "HF_", **SECRET},), appended=EMBEDDING),
    # 6. A source could carry it.
    "envFrom": Case(env_from=(SECRET, {"configMapRef": {"name": "c"}}), lowest=EMBEDDING),
    "fitting prefix": Case(env_from=({"prefix": "DYN_", **SECRET},), lowest=EMBEDDING),
    # 7. Only the running pod knows the mode.
    "mode by reference": Case(args=(), env=(from_key(MODE),), appended=EITHER),
    "mode by graph reference": Case(args=(), graph=(from_key(MODE),), env_from=(SECRET,), lowest=EITHER),
    "mode perhaps by envFrom": Case(args=(), env_from=(SECRET,), lowest=EITHER),
    "mode by prefix": Case(args=(), env_from=({"prefix": "DYN_SGL_", **SECRET},), appended=EITHER),
    "mode off, envFrom": Case(args=("--no-embedding-worker",), env_from=(SECRET,)),
}


def beta(case: Case) -> dict[str, Any]:
    """The case in v1beta1."""
    main = {
        "name": "main",
        "image": case.image,
        "command": ["python3", "-m", case.module],
        "args": list(case.args),
        "env": list(case.env),
        "envFrom": list(case.env_from),
    }
    component = {"name": "Worker", "type": "worker", "podTemplate": {"spec": {"containers": [SIDECAR, main]}}}
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"env": list(case.graph), "components": [component]},
    }


def alpha(case: Case) -> dict[str, Any]:
    """The case in v1alpha1."""
    main = {
        "image": case.image,
        "command": ["python3", "-m", case.module],
        "args": list(case.args),
        "envFrom": list(case.env_from),
    }
    service = {
        "componentType": "worker",
        "envs": list(case.env),
        "extraPodSpec": {"mainContainer": main, "containers": [SIDECAR]},
    }
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g", "namespace": "ns"},
        "spec": {"envs": list(case.graph), "services": {"Worker": service}},
    }


def rendered(document: dict[str, Any], options: RenderOptions | None = None) -> Manifest:
    """What a document renders to."""
    [graph] = load(["-"], stdin=io.StringIO(yaml.safe_dump(document))).graphs
    return render_graph(graph, options or RenderOptions())


def expected_env(case: Case, generation: str) -> list[dict[str, Any]]:
    """Type defaults with the user's entries over them, in place or behind, and the appended repair last."""
    checks = "true" if any(release in case.image for release in (":1.5.", ":1.6.")) else "false"
    entries = [
        literal("DYN_NAMESPACE", "ns-g"),
        literal("DYN_COMPONENT", "worker"),
        literal("DYN_PARENT_DGD_K8S_NAME", "g"),
        literal("DYN_PARENT_DGD_K8S_NAMESPACE", "ns"),
        *(
            {"name": f"POD_{field.upper()}", "valueFrom": {"fieldRef": {"fieldPath": f"metadata.{field}"}}}
            for field in ("name", "namespace", "uid")
        ),
        literal("DYN_DISCOVERY_BACKEND", "kubernetes"),
        literal("DYN_SYSTEM_ENABLED", "true"),
        literal("DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS", '["generate"]'),
        literal("DYN_SYSTEM_PORT", "9090"),
        literal(CHECKS, checks),
        literal("NIXL_TELEMETRY_ENABLE", "n"),
        literal("NIXL_TELEMETRY_EXPORTER", "prometheus"),
        literal("NIXL_TELEMETRY_PROMETHEUS_PORT", "19090"),
        literal("DYN_FORWARDPASS_METRIC_PORT", "20380"),
        literal("DYN_NAMESPACE_WORKER_SUFFIX", generation),
    ]
    merged = {entry["name"]: entry for entry in (*entries, *case.graph, *case.env)}
    return [*merged.values(), *([literal(PAYLOAD, case.appended)] if case.appended else ())]


@pytest.mark.parametrize("write", [beta, alpha])
@pytest.mark.parametrize("name", CASES)
def test_the_whole_environment_is_the_users_plus_at_most_one_payload(name: str, write: Any) -> None:
    """Every branch of the decision, in both API versions, with nothing else touched anywhere in the pod."""
    case = CASES[name]
    manifest = rendered(write(case))
    offered = f"g-worker-{manifest.generation}-dyn101"
    main = main_of(manifest)
    assert main["env"] == expected_env(case, manifest.generation)
    assert main.get("envFrom", []) == [
        *([{"configMapRef": {"name": offered}}] if case.lowest else []),
        *case.env_from,
    ]
    config_maps = {item["metadata"]["name"]: item["data"] for item in manifest.objects if item["kind"] == "ConfigMap"}
    assert config_maps == ({offered: {PAYLOAD: case.lowest}} if case.lowest else {})
    [component] = manifest.components
    assert component.repairs == (("DYN101",) if case.appended or case.lowest else ())
    assert component.workload["spec"]["template"]["spec"]["containers"][1] == SIDECAR


@pytest.mark.parametrize("name", ["embedding", "envFrom", "mode by reference"])
def test_without_repairs_the_finding_stands_and_nothing_is_added(name: str) -> None:
    """`repairs` off renders what an operator without them would, and says what is wrong with it."""
    case = CASES[name]
    manifest = rendered(beta(case), RenderOptions(repairs=False))
    assert main_of(manifest)["env"] == expected_env(
        msgspec.structs.replace(case, appended="", lowest=""), manifest.generation
    )
    assert main_of(manifest).get("envFrom", []) == list(case.env_from)
    assert not any(item["kind"] == "ConfigMap" for item in manifest.objects)
    assert manifest.components[0].repairs == ()
    [finding] = manifest.findings
    assert (finding.rule, finding.severity in {"error", "warning"}, finding.repair) == ("DYN101", True, "")


def test_a_repair_keeps_the_generation() -> None:
    """It is no intent of the user's: whether it is in the pods does not show in the name of the generation."""
    document = beta(CASES["embedding"])
    assert rendered(document).generation == rendered(document, RenderOptions(repairs=False)).generation


def test_a_repairs_config_map_comes_before_the_deployment_that_needs_it() -> None:
    """It carries the component's labels, and stands in the component's objects."""
    manifest = rendered(beta(CASES["envFrom"]))
    [component] = manifest.components
    assert [item["kind"] for item in component.objects] == ["ConfigMap", "Service", "Deployment"]
    assert component.objects[0]["metadata"]["labels"] == component.workload["metadata"]["labels"]


def test_provenance_names_the_rule() -> None:
    """An entry or a source that a repair added says which rule added it and what it holds."""
    entry = provenance_of(rendered(beta(CASES["embedding"])), PAYLOAD)
    assert (entry.setter.layer, entry.setter.detail, entry.setter.value) == ("repair", "DYN101", EMBEDDING)
    manifest = rendered(beta(CASES["envFrom"]))
    source = provenance_of(manifest, f"configMapRef g-worker-{manifest.generation}-dyn101")
    assert (source.subject, source.setter.layer, source.setter.detail) == ("env-from", "repair", "DYN101")
    assert source.setter.value == f"{PAYLOAD}={EMBEDDING}"


def test_findings_point_to_the_users_line() -> None:
    """The position of a finding is where the user's variable or argument stands, in their API version."""
    document = yaml.safe_dump(alpha(CASES["mode by variable"]))
    line = next(number for number, text in enumerate(document.splitlines(), 1) if MODE in text and "- name" in text)
    [graph] = load(["-"], stdin=io.StringIO(document)).graphs
    [finding] = render_graph(graph).findings
    assert finding.location is not None
    assert finding.location.line == line


def test_an_alpha_secret_of_the_service_counts_as_a_source() -> None:
    """`envFromSecret` may carry a payload like any other source."""
    document = alpha(CASES["embedding"])
    document["spec"]["services"]["Worker"]["envFromSecret"] = "token"
    manifest = rendered(document)
    assert main_of(manifest)["envFrom"] == [
        {"configMapRef": {"name": f"g-worker-{manifest.generation}-dyn101"}},
        SECRET,
    ]


@pytest.mark.parametrize("flag", ['"$FLAG"', '"${FLAG}"', "$FLAG", "$(FLAG)"])
def test_a_word_that_a_shell_or_the_kubelet_puts_in_is_not_taken_for_nothing(flag: str) -> None:
    """It may be the switch: nothing is set, and the finding says what to set by hand."""
    graph = beta(Case())
    main = graph["spec"]["components"][0]["podTemplate"]["spec"]["containers"][1]
    script = f'python3 -m dynamo.sglang --model-path "$MODEL" {flag}'
    main |= {"command": ["sh", "-c"], "args": [script]}
    (finding,) = rendered(graph).findings
    assert (finding.rule, finding.severity) == ("DYN101", "info")


def test_a_test_command_in_a_script_hides_nothing() -> None:
    """`[` and `[[` begin no pattern: the worker behind them is read, and is a plain chat worker."""
    graph = beta(Case())
    main = graph["spec"]["components"][0]["podTemplate"]["spec"]["containers"][1]
    main |= {"command": ["sh", "-c"], "args": ["[ -d /m ] || exit 1; python3 -m dynamo.sglang --model-path /m"]}
    assert rendered(graph).findings == ()
