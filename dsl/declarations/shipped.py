"""What pdual ships, by its name in a spec: where each declaration is."""

from __future__ import annotations

from collections.abc import Mapping

from pdual.dsl.declarations.source import BOUND_NAME

_HERE = "pdual.dsl.declarations"

SOURCES: Mapping[str, str] = {
    BOUND_NAME: f"{_HERE}.sources_table:BOUND",
    "csv": f"{_HERE}.sources_table:CSV",
    "digits": f"{_HERE}.sources_images:DIGITS",
    "flora": f"{_HERE}.sources_language:FLORA",
    "mnist": f"{_HERE}.sources_images:MNIST",
    "power.case": f"{_HERE}.sources_power:POWER_CASE",
    "power.demands": f"{_HERE}.sources_power:POWER_DEMANDS",
    "tofu": f"{_HERE}.sources_tofu:TOFU",
}

ARCHITECTURES: Mapping[str, str] = {
    "causal_lm": f"{_HERE}.architecture_causal_lm:CAUSAL_LM",
    "cnn": f"{_HERE}.architecture_cnn:CNN",
    "free": f"{_HERE}.architecture_plain:FREE",
    "gnn": f"{_HERE}.architecture_gnn:GNN",
    "graph_pair": f"{_HERE}.architecture_language:GRAPH_PAIR",
    "linear": f"{_HERE}.architecture_plain:LINEAR",
    "mlp": f"{_HERE}.architecture_plain:MLP",
    "preconditioned": f"{_HERE}.architecture_preconditioned:PRECONDITIONED",
    "power.completed": f"{_HERE}.architecture_power:POWER_COMPLETED",
}

EVALUATIONS: Mapping[str, str] = {
    "flora.flipped": f"{_HERE}.evaluations_flora:FLORA_FLIPPED",
    "flora.utility": f"{_HERE}.evaluations_flora:FLORA_UTILITY",
    "language.kl": f"{_HERE}.evaluations_language:LANGUAGE_KL",
    "language.scores": f"{_HERE}.evaluations_language:LANGUAGE_SCORES",
    "power.projected": f"{_HERE}.evaluations_power:POWER_PROJECTED",
    "tofu.suite": f"{_HERE}.evaluations_language:TOFU_SUITE",
}
