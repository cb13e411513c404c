"""What the runtimes must be told to find each other on one machine, without etcd, NATS or a cluster.

Facts from the published wheels 1.4 to 1.6: file discovery, TCP requests and ZMQ events need no service; all
listeners but the frontend's choose the address of the first network interface unless they are told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

_ONE_MACHINE = "traffic stays on this machine"


class Setting(msgspec.Struct, frozen=True):
    """A variable of the runtime: the value it gets here, and why. `replace` overrules the manifest."""

    value: str
    why: str
    replace: bool = True


class Refusal(msgspec.Struct, frozen=True):
    """A variable whose value needs something that is not here: which one, why it cannot be, what to do.

    The value itself is not part of it: it may come from a Secret.
    """

    variable: str
    why: str
    remedy: str


def settings(kv: str) -> dict[str, Setting]:
    """The variables of a dynamo container of the graph whose file discovery is in `kv`, in a fixed order."""
    return {
        "DYN_DISCOVERY_BACKEND": Setting("file", "there is no Kubernetes API here to discover through"),
        "DYN_FILE_KV": Setting(kv, "this graph's parts find each other here, and no other graph's"),
        "DYN_REQUEST_PLANE": Setting("tcp", "the default of some versions needs NATS", replace=False),
        "DYN_EVENT_PLANE": Setting("zmq", "the default needs NATS", replace=False),
        "DYN_TCP_RPC_HOST": Setting("127.0.0.1", _ONE_MACHINE),
        # An interface name: releases before 1.6 do not accept an address here.
        "DYN_TCP_RESPONSE_STREAM_HOST": Setting("lo", _ONE_MACHINE),
        "DYN_EVENT_PLANE_HOST": Setting("127.0.0.1", f"{_ONE_MACHINE} (releases before 1.6 do not honour this)"),
        "DYN_SYSTEM_HOST": Setting("127.0.0.1", _ONE_MACHINE),
        "DYN_HTTP_HOST": Setting("127.0.0.1", _ONE_MACHINE),
        "HF_HUB_OFFLINE": Setting("1", "nothing is downloaded unless the manifest sets this to 0", replace=False),
    }


# What works here, what an absent variable means to the runtimes, and what to do about anything else.
_PLANES = {
    "DYN_DISCOVERY_BACKEND": ({"kubernetes", "file"}, "etcd", "render with the kubernetes discovery backend"),
    "DYN_REQUEST_PLANE": ({"tcp", "http"}, "tcp", "remove it, or set it to tcp"),
    "DYN_EVENT_PLANE": ({"zmq"}, "zmq", "remove it, or set it to zmq"),
}


def refusals(env: Mapping[str, str]) -> tuple[Refusal, ...]:
    """Settings of a dynamo container that need a service which is not on this machine."""
    refused = []
    for variable, (possible, default, remedy) in _PLANES.items():
        value = env.get(variable) or default
        if value in possible:
            continue
        if value == "mem":
            why = "with it the parts of a graph do not see each other"
        elif variable in env:
            why = f"only {' and '.join(sorted(possible))} work without a service that is not on this machine"
        else:
            why = f"it is not set, which means {default}, and no {default} is started on this machine"
        refused.append(Refusal(variable=variable, why=why, remedy=remedy))
    return tuple(refused)


def is_dynamo(env: Mapping[str, str], argv: Sequence[str]) -> bool:
    """Whether a container runs a part of Dynamo: it is given its variables, or starts one of its modules."""
    return "DYN_NAMESPACE" in env or any(re.search(r"\bdynamo\.\w", argument) for argument in argv)


PORT_VARIABLES = (
    "DYN_HTTP_PORT",
    "DYNAMO_PORT",
    "DYN_SYSTEM_PORT",
    "NIXL_TELEMETRY_PROMETHEUS_PORT",
    "DYN_FORWARDPASS_METRIC_PORT",
    "PLANNER_PROMETHEUS_PORT",
)

_PORT_FLAGS = ("--http-port", "--port", "--grpc-metrics-port", "--grpc-port", "--metrics-port", "--nccl-port")
_PORT_FLAG = re.compile(rf"(?<![\w-])({'|'.join(_PORT_FLAGS)})(=|\s+)(\d+)(?!\S)")
_HOST_FLAG = re.compile(r"(?<![\w-])(--http-host|--host)(=|\s+)(0\.0\.0\.0|::|\[::\])(?!\S)")

# Arguments are looked at as one text, so that `--flag value` is found in an argv as it is in a shell script. The
# separator counts as white space in a regular expression, and no command line holds it.
_SEPARATOR = "\x1f"


def port_flags(argv: Sequence[str]) -> tuple[int, ...]:
    """The ports that flags on the command line give to the process."""
    return tuple(int(found[3]) for found in _PORT_FLAG.finditer(_SEPARATOR.join(argv)) if int(found[3]) > 0)


def with_ports(argv: Sequence[str], moved: Mapping[int, int]) -> tuple[str, ...]:
    """The command line with the ports in those flags replaced."""

    def replacement(found: re.Match[str]) -> str:
        port = int(found[3])
        return f"{found[1]}{found[2]}{moved.get(port, port)}"

    return tuple(_PORT_FLAG.sub(replacement, _SEPARATOR.join(argv)).split(_SEPARATOR))


def with_loopback(argv: Sequence[str]) -> tuple[str, ...]:
    """The command line with servers that would listen on every interface listening on 127.0.0.1."""
    return tuple(_HOST_FLAG.sub(r"\g<1>\g<2>127.0.0.1", _SEPARATOR.join(argv)).split(_SEPARATOR))
