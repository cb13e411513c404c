"""The requirement lists that come with stator are complete, closed and name no package index."""

from __future__ import annotations

import re

import pytest

from stator.local.runtimes.lists import SHIPPED, shipped_list
from stator.local.runtimes.profiles import SGLANG_RELEASES, ProfileName

LISTS = [(profile, version) for profile, versions in SHIPPED.items() for version in versions]


def entries(profile: ProfileName, version: str) -> dict[str, str]:
    """The requirements of a list by package name, each with its continuation lines."""
    path = shipped_list(profile, version)
    assert path is not None
    found = re.split(r"\n(?! )", path.read_text().strip())
    return {entry.partition("==")[0]: entry for entry in found}


@pytest.mark.parametrize(("profile", "version"), LISTS)
def test_every_package_is_pinned_and_hashed(profile: ProfileName, version: str) -> None:
    """Nothing is installed that was not checked, and no list says where packages come from."""
    for entry in entries(profile, version).values():
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [\w .'<>=!()]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+", entry), (
            entry.splitlines()[0]
        )


@pytest.mark.parametrize(("profile", "version"), LISTS)
def test_a_list_holds_the_release_it_is_named_after(profile: ProfileName, version: str) -> None:
    """The runtime's two packages are of that release, and the engine is the one the release was built for."""
    packages = entries(profile, version)
    assert packages["ai-dynamo"].startswith(f"ai-dynamo=={version} ")
    assert packages["ai-dynamo-runtime"].startswith(f"ai-dynamo-runtime=={version} ")
    assert "aisimulate" not in packages
    if profile == "sglang-cpu":
        assert packages["sglang"].startswith(f"sglang=={SGLANG_RELEASES[version]} ")
    else:
        assert not {"torch", "sglang"} & packages.keys()


def test_the_newest_patch_of_each_supported_minor_has_a_list() -> None:
    """The operator supports its own minor release and the two before it."""
    for versions in SHIPPED.values():
        assert {"1.4.2", "1.5.1", "1.6.1"} <= set(versions)
