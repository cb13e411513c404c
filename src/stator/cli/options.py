"""Options that several commands share, and the parsing of their values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from stator.errors import InvalidInputError, Problem
from stator.render import RenderOptions
from stator.versions import InvalidVersionError, Version

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

sources = click.argument("sources", nargs=-1, required=True, metavar="SOURCES...")
sources_or_cluster = click.argument("sources", nargs=-1, metavar="[SOURCES...]")
namespace = click.option("-n", "--namespace", metavar="NAMESPACE", help="Namespace for objects that name none.")
operator = click.option(
    "--operator",
    metavar="VERSION",
    default=str(RenderOptions().operator),
    show_default=True,
    help="Operator release whose injection is rendered.",
)
no_repairs = click.option("--no-repairs", is_flag=True, help="Render as an operator without repairs would.")

provider = click.option(
    "--provider",
    type=click.Choice(["component", "grove"]),
    default="component",
    show_default=True,
    help="What runs the pods: Deployments and LeaderWorkerSets, or Grove.",
)
from_operator = click.option(
    "--from-operator", metavar="VERSION", help="Operator release before the upgrade; the same as --operator if absent."
)
settings = click.option(
    "--set", "settings", multiple=True, metavar="COMPONENT=VERSION", help="Put a component, or a type, at a release."
)
pull_secrets = click.option(
    "--pull-secret",
    "pull_secrets",
    multiple=True,
    metavar="NAME",
    help="Give this Secret of a graph's namespace to pods with an image from a registry it is for.",
)
text_or_json = click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)


def cluster(command: Decorated) -> Decorated:
    """The options of a command that may ask a cluster, and the demand for one or for sources."""
    for option in (
        click.option("--context", metavar="NAME", help="With --cluster: the context of the kubeconfig."),
        click.option(
            "--kubeconfig", type=click.Path(path_type=Path), help="With --cluster: the kubeconfig, else $KUBECONFIG."
        ),
        click.option("--cluster", is_flag=True, callback=_sources_or_cluster, help="Ask the configured cluster too."),
    ):
        command = option(command)
    return command


def _sources_or_cluster(context: click.Context, parameter: click.Parameter, value: bool) -> bool:  # noqa: FBT001 - click's
    del parameter
    if not value and not context.params.get("sources"):
        raise click.UsageError("name files or directories, or ask the cluster with --cluster")
    return value


def parse_operator(text: str) -> Version:
    """Parse `--operator`: `1.6.1`, or `1.6` for the first patch of a minor.

    Raises InvalidInputError for anything else.
    """
    return parse_release("--operator", text)


def parse_release(option: str, text: str) -> Version:
    """Parse the value of an option that takes a release; raises InvalidInputError naming the option."""
    full = f"{text}.0" if text.count(".") == 1 else text
    try:
        return Version.parse(full)
    except InvalidVersionError as error:
        raise InvalidInputError(
            Problem(what=f"{option} {text!r} is no release", remedy="give X.Y.Z or X.Y, like 1.6.1")
        ) from error


def parse_settings(settings: tuple[str, ...]) -> dict[str, Version]:
    """Parse `--set COMPONENT=VERSION` options; raises InvalidInputError naming every one that is wrong."""
    parsed: dict[str, Version] = {}
    problems = []
    for setting in settings:
        component, _, text = setting.partition("=")
        try:
            parsed[component] = Version.parse(text)
        except InvalidVersionError as error:
            problems.append(
                Problem(
                    what=f"--set {setting!r} is not COMPONENT=X.Y.Z",
                    why=error.problems[0].what,
                    remedy="write it as --set worker=1.6.1",
                )
            )
    if problems:
        raise InvalidInputError(*problems)
    return parsed
