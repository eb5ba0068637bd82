"""The step against the number of rows, with a multiplier a row and class: pdual, by hand and cooper.

    python -P benchmarks/rows.py [--rows 10000 60000 1000000 10000000] [--rounds N] [--ascent]

A perceptron of 8 inputs, 64 and 64 hidden units and 10 logits, 9 margins a row, batches of 64, one thread. A primal step reads and
writes what belongs to its batch, so its time should not depend on the rows; cooper clamps all its multipliers in every roll. Medians
over rounds of 10 steps, ratios of neighbours with quartiles; "growth" is against the first number of rows, which takes turns too.
``--ascent`` adds what the ascent after an epoch takes, divided by its steps, which a roll of cooper does on the way.
10,000,000 rows take 3 GiB, with ``--ascent`` 8 and minutes. cooper: `pip install --no-deps cooper-optim==1.0.1`.
"""

from __future__ import annotations

import argparse
import gc
import statistics
from collections.abc import Mapping
from pathlib import Path
from sys import path

import torch
from torch import Tensor

path.insert(0, str(Path(__file__).parent))

from compiled import step_of
from hand_margins import CLASSES, Setting, Training
from images_step import ascent_of, cooper_step, copy_weights, gap
from turns import Step, once, ratio, timed, turns

from pdual.dsl.spans import Source
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.problem.prepare import prepare
from pdual.runtime.problem.problem import Options
from pdual.runtime.training.solver import Solver
from pdual.understanding import understand

INPUTS = 8
SETTING = Setting(c=0.01, rho=10.0, lr=1e-3, hidden=(64, 64))
SPEC = f"""problem rows "A margin on every row"
set class = 0..{CLASSES - 1}
data points {{ x: real[{INPUTS}]  label: class }}
model f(x: real[{INPUTS}]) -> real[class] = mlp(hidden = [64, 64])
minimize {SETTING.c} / 2 * squared_norm(f)
over p in points {{
  let z = f(p.x)
  subject to
    margin[j in class where j != p.label]: z[p.label] - z[j] >= {SETTING.epsilon}
  dual margin = pointwise(cap = {SETTING.cap})
}}
solve {{ outer = 40  rho = {SETTING.rho}  descent = adam(lr = {SETTING.lr}, batch = {SETTING.batch}, epochs = 1) }}
"""
STEPS, PATIENCE = 10, 20_000  # steps a round, and the milliseconds that cooper may take for all its rounds


def rows(count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Points, their labels, and the ids of the rows."""
    random = torch.Generator().manual_seed(0)
    x = torch.randn(count, INPUTS, generator=random)
    return x, torch.randint(CLASSES, (count,), generator=random), torch.arange(count)


def compiled(x: Tensor, labels: Tensor, ids: Tensor) -> Solver:
    """The solver over rows in memory, in its first outer iteration."""
    understood = understand(Source("rows.pdual", SPEC))
    understood.refuse()
    assert understood.graph is not None
    torch.manual_seed(0)
    table = ColumnTable({"x": x, "label": labels}, {"train": ids}, f"rows/{len(x)}")
    solver = Solver(prepare(understood.graph, {"points": table}, torch.float32, {}), Options())
    solver._iteration = 1
    solver._problem.models.train()
    return solver


def settle(solver: Solver, hand: Training) -> None:
    """The same multipliers on both sides, written once: pages that were never written cost extra when read."""
    table = solver._training_sets[0].multipliers.stores[0].state()["table"]
    assert isinstance(table, Tensor)
    hand.table.uniform_(0.0, 1.0)
    hand.table[hand.train, hand.labels[hand.train]] = 0.0
    table.copy_(hand.table)


def sides_of(count: int) -> tuple[Solver, Training]:
    """Both sides over so many rows, with the same weights and multipliers."""
    x, labels, ids = rows(count)
    solver, hand = compiled(x, labels, ids), Training(x, labels, ids, SETTING)
    settle(solver, hand)
    copy_weights(solver._models["f"], hand.model)
    assert gap(solver, hand, ids[:: count // 256]) < 1e-3, "not the same problem"
    return solver, hand


def measure(count: int, first: Mapping[str, Step], options: argparse.Namespace) -> str:
    """One line of the table."""
    solver, hand = sides_of(count)
    ours = step_of(solver)
    found = turns({"pdual": ours, "hand": hand.step, **first}, options.rounds, STEPS)
    cells = [f"{count:,}", *(f"{statistics.median(found[name]):.3f}" for name in ("hand", "pdual"))]
    for one, other in (("pdual", "hand"), ("hand", "first hand"), ("pdual", "first pdual")):
        cells.append("{:.2f} ({:.2f}, {:.2f})".format(*ratio(found[one], found[other])))
    if options.ascent:
        cells.append(f"{once(ascent_of(solver)) / solver._steps:.3f}")
    rolling = cooper_step(hand.inputs, hand.labels, hand.train, SETTING)
    if rolling is not None:
        one_roll = timed(rolling, 1)
        steps = STEPS if one_roll < 100 else 2
        rounds = max(2, min(options.rounds, int(PATIENCE / (one_roll * (steps + 1)))))
        pair = turns({"pdual": ours, "cooper": rolling}, rounds, steps, 1)
        cells.append(f"{statistics.median(pair['cooper']):.3f}")
        cells.append("{:.1f} ({:.1f}, {:.1f})".format(*ratio(pair["cooper"], pair["pdual"])))
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, nargs="+", default=[10_000, 60_000, 1_000_000, 10_000_000])
    arguments.add_argument("--rounds", type=int, default=60)
    arguments.add_argument("--ascent", action="store_true")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    heads = ["rows", "hand, ms", "pdual, ms", "pdual / hand", "growth by hand", "growth of pdual"]
    heads += ["ascent a step, ms"] if options.ascent else []
    heads += ["cooper, ms", "cooper / pdual"]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), flush=True)
    solver, hand = sides_of(options.rows[0])
    first = {"first pdual": step_of(solver), "first hand": hand.step}
    for count in options.rows:
        print(measure(count, first, options), flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
