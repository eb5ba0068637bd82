"""Settings: from the arguments of a call, or the lines in braces, to a checked record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from pydantic import ValidationError

from pdual.dsl import syntax
from pdual.dsl.checking.accepted import Accepted, accepted
from pdual.dsl.checking.named_files import may_name
from pdual.dsl.checking.scope import Scope
from pdual.dsl.checking.setting_values import REFUSED, architecture_use, setting_value
from pdual.dsl.declarations.references import ArchitectureUse, Settings
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span

#: Whole numbers above it are not exact: a number of a spec is read as a real one.
LARGEST = 2**53


def call_settings(
    record: type[Settings], positional: Sequence[str], call: syntax.Call, name: str, scope: Scope
) -> Settings | None:
    """The settings of ``mlp([64], activation = gelu)``; None where one was refused."""
    written: list[tuple[str, Span, syntax.Expression]] = []
    complete = True
    for position, argument in enumerate(call.arguments):
        if argument.name is not None:
            written.append((argument.name, name_span(argument), argument.value))
        elif position < len(positional):
            written.append((positional[position], argument.span, argument.value))
        else:
            most = len(positional)
            allowed = {0: "no argument without a name", 1: "one argument without a name"}.get(
                most, f"{most} arguments without a name"
            )
            there = ", ".join(f"`{setting}`" for setting in record.model_fields) or None
            scope.diagnostics.add("PD259", argument.span, owner=name, allowed=allowed, there=there)
            complete = False
    return _build(record, written, name, call.span, complete, scope)


def brace_settings(
    record: type[Settings], settings: Sequence[syntax.Setting], name: str, span: Span, scope: Scope
) -> Settings | None:
    """The settings of ``solve { outer = 40 }``; None where one was refused."""
    written = [(setting.name.name, setting.name.span, setting.value) for setting in settings]
    return _build(record, written, name, span, True, scope)


def name_span(argument: syntax.Argument) -> Span:
    """Where the name of an argument stands; of a positional one, all of it."""
    start = argument.span.start
    return argument.span if argument.name is None else Span(start, start + len(argument.name))


def checked_architecture(call: syntax.Call, scope: Scope) -> ArchitectureUse | None:
    """An architecture with its settings checked; None where it was refused."""
    return architecture_use(call, scope, call_settings)


def _build(
    record: type[Settings],
    written: Sequence[tuple[str, Span, syntax.Expression]],
    owner: str,
    span: Span,
    complete: bool,
    scope: Scope,
) -> Settings | None:
    values: dict[str, Any] = {}
    nodes: dict[str, syntax.Expression] = {}
    spans: dict[str, Span] = {}
    meant: set[str] = set()
    for name, name_span, node in written:
        if name not in record.model_fields:
            there = ", ".join(f"`{setting}`" for setting in record.model_fields) or None
            near = nearest(name, record.model_fields)
            meant |= {near} if near is not None else set()
            scope.diagnostics.add("PD109", name_span, name=name, owner=owner, near=near, there=there)
            complete = False
            continue
        if name in spans:
            scope.diagnostics.add("PD111", name_span, Label(spans[name], "first"), name=name, what="a setting")
            complete = False
            continue
        nodes[name], spans[name] = node, name_span
        takes = accepted(record.model_fields[name].annotation)
        value = setting_value(node, takes, scope, call_settings)
        if (
            value is REFUSED
            or _is_misfit(value, takes, node, name, owner, scope)
            or not may_name(record.model_fields[name], name, value, node, owner, scope)
        ):
            complete = False
        else:
            values[name] = value
    # A misspelt setting is one mistake: that the right one is missing follows from it.
    told = nodes.keys() | meant
    return _validated(record, values, nodes, told, owner, span, complete, scope)


def _is_misfit(value: Any, takes: Accepted, node: syntax.Expression, name: str, owner: str, scope: Scope) -> bool:
    """Whether pydantic would bend a value that does not fit: a truth value or a text for a number, a whole list for one."""
    if isinstance(value, tuple):
        if takes.many:
            items = node.items if isinstance(node, syntax.ListOf) else (node,) * len(value)
            pairs = list(zip(value, items, strict=True))
            return any(_is_misfit(part, takes, item, name, owner, scope) for part, item in pairs)
        found = "a list"
    elif isinstance(value, int) and abs(value) > LARGEST and not takes.takes(float):
        found = f"{value:.4g}" if abs(value) < 1e300 else "a larger one"
        scope.diagnostics.add(
            "PD217", node.span, name=name, owner=owner, expected=f"a whole number up to {LARGEST:,}", found=found
        )
        return True
    elif isinstance(value, bool) and not takes.takes(bool):
        found = str(value).lower()
    elif isinstance(value, str) and not takes.takes(str) and value not in takes.words:
        found = f'"{value}"'
    else:
        return False
    near = nearest(value, takes.words) if isinstance(value, str) else None
    scope.diagnostics.add("PD217", node.span, name=name, owner=owner, expected=takes.expected, found=found, near=near)
    return True


def _validated(
    record: type[Settings],
    values: Mapping[str, Any],
    nodes: Mapping[str, syntax.Expression],
    told: Set[str],
    owner: str,
    span: Span,
    complete: bool,
    scope: Scope,
) -> Settings | None:
    try:
        settings = record.model_validate(dict(values))
    except ValidationError as error:
        problems = error.errors(include_url=False)
        for problem in problems:
            name = str(problem["loc"][0]) if problem["loc"] else ""
            if problem["type"] == "missing" and len(problem["loc"]) > 1:  # an item of a list of a fixed length
                if problem is next(other for other in reversed(problems) if other["loc"][:1] == problem["loc"][:1]):
                    _report(record, problem, name, nodes, owner, span, scope)
            elif problem["type"] == "missing":
                if name not in told:
                    _report_missing(record, name, owner, span, scope)
            else:
                _report(record, problem, name, nodes, owner, span, scope)
        return None
    return settings if complete else None


def _report_missing(record: type[Settings], name: str, owner: str, span: Span, scope: Scope) -> None:
    expected = accepted(record.model_fields[name].annotation).expected
    scope.diagnostics.add("PD218", span, name=name, owner=owner, expected=expected)


def _report(
    record: type[Settings],
    problem: Any,
    name: str,
    nodes: Mapping[str, syntax.Expression],
    owner: str,
    span: Span,
    scope: Scope,
) -> None:
    node = nodes.get(name)
    where = _item(node, problem["loc"][1:]) if node is not None else None
    spot = where.span if where is not None else span
    field = record.model_fields.get(name)
    takes = accepted(field.annotation) if field is not None else None
    expected = _expected(problem, takes)
    if expected is None:
        reason = str(problem["msg"]).removeprefix("Value error, ")
        scope.diagnostics.add("PD260", spot, name=name or None, owner=owner, reason=reason)
        return
    found = (
        f"a list of {len(node.items)}"
        if isinstance(node, syntax.ListOf) and problem["type"] == "missing"
        else _shown(problem["input"])
    )
    scope.diagnostics.add("PD217", spot, name=name, owner=owner, expected=expected, found=found)


def _item(node: syntax.Expression, location: Sequence[Any]) -> syntax.Expression:
    """The item of a list that a problem is about."""
    for step in location:
        if isinstance(step, int) and isinstance(node, syntax.ListOf) and step < len(node.items):
            node = node.items[step]
    return node


def _expected(problem: Any, takes: Accepted | None) -> str | None:
    """What should stand there, in words; None where the record's own text says it."""
    context = problem.get("ctx", {})
    bounds = {
        "greater_than": ("above", "gt"),
        "greater_than_equal": ("of at least", "ge"),
        "less_than": ("below", "lt"),
        "less_than_equal": ("of at most", "le"),
    }
    kind = str(problem["type"])
    if kind == "missing":
        return f"a list of {int(problem['loc'][1]) + 1}"
    if kind == "finite_number":
        return "a finite number"
    if kind in bounds:
        words, key = bounds[kind]
        return f"a number {words} {context[key]:g}"
    if kind in ("too_short", "too_long"):
        count = context.get("min_length", context.get("max_length"))
        return f"a list of {'at least' if kind == 'too_short' else 'at most'} {count}"
    if kind == "string_too_short":
        return "a text that is not empty"
    if kind in ("value_error", "assertion_error") or takes is None:
        return None
    return takes.expected


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    if isinstance(value, tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    return "something else"
