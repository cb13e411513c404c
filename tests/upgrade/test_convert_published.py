"""Every manifest in the published `ai-dynamo` wheels, in the other API version and back."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from published import EVERY_RELEASE, embedded, files, unpack
from stator.errors import InvalidInputError
from stator.model.load import load
from stator.upgrade.convert import convert

pytestmark = pytest.mark.real

UNKNOWN_TYPE = re.compile(r'component .+: the componentType "(.+)" is no type of v1beta1')


@pytest.fixture(scope="module", params=EVERY_RELEASE)
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release's files."""
    return unpack(request.param, tmp_path_factory.mktemp("wheel"))


def comments(text: str) -> Counter[str]:
    """The lines of a text that are comments, and the comments behind values."""
    return Counter(match.strip() for match in re.findall(r"(?:^|\s)(#.*)$", text, re.MULTILINE))


def convert_there_and_back(text: str) -> int:
    """Convert a text that loads to both versions and each result back; how many conversions changed anything.

    What is refused has a type that v1beta1 does not have.
    """
    changed = 0
    for to, back in (("v1beta1", "v1alpha1"), ("v1alpha1", "v1beta1")):
        try:
            there = convert("-", text.encode(), to, namespace=None, reversible=True)
            again = convert("-", there.text.encode(), back, namespace=None, reversible=True)
        except InvalidInputError as error:
            for problem in error.problems:
                found = UNKNOWN_TYPE.fullmatch(problem.what)
                assert found, str(problem)
                assert f"componentType: {found[1]}" in text
            continue
        if any(item.changed for item in there.objects):
            changed += 1
            assert not comments(text) - comments(there.text)
            assert list(yaml.safe_load_all(again.text)) == list(yaml.safe_load_all(text))
    return changed


def test_every_published_manifest_converts_and_comes_back(wheel: Path) -> None:
    """Files, templates and manifests inside Python sources: same objects there, same values back, no comment lost."""
    texts = [path.read_text() for path in files(wheel)]
    for _, text in embedded(wheel):
        try:
            load(["-"], stdin=io.StringIO(text))
        except InvalidInputError:
            continue  # what does not load is judged where it is rendered
        texts.append(text)
    assert sum(convert_there_and_back(text) for text in texts)
