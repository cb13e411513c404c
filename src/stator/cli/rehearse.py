"""`stator rehearse`: a rolling upgrade under traffic, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from stator.cli import options
from stator.cli.interrupts import as_interrupt
from stator.cli.report import required_graphs
from stator.errors import ExitCode, InvalidInputError, Problem
from stator.local.config import load_config
from stator.local.preparation import Preparation
from stator.local.runtimes import default_cache
from stator.local.state import StateDirectory
from stator.matrix.campaign import sole_run
from stator.matrix.rehearsal.moves import plan_moves
from stator.matrix.rehearsal.perform import Tempo
from stator.matrix.rehearsal.perform import rehearse as perform
from stator.matrix.rehearsal.report import Budget, to_markdown, to_text
from stator.matrix.rehearsal.traffic import Pacing
from stator.matrix.scenarios import read_scenarios
from stator.model.load import load
from stator.render import RenderOptions
from stator.versions import with_versions


@click.command()
@options.sources
@options.namespace
@options.operator
@options.no_repairs
@options.settings
@click.option("--start", "start", multiple=True, metavar="COMPONENT=VERSION", help="Begin with a part at this release.")
@click.option(
    "--order",
    type=click.Choice(["worker-first", "frontend-first"]),
    default="worker-first",
    show_default=True,
    help="Which of the two is upgraded first.",
)
@click.option("--back", is_flag=True, help="And the way back, in reverse.")
@click.option("--clients", type=click.IntRange(min=1), default=4, show_default=True, help="Clients at once.")
@click.option("--rate", type=click.FloatRange(min=0.1), default=10, show_default=True, help="Requests a second.")
@click.option(
    "--hold", type=click.FloatRange(min=0.1), default=5, show_default=True, help="Seconds that old and new both serve."
)
@click.option("--timeout", type=click.FloatRange(min=1), default=300, show_default=True, help="Seconds until Ready.")
@click.option("--max-failed", type=click.IntRange(min=0), default=0, show_default=True, help="Requests that may fail.")
@click.option("--slow", type=click.FloatRange(min=0), default=2, show_default=True, help="Seconds that count as slow.")
@click.option("--max-slow", type=click.IntRange(min=0), help="Requests that may be slow. [default: any number]")
@click.option("--engine", type=click.Choice(["mocker"]), help="Put the mocker in the place of GPU engines.")
@click.option("--config", type=click.Path(path_type=Path), help="stator.toml to use, else the one beside SOURCES.")
@click.option("-o", "--output", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("--offline", is_flag=True, help="Use only what was downloaded before.")
def rehearse(**given: Any) -> int:
    """Upgrade the graph in SOURCES pod by pod while clients use it, and count what fails.

    Old and new serve at once, as in a rolling update with one pod of surge and none unavailable. Exit code 1 if more
    requests fail, or are slow, than may, or a new pod does not become Ready.
    """
    state = StateDirectory(StateDirectory.default().path / "rehearsal")
    how = Preparation(
        render=RenderOptions(operator=options.parse_operator(given["operator"]), repairs=not given["no_repairs"]),
        config=load_config(given["config"], given["sources"]),
        state=state,
        cache=default_cache(),
        mocker=given["engine"] == "mocker",
        offline=given["offline"],
    )
    inventory = load(given["sources"], namespace=given["namespace"])
    required_graphs(inventory, given["sources"])
    scenarios = read_scenarios(inventory, how.render)
    if len(scenarios) != 1:
        names = ", ".join(scenario.name for scenario in scenarios)
        raise InvalidInputError(Problem(what="one graph is rehearsed at a time", why=f"there are {names}"))
    scenario = scenarios[0]
    graph = with_versions(scenario.graph, options.parse_settings(given["start"]))
    moves = plan_moves(graph, options.parse_settings(given["settings"]), given["order"], back=given["back"])
    with sole_run(state, "rehearsal"), as_interrupt():
        try:
            rehearsal = perform(
                scenario,
                moves,
                how,
                order=given["order"],
                pacing=Pacing(clients=given["clients"], rate=given["rate"]),
                tempo=Tempo(hold=given["hold"], timeout=given["timeout"]),
                budget=Budget(failed=given["max_failed"], slow=given["max_slow"], slow_after=given["slow"]),
                say=lambda line: click.echo(f"  {line}", err=True),
            )
        except KeyboardInterrupt:
            click.echo(f"interrupted; nothing runs any more, and there is no result (logs in {state.path})", err=True)
            raise
    if given["output"] == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(rehearsal), indent=2))
    else:
        click.echo((to_text if given["output"] == "text" else to_markdown)(rehearsal), nl=False)
    return ExitCode.FINDINGS if rehearsal.overspent else ExitCode.OK
