"""The files of a check, one at a time: what cannot be used is reported, and keeps no other from being checked.

A tree of thousands of graphs is read like one of ten: nothing of a file is kept here once it has been looked at.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import BinaryIO

import msgspec

from stator.errors import InvalidInputError, Problem
from stator.model import Inventory
from stator.model.load import load_source
from stator.model.sources import STDIN, Source, read_sources

# Kind, namespace and name.
Reference = tuple[str, str, str]


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """What one file holds, or why it cannot be used."""

    name: str
    inventory: Inventory = Inventory()
    problems: tuple[Problem, ...] = ()


class Reading:
    """Sources that can be gone through more than once.

    `changed` are contents that stand in for those of the files, by name. `live` is what a cluster holds already: a file
    that describes one of its objects replaces it, as if applied. `absent` are ConfigMaps and Secrets that it has not.
    """

    def __init__(
        self,
        sources: Sequence[str],
        *,
        namespace: str | None = None,
        stdin: BinaryIO | None = None,
        changed: Mapping[str, bytes] | None = None,
        live: Inventory | None = None,
        absent: Collection[Reference] = (),
    ) -> None:
        self.sources = tuple(sources)
        self.namespace = namespace
        self.content = (stdin or sys.stdin.buffer).read() if STDIN in sources else b""
        self.changed = dict(changed or {})
        self.live = live
        self.absent = frozenset(absent)

    def with_changed(self, changed: Mapping[str, bytes]) -> Reading:
        """The same sources with other contents."""
        return Reading(
            self.sources,
            namespace=self.namespace,
            stdin=io.BytesIO(self.content),
            changed={**self.changed, **changed},
            live=self.live,
            absent=self.absent,
        )

    def beside(self, live: Inventory, absent: Collection[Reference]) -> Reading:
        """The same sources as if applied to a cluster."""
        return Reading(
            self.sources,
            namespace=self.namespace,
            stdin=io.BytesIO(self.content),
            changed=self.changed,
            live=live,
            absent=absent,
        )

    def files(self) -> Iterator[Loaded]:
        """Every file in order. Raises InvalidInputError for what is not about one of them."""
        for source in read_sources(self.sources, io.BytesIO(self.content)):
            if isinstance(source, Problem):
                name = source.position.file if source.position else ""
                yield Loaded(name=name, problems=(source,))
            else:
                yield self.load(source)

    def again(self, name: str) -> Loaded:
        """One of the files once more. It may have changed meanwhile, or be gone."""
        source = next(iter(read_sources([name], io.BytesIO(self.content))))
        return Loaded(name=name, problems=(source,)) if isinstance(source, Problem) else self.load(source)

    def text(self, name: str) -> bytes | None:
        """The content of one file as it is checked, None if it cannot be read."""
        if name in self.changed:
            return self.changed[name]
        source = next(iter(read_sources([name], io.BytesIO(self.content))))
        return None if isinstance(source, Problem) else source.content

    def load(self, source: Source) -> Loaded:
        """Load a file that has been read."""
        source = Source(source.name, self.changed.get(source.name, source.content))
        try:
            return Loaded(name=source.name, inventory=load_source(source, namespace=self.namespace))
        except InvalidInputError as error:
            if any(problem.position is None for problem in error.problems):
                raise
            return Loaded(name=source.name, problems=error.problems)


def read(
    sources: Sequence[str],
    *,
    namespace: str | None = None,
    stdin: BinaryIO | None = None,
    live: Inventory | None = None,
    absent: Collection[Reference] = (),
) -> Reading:
    """The sources as something to check; `-` is read now, everything else when it is its turn."""
    return Reading(sources, namespace=namespace, stdin=stdin, live=live, absent=absent)
