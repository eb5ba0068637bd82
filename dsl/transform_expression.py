"""The tree of the grammar to the nodes of ``syntax``: expressions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

from pdual.dsl import syntax
from pdual.dsl.diagnostics import Collector
from pdual.dsl.spans import Span
from pdual.dsl.tree import Token, Tree

_ESCAPE = re.compile(r"\\(.)")
_ESCAPES: Mapping[str, str] = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}


class StatementError(Exception):
    """The statement holds a mistake, which the collector has."""


class Expressions:
    """Builds expressions; what the tree shows to be wrong is reported and raised as ``StatementError``."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._builders: Mapping[str, Callable[[Tree], syntax.Expression]] = {
            "name": lambda tree: name_of(_token(tree, 0)),
            "number": lambda tree: self.number(_token(tree, 0)),
            "text": lambda tree: self.text(_token(tree, 0)),
            "member": self._member,
            "subscript": self._index,
            "call": self._call,
            "unary": self._unary,
            "binary": self._binary,
            "compare": self._compare,
            "conditional": self._conditional,
            "list": self._list,
        }

    def of(self, tree: Tree) -> syntax.Expression:
        """The expression a tree stands for."""
        return self._builders[tree.label](tree)

    def number(self, token: Token) -> syntax.Number:
        """``20_000``, ``1e-4``, ``1%``."""
        digits = token.text.rstrip("%").replace("_", "")
        integer = token.text.replace("_", "").isdigit()
        # A percentage is divided rather than scaled, so that 7% is the number nearest to 0.07.
        value = float(digits) / 100 if token.text.endswith("%") else float(digits)
        if math.isinf(value):
            raise self._mistake("PD026", token.span, number=token.text)
        return syntax.Number(value, integer, span=token.span)

    def whole_number(self, token: Token) -> syntax.Number:
        """A size or an end of a range."""
        number = self.number(token)
        if not number.integer:
            raise self._mistake("PD029", token.span, number=token.text)
        return number

    def text(self, token: Token) -> syntax.Text:
        """The content of a text in quotes."""
        content = token.text[1:-1]
        for match in _ESCAPE.finditer(content):
            if match.group(1) not in _ESCAPES:
                start = token.span.start + 1 + match.start()
                raise self._mistake("PD024", Span(start, start + 2), escape=match.group())
        return syntax.Text(_ESCAPE.sub(lambda match: _ESCAPES[match.group(1)], content), span=token.span)

    def binders(self, tree: Tree | None) -> tuple[syntax.Binder, ...]:
        """``[i in S where c, j in T]``; none without the brackets."""
        return () if tree is None else tuple(map(self._binder, tree.trees()))

    def call(self, tree: Tree) -> syntax.Call:
        """A call that can only be one: a source or an architecture."""
        return syntax.Call(self.of(tree.trees()[0]), self._arguments(tree), span=tree.span)

    def _binder(self, tree: Tree) -> syntax.Binder:
        name = _token(tree, 0)
        where = tree.find("where")
        condition = None if where is None else self.of(where.trees()[0])
        return syntax.Binder(name.text, self.of(tree.trees()[0]), condition, name.span, span=tree.span)

    def _member(self, tree: Tree) -> syntax.Member:
        field = _token(tree, 1)
        return syntax.Member(self.of(tree.trees()[0]), field.text, field.span, span=tree.span)

    def _index(self, tree: Tree) -> syntax.Index:
        base, *indices = tree.trees()
        if any(index.label == "binder" for index in indices):
            raise self._mistake("PD022", tree.span)
        return syntax.Index(self.of(base), tuple(map(self.of, indices)), span=tree.span)

    def _call(self, tree: Tree) -> syntax.Call | syntax.Reduction:
        function = tree.trees()[0]
        if function.label == "subscript":
            return self._reduction(tree, function)
        if function.label not in ("name", "member"):
            raise self._mistake("PD023", function.span)
        return self.call(tree)

    def _reduction(self, tree: Tree, subscript: Tree) -> syntax.Reduction:
        base, *indices = subscript.trees()
        unbound = next((index for index in indices if index.label != "binder"), None)
        if unbound is not None and unbound.label == "name" and base.label == "name":
            raise self._mistake("PD009", unbound.span, name=_token(unbound, 0).text)
        if unbound is not None or base.label != "name":
            raise self._mistake("PD023", subscript.span)
        arguments = self._arguments(tree)
        if len(arguments) != 1 or arguments[0].name is not None:
            raise self._mistake("PD022", tree.span)
        name = _token(base, 0)
        binders = tuple(map(self._binder, indices))
        return syntax.Reduction(name.text, binders, arguments[0].value, name.span, span=tree.span)

    def _arguments(self, tree: Tree) -> tuple[syntax.Argument, ...]:
        arguments: list[syntax.Argument] = []
        listed = tree.find("arguments")
        for child in listed.trees() if listed is not None else ():
            value = self.of(child.trees()[0])
            name = _token(child, 0).text if child.label == "named" else None
            if name is None and arguments and arguments[-1].name is not None:
                raise self._mistake("PD025", child.span)
            arguments.append(syntax.Argument(name, value, span=child.span))
        return tuple(arguments)

    def _unary(self, tree: Tree) -> syntax.Unary:
        return syntax.Unary(_token(tree, 0).text, self.of(tree.trees()[0]), span=tree.span)

    def _binary(self, tree: Tree) -> syntax.Binary:
        left, right = tree.trees()
        return syntax.Binary(_token(tree, 1).text, self.of(left), self.of(right), span=tree.span)

    def _compare(self, tree: Tree) -> syntax.Compare:
        operators = tuple(token.text for token in tree.tokens("RELATION"))
        return syntax.Compare(operators, tuple(map(self.of, tree.trees())), span=tree.span)

    def _conditional(self, tree: Tree) -> syntax.Conditional:
        then, condition, otherwise = map(self.of, tree.trees())
        return syntax.Conditional(then, condition, otherwise, span=tree.span)

    def _list(self, tree: Tree) -> syntax.ListOf:
        return syntax.ListOf(tuple(map(self.of, tree.trees())), span=tree.span)

    def _mistake(self, code: str, span: Span, **facts: object) -> StatementError:
        self._collector.add(code, span, **facts)
        return StatementError()


def name_of(token: Token) -> syntax.Name:
    """A token as the name it spells."""
    return syntax.Name(token.text, span=token.span)


def names_of(tree: Tree) -> tuple[syntax.Name, ...]:
    """The names that stand directly in a tree."""
    return tuple(map(name_of, tree.tokens("NAME")))


def _token(tree: Tree, index: int) -> Token:
    token = tree.children[index]
    assert isinstance(token, Token)
    return token
