"""Functions of the spec's own: no recursion, no argument twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from pdual.dsl import syntax
from pdual.dsl.diagnostics import Collector, Label
from pdual.dsl.spans import Span


def check_definitions(nodes: Mapping[str, syntax.Def], diagnostics: Collector) -> None:
    """Refuse doubled arguments, and functions that call themselves, directly or through others."""
    for node in nodes.values():
        seen: dict[str, Span] = {}
        for parameter in node.parameters:
            name = parameter.name
            if name.name in seen:
                diagnostics.add("PD111", name.span, Label(seen[name.name], "first"), name=name.name, what="an argument")
            seen.setdefault(name.name, name.span)
    calls = {name: [callee for callee in _called(node.body) if callee in nodes] for name, node in nodes.items()}
    finished: set[str] = set()
    for start in nodes:
        _search(start, calls, finished, nodes, diagnostics)


def _search(
    start: str,
    calls: Mapping[str, list[str]],
    finished: set[str],
    nodes: Mapping[str, syntax.Def],
    diagnostics: Collector,
) -> None:
    """Depth first, without recursion; a callee that is on the path closes a cycle."""
    path: dict[str, None] = {}  # in the order of calls
    waiting: list[tuple[str, bool]] = [(start, False)]
    while waiting:
        name, done = waiting.pop()
        if done:
            finished.add(path.popitem()[0])
        elif name in path:
            calling = list(path)
            cycle = [*calling[calling.index(name) :], name]
            shown = " -> ".join(f"`{item}`" for item in cycle)
            diagnostics.add("PD114", nodes[name].name.span, name=name, what="function", chain=shown)
        elif name not in finished:
            path[name] = None
            waiting.append((name, True))
            waiting.extend((callee, False) for callee in reversed(calls[name]))


def _called(node: syntax.Expression) -> list[str]:
    names: dict[str, None] = {}
    waiting: list[object] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, syntax.Call) and isinstance(item.function, syntax.Name):
            names.setdefault(item.function.name)
        if isinstance(item, tuple):
            waiting.extend(item)
        elif is_dataclass(item):
            waiting.extend(getattr(item, part.name) for part in fields(item))
    return list(names)
