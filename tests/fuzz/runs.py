"""Changed specs that check, run on rows of their own types: a run, or what the documentation says may be raised."""

from __future__ import annotations

import ast
import io
import random
import re
import warnings
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from spec_mutations import ROOT, texts

import pdual
from pdual.cli.main import perform
from pdual.dsl import typed
from pdual.dsl.declarations.registry import sources
from pdual.dsl.spans import Source
from pdual.dsl.types import ArrayType, FixedAxis, Kind, MemberOf, OpenAxis, SetAxis
from pdual.understanding import understand

#: Rows of every data set, and seconds that a run may take.
ROWS, BUDGET = 13, 3.0
_COUNTS = {r"\bouter\s*=\s*\d+": "outer = 2", r"\bsteps\s*=\s*\d+": "steps = 2", r"\bepochs\s*=\s*\d+": "epochs = 1"}


_SAME: Mapping[str, tuple[str, ...]] = {
    r"[A-Za-z_]\w*": (
        "abs",
        "max",
        "min",
        "exp",
        "sqrt",
        "sigmoid",
        "relu",
        "mean",
        "sum",
        "shared",
        "hybrid",
        "pointwise",
        "id",
        "int",
    ),
    r"\d[\d_.]*(?:e-?\d+)?%?": ("0", "1", "2", "0.5", "3", "1e-9", "1e9", "100", "0.0"),
    r"[<>=]=|[<>]": ("<=", ">=", "=="),
    r"[-+*/^]": ("+", "-", "*", "/", "^"),
}
_WORDS = re.compile("|".join(_SAME))


@cache
def runnable() -> tuple[str, ...]:
    """The specs of the repository that check and of which all rows and modules can be made, those in tests' texts included."""
    found = [*texts(), *_of_tests()]
    return tuple(text for text in dict.fromkeys(found) if _rows_of(text) is not None)


def _of_tests() -> list[str]:
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("problem "):
                found.append(node.value)
    return found


def _changed(text: str, draw: random.Random) -> str:
    """One word by another of its kind, so that many a spec still checks; or a line less, or twice."""
    if draw.random() < 0.15:
        lines = text.split("\n")
        place = draw.randrange(len(lines))
        lines[place : place + 1] = [lines[place]] * draw.choice((0, 0, 2))
        return "\n".join(lines)
    words = list(_WORDS.finditer(text))
    if not words:
        return text
    word = draw.choice(words)
    kind = next(kind for kind, same in _SAME.items() if re.fullmatch(kind, word.group()))
    other = draw.choice(
        [*_SAME[kind], *dict.fromkeys(item.group() for item in words if re.fullmatch(kind, item.group()))]
    )
    return text[: word.start()] + other + text[word.end() :]


def run(number: int, folder: Path) -> str:
    """Run a changed spec: "no spec", "run", or the codes that were raised. Whatever else is raised is a bug."""
    draw = random.Random(f"run {number}")
    text = draw.choice(runnable())
    for _ in range(draw.choice((0, 1, 1, 2))):
        text = _changed(text, draw)
    for pattern, small in _COUNTS.items():
        text = re.sub(pattern, small, text)
    rows = _rows_of(text, draw)
    if rows is None:
        return "no spec"
    (folder / "a.pdual").write_text(text, encoding="utf-8", errors="surrogateescape")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", pdual.ProblemWarning)
        try:
            problem = pdual.load(
                folder / "a.pdual", data=rows, dual=draw.choice((None, None, None, "pointwise", "shared", "penalty"))
            )
            problem.solve(out=folder / "out", budget=BUDGET, seed=draw.randrange(3))
        except pdual.ProblemError as error:
            told = str(error)
        else:
            return _used(folder, rows, draw)
    codes = sorted(set(re.findall(r"error\[(PD\d+)\]", told)))
    assert codes, told
    assert "PD999" not in codes, told
    return " ".join(codes)


#: What is done with a run, by what is left of its files.
_AFTER = (
    ["report", "out", "-q"],
    ["bounds", "--run", "out"],
    ["verify", "--run", "out", "--examples", "1"],
    ["predict", "out", "--data", "DATA", "--out", "predicted.csv", "-q"],
    ["score", "out", "--data", "DATA", "-q"],
    ["explain", "a.pdual", "--math"],
    ["run", "a.pdual", "--out", "again", "--init", "out", "-q", "--budget", "2"],
    ["sensitivity", "out", "--groups", "2", "--random", "0", "--size", "2", "--seeds", "1", "--outer", "1", "-q"],
)


def _used(folder: Path, rows: Mapping[str, Any], draw: random.Random) -> str:
    """One command on what a run left; its exit code is one of docs/cli.md."""
    name = draw.choice(sorted(rows) or ["none"])
    np.savez(folder / "rows.npz", **{key: np.asarray(value) for key, value in rows.get(name, {}).items()})
    command = [f"{name}=rows.npz" if word == "DATA" else word for word in draw.choice(_AFTER)]
    if command[0] in ("run", "explain"):
        files = {key: folder / f"{key}.npz" for key in rows}
        for key, columns in rows.items():
            np.savez(files[key], **{column: np.asarray(value) for column, value in columns.items()})
        command += [word for key, file in files.items() for word in ("--data", f"{key}={file.name}")]
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        code = perform(command)
    said = out.getvalue() + err.getvalue()
    assert "PD999" not in said, said[-600:]
    assert "Traceback" not in said, said[-600:]
    assert code in (0, 1, 2, 3, 4), f"{code} of {command}: {said[-600:]}"
    return f"{command[0]} {code}"


def _rows_of(text: str, draw: random.Random | None = None) -> Mapping[str, Any] | None:
    """Rows of every data set of a spec that checks; None where some cannot be made."""
    understood = understand(Source("a.pdual", text))
    graph = understood.graph
    if graph is None or understood.errors or len(text) > 5_000:
        return None
    spec = graph.spec
    closed = all(item.architecture is not None or item.frozen_of is not None for item in spec.models)
    own = any(item.source is not None and not sources()[item.source].takes_files for item in spec.data)
    heavy = any(item.architecture is not None and item.architecture.architecture == "causal_lm" for item in spec.models)
    if not spec.models or not closed or own or heavy:
        return None
    draw = draw or random.Random(0)
    found: dict[str, Any] = {}
    for data in spec.data:
        columns = {item.column or item.name: _column(item, graph.sizes, draw) for item in data.fields}
        if any(column is None for column in columns.values()):
            return None
        found[data.name] = columns
    return found


def _column(item: typed.TypedField, sizes: Mapping[str, int], draw: random.Random) -> Any:
    if not isinstance(item.type, ArrayType):
        return None
    shape = [ROWS]
    for axis in item.type.axes:
        if isinstance(axis, SetAxis) and axis.set in sizes:
            shape.append(sizes[axis.set])
        elif isinstance(axis, FixedAxis):
            shape.append(axis.size)
        elif isinstance(axis, OpenAxis):
            shape.append(2)
        else:
            return None
    if np.prod([float(size) for size in shape]) > 100_000:
        return None
    random_ = np.random.default_rng(draw.randrange(2**32))
    low, high = (-1.0 if item.low is None else item.low), (1.0 if item.high is None else item.high)
    low, high = max(low, -1e6), min(high, 1e6)
    element = item.type.element
    if element is Kind.TEXT:
        return [draw.choice(("a", "b c", "", "d")) for _ in range(ROWS)]
    if element is Kind.ID:
        return random_.integers(0, 4, shape)
    if element is Kind.BOOL:
        return random_.integers(0, 2, shape).astype(bool)
    if isinstance(element, MemberOf):
        return random_.integers(0, sizes[element.set], shape) if element.set in sizes else None
    if low > high:
        return None
    if element is Kind.INT:
        return random_.integers(int(np.ceil(low)), int(np.floor(high)) + 1, shape) if np.ceil(low) <= high else None
    found = random_.uniform(low, high, shape)
    if draw.random() < 0.2:
        found = np.round(found) if low <= -1 and high >= 1 else np.full(shape, draw.choice((low, high)))
    return found + 1j * found if element is Kind.COMPLEX else found
