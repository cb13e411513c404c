"""Everything an installation consists of, in the order in which it can be applied."""

from __future__ import annotations

from typing import Any, Literal

from stator.install.crds import custom_resource_definitions
from stator.install.rights import access
from stator.install.settings import Settings
from stator.install.webhooks import by_service, webhook_configurations
from stator.install.workload import namespace, workload
from stator.operator.names import CONVERT_PATH

Json = dict[str, Any]
Part = Literal["all", "definitions", "operator"]


def installation(settings: Settings, part: Part = "all") -> tuple[Json, ...]:
    """The objects of an installation: definitions, namespace, rights, workload, and the webhooks last.

    The definitions are a part of their own: with them an API server deletes all graphs. An operator of one namespace
    shares that with its graphs, so the namespace is not part of the installation, and must exist. The settings must
    have been checked (`stator.install.settings.checked`).
    """
    client = by_service(settings) if settings.serves_webhooks else None
    definitions = custom_resource_definitions(client(CONVERT_PATH) if client else None)
    operator = (
        *(() if settings.namespaced else (namespace(settings),)),
        *access(settings),
        *workload(settings),
        *(webhook_configurations(client, settings) if client else ()),
    )
    return (*(definitions if part != "operator" else ()), *(operator if part != "definitions" else ()))
