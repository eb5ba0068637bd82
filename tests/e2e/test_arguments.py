"""Every function of the API with wrong arguments of every kind: a documented exception that says what is wrong."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import pdual
from pdual.runtime.problem.options import RunOptions

SPEC = """problem a
set side = { left, right }
data d { x: real, s: side, z: real[2], c: complex, b: bool, t: text, split = [0.5, 0, 0.5] }
model f(x: real, s: side, z: real[2], c: complex, b: bool) -> real = linear()
model h(x: real) -> real = free()
over r in d {
  let g = f(r.x, r.s, r.z, r.c, r.b)
  minimize (g + h(r.x) - r.x)^2
  subject to near: g <= r.x + 1
  dual near = learned(mlp(hidden = [4]), on = r.x, cap = 1)
}
solve { outer = 1, descent = adam(lr = 1e-2, batch = 4, steps = 2) }
"""
N = 8
ROWS: dict[str, Any] = {
    "x": np.linspace(0, 1, N),
    "s": ["left", "right"] * (N // 2),
    "z": np.ones((N, 2)),
    "c": np.full(N, 1 + 2j),
    "b": [True, False] * (N // 2),
    "t": ["a"] * N,
}
ASKED = {name: ROWS[name] for name in ("x", "s", "z", "c", "b")}
pytestmark = pytest.mark.filterwarnings("ignore::pdual.ProblemWarning")


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("arguments") / "a.pdual"
    path.write_text(SPEC)
    return path


@pytest.fixture(autouse=True)
def _cache(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDUAL_CACHE", str(spec.parent / "cache"))


@pytest.fixture(scope="module")
def run(spec: Path) -> pdual.Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PDUAL_CACHE", str(spec.parent / "cache"))
        return pdual.load(spec, data={"d": ROWS}).solve(out=spec.parent / "run")


ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, float("nan"), float("inf"), 2**64, 10**400, "", "a", "\0", "é" * 5000, b"a", (), [], {}, {1: 2}, {"q": None},
    {"x": object()}, object(), object, np.zeros(3), np.array("a"), torch.zeros(2, 2), nn.Linear(1, 1), lambda: 0, slice(1), 1j,
)  # fmt: skip


def only_documented(call: Callable[[], Any]) -> None:
    """Nothing else than an ``Error`` comes out."""
    found: pdual.ProblemError | None = None
    try:
        call()
    except pdual.ProblemError as error:
        found = error
    if found is not None:
        assert found.diagnostics
        assert all(item.code != "PD999" for item in found.diagnostics)
        assert str(found).startswith(("\nerror[PD", "\nwarning[PD"))


@pytest.mark.parametrize("name", list(inspect.signature(pdual.load).parameters))
def test_load(spec: Path, name: str) -> None:
    for value in ODD:
        only_documented(lambda value=value: pdual.load(**{"spec": spec, "data": {"d": ROWS}, name: value}))  # type: ignore[misc]
    for value in ODD if name in ("params", "data", "models", "dual") else ():
        for key in ("d", "f", "near", "x"):
            only_documented(lambda key=key, value=value: pdual.load(spec, **{name: {key: value}}))  # type: ignore[misc]


OPTIONS = [
    name for name in RunOptions.__dataclass_fields__ if name not in ("out", "initial", "resume", "compile", "quick")
]


@pytest.mark.parametrize("name", [*OPTIONS, "sed", "models", ""])
def test_solve(run: pdual.Run, spec: Path, name: str) -> None:
    problem = pdual.load(spec, data={"d": ROWS})
    for value in ODD:
        only_documented(lambda value=value: problem.solve(out=spec.parent / "run", **{name: value}))  # type: ignore[misc]


@pytest.mark.parametrize("name", ["out", "initial", "resume", "compile", "quick"])
def test_options_of_another_type(spec: Path, name: str) -> None:
    problem = pdual.load(spec, data={"d": ROWS})
    for value in (-1, 1.5, (), object(), np.zeros(3), "\0", ""):
        with pytest.raises(pdual.ArgumentError, match=f"PD704.*`{name}`"):
            problem.solve(**{name: value})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sed": 1}, r"(?s)PD750.*no option `sed`.*did you mean `seed`"),
        ({"dual": "shared"}, r"(?s)PD750.*an argument of `pdual.load`"),
        ({"seed": "a"}, "PD704.*`seed` takes a whole number from 0 to 9223372036854775807, found `a`"),
        ({"seed": 2**64}, "PD704.*18446744073709551616"),
        ({"seed": True}, "PD704"),
        ({"seed": 1.0}, "PD704"),
        ({"threads": 0}, "PD704.*`threads` takes a whole number from 1 to 1024"),
        ({"threads": 10**8}, "PD704"),
        ({"limit": 0}, "PD704"),
        ({"budget": float("inf")}, "PD704"),
        ({"budget": "5m"}, "PD704"),
        ({"device": "gpu"}, "PD704"),
        ({"precision": "float16"}, "PD704"),
    ],
)
def test_options_that_cannot_be(spec: Path, options: dict[str, Any], told: str) -> None:
    with pytest.raises(pdual.ArgumentError, match=told) as refused:
        pdual.load(spec, data={"d": ROWS}).solve(**options)
    assert isinstance(refused.value, TypeError)
    assert isinstance(refused.value, ValueError)


def test_options_as_numpy_and_torch_have_them(spec: Path) -> None:
    problem = pdual.load(spec, params={}, data={"d": ROWS})
    given = {"seed": np.int64(1), "precision": torch.float64, "device": torch.device("cpu"), "limit": np.uint8(3)}
    run = problem.solve(out=str(spec.parent / "numpy"), **given)
    assert run.metrics.splits["train"].rows == 3


def test_predict_and_multipliers(run: pdual.Run) -> None:
    for value in ODD:
        only_documented(lambda value=value: run.predict(value, ASKED))  # type: ignore[misc]
        only_documented(lambda value=value: run.predict("f", value))  # type: ignore[misc]
        only_documented(lambda value=value: run.multipliers(value))  # type: ignore[misc]
        only_documented(lambda value=value: run.multipliers("train", value))  # type: ignore[misc]
        for name in ASKED:
            only_documented(lambda name=name, value=value: run.predict("f", {**ASKED, name: value}))  # type: ignore[misc]
            only_documented(lambda name=name, value=value: run.multipliers({**ASKED, name: value}))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("ask", "told", "kind"),
    [
        (lambda run: run.predict("g", ASKED), r"(?s)PD751.*no model `g`.*there are `f`, `h`", pdual.UnknownNameError),
        (lambda run: run.predict("f", {**ASKED, "X": [1.0]}), r"(?s)PD751.*`X`", pdual.UnknownNameError),
        (lambda run: run.predict("f", {"x": [1.0]}), r"(?s)PD753.*lacks `s`, `z`, `c`, `b`", pdual.UnknownNameError),
        (lambda run: run.predict("f", {**ASKED, "x": [1.0]}), "PD752.*as many of each", pdual.ArgumentError),
        (lambda run: run.predict("f", {**ASKED, "z": np.ones((N, 3))}), r"PD752.*\[rows, 2\]", pdual.ArgumentError),
        (lambda run: run.predict("f", {**ASKED, "s": ["up"] * N}), "PD751.*member of `side` `up`", KeyError),
        (lambda run: run.predict("f", {**ASKED, "s": [2] * N}), "PD752.*0 to 1", ValueError),
        (lambda run: run.predict("h", {"x": [1.0]}), "PD732", pdual.ProblemError),
        (lambda run: run.multipliers("trian"), r"(?s)PD751.*no split `trian`.*did you mean `train`", KeyError),
        (lambda run: run.multipliers("train", "e"), "PD751.*data set `e`", KeyError),
        (lambda run: run.multipliers({}), "PD753", KeyError),
    ],
)
def test_what_is_asked_of_a_run(run: pdual.Run, ask: Any, told: str, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=told) as refused:
        ask(run)
    assert isinstance(refused.value, pdual.Error)


def test_arrays_lists_labels_and_tensors_say_the_same(run: pdual.Run) -> None:
    plain = run.predict("f", ASKED)[""]
    tensors = {name: torch.tensor(np.asarray(ASKED[name])) for name in ("x", "z", "c", "b")}
    positions = {**tensors, "s": torch.tensor([0, 1] * (N // 2))}
    parts = {"c.re": positions["c"].real, "c.im": positions.pop("c").imag}
    for rows in (
        {**tensors, "s": ASKED["s"]},
        {**positions, **parts},
        {n: np.asarray(v).tolist() for n, v in ASKED.items()},
    ):
        assert torch.equal(run.predict("f", rows)[""], plain)  # type: ignore[arg-type]


def test_multipliers_of_arrays_lists_and_tensors(spec: Path) -> None:
    spec.with_name("learned.pdual").write_text(
        SPEC.replace("+ h(r.x) ", "").replace("model h(x: real) -> real = free()\n", "")
    )
    run = pdual.load(spec.with_name("learned.pdual"), data={"d": ROWS}).solve(out=spec.parent / "learned")
    found = [run.multipliers({"x": of(ROWS["x"])})["near"] for of in (np.asarray, list, torch.tensor)]
    assert found[0].shape == (N, 1)
    assert all(torch.equal(item, found[0]) for item in found)


def test_exceptions_can_be_sent_to_another_process(run: pdual.Run) -> None:
    with pytest.raises(pdual.UnknownNameError) as refused:
        run.predict("g", {})
    again = pickle.loads(pickle.dumps(refused.value))
    assert (type(again), str(again)) == (type(refused.value), str(refused.value))
