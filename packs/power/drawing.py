"""Rows over a network of buses and branches: it is drawn with the mean multipliers on its buses and lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdual.compiler.layout import Sense
from pdual.dsl.declarations.known import Known
from pdual.runtime.drawings.drawing import Drawing, Picture, RowsToDraw

if TYPE_CHECKING:
    import networkx as nx
    from matplotlib.figure import Figure

#: Lines and buses that the words name.
NAMED = 3
#: Buses up to which every one is labelled.
LABELLED = 60


@dataclass(frozen=True)
class _Loads:
    """Mean multipliers of the members of each set, [members]."""

    bus: Any
    branch: Any
    unit: Any


def draw(rows: RowsToDraw) -> Sequence[Drawing]:
    """What inequalities cost where, and the prices that equalities set at the buses."""
    known = rows.graph.knowns[rows.data.settings.grid.given]  # type: ignore[attr-defined]
    names = [label.split(" ")[0] for label in known.sets["bus"]]
    places = _places(known)
    found = [_limits(rows, known, names, places)]
    prices = _prices(rows, known, names, places)
    return found if prices is None else [*found, prices]


def _limits(rows: RowsToDraw, known: Known, names: Sequence[str], places: Mapping[int, Any]) -> Picture:
    loads = _loads(rows, known, Sense.AT_MOST)
    figure = _network(known, names, places, loads, "mean multiplier of limits, scaled", signed=False)
    words = (
        f"Mean over {len(rows.ids)} {rows.split} rows of the multipliers of inequalities, scaled, summed over those of a bus (with its "
        f"units) and of a line. Buses with the largest: {_largest(loads.bus + loads.unit, names)}. "
        f"Lines with the largest: {_largest(loads.branch, known.sets['branch'])}."
    )
    return Picture("What limits cost on the network", figure, words)


def _prices(rows: RowsToDraw, known: Known, names: Sequence[str], places: Mapping[int, Any]) -> Picture | None:
    """Of the first equality over all buses; None where there is none, or it has no multipliers."""
    parts = [p for p in rows.layout.parts if p.sense is Sense.EQUAL and p.sets == ("bus",) and p.size == len(names)]
    if not parts:
        return None
    values = rows.multipliers[:, rows.columns(parts[:1])].mean(0).numpy()
    if not np.any(values):
        return None
    nothing = np.zeros(len(known.sets["branch"]))
    loads = _Loads(values, nothing, np.zeros(len(names)))
    figure = _network(known, names, places, loads, f"mean multiplier of {parts[0].name}, scaled", signed=True)
    words = f"Mean over {len(rows.ids)} {rows.split} rows of the multipliers of {parts[0].name}, scaled, from {values.min():.3g} to {values.max():.3g}."
    return Picture("Prices at the buses", figure, words)


def _loads(rows: RowsToDraw, known: Known, sense: Sense) -> _Loads:
    """Absolute multipliers, mean over rows, summed over the parts of each set; units stand at their bus."""
    sums = {name: np.zeros(len(known.sets[name])) for name in ("bus", "branch", "gen")}
    for part in rows.layout.parts:
        if part.sense is sense and len(part.sets) == 1 and part.sets[0] in sums:
            means = rows.multipliers[:, rows.columns([part])].abs().mean(0).numpy()
            np.add.at(sums[part.sets[0]], [member[0] for member in part.members], means)
    units = np.zeros(len(known.sets["bus"]))
    np.add.at(units, np.asarray(known.fields["at"], dtype=int), sums["gen"])
    return _Loads(sums["bus"], sums["branch"], units)


def _graph(known: Known) -> nx.Graph:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(len(known.sets["bus"])))
    graph.add_edges_from(zip(known.fields["source"], known.fields["target"], strict=True))
    return graph


def _places(known: Known) -> Mapping[int, Any]:
    """Where buses stand: near in the drawing are those that few lines part."""
    import networkx as nx

    graph = _graph(known)
    start = nx.circular_layout(graph)
    if len(graph) > 400 or not nx.is_connected(graph):
        found: Mapping[int, Any] = nx.spring_layout(graph, seed=0, iterations=100)
    else:
        found = nx.kamada_kawai_layout(graph, pos=start)
    return found


def _network(
    known: Known, names: Sequence[str], places: Mapping[int, Any], loads: _Loads, title: str, signed: bool
) -> Figure:
    import networkx as nx
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    axes = figure.subplots()
    values = loads.bus + loads.unit
    most = max(float(np.abs(values).max(initial=0)), float(loads.branch.max(initial=0)), 1e-12)
    colours = colormaps["viridis" if signed else "YlOrRd"]
    scale = Normalize(float(values.min()) if signed else 0.0, float(values.max()) if signed else most)
    ends = list(zip(known.fields["source"], known.fields["target"], strict=True))
    graph = _graph(known)
    nx.draw_networkx_edges(
        graph,
        places,
        ax=axes,
        edgelist=ends,
        width=[1.0 + 6.0 * load / most for load in loads.branch],
        edge_color=["#9a9a9a" if load <= 0 else colours(scale(load)) for load in loads.branch],
    )
    small = len(names) > LABELLED
    nx.draw_networkx_nodes(
        graph,
        places,
        ax=axes,
        nodelist=range(len(names)),
        node_color=[colours(scale(value)) for value in values],
        edgecolors="#333333",
        linewidths=0.7,
        node_size=40 if small else 260,
    )
    if not small:
        for bus, name in enumerate(names):
            red, green, blue, _ = colours(scale(values[bus]))
            ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
            x, y = places[bus]
            axes.text(x, y, name, color=ink, fontsize=8, ha="center", va="center")
    figure.colorbar(ScalarMappable(scale, colours), ax=axes, label=title, shrink=0.8)
    axes.set_axis_off()
    return figure


def _largest(values: Any, names: Sequence[str]) -> str:
    order = [int(place) for place in np.argsort(-values, kind="stable")[:NAMED] if values[place] > 0]
    return ", ".join(f"{names[place]} ({values[place]:.3g})" for place in order) or "none"
