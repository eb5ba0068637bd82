"""Wording of PD1: a name that is unknown, doubled, unused or circular."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

_MEANT = "did you mean `{near}`?"

ENTRIES: tuple[Entry, ...] = (
    Entry("PD101", "there is no value called `{name}` here", label="not declared", help=(_MEANT,), fixes=("{near}",)),
    Entry("PD102", "there is no {what} called `{name}`", label="not declared", help=(_MEANT,), fixes=("{near}",)),
    Entry(
        "PD103",
        "`{name}` is not {what}",
        label="not known",
        notes=("there are {there}",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD104",
        "there is no source called `{name}`",
        label="not known",
        notes=("the sources for `{role}`: {there}",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD105",
        "there is no architecture called `{name}`",
        label="not known",
        notes=("the architectures: {there}",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD106",
        "there is no constraint called `{name}` here",
        label="not declared",
        notes=(
            "{elsewhere:.0}there is one elsewhere in the spec; a `dual` stands beside its constraint",
            "constraints here: {there}",
        ),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD107",
        "{owner} has no `{name}`",
        label="not declared there",
        notes=("it has {has}",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD108",
        "model `{model}` has no output `{name}`",
        label="not one of its outputs",
        notes=("its outputs are {has}, and are taken by name",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD109",
        "`{owner}` has no setting `{name}`",
        label="not known",
        notes=("its settings: {there}",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD110",
        "`{name}` is not declared, and is no word that can stand here",
        label="not known",
        notes=("{expected} is expected",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD111",
        "`{name}` is already the name of {what}",
        label="again here",
        roles={"first": "first here"},
        help=("leave one of them out, or give it another name",),
    ),
    Entry(
        "PD112",
        "`{name}` would hide {what} of the same name",
        label="declared again here",
        roles={"hidden": "this would be hidden"},
        help=("use another name",),
    ),
    Entry(
        "PD113",
        "`{name}` could be that of {givens}",
        label="which one is not clear",
        roles={"field": "a field of this name"},
        help=("write `{qualified}`",),
        fixes=("{qualified}",),
    ),
    Entry(
        "PD114",
        "{what} `{name}` is defined by itself",
        label="part of a circle",
        notes=("the circle is {chain}",),
    ),
    Entry("PD115", "{what} `{name}` is never used", label="not used", severity=Severity.WARNING),
    Entry(
        "PD116",
        "there is no parameter `{name}` to set",
        notes=("the parameters: {params}",),
        help=(_MEANT,),
        reason=(
            "`--set NAME=VALUE` (and `params` from Python) change parameters only, the values that the spec declares with `param`. To change "
            "another setting from outside, make it a parameter first."
        ),
    ),
    Entry(
        "PD117",
        "{what} has no meaning",
        label="not here",
        roles={"first": "the first one"},
        help=("{block:.0}move it into an `over` block", "put all settings into one `solve`"),
    ),
    Entry(
        "PD118",
        "constraint `{family}` has no part `{name}`",
        label="not a part",
        notes=("its parts: {there}", "{whole:.0}it is one relation, held as a whole"),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD119",
        "`{data}` has no split `{name}`",
        label="not a split",
        notes=("its splits: {there}",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD120",
        "there is no data set called `{name}`",
        label="not declared",
        notes=("the data sets: {there}",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD121",
        "`{name}` is {what}, not a value",
        label="a value is expected here",
        help=("write `{use}`", _MEANT),
        fixes=("{near}",),
    ),
    Entry(
        "PD122",
        "`{source}` offers no {what} `{name}`",
        label="not offered",
        notes=("it offers {there}",),
        help=(_MEANT,),
        fixes=("{near}",),
    ),
    Entry(
        "PD123",
        "`{name}` is a type, and cannot be the name of an index set",
        label="already a type",
        help=("use another name",),
    ),
    Entry(
        "PD124",
        "the spec neither minimises nor constrains anything",
        label="nothing to do",
        help=("add `minimize` or `subject to`, in an `over` block or outside",),
        severity=Severity.WARNING,
    ),
    Entry(
        "PD125",
        "`{name}` is read before its `let`",
        label="not known yet",
        roles={"later": "declared here"},
        help=("move that `let` above this one",),
    ),
    Entry(
        "PD126",
        "`{name}` is of `{owner}`, and something is expected of `{data}` here",
        label="of another data set",
        help=("expect it on a split of `{owner}`",),
    ),
    Entry(
        "PD127",
        "one number for each of `{one}` and one for each of `{other}` do not go together",
        label="read in one statistic",
        help=("take a statistic of each",),
    ),
)
