"""How an operator process runs: which cluster and namespaces, who leads, what it serves, how many passes at once."""

from __future__ import annotations

from pathlib import Path

import msgspec

from stator.operator.log import Format, Level
from stator.operator.options import OperatorOptions

# A slow look at every object although nothing was seen to change: what a lost event hid is found then.
RESYNC_SECONDS = 600.0


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `stator operator run`.

    `kubeconfig` None takes $KUBECONFIG, the account of the pod, or `~/.kube/config`; `namespace` `""` is the whole
    cluster. The Lease is in `lease_namespace`, `""` for the pod's own. `metrics_port` 0 serves nothing. Times are in
    seconds.
    """

    options: OperatorOptions = OperatorOptions()
    kubeconfig: Path | None = None
    namespace: str = ""
    leader_elect: bool = True
    lease_name: str = "stator-operator"
    lease_namespace: str = ""
    metrics_host: str = "0.0.0.0"  # noqa: S104 (a kubelet and Prometheus come from other machines)
    metrics_port: int = 8080
    workers: int = 4
    resync: float = RESYNC_SECONDS
    log_format: Format = "json"
    log_level: Level = "info"
