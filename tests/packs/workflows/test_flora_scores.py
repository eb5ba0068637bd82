"""What is evaluated on workflow-task pairs besides means over rows, through runs on a few written records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from small_flora import Places, bare, record, write

import pdual
from pdual.packs.workflows.declarations.sources import FloraSettings
from pdual.packs.workflows.evaluations.ranked import expected_utility, utility
from pdual.packs.workflows.sources.flora import build
from pdual.packs.workflows.sources.table import PairTable

SPEC = """problem pairs "Which workflow solves which task"
set dim = 0..5
data pairs = flora("Coding-GD"{options}) {{
  workflow: graph {{ node: real[dim] }}
  question: real[dim]
  solved: bool
}}
model f(workflow: graph {{ node: real[dim] }}, question: real[dim]) -> real = graph_pair(width = 8)
over p in pairs {{
  let s = f(p.workflow, p.question)
  minimize bce(s, p.solved)
  subject to fit: bce(s, p.solved) <= 0.3
  dual fit = pointwise(cap = 0.2)
}}
solve {{ outer = 12, rho = 1.0, descent = adam(lr = 1e-2, batch = 8, steps = 15) }}
"""

WORKFLOWS, TASKS = 6, 5
#: A workflow solves all tasks or none, and all have one text: a turned label cannot be learnt by heart.
PAIRS = [record([f"step {w}"], [], "a task", int(w >= 3), w, t) for w in range(WORKFLOWS) for t in range(TASKS)]


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    found = bare(tmp_path, monkeypatch)
    monkeypatch.setenv("PDUAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write(found.own / "Coding-GD", {"train": PAIRS, "test": PAIRS[::2]})
    return found


def run(tmp_path: Path, options: str = "") -> pdual.Run:
    (tmp_path / "pairs.pdual").write_text(SPEC.format(options=options))
    return pdual.load("pairs.pdual").solve()


@pytest.mark.usefixtures("places")
def test_utility_ranks_workflows_by_the_tasks_they_are_said_to_solve(tmp_path: Path) -> None:
    solved = run(tmp_path)
    found = solved.metrics.splits["test"].evaluations["flora.utility"]
    assert found["workflows"] == WORKFLOWS
    training_set = solved.outcome.run.training_sets[0]
    ids = training_set.table.splits["test"]
    rows = training_set.table.batch(ids).values
    with torch.no_grad():
        scores = training_set.program.evaluate.inner.f(
            {"workflow": rows["workflow"], "question": rows["question"]}
        ).outputs[""]
    truth, counted, probable = np.zeros(WORKFLOWS), np.zeros(WORKFLOWS), np.zeros(WORKFLOWS)
    for w in range(WORKFLOWS):
        own = [place for place, item in enumerate(PAIRS[::2]) if item["workflow_id"] == w]
        truth[w] = np.mean([PAIRS[::2][place]["label"] for place in own])
        counted[w] = np.mean([float(scores[place] > 0) for place in own])
        probable[w] = np.mean([float(torch.sigmoid(scores[place].double())) for place in own])
    assert found["published"] == pytest.approx(utility(truth, counted))
    assert found["ties_averaged"] == pytest.approx(expected_utility(truth, counted))
    assert found["by_probability"] == pytest.approx(expected_utility(truth, probable), abs=1e-6)
    assert found["by_probability"] > expected_utility(truth, -truth)
    assert "flora.utility" not in solved.metrics.splits["train"].evaluations


@pytest.mark.usefixtures("places")
def test_rows_whose_label_was_turned_are_found_by_their_multipliers(tmp_path: Path) -> None:
    solved = run(tmp_path, ", flip = 0.1, seed = 3")
    found = solved.metrics.splits["train"].evaluations["flora.flipped"]
    flipped = solved.outcome.run.training_sets[0].table.flipped.numpy()[: len(PAIRS)]
    held = solved.multipliers("train")["fit"][:, 0].numpy()
    capped = held >= 0.999 * 0.2
    top = np.argsort(-held)[:3]
    assert found["rate"] == pytest.approx(0.1)
    assert found["at_cap"] == pytest.approx(capped.mean())
    assert 0 < capped.sum() < len(PAIRS)
    assert found["lift_at_cap"] == pytest.approx(flipped[capped].mean() / 0.1)
    assert found["lift_at_cap"] > 2
    if len(set(held[top])) == 3:
        assert found["lift_at_top"] == pytest.approx(flipped[top].mean() / 0.1)
    assert "flora.flipped" not in solved.metrics.splits["test"].evaluations


def test_flips_turn_train_labels_only_and_are_drawn_from_the_seed(places: Places) -> None:
    plain, turned, again = (
        build(FloraSettings(domain="Coding-GD", flip=flip, seed=seed), places.context)
        for flip, seed in ((0.0, 0), (0.2, 1), (0.2, 1))
    )
    assert isinstance(turned, PairTable)
    assert turned.flipped is not None
    assert int(turned.flipped.sum()) == 6
    assert torch.equal(turned.solved ^ turned.flipped, plain.solved)
    assert not turned.flipped[turned.splits["test"]].any()
    assert torch.equal(turned.flipped, again.flipped)
    assert turned.fingerprint != plain.fingerprint
    assert plain.flipped is None
