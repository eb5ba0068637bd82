"""The rows of a data set's constraints: one column an entry, torch-free, as `explain` prints and the solver uses them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pdual.dsl.record import record


class Sense(StrEnum):
    """Normal form of a part: ``g <= 0`` (multiplier in [0, cap]) or ``h == 0`` (multiplier in [-cap, cap])."""

    AT_MOST = "<="
    EQUAL = "=="


@record(frozen=True, slots=True)
class PartLayout:
    """One part: one real relation with one multiplier an entry.

    ``scale`` divides ``left - right`` (problem's units) to give the scaled row; ``range`` is the feasible range in the
    problem's units, None where the part has none. ``members`` gives for every entry the position of each of the part's indices
    in its set; ``sets`` names those sets. ``masked`` tells that a row may switch entries off.
    """

    family: str
    part: str  # "", "lower", "re.upper", "im", ...
    sense: Sense
    sets: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]
    addresses: tuple[str, ...]  # "6->8"; "" where the part has no index
    scale: tuple[float, ...]
    range: tuple[float, ...] | None
    masked: bool = False
    unit: str = ""

    @property
    def name(self) -> str:
        """``voltage.upper``."""
        return f"{self.family}.{self.part}" if self.part else self.family

    @property
    def size(self) -> int:
        """Entries, and so multipliers, a row."""
        return len(self.members)


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one data set's residual matrix [batch, columns]: its parts one after the other."""

    data: str
    parts: tuple[PartLayout, ...]
    starts: tuple[int, ...] = field(init=False, compare=False, repr=False)
    """The first column of each part."""
    columns: int = field(init=False, compare=False, repr=False)
    """Multipliers a row."""
    _slices: Mapping[str, slice] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        *starts, columns = itertools.accumulate((part.size for part in self.parts), initial=0)
        slices = {part.name: slice(start, start + part.size) for part, start in zip(self.parts, starts, strict=True)}
        # Kept: a spec may have thousands of parts, and each of them asks where it is.
        for name, value in (("starts", tuple(starts)), ("columns", columns), ("_slices", slices)):
            object.__setattr__(self, name, value)

    def columns_of(self, part: PartLayout) -> slice:
        """The columns of one part."""
        return self._slices[part.name]

    def columns_in(self, parts: Iterable[PartLayout]) -> list[int]:
        """The columns of some parts, part after part."""
        return [column for part in parts for column in range(*self.columns_of(part).indices(self.columns))]
