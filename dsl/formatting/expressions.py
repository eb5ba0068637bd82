"""The layout of expressions.

Operators have a blank on either side, but ``^``, which binds tightest, has none. What is too long breaks outermost
first: at the operators of a formula, each of which then starts a line, or at the brackets of a call, each argument
then on a line of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pdual.dsl.formatting.document import Choice, Doc, Edge, Group, Hang, Line, Parts, nest, row
from pdual.dsl.formatting.lossless import Written
from pdual.dsl.tree import Branch, Token, Tree

STEP = 2
# Operators that stand in one chain with others; `^` is written without blanks and never breaks.
_CHAINS = {"+": "+-", "-": "+-", "*": "*/", "/": "*/", "or": "or", "and": "and"}


class Expressions:
    """Builds the layout of expressions, from the tree that holds every token."""

    def __init__(self, text: Written) -> None:
        self._text = text

    def end(self, branch: Branch) -> int:
        """The gap after a token or tree."""
        while isinstance(branch, Tree):
            branch = branch.children[-1]
        return self._text.position[branch.span.start]

    def of(self, branch: Branch, step: int = STEP) -> Parts:
        """An expression or a part of one; ``step`` indents further operands where the first one starts its line."""
        if isinstance(branch, Token):
            return (branch.text,)
        children = branch.children
        match branch.label:
            case "name" | "number" | "text" | "positional":
                return self.of(children[0], step)
            case "named":
                return row(word(children[0]), " = ", self.of(children[2]))
            case "member":
                return row(self.of(children[0]), ".", word(children[2]))
            case "unary":
                blank = "" if word(children[0]) == "-" else " "
                return row(word(children[0]), blank, self.of(children[1]))
            case "call":
                return row(self.of(children[0]), self.bracketed(children[1:]))
            case "subscript":
                return row(self.of(children[0]), self.bracketed(children[1:], trailing=False))
            case "list":
                return self.bracketed(children)
            case "atom" | "binders" | "axes" | "dual_indices" | "taken_apart":
                return self.bracketed(children, trailing=False)
            case "binder":
                where = [nest(Line(self.end(children[2])), self.of(children[3]))] if len(children) > 3 else []
                return row(Group(word(children[0]), " in ", self.of(children[2]), *where))
            case "where":
                return row("where ", self.of(children[1]))
            case "conditional":
                return self._conditional(branch, step)
            case "binary" | "compare":
                return self._operation(branch, step)
        raise AssertionError(f"no layout for `{branch.label}`")

    def bracketed(
        self,
        parts: Sequence[Branch],
        *,
        trailing: bool = True,
        inside: str = "",
        layout: Callable[[Branch], Parts] | None = None,
    ) -> Parts:
        """``(a, b)`` in brackets of any kind.

        What does not fit stands on a line of its own between the brackets, and where that is too long as well, a part a
        line, with a comma after the last where one may stand.
        """
        opener, *inner, closer = parts
        items = [item for part in inner for item in _listed(part)]
        if not items:
            return row(Group(word(opener), Line(self.end(opener), flat="", edge=Edge.CLOSE), word(closer)))
        first = Line(self.end(opener), flat=inside, edge=Edge.OPEN)
        last = Line(self.end(items[-1]), flat=inside, edge=Edge.CLOSE)
        comma = (Choice("", ","),) if trailing else ()
        content = Group(self.listed(items, layout or (lambda item: self.of(item, step=0))), *comma)
        content.include(last.after)  # a comment after the last part is about that part alone
        return row(Group(word(opener), nest(first, content), last, word(closer)))

    def listed(self, items: Sequence[Branch], layout: Callable[[Branch], Parts]) -> Parts:
        """``a, b`` without a comma at the end; a line may end after each comma."""
        found: list[Doc] = []
        for item in items:
            if is_comma(item):
                found += [",", Line(self.end(item))]
            else:
                found += layout(item)
        if is_comma(items[-1]):
            del found[-2:]
        return tuple(found)

    def _conditional(self, tree: Tree, step: int) -> Parts:
        """``a if b`` and, each on its line, ``else c if d`` and ``else e``."""
        found: list[Doc] = []
        rest: Branch = tree
        while isinstance(rest, Tree) and rest.label == "conditional":
            then, _, condition, _, otherwise = rest.children
            found += [*self.of(then), " if ", *self.of(condition), Line(self.end(condition)), "else "]
            rest = otherwise
        return row(Group(Hang(row(*found, self.of(rest)), len("else "), step)))

    def _operation(self, tree: Tree, step: int) -> Parts:
        """A chain of operators that bind alike; where it breaks, each starts a line."""
        kind = word(tree.children[1])
        if kind == "^":
            base, _, exponent = tree.children
            return row(self.of(base), "^", self.of(exponent))
        chain = _chain(tree)
        operators = [word(operator) for operator in chain[1::2]]
        found: list[Doc] = [*self.of(chain[0])]
        for operator, before, operand in zip(operators, chain[::2], chain[2::2], strict=False):
            found += [Line(self.end(before)), operator, " ", *self.of(operand)]
        return row(Group(Hang(tuple(found), max(map(len, operators)) + 1, step)))


def word(branch: Branch) -> str:
    """The text of a token."""
    assert isinstance(branch, Token)
    return branch.text


def is_comma(branch: Branch) -> bool:
    """Whether a comma stands here."""
    return isinstance(branch, Token) and branch.kind == "COMMA"


def _listed(part: Branch) -> Sequence[Branch]:
    return part.children if isinstance(part, Tree) and part.label == "arguments" else [part]


def _chain(tree: Tree) -> list[Branch]:
    """Operands and operators by turns, without recursion: a long sum leans to the left."""
    if tree.label == "compare":
        return list(tree.children)
    kind = _CHAINS[word(tree.children[1])]
    found: list[Branch] = []
    left: Branch = tree
    while isinstance(left, Tree) and left.label == "binary" and _CHAINS.get(word(left.children[1])) == kind:
        left, operator, operand = left.children
        found += [operand, operator]
    return [left, *reversed(found)]
