"""Wording of PD2: types and index sets."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD201",
        "`{shown}` takes {expected}, found {found}",
        label="does not fit",
        notes=("{order}",),
    ),
    Entry(
        "PD202",
        "`{name}` takes {expected}, found {found}",
        label="called here",
        notes=("it is called as `{signature}`",),
    ),
    Entry(
        "PD203",
        "`{name}` is a whole array, `{type}`, and one value is expected here",
        label="an index is missing",
        notes=("its axes are {axes}; nothing is aligned by position",),
        help=("write `{carried}` with an index over each axis",),
    ),
    Entry(
        "PD204",
        "`{name}` is indexed by `{wanted}`, but {subject} `{found}`",
        label="a member of `{wanted}` is expected",
        roles={"declared": "declared here"},
        notes=("a `{found}` is tied to a `{wanted}` by {maps}",),
        help=("write `{converted}`",),
    ),
    Entry(
        "PD205",
        "`{name}` has {axes}, found {found} indices",
        label="indexed here",
        notes=("its type is `{type}`",),
    ),
    Entry(
        "PD206",
        "`{name}` has positions 0 to {last}, found {found}",
        label="outside",
    ),
    Entry(
        "PD207",
        "a condition should be true or false, found `{found}`",
        label="not a truth value",
    ),
    Entry(
        "PD208",
        "a constraint should be a relation, found `{found}`",
        label="no relation here",
        help=("compare two sides with `<=`, `>=` or `==`",),
    ),
    Entry(
        "PD209",
        "a constraint cannot use `{operator}`",
        label="not a closed relation",
        help=("write `{turned}`",),
    ),
    Entry(
        "PD210",
        "`{operator}` compares a `{left}` with a `{right}`",
        label="both sides should be real, or both complex",
        help=("compare `re(...)` and `im(...)` apart",),
    ),
    Entry(
        "PD211",
        "numbers can be constrained, found `{found}`",
        label="not a number",
    ),
    Entry(
        "PD212",
        "{what} should be a real number, found `{found}`",
        label="not a real number",
    ),
    Entry(
        "PD213",
        "`{shown}` takes {expected}, found `{found}`",
        label="does not fit",
    ),
    Entry(
        "PD214",
        "index `{name}` over `{over}` is never read",
        label="not read",
        notes=("every term is the same",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD215",
        "argument `{argument}` of model `{model}` should be `{expected}`, found `{found}`",
        label="does not fit",
    ),
    Entry(
        "PD216",
        "field `{name}` of `{source}` is {expected}, found `{found}`",
        label="another type",
    ),
    Entry(
        "PD217",
        "`{name}` of `{owner}` should be {expected}, found {found}",
        label="does not fit",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD218",
        "`{owner}` needs `{name}`",
        label="missing here",
        notes=("it should be {expected}",),
    ),
    Entry(
        "PD219",
        "`{architecture}` does not suit this signature: expected {expected}, found {found}",
        label="does not fit",
    ),
    Entry(
        "PD220",
        "parameter `{name}` is `{type}`, and only numbers have a range",
        label="not for this type",
    ),
    Entry(
        "PD221",
        "parameter `{name}` should be in [{low}, {high}], found {found}",
        label="outside its own range",
    ),
    Entry(
        "PD222",
        "the range [{low}, {high}] is empty",
        label="its ends are the wrong way round",
    ),
    Entry(
        "PD223",
        "this should be a constant",
        label="read from data or a model",
        help=("use numbers and parameters only",),
    ),
    Entry(
        "PD224",
        "this has no value: {reason}",
        label="cannot be computed",
    ),
    Entry(
        "PD225",
        "only the named outputs of a model are taken apart, found `{found}`",
        label="not a call with named outputs",
    ),
    Entry(
        "PD226",
        "an index ranges over a set, and `{name}` is {what}",
        label="not a set",
        help=("`over` ranges over the rows of `{rows}`",),
    ),
    Entry(
        "PD227",
        "`squared_norm` takes the name of a model",
        label="not a model",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD232",
        "{what} more than {limit} times",
        label="too much here",
    ),
    Entry(
        "PD233",
        "`count` counts every member, whatever the truth value in its body",
        label="never looked at",
        help=("move the condition into `where`",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD235",
        "`{name}` is a group of rows, which has no field `{field}`",
        label="a group, not a row",
        help=("name a row of it: `sum[p in {name}](p.{field})`",),
    ),
    Entry(
        "PD237",
        "an axis has a whole size of at least 1, found {found}",
        label="not a size",
    ),
    Entry(
        "PD238",
        "{where} should be an array, found {found}",
        label="not an array",
    ),
    Entry(
        "PD239",
        "`{found}` has no fields, so no `{field}`",
        label="not a row or a record",
    ),
    Entry(
        "PD240",
        "parameter `{name}` should be {type}, found `{found}`",
        label="declared here",
    ),
    Entry(
        "PD241",
        "parameter `{name}` should be in [{low}, {high}], found {found}",
        label="declared here",
    ),
    Entry(
        "PD242",
        "`{name}` is `{type}`: this axis is taken as a whole, not by an index",
        label="cannot be indexed",
    ),
    Entry(
        "PD243",
        "`{label}` is no member of `{set}`",
        label="not a member",
        notes=("its members are {labels}",),
    ),
    Entry(
        "PD244",
        "`{name}` is indexed by `{wanted}`, found `{found}`",
        label="a member of `{wanted}` is expected",
    ),
    Entry(
        "PD245",
        "a member of `{left}` is never a member of `{right}`",
        label="members of two sets",
    ),
    Entry(
        "PD246",
        "one value is expected, and {name} is `{found}`",
        label="not one value",
    ),
    Entry(
        "PD247",
        "only functions and models are called",
        label="cannot be called",
    ),
    Entry(
        "PD248",
        "`{function}` takes its arguments by position, found `{name} = ...`",
        label="named here",
        help=("leave out the name",),
    ),
    Entry(
        "PD249",
        "`{name}` reduces over an index",
        label="an index is missing",
        help=("write `{name}[i in SET](...)`",),
    ),
    Entry(
        "PD250",
        "`{name}` states something about a split, and belongs in `expect`",
        label="not here",
    ),
    Entry(
        "PD251",
        "`{name}` is {what}, and cannot be called",
        label="not a function or a model",
    ),
    Entry(
        "PD252",
        "model `{name}` has no output that could be used",
        label="called here",
    ),
    Entry(
        "PD253",
        "`squared_norm({model})` needs no data, and belongs in a `minimize` outside any block",
        label="not here",
    ),
    Entry(
        "PD254",
        "`{name}` takes {expected}, found `{found}`",
        label="does not fit",
    ),
    Entry(
        "PD255",
        "the share of `{name}` should be above 0 and at most 1, found {found}",
        label="not a share",
    ),
    Entry(
        "PD256",
        "`{name}` is taken over rows, and this is one number for the whole split",
        label="the same for every row",
    ),
    Entry(
        "PD257",
        "{what} should be between 0 and 1, found {found}",
        label="outside",
    ),
    Entry(
        "PD258",
        "a list stands only in settings",
        label="not a value",
    ),
    Entry(
        "PD259",
        "`{owner}` takes {allowed}",
        label="one too many",
        notes=("its settings are {there}",),
    ),
    Entry(
        "PD260",
        "`{owner}` refuses its settings: {reason}",
        label="refused",
    ),
    Entry(
        "PD261",
        "`{name}` belongs to the source, not to the fields",
        label="not here",
        help=("write `{source}(..., {name} = ...)`",),
    ),
    Entry(
        "PD262",
        "`{name}` is a source, but not one of {role}",
        label="of the other kind",
        notes=("the sources of {role} are {there}",),
    ),
    Entry(
        "PD263",
        "only real and whole numbers have a range, found `{found}`",
        label="not for this type",
    ),
    Entry(
        "PD264",
        "`{name}` copies a model, signature and all",
        label="leave out its own signature",
    ),
    Entry(
        "PD265",
        "`frozen` takes the name of one model",
        label="not a model",
        notes=("there is no model `{name}`",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD266",
        "argument `{name}` needs a type",
        label="no type",
        help=("write `{name}: real`",),
    ),
    Entry(
        "PD267",
        "model `{name}` needs the type of its output",
        label="no output",
        help=("write `-> TYPE` after the arguments",),
    ),
    Entry(
        "PD268",
        "an output has a known width",
        label="`_` is for inputs",
    ),
    Entry(
        "PD269",
        "a range bounds outputs and fields, not arguments",
        label="not here",
    ),
    Entry(
        "PD270",
        "a two-sided constraint needs two relations of one direction, found {operators}",
        label="not two-sided",
        help=("write `lo <= x <= hi`",),
    ),
    Entry(
        "PD271",
        "a scale should be positive, found {found}",
        label="not positive",
    ),
    Entry(
        "PD272",
        "rows are grouped by an id or a member of a set, and `{name}` is `{found}`",
        label="cannot be grouped by",
    ),
    Entry(
        "PD273",
        "constraint `{name}` outside a block should bound one average over rows",
        label="not an average",
        help=("write `mean[x in DATA](...) <= ...`, or move it into `over`",),
    ),
    Entry(
        "PD274",
        "`expect` states a relation",
        label="no relation here",
    ),
    Entry(
        "PD275",
        "`expect` states something about a split, and this is one number a row",
        label="one number a row",
        help=("take its `quantile(..., 0.99)`, `mean(...)` or `max(...)`",),
    ),
    Entry(
        "PD276",
        "set `{name}` has no members in {found}",
        label="whole numbers, low to high",
    ),
    Entry(
        "PD277",
        "this spec neither minimises nor constrains anything",
        label="nothing to do",
        help=("add a `minimize` or a `subject to`",),
    ),
    Entry(
        "PD291",
        "model `{model}` is called once for every index, which this version cannot do",
        label="an argument carries an index",
        help=("call it on the whole array",),
    ),
    Entry(
        "PD292",
        "constraint `{family}` ranges over an axis of another length in every row, which this version cannot do",
        label="a ragged index",
        help=("reduce over it: `max[k in ...](...) <= ...`",),
    ),
    Entry(
        "PD293",
        "a block over groups of `{data}` is checked and explained, but cannot be run yet by this version",
        label="over groups",
    ),
)
