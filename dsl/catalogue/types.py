"""Wording of PD2: types and index sets."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry("PD201", "`{shown}` takes {expected}, found {found}", label="does not fit", notes=("{order}",)),
    Entry(
        "PD202",
        "`{name}` takes {expected}, found {found}",
        label="called here",
        notes=("it is called as `{signature}`",),
    ),
    Entry(
        "PD203",
        "one value is expected, and `{name}` is a whole array, `{type}`",
        label="an index is missing",
        notes=("arrays are not aligned by position",),
        help=("write `{carried}`",),
    ),
    Entry(
        "PD204",
        "`{name}` is indexed by `{wanted}`, but {subject} `{found}`",
        label="a member of `{wanted}` is expected",
        roles={"declared": "declared here"},
        notes=(
            "a `{found}` is tied to a `{wanted}` by {maps}",
            "{none:.0}nothing ties a `{found}` to one `{wanted}`",
        ),
        help=("write `{converted}`",),
    ),
    Entry(
        "PD205", "`{name}` has {axes}, found {found}", label="indexed here", notes=("its type is `{type}`",)
    ),
    Entry("PD206", "`{name}` has positions 0 to {last} here, found {found}", label="outside"),
    Entry("PD207", "a condition should be true or false, found `{found}`", label="not a truth value"),
    Entry(
        "PD208",
        "a relation is expected, found {found}",
        label="no relation",
        help=("compare two sides with `<=`, `>=` or `==`",),
    ),
    Entry(
        "PD209",
        "a constraint should use `<=`, `>=` or `==`, found `{operator}`",
        label="not closed",
        notes=("a constraint also holds on its boundary",),
        help=("write `{turned}`",),
    ),
    Entry(
        "PD210",
        "`{operator}` compares a `{left}` with a `{right}`",
        label="both sides should be real, or both complex",
        help=("compare `re(...)` and `im(...)` apart",),
    ),
    Entry("PD211", "a constraint compares numbers, found `{found}`", label="not a number"),
    Entry("PD212", "{what} should be a real number, found `{found}`", label="not a real number"),
    Entry("PD213", "`{shown}` takes {expected}, found `{found}`", label="does not fit"),
    Entry(
        "PD214",
        "index `{name}` over `{over}` is never read",
        label="not read",
        notes=("what stands under it is the same for every member",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD215",
        "argument `{argument}` of model `{model}` should be `{expected}`, found `{found}`",
        label="does not fit",
    ),
    Entry(
        "PD216", "field `{name}` of `{source}` should be {expected}, found `{found}`", label="another type"
    ),
    Entry(
        "PD217",
        "`{name}` of `{owner}` should be {expected}, found {found}",
        label="does not fit",
        help=("did you mean `{near}`?",),
    ),
    Entry("PD218", "`{owner}` needs `{name}`", label="missing here", notes=("it should be {expected}",)),
    Entry(
        "PD219",
        "`{architecture}` cannot be used here: expected {expected}, found {found}",
        label="does not suit",
    ),
    Entry(
        "PD220", "parameter `{name}` is `{type}`, and only numbers have a range", label="not for this type"
    ),
    Entry(
        "PD221",
        "parameter `{name}` should be in [{low}, {high}], found {found}",
        label="outside its own range",
    ),
    Entry("PD222", "the range [{low}, {high}] is empty", label="its ends are the wrong way round"),
    Entry(
        "PD223",
        "a constant is expected here",
        label="not known before the run",
        help=("use numbers and parameters only",),
    ),
    Entry("PD224", "this has no value: {reason}", label="cannot be computed"),
    Entry(
        "PD225",
        "only a model call with named outputs is taken apart, found `{found}`",
        label="not such a call",
    ),
    Entry(
        "PD226",
        "an index ranges over a set, and `{name}` is {what}",
        label="not a set",
        help=("the rows of `{rows}` are reached by `over ROW in {rows}`",),
    ),
    Entry(
        "PD227",
        "`squared_norm` takes the name of a model",
        label="not a model",
        help=("did you mean `{near}`?",),
    ),
    Entry("PD228", "a set should run from low to high, found {low}..{high}", label="no members"),
    Entry(
        "PD229",
        "`expect` states something about a whole split, and this is one number for each row",
        label="one number a row",
        help=("take `mean(...)`, `max(...)` or `quantile(..., 0.99)` of it",),
    ),
    Entry(
        "PD230",
        "rows are grouped by an id, a text, an integer or a member of a set, and `{name}` is `{found}`",
        label="cannot be grouped by",
    ),
    Entry(
        "PD231",
        "`{axis}` may have two lengths on one row: `{model}` is called with different arguments",
        label="another call",
        roles={"first": "the first call"},
        notes=("arrays over `{axis}` of one call must not be indexed by the other's",),
        severity=Severity.WARNING,
    ),
    Entry("PD232", "{what} more than {limit} times", label="too much here"),
    Entry(
        "PD233",
        "`count` counts every member, whatever the truth value in its body",
        label="never looked at",
        help=("move the condition into `where`",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD234",
        "a constraint outside a block should bound one average over rows",
        label="not one average",
        help=("write `mean[x in DATA](...) <= ...`, or move it into an `over` block",),
    ),
    Entry(
        "PD235",
        "`{name}` is a group of rows, and only a row has a `{field}`",
        label="a group, not a row",
        help=("name a row of it: `sum[p in {name}](p.{field})`",),
    ),
    Entry("PD237", "an axis should have a whole size of at least 1, found {found}", label="not a size"),
    Entry("PD238", "{where} should be one value or an array, found {found}", label="not of that shape"),
    Entry("PD239", "a row or a record has fields, and this is `{found}`", label="no `{field}` in it"),
    Entry("PD240", "parameter `{name}` should be {type}, found `{found}`", label="declared here"),
    Entry("PD241", "parameter `{name}` should be in [{low}, {high}], found {found}", label="declared here"),
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
    Entry("PD245", "a member of `{left}` is never a member of `{right}`", label="members of two sets"),
    Entry("PD246", "one value is expected, found `{found}`", label="not one value"),
    Entry("PD247", "only a function or a model is called", label="neither of them"),
    Entry(
        "PD248",
        "`{function}` takes its arguments by position, found `{name} = ...`",
        label="named here",
        help=("leave out the name",),
    ),
    Entry(
        "PD249",
        "`{name}` reduces over an index, and there is none",
        label="an index is missing",
        help=("write `{name}[i in SET](...)`",),
    ),
    Entry("PD250", "`{name}` is about a whole split, and is used in `expect` only", label="not here"),
    Entry("PD251", "`{name}` is {what}, and cannot be called", label="not a function or a model"),
    Entry(
        "PD252",
        "model `{name}` is called on a row, and there is no row here",
        label="called here",
        help=("move it into an `over` block",),
    ),
    Entry(
        "PD253",
        "`squared_norm({model})` is the same for every row, and is used in a `minimize` outside any block only",
        label="not here",
        help=("write `minimize squared_norm({model})` outside the block",),
    ),
    Entry("PD254", "`{name}` takes {expected}, found `{found}`", label="does not fit"),
    Entry(
        "PD255", "the share of `{name}` should be above 0 and at most 1, found {found}", label="not a share"
    ),
    Entry(
        "PD256",
        "`{name}` is taken over rows, and this is one number for the whole split",
        label="the same for every row",
    ),
    Entry("PD257", "{what} should be between 0 and 1, found {found}", label="outside"),
    Entry("PD258", "a list is used in settings only", label="not a value"),
    Entry("PD259", "`{owner}` takes {allowed}", label="one too many", notes=("its settings are {there}",)),
    Entry("PD260", "a setting of `{owner}` does not fit: {reason}", label="does not fit"),
    Entry(
        "PD261",
        "`{name}` is a setting of the source, not one of its fields",
        label="not here",
        help=("write `{source}(..., {name} = ...)`",),
    ),
    Entry(
        "PD262",
        "`{name}` is a source, but not one for `{role}`",
        label="of the other kind",
        notes=("the sources for `{role}` are {there}",),
    ),
    Entry("PD263", "only real and whole numbers have a range, found `{found}`", label="not for this type"),
    Entry(
        "PD264",
        "`{name}` copies a model, and so has that model's signature",
        label="has one of its own",
        help=("write `model {name} = frozen(...)`",),
    ),
    Entry(
        "PD265",
        "`frozen` takes the name of one model",
        label="not a model",
        notes=("there is no model `{name}`",),
        help=("did you mean `{near}`?",),
    ),
    Entry("PD266", "argument `{name}` needs a type", label="no type", help=("write `{name}: real`",)),
    Entry(
        "PD267",
        "model `{name}` needs the type of its output",
        label="no output",
        help=("write `-> TYPE` after the arguments",),
    ),
    Entry("PD268", "an output should have a known width, found `_`", label="`_` is for inputs"),
    Entry("PD269", "a range bounds an output, a field or a parameter, not an argument", label="not here"),
    Entry(
        "PD270",
        "a two-sided constraint has two relations of one direction, found {operators}",
        label="not two-sided",
        help=("write `lo <= x <= hi`",),
    ),
    Entry("PD271", "a scale should be positive, found {found}", label="not positive"),
    Entry("PD272", "set `{name}` should have at most {limit} members, found {size}", label="too many"),
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
