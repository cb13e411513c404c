"""Timings and limits of a supervisor, in one place so that tests can shorten them."""

from __future__ import annotations

import msgspec


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Times are seconds, sizes bytes.

    The defaults are the kubelet's: a crashed container is restarted at once, then after 10 s, doubling to 5 minutes,
    and from the beginning again after 10 minutes without a crash (Kubernetes documentation, Pod Lifecycle, Container
    restarts); a log is rotated at 10 MiB and five files are kept (containerLogMaxSize, containerLogMaxFiles).
    `early_probe` is ours: the shortest pause between the extra questions to a container that was never Ready (see
    `kubelet.probing`).
    """

    early_probe: float = 0.1
    backoff_initial: float = 10
    backoff_limit: float = 300
    backoff_reset: float = 600
    log_bytes: int = 10 * 1024 * 1024
    log_files: int = 5


KUBELET = Settings()

# Probes at the kubelet's own times and at no others: for whoever wants to see what a start in a cluster looks like to
# those who use the graph meanwhile. (No infinity: JSON, in which settings travel, has none.)
UNHURRIED = Settings(early_probe=1e9)
