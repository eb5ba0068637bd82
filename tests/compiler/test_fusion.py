"""The rewrites of an emitted graph: fewer calls, the same values and gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, fx, nn

from pdual.compiler.fusion import fuse

Formula = Callable[[Tensor, Tensor, Tensor], Tensor]


def twice(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.mul(torch.add(a, b), torch.add(a, b)) - torch.sin(c) * torch.sin(c)


def plus_product(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.add(c, torch.mul(a, b))


def product_plus(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.add(torch.mul(a, b), c)


def minus_square(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.sub(torch.sub(c, torch.square(a)), b)


def product_minus(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.sub(torch.mul(a, b), c)


def two_products(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.add(torch.mul(a, b), torch.mul(b, c))


def shared_product(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    product = torch.mul(a, b)
    return torch.add(c, product) + torch.cos(product)


def one_product_twice(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    product = torch.mul(a, b)
    return torch.add(product, product) * torch.add(c, c)


FORMULAS: dict[Formula, list[str]] = {
    twice: ["add", "mul", "sin", "mul", "sub"],
    plus_product: ["addcmul"],
    product_plus: ["addcmul"],
    minus_square: ["addcmul", "sub"],
    product_minus: ["mul", "sub"],
    two_products: ["mul", "addcmul"],
    one_product_twice: ["mul", "add", "add", "mul"],
    shared_product: ["mul", "add", "cos", "add"],
}


def module(formula: Formula) -> fx.GraphModule:
    return fx.GraphModule(nn.Module(), fx.Tracer().trace(formula))


def rewritten(formula: Formula) -> fx.GraphModule:
    made = module(formula)
    fuse(made.graph)
    made.graph.lint()
    made.recompile()
    return made


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.__name__)
def test_the_calls_that_are_left(formula: Formula) -> None:
    calls = [node.target.__name__ for node in rewritten(formula).graph.nodes if node.op == "call_function"]
    assert calls == FORMULAS[formula]


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.__name__)
@settings(deadline=None)
@given(numbers=st.lists(st.floats(-10, 10), min_size=5, max_size=5))
def test_values_and_gradients_stay(formula: Formula, numbers: list[float]) -> None:
    def run(call: Callable[..., Tensor]) -> list[Tensor]:
        values = torch.tensor(numbers, dtype=torch.float64)
        # Of several shapes: the sum decides how they meet, not the product.
        arguments = [values[:2].clone(), values[2:4, None].clone(), values[4].clone()]
        for argument in arguments:
            argument.requires_grad_(True)
        found = call(*arguments)
        return [found, *torch.autograd.grad(found.sum(), arguments)]

    for mine, other in zip(run(rewritten(formula)), run(module(formula)), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-12, atol=1e-12)


def test_a_model_is_called_as_often_as_it_is_written() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    first, second = graph.call_module("drop", (x,)), graph.call_module("drop", (x,))
    graph.output((first, second))
    root = nn.Module()
    root.drop = nn.Dropout(0.5)
    made = fx.GraphModule(root, graph)
    fuse(made.graph)
    assert sum(node.op == "call_module" for node in made.graph.nodes) == 2


def test_arguments_that_are_equal_but_of_another_kind_stay_apart() -> None:
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(tuple(graph.call_function(torch.add, (x, number)) for number in (1, 1.0, True)))
    made = fx.GraphModule(nn.Module(), graph)
    fuse(made.graph)
    made.recompile()
    found = made(torch.tensor([1]))
    assert [value.dtype for value in found] == [torch.int64, torch.float32, torch.int64]
