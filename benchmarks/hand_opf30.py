"""opf30 written by hand in PyTorch: what the compiled spec is measured against.

Nothing here knows pdual: the predictor and the rows are handed in (opf30_inputs.py), the training loop, the constraints and the
multipliers are its own. Without ``--train`` it prints the time of a step; with it, it trains and prints the scores on unseen
demands.

    python -P benchmarks/hand_opf30.py --dual pointwise
    python -P benchmarks/hand_opf30.py --train --dual learned
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))

from hand_opf30_duals import Duals, Heads, Learned, Shared, Table
from hand_opf30_problem import COST, Problem

if TYPE_CHECKING:
    from opf30_inputs import Inputs

FINAL_RATE, WARMUP, CLIP, BETAS = 0.005, 100, 1.0, (0.9, 0.99)
COUNTED = 0.01  # percent of the range; smaller violations are not in the mean


class FlatWeights:
    """All weights of a model, and all their gradients, as one vector each: one norm and one optimiser step."""

    def __init__(self, model: nn.Module) -> None:
        weights = list(model.parameters())
        self.vector = torch.cat([weight.detach().flatten() for weight in weights])
        self.gradient = torch.zeros_like(self.vector)
        self.vector.grad = self.gradient
        start = 0
        for weight in weights:
            end = start + weight.numel()
            weight.data = self.vector[start:end].view_as(weight)
            weight.grad = self.gradient[start:end].view_as(weight)
            start = end

    def clip(self, limit: float) -> None:
        norm = float(self.gradient.norm())
        if norm > limit:
            self.gradient.mul_(limit / norm)


class Training:
    """Predictor, data, multipliers and optimiser of one run."""

    def __init__(self, inputs: Inputs, options: argparse.Namespace) -> None:
        self.options, self.done, self.total = options, 0, options.outer * options.per_outer
        self.load, self.optimum = inputs.load, inputs.optimum
        self.model, self.problem = inputs.predictor, Problem(inputs.grid)
        self.equal = self.problem.equal
        self.rho = torch.where(self.equal, options.rho_equal, options.rho)
        self.duals = build_duals(self.equal, self.rho, len(self.load["train"]), options)
        self.weights = FlatWeights(self.model)
        self.optimiser = torch.optim.Adam([self.weights.vector], lr=options.lr, betas=BETAS, fused=True)
        self.batches = batches(len(self.load["train"]), options.batch, options.seed)

    def step(self) -> None:
        """One minibatch step on cost + psi(g, lambda), psi = lambda r + rho / 2 r^2, r = max(g, -lambda / rho)."""
        ids = next(self.batches)
        load = self.load["train"][ids]
        real, imaginary = load.chunk(2, 1)
        found = self.model({"load.re": real, "load.im": imaginary})
        cost, rows = self.problem(found.outputs, load)
        multipliers = self.duals.value(ids, found.features)
        residual = torch.where(self.equal, rows, torch.maximum(rows, -multipliers / self.rho))
        penalty = residual * torch.addcmul(multipliers, residual, self.rho, value=0.5)
        self.weights.gradient.zero_()
        torch.autograd.backward(cost.mean() + penalty.sum() / len(ids))
        self.weights.clip(CLIP)
        self.optimiser.param_groups[0]["lr"] = self.options.lr * self.rate()
        self.optimiser.step()
        self.done += 1

    def rate(self) -> float:
        """Linear warm-up, then half a cosine."""
        if self.done < WARMUP:
            return (self.done + 1) / WARMUP
        progress = min(1.0, (self.done - WARMUP) / max(1, self.total - WARMUP))
        return FINAL_RATE + (1 - FINAL_RATE) * 0.5 * (1 + math.cos(math.pi * progress))

    @torch.no_grad()
    def everything(self, split: str) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Cost, rows and features of all rows of a split."""
        costs, rows, features = [], [], []
        for load in torch.split(self.load[split], 500):
            real, imaginary = load.chunk(2, 1)
            found = self.model({"load.re": real, "load.im": imaginary})
            cost, residuals = self.problem(found.outputs, load)
            costs.append(cost)
            rows.append(residuals)
            features.append(found.features)
        joined = {name: torch.cat([part[name] for part in features]) for name in features[0]}
        return torch.cat(costs), torch.cat(rows), joined

    def train(self) -> None:
        """All outer iterations, then the scores."""
        started, used, primal = time.perf_counter(), time.process_time(), 0.0
        for outer in range(1, self.options.outer + 1):
            began = time.perf_counter()
            for _ in range(self.options.per_outer):
                self.step()
            primal += time.perf_counter() - began
            _, rows, features = self.everything("train")
            self.duals.ascend(rows, features)
            if outer % 5 == 0:
                print(f"{outer:3d} {self.scores('test')}", flush=True)
        wall, cpu = time.perf_counter() - started, time.process_time() - used
        print(f"wall {wall:.0f} s (primal {primal:.0f} s), cpu {cpu:.0f} s, {1000 * primal / self.total:.2f} ms a step")
        print(self.scores("test"))

    def scores(self, split: str) -> str:
        """Gap and violation in percent of the optimum and of the feasible ranges; equalities in MW."""
        cost, rows, _ = self.everything(split)
        gap = 100 * (cost * COST / self.optimum[split] - 1)
        violation = 100 * rows[:, ~self.equal].clamp(min=0)
        counted = violation > COUNTED
        mean = torch.where(counted, violation, 0.0).sum(1) / counted.sum(1).clamp(min=1)
        most = violation.max(1).values
        balance = 100 * rows[:, self.equal].abs()
        return (
            f"gap {gap.mean():+.3f} ± {gap.std():.3f}  violation mean {mean.mean():.3f}  max {most.mean():.3f} "
            f"p95 {most.quantile(0.95):.3f} worst {most.max():.2f}  balance {balance.mean():.4f} MW"
        )

    def time(self) -> None:
        """Milliseconds of a step, by the wall and by the processor."""
        for _ in range(50):
            self.step()
        walls, cpus = [], []
        for _ in range(self.options.steps // 30):
            began, used = time.perf_counter(), time.process_time()
            for _ in range(30):
                self.step()
            walls.append(1000 * (time.perf_counter() - began) / 30)
            cpus.append(1000 * (time.process_time() - used) / 30)
        print(f"{median(walls):.2f} ms a step, best {min(walls):.2f}; cpu {median(cpus):.2f}, best {min(cpus):.2f}")


def build_duals(equal: Tensor, rho: Tensor, rows: int, options: argparse.Namespace) -> Duals:
    """The multipliers that ``--dual`` asks for."""
    if options.dual == "pointwise":
        return Table(equal, rho, options.cap, rows)
    if options.dual == "shared":
        return Shared(equal, rho, options.cap)
    heads = Heads(options.hidden, options.width)
    return Learned(equal, rho, options.cap, heads, options.fit_lr, options.fit_steps, options.fit_batch)


def batches(rows: int, size: int, seed: int) -> Iterator[Tensor]:
    """Positions of whole batches, a fresh order every epoch."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(rows, generator=generator)
        yield from order[: rows - rows % size].view(-1, size)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = reader.add_argument
    add("--train", action="store_true")
    add("--dual", choices=("pointwise", "shared", "learned"), default="pointwise")
    add("--net", choices=("gnn", "mlp"), default="gnn", help="an mlp has no features for learned multipliers")
    add("--steps", type=int, default=300, help="steps that are timed")
    add("--outer", type=int, default=40)
    add("--per-outer", type=int, default=250)
    add("--batch", type=int, default=32)
    add("--width", type=int, default=32)
    add("--layers", type=int, default=3)
    add("--lr", type=float, default=2e-3)
    add("--rho", type=float, default=10.0)
    add("--rho-equal", type=float, default=100.0)
    add("--cap", type=float, default=20.0)
    add("--hidden", type=int, nargs="*", default=[128, 128], help="layers of a learned multiplier")
    add("--fit-lr", type=float, default=1e-3)
    add("--fit-steps", type=int, default=30)
    add("--fit-batch", type=int, default=128)
    add("--seed", type=int, default=0)
    return reader


def main() -> None:
    """Time or train."""
    options = parser().parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    from opf30_inputs import inputs

    torch.manual_seed(options.seed)
    training = Training(inputs(options.net, options.layers, options.width), options)
    if options.train:
        training.train()
    else:
        training.time()


if __name__ == "__main__":
    main()
