"""Objectives over groups of rows: batches of whole groups, unbiased, and the optimum and multipliers of a closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small_problems import Free, multipliers, part, plan, problem, sgd, solved, table
from torch import Tensor, nn

from pdual.compiler.layout import Layout
from pdual.compiler.program import MEMBERS, PRESENT, Evaluation
from pdual.dsl.declarations.solving import SolveSettings
from pdual.runtime.data.sampling import GroupStream, generator, members_of
from pdual.runtime.evaluation.evaluate import evaluate, whole_groups
from pdual.runtime.problem.problem import Problem

LAYOUT = Layout("d", (part("ceiling"),))
#: Three groups of 1, 2 and 4 rows, not in order.
GROUPS = torch.tensor([2, 0, 2, 1, 2, 1, 2])
TARGETS = torch.tensor([0.5, 2.0, 1.5, -1.0, 3.0, 1.2, 0.0], dtype=torch.float64)[:, None]


class OverGroups(nn.Module):
    """A group's term: the sum over its rows of 1/2 (x - z)^2; x <= 1 on every row."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, values: Mapping[str, Tensor], ids: Tensor) -> Evaluation:
        x = self.model(ids)
        off = 0.5 * (x - values["z"]).square()[:, 0]
        grouped = torch.where(values[PRESENT], off[values[MEMBERS]], 0.0).sum(1)
        return Evaluation(None, x - 1, None, {"m": values["z"]}, {"first": x[:, 0]}, grouped)


def made(batch: int, **changes: Any) -> Problem:
    model = Free(len(TARGETS))
    given = SolveSettings(
        **{"outer": 30, "rho": 2.0, "descent": sgd(0.05 * batch, batch=batch, steps=400 // batch), **changes}
    )
    plain = problem(
        lambda x, values: (None, x, None), table(TARGETS), LAYOUT, (plan("pointwise", LAYOUT),), model, given
    )
    (block,) = plain.blocks
    module = OverGroups(model)
    program = replace(block.program, train=module, evaluate=module, grouped_by="task")
    return replace(plain, blocks=(replace(block, program=program, groups=GROUPS),))


@pytest.mark.parametrize("batch", [1, 3, 5, 7])
def test_the_optimum_weighs_groups_alike_and_rows_alike_whatever_the_batch(batch: int) -> None:
    """(x - z) / groups + lam / rows = 0 on a row at the ceiling."""
    given = made(batch)
    run = solved(given)
    torch.testing.assert_close(given.models["f"].x.detach(), TARGETS.clamp(max=1.0), rtol=0, atol=1e-4)
    torch.testing.assert_close(multipliers(run), (TARGETS - 1).relu() * 7 / 3, rtol=0, atol=1e-3)
    train = run.split(run.measure("train"))
    off = 0.5 * (TARGETS.clamp(max=1.0) - TARGETS).square()
    assert train.objective == pytest.approx(float(off.sum()) / 3, abs=1e-4)


@pytest.mark.parametrize("batch", [1, 4, 7])
def test_terms_over_an_epoch_add_up_to_the_means(batch: int) -> None:
    stream = GroupStream(torch.arange(7), GROUPS, batch, generator(0))
    value = torch.arange(7).double().square()
    weight = {1: 0.1, 2: 0.7, 4: -3.0}
    rows = groups = count = 0.0
    batches = 0
    while count < 3:  # an epoch: every group once
        drawn = stream.draw()
        assert drawn.sizes is not None
        rows += float(value[drawn.ids].sum()) / stream.rows_per_step
        groups += sum(weight[size] for size in drawn.sizes) / stream.groups_per_step
        count += len(drawn.sizes)
        batches += 1
    assert rows / batches == pytest.approx(float(value.mean()))
    assert groups / batches == pytest.approx(sum(weight.values()) / 3)


def test_members_point_at_the_rows_of_each_group() -> None:
    members, present = members_of([2, 1, 3], torch.device("cpu"))
    assert present.tolist() == [[True, True, False], [True, False, False], [True, True, True]]
    assert members[present].tolist() == [0, 1, 2, 3, 4, 5]
    assert members[~present].tolist() == [0, 2, 2]


def test_an_evaluation_gives_rows_in_their_own_order_and_groups_in_theirs() -> None:
    given = made(3)
    (block,) = given.blocks
    with torch.no_grad():
        given.models["f"].x.copy_(torch.arange(7.0)[:, None])
    ids = torch.tensor([6, 0, 1, 3, 2, 5, 4])
    found = evaluate(block.program, block.table, ids, 3, keep=("m",), groups=GROUPS[ids])
    assert found.metrics["first"].tolist() == ids.tolist()
    assert torch.equal(found.ids, ids)
    assert torch.equal(found.features.dense("m"), TARGETS[ids])
    assert found.group_objective is not None
    off = 0.5 * (torch.arange(7.0)[:, None] - TARGETS).square()[:, 0]
    expected = [float(off[group == GROUPS].sum()) for group in range(3)]
    assert found.group_objective.tolist() == pytest.approx(expected)


def test_slices_hold_whole_groups() -> None:
    assert list(whole_groups([2, 2, 5, 1], 4)) == [(0, 4, [2, 2]), (4, 9, [5]), (9, 10, [1])]
    assert list(whole_groups([], 4)) == []


SPEC = """problem ranks "Good ones above bad ones, task by task"
data pairs = csv("pairs.csv", split = [0.75, 0, 0.25]) {{ x: real, task: id, good: bool }}
model f(x: real) -> real = mlp(hidden = [8])
over group t of pairs by task {{
  let s[p in t] = f(p.x)
  minimize mean[a in t where a.good, b in t where not b.good](softplus(s[b] - s[a]))
}}
over p in pairs {{
  let s = f(p.x)
  subject to small: s <= 2
  metric right = (s > 0) == p.good
}}
solve {{ outer = 6, rho = 2.0, descent = adam(lr = 1e-2, batch = 16, epochs = 4) }}
"""


def written(folder: Path, rows: list[tuple[float, int, bool]]) -> None:
    lines = "".join(f"{x},{task},{str(good).lower()}\n" for x, task, good in rows)
    (folder / "pairs.csv").write_text("x,task,good\n" + lines)
    (folder / "ranks.pdual").write_text(SPEC.format())


def test_a_spec_over_groups_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pdual

    monkeypatch.chdir(tmp_path)
    written(tmp_path, [((n * 7) % 13 / 6 - 1, n % 5, (n * 7) % 13 > 6) for n in range(80)])
    solved_ = pdual.load("ranks.pdual").solve()
    train = solved_.metrics.splits["train"]
    assert train.objective is not None
    assert train.objective < 0.5  # ln 2 = 0.693 is what ranking nothing costs
    assert train.violation is not None
    assert train.violation.max.max < 0.05


def test_a_group_with_nothing_to_average_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pdual

    monkeypatch.chdir(tmp_path)
    written(tmp_path, [(n / 40, n % 4, n % 4 == 3 or n % 8 > 3) for n in range(40)])
    with pytest.raises(pdual.ProblemError, match=r"PD606\]: .* has nothing to average: `3`"):
        pdual.load("ranks.pdual").solve()
