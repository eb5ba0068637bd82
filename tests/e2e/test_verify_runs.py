"""``pdual verify --run``: trained networks stand for made-up models; faults of networks, of a program with them and of multipliers are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from running import say
from torch import nn

import pdual
from pdual.runtime.models.interface import ModelOutput
from pdual.verifying.claims import CLAIMS
from pdual.verifying.outcomes import Falsified, Undefined
from pdual.verifying.subject import Subject

SPEC = """problem rings "Two outputs under limits that move with the row"
set k = 0..1
data points = csv("points.csv", split = [0.75, 0, 0.25]) { x: real[k] in [-1, 1], top: real in [0.5, 2], kind: k }
model f(x: real[k]) -> { a: real[k] in [-2, 2], c: complex } = mlp(hidden = [6])
model h(x: real[k]) -> real[k] = mlp(hidden = [6])
over p in points {
  let y = f(p.x)
  minimize sum[j in k]((y.a[j] - 1)^2) + abs2(y.c)
  subject to
    ceiling[j in k where j != p.kind]: y.a[j] <= p.top
    ring: abs(y.c - 1) <= 0.5
    even: y.a[0] + y.a[1] == 0.5
  dual ceiling[j] = 4 * sigmoid(h(p.x)[j])
  dual ring = learned(mlp(hidden = [4]), on = features(f), cap = 3)
  dual even = learned(linear(), on = features(f), cap = 2)
  metric largest = max[j in k](y.a[j])
}
solve { outer = 3, rho = 2.0, descent = adam(lr = 1e-2, batch = 10, epochs = 2), ascent = adam(lr = 1e-2, batch = 10, steps = 5) }
"""
OF_RUN = [name for name, claim in CLAIMS.items() if claim.of_run]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdual.verifying.attack.SHRINKING", 0.5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rings")
    random = np.random.default_rng(0)
    rows = [
        f"{x:.4f},{y:.4f},{t:.4f},{n % 2}"
        for n, (x, y, t) in enumerate(random.uniform((-1, -1, 0.6), (1, 1, 1.9), (24, 3)))
    ]
    (place / "points.csv").write_text("x.0,x.1,top,kind\n" + "\n".join(rows) + "\n")
    (place / "rings.pdual").write_text(SPEC)
    pdual.load(place / "rings.pdual").solve(out=place / "run")
    return place


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def test_every_claim_stands_with_the_networks_of_a_run(capsys, folder: Path):
    said = say(capsys, "verify", "rings.pdual", "--run", "run", "--examples", "25", "--json")
    assert said.code == 0, said.out
    found = {item["claim"]: item for item in said.json["claims"]}
    assert list(found) == list(CLAIMS)
    assert all(item["stands"] for item in found.values())
    for name in ("ranges", "rows", "values", "gradients", *OF_RUN):
        assert found[name]["silent"] < found[name]["cases"]
    assert not (folder / "run" / "counterexamples").exists()


def restored() -> Any:
    from pdual.restoring import restored

    return restored(Path("run"))


def test_models_answer_as_the_networks_do_by_hand():
    run = restored()
    subject = Subject(run.graph, run)
    assert subject.trained is not None
    assert subject.trained.names == {"f", "h"}
    said = subject.trained.answer("f", ([0.25, -0.5],))
    network = run.run.problem.models["f"].perceptron.double()
    hidden = torch.relu(network.hidden[0].weight @ torch.tensor([0.25, -0.5]).double() + network.hidden[0].bias)
    raw = (network.last.weight @ hidden + network.last.bias).detach()
    np.testing.assert_allclose(said.outputs["a"], -2 + 4 * torch.sigmoid(raw[:2]), rtol=1e-12)
    assert said.outputs["c"] == pytest.approx(complex(raw[2], raw[3]), rel=1e-12)
    np.testing.assert_allclose(said.features[""], hidden.detach(), rtol=1e-12)
    with pytest.raises(Undefined):
        subject.trained.answer("h", ([float("inf"), float("-inf")],))


def test_the_rows_of_the_run_are_those_of_its_file():
    run = restored()
    trained = Subject(run.graph, run).trained
    assert trained is not None
    assert trained.count("points") == 24
    lines = {tuple(float(cell) for cell in line.split(",")) for line in Path("points.csv").read_text().splitlines()[1:]}
    rows = [trained.row("points", place) for place in range(24)]
    assert {(*row["x"], row["top"], float(row["kind"])) for row in rows} == lines
    assert all(isinstance(row["kind"], int) for row in rows)


class Wrong(nn.Module):
    """A network that is right but for one thing."""

    def __init__(self, inner: nn.Module, fault: str) -> None:
        super().__init__()
        self.inner = inner
        self.fault = fault

    def forward(self, inputs: Any) -> ModelOutput:
        """What the network says, with the fault."""
        outputs, features = self.inner(inputs)
        a = outputs["a"]
        if self.fault == "range":
            a = a + 5
        elif self.fault == "rows":
            a = a - a.mean(0, keepdim=True)
        return ModelOutput({**outputs, "a": a}, features)


def falls(name: str, subject: Subject, examples: int = 40) -> str:
    """What an attack on one claim found; empty where it stands."""
    from pdual.verifying.attack import attack

    (made,) = attack([CLAIMS[name]], subject, examples, 0)
    return made.counterexample.found if made.counterexample is not None else ""


@pytest.mark.parametrize(
    ("fault", "words"), [("range", "outside [-2, 2]"), ("rows", "rows of a batch and for each alone")]
)
def test_faults_of_networks_are_found(fault: str, words: str, monkeypatch: pytest.MonkeyPatch):
    run = restored()
    assert falls("predictions", Subject(run.graph, run)) == ""
    monkeypatch.setitem(run.run.problem.models._modules, "f", Wrong(run.run.problem.models["f"], fault))
    for training_set in run.run.training_sets:
        training_set.program.evaluate.inner.f = run.run.problem.models["f"]
    assert words in falls("predictions", Subject(run.graph, run))


def test_a_program_that_is_not_the_spec_is_found():
    run = restored()
    subject = Subject(run.graph, run)
    assert subject.trained is not None
    assert falls("program", subject) == ""
    with torch.no_grad():
        for weight in subject.trained.programs["points"].evaluate.get_submodule("inner.f").parameters():
            assert any(weight is own for own in subject.trained.models.parameters())
    programs = dict(subject.trained.programs)
    whole = programs["points"].evaluate

    class Detached(nn.Module):
        def forward(self, *arguments: Any) -> Any:
            found = list(whole(*arguments))
            found[1] = found[1].detach()
            return found

    subject.trained.__dict__["programs"] = {
        "points": type("P", (), {"evaluate": Detached(), "layout": programs["points"].layout})
    }
    assert "gradients in the weights differ" in falls("program", subject)

    class Shifted(nn.Module):
        def forward(self, *arguments: Any) -> Any:
            found = list(whole(*arguments))
            found[0] = found[0] + 1e-3
            return found

    subject.trained.__dict__["programs"] = {
        "points": type("P", (), {"evaluate": Shifted(), "layout": programs["points"].layout})
    }
    assert "objective of row" in falls("program", subject)


@pytest.mark.parametrize("store", [0, 1, 2])
def test_multipliers_beyond_their_cap_are_found(store: int, monkeypatch: pytest.MonkeyPatch):
    run = restored()
    subject = Subject(run.graph, run)
    assert falls("learned", subject) == ""
    held = run.run.training_sets[0].multipliers.stores[store]
    monkeypatch.setattr(
        held, "value", lambda ids, features, values: torch.full((len(ids), 2 if store == 0 else 1), -5.0)
    )
    assert "is -5 in row 0, outside [" in falls("learned", subject)


def test_counterexamples_go_to_the_folder_of_the_run_and_are_replayed(
    capsys, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    def wrong(subject: Subject, case: Any) -> None:
        if subject.session(case).calls.call("f", (case.rows[0]["x"],)).outputs["a"][0] < 1.999:
            raise Falsified("it is small")

    from dataclasses import replace

    monkeypatch.setitem(CLAIMS, "predictions", replace(CLAIMS["predictions"], check=wrong))  # type: ignore[arg-type]
    said = say(capsys, "verify", "--run", "run", "--claims", "predictions")
    assert said.code == 4
    (file,) = (folder / "run" / "counterexamples").iterdir()
    assert f"again: pdual verify --run run --replay run/counterexamples/{file.name}" in said.out
    assert say(capsys, "verify", "--run", "run", "--replay", str(file)).code == 4
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert say(capsys, "verify", "--run", "run", "--replay", str(file)).code == 0
    file.unlink()
    file.parent.rmdir()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["rings.pdual", "--claims", "learned"],
            "claim `learned` is about trained networks: `--run` has to name a run",
        ),
        (["digits", "--run", "run"], "error[PD739]: `digits` is not the problem that was run in `run`"),
        (["--run", "nowhere"], "error[PD620]"),
        ([], "missing argument `SPEC`"),
    ],
)
def test_what_is_asked_wrongly(arguments: list[str], words: str, capsys):
    said = say(capsys, "verify", *arguments)
    assert said.code == 2
    assert words in said.err
