"""The operator that stands in for vLLM's in SGLang environments computes what it says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from stator.local.runtimes import RuntimeRequest, ensure

# Rotates by multiplying complex numbers of double precision, and prints the greatest differences.
COMPARISON = """
import json, torch
from vllm._custom_ops import rotary_embedding

HEAD = 16

def expected(positions, tensor, cache, is_neox):
    heads = tensor.view(len(positions), -1, HEAD).double().clone()
    cos, sin = cache[positions].double().chunk(2, -1)
    half = cos.shape[-1]
    width = 2 * half
    halves, neighbours = (slice(0, half), slice(half, width)), (slice(0, width, 2), slice(1, width, 2))
    first, second = halves if is_neox else neighbours
    turned = torch.complex(heads[..., first], heads[..., second]) * torch.complex(cos, sin)[:, None]
    heads[..., first], heads[..., second] = turned.real, turned.imag
    return heads.view(tensor.shape)

torch.manual_seed(0)
worst = []
for is_neox in (True, False):
    for width in (HEAD, HEAD // 2):
        angles = torch.rand(50, width // 2) * 6
        cache = torch.cat((angles.cos(), angles.sin()), -1)
        positions = torch.randint(0, 50, (7,))
        query, key = torch.randn(7, 4 * HEAD), torch.randn(7, 2 * HEAD)
        wanted = [expected(positions, tensor, cache, is_neox) for tensor in (query, key)]
        rotary_embedding(positions, query, key, HEAD, cache, is_neox)
        worst += [float((got - want).abs().max()) for got, want in zip((query, key), wanted)]
        rotary_embedding(positions, query, None, HEAD, cache, is_neox)
print(json.dumps(worst))
"""


@pytest.mark.real
def test_positions_turn_queries_and_keys_by_their_angles(cache: Path) -> None:
    """Both pairings and a partial rotation agree with complex multiplication; a missing key is allowed."""
    request = RuntimeRequest(image="img", profile="sglang-cpu", version="1.5.1")
    runtime = ensure(request, cache=cache, progress=lambda _: None)
    compared = subprocess.run([runtime.python, "-c", COMPARISON], check=True, capture_output=True, text=True)
    worst = json.loads(compared.stdout)
    assert len(worst) == 8
    assert max(worst) < 1e-6
