"""Wording of PD6 and PD7: running and usage."""

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
    ),
    Entry(
        "PD602",
        "problem `{problem}` has no weights to train",
        help=("give a model an architecture with weights, or a module whose parameters require a gradient",),
    ),
    Entry(
        "PD603",
        "problem `{problem}` has nothing to minimise",
        notes=("there is no objective, and no constraint is imposed",),
    ),
    Entry(
        "PD604",
        "the saved state belongs to another run: `{subject}` differs",
        notes=("a run is resumed with the spec, data, settings and seed it was started with",),
        help=("use `--init` to start a new run from these weights",),
    ),
    Entry(
        "PD605",
        "the saved weights do not fit this problem",
        notes=(
            "`{weight}` has shape {found} there and {expected} here",
            "the saved run has none of the models {models}",
        ),
    ),
    Entry(
        "PD606",
        "a group of `{data}` by `{field}` has nothing to average: that of {address}",
        label="this mean",
        notes=("a mean over no rows is not a number, and the objective is a mean over all groups",),
        help=("leave such groups out of the data, or write the mean as a sum over a count that is never 0",),
    ),
    Entry(
        "PD607",
        "two filters of the means over groups of `{data}` keep the same row: {address}",
        label="means over parts of groups",
        notes=(
            "with `members`, a batch has a part of every group; pairs of a row with itself weigh more in it than in the group",
        ),
        help=("leave `members` out of `descent`: batches are of whole groups then",),
    ),
    Entry(
        "PD608",
        "no train row of `{data}` counts for an average",
        label="this average",
        notes=("a mean over no rows is not a number",),
        help=("change its `where`, or leave the constraint out with `--dual NAME=none`",),
    ),
    Entry("PD620", "`{path}` is not the folder of a run", notes=("it has no `{file}`",)),
    Entry("PD621", "`{file}` is damaged or not of this version", notes=("{reason}",)),
    Entry(
        "PD622",
        "`{path}` already holds a run",
        help=("go on with it with `--resume`, or name another folder with `--out`",),
    ),
    Entry(
        "PD623",
        "`{path}` has no checkpoint to go on from",
        notes=("a checkpoint is written during the run and when it ends",),
    ),
    Entry(
        "PD624",
        "`{path}` cannot be written: {reason}",
        notes=("the last state that was saved is kept in `{saved}`; `--resume` goes on from it",),
    ),
    Entry(
        "PD625",
        "another process is at work in `{path}`",
        help=("wait for it to end, or name another folder with `--out`",),
    ),
    Entry(
        "PD610",
        "model `{model}` has no architecture, and none was given from Python",
        label="declared without an architecture",
        help=("write `= mlp(...)`, or load the spec from Python with `models={{'{model}': module}}`",),
    ),
    Entry("PD630", "there is no device `{device}` on this machine", help=("use `--device cpu`",)),
    Entry(
        "PD641",
        "`power.completed` needs finite limits, found infinite ones for units {units} of `{given}`",
        notes=("set points of power and voltage are proposed within their limits",),
    ),
    Entry(
        "PD642",
        "`power.completed` needs a unit at the reference bus of `{given}`, it has none",
        notes=("that unit's power closes the balance",),
        help=("make a bus with a unit the reference bus (type 3)",),
    ),
    Entry(
        "PD643",
        "`power.completed` needs the optimal power flow of the demand in `{given}`, it has none",
        notes=("a set point is completed by Newton steps around that optimum", "the solver says {status}"),
    ),
    Entry(
        "PD644",
        "the language model `{base}` cannot be had: {reason}",
        label="named here",
        notes=("looked for in {searched}",),
        help=("name a folder that holds the model, its tokenizer and their configuration, or a model of the hub",),
    ),
    Entry(
        "PD645",
        "`{package}`, which a language model needs, is not installed",
        label="needed here",
        help=("`pip install 'pdual[language]'`",),
    ),
    Entry(
        "PD646",
        "the tokenizer of `{base}` has no chat template",
        label='`template = "chat"` needs one',
        help=('write `template = "plain"`, which needs none',),
    ),
    Entry(
        "PD647",
        "the `{field}` of `{data}[{address}]` is empty",
        label="reads it",
        notes=("a constraint on its tokens would say nothing",),
        help=("leave such rows out of the data",),
    ),
    Entry(
        "PD648",
        "`{data}[{address}]` takes {found} tokens, and at most {limit} are read",
        label="reads it",
        notes=("the model itself reads at most {context}", "the setting `max_tokens` is {asked}"),
        help=("raise `max_tokens` from {asked}, or leave such rows out of the data", "leave such rows out of the data"),
    ),
    Entry(
        "PD649",
        "`{base}` has {found} layers, and `layers = {asked}` of them are to be trained",
        label="named here",
    ),
    Entry(
        "PD660",
        "claim `{claim}` does not hold: a counterexample was found",
        notes=("the case is in `{file}`",),
        help=("what the compiler claims is wrong here: a bug in pdual, or in a package that it uses",),
    ),
    Entry(
        "PD650",
        "`{name}` does not hold on `{data}.{split}`: {found}",
        label="was expected of the run",
    ),
    Entry(
        "PD652",
        "`{name}` does not hold on `{data}.{split}` yet: {found}",
        label="is expected of a whole run",
        severity=Severity.WARNING,
        notes=("a `--quick` run has fewer rows and steps, so it is not held to it",),
    ),
    Entry(
        "PD653",
        "`{base}` is a run with {found} language models, and one is wanted",
        label="named here",
        help=("name a run whose spec has one model `causal_lm(...)`",),
    ),
    Entry(
        "PD654",
        "the saved weights were trained on top of others than those of `{base}`",
        label="named here",
        notes=("they were trained on top of `{saved}`, as it was then",),
    ),
    Entry(
        "PD655",
        "`{base}` has a vocabulary of {found} words, and `{set}` has {asked} members",
        label="one of its outputs is of every word of `{set}`",
        help=("write `set {set} = 0..{last}`, or set the parameter that its end is made of",),
    ),
    Entry("PD700", "{message}", help=("`{command} --help` shows what there is",)),
    Entry(
        "PD701",
        "there is no spec `{file}`",
        notes=("the shipped specs are {shipped}",),
        help=("did you mean `{near}`?",),
    ),
    Entry("PD702", "`{folder}` is a folder, not a spec", help=("did you mean `{near}`?", "name a file in it")),
    Entry("PD703", "`{file}` cannot be read: {reason}"),
    Entry("PD704", "`{option}` takes {expected}, found `{found}`"),
    Entry(
        "PD705",
        "multipliers cannot be held as `{kind}`",
        notes=("the kinds are {kinds}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD706",
        "`--dual` names `{family}`, which is no constraint of the spec",
        notes=("the constraints are {families}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD707",
        "`--data` names `{name}`, which is no data set of the spec",
        notes=("the data sets are {names}",),
        help=("did you mean `{near}`?",),
    ),
    Entry("PD708", "there is no file `{file}` for the data set `{name}`", help=("did you mean `{near}`?",)),
    Entry(
        "PD709",
        "nothing in the spec is called `{name}`",
        notes=("`--uses` takes a parameter, set, given, data set, field, model, value, constraint or metric",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD711",
        "there is no run of `{problem}` in `{folder}` to go on with",
        help=("name the run's folder with `--out`",),
    ),
    Entry("PD712", "`{spec}` is a shipped spec, which is not rewritten", help=("name a file or a folder",)),
    Entry("PD713", "`{file}` cannot be written: {reason}"),
    Entry(
        "PD714",
        "`{package}`, which the language server needs, is not installed",
        help=("`pip install 'pdual[lsp]'`",),
    ),
    Entry(
        "PD715",
        "`--claims` names `{name}`, which is no claim",
        notes=("claims are {names}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD730",
        "new rows have no multipliers in this run: those of {parts} are held as `{kind}`",
        notes=("they are no function of a row, so only the rows that were trained on have them",),
        help=("run with `--dual learned`",),
    ),
    Entry(
        "PD731",
        "`--data` has to say of which data set the rows are: {names}",
        help=("write `--data NAME=FILE`",),
    ),
    Entry(
        "PD732",
        "model `{model}` holds a vector for every train row, and none for a new one",
        help=("give it an architecture that reads the row, such as `mlp(hidden = [128])`",),
    ),
    Entry(
        "PD716",
        "`--know` names `{name}`, which is no constant that may be given",
        notes=("these may be: {names}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD733",
        "no held-out row has a multiplier in this run",
        notes=("rows of `{split}` are none, or have none",),
        help=("run with `--dual learned`, and a split of rows that are not trained on",),
    ),
    Entry(
        "PD734",
        "groups of {size} rows cannot be taken from the {rows} rows of `{split}`",
        help=("choose another `--size`",),
    ),
    Entry(
        "PD735",
        "`{package}`, which programs are exported with, is not installed",
        help=("`pip install 'pdual[export]'`",),
    ),
    Entry(
        "PD736",
        "`{program}` cannot be written as {format}",
        severity=Severity.WARNING,
        notes=("{reason}",),
    ),
    Entry(
        "PD737",
        "`{package}`, which writes logs for TensorBoard, is not installed",
        help=("`pip install 'pdual[tensorboard]'`",),
    ),
    Entry(
        "PD738",
        "`{family}` bounds an average, whose one multiplier cannot be `{kind}`",
        help=("write `--dual {family}=shared`, `penalty` or `none`",),
    ),
    Entry(
        "PD739",
        "`{other}` is not the problem that was run in `{run}`: {subject} differ",
        help=("leave out the spec, `--set` and `--dual`: those of the run are taken",),
    ),
    Entry(
        "PD740",
        "`{run}` solved another problem than the runs that are held against it: {subject} differ",
        help=("name a run of the same spec, parameters and data; how multipliers are held may differ",),
    ),
    Entry(
        "PD790",
        "`{found}` is no code of a diagnostic",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD791",
        "`{option}` does not go with {other}",
        help=("leave one of them out",),
    ),
)
