"""A case: some rows of one data set and what the models say of them. Plain values, so that a file can hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: bool, int, float, complex, text; nested lists of them, one level an axis.
Value = Any


@dataclass(frozen=True)
class RowsCase:
    """Rows of a data set.

    ``rows``: every row's fields by name. ``outputs``: by model, what its calls with different arguments give, in the order in which they
    are met: values by the name of the output; further calls are made up from their number. ``groups``: sizes of the groups, in
    which a block over groups sees the rows.
    """

    data: str
    rows: tuple[Mapping[str, Value], ...]
    outputs: Mapping[str, tuple[Mapping[str, Value], ...]] = field(default_factory=dict)
    groups: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The case as JSON values; ``of_json`` reads them."""
        return {
            "data": self.data,
            "rows": [plain(dict(row)) for row in self.rows],
            "outputs": {model: [plain(dict(call)) for call in calls] for model, calls in self.outputs.items()},
            "groups": list(self.groups),
        }

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> RowsCase:
        """A case from a file. Raises KeyError, TypeError or ValueError where it is none."""
        return cls(
            str(found["data"]),
            tuple(restored(row) for row in found["rows"]),
            {str(model): tuple(restored(call) for call in calls) for model, calls in found["outputs"].items()},
            tuple(int(size) for size in found["groups"]),
        )


@dataclass(frozen=True)
class NumbersCase:
    """Numbers for a claim about multipliers: by name, a number or nested lists of them."""

    numbers: Mapping[str, Value]

    def as_json(self) -> dict[str, Any]:
        """The case as JSON values."""
        return {"numbers": plain(dict(self.numbers))}

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> NumbersCase:
        """A case from a file. Raises KeyError, TypeError or ValueError where it is none."""
        return cls(restored(found["numbers"]))


def plain(value: Value) -> Any:
    """A value as JSON has it; a complex number as ``{"re": ..., "im": ...}``."""
    if isinstance(value, complex):
        return {"re": value.real, "im": value.imag}
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def restored(value: Any) -> Value:
    """The value that ``plain`` wrote."""
    if isinstance(value, Mapping):
        if set(value) == {"re", "im"} and all(isinstance(part, int | float) for part in value.values()):
            return complex(value["re"], value["im"])
        return {str(name): restored(item) for name, item in value.items()}
    return [restored(item) for item in value] if isinstance(value, list) else value


def flat(value: Value) -> list[Any]:
    """The numbers of a nested list, in order."""
    return [leaf for item in value for leaf in flat(item)] if isinstance(value, list | tuple) else [value]
