"""What releases say to single options and variables: one line of JSON per claim and release.

    python tools/evidence/flags.py [RELEASE...]        (default: every release that moved something, patches included)

A claim is `module flag` (is the word accepted, as which option, with which choices and default) or `module VARIABLE`
(does the module's Python or the compiled runtime name it). What is printed is what the release's own parser says; it is
compared with nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import dictionaries
from evidence import compiled, components

from stator.compat.dictionaries import ComponentDictionary

RELEASES = (
    *("1.0.0", "1.0.1", "1.0.2", "1.1.0", "1.1.1", "1.2.0.post1", "1.2.1", "1.3.0.post1", "1.3.1"),
    *("1.4.0", "1.4.1", "1.4.2", "1.5.0", "1.5.1", "1.6.0", "1.6.1"),
)

# rule -> module -> words to ask for
CLAIMS: dict[str, dict[str, tuple[str, ...]]] = {
    "R16": {
        "dynamo.mocker": ("--event-plane",),
        "dynamo.frontend": ("--event-plane",),
        "dynamo.vllm": ("--event-plane",),
    },
    "R19": {"dynamo.vllm": ("--request-plane",), "dynamo.frontend": ("--request-plane",)},
    "R20": {"dynamo.sglang": ("--discovery-backend",), "dynamo.frontend": ("--discovery-backend",)},
    "R21": {"dynamo.sglang": ("--store-kv", "DYN_KV_STORE"), "dynamo.frontend": ("--store-kv", "DYN_KV_STORE")},
    "R23": {
        "dynamo.sglang": ("DYN_EMBEDDING_TOKENIZATION_ADD_SPECIAL_TOKENS",),
        "dynamo.frontend": ("DYN_EMBEDDING_TOKENIZATION_ADD_SPECIAL_TOKENS",),
    },
    "R27": {"dynamo.sglang": ("DYN_SELF_HOST_METADATA",)},
    "R30": {"dynamo.frontend": ("DYN_NAMESPACE_PREFIX_STRICT", "--namespace-prefix")},
    "R52": {"dynamo.sglang": ("DYN_SNAPSHOT_RESTORE_STANDBY",), "dynamo.vllm": ("DYN_SNAPSHOT_RESTORE_STANDBY",)},
    "R57": {
        "dynamo.vllm": ("--is-prefill-worker", "--is-decode-worker", "--disaggregation-mode"),
        "dynamo.mocker": ("--is-prefill-worker", "--is-decode-worker", "--disaggregation-mode"),
    },
    "R58": {
        "dynamo.vllm": ("--connector",),
        "dynamo.sglang": ("--connector",),
        "dynamo.trtllm": ("--connector",),
        "dynamo.mocker": ("--connector",),
    },
    "R60": {
        "dynamo.vllm": (
            *("--multimodal-worker", "--multimodal-encode-worker", "--multimodal-decode-worker", "--enable-multimodal"),
            *("--route-to-encoder", "DYN_VLLM_MULTIMODAL_WORKER", "DYN_VLLM_MULTIMODAL_ENCODE_WORKER"),
        ),
        "dynamo.sglang": (
            *("--multimodal-worker", "--multimodal-encode-worker", "--multimodal-processor", "--enable-multimodal"),
            *("--dedicated-mm-encoder", "DYN_SGL_MULTIMODAL_WORKER", "DYN_SGL_MULTIMODAL_ENCODE_WORKER"),
        ),
    },
    "R62": {"dynamo.trtllm": ("--disaggregation-mode",)},
    "R63": dict.fromkeys(("dynamo.vllm", "dynamo.sglang", "dynamo.trtllm", "dynamo.frontend"), ("--migration-limit",)),
    "R64": {
        "dynamo.frontend": (
            *(
                "--kv-events",
                "--no-kv-events",
                "--kv-overlap-score-weight",
                "--durable-kv-events",
                "--track-active-blocks",
            ),
            *("--router-ttl", "--router-ttl-secs", "--router-kv-events", "--router-durable-kv-events"),
            *("DYN_KV_EVENTS", "DYN_USE_KV_EVENTS", "DYN_ROUTER_USE_KV_EVENTS", "DYN_KV_OVERLAP_SCORE_WEIGHT"),
            *("DYN_OVERLAP_SCORE_WEIGHT", "DYN_DURABLE_KV_EVENTS", "DYN_ROUTER_TTL", "DYN_ROUTER_TTL_SECS"),
            *("--router-reset-states", "--router-snapshot-threshold", "--router-max-tree-size"),
            *("--router-prune-target-ratio", "DYN_ROUTER_RESET_STATES", "DYN_ROUTER_MAX_TREE_SIZE"),
        ),
        "dynamo.router": (
            "--kv-events",
            "--kv-overlap-score-weight",
            "--durable-kv-events",
            "--router-ttl",
            "--block-size",
        ),
    },
    "R66": {
        "dynamo.frontend": ("--enforce-disagg", "DYN_ENFORCE_DISAGG", "--decode-fallback", "DYN_DECODE_FALLBACK"),
        "dynamo.router": ("--enforce-disagg", "--decode-fallback"),
    },
    "R67": {"dynamo.vllm": ("DYN_VLLM_KV_EVENT_PORT", "DYN_VLLM_KV_EVENTS_CONFIG")},
    "R68": dict.fromkeys(("dynamo.vllm", "dynamo.sglang", "dynamo.trtllm"), ("--unified",)),
    "R69": {"dynamo.vllm": ("MODEL_EXPRESS_URL", "--model-express-url"), "dynamo.sglang": ("MODEL_EXPRESS_URL",)},
    "R70": {"dynamo.vllm": ("DYN_CONNECTOR",), "dynamo.trtllm": ("DYN_CONNECTOR",)},
    "R71": {
        "dynamo.frontend": (
            *("DYN_AGENT_TRACE", "DYN_AGENT_TRACE_SINKS", "DYN_REQUEST_TRACE", "DYN_ENABLE_FRONTEND_NVEXT"),
            *("DYN_ENABLE_FRONTEND_ADMIN_API", "DYN_DISABLE_FRONTEND_NVEXT", "DYN_DISABLE_FRONTEND_ADMIN_API"),
        )
    },
    "R72": {"dynamo.frontend": ("DYN_AUDIT_SINKS", "DYN_REQUEST_TRACE_SINKS", "DYN_USE_KV_EVENTS")},
    "R73": {"dynamo.frontend": ("--router-queue-threshold",), "dynamo.router": ("--router-queue-threshold",)},
    "R78": {
        "dynamo.sglang": ("--dyn-tool-call-parser", "--tool-call-parser"),
        "dynamo.vllm": ("--dyn-tool-call-parser",),
        "dynamo.frontend": ("--tool-call-parser",),
    },
    "R79": {"dynamo.planner": ("--config", "--environment", "--backend", "--adjustment-interval", "--ttft")},
    "R80": {
        "dynamo.frontend": (
            "--aic-backend",
            "--ais-backend",
            "DYN_AIC_BACKEND",
            "DYN_AIS_BACKEND",
            "--router-temperature",
        ),
        "dynamo.mocker": ("--aic-backend", "--aic-perf-model", "--ais-perf-model"),
    },
    "not in the catalogue": {
        "dynamo.trtllm": (
            *(
                "--publish-events-and-metrics",
                "--publish-kv-events",
                "--dit-dp-size",
                "--fuse-qkv",
                "--skip-components",
            ),
            *("--disable-request-abort", "--torch-compile-mode", "--warmup-steps"),
        ),
        "dynamo.vllm": ("--omni", "--sleep-mode-level", "--stage-configs-path", "DYN_VLLM_IS_PREFILL_WORKER"),
        "dynamo.mocker": ("--num-g2-blocks", "--watermark", "--durable-kv-events"),
        "dynamo.sglang": ("DYN_CHECKPOINT_PATH", "DYN_READY_FOR_CHECKPOINT_FILE"),
    },
}


def seen(part: ComponentDictionary, word: str) -> object:
    """What the module says to a word: the options it finds, or whether a variable is named."""
    if not word.startswith("-"):
        return word in part.variables
    found = [
        {
            "option": list(option.spellings),
            "choices": option.choices,
            "default": option.default,
            "deprecated": option.deprecated,
            "removal": option.removal,
            "owner": option.owner,
        }
        for option in part.find(word)
    ]
    return found or ("passed to the engine" if part.passes_through else False)


def main() -> None:
    """Print every claim for every release asked for."""
    python = dictionaries.light_python()
    wanted = {module for modules in CLAIMS.values() for module in modules}
    for release in sys.argv[1:] or RELEASES:
        tree = dictionaries.installed(release, f"ai-dynamo=={release}", f"ai-dynamo-runtime=={release}")
        parts = {}
        for module in sorted(wanted):
            if components.entry(tree, module) is None:
                continue
            stages, named = dictionaries.component(python, tree, module)
            parts[module] = ComponentDictionary(
                module=module,
                parsers=tuple(parser for parser, _ in stages),
                options=tuple(
                    dictionaries.msgspec.structs.replace(option, parser=index)
                    for index, (_, options) in enumerate(stages)
                    for option in options
                ),
                variables=named | compiled.literals((tree / "dynamo" / "_core.abi3.so").read_bytes(), named),
                engine=components.ENGINES.get(module, ""),
            )
        for rule, modules in CLAIMS.items():
            for module, words in modules.items():
                for word in words:
                    result = seen(parts[module], word) if module in parts else None
                    print(json.dumps({"claim": f"{rule} {module} {word}", "release": release, "seen": result}))


if __name__ == "__main__":
    main()
