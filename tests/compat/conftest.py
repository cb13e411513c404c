"""Fixtures of the compatibility tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from dyn101_containers import make_container

from stator.compat import ContainerFacts


@pytest.fixture
def container() -> Callable[..., ContainerFacts]:
    """Make a container from arguments, environment and image."""
    return make_container
