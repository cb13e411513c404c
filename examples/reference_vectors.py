"""What the embedding example should answer, computed without an engine: `python reference_vectors.py MODEL TEXT...`.

A BERT encoder in numpy on the model's own weights, with the pooling SGLang uses for it: the vector of the first
token ([CLS]), normalised to length 1. (The sentence-transformers recipe of this model takes the mean over all
tokens: its vectors are others.) Prints a JSON list of vectors. Needs numpy, safetensors and tokenizers, which the
environments of the frontend have.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

Array = NDArray[np.float32]

_ERF = np.vectorize(math.erf, otypes=[np.float32])


class Encoder:
    """A BERT encoder for one text at a time, so that neither padding nor an attention mask is needed."""

    def __init__(self, model: Path) -> None:
        config = json.loads((model / "config.json").read_text(encoding="utf-8"))
        self.layers: int = config["num_hidden_layers"]
        self.heads: int = config["num_attention_heads"]
        self.epsilon: float = config["layer_norm_eps"]
        self.weights: dict[str, Array] = load_file(model / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()

    def vector(self, text: str) -> Array:
        """The embedding of `text`: float32, shape (hidden size,), length 1."""
        tokens = self.tokenizer.encode(text).ids
        hidden = (
            self.weights["embeddings.word_embeddings.weight"][tokens]
            + self.weights["embeddings.position_embeddings.weight"][: len(tokens)]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._normalise(hidden, "embeddings.LayerNorm")
        for layer in range(self.layers):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        first: Array = hidden[0]
        return first / np.linalg.norm(first)

    def _layer(self, hidden: Array, name: str) -> Array:
        attended = self._linear(self._attention(hidden, f"{name}.attention.self"), f"{name}.attention.output.dense")
        hidden = self._normalise(hidden + attended, f"{name}.attention.output.LayerNorm")
        inner = self._linear(hidden, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + _ERF(inner / math.sqrt(2)))  # GELU
        return self._normalise(hidden + self._linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, hidden: Array, name: str) -> Array:
        length, width = hidden.shape
        query, key, value = (
            self._linear(hidden, f"{name}.{part}").reshape(length, self.heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(width // self.heads)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed: Array = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        return mixed.transpose(1, 0, 2).reshape(length, width)

    def _linear(self, hidden: Array, name: str) -> Array:
        return hidden @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _normalise(self, hidden: Array, name: str) -> Array:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.epsilon)
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def main(model: Path, texts: list[str]) -> None:
    """Print the vectors of `texts` as JSON."""
    encoder = Encoder(model)
    print(json.dumps([encoder.vector(text).tolist() for text in texts]))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
