"""What names in expressions and types stand for: the spec's namespaces, and the names in reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pdual.dsl import syntax
from pdual.dsl.spans import Span
from pdual.dsl.types import Kind as ElementKind
from pdual.lsp.symbols import Kind, Occurrence, Symbol

Reach = Mapping[str, Symbol]
_ELEMENTS = frozenset(str(kind) for kind in ElementKind)
#: Functions whose argument is a constraint.
_OF_CONSTRAINTS = ("viol", "rate")


@dataclass
class Names:
    """Names outside all blocks by namespace, and the occurrences found so far."""

    values: dict[str, Symbol] = field(default_factory=dict)
    sets: dict[str, Symbol] = field(default_factory=dict)
    axes: dict[str, Symbol] = field(default_factory=dict)
    members: dict[str, Symbol] = field(default_factory=dict)
    constraints: dict[str, Symbol] = field(default_factory=dict)
    metrics: dict[str, Symbol] = field(default_factory=dict)
    found: list[Occurrence] = field(default_factory=list)

    def declare(self, kind: Kind, name: str, span: Span, owner: Symbol | None = None) -> Symbol:
        """A new symbol, written here."""
        symbol = Symbol(kind, name, span, owner)
        self.found.append(Occurrence(span, symbol, declares=True))
        return symbol

    def use(self, symbol: Symbol | None, span: Span) -> Symbol | None:
        """The symbol, written here as well; nothing where there is none."""
        if symbol is not None:
            self.found.append(Occurrence(span, symbol))
        return symbol

    def set_or_axis(self, name: str) -> Symbol | None:
        """What an axis is named by."""
        return self.sets.get(name) or self.axes.get(name)

    # --- types ---------------------------------------------------------------------------------------------

    def type(self, node: syntax.TypeName, owner: Symbol | None = None) -> None:
        """The sets in a type; an axis that no set has is a ragged one, declared where it first stands in a model."""
        if not isinstance(node, syntax.ArrayTypeName):
            for item in node.fields:
                self.type(item.type, owner)
            return
        if node.element not in _ELEMENTS:
            self.use(self.sets.get(node.element), Span(node.span.start, node.span.start + len(node.element)))
        for axis in node.axes:
            if not isinstance(axis, syntax.Name) or axis.name == "_":
                continue
            known = self.set_or_axis(axis.name)
            if known is None and owner is not None and owner.kind is Kind.MODEL:
                self.axes[axis.name] = self.declare(Kind.AXIS, axis.name, axis.span, owner)
            else:
                self.use(known, axis.span)
        if node.interval is not None:
            self.expression(node.interval.low, {})
            self.expression(node.interval.high, {})

    # --- expressions ---------------------------------------------------------------------------------------

    def expression(self, node: syntax.Expression | None, reach: Reach) -> Symbol | None:
        """Resolve all names of an expression; what it stands for, where that is one symbol."""
        match node:
            case syntax.Name(name=name):
                symbol = reach.get(name) or self.values.get(name) or self.members.get(name)
                return self.use(symbol, node.span)
            case syntax.Member():
                return self._member(node, reach)
            case syntax.Index(base=base, indices=indices):
                symbol = self.expression(base, reach)
                for index in indices:
                    self.expression(index, reach)
                return symbol
            case syntax.Call():
                return self._call(node, reach)
            case syntax.Unary(operand=operand):
                self.expression(operand, reach)
            case syntax.Binary(left=left, right=right):
                self._all((left, right), reach)
            case syntax.Compare(operands=items) | syntax.ListOf(items=items):
                self._all(items, reach)
            case syntax.Conditional(then=then, condition=condition, otherwise=otherwise):
                self._all((then, condition, otherwise), reach)
            case syntax.Reduction(binders=binders, body=body):
                self.expression(body, self.bind(binders, reach))
            case _:
                pass
        return None

    def bind(self, binders: tuple[syntax.Binder, ...], reach: Reach) -> dict[str, Symbol]:
        """The names in reach with the indices; each filter reads its own index and those before."""
        inner = dict(reach)
        for binder in binders:
            domain = self._domain(binder.domain, inner)
            index = self.declare(Kind.INDEX, binder.name, binder.name_span)
            index.owner = domain.owner if domain is not None and domain.kind is Kind.GROUP else domain
            inner[binder.name] = index
            self.expression(binder.where, inner)
        return inner

    def _domain(self, node: syntax.Expression, reach: Reach) -> Symbol | None:
        match node:
            case syntax.Name(name=name):
                row = reach.get(name)
                group = row if row is not None and row.kind is Kind.GROUP else None
                return self.use(group or self.set_or_axis(name) or self.values.get(name), node.span)
            case syntax.Member(base=syntax.Name(name=name) as base):
                return self.use(self.values.get(name), base.span)
        return None

    def _all(self, nodes: tuple[syntax.Expression, ...], reach: Reach) -> None:
        for node in nodes:
            self.expression(node, reach)

    def _member(self, node: syntax.Member, reach: Reach) -> Symbol | None:
        base = self.expression(node.base, reach)
        if base is None:
            return None
        holder = base.owner if base.kind in (Kind.ROW, Kind.INDEX, Kind.LET) and base.owner is not None else base
        return self.use(holder.members.get(node.name), node.name_span)

    def _call(self, node: syntax.Call, reach: Reach) -> Symbol | None:
        function = node.function
        symbol: Symbol | None = None
        if isinstance(function, syntax.Name):
            found = reach.get(function.name) or self.values.get(function.name)
            symbol = self.use(found, function.span)
            if symbol is None and function.name in _OF_CONSTRAINTS and node.arguments:
                target, *others = node.arguments
                if isinstance(target.value, syntax.Name):
                    self.use(self.constraints.get(target.value.name), target.value.span)
                self._all(tuple(item.value for item in others), reach)
                return None
        self._all(tuple(item.value for item in node.arguments), reach)
        return symbol if symbol is not None and symbol.kind is Kind.MODEL else None
