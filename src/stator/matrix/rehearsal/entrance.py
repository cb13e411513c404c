"""The address users keep: the frontend's Service, over pods of two generations.

`stator up` gives a graph's Service to the graph's supervisor. In a rehearsal the pods have supervisors of their own, so
that old and new come and go one by one, and the Service lives here: the same proxy, on an event loop in a thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import msgspec

from stator.local.plan import ServicePlan, Target
from stator.local.supervisor.proxy import ServiceProxy


class Entrance:
    """Listens from `open` to `close`; connections go in turn to the targets of the last `route`."""

    def __init__(self, service: ServicePlan) -> None:
        self.address = service.address
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._proxy = ServiceProxy(service)

    def open(self) -> None:
        """Listen. Raises StatorError if the port is taken."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._proxy.open(), self._loop).result()

    def route(self, targets: Sequence[Target]) -> None:
        """From now on new connections go to these; open ones stay where they are."""

        def change() -> None:
            self._proxy.service = msgspec.structs.replace(self._proxy.service, targets=tuple(targets))
            self._proxy.route(frozenset(target.pod for target in targets))

        self._loop.call_soon_threadsafe(change)

    def close(self) -> None:
        """Stop listening, cut what is open, and end the loop."""

        async def end() -> None:
            self._proxy.close()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*others, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
