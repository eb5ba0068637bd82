"""The architectures that pdual ships, one module each."""

from __future__ import annotations

from pdual.dsl.declarations.architecture import Architecture
from pdual.dsl.declarations.architecture_cnn import CNN
from pdual.dsl.declarations.architecture_gnn import GNN
from pdual.dsl.declarations.architecture_language import CAUSAL_LM, GRAPH_PAIR
from pdual.dsl.declarations.architecture_plain import FREE, LINEAR, MLP
from pdual.dsl.declarations.architecture_power import POWER_COMPLETED

ARCHITECTURES: tuple[Architecture, ...] = (CAUSAL_LM, CNN, FREE, GNN, GRAPH_PAIR, LINEAR, MLP, POWER_COMPLETED)
