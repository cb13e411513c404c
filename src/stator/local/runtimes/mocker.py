"""`--engine mocker`: the published mocker in the place of an engine that cannot run here.

The mocker speaks the engines' protocol to the frontend and router with invented tokens. It generates text only:
a worker that embeds, reranks or makes images has no stand-in, and is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from stator.compat import ContainerFacts, sglang
from stator.errors import Position, Problem
from stator.local.runtimes.request import UnrunnableError
from stator.model.commandline import CommandLine, Invocation

ENGINES = ("dynamo.sglang", "dynamo.vllm", "dynamo.trtllm")

# Where engines and the mocker read which model they serve.
MODEL_FLAGS = ("--model-path", "--model")
_NAME = ("--served-model-name",)
_ENDPOINT = ("--endpoint",)
_DISAGGREGATION = ("--disaggregation-mode",)
_MODES = {"prefill": "prefill", "decode": "decode"}
_OLD_MODES = {"--is-prefill-worker": "prefill", "--is-decode-worker": "decode"}
_EMBEDDING = "--embedding-worker"
# Flags that make a worker of another kind than text generation, in any of the three engines.
_OTHER_KINDS = {
    _EMBEDDING: "an embedding worker",
    "--is-embedding": "an embedding worker",
    "--rerank-worker": "a rerank worker",
    "--image-diffusion-worker": "an image diffusion worker",
    "--video-generation-worker": "a video generation worker",
}
_PATTERNS = {("--runner", "pooling"), ("--task", "embed"), ("--task", "embedding"), ("--convert", "embed")}


class StandIn(msgspec.Struct, frozen=True, kw_only=True):
    """The mocker's command in the place of an engine's.

    `argv` replaces the container's whole `command` and `args`. `dropped` are the engine's options that mean nothing
    to the mocker, one text per option with its values, in their order.
    """

    argv: tuple[str, ...]
    replaced: str
    dropped: tuple[str, ...] = ()

    @property
    def command_line(self) -> CommandLine:
        """The new command line, for `resolve_runtime`."""
        return CommandLine(invocations=(Invocation(module=self.argv[2], argv=self.argv[3:]),))


def with_mocker(
    command_line: CommandLine,
    *,
    facts: ContainerFacts | None = None,
    position: Position | None = None,
) -> StandIn | None:
    """The mocker in the place of the engine that `command_line` runs; None if it runs none (a frontend, a router).

    Kept are the model's path and served name, the endpoint, and whether the worker prefills or decodes. SGLang's
    switches are read from the container's `facts`. `$(NAME)` references stay for whoever expands the command line.

    Raises UnrunnableError for a worker that does not generate text, or whose model cannot be read from its flags.
    """
    engine = next((found for module in ENGINES if (found := command_line.of(module))), None)
    if engine is None:
        return None
    options = list(_options(engine.argv))
    _refuse_other_kinds(engine.module, options, facts, position)
    model = _last(options, MODEL_FLAGS)
    if not model or (engine.in_shell and "$" in model.replace("$(", "")):
        raise UnrunnableError(
            Problem(
                what=f"the mocker cannot stand in for {engine.module}",
                position=position,
                why=f'the model path "{model}" is known to the shell only' if model else "its flags name no model",
                remedy="give --model-path with a literal path",
            )
        )
    argv = ["python3", "-m", "dynamo.mocker", "--model-path", model]
    kept = set(MODEL_FLAGS)
    if name := _last(options, _NAME):
        argv += ["--model-name", name]
        kept.update(_NAME)
    if endpoint := _last(options, _ENDPOINT):
        argv += ["--endpoint", endpoint]
        kept.update(_ENDPOINT)
    if mode := _mode(options):
        argv += ["--disaggregation-mode", mode]
        kept.update(_DISAGGREGATION, _OLD_MODES)
    dropped = tuple(" ".join((flag, *values)) for flag, values in options if flag not in kept)
    return StandIn(argv=tuple(argv), replaced=engine.module, dropped=dropped)


_Option = tuple[str, tuple[str, ...]]


def _options(argv: Sequence[str]) -> Iterator[_Option]:
    """Flags with the words that follow them; `--flag=value` is one word and one value. A leading word has flag ""."""
    flag, values = "", list[str]()
    for word in argv:
        if word.startswith("-") and not _is_number(word):
            if flag or values:
                yield flag, tuple(values)
            flag, equals, value = word.partition("=")
            values = [value] if equals else []
        else:
            values.append(word)
    if flag or values:
        yield flag, tuple(values)


def _is_number(word: str) -> bool:
    return word[1:2].isdigit() or word[1:2] == "."


def _last(options: Sequence[_Option], flags: Sequence[str]) -> str:
    """The first value of the last of these flags: argparse lets the last one win, vLLM's name list begins with it."""
    found = [values[0] for flag, values in options if flag in flags and values]
    return found[-1] if found else ""


def _mode(options: Sequence[_Option]) -> str:
    mode = _MODES.get(_last(options, _DISAGGREGATION), "")
    return next((_OLD_MODES[flag] for flag, _ in reversed(options) if flag in _OLD_MODES), mode)


def _refuse_other_kinds(
    module: str, options: Sequence[_Option], facts: ContainerFacts | None, position: Position | None
) -> None:
    flags = dict(options)
    if module == sglang.MODULE and facts:
        # A switch may be negated, abbreviated or come from a variable.
        flags.pop(_EMBEDDING, None)
        if any(sglang.embedding(facts, worker).on for worker in sglang.workers(facts)):
            flags[_EMBEDDING] = ()
    kinds = [_OTHER_KINDS[flag] for flag in flags if flag in _OTHER_KINDS]
    kinds += ["a pooling worker" for flag, values in options for value in values if (flag, value) in _PATTERNS]
    if kinds:
        raise UnrunnableError(
            Problem(
                what=f"the mocker cannot stand in for {kinds[0]} ({module})",
                position=position,
                why="it generates text only",
                remedy="run this graph without --engine mocker",
            )
        )
