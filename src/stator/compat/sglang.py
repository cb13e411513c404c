"""What `python -m dynamo.sglang` will be once it runs: read from its arguments and environment before it does.

Dynamo's switches (`--x`, `--no-x`) take their default from an environment variable, where only true, 1, yes and on
count, in any case (with white space around them from 1.4.0 on); anything else is off without a word. A switch on the
command line beats the variable, the last one wins. `tools/evidence/embedding_switch_table.py` asks the real parser.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

import msgspec

from stator.compat.arguments import Arguments, read_arguments
from stator.compat.environment import Origin, setting
from stator.compat.facts import ContainerFacts
from stator.versions import Version

MODULE = "dynamo.sglang"
BACKEND = "sglang"

EMBEDDING = ("embedding-worker", "DYN_SGL_EMBEDDING_WORKER")
TEXT = ("use-sglang-tokenizer", "DYN_SGL_USE_TOKENIZER")
# main.py asks for these before it asks for the embedding worker.
_BEFORE_EMBEDDING = (
    ("image-diffusion-worker", "DYN_SGL_IMAGE_DIFFUSION_WORKER"),
    ("video-generation-worker", "DYN_SGL_VIDEO_GENERATION_WORKER"),
)
_MULTIMODAL = (
    ("enable-multimodal", "DYN_SGL_ENABLE_MULTIMODAL"),
    ("dedicated-mm-encoder", "DYN_SGL_DEDICATED_MM_ENCODER"),
    ("multimodal-encode-worker", "DYN_SGL_MULTIMODAL_ENCODE_WORKER"),
    ("multimodal-worker", "DYN_SGL_MULTIMODAL_WORKER"),
)
# Before 1.4.0 the variable's text was not stripped.
_STRIPPED_SINCE = Version(1, 4, 0)
_TRUE = frozenset({"true", "1", "yes", "on"})
# `python -m` runs the worker by each of these names; `unified_main` is another program, with other health checks.
_WORKERS = (MODULE, f"{MODULE}.main", f"{MODULE}.__main__")
# What the kubelet puts in the place of a whole argument, and what a shell does.
_KUBELET_EXPANSION = re.compile(r"\$\([^)]+\)")
_SHELL_EXPANSION = re.compile(r"\$\([^)]+\)|\$\w+|\$\{\w+\}")


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """A switch as the worker will read it. `on` is None if that is only known at container start.

    `where` locates what decides, as arguments for `ContainerFacts.locate`.
    """

    on: bool | None
    origin: Origin | Literal["argument"]
    where: tuple[str, ...]


def workers(facts: ContainerFacts) -> tuple[Arguments, ...]:
    """The arguments of every SGLang worker the command line starts, without those whose parser would refuse them.

    A command line that cannot be read and shows no worker counts as one worker without arguments.
    """
    runs = [run for run in facts.command_line.invocations if run.module in _WORKERS]
    if not runs and facts.command_line.opaque:
        return (Arguments({}, {}, ()),)
    read = (read_arguments(BACKEND, facts.version.core, run.argv) for run in runs)
    return tuple(arguments for arguments in read if arguments is not None)


def may_be_on(facts: ContainerFacts, names: tuple[str, str]) -> bool:
    """Whether anything asks for the switch called `names`: its variable, or its flag in full or abbreviated.

    Most containers show that they have nothing of it, and nobody has to parse their command lines.
    """
    return not facts.given.isdisjoint(_asking(names))


@cache
def _asking(names: tuple[str, str]) -> frozenset[str]:
    flag, variable = names
    return frozenset({variable, *(f"--{flag[:length]}" for length in range(1, len(flag) + 1))})


def switch(facts: ContainerFacts, arguments: Arguments, names: tuple[str, str]) -> Switch:
    """The switch called `names`: the flag without dashes, and its environment variable."""
    flag, variable = names
    if flag in arguments.switches:
        return Switch(on=arguments.switches[flag], origin="argument", where=("args",))
    found = setting(facts, variable)
    where = {"env-from": ("envFrom",), "absent": ()}.get(found.origin, ("env", variable))
    if found.origin == "absent" or found.text is not None:
        return Switch(on=_true(found.text or "", facts.version.core), origin=found.origin, where=where)
    return Switch(on=None, origin=found.origin, where=where)


def _true(text: str, release: Version | None) -> bool:
    stripped = text.strip() if release is None or release >= _STRIPPED_SINCE else text
    return stripped.lower() in _TRUE


def embedding(facts: ContainerFacts, arguments: Arguments) -> Switch:
    """Whether the worker serves embeddings: the switch, unless a worker mode that is asked for earlier is on."""
    for names in _BEFORE_EMBEDDING:
        if (other := switch(facts, arguments, names)).on:
            return Switch(on=False, origin=other.origin, where=other.where)
    return switch(facts, arguments, EMBEDDING)


def hidden(facts: ContainerFacts, arguments: Arguments) -> str:
    """Why the command line may hold more switches than can be read, or an empty text.

    A whole argument `$(NAME)`, or in a script `"$NAME"`, may become any option, unless it follows an option and so is
    that option's value.
    """
    in_shell = any(run.in_shell for run in facts.command_line.invocations)
    expansion = _SHELL_EXPANSION if in_shell else _KUBELET_EXPANSION
    before = ("", *arguments.rest)
    for previous, word in zip(before, arguments.rest, strict=False):
        if expansion.fullmatch(word) and not previous.startswith("-"):
            return f"the argument {word} is only known at container start"
    return facts.command_line.opaque


def special(facts: ContainerFacts, arguments: Arguments) -> str:
    """What makes this more than a plain aggregated worker, in words, or an empty text.

    Only what the manifest shows. SGLang's own options are matched by their first letters, because its parser takes
    abbreviations too.
    """
    if facts.component_type in {"prefill", "decode"}:
        return f"the component is a {facts.component_type} worker"
    for names in _MULTIMODAL:
        found = switch(facts, arguments, names)
        if found.on or (found.on is None and found.origin == "value-from"):
            return f"--{names[0]} may be on"
    for word in (*arguments.rest, *(f"--{name}" for name in arguments.values)):
        if word.startswith(("--disagg", "--dllm", "--config")):
            return f"{word.partition('=')[0]} may change what the worker does"
    return ""
