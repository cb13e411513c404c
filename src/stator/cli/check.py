"""`stator check`: what the graphs in files will run into, as they are or at another release."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from stator.check import CheckOptions, read
from stator.check import check as run_check
from stator.check.formats import FORMATS, write
from stator.check.ignores import of_file, of_options
from stator.check.report import FailOn
from stator.cli import options
from stator.configuration import find
from stator.errors import InvalidInputError, Problem
from stator.render import RenderOptions


@click.command()
@options.sources
@options.namespace
@options.operator
@options.no_repairs
@click.option(
    "--set", "settings", multiple=True, metavar="COMPONENT=VERSION", help="Check a component at this release."
)
@click.option("--from", "before", metavar="VERSION", help="With --to: the release the graphs come from.")
@click.option("--to", "after", metavar="VERSION", help="Check the graphs at this release, and the way there.")
@click.option("--ignore", "ignored", multiple=True, metavar="ID=REASON", help="Leave a rule's findings out.")
@click.option("--config", type=click.Path(path_type=Path), help="stator.toml to use, else the one beside SOURCES.")
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="The lowest severity that makes the exit code 1.",
)
@click.option("-o", "--output", type=click.Choice(FORMATS), default="text", show_default=True)
def check(  # noqa: PLR0913 - one parameter per option, by name
    *,
    sources: tuple[str, ...],
    namespace: str | None,
    operator: str,
    no_repairs: bool,
    settings: tuple[str, ...],
    before: str | None,
    after: str | None,
    ignored: tuple[str, ...],
    config: Path | None,
    fail_on: FailOn,
    output: str,
) -> int:
    """Check the graphs in SOURCES against the rules.

    SOURCES are files, directories, or - for standard input. Nothing is changed and no cluster is asked. What cannot be
    checked (a file that cannot be read, a version that cannot be told) is reported and counted, and makes the exit code
    3 unless there are findings.
    """
    if before and not after:
        raise InvalidInputError(Problem(what="--from needs --to", remedy="name the release to go to"))
    by_option = of_options(ignored)
    by_file = of_file(find(config, sources))
    reading = read(sources, namespace=namespace)
    report = run_check(
        reading,
        CheckOptions(
            render=RenderOptions(operator=options.parse_operator(operator), repairs=not no_repairs),
            settings=options.parse_settings(settings),
            before=options.parse_release("--from", before) if before else None,
            after=options.parse_release("--to", after) if after else None,
            ignores=(*by_option, *by_file),
        ),
    )
    click.echo(write(output, report, fail_on), nl=False)
    return int(report.exit_code(fail_on))
