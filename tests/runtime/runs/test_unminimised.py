"""A run for feasibility alone says what its objective came to, and is not moved by it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import pdual

SPEC = """problem p
data d = csv("rows.csv", split = [0.5, 0.25, 0.25]) { x: real, y: real, t: id }
model f(x: real) -> real = mlp([4])
model only(x: real) -> real = mlp([4])
minimize 0.01 * squared_norm(f) scale 2
over r in d {
  minimize (f(r.x) - r.y)^2 + only(r.x)^2 scale 2
  subject to high: f(r.x) >= r.x
  dual high = shared(cap = 10)
}
over group g of d by t {
  minimize mean[a in g where a.x >= 0](f(a.x)) scale 2
}
solve { outer = 3, descent = adam(lr = 1e-2, batch = 8, epochs = 1) }
"""
ROW_BLOCK = (SPEC[: SPEC.index("over group")] + SPEC[SPEC.index("solve") :]).replace(", t: id", "")
ROWS = [(place / 10 - 1, place / 7, place % 8) for place in range(20)]


def solved(folder: Path, spec: str, **options: object) -> pdual.Run:
    (folder / "p.pdual").write_text(spec)
    (folder / "rows.csv").write_text("x,y,t\n" + "".join(f"{x},{y},{t}\n" for x, y, t in ROWS))
    return pdual.load(folder / "p.pdual", **options).solve(
        out=folder / f"run{len(list(folder.iterdir()))}", precision="float64"
    )


def test_the_objective_is_measured_though_it_was_not_minimised(tmp_path: Path) -> None:
    run = solved(tmp_path, SPEC, minimize=False)
    training_set = run.outcome.run.training_sets[0]
    models = run.outcome.run.problem.models
    norm = sum(float((weight.detach() ** 2).sum()) for weight in models["f"].parameters())
    assert set(run.metrics.splits) == {"train", "val", "test"}
    for split, found in run.metrics.splits.items():
        rows = [ROWS[place] for place in training_set.table.splits[split].tolist()]
        x, y = (torch.tensor([row[place] for row in rows], dtype=torch.float64) for place in (0, 1))
        said, other = (run.predict(name, {"x": x})[""] for name in ("f", "only"))
        groups = [
            float(torch.stack([said[n] for n, row in enumerate(rows) if row[2] == group and row[0] >= 0]).mean())
            for group in sorted({row[2] for row in rows if row[0] >= 0})
        ]
        expected = float(((said - y) ** 2 + other**2).mean()) + sum(groups) / len(groups) + 0.01 * norm
        assert found.objective == pytest.approx(expected, rel=1e-9)


def test_nothing_else_changes(tmp_path: Path) -> None:
    """The same weights as of a spec that has no objective at all."""
    whole = solved(tmp_path, ROW_BLOCK, minimize=False)
    with pytest.warns(pdual.ProblemWarning, match="is never used"):
        bare = solved(tmp_path, "\n".join(line for line in ROW_BLOCK.splitlines() if "minimize" not in line))
    for name in ("f", "only"):
        for mine, theirs in zip(
            *(run.outcome.run.problem.models[name].parameters() for run in (whole, bare)), strict=True
        ):
            assert torch.equal(mine, theirs)
    assert bare.metrics.splits["test"].objective is None
    assert [line.objective for line in whole.outcome.run.history] == [{}] * 3
