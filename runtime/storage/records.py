"""The files of a run, as schemas: ``metrics.json``, ``run.json`` and the lines of ``log.jsonl``. Names are a
contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

#: Scaled; above it an entry counts as violated.
TOLERANCE = 1e-3

#: The unit of a violation that is a fraction of the feasible range.
RANGE = "range"


class Record(BaseModel):
    """Base of every record: frozen, closed, and infinite or undefined numbers survive a file."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="strings")


class Spread(Record):
    """Over rows; the standard deviation divides by the number of rows."""

    mean: float
    std: float


class Summary(Spread):
    """Adds the middle and the tail."""

    median: float
    p95: float
    max: float


class Above(Spread):
    """Over the entries of all rows that exceed ``threshold``; ``entries`` is their share of the live ones."""

    threshold: float
    entries: float


class ViolationMetrics(Record):
    """Violations of the entries of some parts: [g]_+, or |h| for an equality, in ``unit``.

    ``mean``: mean over a row's live entries, then over rows. ``mean_above``: over entries above 1e-4 only.
    ``max``: a row's largest. ``feasible_rows``: share of rows with no entry above the tolerance.
    """

    unit: str
    mean: Spread
    mean_above: Above
    max: Summary
    feasible_rows: float


class SplitViolation(ViolationMetrics):
    """Of all parts, and of its inequalities and equalities apart (None where there are none).

    ``groups``: of each inequality, and of its real and imaginary parts apart, the mean over entries above the tolerance (0 where
    there are none). The literature on optimal power flow quotes the mean of such means.
    """

    inequalities: ViolationMetrics | None = None
    equalities: ViolationMetrics | None = None
    groups: Mapping[str, float] = {}


class PartMetrics(Record):
    """One part or family over rows and entries.

    ``violated``: share of live entries above the tolerance; ``mean_violated``: mean over those (0 if there
    are none). ``at_cap``: share of live entries whose multiplier is at its cap, and ``multiplier``: its
    scaled mean; None where multipliers are undefined.
    """

    unit: str
    mean: float
    max: float
    violated: float
    mean_violated: float
    at_cap: float | None
    multiplier: float | None


class FamilyMetrics(PartMetrics):
    """A constraint as the spec names it, and its parts by their short names (``lower``, ``re.upper``)."""

    parts: Mapping[str, PartMetrics] = {}


class AverageMetrics(Record):
    """One part of a constraint on averages over a split.

    ``means`` are those that it reads, in the order of writing, and ``residual`` is left - right, both in the problem's units.
    ``violation`` in ``unit``; ``violated``: above the tolerance, scaled. ``multiplier``: scaled, and ``price`` the same in the
    problem's units; None where the constraint was dropped.
    """

    residual: float
    means: tuple[float, ...]
    unit: str
    violation: float
    violated: bool
    multiplier: float | None
    price: float | None
    at_cap: bool | None


class SplitMetrics(Record):
    """One split of all data sets that have it. ``objective`` is in the problem's own units, None where there
    is none. ``violation`` and ``rows_at_cap`` are about rows; ``averages`` are the constraints on averages by part, as far as the
    split has rows for them, and stand in ``families`` too. ``evaluations`` by name; those that any data set may have are by data
    set.
    """

    rows: int
    objective: float | None
    metrics: Mapping[str, Summary]
    violation: SplitViolation | None
    families: Mapping[str, FamilyMetrics]
    rows_at_cap: float | None
    averages: Mapping[str, AverageMetrics] = {}
    evaluations: Mapping[str, Any] = {}


class Ranking(Record):
    """How well multipliers rank those of a reference; None where it cannot be said.

    ``auc``: of the reference's tight constraints against the others. ``ndcg``: gain = the reference's multiplier, log2
    discount. ``spearman``: correlation of ranks, which cannot be near 1 where most of the reference is 0 and no score is.
    ``precision``: of the k highest scores, k as many as there are tight constraints, the share that are tight.
    ``spearman_top``: correlation of ranks, all scores but the k highest tied below them.
    """

    auc: float | None
    ndcg: float | None
    spearman: float | None
    precision: float | None = None
    spearman_top: float | None = None


class Recovery(Ranking):
    """Multipliers of some rows against those of ``against`` (``solver``, or ``pointwise``: another run), over inequalities.

    Scaled; below 1e-4 counts as 0 on both sides; ``active_rate`` is the share of reference multipliers above 1e-3. The scores
    of the record itself rank all rows and constraints together, ``per_row`` each row, averaged over those that have a tight one;
    masked entries are left out. ``netted``: the two sides of a quantity by their difference. Beside them what needs no learning:
    ``margin`` ranks by the residual itself, ``constant`` by each constraint's mean reference multiplier on train rows; and
    ``stepped`` by lam + rho g, what the multiplier asks to be before it is clipped. ``spearman_by_constraint``: over rows, netted, of the constraints that
    are tight in any, None where either side does not vary. ``correlation``: of each equality part's multipliers.
    """

    against: str
    rows: int
    constraints: int
    active_rate: float
    per_row: Ranking
    netted: Ranking
    netted_per_row: Ranking
    margin: Ranking
    margin_per_row: Ranking
    stepped: Ranking | None
    stepped_per_row: Ranking | None
    constant: Ranking | None
    constant_per_row: Ranking | None
    constant_netted: Ranking | None
    constant_netted_per_row: Ranking | None
    spearman_by_constraint: Mapping[str, float | None]
    spearman_median: float | None
    correlation: Mapping[str, float | None]


class MultiplierMetrics(Record):
    """How many multipliers there are, and how many numbers hold them."""

    per_row: int
    rows: int
    families: Mapping[str, int]
    parameters: int
    bytes: int
    tolerance: float = TOLERANCE


class Timing(Record):
    """Wall-clock seconds of the run and of its phases; ``rows_per_s``: rows that primal steps drew, by
    wall-clock second of the run.
    """

    total_s: float = 0.0
    primal_s: float = 0.0
    dual_s: float = 0.0
    evaluation_s: float = 0.0
    cpu_s: float = 0.0
    rows_per_s: float = 0.0
    peak_memory_mb: float = 0.0
    steps: int = 0
    outer: int = 0


class SampleRecord(Record):
    """What stood in for the rows of a data set, or for what a model names, that were not on the machine: what it is, and how to get the whole."""

    of: Literal["data", "model"]
    words: str
    whole: str


class Metrics(Record):
    """``metrics.json``. Its version is raised when a name changes its meaning or goes away; additions do not
    raise it. ``samples``: what was measured on samples, by the name of the data set or the model.
    """

    schema_version: Literal[1] = Field(default=1, alias="schema")
    problem: str
    dual: str
    status: str
    multipliers: MultiplierMetrics
    splits: Mapping[str, SplitMetrics]
    recovery: Mapping[str, Mapping[str, Recovery]] = {}
    timing: Timing
    samples: Mapping[str, SampleRecord] = {}


class LogLine(Record):
    """One line of ``log.jsonl``: the train rows after an outer iteration's primal steps, before its dual
    update.

    ``loss`` is the mean over the iteration's steps; ``objective`` by data set, in the problem's units;
    ``moved`` the mean absolute change that the update asks of a live multiplier, ``multiplier`` their mean
    absolute value, both scaled; ``fit_error`` the mean |lam_phi - t| of a fit. What is about violations is about rows;
    ``averages`` are the constraints on averages by part.
    """

    outer: int
    step: int
    seconds: float
    loss: float
    objective: Mapping[str, float]
    violation_mean: float
    violation_max: float
    feasible_rows: float
    rows_at_cap: float
    rho: float
    rho_equal: float
    multiplier: float
    moved: float
    fit_error: Mapping[str, float]
    families: Mapping[str, FamilyMetrics]
    averages: Mapping[str, AverageMetrics] = {}


class RequestedOptions(Record):
    """What was asked of a run besides parameters and seed: kinds of multipliers by family, whether the objective was kept, files of
    data sets, at most how many rows of a split, a quick run or not; ``folder``: where files that the spec names lie.
    """

    dual: Mapping[str, str] = {}
    minimize: bool = True
    data: Mapping[str, str] = {}
    limit: int | None = None
    quick: bool = False
    folder: str = ""


class StandardRecord(Record):
    """How a field was standardised: a number each, or one for every entry of an array, last axis fastest."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]


class RunRecord(Record):
    """``run.json``: all that is needed to make the run again. ``samples``: by the name of the data set or the model, as in ``metrics.json``."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    problem: str
    spec_hash: str
    status: Literal["running", "finished", "stopped", "budget", "failed"]
    parameters: Mapping[str, Any]
    overrides: Mapping[str, Any] = {}
    settings: Mapping[str, Any]
    dual: str
    seed: int
    device: str
    precision: str
    threads: int
    versions: Mapping[str, str]
    data: Mapping[str, str]
    standardised: Mapping[str, Mapping[str, StandardRecord]] = {}
    samples: Mapping[str, SampleRecord] = {}
    asked: RequestedOptions | None = None
    command: tuple[str, ...] = ()
    started: str = ""
    finished: str | None = None
