"""Claims about a run: what its trained networks predict, its program with the networks in it, the multipliers that it gives to rows.

The interpreter at the networks' predictions is the witness, and declared ranges and caps are.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pdual.compiler.layout import Sense
from pdual.compiler.program import Evaluation
from pdual.runtime.data.tables import Ragged, RowBatch
from pdual.verifying.case import RowsCase, flat
from pdual.verifying.claim import Case, Claim
from pdual.verifying.claims_rows import agree_objective, agree_rows, over_rows
from pdual.verifying.outcomes import Falsified, Undefined
from pdual.verifying.subject import Session, Subject

if TYPE_CHECKING:
    from pdual.verifying.trained import Trained

#: Networks are asked about numbers up to this: beyond it single precision overflows inside them.
LARGEST = 1e6
#: A prediction of a row alone and in a batch, double precision, relative to the largest prediction.
ROUNDING = 1e-9
#: Of a cap in the precision of the run.
SINGLE = 1e-6
#: Slopes that differ by more than this over a small step are those of a kink, where gradients differ by rounding.
STEP, BEND = 1e-6, 1e-4


def check_predictions(subject: Subject, case: Case) -> None:
    """Every output is a number in its declared range, in the precision of the run too, and no row's depends on another row."""
    trained, batch = _moderate(subject, case)
    assert isinstance(case, RowsCase)
    session = subject.session(case)
    subject.run(case, session.calls)
    asked = {name: model.asked for name, model in subject.models.items() if name in trained.names}
    if not any(asked.values()):
        raise Undefined("no trained network is called")
    for name, calls in asked.items():
        for inputs, leaves in calls:
            with torch.no_grad():
                said = trained.models[name](inputs).outputs
            for part, leaf in leaves.items():
                largest = max(1.0, float(leaf.detach().abs().max())) if leaf.numel() else 1.0
                if not torch.allclose(_numbers(said[part]), leaf.detach(), rtol=0.0, atol=ROUNDING * largest):
                    raise Falsified(
                        f"`{name}` predicts {part or 'other values'} for rows of a batch and for each alone"
                    )
    with trained.listening() as heard:
        trained.evaluate(case.data, batch)
    for name, part, values, low, high in heard:
        if not bool((torch.isfinite(values) & (values >= low) & (values <= high)).all()):
            worst = values[~((values >= low) & (values <= high))][0]
            raise Falsified(
                f"`{name}`{f'.{part}' if part else ''} predicts {float(worst):.9g}, outside [{low:g}, {high:g}]"
            )


def check_program(subject: Subject, case: Case) -> None:
    """Rows and objective of the program with the networks in it are the interpreter's, and its gradient in their weights is that in the
    predictions times that of the predictions.
    """
    trained, batch = _moderate(subject, case)
    assert isinstance(case, RowsCase)
    session = subject.session(case)
    program = trained.programs[case.data]
    if not session.rows:
        raise Undefined("no rows")
    found = Evaluation(*program.evaluate(batch.values, batch.ids))
    agree_rows(session, program, found)
    agree_objective(session, found)
    _check_weights(subject, session, trained, found)


def _check_weights(subject: Subject, session: Session, trained: Trained, evaluation: Evaluation) -> None:
    weights = [weight for weight in trained.models.parameters() if weight.requires_grad]
    _, apart = subject.run(session.case, session.calls)
    whole = _weighted(evaluation)
    if not (weights and whole.requires_grad):
        raise Undefined("nothing to train")
    expected = torch.autograd.grad(whole, weights, allow_unused=True)
    asked = [(name, *call) for name, model in subject.models.items() for call in model.asked]
    leaves = [leaf for _, _, named in asked for leaf in named.values()]
    slopes = iter(torch.autograd.grad(_weighted(apart), leaves, allow_unused=True))
    through = torch.zeros((), dtype=torch.float64)
    for name, inputs, named in asked:
        outputs = trained.models[name](inputs).outputs
        for part in named:
            slope = next(slopes)
            if slope is not None:
                through = through + (_numbers(outputs[part]) * slope).sum()
    made = torch.autograd.grad(through, weights, allow_unused=True) if through.requires_grad else [None] * len(weights)
    for one, other in zip(expected, made, strict=True):
        first, second = (torch.zeros(()) if value is None else value for value in (one, other))
        size = max(1.0, float(first.abs().max()), float(second.abs().max()))
        if not bool(((first - second).abs() <= 1e-7 * size).all()):
            _refuse_kinks(subject, session)
            raise Falsified(
                f"gradients in the weights differ by {float((first - second).abs().max()):.3g} of {size:.3g}"
            )


def _refuse_kinks(subject: Subject, session: Session) -> None:
    """Raises Undefined where what the interpreter says bends along the directions of the calls."""
    sums = []
    for shift in (0.0, STEP, -STEP):
        session.calls.shift = shift
        try:
            meant = subject.meant(session.case, session.calls, metrics=False)
        finally:
            session.calls.shift = 0.0
        sums.append([entry.residual for row in meant for entry in row.entries.values()])
        sums[-1] += [row.objective for row in meant if row.objective is not None]
    for center, ahead, behind in zip(*sums, strict=True):
        if abs(ahead + behind - 2 * center) > BEND * STEP * max(1.0, abs(center)):
            raise Undefined("a kink")


def check_learned(subject: Subject, case: Case) -> None:
    """The multipliers that the run gives to these rows, which it may never have seen, are in [0, cap]; in [-cap, cap] of an equality."""
    trained, batch = _moderate(subject, case)
    assert isinstance(case, RowsCase)
    _, multipliers = trained.evaluate(case.data, batch)
    training_set = trained.training_set(case.data)
    held = [
        plan
        for plan, kind in zip(training_set.multipliers.plans, training_set.multipliers.kinds, strict=True)
        if kind.generalises
    ]
    if multipliers is None or not held:
        raise Undefined("no multipliers of new rows")
    layout = training_set.program.layout
    senses = [part.sense for part in layout.parts for _ in range(part.size)]
    for plan in held:
        for column in plan.columns:
            low = -plan.cap if senses[column] is Sense.EQUAL else 0.0
            slack = SINGLE * plan.cap if math.isfinite(plan.cap) else 0.0
            for row, value in enumerate(multipliers[:, column].tolist()):
                if not low - (slack if low else 0.0) <= value <= plan.cap + slack:
                    name = ", ".join(plan.parts)
                    raise Falsified(
                        f"a multiplier of {name} is {value:.9g} in row {row}, outside [{low:g}, {plan.cap:g}]"
                    )


def _moderate(subject: Subject, case: Case) -> tuple[Trained, RowBatch]:
    """The run's networks, and the rows as its program reads them. Raises Undefined where they are not all there, or numbers are huge."""
    assert isinstance(case, RowsCase)
    trained = subject.trained
    if trained is None or not trained.programs:
        raise Undefined("some models are no networks that rows of numbers can be handed to")
    leaves = [leaf for row in case.rows for value in row.values() for leaf in flat(value)]
    if any(abs(leaf) > LARGEST for leaf in leaves if isinstance(leaf, int | float | complex)):
        raise Undefined("numbers too large for single precision")
    return trained, subject.batch(case)


def _weighted(evaluation: Evaluation) -> Tensor:
    """Residuals, the objective and that of groups, summed with fixed weights."""
    source = random.Random(11)
    total = torch.zeros((), dtype=torch.float64)
    for values in (evaluation.residuals, evaluation.objective, evaluation.group_objective):
        if values is not None and values.numel():
            weights = torch.tensor([source.uniform(0.5, 1.5) for _ in range(values.numel())], dtype=torch.float64)
            total = total + (torch.nan_to_num(values).flatten() * weights).sum()
    return total


def _numbers(value: object) -> Tensor:
    found = value.values if isinstance(value, Ragged) else value
    assert isinstance(found, Tensor)
    return found


CLAIMS = (
    Claim(
        "predictions", "the trained networks predict numbers in their declared ranges, row by row", over_rows,
        check_predictions, RowsCase, of_run=True,
    ),
    Claim(
        "program", "the program with the trained networks in it is what the interpreter says at their predictions", over_rows,
        check_program, RowsCase, every=2, of_run=True,
    ),
    Claim(
        "learned", "multipliers that a run gives to any row are in [0, cap], those of an equality in [-cap, cap]", over_rows,
        check_learned, RowsCase, of_run=True,
    ),
)  # fmt: skip
