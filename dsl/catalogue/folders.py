"""Wording of PD604, PD605 and PD620 to PD629: the folder of a run and what is read from it."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD604",
        "the saved state belongs to another run: `{subject}` differs",
        notes=("a run is resumed with the spec, data, settings and seed it was started with",),
        help=("use `--init` to start a new run from these weights",),
        reason=(
            "A run resumes from a checkpoint of the same problem. The spec (without comments and layout), the data, the settings and the seed are "
            "compared."
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
            "A run begins in a folder that is new or empty, so that it replaces or removes none of your files. pdual recognises its own folders "
            "by their `run.json`."
        ),
    ),
    Entry(
        "PD627",
        "`{file}` is there already, and is not replaced",
        notes=("pdual replaces its own pages and figures, as it wrote them, and nothing else",),
        help=("move it away, or name another place with `--out`",),
        reason=(
            "pdual replaces pages, figures and exported programs that it wrote and that nobody has changed since. It never replaces another file. "
            "`predict` and `score` replace a file with `--replace`."
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
)
