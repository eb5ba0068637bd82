"""What a user asks of a run besides the spec: the options of ``pdual run``. Imports no torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from operator import index
from pathlib import Path

from pdual.dsl.diagnostics import refuse


@dataclass(frozen=True)
class RunOptions:
    """Options of one run.

    ``overrides``: ``--set``; ``dual``: kind by family, ``"*"`` for all; ``budget`` in seconds; ``limit``: rows of each
    split at most; ``quick`` is a true, smaller run (fewer rows and outer iterations); ``samples``
    are the data sets and models of which a sample is taken, None: in a quick run, of those that are not on this machine; ``initial`` and ``out`` are run
    folders. ``threads`` of the CPU: one is fastest for the small kernels of most problems, and more get in each
    other's way on a busy machine. ``precision`` is float32, float64 or bfloat16.
    """

    overrides: Mapping[str, str] = field(default_factory=dict)
    dual: Mapping[str, str] = field(default_factory=dict)
    minimize: bool = True
    data: Mapping[str, Path] = field(default_factory=dict)
    out: Path | None = None
    device: str = "auto"
    precision: str = "float32"
    compile: bool = False
    seed: int = 0
    threads: int = 1
    resume: bool = False
    quick: bool = False
    budget: float | None = None
    limit: int | None = None
    samples: Collection[str] | None = None
    initial: Path | None = None
    command: tuple[str, ...] = ()


#: The largest seed: streams of their own are drawn from it, and torch takes 64 bits with a sign.
MOST_SEED = 2**63 - 1

#: The most threads: a pool of very many ends the process.
MOST_THREADS = 1024


def check_counts(seed: object, threads: object, prefix: str = "") -> None:
    """Refuse (PD704) a seed and a number of threads that torch cannot take; ``prefix`` is what options are written with."""
    check_whole(f"{prefix}seed", seed, 0, MOST_SEED)
    check_whole(f"{prefix}threads", threads, 1, MOST_THREADS)


def check_whole(option: str, value: object, least: int, most: int | None = None) -> None:
    """Refuse (PD704) what is no whole number from ``least`` to ``most``."""
    ends = f"a whole number from {least} to {most}" if most is not None else f"a whole number of at least {least}"
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < least or (most is not None and number > most):
        raise refuse("PD704", option=option, expected=ends, found=value)


#: ``--quick``: at most this many rows of each split,
QUICK_ROWS = 1000

#: and this many outer iterations, each with as many passes over the fewer rows as gives about this many primal steps
#: in all.
QUICK_OUTER = 20
QUICK_STEPS = 2000
