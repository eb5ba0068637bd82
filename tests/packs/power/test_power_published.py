"""PGLib's published optima, up to 2,000 buses, typical, congested and with small angle differences."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from power_oracle import known, published

from pdual.packs.power.optima.grid import grid_of
from pdual.packs.power.optima.optimum import PowerSolver

TABLE = Path(__file__).with_name("published_optima.csv")
ROWS = list(csv.DictReader(line for line in TABLE.read_text().splitlines() if not line.startswith("#")))
OPTIMA = {row["case"]: (int(row["buses"]), float(row["ac"])) for row in ROWS}
FOLDERS = {"api": "pglib/api", "sad": "pglib/sad"}


def off(case: str) -> float:
    """How far an optimum is from the published one, relative to it; a skip where the file is not here."""
    file = published() / FOLDERS.get(case.partition("__")[2], "pglib") / f"{case}.m"
    if not file.is_file():
        pytest.skip(f"{file} is not here: put PGLib's files into `power/pglib` of PDUAL_DATA")
    grid = known(file)
    found = PowerSolver(grid_of(grid)).solve(np.array(grid.fields["load"]))
    assert found is not None
    return abs(found.cost / OPTIMA[case][1] - 1)


@pytest.mark.parametrize("case", [case for case, (buses, _) in OPTIMA.items() if buses <= 60])
def test_a_small_case_reaches_the_published_optimum(case: str) -> None:
    assert off(case) < 2e-4


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("case", [case for case, (buses, _) in OPTIMA.items() if buses > 60])
def test_a_case_reaches_the_published_optimum(case: str) -> None:
    assert off(case) < 2e-4
