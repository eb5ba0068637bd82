"""The specs on power grids, on a handful of demands: they run, and leave what the comparison with other work needs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from running import say


def ran(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str) -> Any:
    said = say(capsys, "run", *arguments, "--limit", "4", "--budget", "1s", "--out", str(folder / "run"), "-q")
    # a run that ends after a second may miss what is expected of a whole one
    assert said.code in (0, 4), said.err
    return json.loads((folder / "run" / "metrics.json").read_text())


@pytest.mark.parametrize("spec", ["opf30", "opf30_mlp", "opf30_direct", "opf30_api", "opf"])
def test_a_run_is_scored_against_the_solver_and_after_projection(capsys, tmp_path: Path, spec: str):
    metrics = ran(capsys, tmp_path, spec)
    test = metrics["splits"]["test"]
    assert metrics["multipliers"]["per_row"] == 309
    projected = test["evaluations"]["power.projected"]
    assert projected["rows"] == 4
    assert projected["unsolved"] == 0
    # on the power flow the balance holds, and the prediction's own gap and violations are another's
    assert projected["violation"]["equalities"]["max"]["max"] < 1e-6
    assert set(projected["families"]) == set(test["families"])
    recovery = metrics["recovery"]["demands"]["test"]
    assert (recovery["against"], recovery["rows"], recovery["constraints"]) == ("solver", 4, 248)
    assert 0 < recovery["active_rate"] < 0.1
    assert recovery["constant"]["auc"] > 0.9
    assert set(recovery["correlation"]) == {"balance.re", "balance.im", "reference"}
    assert "power.projected" not in metrics["splits"]["train"]["evaluations"]


CASES = [
    "pglib/pglib_opf_case5_pjm",
    "pglib/pglib_opf_case14_ieee",
    "pglib/pglib_opf_case57_ieee",
    "matpower/case118",
    pytest.param("matpower/case300", marks=pytest.mark.long),
]


@pytest.mark.parametrize("case", CASES)
def test_another_grid_by_its_name_alone(capsys, tmp_path: Path, case: str):
    root = os.environ.get("PDUAL_DATA")
    if root is None or not (Path(root) / "power" / f"{case}.m").is_file():
        pytest.skip(f"{case} is in $PDUAL_DATA/power, which is not set or not there")
    name = case.split("/")[1]
    assert say(capsys, "check", "opf", "--set", f"case={name}").code == 0
    explained = say(capsys, "explain", "opf", "--set", f"case={name}")
    assert explained.code == 0, explained.err
    metrics = ran(capsys, tmp_path, "opf", "--set", f"case={name}", "--set", "spread=0.01", "--set", "samples=40")
    buses = int("".join(letter for letter in name.split("_ieee")[0].split("_pjm")[0] if letter.isdigit()))
    # P and Q of the balance, the reference, both limits of every voltage, and more by units and branches
    assert metrics["multipliers"]["families"]["balance"] == 2 * buses
    assert metrics["multipliers"]["families"]["voltage"] == 2 * buses
    assert metrics["splits"]["test"]["evaluations"]["power.projected"]["rows"] == 4
    assert metrics["recovery"]["demands"]["test"]["rows"] == 4
