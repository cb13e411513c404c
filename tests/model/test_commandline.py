"""What a container's command line is said to run."""

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stator.model import read_command_line

SHELL = ["/bin/sh", "-c"]


def modules(command: list[str], args: list[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Module and arguments of every invocation found."""
    return [(found.module, found.argv) for found in read_command_line(command, args).invocations]


@pytest.mark.parametrize(
    "command",
    [
        ["python3", "-m", "dynamo.sglang"],
        ["python", "-m", "dynamo.sglang"],
        ["/opt/venv/bin/python3.11", "-u", "-m", "dynamo.sglang"],
        ["python3", "-X", "dev", "-W", "ignore", "-m", "dynamo.sglang"],
        ["python3", "-Xdev", "-um", "dynamo.sglang"],
        ["python3", "-mdynamo.sglang"],
        ["python3", "--check-hash-based-pycs", "never", "-m", "dynamo.sglang"],
        ["env", "A=b", "python3", "-m", "dynamo.sglang"],
        ["tini", "-g", "--", "python3", "-m", "dynamo.sglang"],
        ["numactl", "--cpunodebind=0", "python3", "-m", "dynamo.sglang"],
        ["nohup", "timeout", "10", "python3", "-m", "dynamo.sglang"],
    ],
)
def test_an_argv_shows_its_module_and_arguments(command: list[str]) -> None:
    """However the interpreter is spelled or wrapped, module and arguments are found, and nothing hides."""
    read = read_command_line(command, ["--model-path", "a b", "--embedding-worker"])
    assert [(found.module, found.argv) for found in read.invocations] == [
        ("dynamo.sglang", ("--model-path", "a b", "--embedding-worker"))
    ]
    assert read.opaque == ""
    assert not read.invocations[0].in_shell


SCRIPTS = [
    "python3 -m dynamo.sglang --embedding-worker --name 'a b'",
    'exec python3 -m dynamo.sglang --embedding-worker --name "a b"',
    "python3 -m dynamo.sglang \\\n  --embedding-worker \\\n  --name a\\ b\n",
    "A=1 B='x y' python3 -m dynamo.sglang --embedding-worker --name 'a b' > log 2>&1",
    "mkdir -p /x && cd /x; python3 -m dynamo.sglang --embedding-worker --name 'a b' | tee log",
    "# python3 -m other\npython3 -m dynamo.sglang --embedding-worker --name 'a b' # --no-embedding-worker",
    "(python3 -m dynamo.sglang --embedding-worker --name 'a b') &\nwait",
    "{ python3 -m dynamo.sglang --embedding-worker --name 'a b'; }",
    "cat <<'END' >f\npython3 -m other\nEND\npython3 -m dynamo.sglang --embedding-worker --name 'a b'",
    "cat <<-END >f\n\tpython3 -m other\n\tEND\npython3 -m dynamo.sglang --embedding-worker --name 'a b'",
    "python3 -m dynamo.sglang --embedding-worker --name 'a b' &>log",
    "python3 -m dynamo.sglang --embedding-worker --name 'a b' > >(tee log; cat)",
    "python3 -m dynamo.sglang --embedding-worker --name $'a b'",
    "bash -ec \"python3 -m dynamo.sglang --embedding-worker --name 'a b'\"",
    "python3 -m dynamo.sglang --embedding-worker <<<word --name 'a b'",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_shell_script_shows_its_module_and_arguments(script: str) -> None:
    """Quoting, continuations, redirections, comments, groups and here-documents are read as the shell reads them."""
    read = read_command_line(SHELL, [script])
    assert [(found.module, found.argv) for found in read.invocations] == [
        ("dynamo.sglang", ("--embedding-worker", "--name", "a b"))
    ]
    assert read.opaque == ""
    assert read.invocations[0].in_shell


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_real_shell_agrees(script: str, tmp_path: Path) -> None:
    """Bash hands the interpreter the arguments that reading the script predicts."""
    python, seen = tmp_path / "python3", tmp_path / "seen"
    python.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {seen}\n")
    python.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    subprocess.run(["bash", "-c", script.replace("/x", "x")], cwd=tmp_path, env={"PATH": path}, check=True)
    assert seen.read_text().split("\0")[:-1] == ["-m", "dynamo.sglang", "--embedding-worker", "--name", "a b"]


def test_every_invocation_of_a_script_is_found_in_order() -> None:
    """A script that starts several modules shows all of them."""
    script = "python3 -m dynamo.frontend & python3 -m dynamo.vllm --x || python3 -m dynamo.sglang"
    assert modules(SHELL, [script]) == [("dynamo.frontend", ()), ("dynamo.vllm", ("--x",)), ("dynamo.sglang", ())]


def test_only_the_first_argument_of_sh_c_is_the_script() -> None:
    """`args` after the script are `$0`, `$1`, …: flags written there do not reach the module."""
    assert modules(SHELL, ["python3 -m dynamo.sglang", "--embedding-worker"]) == [("dynamo.sglang", ())]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ('python3 -m m "$@"', ("a b", "c")),
        ("python3 -m m x$1", ("xa b",)),
        ('python3 -m m "${2}" "$0"', ("c", "sh")),
        ('python3 -m m "$*"', ("a b c",)),
        ('python3 -m m pre"$@"post', ("prea b", "cpost")),
        ('python3 -m m "$9" $9', ("",)),
    ],
)
def test_positional_parameters_are_filled_in(script: str, expected: tuple[str, ...]) -> None:
    """The extra arguments of `sh -c` reach the module where the script refers to them."""
    assert modules(["bash", "-c", script, "sh"], ["a b", "c"]) == [("m", expected)]


def test_a_script_that_runs_its_arguments_is_read_through() -> None:
    """`exec "$@"` runs the rest of the list."""
    assert modules(["sh", "-c", 'exec "$@"', "sh"], ["python3", "-m", "m", "--x"]) == [("m", ("--x",))]


def test_no_parameters_leave_no_argument() -> None:
    """`"$@"` without arguments is nothing, not an empty argument."""
    assert modules(["bash", "-c", 'python3 -m m "$@"'], []) == [("m", ())]


@pytest.mark.parametrize(
    "text", ['"$MODEL"', '"$(hostname)"', '"${MODEL:-x y}"', '"`id`"', "'$MODEL'", "$((1 + 2))", "$#"]
)
def test_an_expansion_that_stays_one_argument_is_kept_as_written(text: str) -> None:
    """A quoted expansion cannot add flags, so the command line stays readable."""
    read = read_command_line(SHELL, [f"python3 -m m --model {text}"])
    assert read.invocations[0].argv == ("--model", text.strip("\"'"))
    assert read.opaque == ""


@pytest.mark.parametrize("text", ["$ARGS", "${ARGS}", "$(cat args)", "`cat args`", "--port=$PORT", "*.json", "$(ARGS)"])
def test_an_expansion_that_could_add_arguments_is_said(text: str) -> None:
    """An unquoted expansion is kept as written, and the reader is warned that flags may hide in it."""
    read = read_command_line(SHELL, [f"python3 -m m {text} --x"])
    assert read.invocations[0].argv == (text, "--x")
    assert "could add arguments" in read.opaque


def test_kubernetes_references_in_an_argv_stay_one_argument() -> None:
    """`$(NAME)` in an argv is replaced by the kubelet inside its argument, so nothing can hide in it."""
    read = read_command_line(["python3", "-m", "m"], ["--model", "$(MODEL)", "$$(x)"])
    assert read.invocations[0].argv == ("--model", "$(MODEL)", "$$(x)")
    assert read.opaque == ""


@pytest.mark.parametrize(
    ("command", "args", "reason"),
    [
        (["./start.sh"], ["--x"], "./start.sh"),
        (["bash", "start.sh"], [], "start.sh"),
        (["tini", "--", "/opt/run"], [], "/opt/run"),
        (["python3", "serve.py"], [], "serve.py"),
        (["python3", "-c", "import x"], [], "-c"),
        (["bash"], [], "standard input"),
        (["vllm", "serve"], [], "vllm"),
        ([], [], "entrypoint"),
        ([], ["python3", "-m", "m"], "entrypoint"),
        (SHELL, ["source /env && python3 -m m"], "source"),
        (SHELL, ["python3 -m m 'unbalanced"], "not closed"),
        (SHELL, ['python3 -m m "unbalanced'], "not closed"),
        (SHELL, ["python3 -m m $(unbalanced"], "missing"),
        (SHELL, ["$PYTHON -m m"], "$PYTHON"),
        (SHELL, ["if test -n x; then python3 -m m; fi"], "if"),
        (SHELL, ["for i in 1 2; do python3 -m m; done"], "for"),
        (SHELL, ["case $x in a) python3 -m m;; esac"], "case"),
        (SHELL, ['set -- "$@" --x; exec python3 -m m "$@"'], "set"),
        (["sh", "-c", 'sh -c "$0" "$0"', 'sh -c "$0" "$0"'], [], "nested"),
    ],
)
def test_what_cannot_be_read_is_said(command: list[str], args: list[str], reason: str) -> None:
    """A script file, code, a decision at start or broken quoting make the command line opaque, with the reason."""
    assert reason in read_command_line(command, args).opaque


@pytest.mark.parametrize(
    "script",
    [
        'start() { python3 -m m "$@"; }; start --x',
        "function start {\n  python3 -m m $1\n}\nstart --x",
        'start ()\n{\n  test -e /x && { echo y; }\n  exec python3 -m m "$@"\n}\nstart --x',
        'start() ( python3 -m m "${@}" ); start --x',
        'start() { if test -e /x; then { echo y; }; fi; python3 -m m "$@"; }; start --x',
    ],
)
def test_a_functions_parameters_are_those_of_its_calls(script: str) -> None:
    """What a function passes on is not what the script was given: the rest of the command line is not known."""
    read = read_command_line(["sh", "-c", script, "sh", "--given"], [])
    assert [found.module for found in read.invocations] == ["m"]
    assert "--given" not in read.invocations[0].argv
    assert read.opaque


def test_a_script_with_a_function_still_passes_its_own_parameters_on() -> None:
    """Outside of the function's body they are the script's."""
    script = 'log() { echo "$1"; }; log start; exec python3 -m m "$@"'
    read = read_command_line(["sh", "-c", script, "sh", "--given"], [])
    assert (read.invocations[0].argv, read.opaque) == (("--given",), "")


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["python3", "-m", "$(MOD)", "--x"], []),
        (["python3", "-mdynamo.$(KIND)"], []),
        (SHELL, ['python3 -m "$MOD" --x']),
        (SHELL, ["python3 -m `cat module`"]),
    ],
)
def test_a_module_that_is_named_at_start_is_no_module(command: list[str], args: list[str]) -> None:
    """Nobody can say before what runs, so nothing is claimed to."""
    read = read_command_line(command, args)
    assert read.invocations == ()
    assert "only known at start" in read.opaque


@pytest.mark.parametrize("script", ["echo python3 -m m", "pip --version; which python3", "cat <<E\npython3 -m m\nE"])
def test_text_that_only_looks_like_a_run_is_none(script: str) -> None:
    """What is printed, looked up or fed to a program is not run."""
    assert modules(SHELL, [script]) == []


def test_a_launcher_shows_itself_and_the_module_it_starts() -> None:
    """`torch.distributed.run -m MODULE` runs both modules."""
    argv = ["--nproc-per-node", "2", "-m", "dynamo.vllm", "--x"]
    assert modules(["python3", "-m", "torch.distributed.run"], argv) == [
        ("torch.distributed.run", tuple(argv)),
        ("dynamo.vllm", ("--x",)),
    ]


@pytest.mark.parametrize(
    ("command", "args", "where"),
    [
        (["python3", "-m", "m"], ["--x"], ("command", 2)),
        (["python3"], ["-u", "-m", "m"], ("args", 2)),
        (["python3"], ["-mm"], ("args", 0)),
        (SHELL, ["python3 -m m"], ("args", 0)),
        (["sh", "-c", "python3 -m m"], [], ("command", 2)),
    ],
)
def test_an_invocation_knows_the_entry_it_stands_in(
    command: list[str], args: list[str], where: tuple[str, int]
) -> None:
    """The entry of `command` or `args` that names the module is kept, so that reports can point at it."""
    assert read_command_line(command, args).invocations[0].where == where


@given(st.lists(st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"])), max_size=6))
def test_quoted_arguments_come_back_as_they_were(argv: list[str]) -> None:
    """Whatever an argument holds, quoting it for the shell and reading it again changes nothing."""
    read = read_command_line(SHELL, [shlex.join(["python3", "-m", "m", *argv])])
    assert read.invocations[0].argv == tuple(argv)
    assert read.opaque == ""


SHELL_LIKE = st.text(alphabet=" \n\t'\"\\$`(){}<>|&;#*@1ampython3-=c!", max_size=60)


@given(st.lists(SHELL_LIKE | st.sampled_from(["sh", "-c", "python3", "-m", "env", "exec"]), max_size=5), SHELL_LIKE)
def test_any_text_can_be_read(command: list[str], script: str) -> None:
    """No text, however broken, makes reading fail."""
    read_command_line(command, [script])
    read_command_line(["sh", "-c", script], command)
