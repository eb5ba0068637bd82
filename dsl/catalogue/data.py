"""Wording of PD5: the data. Those of a domain are worded in its pack."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import SAMPLE_NOTE, Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD530",
        "no rows were given for `{data}`",
        label="declared without a source",
        help=("name a file with `--data {data}=FILE`, or give arrays from Python",),
        reason=(
            "A `data` without a source gets its rows when the problem is run: with `--data NAME=FILE`, or with `pdual.load(..., data={NAME: "
            "...})` from Python."
        ),
    ),
    Entry(
        "PD531",
        "there is no file `{file}`",
        label="named here",
        help=("did you mean `{near}`?",),
        reason="A file that a spec names is relative to the spec's folder. A file on the command line is relative to the current folder.",
    ),
    Entry(
        "PD532",
        "`{file}` is of no type that rows are read from",
        label="named here",
        notes=("rows are read from {types}",),
        reason="The ending of a file's name gives its format.",
    ),
    Entry(
        "PD533",
        "`{file}` cannot be read: {reason}",
        label="named here",
        reason=(
            "The file is damaged, it does not have the format that its name says, or its columns do not fit together. The reader's own "
            "message follows."
        ),
    ),
    Entry(
        "PD534",
        "`{file}` has no column `{column}`, which `{field}` is read from",
        label="declared here",
        notes=("its columns are {columns}",),
        help=("did you mean `{near}`?", 'name the column with `{field}: ... from "Column"`'),
        reason=(
            "A field is read from the column of its name, or from the column that `from` names. An array is read from one column of lists or "
            "from columns `x.0`, `x.1`, ...; a complex number from `x.re` and `x.im`."
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
            "A value is missing, does not have the field's type, lies outside its range, or is not a member of its set. The message names the "
            "first rows with such values. pdual does not drop rows or fill in values, because either changes the problem."
        ),
    ),
    Entry(
        "PD536",
        "`{file}` has {found} rows, and the splits need at least {needed}",
        label="named here",
        reason="Every split with a share above 0 needs at least one row.",
    ),
    Entry(
        "PD538",
        "`{file}` is not here and could not be downloaded",
        label="needed here",
        notes=("looked for {searched}", "asked {tried}", SAMPLE_NOTE),
        help=("put {files} into `{folder}`, where `PDUAL_DATA` names a folder of yours",),
        reason=(
            "Published data are looked for in `PDUAL_DATA` and in the cache, then downloaded. Without a network connection, put the files in "
            "one of these places."
        ),
    ),
    Entry(
        "PD539",
        "`{file}` does not hold the published data",
        label="needed here",
        notes=("`{part}` differs", "its sha256 is {found}, that of the published content {expected}"),
        help=("without `{own}` the published data are downloaded",),
        reason="The checksum shows that the file is not the published one. pdual does not use it, so that results stay comparable.",
    ),
    Entry(
        "PD540",
        "`{file}` should hold {expected}, found {found}",
        label="needed here",
        help=("without `{own}` the published data are downloaded",),
        reason="The file exists, but it does not have the format that the source reads.",
    ),
    Entry(
        "PD543",
        "line {line} of `{file}` should hold {expected}, found {found}",
        label="read here",
        help=("did you mean `{near}`?",),
        reason="One line of the file does not have the expected form. Lines are counted from 1.",
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
            "`in [LOW, HIGH]` bounds the value that the spec reads, on every row. For a standardised field this value is the difference from "
            "the mean of the train rows divided by their standard deviation, and conclusions from the range refer to it. To bound the value "
            "in the file, declare a second field that reads the same column."
        ),
    ),
    Entry(
        "PD548",
        "`{field}` cannot be standardised: {reason}",
        label="declared here",
        notes=("`{file}` has {rows} train rows",),
        help=("leave it out of `standardised`",),
        reason=(
            "A column with the same value in every train row has a standard deviation of 0. Standardised by it, any other value would be "
            "infinite."
        ),
    ),
    Entry(
        "PD576",
        "the rows of `{data}` from Python have no column `{column}`, which `{field}` is read from",
        label="declared here",
        notes=("their columns are {columns}",),
        help=("did you mean `{near}`?", 'name the column with `{field}: ... from "Column"`'),
        reason=(
            'Rows from Python hold every declared field under its own name, or under the name that `from "Column"` gives. Rows without names, '
            "such as the tuples of a torch `Dataset`, hold one value for each field in the order of the fields."
        ),
    ),
    Entry(
        "PD579",
        "`{data}` was given several tables, {splits}, where one is wanted",
        label="declared here",
        help=("hand over one of them, as `rows[{first}]`: the spec divides it",),
        reason=(
            "A data set is one table. A `DatasetDict`, or another mapping of splits to tables, holds several: pass one of them. Its rows are "
            "split into train, val and test by the shares that `split = [...]` gives among the fields."
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
            "A block is over groups of rows, and some groups have rows both in `train` and in `test`. What a model learns of a group helps it "
            "on the test rows of that group, so the test says less about new groups. `split_by = account` keeps the rows of an account in one "
            "split. This is the default where the field is an `id` or a `text`; a whole number may be a key, or a category such as a year, of "
            "which every split should have rows. `split_by = none` says that rows are split one by one on purpose. A source with splits of "
            "its own may have such groups too."
        ),
    ),
    Entry(
        "PD554",
        "`{data}` has no rows in {empty}: its rows are shared out by `{field}`, which has {values} values",
        label="its `split` asks for them",
        help=("write other shares in `split`, or `split_by = none` to draw rows one by one",),
        severity=Severity.WARNING,
        reason=(
            "Rows with the same value of a field stay in one split, and there are too few values for the shares: a tenth of three accounts is "
            "less than one account. The split is left out, so that the run makes no statement about rows that were not trained on. Choose "
            "other shares (`split = [0.5, 0, 0.5]`), or `split_by = none`, to give it rows."
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
            "A quick run uses the sample of a source if the rows are neither in `PDUAL_DATA` nor in the cache. It does not access the "
            "network. The verdict, `metrics.json`, `run.json` and the report say that a sample was used. A resumed run keeps the rows that it "
            "began with."
        ),
    ),
    Entry(
        "PD590",
        "the rows of `{data}` from Python should hold {expected}, found {found}",
        label="declared here",
        notes=("rows are columns by name, a data frame, a sequence of mappings, or a torch `Dataset`",),
        reason=(
            "Rows from Python are columns by name (lists, numpy arrays, tensors), a data frame, a sequence of mappings, or a torch `Dataset` "
            "whose items are mappings or tuples in the order of the declared fields. A column has one type, and the same shape on every row."
        ),
    ),
)
