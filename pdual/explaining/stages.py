"""``explain --stage``: the forms that a spec takes, as text. Only ``code`` imports torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import islice

from pdual.compiler.graph import DataGraph, Graph
from pdual.compiler.ir import Node, topological
from pdual.dsl import typed
from pdual.dsl.parser import parse
from pdual.dsl.spans import Source, Span
from pdual.understanding import Understood

_LONGEST = 96
_MOST_LINES = 50_000


def stage_of(understood: Understood, stage: str) -> str | None:
    """The form called ``ast``, ``typed``, ``ir`` or ``code``; None where the spec did not come that far."""
    if stage == "ast":
        spec, _ = parse(understood.source)
        return None if spec is None else dump(spec)
    if stage == "typed":
        return None if understood.spec is None else dump(understood.spec)
    if understood.graph is None:
        return None
    return _ir(understood.graph) if stage == "ir" else _code(understood.graph)


def dump(node: object) -> str:
    """A tree of records, one field a line where it does not fit on one; without spans, None and empty tuples."""
    lines = list(islice(_Dump().lines(node, 0), _MOST_LINES + 1))
    return "\n".join(lines if len(lines) <= _MOST_LINES else [*lines[:-1], "... and more"])


class _Dump:
    """Remembers the text of what was met: an argument of a function may stand in very many places."""

    def __init__(self) -> None:
        self._flat: dict[int, str | None] = {}

    def lines(self, node: object, depth: int) -> Iterator[str]:
        """The lines of a tree."""
        flat = self.flat(node)
        pad = "  " * depth
        if not (isinstance(node, tuple) or is_dataclass(node)):
            yield pad + _leaf(node)
        elif flat is not None and len(flat) + len(pad) <= _LONGEST:
            yield pad + flat
        elif isinstance(node, tuple):
            for item in node:
                yield from self.lines(item, depth)
        else:
            yield from self._fields(node, depth, flat)

    def _fields(self, node: object, depth: int, flat: str | None) -> Iterator[str]:
        pad = "  " * depth
        shown = [] if _short(node) is not None else _shown(node)
        yield f"{pad}{type(node).__name__}" if shown else f"{pad}{flat}"
        for name, value in shown:
            flat = self.flat(value)
            if flat is not None and len(f"{name} = {flat}") + len(pad) + 2 <= _LONGEST:
                yield f"{pad}  {name} = {flat}"
            else:
                yield f"{pad}  {name} ="
                yield from self.lines(value, depth + 2)

    def flat(self, node: object) -> str | None:
        """A node on one line; None where it is longer than any line."""
        if not (isinstance(node, tuple) or is_dataclass(node)):
            return _leaf(node)
        if id(node) not in self._flat:
            text = _short(node) or self._joined(node)
            self._flat[id(node)] = text if text is not None and len(text) <= _LONGEST else None
        return self._flat[id(node)]

    def _joined(self, node: object) -> str | None:
        if isinstance(node, tuple):
            items = [self.flat(item) for item in node]
            return None if None in items else f"[{', '.join(map(str, items))}]"
        found = [(name, self.flat(value)) for name, value in _shown(node)]
        if any(text is None for _, text in found):
            return None
        return f"{type(node).__name__}({', '.join(f'{name} = {text}' for name, text in found)})"


def _short(node: object) -> str | None:
    match node:
        case typed.LetRef(definition=definition):
            # Its body stands with the block's lets; in place, a chain of lets would be printed again and again.
            return f"LetRef({definition.name}#{definition.identity})"
        case typed.IndexRef(binder=binder):
            return f"IndexRef({binder.name}#{binder.identity})"
    return None


def _leaf(node: object) -> str:
    return repr(node) if isinstance(node, str) else str(node)


def _shown(node: object) -> list[tuple[str, object]]:
    assert is_dataclass(node)
    found = [(field.name, getattr(node, field.name)) for field in fields(node)]
    return [(name, value) for name, value in found if value not in (None, ()) and not isinstance(value, Span | Source)]


def _ir(graph: Graph) -> str:
    pieces = [_data_ir(data) for data in graph.data]
    parts = graph.averages.parts
    if parts:
        lines = [
            "averages",
            *(f"  {node}" for node in topological(part.residual for part in parts) if not node.batched),
        ]
        pieces.append("\n".join([*lines, *(f"  {part.layout.name} <- %{part.residual.identity}" for part in parts)]))
    return "\n\n".join(pieces)


def _data_ir(data: DataGraph) -> str:
    lines = [f"over {data.data}"]
    lines += [f"  {node}" for node in topological(data.roots)]
    lines += [f"  {name} <- %{node.identity}" for name, node in _roots(data)]
    return "\n".join(lines)


def _roots(data: DataGraph) -> Iterator[tuple[str, Node]]:
    for term in data.objective:
        yield "objective", term.value
    for part in data.parts:
        yield part.layout.name, part.residual
        if part.mask is not None:
            yield f"{part.layout.name} where", part.mask
    for place, mean in enumerate(data.means):
        yield f"average {place}", mean
    for name, node in data.metrics:
        yield f"metric {name}", node
    for name, node in data.features.items():
        yield f"features {name}", node


def _code(graph: Graph) -> str:
    import torch

    from pdual.compiler.assemble import assemble
    from pdual.runtime.problem.prepare import build_models

    models = build_models(graph, {}, {}).to(torch.float32)
    return "\n".join(
        f"# over {program.data}\n{program.train.get_submodule('inner').code}"
        for program in assemble(graph, models, torch.float32)
    )
