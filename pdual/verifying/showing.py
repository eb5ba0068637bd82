"""What ``verify`` prints: a line a claim, and a counterexample as rows that can be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pdual.compiler.graph import Graph
from pdual.dsl.types import ArrayType, SetAxis
from pdual.explaining.render import table
from pdual.verifying.attack import Attack, Counterexample
from pdual.verifying.case import RowsCase, flat

#: Entries of an array that are shown by their labels; of longer ones only those that differ from the rest.
SHOWN = 8


def lines(attacks: Sequence[Attack], graph: Graph, files: Mapping[str, Path], spec: str) -> Iterator[str]:
    """The report of ``pdual verify``."""
    rows = [("claim", "cases", "silent", "seconds", "")]
    for item in attacks:
        said = "stands" if item.counterexample is None else "FALLS"
        if item.counterexample is None and item.silent == item.tried:
            said = "nothing to try"
        rows.append((item.claim.name, str(item.tried), str(item.silent), f"{item.seconds:.1f}", said))
    yield from table(rows)
    for item in attacks:
        if item.counterexample is not None:
            yield ""
            yield from counterexample_lines(item.counterexample, graph)
            if item.claim.name in files:
                yield f"  again: pdual verify {spec} --replay {files[item.claim.name]}"


def counterexample_lines(counterexample: Counterexample, graph: Graph) -> Iterator[str]:
    """A counterexample: the claim, what was found, and the case."""
    yield f"{counterexample.claim.name}: {counterexample.claim.statement}"
    yield f"  falls for {counterexample.about}: {counterexample.found}"
    if not isinstance(counterexample.case, RowsCase):
        for name, value in counterexample.case.numbers.items():
            yield f"    {name:<12} {value}"
        return
    declared = graph.spec.data_set(graph.over(counterexample.case.data).of)
    types = {item.name: item.type for item in declared.fields}
    for number, row in enumerate(counterexample.case.rows):
        yield f"  row {number} of {declared.name}"
        for name, value in row.items():
            yield f"    {name:<12} {shown(value, types.get(name), graph)}"
    outputs = {model.name: {o.name: o.type for o in model.signature.outputs} for model in graph.spec.models}
    for model, calls in counterexample.case.outputs.items():
        for number, call in enumerate(calls):
            for name, value in call.items():
                label = f"{model}.{name}" if name else model
                yield f"    {label + f' #{number}':<12} {shown(value, outputs.get(model, {}).get(name), graph)}"
    if counterexample.case.groups:
        yield f"    groups of {', '.join(map(str, counterexample.case.groups))} rows"


def shown(value: Any, kind: object, graph: Graph) -> str:
    """A value on one line: ``1.5``, ``1: 0.5, 2: -1``, ``all 0``, ``all 0 but 3: 1e+06``."""
    entries = flat(value)
    if not isinstance(value, list):
        return _number(value)
    labels = _labels(kind, len(entries), graph)
    if len(set(map(str, entries))) == 1 and len(entries) > 1:
        return f"all {_number(entries[0])}"
    common, count = Counter(map(str, entries)).most_common(1)[0]
    if len(entries) <= SHOWN or count <= len(entries) // 2:
        pairs = [f"{label}: {_number(entry)}" for label, entry in zip(labels, entries, strict=True)]
        left = len(pairs) - 4 * SHOWN
        return ", ".join(pairs[: 4 * SHOWN]) + (f" and {left} more" if left > 0 else "")
    others = [f"{label}: {_number(e)}" for label, e in zip(labels, entries, strict=True) if str(e) != common]
    usual = next(e for e in entries if str(e) == common)
    return f"all {_number(usual)} but {', '.join(others)}"


def _labels(kind: object, count: int, graph: Graph) -> Sequence[str]:
    if isinstance(kind, ArrayType) and len(kind.axes) == 1 and isinstance(kind.axes[0], SetAxis):
        found = graph.labels[kind.axes[0].set]
        if len(found) == count:
            return list(found)
    return [str(number) for number in range(count)]


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float | complex) else str(value)


def as_json(item: Attack, file: Path | None) -> dict[str, Any]:
    """An attack in the command's JSON document."""
    found = item.counterexample
    return {
        "claim": item.claim.name,
        "statement": item.claim.statement,
        "cases": item.tried,
        "silent": item.silent,
        "seconds": round(item.seconds, 3),
        "stands": found is None,
        "counterexample": None
        if found is None
        else {
            "about": found.about,
            "found": found.found,
            "case": found.case.as_json(),
            "file": None if file is None else str(file),
        },
    }
