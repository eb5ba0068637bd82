"""Batches of parts of groups: every row as often as its weight says, means over pairs without a bias, the same optimum as whole groups."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
import torch
from small_averages import begun
from torch import Tensor, nn

from pdual.compiler.program import Strata
from pdual.dsl.diagnostics import Refusal
from pdual.dsl.spans import Source
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.parts_of_groups import PartStream, strata_of_rows
from pdual.runtime.data.sampling import generator
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.optimisation.placement import Placement
from pdual.runtime.problem.options import RunOptions
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.runs.execute import execute
from pdual.runtime.training.solver import Solver
from pdual.understanding import understand

#: Groups of 12, 5, 2 and 1 rows, in no order, and which rows are good.
SIZES = (12, 5, 2, 1)
OWNER = torch.tensor([group for group, size in enumerate(SIZES) for _ in range(size)])[
    torch.randperm(sum(SIZES), generator=torch.Generator().manual_seed(1))
]
GOOD = torch.arange(len(OWNER)) % 3 == 0
VALUE = torch.arange(len(OWNER)).double().sin() * 3


def stream(members: int, batch: int, seed: int = 0) -> PartStream:
    rows = torch.arange(len(OWNER))
    return PartStream(rows, OWNER, GOOD.long(), members, batch, generator(seed))


@pytest.mark.parametrize(("members", "batch"), list(product([1, 3, 20], [1, 7, 100])))
def test_every_row_is_seen_as_often_as_its_weight_says(members: int, batch: int) -> None:
    """Over a period of all shuffles sums over batches are the mean over all rows exactly."""
    given = stream(members, batch)
    seen: Counter[int] = Counter()
    total, draws = 0.0, 1320
    for _ in range(draws):
        drawn = given.draw()
        assert drawn.weights is not None
        assert drawn.sizes is not None
        assert sum(drawn.sizes) == len(drawn.ids)
        assert len(drawn.sizes) == given.groups_per_step
        seen.update(drawn.ids.tolist())
        total += float((VALUE[drawn.ids] * drawn.weights).sum()) / given.rows_per_step / draws
    assert set(seen) == set(range(len(OWNER)))
    assert total == pytest.approx(float(VALUE.mean()), abs=0.02)


def test_a_part_has_its_share_of_every_stratum_and_one_row_at_least() -> None:
    given = stream(6, 24)
    for _ in range(20):
        drawn = given.draw()
        assert drawn.sizes is not None
        for piece in torch.split(drawn.ids, list(drawn.sizes)):
            (group,) = set(OWNER[piece].tolist())
            whole = group == OWNER
            for good in (True, False):
                there, here = int((GOOD[whole] == good).sum()), int((GOOD[piece] == good).sum())
                assert here == min(there, max(1, round(6 * there / int(whole.sum())))) if there else here == 0


def test_the_mean_over_pairs_has_no_bias() -> None:
    """Of the largest group, pairs of a good and another row: the mean over many parts against that over all pairs."""

    def pairs(ids: Tensor) -> float:
        good, other = VALUE[ids[GOOD[ids]]], VALUE[ids[~GOOD[ids]]]
        return float(torch.nn.functional.softplus(other[None] - good[:, None]).mean())

    whole = (OWNER == 0).nonzero()[:, 0]
    given = stream(4, 16)
    found = []
    for _ in range(800):
        drawn = given.draw()
        assert drawn.sizes is not None
        pieces = torch.split(drawn.ids, list(drawn.sizes))
        found.append(pairs(next(piece for piece in pieces if int(OWNER[piece[0]]) == 0)))
    spread = torch.tensor(found).std() / len(found) ** 0.5
    assert abs(sum(found) / len(found) - pairs(whole)) < 4 * float(spread)


def test_a_stream_goes_on_from_its_state() -> None:
    one, other = stream(3, 9), stream(3, 9, seed=5)
    for _ in range(17):
        one.draw()
    other.load_state(one.state())
    for _ in range(40):
        assert torch.equal(one.draw().ids, other.draw().ids)


class Kept(nn.Module):
    def __init__(self, kept: Tensor) -> None:
        super().__init__()
        self.kept = kept

    def forward(self, values: object, ids: Tensor) -> Tensor:
        return self.kept[ids]


TABLE = ColumnTable({"x": VALUE}, {"train": torch.arange(len(OWNER))}, "test")
BOTH = torch.stack([GOOD, ~GOOD], 1)


@pytest.mark.parametrize(
    ("kept", "means"),
    [
        (BOTH, ((0, 1),)),
        (GOOD[:, None], ((0,),)),
        (torch.stack([GOOD, ~GOOD, GOOD], 1), ((0, 1), (2,))),
    ],
)
def test_filters_that_keep_no_row_in_common(kept: Tensor, means: tuple[tuple[int, ...], ...]) -> None:
    found = strata_of_rows(Strata(Kept(kept), means), TABLE, torch.arange(len(OWNER)), "d")
    assert len(found.unique()) == 2
    assert torch.equal(found == found[0], GOOD[0] == GOOD)


@pytest.mark.parametrize(
    ("kept", "means"),
    [
        (torch.stack([GOOD, GOOD], 1), ((0, 1),)),
        (torch.stack([GOOD, torch.ones_like(GOOD)], 1), ((0, 1),)),
        (torch.stack([GOOD, torch.arange(len(GOOD)) % 2 == 0], 1), ((0,), (1,))),
    ],
)
def test_filters_that_do(kept: Tensor, means: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(Refusal, match="PD607"):
        strata_of_rows(Strata(Kept(kept), means), TABLE, torch.arange(len(OWNER)), "d")


def test_without_filters_a_group_is_one_stratum() -> None:
    assert not strata_of_rows(None, TABLE, torch.arange(len(OWNER)), "d").any()


SPEC = """
problem p "scores of two kinds of rows"
set k = 0..1
data d = csv("rows.csv") {{ x: real, task: id, good: bool }}
model f(x: real) -> real = linear()
over group t of d by task {{
  let s[p in t] = f(p.x)
  minimize {objective}
}}
over r in d {{
  let s = f(r.x)
  subject to one: s^2 <= 1
  dual one = pointwise(cap = 10)
}}
solve {{
  outer   = 12
  rho     = 1
  descent = adam(lr = 0.02, batch = {batch}, steps = 60, schedule = cosine(final = 0.01){members})
}}
"""


def problem_of(folder: Path, text: str) -> Problem:
    """The problem of a spec over the files in a folder, its models at their start of seed 0."""
    context = SourceContext(folder=folder)
    found = understand(Source("p.pdual", text), {}, {}, True, context)
    found.refuse()
    tables = load_tables(found.graph.spec, found.graph.knowns, context)
    torch.manual_seed(0)
    return prepare(found.graph, tables, torch.float64, {})


def weights_of(tmp_path: Path, objective: str, batch: int, members: str) -> Tensor:
    problem = problem_of(tmp_path, SPEC.format(objective=objective, batch=batch, members=members))
    solver = Solver(problem, Options(placement=Placement(precision="float64")))
    solver.run()
    return torch.cat([weight.detach().flatten() for weight in problem.models.parameters()])


@pytest.mark.parametrize(
    "objective",
    [
        "mean[a in t where a.good, b in t where not b.good]((s[b] - s[a] + 1)^2)",
        "2 * mean[a in t where a.good]((s[a] - 1)^2) + mean[a in t where not a.good](s[a]^2) / 4",
    ],
)
def test_the_optimum_is_that_of_whole_groups(objective: str, tmp_path: Path) -> None:
    lines = [f"{float(VALUE[i]):.6f},{int(OWNER[i])},{'true' if GOOD[i] else 'false'}" for i in range(17)]
    lines = [line for line in lines if line.split(",")[1] in "01"]
    (tmp_path / "rows.csv").write_text("x,task,good\n" + "\n".join(lines) + "\n")
    whole = weights_of(tmp_path, objective, 64, "")
    parts = weights_of(tmp_path, objective, 10, ", members = 5")
    torch.testing.assert_close(parts, whole, rtol=0, atol=0.02)


def test_steps_of_a_round_add_up_to_the_gradient_of_an_average(tmp_path: Path) -> None:
    """With weights that do not move: 4 of 8 rows of one task, all 4 of the other, a task a step. Four steps see every row as its weight
    says, so that their mean is the gradient at all rows of psi(G, lam) and of the mean of psi(one), by hand.
    """
    owners, good = [0] * 8 + [1] * 4, [True] * 2 + [False] * 6 + [True, False] * 2
    x = torch.linspace(-1.0, 2.0, 12, dtype=torch.float64)
    table = "".join(
        f"{value:.17g},{owner},{str(kind).lower()}\n"
        for value, owner, kind in zip(x.tolist(), owners, good, strict=True)
    )
    (tmp_path / "rows.csv").write_text(f"x,task,good\n{table}")
    text = SPEC.format(objective="mean[a in t where a.good](s[a])", batch=4, members=", members = 4").replace(
        'csv("rows.csv")', 'csv("rows.csv", split = [1, 0, 0])'
    )
    text = text.replace(
        "over r in d {", "subject to low: mean[r in d](f(r.x)) <= -0.2\ndual low = shared(cap = 10)\nover r in d {"
    )
    problem = problem_of(tmp_path, text)
    solver, _ = begun(problem, level=0.7)
    weights = list(problem.models["f"].parameters())
    steps = [torch.autograd.grad(solver._loss()[0], weights) for _ in range(4)]
    said = problem.models["f"]({"x": x}).outputs[""]
    by_hand = 0.5 * (0.7 + said.mean() + 0.2).relu().square() + (0.5 * (said.square() - 1).relu().square()).mean()
    assert any(not torch.allclose(one[0], steps[0][0]) for one in steps)
    for number, wanted in enumerate(torch.autograd.grad(by_hand, weights)):
        torch.testing.assert_close(sum(step[number] for step in steps) / 4, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("0,0,true\n1,0,true\n2,1,false\n3,1,true\n", "PD607"),
        ("0,0,true\n1,0,true\n2,1,false\n3,1,false\n", "PD606"),
        ("0,0,true\n1,0,true\n2,1,true\n3,1,true\n", None),
    ],
)
def test_refusals_point_at_the_objective(tmp_path: Path, rows: str, code: str | None) -> None:
    """Of overlapping filters with `members`, and of a group whose mean is over none without it."""
    objective = "mean[a in t where a.good, b in t where b.x >= 0]((s[b] - s[a])^2)"
    members = ", members = 2" if code == "PD607" else ""
    text = SPEC.format(objective=objective, batch=4, members=members).replace(
        'csv("rows.csv")', 'csv("rows.csv", split = [1, 0, 0])'
    )
    (tmp_path / "rows.csv").write_text(f"x,task,good\n{rows}")
    context = SourceContext(folder=tmp_path)
    found = understand(Source("p.pdual", text), {}, {}, True, context)
    found.refuse()
    options = RunOptions(out=tmp_path / "run", quick=True)
    if code is None:
        execute(found.graph, text, options, context)
        return
    with pytest.raises(Refusal) as refusal:
        execute(found.graph, text, options, context)
    (item,) = refusal.value.diagnostics
    assert item.code == code
    assert text[item.span.start : item.span.end] == f"minimize {objective}"
