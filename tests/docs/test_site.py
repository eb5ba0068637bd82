"""The documentation builds without a warning, with pages of every diagnostic and every function."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pdual.dsl.catalogue import CATALOGUE
from pdual.dsl.operations import AGGREGATES, FUNCTIONS, REDUCTIONS

DOCS = Path(__file__).parent.parent.parent / "docs"
pytest.importorskip("sphinx", reason="the documentation needs `pip install 'pdual[docs]'`")
pytest.importorskip("myst_parser", reason="the documentation needs `pip install 'pdual[docs]'`")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        str(DOCS),
        str(tmp_path / "site"),
    ]
    built = subprocess.run([*command, "-d", str(tmp_path / "trees")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    diagnostics = (tmp_path / "site" / "diagnostics.html").read_text(encoding="utf-8")
    assert [code for code in CATALOGUE if f'id="{code.lower()}"' not in diagnostics] == []
    functions = (tmp_path / "site" / "functions.html").read_text(encoding="utf-8")
    assert [name for name in (*FUNCTIONS, *REDUCTIONS, *AGGREGATES) if f">{name}" not in functions] == []
