"""Claims about rows: ranges, normal form and masks, values, gradients. The interpreter is the witness."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import torch
from torch import Tensor

from pdual.compiler.interpreter import EvaluationError, average_of, evaluate
from pdual.compiler.layout import PartLayout, Sense
from pdual.compiler.program import DualPlan, Evaluation, Program
from pdual.compiler.row_ranges import RowWalk
from pdual.dsl import typed
from pdual.runtime.data.row_facts import columns
from pdual.runtime.training.averages import means_of
from pdual.verifying.case import RowsCase
from pdual.verifying.claim import Case, Claim
from pdual.verifying.outcomes import Falsified, Undefined
from pdual.verifying.ranges import values_of_nodes
from pdual.verifying.subject import NEAR, Meant, Session, Subject

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

#: Numbers above this lose what is compared; the case says nothing then.
LARGEST = 1e12
#: Where a value changes by more than this share beside a case, it jumps there.
JUMP = 1e-4
#: Where differences are noisier than this, nothing is said about a slope.
LOST = 1e-3
#: Where a number stands in what a program returns: "row", "objective" or "group", row, column.
Key: TypeAlias = tuple[str, str, tuple[int, ...]]
Place: TypeAlias = tuple[str, int, int]
#: Relative to a value, and to the largest number on the way to it.
TOLERANCE, ROUNDING = 1e-9, 1e-12


def over_rows(subject: Subject) -> dict[str, SearchStrategy[Case]]:
    """Cases over every data set that a block ranges over."""
    return {data.data: subject.cases(data.data) for data in subject.graph.data}


def check_ranges(subject: Subject, case: Case) -> None:
    """Every node of the program, at every entry, has a value in its derived range."""
    assert isinstance(case, RowsCase)
    session = subject.session(case)
    for found in session.rows:
        _entries_in_range(subject, case.data, found)
    _rows_in_range(subject, case, session.rows)
    for held in values_of_nodes(subject, case, session.calls):
        wrong = ~((held.value >= held.low) & (held.value <= held.high)) & torch.isfinite(held.value)
        if bool(wrong.any()):
            place = wrong.nonzero()[0].tolist()
            at = tuple(place)
            low, high = held.low.expand_as(held.value)[at], held.high.expand_as(held.value)[at]
            raise Falsified(
                f"`{subject.spec.source.text[held.node.span.start : held.node.span.end]}` is {held.value[at]:.17g} in row"
                f" {place[0]}, outside [{low:.17g}, {high:.17g}] (node {held.node})"
            )


def _entries_in_range(subject: Subject, data: str, meant: Meant) -> None:
    for part in subject.graph.over(data).parts:
        for members, interval in zip(part.layout.members, part.intervals, strict=True):
            entry = meant.entries.get((part.layout.family, part.layout.part, members))
            if entry is None or entry.masked or not math.isfinite(entry.residual):
                continue
            slack = 1e-12 * max(1.0, abs(entry.left), abs(entry.right))
            if not interval.lo - slack <= entry.residual <= interval.hi + slack:
                raise Falsified(f"{_name(part.layout, members)} is {entry.residual:.17g}, outside {interval}")


def _rows_in_range(subject: Subject, case: RowsCase, meant: Sequence[Meant]) -> None:
    """Every entry of every row in the range that it has at the row's own fields."""
    data = subject.graph.over(case.data)
    if data.grouping is not None:
        return
    ranges = RowWalk(subject.intervals, columns(subject.batch(case).values), len(meant))
    for part in data.parts:
        known = ranges.facts(part)
        for row, found in enumerate(meant):
            for column, members in enumerate(part.layout.members):
                entry = found.entries.get((part.layout.family, part.layout.part, members))
                if entry is None or entry.masked or not math.isfinite(entry.residual):
                    continue
                low, high = float(known.low[row, column]), float(known.high[row, column])
                slack = 1e-12 * max(1.0, abs(entry.left), abs(entry.right))
                if not low - slack <= entry.residual <= high + slack:
                    raise Falsified(
                        f"{_name(part.layout, members)} is {entry.residual:.17g} in row {row}, outside [{low:.17g}, {high:.17g}],"
                        " its range at the fields of the row"
                    )


def check_rows(subject: Subject, case: Case) -> None:
    """The residual matrix holds scaled ``left - right`` of every live entry, and 0 where a row masks one."""
    assert isinstance(case, RowsCase)
    session = subject.session(case)
    session.rows  # noqa: B018 - the interpreter is asked first: it numbers the calls
    program, found = subject.run(case, session.calls)
    agree_rows(session, program, found)
    _check_layout(subject, program)


def agree_rows(session: Session, program: Program, evaluation: Evaluation) -> None:
    """What a program says of the rows of a case is what the interpreter says. Raises Falsified, Undefined."""
    meant = session.rows
    residuals = evaluation.residuals.detach()
    mask = torch.ones_like(residuals, dtype=torch.bool) if evaluation.mask is None else evaluation.mask
    if residuals.shape != (len(meant), program.layout.columns):
        raise Falsified(f"the residual matrix is {tuple(residuals.shape)}")
    for row, expected in enumerate(meant):
        left = dict(expected.entries)
        column = 0
        for part in program.layout.parts:
            for members, scale in zip(part.members, part.scale, strict=True):
                name = f"{_name(part, members)} in row {row}"
                entry = left.pop((part.family, part.part, members), None)
                value, live = float(residuals[row, column]), bool(mask[row, column])
                column += 1
                if live != (entry is not None and not entry.masked):
                    raise Falsified(f"{name} is {'live' if live else 'masked'}, and the row says otherwise")
                if entry is None or entry.masked:
                    if value != 0:
                        raise Falsified(f"{name} is masked and has residual {value:.17g}")
                    continue
                key = (part.family, part.part, members)

                def residual(rows: list[Meant], key: Key = key, row: int = row) -> float | None:
                    near = rows[row].entries.get(key)
                    return None if near is None or near.masked else near.residual

                _agree(session, name, value * scale, entry.residual, residual)
        forgotten = [key for key, entry in left.items() if not entry.masked]
        if forgotten:
            raise Falsified(f"{'.'.join(map(str, forgotten[0]))} is live in row {row} and has no column")


def _check_layout(subject: Subject, program: Program) -> None:
    """Senses, scales and units: of every part, as the relation was written."""
    families = {f.name: f for block in subject.spec.blocks for f in block.families}
    for part in program.layout.parts:
        equality = families[part.family].operators == ("==",)
        if (part.sense is Sense.EQUAL) != equality:
            raise Falsified(f"{part.name} has sense {part.sense}")
        if not all(scale > 0 and math.isfinite(scale) for scale in part.scale):
            raise Falsified(f"{part.name} is divided by {part.scale}")


def check_values(subject: Subject, case: Case) -> None:
    """Objective, metrics and multipliers by formula are those of the interpreter."""
    assert isinstance(case, RowsCase)
    for program_says, meant in subject.free_terms:
        _same("a term of the objective that needs no data", program_says, meant, abs(meant))
    session = subject.session(case)
    rows = session.rows
    if case.groups and not subject.of_groups(case.data):
        _check_groups(subject, session)
    program, found = subject.run(case, session.calls)
    agree_objective(session, found)
    for row, expected in enumerate(rows):
        for name, value in expected.metrics.items():

            def metric(near: list[Meant], row: int = row, name: str = name) -> float | None:
                return near[row].metrics.get(name)

            _agree(session, f"metric {name} of row {row}", float(found.metrics[name][row]), value, metric)
    _check_averages(subject, session, found)
    _check_formulas(subject, session, program, found)


def agree_objective(session: Session, evaluation: Evaluation) -> None:
    """What a program says of the objective of every row of a case is what the interpreter says. Raises Falsified, Undefined."""
    for row, expected in enumerate(session.rows):
        if expected.objective is not None:
            if evaluation.objective is None:
                raise Falsified("the objective has no value")

            def objective(near: list[Meant], row: int = row) -> float | None:
                return near[row].objective

            _agree(session, f"objective of row {row}", float(evaluation.objective[row]), expected.objective, objective)


def _check_averages(subject: Subject, session: Session, evaluation: Evaluation) -> None:
    """left - right of every constraint on averages over these rows alone, which are taken for all rows there are."""
    plan = subject.averages
    own = [average for average in subject.spec.averages if average.data == (session.case.data,)]
    if plan is None or not own:
        return
    assert evaluation.averaged is not None
    means = means_of(evaluation.averaged, evaluation.kept)
    residuals = plan.offsets + torch.where(
        plan.weights[session.case.data] != 0, plan.weights[session.case.data] * means, 0.0
    ).sum(1)
    columns = {(part.family, part.part): column for column, part in enumerate(plan.layout.parts)}
    rows = subject.rows(session.case, session.calls)
    for average in own:
        try:
            entries = average_of(average, subject.environment, {session.case.data: rows})
        except EvaluationError:
            continue  # a mean over none
        for entry in entries:
            column = columns[average.name, entry.part]
            part = plan.layout.parts[column]
            value = float(residuals[column]) * part.scale[0]
            size = max(session.largest, abs(entry.left), abs(entry.right))
            _same(f"{part.name} over these rows", value, entry.residual, size)


def _check_groups(subject: Subject, session: Session) -> None:
    expected = subject.meant_of_groups(session.case, session.calls)
    _, found = subject.run(session.case, session.calls)
    if found.group_objective is None:
        raise Falsified("groups have no objective")
    for number, value in enumerate(expected):
        if math.isfinite(value):
            _same(f"objective of group {number}", float(found.group_objective[number]), value, session.largest)


def _check_formulas(subject: Subject, session: Session, program: Program, evaluation: Evaluation) -> None:
    """Multipliers written as formulas: the interpreter's value, within the range and the cap that were derived."""
    case = session.case
    batch = subject.batch(case)
    features = _detached(evaluation.features)
    for choice, plan in zip(subject.graph.over(case.data).duals, program.duals, strict=True):
        if plan.formula is None or not isinstance(choice.written.value, typed.FormulaDual):
            continue
        meant = _formula_values(subject, session, program, plan, choice.written.value)
        subject.ask(session.calls)
        values = plan.formula(batch.values, batch.ids, features).detach()
        by_name = {part.name: part for part in program.layout.parts}
        position = 0
        for part in (by_name[name] for name in plan.parts):
            bounds = next(f.interval for f in choice.formulas if f.part == part.name)
            low = -plan.cap if part.sense is Sense.EQUAL else 0.0
            for members in part.members:
                for row in range(subject.count(case)):
                    value = float(values[row, position])
                    name = f"multiplier of {_name(part, members)} in row {row}"
                    _same(name, value, meant[row, position], session.largest)
                    if not (bounds.lo <= value <= bounds.hi and low <= value <= plan.cap):
                        raise Falsified(f"{name} is {value:.17g}, outside [{low:g}, {plan.cap:g}]")
                position += 1


def _formula_values(
    subject: Subject, session: Session, program: Program, plan: DualPlan, formula: typed.FormulaDual
) -> dict[tuple[int, int], float]:
    """The interpreter's multipliers by (row, column of the plan)."""
    by_name = {part.name: part for part in program.layout.parts}
    places = [members for name in plan.parts for members in by_name[name].members]
    found = {}
    for row, fields in enumerate(subject.units(session.case, session.calls)):
        for position, members in enumerate(places):
            indices = {b.identity: m for b, m in zip(formula.binders, members, strict=True)}
            try:
                found[row, position] = float(evaluate(formula.value, subject.environment, fields, indices))
            except EvaluationError as error:
                raise Undefined(str(error)) from error
    return found


def _detached(features: Mapping[str, object]) -> Mapping[str, object]:
    """What a program hands to its duals; a gradient through it would train the primal by the multipliers."""
    for name, value in features.items():
        inner = getattr(value, "values", value)
        if isinstance(inner, Tensor) and inner.requires_grad:
            raise Falsified(f"a gradient flows through the features {name}")
    return features


def check_gradients(subject: Subject, case: Case) -> None:
    """The program's gradient in the models' outputs is the slope of the interpreter, along a direction.

    Everything is summed with random weights; what has a kink at the case's point, or no value there, is left out.
    """
    assert isinstance(case, RowsCase)
    session = subject.session(case)
    step = 1e-5
    centers = _terms(subject, session, 0.0)
    noise = 100 * 2.0**-52 * session.largest / step
    if noise > LOST:
        raise Undefined("numbers too large to be differenced")
    points = [_terms(subject, session, shift) for shift in (step, -step, step / 4, -step / 4)]
    source = random.Random(7)
    weights: dict[Place, float] = {}
    expected = allowed = 0.0
    for place, center in centers.items():
        ahead, behind, near, far = (point.get(place, math.nan) for point in points)
        weight = source.uniform(0.5, 1.5) * source.choice((1, -1))
        central, closer = (ahead - behind) / (2 * step), (near - far) / (step / 2)
        bend = abs((near - center) - (center - far)) / (step / 4)
        if math.isfinite(central) and math.isfinite(closer) and bend <= 1e-3 * abs(closer) + 16 * noise + 1e-6:
            weights[place] = weight
            expected += weight * closer
            allowed += 10 * abs(central - closer) + 4 * noise + 1e-6 * abs(closer)
    if not weights:
        raise Undefined("kinks only")
    _, found = subject.run(case, session.calls)
    total = _weighted(found, weights)
    slope = _along(total, subject.leaves())
    if not abs(slope - expected) <= allowed + 1e-9:
        raise Falsified(f"the gradient along a direction is {slope:.10g}, and the values change by {expected:.10g}")


def _terms(subject: Subject, session: Session, shift: float) -> dict[Place, float]:
    """What the interpreter says with the outputs moved: scaled residuals and objectives, by their place in the program's results."""
    case, calls = session.case, session.calls
    calls.shift = shift
    try:
        rows = session.rows if shift == 0 else subject.meant(case, calls, metrics=False)
        groups = subject.meant_of_groups(case, calls) if case.groups else []
    finally:
        calls.shift = 0.0
    found: dict[Place, float] = {("group", number, 0): value for number, value in enumerate(groups)}
    for number, row in enumerate(rows):
        if row.objective is not None:
            found["objective", number, 0] = row.objective
        column = 0
        for part in subject.programs[case.data].layout.parts:
            for members, scale in zip(part.members, part.scale, strict=True):
                entry = row.entries.get((part.family, part.part, members))
                if entry is not None and not entry.masked:
                    found["row", number, column] = entry.residual / scale
                column += 1
    return found


def _weighted(evaluation: Evaluation, weights: Mapping[Place, float]) -> Tensor:
    sources = {"row": evaluation.residuals, "objective": evaluation.objective, "group": evaluation.group_objective}
    total = torch.zeros((), dtype=torch.float64)
    for name, values in sources.items():
        chosen = [(place, weight) for place, weight in weights.items() if place[0] == name]
        if chosen and values is None:
            raise Falsified(f"the program has no {name}")
        if chosen and values is not None:
            first = torch.tensor([row for (_, row, _), _ in chosen])
            second = torch.tensor([column for (_, _, column), _ in chosen])
            picked = values[first, second] if values.dim() == 2 else values[first]
            total = total + (picked * torch.tensor([weight for _, weight in chosen], dtype=torch.float64)).sum()
    return total


def _along(total: Tensor, leaves: list[tuple[Tensor, Tensor]]) -> float:
    """The derivative of a number along the directions of its leaves."""
    if not total.requires_grad or not leaves:
        return 0.0
    gradients = torch.autograd.grad(total, [leaf for leaf, _ in leaves], allow_unused=True)
    pairs = zip(gradients, leaves, strict=True)
    return sum(float((gradient * way).sum()) for gradient, (_, way) in pairs if gradient is not None)


def _agree(
    session: Session, name: str, found: float, expected: float, again: Callable[[list[Meant]], float | None]
) -> None:
    """``_same``, unless the interpreter's own value jumps here: on a branch cut, at a tie."""
    try:
        _same(name, found, expected, session.largest)
    except Falsified:
        for rows in session.near:
            near = again(rows)
            if near is None or not abs(near - expected) <= JUMP * max(1.0, abs(expected), session.largest * NEAR):
                return
        raise


def _same(name: str, found: float, expected: float, size: float) -> None:
    if not math.isfinite(expected) or size > LARGEST:
        raise Undefined(f"{name} is {expected}")
    if not abs(found - expected) <= TOLERANCE * max(1.0, abs(expected)) + ROUNDING * size:
        raise Falsified(f"{name}: the program says {found:.17g}, the interpreter {expected:.17g}")


def _name(part: PartLayout, members: tuple[int, ...]) -> str:
    address = part.addresses[part.members.index(members)]
    return f"{part.name}[{address}]" if address else part.name


CLAIMS = (
    Claim("ranges", "every expression has its value in the range that was derived", over_rows, check_ranges, RowsCase),
    Claim(
        "rows", "a row is scaled left - right with the sense that was written, and 0 where it is masked", over_rows,
        check_rows, RowsCase,
    ),
    Claim(
        "values", "objective, metrics and formulas of multipliers are what the interpreter says", over_rows,
        check_values, RowsCase,
    ),
    Claim(
        "gradients", "gradients in the predictions are the slopes of what the interpreter says", over_rows,
        check_gradients, RowsCase, every=4,
    ),
)  # fmt: skip
