"""The replicas of each generation of one component, as the next step of a rollout (upstream's formulas).

    D desired, S surge, U unavailable; minimum = D - U
    unready  = max(0, newWanted - newAvailable)
    may go   = max(0, oldWanted + newWanted - minimum - unready)
    surplus  = max(0, oldAvailable + newAvailable - minimum)
    old      = max(0, oldWanted - min(may go, (oldWanted - oldAvailable) + surplus))
    new      = min(D, newWanted + max(0, D + S - oldPods - newWanted))

Available pods are counted only as far as they are wanted: one that was told to go may still be reported. For the same
reason `oldPods` are the old ones that are wanted or still exist, whichever is more, so that no pod is made before
another has left its place.

Pods that stay although they were told to go (an autoscaler or a person keeps the count of their Deployment) hold nobody
up: the new generation grows beside them, and their object is deleted when it serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from stator.operator.graphs.rollout.budget import Budget


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """The pods of one component in one generation.

    `settled` says that what is reported is of the newest wish, `held` that pods stay whatever is wished.
    """

    name: str
    wanted: int
    exist: int = 0
    available: int = 0
    settled: bool = True
    held: bool = False

    @property
    def counted(self) -> int:
        """The available pods that are to stay."""
        return min(self.wanted, self.available)

    @property
    def is_gone(self) -> bool:
        """Whether it has no pods, and will have none."""
        return self.settled and not self.wanted and not self.exist

    @property
    def may_go(self) -> bool:
        """Whether its object may be deleted: nobody wants pods of it, and waiting would not make them fewer."""
        return self.settled and not self.wanted and (self.held or not self.exist)


class Targets(msgspec.Struct, frozen=True, kw_only=True):
    """The replicas that the new generation is to have, and each older one by name."""

    new: int
    old: Mapping[str, int]


def targets(desired: int, allowed: Budget, new: Group, old: Sequence[Group], *, running: bool = False) -> Targets:
    """The next step of one component. `old` come oldest first; `running` says that pods of theirs are still there."""
    if allowed.recreate:
        gone = all(group.is_gone for group in old) and not running
        return Targets(new=desired if gone else min(desired, new.wanted), old={group.name: 0 for group in old})
    wanted, available = sum(group.wanted for group in old), sum(group.counted for group in old)
    minimum = max(0, desired - allowed.unavailable)
    unready = max(0, new.wanted - new.counted)
    may_go = max(0, wanted + new.wanted - minimum - unready)
    surplus = max(0, available + new.counted - minimum)
    left = max(0, wanted - min(may_go, (wanted - available) + surplus))
    there = sum(group.wanted if group.held else max(group.wanted, group.exist) for group in old)
    raised = new.wanted + max(0, desired + allowed.surge - there - new.wanted)
    return Targets(new=min(desired, raised), old=_shares(left, old))


def is_done(desired: int, new: Group, old: Sequence[Group]) -> bool:
    """Whether the new generation serves in full, and none of the older ones has pods that are on their way out."""
    return new.settled and new.wanted == desired and new.available >= desired and all(group.may_go for group in old)


def _shares(left: int, old: Sequence[Group]) -> dict[str, int]:
    """Who of the older generations keeps how many: the pods that serve first, then the newest generation's."""
    shares = {group.name: group.counted for group in old}
    excess = sum(shares.values()) - left
    for group in old:
        taken = min(max(0, excess), shares[group.name])
        shares[group.name] -= taken
        excess -= taken
    for group in reversed(old):
        given = min(max(0, -excess), group.wanted - shares[group.name])
        shares[group.name] += given
        excess += given
    return shares
