"""What is wrong where the automaton stops, and how to read on as if it were right.

Every rule looks at one ``Place`` and returns a verdict or None; the first verdict counts, so the rules stand
from the most telling to the most general.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from pdual.dsl import expectation, forms
from pdual.dsl.diagnostics import Label, diagnostic
from pdual.dsl.layout import CLOSERS, EXPRESSION_STARTS, OPENERS, STATEMENTS, is_word
from pdual.dsl.near import nearest
from pdual.dsl.place import Place, Verdict
from pdual.dsl.spans import Span
from pdual.dsl.tree import END, Token, Tree

_NEED_OPERAND = frozenset(
    {
        "EQUAL",
        "RELATION",
        "PLUS",
        "MINUS",
        "STAR",
        "SLASH",
        "CARET",
        "AND",
        "OR",
        "NOT",
        "IF",
        "ELSE",
        "WHERE",
    }
)
_MAXIMIZE = ("maximize", "maximise")


def blame(place: Place) -> Verdict:
    """The verdict on a token that cannot come next."""
    for rule in _RULES:
        verdict = rule(place)
        if verdict is not None:
            return verdict
    return _unexpected(place)


def _wrong_closer(place: Place) -> Verdict | None:
    opener, token, accepts = place.opener, place.token, place.machine.accepts
    if token.kind not in OPENERS or place.position in place.layout.closers.values():
        return None
    if opener is None or opener.kind == "LBRACE":
        stray = Verdict(diagnostic("PD013", token.span, bracket=token.text), ())
        return stray if place.at_statement else None
    closer = CLOSERS[opener.kind]
    if not accepts(closer):
        return None
    found = diagnostic(
        "PD014",
        token.span,
        Label(opener.span, "opener"),
        found=token.text,
        bracket=opener.text,
        closer=place.machine.tables.symbols[closer],
    )
    return Verdict(found, place.sound((Token(closer, token.text, token.span),)))


def _unclosed(place: Place) -> Verdict | None:
    opener, token = place.opener, place.token
    if opener is None or opener in place.layout.closers:
        return None
    closer = CLOSERS[opener.kind]
    # `f([a, b = 1)`: no list holds a named argument.
    is_end = place.is_boundary or token.kind in OPENERS or token.kind == "EQUAL"
    if not (is_end or place.missing(closer)):
        return None
    # Inside braces a statement that breaks off is its own mistake; the brace is reported where all is read.
    if token.kind == closer or (closer == "RBRACE" and not place.machine.accepts(closer)):
        return None
    found = diagnostic(
        "PD011",
        opener.span,
        Label(token.span, "end" if token.kind == END else "found"),
        bracket=opener.text,
        closer=place.machine.tables.symbols[closer],
    )
    return Verdict(found, place.missing(closer))


def _equals(place: Place) -> Verdict | None:
    if place.token.kind != "EQUAL" or not place.machine.accepts("RELATION"):
        return None
    return Verdict(diagnostic("PD007", place.token.span), (Token("RELATION", "==", place.token.span),))


def _empty_subject_to(place: Place) -> Verdict | None:
    last = place.machine.last
    if not (isinstance(last, Token) and last.kind == "TO" and place.is_boundary):
        return None
    subject = place.tokens[place.position - 2].span
    return Verdict(diagnostic("PD016", subject.to(last.span)))


def _misplaced(place: Place) -> Verdict | None:
    token, opener = place.token, place.opener
    if token.kind not in STATEMENTS or not place.at_statement or opener is None:
        return None
    end = place.position + 1
    while end not in place.layout.starts and place.tokens[end].kind not in ("RBRACE", END):
        end = place.layout.closers.get(place.tokens[end], end) + 1
    found = diagnostic("PD015", token.span, Label(opener.span, "block"), statement=token.text)
    return Verdict(found, skip_to=end, keeps=True)


def _unknown_statement(place: Place) -> Verdict | None:
    token, accepts = place.token, place.machine.accepts
    follows = is_word(place.following) or place.following.kind == "LBRACE"
    if token.kind != "NAME" or not place.at_statement or not (follows or place.is_first_on_line):
        return None
    if token.text.lower() in _MAXIMIZE:
        negative = diagnostic("PD028", token.span, found=token.text)
        return Verdict(negative, (Token("MINIMIZE", token.text, token.span),))
    kinds = [kind for kind in STATEMENTS if accepts(kind)]
    words = {place.machine.tables.symbols[kind]: kind for kind in kinds}
    near = nearest(token.text.lower(), words)
    if near is None and not place.is_first_on_line:
        return None
    found = diagnostic("PD021", token.span, word=token.text, near=near)
    if near is not None and accepts(words[near], place.following.kind):
        return Verdict(found, (Token(words[near], near, token.span),))
    return Verdict(found, keeps=True)


def _missing_colon(place: Place) -> Verdict | None:
    repaired = place.missing("COLON")
    if repaired is None or place.token.kind in CLOSERS:
        return None
    head = place.machine.spans[-1]
    found = diagnostic(
        "PD008",
        place.token.span,
        Label(head, "head"),
        found=expectation.found(place.token),
        inserted=_before(":", place),
    )
    return Verdict(found, place.sound(repaired))


def _missing_set(place: Place) -> Verdict | None:
    name, opener = place.machine.last, place.opener
    if not isinstance(name, Token) or opener is None or opener.kind != "LSQB":
        return None
    if not place.machine.accepts("IN", "NAME"):
        return None
    if place.token.kind not in ("RSQB", "COMMA", "WHERE"):
        return None
    return Verdict(diagnostic("PD009", name.span, name=name.text))


def _missing_expression(place: Place) -> Verdict | None:
    last = place.machine.last
    if not (isinstance(last, Token) and last.kind in _NEED_OPERAND and place.is_boundary):
        return None
    label = Label(place.token.span, "end" if place.token.kind == END else "found")
    return Verdict(diagnostic("PD019", last.span, label, operator=last.text))


def _swallowed_constraint(place: Place) -> Verdict | None:
    """In `a: x <=` and `b: y <= 2` on the next line, `b` is first read as an operand."""
    if place.token.kind != "COLON":
        return None
    start = _index_start(place)
    bracket = None if start is None else place.machine.values[start]
    name = place.position - 1 if bracket is None else place.tokens.index(cast(Token, bracket)) - 1
    operator = place.tokens[name - 1]
    if place.tokens[name].kind != "NAME" or operator.kind not in _NEED_OPERAND:
        return None
    found = diagnostic("PD019", operator.span, Label(place.tokens[name].span, "found"), operator=operator.text)
    return Verdict(found, skip_to=name)


def _conditional_first(place: Place) -> Verdict | None:
    if place.token.kind != "IF" or not place.machine.accepts("NUMBER"):
        return None
    return Verdict(diagnostic("PD027", place.token.span))


def _reduction_without_body(place: Place) -> Verdict | None:
    values, spans = place.machine.values, place.machine.spans
    start = _index_start(place)
    # In `let x[i in S]` a bare name stands before the bracket; here it has become an expression.
    if start is None or start == 0 or not isinstance(values[start - 1], Tree):
        return None
    inside = [value for value in values[start:] if isinstance(value, Tree)]
    nested = [child for value in inside if value.label.startswith("_") for child in value.trees()]
    if not any(value.label == "binder" for value in (*inside, *nested)):
        return None
    return Verdict(diagnostic("PD022", spans[start - 1].to(spans[-1])))


def _index_start(place: Place) -> int | None:
    """Where the index in brackets begins that ends right before the token."""
    values = place.machine.values
    last = place.machine.last
    if not (isinstance(last, Token) and last.kind == "RSQB"):
        return None
    for position in range(len(values) - 1, -1, -1):
        value = values[position]
        if isinstance(value, Token) and value.kind == "LSQB":
            return position
    return None


def _nameless_constraint(place: Place) -> Verdict | None:
    head = _constraint_head(place)
    if head is None:
        return None
    kind, following = place.token.kind, place.following.kind
    if head:
        is_expression = kind in ("RELATION", "LPAR", "DOT", "PLUS", "MINUS", "STAR", "SLASH", "CARET")
        # `v[i] <= 1`: an index without a set that is no head's either.
        is_indexed = kind == "RSQB" and following not in ("COLON", "SCALE")
        if not (is_expression or is_indexed):
            return None
        return Verdict(diagnostic("PD035", head[0].to(head[-1])))
    return Verdict(diagnostic("PD035", place.token.span)) if kind in EXPRESSION_STARTS else None


def _constraint_head(place: Place) -> list[Span] | None:
    """What stands of a constraint before its `:`; None elsewhere."""
    values = place.machine.values
    for position in range(len(values) - 1, -1, -1):
        value = values[position]
        if isinstance(value, Tree) and value.label == "_constraints":
            return place.machine.spans[position + 1 :]
        if isinstance(value, Token) and value.kind == "TO":
            return place.machine.spans[position + 1 :]
        if isinstance(value, Token) and (value.kind == "COLON" or value.kind in STATEMENTS):
            return None
    return None


def _missing_comma(place: Place) -> Verdict | None:
    opener, repaired = place.opener, place.missing("COMMA")
    if opener is None or opener.kind == "LBRACE" or repaired is None:
        return None
    if place.tokens[place.position].kind == "IN":  # `[i in s](x)`: something else is missing
        return None
    shown = expectation.found(place.token)
    label = Label(opener.span, "opener")
    found = diagnostic("PD020", place.token.span, label, found=shown, inserted=_before(",", place))
    return Verdict(found, place.sound(repaired))


def _let_with_arguments(place: Place) -> Verdict | None:
    values = place.machine.values
    if place.token.kind != "LPAR" or len(values) < 2:
        return None
    keyword, name = values[-2:]
    if not (isinstance(keyword, Token) and isinstance(name, Token) and keyword.kind == "LET"):
        return None
    return Verdict(diagnostic("PD036", keyword.span.to(name.span), name=name.text))


def _missing_symbol(place: Place) -> Verdict | None:
    # Before an opening bracket more than one symbol may be missing, as in `let f(x) = x`.
    for kind in ("EQUAL", "IN", "LBRACE") if place.token.kind not in CLOSERS else ():
        repaired = place.missing(kind)
        if repaired is not None:
            symbol = place.machine.tables.symbols[kind]
            return Verdict(_unexpected(place, symbol).diagnostic, place.sound(repaired))
    return None


def _unexpected(place: Place, missing: str | None = None) -> Verdict:
    """``missing``: a symbol that makes the token fit where it stands before it."""
    expected, found = place.expected(), expectation.found(place.token)
    only = missing if expected == f"`{missing}`" else None
    inserted = None if only is None else _before(only, place)
    form = forms.form(place.machine.values, place.kinds)
    return Verdict(diagnostic("PD002", place.token.span, expected=expected, found=found, inserted=inserted, form=form))


def _before(symbol: str, place: Place) -> str | None:
    """What may stand in place of the token: itself after a symbol that is missing; nothing at the end of the file."""
    return None if place.token.kind == END else f"{symbol} {place.token.text}"


_RULES: tuple[Callable[[Place], Verdict | None], ...] = (
    _wrong_closer,
    _unclosed,
    _equals,
    _empty_subject_to,
    _nameless_constraint,
    _misplaced,
    _unknown_statement,
    _missing_colon,
    _missing_set,
    _missing_expression,
    _swallowed_constraint,
    _conditional_first,
    _reduction_without_body,
    _missing_comma,
    _let_with_arguments,
    _missing_symbol,
)
