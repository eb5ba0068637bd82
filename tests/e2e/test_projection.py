"""What `explain` says of the time of a run: steps as the solver counts them, seconds as an earlier run took them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from running import say

from pdual.dsl.identity import spec_hash
from pdual.explaining.text import duration

SPEC = """problem small
data d = digits(split = [0.8, 0, 0.2], limit = 100) { image: real[1, 8, 8], label: class }
set class = 0..9
model f(image: real[1, 8, 8]) -> real[class] = mlp(hidden = [8])
over r in d {
  let z = f(r.image)
  minimize sum[j in class](z[j]^2)
  subject to top: z[r.label] >= 1
  dual top = learned(mlp(hidden = [4]), on = features(z), cap = 2)
}
solve { outer = 3, warmup = 2, fit = 0.5, descent = adam(lr = 1e-2, batch = 32, epochs = 3), ascent = adam(lr = 1e-2, batch = 16) }
"""


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.pdual").write_text(SPEC)


def told(capsys: Any, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = say(capsys, "explain", "small.pdual", *options, "--json").json["explanation"]["time"]
    return found


def left(name: str, seconds: list[float], steps: int, age: float = 0, **record: Any) -> None:
    """A run folder with a log: so many seconds after each outer iteration, of so many steps."""
    folder = Path("runs") / name
    folder.mkdir(parents=True)
    content = {
        "problem": "small",
        "spec_hash": spec_hash(SPEC),
        "parameters": {},
        "device": "cpu",
        "asked": {"quick": False, "limit": None},
    }
    (folder / "run.json").write_text(json.dumps(content | record))
    lines = [{"outer": n + 1, "step": 8 + steps * (n + 1), "seconds": at} for n, at in enumerate(seconds)]
    (folder / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(folder / "run.json", (1e9 - age, 1e9 - age))


def test_steps_are_those_that_the_solver_takes(capsys) -> None:
    found = told(capsys)
    # 100 train rows: 3 epochs of 100 / 32 are 9.4 steps, one is 3.1; half of the rows are fitted, in batches of 16.
    assert (found["outer"], found["steps"], found["warmup_steps"], found["fit_steps"]) == (3, 9, 2 * 3, 3)
    assert (found["batch"], found["rows"], found["networks"], found["measured"]) == (32, 100, 1, None)
    assert say(capsys, "run", "small.pdual", "--out", "elsewhere", "-q").code == 0
    timing = json.loads(Path("elsewhere/metrics.json").read_text())["timing"]
    assert timing["steps"] == found["outer"] * found["steps"] + found["warmup_steps"]


@pytest.mark.parametrize(("kind", "steps"), [("shared(cap = 2)", 28), ("none", 9)])
def test_rows_that_are_averaged_over_count_too(capsys, kind: str, steps: int) -> None:
    """300 of them, where the multiplier is in force."""
    more = SPEC.replace(
        "over r in d {",
        f"""data more = digits(split = [1, 0, 0], limit = 300) {{ image: real[1, 8, 8] }}
subject to low: mean[x in more](sum[j in class](f(x.image)[j]^2)) <= 1
  dual low = {kind}
over r in d {{""",
    )
    Path("small.pdual").write_text(more)
    found = told(capsys)
    assert (found["steps"], found["rows"]) == (steps, 300 if steps == 28 else 100)
    assert say(capsys, "run", "small.pdual", "--out", "elsewhere", "-q").code == 0
    timing = json.loads(Path("elsewhere/metrics.json").read_text())["timing"]
    assert timing["steps"] == found["outer"] * found["steps"] + found["warmup_steps"]


def test_without_an_earlier_run_no_seconds_are_told(capsys) -> None:
    said = say(capsys, "explain", "small.pdual").out
    assert "9 steps of 32 rows, 3 steps of the network of multipliers, one look at 100 train rows" in " ".join(
        said.split()
    )
    assert "3 iterations: 27 steps, after 6 steps of warm-up" in said
    assert "not known before it has run once under `runs`: `pdual run SPEC --quick` is enough" in " ".join(said.split())


def test_rows_that_only_the_data_tell(capsys) -> None:
    text = SPEC.replace("digits(split = [0.8, 0, 0.2], limit = 100)", 'csv("d.csv")')
    Path("small.pdual").write_text(text)
    said = " ".join(say(capsys, "explain", "small.pdual").out.split())
    assert (
        "3 passes in steps of 32 rows, 1 pass in steps of the network of multipliers, one look at all train rows"
        in said
    )
    left("small-1", [1.0, 3.0], 20, spec_hash="another")
    # 2 s for 20 steps; how many steps there will be is not known.
    assert "100 ms a step, as measured in runs/small-1 on cpu, of the spec as it was then" in " ".join(
        say(capsys, "explain", "small.pdual").out.split()
    )


def test_seconds_of_this_spec_on_all_rows(capsys) -> None:
    left("small-1", [10.0, 12.0, 14.5], 9)
    found = told(capsys)["measured"]
    # The first iteration waited for what is done once.
    assert found["seconds_per_outer"] == pytest.approx(4.5 / 2)
    assert found["seconds"] == pytest.approx(3 * 4.5 / 2)
    said = " ".join(say(capsys, "explain", "small.pdual").out.split())
    assert "projected 2.25 s an iteration, 6.75 s in all, as measured in runs/small-1 on cpu" in said


def test_a_quick_run_tells_seconds_a_step(capsys) -> None:
    left("small-1", [1.0, 3.0, 5.0], 40, asked={"quick": True})
    found = told(capsys)["measured"]
    assert found["seconds_per_outer"] == pytest.approx(9 * 2 / 40)
    said = " ".join(say(capsys, "explain", "small.pdual").out.split())
    assert "about 450 ms an iteration, 1.35 s in all, as measured in runs/small-1 on cpu, on fewer rows" in said


def test_one_iteration_is_measured_from_the_start(capsys) -> None:
    left("small-1", [3.0], 22, asked={"limit": 9})
    assert told(capsys)["measured"]["seconds_per_step"] == pytest.approx(3.0 / 30)


def test_a_whole_run_of_this_spec_comes_before_a_newer_one(capsys) -> None:
    left("small-1", [1.0, 2.0], 9, age=100)
    left("small-2", [1.0, 9.0], 9, asked={"quick": True})
    left("small-3", [1.0, 9.0], 9, spec_hash="another")
    left("other-1", [1.0, 9.0], 9, problem="other")
    assert told(capsys)["measured"]["folder"] == str(Path("runs/small-1"))


def test_the_newest_of_equals(capsys) -> None:
    left("small-1", [1.0, 2.0], 9, age=100)
    left("small-2", [1.0, 3.0], 9)
    assert told(capsys)["measured"]["seconds_per_outer"] == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("run.json", "{"),
        ("run.json", "[]"),
        ("log.jsonl", ""),
        ("log.jsonl", '{"outer": 1}\n'),
        ("log.jsonl", '{"outer": 1, "step": 4, "seconds": "NaN"}\n'),
        ("log.jsonl", '{"outer": 1, "step": 0, "seconds": 0}\n'),
        ("log.jsonl", "3\n"),
    ],
)
def test_what_cannot_be_read_is_no_measurement(capsys, file: str, content: str) -> None:
    left("small-1", [1.0, 2.0], 9)
    (Path("runs/small-1") / file).write_text(content)
    assert told(capsys)["measured"] is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.0042, "4.2 ms"), (0.25, "250 ms"), (13.44, "13.4 s"), (99, "99 s"), (120, "2 min"), (6_000, "1.67 h")],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said
