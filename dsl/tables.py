"""The LALR(1) tables of the grammar: built by lark when the grammar changes, read from JSON ever after.

Building takes lark half a second and importing lark takes a tenth; ``pdual check`` and the language server
can wait for neither. ``python -m pdual.dsl.tables`` writes grammar.json; a test holds the two together.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

GRAMMAR = Path(__file__).with_name("grammar.lark")
TABLES = Path(__file__).with_name("grammar.json")
START = "spec"
END = "$END"


class Rule(NamedTuple):
    """What reducing by one production does."""

    origin: str  # the nonterminal it makes
    label: str  # of the tree node it builds
    size: int  # symbols on the right-hand side
    keep: tuple[int, ...]  # which of them become children: nonterminals and named terminals
    transparent: bool  # with a single child it builds no node of its own
    splices: bool  # uses a helper of `*` or `+`, whose children become its own


class Tables(NamedTuple):
    """An automaton: ``actions[state][terminal]`` is a state to shift to, or ``-1 - rule`` to reduce by."""

    pattern: re.Pattern[str]  # one group per terminal, named after it
    keywords: Mapping[str, str]  # words that are terminals of their own
    symbols: Mapping[str, str]  # terminals spelled in one way, with their spelling
    ignored: frozenset[str]
    rules: tuple[Rule, ...]
    actions: tuple[Mapping[str, int], ...]
    gotos: tuple[Mapping[str, int], ...]


@cache
def load() -> Tables:
    """The tables as committed."""
    return decode(json.loads(TABLES.read_text(encoding="utf-8")))


def decode(data: Mapping[str, Any]) -> Tables:
    """The tables from what ``build`` wrote."""
    return Tables(
        pattern=re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in data["terminals"])),
        keywords=data["keywords"],
        symbols=data["symbols"],
        ignored=frozenset(data["ignored"]),
        rules=tuple(
            Rule(origin, label, size, tuple(keep), transparent, splices)
            for origin, label, size, keep, transparent, splices in data["rules"]
        ),
        actions=tuple(data["actions"]),
        gotos=tuple(data["gotos"]),
    )


def build(grammar: str) -> dict[str, Any]:
    """The tables of a grammar as JSON data. Raises lark's GrammarError if the grammar is not LALR(1)."""
    from lark import Lark

    strict = _has_interegular()
    parser = Lark(grammar, parser="lalr", lexer="basic", start=START, strict=strict, maybe_placeholders=False)
    table = parser.parser.parser._parse_table
    rules = list(parser.rules)
    numbers = _numbered(table)
    actions: list[dict[str, int]] = [{} for _ in numbers]
    gotos: list[dict[str, int]] = [{} for _ in numbers]
    for state, row in table.states.items():
        for symbol in sorted(row):
            action, argument = row[symbol]
            if symbol.islower() or symbol.startswith("__"):
                gotos[numbers[state]][symbol] = numbers[argument]
            elif str(action) == "Shift":
                actions[numbers[state]][symbol] = numbers[argument]
            else:
                actions[numbers[state]][symbol] = -1 - rules.index(argument)
    spellings = {item.name: item.pattern.value for item in parser.terminals if item.pattern.type == "str"}
    # The longest spelling of a symbol has to be tried first: `->` before `-`.
    symbols = [name for name in spellings if not spellings[name].isalpha()]
    plain = sorted(symbols, key=lambda name: (-len(spellings[name]), name))
    patterns = {item.name: item.pattern.to_regexp() for item in parser.terminals if item.pattern.type == "re"}
    return {
        "terminals": [*sorted(patterns.items()), *((name, re.escape(spellings[name])) for name in plain)],
        "keywords": {word: name for name, word in sorted(spellings.items()) if word.isalpha()},
        "symbols": dict(sorted(spellings.items())),
        "ignored": sorted(parser.ignore_tokens),
        "rules": [_encoded(rule) for rule in rules],
        "actions": actions,
        "gotos": gotos,
    }


def _numbered(table: Any) -> dict[Any, int]:
    """Numbers for lark's states that do not depend on its hashing, the start state first."""
    numbers = {table.start_states[START]: 0}
    waiting = list(numbers)
    for state in waiting:
        row = table.states[state]
        for symbol in sorted(row):
            action, argument = row[symbol]
            if str(action) == "Shift" and argument not in numbers:
                numbers[argument] = len(numbers)
                waiting.append(argument)
    return numbers


def _encoded(rule: Any) -> list[Any]:
    symbols = rule.expansion
    origin = str(rule.origin.name)
    keep = [index for index, symbol in enumerate(symbols) if not (symbol.is_term and symbol.filter_out)]
    transparent = bool(rule.options.expand1) and rule.alias is None
    splices = any(str(symbol.name).startswith("_") for symbol in symbols if not symbol.is_term)
    return [origin, str(rule.alias or origin), len(symbols), keep, transparent, splices]


def _has_interegular() -> bool:
    """Lark's strict mode (no silent shift, no colliding terminals) needs this package."""
    from importlib.util import find_spec

    return find_spec("interegular") is not None


def encode(data: Mapping[str, Any]) -> str:
    """The text of the committed file: one rule or state a line, so that a change reads as a change."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(item) for item in value)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    TABLES.write_text(encode(build(GRAMMAR.read_text(encoding="utf-8"))), encoding="utf-8")
    sys.stdout.write(f"wrote {TABLES}\n")
