"""Evaluations on power grids."""

from __future__ import annotations

from pdual.dsl.declarations.evaluation import EvaluationDeclaration

POWER_PROJECTED = EvaluationDeclaration(
    name="power.projected",
    summary="violations after the power-flow equations are solved with the predicted set points held",
    sources=("power.demands",),
    builder="pdual.packs.power.evaluations.projected:evaluate",
)
