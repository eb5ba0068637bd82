"""The reference names everything that there is, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pdual.cli.main import perform
from pdual.dsl.declarations.registry import architectures, evaluations, sources
from pdual.dsl.declarations.solving import SolveSettings
from pdual.dsl.operations import AGGREGATES, REDUCTIONS

DOCS = Path(__file__).parent.parent.parent / "docs"


def named(page: str) -> set[str]:
    """The single names that a page sets as code."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return set(re.findall(r"[\w.]+", " ".join(re.findall(r"`([^`\n]+)`", text))))


@pytest.mark.parametrize(
    "names",
    [
        sorted([*REDUCTIONS, *AGGREGATES]),
        sorted(name for name in [*sources(), *architectures(), *evaluations()] if name),
        sorted(SolveSettings.model_fields),
    ],
)
def test_the_reference_of_the_language_is_complete(names: list[str]):
    assert set(names) - named("language.md") == set()


def test_what_it_says_is_registered_is_registered():
    (line,) = [
        paragraph for paragraph in (DOCS / "language.md").read_text().split("\n\n") if paragraph.startswith("Sources:")
    ]
    assert set(re.findall(r"`([\w.]+)`", line)) == {
        name for name in [*sources(), *architectures(), *evaluations()] if name
    }


@pytest.mark.parametrize("command", ["check", "fmt", "explain", "run", "compare"])
def test_every_option_is_in_the_reference_of_the_command_line(capsys: pytest.CaptureFixture[str], command: str):
    assert perform([command, "--help"]) == 0
    options = set(re.findall(r"(?<![\w-])(--?[a-z]+)\b", capsys.readouterr().out)) - {"--help", "--quiet", "--verbose"}
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert {option for option in options if option not in text} == set()
