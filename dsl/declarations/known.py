"""Known structure: what a ``given`` source loads. Plain Python values, so that nothing heavy is needed to explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from pdual.dsl.record import record

#: A number, or nested sequences of numbers, one level an axis. Members of an index set are positions (int from 0).
Values: TypeAlias = Any


@record(frozen=True, slots=True)
class Known:
    """Sets and constants on them.

    ``sets`` maps a set to the labels of its members, in order (``("1", "2", ...)``; ``("1->2", ...)``); labels are
    unique within a set. ``fields`` maps a field to its values: bool, int, float, complex or nested lists of them.
    ``fingerprint`` identifies the content.
    """

    sets: Mapping[str, tuple[str, ...]]
    fields: Mapping[str, Values]
    fingerprint: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
