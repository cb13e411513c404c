"""`stator operator run`: keep the graphs of a cluster, from a pod or from a laptop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from stator.cli import options
from stator.operator.log import configure
from stator.operator.options import OperatorOptions
from stator.operator.run import run as run_operator
from stator.operator.settings import RESYNC_SECONDS, Settings
from stator.render import RenderOptions

# Variables that every pod of a graph gets, by the option that gives their value (rendering: infrastructure layer).
_INFRASTRUCTURE = {
    "nats_server": "NATS_SERVER",
    "etcd_endpoints": "ETCD_ENDPOINTS",
    "model_express_url": "MODEL_EXPRESS_URL",
    "prometheus_endpoint": "PROMETHEUS_ENDPOINT",
}


@click.group()
def operator() -> None:
    """Run the Kubernetes operator."""


@operator.command(context_settings={"auto_envvar_prefix": "STATOR_OPERATOR", "show_default": True})
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="Else $KUBECONFIG, the pod's account, ~/.kube/config."
)
@click.option("--namespace", default="", metavar="NAMESPACE", help="Keep the graphs of this namespace only.")
@click.option("--leader-elect/--no-leader-elect", default=True, help="Work only while holding the Lease.")
@click.option("--lease-name", default="stator-operator", metavar="NAME", help="Name of the Lease.")
@click.option("--lease-namespace", default="", metavar="NAMESPACE", help="Namespace of the Lease, else the pod's own.")
@click.option("--metrics-host", default="0.0.0.0", metavar="ADDRESS", help="Address of /metrics, /healthz and /readyz.")  # noqa: S104 (a kubelet and Prometheus come from other machines)
@click.option("--metrics-port", type=click.IntRange(0, 65535), default=8080, help="Their port; 0 serves none.")
@click.option("--workers", type=click.IntRange(1, 64), default=4, help="Passes at once, per kind.")
@click.option(
    "--resync",
    type=click.FloatRange(min=1),
    default=RESYNC_SECONDS,
    metavar="SECONDS",
    help="Look at everything this often.",
)
@click.option("--log-format", type=click.Choice(["json", "text"]), default="json")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info")
@click.option("--discovery-backend", default="kubernetes", metavar="BACKEND", help="kubernetes or etcd.")
@click.option("--nats-server", default="", metavar="URL", help="NATS_SERVER of the pods.")
@click.option("--etcd-endpoints", default="", metavar="URLS", help="ETCD_ENDPOINTS of the pods.")
@click.option("--model-express-url", default="", metavar="URL", help="MODEL_EXPRESS_URL of the pods.")
@click.option("--prometheus-endpoint", default="", metavar="URL", help="PROMETHEUS_ENDPOINT of the pods.")
@click.option("--planner-cluster-role", default="", metavar="NAME", help="ClusterRole of planners' accounts.")
@click.option("--epp-cluster-role", default="", metavar="NAME", help="ClusterRole of endpoint pickers' accounts.")
@click.option(
    "--mpi-secret", default=RenderOptions().mpi_secret, metavar="NAME", help="Secret of multi-node TensorRT-LLM."
)
@options.no_repairs
def run(
    *,
    discovery_backend: str,
    planner_cluster_role: str,
    epp_cluster_role: str,
    mpi_secret: str,
    no_repairs: bool,
    **values: Any,
) -> None:
    """Keep graphs as their objects say, until SIGTERM or Ctrl-C.

    Every option has a variable too: STATOR_OPERATOR_METRICS_PORT and so on.
    """
    given = {variable: values.pop(option) for option, variable in _INFRASTRUCTURE.items()}
    render = RenderOptions(
        discovery_backend=discovery_backend,
        repairs=not no_repairs,
        infrastructure_env=tuple({"name": name, "value": value} for name, value in given.items() if value),
        planner_cluster_role=planner_cluster_role,
        epp_cluster_role=epp_cluster_role,
        mpi_secret=mpi_secret,
    )
    # What is left are the settings, by their own names.
    settings = Settings(options=OperatorOptions(render=render), **values)
    configure(settings.log_format, settings.log_level)
    asyncio.run(run_operator(settings))
