"""``slow.txt`` names tests that are there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
NAMES = (ROOT / "slow.txt").read_text(encoding="utf-8").split()


def test_names_are_sorted_and_each_is_there_once():
    assert sorted(set(NAMES)) == NAMES


@pytest.mark.parametrize("file", sorted({name.split("::")[0] for name in NAMES}))
def test_each_is_a_test_of_its_file(file: str):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    there = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert {name.split("::")[1] for name in NAMES if name.startswith(f"{file}::")} - there == set()
