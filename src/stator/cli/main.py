"""The `stator` command: a group that imports a command only when it runs.

`stator --help` is typed far more often than any command, and most commands need parsers and schemas it does not.
So the group holds one line of help per command, and each command lives in a module of its own.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from stator import __version__
from stator.errors import ExitCode, StatorError

# name -> (module that defines a click command of the same name, - as _; one line for `stator --help`)
COMMANDS = {
    "render": ("stator.cli.render", "Render graphs into Kubernetes objects."),
    "check": ("stator.cli.check", "Check graphs for what an upgrade, or a mix of versions, runs into."),
    "explain": ("stator.cli.explain", "Explain a rule."),
    "rules": ("stator.cli.rules", "List the rules."),
    "diff": ("stator.cli.diff", "Say which pods an upgrade or an edit replaces, and why."),
    "plan": ("stator.cli.plan", "Order the steps of an upgrade, and check each of them."),
    "convert": ("stator.cli.convert", "Rewrite graphs in another API version, proven to render the same."),
    "explain-env": ("stator.cli.explain_env", "Say which source sets a variable, and what it shadows."),
    "up": ("stator.cli.up", "Run graphs on this machine, each part at its own version."),
    "status": ("stator.cli.status", "Show what runs here, at which versions, and why it is not Ready."),
    "logs": ("stator.cli.logs", "Print the logs of a component that runs here."),
    "operator": ("stator.cli.operator", "Run the Kubernetes operator."),
    "down": ("stator.cli.down", "Stop graphs that run here and leave nothing behind."),
    "matrix": ("stator.cli.matrix", "Run every pair of releases of frontend and worker, and check what they answer."),
    "rehearse": ("stator.cli.rehearse", "Upgrade a graph under traffic, and count what fails."),
    "runtime": ("stator.cli.runtime", "List, make and remove the environments that stand for images."),
    "install": ("stator.cli.install", "Print what a cluster needs to run graphs: definitions, rights, the operator."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names, in the order people need them."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        # Imported code and classes stay: looking for garbage among them took a tenth of a short command's time.
        gc.disable()
        command = getattr(import_module(COMMANDS[cmd_name][0]), cmd_name.replace("-", "_"))
        gc.freeze()
        gc.enable()
        assert isinstance(command, click.Command)  # noqa: S101 - the table above is ours
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command list without importing any command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="stator")
def cli() -> None:
    """Run LLM inference graphs whose parts are at different versions.

    Exit codes: 0 fine, 1 findings (or a graph that is not Ready), 2 usage or bad input, 3 undecided (also a
    cluster that does not answer, or lacks definitions or rights).
    """


def main() -> None:
    """Run the command line; every expected error ends as text on standard error and an exit code, never a traceback."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except StatorError as error:
        for problem in error.problems:
            click.echo(f"error: {problem}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader (`| head`) is gone; point stdout at nothing so that the interpreter's last flush is quiet too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)
    except OSError as error:
        # A full disk behind standard output, a file where a directory should be: a traceback would explain no more.
        where = f"{error.filename}: " if error.filename else ""
        click.echo(f"error: {where}{(error.strerror or str(error)).lower()}", err=True)
        sys.exit(ExitCode.USAGE)
    sys.exit(code if isinstance(code, int) else ExitCode.OK)
