"""Rows are drawn by their sources: images, a network, texts; which one the source says, not the name of a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from pdual.compiler.graph import Graph
from pdual.compiler.layout import Sense
from pdual.dsl.spans import Source
from pdual.finding import find
from pdual.runtime.data.context import SourceContext
from pdual.runtime.data.tables import ColumnTable
from pdual.runtime.drawings.draw import drawings, priced
from pdual.runtime.drawings.drawing import Picture, Quotations
from pdual.understanding import understand

PICTURES = """problem pictures "Two kinds of pictures"
set kind = 0..2
data shown { picture: real[1, 4, 4]  is: kind }
model f(picture: real[1, 4, 4]) -> real[kind] = cnn(channels = [2])
over s in shown {
  let z = f(s.picture)
  subject to lead[k in kind where k != s.is]: z[s.is] - z[k] >= 1
}
"""


DIGITS = """problem pictures "Two kinds of pictures"
set kind = 0..2
data shown = digits() { image: real[1, 8, 8]  label: kind }
model f(image: real[1, 8, 8]) -> real[kind] = cnn(channels = [2])
over s in shown {
  let z = f(s.image)
  subject to lead[k in kind where k != s.label]: z[s.label] - z[k] >= 1
}
"""


def lowered(text: str) -> Graph:
    found = understand(Source("test.pdual", text), context=SourceContext())
    assert found.graph is not None, found.diagnostics
    return found.graph


def rows(columns: Mapping[str, Tensor], count: int) -> ColumnTable:
    return ColumnTable(columns, {"train": torch.arange(count)}, "hand", labels=[f"#{n}" for n in range(count)])


def test_images_are_drawn_from_both_ends() -> None:
    graph = lowered(DIGITS)
    layout = graph.data[0].layout
    images = torch.zeros(20, 1, 8, 8)
    images[:, 0, 0, 0] = torch.arange(20) / 20
    table = rows({"image": images, "label": torch.arange(20) % 3}, 20)
    multipliers = torch.arange(20.0)[:, None].expand(20, layout.columns).clone()
    (picture,) = drawings(graph, "shown", table, layout, "train", torch.arange(20), multipliers)
    assert isinstance(picture, Picture)
    axes = picture.figure.axes
    assert [own.get_xlabel() for own in axes[:3]] == ["row #19", "row #18", "row #17"]
    assert [own.get_xlabel() for own in axes[8:11]] == ["row #0", "row #1", "row #2"]
    assert axes[0].get_title() == f"1\n{19 * layout.columns}"
    assert axes[0].images[0].get_array()[0, 0] == pytest.approx(0.95)
    assert "rows #19, #18" in picture.words


def test_few_images_are_all_drawn() -> None:
    graph = lowered(DIGITS)
    layout = graph.data[0].layout
    table = rows({"image": torch.rand(2, 1, 8, 8), "label": torch.tensor([0, 1])}, 2)
    (picture,) = drawings(graph, "shown", table, layout, "train", torch.arange(2), torch.ones(2, layout.columns))
    assert isinstance(picture, Picture)
    assert len(picture.figure.axes) == 4


@pytest.fixture(scope="module")
def grid() -> Graph:
    found = find("opf30_direct")
    graph = understand(found.source, context=SourceContext(folder=found.folder)).graph
    assert graph is not None
    return graph


def test_a_network_shows_where_limits_cost(grid: Graph) -> None:
    layout = grid.data[0].layout
    parts = {part.name: part for part in layout.parts}
    multipliers = torch.zeros(4, layout.columns)
    line, bus, unit = parts["flow_source"], parts["voltage.upper"], parts["generation.re.upper"]
    multipliers[:, layout.columns_of(line).start + 6] = 8.0
    multipliers[:2, layout.columns_of(bus).start + 4] = 6.0
    multipliers[:, layout.columns_of(unit).start + 1] = 2.0
    table = rows({}, 4)
    found = drawings(grid, "demands", table, layout, "train", torch.arange(4), multipliers)
    (picture,) = found  # no equality has a multiplier: there are no prices
    assert isinstance(picture, Picture)
    known = next(iter(grid.knowns.values()))
    where = [known.sets["bus"][known.fields["at"][1]], known.sets["bus"][bus.members[4][0]]]
    first = f"Buses with the largest: {where[1].split(' ')[0]} (3), {where[0].split(' ')[0]} (2)."
    assert first in picture.words
    assert f"Lines with the largest: {known.sets['branch'][line.members[6][0]]} (8)." in picture.words
    texts = {text.get_text() for text in picture.figure.axes[0].texts}
    assert {label.split(" ")[0] for label in known.sets["bus"]} <= texts


def test_a_network_shows_prices(grid: Graph) -> None:
    layout = grid.data[0].layout
    balance = next(part for part in layout.parts if part.sense is Sense.EQUAL and part.sets == ("bus",))
    multipliers = torch.zeros(2, layout.columns)
    multipliers[:, layout.columns_of(balance)] = torch.linspace(-2, 3, balance.size)
    _, prices = drawings(grid, "demands", rows({}, 2), layout, "test", torch.arange(2), multipliers)
    assert isinstance(prices, Picture)
    assert f"the multipliers of {balance.name}, scaled, from -2 to 3" in prices.words


@dataclass(frozen=True)
class Told(ColumnTable):
    """A table that can say its texts."""

    def quoted(self, ids: Tensor) -> Mapping[str, Sequence[str]]:
        return {"question": [f"question {n}" for n in ids.tolist()], "answer": ["long " * 200 for _ in ids]}


def test_texts_are_quoted() -> None:
    graph = lowered(PICTURES)  # its source says nothing about drawing
    layout = graph.data[0].layout
    table = Told({}, {"train": torch.arange(9)}, "hand")
    multipliers = torch.arange(9.0)[:, None].expand(9, layout.columns).clone()
    largest, smallest = drawings(graph, "shown", table, layout, "train", torch.arange(9), multipliers)
    assert isinstance(largest, Quotations)
    assert isinstance(smallest, Quotations)
    assert [place for place, _, _ in largest.rows] == ["8", "7", "6", "5", "4"]
    assert [place for place, _, _ in smallest.rows] == ["0", "1", "2", "3", "4"]
    place, price, texts = largest.rows[0]
    assert (place, price, texts["question"]) == ("8", 8.0 * layout.columns, "question 8")
    assert len(texts["answer"]) == 400


def test_texts_of_a_batch_are_quoted() -> None:
    graph = lowered(PICTURES)
    layout = graph.data[0].layout
    table = ColumnTable({}, {"train": torch.arange(3)}, "hand", texts={"answer": ["a", "b", "c"]})
    largest, _ = drawings(
        graph, "shown", table, layout, "train", torch.arange(3), torch.eye(3)[:, : layout.columns] + 1
    )
    assert isinstance(largest, Quotations)
    assert {texts["answer"] for _, _, texts in largest.rows} == {"a", "b", "c"}


def test_rows_without_texts_or_multipliers_are_not_drawn() -> None:
    graph = lowered(PICTURES)
    layout = graph.data[0].layout
    table = rows({"is": torch.zeros(3, dtype=torch.long)}, 3)
    assert list(drawings(graph, "shown", table, layout, "train", torch.arange(3), torch.ones(3, layout.columns))) == []
    nothing = torch.full((3, layout.columns), torch.nan)
    assert list(drawings(graph, "shown", table, layout, "train", torch.arange(3), nothing)) == []


def test_a_row_costs_what_its_inequalities_do(grid: Graph) -> None:
    layout = grid.data[0].layout
    multipliers = torch.randn(3, layout.columns, dtype=torch.float64)
    own = [part.sense is Sense.AT_MOST for part in layout.parts for _ in range(part.size)]
    expected = [sum(abs(x) for x, limit in zip(row, own, strict=True) if limit) for row in multipliers.tolist()]
    assert priced(layout, multipliers).tolist() == pytest.approx(expected)
