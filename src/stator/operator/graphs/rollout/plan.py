"""One pass of a graph's rollout: which worker generations exist, what each is to have, and who may leave.

Everything is derived from the components that exist, by the generation in their labels: what is recorded on the graph
may be lost. So a graph that changes again half way (A, B, C or A, B, A) is in a rollout from all that is there to
what is wanted now, and an operator that was killed goes on where things are.

Components that span nodes take part as well, a group of nodes as one replica.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from stator.operator.graphs.observed import Made
from stator.operator.graphs.rollout.budget import budget
from stator.operator.graphs.rollout.targets import Group, Targets, is_done, targets


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A worker component as it is wanted: how many replicas, and the annotations of its workload."""

    component: str
    desired: int
    annotations: Mapping[str, str] = {}


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """Where a graph's generations are, and what comes next.

    `targets` are replicas by component (of the new generation), `scaled` by the name of an older one. `leaving` are
    those that may be deleted. `current` is the generation that serves: the new one as soon as no other is there.
    """

    generation: str
    current: str
    targets: Mapping[str, int]
    scaled: Mapping[str, int]
    leaving: tuple[Made, ...]
    old: tuple[Made, ...]
    done: tuple[str, ...]
    complete: bool
    made: bool

    @property
    def active(self) -> bool:
        """Whether more than one generation is there."""
        return bool(self.old)


def rollout(
    wanted: Sequence[Wanted], made: Sequence[Made], generation: str, *, recorded: str, running: frozenset[str]
) -> Rollout:
    """The next step. `made` are the graph's workers, oldest first; `recorded` is the generation on record, if any."""
    names = {item.component for item in wanted}
    old = tuple(item for item in made if item.component in names and item.generation != generation)
    steps: dict[str, Targets] = {}
    done: list[str] = []
    # Pods that nobody ends, where the new generation has to wait for their end.
    blocking: set[str] = set()
    for item in wanted:
        new = _group_of(item, made, generation)
        before = [group_of(one) for one in old if one.component == item.component]
        steps[item.component] = _step(item, new, before, running=any(group.name in running for group in before))
        if is_done(item.desired, new, before):
            done.append(item.component)
        if budget(item.annotations, item.desired).recreate:
            blocking |= {group.name for group in before if group.held and group.may_go}
    complete = len(done) == len(wanted)
    return Rollout(
        generation=generation,
        current=_current(old, generation, recorded),
        targets={name: step.new for name, step in steps.items()},
        scaled={name: replicas for step in steps.values() for name, replicas in step.old.items()},
        leaving=tuple(item for item in old if not item.deleting and (complete or item.name in blocking)),
        old=old,
        done=tuple(done),
        complete=complete,
        made=all(_find(item.component, made, generation) for item in wanted),
    )


def group_of(made: Made) -> Group:
    """A component as a group of pods; one that is being deleted serves no more, but may have pods."""
    return Group(
        name=made.name,
        wanted=0 if made.deleting else made.wanted,
        exist=made.exist,
        available=made.available,
        settled=made.is_seen,
        held=made.is_held,
    )


def _step(item: Wanted, new: Group, old: Sequence[Group], *, running: bool) -> Targets:
    if not old:
        return Targets(new=item.desired, old={})
    return targets(item.desired, budget(item.annotations, item.desired), new, old, running=running)


def _group_of(item: Wanted, made: Sequence[Made], generation: str) -> Group:
    found = _find(item.component, made, generation)
    return group_of(found) if found else Group(name=item.component, wanted=0, settled=False)


def _find(component: str, made: Sequence[Made], generation: str) -> Made | None:
    return next((one for one in made if (one.component, one.generation) == (component, generation)), None)


def _current(old: Sequence[Made], generation: str, recorded: str) -> str:
    """The generation that serves: what was recorded while it lives, else the oldest that is there."""
    if not old:
        return generation
    if recorded == generation or any(one.generation == recorded for one in old):
        return recorded
    return old[0].generation
