"""The decisions behind the rules, by the name rule files use: one module per family of predicates."""

from __future__ import annotations

from stator.compat.outcome import FleetPredicate, GraphPredicate, MovePredicate, PlatformPredicate, Predicate
from stator.compat.predicates import (
    container,
    dictionaries,
    fields,
    manifest,
    moves,
    options,
    platform,
    variables,
    windows,
    wire,
)
from stator.compat.predicates.sglang_canary import embedding_canary

CONTAINER_PREDICATES: dict[str, Predicate] = {
    "sglang-embedding-canary": embedding_canary,
    "canary-without-payload": variables.canary_without_payload,
    "deprecated-option": dictionaries.deprecated_option,
    "discarded-payload": variables.discarded_payload,
    "gone": options.gone,
    "image-variant": container.image_variant,
    "missing-module": options.missing_module,
    "port-range": variables.port_range,
    "probed-elsewhere": variables.probed_elsewhere,
    "refused-choice": dictionaries.refused_choice,
    "refused-text": variables.refused_text,
    "refused-value": options.refused_value,
    "text-mode-canary": variables.text_mode_canary,
    "unknown-option": dictionaries.unknown_option,
    "unnamed-port": container.unnamed_port,
    "unread-command-line": container.unread_command_line,
    "unresolved-reference": container.unresolved_reference,
}
GRAPH_PREDICATES: dict[str, GraphPredicate] = {
    "dropped-field": fields.dropped_field,
    "duplicate-env": manifest.duplicate_env,
    "embedding-wire": wire.embedding_wire,
    "event-subjects": wire.event_subjects,
    "frontend-worker-window": windows.frontend_worker_window,
    "gpus": manifest.gpus,
    "grace": manifest.grace,
    "identity-variables": manifest.identity_variables,
    "kv-events-source": manifest.kv_events_source,
    "misspelt-annotation": fields.misspelt_annotation,
    "missing-reference": manifest.missing_reference,
    "operator-runtime-window": windows.operator_runtime_window,
    "planner-names": wire.planner_names,
    "planes-differ": wire.planes_differ,
    "prefill-decode-versions": windows.prefill_decode_versions,
    "pruned-field": platform.pruned_field,
    "ray-executor": manifest.ray_executor,
    "refused": manifest.refused,
    "reserved-container": manifest.reserved_container,
    "service-not-installed": platform.service_not_installed,
    "shadowed-source": manifest.shadowed_source,
    "shared-memory": manifest.shared_memory,
    "topology-binding": platform.topology_binding,
    "unknown-field": fields.unknown_field,
    "unreadable-version": windows.unreadable_version,
}
FLEET_PREDICATES: dict[str, FleetPredicate] = {"foreign-workers": wire.foreign_workers}
MOVE_PREDICATES: dict[str, MovePredicate] = {"crosses": moves.crosses, "rollout-window": windows.rollout_window}

PLATFORM_PREDICATES: dict[str, PlatformPredicate] = {
    "chart-values": platform.chart_values,
    "kubernetes-release": platform.kubernetes_release,
    "pinned-operator": platform.pinned_operator,
    "removed-kind": platform.removed_kind,
    "stored-version": platform.stored_version,
}

__all__ = [
    "CONTAINER_PREDICATES",
    "FLEET_PREDICATES",
    "GRAPH_PREDICATES",
    "MOVE_PREDICATES",
    "PLATFORM_PREDICATES",
]
