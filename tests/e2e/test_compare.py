"""``pdual compare`` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import say

SPEC = """problem small "A curve under a ceiling that moves with the row"
data points = csv("points.csv", split = [0.8, 0.1, 0.1]) { x: real, top: real }
model f(x: real) -> real = mlp(hidden = [8])
over p in points {
  minimize (f(p.x) - 1)^2
  subject to ceiling: f(p.x) <= p.top
  dual ceiling = learned(mlp(hidden = [8]), on = features(f), cap = 10)
  metric missed = 1 - f(p.x)
}
solve { outer = 4, rho = 2.0, fit = 0.5, descent = adam(lr = 1e-2, batch = 8, epochs = 3), ascent = adam(lr = 1e-2, batch = 8, steps = 10) }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [(n / 20 - 1, 0.3 + n / 40) for n in range(40)]
    (tmp_path / "points.csv").write_text("x,top\n" + "".join(f"{x},{top}\n" for x, top in rows))
    (tmp_path / "small.pdual").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_duals_and_seeds_side_by_side(capsys):
    said = say(capsys, "compare", "small.pdual", "--duals", "learned,pointwise", "--seeds", "2", "-q")
    assert said.code == 0, said.err
    assert "small: test rows, mean ± standard deviation over 2 seeds" in said.out
    assert "multipliers against an independent pointwise run, 16 train rows that no network was fitted on" in said.out
    lines = said.out.splitlines()
    (learned,) = [line for line in lines if line.startswith("learned") and line.count("±") > 8]
    assert learned.split()[0] == "learned"
    assert any(line.startswith("constant") for line in lines)
    folders = sorted(path.name for path in Path("runs/compare-small").iterdir())
    assert folders == ["learned-0", "learned-1", "pointwise-0", "pointwise-1"]


@pytest.mark.usefixtures("here")
def test_what_was_run_is_not_run_again(capsys):
    command = ["compare", "small.pdual", "--duals", "shared,spec", "--out", "there", "-q", "--json"]
    first, again = say(capsys, *command), say(capsys, *command)
    assert (first.code, again.code) == (0, 0)
    one, other = first.json["trials"], again.json["trials"]
    assert [trial["dual"] for trial in one] == ["shared", "spec"]
    for mine, theirs in zip(one, other, strict=True):
        assert mine["metrics"]["splits"] == theirs["metrics"]["splits"]
        assert mine["recovery"] == theirs["recovery"]
        assert theirs["metrics"]["timing"]["steps"] == mine["metrics"]["timing"]["steps"]
    assert one[1]["metrics"]["dual"] == "learned"
    assert one[0]["recovery"]["points"]["rows"] == 16
    assert one[0]["recovery"]["points"]["against"] == "pointwise"
    # the reference: a pointwise run with another seed
    assert sorted(path.name for path in Path("there").iterdir()) == ["pointwise-1", "shared-0", "spec-0"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (["--duals", "guessed"], 2, "PD"),
        (["--duals", ","], 2, "PD704"),
        (["--over", "flor"], 2, "PD704"),
        (["--seeds", "0"], 2, "PD700"),
    ],
)
def test_mistakes(capsys, arguments: list[str], code: int, error: str):
    said = say(capsys, "compare", "small.pdual", "-q", *arguments)
    assert said.code == code
    assert f"error[{error}" in said.err
    assert not Path("runs").exists()


@pytest.mark.usefixtures("here")
def test_without_multipliers_violations_are_measured_all_the_same(capsys):
    said = say(capsys, "compare", "small.pdual", "--duals", "none,penalty", "-q")
    assert said.code == 0, said.err
    (line,) = [line for line in said.out.splitlines() if line.startswith("ceiling")]
    none, penalty = (float(cell.strip(",")) for cell in line.split()[2::2][:2])
    assert none > penalty > 0
