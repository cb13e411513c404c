"""The runtime modules a container can start, and the function in which each of them builds its parsers.

The functions moved between releases, so each module has the places to look, newest first; the first one that exists
in a release is its entry. A module without a `__main__` in a release does not exist there.
"""

from __future__ import annotations

from pathlib import Path

# module -> (source file relative to the tree, function), newest place first
ENTRIES: dict[str, tuple[tuple[str, str], ...]] = {
    "dynamo.frontend": (("dynamo/frontend/main.py", "parse_args"),),
    "dynamo.global_planner": (("dynamo/global_planner/argparse_config.py", "create_global_planner_parser"),),
    "dynamo.global_router": (("dynamo/global_router/__main__.py", "parse_args"),),
    "dynamo.kv_dc_relay": (
        ("dynamo/kv_dc_relay/cli.py", "parse_args"),
        ("dynamo/kv_dc_relay/__main__.py", "parse_args"),
    ),
    "dynamo.kv_state_agent": (("dynamo/kv_state_agent/__main__.py", "parse_args"),),
    "dynamo.mocker": (("dynamo/mocker/args.py", "parse_args"),),
    "dynamo.planner": (("dynamo/planner/__main__.py", "_parse_config"),),
    "dynamo.profiler": (("dynamo/profiler/__main__.py", "_parse_args"),),
    "dynamo.router": (("dynamo/router/args.py", "parse_args"),),
    "dynamo.sglang": (("dynamo/sglang/args.py", "parse_args"),),
    "dynamo.squeeze_evolve": (("dynamo/squeeze_evolve/args.py", "parse_args"),),
    "dynamo.thunderagent_router": (("dynamo/thunderagent_router/args.py", "parse_args"),),
    "dynamo.tokenspeed": (("dynamo/tokenspeed/args.py", "parse_args"),),
    "dynamo.triton": (("dynamo/triton/args.py", "parse_args"), ("dynamo/triton/backend_args.py", "parse_args")),
    "dynamo.trtllm": (("dynamo/trtllm/args.py", "parse_args"),),
    "dynamo.vllm": (("dynamo/vllm/args.py", "parse_args"),),
    "dynamo.vllm.omni": (("dynamo/vllm/omni/args.py", "parse_omni_args"),),
}

# module -> engine whose own options it passes on
ENGINES = {
    "dynamo.frontend": "vllm",
    "dynamo.sglang": "sglang",
    "dynamo.tokenspeed": "tokenspeed",
    "dynamo.vllm": "vllm",
    "dynamo.vllm.omni": "vllm-omni",
}

# Settings under which a module builds one more parser.
VARIANTS = {"dynamo.frontend": ("DYN_CHAT_PROCESSOR=sglang",)}

# Words a module replaces by others before it parses; what they become is asked of the module.
REWRITTEN = {"dynamo.trtllm": ("--publish-events-and-metrics", "--no-publish-events-and-metrics")}


def entry(tree: Path, module: str) -> tuple[str, str] | None:
    """The `(file, function)` that builds the parsers of `module` in an installed release, or None without it."""
    if not (tree / module.replace(".", "/") / "__main__.py").exists():
        return None
    for file, function in ENTRIES[module]:
        source = tree / file
        if source.exists() and f"def {function}(" in source.read_text(encoding="utf-8"):
            return file, function
    raise LookupError(f"{module}: its parser is built at none of {ENTRIES[module]}")
