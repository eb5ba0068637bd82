"""A primal step of tofu by pdual and by hand, on any base: time taking turns, peak memory each in a process of its own.

    python -P benchmarks/tofu_step.py --base FOLDER [--layers N] [--rounds N] [--rows N] [--memory pdual|hand]

Same rows, batch, weights that train and optimiser; checks first that both say the same loss of the same rows at the same weights.
By hand all logits are computed, as is usual; pdual computes those of the answers. ``--memory`` takes three steps of one side and
prints the process's peak. TOFU is read from ``PDUAL_DATA``.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))

from compiled import problem_of, started, step_of
from hand_tofu import Training
from turns import shown, turns

from pdual.compiler.program import Evaluation
from pdual.runtime.problem.problem import Problem
from pdual.runtime.training.solver import Solver


def texts(problem: Problem, name: str) -> list[tuple[str, str]]:
    """Question and answer of every train row of a data set."""
    table = next(block.table for block in problem.blocks if block.program.data == name)
    values: Any = table.batch(table.splits["train"]).values
    return list(zip(values["question"], values["answer"], strict=True))


@torch.no_grad()
def loss_of(solver: Solver, rows: int) -> float:
    """The loss of the first rows of each data set."""
    total = 0.0
    for training_set in solver._training_sets:
        ids = training_set.train_ids[:rows]
        found = Evaluation(*training_set.train(training_set.table.batch(ids).values, ids))
        if training_set.multipliers.active:
            total += float(
                training_set.multipliers.psi(found.residuals, training_set.multipliers.zeros(len(ids))).mean()
            )
        if found.objective is not None:
            total += float(found.objective.mean())
    return total


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--base", required=True)
    arguments.add_argument("--layers", type=int, default=0)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--rows", type=int, default=40)
    arguments.add_argument("--memory", choices=("pdual", "hand"))
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    overrides = {
        "base": options.base, "layers": str(options.layers), "rows": str(options.rows), "keeping": "forget10",
        "without": "forget01", "forgetting": "forget01",
    }  # fmt: skip
    problem, numbers = problem_of("tofu", "pointwise", options.rows, overrides)
    settings = {**numbers, "rho": problem.settings.rho, "batch": 8}
    given = texts(problem, "retain"), texts(problem, "forget")
    if options.memory:
        if options.memory == "hand":
            del problem  # its weights were read, not more: that is below the peak of a step
            step = Training(options.base, *given, settings, options.layers).step
        else:
            step = step_of(started(problem))
        for _ in range(3):
            step()
        print(f"{options.memory}: peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
        return
    solver = started(problem)
    hand = Training(options.base, *given, settings, options.layers)
    ours = loss_of(solver, 8)
    with torch.no_grad():
        theirs = float(hand.loss(range(8), range(8)))
    print(f"losses {ours:.6f} and {theirs:.6f}")
    assert abs(ours / theirs - 1) < 1e-4, "not the same problem"
    found = turns({"pdual": step_of(solver), "hand": hand.step}, options.rounds, steps=2, warm=1)
    took = {name: statistics.median(times) / 1000 for name, times in found.items()}
    print(f"step: pdual {took['pdual']:.2f} s, by hand {took['hand']:.2f} s of one thread; ratio", end=" ")
    print(shown(found["pdual"], found["hand"]))


if __name__ == "__main__":
    main()
