"""A plain ``nn.Module`` of the user's as a model: called by position on rows of its own, features read by a hook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MethodType
from typing import Any, get_type_hints

import torch
from torch import Tensor, nn

from pdual.dsl import typed
from pdual.dsl.declarations.signature import Sizes, part_names
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.near import nearest
from pdual.dsl.types import ArrayType, Kind
from pdual.runtime.models.contract import Contract, first_argument, precision_of
from pdual.runtime.models.interface import ModelOutput


def adapted(module: nn.Module, model: typed.TypedModel, sizes: Sizes) -> nn.Module:
    """The module as models are called; what is given is changed by it, if only by hooks.

    One whose ``forward`` is declared to return a ``ModelOutput`` is one already. Any other is called with its arguments by
    position, tensors [batch, *axes] (complex ones complex; a single real number is [batch, 1], as layers take it), and returns
    its output likewise: one tensor, or for a record a mapping by name, a named tuple, a dataclass, or a tuple in the order of the
    signature. ``features = "fc2"`` in the spec names the layer, as in ``named_modules``, whose output ``features`` reads,
    flattened to [batch, width]. One without
    inputs may leave out the batch: [*axes]. Either works on rows of its own, is held to its ``Contract``, and trains in the modes that its
    layers have now. Raises PD691 (no such layer).
    """
    check_layer(module, model)
    contract = Contract(model, sizes)
    if not _returns_model_output(module):
        return Adapted(module, contract)
    guard = _Guard(contract)
    module.register_forward_pre_hook(guard.before)
    module.register_forward_hook(guard.after)
    module.still = _still(module)  # type: ignore[assignment]
    module.train = MethodType(_train, module)  # type: ignore[method-assign]
    return module


def check_layer(module: nn.Module, model: typed.TypedModel) -> None:
    """Refuse (PD691) a name of a layer that a plain module has none of."""
    if model.features_layer is None or _returns_model_output(module):
        return
    layers = dict(module.named_modules())
    if model.features_layer not in layers:
        there = ", ".join(f"`{name}`" for name in layers if name)
        near = nearest(model.features_layer, layers)
        raise refuse("PD691", model.span, model=model.name, layer=model.features_layer, there=there or None, near=near)


def _returns_model_output(module: nn.Module) -> bool:
    try:
        return get_type_hints(module.forward).get("return") is ModelOutput
    except Exception:  # annotations may name what is not there, or be those of a script
        return getattr(module.forward, "__annotations__", {}).get("return") in (ModelOutput, "ModelOutput")


class Adapted(nn.Module):
    """See ``adapted``."""

    def __init__(self, module: nn.Module, contract: Contract) -> None:
        super().__init__()
        self.module = module
        self.contract = contract
        self.still = _still(module)
        self._seen: list[Tensor] = []
        #: The arguments of calls, where they are asked for.
        self.asked: list[list[Tensor]] | None = None
        layer = contract.model.features_layer
        if layer is not None:
            module.get_submodule(layer).register_forward_hook(self._see)

    def train(self, mode: bool = True) -> Adapted:
        """Layers that came in evaluation mode stay in it."""
        super().train(mode)
        for layer in self.still:
            layer.training = False
        return self

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """Call the module. Raises PD690 where it returns something else than its signature says, PD612 without a gradient,
        PD692 where it fails.
        """
        arguments = [_argument(name, kind, inputs) for name, kind in self.contract.model.signature.inputs]
        if self.asked is not None:
            self.asked.append([argument.clone() for argument in arguments])
        first = first_argument(self.contract.model, inputs)
        assert first is not None
        outputs = self.call(arguments, len(first), first.device)
        if self.training and torch.is_grad_enabled():
            self.contract.check_gradient(outputs, self.module)
        features = {"": self._seen[-1].flatten(1)} if self._seen else {}
        self._seen.clear()
        return ModelOutput(outputs, features)

    def call(self, arguments: Sequence[Tensor], batch: int, device: torch.device) -> dict[str, Tensor]:
        """What the module says of arguments, which it may overwrite. Raises PD690, PD692."""
        self._seen.clear()
        dtype = precision_of(arguments)
        try:
            found = self.module(*arguments)
        except (torch.OutOfMemoryError, Refusal):
            raise
        except Exception as error:
            model = self.contract.model
            shapes = ", ".join(str(list(argument.shape)) for argument in arguments)
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise refuse("PD692", model.span, model=model.name, shapes=shapes, reason=reason) from error
        return self.contract.outputs(found, batch, device, dtype)

    def _see(self, layer: nn.Module, inputs: object, output: Tensor) -> None:
        self._seen.append(output)


class _Guard:
    """Hooks of a module that is called as pdual's own are."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract

    def before(self, module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Tensors of its own."""
        inputs, *rest = arguments
        own = {name: value.clone() if isinstance(value, Tensor) else value for name, value in inputs.items()}
        return (own, *rest)

    def after(self, module: nn.Module, arguments: tuple[Any, ...], found: Any) -> None:
        """Held to the contract."""
        first = first_argument(self._contract.model, arguments[0])
        if first is not None:
            self._contract.check(found, len(first), first.device)
        if module.training and torch.is_grad_enabled():
            self._contract.check_gradient(found.outputs, module)


def _train(self: nn.Module, mode: bool = True) -> nn.Module:
    type(self).train(self, mode)
    for layer in self.still:  # type: ignore[union-attr]
        layer.training = False
    return self


def _still(module: nn.Module) -> tuple[nn.Module, ...]:
    return tuple(layer for layer in module.modules() if not layer.training)


def _argument(name: str, kind: object, inputs: Mapping[str, Tensor]) -> Tensor:
    """A tensor of the module's own: what it does to it in place reaches no constraint."""
    if isinstance(kind, ArrayType) and kind.element is Kind.COMPLEX:
        real, imaginary = part_names(name, kind)
        return torch.complex(inputs[real], inputs[imaginary])
    value = inputs[name].clone()
    return value.unsqueeze(1) if kind == ArrayType(Kind.REAL) else value
