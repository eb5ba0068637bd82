"""What is lost of the rows that are kept while others are forgotten, along the runs of several specs: compared at equal forgetting.

    python -P benchmarks/forgetting.py --base FOLDER --score SCORE [--every STEPS] [--longest STEPS] [--set NAME=VALUE]... SPEC...

After every so many primal steps: the mean score of the forgotten rows (mean log-probability a token, now less before) and KL(before ||
now) of the kept ones, a token. A run ends where the score has fallen to SCORE; the last line of each spec is interpolated there,
linearly in the score. The specs name their data sets ``forget`` and ``retain``; TOFU is read from ``PDUAL_DATA``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from compiled import prepared

from pdual.compiler.graph import Graph
from pdual.packs.language.evaluations.drift import divergence, scores
from pdual.runtime.evaluation.context import EvaluationContext
from pdual.runtime.problem.problem import Options, Problem
from pdual.runtime.storage.records import LogLine
from pdual.runtime.training.solver import Solver


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is after ``steps``: nats a token."""

    steps: int
    score: float
    kl: float


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("specs", nargs="+", metavar="SPEC")
    arguments.add_argument("--base", required=True)
    arguments.add_argument("--score", type=float, required=True)
    arguments.add_argument("--every", type=int, default=4)
    arguments.add_argument("--longest", type=int, default=400)
    arguments.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments.add_argument("--seed", type=int, default=0)
    options = arguments.parse_args()
    overrides = dict(item.split("=", 1) for item in options.set) | {"base": options.base}
    for spec in options.specs:
        places = followed(spec, overrides, options)
        print(f"{spec} at {options.score}: {_said(interpolated(places, options.score))}", flush=True)


def followed(spec: str, overrides: Mapping[str, str], asked: argparse.Namespace) -> list[Place]:
    """The run of a spec until it has forgotten enough, place by place."""
    graph, problem = prepared(spec, {}, None, overrides, asked.seed)
    problem = _in_pieces(problem, asked.every, asked.longest)
    places: list[Place] = []

    def look(line: LogLine) -> None:
        forgotten = scores(_context(graph, problem, "forget"))
        kept = divergence(_context(graph, problem, "retain"))
        assert forgotten is not None
        assert kept is not None
        places.append(Place(line.step, forgotten["score"]["mean"], kept["per_token"]))
        print(f"{spec}, step {line.step}: {_said(places[-1])}", flush=True)

    torch.manual_seed(asked.seed)
    enough = Options(seed=asked.seed, log=look, stop=lambda: bool(places) and places[-1].score <= asked.score)
    Solver(problem, enough).run()
    return [Place(0, 0.0, 0.0), *places]


def interpolated(places: list[Place], score: float) -> Place | None:
    """Between the last place above the score and the first at or below it; None where none is."""
    for before, after in pairwise(places):
        if after.score <= score < before.score:
            share = (before.score - score) / (before.score - after.score)
            return Place(after.steps, score, before.kl + share * (after.kl - before.kl))
    return None


def _in_pieces(problem: Problem, steps: int, longest: int) -> Problem:
    """The problem with outer iterations of so many steps."""
    descent = problem.settings.descent
    pieces = replace(descent, settings=descent.settings.model_copy(update={"steps": steps}))
    return replace(problem, settings=problem.settings.model_copy(update={"descent": pieces, "outer": longest // steps}))


def _context(graph: Graph, problem: Problem, data: str) -> EvaluationContext:
    table = next(block.table for block in problem.blocks if block.program.data == data)
    return EvaluationContext(graph, problem, data, table, table.splits["train"], None)  # type: ignore[arg-type]


def _said(place: Place | None) -> str:
    return "not reached" if place is None else f"score {place.score:.3f}, KL of kept rows {place.kl:.4f} a token"


if __name__ == "__main__":
    main()
