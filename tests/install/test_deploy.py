"""`deploy/` holds what `stator install` prints: nothing in it is written by hand, whatever tool applies it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from stator.install.crds import custom_resource_definitions
from stator.install.installation import installation
from stator.install.settings import Settings

Json = dict[str, Any]

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "deploy" / "helm" / "stator" / "templates"
PLACEHOLDER = re.compile(r"\{\{.*?\}\}")


@pytest.fixture(scope="module")
def deploy() -> ModuleType:
    """The tool that makes the folder."""
    spec = util.spec_from_file_location("deploy", ROOT / "tools" / "deploy.py")
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documents(texts: Iterable[str]) -> list[Json]:
    """The objects in texts of YAML."""
    return [item for text in texts for item in yaml.load_all(text, Loader=yaml.CSafeLoader) if item]


def by_identity(objects: Iterable[Json]) -> dict[tuple[str, str, str], Json]:
    """Objects by kind, namespace and name."""
    return {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]): dict(item) for item in objects
    }


def test_the_folder_is_what_the_tool_makes(deploy: ModuleType) -> None:
    """After a change of the installation: python tools/deploy.py."""
    assert deploy.stale(ROOT / "deploy") == []


def test_the_check_names_what_is_stale(deploy: ModuleType, tmp_path: Path) -> None:
    """A missing, an edited and a left-over file are each named."""
    for name, text in deploy.files().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert deploy.stale(tmp_path) == []
    (tmp_path / "helm/stator/values.yaml").write_text("image: other\n")
    (tmp_path / "crds/dynamomodels.nvidia.com.yaml").unlink()
    (tmp_path / "kustomize/old.yaml").write_text("")
    assert deploy.stale(tmp_path) == [
        "crds/dynamomodels.nvidia.com.yaml",
        "helm/stator/values.yaml",
        "kustomize/old.yaml",
    ]


def test_plain_definitions_need_no_webhook() -> None:
    """They are for clusters where something else brings the operator."""
    texts = [path.read_text() for path in (ROOT / "deploy" / "crds").glob("*.nvidia.com.yaml")]
    assert by_identity(documents(texts)) == by_identity(custom_resource_definitions(None))


def test_the_kustomize_base_is_the_installation(kustomized: list[Json]) -> None:
    """As kubectl builds it, conversion included."""
    assert by_identity(kustomized) == by_identity(installation(Settings()))


@pytest.fixture
def kustomized() -> list[Json]:
    """The base as kustomize builds it: resources, and JSON patches on them."""
    base = ROOT / "deploy" / "kustomize"
    [top] = documents([(base / "kustomization.yaml").read_text()])
    [below] = documents([(base / "../crds/kustomization.yaml").read_text()])
    assert top["resources"] == ["../crds", "installation.yaml"]
    objects = documents((base / "../crds" / name).read_text() for name in below["resources"])
    objects += documents([(base / "installation.yaml").read_text()])
    for patch in top["patches"]:
        [target] = [
            item
            for item in objects
            if (item["kind"], item["metadata"]["name"]) == (patch["target"]["kind"], patch["target"]["name"])
        ]
        for operation in yaml.safe_load(patch["patch"]):
            *steps, last = operation["path"].strip("/").split("/")
            value: Any = target
            for step in steps:
                value = value[int(step) if isinstance(value, list) else step]
            value[last] = operation["value"]
    return objects


def rendered(namespace: str, image: str, replicas: int, reject: tuple[str, ...]) -> list[Json]:
    """The chart as Helm renders it: values, one range and one condition are all it uses."""
    texts = []
    for path in TEMPLATES.glob("*.yaml"):
        text = path.read_text()
        if text.splitlines()[1].startswith("{{- if gt"):
            assert "if gt (int .Values.replicas) 1 " in text
            text = re.sub(r"\{\{- (if .*?|end) \}\}\n", "", text) if replicas > 1 else ""
        text = re.sub(
            r"\{\{- range \.Values\.reject \}\}\n(.*?)\{\{- end \}\}\n",
            lambda match: "".join(match[1].replace("{{ . }}", value) for value in reject),
            text,
            flags=re.DOTALL,
        )
        for name, value in (
            (".Release.Namespace", namespace),
            (".Values.image", image),
            (".Values.replicas", str(replicas)),
        ):
            text = text.replace(f"{{{{ {name} }}}}", value)
        assert not PLACEHOLDER.search(text)
        texts.append(text)
    return documents(texts)


@pytest.mark.parametrize(("replicas", "reject"), [(2, ()), (1, ("error", "DYN201"))])
def test_the_chart_is_the_installation(replicas: int, reject: tuple[str, ...]) -> None:
    """With any values; the namespace is Helm's to make, and the definitions outlive the chart."""
    found = by_identity(rendered("team", "registry.example/stator:1", replicas, reject))
    settings = Settings(namespace="team", image="registry.example/stator:1", replicas=replicas, reject=reject)
    wanted = by_identity(item for item in installation(settings) if item["kind"] != "Namespace")
    for (kind, _, _), item in found.items():
        if kind == "CustomResourceDefinition":
            assert item["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert found == wanted


def test_the_tool_checks_from_the_command_line() -> None:
    """As a build would call it."""
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "deploy.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
