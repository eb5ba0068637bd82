"""Wording of PD5: the data. Those of a domain are worded in its pack."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

_SAMPLE = "`pdual run` with `--quick` takes a sample instead, which needs no network: {sample}"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD530",
        "no rows were given for `{data}`",
        label="declared without a source",
        help=("name a file with `--data {data}=FILE`, or give arrays from Python",),
        reason=(
            "A `data` without a source gets its rows when the problem is run: `--data NAME=FILE`, or `pdual.load(...,\n"
            "data={NAME: ...})` from Python."
        ),
    ),
    Entry(
        "PD531",
        "there is no file `{file}`",
        label="named here",
        help=("did you mean `{near}`?",),
        reason=(
            "Files that a spec names are relative to the spec's own folder; files on the command line are relative to "
            "the\n"
            "current one."
        ),
    ),
    Entry(
        "PD532",
        "`{file}` is of no type that rows are read from",
        label="named here",
        notes=("rows are read from {types}",),
        reason="The type of a file is told by the end of its name.",
    ),
    Entry(
        "PD533",
        "`{file}` cannot be read: {reason}",
        label="named here",
        reason=(
            "The file is damaged, of another format than its name says, or its columns do not go together. What the "
            "reader\n"
            "said follows."
        ),
    ),
    Entry(
        "PD534",
        "`{file}` has no column `{column}`, which `{field}` is read from",
        label="declared here",
        notes=("its columns are {columns}",),
        help=("did you mean `{near}`?", 'name the column with `{field}: ... from "Column"`'),
        reason=(
            "Every field is read from the column of its name, or from the one named by `from`. An array is read from "
            "one\n"
            "column of lists or from columns `x.0`, `x.1`, ...; a complex one from `x.re` and `x.im`."
        ),
    ),
    Entry(
        "PD535",
        "`{field}` should hold {expected}, found {found} in {rows}",
        label="declared here",
        notes=(
            "{count} of {total} rows of `{file}`",
            "its {kinds} words are {words}",
            "the members of `{set}` are {members}",
        ),
        help=(
            "did you mean `{near}`?",
            "declare `{declaration}`, and `{retyped}`",
            "declare `{declaration}`",
            "declare `{retyped}`, since that set has these members",
            "replace the words by numbers in the file, or by names (letters, digits and `_`) that a set can list{unnamed:.0}",
            "leave the field out where nothing reads it, or replace the words by numbers in the file: {key}",
        ),
        reason=(
            "Values that are missing, not of the field's type, outside its range, or no member of its set are refused "
            "with\n"
            "the first rows that have them: a row that is silently dropped or filled in changes the problem."
        ),
    ),
    Entry(
        "PD536",
        "`{file}` has {found} rows, and the splits need at least {needed}",
        label="named here",
        reason="Every split that has a share has a row at least.",
    ),
    Entry(
        "PD538",
        "`{file}` is not here and could not be downloaded",
        label="needed here",
        notes=("looked for {searched}", "asked {tried}", _SAMPLE),
        help=("put {files} into `{folder}`, where `PDUAL_DATA` names a folder of yours",),
        reason=(
            "Published data are looked for in `PDUAL_DATA` and the cache, then downloaded. Without a connection, put "
            "the\n"
            "files there by hand."
        ),
    ),
    Entry(
        "PD539",
        "`{file}` does not hold the published data",
        label="needed here",
        notes=("`{part}` differs", "its sha256 is {found}, that of the published content {expected}"),
        help=("without `{own}` the published data are downloaded",),
        reason="The file is not the published one: its checksum differs. It is not used, so that results can be compared.",
    ),
    Entry(
        "PD540",
        "`{file}` should hold {expected}, found {found}",
        label="needed here",
        help=("without `{own}` the published data are downloaded",),
        reason="The file was found, and is not of the format that the source reads.",
    ),
    Entry(
        "PD541",
        "no rows of `{domain}` were found",
        label="named here",
        notes=("looked for {searched}", _SAMPLE),
        help=(
            "download `train.jsonl`, `val.jsonl` and `test.jsonl` of this domain from {publisher} into `{folder}`, "
            "where `PDUAL_DATA` names a folder of yours",
            "did you mean `{near}`?",
            "put `train.jsonl`, `val.jsonl` and `test.jsonl` into `{folder}`, where `PDUAL_DATA` names a folder of yours",
        ),
        reason="FLORA-Bench has no published checksums and is downloaded by hand.",
    ),
    Entry(
        "PD543",
        "line {line} of `{file}` should hold {expected}, found {found}",
        label="read here",
        help=("did you mean `{near}`?",),
        reason="One line of the file is not a record of the expected form. Lines count from 1.",
    ),
    Entry(
        "PD547",
        "`{field}` should be {expected} once it is standardised, found {found} in {rows}",
        label="declared here",
        notes=(
            "{count} of {total} rows of `{file}`; in the file it is {raw}",
            "the range of a standardised field is of (value - {mean}) / {deviation}: mean and deviation of the train rows",
        ),
        help=('to bound the values of the file, declare a second field: `NAME: real in [LOW, HIGH] from "{column}"`',),
        reason=(
            "`in [LOW, HIGH]` bounds what the spec sees, on every row: of a standardised field that is the value less "
            "the mean, over the deviation, of\n"
            "the train rows, so that what is concluded from a range holds. To bound what stands in the file, declare a"
            " second field that is read from the same column."
        ),
    ),
    Entry(
        "PD548",
        "`{field}` cannot be standardised: {reason}",
        label="declared here",
        notes=("`{file}` has {rows} train rows",),
        help=("leave it out of `standardised`",),
        reason=(
            "A column that has one value in every train row has no spread to be measured in: other rows would be "
            "infinitely far from it."
        ),
    ),
    Entry(
        "PD550",
        "no split `{split}` of TOFU was found",
        label="named here",
        notes=("looked for {searched}", _SAMPLE),
        help=(
            "did you mean `{near}`?",
            "put `{split}.jsonl` of {publisher} into `{folder}`, where `PDUAL_DATA` names a folder of yours",
        ),
        reason="The splits of TOFU are looked for in `PDUAL_DATA` and the cache, then asked of their publisher.",
    ),
    Entry(
        "PD576",
        "the rows of `{data}` from Python have no column `{column}`, which `{field}` is read from",
        label="declared here",
        notes=("their columns are {columns}",),
        help=("did you mean `{near}`?", 'name the column with `{field}: ... from "Column"`'),
        reason=(
            'Rows from Python hold every declared field: under its own name, or the one that `from "Column"` gives. '
            "Rows without names, as the\n"
            "tuples of a torch `Dataset`, hold one value a field in the order of the fields."
        ),
    ),
    Entry(
        "PD579",
        "`{data}` was given several tables, {splits}, where one is wanted",
        label="declared here",
        help=("hand over one of them, as `rows[{first}]`: the spec divides it",),
        reason=(
            "A data set is one table. A `DatasetDict`, or another mapping of splits to tables, holds several: hand "
            "over one of them. The shares of\n"
            "train, val and test are drawn from it as `split = [...]` among the fields says."
        ),
    ),
    Entry(
        "PD553",
        "{count} of the {total} groups of `{data}` by `{field}` have rows in several splits",
        label="groups by this field",
        notes=("the first are {shown}, the splits {splits}", "rows are kept together by `{other}`"),
        help=(
            "write `split_by = {by}` beside `split` to keep a group in one split, or `split_by = none` where that is meant",
        ),
        severity=Severity.WARNING,
        reason=(
            "A block is over groups of rows, and rows of one group are in `train` and in `test`. What a model has "
            "learnt of a group then helps it on the test rows of the same group, so that\n"
            "the test says less about groups that are new. `split_by = account` keeps the rows of an account together,"
            " and it is so by itself where the field is an `id` or a `text`; a whole number may\n"
            "be a key or a category such as a year, of which every split should have rows. `split_by = none` says that"
            " rows are meant to be drawn one by one. A source that brings its own\n"
            "splits along may have such groups too."
        ),
    ),
    Entry(
        "PD554",
        "`{data}` has no rows in {empty}: its rows are shared out by `{field}`, which has {values} values",
        label="its `split` asks for them",
        help=("write other shares in `split`, or `split_by = none` to draw rows one by one",),
        severity=Severity.WARNING,
        reason=(
            "Rows are shared out by the values of a field, so that the rows of one value stay in one split, and there "
            "are too few values for the shares: a tenth of three accounts is none. The split\n"
            "is left out, so that nothing is said of rows that were not trained on. Other shares (`split = [0.5, 0, "
            "0.5]`) or `split_by = none` give it rows."
        ),
    ),
    Entry(
        "PD580",
        "`{name}` is a sample: {words}",
        label="is not on this machine as a whole",
        severity=Severity.WARNING,
        notes=("what comes of it says nothing about the whole",),
        help=("for the whole, {whole}",),
        reason=(
            "A quick run takes the sample of a source where its rows are neither in `PDUAL_DATA` nor in the cache; no "
            "network is asked. The verdict, `metrics.json`, `run.json` and the\n"
            "report say so too. A run that is gone on with keeps to the rows that it began with."
        ),
    ),
    Entry(
        "PD590",
        "the rows of `{data}` from Python should hold {expected}, found {found}",
        label="declared here",
        notes=("rows are columns by name, a data frame, a sequence of mappings, or a torch `Dataset`",),
        reason=(
            "Rows from Python are columns by name (lists, numpy arrays, tensors), a data frame, a sequence of "
            "mappings, or\n"
            "a torch `Dataset` whose items are mappings or tuples in the order of the declared fields. A column has "
            "one\n"
            "type, and one shape on every row."
        ),
    ),
)
