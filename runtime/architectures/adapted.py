"""A plain ``nn.Module`` of the user's as a model: called by position, features read by a hook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_type_hints

import torch
from torch import Tensor, nn

from pdual.dsl import typed
from pdual.dsl.declarations.signature import part_names
from pdual.dsl.diagnostics import refuse
from pdual.dsl.near import nearest
from pdual.dsl.types import ArrayType, Kind
from pdual.runtime.architectures.interface import ModelOutput


def adapted(module: nn.Module, model: typed.TypedModel) -> nn.Module:
    """The module as models are called.

    One whose ``forward`` is declared to return a ``ModelOutput`` is one already. Any other is called with its arguments by
    position, tensors [batch, *axes] (complex ones complex; a single real number is [batch, 1], as layers take it), and returns
    its output likewise: one tensor, or for a record a mapping by name or a tuple in the order of the signature. One without inputs
    may leave out the batch: [*axes]. ``features = "fc2"`` in the spec names the layer, as in
    ``named_modules``, whose output ``features`` reads, flattened to [batch, width]. Raises PD691 (no such layer).
    """
    if get_type_hints(module.forward).get("return") is ModelOutput:
        return module
    layers = dict(module.named_modules())
    if model.features_layer is not None and model.features_layer not in layers:
        there = ", ".join(f"`{name}`" for name in layers if name)
        near = nearest(model.features_layer, layers)
        raise refuse("PD691", model.span, model=model.name, layer=model.features_layer, there=there or None, near=near)
    return Adapted(module, model)


class Adapted(nn.Module):
    """See ``adapted``."""

    def __init__(self, module: nn.Module, model: typed.TypedModel) -> None:
        super().__init__()
        self.module = module
        self._model = model
        self._layer = model.features_layer
        self._seen: list[Tensor] = []
        if self._layer is not None:
            module.get_submodule(self._layer).register_forward_hook(self._see)

    def forward(self, inputs: Mapping[str, Tensor]) -> ModelOutput:
        """Call the module. Raises PD690 where it returns something else than its signature says, PD692 where it fails."""
        self._seen.clear()
        arguments = [_argument(name, kind, inputs) for name, kind in self._model.signature.inputs]
        try:
            found = self.module(*arguments)
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            shapes = ", ".join(str(list(argument.shape)) for argument in arguments)
            reason = str(error).splitlines()[0]
            raise refuse("PD692", self._model.span, model=self._model.name, shapes=shapes, reason=reason) from error
        outputs = self._outputs(found, len(next(iter(inputs.values()))))
        features = {"": self._seen[-1].flatten(1)} if self._seen else {}
        return ModelOutput(outputs, features)

    def _see(self, layer: nn.Module, inputs: object, output: Tensor) -> None:
        self._seen.append(output)

    def _outputs(self, found: object, batch: int) -> dict[str, Tensor]:
        declared = self._model.signature.outputs
        if isinstance(found, Tensor):
            found = (found,)
        if isinstance(found, Sequence) and len(found) == len(declared):
            found = {output.name: value for output, value in zip(declared, found, strict=True)}
        if not isinstance(found, Mapping) or any(output.name not in found for output in declared):
            raise self._unlike(f"{len(declared)} tensors", type(found).__name__)
        outputs: dict[str, Tensor] = {}
        for output in declared:
            value = found[output.name]
            kind = output.type
            if not self._model.signature.inputs and isinstance(value, Tensor) and value.dim() == len(kind.axes):
                value = value.unsqueeze(0)  # without inputs there is no batch that it could know of
            if not kind.axes and value.dim() == 2 and value.shape[1] == 1:  # a last layer of one unit
                value = value.squeeze(1)
            if value.dim() != 1 + len(kind.axes) or len(value) != batch:
                raise self._unlike(f"a tensor [batch, *axes] for `{kind}`", f"shape {list(value.shape)}")
            if kind.element is Kind.COMPLEX:
                names = part_names(output.name, kind)
                outputs |= dict(zip(names, (value.real, value.imag), strict=True))
            else:
                outputs[output.name] = value
        return outputs

    def _unlike(self, expected: str, found: str) -> Exception:
        return refuse("PD690", self._model.span, model=self._model.name, expected=expected, found=found)


def _argument(name: str, kind: object, inputs: Mapping[str, Tensor]) -> Tensor:
    if isinstance(kind, ArrayType) and kind.element is Kind.COMPLEX:
        real, imaginary = part_names(name, kind)
        return torch.complex(inputs[real], inputs[imaginary])
    value = inputs[name]
    return value.unsqueeze(1) if kind == ArrayType(Kind.REAL) else value
