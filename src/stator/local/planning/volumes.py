"""Volumes as directories of this machine, and mount paths as paths below them.

A container sees `/models`; a process here sees the machine's own file system. So each mount path is replaced by its
local directory where it begins a path in the command line or in an environment value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from stator.local.kubelet.environment import PodFacts, Sources, field_value
from stator.local.plan import FilePlan
from stator.local.planning.notes import Notes

_LEFT_ALONE = "/dev/shm"  # noqa: S108 - the shared memory every process of this machine already has
_SECRET_MODE, _PLAIN_MODE = 0o600, 0o644


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume of one pod. `path` is None where there is no local counterpart; `why` says why."""

    path: str | None = None
    why: str = ""
    files: tuple[FilePlan, ...] = ()
    own_directory: bool = False


class Paths:
    """The mount paths of one container, and where they lead here."""

    def __init__(self, mounts: Mapping[str, str]) -> None:
        self.mounts = mounts
        # A path begins where the text, or a word, or what follows a URL's `://` begins; it ends at a `/`, or where
        # the name of the last directory does. The longest mount path wins.
        longest_first = "|".join(re.escape(path) for path in sorted(mounts, key=len, reverse=True))
        self._pattern = re.compile(rf"(?:(?<![\w./~-])|(?<=://))({longest_first})(?=/|$|[^\w./-])") if mounts else None

    def localise(self, text: str) -> str:
        """`text` with every mount path replaced."""
        return self._pattern.sub(lambda found: self.mounts[found[1]], text) if self._pattern else text

    def mentioned(self, text: str) -> bool:
        """Whether a mount path is used in `text`."""
        return bool(self._pattern and self._pattern.search(text))


_NOT_BELOW = "must be relative and must not contain '..' (Kubernetes documentation, Volumes)"


def _is_below(path: str) -> bool:
    """Whether a path leads into the volume: a manifest must not write, or read, anywhere else on this machine."""
    parts = PurePosixPath(path).parts
    return bool(parts) and not path.startswith("/") and ".." not in parts


class PodVolumes:
    """The volumes of one pod."""

    def __init__(
        self,
        spec: Mapping[str, Any],
        pod: PodFacts,
        sources: Sources,
        claims: Mapping[str, Path],
        directory: Path,
    ) -> None:
        self._pod = pod
        self._sources = sources
        self._claims = claims
        self._directory = directory
        self._problems: list[str] = []
        self._volumes = {volume["name"]: self._volume(volume) for volume in spec.get("volumes") or ()}
        self._used: set[str] = set()

    @property
    def directories(self) -> tuple[str, ...]:
        """The directories to make before the pod starts, of mounted volumes only."""
        return tuple(
            volume.path
            for name, volume in self._volumes.items()
            if volume.own_directory and volume.path and name in self._used
        )

    @property
    def files(self) -> tuple[FilePlan, ...]:
        """The files to write before the pod starts, of mounted volumes only."""
        return tuple(file for name, volume in self._volumes.items() if name in self._used for file in volume.files)

    def paths(self, notes: Notes, component: str, container: Mapping[str, Any], texts: Sequence[str]) -> Paths:
        """The mounts of a container. What has no local counterpart is ignored, unless one of `texts` uses it."""
        mounts: dict[str, str] = {}
        for mount in container.get("volumeMounts") or ():
            path = mount["mountPath"].rstrip("/") or "/"
            if path == _LEFT_ALONE:
                continue
            volume = self._volumes.get(mount["name"])
            where = f"component {component}: container {container['name']}: mount {path}"
            if volume is None:
                notes.refuse(where, why=f"the pod has no volume {mount['name']!r}")
            elif volume.path is None:
                if any(Paths({path: ""}).mentioned(text) for text in texts):
                    notes.refuse(where, why=volume.why, remedy=self._remedy(mount["name"], volume))
                else:
                    notes.ignore(component, f"container {container['name']}: mount {path}", volume.why)
            elif (sub_path := mount.get("subPath")) and not _is_below(sub_path):
                notes.refuse(where, why=f"subPath {sub_path!r}: {_NOT_BELOW}")
            else:
                self._used.add(mount["name"])
                mounts[path] = str(Path(volume.path, sub_path or ""))
        for problem in self._problems:
            notes.refuse(f"component {component}: {problem}")
        return Paths(mounts)

    @staticmethod
    def _remedy(name: str, volume: Volume) -> str:
        if "claim" in volume.why:
            return 'say in stator.toml which directory stands for it: [volumes."CLAIM"] path = "..."'
        return f"remove volume {name!r}, or what uses it"

    def _volume(self, volume: Mapping[str, Any]) -> Volume:
        own = str(self._directory / "volumes" / volume["name"])
        if (claim := volume.get("persistentVolumeClaim")) is not None:
            name = claim["claimName"]
            if name in self._claims:
                return Volume(path=str(self._claims[name]))
            return Volume(why=f"no local directory stands for claim {name!r}")
        if (host := volume.get("hostPath")) is not None:
            return Volume(path=host["path"])
        if "emptyDir" in volume:
            return Volume(path=own, own_directory=True)
        sources = (volume.get("projected") or {}).get("sources") or [volume]
        if any(kind in source for source in sources for kind in ("configMap", "secret", "downwardAPI")):
            files = tuple(file for source in sources for file in self._files(volume["name"], source, own))
            return Volume(path=own, files=files, own_directory=True)
        kinds = sorted(volume.keys() - {"name"})
        return Volume(why=f"volumes of kind {', '.join(kinds) or 'emptyDir'} are not supported on one machine")

    def _files(self, volume: str, source: Mapping[str, Any], directory: str) -> Iterator[FilePlan]:
        if (reference := source.get("configMap")) is not None:
            name = reference.get("name") or ""
            data = {key: text.encode() for key, text in self._sources.config_maps.get(name, {}).items()}
            found = name in self._sources.config_maps
            yield from self._items(volume, f'configmap "{name}"', reference, data if found else None, directory)
        if (reference := source.get("secret")) is not None:
            name = reference.get("secretName") or reference.get("name") or ""
            secret = self._sources.secrets.get(name)
            values = secret.values if secret else None
            yield from self._items(volume, f'secret "{name}"', reference, values, directory, secret=True)
        if (reference := source.get("downwardAPI")) is not None:
            for item in reference.get("items") or ():
                if not _is_below(item["path"]):
                    self._problems.append(f'volume "{volume}": downwardAPI path {item["path"]!r}: {_NOT_BELOW}')
                elif (field := item.get("fieldRef")) is not None:
                    content = field_value(field, self._pod).encode()
                    yield FilePlan(path=str(Path(directory, item["path"])), content=content)

    def _items(
        self,
        volume: str,
        what: str,
        reference: Mapping[str, Any],
        data: Mapping[str, bytes] | None,
        directory: str,
        *,
        secret: bool = False,
    ) -> Iterator[FilePlan]:
        kind = "secret" if secret else "config"
        failed = f'MountVolume.SetUp failed for volume "{volume}" : '
        if data is None:
            if not reference.get("optional"):
                self._problems.append(f"{failed}{what} not found")
            return
        items = reference.get("items")
        for item in items if items is not None else ({"key": key, "path": key} for key in data):
            if item["key"] in data:
                mode = _SECRET_MODE if secret else _PLAIN_MODE
                path = str(Path(directory, item["path"]))
                if not _is_below(item["path"]):
                    self._problems.append(f"{failed}{what}: path {item['path']!r}: {_NOT_BELOW}")
                    continue
                yield FilePlan(path=path, content=data[item["key"]], mode=mode, secret=secret)
            elif not reference.get("optional"):
                self._problems.append(f"{failed}{what}: references non-existent {kind} key: {item['key']}")
