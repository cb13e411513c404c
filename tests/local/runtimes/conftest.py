"""A package source on disk, so that environments can be made for real without a network."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes the wheel `demo-model==1.0` where uv finds it, and gives its SHA-256.

    It holds a module and a directory `demo_model/model`; `requires` is what it depends on.
    """
    source = tmp_path / "wheels"
    source.mkdir()
    monkeypatch.setenv("UV_FIND_LINKS", str(source))

    def write(requires: str = "") -> str:
        info = "demo_model-1.0.dist-info"
        dependency = f"Requires-Dist: {requires}\n" if requires else ""
        content = {
            "demo_model/__init__.py": "ANSWER = 42\n",
            "demo_model/model/config.json": "{}\n",
            "demo_model/model/deep/weights.bin": "w" * 1000,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: demo-model\nVersion: 1.0\n{dependency}",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(f"{name},,\n" for name in (*content, f"{info}/RECORD"))
        file = source / "demo_model-1.0-py3-none-any.whl"
        with zipfile.ZipFile(file, "w") as archive:
            for name, text in {**content, f"{info}/RECORD": record}.items():
                archive.writestr(name, text)
        return hashlib.sha256(file.read_bytes()).hexdigest()

    return write


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where environments of published releases are made, once for all tests."""
    return tmp_path_factory.mktemp("runtimes")
