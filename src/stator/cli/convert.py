"""`stator convert`: a manifest in the other API version, with the proof that no pod changes."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from stator.cli import options
from stator.errors import InvalidInputError, Position, Problem
from stator.model.sources import STDIN, Source, read_sources
from stator.upgrade.convert import Conversion, Target
from stator.upgrade.convert import convert as convert_file

_PROOFS = {
    "objects": "renders to the same objects",
    "model": "means the same field by field (it cannot be rendered yet, so no objects were compared)",
    "values": "converts back to the same values",
}


@click.command()
@click.argument("file")
@click.option("--to", type=click.Choice(["v1beta1", "v1alpha1"]), default="v1beta1", show_default=True)
@options.namespace
@click.option("--reversible", is_flag=True, help="Keep spelling too, so that the way back gives the same values.")
@click.option("--in-place", is_flag=True, help="Write FILE anew instead of printing.")
def convert(*, file: str, to: str, namespace: str | None, reversible: bool, in_place: bool) -> None:
    """Convert the graphs and scaling adapters in FILE (or - for standard input) to another API version.

    Comments, order and spelling stay where they can. The result is loaded and rendered again: it must give the same
    objects and the same worker hash, or nothing is written. What the new version can only hold in an annotation is
    named on standard error.
    """
    source = _read(file, in_place=in_place)
    result = convert_file(file, source.content, cast("Target", to), namespace=namespace, reversible=reversible)
    if in_place:
        Path(file).write_text(result.text, encoding="utf-8")
    else:
        click.echo(result.text, nl=False)
    _report(result, to)


def _read(file: str, *, in_place: bool) -> Source:
    """The content. Raises InvalidInputError for a directory, an unreadable file, and standard input in place."""
    if Path(file).is_dir() or (in_place and file == STDIN):
        what = "is a directory" if Path(file).is_dir() else "standard input cannot be written in place"
        remedy = "name one file; for a directory: for f in DIR/*.yaml; do stator convert --in-place $f; done"
        raise InvalidInputError(Problem(what=what, position=Position(file), remedy=remedy))
    [source] = read_sources([file], None)
    if isinstance(source, Problem):
        raise InvalidInputError(source)
    return source


def _report(result: Conversion, to: str) -> None:
    for item in result.objects:
        if not item.changed:
            click.echo(f"{item.ref}: already {to}, left as it is", err=True)
            continue
        for note in item.notes:
            where = "kept in an annotation only" if note.what == "kept" else "dropped, no API version knows it"
            click.echo(f"{note.position}: {note.field}: {where}", err=True)
        generation = f", worker hash {item.generation}" if item.generation else ""
        click.echo(f"{item.ref}: {to}, {_PROOFS[item.proof]}{generation}", err=True)
    if not result.objects:
        click.echo("nothing to convert", err=True)
