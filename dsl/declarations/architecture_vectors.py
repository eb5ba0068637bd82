"""What architectures over arrays of numbers share: encoded widths, complaints about what is no number."""

from __future__ import annotations

from collections.abc import Iterator

from pdual.dsl.declarations.architecture import Complaint
from pdual.dsl.declarations.signature import Output, Signature, Sizes, width
from pdual.dsl.types import ArrayType, FixedAxis, GraphType, Kind, MemberOf, OpenAxis, RaggedAxis


def encoded_width(array: ArrayType, sizes: Sizes) -> int | None:
    """How many real numbers stand for a value; None if not known.

    A complex number counts twice, a member of a set is one-hot.
    """
    numbers = width(array, sizes)
    if numbers is None or not isinstance(array.element, MemberOf):
        return numbers
    members = sizes.get(array.element.set)
    return None if members is None else numbers * members


def total_width(types: Iterator[ArrayType], sizes: Sizes) -> int | None:
    """The encoded widths of several values together; None while one of them is not known."""
    total = 0
    for array in types:
        numbers = encoded_width(array, sizes)
        if numbers is None:
            return None
        total += numbers
    return total


def input_width(signature: Signature, sizes: Sizes) -> int | None:
    """All inputs, flattened and joined."""
    return total_width((array for _, array in arrays(signature)), sizes)


def output_width(signature: Signature, sizes: Sizes) -> int | None:
    """All outputs, flattened and joined."""
    return total_width((output.type for output in signature.outputs), sizes)


def arrays(signature: Signature) -> Iterator[tuple[str, ArrayType]]:
    """The inputs that are arrays."""
    for name, array in signature.inputs:
        if isinstance(array, ArrayType):
            yield name, array


def vector(size: int) -> ArrayType:
    """The type of a representation of this width."""
    return ArrayType(Kind.REAL, (FixedAxis(size),))


def affine(inputs: int, outputs: int) -> int:
    """Parameters of one affine layer."""
    return (inputs + 1) * outputs


def array_complaints(signature: Signature) -> Iterator[Complaint]:
    """Inputs that are no arrays of numbers, outputs not real or complex or without fixed size."""
    for name, array in signature.inputs:
        if isinstance(array, GraphType) or array.element in (Kind.TEXT, Kind.ID):
            yield Complaint(name, "an array of numbers, booleans or members of a set", str(array))
        elif any(isinstance(axis, RaggedAxis) for axis in array.axes):
            yield Complaint(name, "axes of one length on every row", str(array))
    for output in signature.outputs:
        yield from output_complaints(output)


def output_complaints(output: Output) -> Iterator[Complaint]:
    """Whether a network can give it: real or complex, every axis of known length."""
    if output.type.element not in (Kind.REAL, Kind.COMPLEX):
        yield Complaint(output.name or "output", "a real or complex output", str(output.type))
    elif any(isinstance(axis, RaggedAxis | OpenAxis) for axis in output.type.axes):
        yield Complaint(output.name or "output", "axes of one length on every row", str(output.type))
