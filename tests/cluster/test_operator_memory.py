"""A day of an operator's life in a minute: what comes and goes leaves nothing behind."""

from __future__ import annotations

from typing import Any

from apiserver import Server
from churn import DAY, empty, hastened, live, rested
from kubelet import Kubelet
from operating import Kubectl, View

from stator.kube.client import Client
from stator.kube.resources import LEASE

# A third of the day goes by before it is looked at what the operator holds.
WARM = DAY / 3
# What is left when all graphs are gone may differ by what Python's own caches hold.
MORE = 1.05


async def test_a_day_of_graphs_that_come_and_go_leaves_memory_flat(
    cluster: Server, namespace: str, client: Client, view: View, kubectl: Kubectl
) -> None:
    """Resyncs, relists, renewals and graphs of 24 hours: queues, caches, objects and bytes are what they were."""
    async with Kubelet(client, namespace), hastened(cluster.kubeconfig, namespace) as operator:
        generation = 0

        async def until(age: float, generations: int) -> dict[str, Any]:
            nonlocal generation
            while (await operator.held())["age"] < age or generation < generations:
                await live(view, kubectl, generation)
                generation += 1
            await empty(view)
            return await rested(operator)

        warm = await until(WARM, 4)
        now = await until(DAY, generation + 3)
        renewed = (await client.get(LEASE, "stator", namespace))["spec"]["leaseTransitions"]
        left = {name: count for name, count in now["sizes"].items() if count and not name.startswith("Recorder")}
        kept = left.pop("Store._entries")
        assert kept == warm["sizes"]["Store._entries"], "the caches hold what the namespace has, and no more"
        assert left.pop("Queue._waiters")
        assert not left
        different = {
            name: (dict(warm["types"]).get(name), count)
            for name, count in dict(now["types"]).items()
            if count > MORE * dict(warm["types"]).get(name, count) + 20
        }
        assert not different
        assert now["objects"] <= MORE * warm["objects"]
        assert now["bytes"] <= MORE * warm["bytes"]
        assert now["tasks"] == warm["tasks"]
        assert now["files"] <= warm["files"] + 2
        assert renewed == 0, "it led all day"
