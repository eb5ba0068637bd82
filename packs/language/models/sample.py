"""A small language model and its tokenizer, made from nothing, that knows the texts of a run by heart: what a quick run stands on where the
base that a spec names is not on this machine. It is kept in the cache.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock

from pdual.packs.language.declarations.architecture import CausalLmSettings
from pdual.packs.language.models.base import package
from pdual.packs.language.models.language_model import pairs_by_row
from pdual.packs.language.models.tokens import Reader, batch_of
from pdual.runtime.data.cache import cache_root
from pdual.runtime.data.context import Progress
from pdual.runtime.models.called_rows import calls_on_rows
from pdual.runtime.problem.samples import ModelSampleContext

#: Raised when the same texts would give another model.
FORMAT = 1
WORDS = 4096  # of the vocabulary at most
WIDTH, INNER, LAYERS, HEADS = 64, 128, 2, 4
POSITIONS = 512
SCALE = 0.1  # of the weights at the start: with transformers' own 0.02 it takes three times as long
STEPS, BATCH, RATE = 280, 12, 1e-2
SEED = 0
_CHAT = (
    "{{ bos_token }}{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def build(settings: CausalLmSettings, context: ModelSampleContext) -> CausalLmSettings:
    """The same settings with the base in the cache, which is made where it is not there yet.

    It learns every pair that the spec asks the model about. Raises PD645.
    """
    for name in ("transformers", "tokenizers"):
        package(name, context.source.span)
    pairs = _pairs(context)
    content = json.dumps([FORMAT, settings.template, pairs])
    folder = cache_root(context.source) / "models" / hashlib.sha256(content.encode()).hexdigest()[:24]
    try:
        base = _kept(folder, pairs, settings.template, context.source.progress)
    except OSError as error:
        context.source.progress.advance(0, f"warning: nothing can be kept in {folder.parent} ({error.strerror})")
        base = _made(Path(tempfile.mkdtemp(prefix="pdual-")), pairs, settings.template, context.source.progress)
    return settings.model_copy(update={"base": str(base)})


def _pairs(context: ModelSampleContext) -> list[tuple[str, str]]:
    """Every prompt and answer that the spec puts to the model, or to a frozen copy of it, once."""
    names = {item.name for item in context.graph.spec.models if context.model in (item.name, item.frozen_of)}
    found: dict[tuple[str, str], None] = {}
    for called in calls_on_rows(context.graph, context.tables):
        if called.call.model in names:
            found |= dict.fromkeys(pairs_by_row(called).values())
    return list(found)


def _kept(folder: Path, pairs: Sequence[tuple[str, str]], template: str, progress: Progress) -> Path:
    """The folder, whole or not there: made beside its place and renamed. Who comes second waits and finds it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            fresh = Path(tempfile.mkdtemp(dir=folder.parent, suffix=".tmp"))
            try:
                _made(fresh, pairs, template, progress).rename(folder)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise
    return folder


def _made(folder: Path, pairs: Sequence[tuple[str, str]], template: str, progress: Progress) -> Path:
    """Train a tokenizer and a model on these pairs, and write them as transformers does."""
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    with _alone():
        tokenizer = _tokenizer(pairs)
        model = _trained(tokenizer, pairs, template, progress)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(pairs: Sequence[tuple[str, str]]) -> Any:
    """Byte pairs: whatever text comes can be read."""
    from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    tokens = Tokenizer(BPE())
    tokens.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokens.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokens.train_from_iterator([text for pair in pairs for text in pair], trainer)
    make: Any = PreTrainedTokenizerFast
    tokenizer = make(tokenizer_object=tokens, bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = _CHAT
    return tokenizer


def _trained(tokenizer: Any, pairs: Sequence[tuple[str, str]], template: str, progress: Progress) -> Any:
    """The mean log-probability of the answers' tokens, by AdamW with a rate that falls to nothing."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=HEADS, max_position_embeddings=POSITIONS,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, tie_word_embeddings=True, initializer_range=SCALE,
    )  # fmt: skip
    model: Any = LlamaForCausalLM(config).train()
    reader = Reader(tokenizer, template)
    tokens = sorted((reader.tokens(*pair) for pair in pairs), key=lambda item: len(item.ids))
    rows = [item for item in tokens if len(item.ids) <= POSITIONS]
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, STEPS, pct_start=0.1)
    progress.start("making a small language model", STEPS)
    try:
        for _ in range(STEPS):
            drawn = torch.randperm(len(rows))[:BATCH].tolist()
            batch = batch_of([rows[place] for place in drawn], torch.device("cpu"))
            seen = model.model(input_ids=batch.ids, use_cache=False).last_hidden_state[batch.rows, batch.places]
            loss = torch.nn.functional.cross_entropy(model.lm_head(seen), batch.targets)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            progress.advance(1, "")
    finally:
        progress.finish()
    return model.eval()


@contextmanager
def _alone() -> Iterator[None]:
    """Whatever was drawn before and however many threads there are: the same texts give the same model."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(SEED)
            yield
    finally:
        torch.set_num_threads(threads)
