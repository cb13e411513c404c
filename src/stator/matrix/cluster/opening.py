"""From a kubeconfig to a place where cells can run: connected, looked at, and rid of what an earlier run left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from stator.errors import InvalidInputError, Problem
from stator.kube.resources import NAMESPACE, Kinds
from stator.local.preparation import Preparation
from stator.matrix.campaign import Wanted
from stator.matrix.cluster import objects
from stator.matrix.cluster.connection import connected
from stator.matrix.cluster.isolation import GONE_WITHIN, remove_leftovers
from stator.matrix.cluster.place import InCluster
from stator.matrix.cluster.preflight import inspect
from stator.matrix.results import ClusterFacts, MatrixRun

_KINDS = Kinds()
_SYSTEM = "kube-system"


@contextmanager
def in_cluster(
    run: MatrixRun,
    wanted: Wanted,
    how: Preparation,
    where: tuple[Path | None, str | None],
    *,
    timeout: float,
    progress: Callable[[str], None],
) -> Iterator[tuple[MatrixRun, InCluster]]:
    """The run as one of this cluster, and the place its cells run in. `where` are kubeconfig and context, None: theirs.

    Raises ConfigurationError, ApiError, UnfitClusterError, LeftNamespaceError before any cell, and InvalidInputError
    if results so far are of another cluster.
    """
    with connected(*where) as connection:
        applied = [_KINDS.of(value) for scenario in wanted.scenarios for value in objects.beside(scenario, "any")]
        kubernetes = connection.run(inspect(connection.client, ((kind.group, kind.plural) for kind in applied)))
        system = connection.run(connection.client.get(NAMESPACE, _SYSTEM))
        facts = ClusterFacts(kubernetes=kubernetes, context=connection.context, uid=system["metadata"]["uid"])
        _refuse_another(run.cluster, facts)
        place = InCluster(connection, how.render, how.state.path, timeout=timeout)
        for scenario in wanted.scenarios:
            for file in objects.left_out(scenario):
                progress(f"not applied: a document of {file} that is not of {scenario.graph.ref}'s namespace")
        for name in connection.run(
            remove_leftovers(connection.client, objects.holder(how.state.path), within=GONE_WITHIN)
        ):
            progress(f"removed namespace {name}, which an earlier run had left")
        yield msgspec.structs.replace(run, cluster=facts), place


def _refuse_another(earlier: ClusterFacts | None, facts: ClusterFacts) -> None:
    """Results of two clusters, or of two releases of one, are not mixed."""
    if earlier is None or (earlier.uid, earlier.kubernetes) == (facts.uid, facts.kubernetes):
        return
    same = earlier.uid == facts.uid
    raise InvalidInputError(
        Problem(
            what=f"the results so far are of {'this cluster at another release' if same else 'another cluster'}",
            why=f"they came from {earlier}; this is {facts}",
            remedy="name the cluster's context with --context, or run without --resume",
        )
    )
