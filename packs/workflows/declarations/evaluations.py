"""Evaluations on workflow-task pairs."""

from __future__ import annotations

from pdual.dsl.declarations.evaluation import EvaluationDeclaration

FLORA_UTILITY = EvaluationDeclaration(
    name="flora.utility",
    summary="how well workflows are ranked by how many tasks they are predicted to solve",
    sources=("flora",),
    builder="pdual.packs.workflows.evaluations.utility:evaluate",
)

FLORA_FLIPPED = EvaluationDeclaration(
    name="flora.flipped",
    summary="whether rows whose label was flipped on purpose are among those with the largest multipliers",
    sources=("flora",),
    builder="pdual.packs.workflows.evaluations.flipped:evaluate",
    on_train=True,
)
