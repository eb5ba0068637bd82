"""Wording of PD4: how multipliers are held."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD401",
        "there is no constraint `{name}` to hold multipliers of",
        label="not declared",
        notes=("the constraints are {there}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD402",
        "constraint `{name}` has no part `{part}`",
        label="not a part",
        notes=("its parts are {has}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD403",
        "a cap should be positive and finite, found {found}",
        label="not a cap",
    ),
    Entry(
        "PD404",
        "`{part}` is held twice",
        label="again here",
        roles={"first": "first here"},
        help=("leave one out, or name a part to be more specific",),
    ),
    Entry(
        "PD405",
        "only duals read features, and `{name}` does",
        label="read here",
        roles={"let": "it reads features"},
    ),
    Entry(
        "PD406",
        "`features` takes what is bound to one model call: {found}",
        label="not one call",
        help=("write `let z = MODEL(...)`, then `features(z)`",),
    ),
    Entry(
        "PD407",
        "model `{model}` has no features to read",
        label="read here",
        notes=("`{architecture}` has no penultimate layer",),
        help=("choose an architecture with a hidden layer",),
    ),
    Entry(
        "PD408",
        "multipliers cannot be held as `{kind}`",
        label="not a kind",
        notes=("the kinds are {kinds}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD409",
        "`learned` needs `{name}`",
        label="missing or not fit",
        help=("write `learned(mlp(hidden = [128]), on = features(MODEL), cap = G)`",),
    ),
    Entry(
        "PD410",
        "a formula holds one constraint, not all of them",
        label="`default` takes a kind",
        help=("name the constraint, or use `pointwise(cap = G)`",),
    ),
    Entry(
        "PD411",
        "a dual of `{name}` carries its indices: expected {expected}, found {found}",
        label="indices differ",
        roles={"declared": "declared here"},
    ),
    Entry(
        "PD420",
        "the multiplier of `{name}` reads `{field}`, which the constraint judges",
        label="reads the row's own label",
        notes=("on rows without a label it cannot be asked",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD421",
        "`{kind}` has no cap",
        label="capped at {cap}",
        notes=("a multiplier at its cap means that its constraint is being bought off",),
        help=("write `cap = G`",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD430",
        "the multiplier of `{family}` could be negative: its range is {range}",
        label="not negative for an inequality",
        help=("wrap it in `relu(...)`, `softplus(...)` or `G * sigmoid(...)`",),
    ),
    Entry(
        "PD431",
        "the multiplier of `{family}` has no upper end: its range is {range}",
        label="unbounded",
        notes=("without a cap there is no certificate",),
        help=("use `G * sigmoid(...)`",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD440",
        "`{kind}` multipliers need to read something, and this dual does not say what",
        label="no `on`",
        help=("write `learned(mlp(hidden = [128]), on = features(MODEL), cap = G)`",),
    ),
    Entry(
        "PD441",
        "`{family}` has no index over {sets}, which the features are given for",
        label="nothing to read",
        help=("hold it another way: `dual {family} = pointwise(cap = G)`",),
    ),
)
