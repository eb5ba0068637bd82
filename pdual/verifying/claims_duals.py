"""Claims about multipliers: the Lagrangian's identities, where multipliers live, how every kind is updated, and where its ascent ends.

The witness is arithmetic of one number at a time, written from the definitions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.dual import Column, Meaning
from pdual.dsl.declarations.duals import clip
from pdual.dsl.declarations.optimisers import OptimiserSettings, SgdSettings
from pdual.dsl.declarations.references import OptimiserUse
from pdual.dsl.declarations.registry import FORMULA, duals
from pdual.runtime.data.features import FeatureCache, Features
from pdual.runtime.duals.build import store_of
from pdual.runtime.duals.context import DualContext
from pdual.runtime.duals.regression import RMS_FLOOR, SATURATION, VARIANCE_FLOOR, Fitting, RegressionStore
from pdual.runtime.duals.store import Bounds, DualStore, Reading
from pdual.runtime.evaluation.violations import is_at_cap
from pdual.runtime.optimisation.lagrangian import Lagrangian
from pdual.verifying.case import NumbersCase
from pdual.verifying.claim import Case, Claim
from pdual.verifying.dual_numbers import WIDTH, Numbers, doubles, over_plans, same
from pdual.verifying.outcomes import Falsified, Undefined
from pdual.verifying.subject import Subject

RATE = 0.05


# --- the Lagrangian ------------------------------------------------------------------------------------------


def check_lagrangian(subject: Subject, case: Case) -> None:
    """psi is ([lam + rho g]_+^2 - lam^2) / (2 rho) in exact arithmetic; its slope in g is [lam + rho g]_+; none reaches lam."""
    given = Numbers.of(subject, case)
    lagrangian = Lagrangian(given.equal, given.rho)
    residuals = given.residuals.clone().requires_grad_(True)
    multipliers = given.multipliers.clone().requires_grad_(True)
    held = torch.where(given.mask, residuals, 0.0)
    psi = lagrangian.psi(held, multipliers)
    psi.sum().backward()  # type: ignore[no-untyped-call]
    if multipliers.grad is not None and bool(multipliers.grad.any()):
        raise Falsified("a gradient of psi reaches the multipliers")
    assert residuals.grad is not None
    relaxed = lagrangian.relaxed(given.residuals, given.multipliers, given.mask)
    sums = [Fraction(0)] * len(psi)
    sizes = [1.0] * len(psi)
    for row, column in given.places():
        g, lam, rho = (
            float(x) for x in (given.residuals[row, column], given.multipliers[row, column], given.rho[column])
        )
        live, equal = bool(given.mask[row, column]), given.plan.equal[column]
        asked = Fraction(lam) + Fraction(rho) * Fraction(g)
        kept = asked if equal else max(asked, Fraction(0))
        value = (kept * kept - Fraction(lam) ** 2) / (2 * Fraction(rho)) if live else Fraction(0)
        sums[row] += value
        sizes[row] += abs(float(value)) + lam * lam / rho
        step = (kept - Fraction(lam)) / Fraction(rho) if live else Fraction(0)
        where = f"row {row}, column {column} of {given.plan.name} at g = {g:g}, lam = {lam:g}, rho = {rho:g}"
        size = abs(g) + abs(lam) / rho
        same(f"the relaxed residual in {where}", float(relaxed[row, column]), float(step), size)
        if abs(float(relaxed[row, column])) < (max(g, 0.0) if not equal else abs(g)) * (1 - 1e-12) and live:
            raise Falsified(f"[g]_+ <= |r| does not hold in {where}")
        slope = float(residuals.grad[row, column])
        at_kink = not equal and abs(float(asked)) <= 1e-12 * (abs(lam) + rho * abs(g))
        if live and not at_kink:
            same(f"the slope of psi in {where}", slope, float(kept), abs(lam) + rho * abs(g))
        if not live and slope != 0:
            raise Falsified(f"a masked entry has a gradient in {where}")
    for row, (total, size) in enumerate(zip(sums, sizes, strict=True)):
        same(f"psi of row {row}", float(psi[row].detach()), float(total), size)
    _check_penalties(given, lagrangian)


def _check_penalties(given: Numbers, lagrangian: Lagrangian) -> None:
    """rho grows by a factor up to a limit; where it is above the limit it stays. The same Lagrangian then uses it."""
    limit = 2.0 * float(given.rho.min())
    lagrangian.raise_rho(3.0, limit)
    for column, before in enumerate(given.rho.tolist()):
        same(f"rho of column {column}", float(lagrangian.rho[column]), max(before, min(3.0 * before, limit)), before)
    fresh = Lagrangian(given.equal, lagrangian.rho)
    if not torch.equal(
        fresh.psi(given.residuals, given.multipliers), lagrangian.psi(given.residuals, given.multipliers)
    ):
        raise Falsified("psi does not use the rho it was raised to")
    lagrangian.load_rho(given.rho)
    fresh = Lagrangian(given.equal, given.rho)
    if not torch.equal(
        fresh.relaxed(given.residuals, given.multipliers), lagrangian.relaxed(given.residuals, given.multipliers)
    ):
        raise Falsified("the residual that is followed does not use the rho that was loaded")


# --- stores --------------------------------------------------------------------------------------------------


class _Linear(nn.Module):
    """phi of a small regression: [rows, c] from [rows, WIDTH]."""

    def __init__(self, weights: Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(weights[:, :WIDTH].clone())
        self.bias = nn.Parameter(weights[:, WIDTH].clone())


class _Regression(RegressionStore):
    """The regression of networks and formulas, with a linear map in place of what the spec names."""

    def __init__(self, phi: _Linear, bounds: Bounds, fitting: Fitting, clipped: bool) -> None:
        super().__init__(phi, bounds, fitting)
        self._linear = phi
        self._clipped = clipped

    def predict(self, ids: Tensor, features: Features, values: Mapping[str, object]) -> Tensor:
        read = features["x"]
        assert isinstance(read, Tensor)
        return read @ self._linear.weight.T + self._linear.bias

    def head(self, raw: Tensor) -> Tensor:
        return self._bounds.clip(raw) if self._clipped else raw

    def values(self, ids: Tensor) -> Mapping[str, object]:
        return {}

    def recentre(self, shift: Tensor) -> None:
        with torch.no_grad():
            self._linear.bias.add_(shift)


def check_multipliers(subject: Subject, case: Case) -> None:
    """Whatever it was told, every kind gives multipliers in [0, cap] ([-cap, cap] for an equality), and 0 to begin with."""
    given = Numbers.of(subject, case)
    if given.plan.plan.kind == FORMULA:
        raise Undefined("the range of a formula is checked with its values")
    table = _store(given)
    store = _regression(given)[0] if table is None else table
    ids = torch.arange(len(given.residuals))
    features = {"x": doubles(given.given["features"])}
    _within(given, store.value(ids, features, {}), "to begin with", zero=table is not None)
    for turn in range(3):
        before = store.value(ids, features, {}).clone()
        relaxed = Lagrangian(given.equal, given.rho).relaxed(given.residuals, before, given.mask)
        store.update(_reading(given, before, relaxed))
        _within(given, store.value(ids, features, {}), f"after update {turn + 1}")


def _within(given: Numbers, tensor: Tensor, when: str, zero: bool = False) -> None:
    for row, column in given.places():
        value = float(tensor[row, column])
        if zero and value != 0:
            raise Falsified(f"the multiplier of row {row}, column {column} is {value:g} {when}")
        slack = 1e-12 * given.high()
        if not given.low(column) - slack <= value <= given.high() + slack:
            raise Falsified(
                f"the multiplier of row {row}, column {column} of {given.plan.name} is {value:.17g} {when}, outside"
                f" [{given.low(column):g}, {given.high():g}]"
            )


def check_updates(subject: Subject, case: Case) -> None:
    """One update of every kind is the formula of its definition."""
    given = Numbers.of(subject, case)
    kind = duals()[given.plan.plan.kind]
    if kind.fitted:
        _check_regression(given)
        return
    if kind.meaning is None:
        raise Undefined("the kind does not declare its update in plain numbers")
    store = _store(given)
    assert store is not None
    ids = torch.arange(len(given.residuals))
    lagrangian = Lagrangian(given.equal, given.rho)
    told: list[list[float]] = [[0.0] * len(given.plan.equal) for _ in given.residuals]
    state = _Scalars(given, kind.meaning)
    for turn in range(2):
        before = store.value(ids, {}, {}).clone()
        relaxed = lagrangian.relaxed(given.residuals, before, given.mask)
        store.update(_reading(given, before, relaxed))
        told = state.updated(told)
        found = store.value(ids, {}, {})
        for row, column in given.places():
            name = f"multiplier of row {row}, column {column} of {given.plan.name} after update {turn + 1}"
            same(name, float(found[row, column]), told[row][column], given.high() + abs(told[row][column]))


class _Scalars:
    """The declared update of a kind, a column at a time."""

    def __init__(self, given: Numbers, meaning: Meaning) -> None:
        self._given = given
        self._meaning = meaning
        self._kept: list[Sequence[float]] = [()] * len(given.plan.equal)

    def updated(self, before: Sequence[Sequence[float]]) -> list[list[float]]:
        given = self._given
        found = [list(line) for line in before]
        for place, rho in enumerate(given.rho.tolist()):
            column = Column(
                [line[place] for line in before],
                given.residuals[:, place].tolist(),
                given.mask[:, place].tolist(),
                rho,
                given.low(place),
                given.high(),
                given.plan.equal[place],
            )
            after, self._kept[place] = self._meaning(column, self._kept[place], given.plan.plan.settings)
            for row, value in enumerate(after):
                found[row][place] = value
        return found


def _check_regression(given: Numbers) -> None:
    """One step of the fit: phi moves against the slope of the mean of w |lam_phi - t|^2, a slope of clipped outputs counting as 1."""
    store, phi = _regression(given)
    before = _Linear(doubles(given.given["weights"])).requires_grad_(False)
    features = doubles(given.given["features"])
    rows, columns = given.residuals.shape
    raw = [
        [
            math.fsum(float(before.weight[c, k]) * float(features[n, k]) for k in range(WIDTH)) + float(before.bias[c])
            for c in range(columns)
        ]
        for n in range(rows)
    ]
    clipped = given.plan.plan.kind != FORMULA
    lam = [[clip(x, given.low(c), given.high()) if clipped else x for c, x in enumerate(line)] for line in raw]
    beta = float(given.given["smoothing"])
    # A logistic fit is asked for a little less than the cap, where a sigmoid still has a slope.
    reach = 1 - SATURATION if given.given["weight"] == "logistic" else 1.0

    def target(n: int, c: int) -> float:
        asked = clip(lam[n][c] + float(given.rho[c]) * float(given.residuals[n, c]), given.low(c), given.high())
        return beta * lam[n][c] + (1 - beta) * clip(asked, reach * given.low(c), reach * given.high())

    targets = [[target(n, c) for c in range(columns)] for n in range(rows)]
    live = [[bool(given.mask[n, c]) for c in range(columns)] for n in range(rows)]
    shift = [0.0] * columns
    if given.given["recenter"]:
        counts = [max(1, sum(line[c] for line in live)) for c in range(columns)]
        shift = [
            math.fsum((targets[n][c] - lam[n][c]) * live[n][c] for n in range(rows)) / counts[c] for c in range(columns)
        ]
    moved = [[raw[n][c] + shift[c] for c in range(columns)] for n in range(rows)]
    now = [[clip(x, given.low(c), given.high()) if clipped else x for c, x in enumerate(line)] for line in moved]
    weights = _weights(given, targets, now, live)
    reading = _reading(given, doubles(lam), given.residuals)
    if given.given["again"] % 3 == 1:  # some rows' multipliers are stale: an update reads them again
        fresh = torch.tensor([bool(given.given["again"] >> n & 1) for n in range(rows)])
        stale = torch.where(fresh[:, None], reading.multipliers, 0.123)
        reading = Reading(
            reading.ids, reading.residuals, reading.mask, stale, reading.relaxed, reading.rho, reading.features, fresh
        )
    missed = store.update(reading)
    errors = [[(now[n][c] - targets[n][c]) * live[n][c] for c in range(columns)] for n in range(rows)]
    total = rows * columns
    size = max(1.0, *(abs(x) for line in targets for x in line), *(abs(x) for line in moved for x in line))
    size *= max(1.0, *(abs(w) for line in weights for w in line))
    same("the mean error of the fit", missed, math.fsum(abs(e) for line in errors for e in line) / total, size)
    for c in range(columns):
        slopes = [2 / total * weights[n][c] * errors[n][c] for n in range(rows)]
        bias = float(before.bias[c]) + shift[c] - RATE * math.fsum(slopes)
        same(f"the bias of column {c} of {given.plan.name}", float(phi.bias[c].detach()), bias, size)
        for k in range(WIDTH):
            slope = math.fsum(s * float(features[n, k]) for n, s in enumerate(slopes))
            expected = float(before.weight[c, k]) - RATE * slope
            same(f"weight {k} of column {c} of {given.plan.name}", float(phi.weight[c, k].detach()), expected, size)


def _weights(
    given: Numbers, targets: Sequence[Sequence[float]], now: Sequence[Sequence[float]], live: Sequence[Sequence[bool]]
) -> list[list[float]]:
    """w of every entry, by the fit's ``weight``."""
    rows, columns = len(targets), len(given.plan.equal)
    match given.given["weight"]:
        case "none":
            return [[1.0] * columns for _ in range(rows)]
        case "logistic":
            span = [given.high() - given.low(c) for c in range(columns)]
            place = [[(now[n][c] - given.low(c)) / span[c] for c in range(columns)] for n in range(rows)]
            return [[0.25 / max(q * (1 - q), VARIANCE_FLOOR) for q in line] for line in place]
    means = [
        math.fsum(targets[n][c] ** 2 for n in range(rows) if live[n][c]) / max(1, sum(line[c] for line in live))
        for c in range(columns)
    ]
    largest = max(means)
    floor = RMS_FLOOR**2 * largest
    return [[1 / max(mean, floor) if largest > 0 else 1.0 for mean in means] for _ in range(rows)]


def _regression(given: Numbers) -> tuple[_Regression, _Linear]:
    rows = len(given.residuals)
    settings: OptimiserSettings = SgdSettings(
        lr=RATE, batch=rows, steps=1, weight=given.given["weight"], recenter=given.given["recenter"]
    )
    fitting = Fitting(
        ascent=OptimiserUse("sgd", settings),
        smoothing=given.given["smoothing"],
        fit=torch.arange(rows),
        iterations=1,
        random=torch.Generator().manual_seed(0),
        share=0.0,  # no row rests
    )
    phi = _Linear(doubles(given.given["weights"]))
    return _Regression(phi, given.bounds, fitting, given.plan.plan.kind != FORMULA), phi


def _reading(given: Numbers, multipliers: Tensor, relaxed: Tensor) -> Reading:
    cache = FeatureCache()
    cache.append({"x": doubles(given.given["features"])}, ("x",))
    ids = torch.arange(len(given.residuals))
    return Reading(ids, given.residuals, given.mask, multipliers, relaxed, given.rho, cache)


def _store(given: Numbers) -> DualStore | None:
    """A fresh store of a kind whose numbers are updated; None where weights hold the multipliers."""
    if duals()[given.plan.plan.kind].fitted:
        return None
    return store_of(DualContext(given.plan.plan, given.bounds, torch.arange(len(given.residuals))))


# --- closed forms --------------------------------------------------------------------------------------------


def check_optima(subject: Subject, case: Case) -> None:
    """min 1/2 (x - z)^2 subject to x <= 0 (or x == 0): exact ascent ends at lam = clip(z), x = z - lam, with the spec's cap."""
    given = Numbers.of(subject, case)
    store = _store(given)
    kind = duals()[given.plan.plan.kind]
    if store is None or not kind.exact:
        raise Undefined("no table of multipliers")
    same_rows = kind.alike  # one number serves rows whose constraints cost the same
    z = torch.clamp(given.residuals[:1].expand_as(given.residuals) if same_rows else given.residuals, -100, 100)
    rho = torch.clamp(given.rho, 0.5, 100.0)
    lagrangian = Lagrangian(given.equal, rho)
    ids = torch.arange(len(z))
    live = torch.ones_like(given.mask)
    lam = store.value(ids, {}, {}).clone()
    for _ in range(150):
        # The minimiser of 1/2 (x - z)^2 + psi(x, lam), in closed form.
        free = (z - lam) / (1 + rho)
        x = torch.where(given.equal | (lam + rho * free > 0), free, z)
        relaxed = lagrangian.relaxed(x, lam, live)
        cache = FeatureCache()
        store.update(Reading(ids, x, live, lam, relaxed, rho, cache))
        lam = store.value(ids, {}, {}).clone()
    expected = given.bounds.clip(z)
    for row, column in given.places():
        name = f"the multiplier of row {row}, column {column} of {given.plan.name} at z = {float(z[row, column]):g}"
        found = float(lam[row, column])
        if abs(found - float(expected[row, column])) > 1e-6 * (1 + abs(float(expected[row, column]))):
            raise Falsified(f"{name} ends at {found:.10g}, and the optimum has {float(expected[row, column]):.10g}")
        # Without a cap the optimum has z, or [z]_+: a table that is short of it is no reference, and has to be known by its cap.
        uncapped = float(z[row, column]) if given.equal[column] else max(float(z[row, column]), 0.0)
        at_cap = bool(is_at_cap(lam, given.bounds.high)[row, column])
        if abs(found - uncapped) > 1e-5 * (1 + abs(uncapped)) and not at_cap:
            raise Falsified(f"{name} is {found:.10g}, {uncapped:.10g} without a cap, and does not count as at its cap")


CLAIMS = (
    Claim(
        "lagrangian", "psi, its slope [lam + rho g]_+ and the residual of the ascent are those of the definition",
        over_plans, check_lagrangian, NumbersCase,
    ),
    Claim("multipliers", "multipliers stay in [0, cap], of an equality in [-cap, cap]", over_plans, check_multipliers, NumbersCase),
    Claim("updates", "an update of every kind of dual is its formula", over_plans, check_updates, NumbersCase),
    Claim(
        "optima", "exact ascent of every table of multipliers ends at the closed form", over_plans, check_optima,
        NumbersCase, every=4,
    ),
)  # fmt: skip
