"""A constant that is not derived from a spec but measured on a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pdual.bounding.parts import Constants, Objective

#: ``estimate``: nothing vouches for it beyond the rows that it was measured on. ``bound``: holds for the class that the method names.
#: ``choice``: neither, and usual.
Kind: TypeAlias = Literal["estimate", "bound", "choice"]


@dataclass(frozen=True)
class Estimate:
    """One constant, by its name in the certificate. ``value`` is None where there is none, and ``method`` then says why.

    ``used`` tells whether the certificate takes it. ``parts`` are the numbers that it comes from.
    """

    name: str
    value: float | None
    kind: Kind
    method: str
    used: bool = True
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measured:
    """What a run tells: ``facts`` (rows, the last penalty), and estimates."""

    facts: Mapping[str, float] = field(default_factory=dict)
    estimates: tuple[Estimate, ...] = ()


#: Measures on a run, given the constants of its parts and of its objective.
Measure: TypeAlias = Callable[[Sequence[Constants], Objective], Measured]


def used(estimates: Sequence[Estimate]) -> dict[str, float]:
    """The constants that the certificate takes."""
    return {item.name: item.value for item in estimates if item.used and item.value is not None}


def rows(estimates: Sequence[Estimate], given: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """A table for people; what was given instead is said."""
    for item in estimates:
        value = "none" if item.value is None else f"{item.value:.6g}"
        note = ""
        if item.value is not None and item.used and item.name in given:
            note = f" (given: {given[item.name]:g})"
        yield item.name, value, item.kind, item.method + note
        for name, number in item.parts.items():
            yield "", f"{number:.6g}", "", f"  {name}"
