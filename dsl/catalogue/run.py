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
            "The loss became NaN or infinite. Often a step was too large (lower `lr`, or set `clip`), or an expression leaves its domain on "
            "some row, which the message names."
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
        "PD604",
        "the saved state belongs to another run: `{subject}` differs",
        notes=("a run is resumed with the spec, data, settings and seed it was started with",),
        help=("use `--init` to start a new run from these weights",),
        reason=(
            "A run resumes from a checkpoint of the same problem. The spec (without comments and layout), the data, the settings and the seed "
            "are compared."
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
            "With `members`, a batch takes some rows of every group, sampled separately for every filter. If two indices of a mean keep the "
            "same row, pairs of a row with itself have a larger share of the pairs in a sample than in the whole group, so the mean would be "
            "biased. The same holds if the filters of two means share some rows but not all. Filters that share no row, such as `a.solved` "
            "and `not b.solved`, give an unbiased mean."
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
        "PD620",
        "`{path}` is not the folder of a run",
        notes=("it has no `{file}`",),
        reason="The folder of a run holds a file `run.json`.",
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
        reason="pdual never overwrites a run.",
    ),
    Entry(
        "PD623",
        "`{path}` has no checkpoint to go on from",
        notes=("a checkpoint is written during the run and when it ends",),
        reason="The run ended before its first checkpoint was written.",
    ),
    Entry(
        "PD624",
        "`{path}` cannot be written: {reason}",
        notes=("the last state that was saved is kept in `{saved}`; `--resume` goes on from it",),
        reason="pdual cannot write to the folder.",
    ),
    Entry(
        "PD625",
        "another process is at work in `{path}`",
        help=("wait for it to end, or name another folder with `--out`",),
        reason="Two processes that write to one folder would mix two runs. The folder is free again when the other process ends.",
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
            "A run begins in a folder that is new or empty, so that it replaces or removes none of your files. pdual recognises its own "
            "folders by their `run.json`."
        ),
    ),
    Entry(
        "PD627",
        "`{file}` is there already, and is not replaced",
        notes=("pdual replaces its own pages and figures, as it wrote them, and nothing else",),
        help=("move it away, or name another place with `--out`",),
        reason=(
            "pdual replaces pages, figures and exported programs that it wrote and that nobody has changed since. It never replaces another "
            "file. `predict` and `score` replace a file with `--replace`."
        ),
    ),
    Entry(
        "PD628",
        "`{file}` is a link, which pdual does not follow in the folder of a run",
        notes=("a run is written into its folder and read from it",),
        help=("put there what the link leads to",),
        reason=(
            "A file of a run is a link. Writing to it would change a file elsewhere, and reading it would read a file that is not part of the "
            "run."
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
            "The record of a run names the files of its data. pdual trusts these names for runs that you made on this machine. For a run from "
            "elsewhere it reads only files in the run's folder and files that you name with `--trained-on`."
        ),
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
        "PD660",
        "claim `{claim}` does not hold: a counterexample was found",
        notes=("the case is in `{file}`",),
        help=("what the compiler claims is wrong here: a bug in pdual, or in a package that it uses",),
        reason="`pdual verify` tests the compiler's claims on generated rows and numbers. It found a case where a claim is false.",
    ),
    Entry(
        "PD670",
        "`{name}` is a stand-in: {words}",
        label="names what is not on this machine",
        severity=Severity.WARNING,
        notes=("what comes of it says nothing about the model that it stands in for",),
        help=("for the whole, {whole}",),
        reason=(
            "In a quick run on a sample, the pretrained model that a model is built on may be missing from this machine. A small stand-in "
            "then replaces it. pdual makes the stand-in on the spot and keeps it in the cache; the same texts give the same stand-in. A "
            "folder that the spec names and that does not exist is an error, as in any run."
        ),
    ),
    Entry(
        "PD650",
        "`{name}` does not hold on `{data}.{split}`: {found}",
        label="was expected of the run",
        reason=(
            "A statement that the spec makes about the trained problem with `expect` is false. The verdict lists the constraints and rows "
            "that are violated; the page on infeasible runs explains the usual causes."
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
