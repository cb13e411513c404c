"""`stator check`: what the graphs in files will run into, as they are or at another release."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click

from stator.check import CheckOptions, Reading, read
from stator.check import check as run_check
from stator.check.definitions import platform as in_files
from stator.check.formats import FORMATS, write
from stator.check.ignores import of_file, of_options
from stator.check.report import FailOn
from stator.cli import options
from stator.compat import Platform
from stator.configuration import find
from stator.errors import ExitCode, InvalidInputError, Problem
from stator.render import RenderOptions


@click.command()
@options.sources_or_cluster
@options.cluster
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
@click.option("--crd", "definitions", multiple=True, metavar="PATH", help="Installed definitions: a file or directory.")
@click.option("--values", metavar="FILE", help="The values the platform's chart is installed with.")
@click.option(
    "--fail-on",
    type=click.Choice(get_args(FailOn)),
    default="error",
    show_default=True,
    help="The lowest severity that makes the exit code 1.",
)
@click.option("--diff", "preview", is_flag=True, help="Show what --fix would write, as a patch, and write nothing.")
@click.option("--fix", "fixing", is_flag=True, help="Write the safe fixes into the files, then report what is left.")
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="With --fix or --diff: also those that change what runs.")
@click.option("-o", "--output", type=click.Choice(FORMATS), default="text", show_default=True)
def check(  # noqa: PLR0913 - one parameter per option, by name
    *,
    sources: tuple[str, ...],
    cluster: bool,
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    operator: str,
    no_repairs: bool,
    settings: tuple[str, ...],
    before: str | None,
    after: str | None,
    ignored: tuple[str, ...],
    config: Path | None,
    definitions: tuple[str, ...],
    values: str | None,
    fail_on: FailOn,
    preview: bool,
    fixing: bool,
    unsafe: bool,
    output: str,
) -> int:
    """Check the graphs in SOURCES against the rules.

    SOURCES are files, directories, or - for standard input. With --cluster the graphs of the configured cluster are
    checked, with SOURCES as if they were applied to it; it is only read. What cannot be checked (a file that
    cannot be read, a version that cannot be told) is reported and counted, and makes the exit code 3 unless there are
    findings. With --diff the exit code is 1 if there is anything to fix.
    """
    if before and not after:
        raise InvalidInputError(Problem(what="--from needs --to", remedy="name the release to go to"))
    if preview or fixing:
        _refuse_fixing(sources, preview=preview, elsewhere=bool(settings or after))
    by_option = of_options(ignored)
    by_file = of_file(find(config, sources))
    reading = read(sources, namespace=namespace)
    platform = in_files(definitions, values)
    if cluster:
        from stator.check.cluster import read_live  # noqa: PLC0415 - a check of files need not import a client

        live = read_live(reading, namespace=namespace, kubeconfig=kubeconfig, context=context)
        reading = reading.beside(live.inventory, live.absent)
        platform = _joined(platform, live.platform)
    chosen = CheckOptions(
        render=RenderOptions(operator=options.parse_operator(operator), repairs=not no_repairs),
        settings=options.parse_settings(settings),
        before=options.parse_release("--from", before) if before else None,
        after=options.parse_release("--to", after) if after else None,
        platform=platform,
        ignores=(*by_option, *by_file),
    )
    if preview or fixing:
        return _fix(reading, chosen, fail_on, output, preview=preview, unsafe=unsafe)
    report = run_check(reading, chosen)
    click.echo(write(output, report, fail_on), nl=False)
    return int(report.exit_code(fail_on))


def _joined(given: Platform, live: Platform) -> Platform:
    """What files say, where they say something, and else what the cluster says."""
    return Platform(
        definitions={**live.definitions, **given.definitions},
        kinds=live.kinds | given.kinds,
        values=given.values,
        kubernetes=live.kubernetes,
    )


def _refuse_fixing(sources: Sequence[str], *, preview: bool, elsewhere: bool) -> None:
    """Raise InvalidInputError where there is no file to fix, or a file that is not what is checked."""
    if elsewhere:
        remedy = "move the components in the files first, then fix them"
        what = "--fix and --diff are about the files as they are, not about another release"
        raise InvalidInputError(Problem(what=what, remedy=remedy))
    if "-" in sources and not preview:
        remedy = "name files, or use --diff and apply the patch"
        raise InvalidInputError(Problem(what="--fix cannot write to standard input", remedy=remedy))


def _fix(reading: Reading, chosen: CheckOptions, fail_on: FailOn, output: str, *, preview: bool, unsafe: bool) -> int:
    """Fix, or show as a patch what fixing would write. What was fixed and what was not goes to standard error."""
    from stator.check import fixes  # noqa: PLC0415 - a check that fixes nothing need not import it

    done = fixes.fix(reading, lambda each: run_check(each, chosen), unsafe=unsafe)
    if preview:
        for name, content in done.files.items():
            click.echo(fixes.difference(name, reading.text(name) or b"", content), nl=False)
    else:
        fixes.write(done.files)
        click.echo(write(output, done.report, fail_on), nl=False)
    for fixed in done.fixed:
        click.echo(f"{fixed.finding.location}: {'would fix' if preview else 'fixed'} {fixed.finding.rule}", err=True)
    for left in done.unfixed:
        click.echo(f"{left.finding.location}: not fixed: {left.finding.rule}, because {left.why}", err=True)
    if preview:
        return int(ExitCode.FINDINGS if done.files else ExitCode.OK)
    return int(done.report.exit_code(fail_on))
