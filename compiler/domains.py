"""Arguments on which an operation may have no value: ``log`` and roots of what may be negative, division by what may be 0.

Only what declared ranges tell is said: of a number that nothing is known of, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product

from pdual.compiler.attributes import IndexAxis
from pdual.compiler.interval_analysis import IntervalAnalysis
from pdual.compiler.ir import Node, topological
from pdual.dsl.diagnostics import Collector
from pdual.dsl.operations import OPERATIONS
from pdual.dsl.operations.interval import Interval

#: Entries of one operation that are looked at; they differ in constants only.
_LOOKED_AT = 256


def check_domains(roots: Iterable[Node], intervals: IntervalAnalysis, diagnostics: Collector) -> None:
    """PD304 for every operation that the declared ranges let be asked outside its domain."""
    for node in topological(roots):
        operation = OPERATIONS.get(node.operation)
        if operation is None or operation.domain is None or node.constant:
            continue
        domain = operation.domain
        asked = node.arguments[domain.place]
        declared = _is_declared(asked)
        outside = next((r for r in _ranges(asked, intervals) if domain.leaves(r, declared or r.is_point)), None)
        if outside is not None:
            diagnostics.add(
                "PD304",
                node.span,
                operation=node.operation,
                argument=domain.argument,
                range=outside,
                domain=domain.must,
            )


def _is_declared(node: Node) -> bool:
    if node.operation in ("select", "spread", "member"):
        return _is_declared(node.arguments[0])
    return node.operation in ("field", "output")


def _ranges(node: Node, intervals: IntervalAnalysis) -> Iterator[Interval]:
    axes = [axis for axis in node.axes if axis.set in intervals.sizes]
    for place in islice(product(*(range(intervals.sizes[axis.set]) for axis in axes)), _LOOKED_AT):
        at: Mapping[IndexAxis, int] = dict(zip(axes, place, strict=True))
        yield intervals.range(node, at, (0,) * len(node.inner))
