"""The pods of one replica: one, or a leader and workers on nodes of their own, and how they find each other.

The names in `$(…)` are variables that LeaderWorkerSet and Grove put into every container; the kubelet fills them in
where they stand in `command` and `args`. A Grove worker's rank has to be computed, which takes a shell.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Provider = Literal["component", "grove"]
RoleName = Literal["main", "leader", "worker"]

_LWS_LEADER = "LWS_LEADER_ADDRESS"


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of pod of a replica that spans `nodes` nodes.

    `rank` is the pod's node rank as an argument, `rank_expression` the same as shell arithmetic; `rank_needs_shell`
    says that only a shell can compute it. `leader` is the leader's host as an argument. `worker_hosts` are the
    workers', in rank order, as words of a shell script; `hosts_need_dns` says that they may not resolve at first.
    """

    name: RoleName = "main"
    nodes: int = 1
    rank: str = "0"
    rank_expression: str = "0"
    rank_needs_shell: bool = False
    leader: str = ""
    worker_hosts: tuple[str, ...] = ()
    hosts_need_dns: bool = False

    @property
    def is_worker(self) -> bool:
        """Whether another pod leads it."""
        return self.name == "worker"

    @property
    def pods(self) -> int:
        """Pods of this role in a replica."""
        return self.nodes - 1 if self.is_worker else 1

    def label(self, container: str) -> str:
        """How provenance calls a container: `main`, and `worker/main` where there are several roles."""
        return container if self.name == "main" else f"{self.name}/{container}"


MAIN_ROLE = Role()


def roles(provider: Provider, component: str, nodes: int) -> tuple[Role, ...]:
    """The roles of a component; leader before worker. One node has one role, `main`."""
    if nodes < 2:  # noqa: PLR2004 (two nodes are the first that have a leader)
        return (MAIN_ROLE,)
    if provider == "grove":
        return _grove(component.lower(), nodes)
    leader = Role(
        name="leader",
        nodes=nodes,
        leader=f"$({_LWS_LEADER})",
        worker_hosts=tuple(_lws_worker(index) for index in range(1, nodes)),
        hosts_need_dns=True,
    )
    rank = "LWS_WORKER_INDEX"
    return leader, msgspec.structs.replace(leader, name="worker", rank=f"$({rank})", rank_expression=rank)


def _grove(component: str, nodes: int) -> tuple[Role, ...]:
    """Grove's own names: set, replica of the set, clique, pod; the set's headless Service is the domain."""

    def host(clique: str, index: int) -> str:
        return f"$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-{component}-{clique}-{index}.$(GROVE_HEADLESS_SERVICE)"

    leader = Role(
        name="leader",
        nodes=nodes,
        leader=host("ldr", 0),
        worker_hosts=tuple(host("wkr", index) for index in range(nodes - 1)),
    )
    # The worker clique counts from 0, and the leader has rank 0.
    rank = "GROVE_PCLQ_POD_INDEX + 1"
    worker = msgspec.structs.replace(
        leader, name="worker", rank=f"$(({rank}))", rank_expression=f"({rank})", rank_needs_shell=True
    )
    return leader, worker


def _lws_worker(index: int) -> str:
    """The leader's address with `-<index>` before its first dot, which is what LeaderWorkerSet calls its workers."""
    return f"${{{_LWS_LEADER}%%.*}}-{index}.${{{_LWS_LEADER}#*.}}"
