"""`stator operator run`: keep the graphs of a cluster, from a pod or from a laptop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click

from stator.cli import options
from stator.install.crds import custom_resource_definitions
from stator.operator.log import configure
from stator.operator.names import LEASE
from stator.operator.options import OperatorOptions
from stator.operator.run import run as run_operator
from stator.operator.settings import Settings
from stator.render import RenderOptions

_DEFAULTS = Settings()
_RENDER = RenderOptions()
_SCHEDULER = "Who schedules Grove's pods; auto: the one that the cluster has besides Kubernetes' own."
_PORT = click.IntRange(0, 65535)
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
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Else the pod's, $KUBECONFIG, ~/.kube/config.")
@click.option("--namespace", default="", metavar="NAMESPACE", help="Keep the graphs of this namespace only.")
@click.option("--leader-elect/--no-leader-elect", default=True, help="Work only while holding the Lease.")
@click.option("--lease-name", default=LEASE, metavar="NAME", help="Name of the Lease.")
@click.option("--own-namespace", default="", metavar="NAMESPACE", help="Namespace of the Lease, else the pod's own.")
@click.option("--metrics-host", default=_DEFAULTS.metrics_host, metavar="ADDRESS", help="For metrics and probes.")
@click.option("--metrics-port", type=_PORT, default=_DEFAULTS.metrics_port, help="For metrics and probes; 0 for none.")
@click.option("--webhook-host", default=_DEFAULTS.webhook_host, metavar="ADDRESS", help="For the webhooks.")
@click.option("--webhook-port", type=_PORT, default=0, help="For the webhooks; 0 for none.")
@click.option("--webhook-hosts", multiple=True, metavar="HOST", help="Where they are called, if not at their Service.")
@click.option("--reject", multiple=True, metavar="RULE|SEVERITY", help="Findings that admission refuses.")
@click.option("--workers", type=click.IntRange(1, 64), default=_DEFAULTS.workers, help="Passes at once, per kind.")
@click.option("--resync", type=click.FloatRange(min=1), default=_DEFAULTS.resync, help="Seconds between full looks.")
@click.option("--log-format", type=click.Choice(["json", "text"]), default="json")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info")
@click.option("--discovery-backend", default="kubernetes", metavar="BACKEND", help="kubernetes or etcd.")
@click.option("--nats-server", default="", metavar="URL", help="NATS_SERVER of the pods.")
@click.option("--etcd-endpoints", default="", metavar="URLS", help="ETCD_ENDPOINTS of the pods.")
@click.option("--model-express-url", default="", metavar="URL", help="MODEL_EXPRESS_URL of the pods.")
@click.option("--prometheus-endpoint", default="", metavar="URL", help="PROMETHEUS_ENDPOINT of the pods.")
@click.option("--planner-cluster-role", default="", metavar="NAME", help="ClusterRole of planners' accounts.")
@click.option("--epp-cluster-role", default="", metavar="NAME", help="ClusterRole of endpoint pickers' accounts.")
@click.option("--mpi-secret", default=_RENDER.mpi_secret, metavar="NAME", help="Secret of multi-node TensorRT-LLM.")
@options.pull_secrets
@click.option("--scheduler", type=click.Choice(["auto", "none", "kai", "volcano"]), default="auto", help=_SCHEDULER)
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
    asyncio.run(run_operator(settings, custom_resource_definitions))
