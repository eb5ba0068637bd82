"""Numbers for claims about multipliers: rows of residuals, multipliers before, masks and penalties, for every dual of a spec."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from pdual.compiler.layout import Sense
from pdual.compiler.program import DualPlan
from pdual.dsl.declarations.registry import duals
from pdual.runtime.duals.store import Bounds
from pdual.verifying.case import NumbersCase
from pdual.verifying.claim import Case
from pdual.verifying.outcomes import Falsified
from pdual.verifying.subject import Subject

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: Of the features that a small network reads in place of the spec's own.
WIDTH = 3
ROUNDING = 1e-9


@dataclass(frozen=True)
class HeldPlan:
    """One dual of a spec: what it is called, which of its first columns are equalities, its cap, the penalties."""

    name: str
    plan: DualPlan
    equal: tuple[bool, ...]


def plans(subject: Subject) -> dict[str, HeldPlan]:
    """The duals of a spec that hold anything; the first three columns of each sense stand for all."""
    found = {}
    for program in subject.programs.values():
        senses = [part.sense for part in program.layout.parts for _ in range(part.size)]
        for plan in program.duals:
            if not duals()[plan.kind].in_force or not plan.columns:
                continue
            equal = [senses[column] is Sense.EQUAL for column in plan.columns]
            kept = [False] * min(2, equal.count(False)) + [True] * min(2, equal.count(True))
            name = f"{plan.kind} of {', '.join(plan.parts)} over {program.data}"
            found[name] = HeldPlan(name, plan, tuple(kept))
    return found


def over_plans(subject: Subject) -> dict[str, SearchStrategy[Case]]:
    """Numbers for every dual: rows of residuals, multipliers before, masks, penalties."""
    return {name: _numbers(plan, subject) for name, plan in plans(subject).items()}


def _numbers(plan: HeldPlan, subject: Subject) -> SearchStrategy[Case]:
    import hypothesis.strategies as st

    cap, width = cap_of(plan), len(plan.equal)
    usual = st.floats(-10, 10) | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-9, -1e-9, 1e6, -1e6])
    share = st.floats(0, 1) | st.sampled_from([0.0, 1.0])
    settings = subject.spec.solve
    rho = st.sampled_from([settings.rho, settings.rho_equal or settings.rho, 1.0]) | st.floats(1e-3, 1e3)

    @st.composite
    def case(draw: st.DrawFn) -> NumbersCase:
        rows = draw(st.integers(1, 4))

        def table(entry: st.SearchStrategy[Any]) -> list[list[Any]]:
            return [[draw(entry) for _ in range(width)] for _ in range(rows)]

        multipliers = [
            [cap * (2 * s - 1 if equal else s) for s, equal in zip(line, plan.equal, strict=True)]
            for line in table(share)
        ]
        return NumbersCase(
            {
                "plan": plan.name,
                "residuals": table(usual),
                "multipliers": multipliers,
                "mask": table(st.booleans() | st.just(True)),
                "rho": [draw(rho) for _ in range(width)],
                "features": [[draw(st.floats(-2, 2)) for _ in range(WIDTH)] for _ in range(rows)],
                "weights": [[draw(st.floats(-1, 1)) for _ in range(WIDTH + 1)] for _ in range(width)],
                "smoothing": draw(st.sampled_from([0.0, 0.5])),
                "weight": draw(st.sampled_from(["none", "rms", "logistic"])),
                "recenter": draw(st.booleans()),
                "again": draw(st.integers(0, 15)),
            }
        )

    return case()


def cap_of(plan: HeldPlan) -> float:
    """The cap, or a large number where there is none."""
    return plan.plan.cap if math.isfinite(plan.plan.cap) else 1e3


@dataclass(frozen=True)
class Numbers:
    """A case as tensors, [rows, c] and [c]."""

    plan: HeldPlan
    residuals: Tensor
    multipliers: Tensor
    mask: Tensor
    rho: Tensor
    equal: Tensor
    bounds: Bounds
    given: Mapping[str, Any]

    @classmethod
    def of(cls, subject: Subject, case: Case) -> Numbers:
        """The numbers of a case."""
        assert isinstance(case, NumbersCase)
        numbers = case.numbers
        plan = plans(subject)[numbers["plan"]]
        equal = torch.tensor(plan.equal)
        mask = torch.tensor(numbers["mask"])
        residuals = torch.where(mask, doubles(numbers["residuals"]), 0.0)
        bounds = Bounds.of(equal, cap_of(plan), torch.float64)
        return cls(
            plan, residuals, doubles(numbers["multipliers"]), mask, doubles(numbers["rho"]), equal, bounds, numbers
        )

    def low(self, column: int) -> float:
        """The smallest multiplier of a column."""
        return -cap_of(self.plan) if self.plan.equal[column] else 0.0

    def high(self) -> float:
        """The largest multiplier."""
        return cap_of(self.plan)

    def places(self) -> list[tuple[int, int]]:
        """Every row and column."""
        return [(row, column) for row in range(len(self.residuals)) for column in range(len(self.plan.equal))]


def doubles(values: object) -> Tensor:
    """Double precision."""
    return torch.tensor(values, dtype=torch.float64)


def same(name: str, found: float, expected: float, size: float) -> None:
    """Raise Falsified where two numbers differ by more than rounding."""
    if not abs(found - expected) <= ROUNDING * max(1.0, size, abs(expected)):
        raise Falsified(f"{name}: found {found:.17g}, expected {expected:.17g}")
