"""The signature of a model, as an architecture sees it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from pdual.dsl.record import record
from pdual.dsl.types import ArrayType, FixedAxis, GraphType, Kind, SetAxis


@record(frozen=True, slots=True)
class Output:
    """One output: its name (empty when the model has a single unnamed output), type, and declared bounds."""

    name: str
    type: ArrayType
    low: float | None = None
    high: float | None = None


@record(frozen=True, slots=True)
class Signature:
    """Inputs and outputs of a model. A complex array counts twice: real and imaginary part."""

    inputs: tuple[tuple[str, ArrayType | GraphType], ...]
    outputs: tuple[Output, ...]


Sizes = Mapping[str, int]


def shape(type: ArrayType, sizes: Sizes) -> tuple[int | None, ...]:
    """The size of each axis; None where it is open, ragged, or a set of unknown size."""
    found: list[int | None] = []
    for axis in type.axes:
        if isinstance(axis, SetAxis):
            found.append(sizes.get(axis.set))
        elif isinstance(axis, FixedAxis):
            found.append(axis.size)
        else:
            found.append(None)
    return tuple(found)


def width(type: ArrayType, sizes: Sizes) -> int | None:
    """How many real numbers a value holds; None when an axis is not known."""
    sides = shape(type, sizes)
    known = [side for side in sides if side is not None]
    if len(known) < len(sides):
        return None
    return prod(known) * (2 if type.element is Kind.COMPLEX else 1)


def part_names(name: str, type: ArrayType) -> tuple[str, ...]:
    """The names of the real tensors that carry a value: ``load`` or ``load.re`` and ``load.im``; output "" gives "re"..."""
    if type.element is not Kind.COMPLEX:
        return (name,)
    return (f"{name}.re", f"{name}.im") if name else ("re", "im")
