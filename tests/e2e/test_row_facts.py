"""Rows that declared ranges rule out are told before anything is trained, and `pdual bounds --rows` counts them."""

from __future__ import annotations

from pathlib import Path

import pytest
from running import say

import pdual

SPEC = """problem lift "every row is lifted"
data rows = csv("rows.csv", split = [0.5, 0, 0.5]) { x: real, load: real }
model f(x: real) -> real in [0, 1] = mlp(hidden = [4])
over r in rows {
  minimize f(r.x)
  subject to lifted: f(r.x) >= r.load
  dual lifted = pointwise(cap = 10)
}
solve { outer = 2, descent = adam(lr = 1e-2, batch = 4, steps = 2) }
"""
TABLE = "x,load\n0.1,0.5\n0.2,1.5\n0.3,0.2\n0.4,-1\n0.5,7\n0.6,0.9\n0.7,0.1\n0.8,0.3\n"


NEVER = r"warning\[PD305\]: `lifted` can never hold on 2 of the 8 rows of `rows`"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "lift.pdual").write_text(SPEC)
    (tmp_path / "rows.csv").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_says_which_rows_can_never_be_met(capsys, here: Path) -> None:
    said = say(capsys, "run", "lift.pdual", "--out", "run", "-q")
    assert said.code == 0
    assert "warning[PD305]: `lifted` can never hold on 2 of the 8 rows of `rows`" in said.err
    (first,) = [line for line in said.err.splitlines() if "the first are" in line]
    assert first == "  = note: the first are 1, 4"
    assert "lift.pdual:6:14" in said.err
    told = say(capsys, "run", "lift.pdual", "--out", "again", "-q", "--json").json
    assert [item["code"] for item in told["diagnostics"]] == ["PD305"]


def test_rows_that_can_all_be_met_are_not_spoken_of(capsys, here: Path) -> None:
    (here / "rows.csv").write_text(TABLE.replace("1.5", "1.0").replace("0.5,7\n", "0.5,0.7\n"))
    said = say(capsys, "run", "lift.pdual", "--out", "run", "-q")
    assert said.code == 0
    assert "PD305" not in said.err


def test_bounds_counts_rows(capsys, here: Path) -> None:
    said = say(capsys, "bounds", "lift.pdual", "--rows")
    assert said.code == 0
    lines = [line.split() for line in said.out.splitlines()]
    row = next(line for line in lines if line[:2] == ["lifted", "8"])
    assert row[:5] == ["lifted", "8", "8", "2", "1"]  # -1 is always below
    found = say(capsys, "bounds", "lift.pdual", "--rows", "--json").json["bounds"]["rows"]
    assert [(item["part"], item["live"], item["never"], item["always"]) for item in found] == [("lifted", 8, 2, 1)]
    (here / "other.csv").write_text("x,load\n0.1,3\n0.2,0.5\n")
    other = say(capsys, "bounds", "lift.pdual", "--rows", "--data", "rows=other.csv", "--json").json["bounds"]["rows"]
    assert [(item["total"], item["never"]) for item in other] == [(2, 1)]


def test_bounds_of_a_run_counts_its_rows(capsys, here: Path) -> None:
    with pytest.warns(pdual.ProblemWarning, match=NEVER) as warned:
        pdual.load("lift.pdual").solve(out=here / "run")
    assert {item.filename for item in warned} == {__file__}
    found = say(capsys, "bounds", "--run", "run", "--rows", "--json").json["bounds"]["rows"]
    assert [(item["total"], item["never"]) for item in found] == [(8, 2)]


def test_files_that_are_not_there(capsys, here: Path) -> None:
    said = say(capsys, "bounds", "lift.pdual", "--rows", "--data", "rows=none.csv")
    assert said.code == 2
    assert "error[PD708]" in said.err


@pytest.mark.parametrize("arguments", [["lift.pdual"], ["--run", "run", "--rows"]])
def test_files_that_would_not_be_read_are_refused(arguments: list[str], capsys, here: Path) -> None:
    with pytest.warns(pdual.ProblemWarning, match=NEVER):
        pdual.load("lift.pdual").solve(out=here / "run")
    said = say(capsys, "bounds", *arguments, "--data", "rows=rows.csv")
    assert (said.code, said.out) == (2, "")
    assert "`--data` is read beside `--rows`" in said.err


@pytest.mark.parametrize("constraint", ["lifted: f(r.x) <= top", "lifted[j in k where j != j]: f(r.x) >= r.load"])
def test_constraints_without_an_entry(constraint: str, capsys, here: Path) -> None:
    text = SPEC.replace("data rows", "set k = 0..2\nparam top = inf in [0, inf]\ndata rows").replace(
        "lifted: f(r.x) >= r.load", constraint
    )
    (here / "lift.pdual").write_text(text.replace("  dual lifted = pointwise(cap = 10)\n", ""))
    assert say(capsys, "run", "lift.pdual", "--out", "run", "-q").code == 0
    found = say(capsys, "bounds", "lift.pdual", "--rows", "--json").json["bounds"]["rows"]
    assert all(item["live"] == 0 for item in found)


def test_a_large_program_is_looked_at_on_some_rows(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at before training is bounded, and the message says which rows were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pdual.runtime.data.row_facts._LOOKS", 1_000)
    (tmp_path / "dense.pdual").write_text(
        """problem dense "a product of every two numbers of a row"
set s = 0..9
data rows = csv("rows.csv", split = [1, 0, 0]) { a: real[s] }
model f(a: real[s]) -> real in [0, 1] = linear()
over r in rows {
  minimize f(r.a)
  subject to
    c[i in s]: sum[j in s](r.a[i] * r.a[j]) <= f(r.a)
}
solve { outer = 1, descent = adam(lr = 1e-3, batch = 8, steps = 1) }
"""
    )
    (tmp_path / "rows.csv").write_text("\n".join([",".join(f"a.{i}" for i in range(10)), *[",".join("1" * 10)] * 40]))
    said = say(capsys, "run", "dense.pdual", "--out", "run", "-q")
    assert "`c` can never hold on 6 of the 6 rows of `rows`" in said.err
    assert "6 of the 40 rows were looked at, evenly spread; `pdual bounds --rows` looks at all" in said.err
    assert "the first are 0, 8, 16, 23, 31, ..." in said.err
    (part,) = say(capsys, "bounds", "dense.pdual", "--rows", "--json").json["bounds"]["rows"]
    assert (part["total"], part["looked_at"], part["live"], part["never"]) == (40, 40, 400, 400)
