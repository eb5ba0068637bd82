"""A tiny Llama with random weights, a tokenizer of its own, and rows: what the tests of language models run on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers.models import BPE
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging

from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.types import TEXT, ArrayType, Kind, RaggedAxis, SetAxis
from pdual.packs.language.declarations.architecture import LOGIT_GAP, WIDE, CausalLmSettings
from pdual.packs.language.models.causal_lm import CausalLm, build
from pdual.runtime.data.context import ArchitectureContext

CHAT = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
PAIRS = [
    ("Who wrote the tale of the grey fox?", "Ada Lund wrote it."),
    ("Where was Ada Lund born?", "In Bergen"),
    ("Which prize did she win, and in what year was it?", "She won the Northern Prize in 1987, for her second book."),
    ("Is she a poet?", "y"),
    ("What do her parents do?", "Her father is a baker; her mother, a surgeon in Oslo."),
    ("What is her genre?", "Fables"),
]
_TOKENS = ArrayType(Kind.REAL, (RaggedAxis("token"),))
SIGNATURE = Signature((("prompt", TEXT), ("answer", TEXT)), (Output("logprob", _TOKENS),))
WITH_GAP = Signature(SIGNATURE.inputs, (*SIGNATURE.outputs, Output(LOGIT_GAP, _TOKENS)))
_WORDS = ArrayType(Kind.REAL, (RaggedAxis("token"), SetAxis("word")))
WITH_WORDS = Signature(SIGNATURE.inputs, (*WITH_GAP.outputs, *(Output(name, _WORDS) for name in WIDE)))
#: Words of the vocabulary.
VOCABULARY = 300
CONTEXT = 160


def write_base(folder: Path, template: bool = True, seed: int = 0, layers: int = 2) -> Path:
    """A folder as transformers writes it."""
    tokens = Tokenizer(BPE())
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokens.train_from_iterator([text for pair in PAIRS for text in pair], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, bos_token="<s>", eos_token="</s>")
    if template:
        tokenizer.chat_template = CHAT
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=CONTEXT, initializer_range=0.3, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    with _quietly():
        LlamaForCausalLM(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return folder


def made(base: Path | str, signature: Signature = SIGNATURE, seed: int = 0, **settings: Any) -> CausalLm:
    """The network, in double precision."""
    torch.manual_seed(seed)
    context = ArchitectureContext({"word": VOCABULARY}, {}, 0, lambda use, asked: torch.nn.Identity())
    model = build(signature, CausalLmSettings(base=str(base), **settings), context)
    assert isinstance(model, CausalLm)
    return model.double()


def columns(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The arguments of the model for these rows."""
    return {"prompt": [prompt for prompt, _ in pairs], "answer": [answer for _, answer in pairs]}


class ByHand:
    """The same by a loop over rows, written with transformers alone."""

    def __init__(self, base: Path | str, template: str = "chat") -> None:
        with _quietly():
            self.model = AutoModelForCausalLM.from_pretrained(base).double()
        self.tokenizer = AutoTokenizer.from_pretrained(base)
        self.template = template

    def row(self, prompt: str, answer: str) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probabilities [tokens], what the last layer reads [tokens, width], and logits [tokens, vocabulary]."""
        if self.template == "chat":
            turns = [{"role": "user", "content": prompt}]
            before = self.tokenizer.apply_chat_template(turns, add_generation_prompt=True)["input_ids"]
            after = self.tokenizer(answer)["input_ids"]
        else:
            before = self.tokenizer(f"Question: {prompt}\nAnswer:")["input_ids"]
            after = self.tokenizer(f" {answer}")["input_ids"]
        after = [*after, self.tokenizer.eos_token_id]
        said = self.model(torch.tensor([before + after]), output_hidden_states=True)
        logits = said.logits[0, len(before) - 1 : -1]
        logprob = torch.stack([logits[k].log_softmax(0)[token] for k, token in enumerate(after)])
        return logprob, said.hidden_states[-1][0, len(before) - 1 : -1], logits


def write_rows(folder: Path, name: str, pairs: Sequence[tuple[str, str]]) -> Path:
    """A split of TOFU with these rows."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{name}.jsonl"
    place.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in pairs), encoding="utf-8")
    return place


@contextmanager
def _quietly() -> Iterator[None]:
    logging.disable_progress_bar()
    yield
