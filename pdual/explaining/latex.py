"""Checked expressions as LaTeX: every operation by its own rule, parentheses where binding asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf, pi

from pdual.dsl.operations import AGGREGATES, OPERATIONS, REDUCTIONS
from pdual.dsl.operations.operation import TIGHT
from pdual.dsl.typed import (
    Aggregate,
    Apply,
    Binder,
    FamilyStatistic,
    FeaturesOf,
    FieldRef,
    GivenRef,
    IndexRef,
    LetRef,
    Literal,
    ModelCall,
    OutputOf,
    ParamRef,
    Reduce,
    RowStatistic,
    Select,
    SquaredNorm,
    TypedExpression,
)
from pdual.dsl.types import ArrayType, MemberOf
from pdual.dsl.visible import visible

_GREEK = frozenset(
    (
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu"),
        *("xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
    )
)
_REDUCTION = 5  # a sum reaches as far as it can


class Latex:
    """LaTeX of the expressions of one spec; ``labels`` are the members of its sets as far as they are known."""

    def __init__(self, labels: Mapping[str, Sequence[str]]) -> None:
        self._labels = labels
        self._done: dict[int, tuple[TypedExpression, tuple[str, int]]] = {}  # by `id`, kept alive

    def of(self, node: TypedExpression, binding: int = 0) -> str:
        """The expression, in parentheses where what is around it binds more tightly than it does."""
        if id(node) not in self._done:
            self._done[id(node)] = node, self._written(node)
        text, own = self._done[id(node)][1]
        return rf"\left({text}\right)" if own < binding else text

    def binder(self, binder: Binder) -> str:
        """``g \\in \\mathrm{gen}``, with its filter after a colon."""
        text = rf"{name(binder.name)} \in {name(str(binder.axis))}"
        return text if binder.where is None else rf"{text} :\, {self.of(binder.where)}"

    def indexed(self, array: str, indices: Sequence[str], row: str = "") -> str:
        """``v`` at some indices, of a row."""
        below = f"_{{{', '.join(indices)}}}" if indices else ""
        above = f"^{{({row})}}" if row else ""
        return f"{{{array}}}{below}{above}" if below or above else array

    def _written(self, node: TypedExpression) -> tuple[str, int]:
        match node:
            case Literal():
                return self._literal(node)
            case ParamRef(name=word) | GivenRef(name=word):
                return name(word), TIGHT
            case FieldRef(name=word, binder=binder):
                return self.indexed(name(word), (), name(binder.name) if binder is not None else ""), TIGHT
            case IndexRef(binder=binder):
                return name(binder.name), TIGHT
            case LetRef(definition=definition):
                return name(definition.name), TIGHT
            case Apply(operation=operation, arguments=arguments):
                return self._applied(operation, arguments)
            case Select(base=base, indices=indices):
                return self._selected(base, indices), TIGHT
            case Reduce(function=function, binders=binders, body=body):
                under = ", ".join(map(self.binder, binders))
                if function == "mean" and any(str(binder.axis) == binder.rows_of for binder in binders):
                    return rf"\mathbb{{E}}_{{{under}}}\left[{self.of(body)}\right]", TIGHT
                return rf"{REDUCTIONS[function].latex}_{{{under}}} {self.of(body, _REDUCTION + 1)}", _REDUCTION
            case Aggregate(function=function, arguments=arguments):
                return rf"{AGGREGATES[function].latex}\left({self._listed(arguments)}\right)", TIGHT
            case ModelCall(model=model, arguments=arguments):
                return rf"{name(model)}_\theta\left({self._listed(arguments)}\right)", TIGHT
            case OutputOf(call=call, name=word):
                return rf"\left[{self.of(call)}\right]_{{{name(word)}}}", TIGHT
            case FeaturesOf(call=call):
                return rf"\operatorname{{features}}\left({self.of(call)}\right)", TIGHT
            case SquaredNorm(model=model):
                return rf"\left\|\theta_{{{name(model)}}}\right\|^2", 8
            case FamilyStatistic(kind=kind, family=family, tolerance=tolerance):
                more = "" if tolerance is None else f", {number(tolerance)}"
                return rf"\operatorname{{{kind}}}\left({name(family)}{more}\right)", TIGHT
            case RowStatistic(function=function, argument=argument, level=level):
                more = "" if level is None else f", {number(level)}"
                return rf"\operatorname{{{function}}}\left({self.of(argument)}{more}\right)", TIGHT
        raise AssertionError(type(node).__name__)

    def _literal(self, node: Literal) -> tuple[str, int]:
        value = node.value
        if isinstance(node.type, ArrayType) and isinstance(node.type.element, MemberOf):
            return name(self._labels[node.type.element.set][int(value)]), TIGHT
        if isinstance(value, bool | str):
            return rf"\text{{{escaped(str(value).lower() if isinstance(value, bool) else value)}}}", TIGHT
        return number(value), 5 if value < 0 else TIGHT

    def _applied(self, operation: str, arguments: Sequence[TypedExpression]) -> tuple[str, int]:
        own = OPERATIONS[operation].binding
        inside = [0] * len(arguments)
        if operation in ("power", "square"):
            inside[0] = TIGHT
        elif own < TIGHT:
            inside = [own, *[own + 1] * (len(arguments) - 1)]
            if operation in ("negate", "not"):
                inside = [own + 1]
        return OPERATIONS[operation].latex(*map(self.of, arguments, inside)), own

    def _selected(self, base: TypedExpression, indices: Sequence[TypedExpression]) -> str:
        listed = [self.of(index) for index in indices]
        if isinstance(base.type, ArrayType) and isinstance(base.type.element, MemberOf):
            # A map from members to members is a function: the bus of a generator.
            return rf"{self.of(base)}\left({', '.join(listed)}\right)"
        if isinstance(base, FieldRef) and base.binder is not None:
            return self.indexed(name(base.name), listed, name(base.binder.name))
        return self.indexed(self.of(base, TIGHT), listed)

    def _listed(self, arguments: Sequence[TypedExpression]) -> str:
        return ", ".join(map(self.of, arguments))


def name(word: str) -> str:
    """A name: one letter in italics, a Greek one as itself, a word upright; ``v_min`` as v with a subscript."""
    first, *rest = word.split("_")
    if not first:
        return rf"\mathrm{{{escaped(word)}}}"
    plain = (
        first
        if len(first) == 1 and first.isalpha()
        else rf"\{first}"
        if first in _GREEK
        else rf"\mathrm{{{escaped(first)}}}"
    )
    return rf"{plain}_{{\mathrm{{{escaped(' '.join(rest))}}}}}" if any(rest) else plain


def number(value: float) -> str:
    """A number as it is written, infinity and pi by their signs, an exponent as a power of ten."""
    if isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if abs(value) == pi:
        return r"\pi" if value > 0 else r"-\pi"
    mantissa, _, exponent = f"{value:.12g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def escaped(text: str) -> str:
    """A text without the signs that LaTeX gives a meaning."""
    return "".join(
        rf"\{letter}" if letter in "#$%&_{}" else rf"\char{ord(letter)} " if letter in "\\^~" else letter
        for letter in visible(text)
    )
