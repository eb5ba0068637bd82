"""What a setting accepts, read off its annotation."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pdual.dsl.declarations.optimisers import OPTIMISERS, SCHEDULES
from pdual.dsl.declarations.references import (
    ArchitectureUse,
    FieldName,
    GivenField,
    GivenReference,
    OptimiserUse,
    Settings,
)
from pdual.dsl.declarations.solving import RHO_SCHEDULES, SHRINKINGS
from pdual.dsl.record import record


@record(frozen=True, slots=True)
class Accepted:
    """The leaves of an annotation: classes, and the words of ``Literal``; ``many`` where it is a list."""

    classes: frozenset[type]
    words: tuple[str, ...]
    many: bool

    def takes(self, kind: type) -> bool:
        """Whether a value of this class may stand here."""
        return kind in self.classes or Any in self.classes

    @property
    def records(self) -> Mapping[str, type[Settings]]:
        """The nested settings that may stand here, by the name they are called with."""
        known: dict[str, type[Settings]] = {**SCHEDULES, **RHO_SCHEDULES, **SHRINKINGS}
        return {name: record for name, record in known.items() if record in self.classes}

    @property
    def expected(self) -> str:
        """What may stand here, in words."""
        if self.words:
            return "one of " + ", ".join(f"`{word}`" for word in self.words)
        worded = _MANY if self.many else _ONE
        kinds = [text for kind, text in worded.items() if kind in self.classes]
        if int in self.classes and float in self.classes:
            kinds.remove(worded[int])
        kinds.extend(f"`{name}(...)`" for name in self.records)
        named = " or ".join(kinds) or "another value"
        return f"a list of {named}" if self.many else named


_ONE: Mapping[type, str] = {
    bool: "`true` or `false`",
    int: "an integer",
    float: "a number",
    str: "a text",
    GivenReference: "the name of a given",
    GivenField: "a field of a given",
    FieldName: "a field of the data set",
    ArchitectureUse: "an architecture",
    OptimiserUse: " or ".join(f"`{name}(...)`" for name in OPTIMISERS),
}
_MANY: Mapping[type, str] = {
    bool: "truth values",
    int: "integers",
    float: "numbers",
    str: "texts",
    GivenReference: "givens",
    GivenField: "fields of a given",
    FieldName: "fields of the data set",
    ArchitectureUse: "architectures",
    OptimiserUse: "optimisers",
}


def accepted(annotation: Any) -> Accepted:
    """The leaves of ``tuple[Annotated[int, ...], ...]``, ``Literal["a", "b"] | None`` and their like."""
    classes: set[type] = set()
    words: list[str] = []
    many = False
    waiting = [annotation]
    while waiting:
        item = waiting.pop()
        origin = get_origin(item)
        if origin is Annotated:
            waiting.append(get_args(item)[0])
        elif origin is Literal:
            words.extend(word for word in get_args(item) if isinstance(word, str))
        elif origin in (Union, types.UnionType):
            waiting.extend(get_args(item))
        elif origin in (tuple, list):
            many = True
            waiting.extend(part for part in get_args(item) if part is not Ellipsis)
        elif item is not type(None):
            classes.add(item)
    return Accepted(frozenset(classes), tuple(words), many)
