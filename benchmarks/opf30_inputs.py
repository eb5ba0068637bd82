"""What both sides of the comparison share: the grid, the demands and the predictor of specs/opf30.pdual, from pdual.

The step written by hand (hand_opf30*.py) imports nothing from pdual; this hands it the same predictor and the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pdual.dsl.declarations.architecture_gnn import GnnSettings
from pdual.dsl.declarations.architecture_plain import MlpSettings
from pdual.dsl.declarations.known import Known
from pdual.dsl.declarations.references import ArchitectureUse, GivenField, GivenReference
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.types import ArrayType, Kind, MemberOf, SetAxis
from pdual.packs.power.cases.case import load_case
from pdual.packs.power.declarations.architecture import PowerCompletedSettings
from pdual.packs.power.declarations.sources import PowerCaseSettings, PowerDemandsSettings
from pdual.packs.power.optima.demands import load_demands
from pdual.runtime.data.context import SourceContext
from pdual.runtime.models.build import build_model


@dataclass(frozen=True)
class Inputs:
    """``grid``: the fields of ``power.case`` as arrays. ``load`` by split: [rows, 60], the real parts first. ``optimum``: $/h."""

    grid: Mapping[str, NDArray[Any]]
    load: Mapping[str, Tensor]
    optimum: Mapping[str, Tensor]
    predictor: nn.Module


def inputs(net: str = "gnn", layers: int = 3, width: int = 32) -> Inputs:
    """The shipped case, the demands of the spec (cached), and a predictor with fresh weights."""
    known = load_case(PowerCaseSettings(name="pglib_opf_case30_ieee"), SourceContext())
    demands = load_demands(PowerDemandsSettings(grid=GivenReference("grid")), SourceContext(knowns={"grid": known}))
    load = torch.cat((demands.columns["load.re"], demands.columns["load.im"]), 1).float()
    optimum = demands.columns["optimum"].float()
    return Inputs(
        {name: np.asarray(values) for name, values in known.fields.items()},
        {name: load[ids] for name, ids in demands.splits.items()},
        {name: optimum[ids] for name, ids in demands.splits.items()},
        _predictor(known, net, layers, width),
    )


def _predictor(known: Known, net: str, layers: int, width: int) -> nn.Module:
    """``power.completed`` as in specs/opf30.pdual, or with a perceptron as the proposer."""

    def map_to(field: str, domain: str) -> GivenField:
        return GivenField("grid", field, ArrayType(MemberOf("bus"), (SetAxis(domain),)))

    on = {name: ArrayType(Kind.COMPLEX, (SetAxis(name),)) for name in ("bus", "gen")}
    signature = Signature((("load", on["bus"]),), (Output("v", on["bus"]), Output("s", on["gen"])))
    edges = (map_to("source", "branch"), map_to("target", "branch"))
    gnn = GnnSettings(edges=edges, at=map_to("at", "gen"), layers=layers, width=width)
    mlp = MlpSettings(hidden=(256, 256, 256), activation="gelu", skip=True)
    proposer = ArchitectureUse("gnn", gnn) if net == "gnn" else ArchitectureUse("mlp", mlp)
    settings = PowerCompletedSettings(grid=GivenReference("grid"), proposer=proposer)
    sizes = {name: len(labels) for name, labels in known.sets.items()}
    return build_model(ArchitectureUse("power.completed", settings), signature, sizes, {"grid": known}, 1)
