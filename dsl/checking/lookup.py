"""Names and members: from what is written to what it stands for."""

from __future__ import annotations

import math

from pdual.dsl import syntax
from pdual.dsl.checking.annotations import has_unknown
from pdual.dsl.checking.entities import (
    AmbiguousEntity,
    BrokenEntity,
    DataEntity,
    Entity,
    GivenEntity,
    GivenFieldEntity,
    GroupEntity,
    IndexEntity,
    LetEntity,
    ModelEntity,
    ParamEntity,
    RecordEntity,
    RowEntity,
    ValueEntity,
    described,
)
from pdual.dsl.checking.order import report_later
from pdual.dsl.checking.scope import Place, Scope, is_unknown, unknown
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.typed import (
    FieldRef,
    GivenRef,
    IndexRef,
    LetRef,
    Literal,
    ModelCall,
    OutputOf,
    ParamRef,
    TypedExpression,
    TypedField,
)
from pdual.dsl.types import BOOL, REAL, ArrayType, MemberOf, RaggedAxis, RecordType, SetAxis

CONSTANTS = {"inf": Literal(REAL, math.inf), "pi": Literal(REAL, math.pi)}
TRUTHS = {"true": Literal(BOOL, True), "false": Literal(BOOL, False)}
#: What may stand as a value, so that near names are of the kind that fits.
_VALUES = (ParamEntity, GivenFieldEntity, IndexEntity, LetEntity, ValueEntity)


def type_name(node: syntax.Name, scope: Scope) -> TypedExpression:
    """A bare name used as a value."""
    named = scope.lookup(node.name)
    if named is not None:
        return entity_value(named.entity, node.name, node.span, scope)
    for words in (CONSTANTS, TRUTHS):
        if node.name in words:
            return Literal(words[node.name].type, words[node.name].value, span=node.span)
    report_unknown(node, scope)
    return unknown(node.span)


def report_unknown(node: syntax.Name, scope: Scope) -> None:
    """Record a name that nothing declares, with a near one that could stand there."""
    if report_later(node, scope):
        return
    near = nearest(node.name, [name for name, entity in scope.reachable() if isinstance(entity, _VALUES)])
    tables = scope.context.tables
    if node.name in tables.sets:
        scope.diagnostics.add("PD121", node.span, name=node.name, what="an index set", near=near)
    elif node.name in tables.families or node.name in tables.averages:
        scope.diagnostics.add("PD121", node.span, name=node.name, what="a constraint", near=near)
    else:
        scope.diagnostics.add("PD101", node.span, name=node.name, near=near)


def entity_value(entity: Entity, name: str, span: Span, scope: Scope) -> TypedExpression:
    """What a name stands for, as a value; refused where it is no value."""
    match entity:
        case ParamEntity(param):
            scope.context.mark("param", param.name)
            return ParamRef(param.type, param.name, span=span)
        case GivenFieldEntity(given, field):
            return _given_ref(given, field, span, scope)
        case IndexEntity():
            return _index_ref(entity, span)
        case LetEntity(definition, reads_features):
            scope.context.mark("let", str(definition.identity))
            if reads_features and scope.place not in (Place.DUAL, Place.LET):
                scope.diagnostics.add("PD405", span, Label(definition.span, "let"), name=name)
                return unknown(span)
            return LetRef(definition.type, definition, span=span)
        case RecordEntity():
            for definition in entity.outputs.values():
                scope.context.mark("let", str(definition.identity))
            return ModelCall(entity.call.type, entity.call.model, entity.call.arguments, span=span)
        case ValueEntity(value):
            return value
        case BrokenEntity():
            return unknown(span)
        case AmbiguousEntity(owners):
            labels = [Label(owner_span, "field") for _, owner_span in owners]
            givens = " and ".join(f"`{given}`" for given, _ in owners)
            scope.diagnostics.add("PD113", span, *labels, name=name, givens=givens, qualified=f"{owners[0][0]}.{name}")
            for given, _ in owners:
                scope.context.mark("given field", given, name)
            return unknown(span)
        case _:
            _report_kind(entity, name, span, scope)
            return unknown(span)


def _report_kind(entity: Entity, name: str, span: Span, scope: Scope) -> None:
    """Record a name that is something, but not a value."""
    use = None
    if isinstance(entity, ModelEntity):
        use = f"{name}({', '.join(argument for argument, _ in entity.model.signature.inputs)})"
    elif isinstance(entity, RowEntity):
        fields = scope.context.tables.data[entity.data].fields
        use = f"{name}.{fields[0].name}" if fields else None
    elif isinstance(entity, GivenEntity) and entity.given.fields:
        use = f"{name}.{entity.given.fields[0].name}"
    scope.diagnostics.add("PD121", span, name=name, what=described(entity), use=use)


def _given_ref(given: str, field: TypedField, span: Span, scope: Scope) -> TypedExpression:
    scope.context.mark("given field", given, field.name)
    if has_unknown(field.type):
        return unknown(span)
    return GivenRef(field.type, given, field.name, span=span)


def _index_ref(entity: IndexEntity, span: Span) -> TypedExpression:
    axis = entity.binder.axis
    if isinstance(axis, SetAxis):
        return IndexRef(ArrayType(MemberOf(axis.set)), entity.binder, span=span)
    if isinstance(axis, RaggedAxis):
        return IndexRef(ArrayType(MemberOf(axis.name)), entity.binder, span=span)
    return unknown(span)


def type_member(node: syntax.Member, scope: Scope) -> TypedExpression:
    """``base.name``: a field of a row or a given, an output of a model."""
    if isinstance(node.base, syntax.Name):
        named = scope.lookup(node.base.name)
        match named.entity if named is not None else None:
            case RowEntity(data, binder):
                return _row_field(node, data, RowEntity(data, binder), scope)
            case GivenEntity(given):
                scope.context.mark("given", given.name)
                field = next((field for field in given.fields if field.name == node.name), None)
                if field is None:
                    _report_member(node, f"given `{given.name}`", [f.name for f in given.fields], scope)
                    return unknown(node.span)
                return _given_ref(given.name, field, node.span, scope)
            case RecordEntity(name, outputs):
                if node.name not in outputs:
                    _report_member(node, f"`{name}`", list(outputs), scope)
                    return unknown(node.span)
                definition = outputs[node.name]
                scope.context.mark("let", str(definition.identity))
                return LetRef(definition.type, definition, span=node.span)
            case IndexEntity(binder) if binder.rows_of is not None:
                return _row_field(node, binder.rows_of, RowEntity(binder.rows_of, binder), scope)
            case GroupEntity(name, data):
                scope.diagnostics.add("PD235", node.span, name=name, field=node.name, data=data)
                return unknown(node.span)
            case DataEntity(data_set):
                scope.diagnostics.add("PD121", node.base.span, name=data_set.name, what="a data set")
                return unknown(node.span)
            case _:
                pass
    base = scope.deeper().typed(node.base)
    if is_unknown(base):
        return unknown(node.span)
    if isinstance(base, ModelCall) and isinstance(base.type, RecordType):
        types = dict(base.type.fields)
        if node.name in types:
            return OutputOf(types[node.name], base, node.name, span=node.span)
        _report_member(node, f"`{base.model}`", list(types), scope)
        return unknown(node.span)
    scope.diagnostics.add("PD239", node.span, field=node.name, found=str(base.type))
    return unknown(node.span)


def _row_field(node: syntax.Member, data: str, row: RowEntity, scope: Scope) -> TypedExpression:
    fields = {field.name: field for field in scope.context.tables.data[data].fields}
    if node.name not in fields:
        _report_member(node, f"a row of `{data}`", list(fields), scope)
        return unknown(node.span)
    scope.context.mark("field", data, node.name)
    type = fields[node.name].type
    if has_unknown(type):
        return unknown(node.span)
    return FieldRef(type, data, node.name, row.binder, span=node.span)


def _report_member(node: syntax.Member, owner: str, candidates: list[str], scope: Scope) -> None:
    has = ", ".join(f"`{name}`" for name in candidates) or None
    near = nearest(node.name, candidates)
    scope.diagnostics.add("PD107", node.name_span, name=node.name, owner=owner, near=near, has=has)
