"""What the layers of a language model that do not train say of every row: evaluated once, then held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

#: Rows that are evaluated at once.
BATCH = 16
#: Largest difference, relative to the largest number, up to which a model is the same with layers that are skipped.
CLOSE = 1e-4

#: The tokens of a row.
Row = tuple[int, ...]


class FrozenLayers:
    """The layers before the first that trains, and what the last of them hands on: [tokens, width] of every row that is held.

    A causal layer's output at a token depends on the tokens before it alone, so it is the same in every batch. While rows are
    evaluated that are all held, those layers do nothing and the first that trains reads what is held.
    """

    def __init__(self, blocks: nn.ModuleList, layers: int, megabytes: int) -> None:
        before = list(blocks)[: len(blocks) - layers] if layers and megabytes else []
        self._there = bool(before)
        self._limit = megabytes * 2**20
        self._expected: dict[Row, None] = {}
        self._held: dict[Row, Tensor] = {}
        self._given: Tensor | None = None
        self._collected: list[Tensor] | None = None
        for block in before:
            block.forward = Watched(self, block.forward, block is before[-1])

    def expect(self, rows: Sequence[Row]) -> None:
        """These rows will be asked for."""
        if self._there:
            self._expected.update(dict.fromkeys(rows))

    def hold(self, evaluate: Callable[[Sequence[Row]], Tensor], size: int) -> None:
        """Have ``evaluate`` run the model on what is expected, [rows, any], and hold what passes by, ``size`` bytes a token.

        Nothing is held where it would take more memory than it may, nor of a model whose later layers read more of the earlier
        ones than their last output: what ``evaluate`` returns would then not be the same.
        """
        # Always the same rows side by side, so that a run that goes on rounds as the one it continues.
        new = sorted((row for row in self._expected if row not in self._held), key=lambda row: (len(row), row))
        self._expected.clear()
        if sum(map(len, (*new, *self._held))) * size > self._limit:
            return
        for start in range(0, len(new), BATCH):
            chosen = new[start : start + BATCH]
            said = self._collect(chosen, evaluate)
            if start == 0 and not _alike(self._again(chosen[::-1], evaluate), said.flip(0)):
                self._held.clear()
                return

    def share(self, other: FrozenLayers) -> None:
        """Hold what the frozen layers of another model hold that was built on the same weights."""
        self._held = other._held

    @contextmanager
    def reading(self, rows: Sequence[Row]) -> Iterator[None]:
        """While this is open the model, called with these rows, reads what is held of them, if all are."""
        if self._held and all(row in self._held for row in rows):
            self._given = nn.utils.rnn.pad_sequence([self._held[row] for row in rows], batch_first=True)
        try:
            yield
        finally:
            self._given = None

    @torch.no_grad()
    def _collect(self, rows: Sequence[Row], evaluate: Callable[[Sequence[Row]], Tensor]) -> Tensor:
        self._collected = []
        try:
            said = evaluate(rows)
            (passed,) = self._collected
        finally:
            self._collected = None
        self._held |= {row: hidden[: len(row)].clone() for row, hidden in zip(rows, passed, strict=True)}
        return said

    @torch.no_grad()
    def _again(self, rows: Sequence[Row], evaluate: Callable[[Sequence[Row]], Tensor]) -> Tensor:
        with self.reading(rows):
            return evaluate(rows)

    def pass_by(self, block: Watched, found: Any) -> None:
        """A layer returned this."""
        if block.last and self._collected is not None:
            self._collected.append(found if block.alone else found[0])

    def in_place_of(self, block: Watched, hidden: Tensor) -> Tensor | None:
        """What a layer is to return that is given ``hidden``; None: it has to work."""
        if self._given is None:
            return None
        return self._given.to(hidden) if block.last else hidden


class Watched:
    """The ``forward`` of a layer that does nothing where it can be done without.

    It returns then what it returned when it worked: one tensor, or a tuple. An object, not a function, so that a copy of the
    model runs its own layers.
    """

    def __init__(self, frozen_layers: FrozenLayers, work: Callable[..., Any], last: bool) -> None:
        self._frozen_layers, self._work, self.last = frozen_layers, work, last
        self.alone = True

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """As the layer's own."""
        handed = self._frozen_layers.in_place_of(self, arguments[0] if arguments else named["hidden_states"])
        if handed is not None:
            return handed if self.alone else (handed,)
        found = self._work(*arguments, **named)
        self.alone = isinstance(found, Tensor)
        self._frozen_layers.pass_by(self, found)
        return found


def _alike(tensor: Tensor, expected: Tensor) -> bool:
    return float((tensor - expected).abs().max()) <= CLOSE * float(expected.abs().max())
