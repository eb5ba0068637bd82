"""Sources, architectures and kinds of dual of no domain, by name: where each declaration is. Domains are packs, which entry points name."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl.declarations.source import BOUND_NAME

_HERE = "pdual.dsl.declarations"

SOURCES: Mapping[str, str] = {
    BOUND_NAME: f"{_HERE}.sources_table:BOUND",
    "csv": f"{_HERE}.sources_table:CSV",
}

DUALS: Mapping[str, str] = {
    "pointwise": f"{_HERE}.duals:POINTWISE",
    "shared": f"{_HERE}.duals:SHARED",
    "hybrid": f"{_HERE}.duals:HYBRID",
    "learned": f"{_HERE}.duals:LEARNED",
    "formula": f"{_HERE}.duals:FORMULA",
    "penalty": f"{_HERE}.duals:PENALTY",
    "none": f"{_HERE}.duals:NONE",
}

ARCHITECTURES: Mapping[str, str] = {
    "cnn": f"{_HERE}.architecture_cnn:CNN",
    "free": f"{_HERE}.architecture_plain:FREE",
    "gnn": f"{_HERE}.architecture_gnn:GNN",
    "linear": f"{_HERE}.architecture_plain:LINEAR",
    "mlp": f"{_HERE}.architecture_plain:MLP",
    "preconditioned": f"{_HERE}.architecture_preconditioned:PRECONDITIONED",
}
