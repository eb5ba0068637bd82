"""What a trained language model and a frozen one have in common: pairs of texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TypeAlias

import torch
from torch import Tensor, nn

from pdual.packs.language.declarations.architecture import LOGPROBS
from pdual.packs.language.models.tokens import Reader, TokenBatch
from pdual.runtime.models.called_rows import CalledRows
from pdual.runtime.models.interface import Model

#: Under this name a program looks for features on a ragged axis.
TOKEN = "token"

#: Prompt and answer.
Pair: TypeAlias = tuple[str, str]


class LanguageModel(Model):
    """What a frozen model needs of the one that trains."""

    prompt: str
    answer: str
    reader: Reader
    head: tuple[nn.Module]

    @property
    @abstractmethod
    def narrow(self) -> tuple[str, ...]:
        """The outputs that are one number a token."""

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where its weights are."""

    @abstractmethod
    def logits(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """Of every token of the answers: what the last layer reads, [total, width], and its logits, [total, vocabulary]."""

    @abstractmethod
    def read(self, batch: TokenBatch, logits: Tensor) -> Mapping[str, Tensor]:
        """The outputs that are one number a token, by name: [total] each."""

    @abstractmethod
    def untrained(self) -> AbstractContextManager[Callable[[], AbstractContextManager[LanguageModel]]]:
        """The model as it was built, each time that what is given is entered."""


def of_words(name: str, logits: Tensor) -> Tensor:
    """The output of this name, one of ``WIDE``."""
    return logits.log_softmax(1) if name == LOGPROBS else logits


def pairs_of(prompts: str | Sequence[str], answers: str | Sequence[str]) -> list[Pair]:
    """Prompt and answer of every row; a text that the spec itself gives is the same for all."""
    rows = max(len(item) for item in (prompts, answers) if not isinstance(item, str))
    columns = ([item] * rows if isinstance(item, str) else item for item in (prompts, answers))
    return list(zip(*columns, strict=True))


def pairs_by_row(called: CalledRows) -> Mapping[int, Pair]:
    """Prompt and answer of each row of a call."""
    return dict(zip(called.ids.tolist(), pairs_of(*called.columns()), strict=True))
