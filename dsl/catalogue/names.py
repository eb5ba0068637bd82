"""Wording of PD1: a name that is unknown, doubled, unused or circular."""

from __future__ import annotations

from pdual.dsl.catalogue.entry import Entry
from pdual.dsl.diagnostics import Severity

ENTRIES: tuple[Entry, ...] = (
    Entry(
        "PD101",
        "there is no value called `{name}` here",
        label="not declared",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD102",
        "there is no {what} called `{name}`",
        label="not declared",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD103",
        "`{name}` is not {what}",
        label="not known",
        notes=("what there is: {there}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD104",
        "there is no source called `{name}`",
        label="not known",
        notes=("the sources of {role} are {there}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD105",
        "there is no architecture called `{name}`",
        label="not known",
        notes=("the architectures are {there}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD106",
        "there is no constraint called `{name}`",
        label="not declared",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD107",
        "`{owner}` has no `{name}`",
        label="not declared there",
        notes=("it has {has}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD108",
        "model `{model}` has no output `{name}`",
        label="outputs are taken by their names",
        notes=("its outputs are {has}",),
    ),
    Entry(
        "PD109",
        "`{owner}` has no setting `{name}`",
        label="not known",
        notes=("its settings are {there}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD110",
        "there is nothing called `{name}` that can stand here",
        label="not known",
        notes=("one of {words} is expected",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD111",
        "`{name}` is declared twice as {what}",
        label="again here",
        roles={"first": "first here"},
        help=("give one of them another name",),
    ),
    Entry(
        "PD112",
        "the index or name `{name}` would hide {what} of the same name",
        label="declared again here",
        roles={"hidden": "this would be hidden"},
        help=("use another name",),
    ),
    Entry(
        "PD113",
        "`{name}` could be that of {givens}",
        label="which one is meant",
        roles={"field": "a field of this name"},
        help=("write `{qualified}`",),
    ),
    Entry(
        "PD114",
        "{what} `{name}` is defined by itself",
        label="part of a circle",
        notes=("the circle is {chain}",),
    ),
    Entry(
        "PD116",
        "there is no parameter `{name}` to set",
        notes=("the parameters are {params}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD117",
        "`{data}` has no split `{name}`",
        label="not a split",
        notes=("its splits are {there}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD118",
        "there is no data set called `{name}`",
        label="not declared",
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD121",
        "`{name}` is {what}, not a value",
        label="a value is expected here",
        help=("did you mean `{near}`?", "write `{use}`"),
    ),
    Entry(
        "PD122",
        "`{source}` offers no {what} `{name}`",
        label="not offered",
        notes=("it offers {there}",),
        help=("did you mean `{near}`?",),
    ),
    Entry(
        "PD131",
        "{what} `{name}` is never used",
        label="not used",
        severity=Severity.WARNING,
    ),
)
