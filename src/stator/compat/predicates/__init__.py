"""The decisions behind the rules, by the name rule files use: one module per family of predicates."""

from __future__ import annotations

from collections.abc import Mapping

from stator.compat.outcome import Predicate
from stator.compat.predicates.sglang_canary import embedding_canary

PREDICATES: Mapping[str, Predicate] = {"sglang-embedding-canary": embedding_canary}

__all__ = ["PREDICATES"]
