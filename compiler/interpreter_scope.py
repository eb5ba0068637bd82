"""What an expression is evaluated in: known structure, a row or a group of rows, the indices bound so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from pdual.dsl.declarations.known import Known
from pdual.dsl.spans import Span
from pdual.dsl.typed import Binder

#: bool, int (members of a set are positions), float, complex, text; nested lists of them, one level an axis;
#: a dict is a record.
Value: TypeAlias = Any

#: A model is opaque: it is asked for the outputs of one call, by its name and the values of its arguments.
Models: TypeAlias = Callable[[str, tuple[Value, ...]], Value]

#: Values of one spec's lets, calls and operands at one row.
Remembered: TypeAlias = dict[Any, Value]

Found = TypeVar("Found")


class EvaluationError(ArithmeticError):
    """An expression has no value here: ``log`` of a negative number, a mean over none.

    ``span`` is the expression's place in the spec; ``indices`` maps the identity of every bound index to its
    position.
    """

    def __init__(self, message: str, span: Span, indices: Mapping[int, int]) -> None:
        super().__init__(message)
        self.span = span
        self.indices = dict(indices)


def _no_models(model: str, arguments: tuple[Value, ...]) -> Value:
    raise LookupError(f"no outputs were handed in for model {model}")


@dataclass(frozen=True)
class Environment:
    """What no row changes: parameters, known structure, labels of every set, ``squared_norm`` by model.

    ``remembered``: what was found from these alone, so that it is not found again in every row.
    """

    params: Mapping[str, float | int | str]
    knowns: Mapping[str, Known]
    sets: Mapping[str, tuple[str, ...]]
    squared_norms: Mapping[str, float] = field(default_factory=dict)
    remembered: dict[Any, tuple[object, Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def remember(self, key: tuple[Any, ...], about: object, compute: Callable[[], Found]) -> Found:
        """What is found about one object (by its identity) under ``key``, computed the first time."""
        whole = (id(about), *key)
        if whole not in self.remembered:
            # The object is held too: its identity is its own for as long as it lives.
            self.remembered[whole] = (about, compute())
        found: Found = self.remembered[whole][1]
        return found


@dataclass(frozen=True)
class RowValues:
    """One row: its fields, and the outputs (and ``features``) of the models called on it."""

    fields: Mapping[str, Value]
    models: Models = _no_models
    features: Models = _no_models


@dataclass(frozen=True)
class GroupValues:
    """The rows of a group, which a group index ranges over; a model may be called on values of several."""

    rows: Sequence[RowValues]
    models: Models = _no_models
    features: Models = _no_models


@dataclass(slots=True)
class Scope:
    """An environment, a row or group, and the position of every bound index.

    A let and a model call have one value a row whoever asks, so that both are remembered here.
    """

    environment: Environment
    row: RowValues | GroupValues
    indices: Mapping[int, int]
    remembered: Remembered = field(default_factory=dict)

    def bind(self, binder: Binder, position: int) -> Scope:
        """The same with one more index bound."""
        return Scope(self.environment, self.row, {**self.indices, binder.identity: position}, self.remembered)

    def only(self, binders: Sequence[Binder], positions: Sequence[int]) -> Scope:
        """The same with these indices bound and no other: the scope of a let's body."""
        bound = {binder.identity: position for binder, position in zip(binders, positions, strict=True)}
        return Scope(self.environment, self.row, bound, self.remembered)

    def position(self, binder: Binder) -> int:
        """Where an index stands."""
        return self.indices[binder.identity]

    def row_at(self, binder: Binder | None) -> RowValues:
        """The block's row, or the one of the group that an index stands at."""
        if isinstance(self.row, RowValues):
            return self.row
        if binder is None:
            raise TypeError("a field of a group is read through an index that ranges over it")
        return self.row.rows[self.position(binder)]

    def remember(self, key: Any, compute: Callable[[], Value]) -> Value:
        """The value under ``key``, computed the first time."""
        if key not in self.remembered:
            self.remembered[key] = compute()
        return self.remembered[key]

    def error(self, message: str, span: Span) -> EvaluationError:
        """The exception for an expression that has no value at these indices."""
        return EvaluationError(message, span, self.indices)


def frozen(value: Value) -> Any:
    """A hashable stand-in: equal for equal nested lists; the object's identity for what cannot be hashed."""
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    if isinstance(value, dict):
        return tuple((name, frozen(item)) for name, item in value.items())
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def elements(value: Value, depth: int) -> Iterator[Value]:
    """The elements of a nested list ``depth`` levels down, in order."""
    if depth == 0:
        yield value
        return
    for item in value:
        yield from elements(item, depth - 1)
