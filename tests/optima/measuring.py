"""One run of a quadratic program by the solver, measured against its optimum on its own rows and on rows it never saw."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from kinds import Kind
from programs import Array, Program

import pdual

#: What rounding and the tolerance of the independent solver may add.
ROUNDING = 1e-7


@dataclass(frozen=True)
class Solved:
    """A run and the optimum: z, x and scaled multipliers by the run, x*, lam* and values from the independent solver."""

    run: pdual.Run
    program: Program
    z: Array
    x: Array
    multipliers: Array
    best: Array
    prices: Array
    values: Array

    @property
    def gap(self) -> float:
        """|E l0(x) - P*| / P*."""
        optimum = self.values.mean()
        return float(abs(self.program.objective(self.x, self.z).mean() - optimum) / optimum)

    @property
    def off(self) -> Array:
        """|x - x*| of every row."""
        return np.linalg.norm(self.x - self.best, axis=1)

    @property
    def violation(self) -> Array:
        """The norm of [g]_+ (|h| of an equality) of every row, scaled."""
        found = self.program.residuals(self.x, self.z)
        return np.linalg.norm(np.where(self.program.equal, found, np.maximum(found, 0)), axis=1)

    @property
    def relative(self) -> float:
        """E |lam - lam*|_1 / E |lam*|_1, summed over constraints."""
        return float(np.abs(self.multipliers - self.prices).sum() / np.abs(self.prices).sum())

    @property
    def furthest(self) -> float:
        """The largest |lam - lam*|."""
        return float(np.abs(self.multipliers - self.prices).max())


@dataclass(frozen=True)
class Held:
    """A number that was measured, and what it may be at most."""

    name: str
    measured: float
    bound: float

    @property
    def inside(self) -> bool:
        """Whether it is; what rounding and the tolerance of the independent solver add is left out."""
        return self.measured <= self.bound + ROUNDING


def bars(kind: Kind, own: Solved, unseen: Solved) -> list[Held]:
    """What is asked of a kind, on its own rows and on unseen ones (the same where it has none)."""
    found = [
        Held("E |lam - lam*| / E |lam*|, unseen", unseen.relative, kind.relative),
        Held("|E l0 - P*| / P*", own.gap, kind.gap),
        Held("mean violation", float(own.violation.mean()), kind.gap),
        Held("mean |x - x*|", float(own.off.mean()), kind.far),
    ]
    if kind.furthest is not None:
        found.append(Held("largest |lam - lam*|", own.furthest, kind.furthest))
    if not kind.model.startswith("free"):
        found.append(Held("|E l0 - P*| / P*, unseen", unseen.gap, kind.gap))
        found.append(Held("mean violation, unseen", float(unseen.violation.mean()), kind.gap))
    return found


def solve(program: Program, folder: Path, kind: Kind, seed: int = 0) -> dict[str, Solved]:
    """Solve a program with a kind; measured on train rows, and on unseen ones where there are any."""
    folder.mkdir(parents=True, exist_ok=True)
    spec = folder / f"{program.name}.pdual"
    rows = kind.rows + kind.unseen
    spec.write_text(program.text(kind.model, kind.dual, kind.settings, kind.unseen / rows), encoding="utf-8")
    z = np.random.default_rng(seed).uniform(-1, 1, (rows, program.width))
    run = pdual.load(spec, data={"d": {"z": z}}).solve(out=folder / "run", seed=seed, precision="float64")
    own = kind.model.startswith("free")
    return {split: measured(run, program, split, own) for split in run.outcome.run.splits}


def measured(run: pdual.Run, program: Program, split: str, own: bool) -> Solved:
    """The run beside the optimum on a split. ``own``: the model holds a vector for every train row, and what it says elsewhere was
    not trained; there x is the minimiser of the Lagrangian.
    """
    table = run.outcome.run.training_sets[0].table
    ids = table.splits[split]
    z = table.batch(ids).values["z"]
    assert isinstance(z, torch.Tensor)
    multipliers = run.multipliers(split)
    held = [multipliers[name] for name, _ in program.parts]
    assert [item.shape[1] for item in held] == [size for _, size in program.parts]
    lam = torch.cat(held, 1).numpy()
    if own and split != "train":
        x = program.unconstrained(z.numpy(), lam)
    else:
        with torch.no_grad():
            x = run.outcome.run.problem.models["f"]({"z": z, "@row": ids}).outputs[""].numpy()
    return Solved(run, program, z.numpy(), x, lam, *program.optima(z.numpy()))
