"""Wording of PD5: the data. PD501 to PD529 concern power grids."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

_SAMPLE = "`pdual run` with `--quick` takes a sample instead, which needs no network: {sample}"

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD501",
        "no power case `{case}` was found",
        label="named here",
        notes=("looked for {searched}",),
        help=(
            "did you mean `{near}`?",
            "the published cases are at {publisher}; put the `.m` file beside the spec and name it",
        ),
    ),
    Entry(
        "PD502",
        "`{file}` cannot be read as a MATPOWER case: {reason}",
        label="named here",
        help=("{fix}",),
    ),
    Entry(
        "PD503",
        "`{file}` has no {tables}",
        label="named here",
        notes=("a MATPOWER case holds `baseMVA`, `bus`, `gen`, `branch` and `gencost`",),
    ),
    Entry(
        "PD504",
        "`{table}` of `{file}` should have at least {expected} columns, {rows} {verb} {found}",
        label="named here",
    ),
    Entry(
        "PD505",
        "`{file}` should hold {expected}, found {found}",
        label="named here",
        notes=("{count} such entries",),
    ),
    Entry(
        "PD506",
        "{elements} of `{file}` should be at a bus of the case, found {found}",
        label="named here",
        notes=("the buses are {buses}",),
    ),
    Entry(
        "PD507",
        "`{file}` should have one reference bus (type 3), found {found}",
        label="named here",
        help=("{fix}",),
    ),
    Entry(
        "PD508",
        "`{file}` has limits that cross: {found}",
        label="named here",
        notes=("{count} such entries",),
    ),
    Entry(
        "PD509",
        "{units} of `{file}` should have a polynomial cost of degree 2 at most, or a convex piecewise linear one, found {found}",
        label="named here",
    ),
    Entry(
        "PD510",
        "`{file}` has {found} more than once in `{table}`",
        label="named here",
    ),
    Entry(
        "PD511",
        "{branches} of `{file}` should have an impedance, found r = x = 0",
        label="named here",
        help=("join the two buses, or give the branch a small reactance",),
    ),
    Entry(
        "PD512",
        "{buses} of `{file}` cannot be reached from the reference bus",
        label="named here",
        help=("set the type of buses that are out of service to 4",),
    ),
    Entry(
        "PD513",
        "`{file}` has {found} of `gencost` for {units} of `gen`",
        label="named here",
    ),
    Entry(
        "PD514",
        "`{file}` has no {element} in service",
        label="named here",
    ),
    Entry(
        "PD515",
        "too few demands have an optimal power flow: {kept} of the first {drawn} at a spread of {spread}",
        label="drawn here",
        notes=("a demand without one is not kept, so this data set would take very long",),
        help=("a smaller spread keeps demands within what the grid can supply",),
    ),
    Entry(
        "PD516",
        "no demands file `{file}` was found",
        label="named here",
        notes=("looked for {searched}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD517",
        "`{file}` should hold {expected}, found {found}",
        label="named here",
        help=('write it with `numpy.savez("{file}", load_re = ..., load_im = ...)`, in per unit',),
    ),
    Entry(
        "PD518",
        "the demands in `{file}` should be finite numbers, found others in {rows}",
        label="named here",
        notes=("{count} of {total} rows",),
    ),
    Entry(
        "PD519",
        "{rows} of `{file}` {verb} no optimal power flow within the limits of `{given}`",
        label="named here",
        notes=("{count} of {total} rows",),
        help=("leave these rows out, or raise `iterations` where the solver ran into it",),
    ),
    Entry(
        "PD520",
        "`{given}` should be a power grid, it lacks {missing}",
        label="used here",
        help=("declare it with `given {given} = power.case(...)`",),
    ),
    Entry(
        "PD521",
        "`{file}` has {tables}, which optimal power flow here does not model",
        label="named here",
        notes=("the optimum may depend on {pronoun}",),
        help=("take {pronoun} out of the file where the optimum is meant without {pronoun}",),
    ),
    Entry(
        "PD522",
        "{units} of `{file}` have piecewise linear costs, and the spec does not read {missing}",
        label="named here",
        notes=("a unit costs `c0 + c1 p + c2 p^2` and the largest of `height + slope p` over its pieces",),
        help=(
            "declare `set piece` and `height, slope: real[gen, piece]`, and add `max[k in piece](height[g, k] + slope[g, k] * re(s[g]))`",
        ),
    ),
    Entry(
        "PD530",
        "no rows were given for `{data}`",
        label="declared without a source",
        help=("name a file with `--data {data}=FILE`, or give arrays from Python",),
    ),
    Entry(
        "PD531",
        "there is no file `{file}`",
        label="named here",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD532",
        "`{file}` is of no type that rows are read from",
        label="named here",
        notes=("rows are read from {types}",),
    ),
    Entry("PD533", "`{file}` cannot be read: {reason}", label="named here"),
    Entry(
        "PD534",
        "`{file}` has no column `{column}`, which `{field}` is read from",
        label="declared here",
        notes=("its columns are {columns}",),
        help=("did you mean `{near}`?", 'name the column with `{field}: ... from "Column"`'),
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
    ),
    Entry("PD536", "`{file}` has {found} rows, and the splits need at least {needed}", label="named here"),
    Entry(
        "PD538",
        "`{file}` is not here and could not be downloaded",
        label="needed here",
        notes=("looked for {searched}", "asked {tried}", _SAMPLE),
        help=("put {files} into `{folder}`, where `PDUAL_DATA` names a folder of yours",),
    ),
    Entry(
        "PD539",
        "`{file}` does not hold the published data",
        label="needed here",
        notes=("`{part}` differs", "its sha256 is {found}, that of the published content {expected}"),
        help=("without `{own}` the published data are downloaded",),
    ),
    Entry(
        "PD540",
        "`{file}` should hold {expected}, found {found}",
        label="needed here",
        help=("without `{own}` the published data are downloaded",),
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
    ),
    Entry(
        "PD542",
        "`{folder}` has no `{file}`",
        label="read here",
        notes=("its files are {files}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD543",
        "line {line} of `{file}` should hold {expected}, found {found}",
        label="read here",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD544",
        "`{field}` is declared with {declared} numbers, the embeddings of the texts have {found}",
        label="declared here",
    ),
    Entry(
        "PD545",
        "{count} texts have no embedding yet, and `{package}`, which a sentence encoder needs, is not installed",
        label="needed here",
        help=(
            "`pip install 'pdual[language]'`, or put `embeddings.npz` into `{folder}`: `sha1` and `embedding` of each text",
            "`pip install 'pdual[language]'`",
        ),
    ),
    Entry(
        "PD546",
        "the sentence encoder `{encoder}` cannot be used: {reason}",
        label="needed here",
        notes=("{count} texts have no embedding yet",),
        help=(
            "name a folder that holds the model as `encoder`, or put `embeddings.npz` into `{folder}`: `sha1` and "
            "`embedding` of each text",
            "name a folder that holds the model as `encoder`",
        ),
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
    ),
    Entry(
        "PD548",
        "`{field}` cannot be standardised: {reason}",
        label="declared here",
        notes=("`{file}` has {rows} train rows",),
        help=("leave it out of `standardised`",),
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
    ),
    Entry(
        "PD551",
        "`{split}` has {found} rows, and {asked} are asked for",
        label="named here",
    ),
    Entry(
        "PD576",
        "the rows of `{data}` from Python have no column `{column}`, which `{field}` is read from",
        label="declared here",
        notes=("their columns are {columns}",),
        help=("did you mean `{near}`?", 'name the column with `{field}: ... from "Column"`'),
    ),
    Entry(
        "PD579",
        "`{data}` was given several tables, {splits}, where one is wanted",
        label="declared here",
        help=("hand over one of them, as `rows[{first}]`: the spec divides it",),
    ),
    Entry(
        "PD552",
        "a text holds `{token}`, which the chat template of `{base}` could not tell from its own",
        label="the model that reads it",
        notes=("it is in `{text}`",),
        help=('write `template = "plain"`, which reads such a text letter by letter, or leave the row out',),
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
    ),
    Entry(
        "PD554",
        "`{data}` has no rows in {empty}: its rows are shared out by `{field}`, which has {values} values",
        label="its `split` asks for them",
        help=("write other shares in `split`, or `split_by = none` to draw rows one by one",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD555",
        "the tokenizer of `{base}` reads `{token}` in a text as a special token, not as letters",
        label="the model that reads it",
        notes=("it is in `{text}`",),
        help=("leave the row out, or take a base whose tokenizer has letters for it",),
    ),
    Entry(
        "PD580",
        "`{name}` is a sample: {words}",
        label="is not on this machine as a whole",
        severity=Severity.WARNING,
        notes=("what comes of it says nothing about the whole",),
        help=("for the whole, {whole}",),
    ),
    Entry(
        "PD590",
        "the rows of `{data}` from Python should hold {expected}, found {found}",
        label="declared here",
        notes=("rows are columns by name, a data frame, a sequence of mappings, or a torch `Dataset`",),
    ),
)
