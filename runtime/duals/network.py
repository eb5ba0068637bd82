"""The network of ``learned(...)``: from features to one number a column."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.types import ArrayType, FixedAxis, Kind
from pdual.runtime.data.features import FeatureCache, Features

#: How an architecture is built: its use and the signature it serves.
Build = Callable[[ArchitectureUse, Signature], nn.Module]


#: A spread of so many units of the last place is none: it is what a mean of equal numbers is off by.
ROUNDING = 16


class Centred(nn.Module):
    """(x - mean) / scale with one mean a component and one scale for all of them; the identity until it is
    set. What is the same on every row has the scale 1.

    One common scale, so that a component that hardly varied when it was set is not blown up when it does
    later on.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mean: Tensor
        self.scale: Tensor
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(()))

    def forward(self, features: Tensor) -> Tensor:
        """The same shape, [..., width]."""
        return (features - self.mean) / self.scale

    def fit(self, features: Tensor) -> None:
        """Take mean and scale from samples [..., width]."""
        rows = features.flatten(0, -2)
        mean = rows.mean(0)
        scale = (rows - mean).square().mean().sqrt()
        self.mean.copy_(mean)
        rounding = ROUNDING * torch.finfo(rows.dtype).eps * mean.abs().max()
        self.scale.copy_(torch.where(scale > rounding, scale, torch.ones_like(scale)))


class FlatNetwork(nn.Module):
    """One network from all features, flattened and joined, to all c columns. ``widths`` are theirs by key."""

    def __init__(self, widths: Mapping[str, int], columns: int, use: ArchitectureUse, build: Build) -> None:
        super().__init__()
        self._keys = tuple(widths)
        self.centred = Centred(sum(widths.values()))
        self.network = vector_network(self.centred.mean.numel(), columns, use, build)
        self.bias = nn.Parameter(torch.zeros(columns))

    def forward(self, features: Features) -> Tensor:
        """[batch, c]."""
        found: Tensor = self.network({"x": self.centred(self._joined(features))}).outputs[""]
        return found + self.bias

    def standardise(self, features: FeatureCache, positions: Tensor) -> None:
        """Set the scale of the inputs by the features of some rows of one pass."""
        self.centred.fit(self._joined({key: features.dense(key)[positions] for key in self._keys}))

    def _joined(self, features: Features) -> Tensor:
        # Whole numbers and truth values are numbers to a network.
        parts = [_rows(_dense(features, key)).to(self.centred.mean.dtype) for key in self._keys]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)


class MemberNetwork(nn.Module):
    """One network per index set, applied to each of its members, with one output a head; columns pick member
    and head.

    ``members`` gives (feature key, position, head) of each column; ``widths`` the width of a member's
    features by key. Every column has a bias of its own beside the shared weights.
    """

    def __init__(
        self,
        members: tuple[tuple[str, int, str], ...],
        sizes: Mapping[str, int],
        widths: Mapping[str, int],
        use: ArchitectureUse,
        build: Build,
    ) -> None:
        super().__init__()
        heads: dict[str, list[str]] = {}
        for key, _, head in members:
            if head not in heads.setdefault(key, []):
                heads[key].append(head)
        self._keys = tuple(heads)
        self._centred = [Centred(widths[key]) for key in self._keys]
        self.centred = nn.ModuleList(self._centred)
        self.networks = nn.ModuleList(vector_network(widths[key], len(heads[key]), use, build) for key in self._keys)
        self.bias = nn.Parameter(torch.zeros(len(members)))
        starts, total = {}, 0
        for key in self._keys:
            starts[key] = total
            total += sizes[key] * len(heads[key])
        picks = [starts[key] + position * len(heads[key]) + heads[key].index(head) for key, position, head in members]
        self._picks: Tensor
        self.register_buffer("_picks", torch.tensor(picks), persistent=False)

    def forward(self, features: Features) -> Tensor:
        """[batch, c]."""
        found = []
        for key, centred, network in zip(self._keys, self._centred, self.networks, strict=True):
            members = _dense(features, key)
            rows = network({"x": centred(members).flatten(0, 1)}).outputs[""]
            found.append(rows.reshape(members.shape[0], -1))
        joined = found[0] if len(found) == 1 else torch.cat(found, 1)
        return joined.index_select(1, self._picks) + self.bias

    def standardise(self, features: FeatureCache, positions: Tensor) -> None:
        """Set the scale of the inputs by some rows of one pass, over rows and members alike."""
        for key, centred in zip(self._keys, self._centred, strict=True):
            centred.fit(features.dense(key)[positions])


def vector_network(inputs: int, outputs: int, use: ArchitectureUse, build: Build) -> nn.Module:
    """The architecture from a vector to a vector, with a last layer that says nothing yet: weight 0, bias
    ``output_bias`` or 0.
    """
    signature = Signature((("x", _vector(inputs)),), (Output("", _vector(outputs)),))
    network = build(use, signature)
    last = [module for module in network.modules() if isinstance(module, nn.Linear)][-1]
    nn.init.zeros_(last.weight)
    if last.bias is not None:
        nn.init.constant_(last.bias, getattr(use.settings, "output_bias", 0.0))
    return network


def _vector(width: int) -> ArrayType:
    return ArrayType(Kind.REAL, (FixedAxis(width),))


def _rows(values: Tensor) -> Tensor:
    """[batch, ...] as [batch, width]; one number a row is a vector of one."""
    return values.unsqueeze(1) if values.ndim == 1 else values.flatten(1)


def _dense(features: Features, key: str) -> Tensor:
    value = features[key]
    assert isinstance(value, Tensor), f"{key} is ragged, which the checker refuses"
    return value
