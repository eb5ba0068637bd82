"""What every test relies on. Helpers that tests of several stages share stand beside the tests of the first one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from pdual.dsl.depth import make_room

HELPERS = (
    "dsl",
    "e2e",
    "runtime",
    "runtime/sources",
    *(f"packs/{pack}" for pack in ("images", "language", "power", "workflows")),
)
sys.path[:0] = [str(Path(__file__).parent / folder) for folder in HELPERS]
if "PYTEST_XDIST_WORKER" in os.environ:  # one process a core: more threads would only wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parent
SLOW = frozenset((ROOT / "slow.txt").read_text(encoding="utf-8").split())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that ``slow.txt`` names."""
    for item in items:
        if name_of(item) in SLOW:
            item.add_marker("slow")


def name_of(item: pytest.Item) -> str:
    """``e2e/test_run.py::test_ctrl_c``: the file below this folder, and the function without its parameters."""
    return f"{item.path.relative_to(ROOT).as_posix()}::{getattr(item, 'originalname', item.name)}"


make_room()  # here, since hypothesis minds when an example moves the limit
