"""Primal steps of tofu by pdual and by a tight loop by hand: tokens a second and peak memory, each side in processes of its own.

    python -P benchmarks/language_step.py --base FOLDER [--layers N | --lora N] [--kl] [--rows N] [--steps N] [--rounds N]

Both draw 8 rows of each data set a step, compute logits at the tokens of answers only, remember what the model said before, and
recompute nothing; the same weights train under the same optimiser. First both must say the same loss of the same rows, by weights
that are no longer those of before. ``--kl``: of tofu_kl. Then the
sides take turns, ``--rounds`` processes each: seconds are the processor's, of one thread, tokens those of the rows that were
drawn, without what fills them up; the peak is of the whole process, loading included. How long the rows of a step are decides on
its peak: with ``--rows 8`` every step of both sides reads the same. TOFU is read from ``PDUAL_DATA``.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))

from compiled import problem_of, started, step_of
from hand_tofu import Training
from tofu_step import loss_of, texts
from turns import ratio

from pdual.runtime.problem.problem import Problem

#: Rows of each data set in a step.
BATCH = 8


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--base", required=True)
    arguments.add_argument("--layers", type=int, default=0)
    arguments.add_argument("--lora", type=int, default=0)
    arguments.add_argument("--kl", action="store_true")
    arguments.add_argument("--rows", type=int, default=40)
    arguments.add_argument("--steps", type=int, default=4)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--side", choices=("check", "pdual", "hand"), help="what one process does")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if options.side is not None:
        print(json.dumps(_side(options)))
        return
    print(_process("check"))
    found: dict[str, list[Any]] = {"pdual": [], "hand": []}
    for _ in range(options.rounds):
        for side, measured in found.items():
            measured.append(_process(side))
    for side, measured in found.items():
        speed = statistics.median(item["tokens_per_s"] for item in measured)
        print(f"{side}: {speed:.1f} tokens/s, peak {statistics.median(item['peak_mb'] for item in measured):.0f} MB")
    for name in ("tokens_per_s", "peak_mb"):
        middle, low, high = ratio(*([item[name] for item in found[side]] for side in ("pdual", "hand")))
        print(f"{name}, pdual / hand: {middle:.3f} (quartiles {low:.3f} to {high:.3f})")


def _process(side: str) -> Any:
    """What a process says that does one side."""
    said = subprocess.run(
        [sys.executable, "-P", *sys.argv, "--side", side], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(said.stdout.splitlines()[-1])


def _side(options: argparse.Namespace) -> dict[str, float]:
    overrides = {
        "base": options.base, "layers": str(options.layers), "lora": str(options.lora), "rows": str(options.rows),
        "keeping": "forget10", "without": "forget01", "forgetting": "forget01",
    }  # fmt: skip
    if options.kl:
        overrides["words"] = str(json.loads((Path(options.base) / "config.json").read_text())["vocab_size"])
    problem, numbers = problem_of("tofu_kl" if options.kl else "tofu", "pointwise", options.rows, overrides)
    settings = {**numbers, "rho": problem.settings.rho, "batch": BATCH}
    pairs = texts(problem, "retain"), texts(problem, "forget")
    if options.side == "pdual":
        return _measured(*_of_pdual(problem), options.steps)
    if options.side == "hand":
        del problem  # its weights were read, not more: below the peak of a step
    stay = numbers["stay"] if options.kl else 0.0
    hand = Training(options.base, *pairs, settings, options.layers, options.lora, whole=False, stay=stay)
    if options.side == "hand":
        return _measured(hand.step, lambda: hand.read, options.steps)
    solver = started(problem)
    loss_of(solver, BATCH)  # what the model said before is remembered now
    for model in (problem.models["lm"], hand.model):
        _moved(model)
    ours = loss_of(solver, BATCH)
    with torch.no_grad():
        theirs = float(hand.loss(range(BATCH), range(BATCH)))
    assert abs(ours / theirs - 1) < 1e-4, f"not the same problem: losses {ours} and {theirs}"
    return {"loss_pdual": ours, "loss_hand": theirs}


@torch.no_grad()
def _moved(model: torch.nn.Module) -> None:
    """Its last norm, away from where it was."""
    (weight,) = (weight for name, weight in model.named_parameters() if name.endswith("model.norm.weight"))
    weight *= 1.1


def _of_pdual(problem: Problem) -> tuple[Callable[[], None], Callable[[], int]]:
    """One step, and the tokens that were read so far."""
    reader: Any = problem.models["lm"].reader
    batch, read = reader.batch, 0

    def counted(pairs: Sequence[tuple[str, str]], device: torch.device) -> Any:
        nonlocal read
        read += sum(len(reader.tokens(*pair).ids) for pair in pairs)
        return batch(pairs, device)

    reader.batch = counted
    return step_of(started(problem)), lambda: read


def _measured(step: Callable[[], None], read: Callable[[], int], steps: int) -> dict[str, float]:
    """Of so many steps, after one that is not counted."""
    step()
    before, began = read(), time.process_time()
    for _ in range(steps):
        step()
    took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"tokens_per_s": (read() - before) / took, "peak_mb": peak}


if __name__ == "__main__":
    main()
