"""What an expression reads, through the lets it names."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from pdual.dsl.spans import Span
from pdual.dsl.typed import FeaturesOf, FieldRef, LetRef, TypedExpression
from pdual.dsl.types import ArrayType, Kind, MemberOf


def labels_read(expression: TypedExpression) -> set[str]:
    """The fields that look like labels (members of a set, truth values) and are read, features apart."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting: list[object] = [expression]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, FeaturesOf | Span | ArrayType):
            continue
        seen.add(id(item))
        if isinstance(item, FieldRef) and isinstance(item.type, ArrayType):
            element = item.type.element
            if isinstance(element, MemberOf) or element is Kind.BOOL:
                found.add(item.name)
        elif isinstance(item, LetRef):
            waiting.append(item.definition.body)
        elif isinstance(item, tuple):
            waiting.extend(item)
        elif is_dataclass(item):
            waiting.extend(getattr(item, part.name) for part in fields(item))
    return found
