"""Nested state as tensors and JSON: what a checkpoint holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

#: Stands for a tensor in the JSON: ``{"$tensor": "models.f.weight"}``.
REFERENCE = "$tensor"

#: A mapping whose keys are not all texts: ``{"$pairs": [[key, value], ...]}``.
PAIRS = "$pairs"


def pack(state: Any) -> tuple[dict[str, Tensor], Any]:
    """Tensors by dotted name, and the rest as JSON with references to them; a tensor that occurs twice is
    kept once.
    """
    tensors: dict[str, Tensor] = {}
    names: dict[tuple[object, ...], str] = {}

    def walk(value: Any, path: str) -> Any:
        if isinstance(value, Tensor):
            key = (value.data_ptr(), value.shape, value.stride(), value.dtype, value.device)
            if not value.numel() or key not in names:
                names[key] = path
                tensors[path] = value.detach().contiguous()
            return {REFERENCE: names[key]}
        if isinstance(value, Mapping):
            if all(isinstance(name, str) for name in value):
                return {name: walk(item, f"{path}.{name}" if path else name) for name, item in value.items()}
            return {PAIRS: [[name, walk(item, f"{path}.{name}")] for name, item in value.items()]}
        if isinstance(value, list | tuple):
            return [walk(item, f"{path}.{place}") for place, item in enumerate(value)]
        assert value is None or isinstance(value, bool | int | float | str), f"{path}: {type(value)}"
        return value

    document = walk(state, "")
    return _apart(tensors), document


def unpack(tensors: Mapping[str, Tensor], document: Any) -> Any:
    """The state again; lists stay lists. Raises KeyError when a tensor is missing."""
    if isinstance(document, Mapping):
        if document.keys() == {REFERENCE}:
            return tensors[document[REFERENCE]]
        if document.keys() == {PAIRS}:
            return {name: unpack(tensors, item) for name, item in document[PAIRS]}
        return {name: unpack(tensors, item) for name, item in document.items()}
    if isinstance(document, list):
        return [unpack(tensors, item) for item in document]
    return document


def _apart(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors with no memory in common, which the file format asks for."""
    seen: set[int] = set()
    for name, tensor in tensors.items():
        start = tensor.untyped_storage().data_ptr()
        if start in seen or tensor.untyped_storage().nbytes() != tensor.nbytes:
            tensors[name] = tensor.clone(memory_format=torch.contiguous_format)
        else:
            seen.add(start)
    return tensors
