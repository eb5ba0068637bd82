"""The page of functions: of each what it takes and the range that its rule gives; `conf.py` writes it before every build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pdual.dsl.operations import AGGREGATES, OPERATIONS, REDUCTIONS
from pdual.dsl.operations.interval import FALSE, TRUE, Interval, union
from pdual.dsl.operations.operation import Curvature, Operation, Pair
from pdual.dsl.types import Kind

PAGE = "functions.md"

#: What every argument lies in where a range is shown, and a truth value that is not known.
GIVEN = Interval(-1.0, 2.0)
EITHER = union(FALSE, TRUE)

_HEAD = """# Functions

Every operator, function and reduction, with what it takes and the range that the compiler derives for it: here where each real argument,
and each part of a complex one, lies in {given}, and truth values are not known. Ranges are sound under rounding, so an end may lie a last
digit further out. "Slope": the largest of its slopes anywhere, in any argument, where there is one. "Bends" as a function of all its
arguments. A complex one is computed from real parts.

| written | takes | range | slope | bends |
| --- | --- | --- | --- | --- |
"""
_REDUCTIONS = """
## Reductions

`sum[g in gen where at[g] == i](x[g])`: here over three values in {given} that are all kept, and over three that may be left out.

| written | takes | range, all kept | range, some kept | over none |
| --- | --- | --- | --- | --- |
"""
_WHOLE = """
## Of a whole array

`argmax(z)` is the member of the largest entry, the first of several; `top_mean(z, 0.25)` and `bottom_mean(z, 0.25)` are the mean of the
largest, or smallest, quarter of the entries, one at least. A mean of entries lies where the entries lie, `argmax` is any member.

| name | takes |
| --- | --- |
"""


#: What takes arguments of several kinds, and what is not written by its name or its symbol.
_TAKES: Mapping[str, Sequence[Kind]] = {
    "bce": (Kind.REAL, Kind.BOOL),
    "where": (Kind.BOOL, Kind.REAL, Kind.REAL),
    "power": (Kind.REAL, Kind.REAL),
}
_WRITTEN = {"where": "x if c else y", "power": "x ^ 3"}


class _Ranges:
    """Applies real operations to ranges: what a complex operation is computed from."""

    def __call__(self, operation: str, *arguments: Any) -> Any:
        rule = OPERATIONS[operation]
        if rule.interval is not None:
            return rule.interval(*arguments)
        assert rule.lower is not None, operation
        return rule.lower(self, *arguments)

    def number(self, value: float) -> Interval:
        return Interval(float(value), float(value))


def write(folder: Path) -> None:
    """Write the page into a folder."""
    (folder / PAGE).write_text(page(), encoding="utf-8")


def page() -> str:
    """All of it."""
    pieces = [_HEAD.format(given=GIVEN)]
    pieces += [
        f"{row}\n"
        for item in OPERATIONS.values()
        if item.surface or item.symbol or item.name in _WRITTEN
        for row in _rows(item)
    ]
    pieces.append(_REDUCTIONS.format(given=GIVEN))
    for name, item in REDUCTIONS.items():
        value = EITHER if item.result(Kind.REAL) is None else GIVEN
        kept, some = (item.interval([(value, known)] * 3) for known in (TRUE, EITHER))
        none = "an error of the data" if item.of_none is None else f"{item.of_none:g}"
        pieces.append(f"| `{name}[i in set](x)` | {item.expects} | {kept} | {some} | {none} |\n")
    pieces.append(_WHOLE.format(given=GIVEN))
    pieces += [f"| `{name}` | {item.expects} |\n" for name, item in AGGREGATES.items()]
    return "".join(pieces)


def _rows(item: Operation) -> Iterator[str]:
    """A row for numbers or truth values, whichever it takes, and one for complex numbers."""
    for kinds in _signatures(item):
        arguments = [
            Pair(GIVEN, GIVEN) if kind is Kind.COMPLEX else EITHER if kind is Kind.BOOL else GIVEN for kind in kinds
        ]
        if item.name == "power":
            arguments[1] = Interval(3.0, 3.0)
        found = _Ranges()(item.name, *arguments) if Kind.COMPLEX not in kinds else _lowered(item, arguments)
        slope, bends = "", ""
        if Kind.COMPLEX not in kinds:
            slope = "" if item.lipschitz is None else f"{item.lipschitz:g}"
            bends = "" if item.curvature is Curvature.UNKNOWN else str(item.curvature)
        takes = "complex numbers" if Kind.COMPLEX in kinds else item.expects
        yield f"| `{_WRITTEN.get(item.name) or _written(item)}` | {takes} | {_said(found)} | {slope} | {bends} |"


def _signatures(item: Operation) -> Iterator[Sequence[Kind]]:
    if item.name in _TAKES:
        yield _TAKES[item.name]
        return
    real, truth, whole = ([kind] * item.arity for kind in (Kind.REAL, Kind.BOOL, Kind.COMPLEX))
    if item.result(real) is not None:
        yield real
    elif item.result(truth) is not None:
        yield truth
    if item.result(whole) is not None:
        yield whole


def _lowered(item: Operation, arguments: Sequence[Any]) -> Any:
    assert item.lower is not None, item.name
    return item.lower(_Ranges(), *arguments)


def _said(found: Any) -> str:
    return f"{found.re} + {found.im} i" if isinstance(found, Pair) else str(found)


def _written(item: Operation) -> str:
    names = ("x", "y", "z")[: item.arity]
    if item.symbol is None or item.surface:
        return f"{item.name}({', '.join(names)})"
    return f"{item.symbol} x" if item.arity == 1 else f" {item.symbol} ".join(names)
