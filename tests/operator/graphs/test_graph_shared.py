"""What a graph makes beside its components, what it shares with others, and what it cleans up."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from graph_world import CHAT, DCD, World, graph

from stator.model import load_objects
from stator.operator.graphs import Observed, reconcile
from stator.operator.options import OperatorOptions
from stator.render import RenderOptions, render_graph

Json = dict[str, Any]

OLD = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: chat, namespace: serving, uid: u-graph, generation: 1}
spec:
  pvcs:
  - {name: models, create: true, size: 10Gi, storageClass: fast, volumeAccessMode: ReadWriteMany}
  services:
    Frontend:
      componentType: frontend
      ingress: {enabled: true, host: chat}
      extraPodSpec: {mainContainer: {image: "reg/frontend:1.6.1"}}
"""
PICKER = """
- name: Picker
  type: epp
  replicas: 1
  podTemplate: {spec: {containers: [{name: main, image: "reg/frontend:1.6.1"}]}}
"""


def with_model() -> World:
    """A graph whose worker serves a named model."""
    components = yaml.safe_load(CHAT)
    components[1]["modelRef"] = {"name": "Qwen/Qwen3-0.6B"}
    return World(graph(yaml.safe_dump(components)))


def kinds(world: World) -> list[str]:
    """Kinds of all that exists beside components."""
    return sorted(kind for kind, _ in world.live if kind != DCD)


def test_a_v1alpha1_graph_gets_its_claim_once_and_its_ingress_by_its_component() -> None:
    """A claim that is there is never written again; what is the frontend's own is the frontend component's."""
    world = World(yaml.safe_load(OLD))
    world.settle()
    assert "PersistentVolumeClaim" in kinds(world)
    world.live["PersistentVolumeClaim", "models"]["spec"]["resources"] = {"requests": {"storage": "20Gi"}}
    world.settle()
    assert world.live["PersistentVolumeClaim", "models"]["spec"]["resources"]["requests"]["storage"] == "20Gi"
    [alone] = load_objects([world.live[DCD, "chat-frontend"]]).graphs
    assert "Ingress" in [item["kind"] for item in render_graph(alone).objects]
    assert "Ingress" not in kinds(world)


def test_a_claim_of_somebody_else_is_used_as_it_is() -> None:
    """It is neither taken nor a conflict."""
    world = World(yaml.safe_load(OLD))
    world.put({"kind": "PersistentVolumeClaim", "metadata": {"name": "models", "namespace": "serving"}, "spec": {}})
    world.live["PersistentVolumeClaim", "models"]["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    world.settle()
    assert world.live["PersistentVolumeClaim", "models"]["spec"] == {}
    assert world.ready["status"] == "True"


def test_the_service_of_a_model_is_made_by_one_graph_and_used_by_the_next() -> None:
    """A second graph of the model leaves it alone while the first has it, and makes it when that graph is gone."""
    world = with_model()
    world.settle()
    [name] = [name for kind, name in world.live if kind == "Service"]
    other = {"uid": "u-other", "kind": "DynamoGraphDeployment", "name": "other", "controller": True}
    live = world.live["Service", name]
    mine = copy.deepcopy(live["metadata"]["ownerReferences"])
    live["metadata"]["ownerReferences"] = [other]
    world.settle()
    assert live["metadata"]["ownerReferences"] == [other]
    assert world.ready["status"] == "True"
    del world.live["Service", name]
    world.settle()
    assert world.live["Service", name]["metadata"]["ownerReferences"] == mine


def test_the_account_that_all_planners_of_a_namespace_share_belongs_to_no_graph() -> None:
    """Made where it is absent, and not taken down with the first graph."""
    options = OperatorOptions(render=RenderOptions(planner_cluster_role="planner"))
    component = """
    - name: Planner
      type: planner
      replicas: 1
      podTemplate:
        spec:
          containers: [{name: main, image: "reg/sglang-runtime:1.6.1", command: [python3, -m, dynamo.planner]}]
    """
    world = World(graph(component), options)
    world.settle()
    account = world.live["ServiceAccount", "planner-serviceaccount"]
    assert "ownerReferences" not in account["metadata"]
    account["metadata"]["labels"] = {"edited": "by hand"}
    world.settle()
    assert world.live["ServiceAccount", "planner-serviceaccount"]["metadata"]["labels"] == {"edited": "by hand"}


def test_a_pool_needs_the_inference_extension() -> None:
    """A missing kind is named together with what brings it; the rest of the graph is made, and another try follows."""
    world = World(graph(CHAT + PICKER))
    world.settle()
    assert world.ready["reason"] == "NotInstalled"
    assert "install the Gateway API inference extension" in world.ready["message"]
    assert world.plan().requeue_after
    assert (DCD, "chat-picker") in world.live
    world.options = OperatorOptions(installed=frozenset({"InferencePool"}))
    world.settle()
    assert "InferencePool" in kinds(world)
    assert world.ready["status"] == "True"
    assert world.live[DCD, "chat-picker"]["spec"]["podTemplate"]["metadata"]["annotations"] == {
        "sidecar.istio.io/inject": "false"
    }
    [worker] = world.workers
    assert world.live[DCD, worker]["metadata"]["labels"]["nvidia.com/dynamo-component-class"] == "worker"


def test_what_pods_may_still_use_goes_when_the_graph_is_ready_without_it() -> None:
    """The discovery account of a graph that changes to etcd stays until its new pods serve."""
    world = World()
    world.settle()
    world.graph["metadata"]["annotations"]["nvidia.com/dynamo-discovery-backend"] = "etcd"
    world.step()
    assert "ServiceAccount" in kinds(world)
    world.settle()
    assert kinds(world) == []


def test_a_child_of_an_unknown_kind_is_left_alone() -> None:
    """Only what this operator makes is cleaned up."""
    world = World()
    world.settle()
    metadata = {"name": "x", "namespace": "serving"}
    made = world.put({"kind": "Job", "metadata": metadata, "spec": {}})
    made["metadata"]["ownerReferences"] = world.live[DCD, "chat-frontend"]["metadata"]["ownerReferences"]
    world.settle()
    assert ("Job", "x") in world.live


@pytest.mark.parametrize("record", [{}, {"nvidia.com/current-worker-hash": "0badcafe"}], ids=["none", "legacy"])
def test_a_first_generation_is_put_on_record_without_a_rollout(record: dict[str, str]) -> None:
    """Only the annotation of today is written."""
    world = World(graph(annotations=record) if record else None)
    world.settle()
    [name] = world.workers
    annotations = world.graph["metadata"]["annotations"]
    assert annotations["nvidia.com/current-worker-hash-v2"] == name.rsplit("-", 1)[1]
    assert annotations.get("nvidia.com/current-worker-hash") == record.get("nvidia.com/current-worker-hash")
    assert "rollingUpdate" not in world.status


def test_the_graph_is_observed_by_value() -> None:
    """Planning changes nothing that it was given."""
    world = World()
    world.settle()
    world.image("reg/sglang-runtime:1.6.2")
    observed: Observed = world.observe()
    before = copy.deepcopy(observed)
    reconcile(observed, world.options, world.now)
    assert observed == before
