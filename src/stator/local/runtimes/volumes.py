"""What a claim's directory holds: models that are made or fetched when a graph needs them and they are missing.

Only what stator.toml describes is made, only where a graph names it, and never over something that is there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from stator.errors import Position, Problem
from stator.local.config import LocalConfig, ScriptContent, WheelContent
from stator.local.runtimes.commands import run
from stator.local.runtimes.environments import ensure
from stator.local.runtimes.locking import exclusive
from stator.local.runtimes.request import RuntimeRequest
from stator.local.runtimes.uv import RuntimeUnavailableError, Uv


def directories_in_use(config: LocalConfig, pod_specs: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    """The keys of `config.contents` that these core PodSpecs use.

    Used is a directory of a claim whose path inside the container stands in the command, the arguments or a literal
    variable of a container that mounts the claim. A model that is only found at run time is not seen.
    """
    return frozenset(
        (claim, directory)
        for spec in pod_specs
        for claim, mount, texts in _mounts(spec)
        for known, directory in config.contents
        if known == claim and _is_named(mount, directory, texts)
    )


def _mounts(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], list[str]]]:
    """Every mount of a claim: the claim, the core VolumeMount, and the texts of the container that has it."""
    claims = {
        volume["name"]: volume["persistentVolumeClaim"]["claimName"]
        for volume in spec.get("volumes") or ()
        if volume.get("persistentVolumeClaim")
    }
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        texts = [*(container.get("command") or ()), *(container.get("args") or ())]
        texts += [str(entry["value"]) for entry in container.get("env") or () if entry.get("value")]
        for mount in container.get("volumeMounts") or ():
            if mount["name"] in claims:
                yield claims[mount["name"]], mount, texts


def _is_named(mount: Mapping[str, Any], directory: str, texts: Iterable[str]) -> bool:
    inside = PurePosixPath(directory)
    if sub_path := mount.get("subPath"):
        if not inside.is_relative_to(sub_path):
            return False
        inside = inside.relative_to(sub_path)
    path = str(PurePosixPath(mount["mountPath"]) / inside)
    named = re.compile(rf"(?<![\w./-]){re.escape(path)}(?![\w.-])")
    return any(named.search(text) for text in texts)


def prepare_volumes(
    config: LocalConfig,
    needed: Collection[tuple[str, str]],
    *,
    cache: Path,
    progress: Callable[[str], None],
    offline: bool = False,
) -> None:
    """Make the directories of `needed` (keys of `config.contents`) that are missing.

    A directory appears complete or not at all; processes that need the same one make it once. Nothing is run and
    no network is used for one that is there. `cache` is where environments and locks are kept.

    Raises RuntimeUnavailableError with one problem for each directory that could not be made.
    """
    problems: list[Problem] = []
    for claim, directory in sorted(needed):
        target = config.volumes[claim] / directory
        if target.is_dir():
            continue
        maker = _Maker(config, claim, directory, cache, progress, offline=offline)
        try:
            maker.make(target)
        except RuntimeUnavailableError as error:
            problems += error.problems
        except OSError as error:
            problems.append(maker.problem(str(error)))
    if problems:
        raise RuntimeUnavailableError(*problems)


class _Maker:
    """Makes one directory of one claim."""

    def __init__(
        self,
        config: LocalConfig,
        claim: str,
        directory: str,
        cache: Path,
        progress: Callable[[str], None],
        *,
        offline: bool,
    ) -> None:
        self.content = config.contents[claim, directory]
        self.config = config
        self.name = f"{claim}/{directory}"
        self.cache = cache
        self.progress = progress
        self.offline = offline

    def make(self, target: Path) -> None:
        key = sha256(str(target.absolute()).encode()).hexdigest()[:12]
        waiting = f"waiting for another process that makes {self.name}"
        with exclusive(self.cache / f"volume-{key}.lock", waiting=lambda: self.progress(waiting)) as lock:
            if target.is_dir():
                return
            self.progress(f"making {self.name}")
            partial = target.parent / f".{target.name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            try:
                if isinstance(self.content, ScriptContent):
                    made = self._run_script(self.content, partial, lock)
                else:
                    made = self._unpack_wheel(self.content, partial, lock)
                made.rename(target)
            finally:
                shutil.rmtree(partial, ignore_errors=True)

    def _run_script(self, content: ScriptContent, partial: Path, lock: int) -> Path:
        script = Path(content.script)
        if not script.is_file():
            raise RuntimeUnavailableError(self.problem(f"{script} is not there"))
        request = RuntimeRequest(image=f"ai-dynamo {content.runtime}", profile="base", version=content.runtime)
        runtime = ensure(request, cache=self.cache, progress=self.progress, offline=self.offline)
        output = partial / "output"
        env = {**os.environ, "HF_HUB_OFFLINE": "1"}
        ended = run(
            [runtime.python, str(script), str(output)], progress=self.progress, cwd=script.parent, env=env, lock=lock
        )
        if ended.status:
            said = " / ".join(line.strip() for line in ended.lines[-3:])
            raise RuntimeUnavailableError(self.problem(f"{script} ended with status {ended.status}: {said}"))
        if not output.is_dir() or not any(output.iterdir()):
            raise RuntimeUnavailableError(self.problem(f"{script} made nothing in the directory it was given"))
        return output

    def _unpack_wheel(self, content: WheelContent, partial: Path, lock: int) -> Path:
        requirements, site = partial / "requirements.txt", partial / "wheel"
        requirements.write_text(f"{content.requirement} --hash=sha256:{content.sha256}\n", encoding="utf-8")
        uv = Uv(cwd=partial, lock=lock, progress=self.progress, offline=self.offline)
        # Copies, not links: the files are the user's from here on, and must not be uv's cache entries.
        uv(
            *("pip", "install", "--python", sys.executable, "--target", str(site), "--link-mode", "copy"),
            *("--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirements", str(requirements)),
            purpose=f"cannot make {self.name}",
        )
        made = site / content.directory
        if not made.is_dir():
            raise RuntimeUnavailableError(self.problem(f"{content.requirement} has no directory {content.directory}"))
        return made

    def problem(self, why: str) -> Problem:
        return Problem(
            what=f"cannot make {self.name}",
            position=Position(self.config.file),
            why=why,
            remedy="correct its entry in stator.toml, or put the directory there yourself",
        )
