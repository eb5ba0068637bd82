"""Wording of PD7: how a command or a function is used."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD700",
        "{message}",
        help=("`{command} --help` shows what there is",),
        reason="The command does not take this option or argument.",
    ),
    Entry(
        "PD701",
        "there is no spec `{file}`",
        notes=("the shipped specs are {shipped}",),
        help=("did you mean `{near}`?",),
        reason="A spec is a file, or the name of a shipped spec.",
    ),
    Entry(
        "PD702",
        "`{folder}` is a folder, not a spec",
        help=("did you mean `{near}`?", "name a file in it"),
        reason="A spec is one file.",
    ),
    Entry(
        "PD703",
        "`{file}` cannot be read: {reason}",
        reason="The operating system refused to read the file.",
    ),
    Entry(
        "PD704",
        "`{option}` takes {expected}, found `{found}`",
        reason="The value does not have the form that the option takes.",
    ),
    Entry(
        "PD705",
        "multipliers cannot be held as `{kind}`",
        notes=("the kinds are {kinds}",),
        help=("did you mean `{near}`?",),
        reason=(
            "The kinds of dual that come with pdual are `pointwise`, `shared`, `hybrid`, `learned`, `penalty` and `none`. Other packages can "
            "register more."
        ),
    ),
    Entry(
        "PD706",
        "`--dual` names `{family}`, which is no constraint of the spec",
        notes=("the constraints are {families}",),
        help=("did you mean `{near}`?",),
        reason="`--dual FAMILY=KIND` has to name a constraint of the spec.",
    ),
    Entry(
        "PD707",
        "`--data` names `{name}`, which is no data set of the spec",
        notes=("the data sets are {names}",),
        help=("did you mean `{near}`?",),
        reason="`--data NAME=FILE` has to name a data set of the spec.",
    ),
    Entry(
        "PD708",
        "there is no file `{file}` for the data set `{name}`",
        help=("did you mean `{near}`?",),
        reason="A file on the command line is relative to the current folder.",
    ),
    Entry(
        "PD709",
        "nothing in the spec is called `{name}`",
        notes=("`--uses` takes a parameter, set, given, data set, field, model, value, constraint or metric",),
        help=("did you mean `{near}`?",),
        reason="`--uses` takes a name that the spec declares.",
    ),
    Entry(
        "PD711",
        "there is no run of `{problem}` in `{folder}` to go on with",
        help=("name the run's folder with `--out`",),
        reason="Without `--out`, `--resume` looks for the last run of the problem under `runs`.",
    ),
    Entry(
        "PD712",
        "`{spec}` is a shipped spec, which is not rewritten",
        help=("name a file or a folder",),
        reason="pdual rewrites a shipped spec only if you name its file.",
    ),
    Entry(
        "PD713",
        "`{file}` cannot be written: {reason}",
        reason="The operating system refused to write the file.",
    ),
    Entry(
        "PD714",
        "`{package}`, which the language server needs, is not installed",
        help=("`pip install 'pdual[lsp]'`",),
        reason="The language server is an optional dependency.",
    ),
    Entry(
        "PD715",
        "`--claims` names `{name}`, which is no claim",
        notes=("claims are {names}",),
        help=("did you mean `{near}`?",),
        reason="`pdual verify --claims` takes names of claims.",
    ),
    Entry(
        "PD716",
        "`--know` names `{name}`, which is no constant that may be given",
        notes=("these may be: {names}",),
        help=("did you mean `{near}`?",),
        reason="`pdual bounds` takes the constants that the theory names, and no others.",
    ),
    Entry(
        "PD717",
        "the system does nothing with `{file}`: {reason}",
        reason=(
            "The operating system refused the operation: the name is too long, the folder may not be entered, the disk fails, or too many "
            "files are open."
        ),
    ),
    Entry(
        "PD718",
        "the rows of `{name}` are those of `{source}`, and no others",
        notes=("`--data` and rows from Python are for data without a source, and for the sources {takers}",),
        help=(
            '{own:.0}name the file in the spec: `{source}(..., file = "FILE")`',
            "declare it without a source: `data {name} {{ ... }}`",
        ),
        reason=(
            "Some sources bring or generate their own rows, and read no file in their place. If pdual ignored the "
            "rows that you gave, the run would use other data than you intended."
        ),
    ),
    Entry(
        "PD730",
        "new rows have no multipliers in this run: those of {parts} are held as `{kind}`",
        notes=("they are no function of a row, so only the rows that were trained on have them",),
        help=("run with `--dual learned`",),
        reason=(
            "Multipliers in a table or a vector belong to the rows that they were trained on. The multipliers of a network are a function of "
            "the row, so new rows have them too."
        ),
    ),
    Entry(
        "PD731",
        "`--data` has to say of which data set the rows are: {names}",
        help=("write `--data NAME=FILE`",),
        reason="A problem has several data sets, so the command needs to know which of them the new rows belong to.",
    ),
    Entry(
        "PD732",
        "model `{model}` holds a vector for every train row, and none for a new one",
        help=("give it an architecture that reads the row, such as `mlp(hidden = [128])`",),
        reason="`free` outputs are separate numbers for every train row, so a new row has none.",
    ),
    Entry(
        "PD733",
        "no held-out row has a multiplier in this run",
        notes=("rows of `{split}` are none, or have none",),
        help=("run with `--dual learned`, and a split of rows that are not trained on",),
        reason="Rows are ranked by their multipliers. Held-out rows have multipliers only if a network gives them.",
    ),
    Entry(
        "PD734",
        "groups of {size} rows cannot be taken from the {rows} rows of `{split}`",
        help=("choose another `--size`",),
        reason="A group is a number of rows that are left out together. The split has fewer rows than that.",
    ),
    Entry(
        "PD735",
        "`{package}`, which programs are exported with, is not installed",
        help=("`pip install 'pdual[export]'`",),
        reason="The packages for the export to ONNX are optional dependencies.",
    ),
    Entry(
        "PD736",
        "`{program}` cannot be written as {format}",
        severity=Severity.WARNING,
        notes=("{reason}",),
        reason="The exporter has no counterpart for an operation of the program. The other format was still written.",
    ),
    Entry(
        "PD737",
        "`{package}`, which writes logs for TensorBoard, is not installed",
        help=("`pip install 'pdual[tensorboard]'`",),
        reason=(
            "The package that writes logs for TensorBoard is an optional dependency. The run's own `log.jsonl` holds the same numbers without "
            "it."
        ),
    ),
    Entry(
        "PD738",
        "`{family}` bounds an average, whose one multiplier cannot be `{kind}`",
        help=("write `--dual {family}=shared`, `penalty` or `none`",),
        reason=(
            "A constraint on an average is one statement about all rows. It has one multiplier, so a table or a network of multipliers does "
            "not apply. `--dual pointwise` and the like, without the name of a constraint, leave it `shared`."
        ),
    ),
    Entry(
        "PD739",
        "`{other}` is not the problem that was run in `{run}`: {subject} differ",
        help=("leave out the spec, `--set` and `--dual`: those of the run are taken",),
        reason=(
            "A measurement in a run, or a comparison of two runs, refers to the problem that was run: its sets, constraints, objective and "
            "models."
        ),
    ),
    Entry(
        "PD740",
        "`{run}` solved another problem than the runs that are held against it: {subject} differ",
        help=("name a run of the same spec, parameters and data; how multipliers are held may differ",),
        reason=(
            "Multipliers are compared row by row and constraint by constraint. The comparison is meaningful only if both runs minimised the "
            "same objective under the same constraints on the same rows. Parameters that only change how multipliers are represented, such as "
            "a network's width, may differ."
        ),
    ),
    Entry(
        "PD790",
        "`{found}` is no code of a diagnostic",
        help=("did you mean `{near}`?",),
        reason="A code is `PD` and three digits, as diagnostics print it in brackets.",
    ),
    Entry(
        "PD791",
        "`{option}` does not go with {other}",
        help=("leave one of them out",),
        reason="Two options ask for different outputs, or an option has no effect together with the other.",
    ),
)
