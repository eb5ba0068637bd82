"""Hypothesis strategies of well-typed expressions and constraint families over the small world, numerically tame.

Values stay of order one: no denominator comes near zero, ``exp`` and powers are taken of bounded arguments only.
What is discontinuous (comparisons, ``argmax``, ``arg``) is asked of fields, constants and outputs, never of computed
numbers, so that two evaluations which differ in the last digit agree on it. A mean, max or min is never over none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeAlias, TypeVar

import hypothesis.strategies as st
from world import FIELDS, GIVEN, MODEL_TYPES, NET, TOKEN

from pdual.dsl.operations import OPERATIONS, REDUCTIONS
from pdual.dsl.typed import (
    Aggregate,
    Apply,
    Binder,
    FieldRef,
    GivenRef,
    IndexRef,
    LetDefinition,
    LetRef,
    Literal,
    ModelCall,
    OutputOf,
    ParamRef,
    Reduce,
    Select,
    TypedExpression,
    TypedFamily,
)
from pdual.dsl.types import INT, REAL, ArrayType, Element, Kind, MemberOf, SetAxis

Reach: TypeAlias = tuple[Binder, ...]
T = TypeVar("T")


# --- building blocks ---------------------------------------------------------------------------------------


def element_of(expression: TypedExpression) -> Element:
    """The element of an array or scalar."""
    assert isinstance(expression.type, ArrayType)
    return expression.type.element


def apply(operation: str, *arguments: TypedExpression) -> Apply:
    """An operation with the type that its rule gives."""
    result = OPERATIONS[operation].result([element_of(argument) for argument in arguments])
    assert result is not None, (operation, arguments)
    return Apply(ArrayType(result), operation, arguments)


def real(value: float) -> Literal:
    """A real literal."""
    return Literal(REAL, value)


def given_field(name: str) -> GivenRef:
    """A whole field of the given."""
    return GivenRef(GIVEN[name], "g", name)


def row_field(name: str) -> FieldRef:
    """A whole field of the row."""
    return FieldRef(FIELDS[name], "rows", name)


def select(base: TypedExpression, *indices: TypedExpression) -> TypedExpression:
    """``base[i, j]``; ``base`` itself without an index."""
    if not indices:
        return base
    assert isinstance(base.type, ArrayType)
    return Select(ArrayType(base.type.element, base.type.axes[len(indices) :]), base, indices)


def index(binder: Binder) -> IndexRef:
    """A bound index as a value."""
    return IndexRef(ArrayType(MemberOf(str(binder.axis))), binder)


def output(name: str, *arguments: TypedExpression) -> OutputOf:
    """One output of ``net``."""
    return OutputOf(dict(NET.fields)[name], ModelCall(NET, "net", arguments), name)


class Grower:
    """Grows expressions from a source of choices; ``ragged`` lets them use the tokens of ``words``."""

    def __init__(self, draw: st.DrawFn, ragged: bool = False) -> None:
        self._draw = draw
        self._fresh = count(1)
        self._lets: list[LetDefinition] = []
        self._ragged = ragged

    def choose(self, *options: T) -> T:
        """One of the options; the first is the simplest."""
        return self._draw(st.sampled_from(options))

    def pick(self, *options: TypedExpression) -> TypedExpression:
        """One of the expressions."""
        return self.choose(*options)

    def perhaps(self) -> bool:
        """Yes or no, rather no."""
        return self.choose(False, False, True)

    def binder(self, axis: str, where: TypedExpression | None = None) -> Binder:
        """A fresh index over a set or over the tokens."""
        number = next(self._fresh)
        return Binder(number, f"{axis[0]}{number}", TOKEN if axis == "token" else SetAxis(axis), where)

    # --- members -------------------------------------------------------------------------------------------

    def member(self, of: str, reach: Reach, depth: int = 1) -> TypedExpression:
        """A member of a set: an index in reach, a literal, or another one through a map."""
        bound = [index(binder) for binder in reach if binder.axis == SetAxis(of)]
        if bound and not self.perhaps():
            return self.pick(*bound)
        forms = ["literal", "row", *(["map", "row", "map", "argmax"] if depth else [])]
        match self.choose(*forms):
            case "map":
                name, other = ("best", "b") if of == "a" else ("home", "a")
                return select(given_field(name), self.member(other, reach, depth - 1))
            case "row" if of == "a":
                return row_field("label")
            case "row":
                return select(row_field("pick"), self.member("a", reach, 0))
            case "argmax":
                return Aggregate(ArrayType(MemberOf(of)), "argmax", (self.distinct(of, reach),))
        return Literal(ArrayType(MemberOf(of)), self.choose(0, 1))

    def distinct(self, of: str, reach: Reach) -> TypedExpression:
        """A real array over a set whose entries are far apart."""
        if of == "a":
            return self.pick(given_field("x"), row_field("u"), output("p", row_field("u")))
        matrix = self.pick(given_field("m"), row_field("grid"))
        return self.pick(given_field("y"), row_field("v"), select(matrix, self.member("a", reach, 0)))

    # --- truth values --------------------------------------------------------------------------------------

    def truth(self, reach: Reach, depth: int) -> TypedExpression:
        """A truth value."""
        forms = ["leaf", *(["not", "and", "or", "where"] if depth else [])]
        match self.choose(*forms):
            case "not":
                return apply("not", self.truth(reach, depth - 1))
            case "and":
                return apply("and", self.truth(reach, depth - 1), self.truth(reach, depth - 1))
            case "or":
                return apply("or", self.truth(reach, depth - 1), self.truth(reach, depth - 1))
            case "where":
                return apply("where", *(self.truth(reach, depth - 1) for _ in range(3)))
        match self.choose("flag", "on", "member", "order", "complex"):
            case "flag":
                return select(given_field("flag"), self.member("a", reach))
            case "on":
                return row_field("on")
            case "member":
                of = self.choose("a", "b")
                return apply(self.choose("equal", "unequal"), self.member(of, reach), self.member(of, reach))
            case "complex":
                return apply(self.choose("equal", "unequal"), self.complex_leaf(reach), self.complex_leaf(reach))
        order = self.choose("at_most", "at_least", "below", "above", "equal", "unequal")
        return apply(order, self.real_leaf(reach), self.real_leaf(reach))

    # --- real numbers --------------------------------------------------------------------------------------

    def real_leaf(self, reach: Reach) -> TypedExpression:
        """A literal, a parameter, an entry of a field or of a model's output."""
        tokens = [binder for binder in reach if binder.axis == TOKEN]
        if tokens and not self.perhaps():
            return select(self.words(), index(self.choose(*tokens)))
        match self.choose("literal", "param", "given", "matrix", "scalar", "row", "output", "table", "score"):
            case "param":
                return self.pick(ParamRef(REAL, "tau"), ParamRef(INT, "level"))
            case "given":
                of = self.choose("a", "b")
                return select(given_field("x" if of == "a" else "y"), self.member(of, reach))
            case "matrix":
                base = self.pick(given_field("m"), row_field("grid"))
                return select(base, self.member("a", reach), self.member("b", reach))
            case "scalar":
                return row_field("s")
            case "row":
                of = self.choose("a", "b")
                return select(row_field("u" if of == "a" else "v"), self.member(of, reach))
            case "output":
                argument = self.pick(row_field("u"), given_field("x"))
                return select(output("p", argument), self.member("a", reach))
            case "table":
                arguments = (self.pick(row_field("v"), given_field("y")), row_field("s"))
                call = ModelCall(MODEL_TYPES["table"], "table", arguments)
                return select(call, self.member("a", reach), self.member("b", reach))
            case "score":
                return ModelCall(MODEL_TYPES["score"], "score", (row_field("c"),))
        return self.pick(real(0.5), real(-1.5), real(0.0), Literal(INT, 1), Literal(INT, 2))

    def words(self) -> TypedExpression:
        """The log-probabilities of the tokens of one call; all calls of a row are of one length."""
        kind = MODEL_TYPES["words"]
        return OutputOf(ArrayType(Kind.REAL, (TOKEN,)), ModelCall(kind, "words", (row_field("s"),)), "logprob")

    def real(self, reach: Reach, depth: int) -> TypedExpression:
        """A real number of order one."""
        if depth == 0:
            return self.real_leaf(reach)
        deeper = depth - 1
        forms: dict[str, Callable[[], TypedExpression]] = {
            "leaf": lambda: self.real_leaf(reach),
            "binary": lambda: apply(
                self.choose("add", "subtract", "multiply", "max", "min"),
                self.real(reach, deeper),
                self.real(reach, deeper),
            ),
            "unary": lambda: apply(
                self.choose("negate", "tanh", "sin", "cos", "sigmoid", "softplus", "relu", "abs", "square"),
                self.real(reach, deeper),
            ),
            "parts": lambda: apply(self.choose("re", "im", "abs", "abs2"), self.complex_(reach, deeper)),
            "arg": lambda: apply("arg", self.complex_leaf(reach)),
            "divide": lambda: apply("divide", self.real(reach, deeper), self.large(reach, deeper)),
            "roots": lambda: apply(self.choose("log", "sqrt"), self.large(reach, deeper)),
            "exp": lambda: apply("exp", apply("tanh", self.real(reach, deeper))),
            "power": lambda: apply("power", self.large(reach, 0), self.pick(real(-0.5), real(1.5), Literal(INT, 3))),
            "where": lambda: apply("where", self.truth(reach, 1), self.real(reach, deeper), self.real(reach, deeper)),
            "bce": lambda: apply("bce", self.real(reach, deeper), self.truth(reach, 1)),
            "tail": lambda: Aggregate(
                REAL,
                self.choose("top_mean", "bottom_mean"),
                (self.distinct(self.choose("a", "b"), reach), self.pick(real(0.5), real(0.1), real(1.0))),
            ),
            "reduce": lambda: self.reduce(self.real, reach, deeper),
            "extreme": lambda: self.reduce(self.real, reach, deeper, ("max", "min")),
            "share": lambda: self.reduce(self.truth, reach, 1, ("mean",)),
            "count": lambda: self.reduce(self.truth, reach, 0, ("count",)),
            "let": lambda: self.let(self.real, reach, deeper),
        }
        return forms[self.choose(*forms)]()

    def large(self, reach: Reach, depth: int) -> TypedExpression:
        """A real number of at least 1.5."""
        return apply("add", real(1.5), apply("abs", self.real(reach, depth)))

    # --- complex numbers -----------------------------------------------------------------------------------

    def complex_leaf(self, reach: Reach) -> TypedExpression:
        """An entry of a field or of a model's output."""
        match self.choose("w", "z", "c", "output"):
            case "z":
                return select(given_field("z"), self.member("a", reach))
            case "c":
                return select(row_field("c"), self.member("b", reach))
            case "output":
                return select(output("q", row_field("u")), self.member("b", reach))
        return select(given_field("w"), self.member("b", reach))

    def complex_(self, reach: Reach, depth: int) -> TypedExpression:
        """A complex number of order one."""
        if depth == 0:
            return self.complex_leaf(reach)
        deeper = depth - 1
        forms: dict[str, Callable[[], TypedExpression]] = {
            "leaf": lambda: self.complex_leaf(reach),
            "binary": lambda: apply(
                self.choose("add", "subtract", "multiply"),
                self.complex_(reach, deeper),
                self.complex_(reach, deeper),
            ),
            "mixed": lambda: apply(
                self.choose("add", "subtract", "multiply"),
                *self._shuffled(self.real(reach, deeper), self.complex_(reach, deeper)),
            ),
            "unary": lambda: apply(self.choose("negate", "conj", "square"), self.complex_(reach, deeper)),
            "exp": lambda: apply("exp", self.complex_leaf(reach)),
            "divide": lambda: apply("divide", self.complex_(reach, deeper), self.large(reach, deeper)),
            "quotient": lambda: apply(
                "divide",
                self.choose(self.real, self.complex_)(reach, deeper),
                select(given_field("w"), self.member("b", reach)),
            ),
            "where": lambda: apply(
                "where",
                self.truth(reach, 1),
                self.complex_(reach, deeper),
                self.choose(self.complex_, self.real)(reach, deeper),
            ),
            "reduce": lambda: self.reduce(self.complex_, reach, deeper),
            "let": lambda: self.let(self.complex_, reach, deeper),
        }
        return forms[self.choose(*forms)]()

    def _shuffled(self, first: TypedExpression, second: TypedExpression) -> Sequence[TypedExpression]:
        return self.choose((first, second), (second, first))

    # --- indices -------------------------------------------------------------------------------------------

    def reduce(
        self,
        body: Callable[[Reach, int], TypedExpression],
        reach: Reach,
        depth: int,
        functions: Sequence[str] = ("sum", "mean"),
    ) -> TypedExpression:
        """A reduction over one or two indices, filtered or joined with what is in reach."""
        function = self.choose(*functions)
        axes = [("a",), ("b",), ("a", "b"), ("a", "a")]
        if self._ragged:
            axes += [("token",), ("token", "b")]
        binders: list[Binder] = []
        for axis in self.choose(*axes):
            binders.append(self.filtered(axis, (*reach, *binders), maybe_none=function in ("sum", "count")))
        inside = body((*reach, *binders), depth)
        for binder in binders:
            if binder.axis == TOKEN:  # its length is that of the arrays it is used with
                inside = self.with_token(binder, inside)
        result = REDUCTIONS[function].result(element_of(inside))
        assert result is not None
        return Reduce(ArrayType(result), function, tuple(binders), inside)

    def with_token(self, binder: Binder, value: TypedExpression) -> TypedExpression:
        """The value, also depending on the token that an index stands at."""
        token = select(self.words(), index(binder))
        if element_of(value) is Kind.BOOL:
            return apply("and", value, apply("below", token, real(-0.7)))
        return apply("add", value, token)

    def filtered(self, axis: str, reach: Reach, maybe_none: bool) -> Binder:
        """An index, perhaps with a filter; without ``maybe_none`` one that always keeps something."""
        binder = self.binder(axis)
        if axis == "token":
            if not (maybe_none and self.perhaps()):
                return binder
            where: TypedExpression = apply("below", select(self.words(), index(binder)), real(-1.2))
            return Binder(binder.identity, binder.name, binder.axis, where)
        match self.choose("all", "join", "other", *(["any", "both"] if maybe_none else [])):
            case "join":
                where = self.join(binder, axis, reach, maybe_none)
            case "other":
                where = apply("unequal", index(binder), self.member(axis, reach))
            case "any":
                where = self.truth((*reach, binder), 1)
            case "both":
                condition = self.truth((*reach, binder), 0)
                where = apply("and", *self._shuffled(self.join(binder, axis, reach, True), condition))
            case _:
                return binder
        return Binder(binder.identity, binder.name, binder.axis, where)

    def join(self, binder: Binder, axis: str, reach: Reach, maybe_none: bool) -> TypedExpression:
        """``home[i] == j``; every ``j`` has an ``i`` unless ``maybe_none``."""
        if axis == "b":
            if not maybe_none:
                return apply("equal", index(binder), self.member("b", reach))
            image, target = select(given_field("best"), index(binder)), self.member("a", reach)
        else:
            through = self.pick(given_field("home"), row_field("pick"))
            image, target = select(through, index(binder)), self.member("b", reach)
        return apply("equal", *self._shuffled(image, target))

    def let(self, body: Callable[[Reach, int], TypedExpression], reach: Reach, depth: int) -> TypedExpression:
        """A let read at members in reach: a new one, or one that is there already."""
        wanted = (Kind.COMPLEX,) if body == self.complex_ else (Kind.REAL, Kind.INT)
        known = [item for item in self._lets if self._element(item) in wanted]
        if known and self.perhaps():
            definition = self.choose(*known)
        else:
            axes = self.choose(("a",), (), ("b",), ("a", "b"))
            binders = tuple(self.binder(axis) for axis in axes)
            inside = body(binders, depth)
            kind = ArrayType(element_of(inside), tuple(binder.axis for binder in binders))
            number = next(self._fresh)
            definition = LetDefinition(number, f"let{number}", binders, inside, kind)
            self._lets.append(definition)
        reference = LetRef(definition.type, definition)
        return select(reference, *(self.member(str(binder.axis), reach) for binder in definition.binders))

    def _element(self, definition: LetDefinition) -> Element:
        assert isinstance(definition.type, ArrayType)
        return definition.type.element


# --- strategies --------------------------------------------------------------------------------------------


@st.composite
def reals(draw: st.DrawFn, depth: int = 3, ragged: bool = False) -> TypedExpression:
    """A real expression without free indices."""
    return Grower(draw, ragged).real((), depth)


@st.composite
def complexes(draw: st.DrawFn, depth: int = 3, ragged: bool = False) -> TypedExpression:
    """A complex expression without free indices."""
    return Grower(draw, ragged).complex_((), depth)


@st.composite
def truths(draw: st.DrawFn, depth: int = 2) -> TypedExpression:
    """A truth value without free indices."""
    return Grower(draw).truth((), depth)


@st.composite
def members(draw: st.DrawFn, of: str, depth: int = 2) -> TypedExpression:
    """A member of a set without free indices."""
    return Grower(draw).member(of, (), depth)


@st.composite
def families(draw: st.DrawFn, depth: int = 2, name: str = "limits") -> TypedFamily:
    """A constraint family of any shape: filters that constants or rows decide, bounds of which some are infinite."""
    grower = Grower(draw)
    complex_valued = grower.choose(False, True)
    first = "b" if complex_valued else "a"
    axes = grower.choose((first,), (first, "b" if first == "a" else "a"), (first, first), ())
    binders: list[Binder] = []
    for axis in axes:
        binders.append(grower.filtered(axis, tuple(binders), maybe_none=True))
    reach = tuple(binders)
    grow = grower.complex_ if complex_valued else grower.real
    operators = grower.choose(("<=",), (">=",), ("==",), ("<=", "<="), (">=", ">="))
    if operators == ("==",):
        return TypedFamily(name, reach, operators, (grow(reach, depth), grow(reach, depth)), None)
    low, high = _bounds(complex_valued, reach[0] if reach else None)
    quantity = grow(reach, depth)
    operands = {
        ("<=",): (quantity, high),
        (">=",): (quantity, low),
        ("<=", "<="): (low, quantity, high),
        (">=", ">="): (high, quantity, low),
    }[operators]
    return TypedFamily(name, reach, operators, operands, None)


def _bounds(complex_valued: bool, binder: Binder | None) -> tuple[TypedExpression, TypedExpression]:
    names = ("floor", "roof") if complex_valued else ("low", "high")
    axis = "b" if complex_valued else "a"
    at = index(binder) if binder is not None else Literal(ArrayType(MemberOf(axis)), 0)
    return select(given_field(names[0]), at), select(given_field(names[1]), at)
