"""What passes through a network while it is evaluated, and what the norms of its weights make of random signs.

With signs e independent and fair, and evaluations n = 1..N, ``reach`` stands for E sup |sum_n e_n h(x_n)|_2, h the last hidden layer. Two are given:

- a bound, over all networks whose layers have norms no larger than the trained ones, layer by layer (Neyshabur, Tomioka and Srebro, "Norm-based
  capacity control in neural networks", 2015): a layer a(W h + b) takes a reach R to at most 2 s M (R + sqrt N), and sqrt(N width) |a(0)| where a(0) is
  not 0; s is the slope of a, M the Frobenius norm of [W b] for ReLU, else the sum of the norms of its rows. A convolution with ReLU and pooling does so at
  every place of its output, its input the patches that are pooled there: the maximum of some has at most the sum of their complexities.
- an estimate, over the last layer alone, the trained features held: the mean over draws of signs.

The last layer, rows w_k and offsets b_k, then has E sup sum_n e_n f_k(x_n) <= |w_k| reach + |b_k| sqrt N, for every output k.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isinf, sqrt

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from pdual.runtime.models.cnn import Cnn
from pdual.runtime.models.linear import Linear
from pdual.runtime.models.mlp import ACTIVATIONS, Mlp, Perceptron
from pdual.runtime.models.values import Slot

#: Draws of signs.
DRAWS = 64
#: Largest slope of an activation, rounded up, and its value at 0.
SLOPES: Mapping[str, tuple[float, float]] = {
    "relu": (1.0, 0.0), "tanh": (1.0, 0.0), "softplus": (1.0, 0.693148), "gelu": (1.12891, 0.0), "silu": (1.09985, 0.0),
}  # fmt: skip
_NAMES = {function: name for name, function in ACTIVATIONS.items()}


@dataclass(frozen=True)
class Sums:
    """Of one last layer: E sup sum e f for every output, [members, outputs], times the slopes of what squashes the outputs."""

    bound: Tensor | None
    estimate: Tensor


class Signs:
    """Fair signs, the same ones in every run."""

    def __init__(self) -> None:
        self._random = torch.Generator().manual_seed(0)

    def draw(self, count: int) -> Tensor:
        """[draws, count] of +1 and -1."""
        return torch.randint(0, 2, (DRAWS, count), generator=self._random).double() * 2 - 1


class Watched:
    """One network under evaluation. While batches of ``listens`` rows are, it counts; so many evaluations a row are those of
    members of a set, each a sample of its own.
    """

    def __init__(self, module: nn.Module, signs: Signs) -> None:
        self.listens = 0
        self._signs = signs
        self._count = 0
        self._squares: Tensor | None = None  # of what goes in
        self._summed: dict[int, Tensor] = {}  # by last layer: [draws, members, width]
        self._network = module
        self._heads = _heads(module)
        self._hooks = [_first(module).register_forward_pre_hook(self._enter)] if not _is_graph(module) else []
        for place, (layer, _) in enumerate(self._heads):
            self._hooks.append(layer.register_forward_pre_hook(self._last(place)))

    def close(self) -> None:
        """Stop watching."""
        for hook in self._hooks:
            hook.remove()

    @property
    def evaluations(self) -> int:
        """How often it was evaluated for one member."""
        return self._count

    def sums(self) -> list[Sums]:
        """What the evaluations so far come to, a last layer each."""
        root = sqrt(self._count)
        bound = None if self._squares is None else _reach(self._network, self._squares, root)
        found = []
        for place, (layer, slots) in enumerate(self._heads):
            norms, offsets = _rows(layer)
            slopes = _slopes(slots, norms.shape[1])
            estimate = self._summed[place].norm(dim=-1).mean(0)
            made = [
                None if reach is None else (norms * reach.unsqueeze(-1) + offsets * root) * slopes
                for reach in (bound, estimate)
            ]
            assert made[1] is not None
            found.append(Sums(made[0], made[1]))
        return found

    def _enter(self, module: nn.Module, inputs: Sequence[Tensor]) -> None:
        if not self.listens:
            return
        values = inputs[0].detach().double()
        if isinstance(module, Perceptron) and module.normalised is not None:
            values = functional.layer_norm(values, module.normalised)
        squares = values.square()
        # Of images the sum over rows and channels at every place, else that over rows and numbers, by member.
        summed = squares.sum((0, 1)) if isinstance(module, nn.Conv2d) else self._by_member(squares).sum((0, 2))
        self._squares = summed if self._squares is None else self._squares + summed

    def _last(self, place: int) -> Callable[[nn.Module, Sequence[Tensor]], None]:
        def enter(module: nn.Module, inputs: Sequence[Tensor]) -> None:
            if not self.listens:
                return
            values = inputs[0].detach().double()
            values = values if values.ndim == 3 else self._by_member(values)
            if place == 0:
                self._count += len(values)
            summed = torch.einsum("dn,nmw->dmw", self._signs.draw(len(values)), values.cpu())
            self._summed[place] = summed if place not in self._summed else self._summed[place] + summed

        return enter

    def _by_member(self, values: Tensor) -> Tensor:
        members = len(values) // self.listens or 1
        return values.reshape(-1, members, values.shape[-1])


def is_covered(module: nn.Module) -> bool:
    """Whether its architecture is one of those above."""
    return isinstance(module, Linear | Mlp | Cnn) or _is_graph(module)


def _is_graph(module: nn.Module) -> bool:
    return type(module).__module__ == "pdual.runtime.models.gnn"  # which takes seconds to import


def _first(module: nn.Module) -> nn.Module:
    """What reads the input."""
    if isinstance(module, Cnn):
        return module.convolutions[0] if len(module.convolutions) else module.perceptron
    return module.map if isinstance(module, Linear) else module.perceptron  # type: ignore[return-value]


def _heads(module: nn.Module) -> list[tuple[nn.Module, Sequence[Slot]]]:
    """The last layers, and how their numbers are cut into outputs."""
    if isinstance(module, Linear):
        return [(module.map, module.slots)]
    if isinstance(module, Mlp | Cnn):
        return [(module.perceptron.last, module.slots)]
    return [(readout, (_whole(readout),)) for readout in module.readouts]  # type: ignore[union-attr]


def _whole(readout: nn.Module) -> Slot:
    width = readout.weight.shape[2]  # type: ignore[index]
    return Slot((), (), width, readout.low, readout.high)  # type: ignore[arg-type]


def _rows(layer: nn.Module) -> tuple[Tensor, Tensor]:
    """The norm of every row of the weights, and |offset|: [members or 1, outputs]."""
    weight: Tensor = layer.weight.detach().double().cpu()  # type: ignore[operator]
    if weight.ndim == 3:
        bias: Tensor = layer.bias.detach()  # type: ignore[operator]
        return weight.norm(dim=1), bias.double().abs().cpu()
    offsets = layer.bias.detach().double().abs().cpu() if layer.bias is not None else torch.zeros(len(weight))  # type: ignore[operator]
    return weight.norm(dim=1)[None], offsets[None]


def _slopes(slots: Sequence[Slot], outputs: int) -> Tensor:
    """The largest slope of what takes a number into its output's range: [outputs]."""
    found: list[float] = []
    for item in slots:
        both = [end for end in (item.low, item.high) if end is not None and not isinf(end)]
        found += [(both[1] - both[0]) / 4 if len(both) == 2 else 1.0] * item.width
    assert len(found) == outputs
    return torch.tensor(found, dtype=torch.float64)


def _reach(module: nn.Module, squares: Tensor, root: float) -> Tensor:
    """The bound of the reach of the last hidden layer, by member; ``root`` is sqrt N."""
    if isinstance(module, Linear):
        return squares.sqrt().cpu()
    assert isinstance(module, Mlp | Cnn)
    if isinstance(module, Cnn) and len(module.convolutions):
        return _through(module.perceptron, _pooled(module, squares.cpu(), root), root)
    return _through(module.perceptron, squares.sqrt().cpu(), root)


def _through(perceptron: Perceptron, reach: Tensor, root: float) -> Tensor:
    name = _NAMES[perceptron.activation]
    slope, start = SLOPES[name]
    for layer, skips in zip(perceptron.hidden, perceptron.skips, strict=True):
        assert isinstance(layer, nn.Linear)
        both = _joined(layer)
        size = both.norm() if name == "relu" else both.norm(dim=1).sum()
        made = 2 * slope * size * (reach + root) + start * sqrt(len(both)) * root
        reach = reach + made if skips else made
    return reach


def _pooled(module: Cnn, squares: Tensor, root: float) -> Tensor:
    """The reach of all maps side by side, [1], from the sum of squares of the images at every place, [height, width]."""
    places = squares[None, None]
    patches: Tensor | None = None
    for convolution in module.convolutions:
        assert isinstance(convolution, nn.Conv2d)
        ones = torch.ones(1, 1, *convolution.kernel_size, dtype=torch.float64)
        seen = functional.conv2d(places, ones, padding=convolution.padding)
        patches = seen.sqrt() if patches is None else seen
        pooled = functional.avg_pool2d(patches + root, module.pool) * module.pool**2
        places = 2 * _joined(convolution).norm() * pooled
    return places.sum().reshape(1)


def _joined(layer: nn.Linear | nn.Conv2d) -> Tensor:
    """[W b]: [outputs, inputs + 1]."""
    weight = layer.weight.detach().double().cpu().flatten(1)
    return weight if layer.bias is None else torch.cat([weight, layer.bias.detach().double().cpu()[:, None]], 1)
