"""`pdual explain --rows`: real rows with both sides of every constraint, held to what a run computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from running import say

from pdual.compiler.program import Evaluation
from pdual.explaining.instances import instances
from pdual.finding import find
from pdual.runtime.data.context import SourceContext
from pdual.runtime.problem.prepare import load_tables, prepare
from pdual.understanding import understand


def test_the_sides_are_those_of_the_compiled_program() -> None:
    found = find("digits")
    graph = understand(found.source).graph
    assert graph is not None
    (shown,) = instances(graph, 1000, SourceContext(folder=found.folder), seed=3)
    torch.manual_seed(3)
    tables = load_tables(graph.spec, graph.knowns, SourceContext(folder=found.folder, limit=8))
    problem = prepare(graph, tables, torch.float64, {})
    problem.models.eval()
    (block,) = problem.blocks
    rows = block.table.batch(block.table.splits["train"][:1])
    evaluation = Evaluation(*block.program.evaluate(rows.values, rows.ids))
    assert evaluation.mask is not None
    mask = evaluation.mask[0].tolist()
    assert [entry.masked for entry in shown.entries] == [not live for live in mask]
    expected = [value for value, live in zip(evaluation.residuals[0].tolist(), mask, strict=True) if live]
    np.testing.assert_allclose(
        [item.left - item.right for item in shown.entries if not item.masked], expected, atol=1e-6
    )
    assert [item.violated for item in shown.entries if not item.masked] == [value > 1e-3 for value in expected]


def test_the_first_entries_of_every_part_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    said = say(capsys, "explain", "digits", "--rows", "3")
    assert (said.code, said.err) == (0, "")
    lines = [line for line in said.out.splitlines() if line.startswith("    margin[")]
    assert len(lines) == 3
    assert all(" <= " in line or "switched off" in line for line in lines)
    document = say(capsys, "explain", "digits", "--rows", "2", "--json").json
    assert [entry["part"] for entry in document["rows"][0]["entries"]] == ["margin", "margin"]


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("x,y\n" + "0.5,0.25\n" * 8)
    spec = tmp_path / "p.pdual"
    spec.write_text(
        "problem p\ndata d { x: real, y: real }\nmodel f(x: real) -> real in [0, 1] = mlp([4])\nover r in d {\n"
        "  let y = f(r.x)\n  minimize y\n  subject to\n    low: r.y + 3 <= 5 * r.x\n    tie: r.y == 0.25 + y * 0\n}\n"
    )
    return spec


def test_values_of_the_data_are_filled_in(capsys: pytest.CaptureFixture[str], houses: Path) -> None:
    said = say(capsys, "explain", str(houses), "--rows", "1", "--data", f"d={houses.parent / 'rows.csv'}", "--json")
    low, tie = said.json["rows"][0]["entries"]
    assert (low["left"], low["relation"], low["right"]) == (3.25, "<=", 2.5)
    assert low["violated"]
    assert (tie["left"], tie["relation"], tie["right"]) == (0.25, "==", 0.25)
    assert not tie["violated"]


def test_rows_that_are_not_there_are_told(capsys: pytest.CaptureFixture[str], houses: Path) -> None:
    said = say(capsys, "explain", str(houses), "--rows", "1")
    assert said.code == 3
    assert "error[PD530]" in said.err
    assert say(capsys, "explain", str(houses), "--rows", "0").code == 2
