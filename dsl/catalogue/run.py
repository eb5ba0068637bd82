"""Wording of PD6: running."""

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
            "The loss became NaN or infinite. Often a step was too large (lower `lr`, set `clip`), or an expression "
            "leaves\n"
            "its domain on some row, which the message names."
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
        reason="After `--minimize none` and `--dual none` nothing is left to train for.",
    ),
    Entry(
        "PD604",
        "the saved state belongs to another run: `{subject}` differs",
        notes=("a run is resumed with the spec, data, settings and seed it was started with",),
        help=("use `--init` to start a new run from these weights",),
        reason=(
            "A checkpoint is gone on with by the same problem: what the spec says (comments and layout aside), its "
            "data, settings and seed are compared."
        ),
    ),
    Entry(
        "PD605",
        "the saved weights do not fit this problem",
        notes=(
            "`{weight}` has shape {found} there and {expected} here",
            "the saved run has none of the models {models}",
        ),
        reason="The weights come from a model of another shape.",
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
        reason="A mean over a group is not a number where the group has no rows that count. The group is named.",
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
            "With `members` a batch takes some rows of every group, drawn apart for every filter. Where two indices of"
            " a mean keep the same row, pairs of a row with itself\n"
            "are a larger share of the pairs of a part than of those of the whole group, so the mean would be biased; "
            "so it would be where filters of two means keep some of\n"
            "the same rows and not all. Filters that keep no row in common, as `a.solved` and `not b.solved`, are told"
            " without a bias."
        ),
    ),
    Entry(
        "PD608",
        "no train row of `{data}` counts for an average",
        label="this average",
        notes=("a mean over no rows is not a number",),
        help=("change its `where`, or leave the constraint out with `--dual NAME=none`",),
        reason="A mean over all rows is not a number where its filter keeps none of them.",
    ),
    Entry(
        "PD620",
        "`{path}` is not the folder of a run",
        notes=("it has no `{file}`",),
        reason="A run's folder holds `run.json`.",
    ),
    Entry(
        "PD621",
        "`{file}` is damaged or not of this version",
        notes=("{reason}",),
        reason="A file of a run cannot be read: it was cut off, edited, or written by another version.",
    ),
    Entry(
        "PD622",
        "`{path}` already holds a run",
        help=("go on with it with `--resume`, or name another folder with `--out`",),
        reason="A run is never overwritten.",
    ),
    Entry(
        "PD623",
        "`{path}` has no checkpoint to go on from",
        notes=("a checkpoint is written during the run and when it ends",),
        reason="The run was ended before its first checkpoint.",
    ),
    Entry(
        "PD624",
        "`{path}` cannot be written: {reason}",
        notes=("the last state that was saved is kept in `{saved}`; `--resume` goes on from it",),
        reason="The folder cannot be written to.",
    ),
    Entry(
        "PD625",
        "another process is at work in `{path}`",
        help=("wait for it to end, or name another folder with `--out`",),
        reason="Two processes that write one folder would mix two runs. The lock goes when the other process ends.",
    ),
    Entry(
        "PD626",
        "`{path}` holds files that are no run's",
        notes=(
            "it has `{file}`",
            "a run begins in a folder that is new or empty, and replaces nothing that pdual did not write",
        ),
        help=("name another folder with `--out`",),
        reason=(
            "A run begins in a folder that is new or empty, so that nothing of yours is replaced or removed. "
            "`run.json` tells a folder that pdual wrote from any other."
        ),
    ),
    Entry(
        "PD627",
        "`{file}` is there already, and is not replaced",
        notes=("pdual replaces its own pages and figures, as it wrote them, and nothing else",),
        help=("move it away, or name another place with `--out`",),
        reason=(
            "Pages, figures and exported programs are replaced where pdual wrote them and nobody changed them since; "
            "every other file stays. `predict` and `score` replace a file with `--replace`."
        ),
    ),
    Entry(
        "PD628",
        "`{file}` is a link, which pdual does not follow in the folder of a run",
        notes=("a run is written into its folder and read from it",),
        help=("put there what the link leads to",),
        reason=(
            "A file of a run is a link. What is written would land elsewhere, and what is read would not be what was "
            "sent."
        ),
    ),
    Entry(
        "PD629",
        "`{name}` of this run is `{file}`, outside its folder",
        notes=(
            "the run was made by another user or on another machine, or its record was changed: it may not say what is read here",
        ),
        help=("name the file: `--trained-on {name}=FILE`",),
        reason=(
            "The record of a run says where its data lie. That is believed of runs that you made on this machine; one "
            "from elsewhere reads what lies in its folder, and what you name with `--trained-on`."
        ),
    ),
    Entry(
        "PD609",
        "problem `{problem}` goes over no rows",
        notes=("an objective outside a block is added to those of blocks, and there is none",),
        help=("write `over r in DATA {{ minimize ... }}`",),
        reason=(
            "Training goes over the rows of a data set that a block or an average names. A penalty on weights, such as\n"
            "`minimize squared_norm(f)`, is added to what is minimised there."
        ),
    ),
    Entry(
        "PD610",
        "model `{model}` has no architecture, and none was given from Python",
        label="declared without an architecture",
        help=("write `= mlp(...)`, or load the spec from Python with `models={{'{model}': module}}`",),
        reason="The spec leaves this model open, so its module is given from Python.",
    ),
    Entry(
        "PD630",
        "there is no device `{device}` on this machine",
        help=("use `--device cpu`",),
        reason="PyTorch sees no such device.",
    ),
    Entry(
        "PD660",
        "claim `{claim}` does not hold: a counterexample was found",
        notes=("the case is in `{file}`",),
        help=("what the compiler claims is wrong here: a bug in pdual, or in a package that it uses",),
        reason=(
            "`pdual verify` attacks what the compiler claims with made-up rows and numbers, and found a case where a "
            "claim\n"
            "is false."
        ),
    ),
    Entry(
        "PD670",
        "`{name}` is a stand-in: {words}",
        label="names what is not on this machine",
        severity=Severity.WARNING,
        notes=("what comes of it says nothing about the model that it stands in for",),
        help=("for the whole, {whole}",),
        reason=(
            "In a quick run on a sample, what a model is built on may not be on this machine either. A small one "
            "stands in for it, which is made on the spot, kept in the cache and\n"
            "the same for the same texts. A folder that is named and not there is refused as in any run."
        ),
    ),
    Entry(
        "PD650",
        "`{name}` does not hold on `{data}.{split}`: {found}",
        label="was expected of the run",
        reason=(
            "A statement of the spec about the trained problem is not true. See the verdict for the families and rows "
            "that\n"
            "are not met, and docs on why a run does not get feasible."
        ),
    ),
    Entry(
        "PD652",
        "`{name}` does not hold on `{data}.{split}` yet: {found}",
        label="is expected of a whole run",
        severity=Severity.WARNING,
        notes=("a `--quick` run has fewer rows and steps, so it is not held to it",),
        reason="The same as PD650 after a quick run, which is not held to it.",
    ),
    Entry(
        "PD661",
        "the budget of {budget} was spent before anything was trained",
        notes=("what a source prepares and keeps in the cache is not prepared again",),
        help=("give it more time with `--budget`, or fewer rows with `--limit`",),
        reason="Rows are prepared before anything is trained, and the time that `--budget` allows was over by then.",
    ),
    Entry(
        "PD662",
        "{what} takes {asked}, and {there} are free",
        label="too large for this machine",
        notes=("that is {count} numbers, with what training keeps of each",),
        help=("make it smaller, or run on a machine with more memory",),
        reason="What is asked for would not fit into the memory that is free on this machine.",
    ),
)
