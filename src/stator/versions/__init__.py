"""Versions: how a component's runtime version is found, ranges with holes, and the skew windows."""

from stator.versions.version import ResolvedVersion, Source, Version

__all__ = ["ResolvedVersion", "Source", "Version"]
