"""A module keeps to its contract, or the run says so; a run's predictions stay its own."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pdual
from pdual.runtime.models.interface import ModelOutput

SPEC = """problem m
data d { x: real, y: real }
model f(x: real) -> OUTPUT
over r in d {
  let g = f(r.x)
  minimize (GUESS - r.y)^2
  subject to near: GUESS <= r.x + 0.1
}
solve { outer = 2, descent = adam(lr = 1e-2, batch = 8, steps = 3) }
"""
X = np.linspace(0, 1, 32)
ROWS = {"d": {"x": X, "y": 2 * X}}
Say = Callable[["Net", Tensor], Any]


class Net(nn.Module):
    def __init__(self, say: Say | None = None, outputs: int = 1, **held: object) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, outputs))
        self.say, self.calls = say, 0
        for name, value in held.items():
            setattr(self, name, value)

    def forward(self, x: Tensor) -> Any:
        return self.say(self, x) if self.say is not None else self.layers(x)


class Swapped(NamedTuple):
    b: Tensor
    a: Tensor


@dataclasses.dataclass
class Record:
    b: Tensor
    a: Tensor


@pytest.fixture
def solve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pdual.Run]:
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))

    def run(module: nn.Module, record: bool = False, **options: Any) -> pdual.Run:
        text = SPEC.replace("OUTPUT", "{ a: real, b: real[2] }" if record else "real")
        (tmp_path / "m.pdual").write_text(text.replace("GUESS", "(g.a + g.b[0])" if record else "g"))
        out = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
        return pdual.load(tmp_path / "m.pdual", data=ROWS, models={"f": module}).solve(out=out, **options)

    return run


def objective(run: pdual.Run) -> float | None:
    return run.metrics.splits["train"].objective


def overwrite(net: Net, x: Tensor, by: Callable[[Tensor], object]) -> Tensor:
    found: Tensor = net.layers(x.clone())
    by(x)
    return found


@pytest.mark.parametrize(
    "by", [lambda x: x.mul_(0), lambda x: x.data.mul_(0), lambda x: np.copyto(x.detach().numpy(), 0)]
)
def test_what_is_done_in_place_reaches_no_constraint(solve: Callable[..., pdual.Run], by: Any) -> None:
    assert objective(solve(Net(lambda net, x: overwrite(net, x, by)))) == objective(solve(Net()))


def without_gradient(net: Net, x: Tensor) -> Tensor:
    with torch.no_grad():
        return net.layers(x)  # type: ignore[no-any-return]


def failing(error: Exception) -> Say:
    def say(net: Net, x: Tensor) -> Tensor:
        raise error

    return say


def in_place(net: Net, x: Tensor) -> Tensor:
    found: Tensor = net.layers(x)
    x.mul_(0)
    return found


REFUSED: dict[str, tuple[Say, str]] = {
    "detached": (lambda net, x: net.layers(x).detach(), "PD612"),
    "no_grad": (without_gradient, "PD612"),
    "through numpy": (lambda net, x: torch.from_numpy(net.layers(x).detach().numpy()), "PD612"),
    "numpy": (lambda net, x: net.layers(x).detach().numpy(), "PD690"),
    "in place of what a layer needs": (in_place, "PD611"),
    "integers": (lambda net, x: net.layers(x).long(), "real numbers, found int64"),
    "complex": (lambda net, x: net.layers(x).to(torch.complex64), "real numbers, found complex64"),
    "wide": (lambda net, x: net.layers(x).repeat(1, 3), "a tensor [4], found shape [4, 3]"),
    "transposed": (lambda net, x: net.layers(x).T, "a tensor [4], found shape [1, 4]"),
    "no batch": (lambda net, x: net.layers(x).sum(), "found shape []"),
    "longer": (lambda net, x: torch.cat([net.layers(x)] * 2), "found shape [8, 1]"),
    "an axis more": (lambda net, x: net.layers(x)[None], "found shape [1, 4, 1]"),
    "squeezed": (lambda net, x: net.layers(x).squeeze(), "found shape []"),
    "sparse": (lambda net, x: net.layers(x)[:, 0].to_sparse(), "dense tensor"),
    "elsewhere": (lambda net, x: net.layers(x).to("meta"), "on meta"),
    "None": (lambda net, x: None, "PD690"),
    "not a number": (lambda net, x: net.layers(x) * float("nan"), "PD601"),
    "KeyError": (failing(KeyError("q")), "PD692"),
    "AssertionError": (failing(AssertionError()), "PD692"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_outputs_that_are_refused(solve: Callable[..., pdual.Run], kind: str) -> None:
    say, told = REFUSED[kind]
    with pytest.raises(pdual.ProblemError) as refused:
        solve(Net(say))
    assert told in str(refused.value)


def test_a_row_alone_is_no_batch_of_one_number(solve: Callable[..., pdual.Run]) -> None:
    """`squeeze()` of a batch is fine, and of one row a scalar."""
    assert objective(solve(Net(lambda net, x: net.layers(x).squeeze(1)))) == objective(solve(Net()))


@pytest.mark.parametrize(
    "form",
    [
        lambda a, b: (a, b),
        lambda a, b: [a, b],
        lambda a, b: Swapped(b, a),
        lambda a, b: Record(b, a),
        lambda a, b: {"b": b, "c": None, "a": a},
    ],
)
def test_a_record_is_taken_by_name(solve: Callable[..., pdual.Run], form: Any) -> None:
    def say(net: Net, x: Tensor) -> Any:
        found = net.layers(x)
        return form(found[:, 0], found[:, 1:])

    plain = solve(Net(lambda net, x: (net.layers(x)[:, 0], net.layers(x)[:, 1:]), outputs=3), record=True)
    assert objective(solve(Net(say, outputs=3), record=True)) == pytest.approx(objective(plain), rel=1e-5)


@pytest.mark.parametrize(
    ("say", "told"),
    [
        (lambda net, x: {"a": net.layers(x)[:, 0]}, "should return `b`, found `a`"),
        (lambda net, x: (net.layers(x)[:, 1:], net.layers(x)[:, 0]), r"\[4\] for `a`, found shape \[4, 2\]"),
        (lambda net, x: {"a": 1.0, "b": net.layers(x)[:, 1:]}, "a tensor for `a`, found float"),
    ],
)
def test_records_that_are_refused(solve: Callable[..., pdual.Run], say: Say, told: str) -> None:
    with pytest.raises(pdual.ProblemError, match=told):
        solve(Net(say, outputs=3), record=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_a_module_of_another_precision(solve: Callable[..., pdual.Run], dtype: torch.dtype) -> None:
    module = Net().to(dtype)
    assert objective(solve(module)) == pytest.approx(objective(solve(Net())), rel=1e-2)
    assert {weight.dtype for weight in module.parameters()} == {dtype}
    assert objective(solve(Net(lambda net, x: net.layers(x).to(dtype)))) is not None


def test_runs_that_share_a_module_keep_their_predictions(solve: Callable[..., pdual.Run]) -> None:
    module = Net()
    first = solve(module)
    said = first.predict("f", {"x": X})[""]
    torch.testing.assert_close(said, module(torch.tensor(X, dtype=torch.float32)[:, None])[:, 0].detach())
    with pytest.warns(pdual.ProblemWarning, match="PD617"):
        second = solve(module)
    assert torch.equal(said, first.predict("f", {"x": X})[""])
    assert not torch.equal(said, second.predict("f", {"x": X})[""])
    assert objective(solve(Net(), seed=0)) == objective(first)  # a fresh module, the same seed


def test_layers_in_evaluation_mode_stay_so(solve: Callable[..., pdual.Run]) -> None:
    module = nn.Sequential(nn.Linear(1, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    module[1].eval()
    before = module[1].state_dict()["running_mean"].clone()
    run = solve(module)
    assert torch.equal(before, module[1].state_dict()["running_mean"])
    assert [layer.training for layer in module] == [True, False, True]
    assert run.metrics.status == "finished"
    module[1].train()
    with pytest.warns(pdual.ProblemWarning, match="PD617"):
        solve(module)
    assert not torch.equal(before, module[1].state_dict()["running_mean"])


def counted(net: Net, x: Tensor) -> Tensor:
    net.calls += 1
    found: Tensor = net.layers(x)
    return found + net.calls


def kept(net: Net, x: Tensor) -> Tensor:
    found: Tensor = net.layers(x)
    if net.training:
        return found
    held = vars(net).setdefault(f"held{len(x)}", torch.zeros(len(x), 1))
    held.copy_(found)
    return held  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("say", "code"),
    [
        (lambda net, x: nn.functional.dropout(net.layers(x), 0.5, True), "PD615"),
        (counted, "PD615"),
        (kept, "PD615"),
        (lambda net, x: torch.softmax(net.layers(x), 0), "PD616"),
    ],
)
def test_modules_that_are_no_function_of_their_row(solve: Callable[..., pdual.Run], say: Say, code: str) -> None:
    with pytest.warns(pdual.ProblemWarning, match=code):
        solve(Net(say))


def test_one_output_without_a_gradient_is_said(solve: Callable[..., pdual.Run]) -> None:
    def both(net: Net, x: Tensor) -> Record:
        found = net.layers(x)
        return Record(b=found[:, 1:].detach(), a=found[:, 0])

    with pytest.warns(pdual.ProblemWarning, match="PD618.*`f` have no gradient.*: `b`"):
        solve(Net(both, 3), record=True)
    solve(
        Net(lambda net, x: Record(net.layers(x)[:, 1:], net.layers(x)[:, 0]), 3), record=True
    )  # warnings are errors here


def test_dropout_and_batch_norm_are_functions_in_evaluation(solve: Callable[..., pdual.Run]) -> None:
    layers = nn.Sequential(nn.Linear(1, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 1))
    assert solve(layers).metrics.status == "finished"  # warnings are errors here


def test_what_holds_a_lock_or_an_earlier_output_is_copied(solve: Callable[..., pdual.Run]) -> None:
    module = Net(lock=threading.Lock())
    module.last = module.layers(torch.zeros(1, 1))
    assert objective(solve(module)) == objective(solve(Net()))


@pytest.mark.filterwarnings("ignore:.*jit.script:DeprecationWarning")
@pytest.mark.parametrize("make", [lambda: nn.LazyLinear(1), lambda: torch.jit.script(nn.Linear(1, 1))])
def test_what_cannot_be_trained_is_refused(solve: Callable[..., pdual.Run], make: Any) -> None:
    with pytest.raises(pdual.ProblemError, match="PD614"):
        solve(make())


def test_a_module_without_weights_to_train_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))
    text = SPEC.replace("OUTPUT", "real").replace("GUESS", "(g + h(r.x))")
    (tmp_path / "m.pdual").write_text(text.replace("over r", "model h(x: real) -> real\nover r", 1))
    models = {"f": Net(), "h": Net().requires_grad_(False)}
    problem = pdual.load(tmp_path / "m.pdual", data=ROWS, models=models)
    with pytest.warns(pdual.ProblemWarning, match="PD613.*`h`"):
        problem.solve(out=tmp_path / "out")


def test_a_formula_over_a_module_without_weights_to_train_is_refused(tmp_path: Path) -> None:
    text = SPEC.replace("OUTPUT", "real").replace("GUESS", "g").replace("over r", "model h(x: real) -> real\nover r", 1)
    held = text.replace("+ 0.1\n", "+ 0.1\n  dual near = 10 * sigmoid(h(r.x))\n")
    (tmp_path / "m.pdual").write_text(held)
    models = {"f": Net(), "h": Net().requires_grad_(False)}
    with pytest.warns(pdual.ProblemWarning, match="PD613"), pytest.raises(pdual.ProblemError, match=r"PD417.*`near`"):
        pdual.load(tmp_path / "m.pdual", data=ROWS, models=models).solve(out=tmp_path / "out")
    models["h"].requires_grad_(True)
    pdual.load(tmp_path / "m.pdual", data=ROWS, models=models).solve(out=tmp_path / "again")


class Own(nn.Module):
    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.change = nn.Linear(1, 1), change

    def forward(self, inputs: dict[str, Tensor]) -> ModelOutput:
        found = self.layer(inputs["x"][:, None].clone())[:, 0]
        inputs["x"].zero_()
        return ModelOutput({"": self.change(found)}, {})


def test_a_module_that_returns_model_outputs_is_held_to_it_too(solve: Callable[..., pdual.Run]) -> None:
    assert objective(solve(Own(lambda y: y))) == pytest.approx(objective(solve(nn.Sequential(Own(lambda y: y).layer))))
    for change, told in (
        (lambda y: y.detach(), "PD612"),
        (lambda y: y[:, None], "PD690"),
        (lambda y: y.long(), "PD690"),
    ):
        with pytest.raises(pdual.ProblemError, match=told):
            solve(Own(change))
