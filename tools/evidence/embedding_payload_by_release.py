#!/usr/bin/env python3
"""Which ai-dynamo releases check an SGLang embedding worker with a generation request? Reads wheels, runs nothing.

    pip download --no-deps --only-binary :all: -d WHEELS ai-dynamo==1.5.0      (and so on)
    tools/evidence/embedding_payload_by_release.py WHEELS/ai_dynamo-*.whl

Prints one line of JSON a release: the payload classes `init_embedding` hands to `serve_endpoint`, the keys of their
default payloads, `verdict` (`generation`, `embedding`, or `none` without an embedding mode), whether the release knows
`--health-check-payload`, and which files read that setting.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Tree = ast.Module


def sources(wheel: Path) -> dict[str, Tree]:
    """The parsed modules of the SGLang worker and of what the backends share."""
    with zipfile.ZipFile(wheel) as archive:
        names = [
            name
            for name in archive.namelist()
            if name.startswith(("dynamo/sglang/", "dynamo/common/")) and name.endswith(".py") and "/tests/" not in name
        ]
        return {name: ast.parse(archive.read(name)) for name in names}


def registered(tree: Tree) -> list[str]:
    """The payload classes made in the module that serves embeddings."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sorted({call.id for call in calls if isinstance(call, ast.Name) and call.id.endswith("HealthCheckPayload")})


def default_keys(tree: Tree) -> dict[str, list[str]]:
    """For each class, the keys its methods put into `self.default_payload`."""
    found = {}
    for definition in ast.walk(tree):
        if isinstance(definition, ast.ClassDef):
            found[definition.name] = list(_keys(definition))
    return found


def _keys(definition: ast.ClassDef) -> Iterator[str]:
    for node in ast.walk(definition):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if _is_default(target) and isinstance(node.value, ast.Dict):
                yield from (key.value for key in node.value.keys if isinstance(key, ast.Constant))
            elif isinstance(target, ast.Subscript) and _is_default(target.value):
                yield ast.literal_eval(target.slice)


def _is_default(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "default_payload"


def readers(trees: dict[str, Tree]) -> list[str]:
    """The modules that read the setting of `--health-check-payload`."""
    found = set()
    for name, tree in trees.items():
        for node in ast.walk(tree):
            owner = ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""
            named = isinstance(node, ast.Attribute) and node.attr == "health_check_payload"
            asked = isinstance(node, ast.Call) and [ast.unparse(arg) for arg in node.args[1:2]] == [
                "'health_check_payload'"
            ]
            if asked or (named and owner.endswith(("dynamo_args", "dynamo_config", "runtime_cfg"))):
                found.add(name)
    return sorted(found)


def release(wheel: Path) -> dict[str, Any]:
    """What one wheel shows."""
    trees = sources(wheel)
    texts = [node.value for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    serving = trees.get("dynamo/sglang/init_embedding.py")
    classes = registered(serving) if serving else []
    keys = default_keys(trees["dynamo/sglang/health_check.py"]) if serving else {}
    shaped = [name for name in classes if {"model", "input"} <= set(keys[name])]
    return {
        "release": re.split(r"-", wheel.name)[1],
        "verdict": "none" if not serving else "embedding" if shaped else "generation",
        "payloads": {name: keys[name] for name in classes},
        "embedding_switch": "--embedding-worker" in texts and "DYN_SGL_EMBEDDING_WORKER" in texts,
        "payload_flag": "--health-check-payload" in texts,
        "payload_flag_readers": readers(trees),
    }


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps(release(Path(path))))
