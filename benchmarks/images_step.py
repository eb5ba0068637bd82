"""The step of digits and mnist with a multiplier a row: by pdual, by hand and by cooper, in one run, taking turns.

    python -P benchmarks/images_step.py --spec digits|mnist [--rounds N] [--limit ROWS]

Same network, batch and rows, one thread. Checks first that both sides say the same loss at the same weights, and have the same
multipliers after an ascent. Then (a) the primal step of pdual against the one by hand, and (b) a roll of cooper, which moves the
multipliers of its batch in every step, against a step of pdual and its share of the ascent that ends an outer iteration: over all
rows, without shrinking, which saves the more the longer a run goes. Medians over rounds of 10 steps; a ratio pairs neighbours. An
ascent's share does not depend on ``--limit`` (6,000 train rows of mnist, so that an ascent takes seconds).
cooper is left out where it is not installed (`pip install --no-deps cooper-optim==1.0.1`).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))

from compiled import problem_of, started, step_of
from hand_margins import Setting, Training
from turns import Step, once, shown, turns

from pdual.compiler.program import Evaluation
from pdual.dsl.declarations.optimisers import OptimiserSettings
from pdual.runtime.training.solver import Solver

#: Channels of the convolutions.
CHANNELS = {"digits": (16, 32), "mnist": (64, 64)}


def compiled(spec: str, limit: int | None) -> tuple[Solver, Setting]:
    """The solver on a shipped spec, in its first outer iteration, and the numbers of the spec."""
    problem, numbers = problem_of(spec, "pointwise", limit)
    solver, solve = started(problem), problem.settings
    table: Any = problem.blocks[0].table
    levels, shifts = table.levels, table.shifts
    descent = solve.descent.settings
    assert isinstance(descent, OptimiserSettings)
    setting = Setting(
        c=numbers["c"],
        rho=solve.rho,
        lr=descent.lr,
        hidden=(32,),
        channels=CHANNELS[spec],
        epsilon=numbers["epsilon"],
        cap=numbers["cap"],
        share=solve.step_of(1),
        level=levels.get("image", 255.0),
        shift=shifts.get("image", 0.0),
        batch=descent.batch,
    )
    return solver, setting


def ascent_of(solver: Solver) -> Step:
    """The evaluation pass and the dual update of an outer iteration."""

    def ascend() -> None:
        solver._ascend()
        solver._problem.models.train()

    return ascend


def inputs_of(table: Any) -> tuple[Tensor, Tensor]:
    """Images and labels of all rows, as they lie in memory."""
    columns = getattr(table, "columns", None)
    if columns is None:
        columns = table.batch(torch.arange(max(int(ids.max()) for ids in table.splits.values()) + 1)).values
    return columns["image"], columns["label"]


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Two networks with the same layers in the same order."""
    with torch.no_grad():
        for here, there in zip(source.parameters(), target.parameters(), strict=True):
            there.copy_(here)


@torch.no_grad()
def gap(solver: Solver, hand: Training, ids: Tensor) -> float:
    """How far the two losses of the same rows are apart, relatively."""
    training_set = solver._training_sets[0]
    values = training_set.table.batch(ids).values
    found = Evaluation(*training_set.train(values, ids))
    read = training_set.multipliers.read(ids, found.features, values)
    ours = training_set.multipliers.psi(found.residuals, read).mean()
    ours = ours + sum(term.evaluate(solver._models) for term in solver._problem.terms)
    theirs = hand.penalty(ids) + hand.norm()
    return abs(float(ours / theirs) - 1)


def cooper_step(*given: Any) -> Step | None:
    """A roll of cooper, None where it is not installed."""
    try:
        from cooper_margins import Rolling
    except ModuleNotFoundError as error:
        print(f"without cooper ({error}): pip install --no-deps cooper-optim==1.0.1")
        return None
    return Rolling(*given).step


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--spec", choices=CHANNELS, default="digits")
    arguments.add_argument("--rounds", type=int, help="digits: 60, mnist: 12")
    arguments.add_argument("--limit", type=int, help="train rows; digits: all, mnist: 6000")
    options = arguments.parse_args()
    rounds = options.rounds or {"digits": 60, "mnist": 12}[options.spec]
    limit = options.limit or {"digits": None, "mnist": 6000}[options.spec]
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    solver, setting = compiled(options.spec, limit)
    train = solver._training_sets[0].train_ids
    given = (*inputs_of(solver._training_sets[0].table), train, setting)
    hand = Training(*given)
    copy_weights(solver._models["f"], hand.model)
    before = gap(solver, hand, train[:256])
    ascents = [(once(ascent_of(solver)), once(hand.ascend))]
    after = gap(solver, hand, train[:256])
    print(f"losses apart by {before:.1e}, after an ascent {after:.1e}, relatively")
    assert max(before, after) < 1e-3, "not the same problem"
    sides = {"pdual": step_of(solver), "hand": hand.step}
    rolling = cooper_step(*given)
    if rolling is not None:
        sides["cooper"] = rolling
    found = turns(sides, rounds)
    ascents += [(once(ascent_of(solver)), once(hand.ascend)) for _ in range(2)]
    took = {name: statistics.median(times) for name, times in found.items()}
    print(f"(a) primal step: pdual {took['pdual']:.2f} ms, by hand {took['hand']:.2f} ms; ratio", end=" ")
    print(shown(found["pdual"], found["hand"]))
    descent = solver._settings.descent.settings
    assert isinstance(descent, OptimiserSettings)
    epochs = descent.epochs
    steps = epochs * len(train) / setting.batch
    ours, theirs = (statistics.median(pair[side] for pair in ascents) / steps for side in (0, 1))
    print(
        f"    an ascent, over the {epochs:g} epochs of steps before it: pdual {ours:.2f} ms a step, by hand {theirs:.2f}"
    )
    if "cooper" in found:
        print(
            f"(b) with multipliers: cooper {took['cooper']:.2f} ms, pdual {took['pdual'] + ours:.2f} ms a step;",
            end=" ",
        )
        print("cooper / pdual", shown(found["cooper"], [one + ours for one in found["pdual"]]))
        print("    cooper's roll / pdual's step alone", shown(found["cooper"], found["pdual"]))


if __name__ == "__main__":
    main()
