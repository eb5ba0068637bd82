"""What is known of a symbol, in lines: the first is a declaration, as a spec would write it, the others say more."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.explaining import text
from pdual.explaining.records import DataFact, Explanation, FieldFact, GivenFact, PartFact
from pdual.lsp.analysis import Analysis, Meaning
from pdual.lsp.symbols import Kind, Symbol


def told(symbol: Symbol, analysis: Analysis) -> list[str]:
    """The lines of a symbol; its kind and name alone where nothing more is known."""
    meaning = analysis.meaning
    lines = _of_kind(symbol, meaning) if meaning is not None else []
    return lines or [f"{symbol.kind} {symbol.name}"]


def _of_kind(symbol: Symbol, meaning: Meaning) -> list[str]:
    name, facts = symbol.name, meaning.facts
    match symbol.kind:
        case Kind.PROBLEM:
            return [f"problem {name}", *filter(None, (facts.title,))]
        case Kind.PARAM:
            return _param(name, facts)
        case Kind.SET:
            return _set(name, facts)
        case Kind.GIVEN:
            return [line for item in facts.givens if item.name == name for line in _given(item)]
        case Kind.DATA:
            return [line for item in facts.data if item.name == name for line in _data(item)]
        case Kind.FIELD if symbol.owner is not None:
            return _field(name, symbol.owner, facts)
        case Kind.MODEL:
            return _model(name, facts)
        case Kind.INPUT | Kind.OUTPUT if symbol.owner is not None:
            return _of_signature(symbol, symbol.owner.name, meaning)
        case Kind.ROW | Kind.GROUP if symbol.owner is not None:
            what = "row" if symbol.kind is Kind.ROW else "group of rows"
            return [f"{name}: {what} of {symbol.owner.name}"]
        case Kind.INDEX if symbol.owner is not None:
            size = next((item.size for item in facts.sets if item.name == symbol.owner.name), None)
            return [
                f"{name} in {symbol.owner.name}",
                f"an index over {size} members" if size is not None else "an index",
            ]
        case Kind.MEMBER if symbol.owner is not None:
            return [f"{name}: {symbol.owner.name}", f"a member of the set `{symbol.owner.name}`"]
        case Kind.AXIS:
            return [f"{name}", "an axis whose length differs from row to row"]
        case Kind.LET:
            return _let(symbol, meaning)
        case Kind.CONSTRAINT:
            return _constraint(name, facts)
        case Kind.METRIC:
            return [f"metric {name} = {item.text}" for item in facts.metrics if item.name == name]
        case Kind.EXPECT:
            return [f"expect {name} {item.text}" for item in facts.expects if item.name == name]
    return []


def _param(name: str, facts: Explanation) -> list[str]:
    lines = []
    for item in facts.params:
        if item.name == name:
            lines = [f"param {name}: {item.type} = {text.setting(item.value)}"]
            lines += [f"within {text.bounds(*item.range)}"] if item.range is not None else []
    return lines


def _set(name: str, facts: Explanation) -> list[str]:
    lines = []
    for item in facts.sets:
        if item.name == name:
            lines = [f"set {name}"]
            if item.size is None:
                lines.append("its members are not known before the data are")
            else:
                shown = [*item.members[:-1], "…", item.members[-1]] if item.size > len(item.members) else item.members
                lines.append(f"{item.size} members: {', '.join(shown)}")
            lines += [f"from the given `{item.given}`"] if item.given is not None else []
    return lines


def _given(item: GivenFact) -> list[str]:
    return [f"given {item.name} = {item.settings}", item.summary, *item.notes]


def _data(item: DataFact) -> list[str]:
    called = f" = {item.settings}" if item.settings else ""
    return [f"data {item.name}{called}", item.summary, _rows(item.rows)]


def _rows(rows: Mapping[str, int] | None) -> str:
    if not rows:
        return "its rows are not known before the data are"
    return "rows: " + ", ".join(f"{count:,} {split}" for split, count in rows.items())


def _field(name: str, owner: Symbol, facts: Explanation) -> list[str]:
    holders = facts.givens if owner.kind is Kind.GIVEN else facts.data
    found = [field for item in holders if item.name == owner.name for field in item.fields if field.name == name]
    return [line for field in found[:1] for line in _field_lines(field, owner)]


def _field_lines(field: FieldFact, owner: Symbol) -> list[str]:
    bounds = f" in {text.bounds(*field.range)}" if field.range is not None else ""
    what = "known structure" if owner.kind is Kind.GIVEN else "a field of every row"
    column = [f'read from the column "{field.column}"'] if field.column is not None else []
    units = ["standardised: less the mean, over the deviation, of the train rows"] if field.standardised else []
    return [f"{field.name}: {field.type}{bounds}", f"{what} of `{owner.name}`", *column, *units]


def _model(name: str, facts: Explanation) -> list[str]:
    for item in facts.models:
        if item.name == name:
            count = "not known yet" if item.parameters is None else f"{item.parameters:,}"
            features = [f"features: `{item.features}`"] if item.features is not None else []
            return [f"model {item.signature}\n  = {item.architecture}", f"parameters: {count}", *features]
    return []


def _of_signature(symbol: Symbol, model: str, meaning: Meaning) -> list[str]:
    signature = next((item.signature for item in meaning.spec.models if item.name == model), None)
    if signature is None:
        return []
    if symbol.kind is Kind.INPUT:
        return [f"{name}: {kind}" for name, kind in signature.inputs if name == symbol.name] + [
            f"an input of `{model}`"
        ]
    for item in signature.outputs:
        if item.name == symbol.name:
            open_ends = item.low is None and item.high is None
            bounds = "" if open_ends else f" in {text.bounds(item.low, item.high)}"
            return [f"{item.name}: {item.type}{bounds}", f"an output of `{model}`"]
    return []


def _let(symbol: Symbol, meaning: Meaning) -> list[str]:
    """By its place: two blocks may have a ``let`` of one name. In a text that is wrong the places have moved: by name."""
    lets = [item for block in meaning.spec.blocks for item in block.lets]
    named = [item for item in lets if item.name.split(".")[0] == symbol.name]
    here = [item for item in named if item.span.start <= symbol.span.start < item.span.end] or named[:1]
    if len(here) == 1 and here[0].name == symbol.name:
        return [f"let {symbol.name}: {here[0].type}", *_taken(symbol)]
    fields = ", ".join(f"{item.name.partition('.')[2]}: {item.type}" for item in here if "." in item.name)
    return [f"let {symbol.name}: {{ {fields} }}"] if fields else []


def _taken(symbol: Symbol) -> list[str]:
    owner = symbol.same_as.owner if symbol.same_as is not None else None
    return [f"the output of this name of `{owner.name}`"] if owner is not None else []


def _constraint(name: str, facts: Explanation) -> list[str]:
    parts = [item for item in facts.parts if item.family == name]
    return [f"constraint {name}", *(line for item in parts for line in _part(item))] if parts else []


def _part(item: PartFact) -> list[str]:
    entries = f"{item.entries} {'entry' if item.entries == 1 else 'entries'} a row"
    more = [f"{item.filtered} filtered"] if item.filtered else []
    more += [f"{item.without_side} without this side"] if item.without_side else []
    more += [f"range {text.between(*item.range)}"] if item.range is not None else []
    more += [f"scale {text.between(*item.scale)}"] if item.scale is not None else []
    cap = f", cap {text.number(item.cap)}" if item.cap else ""
    facts = ", ".join([entries, *more, f"multiplier {item.dual}{cap}"])
    return [f"`{item.name}`: `{item.normal_form}`\n{facts}"]
