"""Type rules and LaTeX helpers that several operations share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pdual.dsl.types import Element, Kind, MemberOf, is_numeric, join_numeric


def numeric(elements: Sequence[Element]) -> Element | None:
    """Numbers of any kind; the result is the widest of them."""
    return join_numeric(*elements) if all(map(is_numeric, elements)) else None


def real_valued(elements: Sequence[Element]) -> Element | None:
    """Real arguments, real result."""
    return Kind.REAL if all(element in (Kind.INT, Kind.REAL) for element in elements) else None


def ordered(elements: Sequence[Element]) -> Element | None:
    """Real arguments; the result is the widest of them (int stays int)."""
    return join_numeric(*elements) if all(element in (Kind.INT, Kind.REAL) for element in elements) else None


def fraction(elements: Sequence[Element]) -> Element | None:
    """Numbers; the result is real, or complex when an argument is."""
    if not all(map(is_numeric, elements)):
        return None
    return Kind.COMPLEX if Kind.COMPLEX in elements else Kind.REAL


def analytic(elements: Sequence[Element]) -> Element | None:
    """A number; the result is of the same kind, int becoming real."""
    return fraction(elements)


def to_real(elements: Sequence[Element]) -> Element | None:
    """A number of any kind; the result is real."""
    return Kind.REAL if all(map(is_numeric, elements)) else None


def truth(elements: Sequence[Element]) -> Element | None:
    """Truth values."""
    return Kind.BOOL if all(element is Kind.BOOL for element in elements) else None


def comparable(elements: Sequence[Element]) -> Element | None:
    """Two real numbers: an order."""
    return Kind.BOOL if all(element in (Kind.INT, Kind.REAL) for element in elements) else None


def equatable(elements: Sequence[Element]) -> Element | None:
    """Two numbers, two truth values, two ids, or two members of one set."""
    left, right = elements
    if left == right and (isinstance(left, MemberOf) or left in (Kind.BOOL, Kind.ID, Kind.TEXT)):
        return Kind.BOOL
    return Kind.BOOL if is_numeric(left) and is_numeric(right) else None


def chosen(elements: Sequence[Element]) -> Element | None:
    """A truth value and two values of one kind."""
    condition, left, right = elements
    if condition is not Kind.BOOL:
        return None
    if left == right:
        return left
    return join_numeric(left, right) if is_numeric(left) and is_numeric(right) else None


def infix(symbol: str) -> Callable[..., str]:
    """LaTeX of a binary operator."""
    return lambda left, right: f"{left} {symbol} {right}"


def named(name: str) -> Callable[..., str]:
    """LaTeX of a named function."""
    return lambda *arguments: rf"\operatorname{{{name}}}\left({', '.join(arguments)}\right)"
