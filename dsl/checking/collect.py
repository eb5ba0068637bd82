"""Statements sorted by kind, and the names they declare: doubled ones are refused, the first stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from pdual.dsl import syntax
from pdual.dsl.checking.annotations import KINDS
from pdual.dsl.diagnostics import Collector, Label
from pdual.dsl.spans import Span

Node = TypeVar("Node")


@dataclass
class Statements:
    """The statements of a spec. Names in one namespace are unique here."""

    problem: syntax.Problem | None = None
    params: dict[str, syntax.Param] = field(default_factory=dict)
    sets: dict[str, syntax.SetDeclaration] = field(default_factory=dict)
    givens: dict[str, syntax.Given] = field(default_factory=dict)
    data: dict[str, syntax.Data] = field(default_factory=dict)
    models: dict[str, syntax.Model] = field(default_factory=dict)
    defs: dict[str, syntax.Def] = field(default_factory=dict)
    objectives: list[syntax.Minimize] = field(default_factory=list)
    averages: list[syntax.Constraint] = field(default_factory=list)
    duals: list[syntax.Dual] = field(default_factory=list)
    blocks: list[syntax.Over] = field(default_factory=list)
    expects: list[syntax.Expect] = field(default_factory=list)
    solve: syntax.Solve | None = None
    families: dict[str, Span] = field(default_factory=dict)  # the first constraint of each name
    values: dict[str, tuple[str, Span]] = field(default_factory=dict)  # what each top-level value is, and where

    @property
    def given_sets(self) -> set[str]:
        """The sets that givens bring."""
        return {name.name for given in self.givens.values() for name in given.sets}


def collect(spec: syntax.Spec, diagnostics: Collector) -> Statements:
    """Sort the statements of a spec."""
    statements = Statements()
    expects: dict[str, Span] = {}
    for statement in spec.statements:
        match statement:
            case syntax.Problem():
                statements.problem = statements.problem or statement
            case syntax.Param(name):
                _declare(name, "a parameter", statements, statements.params, statement, diagnostics)
            case syntax.Given(name):
                _declare(name, "a given", statements, statements.givens, statement, diagnostics)
            case syntax.Data(name):
                _declare(name, "a data set", statements, statements.data, statement, diagnostics)
            case syntax.Model(name):
                _declare(name, "a model", statements, statements.models, statement, diagnostics)
            case syntax.Def(name):
                _declare(name, "a function", statements, statements.defs, statement, diagnostics)
            case syntax.SetDeclaration(name):
                statements.sets.setdefault(name.name, statement)
            case syntax.Minimize():
                statements.objectives.append(statement)
            case syntax.SubjectTo(constraints):
                statements.averages.extend(constraints)
            case syntax.Dual():
                statements.duals.append(statement)
            case syntax.Over():
                statements.blocks.append(statement)
            case syntax.Expect(name):
                statements.expects.append(statement)
                _once(name, "an expectation", expects, diagnostics)
            case syntax.Solve():
                if statements.solve is not None:
                    diagnostics.add(
                        "PD117", statement.span, Label(statements.solve.span, "first"), what="a second `solve`"
                    )
                statements.solve = statements.solve or statement
            case syntax.Let() | syntax.Metric():
                word = "let" if isinstance(statement, syntax.Let) else "metric"
                diagnostics.add("PD117", statement.span, what=f"`{word}` outside any block", block="yes")
    _collect_sets(spec, diagnostics)
    for name in _constraint_names(spec):
        _once(name, "a constraint", statements.families, diagnostics)
    return statements


def _declare(
    name: syntax.Name, what: str, statements: Statements, table: dict[str, Node], node: Node, diagnostics: Collector
) -> None:
    earlier = statements.values.get(name.name)
    if earlier is not None:
        diagnostics.add("PD111", name.span, Label(earlier[1], "first"), name=name.name, what=earlier[0])
        return
    statements.values[name.name] = (what, name.span)
    table[name.name] = node


def _once(name: syntax.Name, what: str, seen: dict[str, Span], diagnostics: Collector) -> None:
    if name.name in seen:
        diagnostics.add("PD111", name.span, Label(seen[name.name], "first"), name=name.name, what=what)
    seen.setdefault(name.name, name.span)


def _collect_sets(spec: syntax.Spec, diagnostics: Collector) -> None:
    seen: dict[str, Span] = {}
    for statement in spec.statements:
        names: tuple[syntax.Name, ...] = ()
        if isinstance(statement, syntax.SetDeclaration):
            names = (statement.name,)
        elif isinstance(statement, syntax.Given):
            names = statement.sets
        for name in names:
            if name.name in KINDS:
                diagnostics.add("PD123", name.span, name=name.name)
            _once(name, "an index set", seen, diagnostics)


def _constraint_names(spec: syntax.Spec) -> Iterator[syntax.Name]:
    for statement in spec.statements:
        body = statement.body if isinstance(statement, syntax.Over) else (statement,)
        for item in body:
            if isinstance(item, syntax.SubjectTo):
                yield from (constraint.name for constraint in item.constraints)
