"""Values that operations are asked for and do not have: ``log`` and roots of what may be negative, division by what may be 0.

Only what declared ranges tell is said: of a number that nothing is known of, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product
from math import isinf

from pdual.compiler.ir import IndexAxis, Node, topological
from pdual.compiler.walk import Walk
from pdual.dsl.diagnostics import Collector
from pdual.dsl.operations.interval import Interval

#: Entries of one operation that are looked at; they differ in constants only.
_LOOKED_AT = 256

#: By operation: which argument, what it is called, what it must do.
_DOMAINS: Mapping[str, tuple[int, str, str]] = {
    "log": (0, "argument", "be positive"),
    "sqrt": (0, "argument", "not be negative"),
    "divide": (1, "denominator", "not be 0"),
}


def check_domains(roots: Iterable[Node], walk: Walk, found: Collector) -> None:
    """PD304 for every operation that the declared ranges let be asked outside its domain."""
    for node in topological(roots):
        if node.operation in _DOMAINS and not node.constant:
            place, argument, domain = _DOMAINS[node.operation]
            asked = node.arguments[place]
            outside = next((r for r in _ranges(asked, walk) if _leaves(node.operation, r, asked)), None)
            if outside is not None:
                found.add("PD304", node.span, operation=node.operation, argument=argument, range=outside, domain=domain)


def _leaves(operation: str, known: Interval, asked: Node) -> bool:
    """Whether a range that is known reaches where the operation has no value.

    An end at 0 counts only where it was declared: ``exp(x)`` is never 0 although its range says so.
    """
    declared = _is_declared(asked) or known.is_point
    match operation:
        case "log":
            return not isinf(known.lo) and (known.lo < 0 or (known.lo == 0 and declared))
        case "sqrt":
            return not isinf(known.lo) and known.lo < 0
    if isinf(known.lo) and isinf(known.hi):
        return False
    return known.lo < 0 < known.hi or (0 in known and declared)


def _is_declared(node: Node) -> bool:
    if node.operation in ("select", "spread", "member"):
        return _is_declared(node.arguments[0])
    return node.operation in ("field", "output")


def _ranges(node: Node, walk: Walk) -> Iterator[Interval]:
    axes = [axis for axis in node.axes if axis.set in walk.sizes]
    for place in islice(product(*(range(walk.sizes[axis.set]) for axis in axes)), _LOOKED_AT):
        at: Mapping[IndexAxis, int] = dict(zip(axes, place, strict=True))
        yield walk.range(node, at, (0,) * len(node.inner))
