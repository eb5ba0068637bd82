"""What comes before training is given up when the budget is spent, and the system's timer is left as it was."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from pdual.dsl.diagnostics import Refusal
from pdual.runtime.system import deadline
from pdual.runtime.system.deadline import Deadline


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "AT_LEAST", 0.0)


def test_preparations_that_take_longer_are_ended() -> None:
    before, began = signal.getsignal(signal.SIGALRM), time.perf_counter()
    with pytest.raises(Refusal) as refused, Deadline(0.1):
        time.sleep(20)
    assert [item.code for item in refused.value.diagnostics] == ["PD661"]
    assert time.perf_counter() - began < 10
    assert signal.getsignal(signal.SIGALRM) is before


def test_what_is_heeded_is_not_interrupted_and_no_budget_never_ends() -> None:
    with Deadline(0.05) as found:
        found.heeded()
        time.sleep(0.1)
        assert found.left is not None
        assert found.left < 0
    with Deadline(None) as found:
        assert found.left is None


def test_ctrl_c_stays_ctrl_c() -> None:
    with pytest.raises(KeyboardInterrupt), Deadline(60.0):
        raise KeyboardInterrupt


def test_a_timer_of_somebody_else_goes_on() -> None:
    rang = threading.Event()
    before = signal.signal(signal.SIGALRM, lambda *_: rang.set())
    other = signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with Deadline(60.0):
            time.sleep(0.05)
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.3
        time.sleep(0.4)
        assert rang.is_set()
    finally:
        signal.setitimer(signal.ITIMER_REAL, *other)
        signal.signal(signal.SIGALRM, before)


def test_a_thread_is_not_interrupted() -> None:
    done = []

    def work() -> None:
        with Deadline(0.01):
            time.sleep(0.1)
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]
