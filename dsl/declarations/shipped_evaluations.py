"""The evaluations that pdual ships."""

from __future__ import annotations

from pdual.dsl.declarations.evaluation import EvaluationDeclaration

EVALUATIONS: tuple[EvaluationDeclaration, ...] = ()
