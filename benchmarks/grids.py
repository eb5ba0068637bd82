"""Step time and memory of specs/opf.pdual against the size of the grid: `python benchmarks/grids.py CASE...`.

Each case in a process of its own: milliseconds of a primal step (median of 30, batch 32), peak memory, multipliers a row, weights.
Ratios to the first case are what to quote; the machine need not be the same.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

STEPS = 30


def measure(case: str) -> dict[str, float]:
    """One case, in this process."""
    import torch

    sys.path.insert(0, str(Path(__file__).parent))
    from compiled import problem_of, started

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    overrides = {"case": case, "spread": "0.01", "samples": "640"}
    problem, _ = problem_of("opf", "pointwise", 64, overrides)
    solver = started(problem)
    times = []
    for _ in range(STEPS + 5):
        began = time.perf_counter()
        solver.primal_step()
        times.append(1000 * (time.perf_counter() - began))
    return {
        "buses": problem.sizes["bus"],
        "branches": problem.sizes["branch"],
        "multipliers": problem.blocks[0].program.layout.columns,
        "weights": sum(weight.numel() for weight in problem.models.parameters()),
        "step": statistics.median(times[5:]),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+")
    parser.add_argument("--here", action="store_true", help="measure the one case in this process, as JSON")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measure(options.cases[0])))
        return
    print(
        "| case | buses | branches | multipliers a row | weights | step, ms | ratio | peak memory, MiB |\n|---|---|---|---|---|---|---|---|"
    )
    first = 0.0
    for case in options.cases:
        done = subprocess.run([sys.executable, __file__, "--here", case], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        first = first or found["step"]
        print(
            f"| {case} | {found['buses']} | {found['branches']} | {found['multipliers']} | {found['weights']:,} "
            f"| {found['step']:.1f} | {found['step'] / first:.2f} | {found['memory']:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
