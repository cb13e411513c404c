"""Which environment stands in for an image, and which images are refused with what advice."""

from __future__ import annotations

import pytest

from stator.errors import Position
from stator.local.config import ImageMapping, LocalConfig
from stator.local.runtimes import RuntimeRequest, UnrunnableError, resolve_runtime
from stator.model.commandline import CommandLine, Invocation
from stator.versions import ResolvedVersion, Version

RELEASED = ResolvedVersion(Version(1, 5, 1), "tag", "1.5.1")
UNRESOLVED = ResolvedVersion(None, "unresolved", "latest", 'tag "latest" is not X.Y.Z')
FRONTEND = "dynamo.frontend"
NGC = "nvcr.io/nvidia/ai-dynamo"


def running(*modules: str, opaque: str = "") -> CommandLine:
    """A command line that runs these modules without arguments."""
    return CommandLine(invocations=tuple(Invocation(module=module, argv=()) for module in modules), opaque=opaque)


def mapped(**images: ImageMapping) -> LocalConfig:
    """A configuration whose [images] holds these mappings, in order."""
    return LocalConfig(images=tuple(images.values()))


def refusal(
    image: str, command_line: CommandLine, version: ResolvedVersion = RELEASED, config: LocalConfig | None = None
) -> str:
    """The text of the error a user sees."""
    with pytest.raises(UnrunnableError) as refused:
        resolve_runtime(image, command_line, version, config or LocalConfig(), position=Position("graph.yaml", 12))
    (problem,) = refused.value.problems
    assert problem.position == Position("graph.yaml", 12)
    assert problem.remedy
    return str(problem)


@pytest.mark.parametrize(
    "image",
    [
        f"{NGC}/dynamo-frontend:1.5.1",
        f"{NGC}/sglang-runtime:1.5.1",
        f"{NGC}/vllm-runtime:1.5.1",
        f"{NGC}/tensorrtllm-runtime:1.5.1",
        "localhost:5000/sglang-runtime:1.5.1",
        "localhost:5000/mirror/sglang-runtime:1.5.1@sha256:" + "0" * 64,
        "trtllm-runtime",
        "dynamo-base:1.5.1-cuda13",
    ],
)
@pytest.mark.parametrize("module", ["dynamo.frontend", "dynamo.mocker", "dynamo.router", "dynamo.global_router"])
def test_light_modules_need_the_base_environment_in_any_runtime_image(image: str, module: str) -> None:
    """Frontend, router and mocker run without an engine, whatever runtime image carries them."""
    assert resolve_runtime(image, running(module), RELEASED, LocalConfig()) == RuntimeRequest(
        image=image, profile="base", version="1.5.1"
    )


def test_the_engine_on_the_command_line_decides_the_profile() -> None:
    """A shell line that starts a light module and SGLang needs the environment that runs both."""
    request = resolve_runtime("sglang-runtime", running(FRONTEND, "dynamo.sglang"), RELEASED, LocalConfig())
    assert request.profile == "sglang-cpu"


def test_modules_that_are_not_dynamo_do_not_matter() -> None:
    """A shell line may run other Python modules before the one that serves."""
    request = resolve_runtime("sglang-runtime", running("json.tool", FRONTEND), RELEASED, LocalConfig())
    assert request.profile == "base"


@pytest.mark.parametrize(
    ("module", "engine"), [("dynamo.vllm", "vLLM"), ("dynamo.trtllm", "TensorRT-LLM"), ("dynamo.vllm.omni", "vLLM")]
)
def test_gpu_engines_are_refused_by_name_and_the_mocker_offered(module: str, engine: str) -> None:
    """An engine without a CPU environment is named, with both ways out."""
    text = refusal("vllm-runtime:1.5.1", running(module))
    assert f"the {engine} engine needs a GPU" in text
    assert "--engine mocker" in text
    assert 'stator.toml: [images] "vllm-runtime:1.5.1"' in text


@pytest.mark.parametrize("module", ["dynamo.planner", "dynamo.global_planner", "dynamo.profiler"])
def test_modules_that_act_on_a_cluster_are_refused(module: str) -> None:
    """The planner has nothing to scale on one machine."""
    assert f"{module} cannot run on this machine" in refusal("dynamo-frontend:1.5.1", running(module))


def test_an_unknown_dynamo_module_is_not_guessed_at() -> None:
    """A module nobody has seen running here is refused with the known ones."""
    assert "dynamo.frontend, " in refusal("dynamo-frontend:1.5.1", running("dynamo.something"))


@pytest.mark.parametrize(
    "image",
    [f"{NGC}/kubernetes-operator:1.5.1", "dynamo-operator:1.5.1", "vllm/vllm-openai:v0.10.0", "nginx", "reg/runtime:1"],
)
def test_images_that_are_no_runtime_are_refused(image: str) -> None:
    """Only a Dynamo runtime's name is taken for one; the operator is not a runtime."""
    text = refusal(image, running(FRONTEND))
    assert "is not a Dynamo runtime" in text
    assert "stator.toml" in text


def test_a_command_line_that_cannot_be_read_is_refused_with_its_reason() -> None:
    """What a wrapper script runs is not guessed from the image's name."""
    text = refusal("sglang-runtime:1.5.1", running(opaque="/scripts/start.sh is a script of the image"))
    assert "/scripts/start.sh is a script of the image" in text


def test_an_unresolved_version_is_refused_not_guessed() -> None:
    """`latest` has no environment; the remedy is the override."""
    text = refusal("dynamo-frontend:latest", running(FRONTEND), UNRESOLVED)
    assert 'tag "latest" is not X.Y.Z' in text
    assert "runtimeVersionOverride" in text


def test_sglang_of_a_release_without_a_cpu_environment_is_refused_with_the_known_ones() -> None:
    """The base environment exists for every published release, the engine's for some."""
    old = ResolvedVersion(Version(1, 3, 0), "tag", "1.3.0")
    assert "1.4.2, 1.5.0, 1.5.1, 1.6.0, 1.6.1" in refusal("sglang-runtime:1.3.0", running("dynamo.sglang"), old)
    assert resolve_runtime("sglang-runtime:1.3.0", running(FRONTEND), old, LocalConfig()).version == "1.3.0"


def test_a_mapped_interpreter_is_taken_for_whatever_runs_in_it() -> None:
    """A user's own environment may hold a GPU engine and need no resolvable version."""
    config = mapped(own=ImageMapping(pattern="vllm-runtime:dev", python="/opt/own/bin/python"))
    assert resolve_runtime("vllm-runtime:dev", running("dynamo.vllm"), UNRESOLVED, config) == RuntimeRequest(
        image="vllm-runtime:dev", profile="custom", version="", origin="python", path="/opt/own/bin/python"
    )


def test_a_mapped_requirements_file_keeps_the_resolved_version() -> None:
    """The version of the image is still what compatibility is judged by."""
    config = mapped(own=ImageMapping(pattern="*/own:*", requirements="/etc/own.txt"))
    assert resolve_runtime("reg/own:1.5.1", running(), RELEASED, config) == RuntimeRequest(
        image="reg/own:1.5.1", profile="custom", version="1.5.1", origin="requirements", path="/etc/own.txt"
    )


def test_a_mapped_release_stands_in_for_an_image_of_any_name() -> None:
    """`ai-dynamo` names the release; without a profile the command line chooses it."""
    config = mapped(own=ImageMapping(pattern="reg/mine:dev", ai_dynamo="1.6.1"))
    request = resolve_runtime("reg/mine:dev", running("dynamo.sglang"), UNRESOLVED, config)
    assert request == RuntimeRequest(image="reg/mine:dev", profile="sglang-cpu", version="1.6.1")


def test_a_mapped_profile_makes_an_opaque_command_line_runnable() -> None:
    """Who maps an image with a profile knows what it runs."""
    config = mapped(own=ImageMapping(pattern="sglang-runtime:1.5.1", ai_dynamo="1.5.1", profile="base"))
    request = resolve_runtime("sglang-runtime:1.5.1", running(opaque="a script"), RELEASED, config)
    assert request.profile == "base"


def test_an_exact_reference_beats_a_pattern_and_the_first_pattern_wins() -> None:
    """Precedence of [images]: exact, then file order."""
    config = mapped(
        any=ImageMapping(pattern="reg/*", python="/any"),
        some=ImageMapping(pattern="reg/a*", python="/some"),
        exact=ImageMapping(pattern="reg/a:1", python="/exact"),
    )
    paths = [resolve_runtime(image, running(), RELEASED, config).path for image in ("reg/a:1", "reg/a:2")]
    assert paths == ["/exact", "/any"]
