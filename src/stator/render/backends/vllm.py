"""vLLM across nodes, in the four ways its command line can ask for, and on one node with elastic experts.

With W = tensor x pipeline size and G = GPUs of one node:

1. W > G, multiprocessing: every rank runs the command with the leader's address and its own rank.
2. W > G, Ray: the leader starts a Ray head and the command, workers join the head and lend it their GPUs.
3. Elastic expert parallelism: a Ray cluster too, but a worker joins only when the leader serves.
4. W x data parallel size > G: every node serves its own share of the data parallel ranks.

Otherwise every node holds complete engines, and nothing has to be said. Multiprocessing is what graphs get that were
made by an operator from 1.0.0 on; older ones keep Ray, as does who asks for it by annotation.
"""

from __future__ import annotations

from collections.abc import Sequence

from stator.model.shell import UnreadableScriptError, simple_commands
from stator.render import names
from stator.render.backends.injection import Argv, NoPlaceError, invocation_of, quoted, with_flags
from stator.render.backends.parallelism import Parallelism, UnreadableSizeError, option, parallelism
from stator.render.backends.setters import field, set_by, without_probes
from stator.render.backends.waiting import wait_for_leader
from stator.render.changes import Changes, Json, together
from stator.render.context import Context
from stator.render.defaults import SHELL
from stator.render.metadata import workload_labels
from stator.render.origin import made_since
from stator.render.probes import PROBES
from stator.render.resources import gpu_count
from stator.render.service import ray_service
from stator.versions import Version

_MASTER_PORT = 29500
_RAY_PORT = 6379
_RPC_PORT = 13445
_SYSTEM_PORT = 9090
_MULTIPROCESSING_SINCE = Version(1, 0, 0)
_WAITS_FOR_RAY_SINCE = Version(1, 5, 0)
_RAY_HEAD = f"ray start --head --port={_RAY_PORT}"
_LIVE = "import urllib.request as r; r.urlopen('http://{leader}:{port}/live', timeout=2)"


def changes(context: Context, body: Json, argv: Argv) -> Changes:
    """What this pod needs to be part of its engine.

    Raises NoPlaceError where flags cannot be placed, or the layout cannot be read off the command line.
    """
    role = context.role
    if role.nodes == 1:
        return _elastic_alone(context, argv) if _is_elastic(argv) else Changes()
    gpus = gpu_count(body.get("resources") or {})
    made = _layout(context, argv, gpus)
    detail = f"vllm multinode, {role.name}"
    return together(made, without_probes(context, body, PROBES, detail)) if role.is_worker else made


def _layout(context: Context, argv: Argv, gpus: int) -> Changes:
    if not gpus:
        raise NoPlaceError(
            "the container has no nvidia.com/gpu limit, so nobody knows how an engine is spread over the nodes"
        )
    try:
        sizes = parallelism(invocation_of(argv, "vllm").argv)
    except UnreadableSizeError as error:
        raise NoPlaceError(str(error)) from None
    if sizes.world > gpus:
        return _multiprocessing(context, argv) if _uses_multiprocessing(context) else _ray(context, argv)
    if _is_elastic(argv):
        return _elastic(context, argv)
    if sizes.world * sizes.data > gpus:
        return _data_parallel(context, argv, sizes, gpus)
    return Changes()


def _uses_multiprocessing(context: Context) -> bool:
    """The annotation decides; else the operator release that made the graph."""
    chosen = context.annotations.get(names.VLLM_EXECUTOR, "").lower()
    if chosen in ("mp", "ray"):
        return chosen == "mp"
    return made_since(context, _MULTIPROCESSING_SINCE)


def _multiprocessing(context: Context, argv: Argv) -> Changes:
    role = context.role
    flags = [
        *("--distributed-executor-backend", "mp", "--nnodes", str(role.nodes)),
        *("--master-addr", role.leader, "--master-port", str(_MASTER_PORT), "--node-rank", role.rank),
    ]
    if role.is_worker:
        flags.append("--headless")
    detail = f"vllm multiprocessing, {role.name}"
    made = together(
        _flagged(context, argv, flags, detail, needs_shell=role.rank_needs_shell),
        Changes(env=(field("VLLM_NIXL_SIDE_CHANNEL_HOST", "status.podIP", detail),)),
    )
    return together(made, wait_for_leader(context, "mp", _MASTER_PORT)) if role.is_worker else made


def _ray(context: Context, argv: Argv) -> Changes:
    detail = f"vllm on Ray, {context.role.name}"
    if context.role.is_worker:
        joined = _shell(context, f"ray start --address={context.role.leader}:{_RAY_PORT} --block", detail)
        waits = made_since(context, _WAITS_FOR_RAY_SINCE)
        return together(joined, wait_for_leader(context, "ray", _RAY_PORT)) if waits else joined
    flags = ["--distributed-executor-backend", "ray"]
    placed = with_flags(argv, "vllm", flags)
    return together(
        _shell(context, _after_ray_head(placed), detail),
        Changes(provenance=(set_by(context, detail, "flag", flags[0], flags[1]),)),
    )


def _elastic(context: Context, argv: Argv) -> Changes:
    role = context.role
    detail = f"vllm elastic experts, {role.name}"
    if not role.is_worker:
        return _shell(context, _after_ray_head(argv), detail)
    live = quoted(["python3", "-c", _LIVE.format(leader=role.leader, port=_SYSTEM_PORT)])
    join = f"exec ray start --address={role.leader}:{_RAY_PORT} --block"
    return _shell(context, f"until {live} 2>/dev/null; do sleep 2; done; {join}", detail)


def _elastic_alone(context: Context, argv: Argv) -> Changes:
    """One node: the command needs a Ray head beside it, and to be told its own address."""
    if not context.component.main.get("command"):
        return Changes()
    detail = "vllm elastic experts"
    pod_ip = tuple(field(name, "status.podIP", detail) for name in ("POD_IP", "VLLM_DP_MASTER_IP"))
    joinable = (ray_service(context, workload_labels(context)),) if context.provider == "grove" else ()
    return together(_shell(context, _after_ray_head(argv), detail), Changes(env=pod_ip, objects=joinable))


def _data_parallel(context: Context, argv: Argv, sizes: Parallelism, gpus: int) -> Changes:
    role = context.role
    local = gpus // sizes.world
    start = f"$(({local} * {role.rank_expression}))" if role.is_worker else "0"
    flags = ["--data-parallel-hybrid-lb"]
    if not sizes.data_given:
        flags += ["--data-parallel-size", str(local * role.nodes)]
    flags += [
        *("--data-parallel-size-local", str(local), "--data-parallel-start-rank", start),
        *("--data-parallel-address", role.leader, "--data-parallel-rpc-port", str(_RPC_PORT)),
    ]
    return _flagged(context, argv, flags, f"vllm data parallel, {role.name}", needs_shell=role.is_worker)


def _flagged(context: Context, argv: Argv, flags: Sequence[str], detail: str, *, needs_shell: bool) -> Changes:
    placed = with_flags(argv, "vllm", flags, needs_shell=needs_shell)
    pairs = [
        (name, following if not following.startswith("--") else "")
        for name, following in zip(flags, (*flags[1:], "--"), strict=True)
        if name.startswith("--")
    ]
    return Changes(
        command=placed.command,
        args=placed.args,
        provenance=tuple(set_by(context, detail, "flag", name, value) for name, value in pairs),
    )


def _shell(context: Context, script: str, detail: str) -> Changes:
    # The rest of the script holds the user's own words, which may carry a credential.
    shown = script.partition(" && ")[0].partition(" ||")[0]
    return Changes(command=SHELL, args=(script,), provenance=(set_by(context, detail, "flag", "args", shown),))


def _after_ray_head(argv: Argv) -> str:
    """The Ray head, then the command. A script is kept as text; of one with several commands all have to wait."""
    words = argv.words
    if len(words) != len(SHELL) + 1 or words[0].rpartition("/")[2] not in ("sh", "bash") or words[1] != "-c":
        return f"{_RAY_HEAD} && exec {quoted(words)}"
    script = words[2]
    try:
        single = len(list(simple_commands(script))) == 1
    except UnreadableScriptError:
        single = False
    return f"{_RAY_HEAD} && {script}" if single else f"{_RAY_HEAD} || exit 1\n{script}"


def _is_elastic(argv: Argv) -> bool:
    try:
        words = invocation_of(argv, "vllm").argv
    except NoPlaceError:
        return False
    backend = option(words, ("--data-parallel-backend", "-dpb"))
    return "--enable-elastic-ep" in words and backend == "ray"
