"""Write a model directory that needs no download: `python make_tiny_model.py OUTPUT`.

It holds what a frontend and a mocker read: a tokenizer with a chat template, and the configuration of a very small
Llama. There are no weights. The same input gives the same files. Needs the package `tokenizers`.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL_TOKENS = ("<s>", "</s>", "<pad>", "<unk>")
# The mocker draws its token ids from a range of some thousands: with a smaller vocabulary they decode to no text.
VOCABULARY = 4096
CHAT_TEMPLATE = (
    "{% for message in messages %}<s>{{ message['role'] }}: {{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def corpus(sentences: int = 300, words: int = 20) -> Iterator[str]:
    """Invented words of two to four syllables, always the same, enough of them to fill the vocabulary."""
    draw = random.Random(0)  # noqa: S311 - invented words, not secrets
    syllables = [consonant + vowel for consonant in "bcdfghjklmnpqrstvwz" for vowel in "aeiou"]
    for _ in range(sentences):
        yield "".join(" " + "".join(draw.choices(syllables, k=draw.randint(2, 4))) for _ in range(words))


def train_tokenizer() -> Tokenizer:
    """A byte-level BPE tokenizer, so that every text can be encoded."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def configuration(vocabulary: int) -> dict[str, dict[str, Any]]:
    """The JSON files beside the tokenizer, by name."""
    token_ids = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    return {
        "config.json": {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "hidden_act": "silu",
            "rms_norm_eps": 1e-6,
            "rope_theta": 10000.0,
            "max_position_embeddings": 4096,
            "vocab_size": vocabulary,
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
            **token_ids,
        },
        "generation_config.json": token_ids,
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "unk_token": "<unk>",
            "model_max_length": 4096,
            "clean_up_tokenization_spaces": False,
            "chat_template": CHAT_TEMPLATE,
        },
    }


def main(output: Path) -> None:
    """Write the model to the directory `output`, which is made if missing."""
    output.mkdir(parents=True, exist_ok=True)
    tokenizer = train_tokenizer()
    tokenizer.save(str(output / "tokenizer.json"))
    for name, content in configuration(tokenizer.get_vocab_size()).items():
        (output / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
