"""How every model is called, and the hooks that the solver and the reports use."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor, nn

from pdual.runtime.models.called_rows import CalledRows


class ModelOutput(NamedTuple):
    """What a model returns.

    ``outputs``: each output under its part names (``v.re``, ``v.im``; a single unnamed real output is ``""``): [batch, *axes].
    ``features``: the penultimate representation: ``{"": [batch, width]}`` for a vector, ``{"bus": [batch, |bus|, width], ...}``
    per member, ``{"token": Ragged}`` per token. Nothing in it depends on other rows of the batch.

    A model is an ``nn.Module`` with ``forward(inputs: dict[str, Tensor]) -> ModelOutput``; ``inputs`` holds each argument under its
    part names (``load.re``, ``load.im``), and ``"@row"`` the rows' positions ([batch] int64), which only ``free`` reads.
    """

    outputs: Mapping[str, Tensor]
    features: Mapping[str, Tensor]


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of a model in words. ``columns``: a text a row, by the title of its column. ``note`` describes them in half a sentence."""

    columns: Mapping[str, Sequence[str]]
    note: str


class Model(nn.Module):
    """A network, and what the solver and the reports ask of it besides its outputs. The answers here are those of a plain network."""

    @property
    def feature_width(self) -> int | None:
        """Numbers of a feature, where only the model knows how many."""
        return None

    @property
    def wide(self) -> tuple[str, ...]:
        """Outputs with an entry for every word of a vocabulary, which are too large to be kept for many rows."""
        return ()

    @property
    def holds_rows(self) -> bool:
        """Whether each row has trained weights of its own, so that a new row has no output."""
        return False

    def read_rows(self, called: CalledRows) -> None:
        """Check the rows that the model will be called on, before anything is trained. Raises a Refusal with the address of a row."""

    def remember(self) -> None:
        """Evaluate what training does not change. The models are on their device, and nothing was trained yet."""

    def frozen(self) -> nn.Module:
        """The model as it is now, without trainable weights."""
        return copy.deepcopy(self).requires_grad_(False)

    def answers(self, called: CalledRows) -> Answers | None:
        """Answers in words on some rows, None of a model that answers in numbers. The model is in evaluation mode."""
        return None


class _Plain(Model):
    """A module that was not written for pdual."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self._module = (module,)  # in a tuple: its weights are not this one's

    def frozen(self) -> nn.Module:
        return copy.deepcopy(self._module[0]).requires_grad_(False)


def as_model(module: nn.Module) -> Model:
    """A module as a ``Model``: itself, where it is one."""
    return module if isinstance(module, Model) else _Plain(module)


def remember(models: nn.ModuleDict) -> None:
    """Have every model remember what training does not change."""
    for model in models.values():
        as_model(model).remember()


def tables_of_rows(models: nn.ModuleDict) -> tuple[str, ...]:
    """The models that hold a trained value of every train row, and so have none for other rows."""
    return tuple(name for name, model in models.items() if any(as_model(part).holds_rows for part in model.modules()))
