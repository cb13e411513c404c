"""Managed rollout: a new generation of workers takes over from the old ones, within a budget of pods."""

from stator.operator.graphs.rollout.plan import Rollout, Wanted, group_of, rollout
from stator.operator.graphs.rollout.progress import events_of, progress

__all__ = ["Rollout", "Wanted", "events_of", "group_of", "progress", "rollout"]
