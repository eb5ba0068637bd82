"""Changed specs through `check`, `explain` and `fmt`: a spec or diagnostics, in a bounded time, and no other exception.

A quarter of ``PDUAL_EXAMPLES`` by default, ``PDUAL_LONG_EXAMPLES`` with `pytest -m long`; ``many_specs.py`` tries any number.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from examples import EXAMPLES, LONG_EXAMPLES, pieces
from front_end import hold
from spec_mutations import mutated, texts

from pdual.dsl.spans import Source
from pdual.understanding import understand


def hold_all(numbers: Iterable[int], folder: Path) -> None:
    for number in numbers:
        try:
            hold(mutated(number), folder)
        except Exception as error:
            raise AssertionError(f"spec_mutations.mutated({number})") from error


@pytest.mark.timeout(600)
@pytest.mark.parametrize("numbers", pieces(EXAMPLES // 4, 50), ids=str)
def test_changed_specs(numbers: range, tmp_path: Path) -> None:
    hold_all(numbers, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("numbers", pieces(LONG_EXAMPLES, 1_000), ids=str)
def test_very_many_changed_specs(numbers: range, tmp_path: Path) -> None:
    hold_all(numbers, tmp_path)


def test_a_number_is_the_same_bytes_everywhere() -> None:
    assert mutated(7) == mutated(7)
    assert len({mutated(number) for number in range(100)}) > 90
    assert len(texts()) > 100


_X = "(" * 90 + "x" + ")" * 90
TALL = {
    "comparisons": "let y = 1 if " + " < ".join(["1"] * 2_000) + " else 2",
    "sum": "let y = " + " + ".join(["1"] * 2_000),
    "product": "let y = " + " * ".join(["r.x"] * 180),
    "powers": "let y = " + "^".join(["r.x"] * 2_000),
    "minus": "let y = " + "-" * 2_000 + "1",
    "not": "let y = " + "not " * 2_000 + "true",
    "and": "let y = " + " and ".join(["true"] * 2_000),
    "else": "let y = " + "1 if true else (" * 95 + "2" + ")" * 95,
    "parentheses": "let y = " + "(" * 2_000 + "1" + ")" * 2_000,
    "calls": "let y = " + "abs(" * 95 + "1" + ")" * 95,
    "members": "let y = r" + ".x" * 2_000,
    "lists": "let y = " + "[" * 2_000,
    "indices": "let y = r.x" + "[0]" * 2_000,
    "arguments": "let y = f(" + ", ".join(["1"] * 2_000) + ")",
    "lets": "\n".join(["let d0 = r.x", *(f"let d{n} = d{n - 1} + r.x" for n in range(1, 1_500)), "minimize d1499"]),
    "squares": "\n".join(
        ["let d0 = r.x", *(f"let d{n} = d{n - 1} * d{n - 1}" for n in range(1, 1_500)), "minimize d1499"]
    ),
    "names": "let (" + ", ".join(f"a{n}" for n in range(5_000)) + ") = f(1)",
    "indices of a sum": "let y = sum[" + ", ".join(f"a{n} in s" for n in range(300)) + "](1)",
}
DEFINED = {
    "chain": "def d{n}(x) = d{m}(x)",
    "tree": "def d{n}(x) = d{m}(x) + d{m}(x)",
    "nested": "def d{n}(x) = d{m}(d{m}(x))",
    "tall": "def d{n}(x) = d{m}(" + " + ".join(["x"] * 20) + ")",
    "params": "param d{n} = d{m} + 1",
}
SPEC = """problem p "a test"
set s = 0..1
{whole}
data d {{ x: real }}
model f(x: real) -> real = linear()
over r in d {{
  minimize f(r.x)
  {inside}
}}
"""


@pytest.mark.parametrize("statement", TALL.values(), ids=TALL.keys())
def test_what_is_long_or_tall(statement: str, tmp_path: Path) -> None:
    hold(SPEC.format(whole="", inside=statement).encode(), tmp_path)


@pytest.mark.parametrize("count", [180, 600])
@pytest.mark.parametrize("form", DEFINED.values(), ids=DEFINED.keys())
def test_definitions_that_are_built_on_each_other(form: str, count: int, tmp_path: Path) -> None:
    first = "param d0 = 1" if form.startswith("param") else "def d0(x) = x"
    lines = [first, *(form.format(n=n, m=n - 1) for n in range(1, count))]
    call = f"d{count - 1}" + ("" if form.startswith("param") else "(r.x)")
    hold(SPEC.format(whole="\n".join(lines), inside=f"minimize {call}").encode(), tmp_path)


def test_types_in_types(tmp_path: Path) -> None:
    for count in (20, 90, 2_000):
        kind = "{ a: " * count + "real" + " }" * count
        hold(SPEC.format(whole=f"model g() -> {kind}", inside="").encode(), tmp_path)


def test_room_for_recursion_is_made_once() -> None:
    assert sys.getrecursionlimit() >= 20_000


#: Values that functions write out again and again: each call doubles or triples what it is given.
DOUBLED = ("x + x", "x * x", "x / x", "max(x, x)", "f(x) + x", "sum[i in s](x + x)", "1 if 0 < x < 2 else x")
WHERE = (
    "minimize f({})",
    "minimize f(r.x) * {}",
    "let y = {}\n  minimize f(y) * y",
    "minimize r.x\n  subject to a: {} <= f(r.x)",
    "minimize r.x\n  subject to a: r.x <= f(r.x)\n  dual a = {}",
)


@pytest.mark.parametrize("body", DOUBLED)
@pytest.mark.parametrize("calls", [9, 14, 60])
def test_values_that_are_written_out_again_and_again(body: str, calls: int, tmp_path: Path) -> None:
    """Nine calls are a value of some thousand operations; of sixty, nothing could be computed."""
    value = "g(" * calls + "r.x" + ")" * calls
    for inside in WHERE if calls > 9 else WHERE[:1]:
        spent = hold(SPEC.format(whole=f"def g(x) = {body}", inside=inside.format(value)).encode(), tmp_path)
        assert spent < 2 * (1 + 4 * (calls < 60))


@pytest.mark.parametrize("count", [3, 17, 40])
def test_functions_that_square_each_other(count: int, tmp_path: Path) -> None:
    lines = ["def g0(x) = x + x", *(f"def g{n}(x) = g{n - 1}(g{n - 1}(x))" for n in range(1, count))]
    text = SPEC.format(whole="\n".join(lines), inside=f"minimize g{count - 1}(r.x)").encode()
    codes = {item.code for item in understand(Source("p.pdual", text.decode())).diagnostics}
    assert ("PD232" in codes) == (count > 3)
    hold(text, tmp_path)
