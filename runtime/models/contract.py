"""What a module from Python is held to at every call: outputs by name, in full shape, of real type, with a gradient in training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from pdual.dsl import typed
from pdual.dsl.declarations.signature import Sizes, part_names, shape
from pdual.dsl.diagnostics import Refusal, refuse
from pdual.dsl.types import ArrayType, Kind
from pdual.runtime.models.interface import ModelOutput


class Contract:
    """That of one model."""

    def __init__(self, model: typed.TypedModel, sizes: Sizes) -> None:
        self.model = model
        self._outputs = model.signature.outputs
        self._shapes = [shape(output.type, sizes) for output in self._outputs]

    def outputs(self, found: object, batch: int, device: torch.device, dtype: torch.dtype | None) -> dict[str, Tensor]:
        """What a plain module returned, by part, in the precision of its inputs. Raises PD690."""
        values = self._by_name(found)
        outputs: dict[str, Tensor] = {}
        for output, sides in zip(self._outputs, self._shapes, strict=True):
            value, kind = values[output.name], output.type
            wanted = Kind.COMPLEX if kind.element is Kind.COMPLEX else Kind.REAL
            sides = (batch, *sides)
            if isinstance(value, Tensor) and value.layout is torch.strided:
                if not kind.axes and value.shape == (batch, 1):  # a last layer of one unit
                    value = value.squeeze(1)
                elif not self.model.signature.inputs and value.shape == sides[1:] and None not in sides:
                    value = value.unsqueeze(0).repeat(batch, *[1] * value.dim())  # one set of numbers for all rows
            value = self._checked(value, wanted, sides, device, output.name)
            if (
                wanted is Kind.REAL
                and value.dtype is not dtype
                and dtype
                and not torch.is_autocast_enabled(device.type)
            ):
                value = value.to(dtype)
            if wanted is Kind.COMPLEX:
                outputs |= dict(zip(part_names(output.name, kind), (value.real, value.imag), strict=True))
            else:
                outputs[output.name] = value
        return outputs

    def check(self, found: object, batch: int, device: torch.device) -> None:
        """Hold to it what a module returned that is called as pdual's own are. Raises PD690."""
        if not isinstance(found, ModelOutput) or not isinstance(found.outputs, Mapping):
            raise self.unlike("a `ModelOutput`", type(found).__name__)
        for output, sides in zip(self._outputs, self._shapes, strict=True):
            for part in part_names(output.name, output.type):
                if part not in found.outputs:
                    names = ", ".join(f"`{name}`" for name in found.outputs) or "none"
                    raise self.unlike(f"an output `{part}`", names)
                if None not in sides:  # what is ragged has no shape of its own
                    self._checked(found.outputs[part], Kind.REAL, (batch, *sides), device, part)

    def check_gradient(self, outputs: Mapping[str, Tensor], module: nn.Module) -> None:
        """Refuse (PD612) outputs that the module's weights cannot be trained by."""
        if any(value.requires_grad for value in outputs.values() if isinstance(value, Tensor)):
            return
        if any(weight.requires_grad for weight in module.parameters()):
            raise refuse("PD612", self.model.span, model=self.model.name)

    def unlike(self, expected: str, found: str) -> Refusal:
        """PD690."""
        return refuse("PD690", self.model.span, model=self.model.name, expected=expected, found=found)

    def _by_name(self, found: object) -> Mapping[str, object]:
        names = [output.name for output in self._outputs]
        if isinstance(found, Tensor):
            found = (found,)
        fields = getattr(found, "_fields", None)
        if isinstance(found, tuple) and fields and names != [""]:
            found = dict(zip(fields, found, strict=True))
        elif dataclasses.is_dataclass(found) and not isinstance(found, type | Mapping):
            found = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
        elif isinstance(found, Sequence) and not isinstance(found, str) and len(found) == len(names):
            found = dict(zip(names, found, strict=True))
        if not isinstance(found, Mapping):
            raise self.unlike(f"{len(names)} tensors", type(found).__name__)
        missing = next((name for name in names if name not in found), None)
        if missing is not None:
            there = ", ".join(f"`{name}`" for name in found) or "none"
            raise self.unlike(f"`{missing}`" if missing else "one tensor", there)
        return found

    def _checked(
        self, value: object, kind: Kind, sides: Sequence[int | None], device: torch.device, name: str
    ) -> Tensor:
        """A tensor of this shape (None: of any size) and kind of numbers, where its inputs are."""
        called = f" for `{name}`" if name else ""
        if not isinstance(value, Tensor):
            raise self.unlike(f"a tensor{called}", type(value).__name__)
        sizes = value.shape
        if len(sizes) != len(sides) or any(side not in (None, size) for side, size in zip(sides, sizes, strict=True)):
            shown = ["_" if side is None else side for side in sides]
            words = f"a tensor [{', '.join(map(str, shown))}]{called}"
            raise self.unlike(words, f"shape {list(sizes)}")
        if value.layout is not torch.strided or value.device != device:
            place = f"{str(value.layout).removeprefix('torch.')} on {value.device}"
            raise self.unlike(f"a dense tensor on {device}{called}", f"one that is {place}")
        if not (value.is_complex() if kind is Kind.COMPLEX else value.is_floating_point()):
            raise self.unlike(f"{kind} numbers{called}", str(value.dtype).removeprefix("torch."))
        return value


def first_argument(model: typed.TypedModel, inputs: Mapping[str, object]) -> Tensor | None:
    """A tensor of the inputs, by which the batch and the device are known."""
    for name, kind in model.signature.inputs:
        part = part_names(name, kind)[0] if isinstance(kind, ArrayType) else name
        if isinstance(value := inputs.get(part), Tensor):
            return value
    value = inputs.get("@row")
    return value if isinstance(value, Tensor) else None


def precision_of(arguments: Sequence[Tensor]) -> torch.dtype | None:
    """That of the first argument of real or complex numbers; None without any."""
    first = next((item for item in arguments if item.is_floating_point() or item.is_complex()), None)
    return None if first is None else first.real.dtype if first.is_complex() else first.dtype
