"""An operator that cannot have its address, or may not read a definition, says what to do about that."""

from __future__ import annotations

import socket

import pytest

from stator.errors import InvalidInputError
from stator.operator.endpoints import endpoints
from stator.operator.metrics import Metrics


async def test_a_taken_port_names_the_address_and_the_options() -> None:
    """A second operator on one machine: its user reads which port is taken and how to choose another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        serving = endpoints(Metrics(), healthy=str, ready=str, host="127.0.0.1", port=port)
        with pytest.raises(InvalidInputError) as caught:
            await serving.__aenter__()
    [problem] = caught.value.problems
    assert problem.what == f"cannot listen on http://127.0.0.1:{port} for metrics and probes"
    assert "--metrics-port" in problem.remedy
