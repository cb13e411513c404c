"""References of a container that lead nowhere, an image that is not published, a command line that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stator.compat.facts import ContainerFacts
from stator.compat.outcome import Outcome
from stator.compat.rule import Rule

_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")
_REFERENCE = re.compile(r"\$\$|\$\(([^)]*)\)")
# In lower case it is more likely a command that a shell is meant to run: `$(hostname)`.
_NAME = re.compile(r"[A-Z_][A-Z0-9_]*")
# Set by others than the container's own lists: service links (Kubernetes documentation, "Discovering services"),
# the multi-node schedulers, and the operator's own multi-node names.
_FROM_ELSEWHERE = re.compile(r".*_SERVICE_(HOST|PORT)(_.*)?|.*_PORT(_.*)?|(GROVE|LWS|DYNAMO|KUBERNETES)_.*")


def unnamed_port(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Probes that name a port the container does not have: outcome `port`."""
    del rule
    names = [port["name"] for port in facts.body.get("ports") or () if port.get("name")]
    for field in _PROBES:
        probe = facts.body.get(field) or {}
        for handler in ("httpGet", "tcpSocket"):
            port = (probe.get(handler) or {}).get("port")
            if isinstance(port, str) and not port.isdecimal() and port not in names:
                values = {"probe": field, "port": port, "ports": ", ".join(names) or "none"}
                yield Outcome(key="port", where=(field,), values=values)


def unresolved_reference(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Environment entries with a `$(NAME)` that nothing before them sets: outcomes `later` and `nowhere`.

    What an `envFrom` source could carry, and what others add to a pod, may resolve.
    """
    del rule
    names: set[str] = set()
    before: set[str] = set()
    for entry in facts.env:
        value = entry.get("value") or ""
        for name in _REFERENCE.findall(value) if "$(" in value else ():
            names = names or {entry["name"] for entry in facts.env}
            if name in before or not _NAME.fullmatch(name) or _FROM_ELSEWHERE.fullmatch(name):
                continue
            if facts.could_come_from_env_from(name):
                continue
            key = "later" if name in names else "nowhere"
            yield Outcome(key=key, where=("env", entry["name"]), values={"variable": entry["name"], "reference": name})
        before.add(entry["name"])


def unread_command_line(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Command lines of which no rule can see all: outcome `unseen` if nothing of Dynamo's is seen, else `more`.

    Arguments that are nothing but the caller's (`"$@"`) show no more than no command at all. `looks_for`: `all`, the
    words that stand for them.
    """
    line = facts.command_line
    seen = [run for run in line.invocations if run.module.startswith("dynamo.")]
    known = seen and not any(word in rule.looks_for["all"] for run in seen for word in run.argv)
    if line.opaque and known:
        yield Outcome(key="more", where=("args",), values={"why": line.opaque})
    elif line.opaque:
        yield Outcome(key="unseen", where=("command",), values={"why": line.opaque})


def image_variant(facts: ContainerFacts, rule: Rule) -> Iterator[Outcome]:
    """Images in a variant the release is not published in: outcome `variant`. `looks_for`: `tag`, an expression."""
    image = str(facts.body.get("image") or "")
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    if facts.version.core is not None and re.search(rule.looks_for["tag"], tag):
        yield Outcome(key="variant", where=("image",), values={"tag": tag})
