#!/usr/bin/env python3
"""What the real parser of `python -m dynamo.sglang` makes of the switches DYN101 reads.

    ENV/bin/python tools/evidence/embedding_switch_table.py --model DIR > tests/compat/data/sglang-switches-V-pyNNN.json

ENV holds ai-dynamo and sglang of one release; DIR is any local model sglang can describe (configuration and tokenizer,
no weights are read). `dynamo.sglang.args.parse_args` is called once per case; no server is started, nothing is sent.
Prints the versions, the shortest prefix of each flag the parser takes, and for each case either what was read or how
the process would have ended.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.metadata
import io
import json
import logging
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

EMBEDDING, TEXT, PAYLOAD = "DYN_SGL_EMBEDDING_WORKER", "DYN_SGL_USE_TOKENIZER", "DYN_HEALTH_CHECK_PAYLOAD"
FLAG = "--health-check-payload"
FLAGS = ("--embedding-worker", "--no-embedding-worker", "--use-sglang-tokenizer", "--no-use-sglang-tokenizer", FLAG)
READ = (
    "embedding_worker",
    "use_sglang_tokenizer",
    "health_check_payload",
    "image_diffusion_worker",
    "video_generation_worker",
)
# Texts of a switch's variable, one between two bars; white space counts.
TRUTHS = (
    "true|True|TRUE| true |true\n|\ttrue|1| 1 |yes|Yes|on|ON|false|False|0|no|off|| |2|01|1.0|y|t|enable|enabled|truee"
    "|true;|'true'|\"true\"|none|null|$(OTHER)"
)
# Command lines, one a line.
WORDS = """\
--embedding-worker
--no-embedding-worker
--embedding-worker --no-embedding-worker
--no-embedding-worker --embedding-worker
--embedding-worker --embedding-worker
--embedding-worker=true
--embedding-worker=false
--embedding-worker=
--no-embedding-worker=true
--no-embedding-worker=
--embedding-worker true
--embedding-worker false
--embedding_worker
--Embedding-Worker
-embedding-worker
embedding-worker
--embedding-workers
--enable-embedding-worker
--dyn-embedding-worker
-- --embedding-worker
--embedding-worker --
--namespace=--embedding-worker
--namespace --embedding-worker
--served-model-name embedding-worker
--served-model-name --embedding-worker
--served-model-name=--embedding-worker
--health-check-payload --embedding-worker
--health-check-payload=--embedding-worker
--json-model-override-args {"a":1} --embedding-worker
--is-embedding
--is-emb
--is-embedding --embedding-worker
--enable-multimodal --embedding-worker
--rerank-worker
--rerank-worker --embedding-worker
--image-diffusion-worker --embedding-worker
--video-generation-worker --embedding-worker
--config DIR/emb.yaml
--config=DIR/emb.yaml
--config DIR/is.yaml
--config=DIR/is.yaml
--config DIR/is.yaml --embedding-worker
--disagg-config DIR/disagg.yaml --disagg-config-key k
--disagg-config DIR/disagg.yaml --disagg-config-key j
--use-sglang-tokenizer
--no-use-sglang-tokenizer
--use-sglang-tokenizer --embedding-worker
--use-sglang-tokenizer=true
--health-check-payload
--health-check-payload=
--health-check-payload {}
--health-check-payload nonsense
--health-check-payload @/no/such/file
--health-check-payload -x
--health-check-payload=-x
--health-check-payload {"a":1} --health-check-payload {"b":2}
--health=X
--health-check-p=X
--health_check_payload X
--no-health-check-payload
"""
CONFIGURATIONS = {
    "emb.yaml": "embedding-worker: true\n",
    "is.yaml": "is-embedding: true\n",
    "disagg.yaml": "k:\n  embedding-worker: true\nj:\n  is-embedding: true\n",
}


def cases() -> list[tuple[list[str], dict[str, str]]]:
    """Arguments and environment of every case; `DIR` stands for the folder of the configuration files."""
    found: list[tuple[list[str], dict[str, str]]] = [([], {})]
    found += [([], {EMBEDDING: text}) for text in TRUTHS.split("|")]
    found += [(words.split(), {}) for words in WORDS.splitlines()]
    found += [([word], {}) for word in ("--embedding-worker ", " --embedding-worker")]
    found += [(["--embedding-worker", ""], {}), ([FLAG, ""], {})]
    for word in ("--embedding-worker", "--no-embedding-worker"):
        found += [([word], {EMBEDDING: text}) for text in ("true", "false", "garbage")]
    for flag in FLAGS:
        value = ["X"] if flag == FLAG else []
        found += [([flag[:length], *value], {}) for length in range(3, len(flag))]
    found += [([], {TEXT: text}) for text in ("true", "1", "on", "yes", "false", "", "y", "2")]
    found += [(["--no-use-sglang-tokenizer"], {TEXT: "true"})]
    found += [(["--is-embedding"], {EMBEDDING: "true"})]
    found += [
        (["--embedding-worker"], {"DYN_SGL_IMAGE_DIFFUSION_WORKER": "true"}),
        ([], {"DYN_SGL_RERANK_WORKER": "true"}),
    ]
    found += [([FLAG, '{"flag":1}'], {PAYLOAD: '{"env":1}'}), ([], {PAYLOAD: '{"env":1}'}), ([], {PAYLOAD: ""})]
    return found


def read(parse: Any, argv: list[str], env: dict[str, str]) -> dict[str, Any]:
    """What the parser makes of one case."""
    errors = io.StringIO()
    with (
        mock.patch.dict(os.environ, env),
        contextlib.redirect_stderr(errors),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            settings = asyncio.run(parse(argv)).dynamo_args
        except SystemExit as end:
            return {"exit": end.code, "error": (errors.getvalue().strip().splitlines() or [""])[-1][:300]}
        except Exception as error:  # noqa: BLE001 - whatever it raises is the answer of this case
            return {"exception": f"{type(error).__name__}: {error}"[:300]}
    return {name: getattr(settings, name) for name in READ}


def prefixes(options: list[str]) -> dict[str, Any]:
    """The shortest spelling of each flag that no other option of the parser shares."""
    found = {}
    for flag in (flag for flag in FLAGS if flag in options):
        length = next(n for n in range(3, len(flag) + 1) if [o for o in options if o.startswith(flag[:n])] == [flag])
        rivals = [option for option in options if option.startswith(flag[: length - 1]) and option != flag]
        found[flag] = {"shortest_unique": flag[:length], "rivals_of_one_less": rivals[:4]}
    return found


def options_of_first_parser(parse: Any, base: list[str]) -> list[str]:
    """The option strings of the parser that reads first: Dynamo's own, against which abbreviations are resolved."""
    seen: list[list[str]] = []
    original = argparse.ArgumentParser.parse_known_args

    def spy(self: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> Any:
        seen.append(sorted(self._option_string_actions))
        return original(self, *args, **kwargs)

    with mock.patch.object(argparse.ArgumentParser, "parse_known_args", spy):
        read(parse, base, {})
    return seen[0]


def main() -> None:
    """Run every case and print the table, one case a line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", required=True)
    base = ["--model-path", arguments.parse_args().model, "--device", "cpu", "--attention-backend", "torch_native"]
    for name in [name for name in os.environ if name.startswith("DYN_")]:
        del os.environ[name]
    os.environ["HF_HUB_OFFLINE"] = "1"
    from dynamo.sglang.args import parse_args  # noqa: PLC0415 - reads the environment when it is imported

    logging.disable(logging.CRITICAL)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in CONFIGURATIONS.items():
            (Path(folder) / name).write_text(text)
        for argv, env in cases():
            result = read(parse_args, [*base, *(word.replace("DIR/", f"{folder}/") for word in argv)], env)
            shown = json.loads(json.dumps(result, default=str).replace(folder, "DIR"))
            lines.append(json.dumps({"argv": argv, "env": env, "result": shown}))
    head = {
        "versions": {name: importlib.metadata.version(name) for name in ("ai-dynamo", "ai-dynamo-runtime", "sglang")},
        "python": platform.python_version(),
        "prefixes": prefixes(options_of_first_parser(parse_args, base)),
    }
    sys.stdout.write(f'{json.dumps(head)[:-1]}, "cases": [\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    main()
