"""Ranges, Lipschitz constants and curvature as ``pdual bounds`` claims them, against values of expressions in numpy.

Expressions are made up from pieces that rules are easily wrong on: kinks, poles just outside a range, differences of what is the same, powers of
either sign, values of a complex plane, reductions with a filter. Each piece is written twice, in the language and in numpy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Any, TypeAlias

import numpy as np
import pytest
import sympy
import torch
from examples import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pdual.bounding.certificate import DELTA, rate
from pdual.bounding.parts import Constants, part_constants
from pdual.compiler.compile import lower
from pdual.dsl.operations.operation import Curvature
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.optimisation.lagrangian import Lagrangian

Values: TypeAlias = Mapping[str, NDArray[Any]]
Piece: TypeAlias = tuple[str, Callable[[Values], NDArray[Any]]]

SPEC = """problem adv "made up"
set k = 0..6
param share = 0.28571428571428575
data rows {{ b: real in [0, 1], y: bool, p: real in [0, 1], t: real[k] in [-1, 1], on: bool }}
model f(b: real) -> {{ x: real in [-2, 3], q: real in [-1, 1], z: real[k] in [-3, 3], c: complex }}
over r in rows {{
  let (x, q, z, c) = f(r.b)
  minimize x^2
  subject to
{rows}
}}
"""
POINTS = 4000


def drawn(seed: int) -> Values:
    """Predictions and fields: corners, zeros and what lies between, each on its own."""
    source = np.random.default_rng(seed)

    def within(low: float, high: float, *shape: int) -> NDArray[Any]:
        values = source.uniform(low, high, (POINTS, *shape))
        ends = source.choice([low, high, 0.0, (low + high) / 2], (POINTS, *shape))
        return np.where(source.random((POINTS, *shape)) < 0.4, ends, values)

    return {
        "x": within(-2, 3), "q": within(-1, 1), "z": within(-3, 3, 7), "c": within(-1, 2) + 1j * within(-2, 1),
        "b": within(0, 1), "p": within(0, 1), "t": within(-1, 1, 7), "y": source.random(POINTS) < 0.5, "on": source.random(POINTS) < 0.5,
    }  # fmt: skip


def softplus(x: NDArray[Any]) -> NDArray[Any]:
    return np.logaddexp(0.0, x)


def kinked(v: Values) -> NDArray[Any]:
    x, q = v["x"], v["q"]
    return np.maximum(np.minimum(x, -x), np.maximum(q, np.minimum(x * q, abs(x))))


def filtered(v: Values) -> NDArray[Any]:
    return np.where(v["t"] > 0, v["z"], 0.0).sum(1)


def chosen(v: Values) -> NDArray[Any]:
    return np.take_along_axis(v["z"], v["t"].argmax(1)[:, None], 1)[:, 0]


def top(v: Values, count: int) -> NDArray[Any]:
    return np.sort(v["z"], 1)[:, -count:].mean(1)


PIECES: list[Piece] = [
    ("x", lambda v: v["x"]),
    ("q", lambda v: v["q"]),
    ("r.b", lambda v: v["b"]),
    ("max(min(x, -x), max(q, min(x * q, abs(x))))", kinked),
    ("(abs(x) - abs(-x) + abs(x - x))", lambda v: 0 * v["x"]),
    ("(x ^ 3 - x ^ 5)", lambda v: v["x"] ** 3 - v["x"] ** 5),
    ("(x - 3.5) ^ (-3)", lambda v: (v["x"] - 3.5) ** -3),
    ("(q - 2) ^ (-2)", lambda v: (v["q"] - 2) ** -2.0),
    ("arg(c)", lambda v: np.angle(v["c"] + 0.0)),
    ("log(x + 2.01)", lambda v: np.log(v["x"] + 2.01)),
    ("log(abs2(c) + 1e-3)", lambda v: np.log(abs(v["c"]) ** 2 + 1e-3)),
    ("bce(3 * x, r.y)", lambda v: softplus(3 * v["x"]) - v["y"] * 3 * v["x"]),
    ("bce(x, r.p)", lambda v: softplus(v["x"]) - v["p"] * v["x"]),
    ("x * (1 - x)", lambda v: v["x"] * (1 - v["x"])),
    ("top_mean(z, share)", lambda v: top(v, 2)),
    ("(top_mean(z, 0.142857142857142857) - max[i in k](z[i]))", lambda v: 0 * v["x"]),
    ("sqrt(abs(x))", lambda v: np.sqrt(abs(v["x"]))),
    ("x / (q + 1.1)", lambda v: v["x"] / (v["q"] + 1.1)),
    ("(abs(c) * abs(c) - abs2(c))", lambda v: 0 * v["x"]),
    ("re(c / (c + 3))", lambda v: (v["c"] / (v["c"] + 3)).real),
    ("im(exp(c * 2))", lambda v: np.exp(2 * v["c"]).imag),
    ("(softplus(-5 * x) - softplus(5 * x) + 5 * x)", lambda v: 0 * v["x"]),
    ("(x if x > q else q)", lambda v: np.maximum(v["x"], v["q"])),
    ("(x if r.on else -x)", lambda v: np.where(v["on"], v["x"], -v["x"])),
    ("sum[i in k where r.t[i] > 0](z[i])", filtered),
    ("mean[i in k](z[i] * r.t[i])", lambda v: (v["z"] * v["t"]).mean(1)),
    ("z[argmax(r.t)]", chosen),
    ("tanh(5 * x) * sigmoid(-7 * q)", lambda v: np.tanh(5 * v["x"]) / (1 + np.exp(7 * v["q"]))),
    ("relu(x) ^ 2", lambda v: np.maximum(v["x"], 0) ** 2),
    ("max(x, 0) ^ 1.5", lambda v: np.maximum(v["x"], 0) ** 1.5),
    ("abs(c) ^ 3", lambda v: abs(v["c"]) ** 3),
    ("(abs(x) ^ 2 + abs(q) ^ 4)", lambda v: v["x"] ** 2 + v["q"] ** 4),
    ("exp(-x) / exp(-x)", lambda v: 1 + 0 * v["x"]),
    ("cos(3 * x) * sin(2 * q)", lambda v: np.cos(3 * v["x"]) * np.sin(2 * v["q"])),
    ("(max[i in k](z[i]) - min[i in k](z[i]))", lambda v: v["z"].max(1) - v["z"].min(1)),
    ("count[i in k where z[i] > 0](z[i])", lambda v: (v["z"] > 0).sum(1).astype(float)),
    ("sqrt(x^2 + q^2)", lambda v: np.hypot(v["x"], v["q"])),
    ("1 / (x + 2.5)", lambda v: 1 / (v["x"] + 2.5)),
    ("max(x, q)^2", lambda v: np.maximum(v["x"], v["q"]) ** 2),
    ("(x + 2)^3", lambda v: (v["x"] + 2) ** 3),
    ("(x^2)^2", lambda v: v["x"] ** 4),
    ("exp(0.5 * x^2)", lambda v: np.exp(0.5 * v["x"] ** 2)),
    ("sum[i in k](z[i]^2)", lambda v: (v["z"] ** 2).sum(1)),
]  # fmt: skip
#: How two expressions become one.
JOINED: list[tuple[str, Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]]] = [
    ("({}) + ({})", lambda a, b: a + b),
    ("({}) - ({})", lambda a, b: a - b),
    ("({}) * ({})", lambda a, b: a * b),
    ("max({}, {})", np.maximum),
    ("min({}, {})", np.minimum),
    ("abs(({}) - 0.3 * ({}))", lambda a, b: abs(a - 0.3 * b)),
    ("(({}) - ({}))^2", lambda a, b: (a - b) ** 2),
    ("tanh(0.5 * ({})) - sigmoid({})", lambda a, b: np.tanh(0.5 * a) - 0.5 * (1 + np.tanh(0.5 * b))),
]


def constants(expressions: list[str]) -> list[tuple[Constants, float] | None]:
    rows = "\n".join(f"    e{number}: {text} <= 0" for number, text in enumerate(expressions))
    spec, found = read(Source("adv.pdual", SPEC.format(rows=rows)))
    assert spec is not None, [str(item) for item in found]
    graph, _ = lower(spec, {})
    scales = {part.layout.name: part.layout.scale[0] for data in graph.data for part in data.parts}
    named = {item.name: item for item in part_constants(graph)}
    # Where an expression is never above 0 nothing is left of the constraint.
    return [(named[f"e{n}"], scales[f"e{n}"]) if f"e{n}" in named else None for n in range(len(expressions))]


def moved(first: Values, second: Values, share: float) -> Values:
    """Predictions on the way from one point to another, fields of the first."""
    return {
        name: (1 - share) * value + share * second[name] if name in ("x", "q", "z", "c") else value
        for name, value in first.items()
    }


def holds(known: Constants, scale: float, meaning: Callable[[Values], NDArray[Any]], text: str, rows: int = 1) -> None:
    """Every claim about one expression, or about its mean over some ``rows``, in the norm of the mean square."""
    first, second = drawn(1), drawn(2)

    def mean(values: NDArray[Any]) -> NDArray[Any]:
        return values.reshape(-1, rows).mean(1)

    ends = [mean(meaning(moved(first, second, share))) / scale for share in (0.0, 1.0, 0.5)]
    one, other, middle = ends
    slack = 1e-9 * (1 + max(float(abs(item).max()) for item in ends))
    assert known.range.lo - slack <= min(float(item.min()) for item in ends), text
    assert max(float(item.max()) for item in ends) <= known.range.hi + slack, text
    if isfinite(known.lipschitz):
        apart = sum(
            mean(np.square(abs(first[name] - second[name])).reshape(POINTS, -1).sum(1)) for name in ("x", "q", "z", "c")
        )
        assert (abs(one - other) <= known.lipschitz * np.sqrt(apart) + slack).all(), text
        near = mean(meaning(moved(first, second, 1e-3))) / scale
        assert (abs(near - one) <= known.lipschitz * 1e-3 * np.sqrt(apart) + slack).all(), text
    above = middle - (one + other) / 2
    if known.curvature in (Curvature.CONVEX, Curvature.AFFINE):
        assert above.max() <= slack, text
    if known.curvature in (Curvature.CONCAVE, Curvature.AFFINE):
        assert above.min() >= -slack, text


def test_every_piece_is_as_it_is_claimed() -> None:
    found = constants([text for text, _ in PIECES])
    for (text, meaning), item in zip(PIECES, found, strict=True):
        if item is not None:
            holds(*item, meaning, text)
    kept = [item[0] for item in found if item is not None]
    assert len(kept) > 0.9 * len(PIECES)
    assert sum(isfinite(item.bound) for item in kept) > 0.8 * len(kept)  # a complex output has no declared range
    assert sum(isfinite(item.lipschitz) for item in kept) > 0.6 * len(kept)


def over_rows(text: str) -> str:
    """The same outside the block, without its lets."""
    return re.sub(r"(?<![\w.])(x|q|z|c)(?![\w(])", r"f(r.b).\1", text)


GROUPS = """over group g of rows by who {{
  subject to
{rows}
}}
"""


@pytest.mark.parametrize("averaged", ["everywhere", "by group"])
def test_means_of_every_piece_are_as_they_are_claimed(averaged: str) -> None:
    """Means over all rows of a data set, and over those of a group, of eight rows; of the latter the range alone is known."""
    head = SPEC.partition("over r")[0].format().replace("b: real in [0, 1],", "b: real in [0, 1], who: id,", 1)
    index = "r in rows" if averaged == "everywhere" else "r in g"
    rows = "\n".join(f"    e{n}: mean[{index}]({over_rows(text)}) <= 0" for n, (text, _) in enumerate(PIECES))
    block = (
        f"over r in rows {{ minimize f(r.b).x^2 }}\nsubject to\n{rows}"
        if averaged == "everywhere"
        else GROUPS.format(rows=rows)
    )
    spec, found = read(Source("adv.pdual", head + block))
    assert spec is not None, [str(item) for item in found]
    graph, _ = lower(spec, {})
    parts = [*(part for data in graph.data for part in data.parts), *graph.averages.parts]
    scales = {part.layout.name: part.layout.scale[0] for part in parts}
    named = {item.name: item for item in part_constants(graph)}
    for number, (text, meaning) in enumerate(PIECES):
        if f"e{number}" in named:
            holds(named[f"e{number}"], scales[f"e{number}"], meaning, text, rows=8)
    assert len(named) > 0.9 * len(PIECES)
    assert sum(isfinite(item.bound) for item in named.values()) > 0.7 * len(named)
    assert any(0 < item.lipschitz < inf for item in named.values()) == (averaged == "everywhere")


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> Piece:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(PIECES))
    left, right = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    text, join = draw(st.sampled_from(JOINED))
    return text.format(left[0], right[0]), lambda v: join(left[1](v), right[1](v))


@settings(max_examples=max(12, EXAMPLES // 100), deadline=None)
@given(st.lists(expressions(), min_size=6, max_size=6))
def test_made_up_expressions_are_as_they_are_claimed(made_up: list[Piece]) -> None:
    for item, (text, meaning) in zip(constants([text for text, _ in made_up]), made_up, strict=True):
        if item is not None:
            holds(*item, meaning, text)


@pytest.mark.parametrize("wrong", ["range", "lipschitz", "curvature"])
def test_a_wrong_claim_is_seen(wrong: str) -> None:
    from dataclasses import replace

    from pdual.dsl.operations.interval import Interval

    (item,) = constants(["(x + 2)^3"])
    assert item is not None
    known, scale = item
    faulty = {
        "range": replace(known, range=Interval(known.range.lo, 0.9 * known.range.hi)),
        "lipschitz": replace(known, lipschitz=0.5 * known.lipschitz),
        "curvature": replace(known, curvature=Curvature.CONCAVE),
    }
    with pytest.raises(AssertionError):
        holds(faulty[wrong], scale, lambda v: (v["x"] + 2) ** 3, "(x + 2)^3")


def test_slopes_of_psi_are_what_the_augmented_bounds_take_them_for() -> None:
    """In a multiplier at most B, and so at most W = max(B, Gamma / rho); in a row at most Gamma + rho B; B and that are reached."""
    source = np.random.default_rng(0)
    for largest, cap, rho in ((2.0, 5.0, 1.0), (2.0, 5.0, 10.0), (0.1, 3.0, 7.0)):
        lagrangian = Lagrangian(torch.zeros(1, dtype=torch.bool), torch.full((1,), rho, dtype=torch.float64))
        ends = source.random((2000, 2)) < 0.2
        g = torch.tensor(np.where(ends[:, 0], np.sign(source.normal(size=2000)), source.uniform(-1, 1, 2000)) * largest)
        lam = torch.tensor(np.where(ends[:, 1], source.integers(0, 2, 2000), source.random(2000)) * cap)
        step = 1e-6

        def psi(g: torch.Tensor, lam: torch.Tensor, of: Lagrangian = lagrangian) -> torch.Tensor:
            return of.psi(g[:, None], lam[:, None])

        in_lam = ((psi(g, lam + step) - psi(g, lam - step)) / (2 * step)).abs()
        in_g = ((psi(g + step, lam) - psi(g - step, lam)) / (2 * step)).abs()
        widest, steepest = max(largest, cap / rho), cap + rho * largest
        assert 0.99 * largest <= float(in_lam.max()) <= largest + 1e-4
        assert largest <= widest
        assert 0.99 * steepest <= float(in_g.max()) <= steepest + 1e-4


def test_the_rate_of_a_class_is_above_what_signs_and_rows_give() -> None:
    """Thresholds of the unit interval: the largest gap between mean and expectation, in 2,000 draws of 200 rows, beside its rate."""
    rows, delta = 200, 0.05
    source = np.random.default_rng(1)
    places = np.arange(1, rows + 1) / rows
    gaps, sums = [], []
    for _ in range(2000):
        x = np.sort(source.random(rows))
        gaps.append(max(float(abs(places - x).max()), float(abs(places - 1 / rows - x).max())))
        sums.append(max(0.0, float(np.cumsum(source.choice([-1.0, 1.0], rows)).max())) / rows)
    given = {"R": float(np.mean(sums)), "N": rows, "delta": delta}
    bound = float(
        rate(sympy.Symbol("R"), 1.0, sympy.Symbol("N")).subs({str(n): v for n, v in given.items()}).subs(DELTA, delta)
    )
    assert np.quantile(gaps, 1 - delta) <= bound
