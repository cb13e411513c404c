"""A small kopf operator that does what `stator operator run` does for the graphs of `bench/onboard.py`.

The same engine renders the same objects: a component (DynamoComponentDeployment) per part of a graph, and for each of
those a Deployment and a Service, all owned; the graph's account, Role and binding; the annotations that a graph gets;
a status for components and graphs. Deployments are followed for their components' status, components for their graphs'.
It is what one writes with kopf by the book, with the official client, whose answers are not made into objects: that is
its quickest way. It does less than the operator: no rollouts, no repair of what somebody changed, no conflicts.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import kopf
import kubernetes

from stator.model import load_objects
from stator.operator.graphs.children import components_of, shared_objects
from stator.operator.serving import judged, serving
from stator.render import RenderOptions, render_graph

GROUP, VERSION = "nvidia.com", "v1beta1"
GRAPHS, COMPONENTS = "dynamographdeployments", "dynamocomponentdeployments"
NAMESPACE = "bench"
OPTIONS = RenderOptions(provider="component")

configuration = kubernetes.client.Configuration()
kubernetes.config.load_kube_config(os.environ["KUBECONFIG"], client_configuration=configuration)
configuration.connection_pool_maxsize = 32
api = kubernetes.client.ApiClient(configuration)
core = kubernetes.client.CoreV1Api(api)
apps = kubernetes.client.AppsV1Api(api)
rights = kubernetes.client.RbacAuthorizationV1Api(api)
custom = kubernetes.client.CustomObjectsApi(api)

CREATE = {
    "Deployment": apps.create_namespaced_deployment,
    "Service": core.create_namespaced_service,
    "ServiceAccount": core.create_namespaced_service_account,
    "Role": rights.create_namespaced_role,
    "RoleBinding": rights.create_namespaced_role_binding,
    "ConfigMap": core.create_namespaced_config_map,
}


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Workers enough to be held up by none; no events."""
    settings.execution.max_workers = 16
    settings.posting.enabled = False


@kopf.on.create(GROUP, VERSION, GRAPHS)
def graph(body: kopf.Body, meta: kopf.Meta, patch: kopf.Patch, **_: Any) -> None:
    """Make the components and what they share, and say so."""
    [loaded] = load_objects([dict(body)]).graphs
    manifest = render_graph(loaded, OPTIONS)
    for child in (*shared_objects(manifest), *components_of(loaded, manifest, {}).values()):
        create(child, body)
    patch.metadata.annotations["nvidia.com/workload-provider"] = "component"
    patch.metadata.annotations["nvidia.com/dynamo-operator-origin-version"] = str(OPTIONS.operator)
    patch.metadata.annotations["nvidia.com/current-worker-hash-v2"] = manifest.generation
    patch.status["observedGeneration"] = meta["generation"]
    patch.status["state"] = "pending"
    patch.status["conditions"] = [condition("Ready", meta["generation"], "some_resources_are_not_ready")]
    patch.status["components"] = {
        component.name: {
            "componentKind": rendered.workload["kind"],
            "componentNames": [rendered.workload["metadata"]["name"]],
            "replicas": 0,
            "updatedReplicas": 0,
            **serving(loaded, component, rendered, manifest.generation),
            **judged(rendered, rendered.findings, ()),
        }
        for component, rendered in zip(loaded.components, manifest.components, strict=True)
    }


@kopf.on.create(GROUP, VERSION, COMPONENTS)
def component(body: kopf.Body, meta: kopf.Meta, patch: kopf.Patch, **_: Any) -> None:
    """Make the Deployment and the Service, and say so."""
    [loaded] = load_objects([dict(body)]).graphs
    manifest = render_graph(loaded, OPTIONS)
    [rendered] = manifest.components
    for child in rendered.objects:
        create(child, body)
    patch.status["observedGeneration"] = meta["generation"]
    patch.status["conditions"] = [condition("Available", meta["generation"], "DeploymentNotReady")]
    patch.status["component"] = {
        "componentKind": rendered.workload["kind"],
        "componentNames": [rendered.workload["metadata"]["name"]],
        "replicas": 0,
        "updatedReplicas": 0,
        **serving(loaded, loaded.components[0], rendered, manifest.generation),
        **judged(rendered, rendered.findings, rendered.repairs),
    }


@kopf.on.event("apps", "v1", "deployments")
def deployment(body: kopf.Body, **_: Any) -> None:
    """Carry the counts of a Deployment to its component's status."""
    fields = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    counts = {field: body.status[field] for field in fields if body.status.get(field)}
    if counts:
        [owner] = body.metadata["ownerReferences"]
        put_status(COMPONENTS, owner["name"], {"component": counts})


@kopf.on.event(GROUP, VERSION, COMPONENTS)
def made(body: kopf.Body, **_: Any) -> None:
    """Carry the counts of a component to its graph's status."""
    counts = {
        key: value for key, value in body.status.get("component", {}).items() if key.endswith("eplicas") and value
    }
    if counts:
        [owner] = body.metadata["ownerReferences"]
        put_status(GRAPHS, owner["name"], {"components": {body.spec["name"]: counts}})


def condition(kind: str, generation: int, reason: str) -> dict[str, Any]:
    """A condition that is not met."""
    return {
        "type": kind,
        "status": "False",
        "reason": reason,
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }


def create(child: dict[str, Any], owner: kopf.Body) -> None:
    """Create an object that is the owner's; one that is there is left alone."""
    owned = {**child, "metadata": dict(child["metadata"])}
    kopf.append_owner_reference(owned, owner=owner)
    try:
        if owned["kind"] in CREATE:
            CREATE[owned["kind"]](NAMESPACE, owned, _preload_content=False)
        else:
            custom.create_namespaced_custom_object(GROUP, VERSION, NAMESPACE, COMPONENTS, owned, _preload_content=False)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise


def put_status(plural: str, name: str, status: dict[str, Any]) -> None:
    """Merge into a status."""
    custom.patch_namespaced_custom_object_status(
        GROUP, VERSION, NAMESPACE, plural, name, {"status": status}, _preload_content=False
    )
