"""``explain --uses NAME``: where a name is declared, and every place that reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any

from pdual.dsl import syntax
from pdual.dsl.diagnostics import refuse
from pdual.dsl.near import nearest
from pdual.dsl.parser import parse
from pdual.dsl.spans import Source, Span

_DECLARES = (
    syntax.Problem,
    syntax.Param,
    syntax.SetDeclaration,
    syntax.Given,
    syntax.Data,
    syntax.Model,
    syntax.Def,
    syntax.Constraint,
    syntax.Metric,
    syntax.Expect,
)


@dataclass(frozen=True, slots=True)
class Use:
    """One place: ``what`` it is in (``constraint voltage``) and its line. Lines and columns count from 1."""

    line: int
    column: int
    what: str
    text: str

    def as_json(self) -> dict[str, Any]:
        """As JSON data."""
        return asdict(self)


def uses_of(source: Source, name: str) -> tuple[Use, ...]:
    """Every place where a name stands in the spec, in order.

    Names are compared as written: an index that is called like a parameter counts as well. Raises PD709 where there is
    none.
    """
    spec, _ = parse(source)
    assert spec is not None, "only a spec without errors is explained"
    found = [(span, what) for found_name, span, what in _names(spec, "spec") if found_name == name]
    if not found:
        known = {item for item, _, _ in _names(spec, "spec")}
        raise refuse("PD709", name=name, near=nearest(name, known))
    places = sorted({(source.position(span.start), what) for span, what in found})
    return tuple(Use(line, column, what, source.line(line).strip()) for (line, column), what in places)


def _names(node: object, what: str) -> Iterator[tuple[str, Span, str]]:
    """(name, span, statement it stands in) of every name below a node."""
    what = _called(node) or what
    match node:
        case syntax.Name(name=name):
            yield name, node.span, what
        case syntax.Member(base=base, name=name, name_span=span):
            yield from _names(base, what)
            yield name, span, what
            return
        case syntax.ArrayTypeName(element=element):
            yield element, node.span, what
        case syntax.Binder(name=name, name_span=span):
            yield name, span, what
        case tuple():
            for item in node:
                yield from _names(item, what)
            return
    if is_dataclass(node) and not isinstance(node, Span | type):
        for field in fields(node):
            value = getattr(node, field.name)
            if isinstance(value, tuple) or is_dataclass(value):
                yield from _names(value, what)


def _called(node: object) -> str | None:
    """How a statement is called; None for what is no statement."""
    match node:
        case syntax.Let(names=names):
            return f"let {', '.join(name.name for name in names)}"
        case syntax.Minimize():
            return "minimize"
        case syntax.Dual(targets=targets):
            return f"dual {', '.join(target.family.name for target in targets)}"
        case syntax.Over(data=data):
            return f"over {data.name}"
        case syntax.Solve():
            return "solve"
    if isinstance(node, _DECLARES):
        kind = {"SetDeclaration": "set"}.get(type(node).__name__, type(node).__name__.lower())
        return f"{kind} {node.name.name}"
    return None
