"""``real[_]``: as wide as what a model is given. The signature of a model as it is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from pdual.dsl import typed
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.types import ArrayType, FixedAxis, GraphType, OpenAxis

_Node = TypeVar("_Node", typed.ModelCall, typed.FeaturesOf)


def called_signature(
    model: typed.TypedModel, spec: typed.TypedSpec, widths: Mapping[str, int] | None = None
) -> Signature:
    """The signature with the types of the first call's arguments in place of open inputs.

    Where those are open too, they come from features whose width only the model itself tells: ``widths`` has it by model.
    """
    inputs = model.signature.inputs
    if not any(_is_open(kind) for _, kind in inputs):
        return model.signature
    call = next((call for call in calls_of(spec) if call.model == model.name), None)
    if call is None:
        return model.signature
    pairs = zip(inputs, call.arguments, strict=True)
    closed = tuple((name, _closed(kind, _measured(given, widths or {}))) for (name, kind), given in pairs)
    return replace(model.signature, inputs=closed)


def is_closed(signature: Signature) -> bool:
    """Whether no input is as wide as what it is given."""
    return not any(_is_open(kind) for _, kind in signature.inputs)


def calls_of(spec: typed.TypedSpec) -> Iterator[typed.ModelCall]:
    """Every model call of blocks and of constraints on averages; one in a ``let`` once."""
    return _found(typed.ModelCall, (spec.blocks, spec.averages), set())


def featured_calls_of(spec: typed.TypedSpec) -> Iterator[typed.ModelCall]:
    """Every model call whose ``features`` blocks or constraints on averages read; one in a ``let`` once."""
    return (item.call for item in _found(typed.FeaturesOf, (spec.blocks, spec.averages), set()))


def _is_open(kind: object) -> bool:
    return isinstance(kind, ArrayType) and any(isinstance(axis, OpenAxis) for axis in kind.axes)


def _closed(declared: ArrayType | GraphType, given: object) -> ArrayType | GraphType:
    return given if _is_open(declared) and isinstance(given, ArrayType) else declared


def _measured(given: typed.TypedExpression, widths: Mapping[str, int]) -> object:
    """The type of an argument, an open axis being as wide as the features that the argument is made of."""
    kind = given.type
    found = {widths[call.model] for call in _found(typed.ModelCall, given, set()) if call.model in widths}
    if not isinstance(kind, ArrayType) or not _is_open(kind) or len(found) != 1:
        return kind
    (width,) = found
    axes = tuple(FixedAxis(width) if isinstance(axis, OpenAxis) else axis for axis in kind.axes)
    return replace(kind, axes=axes)


def _found(kind: type[_Node], node: object, seen: set[int]) -> Iterator[_Node]:
    """Every expression of this kind below a node; a let's body, which many places refer to, is looked at once."""
    if isinstance(node, typed.LetDefinition):
        if node.identity in seen:
            return
        seen.add(node.identity)
    if isinstance(node, kind):
        yield node
    if isinstance(node, tuple):
        for item in node:
            yield from _found(kind, item, seen)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _found(kind, getattr(node, field.name), seen)
