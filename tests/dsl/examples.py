"""Texts by number: sentences of the grammar, and shipped specs with changes in them; and how many of them are tried.

``PDUAL_EXAMPLES`` of each property are tried by default, ``PDUAL_LONG_EXAMPLES`` with `pytest -m long`,
in pieces that workers of pytest-xdist can share. A number gives the same text everywhere.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import lark

from pdual.dsl.tables import load

EXAMPLES = int(os.environ.get("PDUAL_EXAMPLES", "100"))
LONG_EXAMPLES = int(os.environ.get("PDUAL_LONG_EXAMPLES", "50000"))

ROOT = Path(__file__).parent.parent.parent
SHIPPED = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "specs").glob("*.pdual"))]
#: Expansions of a rule beyond which the shortest ones are taken.
_ROOM = 60
_WORDS: Mapping[str, Sequence[str]] = {
    # Names of every kind that is checked, so that some of them mean something.
    "NAME": (
        *(
            "a",
            "b",
            "c",
            "d",
            "r",
            "x",
            "y",
            "z",
            "f",
            "i",
            "j",
            "bus",
            "kind",
            "real",
            "complex",
            "int",
            "bool",
            "text",
        ),
        *(
            "sum",
            "mean",
            "max",
            "abs",
            "exp",
            "csv",
            "mlp",
            "linear",
            "hidden",
            "learned",
            "pointwise",
            "shared",
            "cap",
        ),
        *("on", "features", "train", "test", "viol", "outer", "rho", "descent", "adam", "lr", "inf", "true", "default"),
        *("split", "seed", "standardised", "power", "case", "frozen", "split", "_", "lower", "re"),
    ),
    "NUMBER": ("0", "1", "2", "3", "9_000", "12", "0.5", "1%", "1e-3"),
    "TEXT": ('"a"', '""', '"d.csv"', '"a \\" b # c"', '"größe 😀"'),
    "RELATION": ("<=", ">=", "==", "!=", "<", ">"),
}
_COMMENTS = (" # c\n", "\n# a comment\n", "#\n", "\n\n  # ä\n\n")


def pieces(count: int, size: int) -> list[range]:
    """The numbers below ``count``, in ranges of at most ``size``."""
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def drawn(number: int) -> str:
    """A sentence of the grammar: a problem, and statements of any kind, with blanks and comments in between."""
    draw = random.Random(f"drawn {number}")
    every = number % 4 == 0
    words = ["problem", "p", *(word for _ in range(draw.randint(1, 4)) for word in _statement(draw, every))]
    share = draw.choice((0.0, 0.0, 0.02, 0.2))
    text = words[0]
    for word in words[1:]:
        text += draw.choice(_COMMENTS) if draw.random() < share else draw.choice((" ", " ", " ", "\n", "\n\n  "))
        text += word
    return text + "\n"


def changed(number: int) -> str:
    """A shipped spec after one to four random changes of its letters."""
    draw = random.Random(f"changed {number}")
    text = draw.choice(SHIPPED)
    for _ in range(draw.randint(1, 4)):
        start, length = draw.randrange(len(text) + 1), draw.choice((0, 0, 1, 2, 5, 40))
        other = draw.choice(SHIPPED)
        place = draw.randrange(len(other))
        inserted = draw.choice(("", other[place : place + draw.randint(1, 30)], draw.choice("[](){}=<>,:.#\"'\\\x00é")))
        text = text[:start] + inserted + text[start + length :]
    return text


def commented(number: int) -> str:
    """A shipped spec with comments and line breaks between any two tokens, however often."""
    draw = random.Random(f"commented {number}")
    tokens = load()
    found = tokens.pattern.finditer(draw.choice(SHIPPED))
    share = draw.choice((0.01, 0.05, 0.3))
    result = ""
    for item in found:
        if item.lastgroup in tokens.ignored:
            continue
        result += item.group()
        if draw.random() < share:
            form = draw.choice((" # {}", "\n# {}", "#{}\n\n# again", "\n\n\n  #! {}\n \n# again \t"))
            result += form.format(draw.randrange(1000)) + "\n"
        else:
            result += draw.choice((" ", " ", "\n", "\n\n", "  "))
    return result


def _statement(draw: random.Random, every: bool) -> list[str]:
    """Words of one statement: rules are expanded at random while there is room, then the shortest way."""
    rules, least, texts = _grammar(every)
    pending: list[lark.grammar.Symbol] = [lark.grammar.NonTerminal("statement")]
    words: list[str] = []
    room = draw.choice((_ROOM // 4, _ROOM))
    while pending:
        symbol = pending.pop()
        if symbol.is_term:
            words.append(draw.choice(_WORDS.get(symbol.name, (texts.get(symbol.name, symbol.name),))))
            continue
        options = rules[symbol.name]
        if room <= 0:
            best = min(_depth(item, least) for item in options)
            options = [item for item in options if _depth(item, least) == best]
        room -= 1
        pending.extend(reversed(draw.choice(options)))
    return words


@cache
def _grammar(every: bool) -> tuple[dict[str, list[list[lark.grammar.Symbol]]], dict[str, int], dict[str, str]]:
    """Expansions by rule, the least depth of each, and the texts of terminals that are words.

    The grammar lets through what the tree then refuses: a call of what is no name, an index set without a body, a second
    problem. Without ``every`` one, those are left out, and a reduction is written with its body.
    """
    text = (ROOT / "dsl" / "grammar.lark").read_text(encoding="utf-8")
    compiled = lark.Lark(text, start="spec", parser="lalr")
    rules: dict[str, list[list[lark.grammar.Symbol]]] = {}
    for rule in compiled.rules:
        rules.setdefault(rule.origin.name, []).append(list(rule.expansion))
    if not every:
        _leave_out(rules, "statement", "problem")
        _leave_out(rules, "index", "binder")
        _leave_out(rules, "postfix", "LPAR")
        name, open_, close = (lark.grammar.Terminal(item) for item in ("NAME", "LPAR", "RPAR"))
        binders, body, arguments = (lark.grammar.NonTerminal(item) for item in ("binders", "expression", "arguments"))
        rules["atom"] += [[name, binders, open_, body, close], [name, open_, arguments, close]]
    least = dict.fromkeys(rules, 10**6)
    for _ in range(len(rules)):
        for name, expansions in rules.items():
            least[name] = min(least[name], *(_depth(item, least) + 1 for item in expansions))
    texts = {item.name: item.pattern.value for item in compiled.terminals if item.pattern.type == "str"}
    return rules, least, texts


def _leave_out(rules: dict[str, list[list[lark.grammar.Symbol]]], rule: str, symbol: str) -> None:
    kept = [item for item in rules[rule] if all(part.name != symbol for part in item)]
    assert 0 < len(kept) < len(rules[rule])
    rules[rule] = kept


def _depth(expansion: Sequence[lark.grammar.Symbol], least: Mapping[str, int]) -> int:
    return max((0 if symbol.is_term else least[symbol.name] for symbol in expansion), default=0)
