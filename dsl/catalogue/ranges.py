"""Wording of PD3: ranges."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD301",
        "`{family}` can never be violated in {count} of {total} entries",
        label="always holds",
        notes=("the declared ranges already imply it, first at `{first}`; its multiplier there is always 0",),
        help=("drop it, or leave the quantity it bounds unbounded",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD302",
        "`{family}` can never hold in {count} entries",
        label="never holds",
        notes=("at `{first}`, left minus right is in {range}",),
    ),
    Entry(
        "PD303",
        "a scale must be one positive number, and this is in {found}",
        label="not a positive constant",
        help=("write a number or a `param`",),
    ),
    Entry(
        "PD304",
        "`{operation}` has no value on part of the declared ranges",
        label="may be asked outside its domain",
        notes=(
            "its {argument} lies in {range}, and must {domain}",
            "where it has no value a run stops, and `a if c else b` computes both branches",
        ),
        help=("declare narrower ranges, or keep the value inside: `max(x, 1e-6)`",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD305",
        "`{family}` can never hold on {count} of the {total} rows of `{data}`",
        label="never holds there",
        notes=(
            "the first are {rows}",
            "{total} of the {every} rows were looked at, evenly spread; `pdual bounds --rows` looks at all",
            "whatever the models say within their declared ranges; multipliers of these rows go to the cap",
        ),
        help=("correct these rows or leave them out, or declare a wider range",),
        severity=Severity.WARNING,
        reason=(
            "With this row's numbers, no model can satisfy the constraint: outputs have declared ranges, and no value within them meets it. "
            "Training cannot help, and the multipliers of such rows grow to the cap, where they disturb other rows. Most often the rows are "
            "wrong (a unit, a sign, a value typed twice) or the declared range is too narrow. The run goes on. `pdual bounds --rows` counts "
            "such rows by part. Where a row has very many entries, the run checks a sample of the rows and reports how many."
        ),
    ),
    Entry(
        "PD306",
        "the scale of `{family}` is not used",
        label="no entry takes it",
        notes=("every entry is divided by its feasible range, which the declared ranges give: {ranges}",),
        help=("drop it, or leave the quantity it bounds unbounded",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD307",
        "no weight can move `{family}`",
        label="{why}",
        roles={"stop": "the slope ends here"},
        notes=(
            "the weights feel its multiplier nowhere, which then only grows while the constraint is violated",
            "what its rows hold is all that decides it{no_model}",
        ),
        help=(
            "put a smooth function in the place of the step{step}: `sigmoid(k * (a - b))` for `a > b`, or `relu(a - b)` for by how much",
            "compute it from the output of a model that trains{trained}",
            "leave rows that violate it out of the data, or say it of a model's output{no_model}",
            "bound a quantity that a model's output moves",
        ),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD308",
        "no weight can move this term of the objective",
        label="{why}",
        roles={"stop": "the slope ends here"},
        notes=("it is a constant to the solver, and changes what is minimised by nothing",),
        help=(
            "put a smooth function in the place of the step{step}: `sigmoid(k * (a - b))` for `a > b`, or `relu(a - b)` for by how much",
            "compute it from the output of a model that trains{trained}",
            "report it as a `metric`, or say it of a model's output",
        ),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD310",
        "{what} has a number that is not finite: {found}",
        label="stands here",
        notes=("at {at}", "with {params}"),
        help=(
            "where `{declared}` may be infinite, declare it so: `in [0, inf]`; a side with an infinite bound is then no constraint, and is counted",
            "{without}",
        ),
    ),
    Entry(
        "PD311",
        "`{family}` is no constraint here: none of its entries ({total}) is left",
        label="has no row",
        notes=("{infinite} have an infinite bound, and a filter leaves out {filtered}",),
        help=("drop it where that is meant",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD312",
        "`{address}` is {found}: left minus right has no finite value on this row",
        label="its value is not finite",
        notes=(
            "a bound of 1/0 is met by everything: the row would be without this constraint, in silence",
            "with {values}",
        ),
        help=("keep the row inside: `1 / max(y, 1e-6)`, a filter `where`, or leave the row out",),
        reason=(
            "The bound of a constraint is not finite in this row: it divides by a field that is 0, takes the logarithm of one, or overflows; "
            "or the weights are no longer finite. A row with an infinite bound would count as satisfied. The message names the row and its "
            "numbers."
        ),
    ),
)
