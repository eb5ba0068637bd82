"""Every quadratic program with every kind of dual: what the runs reached, the bars, and the certificate.

    python tests/optima/report.py [--kind learned] [--program corner] [--json FILE]

A line a run: relative L1 distance of the multipliers on unseen rows (its own where a table has no others), largest distance on its own
rows, mean and largest |x - x*|, relative error of the objective and mean violation (scaled), on own and, with a model that reads z, on
unseen rows; the bound of the certificate that came nearest to being reached, measured / bound.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from certifying import checked
from kinds import KINDS, Kind
from measuring import bars, solve
from programs import PROGRAMS, Program

HEAD = (
    "program",
    "dual",
    "lam rel",
    "lam max",
    "x mean",
    "x max",
    "gap",
    "violation",
    "gap, unseen",
    "certificate",
    "s",
)


def measured(program: Program, kind: Kind, folder: Path) -> dict[str, Any]:
    """The numbers of one run by column, and the bars that it missed."""
    started = time.perf_counter()
    found = solve(program, folder, kind)
    own, unseen = found["train"], found.get("test", found["train"])
    certificate = checked(own, program.margin()) if program.covered else []
    nearest = max(certificate, key=lambda item: item.measured / item.bound if item.bound else 0.0, default=None)
    return {
        "program": program.name,
        "dual": kind.name,
        "lam rel": unseen.relative,
        "lam max": own.furthest,
        "x mean": float(own.off.mean()),
        "x max": float(own.off.max()),
        "gap": own.gap,
        "violation": float(own.violation.mean()),
        "gap, unseen": None if kind.model.startswith("free") else unseen.gap,
        "certificate": "not covered" if nearest is None else f"{nearest.measured:.1e} / {nearest.bound:.1e} {nearest.name}",
        "s": round(time.perf_counter() - started),
        "missed": [f"{item.name}: {item.measured:.3g} > {item.bound:.3g}" for item in (*bars(kind, own, unseen), *certificate) if not item.inside],
    }  # fmt: skip


def chosen(program: str | None, kind: str | None) -> Iterator[tuple[Program, Kind]]:
    """The pairs that were asked for."""
    for item in PROGRAMS:
        for dual in KINDS:
            if dual.serves(item) and program in (None, item.name) and kind in (None, dual.name):
                yield item, dual


def main() -> int:
    """Print the table; 1 where a bar was missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program")
    options.add_argument("--kind")
    options.add_argument("--json", type=Path)
    asked = options.parse_args()
    print(" | ".join(HEAD), flush=True)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (program, kind) in enumerate(chosen(asked.program, asked.kind)):
            line = measured(program, kind, Path(folder) / str(number))
            lines.append(line)
            cells = [f"{line[name]:.1e}" if isinstance(line[name], float) else str(line[name] or "") for name in HEAD]
            print(" | ".join(cells), flush=True)
            for item in line["missed"]:
                print(f"  missed: {item}", flush=True)
    if asked.json is not None:
        asked.json.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
    return 1 if any(line["missed"] for line in lines) else 0


if __name__ == "__main__":
    raise SystemExit(main())
