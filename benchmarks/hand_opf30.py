"""opf30 written by hand in PyTorch: what compiled specs are measured against.

The predictor and the data come from pdual, the training loop, the constraints and the multipliers do not. Without
``--train`` it prints the time of a step; with it, it trains for real and prints the test row of the table in the docs.

    python benchmarks/hand_opf30.py --steps 300
    python benchmarks/hand_opf30.py --train --dual learned
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_gnn import GnnSettings
from pdual.dsl.declarations.architecture_plain import MlpSettings
from pdual.dsl.declarations.architecture_power import PowerCompletedSettings
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import ArchitectureUse, GivenField, GivenReference
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.declarations.sources_power import PowerCaseSettings, PowerDemandsSettings
from pdual.dsl.types import ArrayType, Kind, MemberOf, SetAxis
from pdual.runtime.architectures.build import build_model
from pdual.runtime.context import SourceContext
from pdual.runtime.sources.power_case import load_case
from pdual.runtime.sources.power_demands import load_demands

COST = 8208.5
BUSES, UNITS, BRANCHES = 30, 6, 41


class Constraints(nn.Module):
    """Cost over ``COST`` and 309 scaled rows of (v, s, load), all as [batch, ...] reals.

    Columns: bus blocks (balance.re, balance.im, voltage.lower, voltage.upper), gen blocks (re.lower, re.upper,
    im.lower, im.upper), branch blocks (source, target, angle.lower, angle.upper), the reference bus last.
    """

    def __init__(self, known: Known) -> None:
        super().__init__()
        grid = {name: np.asarray(values) for name, values in known.fields.items()}
        source, target, tap, series = (grid[name] for name in ("source", "target", "tap", "series"))
        branches = np.arange(BRANCHES)
        out, into = np.zeros((2, BRANCHES, BUSES), complex)
        out[branches, source] = (series + grid["charge_source"]) / np.abs(tap) ** 2
        out[branches, target] = -series / np.conj(tap)
        into[branches, target] = series + grid["charge_target"]
        into[branches, source] = -series / tap
        nodal = np.diag(grid["shunt"].astype(complex))
        np.add.at(nodal, source, out)
        np.add.at(nodal, target, into)
        at_bus = np.zeros((UNITS, BUSES))
        at_bus[np.arange(UNITS), grid["at"]] = 1.0
        p, q = (grid["s_max"] - grid["s_min"]).real, (grid["s_max"] - grid["s_min"]).imag
        p = np.where(p < 1e-3, p[p >= 1e-3].mean(), p)
        size, turn = grid["v_max"] - grid["v_min"], grid["angle_max"] - grid["angle_min"]

        self.source, self.target = (torch.tensor(end) for end in (source, target))
        self.ends = torch.cat((self.source, self.target))
        self.slack = int(np.flatnonzero(grid["slack"])[0])
        for name, value in {
            "currents": _parts(np.concatenate((out, into))),
            "nodal": _parts(nodal),
            "at_bus": at_bus,
            "c1": grid["c1"] / COST,
            "c2": grid["c2"] / COST,
            "rate": np.tile(grid["rate"], 2),
            "size_low": grid["v_min"] / size,
            "size_high": grid["v_max"] / size,
            "size_scale": 1 / size,
            "s_low": np.concatenate((grid["s_min"].real / p, grid["s_min"].imag / q)),
            "s_high": np.concatenate((grid["s_max"].real / p, grid["s_max"].imag / q)),
            "s_scale": 1 / np.concatenate((p, q)),
            "turn_low": grid["angle_min"] / turn,
            "turn_high": grid["angle_max"] / turn,
            "turn_scale": 1 / turn,
        }.items():
            self.register_buffer(name, torch.tensor(value, dtype=torch.float32))
        self.c0 = float(grid["c0"].sum() / COST)
        self.equal = torch.zeros(309, dtype=torch.bool)
        self.equal[: 2 * BUSES] = self.equal[-1] = True

    def forward(self, output: dict[str, Tensor], load: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Cost [batch] and rows [batch, 309]."""
        v_re, v_im, p, q = (output[name] for name in ("v.re", "v.im", "s.re", "s.im"))
        cost = self.c0 + p @ self.c1 + p.square() @ self.c2
        v = torch.cat((v_re, v_im), 1)
        node_re, node_im = (v @ self.nodal).chunk(2, 1)
        balance_re = p @ self.at_bus - load[0] - torch.addcmul(v_re * node_re, v_im, node_im)
        balance_im = q @ self.at_bus - load[1] - torch.addcmul(v_im * node_re, v_re, node_im, value=-1)

        square = torch.addcmul(v_re * v_re, v_im, v_im)
        size = square.sqrt() * self.size_scale
        scaled = torch.cat((p, q), 1) * self.s_scale
        below, above = self.s_low - scaled, scaled - self.s_high

        flow_re, flow_im = (v @ self.currents).chunk(2, 1)
        flow_square = torch.addcmul(flow_re * flow_re, flow_im, flow_im) * square[:, self.ends]
        flow = (flow_square + 1e-10).sqrt() / self.rate - 1

        s_re, s_im = v_re[:, self.source], v_im[:, self.source]
        t_re, t_im = v_re[:, self.target], v_im[:, self.target]
        turn = torch.atan2(torch.addcmul(s_im * t_re, s_re, t_im, value=-1), torch.addcmul(s_re * t_re, s_im, t_im))
        turn = turn * self.turn_scale
        reference = torch.atan2(v_im[:, self.slack], v_re[:, self.slack])[:, None]
        rows = [balance_re, balance_im, self.size_low - size, size - self.size_high]
        rows += [below[:, :UNITS], above[:, :UNITS], below[:, UNITS:], above[:, UNITS:]]
        rows += [flow, self.turn_low - turn, turn - self.turn_high, reference]
        return cost, torch.cat(rows, 1)


def _parts(matrix: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The real matrix of (re, im) -> (re, im), transposed: it multiplies rows from the right."""
    return np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]]).T


class Heads(nn.Module):
    """One perceptron a set on each member's features, and a bias an entry: raw multipliers [batch, 309]."""

    def __init__(self, hidden: list[int], width: int, activation: nn.Module, normalise: bool) -> None:
        super().__init__()

        def perceptron(inputs: int) -> nn.Sequential:
            layers: list[nn.Module] = [nn.LayerNorm(inputs)] if normalise else []
            for outputs in hidden:
                layers += [nn.Linear(inputs, outputs), activation]
                inputs = outputs
            last = nn.Linear(inputs, 4, bias=False)
            nn.init.zeros_(last.weight)
            return nn.Sequential(*layers, last)

        self.bus, self.gen, self.branch = perceptron(width), perceptron(width), perceptron(2 * width)
        self.bias = nn.Parameter(torch.zeros(309))

    def forward(self, features: dict[str, Tensor]) -> Tensor:
        raw = [
            head(features[name]).transpose(1, 2).flatten(1)
            for name, head in (("bus", self.bus), ("gen", self.gen), ("branch", self.branch))
        ]
        return functional.pad(torch.cat(raw, 1), (0, 1)) + self.bias


@dataclass
class Duals:
    """The multipliers of all rows: a table, one shared vector, or a network on the features."""

    kind: str
    low: Tensor
    cap: float
    rho: Tensor
    rows: int
    heads: Heads
    lr: float
    fit_steps: int
    fit_batch: int
    refit_lr: float

    def __post_init__(self) -> None:
        self.table = torch.zeros(self.rows if self.kind == "pointwise" else 1, 309)
        self.optimiser = torch.optim.Adam(self.heads.parameters(), lr=self.lr, betas=(0.9, 0.999), fused=True)
        self.updates = 0

    def clipped(self, raw: Tensor) -> Tensor:
        return torch.minimum(torch.maximum(raw, self.low), torch.full((), self.cap))

    def value(self, ids: Tensor, features: dict[str, Tensor]) -> Tensor:
        if self.kind == "learned":
            with torch.no_grad():
                return self.clipped(self.heads({name: value.detach() for name, value in features.items()}))
        return self.table[ids] if self.kind == "pointwise" else self.table

    def ascend(self, rows: Tensor, features: dict[str, Tensor], rate: float) -> str:
        """After an outer iteration, with all rows and features at the new predictor."""
        if self.kind == "none":
            return ""
        if self.kind == "pointwise":
            self.table = self.clipped(self.table + rate * self.rho * rows)
        elif self.kind == "shared":
            residual = torch.where(self.low < 0, rows, torch.maximum(rows, -self.table / self.rho))
            self.table = self.clipped(self.table + rate * self.rho * residual.mean(0, keepdim=True))
        else:
            return self.fit(rows, features, rate)
        return ""

    def fit(self, rows: Tensor, features: dict[str, Tensor], rate: float) -> str:
        with torch.no_grad():
            before = self.clipped(self.heads(features))
            target = self.clipped(before + rate * self.rho * rows)
            weight = 1 / target.square().mean(0).clamp(min=1e-4)
            self.heads.bias += (target - before).mean(0)
        generator = torch.Generator().manual_seed(self.updates)
        for step in range(self.fit_steps):
            ids = torch.randint(len(rows), (self.fit_batch,), generator=generator)
            raw = self.heads({name: value[ids] for name, value in features.items()})
            wanted = target[ids]
            # The head is a clip: what lies outside on the side of its target has no error and no gradient.
            silent = ((wanted <= self.low) & (raw < self.low)) | ((wanted >= self.cap) & (raw > self.cap))
            error = torch.where(silent, 0.0, raw - wanted)
            self.optimiser.param_groups[0]["lr"] = (
                self.lr * self.refit_lr * 0.5 * (1 + math.cos(math.pi * step / self.fit_steps))
            )
            self.optimiser.zero_grad()
            (error.square() * weight).sum(1).mean().backward()
            self.optimiser.step()
        self.updates += 1
        with torch.no_grad():
            after = self.clipped(self.heads(features))
            lag = (target - after).mean(0)
        return f"lag {lag.abs().max():.4f} fit {(target - after).square().mean().sqrt():.4f}"


class Flat:
    """All weights of a model and their gradients as one vector each: one norm, one optimiser step."""

    def __init__(self, model: nn.Module) -> None:
        weights = list(model.parameters())
        self.vector = torch.cat([weight.detach().flatten() for weight in weights])
        self.vector.requires_grad_()
        self.vector.grad = torch.zeros_like(self.vector)
        start = 0
        for weight in weights:
            end = start + weight.numel()
            weight.data = self.vector.data[start:end].view_as(weight)
            weight.grad = self.vector.grad[start:end].view_as(weight)
            start = end

    def clip(self, limit: float) -> float:
        assert self.vector.grad is not None
        norm = float(self.vector.grad.norm())
        if norm > limit:
            self.vector.grad.mul_(limit / norm)
        return norm


def gnn_use(width: int, layers: int) -> ArchitectureUse:
    def map_to(field: str, domain: str) -> GivenField:
        return GivenField("grid", field, ArrayType(MemberOf("bus"), (SetAxis(domain),)))

    edges = (map_to("source", "branch"), map_to("target", "branch"))
    return ArchitectureUse("gnn", GnnSettings(edges=edges, at=map_to("at", "gen"), layers=layers, width=width))


def build_predictor(known: Known, options: argparse.Namespace) -> nn.Module:
    on = {name: ArrayType(Kind.COMPLEX, (SetAxis(name),)) for name in ("bus", "gen")}
    signature = Signature((("load", on["bus"]),), (Output("v", on["bus"]), Output("s", on["gen"])))
    proposer = gnn_use(options.width, options.layers)
    if options.net == "mlp":
        proposer = ArchitectureUse("mlp", MlpSettings(hidden=(256, 256, 256), activation="gelu", skip=True))
    settings = PowerCompletedSettings(grid=GivenReference("grid"), proposer=proposer, steps=options.newton)
    sizes = {"bus": BUSES, "gen": UNITS, "branch": BRANCHES}
    return build_model(ArchitectureUse("power.completed", settings), signature, sizes, {"grid": known}, 1)


def batches(rows: int, size: int, seed: int) -> Iterator[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(rows, generator=generator)
        yield from order[: rows - rows % size].view(-1, size)


class Training:
    def __init__(self, options: argparse.Namespace) -> None:
        torch.manual_seed(options.seed)
        self.options = options
        self.known = load_case(PowerCaseSettings(name="pglib_opf_case30_ieee"), SourceContext())
        demands = load_demands(
            PowerDemandsSettings(grid=GivenReference("grid"), samples=10_000),
            SourceContext(knowns={"grid": self.known}),
        )
        columns = [demands.columns[name].float() for name in ("load.re", "load.im", "optimum")]
        self.load = {name: tuple(c[ids] for c in columns[:2]) for name, ids in demands.splits.items()}
        self.optimum = {name: columns[2][ids] for name, ids in demands.splits.items()}
        self.rows = len(self.optimum["train"])
        self.model = build_predictor(self.known, options)
        self.constraints = Constraints(self.known)
        self.equal = self.constraints.equal
        self.rho = torch.where(self.equal, options.rho_equal, options.rho)
        self.low = torch.where(self.equal, -options.cap, 0.0)
        self.flat = Flat(self.model)
        betas = (options.beta1, options.beta2)
        self.optimiser = torch.optim.Adam([self.flat.vector], lr=options.lr, betas=betas, fused=True)
        activation = nn.SiLU() if options.dual_activation == "silu" else nn.ReLU()
        heads = Heads(options.dual_hidden, options.width, activation, options.dual_normalise)
        self.duals = Duals(
            options.dual,
            self.low,
            options.cap,
            self.rho,
            self.rows,
            heads,
            options.dual_lr,
            options.fit_steps,
            options.fit_batch,
            1.0,
        )
        self.average = self.flat.vector.detach().clone()
        self.batches = batches(self.rows, options.batch, options.seed)
        self.done = 0
        self.total = options.outer * options.per_outer

    def rate(self) -> float:
        if self.done < self.options.warmup:
            return (self.done + 1) / self.options.warmup
        progress = min(1.0, (self.done - self.options.warmup) / max(1, self.total - self.options.warmup))
        return self.options.final + (1 - self.options.final) * 0.5 * (1 + math.cos(math.pi * progress))

    def step(self) -> None:
        ids = next(self.batches)
        load = tuple(part[ids] for part in self.load["train"])
        found = self.model({"load.re": load[0], "load.im": load[1]})
        cost, rows = self.constraints(found.outputs, load)
        multipliers = self.duals.value(ids, found.features)
        residual = torch.where(self.equal, rows, torch.maximum(rows, -multipliers / self.rho))
        penalty = residual * torch.addcmul(multipliers, residual, self.rho, value=0.5)
        loss = cost.mean() + penalty.sum() / len(ids)
        self.flat.vector.grad.zero_()  # type: ignore[union-attr]
        loss.backward()
        self.flat.clip(self.options.clip)
        self.optimiser.param_groups[0]["lr"] = self.options.lr * self.rate()
        self.optimiser.step()
        self.done += 1
        if self.options.average:
            self.average.lerp_(self.flat.vector.detach(), max(1 - self.options.average, 1 / (self.done + 1)))

    @torch.no_grad()
    def everything(self, split: str) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        """Cost, rows and features of all rows of a split."""
        parts = []
        for start in range(0, len(self.optimum[split]), 500):
            load = tuple(part[start : start + 500] for part in self.load[split])
            found = self.model({"load.re": load[0], "load.im": load[1]})
            parts.append((*self.constraints(found.outputs, load), found.features))
        features = {name: torch.cat([part[2][name] for part in parts]) for name in parts[0][2]}
        return torch.cat([part[0] for part in parts]), torch.cat([part[1] for part in parts]), features

    def measure(self, split: str, cost: Tensor, rows: Tensor) -> str:
        """The bars: everything in percent (of the optimum, of the feasible range); equalities in MW."""
        gap = 100 * (cost * COST / self.optimum[split] - 1)
        violation = 100 * rows[:, ~self.equal].clamp(min=0)
        counted = violation > 0.01
        shown = torch.where(counted, violation, 0.0).sum(1) / counted.sum(1).clamp(min=1)
        most = violation.max(1).values
        pooled = violation[counted].mean() if counted.any() else torch.zeros(())
        balance = 100 * rows[:, self.equal].abs()
        return (
            f"gap {gap.mean():+.3f} sd {gap.std():.3f} mean(viol) {shown.mean():.3f} pooled {pooled:.3f} "
            f"max {most.mean():.3f} p95 {most.quantile(0.95):.3f} worst {most.max():.2f} "
            f"eq {balance.mean():.4f}/{balance.max(1).values.mean():.3f}"
        )

    def train(self) -> None:
        options = self.options
        started, primal, cpu = time.perf_counter(), 0.0, time.process_time()
        for outer in range(options.outer):
            began = time.perf_counter()
            for _ in range(options.per_outer):
                self.step()
            primal += time.perf_counter() - began
            cost, rows, features = self.everything("train")
            progress = outer / options.outer
            rate = options.dual_final + (1 - options.dual_final) * 0.5 * (1 + math.cos(math.pi * progress))
            note = self.duals.ascend(rows, features, rate)
            if outer % options.every == options.every - 1 or outer == options.outer - 1:
                cost, rows, _ = self.everything("test")
                print(f"{outer + 1:3d} {self.measure('test', cost, rows)} {note}", flush=True)
        wall = time.perf_counter() - started
        print(
            f"wall {wall:.0f} s, primal {primal:.0f} s, cpu {time.process_time() - cpu:.0f} s, {1000 * primal / self.total:.2f} ms a step"
        )
        self.report("final")
        if options.average:
            self.flat.vector.data.copy_(self.average)
            self.report("averaged")

    def report(self, title: str) -> None:
        for split in ("test", "val", "train"):
            cost, rows, _ = self.everything(split)
            print(f"{title} {split}: {self.measure(split, cost, rows)}", flush=True)

    def time(self) -> None:
        for _ in range(50):
            self.step()
        took, cpu = [], []
        for _ in range(self.options.steps // 30):
            began, used = time.perf_counter(), time.process_time()
            for _ in range(30):
                self.step()
            took.append((time.perf_counter() - began) / 30)
            cpu.append((time.process_time() - used) / 30)
        print(
            f"{1000 * np.median(took):.2f} ms a step (median of {len(took)} x 30), best {1000 * min(took):.2f}; cpu {1000 * np.median(cpu):.2f}, best {1000 * min(cpu):.2f}"
        )


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--train", action="store_true")
    add("--dual", choices=("pointwise", "shared", "learned", "none"), default="pointwise")
    add("--net", choices=("gnn", "mlp"), default="gnn")
    add("--steps", type=int, default=300, help="steps that are timed")
    add("--outer", type=int, default=40)
    add("--per-outer", type=int, default=250)
    add("--batch", type=int, default=32)
    add("--width", type=int, default=32)
    add("--layers", type=int, default=3)
    add("--newton", type=int, default=2)
    add("--lr", type=float, default=2e-3)
    add("--beta1", type=float, default=0.9)
    add("--beta2", type=float, default=0.99)
    add("--warmup", type=int, default=100)
    add("--final", type=float, default=0.005)
    add("--clip", type=float, default=1.0)
    add("--rho", type=float, default=10.0)
    add("--rho-equal", type=float, default=100.0)
    add("--cap", type=float, default=20.0)
    add("--average", type=float, default=0.0, help="decay of the running mean of the weights, 0: none")
    add("--dual-hidden", type=int, nargs="*", default=[128, 128])
    add("--dual-activation", choices=("relu", "silu"), default="relu")
    add("--dual-normalise", action="store_true")
    add("--dual-lr", type=float, default=1e-3)
    add("--dual-final", type=float, default=1.0, help="the dual step falls to this share on a cosine")
    add("--fit-steps", type=int, default=30)
    add("--fit-batch", type=int, default=256)
    add("--every", type=int, default=5)
    add("--seed", type=int, default=0)
    return parser


def main() -> None:
    options = parser().parse_args()
    torch.set_num_threads(1)
    training = Training(options)
    if options.train:
        training.train()
    else:
        training.time()


if __name__ == "__main__":
    main()
