"""A whole problem in LaTeX, as a paper would print it: what is minimised, subject to what, where, with which multipliers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pdual.compiler.graph import Graph
from pdual.dsl.checking.walking import walk
from pdual.dsl.parts import part_shapes
from pdual.dsl.typed import (
    FormulaDual,
    LetDefinition,
    LetRef,
    TypedBlock,
    TypedDual,
    TypedExpression,
    TypedFamily,
    TypedObjective,
    TypedSpec,
)
from pdual.dsl.types import RecordType
from pdual.explaining.latex import Latex, escaped, name, number

_RELATIONS: Mapping[str, str] = {"<=": r"\leq", ">=": r"\geq", "==": "="}


def mathematics(spec: TypedSpec, graph: Graph | None, minimize: bool = True) -> str:
    """LaTeX for amsmath: one ``align*`` for the problem, one for what stands for what, one for multipliers.

    ``graph`` knows the members of sets that are loaded; ``minimize`` false leaves the objective out.
    """
    labels = {item.name: item.labels for item in spec.sets if item.labels is not None}
    latex = Latex({**labels, **(graph.labels if graph is not None else {})})
    problem = [*_objectives(spec, latex, minimize), *_constraints(spec, latex)]
    pieces = [
        f"% {spec.name}" + (f": {escaped(spec.title)}" if spec.title else ""),
        _aligned(problem),
        *_section("where", list(_definitions(spec, latex))),
        *_section("with multipliers", list(_multipliers(spec, latex))),
    ]
    return "\n".join(pieces)


def _section(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield title
        yield _aligned(lines)


def _aligned(lines: Sequence[str]) -> str:
    inside = " \\\\\n".join(f"  {line}" for line in lines)
    return f"\\begin{{align*}}\n{inside}\n\\end{{align*}}"


# --- what is minimised, and what must hold --------------------------------------------------------------------


def _objectives(spec: TypedSpec, latex: Latex, minimize: bool) -> Iterator[str]:
    terms = [_term(item, latex) for item in spec.objectives]
    terms += [_mean(block, item, latex) for block in spec.blocks for item in block.objectives]
    shown = " + ".join(terms) if minimize and terms else "0"
    yield rf"\min_\theta \quad & {shown}"


def _term(item: TypedObjective, latex: Latex) -> str:
    if item.scale is None:
        return latex.of(item.value, 5)
    return rf"\frac{{{latex.of(item.value)}}}{{{latex.of(item.scale)}}}"


def _mean(block: TypedBlock, item: TypedObjective, latex: Latex) -> str:
    return rf"\mathbb{{E}}_{{{_over(block)}}}\left[{_term(item, latex)}\right]"


def _over(block: TypedBlock) -> str:
    groups = rf"\,/\,{name(block.group_by)}" if block.group_by is not None else ""
    return rf"{name(block.row)} \in {name(block.data)}{groups}"


def _constraints(spec: TypedSpec, latex: Latex) -> Iterator[str]:
    word = r"\text{s.t.} \quad"
    for block in spec.blocks:
        for family in block.families:
            yield f"{word} & {_relation(family.operands, family.operators, latex)} && {_index(block, family, latex)}"
            word = ""
    for average in spec.averages:
        relation = _relation(average.operands, average.operators, latex)
        yield rf"{word} & {relation} && \text{{({escaped(average.name)})}}"
        word = ""


def _relation(operands: Sequence[TypedExpression], operators: Sequence[str], latex: Latex) -> str:
    text = latex.of(operands[0], 5)
    for operator, operand in zip(operators, operands[1:], strict=True):
        text += f" {_RELATIONS[operator]} {latex.of(operand, 5)}"
    return text


def _index(block: TypedBlock, family: TypedFamily, latex: Latex) -> str:
    indices = ", ".join([_over(block), *map(latex.binder, family.binders)])
    return rf"\forall\, {indices} \quad \text{{({escaped(family.name)})}}"


# --- what stands for what ---------------------------------------------------------------------------------------


def _definitions(spec: TypedSpec, latex: Latex) -> Iterator[str]:
    for param in spec.params:
        if not isinstance(param.value, str):
            yield rf"{name(param.name)} &= {number(param.value)}"
    for block in spec.blocks:
        read = _read(block)
        for let in block.lets:
            if let.identity in read:
                index = [name(binder.name) for binder in let.binders]
                over = [latex.binder(binder) for binder in let.binders]
                forall = rf" && \forall\, {', '.join(over)}" if over else ""
                yield f"{latex.indexed(name(let.name), index)} &= {latex.of(let.body)}{forall}"
    for model in spec.models:
        if model.frozen_of is not None:
            yield rf"{name(model.name)}_\theta &= {name(model.frozen_of)}_{{\theta_0}}"
        elif model.architecture is not None:
            outputs = (
                ", ".join(name(item.name) for item in model.signature.outputs)
                if isinstance(model.output, RecordType)
                else ""
            )
            made = escaped(model.architecture.architecture)
            inputs = ", ".join(name(word) for word, _ in model.signature.inputs)
            text = rf"{name(model.name)}_\theta\left({inputs}\right) &\colon \text{{{made}}}"
            yield text + (rf" \to \left({outputs}\right)" if outputs else "")


def _read(block: TypedBlock) -> set[int]:
    """The lets that an objective, a constraint or a multiplier reads, by identity."""
    roots: list[TypedExpression] = [item for family in block.families for item in family.operands]
    roots += [binder.where for family in block.families for binder in family.binders if binder.where is not None]
    roots += [item.value for item in block.objectives]
    roots += [item.value.value for item in block.duals if isinstance(item.value, FormulaDual)]
    found: dict[int, LetDefinition] = {}
    for node in walk(*roots, through_lets=True):
        if isinstance(node, LetRef):
            found[node.definition.identity] = node.definition
    return set(found)


# --- multipliers ------------------------------------------------------------------------------------------------


def _multipliers(spec: TypedSpec, latex: Latex) -> Iterator[str]:
    for block in spec.blocks:
        families = {family.name: family for family in block.families}
        for dual in block.duals:
            yield from _held(dual, families, latex)
    for average in spec.averages:
        for shape in part_shapes(average.operators, complex_valued=False):
            held = _within(average.dual.cap, shape.equality)
            yield rf"{_lambda(average.name, shape.name, ())} &\in {held} && \text{{{escaped(average.dual.kind)}}}"


def _held(dual: TypedDual, families: Mapping[str, TypedFamily], latex: Latex) -> Iterator[str]:
    for family, part in dual.parts:
        binders = families[family].binders
        held = dual.value
        if isinstance(held, FormulaDual):
            index = [name(binder.name) for binder in held.binders]
            yield f"{_lambda(family, part, index)} &= {latex.of(held.value)}"
            continue
        index = [name(binder.name) for binder in binders]
        within = _within(held.cap, families[family].operators == ("==",))
        yield rf"{_lambda(family, part, index)} &\in {within} && \text{{{escaped(held.kind)}}}"


def _within(cap: float, equality: bool) -> str:
    """Where a multiplier lies."""
    if equality and cap == float("inf"):
        return r"\mathbb{R}"
    return rf"\left[{f'-{number(cap)}' if equality else '0'}, {number(cap)}\right]"


def _lambda(family: str, part: str, index: Sequence[str]) -> str:
    words = escaped(f"{family}.{part}" if part else family)
    below = f"_{{{', '.join(index)}}}" if index else ""
    return rf"\lambda^{{\text{{{words}}}}}{below}"
