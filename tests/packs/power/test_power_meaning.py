"""The spec means what the engineers mean: at IPOPT's optimum the compiled rows hold, and the compiled Lagrangian is stationary."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pdual.compiler.assemble import assemble
from pdual.compiler.compile import lower
from pdual.compiler.layout import Sense
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.runtime.data.builders import load_knowns
from pdual.runtime.data.context import SourceContext
from pdual.runtime.models.interface import ModelOutput
from pdual.runtime.problem.prepare import load_tables

SPEC = Path(__file__).parents[3] / "specs" / "opf30.pdual"
SIX = Path(__file__).parent / "cases" / "six.m"  # a tap, a shift, a shunt, parallel branches, gaps


class Given(nn.Module):
    """The optimum of the rows, as numbers to differentiate with respect to."""

    def __init__(self, **parts: Tensor) -> None:
        super().__init__()
        self.parts = {name.replace("_", "."): value.requires_grad_() for name, value in parts.items()}

    def forward(self, inputs: dict[str, Tensor]) -> ModelOutput:
        return ModelOutput(self.parts, {})


def _text(spread: float) -> str:
    """The shipped spec on another grid, its predictor given from Python, its multipliers in a table."""
    text = SPEC.read_text(encoding="utf-8").replace('"pglib_opf_case30_ieee"', "case")
    text = re.sub(r"(?ms)(^model dispatch.*?\})\s*= power\.completed.*?steps = 2\)", r"\1", text)
    text = re.sub(r"(?m)^  dual default = .*$", "  dual default = pointwise(cap = cap)", text)
    return text.replace("spread  = 0.2", f"spread  = {spread}") + '\nparam case = "handed in"\n'


def _published(name: str) -> str:
    """A case of ``$PDUAL_DATA/power``, else skip."""
    root = os.environ.get("PDUAL_DATA")
    place = Path(root or "") / "power" / f"{name}.m"
    if root is None or not place.is_file():
        pytest.skip(f"{name} is not here: set PDUAL_DATA")
    return str(place)


CASES = [
    ("pglib_opf_case30_ieee", 0.2),
    (str(SIX), 0.02),
    ("pglib/pglib_opf_case5_pjm", 0.02),
    ("pglib/pglib_opf_case14_ieee", 0.1),
    ("pglib/pglib_opf_case57_ieee", 0.02),
    ("pglib/pglib_opf_case118_ieee", 0.02),
    ("matpower/case5", 0.02),
    ("matpower/case14", 0.1),
    ("matpower/case57", 0.02),
]
LARGE = [("pglib/pglib_opf_case300_ieee", 0.005), ("matpower/case118", 0.02), ("matpower/case300", 0.005)]


@pytest.mark.parametrize(
    ("case", "spread"),
    [
        *(pytest.param(*item, id=Path(item[0]).stem) for item in CASES),
        *(pytest.param(*item, id=Path(item[0]).stem, marks=pytest.mark.long) for item in LARGE),
    ],
)
def test_ipopt_solves_the_compiled_problem(case: str, spread: float, tmp_path: Path) -> None:
    case = _published(case) if "/" in case and not case.startswith("/") else case
    spec, found = read(Source("opf", _text(spread)), {"samples": 10, "case": str(case)})
    assert spec is not None, found
    context = SourceContext(cache=tmp_path, limit=1)
    knowns = load_knowns(spec, context)
    graph, _ = lower(spec, knowns)
    table = load_tables(spec, knowns, context)["demands"]
    batch = table.batch(table.splits["train"])
    optimum = {name: batch.values[name] for name in ("v.re", "v.im", "s.re", "s.im")}
    model = Given(**{name.replace(".", "_"): value.clone() for name, value in optimum.items()})
    (program,) = assemble(graph, nn.ModuleDict({"dispatch": model}), torch.float64)
    objective, residuals, mask, *_ = program.train(batch.values, batch.ids)
    assert mask is None
    assert objective is not None

    equal = torch.tensor([part.sense is Sense.EQUAL for part in program.layout.parts for _ in range(part.size)])
    fixed = residuals.detach()
    violation = torch.where(equal, fixed.abs(), fixed.clamp(min=0))
    assert float(violation.max()) < 1e-6

    scaled = torch.cat([_entries(table.multipliers, part, batch.ids) for part in program.layout.parts], 1)
    scaled = scaled / torch.tensor(program.multiplier_units, dtype=torch.float64)
    assert float(scaled[:, ~equal].min()) > -1e-8
    assert float((scaled * fixed)[:, ~equal].abs().max()) < 1e-5
    lagrangian = objective.sum() + (scaled.detach() * residuals).sum()
    gradients = torch.autograd.grad(lagrangian, list(model.parts.values()))
    assert max(float(gradient.abs().max()) for gradient in gradients) < 1e-5


def _entries(multipliers: object, part: object, ids: Tensor) -> Tensor:
    """A solver's multipliers of the live entries of a part, [rows, entries]."""
    values: Tensor = multipliers[part.name][ids]  # type: ignore[index,attr-defined]
    members = np.array([member[0] for member in part.members])  # type: ignore[attr-defined]
    return values if values.shape[1] == len(members) else values[:, members]


def test_branch_flows_are_those_of_the_admittance_matrix(tmp_path: Path) -> None:
    """The injections of the spec's flows equal V conj(Y V) with Y built entry by entry, on a grid with taps and shifts."""
    spec, _ = read(Source("opf", _text(0.02)), {"samples": 10, "case": str(SIX)})
    assert spec is not None
    context = SourceContext(cache=tmp_path, limit=1)
    knowns = load_knowns(spec, context)
    graph, _ = lower(spec, knowns)
    grid = knowns["grid"].fields
    buses, units = len(grid["v_min"]), len(grid["at"])
    generator = torch.Generator().manual_seed(0)
    v = torch.complex(*(torch.randn(4, buses, generator=generator, dtype=torch.float64) for _ in range(2)))
    s = torch.zeros(4, units, dtype=torch.complex128)
    model = Given(v_re=v.real.clone(), v_im=v.imag.clone(), s_re=s.real.clone(), s_im=s.imag.clone())
    (program,) = assemble(graph, nn.ModuleDict({"dispatch": model}), torch.float64)
    zero = torch.zeros(4, buses, dtype=torch.float64)
    values = {"load.re": zero, "load.im": zero, "optimum": torch.ones(4, dtype=torch.float64)}
    residuals = program.train(values, torch.arange(4)).residuals.detach()
    balance = torch.complex(residuals[:, :buses], residuals[:, buses : 2 * buses])

    admittance = torch.zeros(buses, buses, dtype=torch.complex128)
    for bus in range(buses):
        admittance[bus, bus] += complex(grid["shunt"][bus])
    for k, (i, j) in enumerate(zip(grid["source"], grid["target"], strict=True)):
        series, tap = complex(grid["series"][k]), complex(grid["tap"][k])
        admittance[i, i] += (series + complex(grid["charge_source"][k])) / abs(tap) ** 2
        admittance[j, j] += series + complex(grid["charge_target"][k])
        admittance[i, j] += -series / tap.conjugate()
        admittance[j, i] += -series / tap
    injected = v * (v @ admittance.T).conj()
    scale = injected.abs().max()
    assert float((balance + injected).abs().max() / scale) < 1e-12
