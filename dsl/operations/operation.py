"""One operation of the language, defined in one place.

A surface operation has a type rule, a scalar meaning (the reference interpreter's), and a lowering to *real* primitives: complex
values become (re, im) there. A primitive also has a range rule, a curvature rule and a torch emission, which imports torch only
when it is called. All of them have LaTeX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeAlias, TypeVar

from pdual.dsl.operations.interval import Interval
from pdual.dsl.record import record
from pdual.dsl.types import Element

N = TypeVar("N")


@record(frozen=True, slots=True)
class Pair:
    """A complex value as two real nodes."""

    re: Any
    im: Any


class Applier(Protocol):
    """What a lowering builds with: ``apply("add", x, y)`` makes a real node, ``apply.number(2.0)`` a constant."""

    def __call__(self, operation: str, *arguments: Any) -> Any:
        """Apply a real primitive."""

    def number(self, value: float) -> Any:
        """A constant."""


Parts: TypeAlias = Any  # a real node, or a Pair

#: The range of the derivative in every argument; None where there is none, or none that is known.
Slopes: TypeAlias = tuple["Interval | None", ...]

#: The ranges of the arguments given those and the result's; None for an argument that has no value left.
Narrowing: TypeAlias = Callable[[Sequence[Interval], Interval], Sequence["Interval | None"]]


class Curvature(StrEnum):
    """Disciplined-convex facts of a primitive as a function of its arguments."""

    AFFINE = "affine"
    CONVEX = "convex"
    CONCAVE = "concave"
    UNKNOWN = "unknown"


class Result(StrEnum):
    """What kind of number a primitive gives."""

    REAL = "real"
    TRUTH = "truth"
    AS_ARGUMENTS = "as its arguments"  # a whole number of whole numbers
    AS_CHOSEN = "as what it chooses from"  # the first argument tells which


#: The module of range rules on arrays of ends.
ARRAYS = "pdual.dsl.operations.interval_arrays"

#: What encloses its arguments by itself binds as tightly as a name.
TIGHT = 9


@record(frozen=True, slots=True)
class Domain:
    """Where an operation has a value.

    The argument at ``place``, called ``argument``, must do what ``must`` says. ``leaves(known, declared)`` tells whether its range reaches
    where it does not; an end at 0 counts only where it was ``declared``: ``exp(x)`` is never 0 although its range says so.
    """

    place: int
    argument: str
    must: str
    leaves: Callable[[Interval, bool], bool]


@record(frozen=True, slots=True)
class Operation:
    """See the module's text.

    ``result(elements)`` is the type rule: the element of the result, or None when the arguments do not fit, in which case
    ``expects`` says what would. ``monotone`` holds "+", "-" or "?" for each argument, or one character for all.
    ``lower`` is None for an operation that is its own real primitive. ``interval`` is None for what never reaches the IR.
    ``domain`` is None for what has a value everywhere. ``line`` says how a function of a spec is called and what it is, as editors show it.
    ``slope`` gives the ranges of the partial derivatives from those of the arguments, those of both sides at a kink; without it the operation
    counts as one that jumps. ``narrow`` goes back from the range of the result; without it nothing is narrowed. ``gives`` is the kind of a primitive's
    result. ``commutative``: the order of the arguments does not matter. ``binding`` tells how tightly its LaTeX binds, from 1. ``arrays``,
    ``"module:function"``, is ``interval`` on arrays of ends; without it the rule is applied once for each different row.
    """

    name: str
    arity: int
    expects: str
    result: Callable[[Sequence[Element]], Element | None]
    meaning: Callable[..., Any]
    latex: Callable[..., str]
    lower: Callable[..., Parts] | None = None
    interval: Callable[..., Interval] | None = None
    emit: Callable[[], Callable[..., Any]] | None = None
    curvature: Curvature = Curvature.UNKNOWN
    monotone: str = "?"
    lipschitz: float | None = None
    surface: bool = True  # callable by name in a spec
    symbol: str | None = None  # the operator it is written with
    domain: Domain | None = None
    line: str = ""
    slope: Callable[..., Slopes] | None = None
    narrow: Narrowing | None = None
    gives: Result = Result.REAL
    commutative: bool = False
    binding: int = TIGHT
    arrays: str | None = None
