"""How an operator process runs: which cluster and namespaces, who leads, what it serves, how many passes at once."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from stator.operator.log import Format, Level
from stator.operator.names import LEASE
from stator.operator.options import OperatorOptions

# A slow look at every object although nothing was seen to change: what a lost event hid is found then.
RESYNC_SECONDS = 600.0


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `stator operator run`.

    `kubeconfig` None takes $KUBECONFIG, the account of the pod, or `~/.kube/config`; `namespace` `""` is the whole
    cluster. `own_namespace` holds the Lease and the webhooks' certificates, `""` for the pod's own. A port of 0 serves
    nothing. `webhook_hosts` are the names under which the API server calls, empty for the Service of an installation;
    `reject` holds rule ids and severities of findings that admission refuses. `pull_secrets` are the names of the
    Secrets that are given to pods with an image from a registry that they are for. `scheduler` is who schedules
    Grove's pods; `auto` is the one that the cluster has besides Kubernetes' own. Times are in seconds.
    """

    options: OperatorOptions = OperatorOptions()
    kubeconfig: Path | None = None
    namespace: str = ""
    leader_elect: bool = True
    lease_name: str = LEASE
    own_namespace: str = ""
    metrics_host: str = "0.0.0.0"  # noqa: S104 (a kubelet and Prometheus come from other machines)
    metrics_port: int = 8080
    webhook_host: str = "0.0.0.0"  # noqa: S104 (the API server's too)
    webhook_port: int = 0
    webhook_hosts: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    pull_secrets: tuple[str, ...] = ()
    scheduler: Literal["auto", "none", "kai", "volcano"] = "auto"
    workers: int = 4
    resync: float = RESYNC_SECONDS
    log_format: Format = "json"
    log_level: Level = "info"
