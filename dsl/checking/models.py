"""Models: signatures, architectures with their settings and complaints, and models that are frozen copies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pydantic import Field

from pdual.dsl import syntax
from pdual.dsl.checking.annotations import KINDS, OPEN, array_type, has_unknown, value_type
from pdual.dsl.checking.constants import interval
from pdual.dsl.checking.scope import UNKNOWN_SET, Context, Scope
from pdual.dsl.checking.settings import brace_settings, checked_architecture
from pdual.dsl.declarations.references import ArchitectureUse, Settings
from pdual.dsl.declarations.registry import architectures
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.diagnostics import Label
from pdual.dsl.near import nearest
from pdual.dsl.spans import Span
from pdual.dsl.typed import TypedModel
from pdual.dsl.types import ArrayType, Kind, MemberOf, OpenAxis, RecordType, Type

FROZEN = "frozen"


class PythonModelSettings(Settings):
    """``model f(x: real[_]) -> real { features = "fc2" }``: the layer that ``features`` reads."""

    features: str | None = Field(None, min_length=1)


def declare_ragged(nodes: Iterable[syntax.Model], given_sets: set[str], context: Context) -> None:
    """The ragged axes: names in the type of an output that are no set, nor near to one."""
    sets = {*context.tables.sets, *given_sets}
    for node in nodes:
        output = node.output
        types = [field.type for field in output.fields] if isinstance(output, syntax.RecordTypeName) else [output]
        for item in types:
            for axis in item.axes if isinstance(item, syntax.ArrayTypeName) else ():
                if not isinstance(axis, syntax.Name) or axis.name in sets or axis.name == OPEN:
                    continue
                if axis.name not in KINDS and nearest(axis.name, sets) is None:
                    context.tables.ragged.setdefault(axis.name, axis.span)


def check_models(nodes: Mapping[str, syntax.Model], scope: Scope) -> None:
    """Every model into the tables; a frozen one after the one it copies."""
    waiting = {name: original for name, node in nodes.items() if (original := _original(node)) is not None}
    _report_cycles(waiting, nodes, scope)
    for name, node in nodes.items():
        if name not in waiting:
            scope.context.tables.models[name] = _model(node, scope)
    for name in waiting:
        _freeze(name, waiting, nodes, scope)


def _original(node: syntax.Model) -> syntax.Expression | None:
    """The argument of ``frozen(m)``; None for any other model."""
    call = node.architecture
    if call is None or not isinstance(call.function, syntax.Name) or call.function.name != FROZEN:
        return None
    return call.arguments[0].value if len(call.arguments) == 1 else call.function


def _report_cycles(waiting: Mapping[str, syntax.Expression], nodes: Mapping[str, syntax.Model], scope: Scope) -> None:
    told: set[str] = set()
    for name in waiting:
        chain = [name]
        while chain[-1] in waiting and chain[-1] not in told:
            original = waiting[chain[-1]]
            following = original.name if isinstance(original, syntax.Name) else ""
            if following in chain:
                cycle = [*chain[chain.index(following) :], following]
                shown = " -> ".join(f"`{item}`" for item in cycle)
                scope.diagnostics.add("PD114", nodes[following].name.span, name=following, what="model", chain=shown)
                break
            chain.append(following)
        told.update(chain)


def _freeze(
    name: str, waiting: Mapping[str, syntax.Expression], nodes: Mapping[str, syntax.Model], scope: Scope
) -> None:
    """A frozen model has the signature and the architecture of the model it copies."""
    tables = scope.context.tables
    chain: list[str] = []
    current = name
    while current in waiting and current not in tables.models:
        original = waiting[current]
        node = nodes[current]
        if node.parameters is not None and current not in chain:
            scope.diagnostics.add("PD264", node.name.span, name=current)
        if not isinstance(original, syntax.Name) or original.name not in nodes or original.name in chain:
            if not isinstance(original, syntax.Name) or original.name not in nodes:
                written = original.name if isinstance(original, syntax.Name) else None
                near = nearest(written, nodes) if written is not None else None
                scope.diagnostics.add("PD265", original.span, name=None if written == FROZEN else written, near=near)
            _mark_broken([*chain, current], nodes, scope)
            return
        scope.context.mark("model", original.name)
        chain.append(current)
        current = original.name
    for copy in reversed(chain):
        original = waiting[copy]
        assert isinstance(original, syntax.Name)
        source = tables.models[original.name]
        if source.name in tables.unbuilt:
            tables.unbuilt.add(copy)
        tables.models[copy] = replace(source, name=copy, frozen_of=source.name, span=nodes[copy].span)


def _mark_broken(names: list[str], nodes: Mapping[str, syntax.Model], scope: Scope) -> None:
    nothing = ArrayType(MemberOf(UNKNOWN_SET))
    for name in names:
        scope.context.tables.unbuilt.add(name)
        scope.context.tables.models[name] = TypedModel(
            name, Signature((), (Output("", nothing),)), nothing, None, span=nodes[name].span
        )


def _model(node: syntax.Model, scope: Scope) -> TypedModel:
    name = node.name.name
    signature, output = _signature(node, scope)
    use = checked_architecture(node.architecture, scope) if node.architecture is not None else None
    layer = None
    if node.architecture is None:
        python = brace_settings(PythonModelSettings, node.settings, f"model {name}", node.name.span, scope)
        layer = python.features if isinstance(python, PythonModelSettings) else None
    elif use is None or _is_open(signature) or not _suits(node, signature, use, scope):
        scope.context.tables.unbuilt.add(name)
    return TypedModel(name, signature, output, use, None, layer, node.span)


def _is_open(signature: Signature) -> bool:
    """Whether a set in it was already reported."""
    types = [type for _, type in signature.inputs] + [output.type for output in signature.outputs]
    return any(map(has_unknown, types))


def _signature(node: syntax.Model, scope: Scope) -> tuple[Signature, Type]:
    context = scope.context
    inputs: list[tuple[str, Type]] = []
    seen: dict[str, Span] = {}
    for parameter in node.parameters or ():
        name = parameter.name
        if name.name in seen:
            context.diagnostics.add(
                "PD111", name.span, Label(seen[name.name], "first"), name=name.name, what="an argument"
            )
        seen.setdefault(name.name, name.span)
        if parameter.type is None:
            context.diagnostics.add("PD266", name.span, name=name.name)
            inputs.append((name.name, ArrayType(MemberOf(UNKNOWN_SET))))
            continue
        inputs.append((name.name, value_type(parameter.type, context, "an argument of a model")))
        if isinstance(parameter.type, syntax.ArrayTypeName) and parameter.type.interval is not None:
            context.diagnostics.add("PD269", parameter.type.interval.span)
    outputs, output = _outputs(node, scope)
    return Signature(tuple(inputs), outputs), output  # type: ignore[arg-type]


def _outputs(node: syntax.Model, scope: Scope) -> tuple[tuple[Output, ...], Type]:
    written = node.output
    if isinstance(written, syntax.RecordTypeName):
        outputs: dict[str, Output] = {}
        spans: dict[str, Span] = {}
        for field in written.fields:
            for name in field.names:
                if name.name in outputs:
                    labels = Label(spans[name.name], "first")
                    scope.diagnostics.add("PD111", name.span, labels, name=name.name, what="an output")
                    continue
                spans[name.name] = name.span
                outputs[name.name] = _output(name.name, field.type, scope)
        record = RecordType(tuple((name, output.type) for name, output in outputs.items()))
        return tuple(outputs.values()), record
    if written is None:
        scope.diagnostics.add("PD267", node.name.span, name=node.name.name)
        return (), ArrayType(MemberOf(UNKNOWN_SET))
    output = _output("", written, scope)
    return (output,), output.type


def _output(name: str, node: syntax.TypeName, scope: Scope) -> Output:
    if not isinstance(node, syntax.ArrayTypeName):
        found = "a graph" if isinstance(node, syntax.GraphTypeName) else "a record"
        scope.diagnostics.add("PD238", node.span, where="an output of a model", found=found)
        return Output(name, ArrayType(MemberOf(UNKNOWN_SET)))
    type = array_type(node, scope.context)
    if any(isinstance(axis, OpenAxis) for axis in type.axes):
        scope.diagnostics.add("PD268", node.span)
        return Output(name, ArrayType(MemberOf(UNKNOWN_SET)))
    if node.interval is not None and type.element is not Kind.REAL and not has_unknown(type):
        scope.diagnostics.add("PD263", node.interval.span, found=type.element)
        return Output(name, type)
    return Output(name, type, *interval(node.interval, scope))


def _suits(node: syntax.Model, signature: Signature, use: ArchitectureUse, scope: Scope) -> bool:
    """Whether the architecture has no complaint; each is told at the input, output or setting it is about."""
    complaints = list(architectures()[use.architecture].complaints(signature, use.settings))
    for complaint in complaints:
        scope.diagnostics.add(
            "PD219",
            _subject_span(node, complaint.subject),
            subject=complaint.subject or None,
            architecture=use.architecture,
            expected=complaint.expected,
            found=complaint.found,
        )
    return not complaints


def _subject_span(node: syntax.Model, subject: str) -> Span:
    for parameter in node.parameters or ():
        if parameter.name.name == subject and parameter.type is not None:
            return parameter.name.span.to(parameter.type.span)
    if isinstance(node.output, syntax.RecordTypeName):
        for field in node.output.fields:
            if any(name.name == subject for name in field.names):
                return field.span
    call = node.architecture
    assert call is not None
    for argument in call.arguments:
        if argument.name == subject:
            return argument.span
    if subject in ("", "output", "outputs") and node.output is not None:
        return node.output.span
    if subject == "inputs" and node.parameters:
        return node.parameters[0].span.to(node.parameters[-1].span)
    return call.span
