"""``real[_]``: as wide as what a model is given. The signature of a model as it is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

from pdual.dsl import typed
from pdual.dsl.declarations.signature import Signature
from pdual.dsl.types import ArrayType, GraphType, OpenAxis


def called_signature(model: typed.TypedModel, spec: typed.TypedSpec) -> Signature:
    """The signature with the types of the first call's arguments in place of open inputs."""
    inputs = model.signature.inputs
    if not any(_is_open(kind) for _, kind in inputs):
        return model.signature
    call = next((call for call in calls_of(spec) if call.model == model.name), None)
    if call is None:
        return model.signature
    pairs = zip(inputs, call.arguments, strict=True)
    return replace(model.signature, inputs=tuple((name, _closed(kind, given.type)) for (name, kind), given in pairs))


def calls_of(spec: typed.TypedSpec) -> Iterator[typed.ModelCall]:
    """Every model call of the blocks; one in a ``let`` once."""
    return _calls(spec.blocks, set())


def _is_open(kind: object) -> bool:
    return isinstance(kind, ArrayType) and any(isinstance(axis, OpenAxis) for axis in kind.axes)


def _closed(declared: ArrayType | GraphType, given: object) -> ArrayType | GraphType:
    return given if _is_open(declared) and isinstance(given, ArrayType) else declared


def _calls(node: object, seen: set[int]) -> Iterator[typed.ModelCall]:
    """Every model call below a node; a let's body, which many places refer to, is looked at once."""
    if isinstance(node, typed.LetDefinition):
        if node.identity in seen:
            return
        seen.add(node.identity)
    if isinstance(node, typed.ModelCall):
        yield node
    if isinstance(node, tuple):
        for item in node:
            yield from _calls(item, seen)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _calls(getattr(node, field.name), seen)
