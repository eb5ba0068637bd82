"""Bad input of every kind: a diagnostic with an address and an exit code, in bounded time, never a traceback."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from running import say

#: Seconds that any of these may take; on an idle machine the slowest takes two.
BOUND = 30.0

P = 'problem p "a test"\n'
D = P + "set kind = 0..2\ndata d { x, y: real, c: complex, k: kind }\n"


def over(body: str, head: str = D) -> str:
    return f"{head}over r in d {{\n{body}\n}}\n"


CHAIN = "".join(f"  let a{i} = sin(2 * (3 + a{i - 1})) + a{i - 1}\n" for i in range(1, 400))
DEFS = "def f0(x) = x\n" + "".join(f"def f{i}(x) = f{i - 1}(x) + f{i - 1}(x)\n" for i in range(1, 60))
PAIRS = P + "set s = 0..9999\nset t = 0..9999\ndata d { z: real[s], w: real[t] }\n"
BOUNDED = "  minimize r.x\n  subject to a: 0 <= r.y <= 1\n"

BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": (b"", "PD030"),
    "blank": (b" \n\t\n", "PD030"),
    "binary": (bytes(range(256)) * 8, "PD031"),
    "zeros": (bytes(4096), "PD031"),
    "utf-16": ("problem p".encode("utf-16"), "PD031"),
    "50 MB": (b"param a = 1\n" * 4_200_000, "PD032"),
    "50 MB on one line": (b"x" * 50_000_000, "PD032"),
    "10,000 parentheses": (over("minimize " + "(" * 10_000 + "r.x" + ")" * 10_000), "PD033"),
    "10,000 open brackets": (over("minimize " + "[" * 10_000), "PD033"),
    "10,000 signs": (over("minimize " + "-" * 10_000 + "r.x"), "PD034"),
    "10,000 terms": (over("minimize r.x" + " + r.x" * 10_000), "PD034"),
    "a number of 100,000 digits": (P + "param a = " + "9" * 100_000 + "\n", "PD026"),
    "a name of 1,000,000 letters": (over(f"minimize r.x + {'n' * 1_000_000}"), "PD101"),
    "20,000 doubled names": (P + "param a = 1\n" * 20_000, "PD111"),
    "a tower of powers": (P + "param a = 10^10^10\n", "PD224"),
    "lets in a circle": (over("let a = b\nlet b = a\nminimize a + r.x"), "PD114"),
    "a let of itself": (over("let a = a + r.x\nminimize a"), "PD114"),
    "functions in a circle": (D + "def f(x) = f(x)\n" + over("minimize f(r.x)", ""), "PD114"),
    "lets on lets": (over(f"let a0 = r.x\n{CHAIN}  minimize a399"), "PD232"),
    "functions that multiply": (over("minimize f59(r.x)", D + DEFS), "PD232"),
    "doubled parameters": (P + "param a = 1\nparam a = 2\n", "PD111"),
    "doubled fields": (over("minimize r.x", P + "data d { x: real, x: real }\n"), "PD111"),
    "= for ==": (over("minimize r.x\nsubject to a: r.y = 1"), "PD007"),
    "=<": (over("minimize r.x\nsubject to a: r.y =< 1"), "PD004"),
    "<": (over("minimize r.x\nsubject to a: r.y < 1"), "PD209"),
    "wrong index set": (
        over("minimize sum[g in s](r.z[g])", P + "set s = 0..2\nset t = 0..2\ndata d { z: real[t] }\n"),
        "PD204",
    ),
    "complex < complex": (over("minimize r.x\nsubject to a: r.c < r.c"), "PD209"),
    "complex <= real": (over("minimize r.x\nsubject to a: r.c <= 1"), "PD210"),
    "complex == real": (over("minimize r.x\nsubject to a: r.c == r.x"), "PD210"),
    "real where bool": (over("minimize r.x if r.y else 1"), "PD207"),
    "a dual of the wrong sign": (over(f"{BOUNDED}  dual a = -3"), "PD430"),
    "a cap of the wrong sign": (over(f"{BOUNDED}  dual a = shared(cap = -3)"), "PD408"),
    "two duals for one part": (over(f"{BOUNDED}  dual a.lower = shared(cap = 1)\n  dual a.lower = none"), "PD401"),
    "no such split": (over(BOUNDED) + "expect e on d.tset: max(viol(a)) <= 1\n", "PD119"),
    "a label outside its set": (over("minimize r.x\nmetric m = r.k == 7"), "PD243"),
    "a file above": (over("minimize r.x", P + 'data d = csv("../d.csv") { x: real }\n'), "PD260"),
    "a file above, hidden": (over("minimize r.x", P + 'data d = csv("a/../../d.csv") { x: real }\n'), "PD260"),
    "a file from the root": (over("minimize r.x", P + 'data d = csv("/etc/passwd") { x: real }\n'), "PD260"),
    "a file from a drive": (over("minimize r.x", P + 'data d = csv("C:/d.csv") { x: real }\n'), "PD260"),
    "a file of the user's": (over("minimize r.x", P + 'data d = csv("~/d.csv") { x: real }\n'), "PD260"),
    "demands from above": (
        over(
            "minimize re(r.load[1])",
            P + 'given g = power.case("case30_ieee") { set bus }\n'
            'data d = power.demands(g, file = "../d.npz") { load: complex[bus] }\n',
        ),
        "PD260",
    ),
    "a grid from above": (
        over("minimize r.x", P + 'given g = power.case("../case") { set bus }\ndata d { x: real }\n'),
        "PD260",
    ),
    "a grid from above, as a default": (
        over("minimize r.x", P + 'param c = "../case"\ngiven g = power.case(c) { set bus }\ndata d { x: real }\n'),
        "PD260",
    ),
    "workflows from the root": (
        over("minimize r.x", P + 'data d = flora("/srv/pairs") { task: id }\n'),
        "PD260",
    ),
    "a set without end": (over("minimize r.x", P + "set s = 0..1e999\ndata d { x: real }\n"), "PD026"),
    "a set of everything": (over("minimize r.x", P + f"set s = 0..{10**30}\ndata d {{ x: real }}\n"), "PD272"),
    "pairs of everything": (over("minimize r.z[0]\nsubject to a[i in s, j in t]: r.z[i] <= r.w[j]", PAIRS), "PD274"),
}

GOOD: dict[str, str] = {
    "99 parentheses": over(
        "minimize " + "(" * 99 + "r.x" + ")" * 99 + " + r.y\nmetric m = re(r.c)\nmetric n = r.k == 1"
    ),
    "a file below": over("minimize r.x", P + 'data d = csv("a/../b/d.csv") { x: real }\n'),
    "100 lets on lets": over(
        "let a0 = r.x + r.y\n" + "".join(f"let a{i} = sin(a{i - 1} + 1)\n" for i in range(1, 100)) + "minimize a99",
        P + "data d { x, y: real }\n",
    ),
    "2,000 lets": over(
        "".join(f"let a{i} = r.x + {i}\n" for i in range(2_000))
        + f"minimize {' + '.join(f'a{i}' for i in range(150))}",
        P + "data d { x: real }\n",
    ),
    "no title": over("minimize r.x", "problem p\ndata d { x: real }\n"),
}


@pytest.mark.parametrize("name", BAD)
def test_check_tells_what_and_where(capsys, tmp_path: Path, name: str) -> None:
    text, code = BAD[name]
    spec = tmp_path / "bad.pdual"
    spec.write_bytes(text.encode() if isinstance(text, str) else text)
    start = time.monotonic()
    said = say(capsys, "check", str(spec))
    assert time.monotonic() - start < BOUND
    assert said.code == 1
    assert said.err == ""
    assert f"error[{code}]" in said.out
    assert "PD999" not in said.out
    assert f"--> {spec}" in said.out
    assert len(said.out) < 200_000


@pytest.mark.parametrize("name", GOOD)
def test_the_neighbours_are_fine(capsys, tmp_path: Path, name: str) -> None:
    spec = tmp_path / "good.pdual"
    spec.write_text(GOOD[name])
    start = time.monotonic()
    said = say(capsys, "check", str(spec))
    assert time.monotonic() - start < BOUND
    assert said.code == 0, said.out


@pytest.mark.parametrize("name", ["empty", "binary", "50 MB", "10,000 parentheses", "= for =="])
def test_the_other_commands_tell_the_same(capsys, tmp_path: Path, name: str) -> None:
    text, code = BAD[name]
    spec = tmp_path / "bad.pdual"
    spec.write_bytes(text.encode() if isinstance(text, str) else text)
    for command in ("fmt", "explain", "run"):
        said = say(capsys, command, str(spec))
        assert said.code == 1, command
        assert f"[{code}]" in said.out + said.err


# --- data --------------------------------------------------------------------------------------------------------

SPEC = """problem p
set bus = { north, south }
data d {
  x: real in [0, 1]
  at: bus
  y: real from "Y value"
}
model f(x: real) -> real = mlp([4])
over r in d { minimize (f(r.x) - r.y)^2 + (1 if r.at == north else 0) }
solve { outer = 1 }
"""
ROWS = "x,at,Y value\n0.1,north,1\n0.2,south,2\n0.3,north,3\n0.4,south,4\n"


@pytest.mark.parametrize(
    ("content", "code", "told"),
    [
        (ROWS.replace("0.2", "nan"), "PD535", "`x` should hold finite numbers"),
        (ROWS.replace("0.2", ""), "PD535", "in row 1"),
        (ROWS.replace("0.2", "1.2"), "PD535", "at most 1"),
        (ROWS.replace("south", "east"), "PD535", "members of `bus`, found `east` in rows 1, 3"),
        (ROWS.replace("Y value", "Z value"), "PD534", "did you mean `Z value`?"),
        (ROWS.replace("x,at", "at,at"), "PD533", "`at` twice"),
        (ROWS.replace("0.4,south,4", "0.4,south"), "PD533", "line 5 has 2 values"),
        ("", "PD533", "it is empty"),
    ],
)
def test_wrong_rows_are_told_by_their_place(capsys, tmp_path: Path, content: str, code: str, told: str) -> None:
    spec, file = tmp_path / "p.pdual", tmp_path / "rows.csv"
    spec.write_text(SPEC)
    file.write_text(content)
    said = say(capsys, "run", str(spec), "--data", f"d={file}", "--out", str(tmp_path / "run"), "-q")
    assert said.code == 3
    assert f"error[{code}]" in said.err
    assert told in said.err
    assert f"--> {spec}:" in said.err


def test_a_mean_over_none_is_told_by_its_row(capsys, tmp_path: Path) -> None:
    spec, file = tmp_path / "p.pdual", tmp_path / "rows.npz"
    spec.write_text(
        "problem p\nset s = 0..2\ndata d { z: real[s], on: bool[s] }\nmodel f(z: real[s]) -> real = mlp([4])\n"
        "over r in d {\n  let y = f(r.z)\n  minimize mean[i in s where r.on[i]](r.z[i] * y)\n}\nsolve { outer = 1 }\n"
    )
    on = np.ones((8, 3), dtype=bool)
    on[5] = False
    np.savez(file, z=np.linspace(0, 1, 24).reshape(8, 3), on=on)
    said = say(capsys, "run", str(spec), "--data", f"d={file}", "--out", str(tmp_path / "run"), "-q")
    assert said.code == 4
    assert "error[PD601]" in said.err
    assert "`objective[5]`" in said.err


@pytest.mark.parametrize(("kind", "word", "code"), [("text", "", 1), ("kind", "set kind = { a, b }\n", 0)])
def test_texts_that_are_compared(capsys, tmp_path: Path, kind: str, word: str, code: int) -> None:
    spec, file = tmp_path / "p.pdual", tmp_path / "rows.csv"
    spec.write_text(
        f"problem p\n{word}data d {{ x: real, q: {kind} }}\nmodel f(x: real) -> real = mlp([4])\n"
        "over r in d {\n  minimize f(r.x)^2\n  metric same = 1 if r.q == r.q else 0\n}\nsolve { outer = 1 }\n"
    )
    file.write_text("x,q\n1,a\n2,b\n3,b\n4,a\n")
    said = say(capsys, "run", str(spec), "--data", f"d={file}", "--out", str(tmp_path / "run"), "-q")
    assert said.code == code, said.err
    assert ("error[PD298]: texts are compared" in said.err) == bool(code)
    assert (f"--> {spec}:6:22" in said.err) == bool(code)
