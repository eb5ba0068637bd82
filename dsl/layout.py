"""What a list of tokens shows before it is parsed: which brackets match, and where statements start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pdual.dsl.spans import LINE_END
from pdual.dsl.tree import END, Token

MOST_NESTED = 100  # brackets inside brackets; a formula in a paper has a handful

CLOSERS: Mapping[str, str] = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
OPENERS: Mapping[str, str] = {closer: opener for opener, closer in CLOSERS.items()}

BLOCK_STATEMENTS = ("LET", "MINIMIZE", "SUBJECT", "DUAL", "METRIC")
STATEMENTS = (
    *("PROBLEM", "PARAM", "SET", "GIVEN", "DATA", "MODEL", "DEF", "OVER", "EXPECT", "SOLVE"),
    *BLOCK_STATEMENTS,
)
EXPRESSION_STARTS = ("NAME", "NUMBER", "TEXT", "LPAR", "LSQB", "MINUS", "NOT")

# Where one of these stands before a keyword, no name can follow in its place.
_COMPLETE = frozenset({END, "NUMBER", "TEXT", "NAME", *OPENERS})

# After one of these, on the same line, a keyword is a name that was chosen badly and no statement.
_ASKS_FOR_A_NAME = frozenset(
    {
        *STATEMENTS,
        *("BY", "OF", "IN", "ON", "GROUP", "WHERE", "IF", "ELSE", "AND", "OR", "NOT", "SCALE"),
        *("LPAR", "LSQB", "COMMA", "COLON", "DOT", "EQUAL", "RELATION", "ARROW"),
        *("PLUS", "MINUS", "STAR", "SLASH", "CARET"),
    }
)

# ... unless the two tokens after it are those of the statement.
_AFTER_THE_NAME: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("PARAM", "SET", "GIVEN", "METRIC"), ("EQUAL",)),
    "DATA": ("EQUAL", "LBRACE"),
    "MODEL": ("EQUAL", "LPAR"),
    "DEF": ("LPAR",),
    "OVER": ("IN",),
    "EXPECT": ("ON",),
    "LET": ("EQUAL", "LSQB"),
    "DUAL": ("EQUAL", "COMMA", "DOT", "LSQB"),
}

# Words that are keywords in one place each and names everywhere else.
SOFT = frozenset({"SCALE", "ON", "BY", "OF", "GROUP", "IN", "FROM", "TO", "GRAPH", "SUBJECT"})


def is_word(token: Token) -> bool:
    """Whether a token is spelled like a name, keywords included."""
    return token.text[:1].isalpha() or token.text[:1] == "_"


def fits(token: Token, following: Token) -> bool:
    """Whether a keyword can be meant as one, judged by the token after it."""
    match token.kind:
        case "TO":
            return True  # only `subject` stands before it
        case "SUBJECT":
            return following.kind == "TO"
        case "SOLVE" | "GRAPH":
            return following.kind == "LBRACE"
        case "FROM":
            return following.kind == "TEXT"
        case "LET":
            return is_word(following) or following.kind == "LPAR"
        case "IN":
            return is_word(following) or following.kind == "LSQB"
        case "GROUP":
            return is_word(following) and following.kind != "IN"
        case "MINIMIZE" | "SCALE":
            return is_word(following) or following.kind in EXPRESSION_STARTS
        case _:
            return is_word(following)


class Layout(NamedTuple):
    """The result of ``survey``; tokens are meant by their position in the list."""

    closers: Mapping[Token, int]  # of every bracket that is closed, the token that closes it
    starts: frozenset[int]  # tokens that start a statement
    too_deep: int | None  # the first bracket that is nested too deep; the rest was not surveyed


def survey(tokens: Sequence[Token], text: str) -> Layout:
    """Match the brackets of a file and find where its statements start."""
    closers: dict[Token, int] = {}
    starts: set[int] = set()
    open_brackets: list[int] = []
    heads: list[str] = []  # of each open bracket, the statement it belongs to
    statement = ""
    for index, token in enumerate(tokens):
        if token.kind in CLOSERS:
            open_brackets.append(index)
            heads.append(statement)
            if len(open_brackets) > MOST_NESTED:
                return Layout(closers, frozenset(starts), index)
        elif token.kind in OPENERS:
            _close(tokens, open_brackets, heads, index, closers)
        elif token.kind in STATEMENTS and _starts_statement(tokens, index, open_brackets, heads, text):
            starts.add(index)
            statement = token.kind
            # No statement stands inside round or square brackets: those still open were never closed.
            while open_brackets and tokens[open_brackets[-1]].kind != "LBRACE":
                open_brackets.pop()
                heads.pop()
    return Layout(closers, frozenset(starts), None)


def _close(
    tokens: Sequence[Token], open_brackets: list[int], heads: list[str], index: int, closers: dict[Token, int]
) -> None:
    """Match a closing bracket with the innermost open one of its kind; what is open inside stays open."""
    opener = OPENERS[tokens[index].kind]
    for height in range(len(open_brackets) - 1, -1, -1):
        kind = tokens[open_brackets[height]].kind
        if kind == opener:
            closers[tokens[open_brackets[height]]] = index
            del open_brackets[height:], heads[height:]
            return
        if kind == "LBRACE":
            return


def _starts_statement(
    tokens: Sequence[Token], index: int, open_brackets: Sequence[int], heads: Sequence[str], text: str
) -> bool:
    token, following = tokens[index], tokens[index + 1]  # the last token is END
    before = tokens[index - 1].kind if index else END
    inside_braces = bool(open_brackets) and tokens[open_brackets[-1]].kind == "LBRACE"
    head = heads[-1] if inside_braces else ""
    if not fits(token, following):
        # `param = 3` after something complete: the name is missing, for a setting stands inside braces.
        return following.kind == "EQUAL" and before in _COMPLETE and head in ("", "OVER")
    # `over data in d`, `2 * set`, `sum[model in s]`: on the same line something asks for a name.
    if before in _ASKS_FOR_A_NAME and LINE_END.search(text, tokens[index - 1].span.end, token.span.start) is None:
        return tokens[min(index + 2, len(tokens) - 1)].kind in _AFTER_THE_NAME.get(token.kind, ())
    # `set bus, gen` inside the braces of a `given` lists its sets.
    lists_sets = token.kind == "SET" and head == "GIVEN" and not _defines_set(tokens, index)
    return before != "DOT" and not lists_sets


def _defines_set(tokens: Sequence[Token], index: int) -> bool:
    return index + 2 < len(tokens) and tokens[index + 2].kind == "EQUAL"
