"""The check over every manifest in the published wheels: no crash, and no finding that a look at the file denies."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from published import RELEASES, embedded, files, unpack
from stator.check import CheckOptions, Report, check, read
from stator.check.fixes import fix
from stator.check.formats import FORMATS, write
from stator.compat import Finding
from stator.errors import InvalidInputError
from stator.render import RenderOptions
from stator.versions import Version

pytestmark = pytest.mark.real


@pytest.fixture(scope="module", params=RELEASES)
def published(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A release and its files."""
    return request.param, unpack(request.param, tmp_path_factory.mktemp("wheel"))


def texts(root: Path) -> Iterator[tuple[str, str]]:
    """Place and text of every manifest of a release."""
    yield from ((str(path.relative_to(root)), path.read_text()) for path in files(root))
    yield from embedded(root)


def checked(text: str, **options: Any) -> Report:
    """The report on one text, in every format."""
    report = check(read(["-"], stdin=io.BytesIO(text.encode())), CheckOptions(**options))
    assert all(write(name, report, "error") for name in FORMATS)
    return report


def component(text: str, finding: Finding) -> Mapping[str, Any]:
    """The component a finding is about, as the file has it."""
    for document in filter(None, yaml.safe_load_all(text)):
        spec = document.get("spec") or {}
        kind, _, name = finding.object.split("/")
        if (document["kind"], document["metadata"]["name"]) != (kind, name):
            continue
        parts = {part["name"]: part for part in spec.get("components") or ()} | (spec.get("services") or {})
        if finding.component in parts:
            found = parts[finding.component]
            assert isinstance(found, Mapping)
            return found
    raise AssertionError(finding)


def main(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The component's main container, in either API version."""
    pod = part.get("extraPodSpec") or {}
    containers = ((part.get("podTemplate") or {}).get("spec") or {}).get("containers") or []
    return pod.get("mainContainer") or next((item for item in containers if item["name"] == "main"), {})


def unnamed(part: Mapping[str, Any], finding: Finding) -> bool:
    """It declares ports of its own and none that the probe names."""
    name = re.search(r'asks port "(\w+)"', finding.message)
    ports = [port.get("name") for port in main(part).get("ports") or ()]
    return bool(ports) and name is not None and name[1] not in ports


# How each finding is seen to be true without the engine. A rule that is missing here must find nothing.
TRUE: dict[str, Callable[[Mapping[str, Any], Finding], bool]] = {
    "DYN101": lambda part, finding: (
        "sglang" in str(part)
        and finding.severity == "info"
        and ("envFromSecret" in part or "envFrom" in main(part) or "$" in str(main(part).get("args")))
    ),
    "DYN212": lambda part, _: not re.search(r":v?\d+\.\d+\.\d+", main(part).get("image", "")),
    "DYN318": lambda part, _: "vllm" in str(part) and "--kv-events-config" not in str(part),
    "DYN320": lambda part, finding: re.findall(r"--[\w-]+", finding.message)[0] in str(part),
    "DYN405": unnamed,
    "DYN414": lambda part, finding: finding.severity == "info" and "$" in str(main(part).get("args")),
}


def test_every_finding_on_a_published_manifest_is_true(published: tuple[str, Path]) -> None:
    """Under its own operator, a published example has no finding that the file itself does not confirm."""
    release, root = published
    operator = RenderOptions(operator=Version.parse(release))
    number = 0
    for place, text in texts(root):
        try:
            report = checked(text, render=operator)
        except InvalidInputError:
            continue  # a fragment: the test of rendering looks at what is said about it
        number += report.graphs
        for finding in report.findings:
            assert finding.rule in TRUE, (place, finding)
            assert TRUE[finding.rule](component(text, finding), finding), (place, finding)
    assert number > 5


def test_every_published_manifest_survives_an_upgrade_check_and_a_fix(published: tuple[str, Path]) -> None:
    """Moving everything to the newest release and mending what can be mended ends in a report, never in an error."""
    _, root = published
    for place, text in texts(root):
        reading = read(["-"], stdin=io.BytesIO(text.encode()))
        try:
            checked(text, after=Version(1, 6, 1))
            done = fix(reading, lambda each: check(each, CheckOptions()), unsafe=True)
        except InvalidInputError:
            continue  # a fragment: the test of rendering looks at what is said about it
        if done.files:
            again = read(["-"], stdin=io.BytesIO(done.files["-"]))
            assert fix(again, lambda each: check(each, CheckOptions()), unsafe=True).files == {}, place
