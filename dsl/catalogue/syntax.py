"""Wording of PD0: the text does not follow the grammar."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD001",
        "`{found}` means nothing in a spec",
        help=("{what} is written with `{meant}`", "{removed}"),
    ),
    Entry("PD002", "expected {expected}, found {found}", notes=("it is written `{form}`",), fixes=("{inserted}",)),
    Entry(
        "PD003",
        "the name `{name}` has a letter outside a to z",
        notes=("names are letters a to z, digits and `_`; comments and texts may hold any letter",),
    ),
    Entry("PD004", "`{found}` is not a relation", help=("write `{meant}`",), fixes=("{meant}",)),
    Entry("PD005", "`{found}` is not an operator", help=("write `{meant}`",), fixes=("{meant}",)),
    Entry("PD006", "`{found}` is not a logical operator", help=("write `{meant}`",), fixes=("{meant}",)),
    Entry("PD007", "`=` gives a name to a value and cannot compare two", help=("write `==`",), fixes=("==",)),
    Entry(
        "PD008",
        "expected `:`, found {found}",
        label="`:` is missing before this",
        roles={"head": "after this"},
        fixes=("{inserted}",),
    ),
    Entry(
        "PD009",
        "the index `{name}` has no set to range over",
        help=("write `{name} in SET`",),
    ),
    Entry(
        "PD010",
        "`{word}` is a word of the language and cannot be a name",
        help=('choose another name; a column called so is read with `NAME: TYPE from "{word}"`',),
    ),
    Entry(
        "PD011",
        "`{bracket}` is never closed",
        label="opened here",
        roles={"found": "expected `{closer}` before this", "end": "the file ends here"},
    ),
    Entry("PD012", "a text is not closed on its line", label="starts here", help=('end it with `"`',)),
    Entry("PD013", "`{bracket}` closes nothing", label="no bracket is open here", fixes=("",)),
    Entry(
        "PD014",
        "expected `{closer}`, found `{found}`",
        label="closes with the wrong bracket",
        roles={"opener": "`{bracket}` opened here"},
        fixes=("{closer}",),
    ),
    Entry(
        "PD015",
        "`{statement}` cannot stand inside `over`",
        label="inside a block",
        roles={"block": "the block starts here"},
        notes=("a block holds `let`, `minimize`, `subject to`, `dual` and `metric`",),
    ),
    Entry(
        "PD016",
        "`subject to` is followed by no constraint",
        help=("write `NAME: LEFT <= RIGHT` after it, or remove it",),
    ),
    Entry(
        "PD017",
        "the spec does not start with `problem`",
        label="the first statement",
        help=('write `problem NAME "one line on what it is about"` above it',),
    ),
    Entry("PD018", "a second `problem` in one spec", label="one spec is one problem"),
    Entry(
        "PD019",
        "`{operator}` is followed by no expression",
        label="a value is missing after this",
        roles={"found": "found this", "end": "the file ends here"},
    ),
    Entry(
        "PD020",
        "expected `,`, found {found}",
        label="`,` or an operator is missing before this",
        roles={"opener": "inside this bracket"},
        fixes=("{inserted}",),
    ),
    Entry("PD021", "`{word}` starts no statement", help=("did you mean `{near}`?",), fixes=("{near}",)),
    Entry(
        "PD022",
        "a reduction has no body",
        label="what is reduced is missing",
        help=("write it in one pair of parentheses after the index: `sum[i in SET](x[i])`",),
    ),
    Entry(
        "PD023",
        "only a name can be called",
        label="this is no name",
        notes=("`f(x)` calls a function, `sum[i in SET](x[i])` reduces; `f(x)[i]` takes one entry of a result",),
    ),
    Entry(
        "PD024",
        "`{escape}` is no escape in a text",
        notes=('the escapes are `\\"`, `\\\\`, `\\n` and `\\t`',),
        help=("write `\\{escape}` for the characters themselves",),
    ),
    Entry(
        "PD025",
        "a positional argument stands after a named one",
        help=("name it, or move it to the front",),
    ),
    Entry("PD026", "`{number}` is larger than any number", help=("write `inf` for infinity",)),
    Entry(
        "PD027",
        "`if` starts no expression",
        help=("write `VALUE if CONDITION else OTHER`",),
    ),
    Entry(
        "PD028",
        "`{found}` starts no statement",
        help=("write `minimize` and the negative of the expression",),
    ),
    Entry("PD029", "`{number}` is not a whole number", label="a size or an end of a range"),
    Entry("PD030", "the spec is empty", help=('start with `problem NAME "one line on what it is about"`',)),
    Entry(
        "PD031",
        "the file is not text in UTF-8",
        label="the first byte that cannot be in one",
        notes=("{cause}",),
        help=("save it as UTF-8",),
        reason=(
            "A spec is a text in UTF-8. The file holds a byte that UTF-8 does not allow. Either it is saved in another encoding (save it as "
            "UTF-8), or it is not a text."
        ),
    ),
    Entry(
        "PD032",
        "the spec is too large: {size} characters, the limit is {limit}",
        reason=(
            "A problem as it stands in a paper takes a page. A file of millions of characters is data. Data belong in files, which `data` and "
            "`given` read."
        ),
    ),
    Entry(
        "PD033",
        "brackets are nested more than {limit} deep",
        label="the first that is",
        reason="Brackets are nested deeper than in any formula that people read. Give the inner parts names with `let`.",
    ),
    Entry(
        "PD034",
        "the expression is nested more than {limit} deep",
        notes=("every `+` of a long chain counts",),
        help=("take a part of it out with `let`",),
        reason=(
            "The expression is nested deeper than people write by hand. Write long sums as `sum[i in SET](...)`, and give parts names with "
            "`let`."
        ),
    ),
    Entry(
        "PD035",
        "a constraint has no name",
        label="a constraint starts with its name",
        help=("write `NAME: LEFT <= RIGHT`, or `NAME[i in SET]: ...` for one per member",),
    ),
    Entry(
        "PD036",
        "`let` names a value and takes no arguments",
        help=("write `def {name}(...) = ...` for a function, `let {name}[i in SET] = ...` for an array",),
    ),
    Entry(
        "PD037",
        "a {what} holds {found}, {effect}",
        label="here",
        notes=("a line ends with LF, CR LF or CR",),
        help=("remove it",),
        reason=(
            "A line, and a comment on it, ends with LF, CR LF or CR only. Some editors end a line at other characters too (U+2028, a form "
            "feed), and some characters reverse the direction of writing. With them, a comment can look like a statement, or a statement like "
            "a comment. So no comment may hold a character of the first kind, and no text one of the second."
        ),
    ),
    Entry(
        "PD038",
        "most of the spec is comments that hold statements",
        label="the first",
        notes=("{count} of its {total} characters are comments, and {statements} of them read as statements",),
        help=("remove `#` before what is meant, or drop what is not",),
        severity=Severity.WARNING,
    ),
)
