"""What the operator writes on the graph itself: three annotations, each of which outlives the operator that wrote it.

    nvidia.com/workload-provider                  who runs the pods
    nvidia.com/dynamo-operator-origin-version     the operator release that made the graph; never changed
    nvidia.com/current-worker-hash-v2             the worker generation that serves

They are applied as a document that has nothing else, with the graph's uid: a graph that was deleted meanwhile is not
made anew by it.
"""

from __future__ import annotations

from stator.operator.graphs.observed import Json, Observed
from stator.operator.options import OperatorOptions
from stator.render import names
from stator.render.provider import RECORDED

WORKER_HASH = "nvidia.com/current-worker-hash-v2"
# Written by operators of another layout of the hash; read, never written.
LEGACY_WORKER_HASH = "nvidia.com/current-worker-hash"
GENERATIONS = frozenset({WORKER_HASH, LEGACY_WORKER_HASH})


def generation_on_record(observed: Observed) -> str:
    """The worker generation that is on record, `""` if none is."""
    return observed.annotations.get(WORKER_HASH) or observed.annotations.get(LEGACY_WORKER_HASH, "")


def annotated(observed: Observed, options: OperatorOptions, *, provider: str, generation: str) -> Json:
    """The graph's own document to apply. `generation` is `""` for a graph that has none yet."""
    wanted = {
        RECORDED: observed.annotations.get(RECORDED, provider),
        names.ORIGIN_VERSION: observed.annotations.get(names.ORIGIN_VERSION, str(options.render.operator)),
        WORKER_HASH: generation or observed.annotations.get(WORKER_HASH, ""),
    }
    metadata = observed.graph["metadata"]
    return {
        "apiVersion": observed.graph["apiVersion"],
        "kind": observed.graph["kind"],
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "annotations": {key: value for key, value in wanted.items() if value},
        },
    }
