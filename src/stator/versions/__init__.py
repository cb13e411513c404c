"""Versions: how a component's runtime version is found, ranges with holes, and the skew windows."""

from stator.versions.change import with_versions, with_versions_where_named
from stator.versions.ranges import VersionRange
from stator.versions.resolve import resolve
from stator.versions.version import InvalidVersionError, ResolvedVersion, Source, Version
from stator.versions.windows import Skew, frontend_worker, operator_runtime, platform_upgrade, prefill_decode

__all__ = [
    "InvalidVersionError",
    "ResolvedVersion",
    "Skew",
    "Source",
    "Version",
    "VersionRange",
    "frontend_worker",
    "operator_runtime",
    "platform_upgrade",
    "prefill_decode",
    "resolve",
    "with_versions",
    "with_versions_where_named",
]
