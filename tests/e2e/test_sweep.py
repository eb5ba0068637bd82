"""``pdual sweep``: values of parameters side by side; one that fails leaves the others alone. And logs for TensorBoard."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from matplotlib.figure import Figure
from running import say

from pdual.capacities import _curve, _scored, draw, points
from pdual.cli.sweep import lines
from pdual.recovering import Against, Capacity
from pdual.restoring import restored
from pdual.runtime.duals.build import fit_positions
from pdual.runtime.storage.records import Metrics, MultiplierMetrics, Recovery, SplitMetrics, Timing
from pdual.sweeping import Ended, Trial, trials

SPEC = """problem small "A curve whose bound is a parameter"
param width = 4 in [1, 64]
param shift = 0.0 in [-10, 10]
data points = csv("points.csv", split = [0.8, 0.1, 0.1]) { x: real, y: real }
model f(x: real) -> real = mlp(hidden = [4])
over p in points {
  minimize (f(p.x) - p.y)^2
  subject to
    near: f(p.x) <= p.y + 0.1
    root: sqrt(p.y + shift) <= f(p.x) + 3
  dual default = learned(mlp(hidden = [width]), on = features(f), cap = 10)
  metric miss = abs(f(p.x) - p.y)
}
solve { outer = 3, rho = 2.0, descent = adam(lr = 1e-2, batch = 8, steps = 4), ascent = adam(lr = 1e-2, batch = 8, steps = 4) }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "points.csv").write_text("x,y\n" + "".join(f"{n / 10},{n / 20 + 1}\n" for n in range(40)))
    (tmp_path / "small.pdual").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_one_that_fails_leaves_the_others_alone(capsys) -> None:
    """With the second shift there is a square root of a negative number."""
    command = ["sweep", "small.pdual", "--over", "width=8", "--over", "shift=0,-2", "--jobs", "2", "--out", "there"]
    said = say(capsys, *command, "-q", "--json")
    assert (said.code, said.json["exit_code"]) == (4, 4)
    assert sorted(path.name for path in Path("there").iterdir()) == ["width=8-shift=-2-0", "width=8-shift=0-0"]
    good, bad = said.json["trials"]
    assert good["metrics"] == json.loads(Path("there/width=8-shift=0-0/metrics.json").read_text())
    assert (good["values"], good["exit_code"]) == ({"width": "8", "shift": "0"}, 0)
    assert (bad["metrics"], bad["exit_code"]) == (None, 4)
    assert bad["said"].startswith("error[PD601]")
    assert said.err.count("error[PD601]") == 1


@pytest.fixture
def halves(here: Path, capsys) -> Path:
    """The spec with multipliers that are fitted on half of the rows, and a run with a table of its own."""
    (here / "halves.pdual").write_text(SPEC.replace("outer = 3", "outer = 20, fit = 0.5").replace("p.y + 0.1", "1.5"))
    assert say(capsys, "run", "halves.pdual", "--dual", "pointwise", "--seed", "5", "--out", "table", "-q").code == 0
    return here


@pytest.mark.usefixtures("halves")
def test_capacity_is_how_near_multipliers_come_to_a_tables(capsys) -> None:
    """The paper's capacity figure: ranking and distance on the rows of the fit and on the others, against run folders read again."""
    command = ["sweep", "halves.pdual", "--over", "width=2,16", "--reference", "table", "--jobs", "1", "--out", "there"]
    said = say(capsys, *command, "-q", "--json")
    assert said.code == 0
    table = restored(Path("table")).run.training_sets[0].evaluate("train")
    for trial in said.json["trials"]:
        run = restored(Path(trial["folder"])).run
        training_set, found = run.training_sets[0], trial["capacity"]["points"]
        fitted = torch.zeros(32, dtype=torch.bool)
        fitted[fit_positions(training_set.table.splits["train"], 0.5, run.options.seed)] = True
        assert int(fitted.sum()) == 16
        apart = (training_set.evaluate("train").multipliers - table.multipliers).abs()
        near, far = float(apart[fitted].mean()), float(apart[~fitted].mean())
        assert found["approximation"] == pytest.approx(near, rel=1e-5)
        assert found["generalisation"] == pytest.approx(far - near, rel=1e-4, abs=1e-7)
        assert (found["fitted"]["rows"], found["unseen"]["rows"]) == (16, 16)
        assert 0 <= found["unseen"]["auc"] <= 1
    assert said.json["figure"] == "there/capacity.svg"
    drawn = Path("there/capacity.svg").read_text()
    Path("there/capacity.svg").unlink()
    shown = say(capsys, *command, "-q").out.splitlines()
    assert all(
        head in shown[0] for head in ("AUC, fitted", "AUC, unseen", "NDCG, unseen", "approximation", "generalisation")
    )
    assert shown[-1] == "figure: there/capacity.svg"
    again = Path("there/capacity.svg").read_text()
    assert len(again) == len(drawn) > 1000
    ElementTree.fromstring(again)


def test_the_capacity_figure_has_a_point_for_every_number_of_parameters(tmp_path: Path) -> None:
    """From few to many, over seeds; means at the points, standard deviations as bars; a run without multipliers has none."""
    every = [ended("16", 0, 1.0), ended("2", 0, 1.0), ended("2", 1, 1.0), ended("4", 0, 1.0)]
    reached = {
        every[0].trial.folder: {"points": capacity(0.9, 0.7, 0.1, 0.4)},
        every[1].trial.folder: {"points": capacity(0.5, 0.6, 0.3, 0.4)},
        every[2].trial.folder: {"points": capacity(0.7, None, 0.5, 0.4)},
    }
    found = points(every, reached)
    assert [item.parameters for item in found] == [20, 160]
    axes = Figure().subplots()
    _curve(axes, found, _scored("fitted", "auc"), "AUC", "#0072B2", "-")
    line, _, (bars,) = axes.containers[0]
    assert [list(line.get_xdata()), list(line.get_ydata())] == [[20, 160], pytest.approx([0.6, 0.9])]
    heights = [segment[:, 1] for segment in bars.get_segments()]
    assert [(high - low) / 2 for low, high in heights] == pytest.approx([math.sqrt(0.02), 0.0])
    axes = Figure().subplots()
    _curve(axes, found, _scored("unseen", "auc"), "AUC", "#0072B2", "-")
    assert list(axes.containers[0][0].get_ydata()) == pytest.approx([0.6, 0.7])
    draw(found, tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
    with pytest.raises(OSError, match="No such file"):
        draw(found, tmp_path / "nowhere" / "figure.svg")


def capacity(fitted: float, unseen: float | None, near: float, far: float) -> Capacity:
    """Reached AUC and distances on fitted and unseen rows; nothing else is known."""
    scores = [Recovery.model_construct(auc=auc, ndcg=None) for auc in (fitted, unseen)]
    return Capacity(Against(scores[0], near), Against(scores[1], far))


@pytest.mark.usefixtures("halves")
def test_a_reference_solved_the_same_problem(capsys) -> None:
    command = ["sweep", "halves.pdual", "--jobs", "1", "--out", "there", "-q", "--reference", "table"]
    said = say(capsys, *command, "--over", "shift=1,2")
    assert (said.code, said.out, Path("there").exists()) == (2, "", False)
    assert (
        "error[PD740]: `table` solved another problem than the runs that are held against it: the constraints differ"
        in said.err
    )
    said = say(capsys, *command, "--over", "width=2", "--limit", "20")
    assert (said.code, said.out, Path("there").exists()) == (2, "", False)
    rows = "error[PD740]: `table` solved another problem than the runs that are held against it: the rows differ"
    assert rows in said.err
    text = Path("halves.pdual").read_text()
    Path("halves.pdual").write_text(
        text.replace("param shift", "param draw = 0\nparam shift").replace("0.1])", "0.1], seed = draw)")
    )
    said = say(capsys, *command[:-1], "table", "--over", "draw=0,1", "--out", "drawn")
    assert (said.code, rows in said.err, len(list(Path("drawn").iterdir()))) == (2, True, 2)
    Path("halves.pdual").write_text(text)
    assert say(capsys, *command, "--over", "width=3", "--dual", "pointwise").out.count("nothing to hold against") == 1
    assert say(capsys, "run", "halves.pdual", "--dual", "none", "--out", "bare", "-q").code == 0
    said = say(capsys, *command[:-1], "bare", "--over", "width=2", "--out", "beside")
    assert (said.code, said.out.count("nothing to hold against the reference: it has no multipliers")) == (0, 1)


def ended(width: str, seed: int, objective: float | None) -> Ended:
    """A trial that ended with an objective, or failed."""
    trial = Trial({"width": width}, seed, Path(f"there/width={width}-{seed}"))
    if objective is None:
        return Ended(trial, 4, None, "error[PD601]: the loss")
    split = SplitMetrics(rows=2, objective=objective, metrics={}, violation=None, families={}, rows_at_cap=None)
    held = MultiplierMetrics(per_row=1, rows=2, families={}, parameters=10 * int(width), bytes=4)
    return Ended(
        trial,
        0,
        Metrics(
            problem="p", dual="learned", status="finished", multipliers=held, splits={"test": split}, timing=Timing()
        ),
        "",
    )


def test_seeds_are_a_mean_and_failures_are_named() -> None:
    every = [ended("2", 0, 1.0), ended("2", 1, 2.0), ended("8", 0, 5.0), ended("8", 1, None)]
    found = list(lines(["width"], every))
    cells = [[cell.strip() for cell in re.split(r"\s{2,}", line)] for line in found[:3]]
    assert cells[0][:3] == ["width", "runs", "objective"]
    assert cells[1][:3] == ["2", "2 of 2", "1.5 ± 0.5"]
    assert cells[2][:3] == ["8", "1 of 2", "5"]
    assert cells[2][cells[0].index("dual parameters")] == "80"
    assert found[3] == "failed: there/width=8-1 (exit code 4): error[PD601]: the loss"


def test_every_combination_has_a_folder_of_its_own() -> None:
    planned = trials({"a": ["1", "2"], "case": ["x/y"]}, 2, Path("there"))
    assert [item.folder.name for item in planned] == [
        "a=1-case=x_y-0",
        "a=1-case=x_y-1",
        "a=2-case=x_y-0",
        "a=2-case=x_y-1",
    ]
    assert [item.seed for item in planned] == [0, 1, 0, 1]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("over", "error"),
    [
        (["width"], "PD704"),
        (["width="], "PD704"),
        (["wide=1,2"], "PD116"),
        (["width=1,100"], "PD241"),
    ],
)
def test_mistakes_are_told_before_anything_runs(capsys, over: list[str], error: str) -> None:
    said = say(capsys, "sweep", "small.pdual", *[part for item in over for part in ("--over", item)], "-q")
    assert (said.code, said.out) == (2, "")
    assert f"error[{error}" in said.err
    assert not Path("runs").exists()


@pytest.mark.usefixtures("here")
def test_logs_for_tensorboard(capsys) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed: pip install 'pdual[tensorboard]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert say(capsys, "run", "small.pdual", "--out", "out", "--tensorboard", "-q").code == 0
    log = [json.loads(line) for line in Path("out/log.jsonl").read_text().splitlines()]
    events = EventAccumulator("out/tensorboard")
    events.Reload()
    assert [item.step for item in events.Scalars("loss")] == [line["outer"] for line in log] == [1, 2, 3]
    assert [item.value for item in events.Scalars("objective/points")] == pytest.approx(
        [x["objective"]["points"] for x in log]
    )
    families = [line["families"]["near"]["multiplier"] for line in log]
    assert [item.value for item in events.Scalars("multiplier/near")] == pytest.approx(families)


@pytest.mark.usefixtures("here")
def test_without_tensorboard(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    said = say(capsys, "run", "small.pdual", "--out", "out", "--tensorboard", "-q")
    assert (said.code, said.out) == (2, "")
    assert "error[PD737]: `tensorboard`" in said.err
