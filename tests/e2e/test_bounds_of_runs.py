"""``pdual bounds --run``: what is measured on a run, against the same numbers from its weights, its rows and the table of a pointwise run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from running import Said, say

import pdual
from pdual.runtime.duals.pointwise import PointwiseStore

SPEC = """problem ceilings "A curve under a ceiling that moves with the row"
param most = 2.0
param cap = 12.0
data points = csv("points.csv", split = [0.75, 0, 0.25]) { x: real in [-1, 1], top: real in [0.5, 2] }
model f(x: real) -> real in [-2, 2] = mlp(hidden = [8])
over p in points {
  minimize (f(p.x) - most)^2
  subject to
    ceiling scale 2: f(p.x) <= p.top
    floor: f(p.x) >= -1
  dual default = learned(linear(), on = features(f), cap = cap)
}
solve { outer = 12, rho = 2.0, descent = adam(lr = 1e-2, batch = 10, epochs = 4), ascent = adam(lr = 1e-2, batch = 10, steps = 20) }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("ceilings")
    random = np.random.default_rng(0)
    rows = "".join(f"{x:.5f},{top:.5f}\n" for x, top in random.uniform((-1, 0.6), (1, 1.9), (40, 2)))
    (place / "points.csv").write_text("x,top\n" + rows)
    (place / "ceilings.pdual").write_text(SPEC)
    problem = pdual.load(place / "ceilings.pdual")
    problem.solve(out=place / "run")
    pdual.load(place / "ceilings.pdual", dual="pointwise").solve(out=place / "pointwise", seed=1)
    pdual.load(place / "ceilings.pdual", minimize=False).solve(out=place / "feasible")
    pdual.load(place / "ceilings.pdual", {"most": 1.5}).solve(out=place / "other")
    return place


@pytest.fixture(autouse=True)
def _there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def restored(name: str) -> Any:
    from pdual.restoring import restored

    return restored(Path(name))


def estimates(said: Said) -> dict[tuple[str, str], dict[str, Any]]:
    assert said.code == 0, said.err
    return {(item["name"], item["kind"]): item for item in said.json["bounds"]["estimates"]}


def train_rows(run: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x and top of the train rows, and what the network says, layer by layer."""
    (training_set,) = run.run.training_sets
    values = training_set.table.batch(training_set.train_ids).values
    x, top = values["x"].double(), values["top"].double()
    network = run.run.problem.models["f"].perceptron.double()
    hidden = torch.relu(x[:, None] @ network.hidden[0].weight.T + network.hidden[0].bias)
    raw = hidden @ network.last.weight.T + network.last.bias
    return top, hidden.detach(), (-2 + 4 * torch.sigmoid(raw[:, 0])).detach()


@pytest.mark.parametrize("hull", [None, 0.01])
def test_the_slater_margin_is_the_smallest_gap_of_all_rows(hull: float | None, capsys):
    more = [] if hull is None else ["--know", f"nuH={hull}"]
    found = estimates(say(capsys, "bounds", "--run", "run", "--json", *more))["s", "estimate"]
    top, _, said = train_rows(restored("run"))
    less = (hull or 0.0) * np.array([1 / 2, 1 / 3])
    margin = min(float((top - said).min()) / 2 - less[0], float((said + 1).min()) / 3 - less[1])
    assert found["value"] == pytest.approx(margin, abs=1e-5)
    assert found["used"] == (margin > 0)
    assert "on test rows" in found["parts"]


def test_another_run_of_the_problem_may_show_a_slater_point(capsys):
    alone = estimates(say(capsys, "bounds", "--run", "run", "--json"))["s", "estimate"]
    found = estimates(say(capsys, "bounds", "--run", "run", "--reference", "feasible", "--json"))["s", "estimate"]
    top, _, said = train_rows(restored("feasible"))
    margin = min(float((top - said).min()) / 2, float((said + 1).min()) / 3)
    assert margin > 0
    assert found["value"] == pytest.approx(max(margin, alone["value"]), abs=1e-5)
    assert found["used"]
    whose = "the predictor of `feasible`" if margin > alone["value"] else "the trained predictor"
    assert found["method"].startswith(whose)


def test_a_margin_that_is_not_positive_shows_no_slater_point(capsys):
    said = say(capsys, "bounds", "--run", "run", "--know", "nuH=10")
    assert "no Slater point was shown: the trained predictor on 30 train rows" in said.out
    assert "strict feasibility                        unknown  the predictor of the run does not meet every" in said.out
    known = say(capsys, "bounds", "--run", "run", "--know", "nuH=10", "--json").json["bounds"]["constants"]
    assert "s" not in known


def test_nu_phi_is_the_mean_distance_from_the_pointwise_multipliers(capsys):
    found = estimates(say(capsys, "bounds", "--run", "run", "--reference", "pointwise", "--json"))["nuPhi", "estimate"]
    mine, theirs = restored("run").run.training_sets[0], restored("pointwise").run.training_sets[0]
    one = dict(zip(mine.train_ids.tolist(), mine.evaluate("train").multipliers.double().numpy(), strict=True))
    other = dict(zip(theirs.train_ids.tolist(), theirs.evaluate("train").multipliers.double().numpy(), strict=True))
    apart = np.array([np.abs(one[row] - other[row]) for row in sorted(set(one) & set(other))])
    assert found["value"] == pytest.approx(apart.mean(0).max(), abs=1e-6)
    assert found["value"] > 0
    for column, family in enumerate(("ceiling", "floor")):
        assert found["parts"][f"{family}: mean over rows and entries"] == pytest.approx(
            apart[:, column].mean(), abs=1e-6
        )
        assert found["parts"][f"{family}: largest"] == pytest.approx(apart[:, column].max(), abs=1e-6)
    assert f"over the {len(apart)} train rows" in found["method"]


def test_complexities_are_those_of_the_weights(capsys):
    found = estimates(say(capsys, "bounds", "--run", "run", "--json"))
    run = restored("run")
    (training_set,) = run.run.training_sets
    x = training_set.table.batch(training_set.train_ids).values["x"].double()
    _, hidden, _ = train_rows(run)
    network = run.run.problem.models["f"].perceptron
    rows, root = len(x), math.sqrt(len(x))
    both = torch.cat([network.hidden[0].weight, network.hidden[0].bias[:, None]], 1).detach()
    reach = 2 * float(both.norm()) * (float(x.norm()) + root)
    norm, offset = float(network.last.weight.detach().norm()), float(network.last.bias.detach().abs())
    slope = 4 / 4  # of the sigmoid, over the range
    prediction = slope * (norm * reach + offset * root) / rows
    # Scaled: (-1 - f) / 3 in [-1, 1/3] with L = 1/3, (f - top) / 2 in [-2, 0.75] with L = 1/2, (f - 2)^2 in [0, 16] with L = 8.
    loss = max(min(prediction / 3, 2 / 3), min(prediction / 2, 1.375))
    assert found["R", "bound"]["value"] == pytest.approx(loss, rel=1e-5)
    assert found["R0", "bound"]["value"] == pytest.approx(min(8 * prediction, 8.0), rel=1e-5)
    store = training_set.multipliers.stores[0]
    centred = ((hidden - store.phi.centred.mean) / store.phi.centred.scale).double()
    weight, bias = (value.detach() for value in (store.phi.network.map.weight, store.phi.network.map.bias))
    each = weight.norm(dim=1) * float(centred.norm()) / rows + bias.abs() / root
    expected = float(each.max()) + float(store.phi.bias.detach().abs().max()) / root
    assert found["RL", "bound"]["value"] == pytest.approx(min(expected, 2.0), rel=1e-5)
    # Draws of signs against the mean square: E |sum e h| lies within a few percent below sqrt(sum |h|^2).
    estimate = (norm * float(hidden.norm()) + offset * root) / rows * slope / 2
    assert 0.6 * estimate <= found["R", "estimate"]["value"] <= 1.1 * estimate
    assert not found["R", "estimate"]["used"]


def test_one_row_at_the_cap_of_a_reference_makes_it_none(capsys):
    """The optimal multiplier of that row may be any larger one: |lam_phi - lam| says nothing then, 0 least of all."""
    from pdual.bounding.distance import distance

    mine, theirs = restored("run"), restored("pointwise")
    (training_set,) = theirs.run.training_sets
    (store,) = [store for store in training_set.multipliers.stores if isinstance(store, PointwiseStore)]
    table = store.state()["table"]
    table *= 0.5
    assert distance(mine, [("pointwise", theirs)]).used
    table[3, 1] = 12.0  # its cap
    found = distance(mine, [("pointwise", theirs)])
    assert not found.used
    assert found.method.startswith("no reference: `pointwise` is at its cap in floor")
    table[3, 1] = 12.0 * 0.99
    assert distance(mine, [("pointwise", theirs)]).used


def test_a_cap_that_binds_on_both_sides_is_no_distance_of_0(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    """min (x - z)^2 under x <= -0.9: multipliers of 0.36 to 0.38, scaled by 0.1, and both runs end at a cap of 0.1."""
    (tmp_path / "z.csv").write_text("z\n" + "".join(f"{0.9 + 0.005 * n}\n" for n in range(20)))
    (tmp_path / "cap.pdual").write_text(
        """problem cap "the cap binds"
data rows = csv("z.csv", split = [1.0, 0, 0]) { z: real in [0.9, 1] }
model f(z: real) -> real in [-1, 1] = mlp(hidden = [8])
over r in rows {
  minimize (f(r.z) - r.z)^2
  subject to
    c: f(r.z) <= -0.9
  dual c = learned(mlp(hidden = [8]), on = r.z, cap = 0.1)
}
solve { outer = 8, rho = 0.1, descent = adam(lr = 1e-2, batch = 20, epochs = 1), ascent = adam(lr = 1e-1, batch = 20, steps = 60) }
"""
    )
    monkeypatch.chdir(tmp_path)
    pdual.load("cap.pdual").solve(out="learned")
    pdual.load("cap.pdual", dual="pointwise").solve(out="pointwise")
    said = say(capsys, "bounds", "--run", "learned", "--reference", "pointwise", "--json")
    found = estimates(said)["nuPhi", "estimate"]
    assert found["value"] < 0.01
    assert not found["used"]
    assert "is at its cap in c" in found["method"]
    assert "nuPhi" not in said.json["bounds"]["constants"]
    (delta,) = [item for item in said.json["bounds"]["certificate"] if item["name"] == "Delta_D"]
    assert delta["value"] is None
    assert "nuPhi" in delta["missing"]


def test_what_is_measured_fills_the_certificate_and_what_is_given_counts_more(capsys):
    arguments = ["--run", "run", "--reference", "pointwise", "--reference", "feasible", "--know", "nuH=0"]
    said = say(capsys, "bounds", "ceilings.pdual", *arguments)
    assert "certificate, with estimates of s, nuPhi\n" in said.out
    assert "estimated: nuPhi = " in said.out
    assert "by Rademacher complexities: R0 = 8 (bound), R = " in said.out
    made = say(capsys, "bounds", *arguments, "--json").json["bounds"]
    known = made["constants"]
    assert known["N"] == known["N0"] == 30
    assert known["delta"] == 0.05
    zeta0, zeta = (
        4 * known[r] + 2 * known[b] * math.sqrt(2 * math.log(40) / 30) for r, b in (("R0", "B0"), ("R", "B"))
    )
    bounds = {item["name"]: item["value"] for item in made["certificate"]}
    expected = known["B"] * known["nuPhi"] + zeta0 + known["Gamma"] * zeta
    assert bounds["Delta_D"] == pytest.approx(expected, rel=1e-9)
    assert all(value is not None for value in bounds.values())
    given = say(capsys, "bounds", *arguments, "--know", "nuPhi=0", "--know", "s=0.25", "--json").json["bounds"]
    assert given["constants"]["nuPhi"] == 0
    assert given["constants"]["s"] == 0.25
    less = {item["name"]: item["value"] for item in given["certificate"]}
    assert less["Delta_D"] == pytest.approx(zeta0 + known["Gamma"] * zeta, rel=1e-9)
    again = say(capsys, "bounds", *arguments, "--know", "nuPhi=0")
    assert "(given: 0)" in again.out
    assert "certificate, with estimates of s\n" in again.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "missing argument `SPEC`"),
        (["ceilings.pdual", "--reference", "run"], "`--reference` is read beside `--run`"),
        (["digits", "--run", "run"], "error[PD739]: `digits` is not the problem that was run in `run`"),
        (["--run", "run", "--set", "cap=5"], "is not the problem that was run in `run`: the multipliers differ"),
        (["--run", "run", "--set", "most=1.5"], "is not the problem that was run in `run`: the objective differ"),
        (["--run", "run", "--reference", "other"], "error[PD739]: `other` is not the problem that was run in `run`"),
        (["--run", "nowhere"], "error[PD620]"),
    ],
)
def test_what_is_asked_wrongly(arguments: list[str], words: str, capsys):
    said = say(capsys, "bounds", *arguments)
    assert said.code == 2
    assert words in said.err


def test_values_of_the_run_need_not_be_repeated(capsys):
    assert say(capsys, "bounds", "ceilings.pdual", "--run", "other").code == 0
    assert say(capsys, "bounds", "--run", "other", "--set", "most=1.5").code == 0


def test_a_table_and_a_model_without_a_bound_are_said(capsys):
    found = estimates(say(capsys, "bounds", "--run", "pointwise", "--json"))
    assert found["nuPhi", "estimate"]["method"] == "no multipliers are learned"
    assert found["RL", "bound"]["value"] == 6.0
    assert "a table has a number of its own for every row" in found["RL", "bound"]["method"]
