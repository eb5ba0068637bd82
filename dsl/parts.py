"""Sides and parts of a relation: every real relation is one part with one multiplier an entry."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.record import record


@record(frozen=True, slots=True)
class PartShape:
    """One part of a relation.

    ``component``: "" of a real relation, "re" or "im" of a complex one. ``side``: "" of a one-sided relation, "lower" or "upper"
    of a two-sided one. ``left`` and ``right`` are positions among the relation's operands: the row is ``left <= right`` (or ``==``).
    """

    component: str
    side: str
    equality: bool
    left: int
    right: int

    @property
    def name(self) -> str:
        """``re.upper``, ``lower``, ``im`` or ""."""
        return ".".join(piece for piece in (self.component, self.side) if piece)


def part_shapes(operators: Sequence[str], complex_valued: bool) -> tuple[PartShape, ...]:
    """The parts of a relation, in the order of rows: real before imaginary, lower before upper.

    ``operators`` is one of ``<=``, ``>=``, ``==``, or two of the same direction (``lo <= x <= hi``, ``hi >= x >= lo``).
    """
    components = ("re", "im") if complex_valued else ("",)
    return tuple(
        PartShape(component, side, equality, left, right)
        for component in components
        for side, equality, left, right in _sides(tuple(operators))
    )


def _sides(operators: tuple[str, ...]) -> tuple[tuple[str, bool, int, int], ...]:
    if operators == ("<=",):
        return (("", False, 0, 1),)
    if operators == (">=",):
        return (("", False, 1, 0),)
    if operators == ("==",):
        return (("", True, 0, 1),)
    if operators == ("<=", "<="):
        return (("lower", False, 0, 1), ("upper", False, 1, 2))
    if operators == (">=", ">="):
        return (("lower", False, 2, 1), ("upper", False, 1, 0))
    raise ValueError(f"not a constraint: {operators}")
