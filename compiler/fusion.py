"""Rewrites of an emitted graph that leave its values as they are: a step of a small model is mostly the overhead of its calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

_SUMS: dict[Callable[..., Any], float] = {torch.add: 1.0, torch.sub: -1.0}


def fuse(graph: fx.Graph) -> None:
    """Equal calls are made once, unused ones not at all, and products that are only added to something by ``addcmul``."""
    merge_equal_calls(graph)
    graph.eliminate_dead_code()
    add_products(graph)


def merge_equal_calls(graph: fx.Graph) -> None:
    """A call of a torch function on the same values is made once. Calls of models are left alone: they may draw numbers."""
    seen: dict[Any, fx.Node] = {}
    for node in graph.nodes:
        if node.op not in ("call_function", "call_method", "get_attr"):
            continue
        key = (node.op, node.target, _hashable(node.args), _hashable(node.kwargs))
        first = seen.setdefault(key, node)
        if first is not node:
            node.replace_all_uses_with(first)


def add_products(graph: fx.Graph) -> None:
    """``c + a * b`` and ``c - a * b`` become ``addcmul(c, a, b)``, where nothing else reads the product."""
    for node in graph.nodes:
        sign = _SUMS.get(node.target) if node.op == "call_function" else None
        if sign is None or node.kwargs or len(node.args) != 2:
            continue
        base, product = node.args
        if sign > 0 and not _is_product(product):
            base, product = product, base
        if not isinstance(base, fx.Node) or base is product or not _is_product(product):
            continue
        factors = product.args if product.target is torch.mul else (product.args[0], product.args[0])
        with graph.inserting_before(node):
            joined = graph.call_function(torch.addcmul, (base, *factors), {"value": sign} if sign < 0 else {})
        node.replace_all_uses_with(joined)
        graph.erase_node(node)
        graph.erase_node(product)


def _is_product(node: Any) -> bool:
    return (
        isinstance(node, fx.Node)
        and node.op == "call_function"
        and node.target in (torch.mul, torch.square)
        and len(node.users) == 1
        and not node.kwargs
        and all(isinstance(factor, fx.Node) for factor in node.args)
    )


def _hashable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    if isinstance(value, dict):
        return tuple((key, _hashable(item)) for key, item in value.items())
    if isinstance(value, slice):
        return ("slice", _hashable((value.start, value.stop, value.step)))
    # 1, 1.0 and True are equal and hash alike, but are not the same argument.
    return (type(value), value)
