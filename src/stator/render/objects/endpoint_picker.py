"""What an endpoint picker needs beside its Deployment: the pool it picks from, and the older one's configuration.

The pool follows the Gateway API inference extension (`inference.networking.k8s.io/v1`): a gateway that routes to the
pool asks the picker, which names one of the pods the pool selects. Those are the graph's workers, whose frontend
sidecars answer on the pool's port.
"""

from __future__ import annotations

from typing import Any

import yaml

from stator.render import names
from stator.render.context import Context, copied

Json = dict[str, Any]

_POOL_PORT = 8000
_PICKER_PORT = 9002


def endpoint_picker_objects(context: Context) -> tuple[Json, ...]:
    """The configuration's ConfigMap, if the graph holds it, and the pool; nothing for other types.

    A picker of its own (DynamoComponentDeployment) belongs to a graph that has them.
    """
    if context.type != "epp" or context.graph.kind != "DynamoGraphDeployment":
        return ()
    config = (context.component.other.get("eppConfig") or {}).get("config")
    if config is None:
        return (_pool(context),)
    return _config_map(context, config), _pool(context)


def _config_map(context: Context, config: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(context, names.picker_config_name(context.parent)),
        "data": {names.PICKER_CONFIG_KEY: yaml.safe_dump(copied(config), sort_keys=True, allow_unicode=True)},
    }


def _pool(context: Context) -> Json:
    return {
        "apiVersion": f"{names.POOL_GROUP}/v1",
        "kind": "InferencePool",
        "metadata": _metadata(context, names.pool_name(context.parent)),
        "spec": {
            "selector": {
                "matchLabels": {
                    names.COMPONENT_CLASS: "worker",
                    names.DYNAMO_NAMESPACE: context.dynamo_namespace,
                }
            },
            "targetPorts": [{"number": _POOL_PORT}],
            "endpointPickerRef": {
                "name": names.service_name(context.workload),
                "port": {"number": _PICKER_PORT},
            },
        },
    }


def _metadata(context: Context, name: str) -> Json:
    return {"name": name, "namespace": context.graph.namespace, "labels": {names.GRAPH_NAME: context.parent}}
