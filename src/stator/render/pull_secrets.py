"""Pull secrets that fit the pods' images, beside the user's own.

Which Secret is for which registry only the cluster knows; it comes in with the options. The user's list is never
shortened or reordered, one annotation turns the search off, and provenance says which Secret is there for which
image: a stale Secret on a public image breaks it, and whoever looks has to see where it came from
(ai-dynamo/dynamo#3092).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stator.render import names
from stator.render.context import Context
from stator.render.manifest import Provenance, Setter

Json = dict[str, Any]

_DOCKER_HUB = "docker.io"
_HUB_ALIASES = frozenset({"index.docker.io", "registry-1.docker.io"})


def registry_of(image: str) -> str:
    """The registry host of an image, with its port; an image that names none is on Docker Hub.

    The first part of a reference is a host if it has a dot or a port, or is `localhost` (distribution reference
    grammar).
    """
    first, slash, _ = image.partition("/")
    if not slash or not ("." in first or ":" in first or first == "localhost"):
        return _DOCKER_HUB
    return _DOCKER_HUB if first in _HUB_ALIASES else first


def add_pull_secrets(context: Context, spec: Json) -> tuple[Provenance, ...]:
    """Add the Secrets of the images' registries to a pod's spec, and say why each is there."""
    if not context.options.pull_secrets or context.annotations.get(names.NO_PULL_SECRETS) == "true":
        return ()
    present = {item.get("name") for item in spec.get("imagePullSecrets") or ()}
    added: dict[str, Provenance] = {}
    for image in _images(spec):
        registry = registry_of(image)
        for secret in context.options.pull_secrets.get(registry, ()):
            if secret not in present and secret not in added:
                setter = Setter("infrastructure", f"registry {registry} of {image}", None, secret)
                added[secret] = Provenance(
                    container=context.role.label("pod"), subject="pull-secret", name=secret, setter=setter
                )
    if added:
        spec["imagePullSecrets"] = [*(spec.get("imagePullSecrets") or ()), *({"name": secret} for secret in added)]
    return tuple(added.values())


def _images(spec: Json) -> Iterator[str]:
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            if image := container.get("image"):
                yield image
