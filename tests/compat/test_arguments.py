"""Reading a runtime's command line as its parser does."""

from __future__ import annotations

import pytest

from stator.compat.arguments import read_arguments
from stator.versions import Version


@pytest.mark.parametrize(
    ("argv", "values"), [(["--dyn-structural-tag"], ("",)), (["--dyn-structural-tag", "auto"], ("auto",))]
)
def test_an_option_with_an_optional_value_is_read_with_and_without_it(argv: list[str], values: tuple[str, ...]) -> None:
    """Given alone it counts as given, and a value stays one text."""
    read = read_arguments("sglang", Version(1, 6, 0), tuple(argv))
    assert read is not None
    assert read.values == {"dyn-structural-tag": values}
