from __future__ import annotations

import io

import pytest

from pdual.cli import progress as module
from pdual.cli.output import wants_colour
from pdual.cli.progress import BarProgress, LineProgress, Silence, Talkative, iteration, progress
from pdual.runtime.storage.records import FamilyMetrics, LogLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def line(outer: int) -> LogLine:
    families = {"near": FamilyMetrics(unit="1", mean=0, max=0, violated=0, mean_violated=0, at_cap=0, multiplier=None)}
    return LogLine(
        outer=outer, step=10, seconds=3.2, loss=1, objective={"a": 8208.5}, violation_mean=0.01, violation_max=0.2,
        feasible_rows=0.5, rows_at_cap=0.25, rho=1, rho_equal=1, multiplier=0, moved=0, fit_error={}, families=families,
    )  # fmt: skip


def test_an_iteration_in_one_line():
    words = "objective 8208.5, violation 1.00e-02 mean 2.00e-01 max, 50.0% of rows met, 25.0% at the cap, 3 s"
    assert iteration(line(7)) == f"outer 7: {words}"


def test_an_iteration_without_constraints_or_without_an_objective():
    assert iteration(line(7).model_copy(update={"families": {}})) == "outer 7: objective 8208.5, 3 s"
    assert iteration(line(7).model_copy(update={"families": {}, "objective": {}})) == "outer 7: loss 1, 3 s"
    assert iteration(line(7).model_copy(update={"objective": {}})).startswith(
        "outer 7: loss 1, violation 1.00e-02 mean"
    )


def test_lines_are_throttled(monkeypatch: pytest.MonkeyPatch):
    clock = iter([100.0, *[101.0] * 6, 106.5, 106.5, 107.0, 107.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    shown = LineProgress(stream)
    shown.start("work", 10)
    shown.advance(3)
    shown.log(line(1))
    shown.log(line(2))
    shown.log(line(3))
    assert [text.split(":")[0] for text in stream.getvalue().splitlines()] == ["outer 1"]


def test_a_warning_is_always_said():
    for shown in (LineProgress(io.StringIO()), Silence(io.StringIO()), Talkative(io.StringIO())):
        shown.start("work", 2)
        shown.advance(0, "warning: a cache is damaged")
        assert shown._stream.getvalue() == "warning: a cache is damaged\n"  # type: ignore[attr-defined]


def test_the_stream_and_the_options_decide(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert type(progress(False, False, io.StringIO())) is LineProgress
    assert type(progress(True, False, Terminal())) is Silence
    assert type(progress(False, True, Terminal())) is Talkative
    assert type(progress(False, False, Terminal())) is BarProgress
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())
    assert type(progress(False, False, Terminal())) is LineProgress


def test_a_bar_gives_the_terminal_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    shown = BarProgress(stream)
    shown.start("work", 2)
    shown.advance(0, "3 of 9 answers read")
    shown._bar.refresh()
    assert "3 of 9 answers read" in stream.getvalue()
    shown.advance(1)
    shown.log(line(1))
    shown.advance(1, "warning: a cache is damaged")
    shown.finish("done")
    shown.close()
    assert "warning: a cache is damaged" in stream.getvalue()
    assert "\x1b[?25h" in stream.getvalue(), "the cursor is shown again"
