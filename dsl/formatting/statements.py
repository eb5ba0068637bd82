"""The layout of statements and blocks: a statement a line, or its parts where the lines are too many for one."""

from __future__ import annotations

from collections.abc import Sequence

from pdual.dsl.formatting.alignment import Row
from pdual.dsl.formatting.document import INDENT, Doc, Edge, Group, Line, Pad, Parts, nest, row
from pdual.dsl.formatting.expressions import word
from pdual.dsl.formatting.types import Types
from pdual.dsl.tree import Branch, Tree

#: Statements with a name, `=` and a value, whose `=` are aligned.
_ASSIGNMENTS = frozenset({"param", "set_declaration", "def", "let", "dual", "metric"})


class Statements(Types):
    """Builds the layout of a whole spec."""

    def spec(self, tree: Tree) -> Parts:
        """Every statement."""
        return self._sequence(tree.children, -1, 0)

    def _sequence(self, statements: Sequence[Branch], before: int, indent: int) -> Parts:
        """Statements, a line each, with their columns."""
        found: list[Doc] = []
        rows: list[Row] = []
        for statement in statements:
            assert isinstance(statement, Tree)
            if found:
                found.append(Line(before, hard=True, paragraphs=True))
            content, cells = self._statement(statement, indent)
            # A parameter is aligned whatever becomes of its value; the others where they stand on one line.
            whole = None if statement.label == "param" else content
            rows.append(Row(statement.label if cells else "", before, cells, whole, indent))
            found += content
            before = self.end(statement)
        self._rows.append(rows)
        return tuple(found)

    def _statement(self, tree: Tree, indent: int) -> tuple[Parts, tuple[tuple[Parts, Pad], ...]]:
        """The layout of a statement, and what in it is aligned with its neighbours'."""
        parts = tree.children
        if tree.label in _ASSIGNMENTS:
            return self._assignment(tree)
        match tree.label:
            case "problem":
                return row("problem", *(f" {word(part)}" for part in parts[1:])), ()
            case "given" | "data":
                return self._structure(parts)
            case "model":
                return self._model(parts), ()
            case "over" | "over_group":
                words = [f"{word(part)} " for part in parts[:-1]]
                return row(*words, self._block(parts[-1], indent)), ()
            case "minimize":
                scale = [nest(Line(self.end(parts[1])), self.of_keyword(part)) for part in parts[2:]]
                return row("minimize ", Group(*self.of(parts[1]), *scale)), ()
            case "subject_to":
                return self._constraints(parts, indent), ()
            case "expect":
                head = row("expect ", word(parts[1]), " on ", word(parts[3]), ".", word(parts[5]), ":")
                return row(head, self._relation(parts[6], parts[7])), ()
            case "solve":
                settings = parts[1]
                assert isinstance(settings, Tree)
                return row("solve ", self.braces(settings.children)), ()
        raise AssertionError(f"no layout for `{tree.label}`")

    def _assignment(self, tree: Tree) -> tuple[Parts, tuple[tuple[Parts, Pad], ...]]:
        """``let x[i in S] = value``."""
        keyword, *parts = tree.children
        equals = next(index for index, part in enumerate(parts) if not isinstance(part, Tree) and part.kind == "EQUAL")
        head = row(f"{word(keyword)} ", self._target(tree.label, parts[:equals]))
        pad = Pad()
        value, *interval = parts[equals + 1 :]
        assert isinstance(value, Tree)
        content = self._value(value)
        bounds = [row(" ", self.interval(item)) for item in interval if isinstance(item, Tree)]
        return row(head, pad, " = ", content, *bounds), ((head, pad),)

    def _target(self, label: str, parts: Sequence[Branch]) -> Parts:
        if label == "dual":
            return row(Group(nest(self.listed(parts, self._dual_target))))
        found: list[Doc] = []
        for part in parts:
            parenthesised = isinstance(part, Tree) and part.label == "names_in_parentheses"
            found += self.bracketed(part.children) if isinstance(part, Tree) and parenthesised else self.of(part)
        return tuple(found)

    def _dual_target(self, branch: Branch) -> Parts:
        assert isinstance(branch, Tree)
        found: list[Doc] = []
        for part in branch.children:
            is_part = isinstance(part, Tree) and part.label == "dual_part"
            found += [f".{word(part.children[1])}"] if isinstance(part, Tree) and is_part else self.of(part)
        return tuple(found)

    def _value(self, tree: Tree) -> Parts:
        if tree.label == "range":
            low, dots, high = tree.children
            return row(self.of(low), word(dots), self.of(high))
        if tree.label == "members":
            return self.bracketed(tree.children, inside=" ")
        return self.of(tree)

    def _structure(self, parts: Sequence[Branch]) -> tuple[Parts, tuple[tuple[Parts, Pad], ...]]:
        """``data NAME = SOURCE { fields }``; neighbours align `=` and braces."""
        keyword, name, *rest = parts
        head = row(f"{word(keyword)} ", word(name))
        source = rest[0]
        if not isinstance(source, Tree):
            return row(head, " ", self.braces(rest)), ()
        braces = self.braces(rest[1:])
        call = row("= ", self.of(source.children[1]))
        before, after = Pad(), Pad()
        return row(head, before, " ", call, after, " ", braces), ((head, before), (call, after))

    def _model(self, parts: Sequence[Branch]) -> Parts:
        """A signature, and on a line of its own the architecture; without a signature all on one line."""
        _, name, *rest = parts
        found: list[Doc] = ["model ", word(name)]
        for part in rest:
            assert isinstance(part, Tree)
            if part.label == "signature":
                inputs, _, output = part.children
                assert isinstance(inputs, Tree)
                found += [*self.bracketed(inputs.children, layout=self.parameter), " -> ", *self.type(output)]
            elif part.label == "settings":
                found += [" ", *self.braces(part.children)]
            elif len(rest) > 1:
                found.append(nest(Line(self.end(rest[0]), hard=True), "= ", self.of(part.children[1])))
            else:
                found += [" = ", *self.of(part.children[1])]
        return tuple(found)

    def _block(self, tree: Branch, indent: int) -> Parts:
        assert isinstance(tree, Tree)
        opener, *statements, closer = tree.children
        if not statements:
            return row(Group("{", Line(self.end(opener), flat="", edge=Edge.CLOSE), "}"))
        first = Line(self.end(opener), hard=True, edge=Edge.OPEN, paragraphs=True)
        last = Line(self.end(statements[-1]), hard=True, edge=Edge.CLOSE, paragraphs=True)
        return row("{", nest(first, self._sequence(statements, self.end(opener), indent + INDENT)), last, word(closer))

    def _constraints(self, parts: Sequence[Branch], indent: int) -> Parts:
        """``subject to``, and its constraints, each on its line."""
        rows: list[Row] = []
        found: list[Doc] = []
        before = self.end(parts[1])
        for part in parts[2:]:
            assert isinstance(part, Tree)
            edge = Edge.BETWEEN if found else Edge.OPEN
            head, colon, relation = part.children
            pad = Pad()
            label = row(self._head(head), ":")
            content = row(label, pad, self._relation(colon, relation))
            rows.append(Row("constraint", before, ((label, pad),), content, indent + INDENT))
            found += [Line(before, hard=True, edge=edge, paragraphs=True), *content]
            before = self.end(part)
        self._rows.append(rows)
        return row("subject to", nest(*found))

    def _head(self, tree: Branch) -> Parts:
        """``NAME[i in S] scale EXPR``."""
        assert isinstance(tree, Tree)
        name, *parts = tree.children
        found: list[Doc] = [word(name)]
        for part in parts:
            assert isinstance(part, Tree)
            found += [" ", *self.of_keyword(part)] if part.label == "scale" else self.of(part)
        return tuple(found)

    def of_keyword(self, tree: Branch) -> Parts:
        """``scale EXPR``."""
        assert isinstance(tree, Tree)
        return row(f"{word(tree.children[0])} ", self.of(tree.children[1]))

    def _relation(self, colon: Branch, relation: Branch) -> Parts:
        return row(Group(nest(Line(self.end(colon)), self.of(relation))))
