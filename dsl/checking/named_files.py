"""Files and folders that a spec names in its settings, and those that it may not."""

from __future__ import annotations

from typing import Any, get_args

from pydantic.fields import FieldInfo

from pdual.dsl import syntax
from pdual.dsl.checking.entities import ParamEntity
from pdual.dsl.checking.scope import Scope
from pdual.dsl.declarations.beside import MayBeFile, elsewhere, is_beside
from pdual.dsl.typed import NamedFile


def may_name(field: FieldInfo, name: str, value: Any, node: syntax.Expression, owner: str, scope: Scope) -> bool:
    """Whether a setting may have this value, as far as files go: PD260 is recorded where the spec itself names what lies outside
    its folder. What it names inside is remembered, since only the files tell where links lead.
    """
    marker = _marker(field)
    if marker is None or not isinstance(value, str) or not value or _is_handed_in(node, scope):
        return True
    if not is_beside(value):
        scope.diagnostics.add("PD260", node.span, name=name, owner=owner, reason=elsewhere(value, marker.way))
        return False
    scope.context.files.append(NamedFile(value, name, owner, marker, node.span))
    return True


def _marker(field: FieldInfo) -> MayBeFile | None:
    """That of a setting which may be a file, or of one that may be left out: in ``FileOrName | None`` it stands in the union."""
    inside = [item for part in get_args(field.annotation) for item in getattr(part, "__metadata__", ())]
    return next((item for item in (*field.metadata, *inside) if isinstance(item, MayBeFile)), None)


def _is_handed_in(node: syntax.Expression, scope: Scope) -> bool:
    """Whether it is a parameter with a value from the command line."""
    named = scope.lookup(node.name) if isinstance(node, syntax.Name) else None
    return named is not None and isinstance(named.entity, ParamEntity) and named.entity.param.handed_in
