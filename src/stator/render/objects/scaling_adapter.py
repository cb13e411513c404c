"""The DynamoGraphDeploymentScalingAdapter: the handle by which an autoscaler scales one component.

Its replicas are a seed. Once it is there they belong to whoever scales it, and the graph follows them: apply it only
where it is absent.
"""

from __future__ import annotations

from typing import Any

from stator.render import names
from stator.render.context import Context
from stator.render.workloads import replicas_of

Json = dict[str, Any]

KIND = "DynamoGraphDeploymentScalingAdapter"


def scaling_adapter(context: Context) -> tuple[Json, ...]:
    """The adapter, if the component has the marker; a component of its own has no graph to scale."""
    graph, component = context.graph, context.component
    if component.other.get("scalingAdapter") is None or graph.kind != "DynamoGraphDeployment":
        return ()
    return (
        {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": KIND,
            "metadata": {
                "name": f"{graph.name}-{component.name.lower()}",
                "namespace": graph.namespace,
                "labels": {names.COMPONENT: component.name, names.GRAPH_NAME: graph.name},
            },
            "spec": {
                "replicas": replicas_of(context),
                "dgdRef": {"name": graph.name, "componentName": component.name},
            },
        },
    )
