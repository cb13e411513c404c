"""Loading from text, the way a user pipes it in."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO

import pytest

from stator.errors import InvalidInputError, Problem
from stator.model import Inventory, load

Load = Callable[..., Inventory]
Problems = Callable[..., list[Problem]]


@pytest.fixture(scope="session")
def load_text() -> Load:
    """`load` of one text on standard input."""

    def load_one(text: str, namespace: str | None = None) -> Inventory:
        return load(["-"], namespace=namespace, stdin=BytesIO(text.encode()))

    return load_one


@pytest.fixture(scope="session")
def problems_of(load_text: Load) -> Problems:
    """All problems that loading a text raises."""

    def problems(text: str, namespace: str | None = None) -> list[Problem]:
        with pytest.raises(InvalidInputError) as raised:
            load_text(text, namespace)
        return list(raised.value.problems)

    return problems
