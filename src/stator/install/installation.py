"""Everything an installation consists of, in the order in which it can be applied."""

from __future__ import annotations

from typing import Any

from stator.install.crds import custom_resource_definitions
from stator.install.rights import access
from stator.install.settings import Settings
from stator.install.webhooks import by_service, webhook_configurations
from stator.install.workload import namespace, workload
from stator.operator.names import CONVERT_PATH

Json = dict[str, Any]


def installation(settings: Settings) -> tuple[Json, ...]:
    """The objects of an installation: namespace, definitions, rights, workload, and the webhooks last.

    The settings must have been checked (`stator.install.settings.checked`).
    """
    client = by_service(settings) if settings.serves_webhooks else None
    return (
        namespace(settings),
        *custom_resource_definitions(client(CONVERT_PATH) if client else None),
        *access(settings),
        *workload(settings),
        *(webhook_configurations(client) if client else ()),
    )
