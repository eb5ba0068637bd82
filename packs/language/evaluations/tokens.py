"""Log-probabilities of the tokens of answers, as the measures of memorization and membership read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pdual.packs.language.models.causal_lm import CausalLm
from pdual.packs.language.models.language_model import Pair
from pdual.runtime.evaluation.context import Teller, silent

Reals: TypeAlias = NDArray[np.float64]

#: Rows that are evaluated at once.
BATCH = 8

#: The share of an answer's tokens that min-k reads.
LEAST = 0.4


@dataclass(frozen=True, slots=True)
class Said:
    """One answer under a model, [tokens] each; the last token ends it where the tokenizer has one for that (``ended``).

    ``logprob``: of the token that stands there. ``hit``: whether it is the likeliest. ``standard``: its log-probability less the
    mean of all tokens' log-probabilities under the model, over their standard deviation.
    """

    logprob: Reals
    hit: NDArray[np.bool_]
    standard: Reals
    ended: bool = True

    @property
    def loss(self) -> float:
        """Minus the mean log-probability."""
        return -float(self.logprob.mean())

    @property
    def probability(self) -> float:
        """exp(-loss): the geometric mean of the tokens' probabilities."""
        return float(np.exp(-self.loss))

    @property
    def exact(self) -> float:
        """The share of tokens that are the likeliest, without the one that ends the answer."""
        return float(self._own.mean()) if len(self._own) else 1.0

    @property
    def extracted(self) -> float:
        """1 - k / n for the shortest prefix k of the n tokens from which all others are the likeliest."""
        wrong = np.flatnonzero(~self._own)
        return 1 - (int(wrong[-1]) + 1) / len(self._own) if len(wrong) else 1.0

    @property
    def _own(self) -> NDArray[np.bool_]:
        """Which of the answer's own tokens are the likeliest; of an answer without any, nothing is missed."""
        return self.hit[:-1] if self.ended else self.hit

    def least(self, standard: bool) -> float:
        """The mean over the least likely tokens, ``LEAST`` of them: of log-probabilities, or of standardised ones."""
        values = np.sort(self.standard if standard else self.logprob)
        return float(values[: max(1, ceil(LEAST * len(values)))].mean())


@torch.no_grad()
def said(model: CausalLm, pairs: Sequence[Pair], told: Teller = silent) -> list[Said]:
    """What a model says of each pair, in their order; how many are read is told."""
    found: dict[int, Said] = {}
    ended = model.reader.tokenizer.eos_token_id is not None
    # Rows of like length go together, since the shorter ones of a batch are padded.
    order = sorted(range(len(pairs)), key=lambda place: len(model.reader.tokens(*pairs[place]).ids))
    for start in range(0, len(pairs), BATCH):
        told(f"{start} of {len(pairs)} answers read")
        places = order[start : start + BATCH]
        batch = model.reader.batch([pairs[place] for place in places], model.device)
        every = model.logits(batch)[1].log_softmax(1)
        share = every.exp()
        mean = (share * every).sum(1)
        spread = ((share * every.square()).sum(1) - mean.square()).clamp(min=1e-12).sqrt()
        logprob = every.gather(1, batch.targets[:, None])[:, 0]
        columns = (logprob, every.argmax(1) == batch.targets, (logprob - mean) / spread)
        cut = batch.offsets[1:-1].cpu()
        rows = zip(*(_rows(column, cut) for column in columns), strict=True)
        found.update((place, replace(Said(*row), ended=ended)) for place, row in zip(places, rows, strict=True))
    return [found[place] for place in range(len(pairs))]


def _rows(column: Tensor, cut: Tensor) -> list[NDArray[np.float64]]:
    kind = torch.bool if column.dtype is torch.bool else torch.float64
    return [item.numpy() for item in torch.tensor_split(column.to(kind).cpu(), cut)]


def harmonic(values: Sequence[float]) -> float:
    """The harmonic mean; 0 where one is 0 or less."""
    return 0.0 if min(values) <= 0 else len(values) / sum(1 / value for value in values)
