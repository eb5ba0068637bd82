"""From a prompt and an answer to tokens: a named template, tokenised once, and batches in which no padding shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pdual.dsl.diagnostics import refuse
from pdual.dsl.spans import NOWHERE, Span
from pdual.packs.language.models.chat import TemplateError, rendered
from pdual.runtime.data.tables import offsets_of

#: Characters of a text that a message quotes.
SHOWN = 60


@dataclass(frozen=True, slots=True)
class Tokens:
    """A prompt and its answer as tokens, of which the first ``prompt`` are the prompt's."""

    ids: tuple[int, ...]
    prompt: int

    @property
    def answer(self) -> tuple[int, ...]:
        """The tokens of the answer, the last of which ends it."""
        return self.ids[self.prompt :]


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Rows of tokens: ``ids`` [rows, longest], filled up at their ends, where a causal model does not look.

    Of every token of an answer, row after row: ``rows`` and ``places`` [total] say where it is predicted from, ``targets`` [total]
    which one it is. Row n owns those from ``offsets[n]`` to ``offsets[n + 1]``. ``tokens``: each row's own.
    """

    tokens: tuple[tuple[int, ...], ...]
    ids: Tensor
    rows: Tensor
    places: Tensor
    targets: Tensor
    offsets: Tensor


class Reader:
    """Tokens of pairs of prompt and answer, each made once.

    The answer is tokenised apart from the prompt, so that its tokens do not depend on what stands before it, and ends with the
    tokenizer's end token where it has one.
    """

    def __init__(
        self, tokenizer: Any, template: str, base: str = "", words: int | None = None, span: Span = NOWHERE
    ) -> None:
        """``words``: how many tokens the model of ``base`` has vectors for."""
        self.tokenizer = tokenizer
        self._base, self._words, self._span = base, words, span
        self.template = template
        self._known: dict[tuple[str, str], Tokens] = {}
        self._prompts: dict[str, tuple[int, ...]] = {}
        self._signs = signs_of(tokenizer)

    def tokens(self, prompt: str, answer: str) -> Tokens:
        """The tokens of one pair. Raises PD552, PD555, PD663, PD664."""
        pair = (prompt, answer)
        if pair not in self._known:
            before = self.prompt(prompt)
            end = self.tokenizer.eos_token_id
            after = _ids(self.tokenizer, TEMPLATES[self.template].answer(answer), False)
            self._check_signs(after, answer)
            self._check(after if end is None else (*after, end), answer)
            self._known[pair] = Tokens((*before, *after, *([end] if end is not None else [])), len(before))
        return self._known[pair]

    def prompt(self, prompt: str) -> tuple[int, ...]:
        """The tokens that an answer to this prompt follows. Raises PD552, PD555, PD663, PD664."""
        if prompt not in self._prompts:
            try:
                found = TEMPLATES[self.template].prompt(self.tokenizer, prompt)
            except TemplateError as error:
                raise refuse("PD664", self._span, base=self._base, reason=error) from None
            except SpecialTextError as error:
                raise refuse("PD552", self._span, base=self._base, token=error, text=_quoted(prompt)) from None
            if not TEMPLATES[self.template].signed:
                self._check_signs(_inner(found, self._signs), prompt)
            self._check(found, prompt)
            self._prompts[prompt] = found
        return self._prompts[prompt]

    def _check_signs(self, ids: Sequence[int], text: str) -> None:
        """A text of the data is no sign: of some tokenizers these are words like any other."""
        sign = next((token for token in ids if token in self._signs), None)
        if sign is not None:
            named = self.tokenizer.convert_ids_to_tokens(sign)
            raise refuse("PD555", self._span, base=self._base, token=named, text=_quoted(text))

    def _check(self, ids: Sequence[int], text: str) -> None:
        """The model has to have a vector for every token."""
        largest = max(ids, default=0)
        if self._words is not None and largest >= self._words:
            raise refuse("PD663", self._span, base=self._base, token=largest, found=self._words, text=_quoted(text))

    def batch(self, pairs: Sequence[tuple[str, str]], device: torch.device) -> TokenBatch:
        """These pairs side by side."""
        return batch_of([self.tokens(*pair) for pair in pairs], device)


def _quoted(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def batch_of(tokens: Sequence[Tokens], device: torch.device) -> TokenBatch:
    """Rows of tokens side by side. The token that fills is any: nothing that is read depends on it."""
    ids = torch.zeros(len(tokens), max(len(item.ids) for item in tokens), dtype=torch.long)
    for row, item in enumerate(tokens):
        ids[row, : len(item.ids)] = torch.tensor(item.ids)
    counts = torch.tensor([len(item.answer) for item in tokens])
    rows = torch.repeat_interleave(counts)
    places = torch.cat([torch.arange(item.prompt, len(item.ids)) for item in tokens])
    targets = ids[rows, places]
    offsets = offsets_of(counts)
    own = tuple(item.ids for item in tokens)
    return TokenBatch(own, *(item.to(device) for item in (ids, rows, places - 1, targets, offsets)))


@dataclass(frozen=True, slots=True)
class Template:
    """How a prompt becomes tokens, and an answer the text that is tokenised after them. ``signed``: with special tokens of its own."""

    prompt: Callable[[Any, str], tuple[int, ...]]
    answer: Callable[[str], str]
    signed: bool


class SpecialTextError(Exception):
    """A text holds what a tokenizer reads as one of its special tokens, where that cannot be told from the template's own."""


def _chat(tokenizer: Any, prompt: str) -> tuple[int, ...]:
    special = next((token for token in special_tokens(tokenizer) if token in prompt), None)
    if special is not None:
        raise SpecialTextError(special)
    # The template has what begins a text, and its special tokens are meant as such.
    return tuple(tokenizer(rendered(tokenizer, prompt), add_special_tokens=False)["input_ids"])


def special_tokens(tokenizer: Any) -> tuple[str, ...]:
    """What the tokenizer reads as one token with a meaning of its own: that a text ends, that a turn begins."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    found = (*map(str, tokenizer.all_special_tokens), *(item.content for item in added if item.special))
    return tuple(dict.fromkeys(token for token in found if token))


def signs_of(tokenizer: Any) -> frozenset[int]:
    """The special tokens that no text of the data may become; the one for unknown words may, unless it says something else, too."""
    added = getattr(tokenizer, "added_tokens_decoder", {})
    found = {*tokenizer.all_special_ids, *(place for place, item in added.items() if item.special)}
    others = [getattr(tokenizer, f"{name}_token_id", None) for name in ("bos", "eos", "pad", "sep", "cls", "mask")]
    return frozenset(found - ({tokenizer.unk_token_id} - {*others}))


def _inner(ids: Sequence[int], signs: frozenset[int]) -> Sequence[int]:
    """Without the signs that a tokenizer begins and ends every text with."""
    words = [place for place, token in enumerate(ids) if token not in signs]
    return ids[words[0] : words[-1]] if words else ()


def _plain(tokenizer: Any, prompt: str) -> tuple[int, ...]:
    found = _ids(tokenizer, f"Question: {prompt}\nAnswer:", True)
    # Some tokenizers end every text; the answer goes on here.
    return found[:-1] if found and found[-1] == tokenizer.eos_token_id else found


def _ids(tokenizer: Any, text: str, special: bool) -> tuple[int, ...]:
    # A text of the data that says `</s>` says these letters; it does not end there.
    return tuple(tokenizer(text, add_special_tokens=special, split_special_tokens=True)["input_ids"])


TEMPLATES: Mapping[str, Template] = {
    "chat": Template(_chat, lambda answer: answer, True),
    "plain": Template(_plain, lambda answer: f" {answer}", False),
}
