"""The step of opf30: compiled by pdual against written by hand, in one run, taking turns.

    python -P benchmarks/opf30_step.py [--rounds 100] [--dual pointwise]

Same predictor, same batch, same rows, one thread. Prints milliseconds a step of each and their ratio, as medians over rounds of 10
steps; the ratio of each round pairs two neighbours, so that a machine that slows down slows down both.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))

from compiled import problem_of, started, step_of
from hand_opf30 import Training, parser
from opf30_inputs import inputs
from turns import shown, turns


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=100)
    arguments.add_argument("--dual", choices=("pointwise", "learned", "shared"), default="pointwise")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    ours = step_of(started(problem_of("opf30", options.dual)[0]))
    theirs = Training(inputs(), parser().parse_args(["--dual", options.dual])).step
    found = turns({"pdual": ours, "hand": theirs}, options.rounds, warm=10)
    mine, hand = (statistics.median(found[side]) for side in ("pdual", "hand"))
    print(f"pdual {mine:.2f} ms, by hand {hand:.2f} ms a step; ratio {shown(found['pdual'], found['hand'])}")


if __name__ == "__main__":
    main()
