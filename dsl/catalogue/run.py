"""Wording of PD6: training, and what is expected of a run."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD601",
        "the loss stopped being a finite number in outer iteration {outer}, step {step}",
        label="its value is not finite",
        notes=(
            "the first entry that is not finite is `{address}`",
            "weights of `{model}` are not finite: the gradient of an earlier step was not",
            "the last saved state is from the end of outer iteration {saved}",
        ),
        help=(
            "with {taken} steps taken the weights are as they were made: look for a division by 0, a logarithm of 0, a mean over nothing",
            "bound the gradient with `clip = 1.0` in `descent`, or lower its `lr`",
        ),
        reason=(
            "The loss became NaN or infinite. Often a step was too large (lower `lr`, or set `clip`), or an expression leaves its domain on some "
            "row, which the message names."
        ),
    ),
    Entry(
        "PD602",
        "problem `{problem}` has no weights to train",
        help=("give a model an architecture with weights, or a module whose parameters require a gradient",),
        reason="All models are frozen or have no parameters.",
    ),
    Entry(
        "PD603",
        "problem `{problem}` has nothing to minimise",
        notes=("there is no objective, and no constraint is imposed",),
        reason="After `--minimize none` and `--dual none` there is neither an objective nor a constraint to train for.",
    ),
    Entry(
        "PD606",
        "a group of `{data}` by `{field}` has nothing to average: `{key}`",
        label="this mean",
        notes=(
            "row {address} is of that group",
            "a mean over no rows is not a number, and the objective is a mean over all groups",
        ),
        help=("leave such groups out of the data, or write the mean as a sum over a count that is never 0",),
        reason="A mean over a group is not a number if no row of the group counts. The message names the group.",
    ),
    Entry(
        "PD607",
        "two filters of the means over groups of `{data}` keep the same row: {address}",
        label="means over parts of groups",
        notes=(
            "with `members`, a batch has a part of every group; pairs of a row with itself weigh more in it than in the group",
        ),
        help=("leave `members` out of `descent`: batches are of whole groups then",),
        reason=(
            "With `members`, a batch takes some rows of every group, sampled separately for every filter. If two indices of a mean keep the same "
            "row, pairs of a row with itself have a larger share of the pairs in a sample than in the whole group, so the mean would be biased. "
            "The same holds if the filters of two means share some rows but not all. Filters that share no row, such as `a.solved` and `not "
            "b.solved`, give an unbiased mean."
        ),
    ),
    Entry(
        "PD608",
        "no train row of `{data}` counts for an average",
        label="this average",
        notes=("a mean over no rows is not a number",),
        help=("change its `where`, or leave the constraint out with `--dual NAME=none`",),
        reason="A mean over all rows is not a number if its filter keeps no row.",
    ),
    Entry(
        "PD609",
        "problem `{problem}` goes over no rows",
        notes=("an objective outside a block is added to those of blocks, and there is none",),
        help=("write `over r in DATA {{ minimize ... }}`",),
        reason=(
            "Training goes over the rows of a data set that a block or an average names. A penalty on weights, such as `minimize "
            "squared_norm(f)`, is added to the objective of these rows."
        ),
    ),
    Entry(
        "PD610",
        "model `{model}` has no architecture, and none was given from Python",
        label="declared without an architecture",
        help=("write `= mlp(...)`, or load the spec from Python with `models={{'{model}': module}}`",),
        reason="The spec declares this model without an architecture, so its module has to be given from Python.",
    ),
    Entry(
        "PD630",
        "there is no device `{device}` on this machine",
        help=("use `--device cpu`",),
        reason="PyTorch finds no such device on this machine.",
    ),
    Entry(
        "PD650",
        "`{name}` does not hold on `{data}.{split}`: {found}",
        label="was expected of the run",
        reason=(
            "A statement that the spec makes about the trained problem with `expect` is false. The verdict lists the constraints and rows that "
            "are violated; the page on infeasible runs explains the usual causes."
        ),
    ),
    Entry(
        "PD652",
        "`{name}` does not hold on `{data}.{split}` yet: {found}",
        label="is expected of a whole run",
        severity=Severity.WARNING,
        notes=("a `--quick` run has fewer rows and steps, so it is not held to it",),
        reason=(
            "A statement of `expect` is false after a quick run. It would be an error (PD650) after a whole run; a quick run does not have to "
            "satisfy it."
        ),
    ),
    Entry(
        "PD660",
        "claim `{claim}` does not hold: a counterexample was found",
        notes=("the case is in `{file}`",),
        help=("what the compiler claims is wrong here: a bug in pdual, or in a package that it uses",),
        reason="`pdual verify` tests the compiler's claims on generated rows and numbers. It found a case where a claim is false.",
    ),
    Entry(
        "PD661",
        "the budget of {budget} was spent before anything was trained",
        notes=("what a source prepares and keeps in the cache is not prepared again",),
        help=("give it more time with `--budget`, or fewer rows with `--limit`",),
        reason="Rows are prepared before training starts. Their preparation took all the time that `--budget` allows.",
    ),
    Entry(
        "PD662",
        "{what} takes {asked}, and {there} are free",
        label="too large for this machine",
        notes=("that is {count} numbers, with what training keeps of each",),
        help=("make it smaller, or run on a machine with more memory",),
        reason="The computation needs more memory than is free on this machine.",
    ),
)
