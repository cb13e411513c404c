"""One container as a local process: its environment, command line, ports and probes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import msgspec

from stator.local.kubelet.environment import Environment, PodFacts, Sources, pod_environment
from stator.local.kubelet.expansion import LONGEST, TooLongError, expand, references
from stator.local.plan import REDACTED, ContainerPlan, Probe, ProbeKind, SecretText, Text
from stator.local.planning import dynamo
from stator.local.planning.notes import Notes, position_of
from stator.local.planning.ports import PodPorts
from stator.local.planning.probes import UnknownPortError, UnsupportedProbeError, find_port, plan_probe
from stator.local.planning.services import ServiceNames
from stator.local.planning.unsupported import note_container
from stator.local.planning.volumes import PodVolumes
from stator.render import RenderedComponent

# What a process of this machine needs from its surroundings and an image would bring; nothing else leaks in.
PASSED_ON = ("HOME", "LANG", "LC_ALL", "LOGNAME", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR", "TZ", "USER")
_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_NOT_TEXT = "is not UTF-8 text without NUL"
_TOO_LONG = f"is longer than the {LONGEST} bytes that a process can be given in one piece"

_PYTHON = re.compile(r"python(3(\.\d+)?)?")


class RuntimeFacts(Protocol):
    """What planning needs to know about the Python environment that stands for an image."""

    @property
    def python(self) -> str:
        """Path of the interpreter."""
        ...

    @property
    def bin(self) -> str:
        """Directory of its programs."""
        ...

    @property
    def profile(self) -> str:
        """`base`, `sglang-cpu`, ..."""
        ...

    @property
    def version(self) -> str:
        """Version of the runtime in it."""
        ...


class PodContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the containers of one pod share."""

    component: RenderedComponent
    pod: PodFacts
    sources: Sources
    names: ServiceNames
    ports: PodPorts
    volumes: PodVolumes
    directory: Path
    kv: Path
    host_env: Mapping[str, str]
    notes: Notes


def _unfit(text: str) -> str:
    """Why a process cannot be given the text, or the supervisor told of it; empty if it can."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return _NOT_TEXT
    if "\0" in text:
        return _NOT_TEXT
    return _TOO_LONG if size > LONGEST else ""


def plan_container(container: Mapping[str, Any], runtime: RuntimeFacts, context: PodContext) -> ContainerPlan:
    """`container` (a core/v1 Container) on `runtime`. What is wrong is noted, and a plan returned all the same."""
    return _Container(container, runtime, context).plan()


class _Container:
    def __init__(self, container: Mapping[str, Any], runtime: RuntimeFacts, context: PodContext) -> None:
        self.container = container
        self.name: str = container["name"]
        self.runtime = runtime
        self.context = context
        self.notes = context.notes
        self.where = f"component {context.component.name}: container {self.name}"
        self.command = (*(container.get("command") or ()), *(container.get("args") or ()))

    def plan(self) -> ContainerPlan:
        note_container(self.notes, self.context.component.name, self.container)
        self._note_runtime()
        computed = self._computed_environment()
        texts = (*computed.values.values(), *self.command)
        component = self.context.component.name
        self.paths = self.context.volumes.paths(self.notes, component, self.container, texts)
        for path, local in self.paths.mounts.items():
            if path != local:
                self._adapt(f"path {path}", path, local, "processes here share the machine's file system")
        self.secret = computed.secret
        self.env = self._local_environment(computed.values)
        argv = self._argv()
        return ContainerPlan(
            name=self.name,
            image=self.container.get("image") or "",
            runtime=f"{self.runtime.profile} {self.runtime.version}",
            argv=argv,
            env={name: SecretText(value) if name in self.secret else value for name, value in self.env.items()},
            directory=str(self.context.directory),
            ports=self._ports(),
            startup=self._probe("startup"),
            liveness=self._probe("liveness"),
            readiness=self._probe("readiness"),
        )

    def _adapt(self, what: str, cluster: str, local: str, why: str) -> None:
        self.notes.adapt(self.context.pod.name, what, cluster=cluster, local=local, why=why)

    def _note_runtime(self) -> None:
        image = self.container.get("image") or ""
        local = f"{self.runtime.profile} {self.runtime.version} ({self.runtime.python})"
        self._adapt(f"container {self.name}: image", image, local, "a Python environment stands for the image")

    def _computed_environment(self) -> Environment:
        environment = pod_environment(self.container, self.context.pod, self.context.sources)
        for unresolved in environment.unresolved:
            self.notes.refuse(
                f"{self.where}: env {unresolved.name}" if unresolved.name != "envFrom" else f"{self.where}: envFrom",
                position=position_of(self.context.component, self.name, unresolved.name),
                why=f"CreateContainerConfigError: {unresolved.message}",
                remedy="add the object to the files of this run, or mark the reference `optional: true`",
            )
        unfit = {name: why for name, value in environment.values.items() if (why := _unfit(f"{name}={value}"))}
        for name, why in (unfit | dict.fromkeys(environment.too_long, _TOO_LONG)).items():
            self.notes.refuse(
                f"{self.where}: env {name}",
                position=position_of(self.context.component, self.name, name),
                why=f"its value {why}",
                remedy="mount it as a file of a volume",
            )
        for name in environment.skipped:
            self.notes.ignore(self.context.component.name, f"container {self.name}: env {name}", "no variable name")
        return environment

    def _local_environment(self, computed: Mapping[str, str]) -> dict[str, str]:
        env = {name: self.context.names.localise(self.paths.localise(value)) for name, value in computed.items()}
        if dynamo.is_dynamo(env, self.command):
            self._adapt_dynamo(env)
        for name in dynamo.PORT_VARIABLES:
            if (value := env.get(name, "")).isdecimal() and int(value) > 0:
                env[name] = str(self.context.ports.move(int(value), secret=name in self.secret))
        path = env.get("PATH") or self.context.host_env.get("PATH") or _SYSTEM_PATH
        passed_on = {name: self.context.host_env[name] for name in PASSED_ON if name in self.context.host_env}
        return {**passed_on, **env, "PATH": f"{self.runtime.bin}:{path}"}

    def _adapt_dynamo(self, env: dict[str, str]) -> None:
        for refusal in dynamo.refusals(env):
            value = REDACTED if refusal.variable in self.secret else env.get(refusal.variable, "")
            self.notes.refuse(
                f"{self.where}: {refusal.variable}={value}",
                position=position_of(self.context.component, self.name, refusal.variable),
                why=refusal.why,
                remedy=refusal.remedy,
            )
        for name, setting in dynamo.settings(str(self.context.kv)).items():
            before = env.get(name, "")
            if before and not setting.replace:
                continue
            if before != setting.value:
                shown = REDACTED if name in self.secret else before
                self._adapt(f"container {self.name}: env {name}", shown, setting.value, setting.why)
            env[name] = setting.value
        for name, why in dynamo.LEFT_OUT.get(self.runtime.profile, {}).items():
            if name in env:
                before = env.pop(name)
                shown = REDACTED if name in self.secret else before
                self._adapt(f"container {self.name}: env {name}", shown, "", why)

    def _argv(self) -> tuple[Text, ...]:
        if not self.container.get("command"):
            self.notes.refuse(
                f"{self.where}: no command",
                why="the image's own entry point is not known on one machine",
                remedy="set `command` (and `args`) as the image's documentation says",
            )
            return ()
        if why := next(filter(None, map(_unfit, self.command)), ""):
            self._refuse_command(why)
            return ()
        argv = self._local_command(self.command)
        if not argv:
            return ()
        plain = tuple(text.secret if isinstance(text, SecretText) else text for text in argv)
        public = dynamo.port_flags(tuple(text if isinstance(text, str) else "" for text in argv))
        for port in dynamo.port_flags(plain):
            self.context.ports.move(port, secret=port not in public)
        moved = dynamo.with_ports(plain, self.context.ports.moved)
        looped = dynamo.with_loopback(moved)
        if looped != moved:
            self._adapt(f"container {self.name}: host flag", "all interfaces", "127.0.0.1", "traffic stays here")
        return tuple(
            SecretText(local) if isinstance(text, SecretText) else local
            for text, local in zip(argv, looped, strict=True)
        )

    def _refuse_command(self, why: str) -> None:
        remedy = "mount long text as a file of a volume, and name that file"
        self.notes.refuse(f"{self.where}: command", why=f"a word of it {why}", remedy=remedy)

    def _local_command(self, command: Sequence[str]) -> tuple[Text, ...]:
        """Mount paths and service names are replaced before expansion: what variables bring is local already."""
        texts: list[Text] = []
        for text in command:
            try:
                local = expand(self.context.names.localise(self.paths.localise(text)), self.env)
            except TooLongError:
                self._refuse_command(_TOO_LONG)
                return ()
            texts.append(SecretText(local) if references(text) & self.secret else local)
        if texts and isinstance(texts[0], str) and _PYTHON.fullmatch(PurePosixPath(texts[0]).name):
            texts[0] = self.runtime.python
        return tuple(texts)

    def _ports(self) -> dict[int, int]:
        """All declared ports. Runs after env and argv have said which ones the process is told."""
        ports = {}
        for declared in self.container.get("ports") or ():
            port = int(declared["containerPort"])
            ports[port] = self.context.ports.local(port)
        return ports

    def _probe(self, kind: ProbeKind) -> Probe | None:
        probe = self.container.get(f"{kind}Probe")
        if probe is None:
            return None
        try:
            return plan_probe(probe, self._probe_port, self._local_command)
        except UnknownPortError as error:
            self.notes.refuse(
                f"{self.where}: {kind}Probe",
                why=f"{error}; the kubelet could never run this probe",
                remedy="declare the port in `ports`, or probe a port by number",
            )
        except UnsupportedProbeError as error:
            self.notes.ignore(
                self.context.component.name,
                f"container {self.name}: {kind}Probe",
                f"{error}; the container counts as if it had none",
            )
        return None

    def _probe_port(self, port: Any) -> int:
        return self.context.ports.local(find_port((self.container,), port))
