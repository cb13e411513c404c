"""In which releases a sentence of the sources stands: one line of JSON per claim and release.

    python tools/evidence/sources.py [RELEASE...]

A claim is a pattern and the files it is looked for in. `seen` is the first place and line, or null. It says that the
code is there, not that it runs; what a process does is asked in `processes.py`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dictionaries
from evidence.flags import RELEASES

# claim -> (pattern, files below the installed release)
CLAIMS: dict[str, tuple[str, str]] = {
    "R01 sglang embedding registers a generation payload": (
        r"SglangHealthCheckPayload\(|SglangPrefillHealthCheckPayload\(",
        "dynamo/sglang/init_embedding.py",
    ),
    "R01 sglang embedding has its own payload": (r"SglangEmbeddingHealthCheckPayload", "dynamo/sglang/**/*.py"),
    "R22 sglang embedding answers in base64": (r"base64", "dynamo/sglang/request_handlers/embedding/*.py"),
    "R22 vllm embedding answers in base64": (r"base64\.b64encode|b64encode\(", "dynamo/vllm/*embedding*.py"),
    "R22 vllm embedding answers in base64 (handlers)": (r"b64encode\(", "dynamo/vllm/handlers.py"),
    "R24 vllm embedding checks matryoshka": (r"[Mm]atryoshka", "dynamo/vllm/*.py"),
    "R24 vllm embedding normalises": (r"use_activation|normalize|L2", "dynamo/vllm/*.py"),
    "R49 planner falls back to VllmDecodeWorker": (r"\"VllmDecodeWorker\"", "dynamo/planner/**/*.py"),
    "R48 planner reads v1beta1": (r"\"v1beta1\"|v1beta1", "dynamo/planner/**/*.py"),
    "R50 trtllm component is tensorrt_llm": (r"COMPONENT = \"tensorrt_llm\"", "dynamo/trtllm/args.py"),
    "R50 sglang encode component": (r"DEFAULT_ENCODE_COMPONENT|\.encoder\.|\"encoder\"", "dynamo/sglang/args.py"),
    "R58 vllm refuses --connector": (r"--connector.*no longer|_reject_connector_flag\(", "dynamo/vllm/args.py"),
    "R60 vllm refuses the removed variables": (r"_REMOVED_MULTIMODAL_ENV_VARS", "dynamo/vllm/backend_args.py"),
    "R60 sglang refuses the removed variables": (r"_REMOVED_MULTIMODAL_ENV_VARS", "dynamo/sglang/backend_args.py"),
    "R61 vllm handler demands --enable-multimodal": (r"Use --enable-multimodal", "dynamo/vllm/handlers.py"),
    "R61 vllm tells to pass --enable-multimodal": (r"--enable-multimodal", "dynamo/vllm/*.py"),
    "R62 trtllm refuses prefill_and_decode by name": (
        r"prefill_and_decode is no longer",
        "dynamo/trtllm/backend_args.py",
    ),
    "R67 vllm makes a default KV event configuration": (r"DYN_VLLM_KV_EVENT_PORT", "dynamo/vllm/args.py"),
    "R68 unified entry points": (r"def main", "dynamo/*/unified_main.py"),
    "R69 vllm knows mx-source": (r"mx-source", "dynamo/vllm/*.py"),
    "R69 vllm knows modelexpress": (r"load_format.*modelexpress|\"modelexpress\"", "dynamo/vllm/*.py"),
    "R77 vllm elastic EP": (r"enable_elastic_ep|enable-elastic-ep", "dynamo/vllm/*.py"),
    "R80 renamed DYN_AIC variables are refused": (
        r"renamed environment variables are no longer read",
        "dynamo/common/**/*.py",
    ),
    "R66 frontend ignores --enforce-disagg": (r"accepted for compatibility but ignored", "dynamo/**/*_args.py"),
}


def seen(tree: Path, pattern: str, files: str) -> str | None:
    """The first place, as `file:line: text`."""
    wanted = re.compile(pattern)
    for file in sorted(tree.glob(files)):
        if "tests" in file.parts:
            continue
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if wanted.search(line):
                return f"{file.relative_to(tree)}:{number}: {line.strip()[:100]}"
    return None


def main() -> None:
    """Print every claim for every release asked for."""
    for release in sys.argv[1:] or RELEASES:
        tree = dictionaries.installed(release, f"ai-dynamo=={release}", f"ai-dynamo-runtime=={release}")
        for claim, (pattern, files) in CLAIMS.items():
            print(json.dumps({"claim": claim, "release": release, "seen": seen(tree, pattern, files)}))


if __name__ == "__main__":
    main()
