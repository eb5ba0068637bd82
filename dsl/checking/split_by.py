"""``split_by = account``: which rows of a data set stay together in one split."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.checking.annotations import has_unknown
from pdual.dsl.checking.scope import Scope
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sources_table import ONE_BY_ONE, BoundSettings
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.typed import TypedField
from pdual.dsl.types import ArrayType, Kind, MemberOf, Type

#: What rows can be told apart by.
GROUPING = (Kind.ID, Kind.TEXT, Kind.INT, Kind.BOOL)


def groups_rows(kind: Type) -> bool:
    """Whether rows with the same value of a field of this type can be a group."""
    if not isinstance(kind, ArrayType) or kind.axes:
        return False
    return isinstance(kind.element, MemberOf) or kind.element in GROUPING


def check_split_by(data: str, settings: Settings, fields: Sequence[TypedField], scope: Scope) -> None:
    """Report a name that is no field (PD107) or of a field that groups no rows (PD230)."""
    if not isinstance(settings, BoundSettings) or settings.split_by is None:
        return
    asked = settings.split_by
    scope.context.mark("field", data, asked.name)
    known = {item.name: item for item in fields}
    found = known.get(asked.name)
    if found is None and asked.name != ONE_BY_ONE:
        keys = [field.name for field in fields if groups_rows(field.type)]
        there = ", ".join(f"`{name}`" for name in known) or None
        near = nearest(asked.name, keys)
        scope.diagnostics.add("PD107", asked.span, owner=f"a row of `{data}`", name=asked.name, has=there, near=near)
    elif found is not None and not has_unknown(found.type) and not groups_rows(found.type):
        scope.diagnostics.add("PD230", asked.span, Label(found.span, "field"), name=asked.name, found=found.type)
