"""Every setting of everything that has some, with every value that a number cannot be: accepted, or told; never a bug, and nothing infinite."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from pdual.dsl.catalogue import errors_in
from pdual.dsl.checking import check
from pdual.dsl.declarations.optimisers import OPTIMISERS, SCHEDULES
from pdual.dsl.declarations.references import Settings
from pdual.dsl.declarations.registry import architectures, sources
from pdual.dsl.declarations.solving import RHO_SCHEDULES, SHRINKINGS, SolveSettings
from pdual.dsl.declarations.source import SourceRole
from pdual.dsl.diagnostics import Diagnostic
from pdual.dsl.parser import parse
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedSpec

SPEC = """problem p "a test"
param whole = 10^18
param endless = inf
{given}
data d = {source} {{ x: real }}
model f(x: real) -> real = {model}
over r in d {{
  minimize f(r.x)
  subject to close: f(r.x) <= 1
  dual close = {dual}
}}
solve {{ {solve} }}
"""
PLAIN = {"given": "", "source": 'csv("d.csv")', "model": "linear()", "dual": "shared(cap = 1)", "solve": "outer = 1"}

#: None of these is a number that can be computed with, except perhaps 0.
VALUES = (
    *("inf", "-inf", "endless", "inf - inf", "1/0", "1e400", "log(-1)", "exp(1e9)"),
    *("0", "-1", "-0.5", "0.5", "1.5", "1e300", "1e-320", "10^30", "10^400", "9007199254740993", "whole", "2^63"),
    *(
        "[]",
        "[inf]",
        "[1, inf]",
        "[1, ]",
        "[1, 2, 3, 4, 5, 6, 7]",
        "[[1]]",
        "[1.5, -1]",
        "true",
        '"a"',
        '""',
        "[0.8, 0, ]",
    ),
    *(
        "x",
        "d",
        "r.x",
        "f",
        "adam",
        "adam()",
        "adam(lr = inf)",
        "f(1)",
        "mlp",
        "mlp([])",
        "[true]",
        '["a"]',
        "1 if true else 2",
    ),
)


def owners() -> Iterator[tuple[str, str, type[Settings]]]:
    """The part of the spec, how a setting is written there, and the record that holds it."""
    yield "solve", "{}", SolveSettings
    for name, record in OPTIMISERS.items():
        yield "solve", f"descent = {name}({{}})", record
    for name, record in SCHEDULES.items():
        yield "solve", f"descent = adam(lr = 1e-3, schedule = {name}({{}}))", record
    for name, record in RHO_SCHEDULES.items():
        yield "solve", f"rho_schedule = {name}({{}})", record
    for name, record in SHRINKINGS.items():
        yield "solve", f"shrinking = {name}({{}})", record
    for name, architecture in architectures().items():
        yield "model", f"{name}({{}})", architecture.settings
    for name, source in sources().items():
        if source.role is SourceRole.GIVEN:
            yield "given", f"given g = {name}({{}}) {{{{ set s }}}}", source.settings
        else:
            yield "source", f"{name}({{}})", source.settings


SETTINGS = [(part, written, name) for part, written, record in owners() for name in record.model_fields]
SETTINGS += [("dual", f"{kind}({{}})", "cap") for kind in ("pointwise", "shared", "hybrid")]


def numbers(value: Any) -> Iterator[float]:
    """Every number in checked settings."""
    if isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from numbers(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, int | float):
        yield value
    elif hasattr(value, "settings"):
        yield from numbers(value.settings)


def read(source: Source) -> tuple[TypedSpec | None, tuple[Diagnostic, ...]]:
    """Without trying repairs, which takes most of the time."""
    spec, found = parse(source)
    return (None, found) if spec is None or found else check(spec, source)


@pytest.mark.parametrize(("part", "written", "name"), SETTINGS, ids=lambda item: str(item)[:40])
def test_what_no_number_is(part: str, written: str, name: str) -> None:
    for value in VALUES:
        text = SPEC.format(**{**PLAIN, part: written.format(f"{name} = {value}")})
        spec, found = read(Source("p", text))
        assert spec is not None or errors_in(found), text
        if spec is not None:
            used = [spec.solve, *(model.architecture for model in spec.models), *spec.data, *spec.givens]
            assert all(map(math.isfinite, (number for item in used for number in numbers(item)))), text


@pytest.mark.parametrize(
    "form",
    ["{}(", "{}()", "{}(,)", "{}(1, )", "{}(, 1)", "{}(a = )", "{}(a = 1, )", "{}([)", "{}([,])", "{}([1, , 2])"],
)
@pytest.mark.parametrize(("part", "written"), sorted({(part, written) for part, written, _ in SETTINGS}))
def test_calls_with_arguments_left_out(part: str, written: str, form: str) -> None:
    inner = form.format("").removeprefix("(").removesuffix(")")
    spec, found = read(Source("p", SPEC.format(**{**PLAIN, part: written.format(inner)})))
    assert spec is not None or errors_in(found)


def test_two_shares_are_no_three() -> None:
    _, found = read(Source("p", SPEC.format(**{**PLAIN, "source": "digits(split = [0.8, 0, ])"})))
    assert [
        (item.code, item.fact["expected"], item.fact["found"]) for item in errors_in(found) if item.code == "PD217"
    ] == [("PD217", "a list of 3", "a list of 2")]
