"""The step of opf30: compiled by pdual against written by hand, in one run, taking turns.

    python benchmarks/opf30_step.py [--rounds 100] [--dual pointwise]

Same predictor, same batch, same rows, one thread. Prints milliseconds a step of each and their ratio, as medians over rounds of 10
steps; the ratio of each round pairs two neighbours, so that a machine that slows down slows down both.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from hand_opf30 import Training, parser
from opf30_inputs import inputs

from pdual.finding import find
from pdual.runtime.context import SourceContext
from pdual.runtime.prepare import load_tables, prepare
from pdual.runtime.problem import Options
from pdual.runtime.solver import Solver
from pdual.understanding import understand

STEPS = 10


def compiled(dual: str) -> Callable[[], None]:
    """One primal step of the solver on the shipped spec."""
    found = find("opf30")
    context = SourceContext(folder=found.folder)
    understood = understand(found.source, {}, {"*": dual}, True, context)
    assert understood.graph is not None
    graph = understood.graph
    torch.manual_seed(0)
    problem = prepare(graph, load_tables(graph.spec, graph.knowns, context), torch.float32, {})
    solver = Solver(problem, Options())
    solver._iteration = 1
    problem.models.train()

    def step() -> None:
        loss, _ = solver._loss()
        assert loss.isfinite()
        loss.backward()  # type: ignore[no-untyped-call]
        solver._driver.step()

    return step


def timed(step: Callable[[], None]) -> float:
    began = time.perf_counter()
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - began) / STEPS * 1000


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=100)
    arguments.add_argument("--dual", choices=("pointwise", "learned", "shared"), default="pointwise")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    ours = compiled(options.dual)
    theirs = Training(inputs(), parser().parse_args(["--dual", options.dual])).step
    for _ in range(10):
        timed(ours), timed(theirs)
    pairs = [(timed(ours), timed(theirs)) for _ in range(options.rounds)]
    ratios = sorted(ours / theirs for ours, theirs in pairs)
    mine, hand = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
    print(
        f"pdual {mine:.2f} ms, by hand {hand:.2f} ms a step; ratio {statistics.median(ratios):.3f}"
        f" (quartiles {ratios[len(ratios) // 4]:.3f} to {ratios[3 * len(ratios) // 4]:.3f})"
    )


if __name__ == "__main__":
    main()
