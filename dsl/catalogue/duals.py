"""Wording of PD4: how multipliers are held."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

_LEARNED = "write `learned(mlp(hidden = [128]), on = features(MODEL), cap = G)`"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD401",
        "the multipliers of `{name}` are held twice",
        label="again here",
        roles={"first": "first here"},
        help=("leave one out, or name a part: the more specific one wins",),
    ),
    Entry(
        "PD402",
        "this `dual` holds nothing",
        label="without effect",
        notes=("every part that it names is held by a more specific `dual`",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD403",
        "multipliers cannot be held as `{name}`",
        label="not a kind",
        notes=("kinds: {there}; a formula over models is the other way",),
        help=("did you mean `{near}`?",),
        fixes=("{near}",),
    ),
    Entry(
        "PD404",
        "a dual of `{family}` is indexed by {sets}, {found}",
        label="indices differ",
        roles={"family": "declared here"},
        help=("write `{shown}`",),
    ),
    Entry(
        "PD405",
        "only a `dual` may read features",
        label="read here",
        roles={"let": "it reads features"},
        notes=("features are for multipliers: what is minimised or constrained reads outputs",),
    ),
    Entry(
        "PD406",
        "`features` needs one model call, found {found}",
        label="not one call",
        help=("write `let z = MODEL(...)`, then `features(z)`",),
    ),
    Entry(
        "PD407",
        "model `{model}` has no features to read",
        label="read here",
        notes=("`{architecture}` has no hidden layer here",),
        help=(
            "{architecture:.0}choose an architecture with a hidden layer, such as `mlp(hidden = [128])`",
            'name the layer that is read: `model {model}(...) -> ... {{ features = "LAYER" }}`',
        ),
    ),
    Entry("PD408", "a cap should be positive and finite, found {found}", label="not a cap"),
    Entry(
        "PD409",
        "`{kind}` has no cap",
        label="capped at {cap}",
        notes=("the cap is the most that one unit of violation can cost",),
        help=("write `cap = G`",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD410",
        "the multiplier of `{family}` reads `{field}`, a label that `{family}` itself compares with",
        label="reads its own label",
        notes=("on rows without that label it cannot be computed",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD411",
        "a constraint on an average has one multiplier, which is `shared`, `penalty` or `none`",
        label="another kind",
        help=("write `shared(cap = G)`",),
    ),
    Entry("PD412", "`learned` needs {missing}", label="not given", help=(_LEARNED,)),
    Entry(
        "PD413",
        "`on` should be {expected}, found `{found}`",
        label="cannot be read",
        notes=("`{ragged}` has another length on every row",),
    ),
    Entry(
        "PD414",
        "one formula cannot hold both `{left}` and `{right}`: their indices differ",
        label="other indices",
        roles={"first": "indices of the formula"},
        help=("write one `dual` for each",),
    ),
    Entry(
        "PD415",
        "the model `{model}` cannot hold multipliers of two data sets",
        label="another data set's",
        roles={"first": "it holds these already"},
        notes=("multipliers of a data set are fitted on its own rows",),
        help=("declare one model for each",),
    ),
    Entry(
        "PD417",
        "the multiplier of `{family}` is a formula of no model that trains, which no violation moves",
        label="stays as it is",
        help=("write `pointwise(cap = G)`, or let a model hold it: `G * sigmoid(h(...))`",),
    ),
    Entry(
        "PD430",
        "a multiplier of the inequality `{family}` should be at least 0, found a range of {range}",
        label="may be negative",
        help=("wrap it in `relu(...)` or `softplus(...)`, or write `G * sigmoid(...)`",),
    ),
    Entry(
        "PD431",
        "the multiplier of `{family}` should have a bound, found a range of {range}",
        label="unbounded",
        notes=("without a bound there is no certificate",),
        help=("{signed:.0}write `G * tanh(...)`", "write `G * sigmoid(...)`"),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD440",
        "`{kind}` multipliers need something to read, and this `dual` does not say what",
        label="no `on`",
        help=(_LEARNED,),
        reason=(
            "`--dual learned` uses the network and the features that the spec gives to its dual. A `dual` without them cannot become learned "
            "from the command line."
        ),
    ),
    Entry(
        "PD441",
        "`{family}` has no index over {sets}, which the features are given for",
        label="nothing to read",
        help=("hold it another way: `dual {family} = pointwise(cap = G)`",),
    ),
    Entry(
        "PD416",
        "problem `{name}` has no constraint",
        label="nothing has to hold",
        help=("write `subject to NAME: LEFT <= RIGHT`, or `dual default = none` in a block where none is meant",),
        severity=Severity.WARNING,
        reason=(
            "A spec without a constraint is a plain minimisation. A baseline is one on purpose: write `dual default = none` in one of its "
            "blocks to say so. Otherwise a constraint was lost, in a comment for instance. `pdual check` warns of it."
        ),
    ),
)
