"""Which framework a worker runs, and what is wrong if that cannot be said."""

from __future__ import annotations

import pytest
from rendered import render

from stator.errors import InvalidInputError


def graph(*workers: str, framework: str = "", kind: str = "worker") -> str:
    """A graph of workers that each run one shell line."""
    lines = [
        "apiVersion: nvidia.com/v1beta1",
        "kind: DynamoGraphDeployment",
        "metadata: {name: g, namespace: ns}",
        "spec:",
    ]
    if framework:
        lines.append(f"  backendFramework: {framework}")
    lines.append("  components:")
    for index, script in enumerate(workers):
        lines += [
            f"  - name: W{index}",
            f"    type: {kind}",
            "    podTemplate: {spec: {containers: [{name: main, image: reg/x:1.5.1,",
            f"      args: ['{script}']}}]}}}}",
        ]
    return "\n".join(lines)


def backends(text: str) -> list[str]:
    """The components' backends."""
    return [component.backend for component in render(text).components]


def problems(text: str) -> list[tuple[str, str]]:
    """Position and text of all problems of a graph."""
    with pytest.raises(InvalidInputError) as caught:
        render(text)
    return [(str(problem.position), problem.what) for problem in caught.value.problems]


@pytest.mark.parametrize("framework", ["sglang", "vllm", "trtllm"])
def test_the_framework_is_read_off_the_command_line(framework: str) -> None:
    """The default shell command and its script are understood."""
    assert backends(graph(f"python3 -m dynamo.{framework} --x")) == [framework]


def test_a_submodule_counts_and_a_lookalike_does_not() -> None:
    """`dynamo.vllm.main` is vLLM, `dynamo.vllm_extra` is not."""
    assert backends(graph("python3 -m dynamo.vllm.main")) == ["vllm"]
    assert backends(graph("python3 -m dynamo.vllm_extra")) == ["noop"]


def test_what_is_not_a_worker_has_no_framework() -> None:
    """A planner that happens to run a framework's module is not treated as one of its workers."""
    assert backends(graph("python3 -m dynamo.vllm", kind="planner")) == ["noop"]


def test_a_wrapped_worker_takes_the_frameworks_the_others_show() -> None:
    """A script that hides the module is taken for what the graph declares or its other workers run."""
    assert backends(graph("./start.sh", "python3 -m dynamo.sglang")) == ["sglang", "sglang"]
    assert backends(graph("./start.sh", framework="trtllm")) == ["trtllm"]
    assert backends(graph("./start.sh")) == ["noop"]


def test_two_frameworks_in_one_worker_need_a_declaration() -> None:
    """Without one it is a problem, with one the declared framework counts."""
    both = "python3 -m dynamo.vllm & python3 -m dynamo.sglang"
    assert problems(graph(both)) == [("-:9", "component W0 runs more than one framework: sglang, vllm")]
    assert backends(graph(both, framework="vllm")) == ["vllm"]


def test_two_frameworks_in_one_graph_are_a_problem() -> None:
    """The second worker is pointed to."""
    assert problems(graph("python3 -m dynamo.vllm", "python3 -m dynamo.sglang")) == [
        ("-:13", "component W1 runs sglang, but component W0 runs vllm")
    ]


def test_every_worker_that_contradicts_the_declaration_is_reported() -> None:
    """All problems of a graph come at once."""
    text = graph("python3 -m dynamo.vllm", "python3 -m dynamo.vllm", framework="sglang")
    assert problems(text) == [
        ("-:10", 'component W0 runs vllm, but spec.backendFramework is "sglang"'),
        ("-:14", 'component W1 runs vllm, but spec.backendFramework is "sglang"'),
    ]


def test_a_bad_override_is_reported_with_everything_else() -> None:
    """An override that is no release and a contradiction are one error with two problems."""
    text = graph("python3 -m dynamo.vllm", framework="sglang")
    assert [
        position for position, _ in problems(text.replace("    type:", "    runtimeVersionOverride: '1.5'\n    type:"))
    ] == [
        "-:8",
        "-:11",
    ]
