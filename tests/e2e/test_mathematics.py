"""`pdual explain --math`: LaTeX of shipped specs, of any expression, and what parentheses mean."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from matplotlib.mathtext import MathTextParser
from running import hold, say
from strategies import complexes, reals, truths
from world import SETS

from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.dsl.typed import TypedExpression
from pdual.explaining.latex import Latex, escaped, name, number

PARSER: MathTextParser = MathTextParser("agg")


def hold_as_latex(text: str) -> None:
    """Braces and brackets match, and an independent reader of LaTeX takes it."""
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")
    # Matplotlib's reader knows no environments and no starred operators.
    plain = re.sub(r"\\begin\{cases\}|\\end\{cases\}|&|\\\\", " ", text).replace(r"\operatorname*", r"\operatorname")
    plain = plain.replace(r"\colon", ":").replace(r"\char", "")
    PARSER.parse(f"${plain}$")


@pytest.mark.parametrize("spec", ["digits", "opf30"])
def test_shipped_specs_as_a_paper_prints_them(capsys: pytest.CaptureFixture[str], spec: str) -> None:
    said = say(capsys, "explain", spec, "--math")
    assert (said.code, said.err) == (0, "")
    hold(f"math_{spec}.tex", said.out)


@pytest.mark.parametrize("spec", ["digits", "flora", "tofu", "mnist", "opf30", "opf30_direct"])
def test_an_independent_reader_takes_every_line(capsys: pytest.CaptureFixture[str], spec: str) -> None:
    said = say(capsys, "explain", spec, "--math")
    lines = [line.strip().removesuffix(r"\\") for line in said.out.splitlines() if line.startswith("  ")]
    assert len(lines) > 5
    for line in lines:
        hold_as_latex(line.replace(r"\min_\theta", r"\min_{\theta}"))


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert say(capsys, "explain", "digits", "--math", "--json").json["math"].startswith("% digits: ")


def test_without_the_objective(capsys: pytest.CaptureFixture[str]) -> None:
    assert r"\min_\theta \quad & 0 \\" in say(capsys, "explain", "digits", "--math", "--minimize", "none").out


@settings(max_examples=60, deadline=None)
@given(reals(), complexes(), truths())
def test_any_expression(real: TypedExpression, complex_: TypedExpression, truth: TypedExpression) -> None:
    for expression in (real, complex_, truth):
        hold_as_latex(Latex(SETS).of(expression))


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("(r.a + r.b) * r.c", r"\left(a + b\right) \, c"),
        ("r.a + r.b * r.c", r"a + b \, c"),
        ("r.a - (r.b - r.c)", r"a - \left(b - c\right)"),
        ("r.a - r.b - r.c", "a - b - c"),
        ("-(r.a + r.b)", r"-\left(a + b\right)"),
        ("(r.a + r.b) / r.c", r"\frac{a + b}{c}"),
        ("(r.a / r.b)^2", r"{\frac{a}{b}}^2"),
        ("(-2)^2 * r.a", r"{\left(-2\right)}^2 \, a"),
        ("r.a * -2", r"a \, \left(-2\right)"),
        ("1 if r.a > 0 and r.b > 0 else r.c", r"\begin{cases}1 & a > 0 \wedge b > 0\\ c & \text{otherwise}\end{cases}"),
        ("sum[i in s](r.z[i] + 1)", r"\sum_{i \in s} \left({z}_{i} + 1\right)"),
        ("sum[i in s where i != 1](r.z[i]) * 2", r"\left(\sum_{i \in s :\, i \neq \mathrm{1}} {z}_{i}\right) \, 2"),
        ("1e-3 * epsilon", r"0.001 \, \epsilon"),
    ],
)
def test_parentheses_where_binding_asks_for_them(written: str, expected: str) -> None:
    text = (
        "problem p\nset s = 0..2\nparam epsilon = 1\ndata d { a, b, c: real, z: real[s] }\n"
        f"over r in d {{ minimize {written} }}\n"
    )
    spec, found = read(Source("p", text))
    assert spec is not None, found
    (block,) = spec.blocks
    assert Latex({"s": ("0", "1", "2")}).of(block.objectives[0].value) == expected


def test_names_and_numbers() -> None:
    assert [name(word) for word in ("x", "tau", "v_min", "rate", "_")] == [
        "x",
        r"\tau",
        r"v_{\mathrm{min}}",
        r"\mathrm{rate}",
        r"\mathrm{\_}",
    ]
    assert [number(value) for value in (2.0, 1e-9, float("-inf"), 3.141592653589793)] == [
        "2",
        r"1 \cdot 10^{-9}",
        r"-\infty",
        r"\pi",
    ]
    assert escaped("50 % of a_b") == r"50 \% of a\_b"
