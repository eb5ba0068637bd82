"""Models that are functions of their arguments and nothing else: what a call gives is looked up among the case's values, or asked
of a trained model.

The interpreter and the program ask the same ``Calls``; arguments that differ in rounding only are the same call.
"""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from pdual.dsl.declarations.signature import Output, Signature, part_names
from pdual.dsl.types import ArrayType, Axis, FixedAxis, Kind, MemberFeatures, RaggedAxis, SetAxis
from pdual.runtime.data.tables import Ragged
from pdual.runtime.models.interface import ModelOutput
from pdual.verifying.case import RowsCase, Value, flat
from pdual.verifying.drawing import Drawing, nested

#: Arguments that agree to this are those of one call.
CLOSE = 1e-6
#: Of a trained model, which says for others that are near what is near.
EQUAL = 1e-12
#: Features whose width nothing tells are this wide.
OPEN = 3
#: Every model has these weights: ``squared_norm`` of it is 2.5.
WEIGHTS = (1.5, -0.5)
SQUARED_NORM = 2.5


@dataclass(frozen=True)
class Call:
    """One call: its arguments' numbers and names, its outputs, a direction to move them in, and features."""

    numbers: Tensor
    names: tuple[str, ...]
    outputs: Mapping[str, Value]
    directions: Mapping[str, Value]
    others: Mapping[str, Value]
    features: Mapping[str, Value]


@dataclass(frozen=True)
class Answer:
    """What a trained model says of one call: outputs by name, features by key."""

    outputs: Mapping[str, Value]
    features: Mapping[str, Value]


class OtherCalls(Exception):  # noqa: N818
    """At another point a row asks for other calls: what depends on predictions decides which."""


#: A trained model's name and its arguments to what it says.
Answers: TypeAlias = Callable[[str, tuple[Value, ...]], Answer]


class Calls:
    """The calls of a case so far; ``answers`` says what ``trained`` models do. ``shift`` moves every real output along its call's
    direction; ``blend`` from 0 to 1 moves it to another point within its range.
    """

    def __init__(
        self,
        case: RowsCase,
        signatures: Mapping[str, Signature],
        features: Mapping[str, ArrayType | MemberFeatures],
        sizes: Mapping[str, int],
        drawing: Drawing,
        answers: Answers | None = None,
        trained: frozenset[str] = frozenset(),
    ) -> None:
        self._answers = answers
        self._trained = trained
        self.shift = 0.0
        self.blend = 0.0  # how far outputs are on their way to each call's other point
        self._case = case
        self._signatures = signatures
        self._feature_types = features
        self._sizes = sizes
        self._drawing = drawing
        self._met: dict[str, list[Call]] = {}
        #: By row, the calls whose outputs were asked for since ``look``, in order.
        self.asked: list[list[tuple[str, Call]]] = [[]]
        self._again: list[list[tuple[str, Call]]] | None = None

    def look(self, again: list[list[tuple[str, Call]]] | None = None) -> None:
        """Before all rows are asked. ``again``: every row asks for these calls in this order, whatever their arguments have become."""
        self.asked, self._again = [], again

    def next_row(self) -> None:
        """Before a row is asked."""
        self.asked.append([])

    def _asked(self, model: str, arguments: tuple[Value, ...]) -> Call:
        if self._again is None:
            found = self.call(model, arguments)
        else:
            row, place = len(self.asked) - 1, len(self.asked[-1])
            if place >= len(self._again[row]) or self._again[row][place][0] != model:
                raise OtherCalls
            found = self._again[row][place][1]
        self.asked[-1].append((model, found))
        return found

    def outputs(self, model: str, arguments: tuple[Value, ...]) -> Value:
        """What the interpreter is given: the only unnamed output, or values by name."""
        call = self._asked(model, arguments)
        if self.blend:
            found = {name: _blended(value, call.others[name], self.blend) for name, value in call.outputs.items()}
        else:
            found = {name: _moved(value, call.directions[name], self.shift) for name, value in call.outputs.items()}
        return found[""] if set(found) == {""} else found

    def features(self, model: str, arguments: tuple[Value, ...]) -> Value:
        """The features of a call, by set where they are per member."""
        found = self.call(model, arguments).features
        return found[""] if set(found) == {""} else found

    def call(self, model: str, arguments: tuple[Value, ...]) -> Call:
        """The call with these arguments; made up where it was not met."""
        numbers, names = _key(arguments)
        close = EQUAL if model in self._trained else CLOSE
        met = self._met.setdefault(model, [])
        for call in met:
            if call.names == names and call.numbers.shape == numbers.shape and _close(call.numbers, numbers, close):
                return call
        answer = self._answers(model, arguments) if self._answers is not None and model in self._trained else None
        met.append(self._new(model, len(met), numbers, names, answer))
        return met[-1]

    def _new(self, model: str, number: int, numbers: Tensor, names: tuple[str, ...], answer: Answer | None) -> Call:
        given = self._case.outputs.get(model, ())
        source = random.Random(zlib.crc32(f"{model} {number}".encode()))
        signature = self._signatures[model]
        length = 1 + source.randrange(4)
        outputs = answer.outputs if answer is not None else given[number] if number < len(given) else None
        if outputs is None:
            outputs = {item.name: self._drawing.made_up(item, length, source) for item in signature.outputs}
        directions = {item.name: _direction(outputs[item.name], source) for item in signature.outputs}
        lengths = {item.name: len(outputs[item.name]) if _is_ragged(item) else 1 for item in signature.outputs}
        others = {item.name: self._drawing.made_up(item, lengths[item.name], source) for item in signature.outputs}
        features = answer.features if answer is not None else self._features(model, outputs, signature, source)
        return Call(numbers, names, outputs, directions, others, features)

    def distances(self) -> list[list[float]]:
        """By row, how far apart the two points of every call are that was asked for, in the Euclidean norm; a call counts once."""
        return [[_apart(call) for call in {id(call): call for _, call in row}.values()] for row in self.asked]

    def _features(
        self, model: str, outputs: Mapping[str, Value], signature: Signature, source: random.Random
    ) -> Mapping[str, Value]:
        kind = self._feature_types.get(model)
        if kind is None:
            return {}
        if isinstance(kind, MemberFeatures):
            return {name: _normals((self._sizes[name], width), source) for name, width in kind.widths}
        ragged = [len(outputs[item.name]) for item in signature.outputs if _is_ragged(item)]

        def side(axis: Axis) -> int:
            match axis:
                case SetAxis(set=name):
                    return self._sizes[name]
                case FixedAxis(size=size):
                    return size
                case RaggedAxis():
                    return ragged[0]
            return OPEN

        shape = [side(axis) for axis in kind.axes]
        return {"": _normals(tuple(shape), source)}


class CalledModel(nn.Module):
    """A model of the program: rows to values, the calls, and back. Its outputs are leaves that a gradient reaches."""

    def __init__(self, name: str, signature: Signature) -> None:
        super().__init__()
        self.name = name
        self.signature = signature
        self.weights = nn.Parameter(torch.tensor(WEIGHTS, dtype=torch.float64))
        self.calls: Calls | None = None
        self.leaves: list[tuple[Tensor, Tensor]] = []  # every output with the direction it is moved in
        self.asked: list[tuple[Mapping[str, Any], dict[str, Tensor]]] = []  # every call with its leaves by part name

    def forward(self, inputs: Mapping[str, Any]) -> ModelOutput:
        """Values by part name, each [batch, *axes], to outputs and features of the same layout."""
        assert self.calls is not None
        count = len(inputs["@row"])
        columns = [self._column(name, kind, inputs) for name, kind in self.signature.inputs]
        rows = zip(*columns, strict=True) if columns else [()] * count
        calls = [self.calls.call(self.name, tuple(arguments)) for arguments in rows]
        outputs: dict[str, Any] = {}
        leaves: dict[str, Tensor] = {}
        self.asked.append((inputs, leaves))
        for item in self.signature.outputs:
            values = _tensors(item.name, [call.outputs[item.name] for call in calls], item)
            directions = _tensors(item.name, [call.directions[item.name] for call in calls], item)
            for part, value in values.items():
                leaf = value.values if isinstance(value, Ragged) else value
                way = directions[part]
                if leaf.is_floating_point():
                    leaf.requires_grad_(True)
                    leaves[part] = leaf
                    self.leaves.append((leaf, way.values if isinstance(way, Ragged) else way))
                outputs[part] = value
        names = calls[0].features if calls else {}
        features: dict[str, Any] = {}
        for name in names:
            held = [call.features[name] for call in calls]
            if len({len(item) for item in held}) > 1 or self._features_are_ragged():
                features["token"] = ragged(held)
            else:
                features[name] = torch.tensor(held, dtype=torch.float64)
        return ModelOutput(outputs, features)

    def _features_are_ragged(self) -> bool:
        assert self.calls is not None
        kind = self.calls._feature_types.get(self.name)
        return isinstance(kind, ArrayType) and any(isinstance(axis, RaggedAxis) for axis in kind.axes)

    def _column(self, name: str, kind: Any, inputs: Mapping[str, Any]) -> list[Any]:
        if not isinstance(kind, ArrayType) or kind.element is Kind.TEXT:
            return list(inputs[name])
        found = [inputs[part] for part in part_names(name, kind)]
        whole = torch.complex(*(part.double() for part in found)) if len(found) == 2 else found[0]
        listed: list[Any] = whole.tolist()
        return listed


def ragged(rows: list[Any]) -> Ragged:
    """Rows of different lengths side by side."""
    ends = torch.tensor([0, *(len(row) for row in rows)]).cumsum(0)
    return Ragged(torch.tensor([entry for row in rows for entry in row], dtype=torch.float64), ends)


def column(name: str, values: list[Any], kind: ArrayType) -> dict[str, Any]:
    """One value a row as the tensors that carry it, by part name: [rows, *axes]."""
    if any(isinstance(axis, RaggedAxis) for axis in kind.axes):
        return {name: ragged(values)}
    if kind.element is Kind.COMPLEX:
        whole = torch.tensor(values, dtype=torch.complex128)
        return dict(zip(part_names(name, kind), (whole.real.clone(), whole.imag.clone()), strict=True))
    return {name: torch.tensor(values, dtype=torch.float64 if kind.element is Kind.REAL else None)}


def _tensors(name: str, values: list[Any], output: Output) -> dict[str, Any]:
    return column(name, values, output.type)


def _is_ragged(output: Output) -> bool:
    return any(isinstance(axis, RaggedAxis) for axis in output.type.axes)


def _key(arguments: tuple[Value, ...]) -> tuple[Tensor, tuple[str, ...]]:
    numbers: list[float] = []
    names: list[str] = []
    for leaf in flat(list(arguments)):
        if isinstance(leaf, str):
            names.append(leaf)
        elif isinstance(leaf, complex):
            numbers += (leaf.real, leaf.imag)
        else:
            numbers.append(float(leaf))
    return torch.tensor(numbers, dtype=torch.float64), tuple(names)


def _apart(call: Call) -> float:
    pairs = [
        pair for name, value in call.outputs.items() for pair in zip(flat(value), flat(call.others[name]), strict=True)
    ]
    return math.hypot(*(abs(one - other) for one, other in pairs if isinstance(one, float | complex)))


def _close(one: Tensor, other: Tensor, close: float) -> bool:
    return bool(((one - other).abs() <= close * (1e-3 + one.abs())).all()) or torch.equal(one, other)


def _direction(value: Value, source: random.Random) -> Value:
    if isinstance(value, list):
        return [_direction(item, source) for item in value]
    if isinstance(value, complex):
        return complex(source.gauss(0.0, 1.0), source.gauss(0.0, 1.0))
    return source.gauss(0.0, 1.0) if isinstance(value, float) else 0


def _moved(value: Value, direction: Value, shift: float) -> Value:
    if shift == 0:
        return value
    if isinstance(value, list):
        return [_moved(item, way, shift) for item, way in zip(value, direction, strict=True)]
    return value + shift * direction if isinstance(value, float | complex) else value


def _blended(value: Value, other: Value, share: float) -> Value:
    if isinstance(value, list):
        return [_blended(item, end, share) for item, end in zip(value, other, strict=True)]
    return (1 - share) * value + share * other if isinstance(value, float | complex) else value


def _normals(shape: tuple[int, ...], source: random.Random) -> Value:
    size = 1
    for side in shape:
        size *= side
    return nested([source.gauss(0.0, 1.0) for _ in range(size)], shape)
