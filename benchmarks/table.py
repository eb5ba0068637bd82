"""Rows of the results table, from run folders: `python benchmarks/table.py runs/A runs/B --split test`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

HEAD = (
    "| run | gap mean ± sd % | mean violation % (all, above 0.01 %) | max violation % (mean, P95, max) "
    "| balance residual, MW | wall s, CPU s | steps |\n|---|---|---|---|---|---|---|"
)


def row(folder: Path, split: str) -> str:
    metrics = json.loads((folder / "metrics.json").read_text())
    record = json.loads((folder / "run.json").read_text())
    part: dict[str, Any] = metrics["splits"][split]
    gap, timing = part["metrics"]["gap"], metrics["timing"]
    limits, balance = part["violation"]["inequalities"], part["violation"]["equalities"]
    percent = {name: f"{100 * value:.3g}" for name, value in limits["max"].items()}
    return (
        f"| {metrics['problem']}, {metrics['dual']}, seed {record['seed']} "
        f"| {100 * gap['mean']:.3f} ± {100 * gap['std']:.3f} "
        f"| {100 * limits['mean']['mean']:.5f}, {100 * limits['mean_above']['mean']:.3f} "
        f"| {percent['mean']}, {percent['p95']}, {percent['max']} | {100 * balance['max']['mean']:.4f} "
        f"| {timing['total_s']:.0f}, {timing['cpu_s']:.0f} | {timing['steps']:,} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--split", default="test")
    options = parser.parse_args()
    print(HEAD)
    for folder in options.runs:
        print(row(folder, options.split))


if __name__ == "__main__":
    main()
