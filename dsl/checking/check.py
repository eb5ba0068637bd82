"""The checker: from the tree as written to the typed spec. ``check`` is the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pdual.dsl import syntax
from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.checking.blocks import check_block, check_objective
from pdual.dsl.checking.closing import check_average, check_expect, check_solve, report_unused
from pdual.dsl.checking.entities import (
    AmbiguousEntity,
    BrokenEntity,
    DataEntity,
    DefEntity,
    Entity,
    GivenEntity,
    GivenFieldEntity,
    ModelEntity,
    ParamEntity,
)
from pdual.dsl.checking.expressions import type_expression
from pdual.dsl.checking.models import check_models, declare_ragged
from pdual.dsl.checking.params import Overrides, check_override_names, check_param
from pdual.dsl.checking.scope import Context, Named, Place, Scope
from pdual.dsl.checking.sources import check_data, check_given
from pdual.dsl.diagnostics import Collector, Diagnostic, Label, Severity
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedAverage, TypedBlock, TypedExpect, TypedObjective, TypedSet, TypedSpec

S = TypeVar("S", bound=syntax.Node)


@dataclass
class _Checker:
    """A spec while it is checked."""

    spec: syntax.Spec
    scope: Scope
    names: dict[str, Named]

    def of(self, kind: type[S]) -> list[S]:
        """The statements of one kind, in order."""
        return [item for item in self.spec.statements if isinstance(item, kind)]

    def declare(self, name: syntax.Name, entity: Entity, what: str) -> bool:
        """Give a value its name; False where the name is taken."""
        first = self.names.get(name.name)
        if first is not None:
            label = Label(first.span, "first")
            self.scope.found.add("PD111", name.span, label, name=name.name, what=what)
            return False
        self.names[name.name] = Named(entity, name.span)
        return True


def check(
    spec: syntax.Spec, source: Source, overrides: Overrides | None = None
) -> tuple[TypedSpec | None, tuple[Diagnostic, ...]]:
    """The typed spec, and every mistake and warning; None instead of the spec where there is an error.

    ``overrides`` are values of parameters (``--set``), numbers or texts that spell them.
    """
    names: dict[str, Named] = {}
    context = Context(Collector(), type_expression)
    checker = _Checker(spec, Scope(context, Place.CONSTANT, names), names)
    _params(checker, overrides or {})
    _sets(checker)
    _givens(checker)
    _data(checker)
    _models(checker)
    _defs(checker)
    blocks = _blocks(checker)
    objectives = _objectives(checker)
    averages = _averages(checker)
    expects = _expects(checker)
    solve = check_solve(checker.of(syntax.Solve), checker.scope)
    _purpose(checker, blocks, objectives, averages)
    if not _errors(context.found):
        report_unused(spec, checker.scope)
    found = context.found.diagnostics
    if any(CATALOGUE[item.code].severity is Severity.ERROR for item in found):
        return None, found
    problem = checker.of(syntax.Problem)
    tables = context.tables
    return TypedSpec(
        name=problem[0].name.name if problem else source.name,
        title=problem[0].title if problem else "",
        params=tuple(tables.params.values()),
        sets=tuple(tables.sets.values()),
        givens=tuple(tables.givens.values()),
        data=tuple(tables.data.values()),
        models=tuple(tables.models.values()),
        objectives=objectives,
        averages=averages,
        blocks=blocks,
        expects=expects,
        solve=solve,
        source=source,
    ), found


def _errors(found: Collector) -> bool:
    return any(CATALOGUE[item.code].severity is Severity.ERROR for item in found)


def _params(checker: _Checker, overrides: Mapping[str, float | int | str]) -> None:
    nodes = checker.of(syntax.Param)
    check_override_names(overrides, {node.name.name: node for node in nodes}, checker.scope)
    for node in nodes:
        param = check_param(node, overrides, checker.scope)
        if param is None:
            checker.declare(node.name, BrokenEntity(), "a param")
        elif checker.declare(node.name, ParamEntity(param), "a param"):
            checker.scope.context.tables.params[param.name] = param


def _sets(checker: _Checker) -> None:
    sets = checker.scope.context.tables.sets
    for node in checker.of(syntax.SetDeclaration):
        name = node.name.name
        if name in sets:
            label = Label(sets[name].span, "first")
            checker.scope.found.add("PD111", node.name.span, label, name=name, what="a set")
            continue
        sets[name] = TypedSet(name, _labels(node, checker.scope), None, node.name.span)


def _labels(node: syntax.SetDeclaration, scope: Scope) -> tuple[str, ...]:
    if node.low is None or node.high is None:
        seen: dict[str, syntax.Name] = {}
        for member in node.members:
            if member.name in seen:
                label = Label(seen[member.name].span, "first")
                scope.found.add("PD111", member.span, label, name=member.name, what="a member")
            seen.setdefault(member.name, member)
        return tuple(seen)
    low, high = node.low, node.high
    if not low.integer or not high.integer or high.value < low.value:
        found = f"{low.value:g}..{high.value:g}"
        scope.found.add("PD276", low.span.to(high.span), name=node.name.name, found=found)
        return ("0",)
    return tuple(str(number) for number in range(int(low.value), int(high.value) + 1))


def _givens(checker: _Checker) -> None:
    bare: dict[str, list[tuple[str, Named]]] = {}
    for node in checker.of(syntax.Given):
        given = check_given(node, checker.scope)
        if not checker.declare(node.name, GivenEntity(given), "a given"):
            continue
        checker.scope.context.tables.givens[given.name] = given
        for item in given.fields:
            named = Named(GivenFieldEntity(given.name, item), item.span)
            bare.setdefault(item.name, []).append((given.name, named))
    for name, owners in bare.items():
        if len(owners) > 1:
            spans = tuple((owner, named.span) for owner, named in owners)
            checker.names.setdefault(name, Named(AmbiguousEntity(spans), owners[0][1].span))
        else:
            checker.declare(syntax.Name(name, span=owners[0][1].span), owners[0][1].entity, "a field")


def _data(checker: _Checker) -> None:
    for node in checker.of(syntax.Data):
        data = check_data(node, checker.scope)
        if checker.declare(node.name, DataEntity(data), "a data set"):
            checker.scope.context.tables.data[data.name] = data


def _models(checker: _Checker) -> None:
    nodes = checker.of(syntax.Model)
    declare_ragged(iter(nodes), checker.scope.context)
    wanted: dict[str, syntax.Model] = {}
    for node in nodes:
        if checker.declare(node.name, BrokenEntity(), "a model"):
            wanted[node.name.name] = node
    check_models(wanted, checker.scope)
    for name, model in checker.scope.context.tables.models.items():
        checker.names[name] = Named(ModelEntity(model), wanted[name].name.span)


def _defs(checker: _Checker) -> None:
    for node in checker.of(syntax.Def):
        checker.declare(node.name, DefEntity(node), "a function")


def _blocks(checker: _Checker) -> tuple[TypedBlock, ...]:
    duals: Sequence[syntax.Dual] = checker.of(syntax.Dual)
    blocks = [check_block(node, duals, checker.scope) for node in checker.of(syntax.Over)]
    families = checker.scope.context.tables.families
    for dual in duals:
        for target in dual.targets:
            if target.family.name not in families:
                there = ", ".join(f"`{name}`" for name in families) or None
                checker.scope.found.add("PD401", target.family.span, name=target.family.name, there=there)
    return tuple(block for block in blocks if block is not None)


def _objectives(checker: _Checker) -> tuple[TypedObjective, ...]:
    scope = checker.scope.at(Place.OBJECTIVE)
    found = [check_objective(node, scope) for node in checker.of(syntax.Minimize)]
    return tuple(objective for objective in found if objective is not None)


def _averages(checker: _Checker) -> tuple[TypedAverage, ...]:
    found = [
        check_average(constraint, checker.scope)
        for node in checker.of(syntax.SubjectTo)
        for constraint in node.constraints
    ]
    return tuple(average for average in found if average is not None)


def _expects(checker: _Checker) -> tuple[TypedExpect, ...]:
    found = [check_expect(node, checker.scope) for node in checker.of(syntax.Expect)]
    return tuple(expect for expect in found if expect is not None)


def _purpose(
    checker: _Checker,
    blocks: Sequence[TypedBlock],
    objectives: Sequence[TypedObjective],
    averages: Sequence[TypedAverage],
) -> None:
    """A spec must minimise something, or constrain something."""
    says = any(block.objectives or block.families for block in blocks) or objectives or averages
    if not says and not _errors(checker.scope.found):
        problem = checker.of(syntax.Problem)
        checker.scope.found.add("PD277", problem[0].span if problem else checker.spec.span)
