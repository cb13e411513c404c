"""Rotary position embedding on the CPU, for SGLang environments: installed there as `vllm._custom_ops`.

Without a GPU, SGLang 0.5.16 to 0.5.21 imports this one operator from vLLM for decoder models with rotary positions;
vLLM itself would bring its GPU kernels and a torch of its own choice. Encoder models such as BERT do not use it.
stator itself never imports this module.
"""

from __future__ import annotations

import torch  # type: ignore[import-not-found]  # in the SGLang environment, not in stator's


def rotary_embedding(
    positions: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor | None,
    head_size: int,
    cos_sin_cache: torch.Tensor,
    is_neox: bool,  # noqa: FBT001 - vLLM's signature
) -> None:
    """Rotate `query` and `key` in place by the angles of their positions.

    `positions` has one entry per token; `query` and `key` are (tokens, heads * head_size); `cos_sin_cache` is
    (positions, rotated width), the cosines before the sines. A pair of numbers is `(i, i + half)` if `is_neox`, else
    two neighbours. What lies beyond the rotated width stays.
    """
    cos, sin = cos_sin_cache[positions.flatten()].float().unsqueeze(1).chunk(2, dim=-1)
    width = 2 * cos.shape[-1]
    for tensor in (query, key):
        if tensor is None:
            continue
        rotated = tensor.view(positions.numel(), -1, head_size)[..., :width]
        values = rotated.float()
        x, y = values.chunk(2, dim=-1) if is_neox else (values[..., ::2], values[..., 1::2])
        turned = (x * cos - y * sin, y * cos + x * sin)
        rotated.copy_(torch.cat(turned, dim=-1) if is_neox else torch.stack(turned, dim=-1).flatten(-2))
