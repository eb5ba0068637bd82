"""`solve` in any setting: it comes to the same, and leaves what it found."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pdual

SPEC = """problem s
data d = csv("d.csv", split = [0.5, 0, 0.5]) { x: real, y: real }
model f(x: real) -> real = mlp(hidden = [4])
over r in d {
  let g = f(r.x)
  minimize (g - r.y)^2
  subject to near: g <= r.y + 0.1
}
solve { outer = 2, descent = adam(lr = 1e-2, batch = 4, steps = 4) }
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{n / 16},{n / 8}\n" for n in range(16)))
    (tmp_path / "s.pdual").write_text(SPEC)
    return tmp_path / "s.pdual"


def solved(spec: Path, name: str, **options: Any) -> list[float]:
    run = pdual.load(spec).solve(out=spec.parent / name, **options)
    found = run.predict("f", {"x": np.array([0.25, 0.75])})[""]
    assert isinstance(found, torch.Tensor)
    return [float(run.metrics.splits["train"].objective or 0), *found.tolist()]


def solved_elsewhere(path: str, name: str) -> list[float]:
    return solved(Path(path), name)


@contextmanager
def default_dtype(kind: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(kind)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def without_gradients() -> Iterator[None]:
    torch.set_grad_enabled(False)
    try:
        yield
    finally:
        torch.set_grad_enabled(True)


SETTINGS: dict[str, Callable[[], Any]] = {
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "gradients off": without_gradients,
    "float64": lambda: default_dtype(torch.float64),
    "float16": lambda: default_dtype(torch.float16),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "meta": lambda: torch.device("meta"),
    "other random state": lambda: nullcontext(torch.manual_seed(7)),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_changes_nothing_and_stays(spec: Path, name: str) -> None:
    plain = solved(spec, "plain")
    with SETTINGS[name]():
        before = state()
        assert solved(spec, "other") == plain
        assert state() == before


def state() -> dict[str, Any]:
    return {
        "torch": torch.get_rng_state().tolist(),
        "numpy": repr(np.random.get_state()),
        "python": random.getstate(),
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "threads": torch.get_num_threads(),
        "gradients": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "denormal": float(torch.ones(1, dtype=torch.float64, device="cpu")) * 5e-324,
        "warnings": list(warnings.filters),
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
        "folder": Path.cwd(),
        "environment": dict(os.environ),
        "logging": (logging.root.level, list(logging.root.handlers)),
        "recursion": sys.getrecursionlimit(),
    }


def test_what_was_set_is_there_afterwards_even_after_a_failure(spec: Path) -> None:
    before = state()
    solved(spec, "one", threads=2, seed=5)
    assert state() == before
    with pytest.raises(pdual.ProblemError, match="PD622"):
        solved(spec, "one")
    assert state() == before


def test_threads_take_turns(spec: Path) -> None:
    plain = solved(spec, "plain")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda place: solved(spec, f"t{place}"), range(6)))
    assert found == [plain] * 6


def test_an_event_loop(spec: Path) -> None:
    async def both() -> list[list[float]]:
        inside = solved(spec, "inside")
        return [inside, *await asyncio.gather(*(asyncio.to_thread(solved, spec, f"a{place}") for place in range(2)))]

    assert asyncio.run(both()) == [solved(spec, "plain")] * 3


@pytest.mark.parametrize("method", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_another_process(spec: Path, method: str) -> None:
    context = multiprocessing.get_context(method)
    with context.Pool(1) as pool:
        found = pool.apply(solved_elsewhere, (str(spec), method))
    assert found == solved(spec, "plain")


def test_a_child_of_a_thread_that_solves_is_not_held_up() -> None:
    from pdual.runtime.system import setting

    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with setting._turns[0]:
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    child = os.fork()
    if not child:
        os._exit(0 if setting._turns[0].acquire(timeout=5) else 1)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


def test_runs_without_a_folder_of_their_own(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(spec.parent)
    problem = pdual.load(spec)
    assert len({problem.solve().folder for _ in range(3)}) == 3


def test_the_same_seed_after_a_fresh_load(spec: Path) -> None:
    problem = pdual.load(spec)
    first, again = (problem.solve(out=spec.parent / f"p{n}", seed=3).metrics.splits["train"] for n in range(2))
    assert first == again == pdual.load(spec).solve(out=spec.parent / "q", seed=3).metrics.splits["train"]
