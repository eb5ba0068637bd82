"""Objective and constraints of opf30 by hand: few large kernels, real arithmetic, single precision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

COST = 8208.5
ROWS = 309


class Problem:
    """Cost over ``COST`` and 309 scaled rows of (v, s, load), per unit.

    Columns: bus blocks (balance.re, balance.im, voltage.lower, voltage.upper), gen blocks (re.lower, re.upper,
    im.lower, im.upper), branch blocks (source, target, angle.lower, angle.upper), the reference bus last.
    """

    def __init__(self, grid: Mapping[str, NDArray[Any]]) -> None:
        self.buses, self.units, self.branches = (len(grid[name]) for name in ("load", "at", "source"))
        self.source, self.target = torch.tensor(grid["source"]), torch.tensor(grid["target"])
        self.ends = torch.cat((self.source, self.target))
        self.slack = int(np.flatnonzero(grid["slack"])[0])

        out, into, nodal = self._currents(grid)
        self.currents, self.nodal = _row_matrix(np.concatenate((out, into))), _row_matrix(nodal)
        at_bus = np.zeros((self.units, self.buses))
        at_bus[np.arange(self.units), grid["at"]] = 1.0
        self.at_bus = _single(at_bus)
        self.c0, self.c1, self.c2 = (
            float(grid["c0"].sum() / COST),
            _single(grid["c1"] / COST),
            _single(grid["c2"] / COST),
        )

        width = grid["s_max"] - grid["s_min"]
        p = np.where(width.real < 1e-3, width.real[width.real >= 1e-3].mean(), width.real)
        s_range = np.concatenate((p, width.imag))
        s_min, s_max = (np.concatenate((grid[name].real, grid[name].imag)) for name in ("s_min", "s_max"))
        self.s_low, self.s_high, self.s_scale = _box(s_min, s_max, s_range)
        self.v_low, self.v_high, self.v_scale = _box(grid["v_min"], grid["v_max"], grid["v_max"] - grid["v_min"])
        turn = grid["angle_max"] - grid["angle_min"]
        self.turn_low, self.turn_high, self.turn_scale = _box(grid["angle_min"], grid["angle_max"], turn)
        self.rate = _single(np.tile(grid["rate"], 2))

        self.equal = torch.zeros(ROWS, dtype=torch.bool)
        self.equal[: 2 * self.buses] = self.equal[-1] = True

    def _currents(self, grid: Mapping[str, Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Currents into every branch at its two ends, and out of every bus, from the voltages."""
        branches, (source, target) = np.arange(self.branches), (grid["source"], grid["target"])
        out, into = np.zeros((2, self.branches, self.buses), complex)
        out[branches, source] = (grid["series"] + grid["charge_source"]) / np.abs(grid["tap"]) ** 2
        out[branches, target] = -grid["series"] / np.conj(grid["tap"])
        into[branches, target] = grid["series"] + grid["charge_target"]
        into[branches, source] = -grid["series"] / grid["tap"]
        nodal = np.diag(grid["shunt"].astype(complex))
        np.add.at(nodal, source, out)
        np.add.at(nodal, target, into)
        return out, into, nodal

    def __call__(self, output: Mapping[str, Tensor], load: Tensor) -> tuple[Tensor, Tensor]:
        """Outputs [batch, ...] and the parts of the load [batch, 60] to cost [batch] and rows [batch, 309]."""
        v_re, v_im, p, q = (output[name] for name in ("v.re", "v.im", "s.re", "s.im"))
        cost = self.c0 + p @ self.c1 + p.square() @ self.c2
        v = torch.cat((v_re, v_im), 1)
        i_re, i_im = (v @ self.nodal).chunk(2, 1)
        balance_re = p @ self.at_bus - torch.addcmul(v_re * i_re, v_im, i_im)
        balance_im = q @ self.at_bus - torch.addcmul(v_im * i_re, v_re, i_im, value=-1)
        balance = torch.cat((balance_re, balance_im), 1) - load

        square = torch.addcmul(v_re * v_re, v_im, v_im)
        size = square.sqrt() * self.v_scale
        power = torch.cat((p, q), 1) * self.s_scale
        below, above = self.s_low - power, power - self.s_high

        # |S| = |v| |i|; the small number keeps the slope finite where a branch carries nothing
        f_re, f_im = (v @ self.currents).chunk(2, 1)
        flow_square = torch.addcmul(f_re * f_re, f_im, f_im) * square[:, self.ends]
        flow = (flow_square + 1e-10).sqrt() / self.rate - 1

        s_re, s_im = v_re[:, self.source], v_im[:, self.source]
        t_re, t_im = v_re[:, self.target], v_im[:, self.target]
        across = torch.addcmul(s_im * t_re, s_re, t_im, value=-1)
        turn = torch.atan2(across, torch.addcmul(s_re * t_re, s_im, t_im)) * self.turn_scale
        reference = torch.atan2(v_im[:, self.slack], v_re[:, self.slack])[:, None]

        units = self.units
        rows = [balance, self.v_low - size, size - self.v_high]
        rows += [below[:, :units], above[:, :units], below[:, units:], above[:, units:]]
        rows += [flow, self.turn_low - turn, turn - self.turn_high, reference]
        return cost, torch.cat(rows, 1)


def _row_matrix(matrix: NDArray[Any]) -> Tensor:
    """The real matrix of a complex one on (re, im), transposed: it multiplies rows from the right."""
    return _single(np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]]).T)


def _box(low: NDArray[Any], high: NDArray[Any], width: NDArray[Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Both ends in units of the range, and what turns a value into that unit."""
    return _single(low / width), _single(high / width), _single(1 / width)


def _single(values: NDArray[Any]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)
