"""What planning has to say besides the plan: differences, things left out, and everything that is wrong."""

from __future__ import annotations

from stator.errors import Position, Problem
from stator.local.plan import Adaptation, Ignored
from stator.render import RenderedComponent


class Notes:
    """Collects while a graph is planned, so that a user sees all problems at once."""

    def __init__(self) -> None:
        self.adaptations: list[Adaptation] = []
        self.ignored: list[Ignored] = []
        self.problems: list[Problem] = []

    def adapt(self, pod: str, what: str, *, cluster: str, local: str, why: str) -> None:
        """Note a difference; the same one is noted once."""
        note = Adaptation(pod=pod, what=what, cluster=cluster, local=local, why=why)
        if note not in self.adaptations:
            self.adaptations.append(note)

    def ignore(self, component: str, what: str, why: str) -> None:
        """Note something left out; the same thing is noted once, whatever the number of replicas."""
        note = Ignored(component=component, what=what, why=why)
        if note not in self.ignored:
            self.ignored.append(note)

    def refuse(self, what: str, *, why: str = "", remedy: str = "", position: Position | None = None) -> None:
        """Note a problem; the same one is noted once."""
        problem = Problem(what=what, why=why, remedy=remedy, position=position)
        if problem not in self.problems:
            self.problems.append(problem)


def position_of(component: RenderedComponent, container: str, name: str) -> Position | None:
    """Where the user set the env entry `name` of a container, as far as rendering knows."""
    for entry in component.provenance:
        if entry.container == container and entry.subject == "env" and entry.name == name:
            return entry.setter.position
    return None
