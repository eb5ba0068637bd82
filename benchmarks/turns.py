"""Steps that take turns: what a machine that slows down does to one side, it does to its neighbour.

Time is the processor's, of one thread: what else runs on the machine, and how often it interrupts, does not count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

Step = Callable[[], None]


def timed(step: Step, steps: int) -> float:
    """Milliseconds of a step: the mean of so many, after one that brings its data back into the caches."""

    def several() -> None:
        for _ in range(steps):
            step()

    step()
    return once(several) / steps


def once(work: Callable[[], object]) -> float:
    """Milliseconds that something takes."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def turns(sides: Mapping[str, Step], rounds: int, steps: int = 10, warm: int = 2) -> Mapping[str, list[float]]:
    """Milliseconds of a step of each side in each round; ``warm`` rounds before are not counted."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(warm + rounds):
        for name, step in sides.items():
            took = timed(step, steps)
            if turn >= warm:
                found[name].append(took)
    return found


def ratio(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Median and quartiles of the ratios of neighbours."""
    ratios = sorted(a / b for a, b in zip(one, other, strict=True))
    return statistics.median(ratios), ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]


def shown(one: Sequence[float], other: Sequence[float]) -> str:
    """The ratio, to be read."""
    middle, low, high = ratio(one, other)
    return f"{middle:.3f} (quartiles {low:.3f} to {high:.3f})"
