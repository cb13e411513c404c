"""Reading an SGLang worker's switches: the tables in data/ are what the real parsers answered, case by case."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stator.compat import sglang

TABLES = sorted((Path(__file__).parent / "data").glob("sglang-switches-*.json"))
# How Dynamo's own parser words the cases in which it ends the process; the rest is refused by the engine's parser.
REFUSED_FIRST = (
    "ambiguous option",
    "ignored explicit argument",
    "argument --namespace: expected",
    "argument --health-check-payload: expected",
)


def _cases() -> Iterator[Any]:
    for path in TABLES:
        table = json.loads(path.read_text())
        for case in table["cases"]:
            words = " ".join([*case["argv"], *(f"{name}={value!r}" for name, value in case["env"].items())])
            yield pytest.param(table["versions"]["ai-dynamo"], case, id=f"{path.stem[16:]}: {words}")


@pytest.mark.parametrize(("release", "case"), list(_cases()))
def test_a_switch_means_what_the_real_parser_takes_it_for(release: str, case: dict[str, Any], container: Any) -> None:
    """Embedding mode, text mode and payload flag come out as in the runtime, or the worker is known not to start."""
    base = ("--model-path", "m", "--device", "cpu", "--attention-backend", "torch_native")
    facts = container(*base, *case["argv"], image=f"sglang-runtime:{release}", env=case["env"])
    result = case["result"]
    workers = sglang.workers(facts)
    if "embedding_worker" not in result:
        refused_first = any(words in result.get("error", "") for words in REFUSED_FIRST)
        assert len(workers) == (0 if refused_first else 1)
        return
    (arguments,) = workers
    embedding = sglang.switch(facts, arguments, sglang.EMBEDDING)
    text = sglang.switch(facts, arguments, sglang.TEXT)
    # Here the kubelet comes first and would replace the reference; the parser alone sees its text and takes it for off.
    expected = None if "$(" in str(case["env"]) else result["embedding_worker"]
    assert (embedding.on, text.on) == (expected, result["use_sglang_tokenizer"])
    from_env = case["env"].get("DYN_HEALTH_CHECK_PAYLOAD")
    assert arguments.values.get("health-check-payload", (from_env,))[-1] == result["health_check_payload"]


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_abbreviations_are_told_apart_where_the_real_parser_tells_them_apart(path: Path, container: Any) -> None:
    """The shortest spelling the runtime takes is taken, and one letter less is not taken for the same option."""
    table = json.loads(path.read_text())
    image = f"sglang-runtime:{table['versions']['ai-dynamo']}"
    for flag, found in table["prefixes"].items():
        value = ("{}",) if flag == "--health-check-payload" else ()
        name = flag.removeprefix("--no-").removeprefix("--")
        (arguments,) = sglang.workers(container(found["shortest_unique"], *value, image=image))
        assert name in {*arguments.switches, *arguments.values}
        for shorter in sglang.workers(container(found["shortest_unique"][:-1], *value, image=image)):
            assert name not in {*shorter.switches, *shorter.values}


@pytest.mark.parametrize(
    ("release", "refused"),
    [("1.0.2", False), ("1.1.0", True), ("1.5.1", True)],
)
def test_abbreviations_depend_on_the_release(release: str, refused: bool, container: Any) -> None:  # noqa: FBT001 - a table
    """`--emb` is the embedding switch until --embedding-transfer-mode comes in 1.1.0 and makes it ambiguous."""
    assert (sglang.workers(container("--emb", image=f"sglang-runtime:{release}")) == ()) == refused


@pytest.mark.parametrize(("release", "on"), [("1.3.1", False), ("1.4.0", True), ("1.5.0", True)])
def test_spaces_around_a_truth_value_count_since_1_4_0(release: str, on: bool, container: Any) -> None:  # noqa: FBT001 - a table
    """Older releases compare the text as it is, so ` true ` is off there."""
    facts = container(image=f"sglang-runtime:{release}", env={"DYN_SGL_EMBEDDING_WORKER": " true "})
    (arguments,) = sglang.workers(facts)
    assert sglang.embedding(facts, arguments).on is on


@pytest.mark.parametrize("flag", ["--image-diffusion-worker", "--video-generation-worker"])
def test_a_diffusion_worker_is_no_embedding_worker(flag: str, container: Any) -> None:
    """The runtime asks for diffusion and video first, so both switches together give no embedding worker."""
    facts = container("--embedding-worker", flag)
    (arguments,) = sglang.workers(facts)
    assert sglang.embedding(facts, arguments).on is False


def test_help_starts_no_worker(container: Any) -> None:
    """`--help` and `--version` print and end, wherever they stand."""
    assert sglang.workers(container("--embedding-worker", "--version")) == ()
    assert sglang.workers(container("-h")) == ()
