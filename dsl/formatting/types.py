"""The layout of fields and types, and of the braces that hold fields or settings."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.formatting.alignment import Row, Rows
from pdual.dsl.formatting.document import Choice, Doc, Edge, Group, Line, Pad, Parts, nest, row
from pdual.dsl.formatting.expressions import Expressions, is_comma, word
from pdual.dsl.formatting.lossless import Written
from pdual.dsl.tree import Branch, Tree


class Types(Expressions):
    """Expressions, types, and what stands in braces."""

    def __init__(self, text: Written, rows: Rows) -> None:
        super().__init__(text)
        self._rows = rows

    def type(self, tree: Branch) -> Parts:
        """``complex[bus]``, ``{ v: real }``, ``graph { node: real }``, with its bounds."""
        assert isinstance(tree, Tree)
        if tree.label in ("record_type", "graph_type"):
            *head, opener = tree.children[: 1 if tree.label == "record_type" else 2]
            words = [f"{word(item)} " for item in head]
            return row(*words, self.braces([opener, *tree.children[len(head) + 1 :]], commas=True))
        element, *parts = tree.children
        found: list[Doc] = [word(element)]
        for part in parts:
            assert isinstance(part, Tree)
            found += [" ", *self.interval(part)] if part.label == "interval" else self.of(part)
        return tuple(found)

    def interval(self, tree: Tree) -> Parts:
        """``in [lo, hi]``."""
        return row("in ", self.bracketed(tree.children[1:], trailing=False))

    def parameter(self, tree: Branch) -> Parts:
        """``x: real[2]``."""
        assert isinstance(tree, Tree)
        return row(word(tree.children[0]), ": ", self.type(tree.children[2]))

    def braces(self, parts: Sequence[Branch], commas: bool = False) -> Parts:
        """Fields, settings and listed sets: on one line where commas stand between them all, else one a line.

        A type (``commas``) may be written on one line in any case. Lines need no commas, and have none.
        """
        opener, *inner, closer = parts
        if not inner:
            return row(Group(word(opener), Line(self.end(opener), flat="", edge=Edge.CLOSE), word(closer)))
        together = commas or sum(map(is_comma, inner[:-1])) == sum(isinstance(item, Tree) for item in inner) - 1
        rows: list[Row] = []
        found: list[Doc] = []
        before = self.end(opener)
        for item in inner:
            if isinstance(item, Tree):
                edge = Edge.BETWEEN if found else Edge.OPEN
                comma = [Choice(",", "")] if found else []
                found += [*comma, Line(before, hard=not together, edge=edge, paragraphs=True)]
                found += self._entry(item, before, rows)
            before = self.end(item)
        self._rows.append(rows)
        return row(Group(word(opener), nest(*found), Line(before, edge=Edge.CLOSE, paragraphs=True), word(closer)))

    def _entry(self, tree: Tree, before: int, rows: list[Row]) -> Parts:
        pad = Pad()
        if tree.label == "given_sets":
            rows.append(Row(tree.label, before, ()))
            return row("set ", Group(nest(self.listed(tree.children[1:], self.of))))
        if tree.label == "setting":
            name = word(tree.children[0])
            rows.append(Row(tree.label, before, (((name,), pad),)))
            return row(name, pad, " = ", self.of(tree.children[2]))
        names, _, kind, *column = tree.children
        assert isinstance(names, Tree)
        head = row(Group(nest(self.listed(names.children, self.of))), ":")
        rows.append(Row(tree.label, before, ((head, pad),)))
        columns: list[Doc] = []
        for item in column:
            assert isinstance(item, Tree)
            columns.append(nest(Line(self.end(kind)), f"{word(item.children[0])} {word(item.children[1])}"))
        return row(head, pad, " ", Group(*self.type(kind), *columns))
