"""Warns of a spec without constraints, unless it is marked as a baseline."""

from __future__ import annotations

from pdual.dsl import syntax
from pdual.dsl.diagnostics import Diagnostic, diagnostic
from pdual.dsl.parser import parse
from pdual.dsl.spans import NOWHERE
from pdual.understanding import Understood


def unconstrained(understood: Understood) -> tuple[Diagnostic, ...]:
    """PD416 for a spec about rows, without mistakes, that has no constraint, and no ``dual default = none`` to say that none is meant."""
    spec = understood.spec
    if (
        spec is None
        or not spec.blocks
        or understood.errors
        or spec.averages
        or any(block.families for block in spec.blocks)
    ):
        return ()
    written = parse(understood.source)[0]
    statements = written.statements if written is not None else ()
    inside = [item for node in statements for item in (node.body if isinstance(node, syntax.Over) else (node,))]
    duals = [item for item in inside if isinstance(item, syntax.Dual)]
    if any(target.family.name == "default" for dual in duals for target in dual.targets):
        return ()
    problem = next((node for node in statements if isinstance(node, syntax.Problem)), None)
    span = NOWHERE if problem is None else problem.name.span
    return (diagnostic("PD416", span, name=spec.name),)
