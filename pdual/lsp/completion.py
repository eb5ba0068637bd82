"""What may stand where the cursor is, by the tokens before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types
from lsprotocol.types import CompletionItemKind as Shape

from pdual.dsl.checking.accepted import Accepted
from pdual.dsl.declarations.optimisers import OPTIMISERS
from pdual.dsl.declarations.references import ArchitectureUse, OptimiserUse
from pdual.dsl.declarations.registry import architectures, sources
from pdual.dsl.declarations.source import SourceRole
from pdual.dsl.declarations.splits import SPLITS
from pdual.dsl.spans import Span
from pdual.lsp.analysis import Analysis
from pdual.lsp.cursor import Cursor, cursor, dotted_before, settings_at
from pdual.lsp.reach import Reach
from pdual.lsp.symbols import VALUES, Kind, Symbol
from pdual.vocabulary import BUILTINS, DUALS, IN_BLOCKS, STATEMENTS, TYPES
from pdual.vocabulary import VALUES as CONSTANTS

#: A word, what it is, and one line about it.
Choice = tuple[str, Shape, str]

_COMPLETE = frozenset({"NAME", "NUMBER", "TEXT", "RPAR", "RSQB", "RBRACE"})
_DECLARING = frozenset({"PROBLEM", "PARAM", "SET", "MODEL", "DEF", "LET", "METRIC", "GIVEN", "DATA", "EXPECT"})
_SHAPES = {Kind.MODEL: Shape.Function, Kind.DEF: Shape.Function, Kind.PARAM: Shape.Constant, Kind.FIELD: Shape.Field}


def completions(analysis: Analysis, position: types.Position) -> list[types.CompletionItem]:
    """Every word that fits at a position, to take the place of what is typed of it."""
    offset = analysis.positions.offset(position)
    where = cursor(analysis.source.text[:offset])
    if where is None:
        return []
    place = analysis.positions.range(Span(where.start, offset))
    seen: dict[str, Choice] = {}
    for choice in _choices(where, analysis):
        seen.setdefault(choice[0], choice)
    return [
        types.CompletionItem(word, kind=shape, detail=said or None, text_edit=types.TextEdit(place, word))
        for word, shape, said in seen.values()
    ]


def _choices(where: Cursor, analysis: Analysis) -> Iterator[Choice]:
    """By the token before, then by the bracket that is open, then by the statement."""
    last = where.last()
    head = where.heads[0].kind if where.heads else None
    opens_block = last == "LBRACE" and head == "OVER"
    complete = last in _COMPLETE and where.bracket in (None, "LBRACE") and _ends_statement(where, head)
    if last is None or opens_block or complete:
        yield from _statements(where)
        return
    if last == "DOT":
        yield from _members(where, head, analysis)
    elif last in _DECLARING:
        return
    elif _is_type(where, head):
        yield from _sets(analysis) if where.bracket == "LSQB" else _types(analysis)
    elif last == "IN" or (head == "OVER" and last in ("OF", "BY")) or last == "ON":
        yield from _domains(where, head, last, analysis)
    elif head == "DUAL" and last in ("DUAL", "COMMA") and not where.opened[1:]:
        yield "default", Shape.Keyword, "all constraints that no other `dual` names"
        yield from _symbols(analysis.index.constraints.values())
    elif last == "EQUAL" and head in ("DATA", "GIVEN") and where.bracket is None:
        yield from _sources(SourceRole(head.lower()))
    elif last == "EQUAL" and head == "MODEL" and where.bracket is None:
        yield from _architectures()
    elif head in ("DATA", "GIVEN") and where.bracket == "LBRACE":
        return
    else:
        yield from _in_expression(where, head, analysis)


def _ends_statement(where: Cursor, head: str | None) -> bool:
    """Whether what stands before the cursor may be a whole statement, so that the next one may start."""
    if where.bracket is None:
        return True
    return where.tokens[where.opened[-1]].span.start < where.heads[0].span.start or (
        head == "OVER" and where.last() == "RBRACE"
    )


def _statements(where: Cursor) -> Iterator[Choice]:
    """In a block, the statements of blocks."""
    for word, said in STATEMENTS.items():
        if where.bracket is None or word in IN_BLOCKS:
            yield ("subject to" if word == "subject" else word), Shape.Keyword, said


def _is_type(where: Cursor, head: str | None) -> bool:
    """After `:` of a field or an input, after `->`, and in the brackets of a type."""
    if head not in ("DATA", "GIVEN", "MODEL") or (not where.opened and where.last() != "ARROW"):
        return False
    if where.last() in ("COLON", "ARROW"):
        return True
    if where.bracket != "LSQB" or where.last() not in ("LSQB", "COMMA"):
        return False
    position = where.opened[-1]
    return position > 1 and where.tokens[position - 2].kind in ("COLON", "ARROW")


def _types(analysis: Analysis) -> Iterator[Choice]:
    for word, said in TYPES.items():
        yield word, Shape.TypeParameter, said
    yield "graph", Shape.Keyword, "a graph a row, with values on its nodes"
    yield from _sets(analysis)


def _sets(analysis: Analysis) -> Iterator[Choice]:
    """Those of the text, and those it had before: a `given` that is being typed declares none."""
    yield from _symbols(analysis.index.sets.values())
    if analysis.meaning is not None:
        yield from ((item.name, Shape.Variable, str(Kind.SET)) for item in analysis.meaning.spec.sets)


def _domains(where: Cursor, head: str | None, last: str, analysis: Analysis) -> Iterator[Choice]:
    index = analysis.index
    data = [item for item in index.values.values() if item.kind is Kind.DATA]
    if last == "BY":
        holder = index.values.get(where.tokens[-2].text)
        yield from _symbols(holder.members.values() if holder is not None else ())
    elif last in ("OF", "ON") or (head == "OVER" and not where.opened):
        yield from _symbols(data)
    else:
        yield from ((name, Shape.Variable, "") for name in Reach(where).groups)
        yield from _sets(analysis)
        yield from _symbols(data)


def _members(where: Cursor, head: str | None, analysis: Analysis) -> Iterator[Choice]:
    base = dotted_before(where.tokens, len(where.tokens) - 1)
    if head == "EXPECT" and where.last(3) == "ON":
        yield from ((split, Shape.EnumMember, f"a split of {base}") for split in SPLITS)
        return
    if head == "DUAL" and base.partition(".")[0] in analysis.index.constraints and where.bracket in (None, "LBRACE"):
        facts = analysis.meaning.facts.parts if analysis.meaning is not None else ()
        before = f"{base}."
        parts = {item.name.removeprefix(before).partition(".")[0] for item in facts if item.name.startswith(before)}
        yield from ((part, Shape.EnumMember, f"a part of {base}") for part in sorted(parts))
        return
    yield from _symbols(Reach(where).members(base, analysis.index))
    roles = {"GIVEN": SourceRole.GIVEN, "DATA": SourceRole.DATA}
    registered = _sources(roles[head]) if head in roles else _architectures()
    for name, shape, said in registered:
        if name.startswith(f"{base}."):
            yield name.removeprefix(f"{base}."), shape, said


def _sources(role: SourceRole) -> Iterator[Choice]:
    for name, declaration in sources().items():
        if name and declaration.role is role:
            yield name, Shape.Function, declaration.summary


def _architectures() -> Iterator[Choice]:
    for name, declaration in architectures().items():
        yield name, Shape.Function, declaration.summary
    yield "frozen", Shape.Function, "`frozen(model)`: a model that keeps its initial weights"


def _in_expression(where: Cursor, head: str | None, analysis: Analysis) -> Iterator[Choice]:
    """Settings where they start; else what fits the setting, kinds of duals, and values."""
    called = dotted_before(where.tokens, where.opened[-1]) if where.bracket == "LPAR" else ""
    if head == "EXPECT" and called in ("viol", "rate") and where.last() == "LPAR":
        yield from _symbols(analysis.index.constraints.values())
        return
    around, last = settings_at(where), where.last()
    if around is not None and (last in ("LPAR", "COMMA", "LBRACE") or (around.owner == "solve" and last in _COMPLETE)):
        written = {
            token.text
            for token, following in zip(
                where.tokens[where.opened[-1] :], where.tokens[where.opened[-1] + 1 :], strict=False
            )
            if following.kind == "EQUAL"
        }
        yield from ((name, Shape.Property, said) for name, said in around.settings.items() if name not in written)
        if around.owner == "solve":
            return
    if around is not None and last == "EQUAL":
        takes = around.accepted.get(where.tokens[-2].text)
        yield from _accepted(takes) if takes is not None else ()
    if head == "DUAL" and where.bracket in (None, "LBRACE"):
        yield from ((word, Shape.Function, said) for word, said in DUALS.items())
    yield from _values(where, head, analysis)


def _accepted(takes: Accepted) -> Iterator[Choice]:
    """What a setting takes by name."""
    yield from ((word, Shape.EnumMember, "") for word in takes.words)
    yield from ((name, Shape.Function, "") for name in takes.records)
    if takes.takes(ArchitectureUse):
        yield from _architectures()
    if takes.takes(OptimiserUse):
        yield from ((name, Shape.Function, "an optimiser") for name in OPTIMISERS)


def _values(where: Cursor, head: str | None, analysis: Analysis) -> Iterator[Choice]:
    for name, what in Reach(where).names.items():
        yield name, Shape.Variable, what
    if head == "EXPECT":
        yield from _symbols(analysis.index.metrics.values())
        yield from _symbols(analysis.index.constraints.values())
    if head == "DEF":
        inside = [token.text for token in where.heads[2:] if token.kind in ("NAME", "COMMA", "LPAR", "RPAR")]
        arguments = inside[: inside.index(")")] if ")" in inside else []
        yield from ((name, Shape.Variable, "argument") for name in arguments if name.isidentifier())
    yield from _symbols(item for item in analysis.index.values.values() if item.kind in VALUES)
    yield from ((word, Shape.Function, said) for word, said in BUILTINS.items())
    yield from ((word, Shape.Constant, said) for word, said in CONSTANTS.items())


def _symbols(symbols: Iterable[Symbol]) -> Iterator[Choice]:
    for item in symbols:
        owner = f" of {item.owner.name}" if item.owner is not None else ""
        yield item.name, _SHAPES.get(item.kind, Shape.Variable), f"{item.kind}{owner}"
