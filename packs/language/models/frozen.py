"""``frozen(lm)``: the outputs of a language model for every row, as they were before training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor

from pdual.packs.language.models.language_model import TOKEN, LanguageModel, Pair, of_words, pairs_by_row, pairs_of
from pdual.packs.language.models.lazy_mapping import LazyMapping
from pdual.runtime.data.tables import Ragged, offsets_of
from pdual.runtime.models.called_rows import CalledRows
from pdual.runtime.models.interface import Model, ModelOutput

#: Rows that are evaluated at once.
BATCH = 16


class FrozenLm(Model):
    """A language model's answers as they were, by pair of prompt and answer; it has no weights of its own.

    ``expect`` names pairs, ``remember`` evaluates them while the model is still as it was. A pair that nobody expected is
    evaluated when it is asked for, by the model as it was built. Of what is said of every word, only what the last layer reads
    is remembered and the layer itself as it was; a model that does more with what that layer says is remembered in full.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__()
        self._model = (model,)  # in a tuple: its weights are not this one's
        self._known: dict[Pair, Tensor] = {}
        self._features: dict[Pair, Tensor] = {}
        self._expected: dict[Pair, None] = {}
        self._featured: set[Pair] = set()
        self._last: tuple[Tensor, Tensor | None] | None = None
        self._logits: dict[Pair, Tensor] = {}
        self._plain: bool | None = None

    @property
    def of(self) -> LanguageModel:
        """The model whose answers these are."""
        return self._model[0]

    @property
    def wide(self) -> tuple[str, ...]:
        """As the model's own."""
        return self.of.wide

    def expect(self, pairs: Sequence[Pair], features: bool = False) -> None:
        """These pairs will be asked for; with ``features`` those too, which take more memory."""
        self._expected.update(dict.fromkeys(pairs))
        if features:
            self._featured.update(pairs)

    def read_rows(self, called: CalledRows) -> None:
        """Expect the texts of these rows."""
        self.expect(list(pairs_by_row(called).values()), called.features)

    def remember(self) -> None:
        """Evaluate what is expected; the model must not have been trained yet."""
        self._evaluate([pair for pair in self._expected if pair not in self._known], self.of)
        self._expected.clear()

    def recall(self, pairs: Sequence[Pair]) -> None:
        """Have the model as it was built evaluate those that were not expected: it may have to be loaded for that."""
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self._known))
        if new:
            with self.of.untrained() as original, original() as model:
                self._evaluate(new, model)

    @torch.no_grad()
    def forward(self, inputs: Mapping[str, Any]) -> ModelOutput:
        """As the model's own ``forward``, without gradients."""
        pairs = pairs_of(inputs[self.of.prompt], inputs[self.of.answer])
        self.recall(pairs)
        found = [self._known[pair] for pair in pairs]
        counts = torch.tensor([item.shape[1] for item in found], device=self.of.device)
        offsets = offsets_of(counts)
        values = torch.cat(found, 1)
        makers: dict[str, Callable[[], Ragged]] = {
            **{name: lambda row=row: Ragged(row, offsets) for name, row in zip(self.of.narrow, values, strict=True)},  # type: ignore[misc]
            **{name: lambda name=name: Ragged(of_words(name, self._said(pairs)), offsets) for name in self.of.wide},  # type: ignore[misc]
        }
        return ModelOutput(LazyMapping(makers), LazyMapping({TOKEN: lambda: Ragged(self._read(pairs), offsets)}))

    @torch.no_grad()
    def _evaluate(self, pairs: Sequence[Pair], model: LanguageModel) -> None:
        training = model.training
        model.eval()
        # Alike lengths together: less is filled up.
        ordered = sorted(pairs, key=lambda pair: len(model.reader.tokens(*pair).ids))
        for start in range(0, len(ordered), BATCH):
            chosen = ordered[start : start + BATCH]
            batch = model.reader.batch(chosen, model.device)
            features, logits = model.logits(batch)
            read = model.read(batch, logits)
            together = torch.stack([read[name] for name in self.of.narrow]) if self.of.narrow else features.T[:0]
            counts = batch.offsets.diff().tolist()
            self._known.update(zip(chosen, (item.clone() for item in torch.split(together, counts, 1)), strict=True))
            for pair, own in zip(chosen, torch.split(features, counts), strict=True):
                if pair in self._featured or model.wide:
                    self._features[pair] = own.clone()
            if model.wide and not self._repeats(features, logits, model):
                self._logits.update(zip(chosen, (item.clone() for item in torch.split(logits, counts)), strict=True))
        model.train(training)

    def _repeats(self, features: Tensor, logits: Tensor, model: LanguageModel) -> bool:
        """Whether the model's logits are what its last layer says; the first rows tell."""
        if self._plain is None:
            self._plain = torch.allclose(self._repeated(features, model), logits, rtol=1e-4, atol=1e-4)
        return self._plain

    def _repeated(self, features: Tensor, model: LanguageModel) -> Tensor:
        """The last layer, as it was before anything trained, on what it reads: [total, vocabulary]."""
        if self._last is None:
            layer: Any = model.head[0]
            weight, bias = layer.weight, getattr(layer, "bias", None)
            self._last = _as_it_is(weight), None if bias is None else _as_it_is(bias)
        weight, bias = self._last
        return functional.linear(features.to(weight.dtype), weight, bias).to(features.dtype)

    @torch.no_grad()
    def _said(self, pairs: Sequence[Pair]) -> Tensor:
        """Logits of every word at all tokens of these pairs, [total, vocabulary]."""
        if not self._plain:
            return torch.cat([self._logits[pair] for pair in pairs])
        return self._repeated(self._read(pairs), self.of)

    @torch.no_grad()
    def _read(self, pairs: Sequence[Pair]) -> Tensor:
        """Features of all tokens of these pairs, [total, width]: remembered, or else read once more."""
        if not all(pair in self._features for pair in pairs):
            with self.of.untrained() as original, original() as model:
                return model.logits(model.reader.batch(pairs, model.device))[0]
        return torch.cat([self._features[pair] for pair in pairs])


def _as_it_is(weight: Tensor) -> Tensor:
    """What training will not change."""
    return weight.detach().clone() if weight.requires_grad else weight
