"""What `--engine mocker` makes of an engine's command line."""

from __future__ import annotations

import pytest

from stator.compat import ContainerFacts
from stator.local.config import LocalConfig
from stator.local.runtimes import UnrunnableError, resolve_runtime, with_mocker
from stator.model.commandline import CommandLine, Invocation
from stator.versions import ResolvedVersion, Version


def facts(module: str, argv: tuple[str, ...], env: dict[str, str]) -> ContainerFacts:
    """The container of that worker, with literal variables."""
    return ContainerFacts(
        object="DynamoGraphDeployment/ns/g",
        component="Worker",
        component_type="worker",
        backend=module,
        version=ResolvedVersion(Version(1, 5, 1), "tag"),
        env=tuple({"name": name, "value": value} for name, value in env.items()),
        env_from=(),
        command_line=engine(module, *argv),
    )


def engine(module: str, *argv: str, in_shell: bool = False) -> CommandLine:
    """The command line of one worker."""
    return CommandLine(invocations=(Invocation(module=f"dynamo.{module}", argv=argv, in_shell=in_shell),))


@pytest.mark.parametrize("module", ["sglang", "vllm", "trtllm"])
@pytest.mark.parametrize(
    "argv",
    [
        ("--model-path", "/m", "--served-model-name", "n"),
        ("--model-path=/m", "--served-model-name=n"),
        ("--model", "/m", "--served-model-name", "n", "second-name"),
        ("--model", "/other", "--model", "/m", "--served-model-name", "x", "--served-model-name", "n"),
    ],
)
def test_model_and_served_name_are_taken_from_the_engines_own_flags(module: str, argv: tuple[str, ...]) -> None:
    """All spellings of the three engines name the same model; the last one wins, as in their parsers."""
    stand_in = with_mocker(engine(module, *argv))
    assert stand_in is not None
    assert stand_in.argv == ("python3", "-m", "dynamo.mocker", "--model-path", "/m", "--model-name", "n")
    assert (stand_in.replaced, stand_in.dropped) == (f"dynamo.{module}", ())


def test_what_the_mocker_does_not_take_is_listed_not_lost() -> None:
    """Dropped options are reported with their values, negative numbers included, in their order."""
    stand_in = with_mocker(engine("sglang", "--tp", "2", "--model-path", "/m", "--seed", "-1", "--trust-remote-code"))
    assert stand_in is not None
    assert stand_in.argv[3:] == ("--model-path", "/m")
    assert stand_in.dropped == ("--tp 2", "--seed -1", "--trust-remote-code")


@pytest.mark.parametrize(
    ("flags", "mode"),
    [
        (("--disaggregation-mode", "prefill"), "prefill"),
        (("--disaggregation-mode=decode",), "decode"),
        (("--is-prefill-worker",), "prefill"),
        (("--is-decode-worker",), "decode"),
    ],
)
def test_prefill_and_decode_workers_stay_what_they_are(flags: tuple[str, ...], mode: str) -> None:
    """A disaggregated graph keeps its two halves and its endpoints."""
    stand_in = with_mocker(engine("vllm", "--model", "/m", "--endpoint", "dyn://a.b.c", *flags))
    assert stand_in is not None
    assert stand_in.argv[5:] == ("--endpoint", "dyn://a.b.c", "--disaggregation-mode", mode)
    assert stand_in.dropped == ()


def test_an_aggregated_mode_of_the_engine_is_dropped() -> None:
    """The engines call it `null`, `agg` or `prefill_and_decode`; the mocker's default is the same."""
    stand_in = with_mocker(engine("sglang", "--model", "/m", "--disaggregation-mode", "null"))
    assert stand_in is not None
    assert stand_in.dropped == ("--disaggregation-mode null",)


def test_components_without_an_engine_are_left_alone() -> None:
    """A frontend has nothing to replace."""
    assert with_mocker(CommandLine(invocations=(Invocation(module="dynamo.frontend", argv=()),))) is None


def test_the_stand_in_runs_in_the_base_environment() -> None:
    """A vLLM worker that was refused runs once the mocker is put in its place."""
    stand_in = with_mocker(engine("vllm", "--model", "/m"))
    assert stand_in is not None
    version = ResolvedVersion(Version(1, 5, 1), "tag")
    request = resolve_runtime("vllm-runtime:1.5.1", stand_in.command_line, version, LocalConfig())
    assert request.profile == "base"


@pytest.mark.parametrize(
    ("module", "flags", "env", "kind"),
    [
        ("sglang", ("--embedding-worker",), {}, "an embedding worker"),
        ("sglang", (), {"DYN_SGL_EMBEDDING_WORKER": " True "}, "an embedding worker"),
        ("sglang", ("--is-embedding",), {}, "an embedding worker"),
        ("sglang", ("--no-embedding-worker", "--embedding-worker"), {}, "an embedding worker"),
        ("sglang", ("--embedding-wor",), {}, "an embedding worker"),
        ("sglang", ("--rerank-worker",), {}, "a rerank worker"),
        ("sglang", ("--image-diffusion-worker",), {}, "an image diffusion worker"),
        ("vllm", ("--runner", "pooling"), {}, "a pooling worker"),
        ("vllm", ("--task=embed",), {}, "a pooling worker"),
    ],
)
def test_workers_that_do_not_generate_text_have_no_stand_in(
    module: str, flags: tuple[str, ...], env: dict[str, str], kind: str
) -> None:
    """Tokens instead of vectors would be a lie: refused by name."""
    with pytest.raises(UnrunnableError, match=f"the mocker cannot stand in for {kind}"):
        with_mocker(engine(module, "--model-path", "/m", *flags), facts=facts(module, flags, env))


@pytest.mark.parametrize(
    ("flags", "env"),
    [
        (("--embedding-worker", "--no-embedding-worker"), {}),
        (("--no-embedding-worker",), {"DYN_SGL_EMBEDDING_WORKER": "true"}),
        ((), {"DYN_SGL_EMBEDDING_WORKER": "off"}),
    ],
)
def test_a_switch_that_ends_up_off_does_not_make_an_embedding_worker(
    flags: tuple[str, ...], env: dict[str, str]
) -> None:
    """The last flag wins over an earlier one and over the variable."""
    assert with_mocker(engine("sglang", "--model-path", "/m", *flags), facts=facts("sglang", flags, env)) is not None


@pytest.mark.parametrize(
    ("argv", "in_shell", "why"),
    [
        ((), False, "its flags name no model"),
        (("--model-path",), False, "its flags name no model"),
        (("--model-path", "$MODEL"), True, "is known to the shell only"),
    ],
)
def test_a_model_that_cannot_be_read_is_an_error(argv: tuple[str, ...], in_shell: bool, why: str) -> None:  # noqa: FBT001 - a table's column
    """The mocker is never started with a guessed model."""
    with pytest.raises(UnrunnableError, match=why):
        with_mocker(engine("sglang", *argv, in_shell=in_shell))


def test_kubernetes_references_stay_for_the_expansion() -> None:
    """`$(NAME)` is expanded by whoever computes the container's environment, in a shell line too."""
    stand_in = with_mocker(engine("sglang", "--model-path", "$(MODEL)/x", in_shell=True))
    assert stand_in is not None
    assert stand_in.argv[4] == "$(MODEL)/x"
