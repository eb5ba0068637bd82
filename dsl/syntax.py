"""The tree of a spec as written: nodes with their spans, nothing inferred.

Spans stand outside equality, so that two texts with the same meaning have equal trees.
"""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias

from pdual.dsl.record import record
from pdual.dsl.spans import NOWHERE, Span


@record(frozen=True, slots=True)
class Node:
    """Anything that stands somewhere in the text."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True)


# --- expressions -------------------------------------------------------------------------------------------


@record(frozen=True, slots=True)
class Number(Node):
    """``3``, ``0.5``, ``1e-4``, ``1%`` (0.01). ``integer`` holds for a literal without point, exponent or percent."""

    value: float
    integer: bool


@record(frozen=True, slots=True)
class Text(Node):
    """``"a string"``."""

    value: str


@record(frozen=True, slots=True)
class Name(Node):
    """A bare name; ``true``, ``false``, ``inf`` and ``pi`` are names too."""

    name: str


@record(frozen=True, slots=True)
class Member(Node):
    """``base.name``: a field of a row, an output of a model, a qualified given name, a dotted source name."""

    base: Expression
    name: str
    name_span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class Index(Node):
    """``base[i, j]``."""

    base: Expression
    indices: tuple[Expression, ...]


@record(frozen=True, slots=True)
class Argument(Node):
    """One argument of a call, named or positional."""

    name: str | None
    value: Expression


@record(frozen=True, slots=True)
class Call(Node):
    """``function(a, name = b)``. ``function`` is a Name or a Member chain such as ``power.case``."""

    function: Expression
    arguments: tuple[Argument, ...]


@record(frozen=True, slots=True)
class Unary(Node):
    """``-a`` or ``not a``."""

    operator: str
    operand: Expression


@record(frozen=True, slots=True)
class Binary(Node):
    """``a + b``; operators ``+ - * / ^ and or``."""

    operator: str
    left: Expression
    right: Expression


@record(frozen=True, slots=True)
class Compare(Node):
    """``a <= b`` or a chain ``a <= b <= c``; ``operators`` is one shorter than ``operands``.

    Operators are ``<= >= == != < >``.
    """

    operators: tuple[str, ...]
    operands: tuple[Expression, ...]


@record(frozen=True, slots=True)
class Conditional(Node):
    """``then if condition else otherwise``."""

    then: Expression
    condition: Expression
    otherwise: Expression


@record(frozen=True, slots=True)
class Binder(Node):
    """``i in bus where slack[i]``: one bound index. ``domain`` is a Name or a Member (``data.train``)."""

    name: str
    domain: Expression
    where: Expression | None = None
    name_span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class Reduction(Node):
    """``sum[g in gen where at[g] == i](s[g])``."""

    function: str
    binders: tuple[Binder, ...]
    body: Expression
    function_span: Span = field(default=NOWHERE, compare=False)


@record(frozen=True, slots=True)
class ListOf(Node):
    """``[64, 64]``."""

    items: tuple[Expression, ...]


Expression: TypeAlias = (
    Number | Text | Name | Member | Index | Call | Unary | Binary | Compare | Conditional | Reduction | ListOf
)


# --- types -------------------------------------------------------------------------------------------------


@record(frozen=True, slots=True)
class Interval(Node):
    """``in [lo, hi]``."""

    low: Expression
    high: Expression


@record(frozen=True, slots=True)
class ArrayTypeName(Node):
    """``complex[bus]``, ``real[1, 28, 28]``, ``class``, ``real[_]``.

    An axis is a Name (a set, ``_`` for any width, or a ragged axis) or a Number (a fixed size).
    """

    element: str
    axes: tuple[Name | Number, ...] = ()
    interval: Interval | None = None


@record(frozen=True, slots=True)
class FieldDeclaration(Node):
    """``source, target: bus[branch]``, with ``from "Column Name"`` where the column is called otherwise."""

    names: tuple[Name, ...]
    type: TypeName
    column: str | None = None


@record(frozen=True, slots=True)
class RecordTypeName(Node):
    """``{ v: complex[bus], s: complex[gen] }``."""

    fields: tuple[FieldDeclaration, ...]


@record(frozen=True, slots=True)
class GraphTypeName(Node):
    """``graph { node: real[dim] }``."""

    fields: tuple[FieldDeclaration, ...]


TypeName: TypeAlias = ArrayTypeName | RecordTypeName | GraphTypeName


# --- statements --------------------------------------------------------------------------------------------


@record(frozen=True, slots=True)
class Problem(Node):
    """``problem NAME "title"``; a problem may go without a title."""

    name: Name
    title: str = ""


@record(frozen=True, slots=True)
class Param(Node):
    """``param NAME = expr in [lo, hi]``."""

    name: Name
    value: Expression
    interval: Interval | None = None


@record(frozen=True, slots=True)
class SetDeclaration(Node):
    """``set NAME = 0..n - 1`` (``low``, ``high``, both ends members) or ``{a, b}`` (``members``)."""

    name: Name
    low: Expression | None = None
    high: Expression | None = None
    members: tuple[Name, ...] = ()


@record(frozen=True, slots=True)
class Given(Node):
    """``given NAME = SOURCE { set ...; fields }``."""

    name: Name
    source: Call
    sets: tuple[Name, ...]
    fields: tuple[FieldDeclaration, ...]


@record(frozen=True, slots=True)
class Setting(Node):
    """``name = value`` inside braces."""

    name: Name
    value: Expression


@record(frozen=True, slots=True)
class Data(Node):
    """``data NAME = SOURCE { fields }``; without a source it is bound at run time (``settings``: ``split``)."""

    name: Name
    source: Call | None
    fields: tuple[FieldDeclaration, ...]
    settings: tuple[Setting, ...] = ()


@record(frozen=True, slots=True)
class Parameter(Node):
    """One argument of a model's signature (``type`` set) or of a ``def`` (``type`` None)."""

    name: Name
    type: TypeName | None


@record(frozen=True, slots=True)
class Model(Node):
    """``model NAME(args) -> type = ARCHITECTURE(...)``.

    ``model before = frozen(lm)`` has no parameters and no output: both come from ``lm``. Without ``architecture`` the
    model is given from Python.
    """

    name: Name
    parameters: tuple[Parameter, ...] | None
    output: TypeName | None
    architecture: Call | None
    settings: tuple[Setting, ...] = ()


@record(frozen=True, slots=True)
class Def(Node):
    """``def NAME(args) = expr``."""

    name: Name
    parameters: tuple[Parameter, ...]
    body: Expression


@record(frozen=True, slots=True)
class Let(Node):
    """``let NAME[i in S] = expr`` or ``let (a, b) = expr`` (taken apart by field name: ``names`` of two or more)."""

    names: tuple[Name, ...]
    binders: tuple[Binder, ...]
    value: Expression


@record(frozen=True, slots=True)
class Minimize(Node):
    """``minimize EXPR scale EXPR``."""

    value: Expression
    scale: Expression | None = None


@record(frozen=True, slots=True)
class Constraint(Node):
    """``NAME[i in S] scale EXPR: relation``, one entry of a ``subject to``."""

    name: Name
    binders: tuple[Binder, ...]
    relation: Expression
    scale: Expression | None = None


@record(frozen=True, slots=True)
class SubjectTo(Node):
    """``subject to`` and its constraints."""

    constraints: tuple[Constraint, ...]


@record(frozen=True, slots=True)
class DualTarget(Node):
    """``voltage``, ``voltage.upper``, ``generation.re.upper``, ``margin[j]`` or ``default``."""

    family: Name
    part: tuple[Name, ...] = ()
    indices: tuple[Name, ...] = ()


@record(frozen=True, slots=True)
class Dual(Node):
    """``dual TARGETS = value``; the value is a kind (``pointwise(cap = G)``, ...) or a formula."""

    targets: tuple[DualTarget, ...]
    value: Expression


@record(frozen=True, slots=True)
class Metric(Node):
    """``metric NAME = expr``."""

    name: Name
    value: Expression


@record(frozen=True, slots=True)
class Over(Node):
    """``over ROW in DATA { ... }``, or ``over group T of DATA by FIELD { ... }`` (``by`` set)."""

    row: Name
    data: Name
    by: Name | None
    body: tuple[BlockStatement, ...]


@record(frozen=True, slots=True)
class Expect(Node):
    """``expect NAME on DATA.SPLIT: relation``."""

    name: Name
    data: Name
    split: Name
    relation: Expression


@record(frozen=True, slots=True)
class Solve(Node):
    """``solve { outer = 40 ... }``."""

    settings: tuple[Setting, ...]


BlockStatement: TypeAlias = Let | Minimize | SubjectTo | Dual | Metric
Statement: TypeAlias = (
    Problem
    | Param
    | SetDeclaration
    | Given
    | Data
    | Model
    | Def
    | Let
    | Minimize
    | SubjectTo
    | Over
    | Dual
    | Metric
    | Expect
    | Solve
)


@record(frozen=True, slots=True)
class Spec(Node):
    """A whole file: its statements in order."""

    statements: tuple[Statement, ...]
