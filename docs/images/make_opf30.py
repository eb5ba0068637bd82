"""Draws opf30.png from the folder of a run: ``python docs/images/make_opf30.py runs/opf30-...``.

Left: violation of the train rows, in percent of the range or scale of each row, after every outer iteration. Right: the mean multiplier
of each constraint.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

TARGET = Path(__file__).with_name("opf30.png")


def main() -> None:
    """Draw the folder named on the command line."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} RUN")
    lines = [json.loads(line) for line in (Path(sys.argv[1]) / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    draw(lines, TARGET)
    sys.stdout.write(f"wrote {TARGET}\n")


def draw(lines: list[dict[str, Any]], target: Path) -> None:
    """One point an outer iteration; ``lines`` are those of log.jsonl."""
    outer = [line["outer"] for line in lines]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for key, label in (("violation_max", "largest of all rows"), ("violation_mean", "mean")):
        left.plot(outer, [100 * float(line[key]) for line in lines], label=label)
    left.set(xlabel="outer iteration", ylabel="violation, % of range (or of scale)", yscale="log")
    for family in lines[-1]["families"]:
        values = [line["families"][family]["multiplier"] for line in lines]
        if all(value is not None for value in values):
            right.plot(outer, [abs(value) for value in values], label=family)
    right.set(xlabel="outer iteration", ylabel="mean |multiplier|, scaled")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small")
    figure.savefig(target, dpi=160)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
