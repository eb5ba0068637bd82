"""Mistakes made mechanically: one seeded edit of a shipped spec, the statement it is in, and what the checker made of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pdual.dsl import syntax
from pdual.dsl.catalogue import errors_in
from pdual.dsl.diagnostics import Collector, Diagnostic
from pdual.dsl.fixes import applied, replacement
from pdual.dsl.parser import parse
from pdual.dsl.pipeline import read
from pdual.dsl.scanner import scan
from pdual.dsl.spans import NOWHERE, Source, Span
from pdual.dsl.tables import load
from pdual.dsl.tree import END, Token

SPECS = sorted((Path(__file__).parent.parent.parent / "specs").glob("*.pdual"))
KINDS = ("dropped", "doubled", "swapped", "misspelt", "other set")


class Edit(NamedTuple):
    """One edit: the spec's name, its kind, the text after it, where the edited statement is in that text, and what was changed."""

    spec: str
    kind: str
    text: str
    statement: Span
    what: str


class Outcome(NamedTuple):
    """What the checker said of an edit that made its spec invalid."""

    edit: Edit
    errors: tuple[Diagnostic, ...]
    on_statement: bool
    fixed: bool | None  # whether applying every fix gives a valid file; None where none is offered


def edits(count: int, seed: int) -> Iterator[Edit]:
    """Edits of every kind in turn, of specs and places drawn with a seed."""
    draw = random.Random(seed)
    texts = {path.stem: path.read_text(encoding="utf-8") for path in SPECS}
    known = {name: (_tokens(text), list(_statements(text))) for name, text in texts.items()}
    made = 0
    while made < count:
        kind = KINDS[made % len(KINDS)]
        name = draw.choice(sorted(texts))
        tokens, statements = known[name]
        edit = _edit(kind, name, texts[name], tokens, statements, draw)
        if edit is not None:
            made += 1
            yield edit


def judge(edit: Edit) -> Outcome | None:
    """What is said of an edit; None where the spec is still valid."""
    found = read(Source(edit.spec, edit.text))[1]
    errors = errors_in(found)
    if not errors:
        return None
    places = [span for item in errors for span in (item.span, *(label.span for label in item.labels))]
    on_statement = any(span != NOWHERE and _touches(span, edit.statement) for span in places)
    return Outcome(edit, errors, on_statement, _fixed(edit.text, errors))


def _fixed(text: str, errors: Sequence[Diagnostic]) -> bool | None:
    if all(replacement(item) is None for item in errors):
        return None
    return not errors_in(read(Source("fixed", applied(text, errors)))[1])


def _touches(span: Span, statement: Span) -> bool:
    return span.start < statement.end and statement.start <= max(span.end - 1, span.start)


def _tokens(text: str) -> list[Token]:
    return [token for token in scan(text, load(), Collector()) if token.kind != END]


def _statements(text: str) -> Iterator[Span]:
    """Spans of statements; of a block its head and its statements, of `subject to` every constraint."""
    spec, _ = parse(Source("spec", text))
    assert spec is not None
    for node in spec.statements:
        if isinstance(node, syntax.Over):
            last = node.by if node.by is not None else node.data
            yield Span(node.span.start, last.span.end)
            for inner in node.body:
                yield from _inner(inner)
        else:
            yield from _inner(node)


def _inner(node: syntax.Statement) -> Iterator[Span]:
    if isinstance(node, syntax.SubjectTo):
        yield from (item.span for item in node.constraints)
    else:
        yield node.span


def _edit(
    kind: str, name: str, text: str, tokens: Sequence[Token], statements: Sequence[Span], draw: random.Random
) -> Edit | None:
    position = draw.randrange(len(tokens) - 1)
    token, following = tokens[position], tokens[position + 1]
    start, end = token.span.start, token.span.end
    match kind:
        case "dropped":
            new = ""
        case "doubled":
            new = f"{token.text} {token.text}"
        case "swapped":
            end = following.span.end
            new = f"{following.text}{text[token.span.end : following.span.start]}{token.text}"
        case "misspelt":
            if token.kind != "NAME" or len(token.text) < 3:
                return None
            new = _misspelt(token.text, draw)
        case _:
            sets = _sets(tokens)
            others = sorted(sets - {token.text})
            if token.text not in sets or tokens[position - 1].text != "in" or not others:
                return None
            new = draw.choice(others)
    statement = next((span for span in statements if span.start <= start and end <= span.end), None)
    if statement is None or new == text[start:end]:
        return None
    changed = text[:start] + new + text[end:]
    moved = Span(statement.start, statement.end + len(changed) - len(text))
    return Edit(name, kind, changed, moved, f"{text[start:end]!r} -> {new!r}")


def _misspelt(word: str, draw: random.Random) -> str:
    place = draw.randrange(len(word))
    letter = draw.choice("abcdefghijklmnopqrstuvwxyz")
    changes = (
        word[:place] + word[place + 1 :],
        word[:place] + letter + word[place:],
        word[:place] + letter + word[place + 1 :],
        word[:place] + word[place + 1 : place + 2] + word[place : place + 1] + word[place + 2 :],
    )
    changed = draw.choice(changes)
    return changed if changed[:1].isalpha() else word


def _sets(tokens: Sequence[Token]) -> set[str]:
    """Names of index sets: what indices range over anywhere in the spec."""
    inside = zip(tokens, tokens[1:], tokens[2:], strict=False)
    return {third.text for first, second, third in inside if second.text == "in" and first.kind == third.kind == "NAME"}
