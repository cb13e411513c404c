"""Requirement lists: every package of a profile at one exact version, with hashes, for one runtime release.

The lists of the supported releases are package data, so that everybody gets the same environment and a new release
of some dependency breaks nobody. Any other published release is resolved when it is asked for, by the same rules
(`PROFILE.overrides`). No package index is named anywhere; uv's own settings decide.

Maintainers make the shipped lists anew with `python -m stator.local.runtimes.lists`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stator.errors import Problem
from stator.local.runtimes.locking import exclusive
from stator.local.runtimes.profiles import PROFILES, SGLANG_RELEASES, Profile, ProfileName
from stator.local.runtimes.uv import RuntimeUnavailableError, Uv, UvError

_DATA = Path(__file__).parent / "requirements"

# The newest patch of every minor the newest operator supports, and the releases between which defects were fixed.
SHIPPED: Mapping[ProfileName, tuple[str, ...]] = {
    "base": ("1.4.2", "1.5.0", "1.5.1", "1.6.0", "1.6.1"),
    "sglang-cpu": tuple(SGLANG_RELEASES),
}


def shipped_list(profile: ProfileName, version: str) -> Path | None:
    """The list that comes with stator, None if this release has none."""
    return _DATA / f"{profile}-{version}.txt" if version in SHIPPED[profile] else None


def list_inputs(profile: ProfileName, version: str) -> str:
    """What a list is resolved from, one requirement per line: it identifies a list that is not resolved yet."""
    lines = [f"ai-dynamo=={version}", f"ai-dynamo-runtime=={version}"]
    if profile == "sglang-cpu":
        lines += [f"sglang=={SGLANG_RELEASES[version]}", (_DATA / "sglang-cpu.in").read_text(encoding="utf-8")]
    return "\n".join(lines) + "\n"


def compile_list(profile: Profile, version: str, output: Path, uv: Uv) -> None:
    """Resolve the packages of a release and write them, pinned and hashed, to `output`.

    Raises RuntimeUnavailableError; for a release that is not published it names the nearest ones that are.
    """
    source = output.with_suffix(".in")
    source.write_text(list_inputs(profile.name, version), encoding="utf-8")
    low, _ = profile.python
    # One list for every platform where no GPU packages are involved. The engine's packages only exist for this one.
    platform = ["--python-platform", "x86_64-manylinux_2_34"] if profile.machines else ["--universal"]
    arguments = [
        *("pip", "compile", str(source), "--output-file", str(output)),
        *("--override", str(_DATA / f"{profile.name}.overrides")),
        *("--python-version", f"{low[0]}.{low[1]}", *platform),
        *("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links"),
        "--quiet",
    ]
    try:
        uv(*arguments, purpose=f"cannot resolve the packages of runtime {version}")
    except UvError as error:
        if error.reason != "unpublished":
            raise
        raise RuntimeUnavailableError(
            Problem(
                what=f"runtime {version} is not published",
                why="the package index has no such release of ai-dynamo",
                remedy=f"use a published release; the nearest: {' and '.join(_nearest(version, output, uv)) or 'none'}",
            )
        ) from error
    finally:
        source.unlink(missing_ok=True)


def _nearest(version: str, output: Path, uv: Uv) -> list[str]:
    """The published releases just below and just above `version`, as uv resolves them."""
    found = []
    for operator, resolution in (("<", "highest"), (">", "lowest")):
        source = output.with_suffix(".nearest")
        source.write_text(f"ai-dynamo{operator}{version}\n", encoding="utf-8")
        try:
            uv(
                *("pip", "compile", str(source), "--output-file", str(output), "--quiet"),
                *("--no-deps", "--no-header", "--no-annotate", "--universal", "--resolution", resolution),
                purpose="cannot list the published releases",
            )
        except UvError:
            continue
        finally:
            source.unlink(missing_ok=True)
        found.append(output.read_text(encoding="utf-8").partition("==")[2].split()[0])
        output.unlink()
    return found


def _compile_shipped() -> None:
    with exclusive(_DATA / ".lock", waiting=lambda: print("waiting for another run")) as lock:  # noqa: T201
        uv = Uv(cwd=_DATA, lock=lock, progress=print)
        for name, versions in SHIPPED.items():
            for version in versions:
                print(f"{name} {version}")  # noqa: T201
                compile_list(PROFILES[name], version, _DATA / f"{name}-{version}.txt", uv)
    (_DATA / ".lock").unlink()


if __name__ == "__main__":
    _compile_shipped()
