"""From a rendered graph to what runs on one machine. Pure: nothing is started, written or looked up."""

from stator.local.planning.containers import RuntimeFacts
from stator.local.planning.graph import Machine, plan_graph
from stator.local.planning.ports import PortAllocator

__all__ = ["Machine", "PortAllocator", "RuntimeFacts", "plan_graph"]
