"""From a syntax tree to the ``Index`` of its names; what a half-typed spec leaves open is left out."""

from __future__ import annotations

from pdual.dsl import syntax
from pdual.dsl.declarations.registry import sources
from pdual.dsl.declarations.sources_table import BoundSettings
from pdual.lsp.scoping import Names, Reach
from pdual.lsp.symbols import Index, Kind, Symbol

#: The setting of a source that names fields of its rows.
STANDARDISED = "standardised"


def resolve(spec: syntax.Spec) -> Index:
    """Every name of a spec with what it stands for: first what is declared outside blocks, then what reads it."""
    names = Names()
    _declare_sets(spec, names)
    for kind in (syntax.Param, syntax.Given, syntax.Data, syntax.Model, syntax.Def):
        for statement in spec.statements:
            if isinstance(statement, kind):
                _declare(statement, names)
    _declare_constraints(spec, names)
    for statement in spec.statements:
        _read(statement, names)
    for statement in spec.statements:
        if isinstance(statement, syntax.Expect):  # what it states may stand below it
            _expect(statement, names)
    found = tuple(sorted(names.found, key=lambda item: (item.span.start, item.span.end)))
    return Index(found, names.values, {**names.axes, **names.sets}, names.constraints, names.metrics)


def _declare_sets(spec: syntax.Spec, names: Names) -> None:
    for statement in spec.statements:
        if isinstance(statement, syntax.SetDeclaration):
            name = statement.name
            found = names.declare(Kind.SET, name.name, name.span)
            names.sets.setdefault(name.name, found)
            for item in statement.members:
                found.members[item.name] = names.declare(Kind.MEMBER, item.name, item.span, found)
                names.members.setdefault(item.name, found.members[item.name])
        elif isinstance(statement, syntax.Given):
            for item in statement.sets:
                names.sets.setdefault(item.name, names.declare(Kind.SET, item.name, item.span))


def _declare(statement: syntax.Statement, names: Names) -> None:
    """One name outside blocks, with what belongs to it."""
    match statement:
        case syntax.Param(name=name):
            symbol = names.declare(Kind.PARAM, name.name, name.span)
        case syntax.Given(name=name, fields=fields):
            symbol = names.declare(Kind.GIVEN, name.name, name.span)
            _declare_fields(fields, symbol, Kind.FIELD, names)
            for field in symbol.members.values():
                names.values.setdefault(field.name, field)
        case syntax.Data(name=name, fields=fields, source=source):
            symbol = names.declare(Kind.DATA, name.name, name.span)
            _declare_fields(fields, symbol, Kind.FIELD, names, is_open=_is_open(source))
        case syntax.Model(name=name):
            symbol = names.declare(Kind.MODEL, name.name, name.span)
            _declare_signature(statement, symbol, names)
        case syntax.Def(name=name):
            symbol = names.declare(Kind.DEF, name.name, name.span)
        case _:
            return
    names.values[name.name] = symbol


def _is_open(source: syntax.Call | None) -> bool:
    """Whether the fields of a data set name the columns of a file."""
    if source is None:
        return True
    function = source.function
    declaration = sources().get(function.name) if isinstance(function, syntax.Name) else None
    return declaration is not None and issubclass(declaration.settings, BoundSettings)


def _declare_fields(
    fields: tuple[syntax.FieldDeclaration, ...], owner: Symbol, kind: Kind, names: Names, is_open: bool = False
) -> None:
    for item in fields:
        names.type(item.type, owner)
        for name in item.names:
            symbol = names.declare(kind, name.name, name.span, owner)
            symbol.column = is_open and item.column is None
            owner.members[name.name] = symbol


def _declare_signature(node: syntax.Model, symbol: Symbol, names: Names) -> None:
    for parameter in node.parameters or ():
        names.declare(Kind.INPUT, parameter.name.name, parameter.name.span, symbol)
        if parameter.type is not None:
            names.type(parameter.type)
    if isinstance(node.output, syntax.RecordTypeName):
        _declare_fields(node.output.fields, symbol, Kind.OUTPUT, names)
    elif node.output is not None:
        names.type(node.output, symbol)
    if node.parameters is None and node.architecture is not None:
        for argument in node.architecture.arguments:  # `frozen(lm)` has the outputs of `lm`
            if isinstance(argument.value, syntax.Name) and argument.value.name in names.values:
                symbol.members = names.values[argument.value.name].members


def _declare_constraints(spec: syntax.Spec, names: Names) -> None:
    for statement in spec.statements:
        for item in statement.body if isinstance(statement, syntax.Over) else (statement,):
            if isinstance(item, syntax.SubjectTo):
                for node in item.constraints:
                    symbol = names.declare(Kind.CONSTRAINT, node.name.name, node.name.span)
                    names.constraints.setdefault(node.name.name, symbol)


def _read(statement: syntax.Statement, names: Names) -> None:
    """What a statement reads."""
    match statement:
        case syntax.Problem(name=name):
            names.declare(Kind.PROBLEM, name.name, name.span)
        case syntax.Param(value=value, interval=interval):
            names.expression(value, {})
            if interval is not None:
                names.expression(interval.low, {})
                names.expression(interval.high, {})
        case syntax.Given(source=source):
            names.expression(source, {})
        case syntax.Data(name=name, source=source, settings=settings):
            fields = names.values[name.name].members if name.name in names.values else {}
            arguments = source.arguments if source is not None else ()
            for argument in arguments:
                names.expression(argument.value, fields if argument.name == STANDARDISED else {})
            for setting in settings:
                names.expression(setting.value, fields if setting.name.name == STANDARDISED else {})
        case syntax.Model(architecture=architecture):
            names.expression(architecture, {})
        case syntax.Def(parameters=parameters, body=body):
            owner = names.values[statement.name.name]
            reach = {
                item.name.name: names.declare(Kind.ARGUMENT, item.name.name, item.name.span, owner)
                for item in parameters
            }
            names.expression(body, reach)
        case syntax.Over():
            _over(statement, names)
        case syntax.Solve(settings=settings):
            for setting in settings:
                names.expression(setting.value, {})
        case syntax.Expect():
            pass
        case _:
            _block_statement(statement, {}, names)


def _over(node: syntax.Over, names: Names) -> None:
    data = names.use(names.values.get(node.data.name), node.data.span)
    row = names.declare(Kind.ROW if node.by is None else Kind.GROUP, node.row.name, node.row.span, data)
    if node.by is not None and data is not None:
        names.use(data.members.get(node.by.name), node.by.span)
    reach = {node.row.name: row}
    lets = [item for item in node.body if isinstance(item, syntax.Let)]
    for item in lets:
        _let(item, reach, names)
    for other in node.body:
        if not isinstance(other, syntax.Let):
            _block_statement(other, reach, names)


def _let(node: syntax.Let, reach: dict[str, Symbol], names: Names) -> None:
    """The value first: a name is in reach below its ``let``."""
    value = names.expression(node.value, names.bind(node.binders, reach))
    for name in node.names:
        symbol = names.declare(Kind.LET, name.name, name.span)
        if len(node.names) > 1 and value is not None:
            symbol.same_as = value.members.get(name.name)
        elif value is not None and value.kind is Kind.MODEL:
            symbol.owner = value
        reach.setdefault(name.name, symbol)


def _block_statement(node: syntax.Statement, reach: Reach, names: Names) -> None:
    match node:
        case syntax.Let():
            _let(node, dict(reach), names)
        case syntax.Minimize(value=value, scale=scale):
            names.expression(value, reach)
            names.expression(scale, reach)
        case syntax.SubjectTo(constraints=constraints):
            for item in constraints:
                inner = names.bind(item.binders, reach)
                names.expression(item.scale, inner)
                names.expression(item.relation, inner)
        case syntax.Metric(name=name, value=value):
            names.expression(value, reach)
            names.metrics.setdefault(name.name, names.declare(Kind.METRIC, name.name, name.span))
        case syntax.Dual():
            _dual(node, reach, names)
        case _:
            pass


def _dual(node: syntax.Dual, reach: Reach, names: Names) -> None:
    inner = dict(reach)
    for target in node.targets:
        names.use(names.constraints.get(target.family.name), target.family.span)
        for item in target.indices:
            known = inner.get(item.name)
            if known is not None and known.kind is Kind.INDEX:  # the same index of another target
                names.use(known, item.span)
            else:
                inner[item.name] = names.declare(Kind.INDEX, item.name, item.span)
    names.expression(node.value, inner)


def _expect(node: syntax.Expect, names: Names) -> None:
    names.declare(Kind.EXPECT, node.name.name, node.name.span)
    names.use(names.values.get(node.data.name), node.data.span)
    names.expression(node.relation, names.metrics)
