"""A small world for generated programs: two sets, structure on them, three rows, models that are plain functions."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from pdual.compiler.interpreter import Environment, RowValues, Value
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.spans import Source
from pdual.dsl.typed import (
    TypedBlock,
    TypedData,
    TypedFamily,
    TypedField,
    TypedGiven,
    TypedMetric,
    TypedModel,
    TypedObjective,
    TypedParam,
    TypedSet,
    TypedSpec,
)
from pdual.dsl.types import ArrayType, Kind, MemberOf, RaggedAxis, RecordType, SetAxis

A, B, TOKEN = SetAxis("a"), SetAxis("b"), RaggedAxis("token")
SETS: Mapping[str, tuple[str, ...]] = {"a": ("0", "1", "2"), "b": ("0", "1")}
PARAMS: Mapping[str, float | int | str] = {"tau": 0.75, "level": 2}

#: Fields of the given ``g``. Every member of ``b`` is some ``home``; 0 is not a value of ``w``.
GIVEN: Mapping[str, ArrayType] = {
    "home": ArrayType(MemberOf("b"), (A,)),
    "best": ArrayType(MemberOf("a"), (B,)),
    "flag": ArrayType(Kind.BOOL, (A,)),
    "x": ArrayType(Kind.REAL, (A,)),
    "y": ArrayType(Kind.REAL, (B,)),
    "m": ArrayType(Kind.REAL, (A, B)),
    "z": ArrayType(Kind.COMPLEX, (A,)),
    "w": ArrayType(Kind.COMPLEX, (B,)),
    "low": ArrayType(Kind.REAL, (A,)),
    "high": ArrayType(Kind.REAL, (A,)),
    "floor": ArrayType(Kind.COMPLEX, (B,)),
    "roof": ArrayType(Kind.COMPLEX, (B,)),
}
KNOWN = Known(
    sets=SETS,
    fields={
        "home": [1, 0, 1],
        "best": [2, 0],
        "flag": [True, False, True],
        "x": [0.25, -1.5, 0.0],
        "y": [1.75, -0.5],
        "m": [[0.5, -1.0], [2.0, 0.75], [-0.25, 1.25]],
        "z": [0.5 - 1.25j, 0j, -1.5 + 0.5j],
        "w": [1 + 0.5j, -0.75j],
        "low": [-inf, -0.5, -1.0],
        "high": [1.5, inf, 0.5],
        "floor": [complex(-inf, -1.0), -0.5 - 0.5j],
        "roof": [1.5 + 2j, complex(1.0, inf)],
    },
)

#: Real fields that may be infinite, as they are declared to be; complex ones have no range.
ENDS: Mapping[str, tuple[float, float]] = {"low": (-inf, inf), "high": (-inf, inf)}

#: Fields of a row. Every member of ``b`` is some ``pick`` in every row.
FIELDS: Mapping[str, ArrayType] = {
    "s": ArrayType(Kind.REAL),
    "on": ArrayType(Kind.BOOL),
    "label": ArrayType(MemberOf("a")),
    "pick": ArrayType(MemberOf("b"), (A,)),
    "u": ArrayType(Kind.REAL, (A,)),
    "v": ArrayType(Kind.REAL, (B,)),
    "c": ArrayType(Kind.COMPLEX, (B,)),
    "grid": ArrayType(Kind.REAL, (A, B)),
}
ROWS: Sequence[Mapping[str, Any]] = (
    {
        "s": 0.4,
        "on": True,
        "label": 1,
        "pick": [0, 1, 1],
        "u": [0.2, -0.9, 1.4],
        "v": [0.6, -1.1],
        "c": [0.3 + 0.8j, -0.7 - 0.2j],
        "grid": [[0.1, 0.9], [-1.3, 0.35], [0.8, -0.6]],
    },
    {
        "s": -1.2,
        "on": False,
        "label": 0,
        "pick": [1, 0, 1],
        "u": [1.1, 0.0, -0.4],
        "v": [-0.3, 0.45],
        "c": [0j, 1.1 - 0.9j],
        "grid": [[0.0, -0.45], [1.6, 0.7], [-0.15, 0.55]],
    },
    {
        "s": 2.1,
        "on": True,
        "label": 2,
        "pick": [1, 1, 0],
        "u": [-0.6, 0.85, 0.3],
        "v": [1.9, 0.05],
        "c": [-0.4 + 0.1j, 0.9 + 0.6j],
        "grid": [[-0.7, 0.65], [0.25, -1.4], [1.05, 0.95]],
    },
)

NET = RecordType((("p", ArrayType(Kind.REAL, (A,))), ("q", ArrayType(Kind.COMPLEX, (B,)))))
MODEL_TYPES: Mapping[str, ArrayType | RecordType] = {
    "net": NET,
    "table": ArrayType(Kind.REAL, (A, B)),
    "score": ArrayType(Kind.REAL),
    "words": RecordType((("logprob", ArrayType(Kind.REAL, (TOKEN,))),)),
}
SIGNATURES: Mapping[str, Signature] = {
    "net": Signature((("u", ArrayType(Kind.REAL, (A,))),), tuple(Output(*field) for field in NET.fields)),
    "table": Signature(
        (("v", ArrayType(Kind.REAL, (B,))), ("s", ArrayType(Kind.REAL))),
        (Output("", ArrayType(Kind.REAL, (A, B))),),
    ),
    "score": Signature((("c", ArrayType(Kind.COMPLEX, (B,))),), (Output("", ArrayType(Kind.REAL)),)),
    "words": Signature((("s", ArrayType(Kind.REAL)),), (Output("logprob", ArrayType(Kind.REAL, (TOKEN,))),)),
}


def models(model: str, arguments: tuple[Value, ...]) -> Value:
    """The outputs of a model call at one row: smooth functions of its arguments."""
    match model:
        case "net":
            (u,) = arguments
            return {
                "p": [math.tanh(u[n]) + 0.3 * u[(n + 1) % 3] for n in range(3)],
                "q": [complex(math.sin(u[n] + 0.5), 0.7 * math.cos(u[n + 1])) for n in range(2)],
            }
        case "table":
            v, s = arguments
            return [[math.sin(n + 1 + v[k] + 0.5 * s) for k in range(2)] for n in range(3)]
        case "score":
            (c,) = arguments
            return math.tanh(c[0].real - c[1].imag) + 0.2 * (c[0] * c[1]).real
        case "words":
            (s,) = arguments
            return {"logprob": [-1.5 + math.cos(s * (k + 1)) for k in range(1 + int(10 * abs(s)) % 4)]}
    raise LookupError(model)


def features(model: str, arguments: tuple[Value, ...]) -> Value:
    """A vector of two numbers for the calls of ``score``."""
    (c,) = arguments
    return [abs(c[0]), cmath.exp(c[1]).real]


def environment() -> Environment:
    """What holds in every row of the world."""
    return Environment(PARAMS, {"g": KNOWN}, SETS)


def rows() -> list[RowValues]:
    """The rows of the world, with its models."""
    return [RowValues(fields, models, features) for fields in ROWS]


def spec(
    metrics: Sequence[TypedMetric] = (),
    families: Sequence[TypedFamily] = (),
    objectives: Sequence[TypedObjective] = (),
) -> TypedSpec:
    """A checked spec over the world with one block of these statements."""
    block = TypedBlock("rows", "r", None, (), tuple(objectives), tuple(families), (), tuple(metrics))
    return TypedSpec(
        name="world",
        title="Generated",
        params=tuple(
            TypedParam(name, ArrayType(Kind.INT if isinstance(value, int) else Kind.REAL), value, value)
            for name, value in PARAMS.items()
        ),
        sets=tuple(TypedSet(name, labels) for name, labels in SETS.items()),
        givens=(
            TypedGiven(
                "g",
                "world",
                Settings(),
                (),
                tuple(TypedField(*field, *ENDS.get(field[0], ())) for field in GIVEN.items()),
            ),
        ),
        data=(TypedData("rows", None, Settings(), tuple(TypedField(*field) for field in FIELDS.items())),),
        models=tuple(TypedModel(name, SIGNATURES[name], MODEL_TYPES[name], None) for name in SIGNATURES),
        objectives=(),
        averages=(),
        blocks=(block,),
        expects=(),
        solve=SolveSettings.model_validate({}),
        source=Source("world.pdual", ""),
    )
