"""TensorRT-LLM across nodes: MPI over SSH. The leader starts every rank, a worker only lets it in.

The key pair comes from a Secret with the entries `private.key` and `private.key.pub`, which the operator
makes once per namespace: rendering is pure and makes no keys.
"""

from __future__ import annotations

from collections.abc import Sequence

from stator.render.backends.injection import Argv, NoPlaceError, invocation_of, quoted
from stator.render.backends.setters import literal, set_by, without_probes
from stator.render.changes import Changes, Json, together
from stator.render.context import Context
from stator.render.defaults import SHELL
from stator.render.environment import Entry
from stator.render.manifest import NotRendered
from stator.render.resources import gpu_count

_PORT = 2222
_KEYS = "/ssh-pk"
_DNS_SECONDS = 300
# Linux takes no longer argument (execve(2), MAX_ARG_STRLEN), and the whole launch is one.
_LONGEST = 128 * 1024 - 1
# Read by the ranks, and often set by the image and not by the pod.
_PASSED_ON = frozenset(
    {
        *("CUDA_VISIBLE_DEVICES", "HF_ENDPOINT", "HF_HOME", "HF_TOKEN", "HOME", "HUGGING_FACE_HUB_TOKEN"),
        *("LD_LIBRARY_PATH", "MODEL_PATH", "NCCL_DEBUG", "PATH", "PYTHONPATH", "TOKENIZERS_PARALLELISM", "USER"),
    }
)
_READY = {
    "tcpSocket": {"port": _PORT},
    "initialDelaySeconds": 20,
    "periodSeconds": 20,
    "timeoutSeconds": 5,
    "failureThreshold": 10,
}
_CONFIGURATION = f"Host *\\nIdentityFile ~/.ssh/id_rsa\\nStrictHostKeyChecking no\\nPort {_PORT}\\n"


def changes(context: Context, body: Json, argv: Argv, env: Sequence[Entry]) -> Changes:
    """The MPI launch or the SSH server of this pod; `env` is the container's, whose names every rank gets.

    Nothing on a single node. Raises NoPlaceError if the command line does not show TensorRT-LLM, or the
    hosts are too many for one command line.
    """
    role = context.role
    if role.nodes == 1:
        return Changes()
    invocation_of(argv, "trtllm")
    detail = f"trtllm multinode, {role.name}"
    if role.is_worker:
        script = f"{_keys()} && {_server()}"
        made = together(
            without_probes(context, body, ("startupProbe", "livenessProbe"), detail),
            Changes(
                probes={"readinessProbe": dict(_READY)},
                provenance=(set_by(context, detail, "probe", "readinessProbe", f"TCP port {_PORT}"),),
            ),
        )
    else:
        if role.nodes * len(role.worker_host) > _LONGEST:
            raise _too_long(role.nodes)
        hosts = list(role.worker_hosts())
        passed = sorted({*_PASSED_ON, _FQDN, *(entry.name for entry in env)})
        ranks = role.nodes * gpu_count(body.get("resources") or {})
        steps = [_keys(), *([_wait(hosts)] if role.hosts_need_dns else [])]
        script = " && ".join([*steps, _launch([role.leader, *hosts], argv, max(ranks, role.nodes), passed)])
        if len(script) > _LONGEST:
            raise _too_long(role.nodes)
        made = Changes()
    secret = context.options.mpi_secret
    started = Changes(
        command=SHELL,
        args=(script,),
        env=(literal(_FQDN, "1", detail),),
        mounts=({"name": secret, "mountPath": _KEYS, "readOnly": True},),
        volumes=({"name": secret, "secret": {"secretName": secret, "defaultMode": 0o644}},),
        provenance=(set_by(context, detail, "flag", "args", "sshd" if role.is_worker else "mpirun"),),
        missing=(
            NotRendered(
                (f"Secret/{context.graph.namespace}/{secret}",),
                context.at("multinode"),
                "the key pair by which the leader reaches its workers is made by the operator, once per namespace",
            ),
        ),
    )
    return together(made, started)


_FQDN = "OMPI_MCA_orte_keep_fqdn_hostnames"


def _keys() -> str:
    """The pod's SSH directory; private files may be read by nobody else, or SSH refuses them."""
    return " && ".join(
        [
            "mkdir -p ~/.ssh",
            "chmod 700 ~/.ssh",
            f"cp {_KEYS}/private.key ~/.ssh/id_rsa",
            f"cp {_KEYS}/private.key.pub ~/.ssh/authorized_keys",
            "chmod 600 ~/.ssh/id_rsa ~/.ssh/authorized_keys",
            f"printf '{_CONFIGURATION}' > ~/.ssh/config",
        ]
    )


def _too_long(nodes: int) -> NoPlaceError:
    return NoPlaceError(
        f"the names of {nodes} hosts are longer than the {_LONGEST} bytes that Linux takes as a command"
    )


def _server() -> str:
    return " && ".join(
        [
            "mkdir -p /run/sshd",
            "ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/host_key",
            f"exec /usr/sbin/sshd -D -e -p {_PORT} -o StrictModes=no -h ~/.ssh/host_key",
        ]
    )


def _wait(hosts: Sequence[str]) -> str:
    """Hold the launch until every worker's name resolves; `mpirun` would give up at the first that does not."""
    words = " ".join(f'"{host}"' for host in hosts)
    return (
        f"left={_DNS_SECONDS}; for host in {words}; do until getent hosts $host >/dev/null; do "
        'left=$((left - 1)); [ $left -gt 0 ] || { echo "$host does not resolve" >&2; exit 1; }; sleep 1; done; done'
    )


def _launch(hosts: Sequence[str], argv: Argv, ranks: int, passed: Sequence[str]) -> str:
    original = _script(argv) or quoted(argv.words)
    variables = " ".join(f"-x {name}" for name in passed)
    return (
        'set -- && if [ "$(id -u)" = 0 ]; then set -- --allow-run-as-root; fi && '
        f'exec mpirun "$@" --oversubscribe -n {ranks} -H "{",".join(hosts)}" '
        f'--mca plm_rsh_args "-p {_PORT} -o StrictHostKeyChecking=no -i ~/.ssh/id_rsa" {variables} '
        f"bash -c {quoted([f'trtllm-llmapi-launch {original}'])}"
    )


def _script(argv: Argv) -> str:
    """The text of a shell command that is one run of the module, which needs no second shell."""
    words = argv.words
    found = invocation_of(argv, "trtllm")
    plain = found.in_shell and len(words) == len(SHELL) + 1 and words[2].lstrip().startswith("python")
    return words[2] if plain else ""
