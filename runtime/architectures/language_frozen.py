"""``frozen(lm)``: what a language model said of every row before it was trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from pdual.runtime.architectures.interface import ModelOutput
from pdual.runtime.data import Ragged

if TYPE_CHECKING:
    from pdual.runtime.architectures.causal_lm import CausalLm

#: Rows that are evaluated at once.
BATCH = 16

Pair = tuple[str, str]


class FrozenLm(nn.Module):
    """A language model's answers as they were, by pair of prompt and answer; it has no weights of its own.

    ``expect`` names pairs, ``remember`` evaluates them while the model is still as it was. A pair that nobody expected is
    evaluated when it is asked for, by the model as it was built.
    """

    def __init__(self, model: CausalLm) -> None:
        super().__init__()
        self._model = (model,)  # in a tuple: its weights are not this one's
        self._known: dict[Pair, Tensor] = {}
        self._features: dict[Pair, Tensor] = {}
        self._expected: dict[Pair, None] = {}
        self._featured: set[Pair] = set()

    @property
    def of(self) -> CausalLm:
        """The model whose answers these are."""
        return self._model[0]

    def expect(self, pairs: Sequence[Pair], features: bool = False) -> None:
        """These pairs will be asked for; with ``features`` those too, which take more memory."""
        self._expected.update(dict.fromkeys(pairs))
        if features:
            self._featured.update(pairs)

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
        from pdual.runtime.architectures.causal_lm import TOKEN, pairs_of

        pairs = pairs_of(inputs[self.of.prompt], inputs[self.of.answer])
        self.recall(pairs)
        found = [self._known[pair] for pair in pairs]
        counts = torch.tensor([item.shape[1] for item in found], device=self.of.device)
        offsets = torch.cat((counts.new_zeros(1), counts.cumsum(0)))
        values = torch.cat(found, 1)
        outputs = {name: Ragged(values[place], offsets) for place, name in enumerate(self.of.outputs)}
        return ModelOutput(outputs, _Later({TOKEN: lambda: Ragged(self._read(pairs), offsets)}))  # type: ignore[arg-type]

    @torch.no_grad()
    def _evaluate(self, pairs: Sequence[Pair], model: CausalLm) -> None:
        training = model.training
        model.eval()
        # Alike lengths together: less is filled up.
        ordered = sorted(pairs, key=lambda pair: len(model.reader.tokens(*pair).ids))
        for start in range(0, len(ordered), BATCH):
            chosen = ordered[start : start + BATCH]
            batch = model.reader.batch(chosen, model.device)
            features, logits = model.logits(batch)
            read = model.read(batch, logits)
            together = torch.stack([read[name] for name in model.outputs])
            counts = batch.offsets.diff().tolist()
            self._known.update(zip(chosen, (item.clone() for item in torch.split(together, counts, 1)), strict=True))
            for pair, own in zip(chosen, torch.split(features, counts), strict=True):
                if pair in self._featured:
                    self._features[pair] = own.clone()
        model.train(training)

    @torch.no_grad()
    def _read(self, pairs: Sequence[Pair]) -> Tensor:
        """Features of all tokens of these pairs, [total, width]: remembered, or else read once more."""
        if not all(pair in self._features for pair in pairs):
            with self.of.untrained() as original, original() as model:
                return model.logits(model.reader.batch(pairs, model.device))[0]
        return torch.cat([self._features[pair] for pair in pairs])


class _Later(Mapping[str, Any]):
    """Values that are computed when they are looked at; hardly any spec looks at a frozen model's features."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = makers

    def __getitem__(self, name: str) -> Any:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
