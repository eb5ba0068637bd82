"""What an author of specs waits for: `pdual check`, `fmt --check` and `explain` of shipped specs, each as a process of its own.

    python -P benchmarks/commands.py [--rounds N] [SPEC...]

Wall and processor seconds, medians over rounds, after one round that leaves compiled modules behind as any first use does;
python itself, which does nothing, takes turns with them and is the measure of a slow moment of the machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COMMANDS = {"check": ["check"], "fmt": ["fmt", "--check"], "explain": ["explain"]}
SPECS = Path(__file__).parents[1] / "specs"

#: Unset for the processes: with it Python compiles every module at each start.
WITHOUT_CACHE = "PYTHONDONTWRITEBYTECODE"


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one process."""

    wall: float
    processor: float


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("specs", nargs="*", metavar="SPEC", default=sorted(map(str, SPECS.glob("*.pdual"))))
    arguments.add_argument("--rounds", type=int, default=7)
    options = arguments.parse_args()
    told = {"python": [sys.executable, "-c", "pass"]}
    program = str(Path(sys.executable).with_name("pdual"))
    for spec in options.specs:
        told |= {f"{name} {Path(spec).name}": [program, *words, spec] for name, words in COMMANDS.items()}
    found: dict[str, list[Took]] = defaultdict(list)
    for turn in range(options.rounds + 1):
        for name, command in told.items():
            took = seconds(command)
            if turn:
                found[name].append(took)
    print(f"{'':<32}{'wall, s':>10}{'processor, s':>15}{'wall, slowest':>16}")
    for name, all_of_it in found.items():
        walls = [took.wall for took in all_of_it]
        processor = statistics.median(took.processor for took in all_of_it)
        print(f"{name:<32}{statistics.median(walls):>10.3f}{processor:>15.3f}{max(walls):>16.3f}")


def seconds(command: Sequence[str]) -> Took:
    """What one process takes, from before it is started to its end."""
    environment = {name: value for name, value in os.environ.items() if name != WITHOUT_CACHE}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


if __name__ == "__main__":
    main()
