"""Losses that deserve a name: binary cross-entropy on a logit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pdual.dsl.operations.interval import point
from pdual.dsl.operations.operation import Applier, Operation, Parts
from pdual.dsl.operations.rules import named
from pdual.dsl.types import Element, Kind


def _result(elements: Sequence[Element]) -> Element | None:
    logit, label = elements
    fits = logit in (Kind.REAL, Kind.INT) and label in (Kind.BOOL, Kind.REAL, Kind.INT)
    return Kind.REAL if fits else None


def _meaning(logit: float, label: float) -> float:
    return max(logit, 0.0) + math.log1p(math.exp(-abs(logit))) - float(label) * logit


def _lower(apply: Applier, logit: Parts, label: Parts) -> Parts:
    """softplus(s) - y s: no overflow for logits of any size."""
    weight = apply("as_real", label)
    return apply("subtract", apply("softplus", logit), apply("multiply", weight, logit))


BCE = Operation(
    "bce",
    2,
    "a logit and a truth value (or a probability)",
    _result,
    _meaning,
    named("bce"),
    _lower,
    line="`bce(score, label)`: binary cross-entropy of a score against a truth value",
)


def _counted(elements: Sequence[Element]) -> Element | None:
    return Kind.REAL if elements[0] in (Kind.BOOL, Kind.INT, Kind.REAL) else None


def _emit_as_real() -> Any:
    import torch

    def as_real(value: Any) -> Any:
        return value if value.is_floating_point() else value.to(torch.get_default_dtype())

    return as_real


AS_REAL = Operation(
    "as_real", 1, "a real number or a truth value", _counted, float, str, None, lambda a: a, _emit_as_real,
    surface=False, monotone="+", lipschitz=1.0, slope=lambda x: (point(1.0),), narrow=lambda arguments, result: (result,),
)  # fmt: skip

OPERATIONS = (BCE, AS_REAL)
