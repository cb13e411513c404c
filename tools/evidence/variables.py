"""The environment variables the Python sources of a release name, per module, followed through its imports.

Exact up to names that are put together at run time; those come with the options that read them.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

NAME = re.compile(r"DYN_[A-Z0-9_]*[A-Z0-9]")


def imported(tree: Path, module: str) -> frozenset[Path]:
    """Source files of Dynamo that running `module` can import, at any depth, also inside functions."""
    pending = [tree / module.replace(".", "/") / "__main__.py"]
    seen: set[Path] = set()
    while pending:
        file = pending.pop()
        if file in seen or not file.exists() or "tests" in file.relative_to(tree).parts:
            continue
        seen.add(file)
        for name in _imports(file, tree):
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                place = tree.joinpath(*parts[:length])
                pending += [place / "__init__.py", place.with_suffix(".py")]
    return frozenset(seen)


@cache
def _imports(file: Path, tree: Path) -> tuple[str, ...]:
    package = file.relative_to(tree).parent.parts
    names = []
    for node in ast.walk(_parsed(file)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            base += (node.module or "").split(".") if node.module else []
            names += [".".join([*base, alias.name]) for alias in node.names]
    return tuple(name for name in names if name.startswith("dynamo."))


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def read_by(file: Path) -> frozenset[str]:
    """Names in one source: every `DYN_` constant, and whatever else is asked of `os.environ` or `os.getenv` by name."""
    found: set[str] = set()
    for node in ast.walk(_parsed(file)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
            found.add(node.value)
        elif isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith(("environ.get", "getenv")):
            found |= _constant(node.args[0])
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            found |= _constant(node.slice) if isinstance(node.ctx, ast.Load) else set()
    return frozenset(found)


def _constant(node: ast.expr) -> set[str]:
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()
