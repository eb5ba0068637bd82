"""Constraints on averages as they were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from pdual.compiler.program import AveragePlan
from pdual.runtime.evaluation.result import EvaluationResult
from pdual.runtime.evaluation.violations import Violations


@dataclass(frozen=True, slots=True)
class MeasuredAverages:
    """The constraints at one theta: a pass with one row (columns whose means have no rows are masked), its violations, and the
    means by data set, [k] each in the problem's units.
    """

    plan: AveragePlan
    result: EvaluationResult
    violations: Violations
    means: Mapping[str, Tensor]
