"""``graph_pair``: its size, and its numbers against a loop over rows and nodes that shares nothing and batches nothing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as functional
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from pdual.dsl.declarations.references import ArchitectureUse
from pdual.dsl.declarations.signature import Output, Signature
from pdual.dsl.pipeline import read
from pdual.dsl.spans import Source
from pdual.dsl.types import REAL, ArrayType, FixedAxis, GraphType, Kind
from pdual.finding import shipped_specs
from pdual.packs.workflows.declarations.architecture import GRAPH_PAIR, GraphPairSettings
from pdual.packs.workflows.graphs import GraphBatch
from pdual.packs.workflows.models.graph_pair import GraphPair, Links
from pdual.packs.workflows.sources.flora import graph_store
from pdual.runtime.models.build import build_model, count_parameters

NODE, QUESTION = 5, 4
#: The nodes, as positions in ``TEXTS``, and edges: a chain, one node, a repeated edge with loops, edges both ways and none.
GRAPHS = (
    ((0, 1, 2), ((0, 1), (1, 2))),
    ((3,), ()),
    ((1, 4), ((0, 1), (0, 1), (1, 1), (1, 1))),
    ((2, 2, 0, 5), ((0, 1), (1, 0), (3, 1))),
    ((0, 1, 2), ((0, 2), (1, 2))),
)
TEXTS = torch.randn(6, NODE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
QUESTIONS = torch.randn(3, QUESTION, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
STORE = graph_store(GRAPHS)


def signature(node: int = NODE, question: int = QUESTION, output: Output | None = None) -> Signature:
    def vector(size: int) -> ArrayType:
        return ArrayType(Kind.REAL, (FixedAxis(size),))

    inputs = (("question", vector(question)), ("workflow", GraphType((("node", vector(node)),))))
    return Signature(inputs, (output or Output("", REAL),))


def network(asked: Signature | None = None, **chosen: Any) -> GraphPair:
    torch.manual_seed(0)
    use = ArchitectureUse("graph_pair", GraphPairSettings(**{"width": 7, **chosen}))
    built = build_model(use, asked or signature(), {}, {}, 1).double()
    assert isinstance(built, GraphPair)
    for weight in built.parameters():  # also the biases, which begin at 0
        nn.init.normal_(weight, std=0.5)
    return built


def inputs(rows: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """A batch of rows, each a graph and a question by position."""
    graph, question = torch.tensor(rows).unbind(1)
    return {"workflow": STORE.batch(graph, {"node": TEXTS}), "question": QUESTIONS[question]}


def looped(model: GraphPair, graph: int, question: int) -> tuple[Tensor, Tensor]:
    """Score and features of one row: sums over nodes and edges, one at a time, the convolution in its textbook order."""
    members, edges = GRAPHS[graph]
    links = [pair for pair in edges if pair[0] != pair[1]] + [(node, node) for node in range(len(members))]
    degree = [sum(target == node for _, target in links) for node in range(len(members))]
    states = [TEXTS[member] for member in members]
    for place, layer in enumerate(model.convolutions):
        assert isinstance(layer, nn.Linear)
        sent = [layer.weight @ state for state in states]
        states = []
        for node in range(len(members)):
            total = layer.bias.clone()
            for source, target in links:
                if target == node:
                    total = total + sent[source] / sqrt(degree[source] * degree[target])
            states.append(total if place == len(model.convolutions) - 1 else total.clamp(min=0))
    mean = sum(states[1:], states[0]) / len(states)
    task = QUESTIONS[question]
    for place, layer in enumerate(model.task):
        task = layer(task)
        task = task if place == 2 else task.clamp(min=0)
    joined = torch.cat((mean / mean.norm(), task / task.norm()))
    features = model.hidden(model.joint(joined).clamp(min=0)).clamp(min=0)
    return model.last(features)[0], features


ROWS = [(0, 0), (3, 1), (1, 1), (0, 2), (2, 0), (3, 1), (4, 2), (0, 0)]


@pytest.mark.parametrize("convolutions", [1, 2, 3])
@pytest.mark.parametrize("width", [3, 7])  # narrower and wider than what comes in
def test_numbers_and_slopes_are_those_of_a_loop(convolutions: int, width: int) -> None:
    model = network(convolutions=convolutions, width=width)
    found = model(inputs(ROWS))
    expected = [looped(model, *row) for row in ROWS]
    scores = torch.stack([score for score, _ in expected])
    features = torch.stack([feature for _, feature in expected])
    assert torch.allclose(found.outputs[""], scores, rtol=1e-12, atol=1e-12)
    assert torch.allclose(found.features[""], features, rtol=1e-12, atol=1e-12)
    weights = list(model.parameters())
    slopes = torch.autograd.grad(found.outputs[""].square().sum() + found.features[""].sum(), weights)
    wanted = torch.autograd.grad(scores.square().sum() + features.sum(), weights)
    assert all(torch.allclose(a, b, rtol=1e-10, atol=1e-12) for a, b in zip(slopes, wanted, strict=True))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=1, max_size=12))
def test_no_row_depends_on_the_others(rows: list[tuple[int, int]]) -> None:
    model = network()
    together = model(inputs(rows))
    for place, row in enumerate(rows):
        alone = model(inputs([row]))
        assert torch.allclose(together.outputs[""][place], alone.outputs[""][0], rtol=1e-12, atol=1e-12)
        assert torch.allclose(together.features[""][place], alone.features[""][0], rtol=1e-12, atol=1e-12)


def test_rows_that_share_nothing_by_name_are_computed_alike() -> None:
    """A source that repeats a graph for every row gets the same numbers; it only pays for it."""
    batch = inputs(ROWS)["workflow"]
    nodes, graph, edges = [], [], []
    for row, place in enumerate(batch.rows.tolist()):
        own = (batch.graph == place).nonzero().flatten()
        start = len(graph)
        nodes.append(batch.nodes["node"][own])
        graph += [row] * len(own)
        edges += [(a - int(own[0]) + start, b - int(own[0]) + start) for a, b in batch.edges.T.tolist() if a in own]
    everyone = torch.arange(len(ROWS))
    repeated = GraphBatch({"node": torch.cat(nodes)}, torch.tensor(graph), torch.tensor(edges).T, everyone, len(ROWS))
    model = network()
    found = model({**inputs(ROWS), "workflow": repeated}).outputs[""]
    assert torch.allclose(found, model(inputs(ROWS)).outputs[""], rtol=1e-12, atol=1e-12)


def test_the_convolution_is_that_of_torch_geometric() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from torch_geometric.nn import GCNConv
    batch = inputs([(graph, 0) for graph in range(5)])["workflow"]
    theirs = GCNConv(NODE, 3).double()
    with torch.no_grad():
        theirs.bias.normal_()
    links = Links.of(batch, torch.float64)
    mine = functional.linear(links.passed_on(batch.nodes["node"]), theirs.lin.weight, theirs.bias)
    expected = theirs(batch.nodes["node"], batch.edges)
    assert torch.allclose(mine, expected, rtol=1e-12, atol=1e-12)
    pooled = functional.linear(links.means(batch.nodes["node"]), theirs.lin.weight, theirs.bias)
    means = torch.stack([expected[batch.graph == graph].mean(0) for graph in range(5)])
    assert torch.allclose(pooled, means, rtol=1e-12, atol=1e-12)


def test_single_precision_follows_double() -> None:
    model = network()
    expected = model(inputs(ROWS)).outputs[""]
    single = model.float()
    assert torch.allclose(single(inputs(ROWS)).outputs[""].double(), expected, atol=1e-4)


def test_an_output_with_bounds_is_kept_in_them() -> None:
    found = network(signature(output=Output("p", REAL, 0.0, 1.0)))(inputs(ROWS)).outputs["p"]
    assert found.shape == (len(ROWS),)
    assert bool(((found > 0) & (found < 1)).all())


def test_dropout_is_of_training_only_and_never_in_features() -> None:
    quiet, noisy = network(), network(dropout=0.5)
    expected = quiet(inputs(ROWS))
    assert torch.equal(noisy.eval()(inputs(ROWS)).outputs[""], expected.outputs[""])
    torch.manual_seed(3)
    found = noisy.train()(inputs(ROWS))
    assert not torch.allclose(found.outputs[""], expected.outputs[""])
    assert torch.equal(found.features[""], expected.features[""])
    found.outputs[""].sum().backward()  # type: ignore[no-untyped-call]
    assert all(weight.grad is not None for weight in noisy.parameters())


@pytest.mark.parametrize(("width", "count"), [(2048, 26_755_073), (512, 1_970_177), (128, 197_633)])
def test_the_network_of_the_paper_and_its_variants(width: int, count: int) -> None:
    asked, chosen = signature(384, 384), GraphPairSettings(width=width)
    assert GRAPH_PAIR.parameters(asked, chosen, {}) == count
    with torch.device("meta"):
        assert count_parameters(build_model(ArchitectureUse("graph_pair", chosen), asked, {}, {}, 1)) == count


def test_the_shipped_spec_has_the_network_of_the_paper() -> None:
    spec, found = read(Source("flora", Path(shipped_specs()["flora"]).read_text()))
    assert spec is not None, found
    (model,) = [item for item in spec.models if item.name == "predictor"]
    assert model.architecture is not None
    with torch.device("meta"):
        built = build_model(model.architecture, model.signature, {"dim": 384}, {}, 1)
    assert count_parameters(built) == 26_755_073
