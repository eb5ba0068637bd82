"""What `pdual check` does grows with the size of a spec and no faster, counted in calls of functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pdual.cli.main import perform
from pdual.dsl.printer import render_all
from pdual.dsl.spans import Source
from pdual.understanding import understand

_MANY, _TIMES = 60, 4
_DATA = "data r = csv('readings.csv', split = [0.8, 0.1, 0.1]) { x: real, y: real }".replace("'", '"')
_MODEL = "model f(x: real) -> real = mlp(hidden = [8])"
_FIT = "minimize (f(q.x) - q.y)^2"


def _spec(*before: str, block: str = "", data: str = _DATA) -> str:
    return "\n".join(['problem p "a test"', *before, data, _MODEL, "over q in r {", block or _FIT, "}"])


def _each(line: Callable[[int], str], many: int, between: str = "\n") -> str:
    return between.join(line(i) for i in range(many))


def _doubling(step: str, many: int, binder: str = "", index: str = "") -> str:
    """Lets that read the one before several times: a walk without memory takes a power of two."""
    return _each(lambda i: f"let a{i + 1}{binder} = {step.replace('#', f'a{i}{index}')}", many // 5)


def _group(block: str) -> str:
    data = "data r = csv('readings.csv') { x: real, y: real, who: id }".replace("'", '"')
    return _spec(data=data) + f"\nover group g of r by who {{\n{block}\n}}"


SPECS: dict[str, Callable[[int], str]] = {
    "fields": lambda n: _spec(
        data='data r = csv("c.csv") { y: real, ' + _each(lambda i: f"x{i}: real", n, ", ") + ", x: real }"
    ),
    "params": lambda n: _spec(
        _each(lambda i: f"param p{i} = {i}", n), block=f"{_FIT} + {_each(lambda i: f'p{i}', 60, ' + ')}"
    ),
    "params of params": lambda n: _spec("param p0 = 1", _each(lambda i: f"param p{i + 1} = p{i} * 1 + p{i}", 60)),
    "defs": lambda n: _spec(_each(lambda i: f"def g{i}(x) = x + {i}", n)),
    "sets": lambda n: _spec(_each(lambda i: f"set s{i} = 0..{i}", n)),
    "models": lambda n: _spec(_each(lambda i: f"model f{i}(x: real) -> real = linear()", n)),
    "metrics": lambda n: _spec(block=_FIT + "\n" + _each(lambda i: f"metric m{i} = q.x + {i}", n)),
    "lets": lambda n: _spec(block=_each(lambda i: f"let v{i} = q.x + {i}", n) + "\n" + _FIT),
    "expects": lambda n: (
        _spec(block=f"{_FIT}\nsubject to\nc: f(q.x) <= 1")
        + "\n"
        + _each(lambda i: f"expect e{i} on r.test: max(viol(c)) <= {i}", n)
    ),
    "constraints": lambda n: _spec(block=f"{_FIT}\nsubject to\n" + _each(lambda i: f"c{i}: f(q.x) <= q.y + {i}", n)),
    "duals": lambda n: _spec(
        block=f"{_FIT}\nsubject to\n"
        + _each(lambda i: f"c{i}: f(q.x) <= q.y + {i}", n)
        + "\n"
        + _each(lambda i: f"dual c{i} = pointwise(cap = {i + 1})", n)
    ),
    "one dual of many": lambda n: _spec(
        block=f"{_FIT}\nsubject to\n"
        + _each(lambda i: f"c{i}: f(q.x) <= q.y + {i}", n)
        + "\ndual "
        + _each(lambda i: f"c{i}", n, ", ")
        + " = shared()"
    ),
    "averages": lambda n: _spec() + "\nsubject to\n" + _each(lambda i: f"c{i}: mean[q in r](f(q.x)) <= {i}", n),
    "blocks": lambda n: _spec() + "\n" + _each(lambda i: f"over q in r {{ minimize f(q.x) + {i} }}", n),
    "members": lambda n: _spec(f"set s = 0..{n}", block=f"{_FIT}\nsubject to\nc[i in s]: f(q.x) <= 1"),
    "a long line": lambda n: _spec(block=f"minimize max({_each(lambda i: f'é{i}', n, ', ')})"),
    "doubled sums": lambda n: _spec(block=f"let a0 = f(q.x)\n{_doubling('# + #', n)}\nminimize a{n // 5}^2"),
    "doubled products": lambda n: _spec(
        block=f"let a0 = f(q.x)\n{_doubling('sin(#) * # + cos(#)', n)}\nminimize a{n // 5}"
    ),
    "doubled constants": lambda n: _spec(
        block=f"let a0 = 0.1 * 2\n{_doubling('sin(#) * # + cos(#)', n)}\nminimize f(q.x) * a{n // 5}"
    ),
    "doubled choices": lambda n: _spec(
        block=f"let a0 = f(q.x)\n{_doubling('(# if # > 0 else -#)', n)}\nminimize a{n // 5}"
    ),
    "norms": lambda n: _spec() + "\nminimize " + _each(lambda i: "squared_norm(f)", min(n, 300), " + "),
    "doubled filters": lambda n: _spec(
        "set s = 0..3", block=f"let a0 = f(q.x)\n{_doubling('sum[i in s where # > 0](#)', n)}\nminimize a{n // 5}"
    ),
    "doubled bounds": lambda n: _spec(
        block=f"let a0 = q.x\n{_doubling('min(#, # + 1)', n)}\n{_FIT}\nsubject to\nc: a{n // 5} - 1 <= f(q.x) <= a{n // 5}"
    ),
    "doubled arguments": lambda n: _spec(
        block=f"let a0 = q.x\n{_doubling('sin(#) * # + cos(#)', n)}\nminimize f(a{n // 5})^2\nsubject to\nc: f(a{n // 5}) <= 1"
    ),
    "doubled arguments of arguments": lambda n: _spec(
        block=f"let a0 = q.x\n{_doubling('f(# + #) - f(#)', n)}\nminimize f(a{n // 5})^2"
    ),
    "doubled arrays": lambda n: _spec(
        "set s = 0..3",
        block=f"let a0[i in s] = q.x\n{_doubling('sin(#) * # + #', n, '[i in s]', '[i]')}\n"
        f"minimize sum[i in s](a{n // 5}[i] * f(q.x))\nsubject to\nc[i in s]: f(q.x) <= a{n // 5}[i]",
    ),
    "doubled metrics": lambda n: (
        _spec(block=f"let a0 = f(q.x)\n{_doubling('# * # + cos(#)', n)}\n{_FIT}\nmetric m = a{n // 5}")
        + "\nexpect e on r.test: max(m) <= 1 + max(m)"
    ),
    "doubled scales": lambda n: _spec(
        block=f"let a0 = 0.1 * 2\n{_doubling('sin(#) * # + 1', n)}\n{_FIT}\nsubject to\nc scale a{n // 5}: f(q.x) <= 1"
    ),
    "doubled duals": lambda n: _spec(
        "set s = 0..3",
        block=f"let a0 = q.x\n{_doubling('sin(#) * # + 1', n)}\n{_FIT}\nsubject to\nc: f(q.x) <= 1\ndual c = sigmoid(f(q.x)) * abs(a{n // 5})",
    ),
    "doubled sums of a group": lambda n: _group(
        f"let a0 = mean[q in g](f(q.x))\n{_doubling('sin(#) * # + cos(#)', n)}\nsubject to\nc: a{n // 5} <= 1"
    ),
    "unknown names": lambda n: _spec(block=_FIT + "\n" + _each(lambda i: f"metric m{i} = zz{i}", n)),
    "unknown names of one statement": lambda n: _spec(block=f"minimize max({_each(lambda i: f'zz{i}', n, ', ')})"),
    "misspelt names of one statement": lambda n: _spec(block=f"minimize max({_each(lambda i: 'q.xx', n, ', ')})"),
    "misspelt fields": lambda n: _spec(block=_FIT + "\n" + _each(lambda i: f"metric m{i} = q.yy + {i}", n)),
    "twice declared": lambda n: _spec(_each(lambda i: "param p = 1", n)),
    "unused": lambda n: _spec(_each(lambda i: f"param p{i} = 1", n), block=_FIT),
    "comments": lambda n: _spec(_each(lambda i: f"# {i}", n)),
    "blank lines": lambda n: _spec("\n" * n),
    "stray signs": lambda n: _spec(_each(lambda i: "@ $", n)),
    "brackets": lambda n: _spec(block="minimize " + _each(lambda i: "(q.x)", n, ", ")),
}


def test_what_is_doubled_compiles() -> None:
    for name in (name for name in SPECS if name.startswith("doubled")):
        assert understand(Source("p", SPECS[name](_MANY))).graph is not None, name


def _understand(text: str) -> None:
    source = Source("p", text)
    render_all(understand(source).diagnostics[:20], source)


def _calls(work: Callable[[], object]) -> int:
    """How many functions are called, of Python's and of C's."""
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", SPECS)
def test_work_grows_with_the_size_of_a_spec(name: str) -> None:
    _understand(SPECS[name](_MANY))  # what is done once, imports and tables
    small, large = (_calls(lambda n=_MANY * times: _understand(SPECS[name](n))) for times in (1, _TIMES))  # type: ignore[misc]
    assert large < 1.25 * _TIMES * small


_SOLVE = "\nsolve { outer = 1, descent = adam(lr = 1e-2, batch = 8, steps = 1) }\n"
_SQUARED = (
    _MODEL.replace("-> real", "-> real in [0, 1]"),
    "let a0 = f(q.x)\nlet b0 = f(q.x)^2 + f(q.y)^2\n",
    "minimize b# + a#^2\nsubject to\nc: a# <= 1\nd: sqrt(b#) <= 3\ne: a# == 7",
)


def _doubled_squares(many: int) -> str:
    model, starts, ends = _SQUARED
    steps = _each(lambda i: f"let a{i + 1} = a{i} + a{i}\nlet b{i + 1} = b{i} + b{i}", many // 5)
    return _spec(block=starts + steps + "\n" + ends.replace("#", str(many // 5))).replace(_MODEL, model)


#: Of what stands in very many places: all that `bounds`, `explain` and a program ask of it.
DOUBLED = {name: spec for name, spec in SPECS.items() if name.startswith("doubled")} | {"squares": _doubled_squares}


@pytest.mark.parametrize("name", DOUBLED)
@pytest.mark.parametrize("command", [["bounds"], ["explain", "--stage", "code"]])
def test_what_is_doubled_takes_no_longer(
    name: str, command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for many in (_MANY, _MANY * 2):
        Path(f"{many}.pdual").write_text(DOUBLED[name](many) + _SOLVE)
    assert perform([*command, f"{_MANY}.pdual"]) == 0
    small, large = (_calls(lambda n=_MANY * times: perform([*command, f"{n}.pdual"])) for times in (1, 2))  # type: ignore[misc]
    assert large < 4 * small, capsys.readouterr().out
