"""Wording of PD1: a name that is unknown, doubled, unused or circular."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

_MEANT = "did you mean `{near}`?"

ENTRIES: tuple[Entry, ...] = (
    Entry("PD101", "there is no value called `{name}` here", label="not declared", help=(_MEANT,)),
    Entry("PD102", "there is no {what} called `{name}`", label="not declared", help=(_MEANT,)),
    Entry("PD103", "`{name}` is not {what}", label="not known", notes=("there are {there}",), help=(_MEANT,)),
    Entry(
        "PD104",
        "there is no source called `{name}`",
        label="not known",
        notes=("the sources for `{role}`: {there}",),
        help=(_MEANT,),
    ),
    Entry(
        "PD105",
        "there is no architecture called `{name}`",
        label="not known",
        notes=("the architectures: {there}",),
        help=(_MEANT,),
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
    ),
    Entry(
        "PD107",
        "{owner} has no `{name}`",
        label="not declared there",
        notes=("it has {has}",),
        help=(_MEANT,),
    ),
    Entry(
        "PD108",
        "model `{model}` has no output `{name}`",
        label="not one of its outputs",
        notes=("its outputs are {has}, and are taken by name",),
        help=(_MEANT,),
    ),
    Entry(
        "PD109",
        "`{owner}` has no setting `{name}`",
        label="not known",
        notes=("its settings: {there}",),
        help=(_MEANT,),
    ),
    Entry(
        "PD110",
        "`{name}` is not declared, and is no word that can stand here",
        label="not known",
        notes=("{expected} is expected",),
        help=(_MEANT,),
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
    ),
    Entry(
        "PD119",
        "`{data}` has no split `{name}`",
        label="not a split",
        notes=("its splits: {there}",),
        help=(_MEANT,),
    ),
    Entry(
        "PD120",
        "there is no data set called `{name}`",
        label="not declared",
        notes=("the data sets: {there}",),
        help=(_MEANT,),
    ),
    Entry(
        "PD121",
        "`{name}` is {what}, not a value",
        label="a value is expected here",
        help=("write `{use}`", _MEANT),
    ),
    Entry(
        "PD122",
        "`{source}` offers no {what} `{name}`",
        label="not offered",
        notes=("it offers {there}",),
        help=(_MEANT,),
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
)
