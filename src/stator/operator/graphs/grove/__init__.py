"""The Grove pathway: one PodCliqueSet runs the pods of a whole graph."""

from stator.operator.graphs.grove.cliques import Part, parts_of
from stator.operator.graphs.grove.readiness import Unready, unready
from stator.operator.graphs.grove.settled import scaling, settled_set

__all__ = ["Part", "Unready", "parts_of", "scaling", "settled_set", "unready"]
