"""``check``: a syntax tree to a typed spec, step by step; each step adds to the tables that the next ones read."""

from __future__ import annotations

from pdual.dsl import syntax
from pdual.dsl.catalogue import errors_in
from pdual.dsl.checking.averages import check_averages
from pdual.dsl.checking.blocks import check_block, check_objective
from pdual.dsl.checking.collect import Statements, collect
from pdual.dsl.checking.definitions import check_definitions
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
from pdual.dsl.checking.expects import check_expect
from pdual.dsl.checking.expressions import type_expression
from pdual.dsl.checking.models import check_models, declare_ragged
from pdual.dsl.checking.params import Overrides, check_override_names, check_param
from pdual.dsl.checking.scope import Context, Named, Place, Scope
from pdual.dsl.checking.sets import check_set
from pdual.dsl.checking.settings import brace_settings
from pdual.dsl.checking.sources import check_data, check_given
from pdual.dsl.checking.unused import report_unused
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.diagnostics import Collector, Diagnostic
from pdual.dsl.spans import Source, Span
from pdual.dsl.typed import TypedAverage, TypedBlock, TypedExpect, TypedObjective, TypedSpec


def check(
    spec: syntax.Spec, source: Source, overrides: Overrides | None = None
) -> tuple[TypedSpec | None, tuple[Diagnostic, ...]]:
    """The typed spec, and everything that is wrong or suspicious in it.

    ``overrides`` are the values of ``--set``. The spec is None where there is an error; warnings come with a spec.
    """
    context = Context(Collector(), type_expression)
    names: dict[str, Named] = {}
    scope = Scope(context, Place.CONSTANT, names)
    statements = collect(spec, context.diagnostics)
    _check_params(statements, overrides or {}, names, scope)
    _check_structure(statements, names, scope)
    _check_models(statements, names, scope)
    check_definitions(statements.defs, context.diagnostics)
    objectives, blocks, averages = _check_problem(statements, scope)
    expects = tuple(filter(None, (check_expect(node, scope) for node in statements.expects)))
    solve = _check_solve(statements, scope)
    if errors_in(context.diagnostics):
        return None, context.diagnostics.diagnostics
    report_unused(statements.defs, context)  # what an expression in error reads cannot be told
    typed = _assembled(statements, context, objectives, blocks, averages, expects, solve, source)
    return typed, context.diagnostics.diagnostics


def _check_params(statements: Statements, overrides: Overrides, names: dict[str, Named], scope: Scope) -> None:
    check_override_names(overrides, statements.params, scope)
    for name, node in statements.params.items():
        param = check_param(node, overrides, scope)
        if param is not None:
            scope.context.tables.params[name] = param
        _name(names, name, ParamEntity(param) if param is not None else BrokenEntity(), node.name.span)


def _check_structure(statements: Statements, names: dict[str, Named], scope: Scope) -> None:
    """Sets, what is known on them, and the data sets."""
    tables = scope.context.tables
    for name, set_node in statements.sets.items():
        tables.sets[name] = check_set(set_node, scope)
    declare_ragged(statements.models.values(), statements.given_sets, scope.context)
    for name, given_node in statements.givens.items():
        tables.givens[name] = check_given(given_node, scope)
        _name(names, name, GivenEntity(tables.givens[name]), given_node.name.span)
    _name_given_fields(statements, names, scope)
    for name, data_node in statements.data.items():
        tables.data[name] = check_data(data_node, scope)
        _name(names, name, DataEntity(tables.data[name]), data_node.name.span)


def _name_given_fields(statements: Statements, names: dict[str, Named], scope: Scope) -> None:
    """The fields of givens under their bare names, where no value of the spec is called so."""
    owners: dict[str, list[tuple[str, Span]]] = {}
    for given in scope.context.tables.givens.values():
        for field in given.fields:
            owners.setdefault(field.name, []).append((given.name, field.span))
    for name, places in owners.items():
        if name in statements.values:
            continue
        given_name, span = places[0]
        if len(places) > 1:
            _name(names, name, AmbiguousEntity(tuple(places)), span)
            continue
        given = scope.context.tables.givens[given_name]
        field = next(field for field in given.fields if field.name == name)
        _name(names, name, GivenFieldEntity(given_name, field), span)


def _check_models(statements: Statements, names: dict[str, Named], scope: Scope) -> None:
    check_models(statements.models, scope)
    for name, node in statements.models.items():
        _name(names, name, ModelEntity(scope.context.tables.models[name]), node.name.span)
    for name, definition in statements.defs.items():
        _name(names, name, DefEntity(definition), definition.name.span)


def _check_problem(
    statements: Statements, scope: Scope
) -> tuple[tuple[TypedObjective, ...], tuple[TypedBlock, ...], tuple[TypedAverage, ...]]:
    """What is minimised, and what must hold."""
    for node in statements.averages:
        scope.context.tables.averages[node.name.name] = node.name.span
    outside = scope.at(Place.OBJECTIVE)
    objectives = tuple(filter(None, (check_objective(node, outside) for node in statements.objectives)))
    blocks = tuple(check_block(node, scope, statements.families) for node in statements.blocks)
    averages = check_averages(statements.averages, statements.duals, statements.families, scope)
    minimised = any(isinstance(item, syntax.Minimize) for node in statements.blocks for item in node.body)
    if not statements.families and not statements.objectives and not minimised:
        where = statements.problem.name.span if statements.problem is not None else Span(0, 0)
        scope.diagnostics.add("PD124", where)
    return objectives, blocks, averages


def _check_solve(statements: Statements, scope: Scope) -> SolveSettings:
    if statements.solve is None:
        return SolveSettings()
    node = statements.solve
    settings = brace_settings(SolveSettings, node.settings, "solve", node.span, scope)
    return settings if isinstance(settings, SolveSettings) else SolveSettings()


def _name(names: dict[str, Named], name: str, entity: Entity, span: Span) -> None:
    names[name] = Named(entity, span)


def _assembled(
    statements: Statements,
    context: Context,
    objectives: tuple[TypedObjective, ...],
    blocks: tuple[TypedBlock, ...],
    averages: tuple[TypedAverage, ...],
    expects: tuple[TypedExpect, ...],
    solve: SolveSettings,
    source: Source,
) -> TypedSpec:
    tables = context.tables
    problem = statements.problem
    return TypedSpec(
        name=problem.name.name if problem is not None else "",
        title=problem.title if problem is not None else "",
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
        files=tuple(dict.fromkeys(context.files)),
    )
