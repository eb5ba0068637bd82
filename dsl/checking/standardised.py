"""``standardised = [size]``: which fields of a data set are read in units of their own spread."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.checking.annotations import has_unknown
from pdual.dsl.checking.scope import Scope
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.sources_table import BoundSettings
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.typed import TypedField
from pdual.dsl.types import ArrayType, Kind


def check_standardised(data: str, settings: Settings, fields: Sequence[TypedField], scope: Scope) -> None:
    """Report names that are no field (PD107), stand twice (PD111), or are not of real numbers (PD275)."""
    if not isinstance(settings, BoundSettings):
        return
    known = {item.name: item for item in fields}
    seen: dict[str, Span] = {}
    for item in settings.standardised:
        found = known.get(item.name)
        if found is None:
            real = [field.name for field in fields if _is_real(field)]
            there = ", ".join(f"`{name}`" for name in known) or None
            scope.diagnostics.add(
                "PD107",
                item.span,
                owner=f"a row of `{data}`",
                name=item.name,
                has=there,
                near=nearest(item.name, real),
            )
        elif item.name in seen:
            first = Label(seen[item.name], "first")
            scope.diagnostics.add("PD111", item.span, first, name=item.name, what="a standardised field")
        elif not _is_real(found):
            scope.diagnostics.add("PD275", item.span, Label(found.span, "field"), name=item.name, found=found.type)
        seen.setdefault(item.name, item.span)


def _is_real(field: TypedField) -> bool:
    return isinstance(field.type, ArrayType) and (field.type.element is Kind.REAL or has_unknown(field.type))
