"""From a container image and what it runs to the Python environment that can stand in for it.

Nothing is installed or looked up here: the answer depends on the image reference, the command line, the resolved
version and stator.toml only, so that a graph which cannot run is refused before anything is made.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from stator.errors import Position, Problem, StatorError
from stator.local.config import ImageMapping, LocalConfig
from stator.local.runtimes.profiles import (
    CLUSTER_ONLY,
    GPU_ENGINES,
    MODULE_PROFILES,
    SGLANG_RELEASES,
    ProfileName,
)
from stator.model.commandline import CommandLine
from stator.versions import ResolvedVersion

Origin = Literal["published", "requirements", "python"]


class RuntimeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The environment one image needs.

    `origin` says what it is made of: `published` releases (`ai-dynamo==version` plus the profile's packages), a
    `requirements` file of the user, or a `python` interpreter of the user that is taken as it is. `path` is that
    file or interpreter. `version` is empty if the user's own environment stands in for an image whose version is
    unknown; `profile` is `custom` for both of them.
    """

    image: str
    profile: ProfileName | Literal["custom"]
    version: str
    origin: Origin = "published"
    path: str = ""


class UnrunnableError(StatorError):
    """A container cannot run on this machine; the problem says why and what to do instead."""


def resolve_runtime(
    image: str,
    command_line: CommandLine,
    version: ResolvedVersion,
    config: LocalConfig,
    *,
    position: Position | None = None,
) -> RuntimeRequest:
    """The environment that stands in for `image` when it runs `command_line`.

    `[images]` of stator.toml decides first: an exact reference before a pattern, patterns in file order. Otherwise
    the last path part of the repository must be a Dynamo runtime's name. `position` is where the image is written.

    Raises UnrunnableError with one problem: not a runtime image, an engine that needs a GPU, a module that needs a
    cluster, a command line that cannot be read, or no version.
    """
    mapping = _mapping(image, config)
    if mapping is not None and (mapping.python or mapping.requirements):
        return RuntimeRequest(
            image=image,
            profile="custom",
            version=str(version.core or ""),
            origin="python" if mapping.python else "requirements",
            path=mapping.python or mapping.requirements,
        )
    if mapping is None and not _is_runtime(repository_name(image)):
        raise UnrunnableError(
            Problem(
                what=f"image {image} is not a Dynamo runtime",
                position=position,
                why=f'the repository name "{repository_name(image)}" is neither *-runtime nor dynamo-*',
                remedy=f'{_map_remedy(image, "what it holds")}; or leave a sidecar out: [ignore] sidecars = ["NAME"]',
            )
        )
    profile = (mapping.profile if mapping else None) or _profile(image, command_line, position)
    number = (mapping.ai_dynamo if mapping else "") or str(version.core or "")
    if not number:
        raise UnrunnableError(
            Problem(
                what=f"the runtime version of image {image} is unknown",
                position=position,
                why=version.why,
                remedy="set the component's runtimeVersionOverride, or in stator.toml: "
                f'[images] "{image}" = {{ ai-dynamo = "X.Y.Z" }}',
            )
        )
    if profile == "sglang-cpu" and number not in SGLANG_RELEASES:
        raise UnrunnableError(
            Problem(
                what=f"no SGLang environment for the CPU is known for runtime {number} (image {image})",
                position=position,
                why=f"it is known for {', '.join(SGLANG_RELEASES)}",
                remedy=f"run it with --engine mocker, or {_map_remedy(image, 'a release that is known')}",
            )
        )
    return RuntimeRequest(image=image, profile=profile, version=number)


def repository_name(image: str) -> str:
    """The last path part of an image's repository: `reg:5000/a/sglang-runtime:1.5.0@sha256:…` -> `sglang-runtime`."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def _is_runtime(name: str) -> bool:
    if "operator" in name:
        return False
    return fnmatchcase(name, "*-runtime") or fnmatchcase(name, "dynamo-*")


def _mapping(image: str, config: LocalConfig) -> ImageMapping | None:
    exact = (mapping for mapping in config.images if mapping.pattern == image)
    matching = (mapping for mapping in config.images if fnmatchcase(image, mapping.pattern))
    return next(exact, None) or next(matching, None)


def _profile(image: str, command_line: CommandLine, position: Position | None) -> ProfileName:
    """The smallest profile in which every Dynamo module of the command line runs."""
    modules = [
        ".".join(invocation.module.split(".")[:2])
        for invocation in command_line.invocations
        if invocation.module.split(".")[0] == "dynamo"
    ]
    if not modules:
        raise UnrunnableError(
            Problem(
                what=f"image {image}: no Dynamo module is seen on the command line",
                position=position,
                why=command_line.opaque or "it runs no python -m dynamo.…",
                remedy="write the command as python3 -m dynamo.MODULE …, or in stator.toml: "
                f'[images] "{image}" = {{ ai-dynamo = "X.Y.Z", profile = "base" }}',
            )
        )
    for module in modules:
        if module not in MODULE_PROFILES:
            raise UnrunnableError(_refusal(image, module, position))
    profiles = {MODULE_PROFILES[module] for module in modules}
    return "sglang-cpu" if "sglang-cpu" in profiles else "base"


def _refusal(image: str, module: str, position: Position | None) -> Problem:
    what = f"{module} cannot run on this machine (image {image})"
    if module in GPU_ENGINES:
        return Problem(
            what=what,
            position=position,
            why=f"the {GPU_ENGINES[module]} engine needs a GPU",
            remedy=f"run it with --engine mocker, or {_map_remedy(image, 'an environment of yours that runs it')}",
        )
    if module in CLUSTER_ONLY:
        return Problem(
            what=what,
            position=position,
            why=CLUSTER_ONLY[module],
            remedy="deploy this graph to a cluster, or leave the component out of the local file",
        )
    return Problem(
        what=what,
        position=position,
        why=f"{module} is not one of {', '.join(MODULE_PROFILES)}",
        remedy=_map_remedy(image, "an environment of yours that runs it"),
    )


def _map_remedy(image: str, meaning: str) -> str:
    return f'map the image to {meaning} in stator.toml: [images] "{image}" = {{ python = "/path/to/python" }}'
