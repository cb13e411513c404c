"""The pods of one replica: one, or a leader and workers on nodes of their own, and how they find each other.

The names in `$(…)` are variables that LeaderWorkerSet and Grove put into every container; the kubelet fills them in
where they stand in `command` and `args`. A Grove worker's rank has to be computed, which takes a shell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

Provider = Literal["component", "grove"]
RoleName = Literal["main", "leader", "worker"]

_LWS_LEADER = "LWS_LEADER_ADDRESS"


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of pod of a replica that spans `nodes` nodes.

    `rank` is the pod's node rank as an argument, `rank_expression` the same as shell arithmetic; `rank_needs_shell`
    says that only a shell can compute it. `leader` is the leader's host as an argument. `worker_host` is a
    worker's as a word of a shell script, with `{}` for its number, which counts from `first_worker` on;
    `hosts_need_dns` says that the hosts may not resolve at first.
    """

    name: RoleName = "main"
    nodes: int = 1
    rank: str = "0"
    rank_expression: str = "0"
    rank_needs_shell: bool = False
    leader: str = ""
    worker_host: str = ""
    first_worker: int = 0
    hosts_need_dns: bool = False

    @property
    def is_worker(self) -> bool:
        """Whether another pod leads it."""
        return self.name == "worker"

    @property
    def pods(self) -> int:
        """Pods of this role in a replica."""
        return self.nodes - 1 if self.is_worker else 1

    def worker_hosts(self) -> Iterator[str]:
        """The workers' hosts in rank order, one by one: a graph may ask for more nodes than there are."""
        for index in range(self.first_worker, self.first_worker + self.nodes - 1):
            yield self.worker_host.replace("{}", str(index))

    def label(self, container: str) -> str:
        """How provenance calls a container: `main`, and `worker/main` where there are several roles."""
        return container if self.name == "main" else f"{self.name}/{container}"


MAIN_ROLE = Role()


def roles(provider: Provider, component: str, nodes: int) -> tuple[Role, ...]:
    """The roles of a component; leader before worker. One node has one role, `main`.

    LeaderWorkerSet calls its workers by the leader's address with `-<index>` before its first dot.
    """
    if nodes < 2:  # noqa: PLR2004 (two nodes are the first that have a leader)
        return (MAIN_ROLE,)
    if provider == "grove":
        return _grove(component.lower(), nodes)
    leader = Role(
        name="leader",
        nodes=nodes,
        leader=f"$({_LWS_LEADER})",
        worker_host=f"${{{_LWS_LEADER}%%.*}}-{{}}.${{{_LWS_LEADER}#*.}}",
        first_worker=1,
        hosts_need_dns=True,
    )
    rank = "LWS_WORKER_INDEX"
    return leader, msgspec.structs.replace(leader, name="worker", rank=f"$({rank})", rank_expression=rank)


def _grove(component: str, nodes: int) -> tuple[Role, ...]:
    """Grove's own names: set, replica of the set, clique, pod; the set's headless Service is the domain."""

    def host(clique: str, index: str) -> str:
        return f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-{component}-{clique}-{index}.$(GROVE_HEADLESS_SERVICE)"

    leader = Role(
        name="leader",
        nodes=nodes,
        leader=host("ldr", "0"),
        worker_host=host("wkr", "{}"),
    )
    # The worker clique counts from 0, and the leader has rank 0.
    rank = "GROVE_PCLQ_POD_INDEX + 1"
    worker = msgspec.structs.replace(
        leader, name="worker", rank=f"$(({rank}))", rank_expression=f"({rank})", rank_needs_shell=True
    )
    return leader, worker
