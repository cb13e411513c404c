"""`stator install`: everything a cluster needs to run graphs, as objects to apply."""

from __future__ import annotations

from typing import Any

import click

from stator.cli import options
from stator.install.installation import Part, installation
from stator.install.settings import Settings, checked
from stator.render.output import to_json, to_yaml

_DEFAULTS = Settings()


@click.command()
@click.option("-n", "--namespace", default=_DEFAULTS.namespace, show_default=True, help="Namespace of the operator.")
@click.option("--image", default=_DEFAULTS.image, show_default=True, help="Image of the operator.")
@click.option("--replicas", type=int, default=_DEFAULTS.replicas, show_default=True, help="One of them leads.")
@click.option("--namespaced", is_flag=True, help="Run the graphs of the operator's own namespace only.")
@click.option("--no-webhooks", is_flag=True, help="Serve v1beta1 only, and check graphs after they are stored.")
@click.option(
    "--reject",
    multiple=True,
    metavar="RULE|SEVERITY",
    help="Refuse graphs with such findings, which are warnings otherwise.",
)
@options.pull_secrets
@click.option(
    "--part",
    type=click.Choice(["all", "definitions", "operator"]),
    default="all",
    show_default=True,
    help="Deleting the definitions deletes every graph; deleting the operator leaves graphs running.",
)
@click.option("-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def install(*, no_webhooks: bool, part: Part, output: str, **given: Any) -> None:
    """Print what an installation of the operator consists of, to be piped into kubectl apply -f -.

    Custom resource definitions, the namespace, the operator's rights and its Deployment, and the webhooks. Nothing is
    read from a cluster and nothing is changed. A namespaced installation has no webhooks, since those are the whole
    cluster's, no right outside its namespace but to read the definitions, and expects the namespace to exist.
    """
    # What is left are the settings, by their own names.
    settings = checked(Settings(webhooks=not no_webhooks, **given))
    objects = installation(settings, part)
    click.echo(to_yaml(objects) if output == "yaml" else to_json(objects), nl=False)
