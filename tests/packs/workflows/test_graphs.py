"""Graphs taken from a store are the graphs that were put there, whatever their order and number."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pdual.packs.workflows.graphs import GraphStore
from pdual.packs.workflows.sources.flora import graph_store

Graph = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
VALUES = torch.arange(10.0).unsqueeze(1)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    nodes = draw(st.lists(st.integers(0, 9), min_size=1, max_size=5))
    ends = st.integers(0, len(nodes) - 1)
    return tuple(nodes), tuple(draw(st.lists(st.tuples(ends, ends), max_size=6)))


def taken(store: GraphStore, rows: list[int]) -> list[Graph]:
    """The graph of each row, read off a batch."""
    batch = store.batch(torch.tensor(rows), {"node": VALUES})
    assert batch.graphs == len(set(rows)) == int(batch.graph.max()) + 1
    found: list[Graph] = []
    for place in batch.rows.tolist():
        own = [node for node, graph in enumerate(batch.graph.tolist()) if graph == place]
        edges = [(a - own[0], b - own[0]) for a, b in batch.edges.T.tolist() if a in own]
        found.append((tuple(int(batch.nodes["node"][node]) for node in own), tuple(edges)))
    return found


@settings(deadline=None)
@given(st.lists(graphs(), min_size=1, max_size=5), st.data())
def test_what_is_taken_is_what_was_put_there(given_graphs: list[Graph], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, len(given_graphs) - 1), min_size=1, max_size=8))
    store = graph_store(given_graphs).to(torch.device("cpu"))
    assert taken(store, rows) == [given_graphs[row] for row in rows]
