"""The manifests in the published `ai-dynamo` wheels: real ones that nobody here wrote."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uv import find_uv_bin

# The last patch of each minor release, and every release since the first of them.
RELEASES = ("1.1.1", "1.2.1", "1.3.1", "1.4.2", "1.5.1", "1.6.1")
EVERY_RELEASE = tuple(sorted((*RELEASES, "1.2.0.post1", "1.3.0.post1", "1.4.0", "1.4.1", "1.5.0", "1.6.0")))
KINDS = ("DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter")
KIND = re.compile(rf"^\s*kind:\s*['\"]?(?:{'|'.join(KINDS)})['\"]?\s*$", re.MULTILINE)


def unpack(release: str, target: Path) -> Path:
    """A release's files, from the installer's cache or the index it is set up for."""
    install = [find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--python", sys.executable]
    subprocess.run([*install, "--target", str(target), f"ai-dynamo=={release}"], check=True)
    return target


def files(root: Path) -> Iterator[Path]:
    """The manifest files of a release that hold a Dynamo object."""
    for path in sorted(root.rglob("*.y*ml")):
        if KIND.search(path.read_text()):
            yield path


def embedded(root: Path) -> Iterator[tuple[str, str]]:
    """Place and text of the manifests in a release's Python sources: YAML texts, and literal mappings as JSON."""
    for path in sorted(root.rglob("*.py")):
        source = path.read_text()
        if not any(kind in source for kind in KINDS):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and KIND.search(node.value):
                yield f"{path.relative_to(root)}:{node.lineno}", textwrap.dedent(node.value)
            elif isinstance(node, ast.Dict) and (value := literal(node)).get("kind") in KINDS and "apiVersion" in value:
                yield f"{path.relative_to(root)}:{node.lineno}", json.dumps(value)


def literal(node: ast.Dict) -> dict[str, Any]:
    """The value of a mapping that is written out, else an empty one."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}
