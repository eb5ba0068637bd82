"""The tree of the grammar to the nodes of ``syntax``: statements, fields and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from pdual.dsl import syntax
from pdual.dsl.diagnostics import Collector
from pdual.dsl.transform_expression import Expressions, StatementError, name_of, names_of
from pdual.dsl.tree import Token, Tree, height

MOST_HEIGHT = 200  # of a statement's tree: what walks it by recursion stays within Python's limit
_FLAT = (
    50  # characters in which no tree is higher: each of them stands in four nodes at most that begin and end with it
)


def is_tall(tree: Tree) -> bool:
    """Whether a statement is nested too deep to be built."""
    return tree.span.end - tree.span.start > _FLAT and height(tree) > MOST_HEIGHT


def build(tree: Tree, collector: Collector) -> syntax.Spec:
    """The spec; a statement with a mistake in it goes to the collector and not into the spec."""
    statements = _Statements(collector)
    read = tuple(node for child in tree.trees() if (node := statements.statement(child)) is not None)
    return syntax.Spec(read, span=tree.span)


class _Statements:
    def __init__(self, collector: Collector) -> None:
        self._collector = collector
        self._expression = Expressions(collector)
        self._builders: Mapping[str, Callable[[Tree], syntax.Statement]] = {
            "problem": self._problem,
            "param": self._param,
            "set_declaration": self._set,
            "given": self._given,
            "data": self._data,
            "model": self._model,
            "def": self._def,
            "let": self._let,
            "minimize": self._minimize,
            "subject_to": self._subject_to,
            "dual": self._dual,
            "metric": self._metric,
            "over": self._over,
            "over_group": self._over,
            "expect": self._expect,
            "solve": self._solve,
        }

    def statement(self, tree: Tree) -> syntax.Statement | None:
        """One statement, or None after a mistake in it."""
        if tree.label not in ("over", "over_group", "subject_to") and is_tall(tree):
            self._collector.add("PD034", tree.span, limit=MOST_HEIGHT)
            return None
        try:
            return self._builders[tree.label](tree)
        except StatementError:
            return None

    # --- statements --------------------------------------------------------------------------------------

    def _problem(self, tree: Tree) -> syntax.Problem:
        titles = [self._expression.text(token).value for token in tree.tokens("TEXT")]
        return syntax.Problem(_name(tree), *titles, span=tree.span)

    def _param(self, tree: Tree) -> syntax.Param:
        value = self._expression.of(_branch(tree, 1))
        return syntax.Param(_name(tree), value, self._interval(tree), span=tree.span)

    def _set(self, tree: Tree) -> syntax.SetDeclaration:
        value = _branch(tree, 1)
        if value.label == "members":
            return syntax.SetDeclaration(_name(tree), members=names_of(value), span=tree.span)
        low, high = map(self._end, value.trees())
        return syntax.SetDeclaration(_name(tree), low, high, span=tree.span)

    def _end(self, tree: Tree) -> syntax.Expression:
        if tree.label == "number":
            return self._expression.whole_number(tree.tokens("NUMBER")[0])
        return self._expression.of(tree)

    def _given(self, tree: Tree) -> syntax.Given:
        source = self._source(tree)
        assert source is not None, "the grammar asks for the source of a given"
        listed = (child for child in tree.trees() if child.label == "given_sets")
        sets = tuple(name for child in listed for name in names_of(child))
        return syntax.Given(_name(tree), source, sets, self._fields(tree), span=tree.span)

    def _data(self, tree: Tree) -> syntax.Data:
        settings = self._settings(tree)
        return syntax.Data(_name(tree), self._source(tree), self._fields(tree), settings, span=tree.span)

    def _model(self, tree: Tree) -> syntax.Model:
        parameters: tuple[syntax.Parameter, ...] | None = None
        output: syntax.TypeName | None = None
        signature = tree.find("signature")
        if signature is not None:
            inputs, result = signature.trees()
            parameters = tuple(map(self._parameter, inputs.trees()))
            output = self._type(result)
        settings = tree.find("settings")
        return syntax.Model(
            _name(tree),
            parameters,
            output,
            self._source(tree),
            self._settings(settings) if settings is not None else (),
            span=tree.span,
        )

    def _def(self, tree: Tree) -> syntax.Def:
        names, body = tree.trees()
        parameters = tuple(syntax.Parameter(name, None, span=name.span) for name in names_of(names))
        return syntax.Def(_name(tree), parameters, self._expression.of(body), span=tree.span)

    def _let(self, tree: Tree) -> syntax.Let:
        apart = tree.find("taken_apart")
        names = names_of(tree if apart is None else apart)
        value = self._expression.of(_branch(tree, -1))
        return syntax.Let(names, self._expression.binders(tree.find("binders")), value, span=tree.span)

    def _minimize(self, tree: Tree) -> syntax.Minimize:
        return syntax.Minimize(self._expression.of(_branch(tree, 0)), self._scale(tree), span=tree.span)

    def _subject_to(self, tree: Tree) -> syntax.SubjectTo:
        constraints = []
        for child in tree.trees():
            try:
                constraints.append(self._constraint(child))
            except StatementError:
                continue
        if not constraints:
            raise StatementError
        return syntax.SubjectTo(tuple(constraints), span=tree.span)

    def _constraint(self, tree: Tree) -> syntax.Constraint:
        if is_tall(tree):
            self._collector.add("PD034", tree.span, limit=MOST_HEIGHT)
            raise StatementError
        head, relation = tree.trees()
        return syntax.Constraint(
            _name(head),
            self._expression.binders(head.find("binders")),
            self._expression.of(relation),
            self._scale(head),
            span=tree.span,
        )

    def _dual(self, tree: Tree) -> syntax.Dual:
        *targets, value = tree.trees()
        return syntax.Dual(tuple(map(_dual_target, targets)), self._expression.of(value), span=tree.span)

    def _metric(self, tree: Tree) -> syntax.Metric:
        return syntax.Metric(_name(tree), self._expression.of(_branch(tree, 1)), span=tree.span)

    def _over(self, tree: Tree) -> syntax.Over:
        row, data, *by = names_of(tree)
        body = tuple(
            cast(syntax.BlockStatement, node)
            for child in _branch(tree, -1).trees()
            if (node := self.statement(child)) is not None
        )
        return syntax.Over(row, data, by[0] if by else None, body, span=tree.span)

    def _expect(self, tree: Tree) -> syntax.Expect:
        name, data, split = names_of(tree)
        return syntax.Expect(name, data, split, self._expression.of(_branch(tree, -1)), span=tree.span)

    def _solve(self, tree: Tree) -> syntax.Solve:
        return syntax.Solve(self._settings(_branch(tree, 0)), span=tree.span)

    # --- parts of statements -----------------------------------------------------------------------------

    def _source(self, tree: Tree) -> syntax.Call | None:
        source = tree.find("source")
        return None if source is None else self._expression.call(_branch(source, 0))

    def _scale(self, tree: Tree) -> syntax.Expression | None:
        scale = tree.find("scale")
        return None if scale is None else self._expression.of(_branch(scale, 0))

    def _settings(self, tree: Tree) -> tuple[syntax.Setting, ...]:
        return tuple(
            syntax.Setting(_name(child), self._expression.of(_branch(child, 1)), span=child.span)
            for child in tree.trees()
            if child.label == "setting"
        )

    def _interval(self, tree: Tree) -> syntax.Interval | None:
        interval = tree.find("interval")
        if interval is None:
            return None
        low, high = map(self._expression.of, interval.trees())
        return syntax.Interval(low, high, span=interval.span)

    # --- fields and types --------------------------------------------------------------------------------

    def _parameter(self, tree: Tree) -> syntax.Parameter:
        return syntax.Parameter(_name(tree), self._type(_branch(tree, 1)), span=tree.span)

    def _fields(self, tree: Tree) -> tuple[syntax.FieldDeclaration, ...]:
        return tuple(self._field(child) for child in tree.trees() if child.label == "field")

    def _field(self, tree: Tree) -> syntax.FieldDeclaration:
        names, kind = tree.trees()[:2]
        column = tree.find("column")
        title = None if column is None else self._expression.text(column.tokens("TEXT")[0]).value
        return syntax.FieldDeclaration(names_of(names), self._type(kind), title, span=tree.span)

    def _type(self, tree: Tree) -> syntax.TypeName:
        if tree.label == "record_type":
            return syntax.RecordTypeName(self._fields(tree), span=tree.span)
        if tree.label == "graph_type":
            return syntax.GraphTypeName(self._fields(tree), span=tree.span)
        axes = tree.find("axes")
        return syntax.ArrayTypeName(
            tree.tokens("NAME")[0].text,
            () if axes is None else tuple(map(self._axis, axes.trees())),
            self._interval(tree),
            span=tree.span,
        )

    def _axis(self, tree: Tree) -> syntax.Name | syntax.Number:
        (token,) = tree.children
        assert isinstance(token, Token)
        return name_of(token) if tree.label == "name" else self._expression.whole_number(token)


def _name(tree: Tree) -> syntax.Name:
    """The name a statement or a part of it declares: its first."""
    return name_of(tree.tokens("NAME")[0])


def _branch(tree: Tree, index: int) -> Tree:
    child = tree.children[index]
    assert isinstance(child, Tree)
    return child


def _dual_target(tree: Tree) -> syntax.DualTarget:
    part = tuple(_name(child) for child in tree.trees() if child.label == "dual_part")
    indices = tree.find("dual_indices")
    return syntax.DualTarget(_name(tree), part, () if indices is None else names_of(indices), span=tree.span)
